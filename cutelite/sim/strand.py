"""A strand: threads of one CTA that are at the same place and go on together.

Its values have exactly one row for each of its threads, in the order of their indices, so execution needs no masks.
Where its threads part, it splits into two strands, which copy values from it as they use them; where they meet again,
the strands are merged. A strand may be one lane, one warp, one warpgroup, or all warps of the CTA (a *gang*): the cost
of an op hardly depends on that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cutelite.ir.function import Jump, Value
from cutelite.layout.dims import Dim
from cutelite.sim.blocked import Blocked
from cutelite.sim.lanes import ThreadLanes
from cutelite.sim.machine import FixedValues, Machine
from cutelite.sim.program import BlockCode
from cutelite.sim.values import DEEPEST, Values, joined

Array = Any

RUNNABLE, BLOCKED, PARKED, IN_TASK, AT_JOIN, PARTING, EXITED, REPLACED = range(8)
"""States of a strand: able to run; waiting; at a collective op whose other threads have not arrived; in a step that
blocked half-way; at a join; about to part; exited; replaced by other strands."""


MANY_VALUES = 1024  # with more values than this, those that are not used again are dropped at jumps


class Join:
    """The place where threads that parted meet again: the post-dominator of their branch (`BlockCode.meet`).

    awaited  how many of the threads that parted have neither arrived nor exited
    parent   the next join of these threads after this one
    since    the clock of the scheduler when the last strand arrived
    """

    __slots__ = ("arrived", "awaited", "code", "parent", "since")

    def __init__(self, code: BlockCode, parent: Join | None, awaited: int) -> None:
        self.code, self.parent, self.awaited = code, parent, awaited
        self.arrived: list[Strand] = []
        self.since = 0


class Strand(ThreadLanes):
    """Implements `ir.simulation.Lanes` for ops that any number of threads can execute; all lanes are active.

    regs     its values; `get` finds one
    code,pc  the next step
    join     where its threads will meet those they parted from, None at the top
    blocked  what it waits for, in the state BLOCKED
    spent    ops executed since it last blocked or met others
    """

    __slots__ = ("_fixed", "_whole", "blocked", "code", "get", "join", "parting", "pc", "regs", "spent", "state")

    get: Callable[[Value], Any]

    def __init__(self, machine: Machine, tid: Array, regs: Values, code: BlockCode, pc: int = 0) -> None:
        super().__init__(machine, code.steps[0].op, tid, np.ones(len(tid), bool), True)
        self.regs = regs
        self.get = regs.__getitem__
        self.code = code
        self.pc = pc
        self.join: Join | None = None
        self.state = RUNNABLE
        self.spent = 0
        self.blocked: Blocked | None = None
        self.parting: tuple[Array, Jump, Jump] | None = None
        self._whole: dict[int, tuple[int, bool]] = {}
        self._fixed: FixedValues | None = None

    @property
    def fixed(self) -> FixedValues:
        """The results so far of `fixed` steps, by their reach; all strands of the same threads share them."""
        if self._fixed is None:
            self._fixed = self.machine.fixed_of(self.tid)
        return self._fixed

    def define(self, *results: Array) -> None:
        values = self.op.results
        if len(values) == len(results) == 1:
            self.regs[values[0]] = results[0]
            return
        for value, result in zip(values, results, strict=True):
            self.regs[value] = result

    @property
    def needs(self) -> Callable[[object], bool]:
        """The function that tells whether a value may be used from here on."""
        return self.code.needs_within if self.pc else self.code.needs

    def bind_dim(self, dim: object, value: Array) -> None:
        assert isinstance(dim, Dim)
        wrong = (value % dim.divisible_by != 0) | (value < dim.min)
        if dim.max is not None:
            wrong |= value > dim.max
        if np.count_nonzero(wrong):
            found = int(value[np.argmax(wrong)])
            self.fault(wrong, f"the value {found} is not what {dim} promises: {dim.promise()}", "dim")
        self.regs[dim.name] = value.astype(np.int64)

    def bound_dim(self, name: str) -> Array:
        return self.regs[name]

    def is_whole(self, unit: int) -> bool:
        """Tell whether its warps (or warpgroups: `unit` threads) are complete, but for threads that have exited."""
        roster = self.machine.roster
        exits = roster.exits
        found = self._whole.get(unit)
        if found is None or found[0] != exits:
            if unit == 0:
                whole = len(self.tid) == roster.live_count
            else:
                here = np.bincount(self.tid // unit, minlength=-(-roster.threads // unit))
                whole = not np.count_nonzero((here != roster.live_by(unit)) & (here > 0))
            found = self._whole[unit] = (exits, whole)
        return found[1]

    def unit_ids(self, unit: int) -> list[int]:
        """Return the numbers of the warps (or warpgroups, or the CTA) of its threads."""
        return sorted(set((self.tid // unit).tolist())) if unit else [0]

    # Terminators

    def jump(self, to: Jump) -> None:
        code = self.machine.program.codes[to.block]
        if to.args:
            passed = [self.regs[value] for value in to.args]
            self.regs.update(zip(code.params, passed, strict=True))
        if len(self.regs) > MANY_VALUES:
            self.regs = self.regs.only(code.needs)
            self.get = self.regs.__getitem__
        self.code = code
        self.pc = 0
        if self.join is not None and self.join.code is code:
            self.state = AT_JOIN

    def branch(self, cond: Array, then: Jump, other: Jump) -> None:
        holds = np.count_nonzero(cond)
        if holds == len(cond):
            self.jump(then)
        elif holds == 0:
            self.jump(other)
        else:
            self.parting = (cond, then, other)
            self.state = PARTING

    def leave(self) -> None:
        self.state = EXITED

    # Splitting and joining

    def take(self, which: Array) -> Strand:
        """Return a strand of some of its threads (indices, ascending), at the same place. This one must end then."""
        if self.regs.depth >= DEEPEST:
            self.regs = self.regs.only(self.code.needs_within)  # at a branch `pc` is still that of the turn's beginning
        strand = Strand(self.machine, self.tid[which], self.regs.of(which), self.code, self.pc)
        strand.op, strand.join, strand.state, strand.spent = self.op, self.join, self.state, self.spent
        if self.blocked is not None:
            strand.blocked = self.blocked.take(which)
        return strand

    def by(self, unit: int) -> list[Strand]:
        """Return a strand for each of its warps, or warpgroups, at this place. If there are several, this one ends."""
        of = self.tid // unit
        units = sorted(set(of.tolist()))
        return [self] if len(units) == 1 else [self.take((of == one).nonzero()[0]) for one in units]

    def part(self, cond: Array, then: Jump, other: Jump) -> tuple[Strand, Strand]:
        """Return two strands, of the threads where `cond` holds and of the others, after their jumps."""
        meet = self.code.meet
        join = self.join
        if meet is not None and (join is None or join.code is not meet):
            join = Join(meet, join, len(self.tid))
        pair = []
        for which, to in ((cond, then), (~cond, other)):
            strand = self.take(which.nonzero()[0])
            strand.join, strand.state = join, RUNNABLE
            strand.jump(to)
            pair.append(strand)
        return pair[0], pair[1]


def merge(strands: list[Strand]) -> Strand:
    """Return one strand of all threads of strands that are at the same place, with the same join."""
    first = strands[0]
    if len(strands) == 1:
        return first
    tid = np.concatenate([strand.tid for strand in strands])
    order: Array | None = None
    if not (tid[1:] > tid[:-1]).all():
        order = np.argsort(tid, kind="stable")
        tid = tid[order]
    regs = joined([strand.regs for strand in strands], order, first.needs)
    merged = Strand(first.machine, tid, regs, first.code, first.pc)
    merged.op, merged.join, merged.state = first.op, first.join, RUNNABLE
    return merged
