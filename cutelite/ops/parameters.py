"""The parameters of a kernel as it is launched: their kinds, and those that are one array, for a run-time index.

    %p = choose key=%i, items=(%ps.0, %ps.1, %ps.2, %ps.3)   ->   these four are one parameter of 32 bytes

Then the item is one load from parameter space, at an address that is computed. One parameter's address says nothing
about another's (PTX ISA, kernel function parameters); within one it may be added to. The bytes stay where they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from cutelite.ir.function import Function, Value
from cutelite.ir.op import Op
from cutelite.ir.types import Scalar, TensorMap, Type, boolean
from cutelite.tuples import NamedTuple

FEW = 4
"""Fewer items are selects: two instructions for each but the first, and no wait for a load."""


class Place(NamedTuple):
    """The items of a `choose`: in `table`, the first one `offset` bytes from its start, each other `step` bytes on."""

    table: Table
    offset: int
    step: int


class Table(NamedTuple):
    """Parameters that are one array.

    first    the number of the first one
    offsets  of each, in bytes from the first one
    bytes    of all
    align    of the first one, in bytes; no other is aligned to more
    """

    first: int
    offsets: tuple[int, ...]
    bytes: int
    align: int

    def place(self, numbers: range) -> Place:
        """Return where the parameters with these numbers are."""
        first, second = (self.offsets[i - self.first] for i in numbers[:2])
        return Place(self, first, second - first)


def parameters(function: Function) -> list[Value]:
    """Return the parameters in order, then the extents of dims."""
    return [*function.params, *function.dims.values()]


def kinds(function: Function) -> tuple[str, ...]:
    """Return the kind of each parameter as `cutelite_rt` packs it; with a + where it continues the one before it."""
    continued = {table.first + i for table, _ in tables(function) for i in range(1, len(table.offsets))}
    return tuple("+" * (i in continued) + _kind(value.type) for i, value in enumerate(parameters(function)))


def _kind(t: Type) -> str:
    return t.name if isinstance(t, Scalar) else "tensormap" if isinstance(t, TensorMap) else "ptr"


def tables(function: Function) -> list[tuple[Table, dict[Op, Place]]]:
    """Return the tables that the function's `choose` ops read, each with these.

    There are none beside tensor maps, with which the launcher passes no parameters by bytes, and in functions for C.
    """
    values = parameters(function)
    if "device" in function.attrs or any(isinstance(value.type, TensorMap) for value in values):
        return []
    numbers = {value: i for i, value in enumerate(values)}
    read = {op: row for op in function.ops() if op.name == "choose" and (row := _row(op, numbers, values))}
    begins = {op: _begin(row, values) for op, row in read.items()}
    spans = {(begin, read[op][-1] + 1) for op, begin in begins.items() if begin is not None}
    made: list[tuple[Table, dict[Op, Place]]] = []
    for first, end in _together(spans):
        table = _table(first, values[first:end])
        its = [op for op, begin in begins.items() if begin is not None and first <= begin < end]
        made.append((table, {op: table.place(read[op]) for op in its}))
    return made


def _row(op: Op, numbers: dict[Value, int], values: list[Value]) -> range | None:
    """Return the numbers of the parameters that an op chooses among; None if they are too few, or not equally apart."""
    found = [
        numbers.get(item.op["t"] if item.op and item.op.name == "tensor.address" else item) for item in op["items"]
    ]
    first, second = found[:2] if len(found) >= FEW else (None, None)
    if first is None or second is None or second <= first or op.result.type == boolean:
        return None
    row = range(first, first + len(found) * (second - first), second - first)
    return row if found == [*row] else None


def _begin(row: range, values: list[Value]) -> int | None:
    """Return the number of the parameter that a table with these must begin with, or one before; None if it is none.

    Items of several numbers have them in turns. What begins the table is aligned as all in it are.
    """
    for begin in range(row[0], max(-1, row[0] - row.step), -1):
        table = _table(begin, values[begin : row[-1] + 1])
        places = [table.offsets[i - begin] for i in row]
        even = all(b - a == places[1] - places[0] for a, b in pairwise(places))
        if even and table.align == max(map(_bytes, values[begin : row[-1] + 1])):
            return begin
    return None


def _together(spans: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans in order, those that overlap as one."""
    left = sorted(spans)
    while left:
        first, end = left.pop(0)
        while left and left[0][0] < end:
            end = max(end, left.pop(0)[1])
        yield first, end


def _table(first: int, values: list[Value]) -> Table:
    offsets, end = [], 0
    for value in values:
        offsets.append(-(-end // _bytes(value)) * _bytes(value))
        end = offsets[-1] + _bytes(value)
    return Table(first, tuple(offsets), end, _bytes(values[0]))


def _bytes(value: Value) -> int:
    """Return the size of a parameter, to which it is aligned."""
    return value.type.bytes if isinstance(value.type, Scalar) else 8
