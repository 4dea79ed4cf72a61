"""The k greatest elements of a row, for a block that goes through it: from memory once, from caches after that.

Of few long rows each is shared by a cluster, whose blocks reduce, count and collect together.

The greatest of each thread's elements give a bound: the k-th greatest of these. Elements that are not below it are few;
they are collected in shared memory and ranked among themselves. Where they are many, since k is large or elements are
equal, the k-th greatest is found by eight bits in each pass over the row, which counts digits.
"""

# mypy: disable-error-code="index, operator, misc"
# (numbers of kernels are proxies, which a type checker knows nothing of)

from typing import Any

import cutelite as cl
from cutelite import bf16, f32, i32, i64, u32, u64
from cutelite.kernels.rows.histogram import count_together
from cutelite.kernels.rows.keys import ALL, ordered
from cutelite.kernels.rows.plan import LARGE, MULTIPROCESSORS, Plan
from cutelite.target.targets import MOST_THREADS, WARP
from cutelite.tuples import NamedTuple

CANDIDATES = 512  # elements that are ranked among themselves, at least
LEAST = 8192  # elements of a row for each block of a cluster
DIGITS, EACH = 256, 8  # of eight bits; how many each lane of a warp has of these


def threshold(bits: int, reached: Any) -> Any:
    """Return the greatest number of that many bits that is reached; 0 is, and so is every number below a reached one.

    reached  ``reached(a, b, c)`` gives how many of three rising numbers are reached
    Who      the whole team: `reached` reduces
    """
    found = u32(0)
    for i in range(0, bits, 2):
        shift = bits - bits % 2 - i if bits % 2 else bits - 2 - i
        found += reached(*(found + (u32(j) << shift) for j in (1, 2, 3))).to(u32) << shift
    return found


def number_of(conditions: Any) -> Any:
    """Return how many of some conditions hold, as an i32."""
    return sum((each.to(i32) for each in conditions), i32(0))


class Row(NamedTuple):
    """A row of `n` elements of `dtype` that a team goes through again and again, from caches but the first time.

    number  of the row
    team    threads of a block, or of a cluster, each block of which has a part;  own  those of this block
    """

    dtype: Any
    n: int
    number: Any
    team: Any
    own: Any
    part: Any
    x: Any

    @staticmethod
    def of(p: Plan, x: Any) -> "Row":
        """Return the row of `x` for this block, or for all blocks of its cluster."""
        own = cl.Team.create(p.threads)
        team = own if p.cluster == 1 else cl.Team.create(p.threads, cluster=p.cluster)
        part, row = p.part(team, x.shape[1]), team.number()
        part.turn_to(x[row, None], row == 0, row == x.shape[0] - 1)
        team.ready()
        return Row(x.dtype, part.n, row, team, own, part, x[row, None])

    def sync(self) -> None:
        """Wait for the team's threads; what they wrote to memory before is then visible to all."""
        if self.team.cluster > 1:
            cl.cluster_sync()
        else:
            self.own.sync()

    def first(self, memory: Any) -> Any:
        """Return what the first block has as `memory`, in shared memory."""
        return memory if self.team.cluster == 1 else cl.mapa(memory, 0)

    def ahead(self, x: Any) -> Any:
        """Return the sum of `x`, a number of each thread, of the blocks before this one."""
        zero = x.dtype(0)
        if self.team.cluster == 1:
            return zero
        whole = self.own.reduce(x)
        return self.team.scan(cl.where(self.team.lane == self.team.threads - 1, whole, zero), zero)[0]

    @property
    def bits(self) -> int:
        """The bits in which keys differ: those of bf16 are the upper half of f32's."""
        return 16 if self.dtype == bf16 else 32

    def keys(self, v: Any, some: Any) -> Any:
        """Return the keys of elements: 0 beyond the row, and nowhere else."""
        return some.keep(ordered(v.to(f32)), u32(0)) >> (32 - self.bits)

    def kth(self, k: Any) -> tuple[Any, Any]:
        """Return the key of the k-th greatest element, and how many are above it: by eight bits in each pass."""
        counts, told, team = cl.shared(i32, (2, DIGITS)), cl.shared(i32, (2,)), self.team
        key, above = u32(0), i32(0)
        for shift in reversed(range(0, self.bits, 8)):
            for i in range(team.lane, DIGITS, team.threads):
                counts[0, i] = 0
            self.own.sync()

            def step(state: Any, v: Any, some: Any, shift: int = shift, key: Any = key) -> Any:
                keys = self.keys(v, some)
                placed = [(((x >> shift) & (DIGITS - 1)).to(i32), (x ^ key) >> shift < DIGITS) for x in keys]
                count_together(counts[0, None], placed, len(placed), "cta")
                return state

            self.part.fold(self.x, i32(0), step, pieces=2)
            self.sync()
            for i in range(team.lane, DIGITS if team.cluster > 1 else 0, team.threads):
                counts[1, i] = sum((cl.mapa(counts, block)[0, i] for block in range(team.cluster)), i32(0))
            if team.cluster > 1:
                self.sync()  # all have read what the next pass overwrites
            of_all = counts[min(1, team.cluster - 1), None]
            if team.lane < WARP:
                mine = [of_all[DIGITS - 1 - (team.lane * EACH + i)] for i in range(EACH)]  # from the greatest digit on
                total = sum(mine, i32(0))
                before = above + cl.warp_scan(total) - total
                for i, each in enumerate(mine):
                    if (before < k) & (before + each >= k):
                        told[0], told[1] = DIGITS - 1 - (team.lane * EACH + i), before
                    before += each
            self.own.sync()
            key, above = key | (told[0].to(u32) << shift), told[1]
        return key, above

    def bound(self, k: Any) -> Any:
        """Return a key that is not above the k-th greatest, nor far below it.

        k    at most the number of threads: three counts of them are reduced as one number
        Is   to 16 bits, the k-th greatest of what is the greatest of each thread
        """
        top = self.part.fold(self.x, u32(0), lambda top, v, some: max(top, self.keys(v, some).reduce("max")))
        top >>= self.bits - 16
        kind, each = (i32, 10) if self.team.cluster == 1 else (i64, 20)

        def reached(*keys: Any) -> Any:
            packed = self.team.reduce(sum(((top >= key).to(kind) << each * i for i, key in enumerate(keys)), kind(0)))
            return number_of((packed >> each * i) & ((1 << each) - 1) >= kind(k) for i in range(3))

        return max(threshold(16, reached) << (self.bits - 16), u32(1))

    def collect(self, room: Any, chosen: Any) -> Any:
        """Put the elements of which ``chosen(keys, columns)`` holds into `room`, in any order, and return their number.

        room  u64 in shared memory, that of the first block: a key, and below it ALL less the column. Where there are
              more, some are left out
        """
        scope: Any = "cta" if self.team.cluster == 1 else "cluster"
        own = cl.shared(i32, (1,))
        place, room = self.first(own), self.first(room)
        self.sync()
        if self.team.lane == 0:
            own[0] = 0
        self.sync()

        def step(state: Any, v: Any, some: Any) -> Any:
            keys, at = self.keys(v, some), some.columns()
            taken = chosen(keys, at)
            if taken.reduce("any"):
                for i in cl.static_range(keys.n):
                    if taken[i]:
                        to = cl.atomic_add(place, 0, 1, scope=scope)
                        if to < room.shape[0]:
                            room[to] = (keys[i].to(u64) << 32) | (ALL - at[i].to(u64))
            return state

        self.part.fold(self.x, i32(0), step, pieces=2)
        self.sync()
        return place[0]

    def collect_exactly(self, room: Any, k: Any) -> None:
        """Put the k greatest elements into `room`, as `collect` does; of those equal to the last the first columns."""
        least, above = self.kth(k)
        self.collect(room, lambda keys, at: keys > least)
        room = self.first(room)
        equal = self.part.fold(
            self.x, i32(0), lambda n, v, some: n + (self.keys(v, some) == least).to(i32).reduce("sum")
        )

        def step(before: Any, v: Any, some: Any) -> Any:
            found = (self.keys(v, some) == least).to(i32)
            if before < k:  # all threads have counted as many
                lower, all = self.own.scan(found.reduce("sum", 0), cl.full((some.pieces,), 0, i32))
                at = some.columns()
                for i in cl.static_range(some.pieces):
                    place = before + lower[i]
                    before += all[i]
                    for j in cl.static_range(self.part.vector):
                        if (found[j, i] > 0) & (place < k):
                            room[place] = (least.to(u64) << 32) | (ALL - at[j, i].to(u64))
                        place += found[j, i]
            return before

        self.part.fold(self.x, above + self.ahead(equal), step, pieces=2)
        self.sync()


def at_least(key: Any) -> Any:
    """Return the function that chooses keys that are not below `key`."""
    return lambda keys, at: keys >= key


def rank(room: Any, count: Any, mine: Any) -> Any:
    """Return how many of the first `count` words of `room` are above `mine`."""
    above = i32(0)
    for j in cl.range(count, unroll=8):
        above += (room[j] > mine).to(i32)
    return above


def alone(m: int, n: int, vector: int, most: int = LARGE) -> Plan:
    """Return the plan where a block, or of few rows a cluster, goes through each of `m` rows again and again.

    most  blocks of a cluster
    """
    threads, cluster = min(512, max(WARP, 1 << (-(-n // 16) - 1).bit_length())), 1
    while 2 * cluster <= most and 2 * cluster * max(m, 1) <= MULTIPROCESSORS and n >= 2 * cluster * LEAST:
        cluster *= 2
    return Plan(threads, 1, cluster, vector, max(1, MOST_THREADS // threads))


def bounded(p: Plan) -> int:
    """Return the greatest k for which few elements are not below the bound that threads find."""
    return p.threads * p.cluster // 2 if p.threads < MOST_THREADS else 0
