"""mma.sync on numbers of 4 bits, on bits (MmaPacked) and with a sparse A, through tiled MMAs, against NumPy."""

from typing import Any, TypeVar

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor
from cutelite.diag import CompileError
from cutelite.ir.types import SCALARS
from cutelite.ops import mma_packed, mma_sparse
from cutelite.sim import SimError
from tests.atoms.test_mma_ops import DTYPES, random
from tests.places import Place

STEPS = 2
M, N, KA, KB, P, W, L = cl.dims("M N KA KB P W L")
A, B, D = TypeVar("A"), TypeVar("B"), TypeVar("D")


@cl.kernel(block=32)
def product(
    a: Tensor[A, (M, KA)],
    b: Tensor[B, (N, KB)],
    meta: Tensor[cl.u32, (P, W, L)],
    out: Tensor[D, (M, N)],
    op: Constexpr[cl.WarpMmaOp],
) -> None:
    """Multiply one tile of an instruction's rows and columns, along `STEPS` instructions of K."""
    mma = cl.make_tiled_mma(op)
    mine, (m, n, k) = mma.get_slice(cl.thread_idx.x), op.shape_mnk
    left, right = (
        cl.local_tile(t.recast(op.dtype_of(name)), (rows, STEPS * k // op.packing(name, 2)), (0, 0))  # type: ignore[attr-defined]
        for t, name, rows in ((a, "A", m), (b, "B", n))
    )
    parts = [mine.partition_A(left), mine.partition_B(right)]
    held = [mma.make_fragment_A(parts[0]), mma.make_fragment_B(parts[1])]
    for part, registers in zip(parts, held, strict=True):
        cl.copy(part, registers)
    words = None
    if op.sparse:
        tile = mine.partition_E(cl.local_tile(meta, (1, -(-STEPS // op.steps_of_word), 32), (0, 0, 0)))
        words = mma.make_fragment_E(tile)
        cl.copy(tile, words)
    result = mine.partition_C(cl.local_tile(out, (m, n), (0, 0)))
    acc = mma.make_fragment_C(result)
    cl.copy(cl.gemm(mma, acc, *held, metadata=words), result)


NONE = np.zeros((1, 1, 32), np.uint32)


def packed(numbers: Any, per: int) -> Any:
    """Return rows of numbers as words, the first number lowest."""
    bits = 32 // per
    places = (numbers.astype(np.int64) & (1 << bits) - 1).reshape(len(numbers), -1, per)
    return (places << np.arange(0, 32, bits)).sum(axis=2).astype(np.uint32)


RANGES = {"i4": (-8, 8), "u4": (0, 16), "b1": (0, 2)}
PACKED = [
    (a, b, k, form.m, combine)
    for a, form in mma_packed.every_form()
    for b in form.b
    for k in form.k
    for combine in (mma_packed.COMBINES if a == "b1" else ("",))
]


@pytest.mark.parametrize(("a", "b", "k", "m", "combine"), PACKED)
def test_packed_numbers(place: Place, a: str, b: str, k: int, m: int, combine: Any) -> None:
    rng = np.random.default_rng(k)
    x, y = rng.integers(*RANGES[a], (m, STEPS * k)), rng.integers(*RANGES[b], (8, STEPS * k))
    out, per = np.zeros((m, 8), np.int32), mma_packed.PER_WORD[a]
    op = cl.WarpMmaOp(getattr(cl, a), cl.i32, k, getattr(cl, b), m=m, combine=combine)
    place(product[1, 32], packed(x, per), packed(y, per), NONE, out, op)
    expected = (x[:, None] ^ y[None]).sum(axis=2) if combine == "xor" else x @ y.T
    np.testing.assert_array_equal(out, expected)


def sparse(rng: Any, name: str, m: int, k: int) -> Any:
    """Random numbers, of each group as many kept as the metadata can name."""
    group = 2 if name == "tf32" else 4
    kept = np.argsort(rng.random((m, k // group, group)), axis=2) < group // 2
    return np.where(kept.reshape(m, k), random(rng, name, m, k), np.zeros(1, DTYPES[name]))


SPARSE = [(a, b, d, k) for a, form in mma_sparse.FORMS.items() for b in form.b for d in form.d for k in form.k]


@pytest.mark.parametrize(("a", "b", "d", "k"), SPARSE)
def test_sparse_operands(place: Place, a: str, b: str, d: str, k: int) -> None:
    rng = np.random.default_rng(k)
    x, y = sparse(rng, a, 16, STEPS * k), random(rng, b, 8, STEPS * k)
    values, words = cl.compress_sparse(x, SCALARS[a])
    out = np.zeros((16, 8), DTYPES[d])
    op = cl.WarpMmaOp(SCALARS[a], SCALARS[d], k, SCALARS[b], sparse=True)
    place(product[1, 32], values, y, words, out, op)
    np.testing.assert_array_equal(out.astype(np.float64), x.astype(np.float64) @ y.astype(np.float64).T)


def test_metadata_that_names_nothing_is_reported() -> None:
    a, b, out = np.ones((16, 32), np.float16), np.ones((8, 64), np.float16), np.zeros((16, 8), np.float32)
    with pytest.raises(SimError, match="the metadata of row 0, group 0 is 0b0000"):
        product[1, 32](a, b, NONE, out, cl.WarpMmaOp(cl.f16, cl.f32, sparse=True))


def test_sparse_rows_come_by_sixteen() -> None:
    with pytest.raises(ValueError, match=r"takes \(16 m, 16 k\) elements of f16"):
        cl.compress_sparse(np.zeros((8, 16), np.float16), cl.f16)
    full = np.zeros((16, 16), np.float16)
    full[3, 4:8] = 1
    with pytest.raises(ValueError, match=r"row 3, columns 4 to 7: .* has more than 2 in 4"):
        cl.compress_sparse(full, cl.f16)


@pytest.mark.parametrize(
    ("words", "make"),
    [
        ("mma.sync does not multiply i4 by i8", lambda: cl.WarpMmaOp(cl.i4, cl.i32, b_dtype=cl.i8)),
        ("sparse mma.sync does not multiply f64", lambda: cl.WarpMmaOp(cl.f64, cl.f64, sparse=True)),
        ("sparse mma.sync does not multiply i4", lambda: cl.WarpMmaOp(cl.i4, cl.i32, sparse=True)),
        ("mma.sync on b1 has K 128, not 256", lambda: cl.WarpMmaOp(cl.b1, cl.i32, 256, m=8)),
        ("'xor' combines no u4", lambda: cl.WarpMmaOp(cl.u4, cl.i32, combine="xor")),
        ("only sums of integers saturate", lambda: cl.WarpMmaOp(cl.b1, cl.i32, saturate=True)),
    ],
)
def test_what_there_is_not(words: str, make: Any) -> None:
    with pytest.raises(CompileError, match=words):
        make()
