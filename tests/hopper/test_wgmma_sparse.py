"""Sparse wgmma: compressed operands and their metadata, and products of them against NumPy."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Tensor, u32
from cutelite.ir.types import SCALARS
from cutelite.ops.swizzles import SWIZZLES
from cutelite.ops.wgmma_layouts import THREADS, M, k_of
from cutelite.ops.wgmma_sparse import (
    GROUPS,
    compress_sparse,
    expanded,
    group_of,
    group_table,
    group_words,
    metadata_layout,
    steps_of_word,
)
from cutelite.sim import SimError
from tests.hopper import test_wgmma
from tests.hopper.test_wgmma import DTYPES, FORMS, How, integers, k_major, mn_major, product
from tests.places import Place

TYPES = ["f16", "bf16", "tf32", "e4m3", "e5m2", "i8", "u8"]


def halved(a: Any, name: str, seed: int = 0) -> Any:
    """`a` with half of every group set to zero, which half at random."""
    group = group_of(SCALARS[name])
    order = np.random.default_rng(seed).random((a.shape[0], a.shape[1] // group, group)).argsort(axis=2)
    return np.where(order.reshape(a.shape) < group // 2, a, np.zeros((), a.dtype))


@pytest.mark.parametrize("name", TYPES)
def test_metadata_layouts_are_bijections(name: str) -> None:
    layout = metadata_layout(SCALARS[name])
    image = [layout(t, v) for t in range(THREADS) for v in range(8)]
    assert sorted(image) == list(range(M * GROUPS))


def test_metadata_is_where_the_isa_has_it() -> None:
    """PTX ISA, figures of the metadata: f16 with selector 0, tf32 likewise, and 8 bits."""
    half, byte = metadata_layout(SCALARS["f16"]), metadata_layout(SCALARS["i8"])
    assert [half(4 * 3 + 1, v) for v in (0, 3, 4, 7)] == [3 + 64 * 4, 3 + 64 * 7, 11 + 64 * 4, 11 + 64 * 7]
    assert [half(32 + t, 0) for t in (0, 1, 2, 3, 4)] == [16 + 64 * g for g in (0, 4, 8, 12)] + [17]
    assert [byte(t, 0) for t in (0, 1, 2, 3, 4, 32)] == [0, 8, 64 * 8, 8 + 64 * 8, 1, 16]
    assert byte(0, 7) == 64 * 7


@pytest.mark.parametrize("name", TYPES)
def test_what_is_compressed_expands_again(name: str) -> None:
    elem = SCALARS[name]
    k = 3 * k_of(elem, sparse=True)
    a = halved(integers((128, k), name, 1), name)
    values, words = compress_sparse(a, elem)
    per = steps_of_word(elem)
    assert values.shape == (128, k // 2)
    assert words.shape == (2, -(-3 // per), 128)
    assert words.dtype == np.uint32
    columns, packed = GROUPS // per, k_of(elem)
    for tile in range(2):
        for step in range(3):
            table = group_table(words[tile, step // per], elem)
            assert (group_words(table, elem) == words[tile, step // per]).all()
            table = table[:, step % per * columns :][:, :columns]
            part = values[64 * tile :][:64, step * packed :][:, :packed]
            whole = a[64 * tile :][:64, step * 2 * packed :][:, : 2 * packed]
            np.testing.assert_array_equal(expanded(part, table, elem), whole)


def test_what_cannot_be_compressed() -> None:
    a = np.zeros((64, 32), np.float16)
    a[5, 9:12] = 1
    with pytest.raises(ValueError, match=r"row 5, columns 8 to 11: .* more than 2 in 4"):
        compress_sparse(a, SCALARS["f16"])
    with pytest.raises(ValueError, match=r"takes \(64 m, 32 k\) elements of f16, not \(64, 16\)"):
        compress_sparse(a[:, :16], SCALARS["f16"])
    b = np.ones((64, 16), np.float32)
    with pytest.raises(ValueError, match="more than 1 in 2"):
        compress_sparse(b, SCALARS["tf32"])


def check(place: Place, how: How, a: str, b: str, d: str) -> None:
    def sparse(left: Any) -> Any:
        left = halved(left, a)
        return left, *compress_sparse(left, SCALARS[a])

    test_wgmma.check(place, how, a, b, d, sparse)


@pytest.mark.parametrize("registers", [False, True], ids=["shared", "registers"])
@pytest.mark.parametrize(("a", "b", "d"), FORMS)
def test_types(place: Place, a: str, b: str, d: str, registers: bool) -> None:
    """Several steps, so that both selectors and several words are needed; an odd number of them."""
    size = np.dtype(DTYPES[a]).itemsize
    k = 384 // size
    how = How(32, k, k_major(64, k // 2, "64B", size), k_major(32, k, "128B", size), "64B", registers=registers)
    check(place, how, a, b, d)


@pytest.mark.parametrize("n", range(8, 257, 8))
def test_every_n(place: Place, n: int) -> None:
    check(place, How(n, 32, k_major(64, 16, "32B", 2), k_major(n, 32, "64B", 2), "32B", "64B"), "bf16", "bf16", "f32")


@pytest.mark.parametrize("swizzle_b", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("swizzle_a", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("majors", ["KK", "KN", "MK", "MN"])
def test_majors_and_swizzles(place: Place, majors: str, swizzle_a: str, swizzle_b: str) -> None:
    if majors[1] == "K" and swizzle_b == "32B":
        pytest.skip("64 bytes of K do not lie together under this swizzle: refused, see below")
    n, k = 128, 128
    a = k_major(64, k // 2, swizzle_a, 2) if majors[0] == "K" else mn_major(64, k // 2, swizzle_a)
    b = k_major(n, k, swizzle_b, 2) if majors[1] == "K" else mn_major(n, k, swizzle_b)
    check(place, How(n, k, a, b, swizzle_a, swizzle_b), "f16", "f16", "f32")


def test_negated(place: Place) -> None:
    how = How(64, 64, k_major(64, 32, "64B", 2), k_major(64, 64, "128B", 2), "64B", negate_a=True)
    check(place, how, "bf16", "bf16", "f32")


@pytest.mark.parametrize("source", ["smem", "rmem"])
def test_a_tiled_product(place: Place, source: Any) -> None:
    """Two warpgroups, two rows of atoms each, several tiles of K through the same buffers."""
    op = cl.WarpgroupMmaOp(cl.bf16, cl.f32, 64, a_source=source, sparse=True)
    mma = cl.make_tiled_mma(op, (2, 1, 1))
    m, n, k, bk = 256, 64, 256, 64

    @cl.kernel(block=256)
    def kernel(
        a: Tensor[cl.bf16, (m, k // 2)],
        e: Tensor[u32, (m // 64, k // bk, 128)],
        b: Tensor[cl.bf16, (n, k)],
        c: Tensor[cl.f32, (m, n)],
    ) -> None:
        t = cl.thread_idx.x
        mine = mma.get_slice(t)
        sa = cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (m, bk // 2)))
        sb = cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (n, bk)))
        part = mine.partition_E(e)
        words = mma.make_fragment_E(cl.local_tile(part, (1, 2, 1), (0, 0, 0)))
        acc = mma.make_fragment_C(mine.partition_C(c))
        for step in cl.static_range(k // bk):
            source_a, source_b = cl.local_tile(a, (m, bk // 2), (0, step)), cl.local_tile(b, (n, bk), (0, step))
            for tile, target in ((source_a, sa), (source_b, sb)):
                for i in range(t, tile.size, 256):
                    target[i] = tile[i]
            cl.copy(cl.local_tile(part, (1, 2, 1), (0, 0, step)), words)
            cl.fence_proxy_async()
            cl.syncthreads()
            part_a = mine.partition_A(sa)
            left = mma.make_fragment_A(part_a)
            if source == "rmem":
                cl.copy(part_a, left)
            acc = cl.gemm(mma, acc, left, mine.partition_B(sb), metadata=words).wait()
            cl.syncthreads()
        mine.partition_C(c).store(acc.load())

    left, right = halved(integers((m, k), "bf16", 3), "bf16"), integers((n, k), "bf16", 4)
    out = np.full((m, n), np.nan, np.float32)
    place(kernel[1, 256], *cl.wgmma.compress_sparse(left, cl.bf16), right, out)
    np.testing.assert_array_equal(out, left.astype(np.float64) @ right.astype(np.float64).T)


def test_metadata_that_names_no_elements() -> None:
    how = How(8, 32, k_major(64, 16, "32B", 2), k_major(8, 32, "64B", 2), "32B", "64B")
    arrays = [np.zeros(shape, np.float16) for shape in ((64, 16), (8, 32), (64, 8), (64, 8))]
    with pytest.raises(SimError, match="metadata of row 0, group 0 of step 0 is 0b0000: it names no elements in order"):
        product[1, 128](*arrays, replace(how, words=1), np.zeros((1, 1, 128), np.uint32))


def refused(body: Any) -> str:
    @cl.kernel(block=128)
    def kernel(out: Tensor[cl.f32, (64, 64)]) -> None:
        body()

    with pytest.raises(CompileError) as caught:
        kernel.compile(arch="sm_90a")
    return str(caught.value)


def tiles(k_a: int, k_b: int) -> tuple[Any, Any, Any]:
    a, b = (cl.shared(cl.f16, cl.make_smem_layout(cl.f16, (64, k))) for k in (k_a, k_b))
    return a, b, cl.wgmma.zeros_accumulator(64)


def test_refusals() -> None:
    dense = cl.make_tiled_mma(cl.WarpgroupMmaOp(cl.f16, cl.f32, 64))
    sparse = cl.make_tiled_mma(cl.WarpgroupMmaOp(cl.f16, cl.f32, 64, sparse=True))

    def as_wide_as_b() -> None:
        cl.wgmma.mma_async(*tiles(64, 64), metadata=cl.u32(0x44444444))

    def too_few_words() -> None:
        cl.wgmma.mma_async(*tiles(64, 128), metadata=cl.u32(0x44444444))

    def no_words() -> None:
        cl.wgmma.mma_async(*tiles(32, 64), metadata=cl.f32(1.0))

    def narrow_b() -> None:
        a, _, acc = tiles(32, 64)
        b = cl.shared(cl.f16, k_major(64, 64, "32B", 2), swizzle=SWIZZLES["32B"])
        cl.wgmma.mma_async(a, b, acc, metadata=cl.u32(0x44444444))

    def unasked() -> None:
        a, b, _ = tiles(64, 64)
        mine = dense.get_slice(0)
        acc = dense.make_fragment_C(dense.partition_shape_C((64, 64)))
        cl.gemm(dense, acc, mine.partition_A(a), mine.partition_B(b), metadata=cl.make_rmem_tensor(u32, (1, 1, 1)))

    def missing() -> None:
        a, b, _ = tiles(32, 64)
        mine = sparse.get_slice(0)
        cl.gemm(sparse, sparse.make_fragment_C((32, 1, 1)), mine.partition_A(a), mine.partition_B(b))

    def of_another_shape() -> None:
        a, b, _ = tiles(32, 64)
        mine, words = sparse.get_slice(0), cl.make_rmem_tensor(u32, (1, 1, 2))
        words.fill(cl.u32(0x44444444))
        acc = sparse.make_fragment_C((32, 1, 1))
        cl.gemm(sparse, acc, mine.partition_A(a), mine.partition_B(b), metadata=words)

    for body, text in (
        (as_wide_as_b, "A has 64 rows of 64, and B is ((8, 8), (64, 1)): A must be (64, 32)"),
        (too_few_words, "must be vec<u32,2> for 4 steps of f16"),
        (no_words, "metadata is one or several u32, not"),
        (narrow_b, "wgmma looks for it at"),
        (unasked, "is not sparse: it takes no metadata"),
        (missing, "a sparse A needs `metadata=`"),
        (of_another_shape, "not (1, 1, 1): A repeats 1 times along M and 2 along K"),
    ):
        told = refused(body)
        assert text in told
        assert "test_wgmma_sparse.py" in told
