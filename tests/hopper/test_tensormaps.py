"""TMA descriptors that kernels change: groups of which only the device knows where they lie and how large they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Pointer, SimError, Tensor, TmaTensor, f32, i32, u64
from tests.pieces import barriers
from tests.places import Place

M, K, G, B = cl.dims("M K:4 G B")
BM, BK = 8, 32
SWIZZLED: Any = ("swizzle_mode", 1)
COLOURED: Any = ("colour", 1)
Slots = Tensor[u64, (B, 16), cl.align(128)]
Tiled = TmaTensor[f32, (M, K), (BM, BK)]


def slots_of(n: int) -> np.ndarray[Any, Any]:
    """Memory for `n` descriptors."""
    return np.zeros((n, 16), np.uint64)


@cl.kernel(block=64)
def groups(
    like: Tiled,
    sources: Tensor[Pointer[f32, cl.align(16)], (G,)],  # type: ignore[type-arg]
    targets: Tensor[Pointer[f32, cl.align(16)], (G,)],  # type: ignore[type-arg]
    sizes: Tensor[i32, (G, 2)],
    slots: Slots,
) -> None:
    """Double each group's matrix; the first warp copies it in, and out again."""
    tile, full = cl.tma_shared(like), barriers(1)
    cl.syncthreads()
    come = cl.DeviceTensorMap.create(like, slots[2 * cl.block_idx.x, None])
    go = cl.DeviceTensorMap.create(like, slots[2 * cl.block_idx.x + 1, None])
    phase = i32(0)
    for group in range(cl.block_idx.x, G, cl.grid_dim.x):
        rows, columns = sizes[group, 0], sizes[group, 1]
        for row in range(0, rows, BM):
            for column in range(0, columns, BK):
                if cl.thread_idx.x < 32:
                    source = come.update(sources[group], (rows, columns))
                    if cl.elect_one():
                        full[0].arrive_expect_tx(like.tile_bytes)
                        cl.tma_load(source, tile, at=(row, column), barrier=full[0])
                full[0].wait(phase)
                phase = phase ^ 1
                for i in range(cl.thread_idx.x, BM * BK, 64):
                    tile[i // BK, i % BK] = tile[i // BK, i % BK] * 2.0
                cl.fence_proxy_async()
                cl.syncthreads()
                if cl.thread_idx.x < 32:
                    target = go.update(targets[group], (rows, columns), (columns, 1))
                    if cl.elect_one():
                        cl.tma_store(tile, target, at=(row, column))
                        cl.cp_async_bulk_commit_group()
                        cl.cp_async_bulk_wait_group(0)
                cl.syncthreads()


def test_groups_of_sizes_that_the_device_reads(place: Place) -> None:
    sizes = [(3, 8), (8, 32), (17, 36), (1, 4), (9, 64)]
    like, slots = np.zeros((BM, BK), np.float32), slots_of(4)
    sources = [np.arange(1, m * k + 1, dtype=np.float32).reshape(m, k) for m, k in sizes]
    out = [np.full(size, -1, np.float32) for size in sizes]

    def launch(like: Any, sizes: Any, slots: Any, *arrays: Any) -> None:
        groups[2](like, cl.pointers(list(arrays[: len(out)])), cl.pointers(list(arrays[len(out) :])), sizes, slots)

    place(launch, like, np.array(sizes, np.int32), slots, *sources, *out)
    for found, source in zip(out, sources, strict=True):
        np.testing.assert_array_equal(found, 2 * source)


def test_no_schedule_of_it_races() -> None:
    sizes = [(3, 8), (17, 36), (9, 64)]
    there, out = ([np.ones(size, np.float32) for size in sizes] for _ in range(2))
    args = cl.pointers(there), cl.pointers(out), np.array(sizes, np.int32), slots_of(2)
    groups.check(1, None, np.zeros((BM, BK), np.float32), *args).raise_if_wrong()


Count = TypeVar("Count", bound=Any)


@cl.kernel(block=32)
def sized(like: Tiled, sizes: Tensor[Count, (2,)], slot: Slots, out: Tensor[f32, (8, 32)]) -> None:
    """A tile of a tensor whose extents have any integer type."""
    tile, full = cl.tma_shared(like), cl.shared(cl.mbarrier, (1,))
    own = cl.DeviceTensorMap.create(like, slot[0, None]).update(out, (sizes[0], sizes[1]), (sizes[1], 1))
    if cl.elect_one():
        full[0].init(1)
        cl.fence_mbarrier_init()
        full[0].arrive_expect_tx(like.tile_bytes)
        cl.tma_load(own, tile, at=(0, 0), barrier=full[0])
    cl.syncwarp()
    full[0].wait(0)
    for i in range(cl.thread_idx.x, BM * BK, 32):
        out[i // BK, i % BK] = tile[i // BK, i % BK] + 1.0


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.uint32, np.uint8])
def test_extents_of_any_integer_type(dtype: Any) -> None:
    out = np.ones((8, 32), np.float32)
    sized[1](np.zeros((8, 32), np.float32), np.array([5, 32], dtype), slots_of(1), out)
    assert (out[:5] == 2).all() and (out[5:] == 1).all()


def moved(act: Callable[..., None]) -> Any:
    """A kernel of one warp that loads a tile under a descriptor of its own, as `act` says."""

    @cl.kernel(block=32)
    def k(like: Tiled, slots: Slots, out: Tensor[f32, (BM, BK)]) -> None:
        tile, full = cl.tma_shared(like), barriers(1)
        cl.syncthreads()
        act(like, cl.tensormap_shared(), slots, tile, full[0])

    return k


def run(act: Callable[..., None]) -> None:
    arrays = np.zeros((16, 32), np.float32), slots_of(2), np.zeros((BM, BK), np.float32)
    moved(act).check(1, None, *arrays).raise_if_wrong()


def load(tensor: Any, tile: Any, bar: Any) -> None:
    if cl.elect_one():
        bar.arrive_expect_tx(tensor.tile_bytes)
        cl.tma_load(tensor, tile, at=(0, 0), barrier=bar)
    bar.wait(0)


def published(like: Any, room: Any, slots: Any) -> Any:
    """Return a tensor by a copy of the descriptor of `like`, in the first slot."""
    if cl.elect_one():
        cl.tensormap_copy(like, room)
    cl.syncwarp()
    cl.tensormap_publish(room, slots[0, None])
    return cl.tensormap_acquire(slots[0, None], like)


def unchanged(like: Any, room: Any, slots: Any, tile: Any, bar: Any) -> None:
    load(published(like, room, slots), tile, bar)


def without_syncwarp(like: Any, room: Any, slots: Any, tile: Any, bar: Any) -> None:
    if cl.elect_one():
        cl.tensormap_copy(like, room)
    cl.tensormap_publish(room, slots[0, None])
    load(cl.tensormap_acquire(slots[0, None], like), tile, bar)


def not_published(like: Any, room: Any, slots: Any, tile: Any, bar: Any) -> None:
    load(cl.tensormap_acquire(slots[1, None], like), tile, bar)


def not_acquired(like: Any, room: Any, slots: Any, tile: Any, bar: Any) -> None:
    own = published(like, room, slots)
    if cl.elect_one():
        cl.tensormap_replace(room, like, "global_dim", 4, 0)
    cl.syncwarp()
    cl.tensormap_publish(room, slots[0, None])
    load(own, tile, bar)


def overwritten(like: Any, room: Any, slots: Any, tile: Any, bar: Any) -> None:
    own = published(like, room, slots)
    if cl.elect_one():
        bar.arrive_expect_tx(like.tile_bytes)
        cl.tma_load(own, tile, at=(0, 0), barrier=bar)
        cl.tensormap_replace(room, like, "global_dim", 4, 0)
    cl.syncwarp()
    cl.tensormap_publish(room, slots[0, None])
    bar.wait(0)


def left_behind(like: Any, room: Any, slots: Any, tile: Any, bar: Any) -> None:
    """Two copies are under way, and only the newer one is waited for before their descriptor changes."""
    tiles, full = cl.tma_shared(like, 2), cl.shared(cl.mbarrier, (2,))
    if cl.elect_one():
        for stage in cl.static_range(2):
            full[stage].init(1)
        cl.fence_mbarrier_init()
    own = published(like, room, slots)
    if cl.elect_one():
        for stage in cl.static_range(2):
            full[stage].arrive_expect_tx(like.tile_bytes)
            cl.tma_load(own, tiles[stage, None, None], at=(0, 0), barrier=full[stage])
    full[1].wait(0)
    if cl.elect_one():
        cl.tensormap_replace(room, like, "global_dim", 4, 0)
    cl.syncwarp()
    cl.tensormap_publish(room, slots[0, None])
    full[0].wait(0)


def no_extent(like: Any, room: Any, slots: Any, tile: Any, bar: Any) -> None:
    if cl.elect_one():
        cl.tensormap_copy(like, room)
        cl.tensormap_replace(room, like, "global_dim", i32(cl.block_idx.x), 0)


def uneven(like: Any, room: Any, slots: Any, tile: Any, bar: Any) -> None:
    if cl.elect_one():
        cl.tensormap_copy(like, room)
        cl.tensormap_replace(room, like, "global_stride", cl.i64(cl.grid_dim.x) * 24, 0)


def again(like: Any, room: Any, slots: Any, tile: Any, bar: Any) -> None:
    """One lane waits for the copy under a descriptor, and tells the others by `syncwarp`, before it is replaced."""
    own = published(like, room, slots)
    if cl.elect_one():
        bar.arrive_expect_tx(like.tile_bytes)
        cl.tma_load(own, tile, at=(0, 0), barrier=bar)
        bar.wait(0)
        cl.tma_store(tile, own, at=(8, 0))
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)
        cl.tensormap_replace(room, like, "global_dim", 4, 0)
    cl.syncwarp()
    cl.tensormap_publish(room, slots[0, None])


@pytest.mark.parametrize("act", [unchanged, again])
def test_a_descriptor_that_is_published_and_acquired_is_used(act: Callable[..., None]) -> None:
    run(act)


@pytest.mark.parametrize("act", [overwritten, left_behind])
def test_a_descriptor_stays_until_copies_under_it_are_over_whatever_the_schedule(act: Callable[..., None]) -> None:
    for seed in range(4):
        arrays = np.zeros((16, 32), np.float32), slots_of(2), np.zeros((BM, BK), np.float32)
        found = moved(act).check(1, None, *arrays, seeds=[seed])
        assert found.kinds & {"tensormap", "race"} and "cl.tma_load(own" in str(found), (seed, found)


@pytest.mark.parametrize(
    ("act", "word"),
    [
        (without_syncwarp, "race"),
        (not_published, "no TMA descriptor was published"),
        (not_acquired, "as it was before"),
        (overwritten, "in the place of one that this copy uses"),
        (left_behind, "in the place of one that this copy uses"),
        (no_extent, "is below 1"),
        (uneven, "no multiple of 16 bytes"),
    ],
)
def test_mistakes_are_found(act: Callable[..., None], word: str) -> None:
    with pytest.raises(Exception, match=word):
        run(act)


@pytest.mark.parametrize(
    ("act", "word"),
    [
        (lambda like, room: cl.tensormap_replace(room, like, *SWIZZLED), "is in the descriptor's type"),
        (lambda like, room: cl.tensormap_replace(room, like, *COLOURED), "is none of global_address"),
        (lambda like, room: cl.tensormap_replace(room, like, "global_stride", 16, 1), "has no stride to replace"),
        (lambda like, room: cl.tensormap_replace(room, like, "global_dim", 16, 2), "is none of the tensor's"),
        (lambda like, room: cl.tensormap_replace(room, like, "global_dim", 0, 0), "the extent of a mode is 0"),
        (lambda like, room: cl.tensormap_replace(room, like, "global_stride", 20, 0), "20 bytes is no multiple of 16"),
        (lambda like, room: cl.DeviceTensorMap(like, room, room).update(like, 8), "has 2 modes"),  # type: ignore[arg-type]
        (lambda like, room: cl.tensormap_copy(room, room), "a TMA tensor is needed"),
        (lambda like, room: cl.tensormap_copy(like, cl.shared(u64, 16)), "multiple of 128"),
        (lambda like, room: cl.DeviceTensorMap(like, room, room).update(room, (1, 1)), "must be in global memory"),
        (lambda like, room: cl.DeviceTensorMap(like, room, room).update(room, (1,)), "has 2 modes"),
        (lambda like, room: cl.DeviceTensorMap(like, room, room).update(room, (1, 4), (4, 2)), "has stride 1"),
    ],
)
def test_what_is_refused(act: Callable[..., None], word: str) -> None:
    def whole(like: Any, room: Any, slots: Any, tile: Any, bar: Any) -> None:
        act(like, room)

    with pytest.raises(CompileError, match=word):
        run(whole)


H, W = cl.dims("H W")


def seen(pixels: int, channels: int, lower: int) -> Any:
    tile: Any = cl.Im2col(pixels, channels, (lower, 0), (0, 0))
    return TmaTensor[f32, (M, H, W, K), tile]


@pytest.mark.parametrize(
    ("pixels", "channels", "lower", "said"),
    [
        (1025, 16, -1, "1025 pixels of 16 channels"),
        (16, 264, -1, "16 pixels of 264 channels"),
        (16, 3, -1, "rows of 12 bytes"),
        (16, 16, -129, "corners are from -128 to 127"),
    ],
)
def test_boxes_of_pixels_that_tma_lacks(pixels: int, channels: int, lower: int, said: str) -> None:
    with pytest.raises(CompileError, match=said):
        seen(pixels, channels, lower)


def test_hopper_lacks_a_swizzle() -> None:
    def reads(x: Any) -> None:
        cl.prefetch_tensormap(x)

    reads.__annotations__["x"] = TmaTensor[f32, (M, K), (BM, BK), "128B_ATOM_32B"]
    with pytest.raises(CompileError, match="sm_90a has no tensor maps with the swizzle 128B_ATOM_32B"):
        cl.kernel(reads).compile(block=32)
    cl.kernel(reads).compile(block=32, arch="sm_100")


def test_an_offset_of_pixels_has_few_bits() -> None:
    def reads(x: Any, right: Any) -> None:
        bar = cl.shared(cl.mbarrier, (1,))[0]
        cl.tma_im2col(x, cl.tma_shared(x), at=(0, 0, 0, 0), offsets=(0, right), barrier=bar)

    reads.__annotations__ |= {"x": seen(16, 16, 0), "right": cl.Constexpr[int]}
    with pytest.raises(CompileError, match="an offset is 256, but from 0 to 255 where a tensor has 4 modes"):
        cl.kernel(reads).compile(right=256, block=32)
    reads.__annotations__["right"] = i32
    with pytest.raises(SimError, match=r"offsets \(0, 65535\), which have 8 bits each and no sign"):
        cl.kernel(reads)[1, 1](np.zeros((1, 4, 4, 16), np.float32), -1)
