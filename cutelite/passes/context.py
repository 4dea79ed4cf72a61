"""What a pass is given besides the function: the target, and where to leave warnings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from cutelite.diag import Diagnostic, Note, Span, render
from cutelite.target import Target


class Warned(NamedTuple):
    """Something the user should hear of although the kernel compiles."""

    diagnostic: Diagnostic
    span: Span | None
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        return render(self.diagnostic, self.span, self.notes)


@dataclass
class Context:
    """target    limits and features of the GPU compiled for
    warnings  what passes have found worth telling, in order
    """

    target: Target
    warnings: list[Warned] = field(default_factory=list)

    def warn(self, diagnostic: Diagnostic, span: Span | None, *notes: Note) -> None:
        self.warnings.append(Warned(diagnostic, span, notes))
