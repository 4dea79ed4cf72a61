"""Functions made inside kernels, and the variables that they share with the function around them."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Protocol

from cutelite.front.state import UNBOUND, State


class Owner(Protocol):
    """The frame that a variable belongs to."""

    state: State | None


class Cell:
    """A variable shared with nested functions. While its frame runs, the content is in the frame's locals."""

    __slots__ = ("content", "name", "owner")

    def __init__(self, owner: Owner, name: str) -> None:
        self.owner: Owner | None = owner
        self.name = name
        self.content: Any = UNBOUND

    def get(self) -> Any:
        """Return the content, or UNBOUND."""
        if self.owner is None or self.owner.state is None:
            return self.content
        return self.owner.state.locals.get(self.name, UNBOUND)

    def detach(self, content: Any) -> None:
        """Fix the content: the frame has ended, or has made a new cell under this name."""
        self.owner, self.content = None, content


class Closure:
    """A function made in a kernel: a lambda, nested `def` or comprehension, or a function that native code calls.

    evaluate  called when native code calls this function: evaluates the call at the kernel's current place

    As any function it may be given attributes, which `functools.wraps` does.
    """

    __slots__ = ("__dict__", "__name__", "cells", "code", "defaults", "evaluate", "globals", "kwdefaults")

    def __init__(
        self,
        evaluate: Callable[[Closure, list[Any], dict[str, Any]], Any],
        code: CodeType,
        globals: dict[str, Any],
        cells: dict[str, Any],
        defaults: tuple[Any, ...],
        kwdefaults: dict[str, Any],
    ) -> None:
        self.evaluate, self.code, self.globals, self.cells = evaluate, code, globals, cells
        self.defaults, self.kwdefaults, self.__name__ = defaults, kwdefaults, code.co_name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.evaluate(self, list(args), kwargs)

    def parts(self) -> tuple[Any, list[Any]]:
        """Return the parts that equal functions have in common, and the parts that may hold run-time values."""
        cells = tuple((name, id(cell)) for name, cell in self.cells.items())
        return (self.code, id(self.globals), cells), [self.defaults, self.kwdefaults]

    def with_parts(self, children: list[Any]) -> Closure:
        made = Closure(self.evaluate, self.code, self.globals, self.cells, *children)
        made.__dict__.update(self.__dict__)
        return made

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"
