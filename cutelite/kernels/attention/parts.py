"""Parts of decoding: what a block of threads computes, how it loads this from the cache, and where its rows go.

Of heads with keys and values of their own (`decoding`), and of latents (`latent`).
"""

from math import gcd
from typing import Any

import cutelite as cl
from cutelite import Tensor, TmaTensor, f32, i32
from cutelite.kernels.attention.combining import OB, OH, OS, SPLITS, H
from cutelite.kernels.attention.plans import OfProblem
from cutelite.kernels.attention.scores import BOX, GROUP, ROWS, Problem, Sight
from cutelite.kernels.attention.sequences import SQ, B, Blocks, Keys, Seen, quotient
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

HK, PAGES, PAGE, SLOTS = cl.dims("HK PAGES PAGE SLOTS")
QB, QS, QH = (cl.Dim(name, 8, min=0) for name in ("QB", "QS", "QH"))
TABLE = Tensor[i32, (B, SLOTS), (None, None)] | None
FEW = 4  # keys of a copy that are enough


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


def keys_of_block(columns: int, page: int) -> int:
    """Return the keys of a block: its columns, or fewer, whole pages or a share of one, where these load in few copies.

    page   keys of a page; 0: each sequence has its keys in one piece
    """
    if gcd(page, columns) >= FEW:
        return columns
    share = next(keys for keys in range(min(page, columns), 0, -1) if page % keys == 0)
    return columns // page * page if page <= columns else share if share >= columns // 2 else columns


class Part(NamedTuple):
    """The work of a block of threads: the rows from `row` on, and a range of keys.

    start, end  the range, in blocks of keys
    sight       the keys of the sequence that a query sees: limits, without the place of a thread's scores
    """

    batch: Any
    kv: Any
    row: Any
    start: Any
    end: Any
    sight: Sight


@dataclass(frozen=True)
class OfParts(OfProblem):
    """Base class of the plans of decoding: the sizes that follow from a configuration and a problem.

    together  query heads that share keys and values
    page      keys of a page; 0: each sequence has its keys in one piece
    cluster   the blocks of threads of a tile are a cluster
    early     keys but those of the queries themselves are loaded while the kernel ahead still runs
    """

    LOOKUPS = 16  # places in a table that are looked up at once, at most: before a block's buffer is waited for

    config: Config
    problem: Problem
    together: int
    page: int
    cluster: bool = False
    early: bool = False
    arrays: bool = False

    @property
    def keys(self) -> int:
        """The keys of a block. What is behind them in its columns is not loaded, and never seen."""
        return keys_of_block(self.config.columns, self.page)

    @property
    def chunk(self) -> int:
        """The keys of a block that are contiguous in global memory: one TMA copy."""
        return gcd(self.page, self.keys)

    def blocks(self, given: Keys) -> Blocks:
        """Return the blocks of keys of all sequences."""
        return Blocks(given, self.keys, self.problem.left)

    def limits(self, seen: Seen) -> Sight:
        """Return the limits of the keys that a sequence's queries see."""
        return seen.sight._replace(rows=i32(SQ) if self.arrays else None)

    def part(self, given: Keys) -> Part:
        """Return the work of this block of threads. Who: all warps."""
        tiles = i32(cl.ceil_div(SQ * self.together, ROWS))
        place = quotient(cl.block_idx.x, tiles)
        batch, row = quotient(place, i32(HK)), (i32(cl.block_idx.x) - place * tiles) * ROWS
        kv = place - batch * i32(HK)
        seen, each = self.blocks(given).divided(batch, i32(cl.grid_dim.y))
        start = seen.low + i32(cl.block_idx.y) * each
        end = min(seen.end, start + each)
        if self.cluster:  # each part has a block of keys, if only one that is masked
            end = max(end, start + 1)
        return Part(batch, kv, row, start, end, self.limits(seen))

    def sight(self, part: Part, j: Any) -> Sight:
        """Return the limits of the keys that a query sees, and that block j has."""
        if self.keys == self.config.columns:
            return part.sight
        first = j * self.keys
        return part.sight._replace(end=first + min(part.sight.end - first, self.keys))

    def whole(self, part: Part) -> Any:
        """Return the block of keys before which all queries see all keys; `part.start`, where that is not known."""
        seen, sight = part.sight.end, part.sight
        if self.problem.left or self.problem.mask_mod is not None or sight.start is not None:
            return part.start
        if self.problem.right:
            seen = min(seen, sight.offset + sight.right + 1)
        return max(part.start, min(part.end - 1, max(0, seen) // self.keys))

    def block(self, part: Part, i: Any) -> Any:
        """Return the block of keys that is computed after i others: from the last to the first."""
        return part.end - 1 - i

    def produce(self, rings: tuple[Any, ...], table: Any, part: Part, state: Any = None) -> Any:
        """Load blocks of keys, with all that belongs to them, in the order of `block`. Who: one thread.

        rings   arrays of the cache, each with its blocks in shared memory and the pipeline of these
        state   the place in all of these pipelines; None: the first. The next one is returned
        """
        state, count = rings[0][2].producer_state() if state is None else state, self.keys // self.chunk
        each = next(n for n in range(min(self.LOOKUPS, count), 0, -1) if count % n == 0)
        for i in range(part.end - part.start):
            first = self.block(part, i) * self.keys
            if self.early and first + self.keys > part.sight.end - i32(SQ):
                cl.griddepcontrol_wait()
            for run in (cl.static_range if count <= self.LOOKUPS else range)(0, count, each):
                places = self.places(table, part, first + run * self.chunk, each)
                for array, blocks, pipe in rings:
                    if run == 0:
                        pipe.producer_acquire(state)
                    for c, (page, key) in enumerate(places):
                        block = cl.domain_offset(((run + c) * self.chunk, 0), blocks[None, None, state.index])
                        tile = cl.local_tile(block, (self.chunk, blocks.shape[1]), (0, 0))
                        cl.tma_load(array, tile, at=(page, part.kv, key, 0), barrier=pipe.barrier(state))
            state = state.advance()
        return state

    def places(self, table: Any, part: Part, first: Any, count: int) -> list[tuple[Any, Any]]:
        """Return where so many chunks from key `first` on are: pages, and the first keys of these."""
        keys = [first + c * self.chunk for c in range(count)]
        if table is None:
            return [(part.batch, key) for key in keys]
        slots = [min(key // self.page, i32(SLOTS) - 1) for key in keys]
        pages = [table[part.batch, slot] for slot in slots]
        for slot, page, key in zip(slots, pages, keys, strict=True):
            there = (page >= 0) & (page < i32(PAGES)) | self.unseen(part, key)
            assert there, f"table[{part.batch}, {slot}] is page {page} of {i32(PAGES)}"
        return [(page, key % self.page) for page, key in zip(pages, keys, strict=True)]

    def unseen(self, part: Part, key: Any) -> Any:
        """Return whether lengths and windows leave no query a key of the chunk from `key` on."""
        sight, behind = part.sight, key + self.chunk
        unseen = key >= sight.end
        if self.problem.left:
            unseen = unseen | (behind <= sight.offset - sight.left)
        return unseen if sight.start is None else unseen | (behind <= sight.start)

    def rows(self, part: Part) -> list[tuple[Any, Any, Any]]:
        """Return this thread's two rows of accumulators: each one's number among its head's, its query and its head."""
        spots = cl.wgmma.coordinates(8)
        return [(row, *self.place(row, part.kv)) for row in (part.row + spots[0][0], part.row + spots[2][0])]

    def place(self, row: Any, kv: Any) -> tuple[Any, Any]:
        """Return the query and the head of a row."""
        return row // self.together, kv * self.together + row % self.together

    def fetch(self, q: Any, storage: Any, part: Part) -> None:
        """Copy the queries to shared memory, with zeros behind the last row. Who: the warpgroup."""
        wide, last = BOX // 8, i32(SQ) * self.together - 1
        for i in cl.static_range(ROWS * wide // GROUP):
            row = i * (GROUP // wide) + cl.thread_idx.x // wide
            query, head = self.place(min(part.row + row, last), part.kv)
            for box in cl.static_range(self.dims[0] // BOX):
                column, there = box * BOX + cl.thread_idx.x % wide * 8, part.row + row <= last
                if box * BOX + BOX > self.problem.dim:
                    there = there & (column < self.problem.dim)
                source = q.at(part.batch, query, head, min(column, self.problem.dim - 8))
                cl.cp_async(storage.q.at(row, column), source, src_bytes=cl.where(there, 16, 0))
        cl.cp_async_commit_group()
        cl.cp_async_wait_group(0)
        cl.fence_proxy_async("shared::cta")
        cl.NamedBarrier(1, GROUP).sync()

    def write(self, out: Any, o: Any, part: Part, sums: Any = None, lse: Any = None, half: int | None = None) -> None:
        """Write rows, final or of this part, and their logsumexps. Who: a warpgroup.

        half   0 or 1: `out` has this half of the columns of `o`; None: all
        """
        out = out.to(o.dtype)
        for i, (row, query, head) in enumerate(self.rows(part)):
            if row < SQ * self.together:
                target = o[part.batch, query, head, None]
                if half is not None:
                    target = cl.local_tile(target, (self.problem.dim_v // 2,), (half,))
                cl.store_row(out, i, target)
                if sums is not None and cl.wgmma.coordinates(8)[0][1] == 0:
                    lse[part.batch, head, query] = sums[i]

    def keep(self, out: Any, tops: Any, part: Part, parts: Any, sums: Any, place: Any) -> None:
        """Write rows of a part, in f32, and their logsumexps `tops`, to this place among `parts`. Who: a warpgroup."""
        for i, (row, _, _) in enumerate(self.rows(part)):
            if row < SQ * self.together:
                cl.store_row(out, i, parts[place, row - part.row, None])
                if cl.wgmma.coordinates(8)[0][1] == 0:
                    sums[place, row - part.row] = tops[i]

    def cached(self, dim: int) -> Any:
        """Return the type of an array of the cache, with vectors of `dim` elements."""
        box = 1, 1, self.chunk, BOX
        return TmaTensor[self.problem.dtype, (PAGES, HK, PAGE, dim), box, (None, None, None, 1)]

    def result(self, split: bool) -> tuple[Any, Any]:
        """Return the types of output and logsumexp. `split`: they are those of parts, which have another axis."""
        dtype, dim = self.problem.dtype, self.problem.dim_v
        if split:
            return Tensor[f32, (B, SQ, H, SPLITS, dim)], Tensor[f32, (B, H, SQ, SPLITS)]
        return Tensor[dtype, (B, SQ, H, dim), (OB, OS, OH, 1)], Tensor[f32, (B, H, SQ)]
