"""A plan: how many threads and blocks work on a row, how rows get to them, and how many elements an access has."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import cutelite as cl
from cutelite import i32
from cutelite.kernels.arrays import counter
from cutelite.lib.row_counter import RowCursor
from cutelite.lib.rows import SECTOR
from cutelite.records import dataclass

ACCESS = 16  # bytes that one access takes at most
ELEMENT = 2  # bytes: plans are chosen for elements of 16 bits, and one of f32 counts as two
MOST_BLOCKS, LARGE = 8, 16  # most blocks of a portable cluster, and of one that some GPUs run
LONGEST = 2**31 - 1  # most elements of a row
LINE = 8  # vectors that a block's part of a row is a multiple of, where it may be: 128 bytes, where a vector has 16
LEAD = 3 << 20  # bytes of rows that are asked for ahead: what an H100 reads in a microsecond, an H200 in 0.7
WAYS = "stages", "early", "ahead", "taken"  # in which teams have rows ahead
MULTIPROCESSORS = 132  # of an H100 or H200


@dataclass(frozen=True)
class Plan:
    """The threads that work on a row.

    threads       threads of each block
    teams         rows that a block works on at a time
    cluster       blocks that share a row
    vector        elements of one access
    blocks        blocks that a multiprocessor should hold: it limits the registers of a thread
    stages        rows that are copied to shared memory ahead; a block then works on one row after the other
    held          with stages: weights are kept in shared memory; otherwise they are read with each row. Without stages:
                  weights are read before a row's reduction; otherwise after it
    aside         without stages: of weights that are read before the reduction, each thread copies the bias to shared
                  memory while the row is on its way, and waits for it behind the reduction; registers hold the others
    outside       rows stay in memory, from which each pass reads them: shared memory with stages, else global memory,
                  so that rows may be of any length. Default: with two or more stages
    early         without stages: a team works on one row after the other, and loads the next row early
    shared_sums   how many of the sums over rows are kept in shared memory; the others are in registers
    ahead         how many vectors ahead each thread copies its own to shared memory
    taken         without stages: a team takes one row after the other by a counter, and loads it into registers; L2 is
                  asked for the next one. Weights are kept in shared memory
    bulk          with `taken`: a bulk copy brings each weight while threads work on the first row
    apart         with `ahead` or `taken`: how many nanoseconds each team of a block begins later than the one before,
                  so that they do not all reduce at the same time
    soon          with `taken`: L2 is asked for the next row during a cluster's exchange, not behind it
    overlap       with stages: while the blocks of a cluster exchange what they have of a row, they work on the next one
    pairs         with two stages and more: the blocks of a cluster exchange what they have of two rows at a time
    rows          without stages: how many rows a team of a norm works on together, so that it reads weights once
    lead          how many bytes of rows ahead each block asks L2 for a row. Less than a row, and where a team works on
                  one row after the other: only blocks that may start before the kernel before has ended do so, for
                  their own rows, and the first ones for weights. 0: nobody asks
    aligned       rows begin at multiples of this many elements; default: `vector`. Below that, accesses are narrower
    shifted       rows begin anywhere, but in all arrays that are written as far into a vector: threads have vectors of
                  aligned memory, which cover a row (`RowPartition.shift`)
    around        with `shifted`: nothing is written to the arrays that are read (`RowPartition.around`)
    alike         with `shifted`: so do rows that are read; otherwise these are loaded by words
    moved         with `shifted`: another kernel first makes copies of a norm's weights, each an element further; whole
                  vectors are loaded of the one that lies as a row does
    kinds         with `shifted` and stages, for sums over rows: rows that begin alike are this many apart, and teams
                  work on all rows in the order of these kinds. Otherwise all rows of a team are of one kind
    abreast       with `kinds`: teams work on neighbours at a time (`RowCursor`). It takes registers
    planes        with `shifted` and stages, for sums over rows: these and weights are in shared memory by columns
                  (`RowPlanes`), so that a team has rows of all kinds, one after the other
    kept          with stages, for derivatives: registers keep what comes of two inputs in the first pass; in clusters
                  always
    added         with stages, for derivatives: what is added to them is copied ahead as well
    ends          with `shifted`: elements of a row beside vectors of memory that lie within it, or of so many vectors
                  together, go to threads one by one (`RowPartition.ends`)
    """

    threads: int
    teams: int
    cluster: int
    vector: int
    blocks: int
    stages: int = 0
    shared_sums: int = 0
    aligned: int | None = None
    held: bool = True
    aside: bool = False
    outside: bool | None = None
    early: bool = False
    ahead: int | None = None
    taken: bool = False
    bulk: bool = False
    apart: int = 0
    soon: bool = False
    overlap: bool = False
    pairs: bool = False
    rows: int = 1
    lead: int = 0
    shifted: bool = False
    alike: bool = True
    around: bool = False
    moved: bool = False
    kinds: int = 1
    abreast: bool = False
    planes: bool = False
    kept: bool = False
    added: bool = False
    ends: int = 0

    @property
    def stream(self) -> dict[str, Any]:
        """Return the arguments of `RowStream.create` that the plan decides."""
        ways = "stages", "outside", "early", "ahead", "taken", "apart", "soon", "overlap", "pairs", "kinds", "abreast"
        return {each: getattr(self, each) for each in ways}

    @property
    def block(self) -> int:
        """The number of threads of a block."""
        return self.threads * self.teams

    @property
    def loops(self) -> bool:
        """Tell whether rows stay in global memory, from where each pass reads them."""
        return bool(self.outside) and not self.stages and self.ahead is None

    @property
    def persistent(self) -> bool:
        """Tell whether a team works on one row after the other."""
        return self.counted or self.early

    @property
    def counted(self) -> bool:
        """Tell whether teams take rows by a counter."""
        return self.copied or self.taken

    @property
    def copied(self) -> bool:
        """Tell whether rows are copied to shared memory ahead."""
        return bool(self.stages) or self.ahead is not None

    @property
    def adds_early(self) -> bool:
        """Tell whether what is added to a gradient is loaded before its reduction: later rows are on their way then."""
        return (self.stages > 0 or self.early) and not self.overlap and not self.adds_ahead

    @property
    def adds_ahead(self) -> bool:
        """Tell whether what is added to a gradient is copied ahead, as rows are."""
        return self.added or self.ahead is not None

    @property
    def asks(self) -> bool:
        """Tell whether weights are loaded before a row that begins anywhere: threads with its ends wait for these."""
        return self.shifted and self.held and self.rows == 1 and not self.persistent and not self.loops

    @property
    def options(self) -> dict[str, Any]:
        """The compile options of a kernel for this plan."""
        shape = {"block": self.block, "min_blocks": self.blocks}
        return shape | ({"cluster": self.cluster} if self.cluster > 1 else {})

    def only(self, *ways: str) -> Plan:
        """Return the plan, for a kernel that has rows ahead in these of `WAYS`.

        Errors  `cl.ArgumentError` for a plan with another, and for one with several rows together
        """
        if self.rows != 1:
            raise cl.ArgumentError(f"how.rows is {self.rows}, but a team of this kernel works on one row at a time")
        for way, none in zip(WAYS, (0, False, None, False), strict=True):
            if way not in ways and getattr(self, way) != none:
                raise cl.ArgumentError(
                    f"how.{way} is {getattr(self, way)!r}, but this kernel has no rows ahead that way"
                )
        return self

    def widened(self, least: int) -> Plan:
        """Return the plan with teams of `least` threads or more, in as large a block."""
        return self if self.threads >= least else replace(self, threads=least, teams=self.block // least)

    def narrowed(self, aligned: int, bulk: bool) -> Plan:
        """Return the plan for results of 8 bits, of rows that begin at multiples of `aligned` elements.

        bulk  bulk copies take the rows; without them no row is copied ahead
        """
        p = self if bulk else replace(self, stages=0, held=self.held and self.early, outside=self.loops)
        return replace(p, aligned=aligned)

    def team(
        self,
        n: int,
        *arrays: Any,
        weights: tuple[Any, ...] = (),
        reductions: int | None = 1,
        granule: int = 1,
        steady: bool = False,
        apart: bool = False,
        unit: int = SECTOR,
    ) -> tuple[cl.Team, cl.RowPartition]:
        """Return this thread's team, and its part of rows of `n` elements; then go on when the kernel before has ended.

        arrays      whose rows are asked for before they are needed, as `lead` says
        weights     vectors of a row's length, or None, that the first blocks ask for: by then rows have driven them
                    out. Copies have just been written
        reductions  per row; None: the team works on any number of rows
        steady      all rows of a team begin as far into a vector as its first one, which is the current one
        apart       the blocks that share a row are no cluster: each reduces by itself
        unit        as for `RowPartition`
        """
        count = None if self.persistent else reductions
        team = cl.Team.create(self.threads, cluster=1 if apart else self.cluster, reductions=count)
        if apart:
            team = replace(team, cluster=self.cluster, rank=cl.block_idx.x % self.cluster)
        part = self.part(team, n, granule, steady, unit)
        own: Any = RowCursor.create(team, arrays[0].shape[0], self.kinds, self.abreast).row if arrays else None
        if steady:
            part.turn_to(arrays[0][min(own, arrays[0].shape[0] - 1), None])

        def ask(block: Any) -> None:
            if block < self.cluster and team.index == 0:
                for each in weights:
                    if each is not None and not self.moved:
                        part.ask_for(each)
            first = (block // self.cluster * self.teams + team.index) * self.rows if self.kinds == 1 else own
            for i in cl.static_range(self.rows):
                for each in arrays:
                    if first + i < each.shape[0]:
                        part.ask_for(each[first + i, None])

        if self.lead and arrays and not self.loops:
            each = n * sum(each.dtype.bytes for each in arrays) * self.rows * self.teams
            follow(ask, self.blocks, 0 if count is None else self.lead // each * self.cluster)
        else:
            follow()
        return team, part

    def part(
        self, team: cl.Team, n: int, granule: int = 1, steady: bool = False, unit: int = SECTOR
    ) -> cl.RowPartition:
        """Return this thread's part of rows of `n` elements, of which none is the current one yet.

        Blocks' parts are whole lines of memory, if each has one and no thread more vectors: a sector of memory that two
        blocks share is read twice, and written by halves.
        """
        shift = cl.make_rmem_tensor(i32, (3,)) if self.shifted else None
        around = self.around and self.shifted
        part = cl.RowPartition(team, n, self.vector, granule, shift, steady, around, unit, self.ends)
        lined = replace(part, granule=max(granule, LINE * self.vector))
        return lined if lined.pieces == part.pieces and lined.chunk * (self.cluster - 1) < part.least else part

    def ways(self, written: Any, counter: Any) -> dict[str, Any]:
        """Return the arguments of `RowStream.create` for a kernel that writes rows of an array, and has a counter."""
        return self.stream | {"counter": counter, "like": None if self.alike else written}

    def pitches(self, names: str) -> tuple[cl.Dim, ...]:
        """Dims for the elements from one row to the next."""
        return pitches(names, 1 if self.shifted else self.aligned or self.vector)

    def launch(self, rows: Any) -> cl.Launch:
        """Return the launch of a kernel on `rows`, a `Rows`."""
        return after(self.grid(rows), self.block)

    def counter(self, rows: Any) -> Any:
        """Return the counter by which teams take rows of a `Rows`; None where they do not."""
        return counter(rows.matrix) if self.counted else None

    def grid(self, rows: Any) -> int:
        """Return the number of blocks for `rows`, a `Rows`."""
        teams: int = -(-rows.m // (self.teams * self.rows))
        if self.counted:
            teams = min(teams, rows.at_once(self.cluster, self.blocks))
        elif self.persistent:
            rounds = -(-teams // min(teams, rows.at_once(self.cluster, self.blocks))) if teams else 1
            teams = -(-teams // rounds)  # each has as many rows as the others, or one less
        return self.cluster * teams


def after(grid: Any, block: int) -> cl.Launch:
    """Return the launch of a kernel that begins with `follow`: it may start while the kernel before it still runs."""
    return cl.Launch(grid, block, pdl=True)


def follow(ask: Any = None, blocks: int | None = None, apart: int = 0) -> None:
    """Let the next kernel's blocks start, and wait for the kernel before. Nothing is read or written before.

    ask     ``ask(block)`` lets what a block reads first come to L2. That is coherent, so what the kernel before has yet
            to write is not read too early
    blocks  of a multiprocessor: only blocks that may start before the kernel before has ended ask for what they read
    apart   each block asks for what the block so many behind it reads. Blocks start in their order, and memory is
            faster if parts of rows are asked for as a whole; loads of warps then wait for L2 alone
    """
    cl.griddepcontrol_launch_dependents()
    if ask is not None:
        number = cl.block_idx.y * cl.grid_dim.x + cl.block_idx.x
        if blocks is None or number < MULTIPROCESSORS * blocks:
            ask(number)
        if apart:
            ask(number + apart)
    cl.griddepcontrol_wait()


def width(bytes: int, *places: int) -> int:
    """Return how many elements of `bytes` bytes an access has, if rows begin at multiples of `places` elements."""
    return math.gcd(ACCESS // bytes, *places)


def in_sectors(n: int, vector: int) -> int:
    """Return how many of `n` elements that lie in whole vectors lie in whole sectors, at most."""
    return n // (SECTOR * vector) * SECTOR * vector


def sharing(n: int, each: int, most: int) -> int:
    """Return how many threads share `n` elements, `each` a time or fewer: a power of two, at most `most`."""
    return min(most, 1 << (-(-n // each) - 1).bit_length())


def pitches(names: str, vector: int) -> tuple[cl.Dim, ...]:
    """Dims for the elements from one row to the next: such that every row begins where a vector of elements may."""
    return tuple(cl.Dim(name, vector, min=0) for name in names.split())
