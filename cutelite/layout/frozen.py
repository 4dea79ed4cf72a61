"""The base of the values here: immutable, equal and hashed by their fields, picklable.

They do what ``@dataclass(frozen=True, slots=True)`` does. Importing dataclasses would cost more than this package.
"""

from __future__ import annotations

from typing import Any, NoReturn


class Frozen:
    """A value of the fields in its ``__slots__``, in that order. An ``__init__`` of its own sets them with `fill`."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, *values: Any) -> None:
        self.fill(*values)

    def fill(self, *values: Any) -> None:
        """Set every field, once."""
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def fields(self) -> tuple[Any, ...]:
        """Return the values of all fields."""
        return tuple(getattr(self, name) for name in self.__slots__)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash(self.fields())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.fields()

    def __repr__(self) -> str:
        return str(self)
