"""Loops on the GPU: one header block, whose parameters are what changes from one iteration to the next.

The body is executed until nothing changes that is not a parameter: see the trace in `cutelite.front.loops`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.diag import CompileError
from cutelite.front import tree
from cutelite.front.cfg import Loop
from cutelite.front.iterators import RangeIter
from cutelite.front.loops.ahead import move_ahead
from cutelite.front.loops.carried import (
    WHOLE_SLOT,
    Carried,
    Key,
    alike,
    assigned_literals,
    assigned_values,
    bound_by,
    bound_inside,
    carried_parts,
    confirmed,
    grown,
    guesses,
    late_types,
    phases,
    remembered,
    without_early_conflicts,
)
from cutelite.front.merge import hint, leaf_value, merge, wrap_like
from cutelite.front.regions import Regions, Running
from cutelite.front.state import Slot, State, new_share, slots_of, split
from cutelite.ir.function import Block, Jump, Value
from cutelite.ir.types import boolean, elem_of
from cutelite.lang.promotion import as_value
from cutelite.ops.control import Br
from cutelite.tuples import NamedTuple


class Known(NamedTuple):
    """The memory of a loop that has been executed before, by the same chain of calls.

    peeled   iterations of a `while` that were unrolled before it turned out to be a run-time loop
    carried  the parameters of its header
    late     the names that only the body binds, with what it bound to them: for a `for` that is certain to begin
    """

    peeled: int
    carried: Carried
    late: dict[str, Any]


class RunTimeLoop:
    """The search for the parameters of one run-time loop.

    carried  the parameters of the header, as far as they are known
    guessed  those that nobody has seen change yet; a guess that proves wrong goes to `refuted`
    late     the names that only the body binds, and that are bound when the loop ends, since it is certain to begin
    fresh    the names that the body binds to a new object at each execution: no parameter can stand for those
    settled  the last execution found nothing else to carry, so that the next one binds names to the same again
    once     no iteration comes back, and the first one is certain: it is executed with the counter known
    params   the parameters of the header last opened, in their order
    starts   for each iteration in the body last executed: its block, and the number of ops there before it
    """

    def __init__(self, regions: Regions, loop: Loop, entry: State, peeled: int = 0) -> None:
        self.regions, self.loop, self.entry, self.peeled = regions, loop, entry, peeled
        self.live = regions.cfg.live_in[loop.header]
        self.key = (regions.key, loop.header, regions.iteration)
        known = regions.memory.get(self.key)
        self.certain = loop.is_for and entry.stack[-1].begins
        self.guessed: set[Key] = set()
        self.refuted: set[Key] = set()
        self.carried = self._first_guess(known)
        self.late: dict[str, Any] = known.late if known and self.certain else {}
        self.fresh: set[str] = set()
        self.settled = self.once = False
        self.params: list[tuple[str | int, int]] = []
        self.starts: list[tuple[Block, int]] = []
        self.counter = entry.stack[-1] if loop.is_for else RangeIter(0, 0, 1)

    def run(self) -> State | None:
        """Execute the loop. Return the state in which iterations are left after the unrolled body, or None."""
        regions, first_error = self.regions, None
        while True:
            self.carried = {key: t for key, t in self.carried.items() if key[0] not in self.fresh}
            self.carried |= late_types(self.late)
            regions.memory[self.key] = Known(self.peeled, self.carried, self.late)
            undo, memory = regions.snapshot(self.entry), dict(regions.memory)
            header = self._open_header()
            before = header.fork(header.block, header.share)
            running = Running(self.loop, self.entry.share)
            try:
                back = self._body(header, running)
            except CompileError as error:  # perhaps only because numbers that change were still constants
                if self.guessed:
                    undo()
                    self._take_back(memory)
                    continue
                bold = assigned_literals(self.loop, self.entry, self.live) | self.carried
                if first_error is not None or bold == self.carried:
                    raise first_error or error from None
                undo()
                self.carried, first_error = bold, error
                continue
            if not back and self.guessed:
                self._take_back(memory)
            elif not back and self.certain and not self.once:
                self.once = True  # the header's way out, by which names would be unbound, is not taken
                del self.carried[len(self.entry.stack) - 1, 0]
            elif not back or self._closed(before, merge(regions.builder, back, self.live, regions.mutables), memory):
                break
            undo()
        if back:
            first = before.block.successors[0]  # where FOR_ITER leads to
            move_ahead(regions, self.loop, [(first, 0), *self.starts[1:]], self.counter.ahead)
        regions.late.pop(self.loop.header, None)
        self._share_out(running.left)
        return running.rest

    def _body(self, state: State, running: Running) -> list[State]:
        """Execute as many iterations as the body has; return the states that come back to the header from the last."""
        regions, outer = self.regions, self.regions.iteration
        unroll = self.counter.unroll
        self.starts = []
        try:
            for turn in range(unroll):
                self.starts.append((state.block, len(state.block.ops)))
                regions.iteration = (*outer, turn) if unroll > 1 else outer
                back = regions.body(self.loop, state, running)
                if not back or turn == unroll - 1:
                    break
                state = merge(regions.builder, back, self.live, regions.mutables)
        finally:
            regions.iteration = outer
        return back

    def _take_back(self, memory: dict[Any, Any]) -> None:
        """Go on without what was only guessed."""
        self.carried = {key: t for key, t in self.carried.items() if key not in self.guessed}
        self._refute(set(self.guessed), memory)

    def _refute(self, wrong: set[Key], memory: dict[Any, Any]) -> None:
        """Remember wrong guesses, and forget what inner loops carried because of them: restore an earlier memory."""
        self.refuted |= wrong
        self.guessed -= wrong
        self.regions.memory.clear()
        self.regions.memory.update(memory)

    def _first_guess(self, known: Known | None) -> Carried:
        """Return the leaves that the loop carried when last executed, and the run-time numbers assigned in it."""
        carried = assigned_values(self.loop, self.entry, self.live)
        if known:
            carried |= remembered(self.entry, self.live, known.carried)
        else:
            likely = guesses(self.loop, self.entry, self.live, self.regions.memory.get)
            self.guessed = likely.keys() - carried.keys()
            carried = likely | carried
        if self.loop.is_for:  # the counter changes in any case
            place, counter = len(self.entry.stack) - 1, self.entry.stack[-1]
            carried[place, 0] = counter.type
            if counter.more is not None:
                carried[place, 3] = boolean
        return carried

    def _open_header(self) -> State:
        """Return the state in a new header block, with a parameter for everything carried; enter it from the entry.

        Parameters for names that are bound late begin with any number, since nothing reads it.
        """
        builder, entry = self.regions.builder, self.entry
        block = builder.new_block(label="loop")
        state = entry.fork(block, new_share())
        self.params = []
        args: list[Value] = []
        builder.block = entry.block

        def opened(slot: Slot, held: Any, first: Callable[[Any, Any], Value]) -> Any:
            """Return a slot's content in the header: parameters for its carried leaves, which begin as `first`."""
            leaves: list[Any] = []
            structure = tree.flatten(held, leaves)
            for i, leaf in enumerate(leaves):
                if (t := self.carried.get((slot.key, i))) is not None:
                    args.append(first(leaf, t))
                    self.params.append((slot.key, i))
                    block.params.append(Value(t, hint=hint(slot, structure, i)))
                    leaves[i] = wrap_like(leaf, block.params[-1])
            return self.regions.mutables.met([held], tree.with_leaves(held, iter(leaves)))

        for slot in slots_of([entry], self.live):
            conflict = self.carried.get((slot.key, WHOLE_SLOT))
            slot.write(state, conflict or opened(slot, slot.read(entry), leaf_value))
        self.regions.late[self.loop.header] = {
            name: opened(Slot(name), value, lambda _, t: as_value(False if elem_of(t) == boolean else 0, t))
            for name, value in self.late.items()
        }
        for name in sorted(self.live & self.loop.assigned - state.locals.keys()):
            state.locals[name] = bound_inside(name, self.loop, self.regions.cfg)
        builder.emit(Br(Jump(block, tuple(args))))
        builder.block = block
        return state

    def _closed(self, header: State, latch: State, memory: dict[Any, Any]) -> bool:
        """Jump back to the header if its parameters are all that changed, and return True; else add the rest."""
        found = grown(self.entry, header, latch, self.carried, self.live)
        wrong = self.guessed - confirmed(self.entry, header, latch, self.guessed)
        found = {key: t for key, t in found.items() if key not in wrong}
        if wrong:
            self._refute(wrong, memory)
            if any(type(tree.leaves_of(Slot(key).read(self.entry))[i]) in (int, bool) for key, i in wrong):
                self.carried = {key: t for key, t in self.carried.items() if key not in wrong}
                return False  # with the number known, fewer others may change
        more = {key: t for key, t in phases(self.entry, found).items() if key not in self.refuted}
        self.guessed |= more.keys()
        found |= more
        names = self.live & self.loop.assigned - self.fresh if self.certain else ()
        bound = bound_by(latch, self.entry, names)
        changed = {name for name in self.late.keys() | bound.keys() if not alike(self.late, bound, name)}
        if found == self.carried and not changed:
            leaves = {key: tree.leaves_of(Slot(key).read(latch)) for key, _ in self.params}
            args = [leaf_value(leaves[key][i], self.carried[key, i]) for key, i in self.params]
            self.regions.builder.emit(Br(Jump(header.block, tuple(args))))
            self.regions.memory.update(carried_parts(self.loop, self.entry, self.carried, self.live))
            return True
        settled, self.settled = self.settled, found == self.carried
        if settled and self.settled:
            self.fresh |= self.late.keys() & changed
        found = {key: t for key, t in found.items() if key[0] not in self.late}
        self.late = {name: value for name, value in bound.items() if name not in self.fresh}
        self.carried = without_early_conflicts(found, self.carried)
        return False

    def _share_out(self, left: list[State]) -> None:
        """Split the entry's share among the ways out; a single way out keeps all of it."""
        for state, part in zip(left, split(self.entry.share, len(left)) if left else (), strict=True):
            state.share = part
        self.regions.reshared(left)
