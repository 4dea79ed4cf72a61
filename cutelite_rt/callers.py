"""The user's line of a call, for warnings, errors and their tracebacks: the innermost frame outside this project."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

OURS = frozenset(("cutelite", "cutelite_rt", "functools", "contextlib", "runpy"))
"""Packages whose frames are skipped: our own, and those that call ours for the user."""


def calling_frame() -> tuple[FrameType | None, int]:
    """Return the user's frame, and its number, counting the caller of this function as 1.

    There is none under the command line, whose callers are scripts that an installation makes.
    """
    frame: FrameType | None = sys._getframe(1)
    number = 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS | {"importlib"}:
        frame = None if frame.f_globals["__name__"] == "cutelite.cli" else frame.f_back
        number += frame is not None and "importlib" not in frame.f_code.co_filename  # `warnings` does not count these
    return frame, number


def calling_line() -> str:
    """Return the user's line in words: `` in file.py:12``; empty without one."""
    frame, _ = calling_frame()
    return "" if frame is None else f" in {frame.f_code.co_filename}:{frame.f_lineno}"


def warn(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Issue a warning at the user's line, however deep in our code this is called."""
    frame, number = calling_frame()
    if frame is None:
        warnings.warn_explicit(text, category, "cutelite", 1)
    else:
        warnings.warn(text, category, stacklevel=number)


def cut(error: BaseException) -> None:
    """Let the tracebacks of an error and of its causes end at the caller's caller.

    For callers that raise it again by a `raise` alone, which adds no entry for their own frame.
    """
    error.__suppress_context__ = True
    cause: BaseException | None = error
    while cause is not None:
        cause.__traceback__, cause = None, cause.__cause__


def ours_alone(error: BaseException) -> bool:
    """Tell whether the traceback of an error goes through no code but ours."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        frame = frame.tb_next
    return frame is None


def shorten(error: BaseException) -> None:
    """Do as `cut`, unless the traceback goes through code that is not ours."""
    if ours_alone(error):
        cut(error)


def _is_traced() -> bool:
    """Tell whether torch's compiler traces this: it knows of no tracebacks, and tells the error itself."""
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    return compiler is not None and bool(compiler.is_dynamo_compiling())


def without_frames(
    mistake: Callable[[Exception], bool], ending: Callable[[BaseException], None] = cut
) -> Callable[[F], F]:
    """Return a decorator: tracebacks of the errors for which `mistake` holds end at the caller.

    ending  `shorten` for functions that call the user's
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                if not _is_traced() and mistake(error):
                    ending(error)
                raise

        return call  # type: ignore[return-value]

    return decorate
