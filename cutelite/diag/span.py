"""Places in the user's Python source."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

LIBRARY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "lib", "")
"""The folder of functions that kernels call like their own. Their mistakes are told at the call."""


class Span(NamedTuple):
    """A stretch of source text, as ``code.co_positions()`` tells it, and the calls that led to it.

    filename  as in ``co_filename``; need not be a file (``<stdin>``, ``<string>``)
    line      first line, from 1
    col       UTF-8 byte offset in that line, from 0; None when unknown (``python -X no_debug_ranges``)
    end_line  last line, inclusive
    end_col   UTF-8 byte offset just behind the last character; None: to the end of the line
    function  name of the function it lies in, "" when there is none
    caller    the call expression through which that function was inlined, None in the kernel itself

    A named tuple rather than a dataclass: there is one for every bytecode instruction.
    """

    filename: str
    line: int
    col: int | None = None
    end_line: int | None = None
    end_col: int | None = None
    function: str = ""
    caller: Span | None = None

    def inlined_at(self, call: Span | None) -> Span:
        """Return this span as reached through `call`, which may have a caller too; for spans in our library, `call`."""
        if call is None:
            return self
        return call if self.filename.startswith(LIBRARY) else self._replace(caller=call)

    def first_line(self) -> Span:
        """Return its first line only: enough to point at a compound statement."""
        if self.end_line is None or self.end_line == self.line:
            return self
        return self._replace(end_line=self.line, end_col=None)

    def callers(self) -> Iterator[Span]:
        """Yield the calls it was inlined through, innermost first."""
        call = self.caller
        while call is not None:
            yield call
            call = call.caller

    def source(self) -> list[str]:
        """Return its source lines without line ends; none where there is no source to read."""
        import linecache  # needed for errors only, and not light before 3.13

        linecache.checkcache(self.filename)
        lines = linecache.getlines(self.filename)
        last = self.end_line or self.line
        if not 1 <= self.line <= last <= len(lines):
            return []
        return [line.rstrip("\r\n") for line in lines[self.line - 1 : last]]

    def place(self) -> str:
        """``file:line:column`` with a column counted in characters from 1, as editors do.

        Without source: ``file:line, in `function```.
        """
        name = short_path(self.filename)
        lines = self.source()
        if not lines:
            return f"{name}:{self.line}" + (f", in `{self.function}`" if self.function else "")
        if self.col is None:
            return f"{name}:{self.line}"
        return f"{name}:{self.line}:{len(before(lines[0], self.col)) + 1}"


def caller() -> Span | None:
    """Return the line outside of cutelite that is being executed; None without one, or while a kernel is compiled."""
    frame = sys._getframe(1)
    while (module := frame.f_globals.get("__name__", "")).partition(".")[0] == "cutelite":
        if frame.f_back is None or module.startswith("cutelite.front"):
            return None
        frame = frame.f_back
    code = frame.f_code
    if code.co_filename == "<string>":  # a string annotation: its evaluator knows where that stands
        return None
    line, last, col, end = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None, None, None, None))
    return Span(code.co_filename, line or frame.f_lineno, col, last, end, code.co_name.strip("<>") if line else "")


def before(line: str, col: int) -> str:
    """Return the part of `line` in front of the UTF-8 byte offset `col`."""
    return line if line.isascii() and col >= len(line) else line.encode()[:col].decode(errors="replace")


def short_path(filename: str) -> str:
    """Return `filename` relative to the working directory where it lies below that, else unchanged."""
    if not os.path.isabs(filename):
        return filename
    here = os.path.join(os.getcwd(), "")
    return filename.removeprefix(here)
