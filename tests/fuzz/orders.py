"""Random programs of accesses and of what orders them: the checker finds the races that a model of a page finds.

python -m tests.fuzz.orders --count 2000        # from a seed on; says where the two differ

A program is a list of statements, each executed by one thread, a warp, a block or all; blocks may form a cluster.
Taken one after the other they are a possible schedule, and no value decides anything. So what each thread knows to be
over, and which writes it knows to be fenced for the async proxy, follows statement by statement: `Draw.knows` and
`Draw.fenced` are sets of accesses, passed on by barriers, mbarriers, flags and waits. A race is an access that
conflicts with one that its thread does not know. Most accesses that would race are left out, so that most of the
programs are right.
"""

import sys
from collections.abc import Callable, Iterable
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz import by_seed
from tests.fuzz.cases import kernel_of

CELLS, WORDS, SOURCES, BARRIERS, FLAGS = 2, 4, 30, 10, 8
SCOPES = ("cta", "cluster", "gpu", "gpu", "sys")
STATEMENTS = """
    store store load load sync cluster_sync cluster_sync named syncwarp arrive arrive wait wait release release acquire
    acquire fenced_release fenced_acquire copy copy_wait bulk_load bulk_load bulk_store bulk_store bulk_reduce bulk_wait
    proxy_fence proxy_fence update send
"""
Cell = tuple[str, int]  # in 's', the shared memory of block 0, or 'g', global memory
Known = frozenset[int]
NOTHING: Known = frozenset()
Lines = Callable[[int, str], list[str]]


class Access(NamedTuple):
    """kind: read, write, update by a thread, or sum by the async proxy."""

    cell: Cell
    words: tuple[int, ...]
    kind: str
    copies: bool = False  # by the async proxy
    scope: str = ""
    thread: int = 0


class Barrier:
    """An mbarrier in a block, of so many arrivals, with what its phase passes on."""

    def __init__(self, number: int, count: int, block: int) -> None:
        self.number, self.count, self.left, self.block = number, count, count, block
        self.knows, self.fenced = NOTHING, NOTHING


class Flag(NamedTuple):
    number: int
    scope: str
    thread: int
    knows: Known
    fenced: Known


class Draw:
    """One program, drawn from a seed, and its `races` and `unfenced`, the cells where something is wrong.

    maybe   cells where something may be wrong: with an update that another one observes if it comes first, or with
            an access that a known write covers
    before  what the thread of each access knew when it was made
    behind  what a thread knew, and knew to be fenced, at its last fence: of the cluster, and of its block alone
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(f"orders {seed}")
        self.blocks = self.random.choice((1, 2, 2, 2))
        self.clustered = self.blocks == 2 and self.random.random() < 0.7
        self.warps = self.random.choice((1, 2))
        self.threads = 32 * self.warps
        firsts = range(0, self.threads * self.blocks, 32)
        self.active = [
            first + lane for first in firsts for lane in self.random.sample((0, 1, 7), self.random.choice((1, 2)))
        ]
        self.knows = [NOTHING] * (self.threads * self.blocks)
        self.fenced = list(self.knows)
        self.behind: dict[tuple[int, bool], tuple[Known, Known]] = {}
        self.accesses: list[Access] = []
        self.races: dict[int, set[Cell]] = {}  # by the number of a statement's first access
        self.unfenced: set[Cell] = set()
        self.maybe: set[Cell] = set()
        self.before: list[Known] = []
        self.careless = self.random.choice((0.0, 0.1, 0.3))
        self.updates = self.random.random() < 0.3  # which fences order by the values that they happen to see
        self.lines: list[str] = []
        self.barriers: list[Barrier] = []
        self.flags: list[Flag] = []
        self.named = [0] * self.blocks
        self.copied: dict[int, list[list[list[int]]]] = {thread: [[]] for thread in self.active}
        self.bulk: dict[int, list[list[list[int]]]] = {thread: [[]] for thread in self.active}
        self.sources = self.number = 0
        for _ in range(self.random.choice((15, 30, 50, 70))):
            getattr(self, f"_{self.random.choice(STATEMENTS.split())}")(self.random.choice(self.active))
        self._end()

    # Who, and what is written.

    def block(self, thread: int) -> int:
        return thread // self.threads

    def by(self, thread: int, *lines: str) -> None:
        self.when(f"(block == {self.block(thread)}) & (t == {thread % self.threads})", *lines)

    def when(self, condition: str, *lines: str) -> None:
        self.lines += [f"if {condition}:", *("    " + line for line in lines)]

    def meet(self, threads: Iterable[int], of: Iterable[int] | None = None) -> None:
        """Let threads know what all of them, or those `of`, know."""
        there = list(threads)
        sources = there if of is None else list(of)
        knows = NOTHING.union(*(self.knows[thread] for thread in sources))
        fenced = NOTHING.union(*(self.fenced[thread] for thread in sources))
        for thread in there:
            self.learn(thread, knows, fenced)

    def learn(self, thread: int, knows: Iterable[int], fenced: Iterable[int] = ()) -> None:
        self.knows[thread] |= frozenset(knows)
        self.fenced[thread] |= frozenset(fenced)

    def reaches(self, scope: str) -> bool:
        return scope in ("gpu", "sys") or (scope == "cluster" and self.clustered)

    def cell(self, thread: int) -> tuple[Cell, str]:
        number, apart = self.random.randrange(CELLS), self.block(thread) > 0
        if self.random.random() < 0.45 or (apart and not self.clustered):
            return ("g", number), "of_all"
        return ("s", number), "theirs" if apart else "cells"

    def word(self) -> int:
        return self.random.randrange(WORDS)

    # Accesses.

    def access(self, thread: int, *wanted: Access, known: bool = True) -> list[int] | None:
        """Make accesses, known to be over if `known`; return their numbers, or None if they are left out."""
        wrong = [self.wrongs(thread, each) for each in wanted]
        if any(any(pair) for pair in wrong) and self.random.random() >= self.careless:
            return None
        first = len(self.accesses)
        for each, (races, unfenced) in zip(wanted, wrong, strict=True):
            if races:
                self.races.setdefault(first, set()).add(each.cell)
            self.unfenced |= {each.cell} if unfenced else set()
            self.accesses.append(each._replace(thread=thread))
            self.before.append(self.knows[thread])
        numbers = list(range(first, len(self.accesses)))
        if known:
            self.learn(thread, numbers)
        return numbers

    def wrongs(self, thread: int, new: Access) -> tuple[bool, bool]:
        """Tell whether an access races with another, and whether a fence lacks between it and another."""
        races = unfenced = False
        for number, old in enumerate(self.accesses):
            if old.cell != new.cell or not {*old.words} & {*new.words} or old.kind == new.kind in ("read", "sum"):
                continue
            if old.kind == new.kind == "update" and self.near(old, new._replace(thread=thread)):
                continue
            race = number not in self.knows[thread]
            if not race and (not new.copies or old.copies or old.kind == "read" or number in self.fenced[thread]):
                continue
            if self.observed(number, thread) or self.covered(number, thread):
                self.maybe.add(old.cell)
                continue
            races, unfenced = races or race, unfenced or not race
        return races, unfenced

    def near(self, a: Access, b: Access) -> bool:
        """Tell whether the scopes of two updates hold the threads of both."""
        return self.block(a.thread) == self.block(b.thread) or (self.reaches(a.scope) and self.reaches(b.scope))

    def observed(self, number: int, thread: int) -> bool:
        """Tell whether a thread knows another update that reads what that one wrote, if it comes behind it."""
        old = self.accesses[number]
        return old.kind == "update" and any(
            now.kind == "update"
            and now.cell == old.cell
            and {*now.words} & {*old.words}
            and self.near(old, now)
            and other != number
            and other in self.knows[thread]
            for other, now in enumerate(self.accesses)
        )

    def covered(self, number: int, thread: int) -> bool:
        """Tell whether a thread knows a write over that access, which its own thread made later than it."""
        old = self.accesses[number]
        return any(
            self.accesses[other].kind == "write"
            and self.accesses[other].cell == old.cell
            and {*old.words} <= {*self.accesses[other].words}
            and number in self.before[other]
            for other in self.knows[thread]
        )

    def _store(self, thread: int) -> None:
        (cell, name), word = self.cell(thread), self.word()
        if self.access(thread, Access(cell, (word,), "write")):
            self.number += 1
            self.by(thread, f"{name}[{cell[1]}, {word}] = {self.number}")

    def _load(self, thread: int) -> None:
        (cell, name), word = self.cell(thread), self.word()
        if self.access(thread, Access(cell, (word,), "read")):
            self.by(thread, f"total += {name}[{cell[1]}, {word}]")

    def _update(self, thread: int) -> None:
        (cell, name), word, scope = self.cell(thread), self.word(), self.random.choice(SCOPES)
        if self.updates and self.access(thread, Access(cell, (word,), "update", scope=scope)):
            self.by(thread, f'cl.atomic_add({name}, ({cell[1]}, {word}), 1, scope="{scope}")')

    def _copy(self, thread: int) -> None:
        cell, word, whole = self.random.randrange(CELLS), self.word(), self.random.random() < 0.4
        words = tuple(range(WORDS)) if whole else (word,)
        if self.block(thread) or self.sources == SOURCES:
            return
        if made := self.access(thread, Access(("s", cell), words, "write"), known=False):
            source = f"source.at({self.sources}, {words[0]})"
            self.by(thread, f"cl.cp_async(cells.at({cell}, {words[0]}), {source}, {4 * len(words)})")
            self.sources += 1
            self.grouped(thread, self.copied, made, "cl.cp_async_commit_group()")

    def grouped(self, thread: int, groups: dict[int, list[list[list[int]]]], made: list[int], commit: str) -> None:
        """Put work into the open group of its thread, and mostly close it."""
        groups[thread][-1].append(made)
        if self.random.random() < 0.75:
            groups[thread].append([])
            self.by(thread, commit)

    def _copy_wait(self, thread: int) -> None:
        count = self.random.choice((0, 0, 1))
        self.by(thread, f"cl.cp_async_wait_group({count})")
        for group in self.copied[thread][: max(0, len(self.copied[thread]) - 1 - count)]:
            self.learn(thread, [number for made in group for number in made])

    def _bulk_load(self, thread: int) -> None:
        cell, other = self.random.randrange(CELLS), self.random.randrange(CELLS)
        of_all, words = self.random.random() < 0.5, tuple(range(WORDS))
        if self.block(thread) or self.sources == SOURCES or len(self.barriers) == BARRIERS:
            return
        read = [Access(("g", other), words, "read", True)] if of_all else []
        if made := self.access(thread, Access(("s", cell), words, "write", True), *read, known=False):
            barrier = self.barrier(self.random.choice((1, 1, 2)), 0)
            self.arrives(thread, barrier, made)
            of = f"of_all.at({other}, 0)" if of_all else f"source.at({self.sources}, 0)"
            self.by(
                thread,
                f"bars[{barrier.number}].arrive_expect_tx(16, cluster={self.clustered})",
                f"cl.cp_async_bulk(cells.at({cell}, 0), {of}, 16, barrier=bars[{barrier.number}])",
            )
            self.sources += 1

    def _bulk_store(self, thread: int) -> None:
        self.stores(thread, "write" if self.random.random() < 0.5 else "")

    def _bulk_reduce(self, thread: int) -> None:
        self.stores(thread, "sum")

    def stores(self, thread: int, kind: str) -> None:
        """Start a copy from shared memory: to a place of its own, over a cell in global memory, or added to it."""
        cell, other, words = self.random.randrange(CELLS), self.random.randrange(CELLS), tuple(range(WORDS))
        if self.block(thread) or self.sources == SOURCES:
            return
        written = [Access(("g", other), words, kind, True)] if kind else []
        if made := self.access(thread, Access(("s", cell), words, "read", True), *written, known=False):
            to = f"of_all.at({other}, 0)" if kind else f"target.at({self.sources}, 0)"
            word, more = ("cp_reduce", ', "add", dtype=cl.f32') if kind == "sum" else ("cp", "")
            self.by(thread, f"cl.{word}_async_bulk({to}, cells.at({cell}, 0), 16{more})")
            self.sources += 1
            self.grouped(thread, self.bulk, made, "cl.cp_async_bulk_commit_group()")

    def _bulk_wait(self, thread: int) -> None:
        count, read = self.random.choice((0, 0, 1)), self.random.random() < 0.5
        self.by(thread, f"cl.cp_async_bulk_wait_group({count}, read={read})")
        for group in self.bulk[thread][: max(0, len(self.bulk[thread]) - 1 - count)]:
            for made in group:
                self.learn(thread, made[:1] if read else made)

    def _send(self, thread: int) -> None:
        """Send a number to block 0, one of whose threads expects it."""
        cell, word = self.random.randrange(CELLS), self.word()
        if not self.clustered or not self.block(thread) or len(self.barriers) == BARRIERS:
            return
        if made := self.access(thread, Access(("s", cell), (word,), "write"), known=False):
            there = self.random.choice([other for other in self.active if not self.block(other)])
            barrier = self.barrier(1, 0)
            self.arrives(there, barrier, made)
            self.by(there, f"bars[{barrier.number}].arrive_expect_tx(4, cluster=True)")
            self.number += 1  # equal values would not race
            value = f"cl.f32({self.number})"
            self.by(thread, f"cl.st_async(theirs.at({cell}, {word}), {value}, bars[{barrier.number}].remote(0))")

    # What orders them.

    def _sync(self, thread: int) -> None:
        if self.random.random() < 0.5:
            first = self.block(thread) * self.threads
            self.when(f"block == {self.block(thread)}", "cl.syncthreads()")
            self.meet(range(first, first + self.threads))

    def _cluster_sync(self, _: int) -> None:
        if self.clustered and self.random.random() < 0.4:
            self.lines.append("cl.cluster_sync()")
            self.meet(range(len(self.knows)))
        elif self.clustered and self.random.random() < 0.3:
            self.lines += ["cl.cluster_arrive(relaxed=True)", "cl.cluster_wait()"]
            for (thread, far), told in self.behind.items():
                for other in range(len(self.knows)):
                    if far or self.block(other) == self.block(thread):
                        self.learn(other, *told)

    def _syncwarp(self, thread: int) -> None:
        block, warp = self.block(thread), thread % self.threads // 32
        self.when(f"(block == {block}) & (t // 32 == {warp})", "cl.syncwarp()")
        self.meet(range(thread // 32 * 32, thread // 32 * 32 + 32))

    def _named(self, thread: int) -> None:
        """Let some warps of a block meet at a barrier of their own, at which others only arrive."""
        block = self.block(thread)
        if self.named[block] == 14:
            return
        self.named[block] += 1
        warps = self.random.sample(range(self.warps), self.random.randint(1, self.warps))
        waiting = [warps[0], *(warp for warp in warps[1:] if self.random.random() < 0.6)]
        for word, those in (("arrive", [warp for warp in warps if warp not in waiting]), ("sync", waiting)):
            if those:
                among = " | ".join(f"(t // 32 == {warp})" for warp in those)
                self.when(
                    f"(block == {block}) & ({among})", f"cl.barrier_{word}({self.named[block]}, {32 * len(warps)})"
                )
        of, to = ([block * self.threads + 32 * w + i for w in each for i in range(32)] for each in (warps, waiting))
        self.meet(to, of)

    def barrier(self, count: int, block: int) -> Barrier:
        self.barriers.append(Barrier(len(self.barriers), count, block))
        return self.barriers[-1]

    def arrives(self, thread: int, barrier: Barrier, made: Iterable[int] = ()) -> None:
        barrier.left -= 1
        barrier.knows |= self.knows[thread] | frozenset(made)
        barrier.fenced |= self.fenced[thread]

    def _arrive(self, thread: int) -> None:
        mine = self.block(thread)
        open_ones = [each for each in self.barriers if each.left and (self.clustered or each.block == mine)]
        if not open_ones or self.random.random() < 0.5:
            if len(self.barriers) == BARRIERS:
                return
            block = self.random.randrange(self.blocks) if self.clustered else mine
            open_ones = [self.barrier(self.random.choice((1, 1, 2, 3)), block)]
        barrier = self.random.choice(open_ones)
        self.arrives(thread, barrier)
        near = f".arrive(cluster={self.clustered})" if barrier.block == mine else f".remote({barrier.block}).arrive()"
        self.by(thread, f"bars[{barrier.number}]{near}")

    def _wait(self, thread: int) -> None:
        complete = [each for each in self.barriers if not each.left and each.block == self.block(thread)]
        if complete:
            barrier = self.random.choice(complete)
            self.learn(thread, barrier.knows, barrier.fenced)
            self.by(thread, f"bars[{barrier.number}].wait(0, cluster={self.clustered})")

    def fence(self, thread: int, scope: str) -> None:
        for far in {self.reaches(scope), False}:
            self.behind[thread, far] = self.knows[thread], self.fenced[thread]

    def _release(self, thread: int) -> None:
        self.sets(thread, lambda flag, scope: [f'cl.store_release(flags, {flag}, 1, scope="{scope}")'])

    def _fenced_release(self, thread: int) -> None:
        if not self.updates:
            line = "cl.store_relaxed(flags, {}, 1)"
            if scope := self.sets(thread, lambda flag, scope: [f'cl.fence("{scope}")', line.format(flag)]):
                self.fence(thread, scope)

    def sets(self, thread: int, lines: Lines) -> str:
        """Set a flag; return by which scope, and nothing if all are set."""
        if len(self.flags) < FLAGS:
            flag = Flag(len(self.flags), self.random.choice(SCOPES), thread, self.knows[thread], self.fenced[thread])
            self.flags.append(flag)
            self.by(thread, *lines(flag.number, flag.scope))
            return flag.scope
        return ""

    def _acquire(self, thread: int) -> None:
        self.gets(thread, lambda flag, scope: [f'while cl.load_acquire(flags, {flag}, scope="{scope}") == 0: pass'])

    def _fenced_acquire(self, thread: int) -> None:
        if not self.updates:
            loop = "while cl.load_relaxed(flags, {}) == 0: pass"
            if scope := self.gets(thread, lambda flag, scope: [loop.format(flag), f'cl.fence("{scope}")']):
                self.fence(thread, scope)

    def gets(self, thread: int, lines: Lines) -> str:
        """Wait for a flag; return by which scope, and nothing if no flag is right."""
        if self.flags:
            flag, scope = self.random.choice(self.flags), self.random.choice(SCOPES)
            near = self.block(flag.thread) == self.block(thread)
            if near or (self.reaches(flag.scope) and self.reaches(scope)):
                self.learn(thread, flag.knows, flag.fenced)
                self.by(thread, *lines(flag.number, scope))
                return scope
        return ""

    def _proxy_fence(self, thread: int) -> None:
        space = self.random.choice(("", "shared::cta", "global", "shared::cluster"))
        self.by(thread, f'cl.fence_proxy_async("{space}")')
        shared = space in ("", "shared::cluster") or (space == "shared::cta" and not self.block(thread))
        covered = {"g": space in ("", "global"), "s": shared}
        self.learn(thread, (), [i for i in self.knows[thread] if covered[self.accesses[i].cell[0]]])

    def _end(self) -> None:
        """Complete and await all that was begun."""
        for thread in self.active:
            self.by(
                thread, "cl.cp_async_bulk_commit_group()", "cl.cp_async_bulk_wait_group(0)", "cl.cp_async_wait_all()"
            )
        for barrier in self.barriers:
            thread = next(each for each in self.active if self.block(each) == barrier.block)
            arrive = [f"bars[{barrier.number}].arrive({barrier.left})"] if barrier.left else []
            self.by(thread, *arrive, f"bars[{barrier.number}].wait(0)")

    def source(self) -> str:
        meet = "cl.cluster_sync()" if self.clustered else "cl.syncthreads()"
        counts = [each.count for each in self.barriers] + [1] * (BARRIERS - len(self.barriers))
        lines = [
            f"cells, bars = cl.shared(cl.f32, ({CELLS}, {WORDS}), align=16), cl.shared(cl.mbarrier, {BARRIERS})",
            "t, block, total = cl.thread_idx.x, cl.block_idx.x, cl.f32(0)",
            *(["theirs = cl.mapa(cells, 0)"] if self.clustered else []),
            "if t == 0:",
            *(f"    bars[{i}].init({count})" for i, count in enumerate(counts)),
            f"    for i in cl.static_range({CELLS * WORDS}): cells[i // {WORDS}, i % {WORDS}] = 0.5",
            "    cl.fence_mbarrier_init()",
            "    cl.fence_proxy_async()",
            meet,
            *self.lines,
            meet,
            f"out[block * {self.threads} + t] = total",
        ]
        f32 = "Tensor[cl.f32, ({}, {})]"
        places = f32.format(SOURCES, WORDS)
        head = (
            f"import cutelite as cl\nfrom cutelite import Tensor\n\n\n"
            f"@cl.kernel(block={self.threads}{', cluster=2' if self.clustered else ''})\n"
            f"def kernel(source: {places}, target: {places}, of_all: {f32.format(CELLS, WORDS)}, "
            f"flags: Tensor[cl.i32, ({FLAGS},)], out: Tensor[cl.f32, ({len(self.knows)},)]) -> None:\n"
        )
        return head + "".join(f"    {line}\n" for line in lines)


def mistakes(seed: int, gpu: bool = False) -> list[str]:
    """Check the program of a seed; return where the checker and the model differ."""
    drawn = Draw(seed)
    kernel = kernel_of(drawn.source(), f"orders {seed}")
    shapes = (SOURCES, WORDS), (SOURCES, WORDS), (CELLS, WORDS), FLAGS, len(drawn.knows)
    arrays: list[Any] = [np.zeros(shape, np.int32 if shape is FLAGS else np.float32) for shape in shapes]
    arrays[0] += 1000 + np.arange(SOURCES * WORDS).reshape(SOURCES, WORDS)
    found: dict[str, set[Cell]] = {"race": set(), "proxy-fence": set()}
    report, wrong = kernel.check(drawn.blocks, None, *arrays, seeds=[seed % 6], notes=False), []
    for each in report.findings:
        space = {"cells": "s", "of_all": "g"}.get(each.name)
        if each.kind in found and space and each.bytes:
            found[each.kind] |= {(space, cell) for cell in range(each.bytes[0] // 16, each.bytes[1] // 16 + 1)}
        else:
            wrong.append(str(each))
    racing = drawn.maybe.union(*drawn.races.values())  # of two lines that race in several cells one is told
    sure_ones = (cells for cells in drawn.races.values() if not cells & drawn.maybe)
    if not found["race"] <= racing or not all(cells & found["race"] for cells in sure_ones):
        wrong.append(f"races at {sorted(found['race'])}, but expected {drawn.races}")
    sure = found["proxy-fence"] - racing, drawn.unfenced - racing
    if sure[0] != sure[1]:
        wrong.append(f"fences lack at {sorted(sure[0])}, but expected at {sorted(sure[1])}")
    return [drawn.source(), *wrong] if wrong else []


if __name__ == "__main__":
    sys.exit(by_seed.main("programs of orders", mistakes, lambda seed: [Draw(seed).source()]))
