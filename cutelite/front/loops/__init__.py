"""Loops: how often the blocks of a loop are executed, and which loops become loops on the GPU.

unrolled  over compile-time items: the body once for each item
trial     `while`: unrolled, until a run-time value decides whether it goes on
run_time  over `range`, and any other `while`: a header block with parameters, and the body once
carried   the parameters of the header: found, or guessed and confirmed
foreseen  what an iteration makes of numbers that are known where it begins
ahead     loads of later iterations, executed ahead (`prefetch`)

A run-time loop is found by executing its body. The worked trace of this loop, where `n` and `x` are parameters:

    total = 0.0
    for i in range(n):
        total = total + x[i]
    out[0] = total

1. *Guess.* What has to be a parameter of the header? The counter changes in any case. `total` is the literal 0.0 at
   the entry, so it is left as it is. The header is opened and entered: ``loop(%i)``, with 0 for `%i`.
2. *Body.* The header's FOR_ITER emits ``%i != n`` and a branch. The path that ends the loop waits behind it. The body
   emits a load, and the addition of the literal 0.0; then it comes back to the header, with `total` an f32, `%t`.
3. *Growth.* In the header `total` was 0.0, and here it is `%t`: it changes, so it is carried as well. The type is what
   0.0 and an f32 have in common. Everything since the entry is undone: blocks, ops, waiting paths.
4. *Again.* The header is ``loop(%i, %total)``, entered with 0 and 0.0. The body emits a load and ``%total + %x``, and
   comes back with the sum. Now only parameters differ: the jump back to the header passes ``%i + 1`` and the sum, and
   the loop is closed. The path that ended it goes on behind it with `%total`.

Each execution adds parameters or widens their types, so this comes to an end. The result is remembered (`Known`): an
inner loop is executed again whenever the body of an outer one is, and then the first guess is right.
What probably changes is guessed at the first execution already, and confirmed behind it (`carried.guesses`).
docs/how-a-loop-is-compiled.md walks through the same with the code beside it.
"""

from __future__ import annotations

from cutelite.front.cfg import Loop
from cutelite.front.iterators import Range, RangeIter, StaticIter, iterate, iterate_static
from cutelite.front.loops.run_time import RunTimeLoop
from cutelite.front.loops.trial import tried
from cutelite.front.loops.unrolled import unrolled
from cutelite.front.regions import Regions
from cutelite.front.state import State


def execute(regions: Regions, loop: Loop, entry: State) -> None:
    """Execute a loop that is entered in the state `entry`; what leaves it waits in `regions.pending`."""
    if not loop.is_for:
        tried(regions, loop, entry)
        return
    iterator = entry.stack[-1]
    if isinstance(iterator, Range):
        regions.builder.span = regions.span(loop)
        iterator = StaticIter(iterate_static(iterator)) if loop.collects else iterate(iterator)
        entry.block = regions.builder.block
        entry.stack[-1] = iterator
    if not isinstance(iterator, RangeIter):
        unrolled(regions, loop, entry)
    elif (rest := RunTimeLoop(regions, loop, entry).run()) is not None:
        outer = regions.iteration
        regions.iteration = (*outer, iterator.unroll)  # not one of those in the body
        execute(regions, loop, rest)
        regions.iteration = outer
