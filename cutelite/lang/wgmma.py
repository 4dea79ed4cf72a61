"""wgmma, as ``cl.wgmma``: matrix products of a warpgroup (128 threads) on the tensor cores.

    acc = cl.wgmma.zeros_accumulator(256)
    for k in range(k_tiles):
        full[s].wait(phase)
        acc = cl.wgmma.mma_async(a_tile[s, None, None], b_tile[s, None, None], acc)
        cl.wgmma.commit_group()
        acc = cl.wgmma.wait_group(0, acc)

An accumulator is a vector value, (64, n) spread over the 128 threads. `coordinates` and `partition` say which elements
of the matrix a thread holds; `by_rows` and `coordinate_vectors` give them and their coordinates shapes to compute with.
Between `mma_async` and the `wait_group` that retires it, it is in flight, and using it is an error. All threads of the
warpgroup call these together.
"""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.function import Value
from cutelite.ir.types import InFlight, Vec, boolean, f16, f32, i32, u32
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Tensor as TensorType
from cutelite.lang.emit import Handle, Runtime, describe, emit, mistake
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.promotion import as_value
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Scalar, Vector, vector
from cutelite.layout import Layout, coalesce, composition, flatten_to_tuple, is_static, static_value, transform_leaf
from cutelite.ops import wgmma as ops
from cutelite.ops.arith import VecUndefined
from cutelite.ops.tensor import TensorPtr
from cutelite.ops.wgmma_layouts import (
    FORMS,
    THREADS,
    Form,
    M,
    SmemMatrix,
    Unreadable,
    accumulator,
    accumulator_type,
    k_of,
    operand_a,
    smem_matrix,
)
from cutelite.ops.wgmma_sparse import compress_sparse as compress_sparse

Accumulator = Vector | Handle
"""An accumulator as `mma_async` takes and returns it: a readable vector, or a handle while it is in flight."""


def zeros_accumulator(n: int, dtype: Any = f32) -> Vector:
    """Return an accumulator (64, n) of zeros, readable. With ``accumulate=False`` they are never written.

    n       8 to 256 in steps of 8 (integers: of 16 above 32)
    dtype   f32; f16 for f16 and fp8 operands; i32 for integers
    """
    return Vector(as_value(0 if dtype == i32 else 0.0, _accumulator_type(n, dtype)))


def undefined(n: int, dtype: Any = f32) -> Vector:
    """Return an accumulator (64, n) that holds anything, NaN in the simulator. `n`, `dtype`: as in `zeros_accumulator`.

    For loops that run at least once, whose first product overwrites it: ``accumulate=step > 0``. Zeros would be
    written before the loop.
    """
    type = _accumulator_type(n, dtype)
    undefined: Vector = emit(VecUndefined(type.elem, type.n))
    return undefined


def _accumulator_type(n: Any, dtype: Any) -> Vec:
    if not isinstance(n, int) or n % 8 or not 8 <= n <= 256:
        raise mistake("wgmma-accumulator", f"wgmma takes N from 8 to 256 in steps of 8, not {describe(n)}")
    return accumulator_type(dtype, n)


def fence(*values: Any) -> Any:
    """Order this warpgroup's earlier register accesses and those of later wgmma; it orders no memory.

    `mma_async` executes it by itself. Call this before several products that share one fence, with their accumulators
    or without any. The values are returned in flight.

    Source   PTX ISA: wgmma.fence
    """
    for value in values:
        if not isinstance(value, Vector | Handle):
            raise mistake("wgmma-accumulator", f"wgmma.fence takes vectors in registers, not {describe(value)}")
    return emit(ops.Fence(tuple(value.value for value in values)))


def mma_async(
    a: Tensor | Vector | Handle,
    b: Tensor,
    acc: Accumulator,
    *,
    accumulate: bool | Scalar = True,
    negate_a: bool = False,
    negate_b: bool = False,
    saturate: bool = False,
    fenced: bool = False,
    metadata: Vector | Scalar | None = None,
    steps: slice = slice(None),
) -> Handle:
    """Start ``acc + a @ b.T``, and return the accumulator at once, in flight.

    a            (64, K) in shared memory; or in registers: a vector of the elements that `operand_a` gives this
                 thread for each step of K, which are those of an accumulator (64, K) converted to 16 bits
    b            (N, K) in shared memory
    acc          the (64, N) accumulator, readable or in flight
    accumulate   False: ``a @ b.T`` alone; may be a run-time bool, the same in all threads
    negate_a     multiply by ``-a``; `negate_b` likewise. `saturate`, for integers: clamp sums instead of wrapping
    metadata     for a sparse A, of which `a` is the (64, K / 2) that `compress_sparse` keeps: this thread's u32 words
                 of places, one for 32 bytes of a row of `a` (for 64 if elements have 16 or 32 bits)
    fenced       `fence` was called for `acc` in this iteration: several products may share one, which lets ptxas make
                 one group of them
    steps        the instructions to start, of those along K, each of 32 bytes: ``slice(0, 2)`` for the first two, to
                 start a product in parts. For a dense A in shared memory
    Layouts      tiles whose rows are one swizzle span, as TMA brings them, or any other that `smem_matrix` describes;
                 f16 and bf16 tiles may be contiguous along M or N instead of K (a transposed view)
    Types        f16, bf16, tf32, e4m3 and e5m2 (mixed too) into f32; f16 and fp8 also into f16; i8, u8 into i32
    Who          the 128 threads of a warpgroup; tiles must stay unchanged until `wait_group` retires this
    Errors       `wgmma-operand`, which says why wgmma cannot read a layout; `wgmma-accumulator`
    Source       PTX ISA: wgmma.mma_async, wgmma.mma_async.sp
    """
    sparse = metadata is not None
    right = matrix(b, "b", sparse)
    k = static_extent(b, 1) // (2 if sparse else 1)
    left = _left_matrix(a, b, k)
    elem_a = operand_type(a)
    elem_d = accumulator_dtype(acc, elem_a, right.rows)
    kind, more = (ops.MmaAsyncSp, {"meta": words(metadata)}) if sparse else (ops.MmaAsync, {})
    started = kind(
        acc.value,
        emit(ops.Descriptor(a.value)).value if left else register_operand(a, elem_a, k),
        emit(ops.Descriptor(b.value, sparse)).value,
        as_value(accumulate, boolean),
        n=right.rows,
        elem_a=elem_a,
        elem_b=b.dtype,
        elem_d=elem_d,
        steps=_along_k(left, right, steps, sparse),
        fence=not fenced,  # also if all is in flight: ptxas needs one in each iteration of a loop, or adds it
        a_major=left.major if left else "K",
        b_major=right.major,
        scale_a=-1 if negate_a else 1,
        scale_b=-1 if negate_b else 1,
        saturate=saturate,
        **more,
    )
    return emit(started)  # type: ignore[no-any-return]


def _left_matrix(a: Any, b: Tensor, k: int) -> SmemMatrix | None:
    """Return how wgmma reads A in shared memory, checked against B; None for A in registers."""
    if not isinstance(a, Tensor):
        return None
    left = matrix(a, "a")
    if left.rows != M or static_extent(a, 1) != k:
        raise mistake(
            "wgmma-operand",
            f"A has {left.rows} rows of {static_extent(a, 1)}, and B is {b.shape}: A must be (64, {k})",
            help="give each warpgroup its 64 rows: `a.tile((64, K), (i, 0))`",
        )
    return left


def _along_k(left: SmemMatrix | None, right: SmemMatrix, steps: slice, sparse: bool) -> tuple[tuple[int, int], ...]:
    """Return the steps of both operands along K that `steps` selects."""
    steps_a = left.steps if left else (0,) * len(right.steps)
    along_k = tuple(zip(steps_a, right.steps, strict=True))
    if steps != slice(None) and (left is None or sparse or not along_k[steps]):
        text = f"{steps} of {len(along_k)} instructions along K"
        raise mistake("wgmma-operand", text, help="`steps` takes at least one, of a dense A in shared memory")
    return along_k[steps]


def commit_group() -> None:
    """Make the wgmmas since the last call one group, which `wait_group` can wait for. PTX: wgmma.commit_group."""
    emit(ops.CommitGroup())


def wait_group(n: int, *values: Any, keep: Any = (), after: Any = ()) -> Any:
    """Wait until at most the `n` latest groups are under way.

    values   accumulators of groups that are then complete: they come back readable (so do operands in registers)
    keep     one accumulator or a tuple of them that stay in flight: they come back as they are, but nothing that
             uses them can be moved above the wait
    after    one readable vector or a tuple of them that are to be computed before the wait, while products are under
             way, as by `fence_operand`
    Result   the values, then those of `keep`, then those of `after`; one by itself if there is only one
    Source   PTX ISA: wgmma.wait_group
    """
    first = after if isinstance(after, tuple) else (after,)
    running = keep if isinstance(keep, tuple) else (keep,)
    for value in (*values, *running):
        if not isinstance(value, Runtime) or not isinstance(value.value.type, InFlight):
            title = f"wait_group takes accumulators in flight, not {describe(value)}"
            help = "those that products return: `acc = cl.wgmma.mma_async(a, b, acc)`"
            raise mistake("wgmma-accumulator", title, help=help)
    held = fence_operand(*first) if first else ()
    retired = tuple(v.value for v in values)
    waited = emit(ops.WaitGroup(n, retired, tuple(v.value for v in running)))
    if not first:
        return waited
    results = (*_several(waited), *_several(held))
    return results[0] if len(results) == 1 else results


def _several(results: Any) -> tuple[Any, ...]:
    """Return the results of `emit` as a tuple."""
    if results is None:
        return ()
    return results if isinstance(results, tuple) else (results,)


def fence_operand(*values: Any, held: bool = True) -> Any:
    """Hold vectors in registers here: ops that compute them are not moved below, and ops that use the result not above.

    Arithmetic is not ordered with `mma_async` and `wait_group`. Compilers move it to where its results are used: behind
    products, which then need more registers, or behind a wait for products that it should overlap. The fence holds in
    machine code too, where it is one instruction (PMTRIG, without effect). Operations that an
    assembler still moves across are counted after assembling, and become a warning at this line. Pass the last results
    of the operations to hold: a sum also holds its summands.

    values   vectors that are readable
    held     False: emit no instruction, which guides the compilers' choice of registers but orders no machine code
    Result   the values; one by itself if there is only one
    Source   CUTLASS: warpgroup_fence_operand
    """
    for value in values:
        if not isinstance(value, Vector):
            raise mistake("wgmma-accumulator", f"fence_operand takes vectors, not {describe(value)}")
    return emit(ops.FenceOperand(tuple(value.value for value in values), held))


def descriptor(t: Tensor) -> Scalar:
    """Return the 64-bit matrix descriptor of a tile in shared memory, for `inline_ptx`. PTX: matrix descriptor."""
    matrix(t, "t")
    return emit(ops.Descriptor(t.value))  # type: ignore[no-any-return]


def advance(descriptor: Scalar, bytes: int | Scalar) -> Scalar:
    """Return the descriptor moved by a multiple of 16 bytes."""
    return descriptor + (bytes >> 4)  # type: ignore[no-any-return]


# The coordinates of an accumulator's elements.


def coordinates(n: int) -> list[tuple[Any, Any]]:
    """Return the (row, column) in the (64, n) accumulator of each element that this thread holds, in their order.

    Rows and columns are run-time numbers: two rows in all, and a pair of columns every 8.
    """
    return _coordinates(accumulator(n), [0])


def operand_coordinates(dtype: DType, k: int) -> list[tuple[Any, Any]]:
    """Return the (row, k) in a (64, k) operand A of each element that this thread holds in registers, in order."""
    return _coordinates(operand_a(dtype), list(range(0, k, k_of(dtype))))


def coordinate_vectors(n: int) -> tuple[Vector, Vector]:
    """Return the rows and the columns in the (64, n) accumulator of this thread's elements, as vectors of i32.

        rows, columns = cl.wgmma.coordinate_vectors(n)
        scores = cl.where(first_row + rows >= first_key + columns, cl.wgmma.by_rows(acc), -inf)

    Result  rows of shape (1, 2, 1) and columns of shape (2, 1, n / 8), which broadcast to that of `by_rows(acc)`
    """
    spread, thread = accumulator(n)[0], linear_thread_idx() & (THREADS - 1)
    row, column = _along_m(spread)(thread), _along_n(spread)(thread)
    places = vector(*(8 * (i // 2) + i % 2 for i in range(n // 4)), dtype=i32)
    return vector(row, row + 8).reshape((1, 2, 1)), (places + column).reshape((2, 1, n // 8))


def by_rows(acc: Any) -> Vector:
    """Return a readable accumulator (64, n) as a vector of shape (2, 2, n / 8): neighbours, rows, groups of 8 columns.

    The second mode is that of the thread's two rows, which lie 8 apart.
    """
    if not isinstance(acc, Vector) or acc.n % 4:
        raise mistake("wgmma-accumulator", f"a readable accumulator is needed here, not {describe(acc)}")
    return acc.reshape((2, 2, acc.n // 4))


def row_reduce(acc: Any, operation: Literal["sum", "add", "max", "min", "prod", "mul"]) -> Vector:
    """Combine each row of a readable accumulator (64, n): a vector of two numbers, for this thread's rows.

    Cost    two exchanges among the four threads that hold a row
    Who     all threads of the warpgroup
    Errors  `reduce` for another operation
    """
    return over_quad(by_rows(acc).reduce(operation, (0, 2)), operation)


def over_quad(v: Vector, operation: Literal["sum", "add", "max", "min", "prod", "mul"]) -> Vector:
    """Combine vectors of the four threads that hold the same rows of an accumulator, element by element."""
    from cutelite.lang import fragments, warp  # imported here: products need neither

    for distance in (1, 2):
        v = emit(fragments.COMBINE[operation](v.value, warp.shuffle_xor(v, distance).value))
    return v


def scale_rows(acc: Any, factors: Any) -> Vector:
    """Return a readable accumulator (64, n) with this thread's two rows multiplied by the two `factors`."""
    if not isinstance(factors, Vector) or factors.n != 2:
        raise mistake(
            "wgmma-accumulator", f"two factors are needed here, as `row_reduce` has them, not {describe(factors)}"
        )
    return (by_rows(acc) * factors.reshape((1, 2, 1))).reshape((acc.n,))  # type: ignore[no-any-return]


def _coordinates(layout: Layout, starts: list[int]) -> list[tuple[Any, Any]]:
    """Return this thread's coordinates by a (thread, value) layout to m + 64 n, for each of `starts` along n."""
    thread = linear_thread_idx() & (THREADS - 1)
    count = range(static_value(layout[1].size) or 0)
    rows, columns = _along_m(layout[1]), _along_n(layout[1])
    row = _moved(_along_m(layout[0])(thread), [rows(i) for _ in starts for i in count])
    column = _moved(_along_n(layout[0])(thread), [columns(i) + start for start in starts for i in count])
    return list(zip(row, column, strict=True))


def _moved(base: Any, distances: list[int]) -> list[Any]:
    """Return `base` plus each of the distances; equal sums are computed once."""
    sums = {distance: base + distance if distance else base for distance in dict.fromkeys(distances)}
    return [sums[distance] for distance in distances]


def partition(tile: Tensor) -> Tensor:
    """Return this thread's part of a (64, n) tensor: its i-th element is that of the accumulator's i-th.

    ``partition(c_tile).store(acc)`` writes an accumulator out, ``partition(c_tile).load()`` brings one in.
    """
    return _part(tile, composition(tile.layout, accumulator(_columns(tile))))


def _columns(tile: Tensor) -> int:
    """Return n of a tile (64, n). Errors: `wgmma-accumulator`."""
    n = static_extent(tile, 1) if tile.ndim == 2 else None
    if n is None or static_extent(tile, 0) != M or n % 8:
        raise mistake("wgmma-accumulator", f"an accumulator is (64, n), n a multiple of 8, and this tile {tile.shape}")
    return n


def _part(tile: Tensor, spread: Layout) -> Tensor:
    """Return this thread's part of a tile by a (thread, value) layout to offsets in it."""
    return tile._moved(spread[1], [(linear_thread_idx() & (THREADS - 1), spread[0])])


def store(tile: Tensor, values: Any) -> None:
    """Write the elements of a readable accumulator, or what became of them, to a tile (64, n) of shared memory.

    It writes what ``partition(tile).store(values)`` does, by stmatrix if elements have 16 bits and eight of a row lie
    side by side at a multiple of 16 bytes. Then each thread writes elements of others: synchronise before any is read.
    Who     all threads of the warpgroup
    Errors  `wgmma-accumulator` for a tile of another shape
    """
    n = _columns(tile)
    rows = _matrix_rows(tile, n) if isinstance(values, Vector) and values.type == Vec(tile.dtype, n // 2) else None
    if rows is None:
        partition(tile).store(values)
        return
    from cutelite.ops.ldmatrix import ROW_BYTES, StoreMatrix  # imported here: products need none

    for j in range(n // 16):  # four matrices each: two of rows, in two groups of eight columns
        at = emit(TensorPtr(rows.value, (as_value(0), as_value(j)), align=ROW_BYTES))
        emit(StoreMatrix(at.value, values[8 * j : 8 * j + 8].value, 4))


def _matrix_rows(tile: Tensor, n: int) -> Tensor | None:
    """Return the rows of matrices that this thread names for stmatrix, (8, n / 16); None where it cannot write them."""
    t = tile._type
    if tile.dtype.bits != 16 or tile.space != "smem" or n % 16 or not is_static(tile.layout) or t.align % 16:
        return None
    if t.swizzle is not None and t.swizzle.base < 4:  # it would part 16 bytes
        return None
    spread = composition(tile.layout, Layout(((16, 2, 4), (8, n // 16)), ((1, 8 * M, 16), (M, 16 * M))))
    apart = *flatten_to_tuple(spread[0].stride), *flatten_to_tuple(spread[1][1].stride)
    if coalesce(spread[1][0]) != Layout(8, 1) or any(step % 8 for step in apart):
        return None
    return _part(tile, spread)


def _along_m(mode: Layout) -> Layout:
    """Return the part of a mode of `accumulator` that moves along m: strides below 64."""
    return Layout(mode.shape, transform_leaf(lambda d: d if d < M else 0, mode.stride))


def _along_n(mode: Layout) -> Layout:
    """Return the part of a mode of `accumulator` that moves along n: strides from 64 on."""
    return Layout(mode.shape, transform_leaf(lambda d: d // M, mode.stride))


# Operands.


def words(metadata: Any) -> Value:
    """Return metadata as an operand."""
    if not isinstance(metadata, Scalar | Vector) or metadata.dtype != u32:
        raise mistake("wgmma-operand", f"metadata is one or several u32, not {describe(metadata)}")
    value: Value = metadata.value
    return as_value(metadata, Vec(u32, 1)) if isinstance(metadata, Scalar) else value


def matrix(t: Any, name: str, sparse: bool = False) -> SmemMatrix:
    """Return how wgmma reads the tile `t`. Errors: `wgmma-operand`. `sparse`: `t` is B, and A is sparse."""
    if not isinstance(t, Tensor) or not isinstance(t.value.type, TensorType):
        raise mistake("wgmma-operand", f"`{name}` is a tile of shared memory, not {describe(t)}")
    try:
        return smem_matrix(t.value.type, sparse)
    except Unreadable as why:
        raise mistake(
            "wgmma-operand",
            f"wgmma cannot read `{name}`: {why.what}",
            f"its layout: {t.layout}",
            (why.help, "`cl.tma_shared` and `cl.make_smem_layout` make tiles that wgmma reads"),
        ) from None


def operand_type(a: Any) -> DType:
    """Return the element type of A, which decides the form."""
    elem = a.dtype if isinstance(a, Tensor | Vector) else None
    if isinstance(a, Handle) and isinstance(a.value.type, InFlight):
        elem = a.value.type.inner.elem
    if elem is None:
        raise mistake("wgmma-operand", f"`a` is a tile of shared memory or a vector in registers, not {describe(a)}")
    if elem == f32:
        raise mistake(
            "wgmma-operand", "wgmma multiplies no f32", help="recast the tile to cl.tf32, or convert it to cl.bf16"
        )
    if elem.name not in FORMS:
        raise mistake("wgmma-operand", f"wgmma multiplies {', '.join(FORMS)}, not {elem}")
    return elem


def register_operand(a: Any, elem: DType, k: int) -> Value:
    """Return A in registers as an operand, after a check of its length."""
    value: Value = a.value
    vec = value.type.inner if isinstance(value.type, InFlight) else value.type
    expected = Vec(elem, M * k // THREADS)
    if vec != expected:
        raise mistake("wgmma-operand", f"A in registers is {vec}, but must be {expected}, for (64, {k})")
    return value


def accumulator_dtype(acc: Any, elem_a: DType, n: int) -> DType:
    """Return the accumulator's element type, from the registers that hold it. Errors: `wgmma-accumulator`."""
    if not isinstance(acc, Vector | Handle):
        raise mistake("wgmma-accumulator", f"an accumulator is needed here, not {describe(acc)}")
    vec = acc.value.type.inner if isinstance(acc.value.type, InFlight) else acc.value.type
    form: Form = FORMS[elem_a.name]
    for dtype in (f32, f16, i32):
        if dtype.name in form.d and vec == accumulator_type(dtype, n):
            return dtype
    choices = " or ".join(str(Vec(dtype, n // 2)) for dtype in (f32, f16, i32) if dtype.name in form.d)
    raise mistake(
        "wgmma-accumulator",
        f"the accumulator is {vec}, but B has {n} rows: it must be {choices}",
        help=f"start with `wgmma.zeros_accumulator({n})`",
    )


def static_extent(t: Any, mode: int) -> int:
    extent = static_value(t.layout[mode].size)
    if extent is None:
        raise mistake("static-layout", f"a tile needs a shape known at compile time, not {t.shape}")
    return extent
