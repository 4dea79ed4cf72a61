"""The context of a pass: the target, and the warnings that it leaves."""

from __future__ import annotations

from cutelite.diag import Diagnostic, Note, Span, render
from cutelite.target import Target
from cutelite.tuples import NamedTuple


class Warned(NamedTuple):
    """A warning of a pass, about a kernel that compiles."""

    diagnostic: Diagnostic
    span: Span | None
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        return render(self.diagnostic, self.span, self.notes)


class Context:
    """target    limits and features of the GPU compiled for
    warnings  of the passes, in order
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self.warnings: list[Warned] = []

    def warn(self, diagnostic: Diagnostic, span: Span | None, *notes: Note) -> None:
        self.warnings.append(Warned(diagnostic, span, notes))
