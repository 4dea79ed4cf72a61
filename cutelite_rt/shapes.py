"""Grids, blocks and clusters as people write them, and as (x, y, z)."""

from __future__ import annotations

from typing import Any

from cutelite_rt.errors import LaunchError

Extent = int | tuple[int, ...]
Dim3 = tuple[int, int, int]

WIDEST_I32 = (1 << 31) - (1 << 16)
"""Greater dims are compiled 64 bits wide. It is below 2**31, for blocks reach past an extent at its end."""
MOST_IN_32_BITS = 1 << 30
"""With more elements in an array, or more threads along an axis of a grid, block indices have 64 bits. Up to here, the
sum of an index and a step is an i32."""
MOST_THREADS = 1024
"""In a block."""


def extents(x: Any, what: str, least: int = 1) -> Dim3:
    """An int or up to three of them as (x, y, z). Errors: `LaunchError` for other things, and for less than `least`."""
    given = x if isinstance(x, tuple | list) else (x,)
    if not 1 <= len(given) <= 3:
        raise LaunchError(f"the {what} is {x!r}, but must be one to three integers")
    x_, y, z = (*(whole(n, f"the {what}", least) for n in given), 1, 1)[:3]
    return x_, y, z


def is_wide(grid: Dim3, block: Any) -> bool:
    """Tell whether threads along an axis may be too many for 32-bit indices. A block of None may have any shape."""
    threads = (MOST_THREADS,) * 3 if block is None else extents(block, "block")
    return any(n * m > MOST_IN_32_BITS for n, m in zip(grid, threads, strict=True))


def whole(n: Any, what: str, least: int = 0) -> int:
    """`n` as an int. Errors: `LaunchError`."""
    if type(n) is not int:
        if isinstance(n, bool) or not hasattr(type(n), "__index__"):
            raise LaunchError(f"{what} takes whole numbers, not {n!r}")
        try:
            n = n.__index__()
        except TypeError as error:  # an array of several numbers, a dim that is known at launch only
            raise LaunchError(f"{what} takes whole numbers, not {n!r}: {error}") from error
    if n < least:
        raise LaunchError(f"{what} has {n}, but {least} is the least it can have")
    return int(n)


def is_exact(x: Any) -> bool:
    """Tell whether an extent is None, or ints and tuples alone: 1, True and 1.0 are equal, and do not launch alike."""
    return x is None or type(x) is int or (type(x) is tuple and all(type(n) is int for n in x))


def hashable(x: Any, what: str) -> Extent | None:
    """Return an extent that may be a key: as it is, or what a list says as (x, y, z). Errors: as `extents`."""
    return x if is_exact(x) else extents(x, what)
