"""Schedules: which threads run next, for how long, and when asynchronous work is executed. The seed decides it all.

    seed 0    warps of a CTA in lockstep (fast), asynchronous work as late as waits allow
    seed 1    one warp after the other, last one first, each until it blocks, and the last block first; asynchronous
              work at once; a polling thread sees the writes of others as late as the memory model allows
    seed 2    warps of several blocks in any order, with short turns, which end at each strong access; else as seed 1
    others    drawn from the seed: lockstep or warps apart; turns of a few ops or of many, or always the same warps
              first; asynchronous work at once, late (the latest or the first of it first) or at any time, in any
              order; blocks in any order. Seed 3: lockstep, the latest work first

Where a kernel has instructions of warpgroups (wgmma, setmaxnreg), the warps of a warpgroup may also take their turns as
one, though the warps of a CTA are apart: under seed 1 always; under seed 2 nine times of ten, drawn anew after each
such instruction; under others never, half of the time or always.

Every schedule is possible on the hardware: a kernel that is right under all of them need not be right, but one that
fails under any of them is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from random import Random
from typing import Any, Literal

Moment = Literal["early", "late", "any"]
Pick = Literal["first", "last", "any"]
Value = Literal["latest", "oldest", "any"]

SOON, LATE = 1 << 8, 1 << 12  # ops after which a strand that does not block lets all the others go first


class Policy:
    """The schedule of one launch.

    gang     whether the warps of a CTA start as one strand, and become one again where they meet
    moment   the time of asynchronous work: 'early', 'late' or 'any'
    newest   whether late work that nothing orders is executed in reverse, the work issued last first
    turns    lengths of turns to draw from, in ops
    patience ops without blocking after which a strand may be spinning: from then on all others go first at each turn
    pick     the next strand: 'first', 'last', 'any', or by 'rank', a fixed random order of warps
    resident number of clusters that run at the same time
    blocks   the order in which clusters start: the 'first' one first, the 'last' one first, or 'any'
    yields   whether after each strong access all other threads go first, before its thread goes on
    groups   the probability that the warps of a warpgroup start as one strand, and that they go on as one after an
             instruction that they execute together
    refusing the probability that a request to cancel a cluster fails although some have not started
    elects   the lane that elect.sync elects: the 'first', as Hopper does, the 'last', or 'any': PTX promises only that
             it is the same each time for the same lanes
    reads    the value that a strong load sees under a check: the 'latest', the 'oldest' that the memory model allows,
             or 'any' between them
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.gang = True
        self.moment: Moment = "late"
        self.newest = False
        self.patience = SOON
        self.turns: Sequence[int] = (SOON,)
        self.pick = "first"
        self.resident = 1
        self.blocks: Pick = "first"
        self.reads: Value = "latest"
        self.elects: Pick = "first"
        self.yields = False
        self.refusing = 0.0
        self.groups = 1.0
        if seed == 1:
            self.gang, self.moment, self.pick, self.patience = False, "early", "last", LATE
            self.blocks, self.reads, self.elects = "last", "oldest", "last"
        elif seed == 2:
            self.gang, self.moment, self.pick, self.turns = False, "early", "any", (1, 10, 100)
            self.resident, self.blocks, self.reads, self.yields = 4, "any", "oldest", True
            self.groups = 0.9
        elif seed:
            draw = self.random
            self.gang = draw.random() < 0.25
            self.moment = draw.choice(("early", "late", "any", "any"))
            self.turns = draw.choice(((SOON,), (1, 2, 3, 5, 8), (10, 30, 100), (1, 10, 100, 1000)))
            self.pick = draw.choice(("first", "last", "any", "any", "rank"))
            self.patience = draw.choice((SOON, LATE))
            self.resident = draw.choice((1, 1, 2, 3))
            self.blocks = "any" if draw.random() < 0.75 else "first"
            more = Random(f"more {seed}")
            self.reads = more.choice(("latest", "oldest", "any", "any"))
            self.yields = more.random() < 0.5
            self.refusing = more.choice((0.0, 0.0, 0.3))
            self.newest = more.choice((False, True))
            self.groups = more.choice((0.0, 0.5, 1.0))
            self.elects = "any"
        self._ranks: dict[Hashable, float] = {}

    def turn(self) -> int:
        return self.turns[0] if len(self.turns) == 1 else self.random.choice(self.turns)

    def choose(self, count: int, warp: Callable[[int], Hashable]) -> int:
        """Choose one of `count` strands to run next; `warp` names the warp of each."""
        if count == 1 or self.pick == "first":
            return 0
        if self.pick == "last":
            return count - 1
        if self.pick == "any":
            return self.random.randrange(count)
        return min(range(count), key=lambda i: self._rank(warp(i)))

    def together(self) -> bool:
        """Decide whether the warps of a warpgroup, which are at the same place, go on as one strand."""
        return self.groups == 1 or (self.groups > 0 and self.random.random() < self.groups)

    def eager(self) -> bool:
        """Decide whether asynchronous work is executed at its issue."""
        return self.moment == "early" or (self.moment == "any" and self.random.random() < 0.25)

    def strike(self) -> bool:
        """Decide whether some asynchronous work is executed now, between the turns of two strands."""
        return self.moment == "any" and self.random.random() < 0.3

    def refuses(self) -> bool:
        """Decide whether a request to cancel a cluster fails, as it may on a GPU when another kernel has to run."""
        return self.refusing > 0 and self.random.random() < self.refusing

    def elected(self, mask: Any) -> int:
        """Return the lane that those in a mask elect."""
        lanes: list[int] = mask.nonzero()[0].tolist()
        if self.elects == "any":
            return Random(f"{self.seed} {lanes}").choice(lanes)
        return lanes[0 if self.elects == "first" else -1]

    def one_of(self, count: int) -> int:
        """Choose one of several pieces of asynchronous work."""
        if self.moment == "any":
            return self.random.randrange(count)
        return count - 1 if self.newest else 0

    def _rank(self, warp: Hashable) -> float:
        if warp not in self._ranks:
            self._ranks[warp] = self.random.random()
        return self._ranks[warp]
