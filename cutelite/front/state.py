"""The state of the evaluation on one path through a function, and conflicts in slots that paths disagree about.

The `share` of a state stands for the threads that come there: a branch splits its state's share into random parts,
and where paths meet the shares are added. So states that the same threads execute have the same share, and other
states have another, but for a chance of 2**-64. That is what makes it sound to unroll a `while`, to change a
compile-time list, or to say that an assertion always fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from cutelite.diag import CompileError, Mistake, Note, Span
from cutelite.ir.function import Block, Value
from cutelite.tuples import NamedTuple

Share = int
WHOLE: Share = 1
_MASK = (1 << 64) - 1
_numbers = itertools.count(1)


def new_share() -> Share:
    """Return a share unrelated to any other: the numbers 1, 2, ... scattered over 64 bits (splitmix64)."""
    x = next(_numbers) * 0x9E3779B97F4A7C15 & _MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _MASK
    return x ^ x >> 31


def split(share: Share, parts: int) -> list[Share]:
    """Return `parts` shares that add up to `share`."""
    found = [new_share() for _ in range(parts - 1)]
    return [*found, (share - sum(found)) & _MASK]


def together(shares: Iterable[Share]) -> Share:
    """Return the share of a state that is reached by several paths."""
    return sum(shares) & _MASK


class Unbound:
    """The content of a slot whose name is not bound."""

    def __repr__(self) -> str:
        return "unbound"


UNBOUND = Unbound()


class Conflict:
    """The content of a slot that depends on the path in a way that no run-time value can. Using it is an error.

    code, title  of the error; ``{name}`` in the title is the name of what is used
    found        what it is on each path, and the line that made it so
    """

    __slots__ = ("code", "found", "help", "title")

    def __init__(self, code: str, title: str, found: Iterable[tuple[str, Span | None]], help: str) -> None:
        self.code, self.title, self.help = code, title, help
        self.found = tuple(dict.fromkeys(found))

    def error(self, name: str, span: Span | None) -> CompileError:
        placed = [(what, where) for what, where in self.found if where is not None]
        unplaced = [what for what, where in self.found if where is None]
        label = f"it may be {' or '.join(dict.fromkeys(unplaced))}" if unplaced else ""
        notes = [Note(f"here it is {what}" if what != "unbound" else "not bound here", where) for what, where in placed]
        return CompileError(Mistake(self.code, self.title.format(name=name), label, self.help), span, notes)


MAX_FACTS = 32
"""Conditions that a state remembers: the last ones, so that a long chain of branches costs no more than a short one."""


class State:
    """Locals, stack, the open IR block, and the share of the threads that come here.

    where      the line that last bound each local
    facts      run-time conditions that branches on the way here have decided
    iteration  the iteration numbers of the unrolled loops in which the path went on to its next block
    """

    __slots__ = ("block", "facts", "iteration", "locals", "share", "stack", "where")

    def __init__(
        self,
        locals: dict[str, Any],
        stack: list[Any],
        where: dict[str, Span],
        block: Block,
        share: Share,
        facts: dict[Value, bool],
    ) -> None:
        self.locals, self.stack, self.where = locals, stack, where
        self.block, self.share, self.facts = block, share, facts
        self.iteration: tuple[int, ...] = ()

    def fork(self, block: Block, share: Share) -> State:
        facts = dict(self.facts)
        if len(facts) > MAX_FACTS:
            del facts[next(iter(facts))]
        return State(dict(self.locals), list(self.stack), dict(self.where), block, share, facts)


class Slot(NamedTuple):
    """One place of a state: a local's name, or an index into the stack."""

    key: str | int

    def read(self, state: State) -> Any:
        return state.locals.get(self.key, UNBOUND) if isinstance(self.key, str) else state.stack[self.key]

    def write(self, state: State, value: Any) -> None:
        if isinstance(self.key, int):
            state.stack[self.key] = value
        elif value is UNBOUND:
            state.locals.pop(self.key, None)
        else:
            state.locals[self.key] = value

    def place(self, state: State) -> Span | None:
        """Return the line that gave it its value; None for a place on the stack."""
        return state.where.get(self.key) if isinstance(self.key, str) else None


def slots_of(states: list[State], live: frozenset[str]) -> list[Slot]:
    """Return the live slots of states about to meet, in a fixed order."""
    names = [name for name in dict.fromkeys(n for s in states for n in s.locals) if name in live]
    return [Slot(i) for i in range(len(states[0].stack))] + [Slot(name) for name in names]
