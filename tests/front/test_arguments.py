"""Public functions called with what they do not take: an error at the line, in words of the language."""

import contextlib
import re
import types
from typing import Any

import pytest

import cutelite as cl
from cutelite.diag import CompileError
from tests.front.lines import FIRST, built

WRONG = ("", "None", "2.5", "'x'", "-1", "a", "n", "x", "a, n", "None, None", "n, 2.5, 'x'", "1, a, 3, n", "(1, n)")
INTERNALS = re.compile(
    r"cutelite\.\w|Traceback|object has no attribute|not supported between|object at 0x|Scalar'|unsupported operand"
)
HOST = {"kernel", "autotune", "Config"}
"""Of these it is no business of the frontend's what they are called with."""


def public() -> list[str]:
    """Every public function and class of cutelite, and the functions of its modules for kernels."""
    found = []
    for name in sorted(set(dir(cl)) - HOST):
        held = getattr(cl, name)
        if name.startswith("_") or (isinstance(held, type) and issubclass(held, BaseException)):
            continue
        if isinstance(held, types.ModuleType):
            if held.__name__.startswith("cutelite.lang."):
                own = (n for n in dir(held) if getattr(getattr(held, n), "__module__", "") == held.__name__)
                found += [f"{name}.{n}" for n in own if not n.startswith("_") and callable(getattr(held, n))]
        elif callable(held):
            found.append(name)
    return found


def problems(call: str) -> list[str]:
    try:
        built(call)
    except CompileError as error:
        text = str(error)
        if error.span is None or error.span.line < FIRST or not error.span.filename.startswith("line"):
            return [f"{call}: no line of the user's: {text}"]
        if INTERNALS.search(text.replace(error.span.filename, "")):
            return [f"{call}: shows internals: {text}"]
    except Exception as error:
        return [f"{call}: {type(error).__name__}: {error}"]
    return []


@pytest.mark.parametrize("name", public())
def test_wrong_arguments_are_the_users_mistake(name: str) -> None:
    found: list[str] = []
    with contextlib.redirect_stdout(None):
        for arguments in WRONG:
            found += problems(f"cl.{name}({arguments})")
    assert not found, "\n".join(found)


def test_what_a_function_of_ours_was_given_is_told() -> None:
    with pytest.raises(CompileError) as caught:
        built("cl.cp_async_wait_group(2.5)")
    assert "compile-time integer, not 2.5" in str(caught.value)


METHODS: dict[str, Any] = {
    "a": ("load", "store", "tile", "at", "view"),
    "cl.shared(cl.mbarrier, (2,))[0]": ("init", "arrive", "wait", "test_wait", "arrive_expect_tx"),
    "n": ("to",),
    "a.tile((1, 4), (0, 0)).load()": ("to", "reshape", "reduce", "put", "broadcast_to"),
}


@pytest.mark.parametrize("owner", METHODS)
def test_methods_too(owner: str) -> None:
    found: list[str] = []
    for method in METHODS[owner]:
        for arguments in WRONG:
            found += problems(f"{owner}.{method}({arguments})")
    assert not found, "\n".join(found)
