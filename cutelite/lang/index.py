"""The indices of threads, blocks and clusters.

`cl.thread_idx.x`, `cl.block_idx.y`, `cl.block_dim`, `cl.grid_dim`, `cl.cluster_idx`, `cl.cluster_dim`,
`cl.block_in_cluster`: run-time i32 numbers, except extents that the launch has fixed at compile time
(`block_dim` and `cluster_dim` always are), which are ints. In a wide launch (docs/language.md) numbers that count
blocks of the grid are i64, since products of them are compared with extents, and become offsets.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import i64
from cutelite.lang.emit import builder_here, emit, mistake
from cutelite.lang.promotion import to_dtype
from cutelite.lang.values import Scalar
from cutelite.ops.index import OF_THE_GRID, Special

AXES = {"x": 0, "y": 1, "z": 2}


class Axes:
    """Three numbers, `.x`, `.y` and `.z`; also `[0]`, `[1]`, `[2]`, and iterable."""

    __slots__ = ("_attr", "_name", "_register")

    def __init__(self, name: str, register: str, attr: str = "") -> None:
        self._name, self._register, self._attr = name, register, attr

    def _axis(self, axis: str) -> Any:
        builder = builder_here(f"cl.{self._name}")
        attrs = builder.function.attrs
        fixed = attrs.get(self._attr) if self._attr else None
        if fixed is not None:
            return fixed[AXES[axis]]
        number = emit(Special(f"{self._register}.{axis}"))
        return to_dtype(number, i64) if attrs.get("wide") and self._register in OF_THE_GRID else number

    @property
    def x(self) -> Scalar:
        return self._axis("x")  # type: ignore[no-any-return]

    @property
    def y(self) -> Scalar:
        return self._axis("y")  # type: ignore[no-any-return]

    @property
    def z(self) -> Scalar:
        return self._axis("z")  # type: ignore[no-any-return]

    def __getitem__(self, axis: int) -> Scalar:
        if axis not in (0, 1, 2):
            raise mistake("out-of-bounds", f"cl.{self._name} has three axes: 0, 1 and 2")
        return self._axis("xyz"[axis])  # type: ignore[no-any-return]

    def __iter__(self) -> Any:
        return (self[i] for i in range(3))

    def described(self) -> str:
        return f"cl.{self._name}"

    __repr__ = described


thread_idx = Axes("thread_idx", "tid")
block_idx = Axes("block_idx", "ctaid")
block_dim = Axes("block_dim", "ntid", "block")
grid_dim = Axes("grid_dim", "nctaid")
cluster_idx = Axes("cluster_idx", "clusterid")
cluster_dim = Axes("cluster_dim", "cluster_nctaid", "cluster")
block_in_cluster = Axes("block_in_cluster", "cluster_ctaid")


def lane_idx() -> Scalar:
    """Return the lane of this thread in its warp, 0 to 31."""
    return emit(Special("laneid"))  # type: ignore[no-any-return]


def warp_idx() -> Scalar:
    """Return the warp of this thread in its block, counting threads x fastest.

    To the compiler it may differ between lanes: `make_warp_uniform` says that it does not.
    """
    return linear_thread_idx() >> 5  # type: ignore[no-any-return]


def linear_thread_idx() -> Any:
    """Return the number of this thread in its block, counting x fastest."""
    x, y, z = thread_idx
    nx, ny, nz = block_dim
    if type(ny) is int and ny == 1 and type(nz) is int and nz == 1:
        return x
    return x + nx * (y + ny * z)


def lanemask(which: str) -> Scalar:
    """Return a u32 with a bit for each lane of the warp that is in relation `which` to this thread's lane.

    which   'eq': the lane itself; 'lt', 'le', 'gt', 'ge': lanes below it, up to it, above it, from it on
    Source  PTX ISA: %lanemask_eq and its like
    """
    if which not in ("eq", "lt", "le", "gt", "ge"):
        raise mistake("lanemask", f"lanemask takes 'eq', 'lt', 'le', 'gt' or 'ge', not {which!r}")
    return emit(Special(f"lanemask_{which}"))  # type: ignore[no-any-return]


def smid() -> Scalar:
    """Return the number of the multiprocessor that this block runs on. Source: PTX ISA: %smid."""
    return emit(Special("smid"))  # type: ignore[no-any-return]


def nsmid() -> Scalar:
    """Return one more than the largest `smid` of this GPU. Source: PTX ISA: %nsmid."""
    return emit(Special("nsmid"))  # type: ignore[no-any-return]


def warpid() -> Scalar:
    """Return the slot of this warp on its multiprocessor; `warp_idx` is its number in the block. PTX: %warpid."""
    return emit(Special("warpid"))  # type: ignore[no-any-return]


def nwarpid() -> Scalar:
    """Return one more than the largest `warpid` of this GPU. Source: PTX ISA: %nwarpid."""
    return emit(Special("nwarpid"))  # type: ignore[no-any-return]


def gridid() -> Scalar:
    """Return the number of this launch in its context, a u64. Source: PTX ISA: %gridid."""
    return emit(Special("gridid"))  # type: ignore[no-any-return]


def cluster_count() -> Axes:
    """Return the number of clusters of the grid along each axis, `.x`, `.y`, `.z`. Source: PTX ISA: %nclusterid."""
    return Axes("cluster_count()", "nclusterid")


def blocks_in_cluster() -> Scalar:
    """Return the number of blocks in this block's cluster. Source: PTX ISA: %cluster_nctarank."""
    return emit(Special("cluster_nctarank"))  # type: ignore[no-any-return]


def block_rank_in_cluster() -> Scalar:
    """Return the rank of this block in its cluster."""
    return emit(Special("cluster_ctarank"))  # type: ignore[no-any-return]
