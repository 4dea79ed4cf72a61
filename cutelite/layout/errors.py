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


class LayoutArgumentError(LayoutError, TypeError):
    """Arguments of kinds that a layout function does not take.

    >>> print(LayoutArgumentError("coalesce", "coalesce(layout, target_profile=None)", {"layout": 3}))
    coalesce() does not take these arguments: layout = 3; it is `coalesce(layout, target_profile=None)`
    """

    def __init__(self, function: str, signature: str, given: dict[str, object]) -> None:
        shown = ", ".join(f"{name} = {_shown(x)}" for name, x in given.items())
        message = f"{function}() does not take these arguments: {shown}; it is `{signature}`"
        super().__init__(function, message)
        self.args = (message,)
        self.signature, self.given = signature, given

    def called(self, function: str) -> LayoutError:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return LayoutArgumentError, (self.function, self.signature, self.given)


def _shown(x: object) -> str:
    text = x.__name__ if isinstance(x, type) else repr(x)
    return text if len(text) < 60 else f"{text[:57]}..."


def named(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that users call: errors of the functions that it calls bear its name.

    An exception that Python raises within the layout algebra says which arguments the function does not take.
    """

    @wraps(function)
    def naming(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except LayoutError as error:
            if error.function == function.__name__:
                raise
            raise error.called(function.__name__) from None
        except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError) as error:
            if not _of_the_algebra(error):
                raise
            import inspect  # here: a correct program does without

            signature = inspect.signature(function)
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:  # the call itself was wrong
                raise error from None
            bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
            told = f"{function.__name__}{signature.replace(parameters=bare, return_annotation=signature.empty)}"
            raise LayoutArgumentError(function.__name__, told, given) from error

    return naming


def _of_the_algebra(error: Exception) -> bool:
    """Tell whether the algebra raised the exception, not a function that it was given."""
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    return step is not None and step.tb_frame.f_globals.get("__name__", "").startswith(__package__)
