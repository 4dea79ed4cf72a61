"""How the backward pass of attention is cut up, and what is done before and after its products.

`prepare` sums up rows of o * do and clears the sums of dq; `finish` makes dq of these. The kernel between them is in
`backward`.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from dataclasses import dataclass
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Tensor, TmaTensor, f32, i32
from cutelite.kernels.attention.scores import BOX, GROUP, INF, LN2, ROWS, Problem
from cutelite.kernels.attention.tiles import Given

B, H, HK, SQ, SK, MB = cl.dims("B H HK SQ SK MB")


@dataclass(frozen=True)
class Config:
    """How the work is cut up.

    rows     queries of a block
    groups   warpgroups that compute, each for 64 keys
    stages   blocks of queries, and of gradients of outputs, that are held
    held     blocks of dS that are held
    turned   a warpgroup computes a part of dq transposed: 64 columns of a head; else 64 queries
    late     dv is multiplied when dS is known, with dk: fewer registers are in use at a time
    direct   dq is added to the sums right from registers
    regs     registers of a thread of the warpgroup that loads, and of one that computes
    """

    rows: int = 64
    groups: int = 2
    stages: int = 2
    held: int = 2
    turned: bool = True
    late: bool = False
    direct: bool = False
    regs: tuple[int, int] = (24, 240)


def chosen(dim: int, some: bool) -> Config:
    """What was measured best (docs/lab/attention-backward.md), for a head dim of 64 or 128.

    some   queries see some keys by their place: by causality or windows, not all
    """
    if dim == 64:
        return Config(128, turned=False)
    return Config() if some else Config(held=3, direct=True)


class Tile(NamedTuple):
    """A block's batch, head of keys and first key; the first and the end of the blocks of queries that see it."""

    batch: Any
    kv: Any
    key: Any
    begin: Any
    end: Any


@dataclass(frozen=True)
class Plan:
    """What follows from a configuration for a problem."""

    config: Config
    problem: Problem

    @property
    def dim(self) -> int:
        """Columns of a head in shared memory: TMA brings zeros beyond those that there are."""
        return -(-self.problem.dim // BOX) * BOX

    @property
    def keys(self) -> int:
        """Of a block."""
        return ROWS * self.config.groups

    @property
    def columns(self) -> int:
        """Of a warpgroup's part of a block of dq, which has 64 rows."""
        return self.dim * self.config.rows // self.keys

    @property
    def sums(self) -> Any:
        """The type of what dq is added up in: parts in the order of accumulators."""
        return Tensor[f32, (B, H, MB, self.config.groups, ROWS * self.columns), cl.align(16)]

    @property
    def turns(self) -> Any:
        """The type of whose turn it is."""
        return Tensor[i32, (B, H, MB, self.config.groups)]

    def box(self, heads: Any, length: Any, rows: int) -> Any:
        """The type of q and what is alike."""
        shape = B, heads, length, self.problem.dim
        return TmaTensor[self.problem.dtype, shape, (1, 1, rows, BOX), (None, None, None, 1)]

    def place(self, given: Given) -> Tile:
        """This block's tile: key by key, of a band of heads before the next ones."""
        BM, BN = self.config.rows, self.keys
        index, across, heads = cl.block_idx.x, i32(cl.ceil_div(SK, BN)), i32(HK)
        major = given.band * across
        part, rest = index // major, index % major
        here = min(given.band, i32(B) * heads - part * given.band)
        head, key = part * given.band + rest % here, rest // here * BN
        end: Any = i32(cl.ceil_div(SQ, BM))
        begin: Any = i32(0)
        if self.problem.right:
            begin = min(end, max(0, key - given.offset - given.right) // BM)
        if self.problem.left:
            end = max(begin, min(end, (max(-BM, key + BN - 1 - given.offset + given.left) + BM) // BM))
        return Tile(head // heads, head % heads, key, begin, end)

    def accumulators(self, part: Any) -> Any:
        """What this thread has of a part of sums: (4, columns / 8)."""
        by_thread = cl.with_layout(part, cl.make_layout((4, GROUP, self.columns // 8), (1, 4, 4 * GROUP)))
        return by_thread[None, cl.thread_idx.x % GROUP, None]

    def moved(self, n: int, operation: Any) -> Any:
        """A copy of accumulators of n columns, and this thread's part of it."""
        atom = cl.make_copy_atom(operation, self.problem.dtype)
        copy = cl.make_tiled_copy_C(atom, cl.make_tiled_mma(cl.WarpgroupMmaOp(self.problem.dtype, f32, n)))
        return copy, copy.get_slice(cl.thread_idx.x % GROUP)

    def put(self, values: Any, target: Any, transpose: bool = False) -> None:
        """A warpgroup: an accumulator to 64 rows of shared memory; `transpose`: rows that are columns there."""
        n = 2 * values.n
        copy, mine = self.moved(n, cl.StMatrix8x8x16bOp(transpose=transpose, num_matrices=4))
        held = cl.make_rmem_tensor(self.problem.dtype, (n // 2,))
        held.store(values.to(self.problem.dtype))
        cl.copy(copy, mine.retile(held.view(cl.make_layout(((2, 2, n // 8), 1, 1)))), mine.partition_D(target))


def prepare(plan: Plan) -> Any:
    """The kernel that sums up rows of o * do, and clears the sums of dq. A block has a block of queries."""
    dtype, BM, D = plan.problem.dtype, plan.config.rows, plan.dim
    O = plan.box(H, SQ, BM)  # noqa: E741
    ROW = Tensor[f32, (B, H, SQ)]

    @cl.kernel(block=256)
    def prepare(
        o: O, do: O, lse: ROW, dlse: ROW | None, base: Tensor[f32, (B, H, MB, 2 * BM)], sums: plan.sums,
        turns: plan.turns | None, offset: i32, left: i32,
    ) -> None:  # fmt: skip
        t, (m, head, batch) = cl.thread_idx.x, (cl.block_idx.x, cl.block_idx.y, cl.block_idx.z)
        tiles = [cl.shared(dtype, cl.make_smem_layout(dtype, (BM, D)), align=1024) for _ in range(2)]
        pipe = cl.PipelineTmaAsync.create(1, 2 * BM * D * dtype.bytes, 256)
        if t == 0:
            state = pipe.producer_state()
            pipe.producer_acquire(state)
            for tensor, tile in zip((o, do), tiles, strict=True):
                cl.tma_load(tensor, tile, at=(batch, head, m * BM, 0), barrier=pipe.barrier(state))
            for g in cl.static_range(plan.config.groups if turns is not None else 0):
                turns[batch, head, m, g] = max(0, m * BM + offset - left) // plan.keys  # the first that adds
        mine = cl.with_layout(sums[batch, head, m, None, None], cl.make_layout((4, 256, BM * D // 1024), (1, 4, 1024)))
        for i in cl.static_range(BM * D // 1024):
            mine[None, t, i].store(cl.full((4,), 0.0, f32))
        pipe.consumer_wait(pipe.consumer_state())
        for i in cl.static_range(-(-BM // 32)):
            r, total = i * 32 + t // 8, f32(0.0)
            if BM % 32 == 0 or r < BM:
                for c in cl.static_range(D // BOX):
                    x, y = (cl.local_tile(tile[r, None], (8,), (c * 8 + t % 8,)).load().to(f32) for tile in tiles)
                    total = total + (x * y).reduce("sum")
            total, known = cl.warp_reduce(total, width=8), -INF
            if t % 8 == 0 and (BM % 32 == 0 or r < BM):
                if m * BM + r < i32(SQ):
                    known = lse[batch, head, m * BM + r]
                    if dlse is not None:
                        total = total - dlse[batch, head, m * BM + r]
                at = r // 16 * 16 + r % 8 // 2 * 4 + r // 8 % 2 * 2 + r % 2  # as `Worker.of_rows` reads it
                base[batch, head, m, at] = cl.where(known == -INF, INF, known / LN2)
                base[batch, head, m, BM + at] = total

    return prepare


def finish(plan: Plan) -> Any:
    """The kernel that makes dq of the sums. A block has a block of queries."""
    BM, turned = plan.config.rows, plan.config.turned

    @cl.kernel(block=plan.config.groups * GROUP)
    def finish(dq: plan.box(H, SQ, BM), sums: plan.sums, scale: f32) -> None:
        part, (m, head, batch) = cl.warpgroup_idx(), (cl.block_idx.x, cl.block_idx.y, cl.block_idx.z)
        tile = cl.shared(plan.problem.dtype, cl.make_smem_layout(plan.problem.dtype, (BM, plan.dim)), align=1024)
        values = plan.accumulators(sums[batch, head, m, part, None]).load() * scale
        target = cl.local_tile(cl.select(tile, (1, 0)) if turned else tile, (ROWS, plan.columns), (part, 0))
        plan.put(values.reshape((plan.columns // 2,)), target, turned)
        cl.fence_proxy_async("shared::cta")
        cl.syncthreads()
        if cl.thread_idx.x == 0:
            cl.tma_store(tile, dq, at=(batch, head, m * BM, 0))
            cl.cp_async_bulk_commit_group()
            cl.cp_async_bulk_wait_group(0, read=True)

    return finish
