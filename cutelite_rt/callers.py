"""The user's line that a call came from, for warnings and errors: the innermost frame that is not of this project."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

OURS = frozenset(("cutelite", "cutelite_rt", "functools", "contextlib", "runpy"))
"""Packages whose frames are passed over: our own, and what stands between a call and our own."""


def calling_frame() -> tuple[FrameType | None, int]:
    """The user's frame, and which it is, counted from the caller of this function, the first; None without one."""
    frame: FrameType | None = sys._getframe(1)
    number = 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS | {"importlib"}:
        frame = frame.f_back
        number += frame is not None and "importlib" not in frame.f_code.co_filename  # `warnings` counts those as none
    return frame, number


def calling_line() -> str:
    """Words for the user's line: `` in file.py:12``; empty without one."""
    frame, _ = calling_frame()
    return "" if frame is None else f" in {frame.f_code.co_filename}:{frame.f_lineno}"


def warn(text: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn at the user's line, however deep below it the warning is noticed."""
    warnings.warn(text, category, stacklevel=calling_frame()[1])
