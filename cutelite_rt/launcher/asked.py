"""A launch without its arguments, as users write it: subscripts, streams, and checks against a GPU's limits.

In    ``kernel[...]`` of a live or an exported kernel
Out   an `ExportedLaunch`, or the compiler's `Launch`; `LaunchError` for one that is not possible; and its facts as
      bytes that the compiled launcher reads: `facts` in launcher.c
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

from cutelite_rt import shapes
from cutelite_rt.arrays import stream as streams
from cutelite_rt.errors import LaunchError
from cutelite_rt.gpu.attributes import ways_of
from cutelite_rt.shapes import Dim3, Extent, extents, is_wide, whole


@dataclass(frozen=True, repr=False)
class ExportedLaunch:
    """A launch without its arguments, of an exported kernel: its grid is given in numbers.

    grid         blocks: an int, or up to three as (x, y, z); with a 0 among them nothing is launched. None: the grid
                 that the kernel was exported with
    block        threads in a block, likewise. None: the block that the kernel was compiled for; it takes no other
    cluster      blocks in a cluster, likewise
    smem         bytes of dynamic shared memory, in addition to those that the kernel declares
    stream       a stream of torch, CuPy or cuda.core, or a handle; default: the current one of the arrays' library
    cooperative  all blocks are resident at once, so that they may wait for each other
    pdl          the kernel may start before the one ahead of it in the stream has ended, and waits for it with
                 `cl.griddepcontrol_wait` (programmatic dependent launch)
    priority     priority of its blocks over those of kernels in other streams, like a stream's: lower runs sooner
    carveout     percentage of L1 to be used as shared memory, 0 to 100: a hint, which the driver rounds
    domain       memory synchronisation domain, 'default' or 'remote': a fence waits for writes of its own domain alone
    launched     an event of torch, CuPy or cuda.core, or a handle, recorded when all blocks have begun
    triggered    likewise, when all blocks have called `cl.griddepcontrol_launch_dependents` or ended
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

    def __repr__(self) -> str:
        given = ((each.name, each.default, getattr(self, each.name)) for each in fields(self))
        said = (f"{name}={value!r}" for name, default, value in given if value is not default)
        return f"{type(self).__name__}({', '.join(said)})"


Launch = TypeVar("Launch", bound=ExportedLaunch)


def from_subscript(key: Any, launch: type[Launch], least: int, forms: str) -> Launch:
    """Return the launch of ``kernel[key]``: a launch, or (grid, block[, stream[, dynamic smem]]) as in Numba.

    launch  the class of the result
    least   the least number of items of a tuple
    forms   how the kernel is launched, for the error's text
    Errors  `LaunchError`
    """
    if isinstance(key, launch):
        return key
    if not isinstance(key, tuple) or not least <= len(key) <= 4:
        raise LaunchError(f"a kernel is launched as {forms}, not kernel[{key!r}]")
    if len(key) == 1:
        return launch(key)
    grid, block, *rest = key
    return launch(grid, block, stream=rest[0] if rest else None, smem=rest[1] if len(rest) > 1 else 0)


def is_exact(key: Any) -> bool:
    """Tell whether the result of ``kernel[key]`` may be kept, and returned again for an equal key."""
    if type(key) is int:
        return True
    if type(key) is not tuple or not 2 <= len(key) <= 4:
        return False
    grid, block, stream, smem = key + (None, 0)[len(key) - 2 :]
    return shapes.is_exact(grid) and shapes.is_exact(block) and streams.stays(stream) and type(smem) is int


def given_stream(launch: ExportedLaunch) -> int | None:
    """Return the handle of a launch's stream; None if it names none. Errors: `LaunchError` for other objects."""
    try:
        return None if launch.stream is None else streams.handle(launch.stream)
    except (TypeError, ValueError) as error:
        raise LaunchError(str(error)) from error


def check_extents(what: str, shape: Dim3, limits: Dim3, arch: str) -> None:
    """Check a grid or block (`what`) against an architecture's limits. Errors: `LaunchError`."""
    for axis, n, limit in zip("xyz", shape, limits, strict=True):
        if n > limit:
            raise LaunchError(f"the {what}'s {axis} extent is {n}, but {arch} takes at most {limit}")


def check(
    launch: ExportedLaunch, grid: Dim3, cluster: Dim3 | None, most: Dim3, smem_per_block: int, pdl: bool, arch: str
) -> None:
    """Check a launch for an architecture. Errors: `LaunchError`.

    grid, cluster   its grid and cluster, as (x, y, z)
    most            the largest grid of the architecture
    smem_per_block  its bytes of shared memory for a block
    pdl             whether it has programmatic dependent launch
    """
    check_extents("grid", grid, most, arch)
    for axis, n, of in zip("xyz", grid, cluster or (1, 1, 1), strict=True):
        if n % of:
            raise LaunchError(f"the grid's {axis} extent {n} is no multiple of the cluster's, {of}")
    if whole(launch.smem, "the dynamic shared memory") > smem_per_block:
        raise LaunchError(
            f"{launch.smem} bytes of shared memory are asked for, but {arch} has {smem_per_block} for a block"
        )
    _, early, _ = ways_of(launch)
    if early and not pdl:
        raise LaunchError(f"pdl (programmatic dependent launch) came with sm_90; {arch} has none")


def check_memory(declared: int, asked: int, smem_per_block: int, arch: str) -> None:
    """Check that a block has the bytes of shared memory that kernel and launch ask for. Errors: `LaunchError`."""
    if declared + asked > smem_per_block:
        raise LaunchError(
            f"a block needs {declared} bytes of shared memory and {asked} are asked for on top; {arch} has "
            f"{smem_per_block}"
        )


# Facts: a launch as bytes for the compiled launcher.

NO_BLOCKS, STREAM, UNRESOLVED, ODD, BY_DIMS, GENERAL = 1, 2, 4, 8, 16, 32
"""Bits of facts. NO_BLOCKS: the grid is empty. STREAM: the stream is given. UNRESOLVED: Python resolves grid or stream
at each launch. ODD: Python launches. BY_DIMS: the grid is computed from the dims, as the signature says. GENERAL: each
call gives facts of its own."""

FACTS = struct.Struct("<4I 2Q")  # grid x, y, z; bits; class of the launch; stream. In a builtin three addresses follow
MAX_GRID = 2**31 - 1, 65535, 65535
"""The largest grid that every GPU takes; launches with larger ones go to Python."""

_classes: dict[Hashable, int] = {}
_class_numbers = itertools.count()  # no two threads get the same one


def facts_of(grid: tuple[int, int, int], settings: Hashable, stream: int | None, bits: int = 0) -> bytes:
    """Return the facts of a launch; `settings` has everything that specialises or configures it but grid and stream."""
    if any(not 0 <= extent <= most for extent, most in zip(grid, MAX_GRID, strict=True)):
        bits, grid = bits | ODD, (0, 0, 0)
    bits |= NO_BLOCKS * (0 in grid) | STREAM * (stream is not None)
    return FACTS.pack(*grid, bits, _classes.setdefault(settings, next(_class_numbers)), stream or 0)


def facts_while(stays: bool, settled: Callable[[], bytes]) -> bytes:
    """Return facts to keep: `settled()`, or, if grid or stream may change, facts with which each launch asks Python."""
    try:
        return settled() if stays else facts_of((1, 1, 1), None, None, UNRESOLVED)
    except LaunchError:  # Python raises it at the launch
        return facts_of((1, 1, 1), None, None, ODD)


def settled_facts(launch: Any, grid: tuple[int, int, int], bits: int = 0) -> bytes:
    """Return the facts of a launch on that grid, with its stream as it is now. Errors: `LaunchError`."""
    settings = (x if x is None else extents(x, "shape") for x in (launch.block, launch.cluster))
    wide = is_wide(grid, launch.block)
    settled = (*settings, whole(launch.smem, "smem"), *ways_of(launch), wide)
    return facts_of(grid, settled, given_stream(launch), bits)


DIVERTED = ctypes.c_uint64(0)
"""All launches go to Python while this is not 0."""
