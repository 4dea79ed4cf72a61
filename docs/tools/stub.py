"""Make `cutelite/__init__.pyi` anew: the names that the package exports.

    PYTHONPATH=. python docs/tools/stub.py

A name whose declaration in its module tells a type checker enough is imported from there; one that needs other words
is declared in `cutelite/by_hand.pyi`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import cutelite

STUB = Path(cutelite.__file__).with_suffix(".pyi")
BY_HAND = STUB.with_name("by_hand.pyi")


def stub() -> str:
    """Return the file for what the package exports now."""
    by_hand = declared(ast.parse(BY_HAND.read_text(encoding="utf-8")))
    package = vars(cutelite)
    homes = {**package["_HOME"], **{n: m.rpartition(".")[0] for n, m in package["_MODULES"].items()}}
    homes |= dict.fromkeys(homes.keys() & by_hand, "cutelite.by_hand")
    rows = sorted((module, not name[0].isupper(), sorting(name.lower()), name) for name, module in homes.items())
    lines = [f"from {module} import {name} as {name}\n" for module, *_, name in rows]
    return f'"""What type checkers and editors see of cutelite."""\n\n{"".join(lines)}\n__version__: str\n'


def sorting(name: str) -> list[str]:
    """As the linter sorts: numbers in names by their size."""
    return [part.zfill(9) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def declared(tree: ast.Module) -> set[str]:
    """Return the names that a stub declares itself."""
    found: set[str] = set()
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
            case ast.ImportFrom(module="typing", names=names):
                found |= {alias.asname or alias.name for alias in names}
    return found


if __name__ == "__main__":
    STUB.write_text(stub())
