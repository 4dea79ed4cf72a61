"""Loops over compile-time items: the body is executed once for each."""

from __future__ import annotations

from cutelite.diag import CompileError
from cutelite.front.cfg import Loop
from cutelite.front.loops.ahead import move_ahead
from cutelite.front.merge import merge
from cutelite.front.regions import Regions
from cutelite.front.state import State
from cutelite.lang.emit import mistake

UNROLL_LIMIT = 100_000
"""The most iterations that are unrolled."""


def unrolled(regions: Regions, loop: Loop, state: State) -> None:
    """Execute the body until no path comes back to the header. Errors: `unrolling` beyond `UNROLL_LIMIT` times."""
    outer, starts = regions.iteration, []
    ahead = state.stack[-1].ahead if loop.is_for else 0
    for n in range(UNROLL_LIMIT):
        regions.iteration = (*outer, n)
        starts.append((state.block, len(state.block.ops)))
        back = regions.body(loop, state, None)
        if not back:
            regions.iteration = outer
            if ahead:
                move_ahead(regions, loop, starts[:-1], ahead)
            return
        state = merge(regions.builder, back, regions.cfg.live_in[loop.header], regions.mutables)
    raise too_long(regions, loop)


def too_long(regions: Regions, loop: Loop) -> CompileError:
    """Return the error of a loop that has not ended after `UNROLL_LIMIT` iterations."""
    regions.builder.span = regions.span(loop)
    return mistake(
        "unrolling",
        f"this loop is unrolled, and has more than {UNROLL_LIMIT} iterations",
        help="use `range` for a loop on the GPU",
    )
