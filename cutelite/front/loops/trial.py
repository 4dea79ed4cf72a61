"""`while`: unrolled on trial, as long as nothing at run time decides whether it goes on.

Each iteration is a trial. If a path that only some of the threads take leaves the loop, or only some come back to its
header, then it is a loop on the GPU: the iteration is undone, and `run_time` takes over from its beginning.
"""

from __future__ import annotations

from cutelite.front import tree
from cutelite.front.cfg import Loop
from cutelite.front.loops.run_time import Known, RunTimeLoop
from cutelite.front.loops.unrolled import UNROLL_LIMIT, too_long
from cutelite.front.merge import merge
from cutelite.front.regions import Regions, Running
from cutelite.front.state import State, slots_of
from cutelite.lang.emit import mistake


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
                state = merge(regions.builder, back, regions.cfg.live_in[loop.header])
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
    slots = slots_of([before, after], regions.cfg.live_in[loop.header])
    return all(
        slot.read(before) is slot.read(after) or tree.same(slot.read(before), slot.read(after)) for slot in slots
    )
