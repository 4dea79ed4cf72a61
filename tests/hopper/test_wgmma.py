"""wgmma in the simulator, on kernels, against NumPy. Operands are small integers, so that results are exact."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Constexpr, Layout, Tensor, bf16, f16, f32, i32, u32
from cutelite.ops.swizzles import SWIZZLES
from tests.atoms.test_mma_ops import DTYPES as DTYPES
from tests.places import Place

N, K, P, W = cl.dims("N K P W")
A = TypeVar("A", bound=Any)
B = TypeVar("B", bound=Any)
D = TypeVar("D", bound=Any)


@dataclass(frozen=True)
class How:
    """The tiles of one product: layouts, swizzles and what `mma_async` is told; `k` is that of B."""

    n: int
    k: int
    a: Any
    b: Any
    swizzle_a: str = "128B"
    swizzle_b: str = "128B"
    accumulate: bool = True
    registers: bool = False
    negate_a: bool = False
    negate_b: bool = False
    saturate: bool = False
    words: int = 0
    """Of metadata, for each thread."""


def k_major(rows: int, k: int, swizzle: str, size: int) -> Layout:
    """Rows of one span each, and as many such blocks side by side as K needs, as TMA boxes would fill them."""
    if swizzle == "none":
        chunk = 16 // size
        return Layout(((8, rows // 8), (chunk, k // chunk)), ((chunk, 8 * chunk), (1, rows * chunk)))
    span = int(swizzle[:-1]) // size
    return Layout((rows, (span, k // span)), (span, (1, rows * span)))


def mn_major(rows: int, k: int, swizzle: str) -> Layout:
    """16-bit elements, contiguous along the rows."""
    if swizzle == "none":
        return Layout(((8, rows // 8), (8, k // 8)), ((1, 64), (8, rows * 8)))
    span = int(swizzle[:-1]) // 2
    return Layout(((span, rows // span), k), ((1, span * k), span))


def fill(tile: Any, source: Any, rows: Any, k: Any, first: Any = 0) -> None:
    """Copy rows of `k` elements, from `first` on, to a tile."""
    for i in range(cl.thread_idx.x, rows * k, 128):
        tile[i // k, i % k] = source[first + i // k, i % k]


def readable(tile: Any) -> Any:
    """f32 tiles are multiplied as tf32."""
    return tile.recast(cl.tf32) if tile.dtype == cl.f32 else tile


@cl.kernel(block=128)
def product(
    a: Tensor[A, (64, K)], b: Tensor[B, (N, P)], c: Tensor[D, (64, N)], d: Tensor[D, (64, N)], how: Constexpr[How],
    meta: Tensor[u32, (1, W, 128)] | None = None,
) -> None:  # fmt: skip
    k_a = how.k if meta is None else how.k // 2
    a_tile = cl.shared(a.dtype, how.a, swizzle=SWIZZLES[how.swizzle_a], align=1024)
    b_tile = cl.shared(b.dtype, how.b, swizzle=SWIZZLES[how.swizzle_b], align=1024)
    fill(a_tile, a, 64, k_a)
    fill(b_tile, b, how.n, how.k)
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()

    places = cl.wgmma.coordinates(how.n)
    acc = cl.wgmma.zeros_accumulator(how.n, c.dtype)
    for i, (row, column) in enumerate(places):
        acc = acc.put(i, c[row, column])
    left = readable(a_tile)
    if how.registers:
        places_a = cl.wgmma.operand_coordinates(left.dtype, k_a)
        held = cl.make_rmem_tensor(left.dtype, (len(places_a),))
        for i, (row, k) in enumerate(places_a):
            held[i] = left[row, k]
        left = held.load()
    words = None if meta is None else cl.local_tile(meta, (1, how.words, 1), (0, 0, cl.thread_idx.x)).load()
    acc = cl.wgmma.mma_async(
        left,
        readable(b_tile),
        acc,
        metadata=words,
        accumulate=how.accumulate,
        negate_a=how.negate_a,
        negate_b=how.negate_b,
        saturate=how.saturate,
    )
    cl.wgmma.commit_group()
    acc = cl.wgmma.wait_group(0, acc)
    for i, (row, column) in enumerate(places):
        d[row, column] = acc[i]


def integers(shape: tuple[int, int], name: str, seed: int, least: int = -4) -> Any:
    rng = np.random.default_rng(seed)
    return rng.integers(0 if name == "u8" else least, 5, shape).astype(DTYPES[name])


def check(place: Place, how: How, a: str, b: str, d: str, sparse: Callable[[Any], Any] | None = None) -> None:
    """`sparse`: A with zeros, its values and their metadata."""
    left, right = integers((64, how.k), a, 1), integers((how.n, how.k), b, 2)
    before = integers((64, how.n), d, 3)
    out = np.full((64, how.n), 99, DTYPES[d])
    if sparse is not None:
        left, values, words = sparse(left)
        place(product[1, 128], values, right, before, out, replace(how, words=words.shape[1]), words)
    else:
        place(product[1, 128], left, right, before, out, how)
    sign = -1.0 if how.negate_a != how.negate_b else 1.0
    expected = sign * (left.astype(np.float64) @ right.astype(np.float64).T)
    if how.accumulate:
        expected += before.astype(np.float64)
    assert (out.astype(np.float64) == expected).all()


@cl.kernel(block=128)
def undefined_at_first(a: Tensor[A, (64, 16)], b: Tensor[B, (N, 16)], d: Tensor[D, (64, N)], steps: i32) -> None:
    a_tile = cl.shared(a.dtype, k_major(64, 16, "32B", 2), swizzle=SWIZZLES["32B"], align=1024)
    b_tile = cl.shared(b.dtype, k_major(8, 16, "32B", 2), swizzle=SWIZZLES["32B"], align=1024)
    fill(a_tile, a, 64, 16)
    fill(b_tile, b, 8, 16)
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    acc = cl.wgmma.undefined(8, d.dtype)
    for step in range(steps):
        acc = cl.wgmma.mma_async(readable(a_tile), readable(b_tile), acc, accumulate=step > 0)
        cl.wgmma.commit_group()
        acc = cl.wgmma.wait_group(0, acc)
    for i, (row, column) in enumerate(cl.wgmma.coordinates(8)):
        d[row, column] = acc[i]


@pytest.mark.parametrize("d", ["f32", "f16"])
def test_an_undefined_accumulator_is_overwritten_by_the_first_product(place: Place, d: str) -> None:
    left, right = integers((64, 16), "f16", 1), integers((8, 16), "f16", 2)
    out = np.zeros((64, 8), DTYPES[d])
    place(undefined_at_first[1, 128], left, right, out, 3)
    assert (out.astype(np.float64) == 3 * (left.astype(np.float64) @ right.astype(np.float64).T)).all()
    undefined_at_first[1, 128](left, right, out, 0)
    assert np.isnan(out.astype(np.float64)).all()  # in the simulator


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_every_n(place: Place, n: int) -> None:
    check(place, How(n, 16, k_major(64, 16, "32B", 2), k_major(n, 16, "32B", 2), "32B", "32B"), "bf16", "bf16", "f32")


NAMES = ["none", "32B", "64B", "128B"]
PAIRS = [(a, NAMES[(i + shift) % 4]) for shift in (0, 1) for i, a in enumerate(NAMES)]
"""Operands know nothing of each other: each swizzle of each of them, alike and different."""


@pytest.mark.parametrize(("swizzle_a", "swizzle_b"), PAIRS)
@pytest.mark.parametrize("majors", ["KK", "KN", "MK", "MN"])
def test_majors_and_swizzles(place: Place, majors: str, swizzle_a: str, swizzle_b: str) -> None:
    n, k = 128, 64
    a = k_major(64, k, swizzle_a, 2) if majors[0] == "K" else mn_major(64, k, swizzle_a)
    b = k_major(n, k, swizzle_b, 2) if majors[1] == "K" else mn_major(n, k, swizzle_b)
    check(place, How(n, k, a, b, swizzle_a, swizzle_b), "f16", "f16", "f32")


@cl.kernel(block=128)
def in_parts(a: Tensor[bf16, (64, 64)], b: Tensor[bf16, (64, 64)], d: Tensor[f32, (2, 64, 64)]) -> None:
    """The product of the first quarter of K, and of all of it: the rest is started before the first part is read."""
    a_tile, b_tile = (cl.shared(bf16, k_major(64, 64, "128B", 2), swizzle=SWIZZLES["128B"], align=1024) for _ in "ab")
    fill(a_tile, a, 64, 64)
    fill(b_tile, b, 64, 64)
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    zeros = cl.wgmma.zeros_accumulator(64)
    first = cl.wgmma.mma_async(a_tile, b_tile, zeros, accumulate=False, steps=slice(0, 1))
    cl.wgmma.commit_group()
    whole = cl.wgmma.mma_async(a_tile, b_tile, zeros, accumulate=False, steps=slice(0, 3))
    whole = cl.wgmma.mma_async(a_tile, b_tile, whole, steps=slice(3, None), fenced=True)
    cl.wgmma.commit_group()
    first = cl.wgmma.wait_group(1, first)
    cl.wgmma.partition(d[0, None, None]).store(first)
    cl.wgmma.partition(d[1, None, None]).store(cl.wgmma.wait_group(0, whole))


def test_a_product_in_parts(place: Place) -> None:
    left, right = integers((64, 64), "bf16", 1), integers((64, 64), "bf16", 2)
    out = np.full((2, 64, 64), 99, np.float32)
    place(in_parts[1, 128], left, right, out)
    a, b = left.astype(np.float64), right.astype(np.float64)
    assert (out[0] == a[:, :16] @ b[:, :16].T).all()
    assert (out[1] == a @ b.T).all()


FORMS = [
    ("f16", "f16", "f32"),
    ("f16", "f16", "f16"),
    ("bf16", "bf16", "f32"),
    ("tf32", "tf32", "f32"),
    ("e4m3", "e4m3", "f32"),
    ("e4m3", "e5m2", "f16"),
    ("e5m2", "e4m3", "f32"),
    ("i8", "i8", "i32"),
    ("i8", "u8", "i32"),
    ("u8", "i8", "i32"),
]


@pytest.mark.parametrize("registers", [False, True], ids=["shared", "registers"])
@pytest.mark.parametrize(("a", "b", "d"), FORMS)
def test_types(place: Place, a: str, b: str, d: str, registers: bool) -> None:
    size = np.dtype(DTYPES[a]).itemsize
    k = 256 // size
    how = How(32, k, k_major(64, k, "128B", size), k_major(32, k, "128B", size), registers=registers)
    check(place, how, a, b, d)


SQUARE = How(64, 64, k_major(64, 64, "128B", 2), k_major(64, 64, "128B", 2))


@pytest.mark.parametrize(
    "variant",
    [{"accumulate": False}, {"negate_a": True}, {"negate_b": True}, {"negate_a": True, "negate_b": True}],
    ids=str,
)
def test_variants(place: Place, variant: dict[str, bool]) -> None:
    check(place, replace(SQUARE, **variant), "bf16", "bf16", "f32")  # type: ignore[arg-type]


def test_the_low_bits_of_tf32_do_not_count(place: Place) -> None:
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal((64, 32), np.float32) for _ in range(2))
    out = np.zeros((64, 64), np.float32)
    how = How(64, 32, k_major(64, 32, "128B", 4), k_major(64, 32, "128B", 4), accumulate=False)
    place(product[1, 128], left, right, out, out, how)
    cut_left, cut_right = ((x.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float64) for x in (left, right))
    np.testing.assert_allclose(out, cut_left @ cut_right.T, rtol=1e-5, atol=1e-5)
    assert np.abs(out - left @ right.T).max() > 1e-4


@pytest.mark.parametrize("saturate", [False, True])
def test_integers_wrap_or_saturate(place: Place, saturate: bool) -> None:
    left, right = np.full((64, 32), 127, np.int8), np.full((8, 32), 127, np.int8)
    before, out = np.full((64, 8), 2**31 - 1000, np.int32), np.zeros((64, 8), np.int32)
    how = How(8, 32, k_major(64, 32, "32B", 1), k_major(8, 32, "32B", 1), "32B", "32B", saturate=saturate)
    place(product[1, 128], left, right, before, out, how)
    exact = 2**31 - 1000 + 32 * 127 * 127
    assert (out == (2**31 - 1 if saturate else exact - 2**32)).all()


@cl.kernel(block=256)
def chained(a: Tensor[bf16, (4, 128, 64)], b: Tensor[bf16, (4, 64, 64)], c: Tensor[f32, (128, 64)], steps: i32) -> None:
    """Two warpgroups, each with its 64 rows; one group of products always under way while the next is issued."""
    a_tile = cl.shared(bf16, (4, 128, 64), swizzle=SWIZZLES["128B"])
    b_tile = cl.shared(bf16, (4, 64, 64), swizzle=SWIZZLES["128B"])
    for i in range(cl.thread_idx.x, 4 * 128 * 64, 256):
        a_tile[i // 8192, i // 64 % 128, i % 64] = a[i // 8192, i // 64 % 128, i % 64]
    for i in range(cl.thread_idx.x, 4 * 64 * 64, 256):
        b_tile[i // 4096, i // 64 % 64, i % 64] = b[i // 4096, i // 64 % 64, i % 64]
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    half = cl.thread_idx.x // 128
    acc = cl.wgmma.zeros_accumulator(64)
    for s in range(steps):
        rows = a_tile[s, None, None].tile((64, 64), (half, 0))
        acc = cl.wgmma.mma_async(rows, b_tile[s, None, None], acc)
        cl.wgmma.commit_group()
        acc = cl.wgmma.wait_group(1, keep=acc)
    acc = cl.wgmma.wait_group(0, acc)
    cl.wgmma.partition(c.tile((64, 64), (half, 0))).store(acc)


@pytest.mark.parametrize("steps", [4, 0])
def test_an_accumulator_stays_in_flight_around_a_loop(scheduled: Place, steps: int) -> None:
    left, right = integers((4 * 128, 64), "bf16", 1), integers((4 * 64, 64), "bf16", 2)
    left, right = left.reshape(4, 128, 64), right.reshape(4, 64, 64)
    out = np.full((128, 64), np.nan, np.float32)
    scheduled(chained[1, 256], left, right, out, steps)
    left, right = (x[:steps].astype(np.float64) for x in (left, right))
    assert (out == np.einsum("smk,snk->mn", left, right)).all()


@cl.kernel(block=128)
def beside(a: Tensor[bf16, (64, 16)], b: Tensor[bf16, (8, 16)], d: Tensor[f32, (2, 64, 8)], steps: i32) -> None:
    a_tile, b_tile = (cl.shared(bf16, k_major(rows, 16, "32B", 2), swizzle=SWIZZLES["32B"]) for rows in (64, 8))
    fill(a_tile, a, 64, 16)
    fill(b_tile, b, 8, 16)
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    first = cl.wgmma.mma_async(a_tile, b_tile, cl.wgmma.zeros_accumulator(8))
    other = cl.wgmma.zeros_accumulator(8)
    for _ in range(steps):
        other = cl.wgmma.mma_async(a_tile, b_tile, other)
    cl.wgmma.commit_group()
    first, other = cl.wgmma.wait_group(0, first, other)
    cl.wgmma.partition(d[0, None, None]).store(first)
    cl.wgmma.partition(d[1, None, None]).store(other)


def test_an_accumulator_stays_in_flight_over_many_products(place: Place) -> None:
    a, b, steps = integers((64, 16), "bf16", 1), integers((8, 16), "bf16", 2), 300
    d = np.zeros((2, 64, 8), np.float32)
    place(beside[1, 128], a, b, d, steps)
    once = a.astype(float) @ b.astype(float).T
    np.testing.assert_array_equal(d, [once, steps * once])


@cl.kernel(block=128)
def overwritten(
    a: Tensor[f16, (4, 64, 16)], b: Tensor[f16, (4, 64, 16)], c: Tensor[f16, (64, 64)], which: Tensor[i32, (N,)]
) -> None:
    """Each step overwrites the accumulator of the one before, which may still be in flight."""
    a_tile, b_tile = (cl.shared(f16, (4, 64, 16), swizzle=SWIZZLES["32B"]) for _ in "ab")
    for i in range(cl.thread_idx.x, 4 * 64 * 16, 128):
        a_tile[i // 1024, i // 16 % 64, i % 16] = a[i // 1024, i // 16 % 64, i % 16]
        b_tile[i // 1024, i // 16 % 64, i % 16] = b[i // 1024, i // 16 % 64, i % 16]
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    acc = cl.wgmma.zeros_accumulator(64, f16)
    for step in range(which.shape[0]):
        s = which[step]  # addresses and numbers for which ptxas would take the accumulator's registers
        acc = cl.wgmma.mma_async(a_tile[s, None, None], b_tile[s, None, None], acc, accumulate=False)
        cl.wgmma.commit_group()
    acc = cl.wgmma.wait_group(0, acc)
    cl.wgmma.partition(c).store(acc)


def test_an_accumulator_in_flight_is_overwritten(place: Place) -> None:
    left, right = (integers((256, 16), "f16", seed).reshape(4, 64, 16) for seed in (1, 2))
    out = np.full((64, 64), np.nan, np.float16)
    place(overwritten[1, 128], left, right, out, np.array([1, 3, 0, 2, 3, 1], np.int32))
    assert (out == left[1].astype(np.float64) @ right[1].astype(np.float64).T).all()


@cl.kernel(block=128)
def attention_like(q: Tensor[bf16, (64, 64)], k: Tensor[bf16, (64, 64)], o: Tensor[f32, (64, 64)]) -> None:
    """Scores straight back into the next product as its A, with K in both majors."""
    q_tile = cl.shared(bf16, (64, 64), swizzle=SWIZZLES["128B"])
    k_tile = cl.shared(bf16, (64, 64), swizzle=SWIZZLES["128B"])
    fill(q_tile, q, 64, 64)
    fill(k_tile, k, 64, 64)
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    scores = cl.wgmma.mma_async(q_tile, k_tile, cl.wgmma.zeros_accumulator(64), accumulate=False)
    cl.wgmma.commit_group()
    scores = cl.wgmma.wait_group(0, scores)
    weights = scores.to(bf16)
    transposed = k_tile.view(Layout((64, 64), (1, 64)))
    out = cl.wgmma.mma_async(weights, transposed, cl.wgmma.zeros_accumulator(64))
    cl.wgmma.commit_group()
    out = cl.wgmma.wait_group(0, out)
    cl.wgmma.partition(o).store(out)


def test_an_accumulator_becomes_an_operand(scheduled: Place) -> None:
    q, k = integers((64, 64), "bf16", 1, least=-1), integers((64, 64), "bf16", 2, least=-1)
    q, k = np.minimum(q, 1), np.minimum(k, 1)
    out = np.full((64, 64), np.nan, np.float32)
    scheduled(attention_like[1, 128], q, k, out)
    q64, k64 = q.astype(np.float64), k.astype(np.float64)
    assert (out == (q64 @ k64.T) @ k64).all()


@cl.kernel(block=128)
def rowwise(
    a: Tensor[bf16, (64, 64)], b: Tensor[bf16, (32, 64)], row_max: Tensor[f32, (64,)], o: Tensor[f32, (64, 32)]
) -> None:
    """Products below the diagonal, less the greatest of their row, times the sum of their row."""
    a_tile = cl.shared(bf16, (64, 64), swizzle=SWIZZLES["128B"])
    b_tile = cl.shared(bf16, (32, 64), swizzle=SWIZZLES["128B"])
    fill(a_tile, a, 64, 64)
    fill(b_tile, b, 32, 64)
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    acc = cl.wgmma.mma_async(a_tile, b_tile, cl.wgmma.zeros_accumulator(32), accumulate=False)
    cl.wgmma.commit_group()
    acc = cl.wgmma.wait_group(0, acc)
    rows, columns = cl.wgmma.coordinate_vectors(32)
    acc = cl.where(rows >= columns + 4, cl.wgmma.by_rows(acc), -100.0).reshape((16,))
    top = cl.wgmma.row_reduce(acc, "max")
    acc = (cl.wgmma.by_rows(acc) - top.reshape((1, 2, 1))).reshape((16,))
    acc = cl.wgmma.scale_rows(acc, cl.wgmma.row_reduce(acc, "sum"))
    for i in cl.static_range(2):
        row_max[rows[0, i, 0]] = top[i]
    cl.wgmma.partition(o).store(acc)


def test_rows_of_an_accumulator(place: Place) -> None:
    a, b = integers((64, 64), "bf16", 1), integers((32, 64), "bf16", 2)
    top, out = np.full(64, np.nan, np.float32), np.full((64, 32), np.nan, np.float32)
    place(rowwise[1, 128], a, b, top, out)
    scores = a.astype(np.float64) @ b.astype(np.float64).T
    scores = np.where(np.arange(64)[:, None] >= np.arange(32) + 4, scores, -100)
    assert (top == scores.max(1)).all()
    rest = scores - scores.max(1, keepdims=True)
    assert (out == rest * rest.sum(1, keepdims=True)).all()


@cl.kernel(block=256)
def stored(
    values: Tensor[A, (2, 64, N)], out: Tensor[B, (2, 64, N)], n: Constexpr[int], layout: Constexpr[Any],
    swizzle: Constexpr[Any],
) -> None:  # fmt: skip
    """Two warpgroups write a tile each, and all threads copy both out."""
    tiles = cl.shared(out.dtype, layout, swizzle=swizzle, align=1024)
    group, thread = cl.thread_idx.x // 128, cl.thread_idx.x % 128
    held = cl.wgmma.partition(cl.local_tile(values[group, None, None], (64, n), (0, 0))).load()
    cl.wgmma.store(tiles[group, None, None], held.to(out.dtype))
    cl.syncthreads()
    for i in range(thread, 64 * n, 128):
        out[group, i % 64, i // 64] = tiles[group, i % 64, i // 64]


BOXES = Layout((2, 64, (64, 2)), (8192, 64, (1, 4096)))


@pytest.mark.parametrize(
    ("dtype", "n", "layout", "swizzle", "matrices"),
    [
        (bf16, 128, BOXES, "128B", 8),
        (f16, 48, Layout((2, 64, 48), (3072, 48, 1)), "none", 3),
        (f16, 32, Layout((2, 64, 32), (2560, 40, 1)), "none", 2),  # rows of 80 bytes
        (f16, 32, Layout((2, 64, (8, 4)), (2048, 8, (1, 512))), "none", 2),
        (f16, 32, Layout((2, 64, 32), (2052, 32, 1)), "none", 0),  # no row is known to begin at 16 bytes
        (f16, 32, Layout((2, 64, 32), (2304, 36, 1)), "none", 0),
        (f16, 32, Layout((2, 64, 32), (2048, 1, 64)), "none", 0),  # contiguous along columns
        (f16, 24, Layout((2, 64, 24), (1536, 24, 1)), "none", 0),  # three groups of eight columns
        (f32, 32, Layout((2, 64, 32), (2048, 32, 1)), "128B", 0),
    ],
)
def test_accumulators_written_to_shared_memory(
    place: Place, dtype: Any, n: int, layout: Any, swizzle: str, matrices: int
) -> None:
    """By stmatrix where it writes the tile; the race detector looks at what the threads write for each other."""
    values = np.arange(2 * 64 * n, dtype=np.float32).reshape(2, 64, n) % 251
    out = np.zeros((2, 64, n), DTYPES[dtype.name])
    given = n, layout, SWIZZLES[swizzle]
    place(stored[1, 256], values, out, *given)
    assert (out.astype(np.float32) == values).all()
    assert str(stored.compile(values, out, *given).build.final).count("stmatrix ") == matrices


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("cl.wgmma.by_rows(acc)", "a readable accumulator is needed here, not an accumulator in flight"),
        ("cl.wgmma.scale_rows(cl.wgmma.zeros_accumulator(8), cl.full((3,), 1.0, cl.f32))", "two factors are needed"),
        ("cl.wgmma.row_reduce(cl.wgmma.zeros_accumulator(8), 'mean')", "'mean' is none of sum"),
    ],
)
def test_what_rows_are_not_asked_for(line: str, text: str) -> None:
    space: dict[str, Any] = {"cl": cl}
    source = f"""
def kernel():
    tile = cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (64, 64)))
    acc = cl.wgmma.mma_async(tile, tile, cl.wgmma.zeros_accumulator(64))
    {line}
"""
    exec(source, space)
    with pytest.raises(CompileError, match=text):
        cl.kernel(block=128)(space["kernel"]).compile()
