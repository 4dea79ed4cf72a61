"""tcgen05, as ``cl.tcgen05``: matrix products on Blackwell's tensor cores, with accumulators in tensor memory.

    tmem = cl.TmemAllocator.create(128)                            # all threads of the block
    acc = tmem.tensor(128, 128)                                    # (128 rows, 128 columns) of f32
    if one thread:                                                 if four warps:
        full[s].wait(phase)                                            done.wait(0)
        cl.tcgen05.mma(acc, a_tile, b_tile, accumulate=k > 0)          cl.tcgen05.fence_after_thread_sync()
        cl.tcgen05.commit(empty[s])                                    mine = cl.tcgen05.wait_load(cl.tcgen05.load(acc))
        ...                                                            cl.tcgen05.fence_before_thread_sync()
        cl.tcgen05.commit(done)                                        syncthreads(), and tmem.free()

Tensor memory has 128 lanes of 512 columns, 32 bits each. Tensors in it are (row, column) like others; their strides
are CuTe's: in elements, where a lane is 65536 columns away from the next. A product reads its operands from shared
memory by descriptors, which are made from the tiles' layouts. Nothing waits by itself: a product is complete after a
wait for the mbarrier of its `commit`, a load after `wait_load`. Between threads, tcgen05 instructions are ordered by a
barrier with `fence_before_thread_sync` before it and `fence_after_thread_sync` after it.
"""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.types import InFlight, Vec, boolean, f32, u8, u16, u32, u64
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Tensor as TensorType
from cutelite.lang.emit import Handle, Runtime, builder_here, describe, emit, in_flight, mistake
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.mbarrier import Barrier
from cutelite.lang.packed import Packed
from cutelite.lang.promotion import as_value
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Scalar
from cutelite.lang.wgmma import static_extent
from cutelite.layout import Layout, is_static
from cutelite.ops import tcgen05 as ops
from cutelite.ops import tcgen05_layouts as layouts
from cutelite.ops import tcgen05_mma as ops_mma
from cutelite.ops import tensor as tensors
from cutelite.ops.tcgen05_layouts import InstructionDescriptor as InstructionDescriptor
from cutelite.ops.tcgen05_layouts import ScaledDescriptor as ScaledDescriptor
from cutelite.ops.tcgen05_layouts import SmemDescriptor as SmemDescriptor
from cutelite.ops.tcgen05_layouts import ZeroColumnMask as ZeroColumnMask
from cutelite.ops.wgmma_layouts import SmemMatrix, Unreadable, smem_matrix

BLOCK_BYTES = 128  # bytes along K within which a swizzle of 128 bytes moves elements
Shape = Literal["32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"]


# Allocation.


def alloc(slot: Tensor, columns: int, cta_group: int = 1) -> None:
    """Allocate columns of tensor memory, all 128 lanes of each, and write their address to shared memory.

    slot       one u32 in shared memory: other threads read it after a barrier
    columns    32, 64, 128, 256 or 512; it waits until that many are free
    cta_group  2: for both blocks of a pair, by a warp of each
    Who        all threads of one warp
    Source     PTX ISA: tcgen05.alloc
    """
    emit(ops.Alloc(slot.value, columns, cta_group))


def dealloc(t: Tensor, columns: int, cta_group: int = 1) -> None:
    """Free the allocation of `columns` columns that begins at `t`. All accesses to it have to be complete.

    Who      all threads of one warp; every allocation must be freed once, before the block ends
    Source   PTX ISA: tcgen05.dealloc
    """
    emit(ops.Dealloc(t.value, columns, cta_group))


def relinquish_alloc_permit(cta_group: int = 1) -> None:
    """Promise that this block allocates no more. All threads of one warp. PTX: tcgen05.relinquish_alloc_permit."""
    emit(ops.RelinquishAllocPermit(cta_group))


def tensor(address: Scalar, layout: Any, dtype: DType = f32) -> Tensor:
    """Return the tensor in tensor memory that begins at `address`.

    address  u32, lane << 16 | column
    layout   the layout of the elements, known at compile time: `lanes_layout`, `accumulator`, or any whose lanes and
             columns exist
    Errors   `tensor-memory` for a layout that reaches beyond 128 lanes or 512 columns
    """
    found = TensorType(dtype, "tmem", layout if isinstance(layout, Layout) else Layout(*layout), dtype.bytes)
    if problem := layouts.tmem_problem(found):
        raise mistake("tensor-memory", problem)
    return emit(ops.TmemTensor(as_value(address, u32), found))  # type: ignore[no-any-return]


def claim(slot: Tensor, layout: Layout, dtype: DType, column: int) -> None:
    """Claim the cells of a tensor in the allocation whose address `slot` holds, so that no other tensor has them.

    The same tensor may be claimed again. Errors: `tensor-memory` if it shares cells with another claimed tensor
    """
    asked = layout, dtype, column
    known = builder_here().owned.setdefault(slot.value, [])
    if any(asked == other for other, _ in known):
        return
    cells = layouts.cells_of_layout(layout, dtype, column)
    for (its, elem, first), held in known:
        if (cells & held).any():
            text = f"{layout} of {dtype} from column {column} on has cells of another tensor of the allocation"
            help = "begin at another `column`; `view` is for several tensors of the same cells"
            raise mistake("tensor-memory", text, f"that is {its} of {elem}, from column {first} on", help)
    known.append((asked, cells))


def lanes_layout(lanes: int, extent: int, dtype: DType = f32) -> Layout:
    """Return the layout (lanes, extent) of `extent` neighbours in each lane, packed if narrower than 32 bits."""
    return layouts.tmem_layout(lanes, extent, dtype)


def accumulator(
    m: int, n: int, dtype: DType = f32, cta_group: int = 1, ws: bool = False, sparse: bool = False
) -> Layout:
    """Return the layout of an (m, n) accumulator: this block's rows of it, each in the lane where `mma` puts it.

    ws      for `mma_ws`: all lanes are used, those from `m` on for further columns
    sparse  for a sparse A: the 64 rows of each block of a pair lie like those of a single block
    """
    return layouts.accumulator_layout(m, n, dtype, cta_group, ws, sparse)


# Products.


def mma(
    d: Tensor | Handle,
    a: Tensor,
    b: Tensor,
    *,
    accumulate: bool | Scalar = True,
    metadata: Tensor | None = None,
    format_a: Packed | None = None,
    format_b: Packed | None = None,
    negate_a: bool = False,
    negate_b: bool = False,
    scale_d: int = 0,
    shift_a: bool = False,
    saturate: bool = False,
    cta_group: int = 1,
    collector: Literal["", "fill", "use", "lastuse", "discard"] = "",
    steps: slice = slice(None),
    disable_lanes: tuple[int | Scalar, ...] = (),
) -> Handle:
    """Start ``d += a @ b.T``, and return the accumulator at once, in flight. Products of a thread run in order.

    d           the accumulator in tensor memory, of layout `accumulator(M, N)`: a tensor, or in flight
    a           (M, K) in shared memory; or in tensor memory, K-contiguous, with each row in the lane of that row of
                `d`. A pair of blocks with 64 rows each has them in lanes 0 to 63, and a copy in lanes 64 to 127
    b           (N, K) in shared memory
    accumulate  False: ``d = a @ b.T``; may be a run-time bool
    metadata    for a sparse A, of which `a` is the (M, K / 2) that `compress` keeps: u8 in tensor memory, of layout
                `metadata(dtype, K)`
    format_a    `cl.e2m1`, `cl.e2m3` or `cl.e3m2`: the tile is of u8, K-contiguous. In shared memory the first 8 or 12
                of 16 bytes hold 16 numbers, the first one lowest; in tensor memory each byte holds one, as
                ``copy(packed=...)`` puts it there. `format_b` likewise
    negate_a    multiply by ``-a``; `negate_b` likewise. `saturate`, for integers: clamp sums instead of wrapping
    scale_d     0 to 15: add to ``d * 2**-scale_d`` instead of `d`; for f16, bf16 and tf32, on sm_100 and sm_103
    shift_a     use row r - 1 of A in tensor memory as row r, and row 0 as itself
    cta_group   2: for a pair of blocks, by one thread of the one of even rank. Each block has M / 2 rows of `a`, N / 2
                rows of `b` and M / 2 rows of `d`, at the same addresses
    collector   the buffer of A: 'fill' keeps A for later products that 'use' the same A, the last one by 'lastuse'
    steps       the instructions to start, of those along K, each of 32 bytes
    disable_lanes  4 u32 words, for a pair 8: lanes whose bit is set are not written
    Shapes      M is 64 or 128, for a pair 128 or 256; N is a multiple of 8 up to 256, for a pair of 16. Twice
                that for 8-bit types whose B is contiguous along N, and for integers in a pair or above N = 32
    Types       f16 (into f16 and f32), bf16, tf32, e4m3, e5m2 and narrower ones (mixed too), i8 and u8 (into i32;
                sm_100a, sm_110a)
    Result      the accumulator in flight, for further products; `wait_commit` makes it readable. Other threads, which
                wait on an mbarrier, use the tensor itself
    Who         one thread; tiles stay unchanged, and `d` unread, until a wait for the barrier of a later `commit`
    Errors      `tcgen05-operand`, which says why the tensor core cannot read a layout
    Source      PTX ISA: tcgen05.mma, tcgen05.mma.sp
    """
    return _product(
        ops_mma.Mma, d, a, b, metadata, cta_group, steps, accumulate, format_a, format_b, negate_a=negate_a,
        negate_b=negate_b, scale_d=scale_d, shift_a=shift_a, saturate=saturate, collector=collector,
        mask=tuple(as_value(word, u32) for word in disable_lanes),
    )  # fmt: skip


def mma_ws(
    d: Tensor | Handle,
    a: Tensor,
    b: Tensor,
    *,
    accumulate: bool | Scalar = True,
    metadata: Tensor | None = None,
    format_a: Packed | None = None,
    format_b: Packed | None = None,
    negate_a: bool = False,
    negate_b: bool = False,
    saturate: bool = False,
    collector: str = "",
    zero_columns: ZeroColumnMask | Scalar | int | None = None,
    max_shift: int = 0,
    steps: slice = slice(None),
) -> Handle:
    """Start ``d += a @ b.T`` with stationary weights: buffers keep B, and rows of B can be taken as zeros.

    d             (M, N) in tensor memory, of layout `accumulator(M, N, ws=True)`: M of 32, 64 and 128, N of 64, 128 and
                  256. With fewer than 128 rows, lanes from M on hold further columns
    b             (N, K) in shared memory; for a shift up to 32 rows more
    collector     'b0::fill' keeps B for later products that 'b0::use' the same B, the last one by 'b0::lastuse'; b0 to
                  b3. Every instruction along K fills the buffer anew: reuse B by single instructions (`steps`)
    zero_columns  a `ZeroColumnMask`, the rows of `b` that are taken as zeros, and the number of its first rows to skip;
                  or its bits, a run-time u64
    max_shift     8, 16 or 32: the largest shift of the B in a buffer when it is used
    The rest      as in `mma`: with `metadata`, of `metadata(dtype, K, M, ws=True)`, N is 64 or 128
    M = 64 or 32  `a` in tensor memory, and `metadata`, are in the first M lanes, and copies of both in the lanes of
                  each further part of the columns: each part is multiplied by the A in its own lanes
    Source        PTX ISA: tcgen05.mma.ws, tcgen05.mma.ws.sp
    """
    acc = _accumulator(d)
    bits = zero_columns.bits if isinstance(zero_columns, ZeroColumnMask) else zero_columns
    if isinstance(acc, Tensor) and isinstance(b, Tensor) and b.space == "smem":
        columns, rows = static_extent(acc, 1), static_extent(b, 0)
        shift = zero_columns.shift if isinstance(zero_columns, ZeroColumnMask) else 0
        if not columns + shift <= rows <= columns + 32:
            text = f"B has {rows} rows, but for {columns} columns of the accumulator, shifted by {shift}, it must have"
            raise mistake("tcgen05-operand", f"{text} {columns + shift} to {columns + 32}")
    return _product(
        ops_mma.MmaWs, acc, a, b, metadata, 1, steps, accumulate, format_a, format_b, negate_a=negate_a,
        negate_b=negate_b, saturate=saturate, collector=collector, max_shift=max_shift,
        zero_columns=None if bits is None else as_value(bits, u64),
    )  # fmt: skip


def _product(
    cls: type[ops_mma.Product], d: Any, a: Tensor, b: Tensor, metadata: Any, cta_group: int, steps: slice,
    accumulate: bool | Scalar, format_a: Packed | None, format_b: Packed | None, **fields: Any,
) -> Handle:  # fmt: skip
    """Check the operands that all products have, and start one."""
    acc = _accumulator(d)
    folds = _folds(acc, cta_group, cls.ws, metadata is not None)
    left, right = _operands(acc, a, b, metadata is not None, folds)
    along = _along_k(left, right, steps)
    descriptor: Any = ops.Descriptor
    if fields.get("deep"):
        descriptor, count = ops.DeepDescriptor, static_extent(a, 1) // layouts.DEEP_BYTES
        along = tuple((a.layout[1](layouts.DEEP_BYTES * i), b.layout[1](layouts.DEEP_BYTES * i)) for i in range(count))
    if metadata is not None:
        if along != _along_k(left, right, slice(None)):
            raise mistake("tcgen05-operand", "a product with a sparse A takes all its steps along K")
        _check_metadata(metadata, a, len(along), folds)
    emit(
        cls(
            acc.value,
            a.value if left is None else emit(descriptor(a.value)).value,
            emit(descriptor(b.value, metadata is not None)).value,
            as_value(accumulate, boolean),
            m=static_extent(acc, 0) * cta_group,
            n=static_extent(acc, 1) if cls.ws else right.rows * cta_group,
            elem_a=a.dtype,
            elem_b=b.dtype,
            elem_d=acc.dtype,
            metadata=None if metadata is None else metadata.value,
            steps=along,
            format_a="" if format_a is None else format_a.name,
            format_b="" if format_b is None else format_b.name,
            a_major=left.major if left else "K",
            b_major=right.major,
            **fields,
            **({} if cls.ws else {"cta_group": cta_group}),
        )
    )
    return emit(ops.Start(acc.value))  # type: ignore[no-any-return]


def mma_scaled(
    d: Tensor | Handle,
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    *,
    accumulate: bool | Scalar = True,
    kind: Literal["mxf8f6f4", "mxf4", "mxf4nvf4"] = "mxf8f6f4",
    block: int = 32,
    metadata: Tensor | None = None,
    format_a: Packed | None = None,
    format_b: Packed | None = None,
    negate_a: bool = False,
    negate_b: bool = False,
    cta_group: int = 1,
    collector: Literal["", "fill", "use", "lastuse", "discard"] = "",
    k: Literal[64, 96] = 64,
) -> Handle:
    """Start ``d += (a * scales) @ (b * scales).T``, with a scale for each block along K. Else as `mma`.

    d         the accumulator (128, N) of f32; in a pair with a dense A also (64, N)
    a, b      (128, K) and (N, K), of e4m3, e5m2 or narrower; for the other kinds of u8 with two e2m1 in each byte, the
              low bits first: K / 2 bytes in a row
    scale_a   (128, blocks) in tensor memory, of layout `scales(128, blocks)`, a multiple of 4 blocks; `scale_b`
              (N, blocks). In a pair each block holds the scales of its rows of A and of all N rows of B. With 64 rows
              of A in each block, scales of B have the layout `scales(N, blocks, halves=True)`
    kind      'mxf8f6f4'; 'mxf4'; 'mxf4nvf4', which has blocks of 16 scaled by ue4m3 too
    block     numbers in a block: 32 scaled by ue8m0, 16 by ue4m3. With a sparse A twice as many, of which half are kept
    k         96: an instruction takes 96 numbers of 4 bits along K, on sm_103. Tiles are in shared memory,
              K-contiguous with a swizzle of 128 bytes, and K is a multiple of 192
    Source    PTX ISA: tcgen05.mma, block scaling
    """
    acc = _accumulator(d)
    folds = _folds(acc, cta_group, False, metadata is not None)
    left, right = _operands(acc, a, b, metadata is not None, folds)
    fields: dict[str, Any] = {}
    if k == 96:
        if left is None or {x.major + x.swizzle for x in (left, right)} != {"K128B"} or static_extent(a, 1) % 96:
            text = f"A is {describe(a)} and B {describe(b)}: instructions of 96 numbers take tiles in shared memory"
            raise mistake(
                "tcgen05-operand", f"{text}, contiguous along K, swizzled by 128 bytes, of 192 numbers along K"
            )
        fields = {"deep": True, "far": tuple(_beside(x) for x in (a, b))}
    numbers = static_extent(a, 1) * (1 if kind == "mxf8f6f4" else 2)
    of_b = static_extent(b, 0) * cta_group
    _check_scales("scale_a", scale_a, static_extent(a, 0), numbers // block)
    _check_scales("scale_b", scale_b, of_b, numbers // block, halves=folds > 1)
    return _product(
        ops_mma.MmaScaled, acc, a, b, metadata, cta_group, slice(None), accumulate, format_a, format_b,
        negate_a=negate_a, negate_b=negate_b, collector=collector, scale_a=scale_a.value, scale_b=scale_b.value,
        scaled=kind, block=block, scale="ue8m0" if block == 32 else "ue4m3", **fields,
    )  # fmt: skip


def _beside(t: Tensor) -> int:
    """Return the bytes from one block of 128 bytes along K to the next; 0 for a single block."""
    return t.layout[1](BLOCK_BYTES) if static_extent(t, 1) > BLOCK_BYTES else 0


def _check_metadata(t: Any, a: Tensor, steps: int, folds: int) -> None:
    wanted = layouts.metadata_layout(a.dtype, steps, rows=static_extent(a, 0), folds=folds)
    if not isinstance(t, Tensor) or t.space != "tmem" or t.dtype != u8 or not ops.same_cells(t.layout, wanted):
        text = f"`metadata` is {describe(t)}, and A of {a.dtype} takes u8 in tensor memory, {wanted}"
        raise mistake("tcgen05-operand", text, help="a tensor of `cl.tcgen05.metadata(dtype, K, rows)`")


def metadata(dtype: Any, k: int, rows: int = layouts.LANES, ws: bool = False) -> Layout:
    """Return the layout (rows, bytes) of u8 in tensor memory for the metadata of a sparse A of `k` elements.

    dtype  the dtype of A, whose K is a multiple of 64 bytes. For two e2m1 in a byte: u8, and `k` is half their number
    rows   rows of A in this block: 128 or 64, each in the lane of its row of the accumulator
    ws     for `mma_ws`, which takes 32 rows too: the rows lie in the first lanes, and copies of them in the next ones
    """
    if rows not in ((32, 64, 128) if ws else (64, 128)):
        known = "32, 64 or 128 with `ws`" if ws else "64 or 128 of a sparse A"
        raise mistake("tensor-memory", f"metadata of {rows} rows: a block has {known}")
    return layouts.metadata_layout(dtype, _steps_of(dtype, k), rows=rows, folds=layouts.folds_of(rows, ws=ws))


def metadata_in_smem(dtype: Any, k: int, rows: int = layouts.LANES) -> Layout:
    """Return the layout (rows, bytes) of u8 in shared memory that `copy_metadata` copies to tensor memory.

    For a block with 64 rows (not `ws`), row r of A is row ``r % 16 + r // 16 * 32`` of the 128; the others are unused.

    k     K of A: a multiple of 128 bytes for elements of 8 bits, of 256 for wider ones, which makes rows of 16 bytes
    rows  128; for `mma_ws` the rows of A: 32, 64 or 128
    """
    steps, per = _steps_of(dtype, k), 4 if layouts.interleaved(dtype) else 2
    if steps % per:
        whole = per * 2 * layouts.STEP_BYTES // dtype.bytes
        raise mistake("tensor-memory", f"metadata of {k} elements of {dtype}: copies take those of {whole}")
    one = layouts.metadata_layout(dtype, per, 16, rows, layouts.folds_of(rows, ws=True))
    return Layout((one.shape[0], (one.shape[1], steps // per)), (one.stride[0], (one.stride[1], rows * 16)))


def _steps_of(dtype: DType, k: int) -> int:
    if k <= 0 or k * dtype.bytes % (2 * layouts.STEP_BYTES):
        raise mistake("tensor-memory", f"a sparse A of {k} elements of {dtype} is no multiple of 64 bytes along K")
    return k * dtype.bytes // (2 * layouts.STEP_BYTES)


def copy_metadata(dst: Tensor, src: Tensor, dtype: Any, cta_group: int = 1) -> None:
    """Start copying metadata from shared to tensor memory, for later products of this thread.

    dst    u8 in tensor memory, of layout `metadata(dtype, K)`, `metadata(dtype, K, 64)` or `metadata(.., ws=True)`
    src    128 rows in shared memory, of layout `metadata_in_smem(dtype, K)`; for `ws` the rows of `dst`, which the copy
           brings to all lanes. It must be known to be aligned to 128 bytes
    dtype  the dtype of A
    Who    the thread that starts the products; a commit covers it
    Source PTX ISA: tcgen05.cp
    """
    each = 4 if layouts.interleaved(dtype) else 8
    k = static_extent(dst, 1) // each * 2 * layouts.STEP_BYTES // dtype.bytes
    rows, held = static_extent(dst, 0), static_extent(src, 0)
    wanted = (
        metadata(dtype, k, rows, ws=held == rows),
        metadata_in_smem(dtype, k, held if held in COPIED else layouts.LANES),
    )
    if (dst.layout, src.layout) != wanted or {dst.dtype, src.dtype} != {u8}:
        text = f"from `metadata_in_smem` to `metadata`, of u8, not from {describe(src)} to {describe(dst)}"
        raise mistake("tcgen05-operand", f"metadata of {dtype} are copied {text}")
    for i in range(static_extent(dst, 1) // 16):
        _copy_part(dst, (0, 16 * i), src, (0, 16 * i), COPIED[held], cta_group)


COPIED = {128: "128x128b", 64: "64x128b.warpx2::02_13", 32: "32x128b.warpx4"}
"""The copy that brings rows of 16 bytes to all lanes, by their number."""


def compress(a: Any, dtype: Any) -> tuple[Any, Any]:
    """Return the operands of a sparse product for `a`: the elements that are kept, and the metadata that names them.

    a        a NumPy array (M, K) in the type that NumPy has for `dtype`. Of every 4 neighbours in a row (2, if they
             have 32 bits; of e2m1, two to a byte of u8, every 4 bytes) half are zero; K a multiple of 64 bytes
    Result   (M, K / 2) like `a`, and u8 (M, bytes): for 64 bytes of a row 4 bytes, or 8 if elements have 8 bits or less
    Errors   ValueError that names the row and the columns where too many are not zero
    """
    return layouts.compressed_rows(a, dtype)


def _check_scales(name: str, t: Any, rows: int, blocks: int, halves: bool = False) -> None:
    """Refuse scales whose rows, blocks or layout do not fit the operand."""
    if not isinstance(t, Tensor) or t.space != "tmem":
        raise mistake("tcgen05-operand", f"`{name}` is a tensor in tensor memory, not {describe(t)}")
    whole, word = -(-blocks // 4) * 4, ", halves=True" if halves else ""
    if t.dtype != u8 or rows % _scaled_rows(halves) or t.layout != layouts.scales_layout(rows, whole, halves):
        text = f"`{name}` is {t.layout} of {t.dtype}, and its operand has {rows} rows of {blocks} blocks"
        raise mistake("tcgen05-operand", text, help=f"a tensor of `cl.tcgen05.scales({rows}, {whole}{word})`, of cl.u8")


def _scaled_rows(halves: bool) -> int:
    """Return the number of which the number of rows with scales must be a multiple."""
    return 2 * layouts.WARP_LANES if halves else layouts.WARP_LANES


def scales(rows: int, blocks: int, halves: bool = False) -> Layout:
    """Return the layout (rows, blocks) of u8 in tensor memory for scales; `blocks`, along K, is a multiple of 4.

    rows    a multiple of 32; with `halves` of 64
    halves  for B in a pair of blocks with 64 rows of A each: lanes 0 to 63 hold the first half of the rows, lanes 64
            to 127 the second
    """
    if rows % _scaled_rows(halves) or blocks % 4:
        text = f"scales of {rows} rows and {blocks} blocks: multiples of {_scaled_rows(halves)} and of 4"
        raise mistake("tensor-memory", text)
    return layouts.scales_layout(rows, blocks, halves)


def scales_in_smem(rows: int, blocks: int, halves: bool = False) -> Layout:
    """Return the layout (rows, blocks) of u8 in shared memory for scales that `copy_scales` copies to tensor memory.

    rows    a multiple of 128, with blocks in fours: 128 rows of 4 blocks are 512 bytes, in the order of cuBLAS and
            CUTLASS. Or 64 rows with blocks in eights, 32 in sixteens; with `halves` 256 in fours, 128 in eights, 64 in
            sixteens
    halves  as in `scales`
    """
    whole = layouts.copied_blocks(rows, halves)
    if not whole or blocks % whole:
        known = "64, 128 or 256 rows" if halves else "32, 64 or a multiple of 128 rows"
        text = f"scales of {rows} rows and {blocks} blocks: copies bring those of {known}"
        raise mistake("tensor-memory", f"{text} and {f'a multiple of {whole}' if whole else 'their'} blocks")
    return layouts.scales_in_smem(rows, blocks, halves)


def copy(dst: Tensor, src: Tensor, shape: str = "128x256b", packed: Packed | None = None, cta_group: int = 1) -> None:
    """Start copying rows from shared to tensor memory, in order with the products of this thread.

    dst      begins at the first lane and column: row r goes to lane r, or to the lanes of several warps
    src      (rows, columns) of 32 bits in shared memory: for 256b, 8 columns of any layout that `mma` reads; for 128b,
             4 columns, each row of 16 bytes behind the one before
    shape    '128x256b', '128x128b'; '64x128b.warpx2::02_13', where warps 0 and 2 get the first 32 rows, 1 and 3 the
             others, '64x128b.warpx2::01_23'; '32x128b.warpx4', where all four warps get the same; '4x256b', the
             first 4 of the 8 rows of `src`
    packed   `cl.e2m1`, or `cl.e2m3` and `cl.e3m2`: the first 8 or 12 of 16 bytes hold 16 numbers, which get a byte each
    Who      the thread that starts the products; a commit covers it
    Source   PTX ISA: tcgen05.cp
    """
    if shape not in layouts.COPIES:
        raise mistake("tcgen05-operand", f"{shape!r} is none of {', '.join(layouts.COPIES)}")
    one = layouts.COPIES[shape]
    for name, t, space in (("dst", dst, "tmem"), ("src", src, "smem")):
        if not isinstance(t, Tensor) or t.space != space or t.dtype.bits != layouts.CELL_BITS:
            raise mistake("tcgen05-operand", f"`{name}` is a tensor of 32 bits in {space}, not {describe(t)}")
    rows = max(one.rows, 8)  # a descriptor covers whole groups of 8 rows
    if (static_extent(src, 0), static_extent(src, 1)) != (rows, one.bytes // 4):
        raise mistake("tcgen05-operand", f"{shape} copies {rows} rows of {one.bytes // 4} columns, not {src.shape}")
    if one.bytes == layouts.STEP_BYTES:
        _matrix(src, "src")
        word = emit(ops.Descriptor(src.value))
    elif src._type.swizzle is None and src.layout == Layout((one.rows, 4), (4, 1)):
        word = emit(ops.PlainDescriptor(src.value))
    else:
        raise mistake(
            "tcgen05-operand", f"rows of 16 bytes lie behind each other for {shape}, and `src` is {src.layout}"
        )
    emit(ops.Copy(dst.value, word.value, shape, cta_group, _UNPACKING[packed.place] if packed else ""))


_UNPACKING = {4: "b4x16_p64", 8: "b6x16_p32"}


def shift(t: Tensor, cta_group: int = 1) -> None:
    """Start moving 32 rows down by one lane, in order with the products of this thread; the first row keeps its values.

    t        (32, 8) of 32 bits in tensor memory, whose first lane is a multiple of 32
    Who      the thread that starts the products; a commit covers it. sm_100a, sm_103a and sm_110a
    Source   PTX ISA: tcgen05.shift
    """
    shape = (static_extent(t, 0), static_extent(t, 1)) if isinstance(t, Tensor) and t.space == "tmem" else ()
    if (
        shape != (layouts.WARP_LANES, 8)
        or t.dtype.bits != layouts.CELL_BITS
        or t.layout != lanes_layout(*shape, t.dtype)
    ):
        raise mistake("tcgen05-operand", f"`shift` moves (32, 8) of 32 bits in tensor memory, not {describe(t)}")
    emit(ops.Shift(t.value, cta_group))


def _copy_part(dst: Tensor, to: Any, src: Tensor, of: Any, shape: str, cta_group: int) -> None:
    """Copy rows of 16 bytes, one behind the other, that begin at these coordinates."""
    place = emit(tensors.TensorView(dst.value, dst._type, as_value(dst.layout(*to))))
    part = emit(tensors.TensorView(src.value, src._retyped_type(src.layout, align=128), as_value(src.layout(*of))))
    emit(ops.Copy(place.value, emit(ops.PlainDescriptor(part.value)).value, shape, cta_group))


def copy_scales(dst: Tensor, src: Tensor, cta_group: int = 1) -> None:
    """Start copying scales from shared to tensor memory, for later products of this thread.

    dst      (rows, blocks) of u8 in tensor memory, of layout `scales(rows, blocks)`
    src      the same in shared memory, of layout `scales_in_smem(rows, blocks)`, known to be aligned to 128 bytes; both
             with `halves` or neither
    Who      the thread that starts the products; a commit covers it
    Source   PTX ISA: tcgen05.cp
    """
    rows, blocks = static_extent(dst, 0), static_extent(dst, 1)
    found = (
        (halves, whole)
        for halves in (False, True)
        if (whole := layouts.copied_blocks(rows, halves))
        and blocks % whole == 0
        and dst.layout == layouts.scales_layout(rows, blocks, halves)
        and src.layout == layouts.scales_in_smem(rows, blocks, halves)
    )
    halves, whole = next(found, (False, 0))
    if not whole or (dst.space, dst.dtype, src.space, src.dtype) != ("tmem", u8, "smem", u8):
        text = (
            f"scales are copied from `scales_in_smem` to `scales`, of u8, not from {describe(src)} to {describe(dst)}"
        )
        raise mistake("tcgen05-operand", text)
    for group in range(0, rows // 2 if halves else rows, layouts.LANES):
        for block in range(0, blocks, whole):
            _copy_part(dst, (group, block), src, (group, block), SCALES_COPIED[halves], cta_group)


SCALES_COPIED = "32x128b.warpx4", "64x128b.warpx2::01_23"
"""The copies of scales that all warps' lanes have, and of those that each half of them has."""


def _is_in_flight(t: Any) -> bool:
    return isinstance(t, Runtime) and isinstance(t.value.type, InFlight) and isinstance(t.value.type.inner, TensorType)


def _finished(d: Handle) -> Tensor:
    return emit(ops.Finish(d.value))  # type: ignore[no-any-return]


def _accumulator(d: Tensor | Handle) -> Any:
    """Return the tensor that products add to: that of an accumulator in flight, or `d` itself."""
    return _finished(d) if _is_in_flight(d) else d


def wait_commit(bar: Barrier, phase: Any, *accs: Any) -> Any:
    """Wait for the phase of a barrier on which a `commit` after these products arrives: they are then complete.

    accs     accumulators in flight, as `mma` returns them: they come back readable
    phase    as in `Barrier.wait`. This also executes `fence_after_thread_sync`
    Who      the threads that hold them
    Source   PTX ISA: tcgen05.commit, mbarrier.try_wait
    """
    for acc in accs:
        if not _is_in_flight(acc):
            raise mistake("tcgen05-operand", f"wait_commit takes accumulators in flight, not {describe(acc)}")
    bar.wait(phase)
    fence_after_thread_sync()
    readable = tuple(map(_finished, accs))
    return readable[0] if len(readable) == 1 else readable or None


def _folds(d: Any, cta_group: int, ws: bool, sparse: bool) -> int:
    """Return the number of parts into which an accumulator's columns are split, each in lanes of its own."""
    return layouts.folds_of(static_extent(d, 0) * cta_group, cta_group, ws, sparse) if isinstance(d, Tensor) else 1


def _operands(d: Any, a: Any, b: Any, sparse: bool, folds: int = 1) -> tuple[SmemMatrix | None, SmemMatrix]:
    """Return how the tensor core reads A, None for one in tensor memory, and B; checked against the accumulator."""
    for name, t in (("d", d), ("a", a)):
        if not isinstance(t, Tensor) or t.space not in ("tmem", "smem")[: 1 if name == "d" else 2]:
            where = "in tensor memory" if name == "d" else "in shared or tensor memory"
            raise mistake("tcgen05-operand", f"`{name}` is a tensor {where}, not {describe(t)}")
    right = _matrix(b, "b", sparse)
    k = static_extent(a, 1) * (2 if sparse else 1)
    if k != static_extent(b, 1) or static_extent(a, 0) != static_extent(d, 0):
        text = f"A is {a.shape} and B {b.shape}, and the accumulator {d.shape}: A is (M, K), B (N, K)"
        text += ", and a sparse A (M, K / 2)" if sparse else ""
        raise mistake("tcgen05-operand", text)
    if a.space == "tmem":
        _check_tmem_a(a, folds)
        return None, right
    return _matrix(a, "a"), right


def _along_k(left: SmemMatrix | None, right: SmemMatrix, steps: slice) -> tuple[tuple[int, int], ...]:
    """Return the steps of both operands along K that `steps` selects."""
    columns = layouts.STEP_BYTES * 8 // layouts.CELL_BITS
    steps_a = left.steps if left else tuple(i * columns for i in range(len(right.steps)))
    along_k = tuple(zip(steps_a, right.steps, strict=True))[steps]
    if not along_k:
        raise mistake("tcgen05-operand", f"{steps} names none of {len(right.steps)} instructions along K")
    return along_k


def _matrix(t: Any, name: str, sparse: bool = False) -> SmemMatrix:
    if not isinstance(t, Tensor) or t.space != "smem":
        raise mistake("tcgen05-operand", f"`{name}` is a tile in shared memory, not {describe(t)}")
    try:
        return smem_matrix(t._type, sparse, octets=True)
    except Unreadable as why:
        text = f"tcgen05.mma cannot read `{name}`: {why.what.replace('wgmma', 'the tensor core')}"
        raise mistake("tcgen05-operand", text, f"its layout is {t.layout}", why.help) from None


def _check_tmem_a(a: Tensor, folds: int) -> None:
    rows, k = static_extent(a, 0), static_extent(a, 1)
    wanted = layouts.accumulator_layout(rows if folds == 1 else layouts.LANES, k // layouts.per_cell(a.dtype), f32)[0]
    per = layouts.per_cell(a.dtype)
    if any(a.layout[1](i) != i for i in range(k)) or any(a.layout[0](i) != per * wanted(i) for i in range(rows)):
        text = f"A in tensor memory is {a.layout}: it has a lane for each row, and K is contiguous"
        raise mistake("tcgen05-operand", text, help="`cl.tcgen05.lanes_layout(rows, k, dtype)`")


def commit(bar: Barrier, mask: Scalar | int | None = None, cta_group: int = 1) -> None:
    """Arrive once on `bar` when all products and copies that this thread has started so far are complete.

    It implies `fence_before_thread_sync`.

    mask     a bit for each block of the cluster on whose barrier at this offset to arrive; None: only on this one
    Who      the thread that started them
    Source   PTX ISA: tcgen05.commit
    """
    emit(ops.Commit(bar.value, None if mask is None else as_value(mask, u16), cta_group))


def fence_before_thread_sync() -> None:
    """Order this thread's complete tcgen05 accesses before the barrier or arrival that follows.

    Source  PTX ISA: tcgen05.fence::before_thread_sync
    """
    emit(ops.FenceBefore())


def fence_after_thread_sync() -> None:
    """Order this thread's later tcgen05 accesses after the barrier or wait that came before.

    Source  PTX ISA: tcgen05.fence::after_thread_sync
    """
    emit(ops.FenceAfter())


# Between registers and tensor memory.


def load(t: Tensor, shape: Shape = "32x32b", narrow: bool = False, split: int = 0) -> Handle:
    """Start loading this thread's elements of `t`, and return them at once, in flight: `wait_load` makes them readable.

    With 32x32b, thread i of a warp gets the elements of the warp's row i, in order. Warp w of a warpgroup reaches only
    lanes 32 w to 32 w + 31.

    t        in tensor memory: (128, n), of which each warp takes its 32 rows, or the (32, n) of this warp's lanes; 64
             rows of an accumulator lie 16 to a warp: (64, n) with the shapes of 16 lanes
    shape    which element a register holds: `ops.tcgen05_layouts.cells`
    narrow   each column holds 16 bits: a register has those of two columns. For accumulators of f16
    split    for 16x32bx2: the columns from the elements of the first 16 threads to those of the others
    Result   n elements for 32x32b; they fill a power of two of registers, at most 128
    Who      all threads of a warp
    Errors   `tmem-load` for a tensor of another shape
    Source   PTX ISA: tcgen05.ld
    """
    place, repeats = _transfer(t, shape, narrow, split)
    return emit(ops.Load(place.value, shape, repeats, narrow, split, elem=t.dtype))  # type: ignore[no-any-return]


def load_reduced(
    t: Tensor, kind: Literal["min", "max"] = "max", shape: Shape = "32x32b", *, abs: bool = False, nan: bool = False,
    split: int = 0,
) -> Handle:  # fmt: skip
    """Start loading like `load`, and put the least or greatest of this thread's elements behind them.

    t        in tensor memory, of f32, u32 or i32: at least 2 registers of 32x32b or 16x32bx2
    abs      f32 only: compare magnitudes
    nan      f32 only: the reduction is NaN if an element is; otherwise it leaves out elements that are NaN
    Result   n + 1 elements, in flight: `wait_load` makes them readable; the last one is the reduction
    Who      all threads of a warp; sm_103 and sm_110
    Source   PTX ISA: tcgen05.ld.red
    """
    place, repeats = _transfer(t, shape, False, split)
    fields = {"elem": t.dtype, "kind": kind, "abs": abs, "nan": nan}
    return emit(ops.LoadReduced(place.value, shape, repeats, False, split, **fields))  # type: ignore[no-any-return]


def wait_load(*values: Any) -> Any:
    """Wait for all loads of this thread. The values given, results of `load`, come back readable.

    Who      all threads of a warp
    Source   PTX ISA: tcgen05.wait::ld
    """
    for value in values:
        if not isinstance(value, Runtime) or not isinstance(value.value.type, InFlight):
            raise mistake("tmem-load", f"wait_load takes results of `load`, not {describe(value)}")
    return emit(ops.WaitLoad(tuple(value.value for value in values)))


def store(t: Tensor, x: Any, shape: Shape = "32x32b", narrow: bool = False, split: int = 0) -> None:
    """Start storing `x`, a vector in the order of `load`, to this thread's elements of `t`; `wait_store` waits for it.

    Who      all threads of a warp
    Source   PTX ISA: tcgen05.st
    """
    place, repeats = _transfer(t, shape, narrow, split)
    count = layouts.SHAPES[shape].registers * repeats * layouts.CELL_BITS // t.dtype.bits
    emit(ops.Store(place.value, shape, repeats, narrow, split, a=as_value(x, Vec(t.dtype, count))))


def wait_store() -> None:
    """Wait for all stores of this thread. All threads of a warp. PTX: tcgen05.wait::st."""
    emit(ops.WaitStore())


def _transfer(t: Any, shape: str, narrow: bool, split: int) -> tuple[Tensor, int]:
    """Return this warp's part of `t`, and the number of repeats of the shape that cover it."""
    if _is_in_flight(t):
        raise in_flight(t.value)
    if not isinstance(t, Tensor) or t.space != "tmem":
        raise mistake("tmem-load", f"a tensor in tensor memory is needed here, not {describe(t)}")
    if shape not in layouts.SHAPES:
        raise mistake("tmem-load", f"{shape!r} is none of {', '.join(layouts.SHAPES)}")
    one = layouts.SHAPES[shape]
    if t.ndim != 2 or not is_static(t.layout):
        raise mistake("tmem-load", f"loads and stores are of (rows, columns), and this is {t.shape}")
    rows, extent = static_extent(t, 0), static_extent(t, 1)
    per = 1 if narrow else layouts.per_cell(t.dtype)
    pitch = layouts.per_cell(t.dtype) if narrow else 1
    if any(t.layout[1](i) != i * pitch for i in range(extent)):
        text = f"neighbours along the columns of {t.layout} are not neighbours in tensor memory"
        raise mistake("tmem-load", text, help="16 bits to a column are loaded with `narrow=True`")
    columns = extent // per // (2 if shape == "16x32bx2" else 1)
    width = one.columns * (2 if narrow else 1)
    if shape == "16x32bx2" and not split:
        raise mistake("tmem-load", "16x32bx2 needs `split`, the columns between its two parts")
    repeats = columns // width
    if repeats * width != columns or repeats & (repeats - 1) or not 1 <= repeats <= one.most:
        text = f"{extent} elements of {t.dtype} are {columns} columns"
        raise mistake("tmem-load", f"{text}: {shape} moves {width} at a time, a power of two times, at most {one.most}")
    return _own_lanes(t, rows), repeats


def _own_lanes(t: Tensor, rows: int) -> Tensor:
    """Return a view of `t` from the first lane of this warp on; `t` itself, if it has one warp's lanes."""
    lane = layouts.per_cell(t.dtype) << layouts.LANE_SHIFT
    if rows <= layouts.WARP_LANES:
        return t
    if rows % 4 or t.layout[0](rows // 4) != layouts.WARP_LANES * lane:
        raise mistake("tmem-load", f"{rows} rows of {t.layout} are not those of one warp, nor of four")
    warp = linear_thread_idx() // layouts.WARP_LANES % 4
    return emit(tensors.TensorView(t.value, t._type, as_value(warp * (layouts.WARP_LANES * lane))))  # type: ignore[no-any-return]
