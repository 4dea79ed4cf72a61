"""Source lines -> their machine code, also if the assembler folded it into that of other lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from cutelite.ir.function import Function, Value
from cutelite.ir.op import Op
from cutelite.sass import Instruction, Sass

Line = tuple[str, int]
Own = Mapping[Line, tuple[Instruction, ...]]


class Attribution:
    """Machine code by source line.

    own      line -> its instructions, by the cubin's line table; the line of a call also has those of the function
             called
    through  line without instructions -> the lines whose instructions hold its results: such as an address that became
             part of a load's, or a commit that became a bit of a product. They are the lines of the ops that use its
             results or, if it has no results, of the previous op.
    """

    def __init__(self, own: dict[Line, tuple[Instruction, ...]], through: dict[Line, tuple[Line, ...]]) -> None:
        self.own, self.through = own, through

    def of(self, line: Line) -> tuple[Instruction, ...]:
        """Return the instructions of a line, or of the lines that it is folded into; () if there are none."""
        if line in self.own:
            return self.own[line]
        return tuple(dict.fromkeys(each for other in self.through.get(line, ()) for each in self.own[other]))


def attribution(final: Function, sass: Sass) -> Attribution:
    """Attribute the instructions of a kernel to its source lines. `final` is the IR that was lowered."""
    return Attribution(sass.lines, dict(_folded(final, sass.lines)))


def _folded(final: Function, own: Own) -> Iterator[tuple[Line, tuple[Line, ...]]]:
    users = _users(final)
    nearest = dict(_nearest(final, own))
    missing: dict[Line, list[Op]] = defaultdict(list)
    for op in final.ops():
        for line in _lines(op):
            if line not in own:
                missing[line].append(op)
    for line, ops in missing.items():
        found = dict.fromkeys(other for op in ops for other in _reached(op, users, own))
        found = found or dict.fromkeys(nearest[op] for op in ops if op in nearest)
        if found:
            yield line, tuple(found)


def _lines(op: Op) -> Iterator[Line]:
    if op.span is not None:
        for span in (op.span, *op.span.callers()):
            yield span.filename, span.line


def _users(final: Function) -> dict[Value, list[Op | Value]]:
    """Return the users of each value: ops that take it, and parameters of blocks that it is passed to."""
    users: dict[Value, list[Op | Value]] = defaultdict(list)
    for op in final.ops():
        for value in op.operands:
            users[value].append(op)
        for jump in getattr(op, "jumps", ()):
            for value, param in zip(jump.args, jump.block.params, strict=True):
                users[value].append(param)
    return users


def _reached(op: Op, users: dict[Value, list[Op | Value]], own: Own) -> Iterator[Line]:
    """Yield lines with machine code whose ops use the results of `op`, directly or through ops without machine code."""
    seen: set[Value] = set(op.results)
    work: list[Value] = list(op.results)
    while work:
        for user in users[work.pop()]:
            if isinstance(user, Op):
                line = next(_lines(user), None)
                if line is not None and line in own:
                    yield line
                    continue
            for value in user.results if isinstance(user, Op) else (user,):
                if value not in seen:
                    seen.add(value)
                    work.append(value)


def _nearest(final: Function, own: Own) -> Iterator[tuple[Op, Line]]:
    """Yield each op without machine code with the line of the last op before it, else of the next, that has some."""
    for block in final.blocks:
        before: Line | None = None
        waiting: list[Op] = []
        behind = (op for jump in (block.terminator.jumps if block.terminator else ()) for op in jump.block.ops)
        for op in (*block.ops, *behind):
            line = next(_lines(op), None)  # the line of the op itself, not of a call around it
            if line is not None and line in own:
                yield from ((each, line) for each in waiting)
                before, waiting = line, []
            elif before is not None:
                yield op, before
            else:
                waiting.append(op)
