"""The forward kernel on fp8: q, k and v in e4m3, with a scale for each head; the output in bf16.

wgmma takes fp8 operands from shared memory only with the dimension they are summed over contiguous, which for values is
that of keys. So one more warpgroup transposes each block of values in shared memory, and puts keys there in the order
in which powers lie in registers: sums do not depend on it, and powers need no exchange between threads.

Powers are raised by 2^6, for e4m3 has few exponents: they are at most 2^8 of its 448.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined, arg-type"

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, bf16, e4m3, f32, i32
from cutelite.kernels.attention.forward import HK, Config, Here, Plan
from cutelite.kernels.attention.scores import GROUP, ROWS, Problem
from cutelite.kernels.attention.tiles import SK, SQ, B, H, Tile

BOX = 128  # columns: a swizzled row of 128 bytes
RAISED = 6.0
CHOSEN = Config(pairs=True, regs=(24, 216))
TURNING = 40  # registers of a thread that transposes


class Scaled(NamedTuple):
    """The scalars of the forward kernel (`tiles.Given`), and the scales of queries (B, H) and keys (B, HK)."""

    scale: Any
    offset: Any
    left: Any
    right: Any
    band: Any
    of_queries: Any
    of_keys: Any


class Result(NamedTuple):
    """The arrays that `finish` uses; `rows` and `sinks` are None."""

    o: Any
    rows: Any
    lse: Any
    sinks: Any
    of_values: Any


@dataclass(frozen=True)
class Fp8Plan(Plan):
    """As `Plan`, with values transposed in shared memory, and scales."""

    @property
    def dims(self) -> tuple[int, int]:
        return BOX, BOX

    @property
    def piece(self) -> tuple[int, int]:
        return BOX, 1

    def operand(self, p: Any) -> Any:
        """Return powers as operand A takes them, of which a register has four of a row.

        Of 32 keys a thread has 2 t, 2 t + 1 and those 8, 16 and 24 behind; `turn` puts them where these registers are.
        """
        steps = self.config.columns // 32
        held = p.reshape((2, 2, 2, 2, steps))  # neighbours, rows, 8 keys behind, 16 keys behind, steps
        parts = [held[None, i, None, h, k] for k in range(steps) for h in range(2) for i in range(2)]
        return cl.vector(*parts, dtype=e4m3)

    def values(self, here: Here, state: Any) -> Any:
        return here.storage.turned[None, None, state.index]

    def start(self, s: Any, tile: Any, here: Here) -> Any:
        given, batch = here.given, tile.batch
        unit = given.scale * given.of_queries[batch, tile.head] * given.of_keys[batch, tile.head // i32(H // HK)]
        return cl.OnlineSoftmax.first(s, unit, e4m3, False, RAISED)

    def restored(self, inverse: Any, tile: Any, result: Any) -> Any:
        return inverse * result.of_values[tile.batch, tile.head // i32(H // HK)]

    def turn(self, here: Here, loaded: Any, tiles: Any) -> None:
        """Transpose each block of values of each tile. Who: a warpgroup."""
        full, empty = loaded.consumer_state(), here.values.producer_state()
        tiles = tiles.advance()
        while tiles.is_valid():
            for _ in range(tiles.place.end - tiles.place.start):
                loaded.consumer_wait(full)
                here.values.producer_acquire(empty)
                self.turn_block(here.storage, full.index)
                cl.fence_proxy_async("shared::cta")
                here.values.producer_commit(empty)
                loaded.consumer_release(full)
                full, empty = full.advance(), empty.advance()
            tiles = tiles.advance()

    def turn_block(self, storage: Any, stage: Any) -> None:
        """Transpose a block, 4 x 4 bytes at a time. A warp takes 8 groups of keys, 4 of columns."""
        lane, warp = cl.thread_idx.x % 32, cl.thread_idx.x % GROUP // 32
        step, t = lane % 8 // 4, lane % 4  # the half of 32 keys, and the thread of a group that has its powers
        for i in cl.static_range(self.config.columns // 32):
            first = 32 * i + 16 * step + 2 * t
            for j in cl.static_range(BOX // 64):
                column, held = j * 16 + warp * 4 + lane // 8, cl.make_rmem_tensor(cl.u32, (4,))
                for k in cl.static_range(4):
                    row = storage.v[first + k // 2 * 8 + k % 2, None, stage]
                    held[k] = cl.bitcast(cl.local_tile(row, (4,), (column,)).load(), cl.u32)
                for k in cl.static_range(4):
                    half = 0x5140 if k < 2 else 0x7362  # the first or the last two columns of two keys, in turn
                    low, high = cl.prmt(held[0], held[1], half), cl.prmt(held[2], held[3], half)
                    word = cl.prmt(low, high, 0x5410 if k % 2 == 0 else 0x7632)
                    target = cl.local_tile(storage.turned[4 * column + k, None, stage], (4,), (8 * i + lane % 8,))
                    target.store(cl.bitcast(word, e4m3))


@lru_cache(maxsize=64)
def build(config: Config, problem: Problem) -> Any:
    """Return the kernel."""
    plan, G, BN, STAGES = Fp8Plan(config, problem), config.groups, config.columns, config.stages
    dims = problem.dim, problem.dim_v
    Q = TmaTensor[e4m3, (B, H, SQ, dims[0]), (1, 1, ROWS, BOX), (None, None, None, 1)]
    K, V = (TmaTensor[e4m3, (B, HK, SK, n), (1, 1, BN, BOX), (None, None, None, 1)] for n in dims)
    O = TmaTensor[bf16, (B, H, SQ, dims[1]), (1, 1, ROWS, 64), (None, None, None, 1)]  # noqa: E741

    class Storage(cl.SharedStorage):
        q: Smem[e4m3, cl.make_smem_layout(e4m3, (ROWS, BOX, G * config.queries))]
        k: Smem[e4m3, cl.make_smem_layout(e4m3, (BN, BOX, STAGES))]
        v: Smem[e4m3, cl.make_smem_layout(e4m3, (BN, BOX, STAGES))]
        turned: Smem[e4m3, cl.make_smem_layout(e4m3, (BOX, BN, STAGES))]
        o: Smem[bf16, cl.make_smem_layout(bf16, (ROWS, BOX, G))]

    @cl.kernel(block=(2 + G) * GROUP)
    def attention_fp8(
        q: Q, k: K, v: V, o: O, lse: Tensor[f32, (B, H, SQ)], of_queries: Tensor[f32, (B, H)],
        of_keys: Tensor[f32, (B, HK)], of_values: Tensor[f32, (B, HK)], counter: Tensor[i32, (1,)] | None, scale: f32,
        offset: i32, left: i32, right: i32, band: i32,
    ) -> None:  # fmt: skip
        """`tiles.Given` explains the scalars; `of_...` are scales."""
        storage, given = Storage.allocate(), Scaled(scale, offset, left, right, band, of_queries, of_keys)
        tma = cl.PipelineTmaAsync
        queries = tma.create(G * config.queries, ROWS * BOX, GROUP, sync=False, reads="wgmma")
        keys = tma.create(STAGES, BN * BOX, G * GROUP, sync=False, reads="wgmma")
        loaded = tma.create(STAGES, BN * BOX, GROUP, sync=False)
        turned = cl.PipelineAsync.create(STAGES, GROUP, G * GROUP, sync=False)
        group = cl.warpgroup_idx() - 1
        order = cl.PipelineOrder.create(1, G, group, GROUP, sync=False) if config.turns else None
        where: Any = lambda index: plan.tiles.place(index, given)  # noqa: E731
        tiles = cl.TileQueue.create(Tile, where, plan.tiles.count(), counter, (1 + G) * GROUP)
        here = Here(storage, queries, keys, turned, given, None)
        cl.pipeline_init_sync()
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                plan.produce(q, k, v, here._replace(values=loaded), tiles)
        elif cl.thread_idx.x >= (1 + G) * GROUP:
            cl.setmaxnreg_dec(TURNING)
            plan.turn(here, loaded, tiles)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            plan.consume(Result(o, None, lse, None, of_values), here, tiles, order, group)

    return attention_fp8
