"""Views of an array, as NumPy makes them: shape and strides of one and what is asked for -> those of the view.

Strides are in elements. Nothing here knows of memory.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

Modes = tuple[tuple[int, ...], tuple[int, ...]]
"""Shape and strides."""


def indexed(shape: Sequence[int], strides: Sequence[int], key: Any) -> tuple[Modes, int]:
    """Return the modes of the view by a key, and how many elements further on it begins.

    key     whole numbers, slices, None and an ellipsis, or a tuple of these
    Errors  IndexError for an index outside, and for too many; TypeError for another key
    """
    keys = key if isinstance(key, tuple) else (key,)
    taken = sum(each is not None and each is not Ellipsis for each in keys)
    if taken > len(shape):
        raise IndexError(f"{taken} indices for the shape {tuple(shape)}")
    if sum(each is Ellipsis for each in keys) == 0:
        keys = (*keys, Ellipsis)
    modes, begin, found = list(zip(shape, strides, strict=True)), 0, []
    for each in keys:
        if each is Ellipsis:
            found += modes[: len(shape) - taken]
            del modes[: len(shape) - taken]
        elif each is None:
            found.append((1, 0))
        else:
            extent, step = modes.pop(0)
            if isinstance(each, slice):
                places = range(extent)[each]
                begin += places.start * step * bool(places)
                found.append((len(places), places.step * step))
            else:
                begin += range(extent)[operator.index(each)] * step
    return (tuple(extent for extent, _ in found), tuple(step for _, step in found)), begin


def reshaped(shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> Modes | None:
    """Return the modes of the view of another shape, in row-major order; None where strides allow none.

    wanted  the shape; one extent may be -1: what is left
    Errors  ValueError for a shape of another size
    """
    size, given = prod(shape), [operator.index(extent) for extent in wanted]
    if given.count(-1) == 1 and (rest := -prod(given)):
        given[given.index(-1)] = size // rest
    if prod(given) != size or any(extent < 0 for extent in given):
        raise ValueError(f"an array of shape {tuple(shape)} has no shape {tuple(wanted)}")
    runs: list[tuple[int, int]] = []  # modes that elements are evenly apart in, from the last one on
    for extent, step in zip(reversed(shape), reversed(strides), strict=True):
        if runs and step == runs[-1][0] * runs[-1][1]:
            runs[-1] = runs[-1][0] * extent, runs[-1][1]
        elif extent != 1:
            runs.append((extent, step))
    found: list[int] = []
    left, step = 1, 1
    for extent in reversed(given):
        if extent != 1 and left == 1 and runs:
            left, step = runs.pop(0)
        if size and left % extent:
            return None
        found.append(step)
        left, step = left // (extent or 1), step * extent
    return tuple(given), tuple(reversed(found))
