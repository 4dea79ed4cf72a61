"""Ops that threads execute together: gather the threads, find missing ones, execute the op once all have arrived.

Each op needs the threads of one unit: a warp, a warpgroup or the CTA; with an operand `members`, those in that lane
mask. Threads that have exited are not waited for, but a warpgroup must be complete.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from cutelite.ir.function import Value
from cutelite.ir.simulation import Wait
from cutelite.records import dataclass
from cutelite.sim.blocked import Blocked
from cutelite.sim.crowd import Crowd
from cutelite.sim.events import Together
from cutelite.sim.lanes import ThreadLanes
from cutelite.sim.program import Step
from cutelite.sim.strand import BLOCKED, IN_TASK, PARKED, REPLACED, RUNNABLE, Strand
from cutelite.sim.task import Task
from cutelite.target.targets import WARP, WARPGROUP

Array = Any


@dataclass(slots=True)
class StepOutcome:
    """The result of a collective step: the strands that executed it, and steps that blocked half-way."""

    strands: list[Strand]
    tasks: list[Task] = field(default_factory=list)


def arrive(strand: Strand, step: Step, parked: dict[Step, list[Strand]]) -> StepOutcome:
    """Let `strand` arrive at `step`: execute it for all units that are now complete, and park the other threads."""
    if strand.is_whole(step.unit) and not _has_choice(strand, step):
        return execute(step, [strand], strand.unit_ids(step.unit))
    strand.state = PARKED
    parked.setdefault(step, []).append(strand)
    return assemble(step, parked)


def assemble(step: Step, parked: dict[Step, list[Strand]]) -> StepOutcome:
    """Execute `step` for the units of which no thread is missing any more."""
    outcome = StepOutcome([])
    for group, unit in _complete_groups(step, parked.get(step, [])):
        taking_part = _extract(step, parked, group)
        done = execute(step, taking_part, [unit])
        outcome.strands += done.strands
        outcome.tasks += done.tasks
    if not parked.get(step):
        parked.pop(step, None)
    return outcome


def missing(step: Step, strands: list[Strand]) -> Array:
    """Return the linear indices of the threads that parked strands still wait for."""
    machine = strands[0].machine
    here = np.concatenate([strand.tid for strand in strands])
    wanted = np.zeros(machine.threads, bool)
    for strand in strands:
        if step.members is not None:
            for tid, mask in zip(strand.tid.tolist(), strand.get(step.members).tolist(), strict=True):
                wanted[_lanes_of(tid // WARP, mask, machine.threads)] = True
        elif step.unit:
            for unit in strand.unit_ids(step.unit):
                wanted[unit * step.unit : (unit + 1) * step.unit] = True
        else:
            wanted[:] = True
    wanted &= machine.roster.live
    wanted[here] = False
    return wanted.nonzero()[0]


def execute(step: Step, strands: list[Strand], units: list[int]) -> StepOutcome:
    """Execute `step` by `strands`, which have all the threads that take part, for each of `units`."""
    if step.unit == WARPGROUP:
        _check_warpgroups(step, strands, units)
    if step.generator:
        return _start_tasks(step, strands, units)
    waits: list[tuple[Any, ThreadLanes]] = []
    if step.wide or len(units) == 1:
        lanes = _lanes(step, strands, units)
        lanes.op = step.op
        waits.append((step.simulate(lanes), lanes))
    else:
        outputs: dict[tuple[Strand, Value], Array] = {}
        for unit in units:
            crowd = Crowd(step.op, strands, [unit], step.unit, outputs)
            waits.append((step.simulate(crowd), crowd))
    tell = strands[0].machine.tell
    if step.unit and tell is not None:
        for _, taking_part in waits:
            tell(Together(taking_part))
    for strand in strands:
        strand.pc += 1
        strand.state = RUNNABLE
        if any(wait is not None for wait, _ in waits):
            _block(strand, step, waits)
    return StepOutcome(strands)


def _has_choice(strand: Strand, step: Step) -> bool:
    """Tell whether `members` leaves out lanes of the warp, in any thread of the strand."""
    return step.members is not None and bool(np.count_nonzero(~strand.get(step.members)))


def _lanes(step: Step, strands: list[Strand], units: list[int]) -> Any:
    """Return the strand itself if its lanes are exactly those that the op needs, else a crowd."""
    if len(strands) == 1 and (step.unit == 0 or len(strands[0].tid) == step.unit * len(units)):
        return strands[0]
    return Crowd(step.op, strands, units, step.unit, {})


def _start_tasks(step: Step, strands: list[Strand], units: list[int]) -> StepOutcome:
    """Start a step that may block half-way: separately for each unit, with the strands of its threads."""
    outcome = StepOutcome([])
    for unit in units:
        own: list[Strand] = []
        for strand in strands:
            inside = (strand.tid // step.unit == unit).nonzero()[0] if step.unit else np.arange(len(strand.tid))
            if len(inside) == len(strand.tid):
                own.append(strand)
            elif len(inside):
                own.append(strand.take(inside))
        lanes = _lanes(step, own, [unit])
        lanes.op = step.op
        for strand in own:
            strand.state = IN_TASK
        outcome.strands += own
        outcome.tasks.append(Task(step.op, lanes, own, step.simulate(lanes)))
    for strand in strands:
        if strand not in outcome.strands:
            strand.state = REPLACED
    return outcome


def _block(strand: Strand, step: Step, waits: list[tuple[Any, ThreadLanes]]) -> None:
    """Let `strand` wait for the `Wait`s that the executions of its units returned."""
    which = np.full(len(strand.tid), -1)
    position = np.zeros(len(strand.tid), np.int64)
    held: list[Wait] = []
    for wait, lanes in waits:
        if wait is None:
            continue
        at = np.minimum(np.searchsorted(lanes.tid, strand.tid), len(lanes.tid) - 1)
        mine = lanes.tid[at] == strand.tid
        which[mine], position[mine] = len(held), at[mine]
        held.append(wait)
    alone = len(held) == 1 and not np.count_nonzero(which)
    strand.blocked = Blocked(step.op, tuple(held), which, position, alone)
    strand.state = BLOCKED


def _complete_groups(step: Step, strands: list[Strand]) -> list[tuple[Array, int]]:
    """Return the sets of parked threads that can now execute `step` together, each with its unit."""
    if not strands:
        return []
    machine = strands[0].machine
    here = np.zeros(machine.threads, bool)
    for strand in strands:
        here[strand.tid] = True
    if step.members is not None:
        return _member_groups(step, strands, here)
    if step.unit == 0:
        return [(here.nonzero()[0], 0)] if not np.count_nonzero(machine.roster.live & ~here) else []
    groups = []
    for unit in sorted(set((here.nonzero()[0] // step.unit).tolist())):
        part = slice(unit * step.unit, (unit + 1) * step.unit)
        if not np.count_nonzero(machine.roster.live[part] & ~here[part]):
            groups.append((unit * step.unit + here[part].nonzero()[0], unit))
    return groups


def _member_groups(step: Step, strands: list[Strand], here: Array) -> list[tuple[Array, int]]:
    assert step.members is not None
    masks = np.zeros(len(here), np.int64)
    for strand in strands:
        masks[strand.tid] = strand.get(step.members)
        lane = strand.tid & (WARP - 1)
        strand.op = step.op
        outside = masks[strand.tid] >> lane & 1 == 0
        strand.fault(outside, f"a thread executes {step.op.name} but is not in `members`", "members")
    groups = []
    parked = here.nonzero()[0]
    for warp, mask in np.unique(np.stack([parked // WARP, masks[parked]], axis=1), axis=0).tolist():
        wanted = _lanes_of(warp, mask, len(here))
        wanted = wanted[strands[0].machine.roster.live[wanted]]
        if np.all(here[wanted] & (masks[wanted] == mask)):
            groups.append((wanted, warp))
    return groups


def _lanes_of(warp: int, mask: int, threads: int) -> Array:
    lanes = np.array([lane for lane in range(WARP) if mask >> lane & 1], np.int64) + warp * WARP
    return lanes[lanes < threads]


def _extract(step: Step, parked: dict[Step, list[Strand]], group: Array) -> list[Strand]:
    """Take the threads of `group` out of the strands parked at `step`."""
    taken, left = [], []
    wanted = np.zeros(parked[step][0].machine.threads, bool)
    wanted[group] = True
    for strand in parked[step]:
        inside = wanted[strand.tid]
        count = np.count_nonzero(inside)
        if count == len(inside):
            taken.append(strand)
        elif count == 0:
            left.append(strand)
        else:
            taken.append(strand.take(inside.nonzero()[0]))
            left.append(strand.take((~inside).nonzero()[0]))
    parked[step] = left
    return taken


def _check_warpgroups(step: Step, strands: list[Strand], units: list[int]) -> None:
    present = np.concatenate([strand.tid for strand in strands])
    for unit in units:
        mine = present // WARPGROUP == unit
        if np.count_nonzero(mine) != WARPGROUP:
            strands[0].op = step.op
            text = f"{step.op.name} is executed by {np.count_nonzero(mine)} threads of warpgroup {unit}, not by all 128"
            help = "all threads of four warps, the first a multiple of 4, must execute it together"
            strands[0].fail("divergence", text, help=help)
