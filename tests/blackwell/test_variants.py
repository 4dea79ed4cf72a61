"""Variants of products: a sparse A, numbers of 4 and 6 bits, sums that are divided, rows that are shifted."""

import builtins
import math
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, SimError, Tensor, f32, u8
from cutelite.lang import tcgen05 as words
from cutelite.ops import narrow
from cutelite.ops.swizzles import SWIZZLES
from cutelite.ops.tcgen05_layouts import InstructionDescriptor, ScaledDescriptor, metadata_cells, metadata_layout
from tests.blackwell.pieces import finished, integers, product, write
from tests.hopper.test_wgmma import DTYPES, fill, k_major
from tests.pieces import barriers

A = TypeVar("A", bound=Any)
B = TypeVar("B", bound=Any)
D = TypeVar("D", bound=Any)
FORMATS = {"e2m1": cl.e2m1, "e2m3": cl.e2m3, "e3m2": cl.e3m2}


def halved(elem: str, rows: int, k: int) -> Any:
    """Whole numbers, half of each group of which are zero: of 4, or of 2 of 32 bits."""
    a = integers(elem, rows, k, seed=3)
    group = 2 if a.dtype.itemsize == 4 else 4
    places = np.argsort(np.random.default_rng(4).random((rows, k // group, group)), axis=-1)
    np.put_along_axis(a.reshape(rows, -1, group), places[..., : group // 2], a.dtype.type(0), axis=-1)
    return a


@pytest.mark.parametrize(
    ("rows", "elem", "to", "k", "how"),
    [
        (128, "f16", "f32", 128, {}),
        (128, "bf16", "f32", 128, {"in_tmem": True}),
        (128, "f16", "f16", 128, {"scale_d": 1}),
        (128, "tf32", "f32", 64, {}),
        (128, "e4m3", "f32", 128, {}),
        (128, "i8", "i32", 256, {"in_tmem": True}),
        (64, "f16", "f32", 128, {}),
        (64, "e4m3", "f32", 128, {"in_tmem": True}),
    ],
)
@pytest.mark.usefixtures("on_cards")
def test_a_sparse_a_stands_for_zeros_too(rows: int, elem: str, to: str, k: int, how: dict[str, Any]) -> None:
    held = "f32" if elem == "tf32" else elem
    a, b, c = halved(held, rows, k), integers(held, 16, k, seed=1), np.zeros((rows, 16), DTYPES[to])
    kept, metadata = words.compress(a, getattr(cl, held))
    kernel = product(rows, 16, k, elem, to, {"swizzle": "32B", "extent": k // 2, **how}, metadata.shape[1])
    kernel[1, 128](kept, b, c, metadata)
    times = 1 + 0.5 ** how.get("scale_d", 0)
    np.testing.assert_array_equal(c.astype(np.float64), times * (a.astype(np.float64) @ b.astype(np.float64).T))
    if elem == "e4m3":
        report = kernel.check(1, 128, kept, b, c, metadata, seeds=4, notes=False)
        assert not report.findings, str(report)


@pytest.mark.usefixtures("on_cards")
def test_a_pair_of_blocks_with_64_rows_each_takes_a_sparse_a() -> None:
    """The sums lie as those of 64 rows of one block do, in the first lanes of each warp."""
    k, n, e4m3 = 128, 32, cl.e4m3

    @cl.kernel(block=128, cluster=2, arch="sm_100a")
    def kernel(
        a: Tensor[cl.e4m3, (128, k // 2)], b: Tensor[cl.e4m3, (n, k)], kept: Tensor[u8, (128, 16)],
        c: Tensor[f32, (128, n)],
    ) -> None:  # fmt: skip
        left = cl.shared(e4m3, cl.make_smem_layout(e4m3, (64, k // 2)))
        right = cl.shared(e4m3, cl.make_smem_layout(e4m3, (n // 2, k)))
        of_smem = cl.shared(u8, cl.tcgen05.metadata_in_smem(e4m3, k), align=128)
        done, t, rank = barriers(1), cl.thread_idx.x, cl.block_rank_in_cluster()
        for i in range(t, 64 * k // 2, 128):
            left[i // 64, i % 64] = a[rank * 64 + i // 64, i % 64]
        fill(right, b, n // 2, k, rank * (n // 2))
        for i in cl.static_range(16):
            of_smem[t, i] = kept[rank * 64 + t // 32 * 16 + t % 16, i]
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(64, cta_group=2)
        acc = tmem.tensor(64, n, sparse=True)
        metadata = tmem.view(cl.tcgen05.metadata(e4m3, k, 64), u8, n)
        if t == 0 and rank == 0:
            cl.tcgen05.copy_metadata(metadata, of_smem, e4m3, 2)
            cl.tcgen05.mma(acc, left, right, accumulate=False, metadata=metadata, cta_group=2)
            cl.tcgen05.commit(done[0], 3, cta_group=2)
        finished(done)
        part = cl.tcgen05.wait_load(cl.tcgen05.load(acc, "16x256b"))
        for j in cl.static_range(n // 8):
            for i in cl.static_range(4):
                row = rank * 64 + t // 32 * 16 + t % 32 // 4 + i // 2 * 8
                c[row, 8 * j + t % 4 * 2 + i % 2] = part[4 * j + i]
        tmem.free()

    a, b, c = halved("e4m3", 128, k), integers("e4m3", n, k, seed=1), np.zeros((128, n), np.float32)
    kept, metadata = words.compress(a, cl.e4m3)
    kernel[2, 128](kept, b, metadata, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
    assert not kernel.check(2, 128, kept, b, metadata, c, seeds=3, notes=False).findings


def test_metadata_that_name_no_two_elements_are_reported() -> None:
    a, b, c = halved("e4m3", 128, 128), integers("e4m3", 16, 128), np.zeros((128, 16), np.float32)
    kept, metadata = words.compress(a, cl.e4m3)
    metadata[5, 1] = 0
    with pytest.raises(SimError, match="metadata of row 5 has no valid group"):
        product(128, 16, 128, "e4m3", "f32", {"swizzle": "32B", "extent": 64}, 16)[1, 128](kept, b, c, metadata)


def test_what_cannot_be_compressed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"row 0, columns 0 to 3: .* has more than 2 in 4 that are not zero"):
        words.compress(np.ones((128, 32), np.float16), cl.f16)
    with pytest.raises(ValueError, match=r"compress takes \(rows, 32 k\) elements of f16"):
        words.compress(np.ones((128, 40), np.float16), cl.f16)
    for layout in (words.metadata, words.metadata_in_smem):
        with pytest.raises(CompileError, match="multiple of 64 bytes along K"):
            layout(cl.f16, 24)
    with pytest.raises(CompileError, match="copies take those of 128"):
        words.metadata_in_smem(cl.f16, 64)


def test_metadata_lie_in_the_cells_of_the_figures() -> None:
    """Row and byte to lane, column and byte of that; what is known of rows holds for the copies of `ws` too."""
    wide, narrow = cl.f16, cl.e4m3
    cases: list[tuple[Any, int, int, dict[Any, Any]]] = [
        (wide, 128, 1, {(0, 1): (0, 0, 1), (0, 2): (8, 0, 0), (8, 0): (0, 0, 2), (127, 3): (127, 0, 3)}),
        (wide, 64, 1, {(8, 2): (8, 0, 2), (16, 0): (32, 0, 0), (63, 3): (111, 0, 3)}),
        (wide, 64, 2, {(16, 0): (16, 0, 0), (63, 3): (63, 0, 3)}),
        (narrow, 128, 1, {(5, 3): (5, 0, 3), (5, 7): (5, 1, 3), (127, 0): (127, 0, 0)}),
        (narrow, 64, 1, {(16, 4): (32, 1, 0), (63, 7): (111, 1, 3)}),
        (narrow, 32, 4, {(16, 4): (16, 1, 0), (31, 7): (31, 1, 3)}),
    ]  # fmt: skip
    for elem, rows, folds, known in cases:
        for fold in range(folds):
            table = metadata_cells(elem, rows, folds, fold) - (fold * rows, 0, 0)
            assert {at: tuple(table[at].tolist()) for at in known} == known, (elem, rows, folds)
        for row in range(64):  # the rows of `metadata_in_smem` that count
            of_all = metadata_layout(elem, 2)(row % 16 + row // 16 * 32, 1)
            assert metadata_layout(elem, 2, rows=64)(row, 1) == of_all


def packed(codes: Any, bits: int) -> Any:
    """Codes (rows, k) as u8: 16 of them in the first bits of 16 bytes, what is behind them is noise."""
    rows = len(codes)
    stream = codes.reshape(rows, -1, 16)[..., None] >> np.arange(bits) & 1
    octets = np.packbits(stream.reshape(rows, -1, 16 * bits).astype(np.uint8), axis=-1, bitorder="little")
    out = np.full((*octets.shape[:2], 16), 0xA5, np.uint8)
    out[..., : octets.shape[-1]] = octets
    return out.reshape(rows, -1)


@pytest.mark.parametrize(
    ("left", "right", "sparse", "in_tmem"),
    [("e2m1", "e3m2", False, False), ("e2m3", "e2m1", True, False), ("e2m1", "e2m3", False, True)],
)
@pytest.mark.usefixtures("on_cards")
def test_numbers_of_4_and_6_bits(left: str, right: str, sparse: bool, in_tmem: bool) -> None:
    draw, n, k = np.random.default_rng(7), 16, 128
    tables = [narrow.values(name) for name in (left, right)]
    extent = k // 2 if sparse else k
    codes = [draw.integers(0, len(t), shape) for t, shape in zip(tables, ((128, extent), (n, k)), strict=True)]
    tiles = [packed(c, 4 if len(t) == 16 else 6) for c, t in zip(codes, tables, strict=True)]
    wide, metadata = tables[0][codes[0]], None
    if sparse:
        kept, metadata = words.compress(halved("i8", 128, k), cl.i8)
        first, second = metadata & 15, metadata >> 4
        groups = np.stack([first, second], -1).reshape(128, -1)
        whole = np.zeros((128, k // 4, 4))
        where = np.stack([groups & 3, groups >> 2], -1).astype(np.int64)
        np.put_along_axis(whole, where, wide.reshape(128, -1, 2), axis=2)
        wide = whole.reshape(128, k)
        assert kept.shape == (128, extent)
    if in_tmem:  # a byte each
        tiles[0] = codes[0].astype(np.uint8)
    c = np.zeros((128, n), np.float32)
    how = {"swizzle": "32B", "extent": extent, "in_tmem": in_tmem}
    how |= {"format_a": FORMATS[left], "format_b": FORMATS[right]}
    product(128, n, k, "u8", "f32", how, 16)[1, 128](tiles[0], tiles[1], c, metadata)
    np.testing.assert_array_equal(c, (2 * wide @ tables[1][codes[1]].T).astype(np.float32))


@pytest.mark.parametrize("elem", ["tf32", "e2m3"])
@pytest.mark.usefixtures("on_cards")
def test_tiles_contiguous_along_the_rows(elem: str) -> None:
    """tf32 by the swizzle in units of 32 bytes, brought by TMA; 6 bits, 16 of them along the rows in 16 bytes."""
    m, k, narrow_of = 128, 64, FORMATS.get(elem)
    n = 128 if narrow_of else 64
    held: Any = u8 if narrow_of else f32
    swizzle: Any = "128B" if narrow_of else "128B_ATOM_32B"
    atom, span = cl.make_smem_layout_atom(held, "MN", swizzle), 128 // held.bytes
    how: dict[str, Any] = {"format_a": narrow_of, "format_b": narrow_of} if narrow_of else {}

    @cl.kernel(block=128, arch="sm_100a")
    def kernel(a: cl.TmaTensor[A, (k, m), (k, span), swizzle], b: Tensor[A, (k, n)], c: Tensor[f32, (m, n)]) -> None:
        left = cl.shared(held, cl.tile_to_shape(atom, (m, k), (1, 0)))
        right = cl.shared(held, cl.tile_to_shape(atom, (n, k), (1, 0)))
        done, full = barriers(1), barriers(1)
        t = cl.thread_idx.x
        if t == 0:
            full[0].arrive_expect_tx(a.tile_bytes * (m // span))
            boxes = left.view(cl.Layout((k, span, m // span), (span, 1, k * span)))
            for i in cl.static_range(m // span):
                cl.tma_load(a, boxes[None, None, i], at=(0, i * span), barrier=full[0])
        for i in range(t, n * k, 128):
            right[i % n, i // n] = b[i // n, i % n]
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(128)
        d = tmem.tensor(m, n)
        full[0].wait(0)
        if not narrow_of:
            left, right = left.recast(cl.tf32), right.recast(cl.tf32)
        if t == 0:
            cl.tcgen05.mma(d, left, right, accumulate=False, **how)
            cl.tcgen05.commit(done[0])
        finished(done)
        write(c, d)
        tmem.free()

    draw, c = np.random.default_rng(11), np.zeros((m, n), np.float32)
    if narrow_of:
        codes = [draw.integers(0, 64, (k, extent)) for extent in (m, n)]
        tiles, wide = [packed(x, 6) for x in codes], [narrow.values(elem)[x] for x in codes]
    else:
        tiles = [draw.integers(-8, 9, (k, extent)).astype(np.float32) for extent in (m, n)]
        wide = [x.astype(np.float64) for x in tiles]
    kernel[1, 128](*tiles, c)
    np.testing.assert_array_equal(c, (wide[0].T @ wide[1]).astype(np.float32))


@pytest.mark.usefixtures("on_cards")
def test_sums_are_divided_and_rows_shifted() -> None:
    a, b, c = integers("bf16", 128, 32), integers("bf16", 16, 32, seed=1), np.zeros((128, 16), np.float32)
    once = a.astype(np.float32) @ b.astype(np.float32).T
    product(128, 16, 32, "bf16", "f32", {"swizzle": "32B", "scale_d": 3})[1, 128](a, b, c)
    np.testing.assert_array_equal(c, once / 8 + once)
    product(128, 16, 32, "bf16", "f32", {"swizzle": "32B", "in_tmem": True, "shift_a": True})[1, 128](a, b, c)
    np.testing.assert_array_equal(c, once + once[np.maximum(np.arange(128) - 1, 0)])


@pytest.mark.parametrize(("how", "message"), [
    ({"scale_d": 16}, "take 0 to 15"),
    ({"shift_a": True}, "needs A in tensor memory"),
    ({"format_a": cl.e2m1}, "does not multiply e2m1 times bf16"),
])  # fmt: skip
def test_variants_that_do_not_exist_are_refused(how: dict[str, Any], message: str) -> None:
    shapes = np.zeros((128, 32), ml_dtypes.bfloat16), np.zeros((16, 32), ml_dtypes.bfloat16)
    with pytest.raises(CompileError, match=message):
        product(128, 16, 32, "bf16", "f32", {"swizzle": "32B", **how}).compile(*shapes, np.zeros((128, 16), np.float32))


@pytest.mark.usefixtures("on_cards")
def test_lanes_are_shifted_and_narrow_numbers_unpacked_by_copies() -> None:
    """Rows of shared memory come to tensor memory, numbers of 4 and 6 bits as a byte each; then 32 lanes move down."""
    formats = {"e2m1": 4, "e3m2": 6}

    @cl.kernel(block=128, arch="sm_100a")
    def kernel(x: Tensor[u8, (2, 128, 32)], top: Tensor[u8, (4, 32)], out: Tensor[u8, (128, 128)]) -> None:
        tiles = [cl.shared(u8, k_major(128, 32, "none", 1), align=1024) for _ in range(2)]
        few = cl.shared(u8, k_major(8, 32, "none", 1), align=1024)
        done, t = barriers(1), cl.thread_idx.x
        for i in cl.static_range(32):
            for j in cl.static_range(2):
                tiles[j][t, i] = x[j, t, i]
            if t < 4:
                few[t, i] = top[t, i]
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(32)
        whole = tmem.tensor(128, 32, cl.u32)
        if t == 0:
            for j, kind in enumerate((cl.e2m1, cl.e3m2)):
                words_of = tiles[j].recast(cl.u32)
                cl.tcgen05.copy(whole.tile((128, 8), (0, j)), words_of, packed=kind)
                cl.tcgen05.copy(whole.tile((128, 8), (0, 2 + j)), words_of)
            cl.tcgen05.copy(whole.tile((128, 8), (0, 2)), few.recast(cl.u32), "4x256b")
            cl.tcgen05.shift(whole.tile((32, 8), (1, 3)))
            cl.tcgen05.commit(done[0])
        finished(done)
        mine = cl.tcgen05.wait_load(cl.tcgen05.load(whole))
        for i in cl.static_range(32):
            for j in cl.static_range(4):
                out[t, 4 * i + j] = cl.u8(mine[i] >> (8 * j) & 255)
        tmem.free()

    draw = np.random.default_rng(3)
    codes = [draw.integers(0, 1 << bits, (128, 32)) for bits in formats.values()]
    x = np.stack([packed(c, bits) for c, bits in zip(codes, formats.values(), strict=True)])
    top, out = draw.integers(0, 256, (4, 32), np.uint8), np.zeros((128, 128), np.uint8)
    kernel[1, 128](x, top, out)
    third, fourth = x[0].copy(), x[1].copy()
    third[:4] = top
    fourth[33:64] = x[1][32:63]
    np.testing.assert_array_equal(out, np.concatenate([*codes, third, fourth], axis=1))
    assert not kernel.check(1, 128, x, top, out, seeds=4, notes=False).findings


@pytest.mark.parametrize(("name", "code"), [("e4m3", 0), ("e5m2", 1), ("e2m3", 3), ("e3m2", 4), ("e2m1", 5)])
def test_narrow_types_have_their_codes(name: str, code: int) -> None:
    word = InstructionDescriptor("f8f6f4", name, "e4m3", 128, 64, d="f32")
    assert word.bits >> 7 & 7 == code and InstructionDescriptor.parse("f8f6f4", word.bits) == word
    scaled = ScaledDescriptor("mxf8f6f4", "e4m3", name, 128, 64, scale="ue8m0")
    assert scaled.bits >> 10 & 7 == code


def test_a_sparse_product_with_scales_says_so_in_bit_2() -> None:
    plain = ScaledDescriptor("mxf8f6f4", "e4m3", "e4m3", 128, 64, scale="ue8m0")
    sparse = ScaledDescriptor("mxf8f6f4", "e4m3", "e4m3", 128, 64, sparse=True, scale="ue8m0")
    assert plain.bits ^ sparse.bits == 1 << 2
    with pytest.raises(ValueError, match="`selector` is 1; kind::i8 has none but 0"):
        InstructionDescriptor("i8", "i8", "i8", 128, 64, sparse=True, selector=1, d="i32")


def stationary(m: int, n: int, rows: int, how: dict[str, Any]) -> Any:
    """A kernel of two products of (m, 32) and (n, 32) by .ws: the second one takes B from the buffer of the first."""
    more = {"zero_columns": how["zero_columns"], "max_shift": how.get("max_shift", 0)}
    second = how.get("second", "b1::lastuse")

    @cl.kernel(block=128, arch="sm_100a")
    def kernel(
        a: Tensor[cl.bf16, (m, 16)], b: Tensor[cl.bf16, (rows, 16)], c: Tensor[f32, (128, n * m // 128)]
    ) -> None:
        left = cl.shared(cl.bf16, k_major(m, 16, "32B", 2), swizzle=SWIZZLES["32B"], align=1024)
        right = cl.shared(cl.bf16, k_major(rows, 16, "32B", 2), swizzle=SWIZZLES["32B"], align=1024)
        done, t = barriers(1), cl.thread_idx.x
        fill(left, a, m, 16)
        fill(right, b, rows, 16)
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(256)
        d = tmem.view(cl.tcgen05.accumulator(m, n, ws=True), f32)
        if t == 0:
            cl.tcgen05.fence_after_thread_sync()
            sums = cl.tcgen05.mma_ws(d, left, right, accumulate=False, collector="b1::fill", **more)
            cl.tcgen05.mma_ws(sums, left, right, collector=second, **more)
            cl.tcgen05.commit(done[0])
        finished(done)
        whole = tmem.view(cl.tcgen05.lanes_layout(128, n * m // 128), f32)
        write(c, whole)
        tmem.free()

    return kernel


Mask = words.ZeroColumnMask
OF_64 = Mask(use=3, skip=2, starts=(1, 0), first=(True, False), shift=8)


@pytest.mark.parametrize(
    ("m", "n", "mask", "max_shift"), [(128, 64, Mask(40, 30, first=(True,)), 0), (64, 64, OF_64, 16), (32, 64, None, 0)]
)
@pytest.mark.usefixtures("on_cards")
def test_stationary_weights(m: int, n: int, mask: Any, max_shift: int) -> None:
    """Sums lie in all lanes; columns of B are left out, and begin further on; a buffer keeps B."""
    shift = mask.shift if mask else 0
    rows = -(-(n + shift) // 8) * 8
    a, b, c = integers("bf16", m, 16), integers("bf16", rows, 16, seed=1), np.zeros((128, n * m // 128), np.float32)
    kernel = stationary(m, n, rows, {"zero_columns": mask, "max_shift": max_shift})
    kernel[1, 128](a, b, c)
    taken = b[shift : shift + n].astype(np.float32)
    if mask:
        taken[mask.columns(m, n)] = 0
    want = np.concatenate(np.split(2 * a.astype(np.float32) @ taken.T, 128 // m, axis=1))
    np.testing.assert_array_equal(c, want)
    if m == 64:
        assert not kernel.check(1, 128, a, b, c, seeds=4, notes=False).findings


@pytest.mark.parametrize(
    ("elem", "m", "k", "in_tmem", "sparse"),
    [
        ("bf16", 64, 32, True, False),
        ("e4m3", 32, 32, True, False),
        ("f16", 32, 128, True, True),
        ("e4m3", 64, 128, True, True),
        ("tf32", 64, 64, False, True),
        ("i8", 32, 128, False, True),
    ],
)
@pytest.mark.usefixtures("on_cards")
def test_parts_of_columns_are_multiplied_by_what_their_lanes_hold(
    elem: str, m: int, k: int, in_tmem: bool, sparse: bool
) -> None:
    """Of .ws with 64 and 32 rows, A and metadata lie in the lanes of each part: copies bring metadata to all."""
    n, parts, extent = 64, 128 // m, k // 2 if sparse else k
    held: Any = f32 if elem == "tf32" else getattr(cl, elem)
    acc: Any = cl.i32 if elem == "i8" else f32
    octets = (4 if held.bits > 8 else 8) * (k * held.bytes // 64) if sparse else 0

    @cl.kernel(block=128, arch="sm_100a")
    def kernel(
        a: Tensor[A, (128, extent)], b: Tensor[B, (n, k)], kept: Tensor[u8, (m, max(1, octets))] | None,
        c: Tensor[D, (128, n // parts)],
    ) -> None:  # fmt: skip
        left = cl.shared(held, cl.make_smem_layout(held, (m, extent)))
        right = cl.shared(held, cl.make_smem_layout(held, (n, k)))
        done, t = barriers(1), cl.thread_idx.x
        fill(left, a, m, extent)
        fill(right, b, n, k)
        metadata: Any = None
        if kept is not None:
            of_smem = cl.shared(u8, cl.tcgen05.metadata_in_smem(held, k, m), align=128)
            fill(of_smem, kept, m, octets)
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(256)
        d = tmem.view(cl.tcgen05.accumulator(m, n, acc, ws=True), acc)
        if kept is not None:
            metadata = tmem.view(cl.tcgen05.metadata(held, k, m, ws=True), u8, 64)
        if in_tmem:
            line = [a[t, i] for i in cl.static_range(extent)]
            there = tmem.view(cl.tcgen05.lanes_layout(128, extent, held), held, 128)
            cl.tcgen05.store(there, cl.vector(*line, dtype=held))
            cl.tcgen05.wait_store()
            cl.tcgen05.fence_before_thread_sync()
            left = tmem.view(cl.tcgen05.lanes_layout(m, extent, held), held, 128)
        cl.syncthreads()
        if elem == "tf32":
            left, right = left.recast(cl.tf32), right.recast(cl.tf32)
        if t == 0:
            cl.tcgen05.fence_after_thread_sync()
            if kept is not None:
                cl.tcgen05.copy_metadata(metadata, of_smem, held)
            cl.tcgen05.mma_ws(d, left, right, accumulate=False, metadata=metadata)
            cl.tcgen05.commit(done[0])
        finished(done)
        whole = tmem.view(cl.tcgen05.lanes_layout(128, n // parts), acc)
        write(c, whole)
        tmem.free()

    name = "f32" if elem == "tf32" else elem
    wide, metadata = halved(name, m, k) if sparse else integers(name, m, k), None
    b, c = integers(name, n, k, seed=1), np.zeros((128, n // parts), DTYPES["i32" if elem == "i8" else "f32"])
    one = wide
    if sparse:
        one, metadata = words.compress(wide, held)
    times = np.arange(parts) + 1 if in_tmem else np.ones(parts, int)  # each part of A in tensor memory is another
    a = np.concatenate([(one.astype(np.float32) * x).astype(one.dtype) for x in times])
    kernel[1, 128](a, b, metadata, c)
    each = zip(times, np.split(b.astype(np.float64), parts), strict=True)
    np.testing.assert_array_equal(c, np.concatenate([x * (wide.astype(np.float64) @ y.T) for x, y in each]))
    if elem == "e4m3":
        assert not kernel.check(1, 128, a, b, metadata, c, seeds=2, notes=False).findings


def test_metadata_of_ws_have_their_rows() -> None:
    with pytest.raises(CompileError, match="metadata of 16 rows: a block has 32, 64 or 128 with `ws`"):
        words.metadata(cl.f16, 32, 16, ws=True)
    with pytest.raises(CompileError, match="metadata of 32 rows: a block has 64 or 128 of a sparse A"):
        words.metadata(cl.f16, 32, 32)


@pytest.mark.parametrize(("mask", "second", "message"), [
    (None, "b0::use", "buffer b0 of the collector is used for an B that it does not hold: it has nothing"),
    (OF_64, "b1::use", "B in a buffer is shifted by 8 columns, and `max_shift` is 0"),
    (Mask(1, 1, shift=40 - 8), "b1::use", "max_shift"),
])  # fmt: skip
def test_buffers_of_b_hold_what_filled_them(mask: Any, second: str, message: str) -> None:
    rows = 64 + (mask.shift if mask else 0)
    a, b, c = integers("bf16", 64, 16), integers("bf16", rows, 16), np.zeros((128, 32), np.float32)
    with pytest.raises(SimError, match=message):
        stationary(64, 64, rows, {"zero_columns": mask, "second": second})[1, 128](a, b, c)


def bits_of(mask: Any, m: int, n: int) -> str:
    """As the ISA prints a part: the last column first."""
    return "".join("01"[int(zero)] for zero in reversed(mask.columns(m, n)))


def test_masks_of_columns_are_those_of_the_isas_examples() -> None:
    assert bits_of(Mask(skip=3, use=4), 128, 14) == "11100001110000"
    both = bits_of(Mask(skip=3, use=4, first=(True, False)), 64, 34)
    assert (both[17:], both[:17]) == ("11100001110000111", "00011100001110000")
    four = bits_of(Mask(skip=3, use=4, starts=(0, 1, 2, 1), first=(True, True, False, False), shift=2), 32, 48)
    parts = [four[36 - 12 * i : 48 - 12 * i] for i in range(4)]
    assert parts == ["001110000111", "000111000011", "111000011100", "110000111000"]


MASK_FIELDS: list[tuple[dict[str, Any], int, int]] = [
    ({"starts": (255,)}, 0, 255),
    ({"starts": (0, 1)}, 8, 1),
    ({"starts": (0, 0, 2)}, 16, 2),
    ({"starts": (0, 0, 0, 3)}, 24, 3),
    ({"first": (True,)}, 32, 1),
    ({"first": (False, False, False, True)}, 35, 1),
    ({"skip": 256}, 40, 255),
    ({"use": 4}, 48, 3),
    ({"shift": 32}, 56, 32),
]


@pytest.mark.parametrize(("fields", "at", "value"), MASK_FIELDS, ids=str)
def test_each_field_of_a_mask_of_columns_has_its_bits(fields: dict[str, Any], at: int, value: int) -> None:
    word = Mask(**{"use": 1, "skip": 1, **fields})
    assert word.bits == 1 << 39 | value << at and Mask.parse(word.bits) == word


@pytest.mark.parametrize(("fields", "message"), [
    ({"use": 0}, "`use` is 0, not 1 to 256"),
    ({"starts": (256,)}, "`starts` is 256, but its field has 8 bits"),
    ({"shift": 33}, "`shift` is 33, not 0 to 32"),
    ({"first": (True,) * 5}, "have 1 to 4 entries"),
])  # fmt: skip
def test_masks_of_columns_that_there_are_not_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Mask(**{"use": 1, "skip": 1, **fields})
    with pytest.raises(ValueError, match="a product of 32 rows takes 16 at most"):
        Mask(1, 1, shift=17).columns(32, 64)
    with pytest.raises(ValueError, match="has bits where a mask of columns has none"):
        Mask.parse(1 << 38)


def least_of(x: Any, kind: str, abs: bool, nan: bool) -> Any:
    """The least or greatest of each row by Python's floats, zeros by their signs."""
    found = []
    for row in x.tolist():
        numbers = [builtins.abs(v) if abs else v for v in row if v == v]
        picked = (min if kind == "min" else max)(numbers, key=lambda v: (v, math.copysign(1, v)), default=math.nan)
        found.append(math.nan if nan and len(numbers) < len(row) else picked)
    return np.array(found, x.dtype)


@pytest.mark.parametrize(("dtype", "how"), [
    ("f32", {"kind": "max"}),
    ("f32", {"kind": "min", "abs": True}),
    ("f32", {"kind": "max", "nan": True}),
    ("i32", {"kind": "min"}),
    ("u32", {"kind": "max"}),
])  # fmt: skip
def test_loads_reduce_what_they_load(dtype: str, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_ARCH", "sm_103a")
    elem: Any = getattr(cl, dtype)

    @cl.kernel(block=128, arch="sm_103a")
    def kernel(x: Tensor[D, (128, 8)], out: Tensor[D, (128, 9)]) -> None:
        tmem = cl.TmemAllocator.create(32)
        t = cl.thread_idx.x
        place = tmem.view(cl.tcgen05.lanes_layout(128, 8, elem), elem)
        cl.tcgen05.store(place, cl.vector(*[x[t, i] for i in cl.static_range(8)], dtype=elem))
        cl.tcgen05.wait_store()
        mine = cl.tcgen05.wait_load(cl.tcgen05.load_reduced(place, **how))
        for i in cl.static_range(9):
            out[t, i] = mine[i]
        tmem.free()

    draw = np.random.default_rng(5)
    x = draw.integers(-100, 100, (128, 8)).astype(np.int32).view({"f32": "i4"}.get(dtype, dtype.replace("32", "4")))
    x = x.astype(np.float32) if dtype == "f32" else x
    if dtype == "f32":
        x[0], x[1] = (0.0, -0.0) * 4, math.nan
        x[2:40:3, 5] = math.nan
    out = np.zeros((128, 9), x.dtype)
    kernel[1, 128](x, out)
    np.testing.assert_array_equal(out[:, :8], x)
    want = least_of(x, how["kind"], how.get("abs", False), how.get("nan", False))
    np.testing.assert_array_equal(out[:, 8], want)
    np.testing.assert_array_equal(np.signbit(out[:1, 8]), np.signbit(want[:1]))


def test_a_reduction_is_for_later_cards() -> None:
    @cl.kernel(block=32, arch="sm_100a")
    def kernel() -> None:
        cl.tcgen05.load_reduced(cl.tcgen05.tensor(cl.u32(0), cl.tcgen05.lanes_layout(32, 4)))

    with pytest.raises(CompileError, match=r"sm_100a"):
        kernel.compile()
