"""Loops whose unrolling the kernel decides."""

from __future__ import annotations

import builtins
from typing import Any

from cutelite.lang.emit import describe, mistake

MAX_ITEMS = 100_000
"""The most items that a compile-time iterator may yield; one that yields more counts as endless."""


def range(*args: Any, unroll: int | None = None, prefetch: int = 0) -> builtins.range:
    """Iterate like `range`, in a loop on the GPU whose body is unrolled.

    The body is compiled `unroll` times in a row, with one test whether to go on; a second loop executes the iterations
    that are left over. So loads of several iterations can be under way at once, unless a store or barrier between them
    may affect them, and values that one iteration passes to the next need no moves. If the number of iterations is
    known and at most `unroll`, no loop is left.

    With `prefetch`, an iteration's loads from global memory are executed that many iterations early, before the stores
    of those iterations. You promise that these stores do not write what the loads read. No load moves across a barrier,
    fence or wait.

    args      start, stop and step, as for `range`: integers, known at compile time or not
    unroll    a compile-time integer, 1 to 64; default: ``prefetch + 1``. 1 gives the same loop as `range`
    prefetch  a compile-time integer below `unroll`: ``unroll - 1`` puts all loads of the body together
    Errors    `range` for other arguments, `prefetch` if the body has run-time branches, or no load that can move
    Outside of kernels it is Python's range
    """
    return builtins.range(*args)


def static_range(*args: Any) -> builtins.range:
    """Iterate over compile-time integers like `range`: a `for` over it is unrolled, and its variable is an int.

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
