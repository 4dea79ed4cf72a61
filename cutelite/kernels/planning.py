"""`planned`: decorator of functions that launch kernels, whose calls on torch's tensors are planned.

Without torch, and for arrays of other libraries, such a function runs as it is.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from cutelite.dispatch.dynamo import untraced
from cutelite.dispatch.mistakes import around_users_code
from cutelite.kernels.arguments import changing, underived
from cutelite.kernels.lent import takes_jax

F = TypeVar("F", bound=Callable[..., Any])
Taken = Callable[[dict[str, Any]], bool]
"""Whether, where it is traced, an operator takes a call with functions: of its arguments by name."""


IN_NO_GRAPH = (
    "no operator takes these arguments: a function that was made in compiled code and captured something (pass a "
    "functools.partial of one from outside), out= (cutelite's docs, interop.md: Functions in the graph)"
)
"""What torch says of a call that breaks the graph."""


def _apart(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same, at whose calls torch's compiler breaks the graph."""

    def apart(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return untraced(apart, IN_NO_GRAPH)


def planned(function: F) -> F:
    """Decorator: plan the function's calls, as `cutelite.interop.planned` does, which says what it may do.

    It stands above decorators that check arguments, name them in errors or tell torch what was written: a call by a
    plan was checked when that was made, tells torch the same, and so pays for none of them.

    Where torch's compiler traces the function, as it may where that goes to an operator, a call with `out=`, which has
    none, breaks the graph.
    """
    return _planned(function, ("out",))


def planned_whole(*functions: str, taken: Taken | None = None) -> Callable[[F], F]:
    """Decorator: as `planned`, of a function that tells which calls go to an operator, also those with `out=`.

    So a planned call is not even asked that: no call with a plan goes to one.

    functions  arguments that no operator takes, but where `taken` tells so: see `breaking`
    """
    return lambda function: _planned(function, functions, taken)


def _planned(function: F, names: tuple[str, ...], taken: Taken | None = None) -> F:
    """`planned`; names, taken: see `breaking`."""
    found: F | None = None
    broken = _broken(function, names, taken)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal found
        torch = sys.modules.get("torch")
        if torch is None:
            return function(*args, **kwargs)
        if torch.compiler.is_dynamo_compiling():
            return (apart if broken(args, kwargs) else function)(*args, **kwargs)
        if found is None:
            from cutelite.interop.planned import planned as on_tensors

            found = on_tensors(function)
        return found(*args, **kwargs)

    apart = _apart(call)
    return around_users_code(call)  # type: ignore[return-value]


def breaking(*names: str, taken: Taken | None = None) -> Callable[[F], F]:
    """Decorator: calls with some arguments break the graph of torch's compiler, and run as they do without it.

    So they have the derivatives that they have without it, or are refused: the function that launches, which would
    break the graph later, knows of no derivative.

    names   of arguments that are neither None nor texts; without `taken` those given by keyword
    taken   tells of a call with some of these whether it goes to an operator all the same
    """

    def decorated(function: F) -> F:
        broken = _broken(function, names, taken)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            torch = sys.modules.get("torch")
            breaks = torch is not None and torch.compiler.is_dynamo_compiling() and broken(args, kwargs)
            return (apart if breaks else function)(*args, **kwargs)

        apart = _apart(function)
        return call  # type: ignore[return-value]

    return decorated


def _broken(
    function: Callable[..., Any], names: tuple[str, ...], taken: Taken | None
) -> Callable[[tuple[Any, ...], dict[str, Any]], bool]:
    """Return what tells, where it is traced, whether a call of a function breaks the graph."""
    parameters = () if taken is None else tuple(inspect.signature(function).parameters)

    def broken(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        given = dict(zip(parameters, args, strict=False)) | kwargs
        if not any(given.get(name) is not None and not isinstance(given[name], str) for name in names):
            return False
        return taken is None or not taken(given)

    return broken


def planned_alone(*changed: str) -> Callable[[F], F]:
    """Decorator: plan calls of a function that no operator of torch stands for: it is `untraced` and `underived`.

    It takes JAX's arrays too. `changed` are names of arguments besides `out` that it writes to (`changing`).
    """

    def decorated(function: F) -> F:
        made = takes_jax()(function)
        return untraced(planned(underived()(changing(*changed)(made) if changed else made)))

    return decorated
