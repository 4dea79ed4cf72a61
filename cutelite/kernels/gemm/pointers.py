"""GEMMs of groups of matrices whose addresses and sizes only the device knows: ``d[g] = a[g] @ b[g].T``.

The host passes arrays of addresses and of sizes. Blocks are persistent, and go through the tiles of all groups in order
(`cl.ProblemTileScheduler`). A block has TMA descriptors of its own, for A, for B and for the results of each of its
multiplying warpgroups, which it changes when its next tile is of another group (`cl.DeviceTensorMap`).

A descriptor is changed only after the copies that use it are complete. The warp that loads A and B waits for the copies
into its stages, not for their readers; a warpgroup waits until its results are written.
"""

from functools import cache
from typing import Any

import numpy as np

import cutelite as cl
from cutelite import Pointer, Smem, Tensor, TmaTensor, bf16, f16, f32, i32, u64
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import Arguments, Misfit, in_words_of_caller, instance, one_of
from cutelite.kernels.arrays import clusters_at_once, empty
from cutelite.records import dataclass

M, N, K, G, W = cl.dims("M N K:8 G W")
GROUP = 128  # threads of a warpgroup
CONSUMERS = 2
BM, BK = 128, 64
PIECE = 64  # columns of results that are stored at once
MAP_BYTES = 128
MAPS = 2 + CONSUMERS  # descriptors of a block
DTYPES = {"bf16": bf16, "f16": f16}


@dataclass(frozen=True)
class Config:
    """A configuration: columns of a tile, which has 128 rows; stages of shared memory; tiles of a band."""

    columns: int = 256
    stages: int = 3
    swizzle: int = 8


@cache
def build(config: Config, dtype: Any) -> Any:
    """Make the kernel for matrices of a dtype."""
    BN, plan = config.columns, Plan(config)
    if BN % (2 * PIECE) or not 0 < BN <= 256:
        raise Misfit(f"{config}: a tile has 128 or 256 columns, whose pieces fill both buffers of results")
    piece = cl.WarpgroupMmaOp(dtype, f32, PIECE)

    class Storage(cl.SharedStorage):
        a: Smem[dtype, cl.make_smem_layout(dtype, (BM, BK, config.stages))]
        b: Smem[dtype, cl.make_smem_layout(dtype, (BN, BK, config.stages))]
        d: Smem[dtype, cl.make_smem_layout(dtype, (64, PIECE, 2 * CONSUMERS))]
        maps: Smem[u64, cl.make_layout((MAPS, 16), stride=(16, 1)), MAP_BYTES]

    @cl.kernel(block=GROUP + GROUP * CONSUMERS)
    def gemm(
        a: Tensor[Pointer[dtype, cl.align(16)], (G,)],  # type: ignore[type-arg]
        b: Tensor[Pointer[dtype, cl.align(16)], (G,)],  # type: ignore[type-arg]
        d: Tensor[Pointer[dtype, cl.align(16)], (G,)],  # type: ignore[type-arg]
        sizes: Tensor[i32, (G, 3)],
        slots: Tensor[u64, (W, MAPS, 16), cl.align(MAP_BYTES)],
        like_a: TmaTensor[dtype, (M, K), (BM, BK)],
        like_b: TmaTensor[dtype, (M, K), (BN, BK)],
        like_d: TmaTensor[dtype, (M, K), (64, PIECE)],
    ) -> None:
        """
        sizes   rows, columns and depth of each group
        slots   where blocks keep their descriptors
        like_a  and the others: any arrays, for what descriptors share: boxes, dtypes, swizzles
        """
        storage = Storage.allocate()
        pipe = cl.PipelineTmaAsync.create(
            config.stages, like_a.tile_bytes + like_b.tile_bytes, GROUP * CONSUMERS, reads="wgmma"
        )
        tiles = cl.ProblemTileScheduler.create(sizes, (BM, BN), config.swizzle)
        mine = slots[cl.block_idx.x, None, None]
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(40)
            if cl.thread_idx.x < 32:
                maps = tuple(
                    cl.DeviceTensorMap(like, storage.maps[i, None], mine[i, None])
                    for i, like in enumerate((like_a, like_b))
                )
                plan.produce(a, b, maps, storage, pipe, tiles)
        else:
            cl.setmaxnreg_inc(232)
            group, thread = cl.warpgroup_idx() - 1, cl.thread_idx.x % GROUP
            pieces = cl.local_tile(storage.d, (64, PIECE, 2), (0, 0, group))
            out = cl.ResultRing.create(pieces, piece, thread, cl.NamedBarrier(1 + group, GROUP))
            go = cl.DeviceTensorMap(like_d, storage.maps[2 + group, None], mine[2 + group, None])
            plan.consume(d, go, storage, pipe, out, group, tiles)

    return gemm


@dataclass(frozen=True)
class Plan:
    """The work of the threads of a block under a configuration."""

    config: Config

    def produce(self, a: Any, b: Any, maps: Any, storage: Any, pipe: Any, tiles: Any) -> None:
        """One warp: describe a group's matrices where it comes to them, and fill the ring."""
        of_a, of_b = maps
        ring, described = cl.PipelineState.producer(self.config.stages), i32(-1)
        while tiles.is_valid():
            group, down, across = tiles.coordinate()
            rows, columns, depth = tiles.shape()
            if depth > 0:
                if group != described:
                    if cl.elect_one():
                        self.until_loaded(pipe, ring)
                    of_a.update(a[group], (rows, depth))
                    of_b.update(b[group], (columns, depth))
                    described = group
                for step in range(cl.ceil_div(depth, BK)):
                    if cl.elect_one():
                        k = step * BK
                        pipe.load(ring, (of_a.tensor, storage.a, (down, k)), (of_b.tensor, storage.b, (across, k)))
                    ring = ring.advance()
            tiles = tiles.advance()

    def until_loaded(self, pipe: Any, ring: Any) -> None:
        """Wait until all copies into the ring have come, the oldest first, which are those where `ring` is."""
        for _ in range(self.config.stages):
            pipe.full[ring.index].wait(ring.phase)
            ring = ring.advance()

    def consume(self, d: Any, go: Any, storage: Any, pipe: Any, out: Any, group: Any, tiles: Any) -> None:
        """A warpgroup: multiply what comes, and write 64 rows of each tile."""
        ring, described = cl.PipelineState.consumer(self.config.stages), i32(-1)
        while tiles.is_valid():
            problem, down, across = tiles.coordinate()
            rows, columns, depth = tiles.shape()
            acc = cl.wgmma.zeros_accumulator(self.config.columns)
            for _ in range(cl.ceil_div(depth, BK)):
                pipe.consumer_wait(ring)
                left = cl.local_tile(storage.a, (64, BK), (group, 0))[None, None, ring.index]
                acc = cl.wgmma.mma_async(left, storage.b[None, None, ring.index], acc)
                cl.wgmma.commit_group()
                acc = cl.wgmma.wait_group(0, acc)
                pipe.consumer_release(ring)
                ring = ring.advance()
            if problem != described:
                if out.thread < 32:
                    cl.cp_async_bulk_wait_group(0)
                    go.update(d[problem], (rows, columns))
                described = problem
            out.write(acc, go.tensor, (down + 64 * group, across))
            tiles = tiles.advance()
        out.tail()


@untraced
@in_words_of_caller
def gemm(a: Any, b: Any, out: Any, sizes: Any, *, dtype: str = "bf16", config: Config | None = None) -> Any:
    """``out[g] = a[g] @ b[g].T`` for every group g, whose matrices and sizes the device alone knows; returns `out`.

    a, b, out  (G,), i64, on the device: addresses of matrices (rows, depth), (columns, depth) and (rows, columns) of
               `dtype`, row-major without gaps, at multiples of 16 bytes. `cl.pointers` makes one of a list of arrays
    sizes      (G, 3), i32, on the device: rows, columns and depth of each group. Each may be 0, also all of a group;
               columns and depth are multiples of 8. Without depth the results are 0
    dtype      'bf16' or 'f16'
    config     how it is cut up; None: the default
    Errors     ValueError for shapes that do not fit. What the device holds is checked in the simulator alone, but for
               negative sizes, which assertions find on a GPU too
    """
    of, chosen = DTYPES[one_of("dtype", dtype, DTYPES)], instance("config", config, Config) or Config()
    given = Arguments()
    for name, array in (("a", a), ("b", b), ("out", out)):
        given.array(name, array, "i64", "G", dense=True)
    given.array("sizes", sizes, "i32", "G 3", dense=True)
    if left_out() or not sizes.shape[0]:
        return out
    blocks = clusters_at_once(1, sizes)
    like = empty(sizes, (8, 64), dtype)
    build(chosen, of)[blocks](a, b, out, sizes, slots_for(blocks, sizes), like, like, like)
    return out


def slots_for(blocks: int, like: Any) -> Any:
    """Return memory for the descriptors of `blocks` blocks, on the device of `like`."""
    return empty(like, (blocks, MAPS, MAP_BYTES // 8), "u64")


def reference(a: list[Any], b: list[Any]) -> list[Any]:
    """Compute the results in f64, of NumPy arrays."""
    return [np.asarray(x).astype(np.float64) @ np.asarray(y).astype(np.float64).T for x, y in zip(a, b, strict=True)]
