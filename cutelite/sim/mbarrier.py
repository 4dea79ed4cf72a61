"""mbarrier objects, kept in the 8 bytes of shared memory that the kernel gave them (PTX ISA: mbarrier).

The word has, from its low bits up: 21 bits of transaction count (signed), 20 bits of pending arrivals, 20 bits of
expected arrivals of a phase, and 3 bits of the number of complete phases, the lowest of which is the parity of the
current one. PTX does not define the format, only the ranges.

A phase completes when no arrival is pending and the transaction count is 0; the next one begins with the expected
arrivals pending. Memory marks the bytes of live mbarriers, and refuses ordinary accesses to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from cutelite.ir.op import Op
from cutelite.ir.simulation import RANK_SHIFT, Wait
from cutelite.ops.mbarrier import MAX_COUNT
from cutelite.sim import events
from cutelite.sim.actors import Accuser, Executing, Work
from cutelite.sim.launch import SimLaunch
from cutelite.sim.memory import BARRIER, UNWRITTEN, Region, Space
from cutelite.tuples import NamedTuple

Array = Any

_TX, _PENDING, _EXPECTED, _PHASE = 0, 21, 41, 61  # first bits of the fields
EXPECT_THERE = "expect bytes on the mbarrier that they come to: of a multicast, in each block that it brings them to"
EXPECT_LESS = (
    "expect what copies bring to this block in a phase, no more; a multicast brings it to the blocks of its mask"
)
_LIVE = int.from_bytes(bytes([BARRIER] * 8))  # the states of its bytes, as one number


class Word(NamedTuple):
    """The fields of an mbarrier object; `phase` is the number of complete phases, modulo 8."""

    phase: int
    expected: int
    pending: int
    tx: int

    @property
    def parity(self) -> int:
        return self.phase & 1

    @staticmethod
    def read(bits: int) -> Word:
        tx = bits & 0x1FFFFF
        return Word(bits >> _PHASE, bits >> _EXPECTED & MAX_COUNT, bits >> _PENDING & MAX_COUNT,
                    tx - (tx >> 20 << 21))  # fmt: skip

    def bits(self) -> int:
        return (
            self.phase << _PHASE | self.expected << _EXPECTED | self.pending << _PENDING | (self.tx & 0x1FFFFF) << _TX
        )


class Mbarriers:
    """Operations on mbarriers by the threads of one CTA; implements `ir.simulation.Mbarriers`.

    space, smem  the shared memory of the cluster, and its regions by rank
    launch       is notified of each change of an mbarrier
    tell         reports to the observer; None without one
    """

    def __init__(
        self, space: Space, smem: list[Region], launch: SimLaunch, tell: Callable[[events.Event], None] | None
    ) -> None:
        self.space, self.smem, self._launch, self._tell = space, smem, launch, tell

    def init(self, lanes: Executing, address: Array, count: Array | int) -> None:
        counts = _of_lanes(count, lanes)
        for lane, at in _active(lanes, address):
            region, offset = self._bytes(lanes, lane, at)
            if not 1 <= counts[lane] <= MAX_COUNT:
                text = f"an mbarrier that expects {counts[lane]} arrivals; it takes 1 to {MAX_COUNT}"
                lanes.fail("mbarrier", text, element=lane, place=self.space.place(at))
            assert region.state is not None
            if BARRIER in region.state[offset : offset + 8]:
                place = self.space.place(at)
                help = "initialise it once, before the loop; or `inval` it first"
                lanes.fail(
                    "mbarrier", f"{place.name} is initialised again while live", element=lane, place=place, help=help
                )
            region.state[offset : offset + 8] = BARRIER
            self._put(region, offset, Word(0, int(counts[lane]), int(counts[lane]), 0))
            self._launch.changed()
            if self._tell is not None:
                self._tell(events.MbarrierInit(lanes, at, lane))

    def inval(self, lanes: Executing, address: Array) -> None:
        for lane, at in _active(lanes, address):
            region, offset = self._live(lanes, lane, at)
            assert region.state is not None
            region.state[offset : offset + 8] = UNWRITTEN
            if self._tell is not None:
                self._tell(events.MbarrierInval(lanes, at, lane))

    def arrive(self, lanes: Executing, address: Array, count: Array | int = 1, *, expect: Array | int = 0) -> Array:
        return self._each(lanes, address, count, expect, drop=False)

    def arrive_drop(
        self, lanes: Executing, address: Array, count: Array | int = 1, *, expect: Array | int = 0
    ) -> Array:
        return self._each(lanes, address, count, expect, drop=True)

    def expect_tx(self, lanes: Executing, address: Array, bytes: Array | int) -> None:
        amounts = _amounts(lanes, bytes)
        for lane, at in _active(lanes, address):
            if self._tell is not None:
                self._tell(events.MbarrierExpect(lanes, at, lane, complete=False))
            self._change(lanes, lanes.op, lane, at, tx=int(amounts[lane]))

    def complete_tx(self, lanes: Executing, address: Array, bytes: Array | int) -> None:
        amounts = _amounts(lanes, bytes)
        for lane, at in _active(lanes, address):
            if self._tell is not None:
                self._tell(events.MbarrierExpect(lanes, at, lane, complete=True))
            self._change(lanes, lanes.op, lane, at, tx=-int(amounts[lane]))

    def expect_arrivals(self, lanes: Executing, address: Array, count: Array | int = 1) -> None:
        counts = _of_lanes(count, lanes)
        for lane, at in _active(lanes, address):
            region, offset = self._live(lanes, lane, at)
            word = Word.read(int(region.view(8)[1][offset // 8]))
            if word.pending + counts[lane] > MAX_COUNT:
                place = self.space.place(at)
                lanes.fail("mbarrier", f"{place.name} has too many arrivals pending", element=lane, place=place)
            self._put(region, offset, word._replace(pending=word.pending + int(counts[lane])))

    def work_arrives(self, who: Accuser, work: Work, address: int, count: int) -> None:
        """Let asynchronous work arrive on an mbarrier."""
        if self._tell is not None:
            self._tell(events.WorkArrive(work, address))
        self._change(who, work.op, 0, address, arrivals=count)

    def work_completes(self, who: Accuser, work: Work, address: int, bytes: int) -> None:
        """Let asynchronous work complete `bytes` bytes of an mbarrier's transaction count."""
        if self._tell is not None:
            self._tell(events.WorkComplete(work, address))
        self._change(who, work.op, 0, address, tx=-bytes)

    def test(self, lanes: Executing, address: Array, parity: Array) -> Array:
        parities = _of_lanes(parity, lanes)
        done = np.zeros(len(lanes.tid), bool)
        for at, where in _by_address(lanes, address):
            region, offset = self._live(lanes, int(np.argmax(where)), at)
            done[where] = int(region.view(8)[1][offset // 8]) >> _PHASE & 1 != parities[where] & 1
            if self._tell is not None:
                self._tell(events.MbarrierTest(lanes, at, where & done, where))
        return done

    def test_state(self, lanes: Executing, address: Array, state: Array) -> Array:
        return self.test(lanes, address, self._parity_of(lanes, address, state))

    def wait(self, lanes: Executing, address: Array, parity: Array) -> Wait:
        parities = _of_lanes(parity, lanes) & 1
        cells: list[tuple[Array, int, Array]] = []
        on: list[tuple[Array, events.MbarrierAt]] = []
        for at, where in _by_address(lanes, address):
            region, offset = self._live(lanes, int(np.argmax(where)), at)
            cells.append((region.view(8)[1], offset // 8, where))
            on.append((where, events.MbarrierAt(at)))
        if self._tell is not None:
            for where, one in on:
                self._tell(events.MbarrierWait(lanes, one.address, where, parities))
        words, index, where = cells[0]
        waited = int(parities[int(where.argmax())])
        if len(cells) == 1 and not np.count_nonzero((parities != waited) & where):
            return Wait(
                lambda: int(words[index]) >> _PHASE & 1 != waited, lambda: self._why(address, parities, where),
                tuple(on), lambda: self._advice(address, where),
            )  # fmt: skip

        def ready() -> Array:
            done = ~lanes_mask
            for words, index, where in cells:
                done |= where & ((int(words[index]) >> _PHASE & 1) != parities)
            return done

        lanes_mask = lanes.mask.copy()
        return Wait(
            ready,
            lambda: self._why(address, parities, lanes_mask),
            tuple(on),
            lambda: self._advice(address, lanes_mask),
        )

    def wait_state(self, lanes: Executing, address: Array, state: Array) -> Wait:
        return self.wait(lanes, address, self._parity_of(lanes, address, state))

    def pending_count(self, state: Array) -> Array:
        return (state >> np.uint64(_PENDING) & np.uint64(MAX_COUNT)).astype(np.uint32)

    def _parity_of(self, lanes: Executing, address: Array, state: Array) -> Array:
        """Return the parities of states, which must be of the current phase, or of the one before (PTX)."""
        phases = (state >> np.uint64(_PHASE)).astype(np.int64)
        for at, where in _by_address(lanes, address):
            region, offset = self._live(lanes, int(np.argmax(where)), at)
            behind = (int(region.view(8)[1][offset // 8]) >> _PHASE) - phases & 7
            if np.count_nonzero(where & (behind > 1)):
                text = f"a state of {self.space.place(at).name} of an older phase than the one before the current"
                lanes.fault(where & (behind > 1), text, "mbarrier", "wait with the state of the latest arrival")
        return phases & 1

    # One object

    def word(self, address: int) -> Word | None:
        """Return the state of the live mbarrier at an address; None where there is none."""
        region = self._region(address)
        if region is None or region.dead or region.state is None:
            return None
        offset = address - region.base
        if np.count_nonzero(region.state[offset : offset + 8] != BARRIER):
            return None
        return Word.read(int(region.view(8)[1][offset // 8]))

    def _each(self, lanes: Executing, address: Array, count: Array | int, expect: Array | int, *, drop: bool) -> Array:
        counts, amounts = _of_lanes(count, lanes), _amounts(lanes, expect)
        states = np.zeros(len(lanes.tid), np.uint64)
        none = lanes.mask & (counts < 1)
        if np.count_nonzero(none):
            lanes.fault(none, f"{counts[int(np.argmax(none))]} arrivals at once; it must be 1 or more", "mbarrier")
        plain = not drop and not np.count_nonzero(amounts)
        for at, where in _by_address(lanes, address):
            mine = where.nonzero()[0]
            region, offset = self._live(lanes, int(mine[0]), at)
            words, index = region.view(8)[1], offset // 8
            if plain and len(mine) > 1:
                before, total = Word.read(int(words[index])), np.cumsum(counts[mine])
                if total[-1] <= before.pending:
                    left = before.pending - (total - counts[mine])
                    states[mine] = np.uint64(before._replace(pending=0).bits()) | left.astype(np.uint64) << np.uint64(
                        _PENDING
                    )
                    if self._tell is not None:
                        self._tell(events.MbarrierArrive(lanes, at, 0, where))
                    self._change(lanes, lanes.op, int(mine[0]), at, arrivals=int(total[-1]))
                    continue
            for lane in mine.tolist():
                states[lane] = words[index]
                if self._tell is not None:  # per lane: the phase may complete before the next one arrives
                    alone = where if len(mine) == 1 else np.arange(len(where)) == lane
                    self._tell(events.MbarrierArrive(lanes, at, int(amounts[lane]), alone))
                self._change(lanes, lanes.op, lane, at, tx=int(amounts[lane]), arrivals=int(counts[lane]), drop=drop)
        return states

    def _change(
        self, who: Accuser, op: Op, lane: int, address: int, *, tx: int = 0, arrivals: int = 0, drop: bool = False
    ) -> None:
        """Change the transaction count, then the pending arrivals; complete the phase if both are 0."""
        region, offset = self._live(who, lane, address)
        word = Word.read(int(region.view(8)[1][offset // 8]))
        total = word.tx + tx
        if abs(total) > MAX_COUNT:
            place = self.space.place(address)
            text = f"{place.name} would have a transaction count of {total} bytes; {MAX_COUNT} are possible"
            who.fail("mbarrier", text, element=lane, place=place)
        if arrivals < 0 or arrivals > word.pending:
            place = self.space.place(address)
            text = f"{place.name} gets {arrivals} arrivals, but its phase expects {word.pending} more"
            help = f"it was initialised for {word.expected} arrivals in each phase"
            who.fail("mbarrier", text, element=lane, place=place, help=help)
        expected = word.expected - arrivals if drop else word.expected
        word = Word(word.phase, expected, word.pending - arrivals, total)
        if word.pending == 0 and word.tx == 0:
            word = Word(word.phase + 1 & 7, word.expected, word.expected, 0)
            if self._tell is not None:
                self._tell(events.MbarrierPhase(address, op))
            self._launch.changed()
        self._put(region, offset, word)

    def _put(self, region: Region, offset: int, word: Word) -> None:
        region.view(8)[1][offset // 8] = word.bits()
        self._launch.stirred()

    def _region(self, address: int) -> Region | None:
        """Return the shared memory that an address is in; None outside."""
        rank = address >> RANK_SHIFT
        return self.smem[rank] if 0 <= rank < len(self.smem) else None

    def _bytes(self, who: Accuser, lane: int, address: int) -> tuple[Region, int]:
        """Return region and offset of the 8 bytes at `address`; fail if misaligned or outside of shared memory."""
        region = self._region(address)
        if address % 8:
            place = self.space.place(address)
            who.fail("misaligned", f"an mbarrier at an address that is no multiple of 8: {place.name}", element=lane,
                     place=place)  # fmt: skip
        if region is None or not 0 <= address - region.base <= region.size - 8:
            place = self.space.place(address)
            who.fail("out-of-bounds", "an mbarrier outside of shared memory", element=lane, place=place)
        if region.dead:
            place = self.space.place(address)
            help = "let all blocks meet at a cluster barrier at the end, or let it wait for all arrivals"
            who.fail("exited-block", "an mbarrier of a block that has exited", element=lane, place=place, help=help)
        return region, address - region.base

    def _live(self, who: Accuser, lane: int, address: int) -> tuple[Region, int]:
        region, offset = self._bytes(who, lane, address)
        if int(region.flags(8)[offset // 8]) != _LIVE:
            help = "`init` it first, in one thread, with a barrier before others use it"
            place = self.space.place(address)
            who.fail("mbarrier", f"{place.name} is no live mbarrier", element=lane, place=place, help=help)
        return region, offset

    def _why(self, address: Array, parities: Array, where: Array) -> str:
        waits = sorted({(int(address[lane]), int(parities[lane])) for lane in where.nonzero()[0]})
        return "; ".join(self.describe(at, parity) for at, parity in waits[:4]) + (" ..." if len(waits) > 4 else "")

    def _advice(self, address: Array, where: Array) -> str:
        return next(filter(None, map(self.advice, sorted(set(address[where].tolist())))), "")

    def advice(self, address: int) -> str:
        """Return what to do about a phase that does not complete; '' where its counts do not tell."""
        region = self._region(address)
        if region is None or region.dead:
            return ""
        word = Word.read(int(region.view(8)[1][(address - region.base) // 8]))
        if word.tx < 0:
            return EXPECT_THERE
        if word.tx > 0 and not word.pending:
            return EXPECT_LESS
        if 0 < word.pending < word.expected and not word.tx:
            came = word.expected - word.pending
            return f"let {word.pending} more arrive in each phase, or `init` it for {came}; pipelines count threads"
        return ""

    def describe(self, address: int, parity: int) -> str:
        """Describe a wait: 'mbarrier full[2]: phase of parity 1; 1 of 2 arrivals and 4096 bytes are missing'."""
        place = self.space.place(address)
        region = self._region(address)
        name = f"{place.name}[{place.offset // 8}]"
        if region is None or region.dead:
            return f"mbarrier {name} of a block that has exited"
        word = Word.read(int(region.view(8)[1][(address - region.base) // 8]))
        missing = f"{word.pending} of {word.expected} arrivals and {word.tx} bytes are missing"
        if word.tx < 0:
            missing = f"{word.pending} of {word.expected} arrivals are missing, and {-word.tx} bytes came unexpected"
        if word.parity != parity:
            return f"mbarrier {name}: phase of parity {parity} has completed"
        return f"mbarrier {name}: phase of parity {parity}; {missing}"


def _active(lanes: Executing, address: Array) -> Iterator[tuple[int, int]]:
    """Yield the active lanes with their addresses."""
    for lane in lanes.mask.nonzero()[0].tolist():
        yield lane, int(address[lane])


def _of_lanes(value: Array | int, lanes: Executing) -> Array:
    """Return a number for each lane."""
    if isinstance(value, np.ndarray) and value.shape == lanes.tid.shape:
        return value
    return np.full(lanes.tid.shape, value)


def _amounts(lanes: Executing, bytes: Array | int) -> Array:
    """Return a number of bytes for each lane, 0 or more."""
    amounts = _of_lanes(bytes, lanes)
    wrong = lanes.mask & (amounts < 0)
    if np.count_nonzero(wrong):
        lanes.fault(wrong, f"{amounts[int(np.argmax(wrong))]} bytes: they are counted from 0 on", "mbarrier")
    return amounts


def _by_address(lanes: Executing, address: Array) -> Iterator[tuple[int, Array]]:
    """Yield each distinct address, with a mask of the active lanes that have it."""
    first = int(address[int(lanes.mask.argmax())])
    if np.count_nonzero(address == first) == len(address):
        yield first, lanes.mask
        return
    for at in sorted(set(address[lanes.mask].tolist())):
        yield at, lanes.mask & (address == at)
