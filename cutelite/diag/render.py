"""Diagnostics as text: the user's source lines with carets under the place of the mistake.

    error[wgmma-width]: wgmma takes N from 8 to 256 in steps of 8
      --> gemm.py:41:15
       |
    41 |         acc = mma(a_tile, b_tile, acc)
       |               ^^^^^^^^^^^^^^^^^^^^^^^^ N is 100, from `b_tile`
       |
    37 |     b_tile = smem(bf16, (100, 64))
       |     ------------------------------ `b_tile` gets its shape here
    help: use N = 96 or 104, or pad the tile

If the source cannot be read, the file, the line and the function are printed instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cutelite.diag.diagnostic import Diagnostic, Note
from cutelite.diag.span import KERNELS, Span, before

TAB = 4  # columns between tab stops
CALLS_SHOWN = 6  # of a deep stack of inlined calls, as many are printed, the outermost among them

_CODES = {"error": "1;31", "warning": "1;33", "note": "1;36", "help": "1;32", "gutter": "1;34"}


class _Page:
    """Lines of output: the width of their gutter and whether they are coloured."""

    def __init__(self, gutter: int, color: bool) -> None:
        self.gutter = gutter
        self.color = color

    def paint(self, style: str, text: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.color else text

    def head(self, style: str, word: str, text: str) -> str:
        """Write ``word: text``, with further lines of `text` aligned with its first."""
        first, *rest = text.split("\n")
        return "\n".join([f"{self.paint(style, word)}: {first}", *(" " * (len(word) + 2) + line for line in rest)])

    def place(self, arrow: str, span: Span) -> str:
        return f"{' ' * self.gutter}{self.paint('gutter', arrow)} {span.place()}"

    def bar(self, number: int | str = "", text: str = "", mark: str = "|") -> str:
        return f"{self.paint('gutter', f'{number:>{self.gutter}} {mark}')} {text}".rstrip()

    def marked(self, span: Span, caret: str, style: str, label: str) -> Iterator[str]:
        """Write the source lines of `span`, each with carets under its part, and `label` after the last."""
        rows = list(_underlined(span, span.source()))
        for i, (number, text, start, width) in enumerate(rows):
            if i and number > rows[i - 1][0] + 1:
                yield self.paint("gutter", "...")
            yield self.bar(number, text)
            said = f" {label}" if i == len(rows) - 1 and label else ""
            yield self.bar("", " " * start + self.paint(style, caret * width + said))

    def block(self, arrow: str, span: Span, caret: str, style: str, label: str) -> Iterator[str]:
        """Write the place and its lines; without source, only the label."""
        if arrow:
            yield self.place(arrow, span)
        if span.source():
            yield self.bar()
            yield from self.marked(span, caret, style, label)
        elif label:
            yield self.bar("", self.paint(style, label), mark="=")


def render(diagnostic: Diagnostic, span: Span | None, notes: Iterable[Note] = (), *, color: bool = False) -> str:
    """Return the whole text of a diagnostic, without a final newline; with ANSI colours if `color`."""
    notes = tuple(notes)
    calls = list(_calls(span)) if span else []
    spans = [s for s in (span, *(n.span for n in notes), *(call for _, call in calls)) if s]
    page = _Page(max((len(str(s.end_line or s.line)) for s in spans), default=1), color)
    style = diagnostic.severity if diagnostic.severity in _CODES else "error"
    label = diagnostic.say(diagnostic.label)
    lines = [page.head(style, f"{diagnostic.severity}[{diagnostic.code}]", diagnostic.say(diagnostic.title))]
    if span:
        lines += page.block("-->", span, "^", style, label)
    elif label:
        lines.append(page.bar("", label, mark="="))
    for note in notes:
        if note.span:
            same = span is not None and span.filename == note.span.filename and bool(note.span.source())
            lines += page.block("" if same else ":::", note.span, "-", "note", note.text)
    for text, call in calls:
        lines.append(page.head("note", "note", text))
        if call:
            lines += page.block("-->", call, "-", "note", "")
    lines += [page.head("note", "note", note.text) for note in notes if not note.span]
    lines += [page.head("help", "help", text) for text in diagnostic.help_lines()]
    return "\n".join(lines)


def snippet(span: Span) -> list[str]:
    """Return only the place and its lines, without colours."""
    return list(_Page(len(str(span.end_line or span.line)), False).block("-->", span, "^", "error", ""))


def _calls(span: Span) -> Iterator[tuple[str, Span | None]]:
    """Yield a text and the place for each call that `span` was inlined through; of many, leave out the middle.

    Of a user's function that a kernel of the library calls, the kernel's own calls are left out.
    """
    calls = list(span.callers())
    callees = [span, *calls]
    theirs = len(callees)
    while theirs and callees[theirs - 1].filename.startswith(KERNELS):
        theirs -= 1
    outer = callees[theirs - 1].function if 0 < theirs < len(callees) else ""
    calls = calls[: theirs - 1] if outer else calls
    hidden = len(calls) - CALLS_SHOWN if len(calls) > CALLS_SHOWN + 1 else 0
    for i, call in enumerate(calls):
        if hidden and i == CALLS_SHOWN - 1:
            yield f"{hidden} more calls in between", None
        if not CALLS_SHOWN - 1 <= i < CALLS_SHOWN - 1 + hidden:
            yield f"in `{callees[i].function}`, called from here", call
    if outer:
        yield f"in `{outer}`, called by a kernel of cutelite.kernels", None


def _underlined(span: Span, lines: list[str]) -> Iterator[tuple[int, str, int, int]]:
    """Yield number, text, first marked column and marked columns of each line of `span`; of more than 3, the ends."""
    shown = range(len(lines)) if len(lines) <= 3 else (0, len(lines) - 1)
    for i in shown:
        line = lines[i]
        indent = len(line) - len(line.lstrip())
        start = before(line, span.col) if i == 0 and span.col is not None else line[:indent]
        last = i == len(lines) - 1 and span.end_col is not None and span.col is not None
        stop = before(line, span.end_col) if last and span.end_col is not None else line.rstrip()
        width = _columns(stop) - _columns(start)
        yield span.line + i, line.expandtabs(TAB).rstrip(), _columns(start), max(width, 1)


def _columns(text: str) -> int:
    """Return the number of columns of a terminal that `text` takes: wide characters take two, combining ones none."""
    text = text.expandtabs(TAB)
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
