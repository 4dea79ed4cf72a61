"""Functions given at each call, such as an activation written in place: one for all that do the same."""

from __future__ import annotations

import sys
from copy import deepcopy
from functools import partial
from types import FunctionType, MethodType
from typing import Any, TypeVar

from cutelite.diag.callables import uncallable
from cutelite.dispatch import fingerprint
from cutelite.dispatch.divert import left_out
from cutelite.kernels.arguments import Misfit, contiguous, is_torch, needs_gradient
from cutelite.kernels.arrays import code_of
from cutelite.kernels.lent import is_jax
from cutelite.lang.promotion import holds_literal
from cutelite.lang.state import number_of, state_of
from cutelite.lang.tables import Captured, copied, first, held_by, key_of, replaced

F = TypeVar("F")


def settled(function: F, name: str = "", takes: tuple[str, ...] = ()) -> F:
    """A function that stands for all of equal code, globals, defaults and captured values.

    name   of the argument that it is, to be checked: it may be None, and is called with `takes`
    Errors `Misfit` for what is no such function

    So what is kept for a function (kernels, configurations) is found again for one that is written in place and so made
    anew at each call. What it captured it has in cells of its own: variables of the caller may change. A number that it
    captured in an array counts by its value, whose array may change too. A function is given back as it is where what
    else it captured can be changed in place, or where it is no Python function. Where numbers changed that it reads of
    an object, it is another one than before (`lang.state`).
    """
    whole = isinstance(function, FunctionType | partial)
    valued = replaced(function, _by_value, variables=False) if whole else function
    if not whole or not fingerprint.lasts(valued):
        check_function(name, function, takes)
        return _current(function)
    key = fingerprint.constant_key(valued)
    if (key, name, takes) not in _checked:
        check_function(name, function, takes)
        first(_checked, (key, name, takes), True)
    found = _settled.get(key)
    if found is None:
        bare = isinstance(function, FunctionType) and valued is function and not function.__closure__
        found = first(_settled, key, function if bare else anew(replaced(function, _own, variables=False)))
    return _current(found)  # type: ignore[no-any-return]


def _by_value(x: Any) -> Any:
    """Return what tells a number that an array without modes holds from others; all else as it is."""
    number = _number_of(x)
    return x if number is None else (type(x), str(x.dtype), number)


def _own(x: Any) -> Any:
    """Return a copy of an array without modes, which nobody changes; all else as it is."""
    return x if _number_of(x) is None else deepcopy(x.detach() if is_torch(x) else x)


def _number_of(x: Any) -> Any:
    """Return the number that an array without modes holds; None for all else, and for tensors without data."""
    if not is_torch(x):
        return x.item() if holds_literal(x) else None
    from cutelite.interop.torch import without_data  # late: it imports torch

    return None if detached(x).ndim or without_data(x) else number_of(x)


def _current(function: F) -> F:
    """Return a function; where it reads numbers of objects, a copy, the same one where these are the same.

    Where launches are left out nothing reads them, and tensors of objects cannot be asked beside fake ones.
    """
    if left_out():
        return function
    call = getattr(type(function), "__call__", None)  # noqa: B004  of an object of the user
    whole = MethodType(call, function) if isinstance(call, FunctionType) else function
    if not (state := state_of(whole)):
        return function
    found: F | None = _by_state.get((whole, state))
    return first(_by_state, (whole, state), anew(whole)) if found is None else found


def anew(function: Any) -> Any:
    """Return an equal function, method or partial, which is another object."""
    if isinstance(function, partial):
        return partial(anew(function.func), *function.args, **function.keywords)
    if isinstance(function, MethodType):
        return MethodType(anew(function.__func__), function.__self__)
    return copied(function, held_by(function)) if isinstance(function, FunctionType) else function


_by_state: dict[tuple[Any, tuple[Any, ...]], Any] = {}
_settled: dict[object, Any] = {}
_checked: dict[object, bool] = {}


def check_function(name: str, function: Any, takes: tuple[str, ...]) -> None:
    """Check a function that is given as the argument `name`, and called with `takes`. Errors: `Misfit`."""
    if function is None or not name:
        return
    wanted = f"must be a function of ({', '.join(takes)})"
    if not callable(function):
        said, *more = repr(function).splitlines() or [""]
        raise Misfit(f"{name} is {said}{' ...' * bool(more)}, but {wanted}")
    if why := uncallable(function, takes):
        raise Misfit(f"{name} {wanted}, and this one cannot be called so: {why}")


def needed(function: F, name: str, takes: tuple[str, ...]) -> F:
    """`settled`, of a function that may not be None. Errors: `Misfit`."""
    if function is None:
        raise Misfit(f"{name} is None, but must be a function of ({', '.join(takes)})")
    return settled(function, name, takes)


def fit_graph(*functions: tuple[str, Any, tuple[str, ...]]) -> bool:
    """Tell, where it is traced, whether operators take functions, each given as `check_function` takes it.

    Errors  `Misfit` for what is no function, which torch would take for one that breaks the graph
    """
    from cutelite.interop.torch_functions import exporting, readable  # late: it imports torch

    for name, each, takes in functions:
        if not callable(each) and not isinstance(each, str):
            check_function(name, each, takes)
    return all(readable(each, len(takes)) for _, each, takes in functions) and not exporting()


def by_number(functions: tuple[Any, ...], learned: bool = False) -> tuple[int, list[Any]]:
    """Return what operators of torch get of functions: `torch_functions.numbered`.

    learned  tensors in them may need gradients
    Errors   ValueError for one that does and may not
    """
    from cutelite.interop.torch_functions import numbered  # late: it imports torch

    number, captured = numbered(functions)
    for x in () if learned else captured:
        detached(x)
    return number, captured


def lifted(function: Any, arrays: list[Any], learned: tuple[Any, ...] = ()) -> Any:
    """Return `function` with `Captured` in place of each array that it captured or has as a global variable.

    Functions that it captured are lifted too. `arrays` gets the arrays, each once; those without modes as arrays of one
    element, and those with gaps as copies.

    learned  those by which the function is to be differentiated, with which `arrays` begins (`plain`)
    Errors   ValueError for an array of a dtype that kernels do not have, and for one that needs a gradient
    """
    if not isinstance(function, FunctionType | partial):
        return function

    def place(x: Any) -> Any:
        if not _is_array(x):
            return x
        if not code_of(x):
            raise Misfit(f"a function captured an array of {x.dtype}, which kernels cannot index")
        detached(x)
        given = *learned, *arrays[len(learned) :]
        index = next((i for i, known in enumerate(given) if known is x), len(arrays))
        if index == len(arrays):
            arrays.append(plain(x))
        return Captured(index, code_of(x), x.ndim, index < len(learned))

    made = replaced(function, place)
    key = None if isinstance(made, FunctionType) else key_of(made)
    return made if key is None else first(_partials, key, made)


def plain(x: Any) -> Any:
    """Return an array that a function captured as kernels take it."""
    return x.reshape(1) if not x.ndim else x if is_jax(x) else contiguous(x)


def check_detached(function: Any) -> None:
    """Check that no array that a function captured needs a gradient. Errors: ValueError."""
    if isinstance(function, FunctionType | partial):
        replaced(function, detached)


def learned_by(function: Any) -> tuple[Any, ...]:
    """Return the tensors that a function captured and that need a gradient, each once."""
    found = dict[int, Any]()

    def place(x: Any) -> Any:
        if needs_gradient(x):
            found[id(x)] = x
        return x

    torch = sys.modules.get("torch")
    if isinstance(function, FunctionType | partial) and torch is not None and torch.is_grad_enabled():
        replaced(function, place)
    return tuple(found.values())


def detached(x: Any) -> Any:
    """Return what a function captured. Errors: ValueError for an array that needs a gradient."""
    if needs_gradient(x):
        raise Misfit("a function captured a tensor that needs a gradient, and would get none: detach it")
    return x


_partials: dict[object, partial[Any]] = {}
"""Those made so far, by what they are made of: equal ones are one object, for which a kernel is compiled once."""


def captured_types(*functions: Any) -> tuple[Captured, ...]:
    """Return the `Captured` of some functions, in the order of their indices."""
    found: dict[int, Captured] = {}

    def place(x: Any) -> Any:
        if isinstance(x, Captured):
            found.setdefault(x.index, x)
        return x

    for function in functions:
        replaced(function, place)
    return tuple(found[i] for i in sorted(found))


def _is_array(x: Any) -> bool:
    found = hasattr(x, "ndim") and (hasattr(x, "__dlpack__") or hasattr(x, "__array_interface__"))
    return found and not (holds_literal(x) and not hasattr(x, "__setitem__"))  # NumPy's numbers are constants
