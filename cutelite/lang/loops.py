"""Loops that are unrolled at compile time."""

from __future__ import annotations

from typing import Any

from cutelite.lang.emit import describe, mistake

MAX_ITEMS = 100_000
"""Items that a compile-time iterator may yield: one that has not ended then is taken for endless."""


def static_range(*args: Any) -> range:
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
    numbers = range(*args)
    if len(numbers[: MAX_ITEMS + 1]) > MAX_ITEMS:
        raise mistake(
            "static-range",
            f"{numbers!r} has more than {MAX_ITEMS} numbers, each of which would be compiled",
            help="use `range` for a loop on the GPU",
        )
    return numbers
