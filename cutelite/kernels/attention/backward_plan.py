"""Configurations and tiles of attention's backward pass, and the kernels before and after its products.

`prepare` sums the rows of o * do and clears the sums of dq; `finish` converts these to dq. The kernel between them is
in `backward`.
"""
# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"

import math
from typing import Any, NamedTuple

import cutelite as cl
from cutelite import Tensor, TmaTensor, bf16, f16, f32, i32
from cutelite.kernels.attention.blocks import tables_of
from cutelite.kernels.attention.plans import OfProblem
from cutelite.kernels.attention.scores import BOX, GROUP, INF, LN2, ROWS, Problem
from cutelite.kernels.attention.tiles import Given, sequence_at
from cutelite.records import dataclass
from cutelite.target import TARGETS

B, H, HK, HP, SQ, SK, MB, NB, BLOCKS, ENDS = cl.dims("B H HK HP SQ SK MB NB BLOCKS ENDS")
EXTRA = 16
"""Columns by which operands are extended, the same for both: half for logsumexps, half for sums of rows."""
FACTORS = {bf16: (1.0,) * 3, f16: (2.0**15, 2.0**4, 2.0**-7, 2.0**-14, 2.0**-24)}
"""The factors of the numbers whose sum is an f32, which wgmma multiplies them by, greatest first.

bf16 has the range of an f32, so that three have all its bits. f16 has not: these five have the bits above 2^-48 of
numbers below 2^31.
"""
NOTHING = {bf16: 1e30, f16: 2.0**30}
"""The logsumexp, without the scale, of a row that sees nothing: its probabilities become 0."""
SHARED = TARGETS["sm_90a"].smem_per_block


@dataclass(frozen=True)
class Config:
    """The sizes and the schedule of the kernel.

    rows     queries of a block
    groups   warpgroups that compute, each for 64 keys
    wide     all for the same 64 keys, each for its part of the columns of dq, dk and dv: for head dims above 128
    stages   blocks of queries, and of gradients of outputs, that are held
    held     blocks of dS that are held
    turned   a warpgroup computes its part of dq transposed, 64 columns of a head; otherwise 64 queries of it
    copied   eighths of dq that bulk copies add to the sums from shared memory; the others are added from registers
    early    load logsumexps before the wait for scores, and sums of rows before the wait for dP. Takes registers
    fenced   start all of dv += P.T @ dO before dS is computed, also where ptxas would start the first part alone
    apart    start dP when probabilities are packed, not beside scores, and dv behind dS: takes fewer registers
    covered  multiply dq of the block before ahead of dk, so that dq is added while dk is multiplied; otherwise last
    extended products subtract logsumexps and sums of rows, which are further columns of their operands (`Plan.base`);
             otherwise they are loaded. Without a `score_mod`
    split    heads of queries that have the same keys are divided among thread blocks, whose parts of dk and dv a last
             kernel adds up: where there are few tiles (`parted`)
    regs     registers of a thread of the warpgroup that loads, and of one that computes
    """

    rows: int = 64
    groups: int = 2
    stages: int = 2
    held: int = 2
    turned: bool = True
    copied: int = 8
    early: bool = False
    wide: bool = False
    fenced: bool = False
    covered: bool = False
    apart: bool = False
    extended: bool = False
    split: bool = False
    regs: tuple[int, int] = (24, 240)


def chosen(problem: Problem, keys: int = 0, scale: float = 1.0) -> Config:
    """Return the configuration measured best for a problem (docs/lab/attention-backward.md).

    keys   of a sequence, on average. Where there are few, room for the next tile's counts for more (`Plan.ahead`)
    scale  of scores. Logsumexps divided by one below 2^-26 may leave the range that `FACTORS` has in f16
    """
    extends = problem.score_mod is None and (problem.dtype == bf16 or scale >= 2.0**-26)
    if problem.dim > 128:
        if extends and problem.dim <= 192 and problem.dim_v <= 128:
            return Config(copied=0, turned=False, apart=True, extended=True)
        return Config(turned=False, copied=0, wide=True, regs=(40, 232))
    if problem.dim <= 64:
        copied = (2 if keys <= 2048 and not problem.ragged else 4) if extends else 8  # ragged ones would spill
        return Config(128, turned=False, copied=copied, fenced=extends, extended=extends)
    stages, turned = (3, False) if max(problem.dim, problem.dim_v) <= 96 else (2, problem.dim > 96)
    covered = problem.mask_mod is None  # ptxas would serialise products
    return Config(64, 2, stages, 3, turned, copied=0, early=True, fenced=True, covered=covered, extended=extends)


class Sequence(NamedTuple):
    """A sequence, and where its parts begin in the arrays.

    number   of the sequence: what mods get as batch
    batch    of the arrays: `number`, or 0 for ragged sequences
    query    its first query, `queries` of them; likewise `key`, `keys`
    block    its first block of queries in `base` and in the sums
    """

    number: Any
    batch: Any
    query: Any
    queries: Any
    key: Any
    keys: Any
    block: Any


class Place(NamedTuple):
    """The place of a tile, as thread blocks tell it their threads: `Tile` has the same fields."""

    batch: Any
    kv: Any
    key: Any
    begin: Any
    end: Any


class RaggedPlace(NamedTuple):
    """A `Place` in a ragged sequence: its number, its first query and key, and how many there are."""

    number: Any
    query: Any
    queries: Any
    first: Any
    keys: Any
    kv: Any
    key: Any
    begin: Any
    end: Any


class Tile(NamedTuple):
    """A thread block's sequence, head of keys and first key, and the range of the blocks of queries that see it."""

    sequence: Sequence
    kv: Any
    key: Any
    begin: Any
    end: Any


class Starts(NamedTuple):
    """The start of each ragged sequence, of queries and of keys, and the end of the last one; None if not ragged."""

    queries: Any
    keys: Any


@dataclass(frozen=True)
class Plan(OfProblem):
    """A configuration for a problem, and the types and sizes derived from both."""

    config: Config
    problem: Problem
    arrays: bool = False

    @property
    def dims(self) -> tuple[int, int]:
        """Columns of q and k, and of v, in shared memory, where TMA fills those beyond the head dim with zeros."""
        units = BOX // 2 * (self.config.groups if self.config.wide else 1), BOX // 2
        unit = ROWS * self.config.groups if self.config.turned else units[0]
        return max(BOX, -(-self.problem.dim // unit) * unit), max(BOX, -(-self.problem.dim_v // units[0]) * units[0])

    @property
    def by_rows(self) -> bool:
        """Tell whether a warpgroup's part of a block of dq is 64 of its rows, as its product has them, or columns."""
        return self.config.turned or self.config.rows > ROWS

    @property
    def spans(self) -> tuple[int, int, int]:
        """The columns that are contiguous in shared memory, and a box of TMA: of k, of q, and of v and do.

        They divide the columns of a warpgroup's part of a product.
        """
        (D, DV), groups = self.dims, self.config.groups if self.config.wide else 1
        of_k = D if self.by_rows else self.columns
        k, q, v = (next(n for n in (64, 32, 16) if part % n == 0) for part in (of_k, D // groups, DV // groups))
        return k, q, v

    def laid(self, shape: tuple[int, ...], span: int) -> Any:
        """Return the layout of a tile (rows, columns), or of several, with `span` contiguous columns."""
        atom = cl.make_smem_layout_atom(self.problem.dtype, "K", f"{2 * span}B")
        return cl.tile_to_shape(atom, shape, (0, 1, 2)[: len(shape)])

    @property
    def keys(self) -> int:
        """The number of keys of a thread block."""
        return ROWS if self.config.wide else ROWS * self.config.groups

    @property
    def columns(self) -> int:
        """The number of columns of a warpgroup's part of a block of dq; it has 64 rows."""
        return self.dims[0] * self.config.rows // (ROWS * self.config.groups)

    @property
    def sums(self) -> Any:
        """The type of the sums of dq: for each warpgroup its part, in the order of accumulators."""
        return Tensor[f32, (B, H, BLOCKS, self.config.groups, ROWS * self.columns), cl.align(16)]

    @property
    def heads(self) -> Any:
        """The number of heads of keys, each as often as its queries are split."""
        return HP if self.config.split else HK

    def parts(self, dim: int) -> Any:
        """The type of the parts of dk or dv of all tiles: of each warpgroup, in the order of accumulators."""
        return Tensor[f32, (B, HP, NB, self.config.groups, self.keys * dim // self.config.groups), cl.align(16)] | None

    @property
    def base(self) -> Any:
        """The type of logsumexps and sums of rows.

        Where they extend operands, they are 16 elements a row: in the first half those whose sum, times `FACTORS`, is
        the logsumexp divided by the scale, in the second those of the sum of the row. A sum that is not finite, for f16
        2^31 or more, makes the row's probabilities NaN too, and with them dv in all columns.
        """
        if self.config.extended:
            return Tensor[self.problem.dtype, (B, H, MB, EXTRA), cl.align(16)]
        return Tensor[f32, (B, H, MB, 2 * self.config.rows), cl.align(16)]

    def split(self, value: Any, pieces: Any, first: int) -> None:
        """Write numbers whose sum, times `FACTORS`, is an f32, to `pieces`, from the first one on."""
        for i, factor in enumerate(FACTORS[self.problem.dtype]):
            pieces[first + i] = (value * (1 / factor)).to(pieces.dtype)
            value = value - pieces[first + i].to(f32) * factor

    def base_shape(self, blocks: int) -> tuple[int, int]:
        """Return the shape of a head's part of it."""
        return (blocks * self.config.rows, EXTRA) if self.config.extended else (blocks, 2 * self.config.rows)

    @property
    def base_box(self) -> Any:
        """The type of the same in the kernel that multiplies."""
        if self.config.extended:
            shape = B, H, MB, EXTRA
            return TmaTensor[self.problem.dtype, shape, (1, 1, self.config.rows, EXTRA), (None, None, None, 1)]
        return self.base

    @property
    def tables(self) -> Any:
        """The type of the arrays that functions captured."""
        return tables_of(self.problem.score_mod, self.problem.mask_mod)

    @property
    def turns(self) -> Any:
        """The type of the turns: for each part of the sums, the number of the block of keys that adds next."""
        return Tensor[i32, (B, H, BLOCKS, self.config.groups)]

    def by_block(self, array: Any) -> Any:
        """Return sums or turns with one index for the blocks of queries of all heads."""
        if array is None:
            return None
        inner = tuple(array.shape[3:])
        strides = tuple(math.prod(inner[i:]) for i in range(len(inner) + 1))
        return cl.with_layout(array, cl.make_layout((B * H * BLOCKS, *inner), strides))

    def array(self, name: str, heads: Any, length: Any, dim: int) -> Any:
        """Return the type of the same tensors for access by rows, which ragged sequences need; None for others."""
        shape, strides = (B, heads, length, dim), (*cl.dims(f"{name}_B {name}_H {name}_S"), 1)
        return Tensor[self.problem.dtype, shape, strides] | None

    def ragged(self, number: Any, starts: Starts, end: Any = None) -> Sequence:
        """Return a ragged sequence. It ends where the arrays do, of keys at `end` if the kernel knows that."""
        query, key, to = starts.queries[number], starts.keys[number], starts.keys[number + 1]
        queries, keys = min(starts.queries[number + 1], i32(SQ)) - query, (to if end is None else min(to, end)) - key
        return Sequence(number, 0, query, queries, key, keys, query // self.config.rows + number)

    def queries(self, place: Any, batch: Any, starts: Starts) -> tuple[Sequence, Any]:
        """Return the sequence of a block of queries, given by its place in the sums, and its first row there.

        Keys are known of ragged sequences alone.
        """
        if not self.problem.ragged:
            return Sequence(batch, batch, 0, i32(SQ), 0, 0, 0), place * self.config.rows
        sequence = self.ragged(sequence_at(starts.queries, place, self.config.rows), starts)
        return sequence, (place - sequence.block) * self.config.rows

    def written(self, number: Any, first: Any, count: Any, starts: Any, total: Any) -> Any:
        """Return how many rows of gradients to write for a sequence; zeros follow the last one to the arrays' end."""
        return cl.where(number == i32(starts.shape[0]) - 2, total - first, count) if self.problem.ragged else count

    def offset(self, sequence: Sequence, offset: Any) -> Any:
        """Return the index of the key at the first query's place, from `Given.offset`."""
        return offset * (sequence.keys - sequence.queries) if self.problem.ragged else offset

    @property
    def kind(self) -> Any:
        """The type of a tile's place."""
        return RaggedPlace if self.problem.ragged else Place

    @property
    def along(self) -> Any:
        """The number of tiles of a head. Of ragged sequences some are empty."""
        return i32(SK) // self.keys + i32(ENDS) - 1 if self.problem.ragged else i32(cl.ceil_div(SK, self.keys))

    def count(self) -> Any:
        """Return the number of tiles."""
        return self.along * i32(B) * i32(self.heads)

    def place(self, index: Any, given: Given, starts: Starts) -> Any:
        """Return the place of a tile: a band of heads takes all its blocks of keys before the next band.

        Where tiles differ in length, the last band has several for each thread block, so that all end together.
        """
        BN, heads, ragged = self.keys, i32(self.heads), self.problem.ragged
        several = 16 if ragged else 2 if self.problem.causal else 0
        last = cl.ceil_div(several * i32(cl.grid_dim.x), self.along) if several else 0
        place, head = cl.longest_first(index, self.along, i32(B) * heads, given.band, False, last)
        if ragged:
            sequence = self.ragged(sequence_at(starts.keys, place, BN), starts, i32(SK))
            key = (place - (sequence.key // BN + sequence.number)) * BN
            begin, end = self.seeing(key, sequence, given)
            return RaggedPlace(
                sequence.number, *sequence[2:6], head, key, begin, cl.where(key < sequence.keys, end, begin)
            )
        tile = Place(head // heads, head % heads, place * BN, 0, 0)
        begin, end = self.seeing(place * BN, self.tile(tile).sequence, given)
        return tile._replace(begin=begin, end=end)

    def tile(self, place: Any) -> Tile:
        """Return the tile at a place."""
        if self.problem.ragged:
            number, query, queries, first, keys = place[:5]
            block = query // self.config.rows + number
            return Tile(Sequence(number, 0, query, queries, first, keys, block), *place[5:])
        return Tile(Sequence(place.batch, place.batch, 0, i32(SQ), 0, i32(SK), 0), *place[1:])

    def seeing(self, key: Any, sequence: Sequence, given: Given) -> tuple[Any, Any]:
        """Return the range of the blocks of queries that see some of a thread block's keys."""
        BM, own = self.config.rows, key - self.offset(sequence, given.offset)
        end: Any = (sequence.queries + BM - 1) // BM
        begin: Any = i32(0)
        if self.problem.right:
            begin = min(end, max(0, own - given.right) // BM)
        if self.problem.left:
            end = max(begin, min(end, (max(-BM, own + self.keys - 1 + given.left) + BM) // BM))
        return begin, end

    @property
    def gaps(self) -> bool:
        """Tell whether there may be tiles whose keys no query sees."""
        return self.problem.ragged or self.problem.left or self.problem.right

    @property
    def skips(self) -> bool:
        """Tell whether a warpgroup passes by a first block that sees none of its keys. Others would spill."""
        return self.problem.right and self.config.rows < self.keys and not (self.problem.ragged or self.config.split)

    @property
    def staged(self) -> bool:
        """Tell whether dk and dv leave without the memory of keys and values: through memory of their own, or split."""
        return self.config.split or self.fits(1)

    @property
    def ahead(self) -> int:
        """The number of tiles whose keys and values are held: with the next one's a warpgroup waits for no other."""
        return 2 if self.fits(2) else 1

    def fits(self, ahead: int) -> bool:
        """Tell whether there is room for keys and values of `ahead` tiles, and for dk and dv on their way out."""
        config, BM, BN, (D, DV) = self.config, self.config.rows, self.keys, self.dims
        rows = (D + DV) * BM * config.stages + BM * BN * config.held * (1 + config.wide)
        base = config.stages * 2 * BM * (EXTRA if config.extended else 4)
        halves = ((D + DV) * ahead + max(D, DV)) * BN + rows
        return 2 * halves + 16 * GROUP * self.copied * config.groups + base + 1024 <= SHARED

    @property
    def lift(self) -> int:
        """The power of 2 by which P and all sums are greater where P waits as f16, which has few bits below 2^-14."""
        return 14 if self.config.apart and self.problem.dtype == bf16 else 0

    @property
    def copied(self) -> int:
        """The number of groups of 4 f32, from a thread's first one on, that bulk copies add to the sums of dq."""
        return self.columns // 8 * self.config.copied // 8

    def accumulators(self, part: Any, fours: int) -> Any:
        """Return this thread's f32 of a part of the sums of dq, as (4, fours): its first `fours` groups of 4."""
        by_thread = cl.with_layout(part, cl.make_layout((4, GROUP, fours), (1, 4, 4 * GROUP)))
        return by_thread[None, cl.thread_idx.x % GROUP, None]

    def moved(self, n: int, operation: Any) -> Any:
        """Return a tiled copy of accumulators of n columns, and this thread's slice of it."""
        atom = cl.make_copy_atom(operation, self.problem.dtype)
        copy = cl.make_tiled_copy_C(atom, cl.make_tiled_mma(cl.WarpgroupMmaOp(self.problem.dtype, f32, n)))
        return copy, copy.get_slice(cl.thread_idx.x % GROUP)

    def put(self, values: Any, target: Any, transpose: bool = False) -> None:
        """Store an accumulator of a warpgroup in 64 rows of shared memory; `transpose`: in 64 columns."""
        n = 2 * values.n
        copy, mine = self.moved(n, cl.StMatrix8x8x16bOp(transpose=transpose, num_matrices=4))
        held = cl.make_rmem_tensor(self.problem.dtype, (n // 2,))
        held.store(values.to(self.problem.dtype))
        cl.copy(copy, mine.retile(held.view(cl.make_layout(((2, 2, n // 8), 1, 1)))), mine.partition_D(target))


STARTS = Tensor[i32, (ENDS,)] | None


def prepare(plan: Plan) -> Any:
    """Return the kernel that sums the rows of o * do and clears the sums of dq: a thread block for each query block."""
    config, dtype, BM, D = plan.config, plan.problem.dtype, plan.config.rows, plan.dims[0]
    DV = -(-plan.problem.dim_v // BOX) * BOX
    O = plan.box(H, SQ, plan.problem.dim_v, BM)  # noqa: E741
    ROW = Tensor[f32, (B, H, SQ)]

    @cl.kernel(block=256)
    def prepare(
        o: O, do: O, lse: ROW, dlse: ROW | None, base: plan.base, sums: plan.sums,
        turns: plan.turns | None, scale: f32, offset: i32, left: i32, of_queries: STARTS = None, of_keys: STARTS = None,
    ) -> None:  # fmt: skip
        cl.griddepcontrol_launch_dependents()
        t, (m, head, batch) = cl.thread_idx.x, (cl.block_idx.x, cl.block_idx.y, cl.block_idx.z)
        sequence, row = plan.queries(m, batch, Starts(of_queries, of_keys))
        tiles = [cl.shared(dtype, cl.make_smem_layout(dtype, (BM, DV)), align=1024) for _ in range(2)]
        pipe = cl.PipelineTmaAsync.create(1, 2 * BM * DV * dtype.bytes, 256)
        if t == 0:
            state = pipe.producer_state()
            pipe.producer_acquire(state)
            for tensor, tile in zip((o, do), tiles, strict=True):
                cl.tma_load(tensor, tile, at=(batch, head, sequence.query + row, 0), barrier=pipe.barrier(state))
            for g in cl.static_range(plan.config.groups if turns is not None else 0):
                first = max(0, row + plan.offset(sequence, offset) - left) // plan.keys  # the first that adds
                turns[batch, head, m, g] = first
        mine = cl.with_layout(sums[batch, head, m, None, None], cl.make_layout((4, 256, BM * D // 1024), (1, 4, 1024)))
        for i in cl.static_range(BM * D // 1024):
            mine[None, t, i].store(cl.full((4,), 0.0, f32))
        pipe.consumer_wait(pipe.consumer_state())
        for step in cl.static_range(-(-BM // 32)):
            r, total = step * 32 + t // 8, f32(0.0)
            if BM % 32 == 0 or r < BM:
                for c in cl.static_range(DV // BOX):
                    x, y = (cl.local_tile(tile[r, None], (8,), (c * 8 + t % 8,)).load().to(f32) for tile in tiles)
                    total = total + (x * y).reduce("sum")
            total, known = cl.warp_reduce(total, width=8), -INF
            if t % 8 == 0 and (BM % 32 == 0 or r < BM):
                if row + r < sequence.queries:
                    known = lse[batch, head, sequence.query + row + r]
                    if dlse is not None:
                        total = total - dlse[batch, head, sequence.query + row + r]
                elif plan.problem.ragged:
                    total = f32(0.0)  # whatever the next sequence has
                if config.extended:
                    pieces = cl.make_rmem_tensor(dtype, (EXTRA,))
                    pieces.store(cl.full((EXTRA,), 0.0, dtype))
                    rest = cl.where(known == -INF, NOTHING[dtype], known / scale), total
                    for j in cl.static_range(2):
                        plan.split(rest[j], pieces, j * EXTRA // 2)
                    whole = base[batch, head, m * BM + r, None]
                    for j in cl.static_range(EXTRA // 8):
                        cl.local_tile(whole, (8,), (j,)).store(cl.local_tile(pieces, (8,), (j,)).load())
                else:
                    at = r // 16 * 16 + r % 8 // 2 * 4 + r // 8 % 2 * 2 + r % 2  # as `Worker.of_rows` reads it
                    base[batch, head, m, at] = cl.where(known == -INF, INF, known / LN2)
                    base[batch, head, m, BM + at] = total

    return prepare


def finish(plan: Plan) -> Any:
    """Return the kernel that converts the sums to dq: a thread block for each block of queries."""
    BM, config, threads, dim = plan.config.rows, plan.config, plan.config.groups * GROUP, plan.problem.dim

    @cl.kernel(block=threads)
    def finish(
        dq: plan.box(H, SQ, dim, BM, plan.spans[0]), sums: plan.sums, scale: f32,
        rows: plan.array("DQ", H, SQ, dim) = None, of_queries: STARTS = None, of_keys: STARTS = None,
    ) -> None:  # fmt: skip
        part, (m, head, batch) = cl.warpgroup_idx(), (cl.block_idx.x, cl.block_idx.y, cl.block_idx.z)
        sequence, row = plan.queries(m, batch, Starts(of_queries, of_keys))
        tile = cl.shared(plan.problem.dtype, plan.laid((BM, plan.dims[0]), plan.spans[0]), align=1024)
        cl.griddepcontrol_wait()
        values = plan.accumulators(sums[batch, head, m, part, None], plan.columns // 8).load() * scale
        whole = cl.select(tile, (1, 0)) if config.turned else tile
        target = cl.local_tile(whole, (ROWS, plan.columns), (part, 0) if plan.by_rows else (0, part))
        plan.put(values.reshape((plan.columns // 2,)), target, config.turned)
        cl.fence_proxy_async("shared::cta")
        cl.syncthreads()
        length = plan.written(sequence.number, sequence.query, sequence.queries, of_queries, i32(SQ))
        if not plan.problem.ragged or row + BM <= sequence.queries:
            if cl.thread_idx.x == 0:
                cl.tma_store(tile, dq, at=(batch, head, sequence.query + row, 0))
                cl.cp_async_bulk_commit_group()
                cl.cp_async_bulk_wait_group(0, read=True)
        else:  # what follows is another sequence's
            for i in range(cl.thread_idx.x, min(BM, length - row) * (dim // 2), threads):
                r, pair = i // (dim // 2), i % (dim // 2)
                given = cl.local_tile(tile[r, None], (2,), (pair,)).load()
                target = cl.local_tile(rows[batch, head, sequence.query + row + r, None], (2,), (pair,))
                target.store(cl.where(row + r < sequence.queries, given, 0.0))

    return finish


def add_parts(plan: Plan) -> Any:
    """Return the kernel that adds up the parts of dk and dv: a thread block for each block of keys."""
    config, (of_k, _, of_v), d, e = plan.config, plan.spans, plan.problem.dim, plan.problem.dim_v

    @cl.kernel(block=config.groups * GROUP)
    def add_parts(
        dk: plan.box(HK, SK, d, plan.keys, of_k), dv: plan.box(HK, SK, e, plan.keys, of_v),
        dk_parts: plan.parts(plan.dims[0]), dv_parts: plan.parts(plan.dims[1]), scale: f32, scale_v: f32,
    ) -> None:  # fmt: skip
        group, (n, kv, batch) = cl.warpgroup_idx(), (cl.block_idx.x, cl.block_idx.y, cl.block_idx.z)
        cl.griddepcontrol_wait()
        for grad, parts, columns, span, factor in (
            (dk, dk_parts, plan.dims[0], of_k, scale), (dv, dv_parts, plan.dims[1], of_v, scale_v),
        ):  # fmt: skip
            tile = cl.shared(plan.problem.dtype, plan.laid((plan.keys, columns), span), align=1024)
            own = (ROWS, columns // config.groups) if config.wide else (ROWS, columns)
            total, times = cl.full((own[1] // 2,), 0.0, f32), i32(HP // HK)
            for i in range(times):
                part = plan.accumulators(parts[batch, kv * times + i, n, group, None], own[1] // 8)
                total = total + part.load().reshape((own[1] // 2,))
            plan.put(total * factor, cl.local_tile(tile, own, (0, group) if config.wide else (group, 0)))
            cl.fence_proxy_async("shared::cta")
            cl.syncthreads()
            if cl.thread_idx.x == 0:
                cl.tma_store(tile, grad, at=(batch, kv, n * plan.keys, 0))
                cl.cp_async_bulk_commit_group()
        if cl.thread_idx.x == 0:
            cl.cp_async_bulk_wait_group(0, read=True)

    return add_parts
