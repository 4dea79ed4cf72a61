"""Places in the user's Python source."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import islice
from types import CodeType

from cutelite.diag.paths import current_folder
from cutelite.tuples import NamedTuple

LIBRARY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "lib", "")
"""The folder of library functions that kernels call. A mistake in one is reported at the kernel's call."""
KERNELS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "kernels", "")
"""The folder of kernels to call, some of which call functions of their users."""


class Span(NamedTuple):
    """A range of source text, as ``code.co_positions()`` gives it, and the calls that led to it.

    filename  ``co_filename`` of the code; need not be a file (``<stdin>``, ``<string>``)
    line      first line, from 1
    col       UTF-8 byte offset in that line, from 0; None if unknown (``python -X no_debug_ranges``)
    end_line  last line, inclusive
    end_col   UTF-8 byte offset just after the last character; None: to the end of the line
    function  name of the function that it is in, "" outside of functions
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

    @staticmethod
    def of_code(code: CodeType) -> Span:
        """Return the line where a function begins."""
        return Span(code.co_filename, code.co_firstlineno, function=code.co_name)

    def inlined_at(self, call: Span | None) -> Span:
        """Return this span with the caller `call`, which may have one too; for a span in the library, `call` itself."""
        if call is None:
            return self
        return self.inlined_to(call) or Span(*self[:6], call)  # `_replace` takes twice as long

    def inlined_to(self, call: Span | None) -> Span | None:
        """Return what all spans of this one's file become if they are inlined at `call`; None if each is its own."""
        return call if self.filename.startswith(LIBRARY) else None

    def first_line(self) -> Span:
        """Return only its first line, which is enough to point at a compound statement."""
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
        """Return its source lines without line ends; an empty list if the source cannot be read."""
        import linecache  # imported here: only errors need it, and it is slow before 3.13

        linecache.checkcache(self.filename)
        lines = linecache.getlines(self.filename)
        last = self.end_line or self.line
        if not 1 <= self.line <= last <= len(lines):
            return []
        return [line.rstrip("\r\n") for line in lines[self.line - 1 : last]]

    def place(self) -> str:
        """Return ``file:line:column``; the column is counted in characters from 1, as editors do.

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
    """Return the line of the caller's code that is being executed; None without one, or while a kernel is compiled."""
    frame = sys._getframe(1)
    while (module := frame.f_globals.get("__name__", "")).partition(".")[0] == "cutelite":
        if frame.f_back is None or module.startswith("cutelite.front"):
            return None
        frame = frame.f_back
    code = frame.f_code
    if code.co_filename == "<string>":  # a string annotation, whose place its evaluator knows
        return None
    line, last, col, end = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None, None, None, None))
    return Span(code.co_filename, line or frame.f_lineno, col, last, end, code.co_name.strip("<>") if line else "")


def before(line: str, col: int) -> str:
    """Return the part of `line` before the UTF-8 byte offset `col`."""
    return line if line.isascii() and col >= len(line) else line.encode()[:col].decode(errors="replace")


def short_path(filename: str) -> str:
    """Return `filename` relative to the working directory if it is below that, otherwise unchanged."""
    if not os.path.isabs(filename):
        return filename
    here = os.path.join(current_folder(), "")
    return filename.removeprefix(here)
