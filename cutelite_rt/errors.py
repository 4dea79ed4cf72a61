"""Errors that are raised before a kernel is launched, for live and exported kernels alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

T = TypeVar("T")


class ArgumentError(TypeError):
    """Raised for an argument that does not fit. The text says for which parameter, and why.

    name       of a kernel's argument, with the places of what is in tuples: "x.0"; "" for other errors
    arguments  the kernel's, by parameter; of one that TMA cannot access, its array alone, by `name`
    """

    name: str = ""
    arguments: Mapping[str, object] = MappingProxyType({})

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self.args  # another process gets the text, not the arrays


class LaunchError(ValueError):
    """Raised for a launch that is not possible. The text says what was asked for, and what the limit is."""


def brief(x: object) -> str:
    """Return the text of `x` in one line of at most 60 characters."""
    text = " ".join(repr(x).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def named(kernel: str, function: Callable[..., T], /, *args: object, **kwargs: object) -> T:
    """Call a function, and put the kernel's name into a `LaunchError` that it raises."""
    try:
        return function(*args, **kwargs)
    except LaunchError as error:
        raise LaunchError(f"{kernel}: {error}") from error.__cause__
