"""Make `cutelite/__init__.pyi` anew: the names that the package exports, around what is written by hand in between.

    PYTHONPATH=. python docs/tools/stub.py

A name whose declaration in its module tells a type checker enough is imported from there; one that needs other words
is declared by hand, between the imports and `__all__`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import cutelite

STUB = Path(cutelite.__file__).with_suffix(".pyi")
FIRST, LAST = "from cutelite", "\n__version__: str\n"


def stub(text: str) -> str:
    """The file with imports and `__all__` as the package has them now."""
    head, own = text[: text.index(FIRST)], text[text.index(LAST) : text.index("\n__all__ = [")]
    by_hand = declared(head + own)
    package = vars(cutelite)
    homes = {**package["_HOME"], **{n: m.rpartition(".")[0] for n, m in package["_MODULES"].items()}}
    chosen = [(module, not name[0].isupper(), sorting(name.lower()), name) for name, module in homes.items()]
    imports = sorted(row for row in chosen if row[-1] not in by_hand)
    lines = [f"from {module} import {name} as {name}\n" for module, *_, name in imports]
    exported = "".join(f'    "{name}",\n' for name in sorted(cutelite.__all__, key=sorting))
    return f"{head}{''.join(lines)}{own}\n__all__ = [\n{exported}]\n"


def sorting(name: str) -> tuple[bool, list[str]]:
    """As the linter sorts: classes before functions, and numbers in names by their size."""
    parts = re.split(r"(\d+)", name)
    return not name[0].isupper(), [part.zfill(9) if part.isdigit() else part for part in parts]


def declared(text: str) -> set[str]:
    """The names that a stub declares itself."""
    found: set[str] = set()
    for node in ast.parse(text).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.ImportFrom(names=names):
                found |= {alias.asname or alias.name for alias in names}
    return found


if __name__ == "__main__":
    STUB.write_text(stub(STUB.read_text()))
