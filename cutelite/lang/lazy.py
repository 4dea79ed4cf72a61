"""Vectors that are computed when their elements are used.

In    a subclass that knows how to compute them; operators may use its fields instead
Out   a vector in all other uses
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Value
from cutelite.lang.values import Vector


class Lazy(Vector):
    """A vector that is computed at its first use in each block of the IR: other paths may not pass through that block.

    It is computed again after ops were undone (`Builder.snapshot`), since its own ops may be among them.
    """

    __slots__ = ("_found", "_place")
    lazy = True
    __hash__ = Vector.__hash__

    def __init__(self) -> None:
        self._found: Value | None = None
        self._place: tuple[Block, int] | None = None

    def computed(self) -> Any:
        """Emit the ops that compute the vector, and return it."""
        raise NotImplementedError

    @property
    def value(self) -> Value:  # type: ignore[override]
        builder = Builder.current()
        place = None if builder is None else (builder.block, builder.undone)
        if self._found is None or self._place != place:
            self._found, self._place = self.computed().value, place
        return self._found
