"""Rows of pixels by TMA: im2col, as convolutions read images."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import CompileError, Constexpr, SimError, Tensor, TmaTensor, bf16
from tests.pieces import barriers

N, H, W, C = 3, 5, 7, 32
PIXELS = 48
Images: Any = TmaTensor[bf16, (N, H, W, C), cl.Im2col(PIXELS, 16, lower=(-1, -1), upper=(-1, -1))]
Inner: Any = TmaTensor[bf16, (N, H, W, C), cl.Im2col(PIXELS, 16, lower=(0, 0), upper=(-2, -2))]


@cl.kernel(block=32)
def rows(x: Images, out: Tensor[bf16, (9, PIXELS, 16)], first: Constexpr[tuple[int, ...]]) -> None:
    """What a filter of 3 x 3 sees of a row of pixels, from `first` on: one part after the other."""
    tile, full = cl.tma_shared(x), barriers(1)
    t = cl.thread_idx.x
    cl.syncthreads()
    for part in cl.static_range(9):
        if t == 0:
            full[0].arrive_expect_tx(x.tile_bytes)
            cl.tma_im2col(x, tile, at=first, offsets=(part // 3, part % 3), barrier=full[0])
        full[0].wait(part % 2)
        for i in range(t, PIXELS * 16, 32):
            out[part, i // 16, i % 16] = tile[i // 16, i % 16]
        cl.syncthreads()


def seen(x: Any, first: tuple[int, ...]) -> Any:
    """The same by NumPy: images with a border of zeros, whose pixels follow from image to image."""
    padded = np.pad(x, ((0, 1), (1, 1), (1, 1), (0, 0)))
    image, y, column, channel = first
    start = (image * H + y + 1) * W + column + 1
    want = np.zeros((9, PIXELS, 16), x.dtype)
    for part in range(9):
        down, right = divmod(part, 3)
        pixels = padded[:, down : down + H, right : right + W].reshape(-1, C)
        found = pixels[start : start + PIXELS, channel : channel + 16]
        want[part, : len(found)] = found
    return want


@pytest.mark.parametrize("first", [(0, -1, -1, 0), (1, 2, 3, 16), (2, 0, 5, 0)])
@pytest.mark.usefixtures("everywhere")
def test_a_filter_sees_rows_of_pixels(first: tuple[int, ...]) -> None:
    x = np.arange(N * H * W * C).reshape(N, H, W, C).astype(np.float32).astype(ml_dtypes.bfloat16)
    out = np.full((9, PIXELS, 16), -1, ml_dtypes.bfloat16)
    rows[1, 32](x, out, first)
    np.testing.assert_array_equal(out, seen(x, first))


@cl.kernel(block=32)
def by_memory(
    x: Images, y: Inner, slot: Tensor[cl.u64, (16,), cl.align(128)], out: Tensor[bf16, (PIXELS, 16)],
    how: Constexpr[str],
) -> None:  # fmt: skip
    """A row of pixels by a copy of a descriptor in global memory."""
    tile, full, room = cl.tma_shared(x), cl.shared(cl.mbarrier, (1,)), cl.tensormap_shared()
    if cl.elect_one():
        full[0].init(1)
        cl.fence_mbarrier_init()
        cl.tensormap_copy(x, room)
        if how == "changed":
            cl.tensormap_replace(room, x, "global_dim", 1, 0)
    cl.syncwarp()
    cl.tensormap_publish(room, slot)
    own = cl.tensormap_acquire(slot, y if how == "other corners" else x)
    if cl.elect_one():
        full[0].arrive_expect_tx(x.tile_bytes)
        cl.tma_im2col(own, tile, at=(0, 0, 0, 0), offsets=(0, 0), barrier=full[0])
    full[0].wait(0)
    for i in range(cl.thread_idx.x, PIXELS * 16, 32):
        out[i // 16, i % 16] = tile[i // 16, i % 16]


def test_descriptors_of_pixels_in_memory() -> None:
    x = np.arange(N * H * W * C).reshape(N, H, W, C).astype(np.float32).astype(ml_dtypes.bfloat16)
    out, slot = np.zeros((PIXELS, 16), ml_dtypes.bfloat16), np.zeros(16, np.uint64)
    by_memory[1](x, x, slot, out, "")
    np.testing.assert_array_equal(out, seen(x, (0, 0, 0, 0))[0])
    with pytest.raises(SimError, match="the descriptor there has another box, element type, swizzle or corners"):
        by_memory[1](x, x, slot, out, "other corners")
    with pytest.raises(CompileError, match="a descriptor of rows of pixels cannot be changed"):
        by_memory.compile(how="changed")


@cl.kernel(block=32)
def copied(x: Inner, y: Inner) -> None:
    """A row of pixels within a border of one, copied, and added to it once more."""
    tile, full = cl.tma_shared(x), barriers(1)
    if cl.thread_idx.x == 0:
        cl.tma_im2col_prefetch(x, at=(0, 1, 2, 16), offsets=(0, 0))
        full[0].arrive_expect_tx(x.tile_bytes)
        cl.tma_im2col(x, tile, at=(0, 1, 2, 16), offsets=(0, 0), barrier=full[0])
        full[0].wait(0)
        cl.tma_im2col_store(tile, y, at=(0, 1, 2, 16))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)
        cl.tma_im2col_reduce(tile, y, at=(0, 1, 2, 16))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


@pytest.mark.usefixtures("everywhere")
def test_rows_of_pixels_are_stored_and_added_where_they_came_from() -> None:
    x = np.random.default_rng(0).standard_normal((N, H, W, C)).astype(ml_dtypes.bfloat16)
    y = np.zeros_like(x)
    copied[1, 32](x, y)
    inner, want = np.zeros((N, H - 2, W - 2, C), x.dtype), np.zeros_like(x)
    flat, source = inner.reshape(-1, C), x[:, : H - 2, : W - 2].reshape(-1, C)
    start = 1 * (W - 2) + 2
    flat[start : start + PIXELS, 16:] = source[start : start + PIXELS, 16:] * 2
    want[:, : H - 2, : W - 2] = inner
    np.testing.assert_array_equal(y, want)


Strided: Any = TmaTensor[bf16, (N, H, W, C), cl.Im2col(PIXELS, 16, lower=(-1, -1), upper=(-1, -1), strides=(2, 3))]


@pytest.mark.usefixtures("everywhere")
def test_pixels_may_lie_apart() -> None:
    """As a convolution with strides of 2 and 3 reads them; which elements of images arrive, by their numbers."""

    @cl.kernel(block=32)
    def kernel(x: Strided, out: Tensor[bf16, (PIXELS, 16)]) -> None:
        tile, full = cl.tma_shared(x), barriers(1)
        if cl.thread_idx.x == 0:
            full[0].arrive_expect_tx(x.tile_bytes)
            cl.tma_im2col(x, tile, at=(0, 1, 2, 0), offsets=(1, 2), barrier=full[0])
        cl.syncthreads()
        full[0].wait(0)
        for i in range(cl.thread_idx.x, PIXELS * 16, 32):
            out[i // 16, i % 16] = tile[i // 16, i % 16]

    x = np.random.default_rng(0).standard_normal((N, H, W, C)).astype(ml_dtypes.bfloat16)
    out = np.ones((PIXELS, 16), x.dtype)
    kernel[1, 32](x, out)
    padded = np.pad(x, ((0, 20), (1, 3), (1, 3), (0, 0)))[:, 1:, 2:, :16]  # by the border and the offsets
    seen = padded[:, :H:2, :W:3]  # of H places down and W across from the lower corners, 3 and 3
    want = seen.reshape(-1, 16)[1 * 3 + 1 :][:PIXELS]
    np.testing.assert_array_equal(out, want)
    with pytest.raises(
        cl.ArgumentError, match="pixels that lie apart, or along one row of images: such kernels are not"
    ):
        kernel.export(None, arch="sm_90a")


def test_the_checker_finds_nothing() -> None:
    x = np.zeros((N, H, W, C), ml_dtypes.bfloat16)
    assert not copied.check(1, 32, x, x.copy(), seeds=4).findings


def test_a_row_begins_within_the_corners() -> None:
    x, out = np.zeros((N, H, W, C), ml_dtypes.bfloat16), np.zeros((9, PIXELS, 16), ml_dtypes.bfloat16)
    with pytest.raises(SimError, match=r"begins at \(-2, 0\), outside of the corners"):
        rows[1, 32](x, out, (0, -2, 0, 0))
    with pytest.raises(CompileError, match="the innermost coordinate is 12: bf16 tiles start at multiples of 8"):
        rows[1, 32](x, out, (0, 0, 0, 12))

    @cl.kernel(block=1)
    def prefetched(x: Images, channel: cl.i32) -> None:
        cl.tma_im2col_prefetch(x, at=(0, 0, 0, channel), offsets=(0, 0))

    with pytest.raises(SimError, match=r"from channel 12 on, which is no multiple of 8 \(16 bytes\)"):
        prefetched[1](x, 12)


def test_what_is_no_image_is_refused() -> None:
    tile: Any = cl.Im2col(16, 16, (-1,), (-1,))
    with pytest.raises(CompileError, match="has 4 extents, of which 1 have corners"):
        TmaTensor[bf16, (N, H, W, C), tile]
    for wrong in ({"lower": 0}, {"upper": (-1.0, -1)}, {"strides": 2}):
        given: Any = {"lower": (-1, -1), "upper": (-1, -1)} | wrong
        with pytest.raises(CompileError, match=f"has an Im2col with {next(iter(wrong))}="):
            TmaTensor[bf16, (N, H, W, C), cl.Im2col(16, 16, **given)]

    @cl.kernel(block=32)
    def boxed(x: Images) -> None:
        cl.tma_load(x, cl.tma_shared(x), at=(0, 0), barrier=cl.shared(cl.mbarrier, (1,))[0])

    @cl.kernel(block=32)
    def plain(x: TmaTensor[bf16, (64, 64), (16, 16)]) -> None:
        cl.tma_im2col_store(cl.tma_shared(x), x, at=(0, 0))

    @cl.kernel(block=32)
    def written(x: Images) -> None:
        cl.tma_im2col_store(cl.tma_shared(x), x, at=(0, 0, 0, 0))

    with pytest.raises(CompileError, match="lower corners below 0 are for loads alone"):
        written.compile()
    with pytest.raises(CompileError, match="this TMA tensor is for rows of pixels"):
        boxed.compile()
    with pytest.raises(CompileError, match="this TMA tensor has boxes for tiles"):
        plain.compile()


@pytest.mark.parametrize(
    ("corners", "box", "shape", "rule"),
    [
        ((-1, -1), (16, 16), (2, 8, 8, 16), "corners"),
        ((-200, 0, 0, 0), (16, 16), (2, 8, 8, 16), "corners"),
        ((0, 0, 0, 0), (2000, 16), (2, 8, 8, 16), "box"),
        ((0, 0), (16, 16), (8, 16), "rank"),
    ],
)
def test_what_tma_cannot_encode_is_refused(corners: Any, box: Any, shape: Any, rule: str) -> None:
    strides = tuple(int(np.prod(shape[i + 1 :])) for i in range(len(shape)))
    with pytest.raises(rt.TensorMapError) as caught:
        rt.check_tensormap(0, "bf16", shape, strides, rt.Tiling(box, swizzle="32B", corners=corners))
    assert caught.value.rule == rule
