"""Make the stubs of `cutelite` and `cutelite.layout` anew: the names that they export.

    PYTHONPATH=. python docs/tools/stub.py

A name whose declaration in its module tells a type checker enough is imported from there; one that needs other words
is declared in `cutelite/by_hand.pyi`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

import cutelite
from cutelite import layout

STUB = Path(cutelite.__file__).with_suffix(".pyi")
BY_HAND = STUB.with_name("by_hand.pyi")
OF_LAYOUT = Path(layout.__file__).with_suffix(".pyi")
WIDTH = 120


def stub() -> str:
    """Return the file for what the package exports now."""
    by_hand = declared(ast.parse(BY_HAND.read_text(encoding="utf-8")))
    package = vars(cutelite)
    homes = {**package["_HOME"], **{n: m.rpartition(".")[0] for n, m in package["_MODULES"].items()}}
    homes |= dict.fromkeys(homes.keys() & by_hand, "cutelite.by_hand")
    return f'"""What type checkers and editors see of cutelite."""\n\n{imports(homes)}\n__version__: str\n'


def of_layout() -> str:
    """Return the file for what the layout algebra exports now."""
    homes = {name: f"cutelite.layout.{module}" for name, module in vars(layout)["_HOME"].items()}
    return f'"""What type checkers and editors see of the layout algebra."""\n\n{imports(homes)}'


def imports(homes: Mapping[str, str]) -> str:
    """Return statements that import names, and export them: one for each module."""
    lines = []
    for module in sorted({*homes.values()}):
        names = ", ".join(f"{name} as {name}".replace(" ", NO_BREAK) for name in sorted(homes) if homes[name] == module)
        whole = f"from {module} import {names}"
        if len(whole) > WIDTH:
            whole = f"from {module} import (\n{fill(names, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)}\n)"
        lines.append(whole.replace(NO_BREAK, " ") + "\n")
    return "".join(lines)


INDENT, NO_BREAK = "    ", "\0"


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
    OF_LAYOUT.write_text(of_layout())
