"""Functions given at each call, such as an activation written in place: one for all that do the same."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import TypeVar

from cutelite.dispatch import fingerprint

F = TypeVar("F")

MOST = 1024
"""Functions remembered. Behind that the first one goes, and with it whatever was kept for it."""


def settled(function: F) -> F:
    """A function that stands for all of equal code, globals, defaults and captured values.

    So what is kept for a function (kernels, configurations) is found again for one that is written in place and so made
    anew at each call. What it captured it has in cells of its own: variables of the caller may change. A function is
    given back as it is where what it captured can be changed in place, or where it is no Python function.
    """
    if not isinstance(function, FunctionType) or not fingerprint.lasts(function):
        return function
    key = fingerprint.constant_key(function)
    found = _settled.get(key)
    if found is None:
        while len(_settled) >= MOST:
            del _settled[next(iter(_settled))]
        found = _settled[key] = _copy(function) if function.__closure__ else function
    return found  # type: ignore[return-value]


_settled: dict[object, FunctionType] = {}


def _copy(function: FunctionType) -> FunctionType:
    cells = tuple(CellType(cell.cell_contents) for cell in function.__closure__ or ())
    made = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    return made
