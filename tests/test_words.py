"""Docstrings open with an imperative or a noun phrase: a stranger understands the first line at once.

Each argument of a public function is said something about: in its docstring, in that of its module, or in that of a
function which the docstring names, as in "as for `warp_reduce`".
"""

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cutelite

ROOT = Path(__file__).resolve().parents[1]
RIDDLE = re.compile(r"(What|Whether|How|Where|Of|Which|Who|Whose|Why|So many|By which|To which|As many|That)\b")
QUOTED = re.compile(rf"[\"']\s*{RIDDLE.pattern}")  # few files have one: the others need not be parsed
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@pytest.mark.parametrize("package", ["cutelite", "cutelite_rt"])
def test_docstrings_do_not_open_with_a_question(package: str) -> None:
    found = []
    for file in sorted((ROOT / package).rglob("*.py")):
        source = file.read_text(encoding="utf-8")
        if not QUOTED.search(source):
            continue
        for node in ast.walk(ast.parse(source)):
            text = (ast.get_docstring(node) or "") if isinstance(node, DOCUMENTED) else ""
            if RIDDLE.match(text):
                found.append(f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}")
    assert found == []


@pytest.mark.parametrize("room", ["cutelite", *(f"cutelite.kernels.{x}" for x in ("attention", "gemm", "moe"))])
def test_docstrings_speak_of_every_argument(room: str) -> None:
    module = importlib.import_module(room)
    public = {name: inspect.unwrap(f) for name in module.__all__ if callable(f := getattr(module, name))}
    missing = []
    for name, function in public.items():
        if inspect.isfunction(function):
            text = said_of(function, public, set())
            for argument in inspect.signature(function).parameters:
                if not re.search(rf"\b{argument}\b", text):
                    missing.append(f"{function.__module__}.{name}: {argument}")
    assert missing == []


def test_members_of_public_classes_have_docstrings() -> None:
    missing = []
    for name, kind in ((name, getattr(cutelite, name)) for name in dir(cutelite)):
        for member, x in vars(kind).items() if inspect.isclass(kind) else ():
            public = not member.startswith("_") and (inspect.isroutine(x) or isinstance(x, (property, classmethod)))
            said = [inspect.getdoc(vars(base)[member]) for base in kind.__mro__ if member in vars(base)]
            if public and not any(said):
                missing.append(f"{name}.{member}")
    assert missing == []


def said_of(function: Callable[..., Any], public: dict[str, Any], seen: set[Any]) -> str:
    """Return the docstrings in which a function's arguments may be explained."""
    seen.add(function)
    beside, text = sys.modules[function.__module__], inspect.getdoc(function) or ""
    named = [getattr(beside, name, public.get(name)) for name in re.findall(r"`(\w+)`", text)]
    further = {inspect.unwrap(f) for f in named if callable(f)}
    more = [said_of(f, public, seen) for f in further if inspect.isfunction(f) and f not in seen]
    return "\n".join([text, beside.__doc__ or "", *more])
