"""The kernels of decoding: attention of few queries of each sequence to a cache of keys and values.

The bytes of keys and values bound it. The query heads that share keys, and the queries of a sequence, are the rows of
one tile. Keys are split over blocks of threads: each loads its part by TMA and computes a partial output and
logsumexp. A second kernel, launched while the first still runs, combines these.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

from functools import lru_cache
from math import gcd
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, f32, i32
from cutelite.kernels.attention.blocks import tables_of
from cutelite.kernels.attention.combining import OB, OH, OS, SPLITS, SQ, B, H, of_rows
from cutelite.kernels.attention.gathering import gather, held_of, hold
from cutelite.kernels.attention.plans import OfProblem
from cutelite.kernels.attention.scores import BOX, GROUP, INF, ROWS, Problem, Sight, modified
from cutelite.records import dataclass
from cutelite.target import TARGETS

HK, PAGES, PAGE, SLOTS = cl.dims("HK PAGES PAGE SLOTS")
QB, QS, QH = (cl.Dim(name, 8, min=0) for name in ("QB", "QS", "QH"))
LENGTHS = Tensor[i32, (B,), (None,)] | None
TABLE = Tensor[i32, (B, SLOTS), (None, None)] | None
THREADS = GROUP + 32  # of a block that computes: a warpgroup, and a warp that loads
TOGETHER = 16  # places in a table that are looked up at once


@dataclass(frozen=True)
class Config:
    """A configuration of the kernel.

    columns  keys of a block
    stages   blocks of keys, and of values, in shared memory
    beside   blocks of threads that run on one multiprocessor
    """

    columns: int = 64
    stages: int = 3
    beside: int = 2


def chosen(dim: int) -> Config:
    """Return the configuration for a head dim, a multiple of 64."""
    return Config(stages=2 if dim == 128 else 3, beside=2 if dim <= 128 else 1)


class Given(NamedTuple):
    """The scalar parameters of the kernel: those of the forward kernel, and the blocks of keys of a split.

    offset  1: the last query's own place is the last key; 0: the first query's is the first key
    """

    scale: Any
    offset: Any
    left: Any
    right: Any
    blocks: Any


class Part(NamedTuple):
    """The work of a block of threads: the rows from `row` on, and a range of keys.

    length      keys of the sequence
    start, end  the range, in blocks of keys
    """

    batch: Any
    kv: Any
    row: Any
    length: Any
    start: Any
    end: Any


class Ring(NamedTuple):
    """An array of the cache, and the ring of shared memory that its blocks of keys go through."""

    array: Any
    blocks: Any
    pipe: Any


@dataclass(frozen=True)
class Plan(OfProblem):
    """The sizes that follow from a configuration and a problem, and the code of the kernel's threads.

    together  query heads that share keys and values
    page      keys of a page; 0: each sequence has its keys in one piece
    many      sequences are along x of the grid, of which the others end at `SEQUENCES`; keys are not split
    """

    config: Config
    problem: Problem
    together: int
    page: int
    many: bool = False
    arrays: bool = False

    @property
    def chunk(self) -> int:
        """The keys of a block that are contiguous in global memory: one TMA copy."""
        return gcd(self.page, self.config.columns)

    def part(self, lengths: Any, keys: Any, given: Given) -> Part:
        """Return the work of this block of threads. `keys`: the length of each sequence where `lengths` is None."""
        tiles, BN = i32(cl.ceil_div(SQ * self.together, ROWS)), self.config.columns
        batch, split = i32(cl.block_idx.x if self.many else cl.block_idx.z), 0 if self.many else cl.block_idx.x
        length: Any = i32(keys)
        if lengths is not None:
            length = min(length, lengths[batch])
        blocks = max(1, (length + BN - 1) // BN)  # a sequence without keys has one block, all masked
        low: Any = i32(0)
        if self.problem.left:
            low = min(blocks - 1, max(0, given.offset * (length - i32(SQ)) - given.left) // BN)
        start = max(low, split * given.blocks)
        end = min(blocks, (split + 1) * given.blocks)
        return Part(batch, cl.block_idx.y // tiles, cl.block_idx.y % tiles * ROWS, length, start, end)

    def produce(self, rings: tuple[Ring, ...], table: Any, part: Part) -> None:
        """Load blocks of keys, with all that belongs to them, from the last to the first. Who: one thread."""
        state, count = rings[0].pipe.producer_state(), self.config.columns // self.chunk
        for i in range(part.end - part.start):
            first = (part.end - 1 - i) * self.config.columns
            for run in (cl.static_range if count <= TOGETHER else range)(0, count, TOGETHER):
                places = self.places(table, part, first + run * self.chunk)
                for array, blocks, pipe in rings:
                    if run == 0:
                        pipe.producer_acquire(state)
                    shape, block = (self.chunk, blocks.shape[1]), blocks[None, None, state.index]
                    for c in cl.static_range(min(count, TOGETHER)):
                        page, key = part.batch if table is None else places[c], first + (run + c) * self.chunk
                        at = page, part.kv, key if table is None else key % self.page, 0
                        cl.tma_load(
                            array, cl.local_tile(block, shape, (run + c, 0)), at=at, barrier=pipe.barrier(state)
                        )
            state = state.advance()

    def places(self, table: Any, part: Part, first: Any) -> Any:
        """Return the pages of the chunks from key `first` on, `TOGETHER` at most; None without a table."""
        if table is None:
            return None
        count = min(self.config.columns // self.chunk, TOGETHER)
        pages = cl.make_rmem_tensor(i32, (count,))
        for c in cl.static_range(count):
            slot = (first + c * self.chunk) // self.page
            pages[c] = table[part.batch, min(slot, i32(SLOTS) - 1)]
        return pages

    def place(self, row: Any, kv: Any) -> tuple[Any, Any]:
        """Return the query and the head of a row."""
        return row // self.together, kv * self.together + row % self.together

    def fetch(self, q: Any, storage: Any, part: Part) -> None:
        """Copy the queries to shared memory, with zeros behind the last row. Who: the warpgroup."""
        eights = self.dims[0] // 8
        for i in cl.static_range(ROWS * eights // GROUP):
            at = i * GROUP + cl.thread_idx.x
            row, eight, found = at // eights, at % eights, cl.full((8,), 0.0, self.problem.dtype)
            if part.row + row < SQ * self.together and eight * 8 < self.problem.dim:
                query, head = self.place(part.row + row, part.kv)
                found = cl.local_tile(q[part.batch, query, head, None], (8,), (eight,)).load()
            cl.local_tile(storage.q[row, None], (8,), (eight,)).store(found)
        cl.fence_proxy_async("shared::cta")
        cl.NamedBarrier(1, GROUP).sync()

    def clear(self, storage: Any, part: Part) -> None:
        """Overwrite values behind the sequence's last key with zeros: memory may hold NaN there. Who: the warpgroup."""
        eights, behind = self.dims[1] // 8, part.length - (part.end - 1) * self.config.columns
        for i in cl.static_range(self.config.columns * eights // GROUP):
            at = i * GROUP + cl.thread_idx.x
            if at // eights >= behind:
                target = cl.local_tile(storage.v[at // eights, None, 0], (8,), (at % eights,))
                target.store(cl.full((8,), 0.0, self.problem.dtype))
        cl.fence_proxy_async("shared::cta")
        cl.NamedBarrier(1, GROUP).sync()

    def consume(self, q: Any, storage: Any, keys: Any, values: Any, part: Part, given: Given) -> Any:
        """Return the accumulator of powers times values, and the softmax. Who: the warpgroup."""
        unit = self.problem.unit(given.scale)
        spots, dtype, DV = cl.wgmma.coordinates(8), self.problem.dtype, self.dims[1]
        queries, heads = cl.make_rmem_tensor(i32, (2,)), cl.make_rmem_tensor(i32, (2,))
        for i in cl.static_range(2):
            queries[i], heads[i] = self.place(part.row + spots[2 * i][0], part.kv)
        at, head = (x.load().reshape((1, 2, 1)) for x in (queries, heads))

        def scores(j: Any, state: Any, masked: bool) -> Any:
            keys.consumer_wait(state)
            none = cl.wgmma.zeros_accumulator(self.config.columns)
            s = cl.wgmma.mma_async(storage.q, storage.k[None, None, state.index], none, accumulate=False)
            cl.wgmma.commit_group()
            s = cl.wgmma.wait_group(0, s)
            keys.consumer_release(state)
            offset, first = given.offset * (part.length - i32(SQ)), j * self.config.columns + spots[0][1]
            sight = Sight(at, first, i32(SQ) if self.arrays else None, part.length, offset, given.left, given.right)
            if not self.problem.modifies and not masked:
                return s
            return modified(self.problem, s, given.scale, sight, part.batch, head, masked)

        def add(p: Any, out: Any, state: Any) -> Any:
            out = cl.wgmma.mma_async(p, cl.select(storage.v, (1, 0, 2))[None, None, state.index], out)
            cl.wgmma.commit_group()
            out = cl.wgmma.wait_group(0, out)
            values.consumer_release(state)
            return out

        def step(j: Any, so_far: Any, masked: bool) -> Any:
            out, softmax, state = so_far
            p, softmax, ratio, moved = softmax.step(scores(j, state, masked))
            if moved:
                out = cl.scale_rows(out, ratio)
            values.consumer_wait(state)
            return add(p, out, state), softmax, state.advance()

        self.fetch(q, storage, part)
        state = keys.consumer_state()
        p, softmax = cl.OnlineSoftmax.first(scores(part.end - 1, state, True), unit, dtype)
        values.consumer_wait(state)
        if part.length < part.end * self.config.columns:
            self.clear(storage, part)
        so_far = add(p, cl.wgmma.zeros_accumulator(DV), state), softmax, state.advance()
        clear = part.start  # blocks before this one are seen as a whole
        if not self.problem.left and self.problem.mask_mod is None:
            seen = min(part.length, given.offset * (part.length - i32(SQ)) + given.right + 1)
            seen = seen if self.problem.right else part.length
            clear = max(part.start, min(part.end - 1, max(0, seen) // self.config.columns))
        for i in range(part.end - 1 - clear):
            so_far = step(part.end - 2 - i, so_far, True)
        for i in range(clear - part.start):
            so_far = step(clear - 1 - i, so_far, False)
        return so_far[:2]

    def share(self, q: Any, storage: Any, rings: tuple[Ring, Ring], table: Any, part: Part, given: Given) -> None:
        """Compute a part, or nothing where it has no keys, and hold it for the cluster. Who: all threads of a block."""
        if cl.thread_idx.x == GROUP:
            self.produce(rings, table, part)
        elif cl.thread_idx.x < GROUP:
            if part.start < part.end:
                out, softmax = self.consume(q, storage, rings[0].pipe, rings[1].pipe, part, given)
                inverse, sums = softmax.finish()
                hold(out, inverse, sums, storage)
            else:
                none = cl.full((2,), 0.0, f32)
                hold(cl.full((self.dims[1] // 2,), 0.0, f32), none, none - INF, storage)

    def finish(self, out: Any, softmax: Any, o: Any, lse: Any, sinks: Any, part: Part) -> None:
        """Write output and logsumexp, final or of this part. Who: the warpgroup."""
        spots, of_rows = cl.wgmma.coordinates(8), None
        if sinks is not None:
            of_rows = cl.make_rmem_tensor(f32, (2,))
            for i in cl.static_range(2):
                of_rows[i] = sinks[min(self.place(part.row + spots[2 * i][0], part.kv)[1], i32(H) - 1)]
        inverse, sums = softmax.finish(None if of_rows is None else of_rows.load())
        out = cl.scale_rows(out, inverse).to(o.dtype)
        for i in cl.static_range(2):
            row = part.row + spots[2 * i][0]
            query, head = self.place(row, part.kv)
            if row < SQ * self.together:
                cl.store_row(out, i, o[part.batch, query, head, None])
                if spots[0][1] == 0:
                    lse[part.batch, head, query] = sums[i]


SEQUENCES = TARGETS["sm_90a"].max_grid[2]
"""The extent of a grid along z, at most, where each sequence has a place."""


def is_many(batch: int) -> bool:
    """Tell whether a batch has more sequences than y and z of a grid have places for: `Plan.many`."""
    return batch > SEQUENCES


def grid_of(splits: int, tiles: int, batch: int) -> tuple[int, int, int]:
    """Return the grid for parts."""
    return (batch, tiles, 1) if is_many(batch) else (splits, tiles, batch)


class Kernels(NamedTuple):
    """The kernel that computes parts, and the kernel that combines them."""

    parts: Any
    combine: Any


@lru_cache(maxsize=256)
def build(
    config: Config, problem: Problem, together: int, page: int, split: bool, cluster: bool = False, many: bool = False
) -> Kernels:  # fmt: skip
    """Return the kernels. `split`: keys are split over blocks of threads, and the second kernel writes the output.

    cluster  those of a tile are a cluster, and the first kernel writes the output, as where keys are not split
    many     as of `Plan`
    """
    plan = Plan(config, problem, together, page, many)
    return Kernels(of_parts(plan, split, cluster), of_rows(problem.dtype, problem.dim_v, config.columns, problem.left))


def of_parts(shaped: Plan, split: bool, cluster: bool) -> Any:
    """Return the kernel that computes parts. Its grid is `grid_of`."""
    config, problem, dtype = shaped.config, shaped.problem, shaped.problem.dtype
    TABLES = tables_of(problem.score_mod, problem.mask_mod)
    (D, DV), BN, STAGES = shaped.dims, config.columns, config.stages
    K, V = (
        TmaTensor[dtype, (PAGES, HK, PAGE, n), (1, 1, shaped.chunk, BOX), (None, None, None, 1)]
        for n in (problem.dim, problem.dim_v)
    )
    O: Any = Tensor[dtype, (B, SQ, H, problem.dim_v), (OB, OS, OH, 1)]  # noqa: E741
    LSE: Any = Tensor[f32, (B, H, SQ)]
    if split and not cluster:
        O, LSE = Tensor[f32, (B, SQ, H, SPLITS, problem.dim_v)], Tensor[f32, (B, H, SQ, SPLITS)]  # noqa: E741

    class Loaded(cl.SharedStorage):
        q: Smem[dtype, cl.make_smem_layout(dtype, (ROWS, D))]
        k: Smem[dtype, cl.make_smem_layout(dtype, (BN, D, STAGES))]
        v: Smem[dtype, cl.make_smem_layout(dtype, (BN, DV, STAGES))]

    class Storage(cl.SharedStorage):
        memory: cl.SmemUnion[Loaded, held_of(problem.dim_v)] if cluster else Loaded

    @cl.kernel(block=THREADS, min_blocks=config.beside)
    def parts(
        q: Tensor[dtype, (B, SQ, H, problem.dim), (QB, QS, QH, 1), cl.align(16)], k: K, v: V, o: O, lse: LSE,
        lengths: LENGTHS, table: TABLE, sinks: Tensor[f32, (H,)] | None,
        scale: f32, offset: i32, left: i32, right: i32, blocks: i32, tables: TABLES,
    ) -> None:  # fmt: skip
        """`Given` explains the scalars; `table` has each sequence's pages, `tables` arrays that functions captured."""
        plan = shaped.with_arrays(tables)
        if cl.thread_idx.x == GROUP:
            for t in (k, v):
                cl.prefetch_tensormap(t)
        storage, given, bytes = Storage.allocate().memory, Given(scale, offset, left, right, blocks), dtype.bytes
        keys = cl.PipelineTmaAsync.create(STAGES, BN * D * bytes, GROUP, sync=False, reads="wgmma")
        values = cl.PipelineTmaAsync.create(STAGES, BN * DV * bytes, GROUP, sync=False, reads="wgmma")
        cl.pipeline_init_sync()
        cl.griddepcontrol_wait()
        cl.griddepcontrol_launch_dependents()  # now: the kernel behind reads `lengths` before it waits
        part = plan.part(lengths, PAGE if table is None else SLOTS * PAGE, given)
        rings = Ring(k, storage.k, keys), Ring(v, storage.v, values)
        if cluster:
            plan.share(q, storage, rings, table, part, given)
            gather(plan, storage, o, lse, sinks, part)
        elif part.start < part.end:
            if cl.thread_idx.x == GROUP:
                plan.produce(rings, table, part)
            elif cl.thread_idx.x < GROUP:
                out, softmax = plan.consume(q, storage, keys, values, part, given)
                if split:
                    o, lse = o[None, None, None, cl.block_idx.x, None], lse[None, None, None, cl.block_idx.x]
                plan.finish(out, softmax, o, lse, None if split else sinks, part)

    return parts
