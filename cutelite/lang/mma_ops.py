"""MMA operations: the shapes and types that one instruction multiplies, and the elements that each thread holds.

An operation is a frozen value, made inside a kernel or outside; `lang.mma.make_tiled_mma` repeats it over a tile.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from cutelite import ops
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import f32, u32
from cutelite.lang.emit import mistake
from cutelite.lang.packed import Packed
from cutelite.layout import Layout
from cutelite.ops import tcgen05_layouts, wgmma_layouts, wgmma_sparse
from cutelite.records import dataclass

MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}
"""The two modes of each operand, as indices into M, N and K."""


class MmaOp:
    """Base of MMA operations.

    threads        the number of threads that execute one together
    a_in_memory    the instruction reads operand A from shared memory; `b_in_memory` likewise
    """

    threads: ClassVar[int] = 1
    a_in_memory: ClassVar[bool] = False
    b_in_memory: ClassVar[bool] = False
    a_dtype: Any
    b_dtype: Any
    acc_dtype: Any

    @property
    def sparse(self) -> bool:
        """True if half of A along K is left out (`compress_sparse`), and metadata names the elements that are kept."""
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
        """Return the number of indices along M (0), N (1) or K (2) that one stored element of an operand stands for."""
        return 2 if self.sparse and operand == "A" and mode == 2 else 1

    @property
    def steps_of_word(self) -> int:
        """For a sparse A: the number of instructions along K that a word of metadata covers."""
        raise NotImplementedError

    def dtype_of(self, operand: str) -> DType:
        """Return the type of an operand's elements in memory and registers."""
        dtypes: dict[str, DType] = {"A": self.a_dtype, "B": self.b_dtype or self.a_dtype, "C": self.acc_dtype}
        return dtypes[operand]

    def layout_tv(self, operand: str) -> Layout:
        """Return the layout of operand 'A', 'B' or 'C': (thread, value) to its index, first mode fastest."""
        raise NotImplementedError

    @property
    def drawn(self) -> str:
        """The operands in registers: their (thread, value) layouts can be drawn."""
        return "".join(x for x in "ABC" if not getattr(self, f"{x.lower()}_in_memory", False))

    def _repr_html_(self) -> str:
        from cutelite.layout import viz  # only notebooks need it

        return viz.html(*viz.operands(self))


@dataclass(frozen=True)
class MmaUniversalOp(MmaOp):
    """A fused multiply-add in each thread, on f16, bf16, f32 or f64."""

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

    a_dtype    type of A (and of B, unless `b_dtype` is given): f16, bf16, tf32, i8, u8, e4m3, e5m2 or f64; or i4, u4
               or b1, of which tensors hold u32 words, (M, K / 8) or (M, K / 32), the first number of a word lowest
    acc_dtype  type of the accumulator
    k          extent along K; None for the largest that there is
    saturate   integers only
    m          extent along M: 16, or 8 for f64 (the default there), i8, u8, i4, u4 and b1
    sparse     A is compressed: (M, K / 2), with metadata (`cl.compress_sparse`); not f64, nor below 8 bits
    combine    b1 only: count the bits of ``a ^ b`` ('xor') or of ``a & b`` ('and', the default)
    Source     PTX ISA: mma, mma.sp
    """

    a_dtype: DType | Packed
    acc_dtype: DType
    k: int | None = None
    b_dtype: DType | Packed | None = None
    saturate: bool = False
    m: int | None = None
    sparse: bool = False
    combine: Literal["", "xor", "and"] = ""
    threads = 32

    def __post_init__(self) -> None:
        form, (a, b) = self._form(self.m), self.kinds
        if self.packed and self.a_dtype.name == "b1" and not self.combine:
            object.__setattr__(self, "combine", "and")
        if form is None and self._form(None) is not None:
            raise mistake("mma-atom", f"mma.sync on {a} has no m of {self.m}")
        if form is None or b not in form.b or self.acc_dtype.name not in form.d:
            words = "sparse mma.sync" if self.sparse else "mma.sync"
            text = f"{words} does not multiply {a} by {b} into {self.acc_dtype}"
            tables = (ops.mma_sparse.FORMS,) if self.sparse else (ops.mma.FORMS, ops.mma_packed.FORMS)
            raise mistake("mma-atom", text, help=f"it takes {'; '.join(map(ops.mma.known, tables))}")
        if self.shape_mnk[2] not in form.k:
            others = [m for m in (8, 16) if (other := self._form(m)) is not None and self.k in other.k]
            help: str | tuple[str, ...] = f"with m={others[0]} there is one" if others else ()
            if isinstance(self.k, tuple):
                help = f"M and N are the instruction's: `k={self.k[-1]}`"
            raise mistake("mma-atom", f"mma.sync on {a} has K {' or '.join(map(str, form.k))}, not {self.k}", help=help)
        if (self.combine in ops.mma_packed.COMBINES) != (a == "b1"):
            raise mistake("mma-atom", f"{self.combine!r} combines no {a}: bits take 'xor' or 'and', numbers ''")
        if self.saturate and (self.acc_dtype.name != "i32" or a == "b1"):
            raise mistake("mma-atom", f"only sums of integers saturate, not those of {a} into {self.acc_dtype}")

    def _form(self, m: int | None) -> ops.mma.Form | None:
        name = self.a_dtype.name
        if self.sparse:
            return ops.mma_sparse.FORMS.get(name) if m in (None, ops.mma_sparse.ROWS) and not self.packed else None
        return ops.mma.form_of(name, m, ops.mma_packed.every_form() if self.packed else None)

    @property
    def packed(self) -> bool:
        """True if A holds several numbers in each u32 word."""
        return isinstance(self.a_dtype, Packed)

    @property
    def kinds(self) -> tuple[str, str]:
        """The names of the types of A and B."""
        return self.a_dtype.name, (self.b_dtype or self.a_dtype).name

    @property
    def steps_of_word(self) -> int:
        return ops.mma_sparse.steps_of_word(self.dtype_of("A"), self.shape_mnk[2])

    def packing(self, operand: str, mode: int) -> int:
        if isinstance(self.a_dtype, Packed) and mode == 2:
            return self.a_dtype.per_word
        return super().packing(operand, mode)

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        form = self._form(self.m)
        assert form is not None, "checked when this was made"
        return form.m, form.n, self.k or form.k[-1]

    def dtype_of(self, operand: str) -> DType:
        dtype: Any = super().dtype_of(operand)
        return u32 if isinstance(dtype, Packed) else dtype

    def layout_tv(self, operand: str) -> Layout:
        m, _, _ = self.shape_mnk
        if operand == "C":
            return ops.mma.accumulator(m)
        elem, (_, k) = self.dtype_of(operand), self.extents(operand)
        return ops.mma.operand_a(elem, k, m) if operand == "A" else ops.mma.operand_b(elem, k)


@dataclass(frozen=True)
class WarpgroupMmaOp(MmaOp):
    """wgmma of a warpgroup: B, and A unless `a_source` is 'rmem', are read from shared memory.

    a_dtype    type of A (and of B, unless `b_dtype` is given): f16, bf16, tf32, e4m3, e5m2, i8 or u8
    acc_dtype  type of the accumulator: f32, f16 or i32
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
    def steps_of_word(self) -> int:
        return wgmma_sparse.steps_of_word(self.a_dtype)

    @property
    def a_in_memory(self) -> bool:  # type: ignore[override]
        return self.a_source == "smem"

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        return wgmma_layouts.M, self.n, wgmma_layouts.k_of(self.a_dtype, self.sparse)

    def layout_tv(self, operand: str) -> Layout:
        if operand == "C":
            return wgmma_layouts.accumulator(self.n)
        if operand == "A" and not self.a_in_memory:
            return wgmma_layouts.operand_a(self.a_dtype)
        rows, k = self.extents(operand)
        return Layout((self.threads, (rows, k)), (0, (1, rows)))  # every thread names the whole operand


class TensorMmaOp(MmaOp):
    """Base of the operations of tcgen05: the accumulator is in tensor memory, B in shared memory, A in one of the two.

    One thread starts them. The threads of their layouts are blocks: one, or the two of a pair.
    """

    b_in_memory = True
    cta_group: int
    a_source: str
    sparse: bool

    @property
    def threads(self) -> int:  # type: ignore[override]
        return self.cta_group

    @property
    def a_in_memory(self) -> bool:  # type: ignore[override]
        return True

    @property
    def drawn(self) -> str:
        return "C" if self.cta_group == 1 else "ABC"

    def check(self, kind: str, m: int, n: int) -> None:
        """Refuse extents that the kind does not have, and other places of A than shared or tensor memory."""
        if self.cta_group not in (1, 2):
            raise mistake("mma-atom", f"cta_group is 1, or 2 for a pair of blocks, not {self.cta_group}")
        if problem := tcgen05_layouts.shape_problem(kind, m, n, self.cta_group):
            raise mistake("mma-atom", problem)
        if self.a_source not in ("smem", "tmem"):
            raise mistake("mma-atom", f"A comes from 'smem' or 'tmem', not {self.a_source!r}")

    def space_of(self, operand: str) -> str:
        """Return the memory that an operand is in."""
        return {"A": self.a_source, "B": "smem", "C": "tmem"}[operand]

    def own_extents(self, operand: str) -> tuple[int, int]:
        """Return the extents of one block's part of an operand: in a pair, half of the rows of A, B and C."""
        first, second = self.extents(operand)
        return first // self.cta_group, second

    def layout_tv(self, operand: str) -> Layout:
        whole, (first, second) = self.extents(operand)[0], self.own_extents(operand)
        return Layout((self.cta_group, (first, second)), (first if self.cta_group > 1 else 0, (1, whole)))


@dataclass(frozen=True)
class Tcgen05MmaOp(TensorMmaOp):
    """tcgen05.mma of one thread: the accumulator is in tensor memory, B in shared memory, A in one of the two.

    a_dtype    type of A (and of B, unless `b_dtype` is given): f16, bf16, tf32, e4m3, e5m2, i8 or u8
    acc_dtype  type of the accumulator: f32, f16 or i32
    m, n       extents of one instruction: m is 64 or 128, for a pair 128 or 256; n 8 to 256
    cta_group  2: for a pair of blocks, each of which has half the rows of A, B and the accumulator
    sparse     A is compressed: (M, K / 2), with metadata in tensor memory
    Source     PTX ISA: tcgen05.mma
    """

    a_dtype: Any
    acc_dtype: Any
    m: int
    n: int
    b_dtype: Any = None
    a_source: Literal["smem", "tmem"] = "smem"
    cta_group: int = 1
    sparse: bool = False

    def __post_init__(self) -> None:
        kind = tcgen05_layouts.kind_of(self.a_dtype.name, self.dtype_of("B").name, self.acc_dtype.name)
        if kind is None:
            types = f"{self.a_dtype} by {self.dtype_of('B')} into {self.acc_dtype}"
            raise mistake("mma-atom", f"tcgen05.mma does not multiply {types}")
        self.check(kind, self.m, self.n)

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        return self.m, self.n, tcgen05_layouts.STEP_BYTES * (2 if self.sparse else 1) // self.a_dtype.bytes


DEEP_NUMBERS = 768
"""The extent along K, in 4-bit numbers, of 8 instructions of 96: three whole blocks of 128 bytes."""


@dataclass(frozen=True)
class Tcgen05ScaledMmaOp(TensorMmaOp):
    """tcgen05.mma with a scale for each block of numbers along K, into f32.

    kind       'mxf8f6f4'; 'mxf4' and 'mxf4nvf4', whose tensors are u8, two e2m1 in each
    n          extent of one instruction, 16 to 256
    a_dtype    type of A (and of B, unless `b_dtype` is given): e4m3, e5m2, or u8 for the kinds of 4 bits
    block      numbers in a block: 32 scaled by ue8m0, or 16 by ue4m3
    cta_group  2: for a pair of blocks, each of which has half the rows of A, B and the accumulator
    sparse     A is compressed: (M, K / 2), with metadata in tensor memory
    m          128, for a pair of blocks 256 (the default) or, with a dense A, 128
    k          96: instructions of 96 numbers of 4 bits, on sm_103. Eight of them make one repeat, of 768 along K, since
               a single one ends inside a block of 128 bytes of the tile
    Source     PTX ISA: tcgen05.mma, block scaling
    """

    kind: Literal["mxf8f6f4", "mxf4", "mxf4nvf4"]
    n: int
    a_dtype: Any
    b_dtype: Any = None
    block: int = 32
    a_source: Literal["smem", "tmem"] = "smem"
    cta_group: int = 1
    sparse: bool = False
    m: int | None = None
    k: Literal[64, 96] = 64
    acc_dtype = f32

    def __post_init__(self) -> None:
        kind = tcgen05_layouts.SCALED_KINDS.get(self.kind)
        if kind is None:
            raise mistake("mma-atom", f"{self.kind!r} is none of {', '.join(tcgen05_layouts.SCALED_KINDS)}")
        types = ("u8",) if kind.packed else ("e4m3", "e5m2")
        for operand in "AB":
            if self.dtype_of(operand).name not in types:
                text = f"kind::{self.kind} multiplies tensors of {' and '.join(types)}, not {self.dtype_of(operand)}"
                raise mistake("mma-atom", text)
        if self.block not in kind.blocks:
            blocks = " and ".join(map(str, kind.blocks))
            raise mistake("mma-atom", f"kind::{self.kind} scales blocks of {blocks} numbers, not {self.block}")
        if self.k not in (64, 96) or (self.k == 96 and (not kind.packed or self.sparse or self.a_source == "tmem")):
            raise mistake(
                "mma-atom", f"k is {self.k}: 96 is of 4 bits with a dense A in shared memory, and all others are 64"
            )
        m = self.shape_mnk[0]
        if problem := tcgen05_layouts.scaled_rows_problem(m, self.cta_group, self.sparse, self.k == 96):
            raise mistake("mma-atom", problem)
        self.check(self.kind, m, self.n)

    @property
    def per_byte(self) -> int:
        """The numbers in one stored element of A and B."""
        return 2 if tcgen05_layouts.SCALED_KINDS[self.kind].packed else 1

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        k = tcgen05_layouts.STEP_BYTES * self.per_byte * (2 if self.sparse else 1)
        return self.m or tcgen05_layouts.LANES * self.cta_group, self.n, DEEP_NUMBERS if self.k == 96 else k

    def packing(self, operand: str, mode: int) -> int:
        return super().packing(operand, mode) * (self.per_byte if mode == 2 else 1)
