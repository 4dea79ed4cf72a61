"""Special registers, which tell a thread its place, and the named extents of the launch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cutelite.ir.contract import Effect, Llvm, Problem, np, numpy_dtype
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import Scalar, Type, i32, i64, u32, u64
from cutelite.ops.address import among, scalar

if TYPE_CHECKING:
    from cutelite.ir.simulation import Lanes

SPECIAL: dict[str, Scalar] = {
    **{f"{name}.{axis}": i32 for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"},
    **{f"cluster_{name}.{axis}": i32 for name in ("ctaid", "nctaid") for axis in "xyz"},
    **{f"{name}.{axis}": i32 for name in ("clusterid", "nclusterid") for axis in "xyz"},
    **dict.fromkeys(("cluster_ctarank", "cluster_nctarank", "laneid", "warpid", "nwarpid", "smid", "nsmid"), i32),
    **dict.fromkeys(("lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "clock"), u32),
    **dict.fromkeys(("clock64", "globaltimer", "gridid"), u64),
}
"""PTX special registers by name, with the type that kernels see. Indices are i32: all of them fit."""

LIMITS: dict[str, tuple[int, int]] = {
    **{f"tid.{axis}": (0, extent) for axis, extent in zip("xyz", (1024, 1024, 64), strict=True)},
    **{f"ntid.{axis}": (1, extent + 1) for axis, extent in zip("xyz", (1024, 1024, 64), strict=True)},
    **{f"{name}.{axis}": (0, 2**31 - 1 if axis == "x" else 65535) for name in ("ctaid", "clusterid") for axis in "xyz"},
    **{f"{name}.{a}": (1, -(2**31) if a == "x" else 65536) for name in ("nctaid", "nclusterid") for a in "xyz"},
    **{f"cluster_ctaid.{axis}": (0, 16) for axis in "xyz"},
    **{f"cluster_nctaid.{axis}": (1, 17) for axis in "xyz"},
    "cluster_ctarank": (0, 16),
    "cluster_nctarank": (1, 17),
    "laneid": (0, 32),
}
"""The range of each register, from its least value to one above its greatest (CUDA C++ Programming Guide, compute
capabilities), as LLVM takes ranges: 2**31 is negative in 32 bits."""

CHANGING = ("clock", "clock64", "globaltimer", "smid", "warpid")
OF_THE_BLOCK = ("ntid", "ctaid", "nctaid", "cluster", "ncluster", "gridid")
"""The beginnings of names of registers that hold the same value for all threads of a block."""
OF_THE_GRID = ("ctaid", "nctaid", "clusterid")
"""Registers, with an axis each, that count blocks or clusters of the grid: numbers of 64 bits in a wide launch."""


@op("special", source="PTX ISA: special registers")
class Special(Op):
    """The special register ``%register``."""

    register: str

    @property
    def effects(self) -> Effect:  # type: ignore[override]
        return Effect.UNMERGEABLE if self.register in CHANGING else Effect.PURE

    @property
    def of_the_block(self) -> bool:
        """Tell whether all threads of a block read the same value."""
        return self.register.startswith(OF_THE_BLOCK)

    @property
    def of_the_grid(self) -> bool:
        return self.register.partition(".")[0] in OF_THE_GRID

    def result_types(self) -> tuple[Type, ...]:
        return (SPECIAL[self.register],)

    def verify(self) -> Iterator[Problem]:
        if self.register not in SPECIAL:
            yield Problem("register", f"PTX has no special register %{self.register}")

    def llvm(self) -> Llvm:
        bits = SPECIAL[self.register].bits
        if (limits := LIMITS.get(self.register)) is not None:
            dotted = self.register.replace("cluster_", "cluster.")
            return Llvm(f"$out = call range(i32 {limits[0]}, {limits[1]}) i32 @llvm.nvvm.read.ptx.sreg.{dotted}()")
        volatile = "sideeffect " if self.register in CHANGING else ""
        letter = "r" if bits == 32 else "l"
        return Llvm(f'$out = call i{bits} asm {volatile}"mov.u{bits} $$0, %{self.register};", "={letter}"()')

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(lanes.special(self.register).astype(numpy_dtype(SPECIAL[self.register])))


@op("dim", source="cutelite: named dims")
class Dim(Op):
    """The value of an integer expression over named dims, such as ``ceil_div(K,64)``."""

    expr: object
    type: Scalar
    gives = "type"
    takes = {"type": among((i32, i64))}

    def simulate(self, lanes: Lanes) -> None:
        value = np.asarray(lanes.dim(self.expr))
        lanes.define(np.broadcast_to(value, lanes.mask.shape).astype(numpy_dtype(self.type)))


@op("dim.bind", effects=Effect.UNMERGEABLE, source="cutelite: named dims")
class DimBind(Op):
    """Bind the dim `dim` to the run-time integer `a` from here on, as `cl.dim(x)` does."""

    a: Value
    dim: object
    takes = {"a": scalar(i32, i64)}

    def simulate(self, lanes: Lanes) -> None:
        lanes.bind_dim(self.dim, lanes.get(self.a))
