"""Random programs of loads, stores, copies and synchronisation, judged by the memory model written down a second time.

Two lanes of each of two blocks act, one after the other in the program's order, which the model below follows. It keeps
what each lane knows in full, where the checker has clocks of parties and granules of memory.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import cutelite as cl
from cutelite import Constexpr, Tensor, i32

ROWS, BARS, FLAGS = 3, 8, 8
LANES = [(block, lane) for block in (0, 1) for lane in (0, 5)]
SCOPES = ("cta", "cluster", "gpu")
Rows = Tensor[i32, (4 * ROWS,), cl.align(16)]
Op = tuple[Any, ...]


@cl.kernel(block=32, cluster=2)
def executed(rows: Rows, out: Tensor[i32, (64,)], flags: Tensor[i32, (FLAGS,)], program: Constexpr[Any]) -> None:
    """Execute a program: each op by the lane that it begins with, or by all lanes of a block or of both."""
    t, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    own, bars = cl.shared(i32, (4 * ROWS,), align=16), cl.shared(cl.mbarrier, (BARS,))
    if t == 0:
        for i in cl.static_range(4 * ROWS):
            own[i] = 0
        for i in cl.static_range(BARS):
            bars[i].init(1)
        cl.fence_mbarrier_init()
        cl.fence_proxy_async()
    cl.cluster_sync()
    for number, (name, who, *more) in enumerate(program):
        if name == "cluster":
            cl.cluster_arrive(relaxed=more[0])
            cl.cluster_wait()
        elif name == "meet":
            if rank == who:
                cl.syncwarp()
        elif rank == who[0] and t == who[1]:
            act(name, number, who[0], more, rows, own, bars, out, flags)
    cl.cluster_sync()


def act(name: str, number: int, block: int, more: Any, rows: Any, own: Any, bars: Any, out: Any, flags: Any) -> None:
    if name in ("write", "read"):
        place = own if more[0] == block else cl.mapa(own, more[0])
    else:
        place = rows
    if name in ("write", "global_write"):
        place[4 * more[-1]] = number + 1
    elif name in ("read", "global_read"):
        out[number] = place[4 * more[-1]]
    elif name == "fence":
        cl.fence(more[0])
    elif name == "proxy":
        cl.fence_proxy_async(more[0])
    elif name == "arrive":
        if more[0] == block:
            bars[more[1]].arrive(cluster=more[3], relaxed=more[2])
        else:
            bars[more[1]].remote(more[0]).arrive(relaxed=more[2])
    elif name == "wait":
        bars[more[0]].wait(0, cluster=more[2], relaxed=more[1])
    elif name == "post":
        (cl.store_relaxed if more[1] else cl.store_release)(flags, more[0], 1, scope=more[2])
    elif name == "poll":
        while (cl.load_relaxed if more[1] else cl.load_acquire)(flags, more[0], scope=more[2]) == 0:
            pass
    elif name == "bring":
        bars[more[0]].arrive_expect_tx(16)
        cl.cp_async_bulk(own.at(4 * more[1]), rows.at(4 * more[2]), 16, barrier=bars[more[0]])
    elif name == "send":
        cl.cp_async_bulk(rows.at(4 * more[1]), own.at(4 * more[0]), 16)
        cl.cp_async_bulk_commit_group()
    elif name == "sent":
        cl.cp_async_bulk_wait_group(0, read=more[0])
    elif name == "copy":
        cl.cp_async(own.at(4 * more[0]), rows.at(4 * more[1]), 16)
        cl.cp_async_commit_group()
    else:
        cl.cp_async_wait_group(more[0])


NAMES = ("write", "read", "global_write", "global_read", "meet", "cluster", "fence", "proxy", "arrive", "post", "bring",
         "send", "copy")  # fmt: skip
WEIGHTS = (4, 4, 2, 2, 4, 2, 2, 3, 3, 2, 2, 2, 1)


def drawn(draw: random.Random) -> Iterator[Op]:
    """Yield a program; at its end all copies are waited for."""
    used, posted, left = [0, 0], 0, set[tuple[int, int]]()

    def seldom() -> bool:
        return draw.random() < 0.3

    for _ in range(draw.randint(6, 16)):
        who, row, other = draw.choice(LANES), draw.randrange(ROWS), draw.randrange(ROWS)
        (name,) = draw.choices(NAMES, WEIGHTS)
        if name in ("write", "read"):
            yield name, who, draw.randrange(2), row
        elif name in ("global_write", "global_read"):
            yield name, who, row
        elif name == "meet":
            yield name, who[0]
        elif name == "cluster":
            yield name, None, seldom()
        elif name == "fence":
            yield name, who, draw.choice(SCOPES)
        elif name == "proxy":
            yield name, who, draw.choice(("", "global", "shared::cta"))
        elif name == "post" and posted < FLAGS:
            scope = draw.choice(SCOPES[1:])
            yield name, who, posted, seldom(), scope
            yield "poll", draw.choice(LANES), posted, seldom(), scope
            posted += 1
        elif name == "arrive" and used[to := draw.randrange(2)] < BARS:
            yield name, who, to, used[to], seldom(), seldom()
            yield "wait", (to, draw.choice((0, 5))), used[to], seldom(), to != who[0] or seldom()
            used[to] += 1
        elif name == "bring" and used[to := who[0]] < BARS:
            yield name, who, used[to], row, other
            if seldom():
                left.add((to, used[to]))
            else:
                yield "wait", (to, draw.choice((0, 5))), used[to], seldom(), seldom()
            used[to] += 1
        elif name == "send":
            yield name, who, row, other
            if not seldom():
                yield "sent", who, seldom()
        elif name == "copy":
            yield name, who, row, other
            if not seldom():
                yield "copied", who, draw.randrange(2)
    for who in LANES:
        yield "copied", who, 0
        yield "sent", who, False
    for block, bar in sorted(left):
        yield "wait", (block, 0), bar, False, False


Clocks = dict[Any, int]


@dataclass
class Known:
    """What is ordered before: accesses by agent, and which of them a proxy fence covers, in each block and in gmem.

    over  copies that are complete: their places may be overwritten, not read
    """

    seen: Clocks = field(default_factory=dict)
    over: Clocks = field(default_factory=dict)
    fenced: dict[Any, Clocks] = field(default_factory=lambda: {0: {}, 1: {}, "gmem": {}})

    def join(self, other: Known) -> None:
        pairs = ((self.fenced[s], other.fenced[s]) for s in self.fenced)
        for mine, theirs in ((self.seen, other.seen), (self.over, other.over), *pairs):
            for agent, clock in theirs.items():
                mine[agent] = max(mine.get(agent, 0), clock)


Released = list[tuple[str, Any, str, Known]]  # the scope of the order, who, the scope of the access, what it knew


class Model:
    """Finds what is wrong with a program: `wrong` has "race" and "proxy-fence"."""

    def __init__(self) -> None:
        self.wrong: set[str] = set()
        self.known = {who: Known() for who in LANES}
        self.released: dict[Any, dict[str, Known]] = {who: {} for who in LANES}  # by fences, for relaxed accesses
        self.heard: dict[Any, Released] = {who: [] for who in LANES}  # by relaxed accesses, for fences
        self.accesses: dict[Any, list[tuple[Any, int, bool, bool]]] = {}
        self.told: dict[Any, Released] = {}
        self.sends: dict[Any, list[tuple[Any, Any]]] = {who: [] for who in LANES}
        self.copies: dict[Any, list[Any]] = {who: [] for who in LANES}

    def access(self, agent: Any, known: Known, place: tuple[Any, int], writes: bool, own_proxy: bool = False) -> None:
        """Note an access; `own_proxy`: by the async proxy."""
        for other, clock, wrote, in_proxy in self.accesses.get(place, []):
            if other != agent and (wrote or writes):
                if known.seen.get(other, 0) < clock and not (writes and known.over.get(other, 0) >= clock):
                    self.wrong.add("race")
                elif own_proxy and wrote and not in_proxy and known.fenced[place[0]].get(other, 0) < clock:
                    self.wrong.add("proxy-fence")
        known.seen[agent] = known.seen.get(agent, 0) + 1
        before = [] if writes else self.accesses.get(place, [])  # who comes after a write comes after those before it
        self.accesses[place] = [*before, (agent, known.seen[agent], writes, own_proxy)]

    def meet(self, lanes: list[Any]) -> None:
        together = Known()
        for who in lanes:
            together.join(self.known[who])
        for who in lanes:
            self.known[who].join(together)

    def release(self, who: Any, relaxed: bool, scope: str) -> Released:
        if relaxed:
            return [(s, who, scope, deepcopy(k)) for s, k in self.released[who].items()]
        return [(scope, who, scope, deepcopy(self.known[who]))]

    def arrive(self, who: Any, relaxed: bool, scope: str) -> Released:
        """As `release`; even a relaxed arrival tells of copies that are complete."""
        known = self.known[who]
        over = known.over | {agent: clock for agent, clock in known.seen.items() if agent not in LANES}
        return [*self.release(who, relaxed, scope), ("copies", who, scope, Known({}, over))]

    def acquire(self, who: Any, told: Released, relaxed: bool, scope: str) -> None:
        for ordered, other, strong, known in told:
            if ordered == "copies":
                self.known[who].join(Known() if relaxed else known)
            elif who[0] == other[0] or "cta" not in (strong, scope):
                if relaxed:
                    self.heard[who].append((ordered, other, strong, known))
                elif who[0] == other[0] or ordered != "cta":
                    self.known[who].join(known)

    def step(self, number: int, name: str, who: Any, *more: Any) -> None:
        known = self.known.get(who)
        if name == "meet":
            self.meet([lane for lane in LANES if lane[0] == who])
        elif name == "cluster" and not more[0]:
            self.meet(LANES)
        elif name == "cluster":
            told = [fact for lane in LANES for fact in self.arrive(lane, True, "cluster")]
            for lane in LANES:
                self.acquire(lane, told, False, "cluster")
        if known is None:
            return
        if name in ("write", "read"):
            self.access(who, known, tuple(more), name == "write")
        elif name in ("global_write", "global_read"):
            self.access(who, known, ("gmem", more[0]), name == "global_write")
        elif name == "fence":
            for ordered, other, _, theirs in self.heard[who]:
                if who[0] == other[0] or "cta" not in (ordered, more[0]):
                    known.join(theirs)
            for scope in SCOPES[: SCOPES.index(more[0]) + 1]:
                self.released[who][scope] = deepcopy(known)
        elif name == "proxy":
            spaces = {"": (0, 1, "gmem"), "global": ("gmem",), "shared::cta": (who[0],)}[more[0]]
            known.join(Known({}, {}, {s: dict(known.seen) if s in spaces else {} for s in known.fenced}))
        elif name == "arrive":
            self.told[more[0], more[1]] = self.arrive(
                who, more[2], "cluster" if more[0] != who[0] or more[3] else "cta"
            )
        elif name == "wait":
            self.acquire(who, self.told[who[0], more[0]], more[1], "cluster" if more[2] else "cta")
        elif name == "post":
            self.told[more[0]] = self.release(who, more[1], more[2])
        elif name == "poll":
            self.acquire(who, self.told[more[0]], more[1], more[2])
        elif name in ("bring", "send", "copy"):
            self.start(number, name, who, *more)
        elif name == "sent":
            for read, wrote in self.sends[who]:
                known.seen |= {read: 1} if more[0] else {read: 1, wrote: 1}
        elif name == "copied":
            done = self.copies[who][: len(self.copies[who]) - more[0]]
            known.seen |= dict.fromkeys(done, 2)

    def start(self, number: int, name: str, who: Any, *more: Any) -> None:
        """Start a copy: an agent, or two, that knows what its thread knows."""
        then = deepcopy(self.known[who])
        if name == "copy":
            self.access((number, "copy"), then, ("gmem", more[1]), writes=False)
            self.access((number, "copy"), then, (who[0], more[0]), writes=True)
            self.copies[who].append((number, "copy"))
            return
        source, target = (
            (("gmem", more[2]), (who[0], more[1])) if name == "bring" else ((who[0], more[0]), ("gmem", more[1]))
        )
        self.access((number, "from"), then, source, writes=False, own_proxy=True)
        self.access((number, "to"), then, target, writes=True, own_proxy=True)
        if name == "bring":
            brought = Known({(number, "from"): 1, (number, "to"): 1})
            self.told[who[0], more[0]] = [*self.release(who, False, "cta"), ("cta", who, "cta", brought)]
        else:
            self.sends[who].append(((number, "from"), (number, "to")))


def found(program: tuple[Op, ...]) -> set[str]:
    arrays = np.arange(4 * ROWS, dtype=np.int32), np.zeros(64, np.int32), np.zeros(FLAGS, np.int32)
    return executed.check(2, None, *arrays, program, seeds=2, notes=False).kinds


@pytest.mark.parametrize("seed", range(4))
def test_the_checker_finds_what_the_model_finds(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(settings().max_examples // 7):  # many with `--hypothesis-profile=thorough`
        program, model = tuple(drawn(draw)), Model()
        for number, op in enumerate(program):
            model.step(number, *op)
        kinds = found(program)
        assert kinds <= {"race", "proxy-fence"} and bool(kinds) == bool(model.wrong), (kinds, model.wrong, program)
        assert "race" in kinds or "race" not in model.wrong, (kinds, model.wrong, program)
