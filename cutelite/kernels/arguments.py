"""Checks of the arrays that a function of `cutelite.kernels` is given, before anything is computed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite.kernels.arrays import code_of, strides_of

HALVES = ("bf16", "f16")
FLOATS = ("bf16", "f16", "f32")
PLACES = ("i32", "i64")


class ArrayError(cl.ArgumentError, ValueError):
    """An array does not fit its argument. Also a `ValueError`, which NumPy and torch raise for that."""


class Arguments:
    """The arrays of one call. A mode that has a name is as long in all arrays, and the first one says how long.

        given = Arguments()
        given.array("q", q, HALVES, "B SQ H D")
        given.array("k", k, "q", "B SK HK D")

    The text of an error has the array's name, what it is, what it has to be, and which array said so.
    """

    def __init__(self) -> None:
        self._extents: dict[str, tuple[int, str]] = {}
        self._dtypes: dict[str, str] = {}

    def array(
        self, name: str, array: Any, kinds: str | tuple[str, ...], modes: str | tuple[str | int, ...], *,
        written: bool = False, dense: bool = False, rows: bool = False, why: str = "",
    ) -> None:  # fmt: skip
        """Check an array.

        kinds    codes of the dtypes that it may have, or the name of an array before it, whose dtype it has
        modes    names and numbers, in order, a number being what the mode has to be: "B S 1", or ("B", -(-n // 128)).
                 "..." at the start: any modes in front
        written  it is written
        dense    it is row-major, without gaps
        rows     it is contiguous along its last mode
        why      says where numbers among `modes` come from
        Errors   `ArrayError` for what is no array, another dtype or shape, and a read-only array that is written
        """
        is_array(name, array)
        code = self._dtypes[name] = code_of(array)
        wanted = self._dtypes.get(kinds, kinds) if isinstance(kinds, str) else kinds
        if code != wanted and (isinstance(wanted, str) or code not in wanted):
            said = wanted if isinstance(wanted, str) else " or ".join(wanted)
            raise ArrayError(
                f"{name} has dtype {array.dtype}, but must be {said}" + f", as {kinds}" * (wanted is not kinds)
            )
        if written:
            writable(name, array)
        free, last = parsed(modes) if isinstance(modes, str) else (False, modes)
        shape = tuple(array.shape)
        fits = len(shape) >= len(last) if free else len(shape) == len(last)
        reasons = []
        for mode, extent in zip(last, shape[len(shape) - len(last) :], strict=True) if fits else ():
            known, by = self._extents.setdefault(mode, (extent, name)) if isinstance(mode, str) else (mode, "")
            if known != extent:
                fits = False
                reasons += [f"{mode} is {known}, as in {by}"] if by else []
        if not fits:
            modes = ", ".join(["..."] * free + [str(mode) for mode in last]) + "," * (len(last) == 1 and not free)
            text = f"{name} has shape {shape}, but must be ({modes}){why}"
            raise ArrayError(text + "".join(f"; {x}" for x in reasons))
        if 0 in shape:
            return  # strides of no elements mean nothing
        if dense and not is_dense(array):
            raise ArrayError(f"{name} has gaps, or its modes in another order: pass a contiguous copy")
        if rows and len(array.shape) and array.shape[-1] > 1 and strides_of(array)[-1] != 1:
            raise ArrayError(f"{name} is not contiguous along its last mode: pass a contiguous copy")


def writable(name: str, array: Any) -> None:
    """Check that an array is not read-only. Errors: `ArrayError`."""
    if not getattr(getattr(array, "flags", None), "writeable", True):
        raise ArrayError(f"{name} is read-only, and is written; pass a copy")


def is_dense(array: Any) -> bool:
    """Tell whether an array is row-major without gaps. Strides of modes of one element do not count."""
    step = 1
    for extent, stride in zip(reversed(array.shape), reversed(strides_of(array)), strict=True):
        if extent > 1 and stride != step:
            return False
        step *= extent
    return True


@lru_cache
def parsed(modes: str) -> tuple[bool, tuple[int | str, ...]]:
    """Return whether there may be modes in front, and the modes behind them."""
    words = modes.split()
    free = words[:1] == ["..."]
    return free, tuple(int(word) if word.isdecimal() else word for word in words[free:])


def is_array(name: str, value: Any) -> None:
    """Check that a value is an array. Errors: `ArrayError`."""
    if not hasattr(value, "shape") or not hasattr(value, "dtype") or not hasattr(value, "__setitem__"):
        raise ArrayError(f"{name} is not an array, but {'None' if value is None else f'a {type(value).__name__}'}")
