"""Loops that say how they are unrolled."""

from __future__ import annotations

import builtins
from typing import Any

from cutelite.lang.emit import describe, mistake

MAX_ITEMS = 100_000
"""Items that a compile-time iterator may yield: one that has not ended then is taken for endless."""


def range(*args: Any, unroll: int | None = None, prefetch: int = 0) -> builtins.range:
    """`range`, for a `for` loop on the GPU whose body has several iterations.

    The body is compiled `unroll` times, one after the other, and asks only once whether to go on; a second loop does
    what is left over. So loads of different iterations can be under way together, if no store or barrier that may
    concern them lies between, and values that are passed on from one iteration to the next change their names and need
    no moves. With a number of iterations that is known, and at most `unroll`, no loop is left.

    With `prefetch`, an iteration's loads from global memory are done that many iterations early, before the stores of
    those. You promise that these stores do not write what it reads. No load moves across a barrier, fence or wait.

    args      start, stop and step, as for `range`: integers, known or not
    unroll    a compile-time integer, 1 to 64; default: ``prefetch + 1``. 1 is the loop that `range` makes
    prefetch  a compile-time integer below `unroll`: ``unroll - 1`` puts all loads of the body together
    Errors    `range` for other arguments, `prefetch` where a body has run-time branches, or no load that can move
    Outside of kernels it is Python's range
    """
    return builtins.range(*args)


def static_range(*args: Any) -> builtins.range:
    """`range`, with compile-time integers: a `for` over it is unrolled, and its variable is an int.

    Errors  `static-range` for a run-time number, and for more than 100,000 numbers; `range` itself makes a loop on
            the GPU
    """
    for x in args:
        if not isinstance(x, int) or isinstance(x, bool):
            raise mistake(
                "static-range",
                f"static_range takes compile-time integers, not {describe(x)}",
                help="use `range` for a loop on the GPU, or make it a Constexpr",
            )
    if not 1 <= len(args) <= 3 or args[2:] == (0,):
        problem = "the step is 0" if args[2:] else f"it has {len(args)}"
        raise mistake("static-range", f"static_range takes 1 to 3 integers, the last not 0: {problem}")
    numbers = builtins.range(*args)
    if len(numbers[: MAX_ITEMS + 1]) > MAX_ITEMS:
        raise mistake(
            "static-range",
            f"{numbers!r} has more than {MAX_ITEMS} numbers, each of which would be compiled",
            help="use `range` for a loop on the GPU",
        )
    return numbers
