"""Make `torch.compile` break the graph at a launch, and compile nothing of what a launch does.

In    functions that compiled code may call
Out   the same functions, marked (`untraced`)

torch traces functions and executes frames. While it traces, an attribute of the function breaks the graph. How frames
are executed is told to torch's C extension, by their code: if torch is not imported yet, just before its compiler is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

EXTENSION = "torch._C._dynamo.eval_frame"
"""The part of torch's C extension that executes frames."""

_untold: list[CodeType] = []
"""Code of marked functions, which torch does not know of yet."""


LAUNCHES = "it launches a kernel: make it an operator by cutelite.interop.torch.custom_op"


def untraced(function: F, why: str = LAUNCHES) -> F:
    """Mark a function so that torch.compile breaks the graph where it is called, and compiles nothing that it calls.

    why  what torch says then
    """
    marked: Any = function
    marked._torchdynamo_disable = True
    marked._torchdynamo_disable_msg = why
    marked.__code__ = marked.__code__.replace()  # its own: all wrappers that one decorator makes share their code
    _untold.append(marked.__code__)
    _tell()
    return function


def _tell() -> None:
    """Have torch, if it is imported, execute marked functions and all that they call as they are."""
    frames = sys.modules.get(EXTENSION)
    if frames is None or not hasattr(frames, "set_code_exec_strategy"):  # earlier versions compile more than they must
        return
    as_it_is = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
    while _untold:
        frames.set_code_exec_strategy(_untold.pop(), as_it_is)


class _BeforeCompiler:
    """An import hook that finds no module: it is asked for torch's compiler when torch's C extension is loaded."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "torch._dynamo":
            _tell()


if EXTENSION not in sys.modules:
    sys.meta_path.insert(0, _BeforeCompiler)
