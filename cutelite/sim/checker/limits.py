"""Launches that are too large to be checked, and sizes that would fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutelite.sim.error import TooLarge

MOST_BYTES = 1 << 30  # of arrays: their shadow takes up to 6 times as much, and 24 times for arrays of bytes
MIB = 1 << 20


def check_size(kernel: str, arrays: Sequence[Any]) -> None:
    """Check that arrays are small enough for a record of their accesses. Errors: `TooLarge`."""
    size = sum(array.nbytes for array in arrays)
    if size > MOST_BYTES:
        largest = max(arrays, key=lambda array: array.nbytes)
        raise TooLarge(
            kernel,
            f"the arrays have {size / MIB:.0f} MiB, the largest of them {largest.shape}; a check takes up to "
            f"{MOST_BYTES // MIB} MiB",
            f"check a smaller problem: extents smaller by a factor of {(size / MOST_BYTES) ** 0.5:.1f} each would fit",
        )


def check_length(kernel: str, ops: int, done: int, blocks: int, most: int) -> None:
    """Check, after some blocks of a grid, that all need at most `most` operations. Errors: `TooLarge`."""
    expected = ops * blocks // max(1, done)
    if expected > most:
        fit = max(done, most * done // ops)
        raise TooLarge(
            kernel,
            f"{done} block{'s' if done > 1 else ''} took {ops} operations, so the {blocks} of the grid would take "
            f"{expected}; the limit is {most}",
            f"a grid of about {fit} blocks fits; or `blocks={fit}` checks that many of it; or raise `max_ops`",
        )
