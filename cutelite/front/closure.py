"""Functions made inside kernels, and the variables that they share with the function around them."""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Any

from cutelite.front.state import UNBOUND

if TYPE_CHECKING:
    from cutelite.front.evaluation import Evaluation
    from cutelite.front.frame import Frame


class Cell:
    """A variable shared with nested functions. While its frame runs, the content is in the frame's locals."""

    __slots__ = ("content", "name", "owner")

    def __init__(self, owner: Frame, name: str) -> None:
        self.owner: Frame | None = owner
        self.name = name
        self.content: Any = UNBOUND

    def get(self) -> Any:
        """The content, UNBOUND if there is none."""
        if self.owner is None or self.owner.state is None:
            return self.content
        return self.owner.state.locals.get(self.name, UNBOUND)

    def detach(self, content: Any) -> None:
        """From now on the content is fixed: its frame has ended, or has made a new cell under this name."""
        self.owner, self.content = None, content


class Closure:
    """A function of the kernel's: a lambda, nested `def` or comprehension, or a function that native code calls.

    Calling it, as native code may, evaluates it where the kernel stands.
    """

    __slots__ = ("__name__", "cells", "code", "defaults", "evaluation", "globals", "kwdefaults")

    def __init__(
        self,
        evaluation: Evaluation,
        code: CodeType,
        globals: dict[str, Any],
        cells: dict[str, Any],
        defaults: tuple[Any, ...],
        kwdefaults: dict[str, Any],
    ) -> None:
        self.evaluation, self.code, self.globals, self.cells = evaluation, code, globals, cells
        self.defaults, self.kwdefaults, self.__name__ = defaults, kwdefaults, code.co_name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.evaluation.call_back(self, list(args), kwargs)

    def parts(self) -> tuple[Any, list[Any]]:
        """(what must be the same for two to be the same function, what may hold run-time values)."""
        cells = tuple((name, id(cell)) for name, cell in self.cells.items())
        return (self.code, id(self.globals), cells), [self.defaults, self.kwdefaults]

    def with_parts(self, children: list[Any]) -> Closure:
        return Closure(self.evaluation, self.code, self.globals, self.cells, *children)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"
