"""Errors before a kernel is launched, of the compiler's launches and those of exported kernels alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class ArgumentError(TypeError):
    """An argument does not fit its parameter: the kernel, the parameter, what was expected and what came."""


class LaunchError(ValueError):
    """A launch that cannot be: what was asked for, and what the limit is."""


def named(kernel: str, function: Callable[..., T], /, *args: object, **kwargs: object) -> T:
    """Call a function; a `LaunchError` of it says which kernel it is about."""
    try:
        return function(*args, **kwargs)
    except LaunchError as error:
        raise LaunchError(f"{kernel}: {error}") from error.__cause__
