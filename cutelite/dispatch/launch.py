"""How a kernel is launched: the user's words for it, normalised and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Extent = int | tuple[int, ...]
Dim3 = tuple[int, int, int]


class LaunchError(ValueError):
    """A launch that cannot be: what was asked for, and what the limit is."""


@dataclass(frozen=True)
class Launch:
    """Everything about a launch but the arguments.

    grid         blocks, as an int or up to three of them (x, y, z)
    block        threads in a block, likewise; part of what the kernel is specialised for
    cluster      blocks in a cluster, likewise; part of what the kernel is specialised for
    smem         bytes of dynamic shared memory on top of what the kernel declares (`cl.dynamic_shared`)
    stream       a stream of torch, CuPy or cuda.core, or a handle; default: the current one of the arrays' library
    cooperative  all blocks are resident at once, so that they may wait for each other
    pdl          the kernel may start before the one ahead of it in the stream has ended, and waits for it with
                 `cl.griddepcontrol_wait` (programmatic dependent launch)
    """

    grid: Extent
    block: Extent
    cluster: Extent | None = None
    smem: int = 0
    stream: Any = None
    cooperative: bool = False
    pdl: bool = False


def from_subscript(key: Any) -> Launch:
    """``kernel[key]``: a `Launch`, or (grid, block) with stream and dynamic shared memory behind, as Numba has it."""
    if isinstance(key, Launch):
        return key
    if not isinstance(key, tuple) or not 2 <= len(key) <= 4:
        raise LaunchError("a kernel is launched as kernel[grid, block](...) or kernel[Launch(...)](...)")
    grid, block, *rest = key
    return Launch(grid, block, stream=rest[0] if rest else None, smem=rest[1] if len(rest) > 1 else 0)


def extents(x: Any, what: str) -> Dim3:
    """An int or a tuple of up to three as (x, y, z)."""
    given = x if isinstance(x, tuple | list) else (x,)
    if not 1 <= len(given) <= 3 or not all(_is_count(n) for n in given):
        raise LaunchError(f"the {what} is {x!r}, but must be one to three positive integers")
    x, y, z = (*(int(n) for n in given), 1, 1)[:3]
    return x, y, z


def _is_count(n: Any) -> bool:
    try:
        return not isinstance(n, bool) and n.__index__() >= 1
    except AttributeError:
        return False


def check(kernel: str, grid: Dim3, block: Dim3, cluster: Dim3 | None, target: Any) -> None:
    """Errors: `LaunchError` where the target's limits forbid this shape."""
    threads = block[0] * block[1] * block[2]
    if threads > target.max_threads:
        raise LaunchError(
            f"{kernel}: block {block} has {threads} threads, but {target.arch} takes at most {target.max_threads}"
        )
    for name, shape, limits in (("block", block, target.max_block), ("grid", grid, target.max_grid)):
        for axis, n, limit in zip("xyz", shape, limits, strict=True):
            if n > limit:
                raise LaunchError(f"{kernel}: the {name}'s {axis} extent is {n}, but {target.arch} takes at most {limit}")
    if cluster is not None:
        _check_cluster(kernel, grid, cluster, target)


def _check_cluster(kernel: str, grid: Dim3, cluster: Dim3, target: Any) -> None:
    blocks = cluster[0] * cluster[1] * cluster[2]
    if blocks > target.max_cluster:
        limit = target.max_cluster
        what = f"at most {limit}" if limit > 1 else "no clusters"
        raise LaunchError(f"{kernel}: cluster {cluster} has {blocks} blocks, but {target.arch} takes {what}")
    for axis, n, of in zip("xyz", grid, cluster, strict=True):
        if n % of:
            raise LaunchError(f"{kernel}: the grid's {axis} extent {n} is no multiple of the cluster's, {of}")
