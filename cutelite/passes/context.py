"""The context of a pass: the target, and the warnings that it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from cutelite.diag import Diagnostic, Note, Span, render
from cutelite.target import Target


class Warned(NamedTuple):
    """A warning of a pass about a kernel that compiles."""

    diagnostic: Diagnostic
    span: Span | None
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        return render(self.diagnostic, self.span, self.notes)


@dataclass
class Context:
    """target    limits and features of the GPU compiled for
    warnings  of the passes, in order
    """

    target: Target
    warnings: list[Warned] = field(default_factory=list)

    def warn(self, diagnostic: Diagnostic, span: Span | None, *notes: Note) -> None:
        self.warnings.append(Warned(diagnostic, span, notes))
