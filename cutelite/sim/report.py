"""Reports about all threads: deadlocks, endless kernels, divergence at collective ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from cutelite.diag import Mistake, Note
from cutelite.ir.op import Op
from cutelite.sim.collective import missing
from cutelite.sim.error import SimError
from cutelite.sim.launch import SimLaunch
from cutelite.sim.machine import Machine
from cutelite.sim.program import Step
from cutelite.sim.strand import Join, Strand
from cutelite.sim.task import Task
from cutelite.target.targets import WARP
from cutelite.tuples import NamedTuple

GROUPS_SHOWN = 16


class Situation(Protocol):
    """The state of all threads, for a report. `Scheduler` is one."""

    launch: SimLaunch
    runnable: list[Strand]
    resting: list[Strand]
    blocked: list[Strand]
    tasks: list[Task]
    parked: dict[Machine, dict[Step, list[Strand]]]
    joins: list[Join]


class Group(NamedTuple):
    """Threads of a block that do the same."""

    machine: Machine
    tid: tuple[int, ...]
    op: Op
    doing: str  # 'wait for ...'

    def __str__(self) -> str:
        return f"block {self.machine.block}: {_said(self.tid, self.doing)}"


def deadlock(now: Situation) -> SimError:
    """Return the report of a deadlock: which threads wait where, and for what."""
    groups = list(all_groups(now))
    first = groups[0]
    lonely = [group for group in groups if group.op.scope != "thread" and group.doing.startswith("wait for the others")]
    code, title = "deadlock", "a deadlock: no thread can go on"
    if lonely:
        first, code = lonely[0], "divergence"
        title = f"a deadlock: not all threads that {first.op.name} needs come to it"
    advice = (strand.blocked.advice() for strand in now.blocked if strand.blocked is not None)
    help = "" if lonely else next(filter(None, advice), "")
    return _error(now, Mistake(code, title, str(first), help), first, groups)


def endless(now: Situation) -> SimError:
    """Return the report that the limit of ops is reached."""
    groups = list(all_groups(now))
    title = f"no end after {now.launch.ops} operations"
    help = "threads that spin may wait for something that never comes; a long kernel needs a larger `max_ops`"
    return _error(now, Mistake("endless", title, groups[0].doing, help), groups[0], groups)


def spinning(now: Situation, spinning: list[Strand]) -> SimError:
    """Return the report that all threads that can run are spinning."""
    at = _group(spinning[0], spinning[0].op, "spin")
    title = "a deadlock: the threads that can go on spin, and nobody is left to change what they look at"
    others = [group for group in all_groups(now) if (group.machine, group.tid) != (at.machine, at.tid)]
    return _error(now, Mistake("deadlock", title, str(at)), at, others)


def check_convergence(now: Situation, join: Join) -> None:
    """Raise a `SimError` if threads wait at a collective op for others that bypassed it and have arrived at `join`."""
    if not join.arrived:
        return
    machine = join.arrived[0].machine
    arrived = np.concatenate([strand.tid for strand in join.arrived])
    for step, strands in now.parked[machine].items():
        if step.members is not None or not strands:
            continue
        others = np.intersect1d(missing(step, strands), arrived)
        if len(others):
            here = np.concatenate([strand.tid for strand in strands])
            title = f"{step.op.name} is not executed by all threads of the {_unit_name(step.op)}"
            label = f"{_said(tuple(here.tolist()), 'are here')}; {_said(tuple(others.tolist()), 'are not')}"
            mistake = Mistake("divergence", title, label, "move it out of the branch, or let all of them take it")
            group = Group(machine, tuple(here.tolist()), step.op, "are here")
            raise _error(now, mistake, group, [])


def all_groups(now: Situation) -> Iterator[Group]:
    """Yield all threads, grouped by what they do; waiting ones first."""
    for strand in now.blocked:
        if strand.blocked is not None:
            for why, lanes in strand.blocked.reasons().items():
                yield _group(strand, strand.blocked.op, f"wait for {why}", lanes)
    for task in now.tasks:
        for strand in task.strands:
            yield _group(strand, task.op, f"wait for {task.why}")
    for parked in now.parked.values():
        for step, strands in parked.items():
            others = threads_text(tuple(missing(step, strands).tolist()))
            for strand in strands:
                yield _group(strand, step.op, f"wait for the others of the {_unit_name(step.op)}: {others}")
    for strand in [*now.runnable, *now.resting]:
        yield _group(strand, strand.op, f"execute {strand.op.name}")
    for join in now.joins:
        for strand in join.arrived:
            yield _group(strand, strand.op, "wait where paths meet again")


def state_text(now: Situation) -> str:
    """Return a line for each group of threads."""
    lines = []
    for group in all_groups(now):
        where = f" at {group.op.span.place()}" if group.op.span is not None else ""
        lines.append(f"{group}{where}")
    return "\n".join(lines)


def threads_text(tid: tuple[int, ...]) -> str:
    """Describe threads: 'threads 0-31 (warp 0)', 'thread 5', 'threads 0, 2, 4, 6 and 28 more'."""
    if len(tid) == 1:
        return f"thread {tid[0]}"
    runs: list[list[int]] = []
    for t in sorted(tid):
        if runs and runs[-1][1] == t - 1:
            runs[-1][1] = t
        else:
            runs.append([t, t])
    shown = ", ".join(f"{a}-{b}" if a != b else str(a) for a, b in runs[:4])
    more = sum(b - a + 1 for a, b in runs[4:])
    warps = sorted({t // WARP for t in tid})
    whole = len(tid) == len(warps) * WARP
    names = f" (warp{'s' if len(warps) > 1 else ''} {warps[0]}{f'-{warps[-1]}' if len(warps) > 1 else ''})"
    contiguous = warps[-1] - warps[0] + 1 == len(warps)
    return f"threads {shown}{f' and {more} more' if more else ''}{names if whole and contiguous else ''}"


def _said(tid: tuple[int, ...], doing: str) -> str:
    """Return what threads do; `doing` begins with the verb in the plural."""
    verb, _, rest = doing.partition(" ")
    one = "is" if verb == "are" else f"{verb}s"
    return f"{threads_text(tid)} {verb if len(tid) > 1 else one} {rest}"


def _group(strand: Strand, op: Op, doing: str, lanes: np.ndarray | None = None) -> Group:
    tid = strand.tid if lanes is None else strand.tid[lanes]
    return Group(strand.machine, tuple(tid.tolist()), op, doing)


def _unit_name(op: Op) -> str:
    return {"cta": "block"}.get(op.scope, op.scope)


def _error(now: Situation, mistake: Mistake, at: Group, groups: list[Group]) -> SimError:
    others = [group for group in groups if group is not at]
    notes = [Note(str(group), group.op.span) for group in others[:GROUPS_SHOWN]]
    if len(others) > GROUPS_SHOWN:
        notes.append(Note(f"and {len(others) - GROUPS_SHOWN} more groups of threads"))
    launch = now.launch
    threads = [at.machine.thread(tid) for tid in at.tid]
    return SimError(mistake, kernel=launch.kernel, seed=launch.seed, op=at.op, block=at.machine.block, threads=threads,
                    notes=notes)  # fmt: skip
