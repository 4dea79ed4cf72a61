"""The kernel of decoding with latents: one vector for each key, whose first columns are also its value (MLA, absorbed).

    s = scale * q @ c.T,  o = softmax(s) @ c[:, :DV]

All heads share the latents: heads and queries are rows, 64 to a block of threads, and latents are read once for them.
One warpgroup computes scores and powers, and multiplies these with the first half of the values' columns. It hands them
on in shared memory to a second warpgroup, which multiplies them with the other half. A third one loads. Powers of the
second half of a block's keys are computed while those of the first half are multiplied.
"""

from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Smem, Tensor, f32, i32
from cutelite.kernels.attention.combining import H
from cutelite.kernels.attention.gaps import clear
from cutelite.kernels.attention.parts import PAGE, QB, QH, QS, SLOTS, TABLE, Config, OfParts, Part
from cutelite.kernels.attention.scores import GROUP, ROWS, Problem, modified
from cutelite.kernels.attention.sequences import LENGTHS, SQ, B, Keys
from cutelite.tuples import NamedTuple

THREADS = 3 * GROUP
REGISTERS = 40, 232  # of a thread that loads, and of one that computes
PIECES = 2  # of a block's keys, whose powers are handed on together
CHOSEN = Config(columns=64, stages=2, beside=1)


class Here(NamedTuple):
    """State that a block's threads share: memory, the ring of latents, and the ring in which powers are handed on."""

    storage: Any
    latents: Any
    powers: Any


class Plan(OfParts):
    """A plan where values are columns of the keys."""

    LOOKUPS = 8  # there are registers for so many

    @property
    def half(self) -> int:
        """Columns of the output that a warpgroup computes."""
        return self.problem.dim_v // 2

    @property
    def piece(self) -> int:
        """Keys of a piece."""
        return self.config.columns // PIECES

    def start(self, p: Any, out: Any, here: Here, state: Any, piece: int, half: int) -> Any:
        """Start adding the products of a piece's powers and half of the columns of its values."""
        tile = cl.local_tile(here.storage.k[None, None, state.index], (self.piece, self.half), (piece, half))
        out = cl.wgmma.mma_async(p, cl.select(tile, (1, 0)), out)
        cl.wgmma.commit_group()
        return out

    def hand_on(self, p: Any, factor: Any, here: Here, turn: Any) -> Any:
        """Write powers (unless None) and a factor for each row to shared memory. Who: the first warpgroup."""
        spots = cl.wgmma.coordinates(8)
        here.powers.producer_acquire(turn)
        for i in cl.static_range(2):
            if p is not None:
                cl.store_row(p, i, here.storage.p[spots[2 * i][0], None, turn.index])
            if spots[0][1] == 0:
                here.storage.factors[spots[2 * i][0], turn.index] = factor[i]
        if p is not None:
            cl.fence_proxy_async("shared::cta")
        here.powers.producer_commit(turn)
        return turn.advance()

    def lead(self, q: Any, here: Here, part: Part, scale: Any) -> Any:
        """Return the first half of the output, and the logsumexp. Who: the first warpgroup."""
        query, column = cl.vector(*(query for _, query, _ in self.rows(part))), cl.wgmma.coordinates(8)[0][1]
        BN, KEYS, few, whole = self.config.columns, self.keys, self.piece // 2, self.whole(part)
        behind = part.sight.end - (part.end - 1) * KEYS

        def scores(j: Any, state: Any) -> Any:
            here.latents.consumer_wait(state)
            none = cl.wgmma.zeros_accumulator(BN)
            s = cl.wgmma.mma_async(here.storage.q, here.storage.k[None, None, state.index], none, accumulate=False)
            cl.wgmma.commit_group()
            s = cl.wgmma.wait_group(0, s)
            if BN > KEYS or j >= whole:
                sight = self.sight(part, j)._replace(at=query.reshape((1, 2, 1)), key=j * KEYS + column)
                s = modified(self.problem, s, scale, sight, part.batch, 0, True)
            return s

        if BN > KEYS:
            for stage in cl.static_range(self.config.stages):
                clear(here.storage.k[None, None, stage], KEYS, cl.thread_idx.x, GROUP)
        self.fetch(q, here.storage, part)  # fences what was cleared, too
        state, turn = here.latents.consumer_state(), here.powers.producer_state()
        p, softmax = cl.OnlineSoftmax.first(scores(part.end - 1, state), scale, self.problem.dtype)
        if behind < KEYS:
            latents = here.storage.k[None, None, state.index]
            values = cl.local_tile(latents, (BN, self.problem.dim_v), (0, 0))
            clear(values, behind, cl.thread_idx.x, GROUP)
        for i in cl.static_range(PIECES):
            turn = self.hand_on(p[i * few : i * few + few], cl.full((2,), 1.0, f32), here, turn)  # fences that, too
        if behind < KEYS:
            cl.NamedBarrier(1, GROUP).sync()
        out = cl.wgmma.zeros_accumulator(self.half)
        for i in cl.static_range(PIECES):
            out = self.start(p[i * few : i * few + few], out, here, state, i, 0)
        out = cl.wgmma.wait_group(0, out)
        here.latents.consumer_release(state)
        state = state.advance()
        for block in range(part.end - 1 - part.start):
            s = scores(part.end - 2 - block, state)
            for i in cl.static_range(PIECES):
                p, softmax, ratio, moved = softmax.step(s[i * few : i * few + few])
                turn = self.hand_on(p, ratio, here, turn)
                if i > 0:
                    out = cl.wgmma.wait_group(0, out)
                if moved:
                    out = cl.scale_rows(out, ratio)
                out = self.start(p, out, here, state, i, 0)
            out = cl.wgmma.wait_group(0, out)
            here.latents.consumer_release(state)
            state = state.advance()
        inverse, sums = softmax.finish()
        self.hand_on(None, inverse, here, turn)
        return cl.scale_rows(out, inverse), sums

    def follow(self, here: Here, part: Part) -> Any:
        """Return the second half of the output. Who: the second warpgroup."""
        spots, state, turn = cl.wgmma.coordinates(8), here.latents.consumer_state(), here.powers.consumer_state()

        def factors() -> Any:
            return cl.vector(*(here.storage.factors[spots[2 * i][0], turn.index] for i in (0, 1)))

        out = cl.wgmma.zeros_accumulator(self.half)
        for _ in range(part.end - part.start):
            for i in cl.static_range(PIECES):
                here.powers.consumer_wait(turn)  # the first warpgroup has waited for the latents
                ratio = factors()
                if cl.vote_any((ratio[0] != 1.0) | (ratio[1] != 1.0)):
                    out = cl.scale_rows(out, ratio)
                out = self.start(here.storage.p[None, None, turn.index], out, here, state, i, 1)
                out = cl.wgmma.wait_group(0, out)
                here.powers.consumer_release(turn)
                turn = turn.advance()
            here.latents.consumer_release(state)
            state = state.advance()
        here.powers.consumer_wait(turn)
        return cl.scale_rows(out, factors())


@lru_cache(maxsize=64)
def build(config: Config, problem: Problem, together: int, page: int, split: bool) -> Any:
    """Return the kernel, as `decoding.build`, for a grid without clusters. `together`: all heads."""
    plan, dtype = Plan(config, problem, together, page), problem.dtype
    D, BN, STAGES = plan.dims[0], config.columns, config.stages
    K, (O, LSE) = plan.cached(problem.dim), plan.result(split)  # noqa: E741

    class Storage(cl.SharedStorage):
        q: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, D))]
        k: Smem[dtype, cl.make_smem_layout(dtype, (BN, D, STAGES))]
        p: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, plan.piece, PIECES))]
        factors: Smem[f32, (ROWS, PIECES)]

    @cl.kernel(block=THREADS)
    def decode_latent(
        q: Tensor[dtype, (B, SQ, H, problem.dim), (QB, QS, QH, 1), cl.align(16)], latents: K, o: O, lse: LSE,
        lengths: LENGTHS, table: TABLE, scale: f32, offset: i32, left: i32, right: i32,
    ) -> None:  # fmt: skip
        """As of `decoding`."""
        storage = Storage.allocate()
        ring = cl.PipelineTmaAsync.create(STAGES, plan.keys * D * dtype.bytes, 2 * GROUP, sync=False, reads="wgmma")
        here = Here(storage, ring, cl.PipelineAsync.create(PIECES, GROUP, GROUP, sync=False))
        cl.griddepcontrol_launch_dependents()
        part = plan.part(Keys(lengths, PAGE if table is None else SLOTS * PAGE, offset, left, right, None))
        cl.pipeline_init_sync()
        if part.start < part.end:
            if split:
                o, lse = o[None, None, None, cl.block_idx.y, None], lse[None, None, None, cl.block_idx.y]
            if cl.thread_idx.x >= 2 * GROUP:
                cl.setmaxnreg_dec(REGISTERS[0])
                if cl.thread_idx.x == 2 * GROUP:
                    plan.produce(((latents, storage.k, ring),), table, part)
            elif cl.thread_idx.x < GROUP:
                cl.setmaxnreg_inc(REGISTERS[1])
                out, sums = plan.lead(q, here, part, scale)
                plan.write(out, o, part, sums, lse, half=0)
            else:
                cl.setmaxnreg_inc(REGISTERS[1])
                plan.write(plan.follow(here, part), o, part, half=1)

    return decode_latent
