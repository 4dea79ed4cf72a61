"""MMA operations: what one instruction multiplies, of which types, and which thread holds what of it.

An operation is a frozen value, made inside a kernel or outside; `lang.mma.make_tiled_mma` repeats it over a tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cutelite import ops
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import f32
from cutelite.lang.emit import mistake
from cutelite.layout import Layout
from cutelite.ops import wgmma_layouts

MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}
"""Which of M, N and K the two modes of each operand are."""


class MmaOp:
    """Base of MMA operations.

    threads        the number of threads that execute one together
    a_in_memory    operand A is read from shared memory by the instruction itself, likewise B
    """

    threads: ClassVar[int] = 1
    a_in_memory: ClassVar[bool] = False
    b_in_memory: ClassVar[bool] = False

    @property
    def sparse(self) -> bool:
        """True where half of A along K is left out (`wgmma.compress_sparse`), and metadata names what is kept."""
        return False

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        """Extents of one instruction."""
        raise NotImplementedError

    def extents(self, operand: str) -> tuple[int, int]:
        """Return the extents of operand 'A', 'B' or 'C' as it lies in memory and registers."""
        first, second = (self.shape_mnk[mode] for mode in MODES[operand])
        return first, second // self.packing(operand, 2 if operand != "C" else 1)

    def packing(self, operand: str, mode: int) -> int:
        """Return how many indices of M (0), N (1) or K (2) one element of an operand in memory stands for."""
        return 2 if self.sparse and operand == "A" and mode == 2 else 1

    def dtype_of(self, operand: str) -> DType:
        raise NotImplementedError

    def layout_tv(self, operand: str) -> Layout:
        """Return the layout of operand 'A', 'B' or 'C': (thread, value) to its index, first mode fastest."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from cutelite.layout import viz  # only notebooks need it

        return viz.html(*viz.operands(self))


@dataclass(frozen=True)
class MmaUniversalOp(MmaOp):
    """A fused multiply-add of each thread for itself, on f16, bf16, f32 or f64."""

    dtype: DType = f32

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        return 1, 1, 1

    def dtype_of(self, operand: str) -> DType:
        return self.dtype

    def layout_tv(self, operand: str) -> Layout:
        return Layout((1, 1), (0, 0))


@dataclass(frozen=True)
class WarpMmaOp(MmaOp):
    """mma.sync of a warp, from registers.

    a_dtype    type of A (and of B, unless `b_dtype` is given): f16, bf16, tf32, i8, u8, e4m3, e5m2 or f64
    acc_dtype  type of the accumulator
    k          extent along K; None for the largest that there is
    saturate   integers only
    m          extent along M: 16, or 8 for f64 (the default there), i8 and u8
    Source     PTX ISA: mma
    """

    a_dtype: DType
    acc_dtype: DType
    k: int | None = None
    b_dtype: DType | None = None
    saturate: bool = False
    m: int | None = None
    threads = 32

    def __post_init__(self) -> None:
        form = ops.mma.form_of(self.a_dtype.name, self.m)
        b = self.dtype_of("B")
        if form is None and ops.mma.form_of(self.a_dtype.name) is not None:
            raise mistake("mma-atom", f"mma.sync on {self.a_dtype} has no m of {self.m}")
        if form is None or b.name not in form.b or self.acc_dtype.name not in form.d:
            known = "; ".join(f"{a} with {'/'.join(f.b)} into {'/'.join(f.d)}" for a, f in ops.mma.FORMS.items())
            raise mistake(
                "mma-atom",
                f"mma.sync does not multiply {self.a_dtype} by {b} into {self.acc_dtype}",
                help=f"it takes {known}",
            )
        if self.shape_mnk[2] not in form.k:
            raise mistake("mma-atom", f"mma.sync on {self.a_dtype} has K {' or '.join(map(str, form.k))}, not {self.k}")

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        form = ops.mma.form_of(self.a_dtype.name, self.m)
        assert form is not None, "checked when this was made"
        return form.m, form.n, self.k or form.k[-1]

    def dtype_of(self, operand: str) -> DType:
        return {"A": self.a_dtype, "B": self.b_dtype or self.a_dtype, "C": self.acc_dtype}[operand]

    def layout_tv(self, operand: str) -> Layout:
        m, _, k = self.shape_mnk
        if operand == "C":
            return ops.mma.accumulator(m)
        elem = self.dtype_of(operand)
        return ops.mma.operand_a(elem, k, m) if operand == "A" else ops.mma.operand_b(elem, k)


@dataclass(frozen=True)
class WarpgroupMmaOp(MmaOp):
    """wgmma of a warpgroup: B, and A unless `a_source` is 'rmem', are read from shared memory.

    a_dtype    f16, bf16, tf32, e4m3, e5m2, i8 or u8; of B too, unless `b_dtype` is given
    acc_dtype  f32, f16 or i32
    n          8 to 256: the extent of one instruction along N
    sparse     A is compressed: (64, K / 2), with metadata
    Source     PTX ISA: wgmma.mma_async, wgmma.mma_async.sp
    """

    a_dtype: DType
    acc_dtype: DType
    n: int
    b_dtype: DType | None = None
    a_source: Literal["smem", "rmem"] = "smem"
    sparse: bool = False
    threads = wgmma_layouts.THREADS
    b_in_memory = True

    def __post_init__(self) -> None:
        form = wgmma_layouts.FORMS.get(self.a_dtype.name)
        b = self.dtype_of("B")
        if form is None or b.name not in form.b or self.acc_dtype.name not in form.d:
            known = "; ".join(f"{a} with {'/'.join(f.b)} into {'/'.join(f.d)}" for a, f in wgmma_layouts.FORMS.items())
            raise mistake(
                "mma-atom",
                f"wgmma does not multiply {self.a_dtype} by {b} into {self.acc_dtype}",
                help=f"it takes {known}",
            )
        if not wgmma_layouts.legal_n(form, self.n):
            step = "8 up to 32 and of 16 above" if form.wide_steps else "8"
            raise mistake(
                "mma-atom", f"wgmma on {self.a_dtype} takes N a multiple of {step}, from 8 to 256, not {self.n}"
            )
        if self.a_source not in ("smem", "rmem"):
            raise mistake("mma-atom", f"A comes from 'smem' or 'rmem', not {self.a_source!r}")

    @property
    def a_in_memory(self) -> bool:  # type: ignore[override]
        return self.a_source == "smem"

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        return wgmma_layouts.M, self.n, wgmma_layouts.k_of(self.a_dtype, self.sparse)

    def dtype_of(self, operand: str) -> DType:
        return {"A": self.a_dtype, "B": self.b_dtype or self.a_dtype, "C": self.acc_dtype}[operand]

    def layout_tv(self, operand: str) -> Layout:
        if operand == "C":
            return wgmma_layouts.accumulator(self.n)
        if operand == "A" and not self.a_in_memory:
            return wgmma_layouts.operand_a(self.a_dtype)
        rows, k = self.extents(operand)
        return Layout((self.threads, (rows, k)), (0, (1, rows)))  # every thread names the whole operand
