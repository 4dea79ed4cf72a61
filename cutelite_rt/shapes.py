"""Convert grids, blocks and clusters to (x, y, z), and check them."""

from __future__ import annotations

from typing import Any

from cutelite_rt.errors import LaunchError, brief

Extent = int | tuple[int, ...]
Dim3 = tuple[int, int, int]

WIDEST_I32 = (1 << 31) - (1 << 16)
"""Larger dims are compiled with 64 bits. The limit is below 2**31, since blocks may reach past an extent."""
MOST_IN_32_BITS = 1 << 30
"""With more elements in an array, or more threads along an axis of a grid, block indices have 64 bits. With no more,
the sum of an index and a step fits into an i32."""
MOST_THREADS = 1024
"""The most threads of a block."""


def extents(x: Any, what: str, least: int = 1) -> Dim3:
    """Return an int, or up to three, as (x, y, z). Errors: `LaunchError` for other objects, and below `least`."""
    if getattr(x, "shape", ()):
        meant = "arguments follow grid and block, where a block of None is the decorator's"
        raise LaunchError(f"the {what} takes whole numbers, not {brief(x)}: {meant}")
    given = x if isinstance(x, tuple | list) else (x,)
    if not 1 <= len(given) <= 3:
        raise LaunchError(f"the {what} is {x!r}, but must be one to three integers")
    x_, y, z = (*(whole(n, f"the {what}", least) for n in given), 1, 1)[:3]
    return x_, y, z


def is_wide(grid: Dim3, block: Any) -> bool:
    """Tell whether the threads along an axis may be too many for 32-bit indices. A block of None may have any shape."""
    threads = (MOST_THREADS,) * 3 if block is None else extents(block, "block")
    return any(n * m > MOST_IN_32_BITS for n, m in zip(grid, threads, strict=True))


def whole(n: Any, what: str, least: int = 0) -> int:
    """Return `n` as an int. Errors: `LaunchError` if it is no whole number, or below `least`."""
    if type(n) is not int:
        if isinstance(n, bool) or not hasattr(type(n), "__index__"):
            raise LaunchError(f"{what} takes whole numbers, not {brief(n)}")
        try:
            n = n.__index__()
        except TypeError as error:  # an array of several numbers, or a dim that is known at launch only
            raise LaunchError(f"{what} takes whole numbers, not {brief(n)}: {error}") from error
    if n < least:
        raise LaunchError(f"{what} has {n}, but {least} is the least it can have")
    return int(n)


def is_exact(x: Any) -> bool:
    """Tell whether an extent is None, an int or a tuple of ints. 1, True and 1.0 are equal, but launch differently."""
    return x is None or type(x) is int or (type(x) is tuple and all(type(n) is int for n in x))


def hashable(x: Any, what: str) -> Extent | None:
    """Return an extent as a dict key: unchanged if `is_exact`, else as (x, y, z). Errors: as `extents`."""
    return x if is_exact(x) else extents(x, what)
