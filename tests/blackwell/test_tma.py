"""TMA of Blackwell: rows by their numbers, and tiles for several blocks that count on the barriers of pairs."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, SimError, Tensor, TmaTensor, bf16, i32
from tests.pieces import barriers

M, N = 40, 64


@cl.kernel(block=64, arch="sm_100a")
def moved(
    x: TmaTensor[bf16, (M, N), (1, 32)], out: TmaTensor[bf16, (M, N), (1, 32)], places: Tensor[i32, (2, 4)]
) -> None:
    """Four rows of `x`, the columns from 32 on, come to four rows of `out`, from column 0 on; they are doubled."""
    tile = cl.shared(bf16, cl.make_layout((4, 32), stride=(32, 1)), swizzle=cl.Swizzle(2, 4, 3), align=512)
    full = barriers(1)
    t = cl.thread_idx.x
    if t == 0:
        full[0].arrive_expect_tx(4 * x.tile_bytes)
        cl.tma_gather4_prefetch(x, rows=(0, 1, 2, 3))
        cl.tma_gather4(x, tile, rows=tuple(places[0, i] for i in range(4)), column=32, barrier=full[0])
    cl.syncthreads()
    full[0].wait(0)
    for i in range(t, 128, 64):
        tile[i // 32, i % 32] = tile[i // 32, i % 32] * 2
    cl.fence_proxy_async("shared::cta")
    cl.syncthreads()
    if t == 0:
        cl.tma_scatter4(tile, out, rows=tuple(places[1, i] for i in range(4)))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


@pytest.mark.usefixtures("on_cards")
def test_rows_are_gathered_and_scattered_by_their_numbers() -> None:
    x = np.arange(M * N).reshape(M, N).astype(ml_dtypes.bfloat16)
    out = np.zeros_like(x)
    places = np.array([[7, 39, 40, 7], [30, 41, 2, 3]], np.int32)  # rows 40 and 41 are outside
    moved[1, 64](x, out, places)
    want = np.zeros_like(x)
    for of, to in zip(*places, strict=True):
        if to < M:
            want[to, :32] = x[of, 32:] * 2 if of < M else 0
    np.testing.assert_array_equal(out, want)
    assert not moved.check(1, 64, x, out, places, seeds=6, notes=False).findings


def test_rows_that_are_scattered_to_one_place_are_a_race() -> None:
    """Unless they hold the same: rows 2 and 3 are both outside of `x`, and so 0."""
    x = np.arange(M * N).reshape(M, N).astype(ml_dtypes.bfloat16)
    for to, alarm in (([5, 6, 7, 7], False), ([5, 6, 7, 6], True)):
        report = moved.check(1, 64, x, np.ones_like(x), np.array([[0, 1, M, M], to], np.int32), seeds=2, notes=False)
        assert report.kinds == ({"race"} if alarm else set()), report
        assert not alarm or ("cl.tma_scatter4(tile" in str(report) and "more than once" in str(report))


def test_a_column_within_16_bytes_is_refused() -> None:
    @cl.kernel(block=32, arch="sm_100a")
    def kernel(x: TmaTensor[bf16, (M, N), (1, 32)]) -> None:
        tile = cl.shared(bf16, cl.make_layout((4, 32), stride=(32, 1)), swizzle=cl.Swizzle(2, 4, 3), align=512)
        full = cl.shared(cl.mbarrier, (1,))
        cl.tma_gather4(x, tile, rows=(0, 1, 2, 3), column=3, barrier=full[0])

    with pytest.raises(CompileError, match="the innermost coordinate is 3: bf16 tiles start at multiples of 8"):
        kernel.compile()
    with pytest.raises(CompileError, match=r"needs tma.gather4|sm_90a"):
        moved.compile(arch="sm_90a")


@pytest.mark.usefixtures("on_cards")
def test_what_several_blocks_get_is_counted_in_the_even_block_of_each_pair() -> None:
    """Block 1 of 4 sends a tile to all; the barriers of blocks 0 and 2 count those of their pairs."""

    @cl.kernel(block=32, cluster=4, arch="sm_100a")
    def kernel(x: TmaTensor[bf16, (32, 32), (32, 32)], out: Tensor[bf16, (4, 32, 32)]) -> None:
        tile = cl.shared(bf16, cl.make_layout((32, 32), stride=(32, 1)), swizzle=cl.Swizzle(2, 4, 3), align=512)
        full = barriers(1)
        t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
        if t == 0 and rank % 2 == 0:
            full[0].arrive_expect_tx(2 * x.tile_bytes)
        cl.cluster_sync()
        if t == 0 and rank == 1:
            cl.tma_load(x, tile, at=(0, 0), barrier=full[0].remote(0), multicast=15, pair=True)
        if rank % 2 == 0:
            full[0].wait(0)
        cl.cluster_sync()
        for i in cl.static_range(32):
            out[rank, t, i] = tile[t, i]

    x = np.arange(1024).reshape(32, 32).astype(ml_dtypes.bfloat16)
    out: Any = np.zeros((4, 32, 32), ml_dtypes.bfloat16)
    kernel[4, 32](x, out)
    np.testing.assert_array_equal(out, np.broadcast_to(x, out.shape))


IMAGES, HEIGHT, WIDTH = 9, 3, 13
Wide: Any = TmaTensor[
    bf16, (None, HEIGHT, WIDTH, 16), cl.Im2col(32, 16, lower=(-1,), upper=(0,), strides=(2,), wide="w")
]
Parts: Any = TmaTensor[bf16, (None, HEIGHT, WIDTH, 16), cl.Im2col(128, 16, (-1,), (0,), (2,), wide="w128")]


def of_one_row(parts: int) -> Any:
    """A kernel that brings what columns 0 and 2 of a filter see of one row of images, and what column 1 does."""
    pixels = 32 if parts == 1 else 128
    Images: Any = Wide if parts == 1 else Parts
    rows = pixels + parts

    @cl.kernel(block=32, arch="sm_100a")
    def kernel(x: Images, even: Tensor[bf16, (rows, 16)], odd: Tensor[bf16, (pixels, 16)]) -> None:
        one, other, full = cl.tma_shared(x, halo=1), cl.tma_shared(x), barriers(1)
        t = cl.thread_idx.x
        if t == 0:
            cl.tma_im2col_w_prefetch(x, at=(1, 2, -1, 0), halo=1)
            full[0].arrive_expect_tx((rows + pixels) * 32)
            cl.tma_im2col_w(x, one, at=(1, 2, -1, 0), halo=1, barrier=full[0])
            cl.tma_im2col_w(x, other, at=(1, 2, -1, 0), offset=1, barrier=full[0])
        cl.syncthreads()
        full[0].wait(0)
        for i in range(t, rows * 16, 32):
            even[i // 16, i % 16] = one[i // 16, i % 16]
        for i in range(t, pixels * 16, 32):
            odd[i // 16, i % 16] = other[i // 16, i % 16]

    return kernel


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.usefixtures("on_cards")
def test_pixels_of_one_row_serve_several_columns_of_a_filter(parts: int) -> None:
    """A filter of 3 with a stride of 2 and a border of 1: column 2 sees what column 0 does, one pixel further."""
    images = IMAGES if parts == 1 else 20
    x = np.random.default_rng(0).standard_normal((images, HEIGHT, WIDTH, 16)).astype(ml_dtypes.bfloat16)
    pixels = 32 if parts == 1 else 128
    even, odd = (np.full((n, 16), 7, ml_dtypes.bfloat16) for n in (pixels + parts, pixels))
    kernel = of_one_row(parts)
    kernel[1, 32](x, even, odd)
    padded = np.pad(x[1:, 2], ((0, 30), (1, 3), (0, 0)))  # images, width, channels
    across = (WIDTH + 2 - 3) // 2 + 1  # of the results of a convolution
    for i in range(pixels):
        image, column = divmod(i, across)
        row = i + i // 32 * (parts > 1)  # in the tile with its halos
        seen = even[row], odd[i], even[row + 1]
        for j in range(3):
            np.testing.assert_array_equal(seen[j], padded[image, 2 * column + j], err_msg=f"{i} {j}")
    assert not kernel.check(1, 32, x, even, odd, seeds=2).findings


def test_a_row_of_pixels_begins_before_its_corner_or_within() -> None:
    tile = cl.Im2col(16, 16, lower=(0,), upper=(-2,), wide="w")

    @cl.kernel(block=32, arch="sm_100a")
    def kernel(x: TmaTensor[bf16, (2, 3, 8, 16), tile], out: Tensor[bf16, (16, 16)], start: cl.i32) -> None:
        held, full = cl.tma_shared(x), barriers(1)
        if cl.thread_idx.x == 0:
            full[0].arrive_expect_tx(x.tile_bytes)
            cl.tma_im2col_w(x, held, at=(0, 1, start, 0), barrier=full[0])
            full[0].wait(0)
            for i in range(16):
                for j in range(16):
                    out[i, j] = held[i, j]

    x, out = np.ones((2, 3, 8, 16), ml_dtypes.bfloat16), np.zeros((16, 16), ml_dtypes.bfloat16)
    kernel[1, 32](x, out, -3)  # three outside, six of one image and of the next one, and one behind both
    np.testing.assert_array_equal(out[:, 0].astype(int), [0] * 3 + [1] * 12 + [0])
    with pytest.raises(SimError, match="begins at 6, behind the corner"):
        kernel[1, 32](x, out, 6)


@pytest.mark.parametrize(
    ("tile", "words"),
    [
        (cl.Im2col(32, 16, (0, 0), (0, 0), wide="w"), "width alone has them here"),
        (cl.Im2col(32, 16, (0,), (0,), wide="w128"), "wide is 'w', or 'w128' with 128 pixels"),
        (cl.Im2col(32, 16, (0, 0), (0, 0), (9, 1)), "strides are 1 to 8, one for each mode with corners"),
    ],
)
def test_rows_of_pixels_that_tma_does_not_know_are_refused(tile: Any, words: str) -> None:
    with pytest.raises(CompileError) as caught:
        TmaTensor[bf16, (2, 3, 8, 16), tile]
    assert words in str(caught.value)


def test_other_gpus_have_no_rows_of_pixels() -> None:
    with pytest.raises(CompileError, match="sm_90a"):
        of_one_row(1).compile(arch="sm_90a")
    with pytest.raises(CompileError, match="sm_120a"):
        of_one_row(4).compile(arch="sm_120a")
