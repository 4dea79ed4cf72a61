"""`Launch`: grid, block and other settings of a launch, as users write them, normalised and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Literal

from cutelite.records import dataclass
from cutelite.target import Target
from cutelite_rt.arrays import stream as streams
from cutelite_rt.errors import LaunchError as LaunchError
from cutelite_rt.launcher import asked
from cutelite_rt.shapes import Dim3 as Dim3
from cutelite_rt.shapes import Extent as Extent
from cutelite_rt.shapes import extents as extents


@dataclass(frozen=True, repr=False)
class Launch(asked.ExportedLaunch):
    """Everything about a launch but its arguments: the fields of `cutelite_rt.ExportedLaunch`, and these.

    grid    blocks: an int, or up to three as (x, y, z); with a 0 among them nothing is launched. Or a function that is
            called at each launch with a dict of the arguments by parameter, and returns that. Or 'persistent': as many
            blocks, along x, as the GPU runs at once
    block   threads in a block, as an int or up to three; the kernel is specialised for it. Default: the block of
            `@kernel(block=...)`; where the decorator has one, another one here is refused. `cluster` likewise
    seed    seed of the simulator's schedule; default: CUTELITE_SIM_SEED
    """

    grid: Extent | Literal["persistent"] | Callable[[dict[str, Any]], Extent] = field()
    seed: int | None = None

    @cached_property
    def facts(self) -> bytes:
        """The launch as bytes for the compiled launcher."""
        stays = streams.stays(self.stream) and not callable(self.grid) and not _is_symbolic(self.grid)
        return asked.facts_while(stays, self.settled)

    def settled(self) -> bytes:
        """Return the `facts`, computed anew. Errors: `LaunchError`."""
        return asked.settled_facts(self, extents(self.grid, "grid", least=0))

    def resolved(self, arguments: dict[str, Any]) -> Launch:
        """Return this launch; where its grid is a function, with the grid that it returns for these arguments."""
        if not callable(self.grid):
            return self
        try:
            return replace(self, grid=self.grid(arguments))
        except TypeError as error:
            frame = error.__traceback__
            if frame is not None and frame.tb_next is None:  # the call itself failed
                raise LaunchError(
                    f"a grid that is a function is called with a dict of the arguments: {error}"
                ) from None
            raise


PERSISTENT = "persistent"
"""The grid of as many blocks as the GPU runs at once."""


def _is_symbolic(grid: Any) -> bool:
    """Tell whether a grid has symbolic sizes of torch. Reading one makes torch.compile specialise for its value."""
    return any(type(n).__name__ == "SymInt" for n in (grid if isinstance(grid, tuple) else (grid,)))


def from_subscript(key: Any, declared: bool = True) -> Launch:
    """Return the launch of ``kernel[key]``: a `Launch`, a grid, or (grid, block[, stream[, dynamic smem]]) as in Numba.

    declared  whether the decorator has a block, which is taken where the block is left out or None
    Errors    `LaunchError`
    """
    if isinstance(key, Launch):
        return key
    if declared and (callable(key) or type(key) is str or _is_symbolic(key) or hasattr(type(key), "__index__")):
        return Launch(key)
    forms = "kernel[grid, block](...), kernel[grid](...) where @kernel gives the block, or kernel[Launch(...)](...)"
    return asked.from_subscript(key, Launch, 2 - declared, forms)


def shortest(shape: Dim3) -> int | tuple[int, ...]:
    """Return a shape without trailing ones: 64 for (64, 1, 1)."""
    x, y, z = shape
    return shape if z > 1 else (x, y) if y > 1 else x


def check_shape(block: Dim3, cluster: Dim3 | None, target: Target) -> None:
    """Check that the target takes such blocks and clusters. Errors: `LaunchError`."""
    threads = block[0] * block[1] * block[2]
    if threads > target.max_threads:
        raise LaunchError(f"a block of {block} has {threads} threads, but {target.arch} takes {target.max_threads}")
    asked.check_extents("block", block, target.max_block, target.arch)
    blocks = 1 if cluster is None else cluster[0] * cluster[1] * cluster[2]
    if blocks > target.max_cluster:
        takes = str(target.max_cluster) if target.max_cluster > 1 else "no clusters"
        raise LaunchError(f"a cluster of {cluster} has {blocks} blocks, but {target.arch} takes {takes}")
