"""Breakpoints of kernels: Python's debugger at the user's line, with the values of a warp."""

from __future__ import annotations

import bdb
import linecache
from typing import Any

from cutelite.diag import Span


def stop_at(span: Span | None, values: dict[str, Any]) -> None:
    """Call `sys.breakpointhook` from the line of the kernel; its local variables are `values`.

    The debugger shows the kernel's own source. PYTHONBREAKPOINT chooses another debugger, or with 0 none, as in Python.
    Errors  KeyboardInterrupt where the debugger is quit; what the debugger raises
    """
    file, line = (span.filename, span.line) if span is not None else ("<kernel>", 1)
    linecache.checkcache(file)
    function = span.function if span is not None and span.function.isidentifier() else "kernel"
    values = _whole(values)
    # A function at the kernel's line, whose parameters are the kernel's variables.
    names = [name for name in values if name.isidentifier()]
    body = "__import__('sys').breakpointhook()"
    text = "\n" * (line - 1) + f"def {function}({', '.join(names)}): {body}"
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), space)
    try:
        space[function](**{name: values[name] for name in names})
    except bdb.BdbQuit:
        raise KeyboardInterrupt("the debugger was quit") from None


def _whole(values: dict[str, Any]) -> dict[str, Any]:
    """Put tuples and lists together, whose items are called ``pair.0``, ``pair.1``, ... as far as they have values."""
    found: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        first, dot, rest = name.partition(".")
        if dot:
            parts.setdefault(first, {})[rest] = value
        else:
            found[name] = value
    for name, items in parts.items():
        whole = _whole(items)
        found[name] = tuple(whole[number] for number in sorted(whole, key=int))
    return found
