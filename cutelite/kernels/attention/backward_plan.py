"""Configurations of attention's backward pass, how one is picked, and the sizes and types that follow from it."""

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, bf16, f32, i32
from cutelite.dispatch.asking import asked
from cutelite.kernels.attention.backward_tiles import HK, HP, Tiles
from cutelite.kernels.attention.blocks import tables_of
from cutelite.kernels.attention.plans import OfProblem
from cutelite.kernels.attention.scores import BOX, GROUP, ROWS, Problem, called
from cutelite.kernels.attention.tiles import B
from cutelite.kernels.functions import captured_types
from cutelite.lang.biased import Biased, biased
from cutelite.lang.places import Places, places
from cutelite.lang.tables import bound
from cutelite.lib.epilogue import store_piece
from cutelite.records import dataclass, fact
from cutelite.tuples import NamedTuple

H, MB, NB, BLOCKS = cl.dims("H MB NB BLOCKS")
WORKERS = 2
"""The number of warpgroups of a thread block that have scores: each of 64 keys, or of half of them (`Plan.wide`)."""
EXTRA = 16
"""Columns by which operands are extended, the same for both: half for logsumexps, half for sums of rows."""
IN_L2 = 24 * 2**20
"""Bytes of queries, output gradients and sums that concurrent thread blocks should share in L2."""


@dataclass(frozen=True)
class Config:
    """The sizes and the schedule of the kernel.

    rows     queries of a block
    stages   blocks of queries, and of gradients of outputs, that are held
    held     blocks of dS that are held
    """

    rows: int = 64
    stages: int = 2
    held: int = 3


class Addend(NamedTuple):
    """The facts known of a `score_mod` that multiplies scores by a literal, and adds what does not depend on them.

    factor   the literal
    linear   what it adds is linear in the indices, or the same for all: registers need not hold it
    """

    factor: float
    linear: bool


@lru_cache(maxsize=256)
def added_by(problem: Problem) -> Addend | None:
    """Return what is known of a `score_mod` that adds to scores; None if it does more."""
    if problem.score_mod is None or problem.softcap is not None:
        return None

    @cl.kernel(block=GROUP)
    def probe(tables: tables_of(problem.score_mod)) -> Any:
        own, s = bound(replace(problem, mask_mod=None), tables), cl.full((2, 2, 1), 0.0, f32)
        at = i32(cl.thread_idx.x)
        indices = places(at, (0, 8), (1, 2, 1)), places(at, (0, 1), (2, 1, 1))
        found = called(own, biased(s, 1.0), at, at, *indices, s)
        if not isinstance(found, Biased) or not found.literal:
            return None
        return Addend(found.factor, isinstance(found.bias, Places) or not isinstance(found.bias, cl.Vector))

    found: Addend | None = asked(probe, tuple((1,) * (x.ndim or 1) for x in captured_types(problem.score_mod)))
    return found


def parted(tiles: int, heads: int, steps: int, places: int, causal: bool) -> int:
    """Return into how many parts to divide the heads of queries of each tile: 1, if others do not save 15%.

    tiles   number of tiles
    heads   of queries for one of keys
    steps   blocks of queries of a tile
    places  thread blocks that run at once
    causal  the longest tile takes twice as long as the mean
    """

    def time(parts: int) -> float:
        """Return the time of all tiles, by count of steps; that of a whole tile is 1."""
        rounds = tiles * parts / places
        whole = max(2.0, rounds + 0.5) / parts if causal else -(-tiles * parts // places) / parts
        if parts == 1:
            return 0.85 * whole
        return whole + (5 * rounds + 3) / (steps / 2 if causal else steps)  # to write, read and add them up

    return min((n for n in range(1, heads + 1) if heads % n == 0), key=time)


def banded(dim: int, sq: int, queries: int, heads: int) -> int:
    """Return how many heads of keys are computed together, before the next ones: a power of 2, or all.

    queries  heads of queries for each of these; heads: their number
    """
    fits = max(1, IN_L2 // (sq * dim * 8 * queries))
    return min(1 << (fits.bit_length() - 1), heads)


@dataclass(frozen=True)
class Plan(OfProblem):
    """A configuration for a problem, and the sizes and types that follow from both.

    split    heads of queries that have the same keys are divided among thread blocks, whose parts of dk and dv a last
             kernel adds up: where there are few tiles (`parted`)
    arrays   functions captured some; `learned`: some of these need a gradient
    added    what is known of a `score_mod` that adds to scores; None: it does more
    """

    config: Config
    problem: Problem
    split: bool = False
    arrays: bool = False
    added: Addend | None = None
    learned: bool = False

    @classmethod
    def of(cls, problem: Problem, config: Config | None = None) -> Any:
        """Return the plan in the configuration measured best, if none is given."""
        learned = any(x.learned for x in captured_types(problem.score_mod))
        plan = cls(config or Config(held=2), problem, added=None if learned else added_by(problem), learned=learned)
        if config or problem.dim > 128:
            return plan
        if problem.dim <= 64 and not plan.curved:  # derivatives of 128 queries' scores would not fit registers
            return replace(plan, config=Config(128, held=2))
        return replace(plan, config=Config(stages=3 if problem.dim <= 96 else 2))

    dim = fact(lambda self: self.problem.dim)
    """Columns of q and k in global memory."""
    modified = fact(lambda self: self.problem.score_mod is not None or self.problem.mask_mod is not None)
    """Functions change scores or decide what is seen: they may make anything of what is not there."""
    curved = fact(lambda self: self.problem.score_mod is not None and self.added is None)
    """A `score_mod` does more than add to scores (`Addend`)."""
    factor = fact(lambda self: 1.0 if self.added is None else self.added.factor)
    """The literal by which functions multiply scores, if they are not `curved`."""
    begins = fact(lambda self: self.added is not None and not self.added.linear)
    """Products of queries and keys begin with what a `score_mod` adds; else exponents get it."""

    wide = fact(lambda self: self.dim > 128 and not (self.dim <= 192 and self.problem.dim_v <= 128 and not self.curved))
    """One warpgroup has dv of all keys, another dk, and a third one dq."""
    apart = fact(
        lambda self: self.dim > (64 if self.learned else 128) or (self.by_rows and self.problem.mask_mod is not None)
    )
    """Scores and dP follow each other: registers do not hold both beside a wide dk, or for 128 queries a `mask_mod`."""
    extended = fact(lambda self: not (self.curved or self.problem.softcap is not None or self.wide))
    """Products subtract logsumexps and sums of rows, as columns of operands; else these are loaded."""
    lift = fact(lambda self: 14 if self.apart and self.problem.dtype == bf16 else 0)
    """The power of 2 by which P and all sums are greater where P waits as f16, which has few bits below 2^-14."""

    width = fact(lambda self: (48 if self.dim <= 192 and not self.learned else 32) if self.wide else ROWS)
    """Keys whose scores a computing warpgroup computes. Wide: as many as registers hold dv of."""
    across = fact(lambda self: self.width if self.wide else self.config.rows)
    """Columns of a computing warpgroup's block of scores, whose rows are keys; but queries if `wide`."""
    keys = fact(lambda self: self.width * WORKERS)
    """Keys of a tile."""
    threads = fact(lambda self: (1 + WORKERS + self.wide) * GROUP)
    """Threads of a block: warpgroups that load, that have scores, and (`wide`) that has dq."""
    ahead = fact(lambda self: 2 if self.by_rows and not self.problem.ragged else 1)
    """Tiles whose keys and values are held: with the next one's a warpgroup waits for no other."""

    by_rows = fact(lambda self: self.config.rows > ROWS)
    """A part of a block of dq, multiplied at once, is 64 of its rows, or else columns of all."""
    columns = fact(lambda self: ROWS if self.wide else self.dims[0] * self.config.rows // (ROWS * WORKERS))
    """Columns of a part of a block of dq, which has 64 rows."""
    count = fact(lambda self: self.dims[0] * self.config.rows // (ROWS * self.columns))
    """Parts of a block of dq: each of the warpgroups that add has one, the one of wide heads all."""
    adders = fact(lambda self: 1 if self.wide else WORKERS)
    """Warpgroups that add to the sums of dq."""
    sums = fact(lambda self: Tensor[f32, (B, H, BLOCKS, self.count, ROWS * self.columns), cl.align(16)])
    """The type of the sums of dq: its parts, in the order of accumulators."""
    turns = fact(lambda self: Tensor[i32, (B, H, BLOCKS, self.adders)] | None)
    """The type of the numbers of the tiles of keys that add next, for each warpgroup that adds. None: any order."""

    @fact
    def tiles(self) -> Tiles:
        """The tiles: of all heads of keys, or of parts of their heads of queries."""
        return Tiles(self.problem, self.config.rows, self.keys, HP if self.split else HK)

    @fact
    def dims(self) -> tuple[int, int]:
        """Columns of q and k, and of v, in shared memory, where TMA fills those beyond the head dim with zeros."""
        unit = BOX if self.wide else BOX // 2
        d, e = (max(BOX, -(-dim // unit) * unit) for dim in (self.problem.dim, self.problem.dim_v))
        return d, e

    @fact
    def spans(self) -> tuple[int, int, int]:
        """The columns that are contiguous in shared memory, and a box of TMA: of k, of v and do, and of q.

        They divide the columns of a part of a product.
        """
        D, DV = self.dims
        k, v, q = (math.gcd(64, part) for part in (D if self.by_rows else self.columns, DV, D))
        return k, v, q

    @fact
    def of_rows(self) -> tuple[Any, int, int]:
        """The type, rows and columns of what `prepare` writes for a block of queries: `base` of the kernels.

        A row for each query, columns of operands, where products subtract them. The first half has three bf16 numbers
        whose sum is the logsumexp divided by the scale, negative, with all bits of an f32; the second has those of the
        row sum. A row sum that is not finite makes the row's probabilities NaN too, and with them dv in all columns.
        Otherwise a row of logsumexps in powers of 2, and one of row sums.
        """
        return (bf16, self.config.rows, EXTRA) if self.extended else (f32, 2, self.config.rows)

    def laid(self, shape: tuple[int, ...], span: int) -> Any:
        """Return the layout of a tile (rows, columns), or of several, with `span` contiguous columns."""
        atom = cl.make_smem_layout_atom(self.problem.dtype, "K", f"{2 * span}B")
        return cl.tile_to_shape(atom, shape, (0, 1, 2)[: len(shape)])

    def pieces(self, dim: int) -> int:
        """Return the number of accumulators that have dk or dv of a tile: for 64 keys each, or (`wide`) 64 columns."""
        return dim // ROWS if self.wide else self.keys // ROWS

    def parts(self, dim: int) -> Any:
        """Return the type of the parts of dk or dv of all tiles: of each warpgroup, in the order of accumulators."""
        return Tensor[f32, (B, HP, NB, self.pieces(dim), self.keys * dim // self.pieces(dim)), cl.align(16)] | None

    def array(self, name: str, heads: Any, length: Any, dim: int) -> Any:
        """Return the type of a gradient for access by rows, which ragged sequences need; None for others."""
        shape, strides = (B, heads, length, dim), (*cl.dims(f"{name}_B {name}_H {name}_S"), 1)
        return Tensor[self.problem.dtype, shape, strides] | None

    def accumulators(self, part: Any, fours: int) -> Any:
        """Return this thread's f32 of a part of the sums of dq, as (4, fours): its first `fours` groups of 4."""
        by_thread = cl.with_layout(part, cl.make_layout((4, GROUP, fours), (1, 4, 4 * GROUP)))
        return by_thread[None, cl.thread_idx.x % GROUP, None]

    def put(self, values: Any, tile: Any, piece: Any, turned: bool = False) -> None:
        """Store a warpgroup's accumulator in its place of a tile in shared memory.

        piece   which 64 rows it is, or which columns of all rows where the tile has 64
        turned  the accumulator is transposed: its rows are columns of the tile
        """
        dtype, n, tile = self.problem.dtype, 2 * values.n, cl.select(tile, (1, 0)) if turned else tile
        place, op = (piece, 0) if n == cl.size(tile.shape[1]) else (0, piece), cl.WarpgroupMmaOp(dtype, f32, n)
        store_piece(op, cl.thread_idx.x % GROUP, values.to(dtype), cl.local_tile(tile, (ROWS, n), place), turned)

    def write(self, tile: Any, arrays: Any, at: Any, row: Any, ends: Any, threads: int) -> None:
        """Write a tile of a gradient: by TMA, which the first thread commits, or by rows where a ragged sequence ends.

        arrays  the gradient for TMA, and for access by rows
        at      the batch, the head and the first row, which is `row` of its sequence
        ends    of the sequence's rows; and of those to be written, of which those behind the first end become zeros
        Who     so many threads
        """
        (tensor, array), (batch, head, first), rows, (valid, end) = arrays, at, cl.size(tile.shape[0]), ends
        thread = cl.thread_idx.x % threads
        if not self.problem.ragged or row + rows <= valid:
            if thread == 0 and row < end:
                cl.tma_store(tile, tensor, at=(*at, 0))
                cl.cp_async_bulk_commit_group()
            return
        pairs = array.shape[3] // 2
        for r in range(thread // 32, min(rows, end - row), threads // 32):
            for c in cl.static_range(-(-pairs // 32)):
                pair = thread % 32 + 32 * c
                if pairs % 32 == 0 or pair < pairs:
                    given = cl.local_tile(tile[r, None], (2,), (pair,)).load()
                    target = cl.local_tile(array[batch, head, first + r, None], (2,), (pair,))
                    target.store(cl.where(r < valid - row, given, 0.0))
