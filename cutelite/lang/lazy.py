"""Vectors that are computed where their elements are asked for.

In    a class that says how; what it knows besides, operators may go on with instead
Out   a vector for everything else
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Value
from cutelite.lang.values import Vector


class Lazy(Vector):
    """A vector computed at its first use in each block of the IR: another path may not have come through that block.

    It is computed again after ops were undone (`Builder.snapshot`): its own may be among them.
    """

    __slots__ = ("_found", "_place")
    __hash__ = Vector.__hash__

    def __init__(self) -> None:
        self._found: Value | None = None
        self._place: tuple[Block, int] | None = None

    def computed(self) -> Any:
        """Emit what it takes, and return the vector."""
        raise NotImplementedError

    @property
    def value(self) -> Value:  # type: ignore[override]
        builder = Builder.current()
        place = None if builder is None else (builder.block, builder.undone)
        if self._found is None or self._place != place:
            self._found, self._place = self.computed().value, place
        return self._found
