"""Checks of functions that users give, to be called later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def uncallable(function: Callable[..., Any], takes: tuple[str, ...]) -> str:
    """Return why a function cannot be called with as many arguments as `takes` has names; '' if it can."""
    import inspect

    try:
        inspect.signature(function).bind(*takes)
    except TypeError as error:
        return str(error)
    except ValueError:
        pass  # a function of C that does not say what it takes
    return ""


def check_callable(what: str, function: Any, takes: tuple[str, ...]) -> None:
    """Check a function that is called with arguments of these names. Errors: TypeError, which begins with `what`."""
    if not callable(function):
        raise TypeError(f"{what} is a function of ({', '.join(takes)}), not {function!r}")
    if why := uncallable(function, takes):
        raise TypeError(f"{what} is a function of ({', '.join(takes)}), and this one cannot be called so: {why}")
