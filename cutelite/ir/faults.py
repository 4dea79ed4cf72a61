"""Unexpected exceptions as reports of a bug: the stage, the op that it was working on, and the IR around it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from cutelite.diag import CompileError, InternalError
from cutelite.ir.function import Function
from cutelite.ir.op import Op


@contextmanager
def reported(stage: str, function: Function) -> Iterator[None]:
    """Turn unexpected exceptions within into an `InternalError`; errors that are reports already pass through."""
    try:
        yield
    except (CompileError, InternalError):
        raise
    except Exception as error:
        raise _report(error, stage, function) from error


def _report(error: Exception, stage: str, function: Function) -> InternalError:
    text, op = function.text(), _op_at_hand(error.__traceback__)
    message = f"{type(error).__name__}: {error}"
    if op is None:
        return InternalError(message, stage=stage, ir=str(text))
    return InternalError(message, stage=stage, op=text.op(op), ir=str(text), span=op.span)


def _op_at_hand(trace: TracebackType | None) -> Op | None:
    """Return the innermost local variable called `op` on the way to the error: passes call the op at hand so."""
    found: Op | None = None
    while trace is not None:
        held = trace.tb_frame.f_locals.get("op")
        if isinstance(held, Op):
            found = held
        trace = trace.tb_next
    return found
