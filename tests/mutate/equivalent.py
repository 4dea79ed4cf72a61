"""Mutants that are as right as the original, each with the reason why.

A row names a kernel ('' for all), a kind of mutation, an op, a piece of the mutation's detail, and a piece of its line
(or of a line that called it). A test holds that every survivor has a row, and every row a survivor.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    kernel: str
    kind: str
    op: str
    detail: str
    line: str
    reason: str


ROWS: tuple[Row, ...] = ()


def row_of(kernel: str, kind: str, op: str, detail: str, lines: tuple[str, ...]) -> Row | None:
    for row in ROWS:
        fits = row.kernel in ("", kernel) and row.kind == kind and row.op == op and row.detail in detail
        if fits and any(row.line in line for line in lines):
            return row
    return None


def reason(kernel: str, kind: str, op: str, detail: str, lines: tuple[str, ...]) -> str:
    """Why the mutant is equivalent; '' for one that is not known to be."""
    row = row_of(kernel, kind, op, detail, lines)
    return row.reason if row else ""
