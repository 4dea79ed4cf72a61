"""Source spans, diagnostics, and the text around a caret. A leaf: it imports no other room.

span      places in the source                    diagnostic  the facts of a mistake, and the words to report it
error     `CompileError` and `InternalError`      render      the text around the caret
nearest   the name that was probably meant        log         messages of the compiler
progress  a line about work that takes long         callables   functions that users give: how they are called
paths     names of files in PTX

A room that finds a mistake raises ``CompileError(diagnostic, span, notes)``; a room that finds a bug of the
compiler raises ``InternalError(message, stage=...)``.
"""

from cutelite.diag.diagnostic import Diagnostic, Mistake, Note
from cutelite.diag.error import CompileError, InternalError
from cutelite.diag.render import render
from cutelite.diag.span import Span

__all__ = ["CompileError", "Diagnostic", "InternalError", "Mistake", "Note", "Span", "render"]
