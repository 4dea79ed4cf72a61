"""Indices of a query and of a key of which only the difference is known: to find functions that need no more.

In    the difference, key - query
Out   two indices; `q - k`, `k - q` and comparisons of the two are exact, and any other use is noted
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from cutelite.lang.lazy import Lazy
from cutelite.lang.values import Vector


class Apart(Lazy):
    """One of the two indices.

    difference   key - query, `Places`
    key          whether this is the key's
    asked        shared by the two: not empty once one of them was used by itself, and then results are wrong
    """

    __slots__ = ("asked", "difference", "key")
    __hash__ = Vector.__hash__

    def __init__(self, difference: Any, key: bool, asked: list[bool]) -> None:
        super().__init__()
        self.difference, self.key, self.asked = difference, key, asked

    def computed(self) -> Any:
        self.asked.append(True)
        return self.difference + 0

    @property
    def dtype(self) -> Any:
        return self.difference.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.difference.shape  # type: ignore[no-any-return]

    def less(self, other: Any) -> Any:
        """Return the difference with the other one of the two; None for anything else."""
        if not isinstance(other, Apart) or other.key == self.key:
            return None
        return self.difference if self.key else -self.difference


def apart(difference: Any) -> tuple[Apart, Apart, list[bool]]:
    """Return indices of queries and of keys that are a difference apart, and their `asked`."""
    asked: list[bool] = []
    return Apart(difference, False, asked), Apart(difference, True, asked), asked


def _against_zero(compare: Callable[[Any, Any], Any], difference: Any) -> Any:
    return compare(difference, 0)


def _kept(name: str, of_difference: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    general: Callable[[Any, Any], Any] = getattr(Vector, name)

    def function(self: Apart, other: Any) -> Any:
        found = self.less(other)
        return general(Vector(self.value), other) if found is None else of_difference(found)

    return function


Apart.__sub__ = _kept("__sub__", lambda x: x)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Apart, f"__{_name}__", _kept(f"__{_name}__", partial(_against_zero, getattr(operator, _name))))
