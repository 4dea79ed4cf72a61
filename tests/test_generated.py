"""Files that are made from declarations are as these have them now; `make update` writes them anew."""

import ast
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cutelite
from cutelite import config
from docs.tools.ops_page import markdown
from docs.tools.stub import BY_HAND, of_layout, stub

ROOT = Path(__file__).resolve().parents[1]
MADE: dict[str, Callable[[], str]] = {
    "cutelite/__init__.pyi": stub,
    "cutelite/layout/__init__.pyi": of_layout,
    "docs/ops.md": markdown,
    "docs/environment.md": config.markdown,
}
"""What each file is to hold."""


@pytest.mark.parametrize("path", MADE)
def test_it_is_current(path: str, update: bool) -> None:
    file = ROOT / path
    made = MADE[path]()
    if update:
        file.write_text(made, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == made, "`make update` writes it anew"


def by_hand() -> Iterator[tuple[str, list[str]]]:
    """Functions that the stub declares itself, constructors of classes included, with their parameters' names."""
    for node in ast.parse(BY_HAND.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                yield name, parameters(node)
            case ast.ClassDef(name=name, body=body):
                made = [part for part in body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
                yield from ((name, parameters(part)[1:]) for part in made)


def parameters(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    rest = [part for part in (arguments.vararg, *arguments.kwonlyargs, arguments.kwarg) if part is not None]
    return [part.arg for part in [*arguments.posonlyargs, *arguments.args, *rest]]


def test_what_the_stub_declares_by_hand_takes_what_is_declared() -> None:
    """Overloads may leave parameters out at their end: of all that bear a name, the longest one is looked at."""
    longest: dict[str, list[str]] = {}
    for name, names in by_hand():
        if not name.startswith("_"):
            longest[name] = max(longest.get(name, []), names, key=len)
    assert longest == {name: list(inspect.signature(getattr(cutelite, name)).parameters) for name in longest}
    assert len(longest) > 10
