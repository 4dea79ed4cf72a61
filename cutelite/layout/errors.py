"""The one exception of the layout algebra."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

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
        return partial(LayoutError, mode=self.mode, **self.numbers), (self.function, self.message)  # type: ignore[arg-type]


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


class _NoInteger(TypeError):
    """An argument has a part that is neither an integer nor a layout."""


_TAKEN: dict[type, bool] = {bool: True, int: True, tuple: False, list: False}
"""Whether objects of a class are integers or layouts, as far as is known."""


def _is_taken(kind: type) -> bool:
    """Tell whether objects of a class may be leaves: integers, known now or at run time, layouts, None for a mode."""
    known = _TAKEN.get(kind)
    if known is None:
        ours = kind is type(None) or kind.__module__.startswith(__package__)
        whole = hasattr(kind, "__index__") or (hasattr(kind, "__floordiv__") and not hasattr(kind, "is_integer"))
        known = _TAKEN[kind] = ours or whole
    return known


def _of_integers(x: Any) -> Any:
    """Return `x`, its lists as tuples. Errors: `_NoInteger` for a leaf that is no integer, nor a layout."""
    if _is_taken(type(x)):
        return x
    if isinstance(x, list) or (isinstance(x, tuple) and not all(_is_taken(type(item)) for item in x)):
        return tuple(map(_of_integers, x))
    if isinstance(x, tuple):
        return x
    raise _NoInteger


def _without_none(x: Any) -> None:
    """Refuse None for a number. Errors: `_NoInteger`."""
    if x is None:
        raise _NoInteger
    if isinstance(x, tuple):
        for item in x:
            _without_none(item)


_STRUCTURE = """
    append append_ones depth dice dims dims_of evaluate filter_tuple find find_if flatten flatten_to_tuple fold
    front get get_leaves group_modes has_scaled_basis has_underscore is_congruent is_int_tuple is_integer is_static
    is_weakly_congruent parse_int_tuple parse_layout prepend prepend_ones pretty_str print_latex print_latex_tv rank
    repeat repeat_as_tuple repeat_like select show size_in_bytes slice_ substitute synthesize_swizzle take
    transform_apply transform_leaf tuple_cat unflatten unwrap wrap
"""
"""Functions of texts and of structure alone, which take tuples of anything; all others take integers and layouts."""
_NUMBERS = "assume basis_value maximum minimum product product_each product_like size static_value"
"""Functions to whose first argument None means nothing: in tilers, coordinates and profiles it stands for a mode."""
OF_ANYTHING, OF_NUMBERS = frozenset(_STRUCTURE.split()), frozenset(_NUMBERS.split())


def named(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that users call: errors of the functions that it calls bear its name.

    An exception that Python raises within the layout algebra says which arguments the function does not take. Where it
    takes integers, texts, floats and the like are refused, which would pass for leaves; lists are taken as tuples.
    """
    of_anything, of_numbers = function.__name__ in OF_ANYTHING, function.__name__ in OF_NUMBERS

    @wraps(function)
    def naming(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if of_anything:
                return function(*args, **kwargs)
            given = {name: _of_integers(x) for name, x in kwargs.items()} if kwargs else kwargs
            if of_numbers and args:
                _without_none(args[0])
            return function(*map(_of_integers, args), **given)
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
                return function(*args, **kwargs)
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
