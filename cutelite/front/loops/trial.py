"""`while`: unrolled on trial, as long as nothing at run time decides whether it goes on.

Each iteration is a trial. If a path that only some of the threads take leaves the loop, or only some come back to its
header, then it is a loop on the GPU: the iteration is undone, and `run_time` takes over from its beginning.
"""

from __future__ import annotations

from typing import Any

from cutelite.front import tree
from cutelite.front.cfg import Loop
from cutelite.front.loops.run_time import Known, RunTimeLoop
from cutelite.front.loops.unrolled import UNROLL_LIMIT, too_long
from cutelite.front.merge import merge
from cutelite.front.regions import Regions, Running
from cutelite.front.state import State, slots_of
from cutelite.lang.emit import mistake
from cutelite.lang.values import Scalar


class _DecidedAtRunTime(Exception):
    """Only some of the threads leave the loop, or go on with it."""

    def __init__(self, trial: _Trial) -> None:
        self.trial = trial


class _Trial(Running):
    """An iteration of a `while` that is executed to see whether all threads do the same."""

    def leave(self, state: State) -> None:
        if state.share != self.share:
            raise _DecidedAtRunTime(self)

    def reshared(self, states: list[State]) -> None:
        for state in states:
            self.leave(state)


def tried(regions: Regions, loop: Loop, state: State) -> None:
    """Execute a `while` that is entered in `state`. Errors: `endless-loop`, `unrolling`."""
    outer = regions.iteration
    known: Known | None = regions.memory.get((regions.key, loop.header, outer))
    for n in range(UNROLL_LIMIT):
        regions.iteration = outer
        if known and n == known.peeled:
            RunTimeLoop(regions, loop, state, n).run()
            return
        regions.iteration = (*outer, n)
        start = state.fork(state.block, state.share)
        undo = regions.snapshot(state)
        regions.mutables.mark()
        trial = _Trial(loop, state.share)
        try:
            back = regions.body(loop, state, trial)
            if back:
                state = merge(regions.builder, back, regions.cfg.live_in[loop.header], regions.mutables)
                if state.share != trial.share:
                    raise _DecidedAtRunTime(trial)
        except _DecidedAtRunTime as decided:
            regions.mutables.undo()
            if decided.trial is not trial:
                raise
            undo()
            regions.iteration = outer
            RunTimeLoop(regions, loop, start, n).run()
            return
        changed = regions.mutables.keep()
        if not back:
            regions.iteration = outer
            return
        if not changed and _same(regions, loop, start, state):
            break
    else:
        raise too_long(regions, loop)
    regions.builder.span = regions.span(loop)
    raise mistake(
        "endless-loop",
        "this loop never ends: nothing that decides about it changes",
        help="its condition must change from one iteration to the next, or depend on a run-time value",
    )


def _same(regions: Regions, loop: Loop, before: State, after: State) -> bool:
    """Tell whether all is the same that was known while compiling: then the next iteration will leave as little."""
    slots = slots_of([before, after], regions.cfg.live_in[loop.header])
    return all(_alike(slot.read(before), slot.read(after)) for slot in slots)


def _alike(a: Any, b: Any) -> bool:
    if a is b or tree.same(a, b):
        return True
    of_a: list[Any] = []
    of_b: list[Any] = []
    return tree.same_structure(tree.flatten(a, of_a), tree.flatten(b, of_b)) and all(map(_alike_leaf, of_a, of_b))


def _alike_leaf(a: Any, b: Any) -> bool:
    """Tell whether two leaves are the same, or two numbers of one type, of which nothing is known before run time."""
    return tree.same_leaf(a, b) or (_unknown(a) and _unknown(b) and a.type == b.type)


def _unknown(x: Any) -> bool:
    return isinstance(x, Scalar) and not (x.value.op and x.value.op.name == "const")
