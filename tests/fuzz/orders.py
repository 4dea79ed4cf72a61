"""Random programs of accesses and of what orders them: the checker finds the races that a model of a page finds.

python -m tests.fuzz.orders --count 2000        # from a seed on; says where the two differ

A program is a list of statements, each executed by one thread, a warp, a block or all; blocks may form a cluster.
Taken one after the other they are a possible schedule, and no value decides anything. So what each thread knows
(`Known`) follows statement by statement: it is passed on by barriers, mbarriers, flags and waits, and where these are
relaxed, by the fences before and behind them. A race is an access that conflicts with one that its thread does not
know. Most accesses that would race are left out, so that most of the programs are right.
"""

import sys
from collections.abc import Iterable
from functools import reduce
from operator import or_
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz import by_seed
from tests.fuzz.cases import kernel_of

CELLS, WORDS, SOURCES, BARRIERS, FLAGS = 2, 4, 30, 10, 8
SCOPES = ("cta", "cluster", "gpu", "gpu", "sys")
STATEMENTS = """
    store store load load sync cluster_sync cluster_sync named syncwarp arrive arrive wait wait release release release
    acquire acquire acquire fence fence copy copy_wait bulk_load bulk_load bulk_store bulk_store bulk_reduce bulk_wait
    proxy_fence proxy_fence update send
"""
Cell = tuple[str, int]  # in 's', the shared memory of block 0, or 'g', global memory


class Access(NamedTuple):
    """kind: read, write, update by a thread, or sum by the async proxy."""

    cell: Cell
    words: tuple[int, ...]
    kind: str
    copies: bool = False  # by the async proxy
    scope: str = ""
    thread: int = 0


class Known(NamedTuple):
    """What somebody knows of accesses, by their numbers.

    over    they are over
    fenced  writes that are fenced for the async proxy
    done    copies that are complete, so that what they accessed may be written; relaxed arrivals tell of them too
    """

    over: frozenset[int] = frozenset()
    fenced: frozenset[int] = frozenset()
    done: frozenset[int] = frozenset()

    def __or__(self, other: "Known") -> "Known":
        return Known(*map(frozenset.union, self, other))


class Told(NamedTuple):
    """What a thread tells by an arrival or a flag.

    ordered, strong  whether the order reaches another block, and whether the access does: after a fence these differ
    """

    thread: int
    ordered: bool
    strong: bool
    known: Known


class Barrier:
    """An mbarrier in a block, of so many arrivals, with what its phase passes on."""

    def __init__(self, number: int, count: int, block: int) -> None:
        self.number, self.count, self.left, self.block = number, count, count, block
        self.told: list[Told] = []
        self.done = Known()


class Flag(NamedTuple):
    number: int
    thread: int
    strong: bool
    told: list[Told]


class Draw:
    """One program, drawn from a seed, and its `races` and `unfenced`, the cells where something is wrong.

    maybe   cells where something may be wrong: with an update that another one observes if it comes first, or with
            an access that a known write covers
    before  what the thread of each access knew when it was made
    behind  what a thread knew at its last fence that reaches other blocks, and at its last one
    heard   what relaxed waits and loads of a thread were told, for its next fence
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
        self.known = [Known()] * (self.threads * self.blocks)
        self.behind: dict[tuple[int, bool], Known] = {}
        self.heard: dict[int, list[Told]] = {thread: [] for thread in self.active}
        self.copies: set[int] = set()
        self.accesses: list[Access] = []
        self.races: dict[int, set[Cell]] = {}  # by the number of a statement's first access
        self.unfenced: set[Cell] = set()
        self.maybe: set[Cell] = set()
        self.before: list[frozenset[int]] = []
        self.careless = self.random.choice((0.0, 0.3, 0.6))
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
        together = reduce(or_, (self.known[thread] for thread in (there if of is None else of)))
        for thread in there:
            self.known[thread] |= together

    def learn(self, thread: int, over: Iterable[int], fenced: Iterable[int] = ()) -> None:
        self.known[thread] |= Known(frozenset(over), frozenset(fenced))

    def told(self, thread: int, relaxed: bool, strong: bool) -> list[Told]:
        """Return what a thread tells by an access or arrival; a relaxed one tells what fences before it released."""
        if not relaxed:
            return [Told(thread, strong, strong, self.known[thread])]
        fences = [(far, self.behind[thread, far]) for far in (False, True) if (thread, far) in self.behind]
        return [Told(thread, far, strong, known) for far, known in fences]

    def hear(self, thread: int, told: Iterable[Told], relaxed: bool, strong: bool) -> None:
        for each in told:
            near = self.block(each.thread) == self.block(thread)
            if near or (each.strong and strong):
                if relaxed:
                    self.heard[thread].append(each)
                elif near or each.ordered:
                    self.known[thread] |= each.known

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
            self.before.append(self.known[thread].over)
        numbers = list(range(first, len(self.accesses)))
        if known:
            self.learn(thread, numbers)
        else:
            self.copies.update(numbers)
        return numbers

    def wrongs(self, thread: int, new: Access) -> tuple[bool, bool]:
        """Tell whether an access races with another, and whether a fence lacks between it and another."""
        races = unfenced = False
        known = self.known[thread]
        for number, old in enumerate(self.accesses):
            if old.cell != new.cell or not {*old.words} & {*new.words} or old.kind == new.kind in ("read", "sum"):
                continue
            if old.kind == new.kind == "update" and self.near(old, new._replace(thread=thread)):
                continue
            race = number not in known.over and (new.kind == "read" or number not in known.done)
            if not race and (not new.copies or old.copies or old.kind == "read" or number in known.fenced):
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
            and other in self.known[thread].over
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
            for other in self.known[thread].over
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
            self.arrives(thread, barrier, False, self.clustered, made)
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
            self.arrives(there, barrier, False, True, made)
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
            self.meet(range(len(self.known)))
        elif self.clustered and self.random.random() < 0.3:
            self.lines += ["cl.cluster_arrive(relaxed=True)", "cl.cluster_wait()"]
            told = [each for thread in self.active for each in self.told(thread, True, True)]
            done = reduce(or_, map(self.done, self.active))
            for other in range(len(self.known)):
                self.hear(other, told, False, True)
                self.known[other] |= done

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

    def done(self, thread: int) -> Known:
        """Return which copies a thread knows to be complete."""
        known = self.known[thread]
        return Known(done=known.done | (known.over & self.copies))

    def arrives(self, thread: int, barrier: Barrier, relaxed: bool, strong: bool, made: Iterable[int] = ()) -> None:
        barrier.left -= 1
        brought = Told(thread, False, False, Known(frozenset(made)))
        barrier.told += [*self.told(thread, relaxed, strong), brought]
        barrier.done |= self.done(thread)

    def _arrive(self, thread: int) -> None:
        mine = self.block(thread)
        open_ones = [each for each in self.barriers if each.left and (self.clustered or each.block == mine)]
        if not open_ones or self.random.random() < 0.5:
            if len(self.barriers) == BARRIERS:
                return
            block = self.random.randrange(self.blocks) if self.clustered else mine
            open_ones = [self.barrier(self.random.choice((1, 1, 2, 3)), block)]
        barrier, relaxed = self.random.choice(open_ones), self.random.random() < 0.3
        near, far = barrier.block == mine, self.clustered and self.random.random() < 0.7
        self.arrives(thread, barrier, relaxed, far or not near)
        how = f".arrive(cluster={far}, " if near else f".remote({barrier.block}).arrive("
        self.by(thread, f"bars[{barrier.number}]{how}relaxed={relaxed})")
        if not barrier.left:
            self.waits(self.random.choice([each for each in self.active if self.block(each) == barrier.block]), barrier)

    def _wait(self, thread: int) -> None:
        complete = [each for each in self.barriers if not each.left and each.block == self.block(thread)]
        if complete:
            self.waits(thread, self.random.choice(complete))

    def waits(self, thread: int, barrier: Barrier) -> None:
        relaxed, far = self.random.random() < 0.3, self.clustered and self.random.random() < 0.7
        self.hear(thread, barrier.told, relaxed, far)
        if not relaxed:
            self.known[thread] |= barrier.done
        self.by(thread, f"bars[{barrier.number}].wait(0, cluster={far}, relaxed={relaxed})")

    def _fence(self, thread: int) -> None:
        if self.updates:
            return
        scope = self.random.choice(SCOPES)
        self.by(thread, f'cl.fence("{scope}")')
        far = self.reaches(scope)
        self.hear(thread, self.heard[thread], False, far)
        for reach in {far, False}:
            self.behind[thread, reach] = self.known[thread]

    def _release(self, thread: int) -> None:
        if len(self.flags) < FLAGS:
            scope, relaxed = self.random.choice(SCOPES), self.random.random() < 0.4
            if relaxed and self.random.random() < 0.7:
                self._fence(thread)
            flag = Flag(len(self.flags), thread, self.reaches(scope), self.told(thread, relaxed, self.reaches(scope)))
            self.flags.append(flag)
            self.by(thread, f'cl.store_{"relaxed" if relaxed else "release"}(flags, {flag.number}, 1, scope="{scope}")')
            self.gets(self.random.choice(self.active), flag)

    def _acquire(self, thread: int) -> None:
        if self.flags:
            self.gets(thread, self.random.choice(self.flags))

    def gets(self, thread: int, flag: Flag) -> None:
        """Wait for a flag, unless that would race."""
        scope, relaxed = self.random.choice(SCOPES), self.random.random() < 0.4
        far = self.reaches(scope)
        if self.block(flag.thread) == self.block(thread) or (flag.strong and far):
            self.hear(thread, flag.told, relaxed, far)
            word = "relaxed" if relaxed else "acquire"
            self.by(thread, f'while cl.load_{word}(flags, {flag.number}, scope="{scope}") == 0: pass')
            if relaxed and self.random.random() < 0.5:
                self._fence(thread)

    def _proxy_fence(self, thread: int) -> None:
        space = self.random.choice(("", "shared::cta", "global", "shared::cluster"))
        self.by(thread, f'cl.fence_proxy_async("{space}")')
        shared = space in ("", "shared::cluster") or (space == "shared::cta" and not self.block(thread))
        covered = {"g": space in ("", "global"), "s": shared}
        known = self.known[thread].over
        self.learn(thread, (), [i for i in known if covered[self.accesses[i].cell[0]]])

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
            f"flags: Tensor[cl.i32, ({FLAGS},)], out: Tensor[cl.f32, ({len(self.known)},)]) -> None:\n"
        )
        return head + "".join(f"    {line}\n" for line in lines)


def mistakes(seed: int, gpu: bool = False) -> list[str]:
    """Check the program of a seed; return where the checker and the model differ."""
    drawn = Draw(seed)
    kernel = kernel_of(drawn.source(), f"orders {seed}")
    shapes = (SOURCES, WORDS), (SOURCES, WORDS), (CELLS, WORDS), FLAGS, len(drawn.known)
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
