"""The kernel of decoding with latents: one vector for each key, whose first columns are also its value (MLA, absorbed).

    s = scale * q @ c.T,  o = softmax(s) @ c[:, :DV]

All heads share the latents: heads and queries are rows, 64 to a block of threads, and latents are read once for them.
One warpgroup computes scores and powers, and multiplies these with the first half of the values' columns. It hands them
on in shared memory to a second warpgroup, which multiplies them with the other half. A third one loads.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from functools import lru_cache
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, f32, i32
from cutelite.kernels.attention.combining import OB, OH, OS, SPLITS, SQ, B, H, of_rows
from cutelite.kernels.attention.decoding import (
    HK,
    LENGTHS,
    PAGE,
    PAGES,
    QB,
    QH,
    QS,
    SLOTS,
    TABLE,
    Config,
    Given,
    Kernels,
    Part,
    Plan,
    Ring,
)
from cutelite.kernels.attention.scores import BOX, GROUP, ROWS, Problem, Sight, modified
from cutelite.records import dataclass

THREADS = 3 * GROUP
REGISTERS = 24, 240  # of a thread that loads, and of one that computes
CHOSEN = Config(columns=64, stages=2, beside=1)


class Here(NamedTuple):
    """State that a block's threads share: memory, the ring of latents, and the ring in which powers are handed on."""

    storage: Any
    latents: Any
    powers: Any


@dataclass(frozen=True)
class LatentPlan(Plan):
    """As `Plan`, where values are columns of the keys."""

    @property
    def half(self) -> int:
        """Columns of the output that a warpgroup computes."""
        return self.problem.dim_v // 2

    def values(self, here: Here, state: Any, half: int) -> Any:
        """Return half of the columns of the values of a block, as wgmma takes them."""
        tile = cl.local_tile(here.storage.k[None, None, state.index], (self.config.columns, self.half), (0, half))
        return cl.select(tile, (1, 0))

    def clear_latents(self, here: Here, state: Any, part: Part) -> None:
        """Overwrite latents behind the sequence's last key with zeros: memory may hold NaN. Who: a warpgroup."""
        eights, behind = self.problem.dim_v // 8, part.length - (part.end - 1) * self.config.columns
        for i in range(self.config.columns * eights // GROUP):
            at = i * GROUP + cl.thread_idx.x
            if at // eights >= behind:
                target = cl.local_tile(here.storage.k[at // eights, None, state.index], (8,), (at % eights,))
                target.store(cl.full((8,), 0.0, self.problem.dtype))

    def hand_on(self, p: Any, factor: Any, here: Here, turn: Any) -> Any:
        """Write powers (unless None) and a factor for each row to shared memory. Who: the first warpgroup."""
        spots = cl.wgmma.coordinates(8)
        here.powers.producer_acquire(turn)
        for i in cl.static_range(2):
            if p is not None:
                for c in cl.static_range(self.config.columns // 8):
                    pair = cl.local_tile(here.storage.p[spots[2 * i][0], None], (2,), (4 * c + spots[0][1] // 2,))
                    pair.store(p[4 * c + 2 * i : 4 * c + 2 * i + 2])
            if spots[0][1] == 0:
                here.storage.factors[spots[2 * i][0]] = factor[i]
        if p is not None:
            cl.fence_proxy_async("shared::cta")
        here.powers.producer_commit(turn)
        return turn.advance()

    def lead(self, q: Any, here: Here, part: Part, given: Given) -> Any:
        """Return the first half of the output, and the logsumexp. Who: the first warpgroup."""
        spots, dtype, unit = cl.wgmma.coordinates(8), self.problem.dtype, given.scale
        queries, offset = cl.make_rmem_tensor(i32, (2,)), given.offset * (part.length - i32(SQ))
        for i in cl.static_range(2):
            queries[i] = self.place(part.row + spots[2 * i][0], 0)[0]
        at = queries.load().reshape((1, 2, 1))

        def scores(j: Any, state: Any) -> Any:
            here.latents.consumer_wait(state)
            none = cl.wgmma.zeros_accumulator(self.config.columns)
            s = cl.wgmma.mma_async(here.storage.q, here.storage.k[None, None, state.index], none, accumulate=False)
            cl.wgmma.commit_group()
            first = j * self.config.columns + spots[0][1]
            sight = Sight(at, first, None, part.length, offset, given.left, given.right)
            return modified(self.problem, cl.wgmma.wait_group(0, s), given.scale, sight, part.batch, 0, True)

        def add(p: Any, out: Any, state: Any) -> Any:
            out = cl.wgmma.mma_async(p, self.values(here, state, 0), out)
            cl.wgmma.commit_group()
            out = cl.wgmma.wait_group(0, out)
            here.latents.consumer_release(state)
            return out

        self.fetch(q, here.storage, part)
        state, turn = here.latents.consumer_state(), here.powers.producer_state()
        p, softmax = cl.OnlineSoftmax.first(scores(part.end - 1, state), unit, dtype)
        if part.length < part.end * self.config.columns:
            self.clear_latents(here, state, part)
        turn = self.hand_on(p, cl.full((2,), 1.0, f32), here, turn)  # fences what was cleared, too
        if part.length < part.end * self.config.columns:
            cl.NamedBarrier(1, GROUP).sync()
        out, state = add(p, cl.wgmma.zeros_accumulator(self.half), state), state.advance()
        for i in range(part.end - 1 - part.start):
            p, softmax, ratio, moved = softmax.step(scores(part.end - 2 - i, state))
            turn = self.hand_on(p, ratio, here, turn)
            if moved:
                out = cl.scale_rows(out, ratio)
            out, state = add(p, out, state), state.advance()
        inverse, sums = softmax.finish()
        self.hand_on(None, inverse, here, turn)
        return cl.scale_rows(out, inverse), sums

    def follow(self, here: Here, part: Part) -> Any:
        """Return the second half of the output. Who: the second warpgroup."""
        spots, state, turn = cl.wgmma.coordinates(8), here.latents.consumer_state(), here.powers.consumer_state()

        def factors() -> Any:
            found = cl.make_rmem_tensor(f32, (2,))
            for i in cl.static_range(2):
                found[i] = here.storage.factors[spots[2 * i][0]]
            return found.load()

        out = cl.wgmma.zeros_accumulator(self.half)
        for _ in range(part.end - part.start):
            here.powers.consumer_wait(turn)  # the first warpgroup has waited for the latents
            ratio = factors()
            if cl.vote_any((ratio[0] != 1.0) | (ratio[1] != 1.0)):
                out = cl.scale_rows(out, ratio)
            started = cl.wgmma.mma_async(here.storage.p, self.values(here, state, 1), out)
            cl.wgmma.commit_group()
            out = cl.wgmma.wait_group(0, started)
            here.powers.consumer_release(turn)
            here.latents.consumer_release(state)
            state, turn = state.advance(), turn.advance()
        here.powers.consumer_wait(turn)
        return cl.scale_rows(out, factors())

    def write(self, out: Any, half: int, o: Any, part: Part) -> None:
        """Write half of the columns of the output. Who: a warpgroup."""
        spots, out = cl.wgmma.coordinates(8), out.to(o.dtype)
        for i in cl.static_range(2):
            row = part.row + spots[2 * i][0]
            query, head = self.place(row, 0)
            if row < SQ * self.together:
                cl.store_row(out, i, cl.local_tile(o[part.batch, query, head, None], (self.half,), (half,)))


@lru_cache(maxsize=64)
def build(config: Config, problem: Problem, together: int, page: int, split: bool, many: bool = False) -> Kernels:
    """Return the kernels, as `decoding.build`. `together`: all heads."""
    plan = LatentPlan(config, problem, together, page, many)
    return Kernels(of_latents(plan, split), of_rows(problem.dtype, problem.dim_v, config.columns, False))


def of_latents(plan: LatentPlan, split: bool) -> Any:
    """Return the kernel that computes parts. Its grid is `decoding.grid_of`."""
    config, problem, dtype, D = plan.config, plan.problem, plan.problem.dtype, plan.dims[0]
    BN, STAGES = config.columns, config.stages
    K = TmaTensor[dtype, (PAGES, HK, PAGE, problem.dim), (1, 1, plan.chunk, BOX), (None, None, None, 1)]
    O: Any = Tensor[dtype, (B, SQ, H, problem.dim_v), (OB, OS, OH, 1)]  # noqa: E741
    LSE: Any = Tensor[f32, (B, H, SQ)]
    if split:
        O, LSE = Tensor[f32, (B, SQ, H, SPLITS, problem.dim_v)], Tensor[f32, (B, H, SQ, SPLITS)]  # noqa: E741

    class Storage(cl.SharedStorage):
        q: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, D))]
        k: Smem[dtype, cl.make_smem_layout(dtype, (BN, D, STAGES))]
        p: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, BN))]
        factors: Smem[f32, (ROWS,)]

    @cl.kernel(block=THREADS)
    def latents(
        q: Tensor[dtype, (B, SQ, H, problem.dim), (QB, QS, QH, 1), cl.align(16)], k: K, o: O, lse: LSE,
        lengths: LENGTHS, table: TABLE, scale: f32, offset: i32, left: i32,
        right: i32, blocks: i32,
    ) -> None:  # fmt: skip
        """`Given` explains the scalars; `table` has the pages of each sequence."""
        storage, given = Storage.allocate(), Given(scale, offset, left, right, blocks)
        ring = cl.PipelineTmaAsync.create(STAGES, BN * D * dtype.bytes, 2 * GROUP, sync=False, reads="wgmma")
        here = Here(storage, ring, cl.PipelineAsync.create(1, GROUP, GROUP, sync=False))
        cl.griddepcontrol_launch_dependents()
        cl.pipeline_init_sync()
        part = plan.part(lengths, PAGE if table is None else SLOTS * PAGE, given)
        if part.start < part.end:
            if split:
                o, lse = o[None, None, None, cl.block_idx.x, None], lse[None, None, None, cl.block_idx.x]
            if cl.thread_idx.x >= 2 * GROUP:
                cl.setmaxnreg_dec(REGISTERS[0])
                if cl.thread_idx.x == 2 * GROUP:
                    plan.produce((Ring(k, storage.k, ring),), table, part)
            elif cl.thread_idx.x < GROUP:
                cl.setmaxnreg_inc(REGISTERS[1])
                out, sums = plan.lead(q, here, part, given)
                plan.write(out, 0, o, part)
                spots = cl.wgmma.coordinates(8)
                for i in cl.static_range(2):
                    row = part.row + spots[2 * i][0]
                    if row < SQ * plan.together and spots[0][1] == 0:
                        query, head = plan.place(row, 0)
                        lse[part.batch, head, query] = sums[i]
            else:
                cl.setmaxnreg_inc(REGISTERS[1])
                plan.write(plan.follow(here, part), 1, o, part)

    return latents
