"""Source spans, diagnostics, and the text drawn around a caret (a leaf: it imports nothing of ours).

span      places in source                        diagnostic  facts of a mistake, and words for them
error     `CompileError` and `InternalError`      render    the text around the caret
nearest   the name that was meant                 log       messages of the compiler
progress  a line about work that takes long

A room that finds a mistake raises ``CompileError(diagnostic, span, notes)``; one that finds a bug of the
compiler raises ``InternalError(message, stage=...)``.
"""

from cutelite.diag.diagnostic import Diagnostic, Mistake, Note
from cutelite.diag.error import CompileError, InternalError
from cutelite.diag.render import render
from cutelite.diag.span import Span

__all__ = ["CompileError", "Diagnostic", "InternalError", "Mistake", "Note", "Span", "render"]
