"""Facts of ``kernel[grid, block]``, as the compiled launcher reads them.

In    a grid, a stream and settings of a launch
Out   bytes: `facts` in launcher.c
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable, Hashable
from typing import Any

from cutelite_rt.errors import LaunchError
from cutelite_rt.gpu.attributes import ways_of
from cutelite_rt.launcher.asked import given_stream
from cutelite_rt.shapes import extents, is_wide, whole

NO_BLOCKS, STREAM, UNRESOLVED, ODD, BY_DIMS, GENERAL = 1, 2, 4, 8, 16, 32
"""Bits of facts. NO_BLOCKS: nothing is to be launched. STREAM: the stream is given. UNRESOLVED: Python resolves grid or
stream at each launch. ODD: Python launches. BY_DIMS: the grid follows from the dims, by the signature's rule. GENERAL:
each call brings facts of its own."""

FACTS = struct.Struct("<4I 2Q")  # grid x, y, z; bits; class of the launch; stream. A builtin has three addresses behind
MAX_GRID = 2**31 - 1, 65535, 65535
"""The grid that every GPU takes; Python decides about larger ones."""

_classes: dict[Hashable, int] = {}
_class_numbers = itertools.count()  # no two threads get the same one


def facts_of(grid: tuple[int, int, int], settings: Hashable, stream: int | None, bits: int = 0) -> bytes:
    """Facts of a launch; `settings` is all that specialises or configures it but its grid and stream."""
    if any(not 0 <= extent <= most for extent, most in zip(grid, MAX_GRID, strict=True)):
        bits, grid = bits | ODD, (0, 0, 0)
    bits |= NO_BLOCKS * (0 in grid) | STREAM * (stream is not None)
    return FACTS.pack(*grid, bits, _classes.setdefault(settings, next(_class_numbers)), stream or 0)


def facts_while(stays: bool, settled: Callable[[], bytes]) -> bytes:
    """Facts to keep: settled ones; where grid or stream may change, facts by which each launch asks again."""
    try:
        return settled() if stays else facts_of((1, 1, 1), None, None, UNRESOLVED)
    except LaunchError:  # Python says it, at the launch
        return facts_of((1, 1, 1), None, None, ODD)


def settled_facts(launch: Any, grid: tuple[int, int, int], bits: int = 0) -> bytes:
    """Facts of a launch as it is now, on that grid. Errors: `LaunchError`."""
    settings = (x if x is None else extents(x, "shape") for x in (launch.block, launch.cluster))
    wide = is_wide(grid, launch.block)
    settled = (*settings, whole(launch.smem, "smem"), *ways_of(launch), wide)
    return facts_of(grid, settled, given_stream(launch), bits)


DIVERTED = ctypes.c_uint64(0)
"""All launches go to Python while this is not 0."""
