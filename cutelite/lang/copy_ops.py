"""Copy operations: the elements that one instruction moves, the threads that hold them, and how to start it.

An operation is a frozen value without a type; `make_copy_atom(op, dtype)` makes an atom of it for elements of `dtype`.
It has (thread, value) layouts of the elements that each thread reads (`source`) and writes (`target`), and names the
one by which a tiled copy counts its values (`reference`). They map to an index into the elements that one instruction
moves. Classes without fields of their own inherit the dataclass: making one takes a quarter of a millisecond.
"""

from __future__ import annotations

from typing import Any, ClassVar

from cutelite import ops
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Tensor as TensorType
from cutelite.ir.types import Vec, u32
from cutelite.lang.convert import bitcast
from cutelite.lang.cp_async import policy_value
from cutelite.lang.emit import describe, emit, mistake
from cutelite.lang.mbarrier import barrier_value
from cutelite.lang.promotion import as_value
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import where
from cutelite.layout import Layout, coalesce, make_layout, static_value, transform_leaf
from cutelite.ops import tcgen05_layouts
from cutelite.records import dataclass

VECTOR_BYTES = 16


class CopyOp:
    """Base of copy operations.

    masks    the instruction takes a predicate, so no branch is needed around it
    counted  it needs an mbarrier, which counts its bytes
    ways     the (from, to) spaces that it copies between
    """

    masks: ClassVar[bool] = False
    counted: ClassVar[bool] = False
    ways: ClassVar[tuple[tuple[str, str], ...]] = ()
    threads: ClassVar[int] = 1

    def __str__(self) -> str:
        """Return the call that makes it, without arguments that are the defaults."""
        fields = getattr(self, "__dataclass_fields__", {}).values()
        given = [f"{field.name}={x!r}" for field in fields if (x := getattr(self, field.name)) != field.default]
        return f"{type(self).__name__}({', '.join(given)})"

    def source(self, dtype: DType) -> Layout:
        """Return which elements of an instruction each thread reads, or names: (thread, value) -> element."""
        raise NotImplementedError

    def target(self, dtype: DType) -> Layout:
        """Return which it writes, as `source`; by default the same."""
        return self.source(dtype)

    def reference(self, dtype: DType) -> Layout:
        """Return the one of the two by which tiled copies are laid out: by default `target`."""
        return self.target(dtype)

    def start(self, src: Tensor, dst: Tensor, pred: Any, barrier: Any) -> None:
        """Emit the instruction for one thread's part; `pred` is None unless `masks`, `barrier` unless `counted`."""
        raise NotImplementedError

    def check(self, src: TensorType, dst: TensorType) -> None:
        """Refuse parts that this instruction cannot move, with an error at the user's line."""
        if self.ways and (src.space, dst.space) not in self.ways:
            known = ", ".join(f"{a} to {b}" for a, b in self.ways)
            raise mistake(
                "copy-space", f"{self} does not copy from {src.space} to {dst.space}", help=f"it copies {known}"
            )


@dataclass(frozen=True)
class CopyUniversalOp(CopyOp):
    """Ordinary loads and stores, between any two spaces.

    bits      bits of one access: 8 to 128, a power of two; 0: those of the dtype
    cache     the cache operator of a global access: 'ca', 'cg', 'cs', 'cv', 'nc' (loads), 'wb', 'cg', 'cs', 'wt'
              (stores)
    evict     the L1 eviction priority of a global access: 'evict_first', 'evict_last', 'no_allocate', ...
    prefetch  64, 128 or 256: bytes that L2 may also fetch around a global load
    """

    bits: int = 0
    cache: str = ""
    evict: str = ""
    prefetch: int = 0

    def source(self, dtype: DType) -> Layout:
        return Layout((1, units(self, self.bits or dtype.bytes * 8, dtype)), (0, 1))

    def start(self, src: Tensor, dst: Tensor, pred: Any, barrier: Any) -> None:
        count = static_value(src.size) or 1
        bytes = count * src.dtype.bytes
        data = src.load() if src.space == "rmem" else load(src, count, self, bytes)
        if dst.space == "rmem" or (self.bits == 0 and not (self.cache or self.evict or self.prefetch)):
            dst.store(data)
        else:
            store(dst, data, self, bytes)

    def check(self, src: TensorType, dst: TensorType) -> None:
        for t, name in ((src, "source"), (dst, "target")):
            if t.space != "rmem" and self.bits > 8:
                check_vector(t, self.bits // 8, f"the {name} of {self}")
        loads, stores = src.space == "gmem", dst.space == "gmem"
        caches = (ops.memory.LOAD_CACHES if loads else ()) + (ops.memory.STORE_CACHES if stores else ())
        if self.cache and self.cache not in caches:
            what = " or ".join(filter(None, dict.fromkeys(caches))) or "none, for no side is in global memory"
            raise mistake("copy-cache", f"from {src.space} to {dst.space}, the cache of {self} can be {what}")
        if self.evict and (self.evict not in ops.memory.EVICTIONS or not (loads or stores)):
            what = " or ".join(filter(None, ops.memory.EVICTIONS)) if loads or stores else "none of global memory"
            raise mistake("copy-cache", f"from {src.space} to {dst.space}, the eviction of {self} can be {what}")
        if self.prefetch and not (loads and self.prefetch in ops.memory.PREFETCHES):
            raise mistake("copy-cache", f"{self} prefetches 64, 128 or 256 bytes of global memory, not of {src.space}")


def load(t: Tensor, count: int, op: CopyUniversalOp, bytes: int) -> Any:
    """Load `count` neighbouring elements by one instruction."""
    pointer = aligned_pointer(t, bytes)
    hinted = op.cache if op.cache in ops.memory.LOAD_CACHES and t.space == "gmem" else ""
    evict = op.evict if t.space == "gmem" else ""
    along = op.prefetch if t.space == "gmem" else 0
    return emit(ops.memory.Load(pointer, Vec(t.dtype, count) if count > 1 else t.dtype, hinted, evict, along))


def store(t: Tensor, data: Any, op: CopyUniversalOp, bytes: int) -> None:
    """Store all of `data` by one instruction."""
    pointer = aligned_pointer(t, bytes)
    value = data.value
    if isinstance(value.type, Vec) and value.type.n == 1:
        value = data[0].value
    hinted = op.cache if op.cache in ops.memory.STORE_CACHES and t.space == "gmem" else ""
    emit(ops.memory.Store(pointer, value, hinted, op.evict if t.space == "gmem" else ""))


@dataclass(frozen=True)
class CopyG2SOp(CopyOp):
    """cp.async: from global to shared memory, past the registers; complete after `cp_async_wait_group`.

    bits       32, 64 or 128
    cache      'ca' through L1 and L2, 'cg' L2 only (128 bits only); '' for 'cg' where possible
    zero_fill  write zeros, and read nothing, where a predicate is False; otherwise leave the target as it is
    policy     an L2 policy: 'evict_first', 'evict_last', 'evict_normal'
    Source     PTX ISA: cp.async
    """

    bits: int = 128
    cache: str = ""
    zero_fill: bool = True
    policy: str | None = None
    ways = (("gmem", "smem"),)

    @property
    def masks(self) -> bool:  # type: ignore[override]
        return self.zero_fill

    def source(self, dtype: DType) -> Layout:
        if self.bits not in (32, 64, 128):
            raise mistake("copy-bits", f"cp.async copies 32, 64 or 128 bits, not {self.bits}")
        if self.cache not in ("", "ca", "cg") or (self.cache == "cg" and self.bits != 128):
            raise mistake("copy-cache", f"the cache of cp.async is 'ca', or of 128 bits 'cg', not {self.cache!r}")
        return Layout((1, units(self, self.bits, dtype)), (0, 1))

    def start(self, src: Tensor, dst: Tensor, pred: Any, barrier: Any) -> None:
        bytes = self.bits // 8
        size = None if pred is None else as_value(where(pred, bytes, 0))
        cache = self.cache or ("cg" if bytes == VECTOR_BYTES else "ca")
        to, of = aligned_pointer(dst, bytes), aligned_pointer(src, bytes)
        emit(ops.cp_async.CpAsync(to, of, bytes, cache, 0, size, policy_value(self.policy)))

    def check(self, src: TensorType, dst: TensorType) -> None:
        super().check(src, dst)
        check_vector(src, self.bits // 8, f"the source of {self}", least=4)
        check_vector(dst, self.bits // 8, f"the target of {self}", least=4)


@dataclass(frozen=True)
class MatrixOp(CopyOp):
    """Base of ldmatrix and stmatrix.

    transpose      exchange rows and columns of each 8 x 8 matrix (16-bit elements only)
    num_matrices   1, 2 or 4
    """

    transpose: bool = False
    num_matrices: int = 4
    threads: ClassVar[int] = 32

    def _checked(self, dtype: DType) -> DType:
        if not isinstance(self.transpose, bool):
            help = f"`num_matrices={self.transpose}`" if self.transpose in ops.ldmatrix.COUNTS else ""
            raise mistake("copy-atom", f"{self}: `transpose` is True or False, not {self.transpose!r}", help=help)
        if self.num_matrices not in ops.ldmatrix.COUNTS:
            raise mistake("copy-atom", f"{self}: 1, 2 or 4 matrices are moved, not {self.num_matrices}")
        if dtype.bits not in (8, 16, 32) or (self.transpose and dtype.bits != 16):
            what = "transposes elements of 16 bits" if self.transpose else "moves elements of 8, 16 or 32 bits"
            raise mistake("copy-atom", f"{self} {what}, not {dtype}")
        return dtype

    def rows(self, dtype: DType) -> Layout:
        return ops.ldmatrix.rows(self._checked(dtype), self.num_matrices)

    def fragment(self, dtype: DType) -> Layout:
        return ops.ldmatrix.fragment(self._checked(dtype), self.num_matrices, self.transpose)


class LdMatrix8x8x16bOp(MatrixOp):
    """ldmatrix: each thread names a row of 16 bytes in shared memory, and gets 4 bytes of each matrix."""

    ways = (("smem", "rmem"),)

    def source(self, dtype: DType) -> Layout:
        return self.rows(dtype)

    def target(self, dtype: DType) -> Layout:
        return self.fragment(dtype)

    def start(self, src: Tensor, dst: Tensor, pred: Any, barrier: Any) -> None:
        row = aligned_pointer(src, VECTOR_BYTES)
        dst.store(emit(ops.ldmatrix.LoadMatrix(row, src.dtype, self.num_matrices, self.transpose)))

    def check(self, src: TensorType, dst: TensorType) -> None:
        super().check(src, dst)
        check_vector(src, VECTOR_BYTES, f"each row that {self} reads", least=VECTOR_BYTES)


class StMatrix8x8x16bOp(MatrixOp):
    """stmatrix: each thread gives 4 bytes of each matrix, and names a row of 16 bytes in shared memory to write."""

    ways = (("rmem", "smem"),)

    def source(self, dtype: DType) -> Layout:
        return self.fragment(dtype)

    def target(self, dtype: DType) -> Layout:
        return self.rows(dtype)

    def reference(self, dtype: DType) -> Layout:
        return self.source(dtype)

    def start(self, src: Tensor, dst: Tensor, pred: Any, barrier: Any) -> None:
        row = aligned_pointer(dst, VECTOR_BYTES)
        emit(ops.ldmatrix.StoreMatrix(row, src.load().value, self.num_matrices, self.transpose))

    def check(self, src: TensorType, dst: TensorType) -> None:
        super().check(src, dst)
        check_vector(dst, VECTOR_BYTES, f"each row that {self} writes", least=VECTOR_BYTES)


@dataclass(frozen=True)
class CopyDsmemStoreOp(CopyOp):
    """st.async: from registers to another block's shared memory, ``copy(atom, registers, remote, barrier=bar)``.

    bits           32, 64 or 128; 0: those of the dtype
    dst, barrier   in the other block: a partition of ``cl.mapa(tensor, rank)``, and ``bar.remote(rank)``, which counts
                   the bytes
    Source         PTX ISA: st.async
    """

    bits: int = 0
    counted = True
    ways = (("rmem", "cluster"),)

    def source(self, dtype: DType) -> Layout:
        bits = self.bits or dtype.bits
        if bits not in (32, 64, 128):
            raise mistake("copy-bits", f"st.async stores 32, 64 or 128 bits, not {bits}")
        return Layout((1, units(self, bits, dtype)), (0, 1))

    def start(self, src: Tensor, dst: Tensor, pred: Any, barrier: Any) -> None:
        words, bytes = bitcast(src.load(), u32), src.dtype.bytes * (static_value(src.size) or 1)
        emit(ops.cluster.StAsync(aligned_pointer(dst, bytes), words.value, barrier_value(barrier)))

    def check(self, src: TensorType, dst: TensorType) -> None:
        super().check(src, dst)
        check_vector(dst, src.elem.bytes * (static_value(src.layout.size) or 1), f"the target of {self}", least=4)


class TileOp(CopyOp):
    """Base of copies of whole tiles, which one thread starts: there is nothing to partition."""

    def source(self, dtype: DType) -> Layout:
        return Layout((1, 1), (0, 0))

    @property
    def count(self) -> str:
        return "a whole tile"


@dataclass(frozen=True)
class HintedTileOp(TileOp):
    """Base of the operations with the single field `cache`, an L2 policy."""

    cache: str | None = None


class CopyBulkTensorTileG2SOp(HintedTileOp):
    """TMA load: ``copy(atom, coords, smem, barrier=bar)``, `coords` a tile of `coordinates(tma_tensor)`.

    cache    an L2 policy
    Source   PTX ISA: cp.async.bulk.tensor
    """


class CopyBulkTensorTileG2SMulticastOp(CopyBulkTensorTileG2SOp):
    """TMA load into several blocks of the cluster: ``copy(..., barrier=bar, multicast=mask)``."""


class CopyBulkTensorTileS2GOp(HintedTileOp):
    """TMA store: ``copy(atom, smem, coords)``, in this thread's open bulk group."""


@dataclass(frozen=True)
class CopyReduceBulkTensorTileS2GOp(TileOp):
    """TMA store that combines by `kind` ('add', 'min', 'max', 'and', 'or', 'xor') with what is there."""

    kind: str = "add"
    cache: str | None = None

    def source(self, dtype: DType) -> Layout:
        taken = ops.cp_async.TENSOR_REDUCTIONS.get(self.kind, {})
        if dtype.name not in taken:
            kinds = ", ".join(kind for kind, types in ops.cp_async.TENSOR_REDUCTIONS.items() if dtype.name in types)
            raise mistake("copy-atom", f"TMA does not {self.kind} {dtype}", help=f"it can {kinds}" if kinds else "")
        return Layout((1, 1), (0, 0))


class CopyBulkG2SOp(HintedTileOp):
    """Bulk copy of contiguous bytes, no descriptor: ``copy(atom, gmem, smem, barrier=bar)``, also with `multicast`."""


class CopyBulkS2GOp(HintedTileOp):
    """Bulk copy of contiguous bytes to global memory, in this thread's open bulk group."""


@dataclass(frozen=True)
class CopyBulkS2DsmemOp(TileOp):
    """Bulk copy of contiguous bytes to another block's shared memory: ``copy(atom, smem, remote, barrier=bar)``.

    dst, barrier   in the other block: ``cl.mapa(tensor, rank)``, ``bar.remote(rank)``
    """


def units(op: CopyOp, bits: int, dtype: DType) -> int:
    """Return the number of elements in `bits` bits."""
    element = dtype.bytes * 8
    if bits < element or bits % element or bits & (bits - 1) or bits > 8 * VECTOR_BYTES:
        raise mistake(
            "copy-bits",
            f"{op} moves {bits} bits, which is no whole number of {dtype} elements that one instruction can move",
            help=f"take a power of two from {element} to 128",
        )
    return bits // element


def check_vector(t: TensorType, bytes: int, what: str, least: int = 1) -> None:
    """Check that one instruction can access all of `t`: neighbours in memory, at a multiple of `bytes` bytes.

    least  the fewest bytes that an instruction of this kind moves
    """
    flat = coalesce(t.layout)
    count = static_value(t.layout.size) or 0
    contiguous = count <= 1 or (flat.rank == 1 and flat.stride in (1, (1,)))
    if not contiguous or count * t.elem.bytes != bytes:
        raise mistake(
            "copy-vector",
            f"{what} is {count} elements of {t.elem} with layout {t.layout}, but must be {bytes} bytes in a row",
            help="partition so that each thread's values are contiguous, or take an atom of fewer bits",
        )
    fixed = VECTOR_BYTES if t.swizzle is None or not t.swizzle.bits else 1 << t.swizzle.base
    if t.align % bytes or bytes > fixed:
        known = t.align if t.align % bytes else fixed
        helps = ["say what is known: a dim as `cl.dims('K:8')`, a tensor's address by `cl.align(16)`"]
        if known >= least:
            helps = [f"take an atom of {known * 8} bits", f"or {helps[0]}"]
        elif known >= t.elem.bytes:
            helps = [f"a `cl.CopyUniversalOp` of {known * 8} bits can move it", f"or {helps[0]}"]
        raise mistake(
            "copy-alignment",
            f"{what} must lie at a multiple of {bytes} bytes, but is only known to lie at one of {known}",
            f"its layout is {t.layout}, in {t.space}",
            help=tuple(helps),
        )


def aligned_pointer(t: Tensor, bytes: int) -> Any:
    """Return the address of the first element of `t`, known to be a multiple of `bytes`, as an operand."""
    if not isinstance(t, Tensor):
        raise mistake("copy", f"a tensor is needed here, not {describe(t)}")
    return emit(ops.tensor.TensorPtr(t.value, (as_value(0),), align=bytes)).value


@dataclass(frozen=True)
class TmemOp(CopyOp):
    """Base of the transfers between the registers of a warp and its lanes of tensor memory, 32 bits an element.

    shape    '32x32b', '16x64b', '16x128b' or '16x256b': which register holds which cell
    repeats  a power of two, the number of repeats along the columns: at most 128, 128, 64 and 32
    """

    shape: str = "32x32b"
    repeats: int = 1
    threads = 32

    def __post_init__(self) -> None:
        one = tcgen05_layouts.SHAPES.get(self.shape)
        if one is None or self.shape == "16x32bx2":
            raise mistake("copy-atom", f"{self.shape!r} is none of 32x32b, 16x64b, 16x128b, 16x256b")
        if self.repeats not in (1, 2, 4, 8, 16, 32, 64, 128) or self.repeats > one.most:
            raise mistake("copy-atom", f"{self.shape} is repeated a power of two times, 1 to {one.most}")

    @property
    def lanes(self) -> int:
        return tcgen05_layouts.SHAPES[self.shape].lanes

    @property
    def columns(self) -> int:
        return tcgen05_layouts.SHAPES[self.shape].columns * self.repeats

    def registers(self, dtype: DType) -> Layout:
        """Return the layout from (thread, register) to lane + lanes * column."""
        if dtype.bits != tcgen05_layouts.CELL_BITS:
            raise mistake("copy-dtype", f"{self} moves elements of 32 bits, not {dtype}")
        return tcgen05_layouts.transfer_layout(self.shape, self.repeats)

    def cells(self, dtype: DType) -> Layout:
        """Return the layout of tensor memory: each thread of the warp names all of its cells."""
        return Layout((self.threads, self.lanes * self.columns), (0, 1))

    def of_warps(self, dtype: DType) -> tuple[Layout, tuple[int, int]]:
        """Return the layout from (thread, value) of four warps to an index into their lanes' tile, and its extents."""
        warp = self.registers(dtype)

        def wider(stride: int) -> int:
            return stride % self.lanes + stride // self.lanes * 4 * self.lanes

        threads, values = (Layout(mode.shape, transform_leaf(wider, mode.stride)) for mode in (warp[0], warp[1]))
        together = Layout((threads.shape, 4), (threads.stride, self.lanes))
        return make_layout(together, values), (4 * self.lanes, self.columns)


class TmemLoadOp(TmemOp):
    """tcgen05.ld with its wait: from tensor memory to registers. A warp reaches its own lanes. PTX ISA: tcgen05.ld."""

    ways = (("tmem", "rmem"),)

    def source(self, dtype: DType) -> Layout:
        return self.cells(dtype)

    def target(self, dtype: DType) -> Layout:
        return self.registers(dtype)

    def start(self, src: Tensor, dst: Tensor, pred: Any, barrier: Any) -> None:
        started = emit(ops.tcgen05.Load(src.value, self.shape, self.repeats, elem=src.dtype))
        dst.store(emit(ops.tcgen05.WaitLoad((started.value,))))


class TmemStoreOp(TmemOp):
    """tcgen05.st with its wait: from registers to tensor memory. PTX ISA: tcgen05.st."""

    ways = (("rmem", "tmem"),)

    def source(self, dtype: DType) -> Layout:
        return self.registers(dtype)

    def target(self, dtype: DType) -> Layout:
        return self.cells(dtype)

    def reference(self, dtype: DType) -> Layout:
        return self.source(dtype)

    def start(self, src: Tensor, dst: Tensor, pred: Any, barrier: Any) -> None:
        emit(ops.tcgen05.Store(dst.value, self.shape, self.repeats, a=src.load().value))
        emit(ops.tcgen05.WaitStore())
