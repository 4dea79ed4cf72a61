"""Loops that are unrolled at compile time."""

from __future__ import annotations

from typing import Any

from cutelite.lang.values import describe, mistake


def static_range(*args: Any) -> range:
    """`range`, with compile-time integers: a `for` over it is unrolled, and its variable is an int.

    Errors  `static-range` for a run-time number; `range` itself makes a loop on the GPU
    """
    for x in args:
        if not isinstance(x, int) or isinstance(x, bool):
            raise mistake(
                "static-range",
                f"static_range takes compile-time integers, not {describe(x)}",
                help="use `range` for a loop on the GPU, or make it a Constexpr",
            )
    return range(*args)
