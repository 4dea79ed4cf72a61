"""Facts of ``kernel[grid, block]``, as the compiled launcher reads them.

In    a grid, a stream and settings of a launch
Out   bytes: `facts` in launcher.c
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Literal

from cutelite_rt.arrays import stream as streams
from cutelite_rt.errors import LaunchError
from cutelite_rt.gpu.attributes import attributes_of
from cutelite_rt.shapes import Extent, extents, is_wide, whole

NO_BLOCKS, STREAM, UNRESOLVED, ODD, BY_DIMS, GENERAL = 1, 2, 4, 8, 16, 32
"""Bits of facts. NO_BLOCKS: nothing is to be launched. STREAM: the stream is given. UNRESOLVED: Python resolves grid or
stream at each launch. ODD: Python launches. BY_DIMS: the grid follows from the dims, by the signature's rule. GENERAL:
each call brings facts of its own."""

FACTS = struct.Struct("<4I 2Q")  # grid x, y, z; bits; class of the launch; stream. A builtin has three addresses behind
MAX_GRID = 2**31 - 1, 65535, 65535
"""The grid that every GPU takes; Python decides about larger ones."""

_classes: dict[Hashable, int] = {}
_class_numbers = itertools.count()  # no two threads get the same one


@dataclass(frozen=True)
class ExportedLaunch:
    """Everything about a launch but the arguments, as far as no compiler is needed: grids are numbers.

    grid         blocks, as an int or up to three of them (x, y, z); with a 0 among them nothing is launched. None: by
                 the rule that the kernel was exported with
    block        threads in a block, likewise; None: what the kernel was compiled for, and it takes no other
    cluster      blocks in a cluster, likewise
    smem         bytes of dynamic shared memory on top of what the kernel declares
    stream       a stream of torch, CuPy or cuda.core, or a handle; default: the current one of the arrays' library
    cooperative  all blocks are resident at once, so that they may wait for each other
    pdl          the kernel may start before the one ahead of it in the stream has ended, and waits for it with
                 `cl.griddepcontrol_wait` (programmatic dependent launch)
    priority     of its blocks before those of other streams' kernels, as of streams: the lower, the sooner
    carveout     percent of L1 that is to be shared memory, 0 to 100: a wish, which the driver rounds
    domain       'default' or 'remote': of memory synchronisation; a fence waits for writes of its own domain alone
    launched     an event of torch, CuPy or cuda.core, or a handle, recorded once all blocks have begun
    triggered    likewise, once all have called `cl.griddepcontrol_launch_dependents`, or have ended
    Source       CUDA driver API: cuLaunchKernelEx, CUlaunchAttributeID
    """

    grid: Any = None
    block: Extent | None = None
    cluster: Extent | None = None
    smem: int = 0
    stream: Any = None
    cooperative: bool = False
    pdl: bool = False
    priority: int | None = None
    carveout: int | None = None
    domain: Literal["default", "remote"] | None = None
    launched: Any = None
    triggered: Any = None


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
    except (LaunchError, TypeError, ValueError):  # Python says it, at the launch
        return facts_of((1, 1, 1), None, None, ODD)


def settled_facts(launch: Any, grid: tuple[int, int, int], bits: int = 0) -> bytes:
    """Facts of a launch as it is now, on that grid. Errors: `LaunchError`; those of `stream.handle`."""
    settings = (x if x is None else extents(x, "shape") for x in (launch.block, launch.cluster))
    wide = is_wide(grid, launch.block)
    ways = bool(launch.cooperative), bool(launch.pdl), attributes_of(launch)
    settled = (*settings, whole(launch.smem, "smem"), *ways, wide)
    return facts_of(grid, settled, None if launch.stream is None else streams.handle(launch.stream), bits)


DIVERTED = ctypes.c_uint64(0)
"""All launches go to Python while this is not 0."""
