"""The products of a tile: one for each stage of a pipeline, of which the next is started before the last one ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cutelite as cl


def products(
    mma: Any, acc: Any, left: Any, right: Any, pipe: Any, state: Any, steps: Any,
    arrived: Callable[[Any, Any], None] = lambda state, step: None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Start the products of a tile. Who: a warpgroup.

    left, right  its parts of the stages of A and B
    steps        how many stages, one at least
    arrived      called with the state and the number of a stage that has come, before it is multiplied
    Result       the sums in flight, the stage that they still read, and the next one
    """
    pipe.consumer_wait(state)
    arrived(state, 0)
    at = None, None, None, state.index
    acc = cl.gemm(mma, acc, left[at], right[at], accumulate=False)
    before, state = state, state.advance()
    for i in range(1, steps):
        pipe.consumer_wait(state)
        arrived(state, i)
        at = None, None, None, state.index
        acc = cl.gemm(mma, acc, left[at], right[at]).keep(1)
        pipe.consumer_release(before)
        before, state = state, state.advance()
    return acc, before, state
