"""The two ways in which a compilation fails: by a mistake in the user's code, or by a bug in the compiler."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from cutelite.diag.diagnostic import Diagnostic, Note
from cutelite.diag.render import render, snippet
from cutelite.diag.span import Span


class CompileError(Exception):
    """The user's code has a mistake: `diagnostic` says which, `span` where; `notes` add to it.

    ``str(error)`` is the whole text without colours; ``error.render(color=True)`` has them.
    """

    def __init__(self, diagnostic: Diagnostic, span: Span | None = None, notes: Iterable[Note] = ()) -> None:
        self.diagnostic = diagnostic
        self.span = span
        self.notes = tuple(notes)
        super().__init__(diagnostic, span, self.notes)  # `args`, which makes it picklable

    def at(self, span: Span | None) -> CompileError:
        """Place the error at `span` unless it already has a place. Return it.

        Layout algebra and verifiers know the mistake but not the line; their caller knows the line.
        """
        if self.span is None and span is not None:
            self.span = span
            self.args = (self.diagnostic, span, self.notes)
        return self

    def render(self, *, color: bool = False) -> str:
        """Return the message with the lines that it points at; with ANSI colours if `color`."""
        return render(self.diagnostic, self.span, self.notes, color=color)

    def __str__(self) -> str:
        return self.render()


class InternalError(Exception):
    """A bug of the compiler, with what is needed to report it.

    message  what went wrong
    stage    the stage or pass that found it, such as "cfg" or "lower"
    op       the operation that the stage was working on, as text
    ir       text of the IR around `op`; the lines that hold it are marked
    span     the user's source that the operation came from
    blame    what is at fault, where that is not the compiler: a sentence
    """

    def __init__(
        self, message: str, *, stage: str, op: str = "", ir: str = "", span: Span | None = None, blame: str = ""
    ) -> None:
        self.message = message
        self.stage = stage
        self.op = op
        self.ir = ir
        self.span = span
        self.blame = blame
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        known = partial(InternalError, stage=self.stage, op=self.op, ir=self.ir, span=self.span, blame=self.blame)
        return known, (self.message,)

    def __str__(self) -> str:
        lines = [f"{'error' if self.blame else 'internal error'} in `{self.stage}`: {self.message}"]
        if self.op:
            lines.append(f"  op: {self.op}")
        if self.span is not None:
            lines += snippet(self.span)
        if self.ir:
            lines += ["IR:", *_excerpt(self.ir.splitlines(), self.op.strip())]
        bug = "This is a bug in cutelite, not in your kernel; please report it with the text above."
        lines.append(self.blame or bug)
        return "\n".join(lines)


AROUND = 8
"""Lines of IR shown before and behind the failing op."""


def _excerpt(lines: list[str], op: str) -> list[str]:
    """Return the lines that hold `op`, marked by `>`, and those around them; the first lines if none holds it."""
    marked = {i for i, line in enumerate(lines) if op and op in line}
    near = {j for i in (marked or {AROUND}) for j in range(i - AROUND, i + AROUND + 1)}
    shown = [i for i in range(len(lines)) if i in near]
    text = [f"{'>' if i in marked else ' '} {lines[i]}".rstrip() for i in shown]
    return text if len(shown) == len(lines) else [*text, f"  ({len(lines) - len(shown)} more lines)"]
