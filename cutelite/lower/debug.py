"""Source lines as LLVM debug metadata, which becomes `.loc` in PTX.

LLVM gets a number in place of each source line, and a table in comments of the text says which place a number stands
for (`toolchain/places.py` reads it and writes the places into the PTX). A place is a line, a column and the chain of
calls that it was inlined through, which LLVM's PTX backend cannot write. So two calls of a function stay apart.

    ; place 3 in 1: 74 8 "/home/me/gemm.py" "load"      number 3, inlined by the call at place 1; 0 is the kernel itself
"""

from __future__ import annotations

import os

from cutelite.diag import Span
from cutelite.diag.paths import coded
from cutelite.lower.writer import escaped


class Nodes:
    """Metadata nodes of a module, numbered from `first`."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.nodes: list[str] = []
        self.places: list[str] = []

    def _node(self, text: str) -> int:
        """Add a node. Return its number."""
        self.nodes.append(text)
        return self.first + len(self.nodes) - 1


class LineInfo(Nodes):
    """The metadata nodes of source lines, and the table of places, which are numbered from 1."""

    def __init__(self, kernel: str, first: int = 0) -> None:
        super().__init__(first)
        self.kernel = kernel
        self._spans: dict[Span, int] = {}
        self._nodes: dict[int, int] = {}
        self.unit = self._node("")  # filled in by `start`, when the file is known
        self.scope = self._node("")

    def start(self, span: Span | None) -> str:
        """Return the reference to put behind `define`: the kernel's scope. `span` is a place in the kernel's body."""
        file = self._node(file_node(outermost(span).filename if span else "<unknown>"))
        signature = self._node(f"!DISubroutineType(types: !{self._node('!{}')})")
        self.nodes[self.unit - self.first] = (
            f"distinct !DICompileUnit(language: DW_LANG_Python, file: !{file}, emissionKind: DebugDirectivesOnly)"
        )
        self.nodes[self.scope - self.first] = (
            f'distinct !DISubprogram(name: "{escaped(self.kernel)}", scope: !{file}, file: !{file}, line: 0, '
            f"type: !{signature}, unit: !{self.unit}, spFlags: DISPFlagDefinition)"
        )
        return f" !dbg !{self.scope}"

    def at(self, span: Span | None) -> str:
        """Return the reference to put behind an instruction. A call must have one, so an unknown place is line 0."""
        number = 0 if span is None else self._place(span)
        if number not in self._nodes:
            self._nodes[number] = self._node(f"!DILocation(line: {number}, scope: !{self.scope})")
        return f", !dbg !{self._nodes[number]}"

    def _place(self, span: Span) -> int:
        if span not in self._spans:
            caller = 0 if span.caller is None else self._place(span.caller)
            self._spans[span] = number = len(self.places) + 1
            column = 0 if span.col is None else span.col + 1
            import json  # imported here: it takes 2 ms, which kernels without source lines save

            names = f"{json.dumps(span.filename)} {json.dumps(span.function or '<lambda>')}"
            self.places.append(f"; place {number} in {caller}: {span.line} {column} {names}")
        return self._spans[span]


def outermost(span: Span) -> Span:
    """Return the call in the kernel itself through which `span` was reached."""
    return [span, *span.callers()][-1]


def file_node(path: str) -> str:
    """Return the node of a source file."""
    directory, name = os.path.split(coded(path))
    return f'!DIFile(filename: "{escaped(name)}", directory: "{escaped(directory)}")'
