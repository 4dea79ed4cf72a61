"""Source lines as LLVM debug metadata: enough for `.loc`, which profilers and compute-sanitizer read.

A span that was inlined has a scope for each function it went through, and a location for each call.
"""

from __future__ import annotations

import os

from cutelite.diag import Span


class LineInfo:
    """The metadata nodes, numbered from `first`, each distinct one once."""

    def __init__(self, kernel: str, first: int = 0) -> None:
        self.kernel = kernel
        self.nodes: list[str] = []
        self.first = first
        self._known: dict[str, int] = {}
        self._spans: dict[Span, str] = {}
        self.unit: int | None = None
        self.kernel_scope: int | None = None

    def node(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self.first + len(self.nodes)
            self.nodes.append(text)
        return self._known[text]

    def start(self, span: Span | None) -> str:
        """Return the reference to put behind `define`: the scope of the kernel, whose body holds `span`."""
        outermost = [span, *span.callers()][-1] if span else None
        file = self._file(outermost.filename if outermost else "<unknown>")
        unit = f"distinct !DICompileUnit(language: DW_LANG_Python, file: !{file}, emissionKind: DebugDirectivesOnly)"
        self.unit = self.node(unit)
        self.kernel_scope = self._subprogram(self.kernel, file, outermost.line if outermost else 0)
        return f" !dbg !{self.kernel_scope}"

    def at(self, span: Span | None) -> str:
        """Return the reference to put behind an instruction. Calls must have one, so an unknown place is line 0."""
        if span is None:
            return f", !dbg !{self.node(f'!DILocation(line: 0, scope: !{self.kernel_scope})')}"
        if span not in self._spans:
            self._spans[span] = f", !dbg !{self._location(span)}"
        return self._spans[span]

    def _location(self, span: Span) -> int:
        column = 0 if span.col is None else span.col + 1
        if span.caller is None:
            return self.node(f"!DILocation(line: {span.line}, column: {column}, scope: !{self.kernel_scope})")
        called = self._location(span.caller)
        scope = self._subprogram(span.function or "<lambda>", self._file(span.filename), 0)
        return self.node(
            f"distinct !DILocation(line: {span.line}, column: {column}, scope: !{scope}, inlinedAt: !{called})"
        )

    def _subprogram(self, name: str, file: int, line: int) -> int:
        signature = self.node(f"!DISubroutineType(types: !{self.node('!{}')})")
        return self.node(
            f'distinct !DISubprogram(name: "{_escaped(name)}", scope: !{file}, file: !{file}, line: {line}, '
            f"type: !{signature}, unit: !{self.unit}, spFlags: DISPFlagDefinition)"
        )

    def _file(self, filename: str) -> int:
        directory, name = os.path.split(filename)
        return self.node(f'!DIFile(filename: "{_escaped(name)}", directory: "{_escaped(directory)}")')


def _escaped(text: str) -> str:
    return "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else _octets(c) for c in text)


def _octets(c: str) -> str:
    return "".join(f"\\{octet:02X}" for octet in c.encode())
