"""Small matrices of a warp, instruction by instruction: mma.sync, ldmatrix, stmatrix, movmatrix.

Tiled copies and tiled MMAs (`lang.copy`, `lang.mma`) are made of these. The elements that each thread holds follow from
the layouts of `ops.mma` and `ops.ldmatrix`, and are drawn in docs/atoms.md.
"""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.types import f16, u32
from cutelite.lang.address import address
from cutelite.lang.emit import describe, emit, mistake
from cutelite.lang.packed import Packed
from cutelite.lang.promotion import as_value
from cutelite.lang.values import Vector
from cutelite.ops import ldmatrix as matrix_ops
from cutelite.ops import mma as mma_ops
from cutelite.ops import mma_packed, mma_sparse
from cutelite.ops import mma_scaled as mma_scaled_ops
from cutelite.ops.mma_sparse import compress_sparse as compress_sparse


def mma_sync(
    a: Vector,
    b: Vector,
    c: Vector,
    *,
    k: int | None = None,
    saturate: bool = False,
    packed: Packed | tuple[Packed, Packed] | None = None,
    combine: Literal["", "xor", "and"] = "",
    metadata: Any = None,
    selector: int = 0,
) -> Vector:
    """Return ``a @ b.T + c`` of matrices in the registers of a warp's 32 threads: A (m, k), B (n, k), C (m, n).

    a, b, c   this thread's elements, in the order of `ops.mma.operand_a`, `operand_b` and `accumulator`
    k         extent along K; default: computed from the length of `a`
    saturate  integers only: clamp sums instead of letting them wrap
    packed    `a` and `b` are u32 words of numbers `cl.i4`, `cl.u4` or `cl.b1`; a pair if they differ
    combine   for bits: count those of ``a ^ b`` ('xor') or of ``a & b`` ('and')
    metadata  this thread's u32 word of a sparse A; `a` is then the (m, k / 2) half that `cl.compress_sparse` keeps
    selector  for a sparse A: the number of this instruction among those that use one word of metadata
    Shapes    m16n8 with k 8, 16 (f16, bf16), 4, 8 (tf32), 16, 32 (i8, u8), 32 (e4m3, e5m2), 4, 8, 16 (f64, sm_90);
              m8n8 with k 16 (i8, u8), 4 (f64). The length of `c` decides m. Packed: m16n8 with k 32, 64 (i4, u4), 128,
              256 (b1), m8n8 with the smaller. Sparse: m16n8 with k 16, 32 (f16, bf16), 8, 16 (tf32), 32, 64 (i8, u8),
              64 (e4m3, e5m2)
    Who       all threads of a warp
    Source    PTX ISA: mma, mma.sp
    """
    for name, x in (("a", a), ("b", b), ("c", c)):
        if not isinstance(x, Vector):
            raise mistake("mma", f"mma_sync takes vectors in registers, and `{name}` is {describe(x)}")
    m = c.n * mma_ops.WARP // mma_ops.N
    if packed is not None and metadata is not None:
        raise mistake("mma", "there is no mma.sync of packed numbers with a sparse A", help="leave out one of the two")
    if packed is None and combine:
        raise mistake("mma", "`combine` is for bits", help="`packed=cl.b1` says that words hold bits")
    if metadata is None and selector:
        raise mistake("mma", "`selector` is for a sparse A", help="`metadata=` is the word from `cl.compress_sparse`")
    if packed is not None:
        kinds = packed if isinstance(packed, tuple) else (packed, packed)
        for kind in kinds if len(kinds) == 2 else (packed,):
            if not isinstance(kind, Packed):
                raise mistake("mma", f"`packed` is cl.i4, cl.u4 or cl.b1, or a pair of them, not {describe(kind)}")
        k = a.n * mma_ops.WARP // m * kinds[0].per_word if k is None else k
        names = kinds[0].name, kinds[1].name
        return emit(mma_packed.MmaPacked(a.value, b.value, c.value, k, saturate, *names, combine))  # type: ignore[no-any-return]
    if metadata is not None:
        k = 2 * a.n * mma_ops.WARP // m if k is None else k
        word = as_value(metadata, u32)
        return emit(mma_sparse.MmaSp(a.value, b.value, c.value, k, saturate, word, selector))  # type: ignore[no-any-return]
    form = mma_ops.form_of(a.dtype.name, c.n * mma_ops.WARP // 8) or mma_ops.FORMS.get(a.dtype.name)
    if k is None:
        k = a.n * mma_ops.WARP // form.m if form else 0
    return emit(mma_ops.Mma(a.value, b.value, c.value, k, saturate))  # type: ignore[no-any-return]


def mma_scaled(
    a: Vector,
    b: Vector,
    c: Vector,
    scale_a: Any = None,
    scale_b: Any = None,
    *,
    kind: Literal["f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4"] = "mxf8f6f4",
    formats: tuple[Any, Any] | None = None,
    block: int = 32,
    bytes: tuple[int, int] = (0, 0),
    threads: tuple[int, int] = (0, 0),
    metadata: Any = None,
) -> Vector:
    """Return ``(a * scales) @ (b * scales).T + c`` of a warp, with a scale for each block along K (sm_120, sm_121).

    a, b      this thread's u32 words of A (16, k) and B (8, k), in the order of `ops.mma.operand_a` for 8 words
              along K. A word has four numbers, one in each byte: those of 6 bits in the low bits of the byte, those of
              4 bits in its middle bits. For mxf4 and mxf4nvf4 a word has eight numbers of e2m1, the first one lowest
    c         f32, as in `mma_sync`
    scale_a   u32 of ue8m0 bytes, or of ue4m3 bytes for blocks of 16. Of the threads 4 i to 4 i + 3, two have the scales
              of rows i and i + 8 of A: the first two, or the last two if ``threads[0]`` is 1
    scale_b   likewise, for B: the thread 4 i + ``threads[1]`` has the scales of column i
    kind      the kind of the instruction; with 'f8f6f4' there are no scales
    formats   `cl.e4m3`, `cl.e5m2`, `cl.e2m3`, `cl.e3m2` or `cl.e2m1` of A and B; default: e4m3, or for mxf4 e2m1
    block     numbers in a block: 32, or 16 for mxf4nvf4
    bytes     the byte of the first scale in the word of A, and in that of B
    metadata  u32, for a sparse A, which keeps two of every four bytes along K. `compress_sparse` of A's bytes, as
              cl.u8, gives the kept bytes and this word for each thread. K and blocks are then twice as long, and B has
              16 words along K
    Who       all threads of a warp
    Source    PTX ISA: mma and mma.sp, block scaling
    """
    for name, x in (("a", a), ("b", b), ("c", c)):
        if not isinstance(x, Vector):
            raise mistake("mma", f"mma_scaled takes vectors in registers, and `{name}` is {describe(x)}")
    packed = kind in ("mxf4", "mxf4nvf4")
    k = (64 if packed else 32) * (1 if metadata is None else 2)
    block *= 1 if metadata is None else 2
    first, second = ("e2m1" if packed else "e4m3",) * 2 if formats is None else (x.name for x in formats)
    words = [None if x is None else as_value(x, u32) for x in (scale_a, scale_b)]
    several = 0 if kind == "f8f6f4" else k // block
    scale = "" if not several else "ue4m3" if several == 4 else "ue8m0"
    places = bytes[0], threads[0], bytes[1], threads[1], None if metadata is None else as_value(metadata, u32)
    scaled = mma_scaled_ops.MmaBlockScale(
        a.value, b.value, c.value, k, False, *words, kind, first, second, several, scale, *places
    )
    return emit(scaled)  # type: ignore[no-any-return]


def ldmatrix(row: Any, count: Literal[1, 2, 4] = 4, *, transpose: bool = False, dtype: Any = None) -> Vector:
    """Load `count` 8 x 8 matrices of 16-bit elements from shared memory into the registers of a warp.

    row        the address of a row of 16 bytes, a multiple of 16: thread t gives row t % 8 of matrix t // 8
    transpose  exchange rows and columns of each matrix (16-bit elements only)
    dtype      the type of the elements; default: that of the tensor `row`. With 8 or 32 bits, a row has 16 or 4 of them
    Result     32 bits of each matrix, in turn: row t // 4, elements 2 (t % 4) and the next
    Who        all threads of a warp
    Source     PTX ISA: ldmatrix
    """
    place, elem = address(row, matrix_ops.ROW_BYTES), dtype or getattr(row, "dtype", f16)
    return emit(matrix_ops.LoadMatrix(place, elem, count, transpose))  # type: ignore[no-any-return]


def stmatrix(row: Any, a: Vector, *, transpose: bool = False) -> None:
    """Store 8 x 8 matrices from the registers of a warp to shared memory: the converse of `ldmatrix`.

    a        32 bits for each of 1, 2 or 4 matrices
    Source   PTX ISA: stmatrix
    """
    if not isinstance(a, Vector):
        raise mistake("stmatrix", f"stmatrix takes a vector in registers, not {describe(a)}")
    place, count = address(row, matrix_ops.ROW_BYTES), max(1, a.n * a.dtype.bytes // 4)
    emit(matrix_ops.StoreMatrix(place, a.value, count, transpose))


def movmatrix(a: Vector) -> Vector:
    """Transpose an 8 x 8 matrix of 16-bit elements, two of a row in each thread. PTX: movmatrix."""
    if not isinstance(a, Vector):
        raise mistake("movmatrix", f"movmatrix takes a vector in registers, not {describe(a)}")
    return emit(matrix_ops.MoveMatrix(a.value))  # type: ignore[no-any-return]
