"""The forward kernel on fp8: q, k and v in e4m3, with a scale for each head or block of it; the output in bf16.

wgmma takes fp8 operands from shared memory only with the dimension they are summed over contiguous, which for values is
that of keys. So other warps transpose each block of values in shared memory, and put keys there in the order
in which powers lie in registers: sums do not depend on it, and powers need no exchange between threads.

Powers are those relative to the greatest scores of blocks before, as in bf16, and raised by 2^3, for e4m3 has few
exponents. A block whose powers may exceed its 448 is computed again. Where each block of values has a scale, powers are
multiplied by it over the greatest one, which is an addition to the exponent.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, bf16, e4m3, f32, i32
from cutelite.kernels.attention.forward import HK, Plan
from cutelite.kernels.attention.here import Here, Result
from cutelite.kernels.attention.model import Config, Cost, Work, predicted
from cutelite.kernels.attention.scores import GROUP, ROWS, Problem
from cutelite.kernels.attention.tiles import SK, SQ, B, Given, H, Tile
from cutelite.records import dataclass, fact
from cutelite.tuples import NamedTuple

QB, KB, VB = cl.dims("QB KB VB")
BOX = 128  # columns: a swizzled row of 128 bytes
RAISED = 3.0
CHOSEN = Config(turns=False, regs=(24, 216))
LONG = Config(3, 96, queries=2, turns=False, regs=(32, 160))
COSTS = Cost(CHOSEN, 1.23, 0.4), Cost(LONG, 1.19, 0.4)
"""Of attention without a mask and scales of blocks; with one of these, only `CHOSEN` is fast."""
SCALED = 128
"""The number of queries, or of keys, that share a scale."""
LEAST = 2.0**-20
"""Of the greatest scale of values: with so small a one, or less, all powers of a block are 0 in e4m3."""
TRANSPOSING = 40  # registers of a thread of a warpgroup that transposes


class Scales(NamedTuple):
    """Scales of queries (B, H), and of keys and values (B, HK).

    Where blocks have scales, each has one more mode: of the blocks, or of extent 1 if one is for all.
    """

    of_queries: Any
    of_keys: Any
    of_values: Any


@dataclass(frozen=True)
class BlockSoftmax(cl.OnlineSoftmax):
    """An `OnlineSoftmax` of blocks with scales.

    query     factor of the scores of this warpgroup's queries
    greatest  of the scales of values
    """

    query: Any = 1.0
    greatest: Any = 1.0


@lru_cache(maxsize=4096)
def picked(work: Work, by_block: bool, multiprocessors: int) -> Config:
    """Return the configuration that is predicted to be the fastest; `by_block`: with scales of blocks of `SCALED`."""
    if by_block or work.left is not None or work.right is not None:
        return CHOSEN
    return min(COSTS, key=lambda cost: predicted(cost, work, multiprocessors)).config


def greatest(scales: Any) -> Any:
    """Return the greatest of the scales of a head's blocks, (N,). Who: all threads of a warp."""
    found, count = f32(0.0), i32(scales.shape[0])
    for i in range((count + 31) // 32):
        found = max(found, scales[min(i * 32 + cl.lane_idx(), count - 1)])
    return cl.warp_reduce(found, "max")


@dataclass(frozen=True)
class Fp8Plan(Plan):
    """As `Plan`, with values transposed in shared memory, and scales; `by_block`: of blocks of `SCALED`."""

    by_block: bool = False

    @fact
    def transposers(self) -> int:
        """Threads that transpose: three warps of the warpgroup that loads, where they share the keys; else one more."""
        return GROUP - 32 if self.config.columns % 96 == 0 else GROUP

    @fact
    def dims(self) -> tuple[int, int]:
        return BOX, BOX

    @fact
    def masked_first(self) -> bool:
        return False  # where its softmax begins, it needs the scales of the first block

    @fact
    def piece(self) -> tuple[int, int]:
        return BOX, 1

    def packed(self, p: Any) -> Any:
        """Return powers, in f32, in e4m3 in the order of operand A, of which a register holds four of a row.

        Of 32 keys a thread has 2 t, 2 t + 1 and those 8, 16 and 24 behind; `transpose_block` puts values in that order.
        """
        steps = self.config.columns // 32
        held = p.reshape((2, 2, 2, 2, steps))  # neighbours, rows, 8 keys behind, 16 keys behind, steps
        parts = [held[None, i, None, h, k] for k in range(steps) for h in range(2) for i in range(2)]
        return cl.vector(*parts, dtype=f32).to(e4m3)

    def values(self, here: Here, state: Any) -> Any:
        return here.storage.transposed[None, None, state.index]

    def start(self, s: Any, added: Any, here: Here) -> Any:
        tile = here.tile
        scales, batch, head, kv = here.given.scales, tile.batch, tile.head, tile.head // i32(H // HK)
        if not self.by_block:
            unit = here.given.scale * scales.of_queries[batch, head] * scales.of_keys[batch, kv]
            return cl.OnlineSoftmax.first(s, unit, e4m3, raised=RAISED, pack=self.packed)
        block = min((tile.row + here.group * ROWS) // SCALED, i32(scales.of_queries.shape[2]) - 1)
        query = here.given.scale * scales.of_queries[batch, head, block]
        most = greatest(scales.of_values[batch, kv, None])
        unit, shift = self.scales(query, most, tile.end - 1, here)
        p, softmax = cl.OnlineSoftmax.first(s, unit, e4m3, True, RAISED, 2, shift, self.packed)
        state = softmax.top, softmax.total, softmax.redone
        return p, BlockSoftmax(unit, e4m3, softmax.guess, *state, RAISED, 2, shift, self.packed, query, most)

    def of_block(self, softmax: Any, j: Any, here: Here) -> Any:
        if not self.by_block:
            return softmax
        unit, shift = self.scales(softmax.query, softmax.greatest, j, here)
        return replace(softmax, unit=unit, shift=shift)

    def scales(self, query: Any, most: Any, j: Any, here: Here) -> tuple[Any, Any]:
        """Return the factor of the scores of block j, and the powers of 2 by which its powers are multiplied."""
        scales, tile = here.given.scales, here.tile
        kv, block = tile.head // i32(H // HK), j * self.config.columns // SCALED
        of_keys, of_values = (x[tile.batch, kv, None] for x in (scales.of_keys, scales.of_values))
        key, value = (x[min(block, i32(x.shape[0]) - 1)] for x in (of_keys, of_values))
        part = cl.where(most == 0.0, LEAST, max(value * cl.math.rcp(most, fast=True), LEAST))
        return query * key, cl.math.log2(part, fast=True)

    def restored(self, inverse: Any, tile: Any, result: Any) -> Any:
        kv = tile.head // i32(H // HK)
        if self.by_block:
            return inverse * greatest(result.of_values[tile.batch, kv, None])
        return inverse * result.of_values[tile.batch, kv]

    def transpose(self, here: Here, loaded: Any, tiles: Any) -> None:
        """Transpose each block of values of each tile. Who: a warpgroup."""
        full, empty = loaded.consumer_state(), here.values.producer_state()
        tiles = tiles.advance()
        while tiles.is_valid():
            for _ in range(tiles.place.end - tiles.place.start):
                loaded.consumer_wait(full)
                here.values.producer_acquire(empty)
                self.transpose_block(here.storage, full.index)
                cl.fence_proxy_async("shared::cta")
                here.values.producer_commit(empty)
                loaded.consumer_release(full)
                full, empty = full.advance(), empty.advance()
            tiles = tiles.advance()

    def transpose_block(self, storage: Any, stage: Any) -> None:
        """Transpose a block: 32 keys and 16 columns at a time, as matrices of pairs of bytes."""
        width, layout = self.config.columns, storage.transposed.layout
        thread = cl.thread_idx.x % GROUP - (GROUP - self.transposers)
        lane, warp = thread % 32, thread // 32
        keys, key, column = (width // 3, width // 3 * warp, 0) if self.transposers < GROUP else (width, 0, 16 * warp)
        row, odd, half = lane % 8, lane // 8 % 2, lane // 16  # of the matrices of columns that are stored
        at = layout((column + 2 * row + (odd ^ row // 4), key + 16 * half, 0))  # rows of a matrix in different banks
        source = Rows.of(storage.v[None, None, stage], (key + lane) * BOX + column)
        target = Rows.of(storage.transposed[None, None, stage], at)
        even = cl.where(lane < 16, cl.u32(0x6420), cl.u32(0x7531))  # the bytes of one column: of each second one
        for i in cl.static_range(0, keys, 32):
            for j in cl.static_range(0, BOX, 16 if self.transposers < GROUP else 64):
                held = cl.bitcast(cl.ldmatrix(source.row(i * BOX + j), transpose=True), cl.u32)
                words = [cl.prmt(held[k], held[k + 1], x) for k in (0, 2) for x in (even, even ^ 0x1111)]
                cl.stmatrix(target.row(layout((j, i, 0))), cl.vector(*words, dtype=cl.u32))


class Rows(NamedTuple):
    """Rows of 16 bytes of a swizzled tile by their offsets, most of which are known while compiling.

    A swizzle is an XOR of bits of the offset. So where the bits of its two parts are apart, each is swizzled by itself,
    and what remains for each row is to add a number: but for those that change the same bits, which there are few of.

    memory   a tile
    swizzle  its swizzle, of bytes
    first    the part of offsets that threads differ by, swizzled
    """

    memory: Any
    swizzle: Any
    first: Any

    @classmethod
    def of(cls, tile: Any, first: Any) -> Any:
        """Return the rows of a tile; `first` is an offset before the swizzle."""
        rows = cl.make_tensor(tile.ptr, cl.make_layout((tile.nbytes // 16, 8), (8, 1)), cl.u16)
        swizzle = tile.value.type.swizzle
        return cls(rows, swizzle, swizzle(first))

    def row(self, rest: int) -> Any:
        """Return the row at the offset ``first + rest``."""
        rest, permuted = self.swizzle(rest), self.swizzle.source_mask >> self.swizzle.shift
        return self.memory[(self.first ^ (rest & permuted)) // 16 + (rest & ~permuted) // 16, None]


@lru_cache(maxsize=64)
def build(config: Config, problem: Problem, by_block: bool = False) -> Any:
    """Return the kernel. `by_block`: of scales of blocks."""
    plan, G, BN, STAGES = Fp8Plan(config, problem, by_block=by_block), config.groups, config.columns, config.stages
    dims = problem.dim, problem.dim_v
    Q = TmaTensor[e4m3, (B, H, SQ, dims[0]), (1, 1, ROWS, BOX), (None, None, None, 1)]
    K, V = (TmaTensor[e4m3, (B, HK, SK, n), (1, 1, BN, BOX), (None, None, None, 1)] for n in dims)
    O = TmaTensor[bf16, (B, H, SQ, dims[1]), (1, 1, ROWS, 64), (None, None, None, 1)]  # noqa: E741

    heads, kv_heads = ((B, H, QB), (B, HK, KB)) if by_block else ((B, H), (B, HK))
    OF_VALUES = Tensor[f32, (B, HK, VB) if by_block else kv_heads]

    class Storage(cl.SharedStorage):
        q: Smem[e4m3, cl.make_smem_layout(e4m3, (ROWS, BOX, G * config.queries))]
        k: Smem[e4m3, cl.make_smem_layout(e4m3, (BN, BOX, STAGES))]
        v: Smem[e4m3, cl.make_smem_layout(e4m3, (BN, BOX, STAGES))]
        transposed: Smem[e4m3, cl.make_smem_layout(e4m3, (BOX, BN, STAGES))]
        o: Smem[bf16, cl.make_smem_layout(bf16, (ROWS, BOX, G))]

    transposers = plan.transposers

    @cl.kernel(block=(1 + G + transposers // GROUP) * GROUP)
    def attention_fp8(
        q: Q, k: K, v: V, o: O, lse: Tensor[f32, (B, H, SQ)], of_queries: Tensor[f32, heads],
        of_keys: Tensor[f32, kv_heads], of_values: OF_VALUES, counter: Tensor[i32, (1,)] | None, scale: f32,
        offset: i32, left: i32, right: i32, band: i32,
    ) -> None:  # fmt: skip
        """`tiles.Given` explains the scalars, `Scales` `of_...`."""
        scales = Scales(of_queries, of_keys, of_values)
        storage, given = Storage.allocate(), Given(scale, offset, left, right, band, scales)
        tma = cl.PipelineTmaAsync
        queries = tma.create(G * config.queries, ROWS * BOX, GROUP, sync=False, reads="wgmma")
        keys = tma.create(STAGES, BN * BOX, G * GROUP, sync=False, reads="wgmma")
        loaded = tma.create(STAGES, BN * BOX, transposers, sync=False)
        transposed = cl.PipelineAsync.create(STAGES, transposers, G * GROUP, sync=False, reads="wgmma")
        group = cl.warpgroup_idx() - 1
        order = cl.PipelineOrder.create(1, G, group, GROUP, sync=False) if config.turns else None
        where: Any = lambda index: plan.tiles.place(index, given)  # noqa: E731
        tiles = cl.TileQueue.create(Tile, where, plan.tiles.count(), counter, G * GROUP + transposers)
        here = Here(storage, queries, keys, transposed, given, None, None, group)
        cl.pipeline_init_sync()
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                plan.produce(q, k, v, here._replace(values=loaded), tiles)
            if transposers < GROUP and cl.thread_idx.x >= GROUP - transposers:
                plan.transpose(here, loaded, tiles)
        elif cl.thread_idx.x >= (1 + G) * GROUP:
            cl.setmaxnreg_dec(TRANSPOSING)
            plan.transpose(here, loaded, tiles)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            plan.consume(Result(o, None, lse, None, of_values), here, tiles, order)

    return attention_fp8
