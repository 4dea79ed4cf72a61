"""Reductions, which combine the values of all threads, and scans, which combine those of all threads before each.

    total = cl.warp_reduce(x)                                     # a warp, or each segment of it
    top = cl.block_reduce(x, "max")                               # a block
    mean = cl.block_reduce(Moments(x, x * x, n), merge)           # structures, by a function of two of them

    team = cl.Team.create(threads=256, cluster=2)                 # in loops: one barrier for each reduction
    for row in range(...):
        total = team.reduce(x)
        before, total = team.scan(x, 0)                           # of the threads before this one, and of all

Values are numbers, vectors (element by element), and tuples, named tuples and frozen dataclasses of these. `combine` is
'add' or 'sum', 'mul' or 'prod', 'min', 'max', 'and', 'or' or 'xor', applied to each number, or a function of two values
that gives one.
It has to be associative, and commutative unless the reduction is `ordered`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.ir.types import i32, mbarrier, u32
from cutelite.lang import profile
from cutelite.lang.cluster import cluster_arrive, cluster_sync, cluster_wait, mapa, st_async
from cutelite.lang.emit import describe, mistake
from cutelite.lang.index import block_dim, block_idx, block_rank_in_cluster, cluster_dim, grid_dim, linear_thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.mbarrier import fence_mbarrier_init
from cutelite.lang.pipeline_checks import check_team
from cutelite.lang.promotion import is_number
from cutelite.lang.sync import barrier_sync, syncthreads
from cutelite.lang.tensor import make_rmem_tensor, shared
from cutelite.lang.values import RuntimeNumber, maximum, minimum
from cutelite.lang.warp import ALL, Members, exchange, has_redux, make_warp_uniform, redux, syncwarp
from cutelite.lang.words import map_values, pack, unpack, word_count
from cutelite.records import dataclass
from cutelite.target.targets import WARP as WARP
from cutelite.tuples import NamedTuple

HANDED = 8  # slots for a cluster's messages that are freed at a time

Combine = str | Callable[[Any, Any], Any]
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": minimum,
    "max": maximum,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
NAMES = {"sum": "add", "prod": "mul"}
"""What vectors and NumPy call an operation: its name in PTX."""


def combined(a: Any, b: Any, combine: Combine) -> Any:
    """Return two values combined."""
    if isinstance(combine, str):
        return map_values(OPERATIONS[NAMES.get(combine, combine)], a, b)
    both = combine(a, b)
    if isinstance(a, RuntimeNumber) and not is_number(both):
        raise mistake("combine", f"two of {a.type} are combined to {describe(both)}", help=f"return {a.type}")
    return both


def check_combine(combine: Combine) -> None:
    """Check the operation of a reduction or scan. Errors: `combine`."""
    if combine not in OPERATIONS and combine not in NAMES if isinstance(combine, str) else not callable(combine):
        names = ", ".join([*OPERATIONS, *NAMES])
        raise mistake("combine", f"values are combined by one of {names}, or by a function, not {describe(combine)}")


def check_width(width: Any) -> None:
    """Check the lanes of a segment. Errors: `warp-reduce`."""
    if isinstance(width, RuntimeNumber) or width not in (1, 2, 4, 8, 16, 32):
        raise mistake("warp-reduce", f"the width of a segment is a power of two up to 32, not {width}")


def warp_reduce(
    x: Any, combine: Combine = "add", *, width: int = WARP, ordered: bool = False, members: Members = ALL
) -> Any:
    """Combine the `x` of all lanes of the warp, or of each segment of `width` lanes; every lane gets the result.

    x        a number, a vector, or a tuple, named tuple or frozen dataclass of them
    combine  the name of an operation, or a function of two values: see this module's docstring. A function object with
             a method ``together(x, reduce)`` is called once for the whole segment instead of pair by pair: it calls
             ``reduce(part, name)`` for parts of x, each with an operation of its own, which may cost less
    width    a power of two up to 32
    ordered  combine values in the order of lanes: for functions that are not commutative
    Cost     log2(width) exchanges of each word; 32-bit integers over the whole warp take one `redux`
    Result   sums of floats too have the same bits in all lanes
    Who      the whole warp, or `members`: the lanes of one or several segments, as a u32 with a bit for each
    Errors   `combine` for an unknown operation, `warp-reduce` for a width
    """
    check_combine(combine)
    check_width(width)
    combine = NAMES.get(combine, combine) if isinstance(combine, str) else combine
    if width == WARP and isinstance(combine, str) and has_redux(x, combine):
        return redux(x, combine, members=members)  # type: ignore[arg-type]
    if hasattr(combine, "together") and not ordered:
        return combine.together(x, lambda part, how: warp_reduce(part, how, width=width, members=members))
    step = 1 if ordered else width // 2
    while 0 < step < width:
        other = exchange(x, "xor", step, members=members)
        if ordered and (linear_thread_idx() & step) != 0:
            x = combined(other, x, combine)
        else:
            x = combined(x, other, combine)
        step = step * 2 if ordered else step // 2
    return x


def warp_scan(x: Any, combine: Combine = "add", *, width: int = WARP, members: Members = ALL) -> Any:
    """Combine the `x` of this lane and all lower ones of the warp, or of its segment of `width` lanes.

    Arguments as for `warp_reduce`; `combine` need not be commutative.

    Who   the whole warp, or `members`
    """
    check_combine(combine)
    check_width(width)
    step, lane = 1, linear_thread_idx() % width
    while step < width:
        other = exchange(x, "up", step, width, members)
        if lane >= step:
            x = combined(other, x, combine)
        step *= 2
    return x


def block_scan(x: Any, zero: Any, combine: Combine = "add") -> tuple[Any, Any]:
    """Combine the `x` of all threads of the block before this one, and of all its threads; return both.

    zero  what the first thread gets as the former; other arguments and results as for `Team.scan`. In a loop, make a
          `Team`: its scans take one barrier each, this function takes two

    Who   the whole block, in whole warps
    """
    syncthreads()  # in a loop, all threads have read the memory of the last round
    return Team.create(reductions=1).scan(x, zero, combine)


def block_reduce(x: Any, combine: Combine = "add", *, ordered: bool = False) -> Any:
    """Combine the `x` of all threads of the block; every thread gets the result.

    Arguments as for `warp_reduce`. In a loop, make a `Team`: its reductions take one barrier each, this function two.

    Who      the whole block, in whole warps
    Errors   `combine` for an unknown operation, `team` where the block is not a multiple of 32 threads
    """
    syncthreads()  # in a loop, all threads have read the memory of the last round
    return Team.create(reductions=1).reduce(x, combine, ordered=ordered)


def cluster_reduce(x: Any, combine: Combine = "add", *, ordered: bool = False) -> Any:
    """Combine the `x` of all threads of the cluster; every thread gets the result.

    Arguments as for `warp_reduce`. Call it outside of loops; for a loop, make a `Team` before it.

    Who      all threads of the cluster, in whole warps
    """
    team = Team.create(cluster=cluster_dim.x * cluster_dim.y * cluster_dim.z, reductions=1)
    team.ready()
    return team.reduce(x, combine, ordered=ordered)


class Places(NamedTuple):
    """Shared memory for reductions.

    parts   results of warps: (slot, team, warp, word); None where a team has one warp
    others  results of the cluster's blocks: (slot, team, block, word); None for one block
    words   32-bit words of a value
    """

    parts: Any
    others: Any
    words: int


class Pending(NamedTuple):
    """A reduction that has been started: this block's result, and the number of the reduction, which picks the slot."""

    value: Any
    turn: Any


@dataclass(frozen=True)
class Team:
    """Threads of a block, or of a cluster, that reduce, scan and wait together.

    threads  threads of each block, consecutive, counted x fastest: 1, 2, 4, 8, 16, or a multiple of 32
    teams    number of teams of a block
    cluster  number of blocks that a team spans: with teams of the same index in the other blocks
    index    the number of this team in its block
    lane     the number of this thread in its team in this block, 0 to threads - 1
    rank     the number of this block in its cluster
    slots    how many slots for messages of blocks there are, which reductions take in turn
    parts    how many slots for results of warps there are, likewise
    reused   slots are used again; half of them are freed at a time
    """

    threads: int
    teams: int
    cluster: int
    index: Any
    lane: Any
    rank: Any
    slots: int
    parts: int
    reused: bool
    turn: Any  # (1,) i32 in registers: the number of the next reduction, modulo twice the slots
    full: Any  # of several blocks, the team's mbarrier for each slot: completes when the results of all are there
    empty: Any  # one for each half of the slots: completes when the others have read what this one sent there

    @staticmethod
    def create(threads: int | None = None, *, cluster: int = 1, reductions: int | None = None) -> Team:
        """Divide the block into teams of `threads` threads; by default the block is one team.

        cluster     how many blocks a team spans: 1, or all of the cluster
        reductions  the most reductions that follow: then no slot is used twice, and `leave` is not needed. By default
                    any number may follow, in loops as well
        Who         all threads of the block. With a cluster, call `ready` before the first reduction
        Errors      `team` where teams do not divide the block
        """
        total = block_dim.x * block_dim.y * block_dim.z
        threads = total if threads is None else threads
        check_team(threads, total, cluster)
        teams, thread = total // threads, linear_thread_idx()
        index: Any = 0 if teams == 1 else thread // threads
        if teams > 1 and threads % WARP == 0:
            index = make_warp_uniform(index)
        reused = reductions is None
        parts = 2 if reductions is None else max(1, reductions)
        slots = 2 * HANDED if reused and cluster > 1 else parts
        turn = make_rmem_tensor(i32, (1,))
        turn[0] = 0
        full: Any = None
        empty: Any = None
        if cluster > 1:
            full = shared(mbarrier, (teams, slots))[index, None]
            empty = shared(mbarrier, (teams, 2))[index, None] if reused else None
            if thread % threads == 0:
                for slot in static_range(slots):
                    full[slot].init(1)
                for half in static_range(2 if reused else 0):
                    empty[half].init(cluster - 1)
                fence_mbarrier_init()
            cluster_arrive(relaxed=True)
        rank: Any = block_rank_in_cluster() if cluster > 1 else 0
        return Team(threads, teams, cluster, index, thread % threads, rank, slots, parts, reused, turn, full, empty)

    @property
    def half(self) -> int:
        """Half of the slots."""
        return self.slots // 2

    @property
    def warps(self) -> int:
        """The number of warps of a block that are in the team."""
        return max(1, self.threads // WARP)

    @property
    def members(self) -> Any:
        """The lanes of this thread's warp that are in the team, as a u32 with a bit for each."""
        if self.threads >= WARP:
            return ALL
        return u32((1 << self.threads) - 1) << (linear_thread_idx() % WARP // self.threads * self.threads).to(u32)

    def number(self) -> Any:
        """Return the number of this team among those of the grid, which is one-dimensional."""
        return block_idx.x // self.cluster * self.teams + self.index

    def count(self) -> Any:
        """Return the number of teams of the grid."""
        return grid_dim.x // self.cluster * self.teams

    def ready(self) -> None:
        """Wait until all blocks of the cluster have started. Work that needs no other block may come before."""
        if self.full is not None:
            cluster_wait()

    def leave(self) -> None:
        """Wait, at the end of the kernel, until no block of the cluster accesses another's shared memory any more."""
        if self.full is not None and self.reused:
            cluster_sync()

    def sync(self) -> None:
        """Wait for the team's threads in this block; what they wrote to memory before is then visible to all."""
        if self.threads <= WARP:
            syncwarp(self.members)
        elif self.teams == 1:
            syncthreads()
        else:
            barrier_sync(1 + self.index, self.threads)

    def reduce(self, x: Any, combine: Combine = "add", *, ordered: bool = False, meanwhile: Any = None) -> Any:
        """Combine the `x` of all threads of the team; every thread gets the result.

        Arguments as for `warp_reduce`. With `ordered`, the order is by block, and within a block by thread.

        meanwhile  a function without arguments, which is called while the other blocks' results are under way
        Who      all threads of the team, each as often as the others
        Cost     one barrier among the warps of a block; one message from each block of a cluster to each
        """
        places = self.places(x)
        with profile.range("reduce"):
            pending = self.start(places, x, combine, ordered=ordered)
            if meanwhile is not None:
                meanwhile()
            return self.finish(places, pending, combine, ordered=ordered)

    def places(self, like: Any) -> Places:
        """Make room in shared memory for reductions of values such as `like`, which `start` and `finish` take."""
        words, parts, others = padded_words(like), None, None
        if self.warps > 1:
            parts = shared(u32, (self.parts, self.teams, self.warps, words), align=16)
        if self.cluster > 1:
            others = shared(u32, (self.slots, self.teams, self.cluster, words), align=16)
        return Places(parts, others, words)

    def start(self, places: Places, x: Any, combine: Combine = "add", *, ordered: bool = False) -> Pending:
        """Begin a reduction: combine the `x` of this block's threads, and send the result to the other blocks.

        Arguments as for `reduce`. With several warps, it is also a barrier of the team's threads in this block.

        Gives   the argument of `finish`, which must be called before the next reduction is started
        """
        x = warp_reduce(x, combine, width=min(self.threads, WARP), ordered=ordered, members=self.members)
        if self.warps == 1 and self.cluster == 1:
            return Pending(x, i32(0))
        turn = self.turn[0]
        self.turn[0] = (turn + 1) % (2 * self.slots)
        if self.warps > 1:
            parts = places.parts[turn % self.parts, self.index, None, None]
            if self.lane % WARP == 0:
                store_words(parts[self.lane // WARP, None], x)
            self.sync()
            x = gathered(parts, x, combine, ordered)
        if self.cluster > 1:
            self.send(places, x, turn)
        return Pending(x, turn)

    def finish(self, places: Places, pending: Pending, combine: Combine = "add", *, ordered: bool = False) -> Any:
        """End a reduction: wait for the other blocks' results, and return the result of all to every thread.

        pending  the result of `start`
        Who      all threads of the team
        """
        if self.cluster == 1:
            return pending.value
        slot = pending.turn % self.slots
        self.full[slot].wait(pending.turn // self.slots)
        return gathered(places.others[slot, self.index, None, None], pending.value, combine, ordered)

    def scan(self, x: Any, zero: Any, combine: Combine = "add") -> tuple[Any, Any]:
        """Combine, in order, the `x` of all threads of the team before this one, and of all its threads.

        Threads are in the order of blocks, and within a block of lanes.

        x        a number, a vector, or a tuple, named tuple or frozen dataclass of them
        zero     what the first thread gets: the neutral value, of the type of `x`
        combine  the name of an operation, or a function of two values; it need not be commutative
        Gives    (the result of the threads before this one, the result of all)
        Who      all threads of the team, each as often as the others
        Cost     one barrier among the warps of a block; one message from each block of a cluster to each
        Errors   `team` for a neutral value that is an operation
        """
        if callable(zero) or isinstance(zero, str):
            raise mistake("team", "the neutral value comes before the operation: `scan(x, zero, combine)`")
        width, lane, own = min(self.threads, WARP), linear_thread_idx() % WARP, self.members
        upto = warp_scan(x, combine, width=width, members=own)
        shifted, before = exchange(upto, "up", 1, width, own), zero
        if lane % width > 0:
            before = shifted
        if self.warps == 1 and self.cluster == 1:
            return before, exchange(upto, "idx", width - 1, width, own)
        turn, places = self.turn[0], self.places(x)
        self.turn[0] = (turn + 1) % (2 * self.slots)
        if self.warps == 1:
            all = exchange(upto, "idx", width - 1, width, own)
        else:
            parts, warp = places.parts[turn % self.parts, self.index, None, None], self.lane // WARP
            if lane == WARP - 1:
                store_words(parts[warp, None], upto)
            self.sync()
            before, all = self.behind(parts, warp, lane > 0, before, x, combine)
        if self.cluster > 1:
            self.send(places, all, turn)
            self.full[turn % self.slots].wait(turn // self.slots)
            others = places.others[turn % self.slots, self.index, None, None]
            before, all = self.behind(others, self.rank, self.lane > 0, before, x, combine)
        return before, all

    def behind(
        self, parts: Any, number: Any, follows: Any, before: Any, like: Any, combine: Combine
    ) -> tuple[Any, Any]:
        """Combine the values in the rows of `parts`: those ahead of row `number` with `before`, and all.

        follows  `before` is of threads, and not the neutral value
        """
        count, width, own = parts.shape[0], min(self.threads, WARP), self.members
        place = parts[minimum(linear_thread_idx() % width, count - 1), None]
        sums = warp_scan(unpack(place.load(), like), combine, width=width, members=own)
        lower = exchange(sums, "idx", maximum(number - 1, 0), width, own)
        if number > 0:
            if follows:
                before = combined(lower, before, combine)
            else:
                before = lower
        return before, exchange(sums, "idx", count - 1, width, own)

    def send(self, places: Places, x: Any, turn: Any) -> None:
        """Send this block's result to the others: thread b sends it to block b, and thread 0 keeps one for its own.

        A slot may be written again once all blocks have read it. The others say so by an arrival for half of all slots
        at a time, because such an arrival is slow: it waits until the cluster sees all that its thread has stored
        before. Thread b tells block b that one half has been read when the first reduction of the other half sends; by
        then all threads of its block have passed a barrier since they read.
        """
        slot, words = turn % self.slots, places.words
        others = places.others[slot, self.index, None, None]
        if self.lane == 0:
            store_words(others[self.rank, None], x)
            self.full[slot].arrive_expect_tx(4 * words * (self.cluster - 1))
        if self.warps == 1:
            syncwarp(self.members)
        if self.lane < self.cluster and self.lane != self.rank:
            half = turn // self.half if self.reused else turn
            if self.reused and turn % self.half == 0:
                self.empty[half % 2].wait(((half + 1) // 2 + 1) % 2)
            data, there = pack(x, words), mapa(others[self.rank, None], self.lane)
            width = min(words, 4)
            for i in static_range(words // width):
                part = data[i] if width == 1 else data.reshape((width, words // width))[None, i]
                st_async(there.tile((width,), (i,)), part, self.full[slot].remote(self.lane))
            if self.reused and turn % self.half == 0:
                self.empty[(half + 1) % 2].remote(self.lane).arrive()


def padded_words(x: Any) -> int:
    """Return the words of a value, rounded up to whole accesses: 1, 2, or a multiple of 4."""
    count = word_count(x)
    return count if count <= 2 else -(-count // 4) * 4


def store_words(place: Any, x: Any) -> None:
    """Write the words of a value to a row of shared memory."""
    place.store(pack(x, place.shape[0]))


def gathered(parts: Any, like: Any, combine: Combine, ordered: bool) -> Any:
    """Combine the values in the rows of `parts`, for every thread.

    For a power of two of them, each lane reads one and the warp reduces; for other numbers, each thread reads all.
    """
    count = parts.shape[0]
    if count & (count - 1) == 0:
        mine = unpack(parts[linear_thread_idx() % count, None].load(), like)
        return warp_reduce(mine, combine, width=count, ordered=ordered)
    x = unpack(parts[0, None].load(), like)
    for i in static_range(1, count):
        x = combined(x, unpack(parts[i, None].load(), like), combine)
    return x
