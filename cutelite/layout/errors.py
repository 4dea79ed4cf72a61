"""The one exception of the layout algebra."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class LayoutError(ValueError):
    """A layout function was asked for something that does not exist, or that cannot be proven to exist.

    function  name of the function that refused
    mode      index, or path of indices, of the mode at fault; None when no single mode is
    numbers   the values at fault, by name

    The text is one line: the function, then what is wrong, then what would help.

    >>> error = LayoutError("composition", "3 does not divide 8", mode=(1, 0), factor=3, size=8)
    >>> str(error), error.mode, error.numbers
    ('composition: 3 does not divide 8', (1, 0), {'factor': 3, 'size': 8})
    """

    def __init__(
        self, function: str, message: str, *, mode: int | tuple[int, ...] | None = None, **numbers: object
    ) -> None:
        super().__init__(f"{function}: {message}")
        self.function = function
        self.message = message
        self.mode = mode
        self.numbers = numbers

    def within(self, function: str, what: str) -> LayoutError:
        """Return the same error as one of `function`, which the user called, with `what` for its operands."""
        return LayoutError(function, f"{what}: {self.message}", mode=self.mode, **self.numbers)

    def called(self, function: str) -> LayoutError:
        """Return the same error as one of `function`, which the user called."""
        return LayoutError(function, self.message, mode=self.mode, **self.numbers)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self.function, self.message, self.mode, self.numbers)


def _rebuild(
    function: str, message: str, mode: int | tuple[int, ...] | None, numbers: dict[str, object]
) -> LayoutError:
    return LayoutError(function, message, mode=mode, **numbers)


def named(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that users call: errors of the functions that it calls bear its name."""

    @wraps(function)
    def naming(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except LayoutError as error:
            if error.function == function.__name__:
                raise
            raise error.called(function.__name__) from None

    return naming
