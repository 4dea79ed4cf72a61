"""The order of arithmetic on long vectors: a few elements at a time, where whole vectors would not fit into registers.

    %a = exp x=%x      elements 0 to 63        elements 0 and 1 of %a and %b,
    %b = mul a=%a ...  elements 0 to 63   ->   elements 2 and 3 of %a and %b, ...

Op by op, all elements of every intermediate result are alive at once, and nothing behind this room mends that: LLVM
emits a block as it is written, and ptxas begins from there.

In    ops of a block in a row; the lines that were written for each of them
Out   whether their order keeps too much alive; the same lines in another order
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cutelite.ir.contract import Effect
from cutelite.ir.function import Value
from cutelite.ir.op import Op
from cutelite.ir.types import Scalar, Vec
from cutelite.lower.structure import STRUCTURE
from cutelite.lower.types import count
from cutelite.lower.writer import Writer

TOGETHER = 2
"""Elements that are computed together: ptxas joins more chains of instructions where registers are left."""

REGISTERS = 168
"""Registers of 32 bits that each of 384 threads has."""

_NAME = re.compile(r"%\w+")


def end_of_run(ops: Sequence[Op], start: int) -> int:
    """Return the end of the run of ops without effects that begins at `start`."""
    for at in range(start, len(ops)):
        op = ops[at]
        if op.effects is not Effect.PURE or op.scope != "thread" or op.terminator:
            return at
    return len(ops)


def fits(ops: Sequence[Op], w: Writer) -> bool:
    """Tell whether the vectors that are alive at once fit into registers, if each op of a run is for all elements."""
    if sum(_registers(value) for op in ops for value in (*op.results, *op.operands)) <= REGISTERS:
        return True  # all of them do, dead or alive
    last: dict[Value, int] = {}  # the op that uses a value last, under another name too
    for at in range(len(ops) - 1, -1, -1):
        op = ops[at]
        until = max((last.get(made, at) for made in op.results), default=at) if op.name in STRUCTURE else at
        for value in op.operands:
            last.setdefault(value, until)
    made = {value for op in ops for value in op.results if op.name not in STRUCTURE}
    alive, dying = 0.0, [0.0] * len(ops)
    for value, at in last.items():
        if value in made:
            size = _registers(value)
        elif value in w.names:  # of constants there are as many as differ
            size = _registers(value, len({name for name in w.elements(value) if name[0] == "%"}))
            alive += size
        else:
            continue
        dying[at] += size
    for at, op in enumerate(ops):
        if op.name not in STRUCTURE:
            alive += sum(map(_registers, op.results))
        if alive > REGISTERS:
            return False
        alive -= dying[at]
    return True


def _registers(value: Value, elements: int | None = None) -> float:
    """Return how many registers a vector takes if this many elements differ (None: all); what is no vector takes 0."""
    t = value.type
    if isinstance(t, Scalar):
        return 0
    if isinstance(t, Vec):
        return (t.n if elements is None else elements) * t.elem.bits / 32
    return count(t) or 0


def in_groups(written: Sequence[tuple[Sequence[str], int]]) -> list[str]:
    """Return the lines that were written for each op, with its number of elements, in the order of elements.

    Lines that others need come just before these.
    """
    pieces: list[Sequence[str]] = []
    places: list[float] = []  # of pieces in their vectors, from 0 to 1
    for lines, n in written:
        length = -(-len(lines) // max(1, n // TOGETHER)) or 1
        for i in range(0, len(lines), length):
            pieces.append(lines[i : i + length])
            places.append(i / len(lines))
    needs, needed = _needs(pieces)
    lines, done = list[str](), [False] * len(pieces)
    for last in sorted(set(range(len(pieces))) - needed, key=lambda number: (places[number], number)):
        path = [last]
        while path:
            number = path[-1]
            if needs[number]:
                need = needs[number].pop()
                if not done[need]:
                    path.append(need)
            else:
                lines += pieces[path.pop()]
                done[number] = True
    return lines


def _needs(pieces: Sequence[Sequence[str]]) -> tuple[list[list[int]], set[int]]:
    """Return the numbers of the pieces that define what each one uses, its first use last, and those of all of them."""
    defined: dict[str, int] = {}
    needs: list[list[int]] = []
    for number, piece in enumerate(pieces):
        found: dict[int, None] = {}
        for line in piece:
            name, *used = _NAME.findall(line)
            found.update((defined[x], None) for x in used if defined.get(x, number) != number)
            defined[name] = number
        needs.append(list(reversed(found)))
    return needs, {need for each in needs for need in each}
