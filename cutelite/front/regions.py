"""In which order the blocks of a function are executed, and how often: branches, unrolled and run-time loops.

Blocks wait in `pending` until every path that can reach them has been executed (the CFG's order guarantees
it); then those paths are merged and the block is executed once. Loops come in three kinds:

  over compile-time items          unrolled
  `while`                          unrolled as long as nothing at run time decides whether it goes on
  over `range`, any other `while`  a run-time loop: one header block, whose parameters are found by a fixpoint.
                                   The body is executed with the entry's values; what has changed when it comes
                                   back to the header becomes a parameter, and the body is executed again
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutelite.diag import CompileError, Mistake
from cutelite.ir.builder import Builder
from cutelite.ir.function import Jump, Value
from cutelite.ops.control import Br

from . import tree
from .cfg import Cfg, Loop
from .iterators import RangeIter, StaticIter
from .merge import (
    NO_TYPE,
    Conflict,
    Path,
    Slot,
    State,
    join_types,
    leaf_value,
    merge,
    new_decision,
    slots_of,
    wrap_like,
)

UNROLL_LIMIT = 100_000
"""Iterations after which an unrolled `while` is taken for one that never ends."""

Carried = dict[tuple[str | int, int], Any]
"""(slot, number of the leaf in it) -> type of the header's parameter; (slot, -1) -> a Conflict."""


class _RunTimeExit(Exception):
    """A `while` being unrolled turned out to be left, or continued, by a run-time decision."""

    def __init__(self, trial: _Loop) -> None:
        self.trial = trial


class _Loop:
    """A loop being executed: an unrolling on trial, or a run-time loop that collects the paths leaving it."""

    def __init__(self, loop: Loop, path: Path, trial: bool) -> None:
        self.loop, self.path, self.trial = loop, path, trial
        self.left: list[State] = []


class Regions:
    """Executes one function's CFG. `run_block(block, state)` executes instructions and calls `edge` and `leave`."""

    def __init__(
        self,
        cfg: Cfg,
        builder: Builder,
        run_block: Callable[[Any, State], None],
        memory: dict[Any, Carried],
        mutables: dict[int, tuple[Any, Path]],
    ) -> None:
        self.cfg, self.builder, self.run_block = cfg, builder, run_block
        self.loop_at = {loop.header: loop for loop in cfg.loops}
        self.memory = memory  # what each run-time loop carried when last executed: the first guess next time
        self.mutables = mutables  # compile-time lists and dicts that the kernel made
        self.pending: dict[int, list[State]] = {}
        self.returns: list[tuple[State, Any]] = []
        self.active: list[_Loop] = []
        self.iteration: tuple[int, ...] = ()  # of the unrolled loops around

    def run(self, entry: State) -> list[tuple[State, Any]]:
        """Every (state, value) with which the function returns, having started in `entry`."""
        self.edge(0, entry)
        self._region(range(len(self.cfg.blocks)))
        return self.returns

    def edge(self, target: int, state: State) -> None:
        """The path of `state` goes on to the block `target`."""
        state.block = self.builder.block
        for active in reversed(self.active):
            if target in active.loop.blocks:
                break
            self._leaves(active, state)
        self.pending.setdefault(target, []).append(state)

    def leave(self, state: State, value: Any) -> None:
        """The path of `state` returns `value`."""
        state.block = self.builder.block
        for active in reversed(self.active):
            self._leaves(active, state)
        self.returns.append((state, value))

    def _leaves(self, active: _Loop, state: State) -> None:
        if not active.trial:
            active.left.append(state)
        elif state.path != active.path:
            raise _RunTimeExit(active)

    def _region(self, indices: range) -> None:
        """Execute these blocks, and each loop among them as a whole."""
        at = indices.start
        while at < indices.stop:
            loop = self.loop_at.get(at)
            if at in self.pending:
                state = self._arrive(at)
                if loop:
                    self._loop(loop, state)
                else:
                    self.run_block(self.cfg.blocks[at], state)
            at = loop.blocks.stop if loop else at + 1

    def _arrive(self, index: int) -> State:
        states = self.pending.pop(index)
        return merge(self.builder, states, self.cfg.live_in[index])

    def _body(self, loop: Loop, state: State, active: _Loop | None) -> list[State]:
        """One execution of the loop's blocks from its header on; the states that come back to the header."""
        if active:
            self.active.append(active)
        try:
            self.builder.block = state.block
            self.run_block(self.cfg.blocks[loop.header], state)
            self._region(range(loop.header + 1, loop.blocks.stop))
        finally:
            if active:
                self.active.remove(active)
        return self.pending.pop(loop.header, [])

    def _loop(self, loop: Loop, entry: State) -> None:
        iterator = entry.stack[-1] if self._is_for(loop) else None
        if isinstance(iterator, RangeIter):
            self._run_time_loop(loop, entry)
        else:
            self._unrolled(loop, entry, on_trial=not isinstance(iterator, StaticIter))

    def _unrolled(self, loop: Loop, state: State, on_trial: bool) -> None:
        outer = self.iteration
        for n in range(UNROLL_LIMIT):
            self.iteration = (*outer, n)
            undo = self._snapshot(state)
            start = state.fork(state.block, state.path)
            active = _Loop(loop, state.path, trial=True) if on_trial else None
            try:
                back = self._body(loop, state, active)
                state = merge(self.builder, back, self.cfg.live_in[loop.header]) if back else state
                if on_trial and back and state.path != start.path:
                    raise _RunTimeExit(active)  # type: ignore[arg-type]
            except _RunTimeExit as exit:
                if exit.trial is not active:
                    raise
                undo()
                self.iteration = outer
                return self._run_time_loop(loop, start)
            if not back:
                self.iteration = outer
                return None
        raise CompileError(
            Mistake(
                "endless-loop",
                f"this loop is unrolled at compile time and has not ended after {UNROLL_LIMIT} iterations",
                help="a loop that runs on the GPU needs a run-time condition",
            ),
            self.builder.span,
        )

    def _is_for(self, loop: Loop) -> bool:
        return self.cfg.instrs(self.cfg.blocks[loop.header])[0].op == "FOR_ITER"

    def _run_time_loop(self, loop: Loop, entry: State) -> None:
        live = self.cfg.live_in[loop.header]
        key = (loop.header, self.iteration)
        carried: Carried = dict(self.memory.get(key, {}))
        if self._is_for(loop) and (len(entry.stack) - 1, 0) not in carried:
            carried[len(entry.stack) - 1, 0] = entry.stack[-1].type  # the counter changes in any case
        while True:
            undo = self._snapshot(entry)
            header, params = self._open_header(entry, carried, live)
            template = header.fork(header.block, header.path)
            active = _Loop(loop, entry.path, trial=False)
            back = self._body(loop, header, active)
            if not back:
                break
            latch = merge(self.builder, back, live)
            grown = self._grown(entry, template, latch, carried, live)
            if grown == carried:
                args = [leaf_value(_leaves(Slot(k).read(latch))[i], carried[k, i]) for k, i in params]
                self.builder.emit(Br(Jump(template.block, tuple(args))))
                break
            undo()
            carried = grown
        self.memory[key] = carried
        self._relabel(active.left, entry.path)

    def _relabel(self, left: list[State], path: Path) -> None:
        """Leaving a loop is one decision with an alternative for each exit; with a single exit it is none."""
        decision = new_decision()
        for k, state in enumerate(left):
            state.path = path if len(left) == 1 else (*path, (decision, k, len(left)))
        for active in self.active:
            for state in left:
                if active.trial and state.path != active.path and self._is_outside(active, state):
                    raise _RunTimeExit(active)

    def _is_outside(self, active: _Loop, state: State) -> bool:
        waiting = {id(s) for target in active.loop.blocks for s in self.pending.get(target, ())}
        return id(state) not in waiting

    def _open_header(
        self, entry: State, carried: Carried, live: frozenset[str]
    ) -> tuple[State, list[tuple[str | int, int]]]:
        """The state in a new header block, with a parameter for everything carried; entered from `entry`."""
        block = self.builder.new_block(label="loop")
        state = entry.fork(block, (*entry.path, (new_decision(), 0, 0)))
        params: list[tuple[str | int, int]] = []
        args: list[Value] = []
        self.builder.block = entry.block
        for slot in slots_of([entry], live):
            if (slot.key, -1) in carried:
                slot.write(state, carried[slot.key, -1])
                continue
            leaves: list[Any] = []
            structure = tree.flatten(slot.read(entry), leaves)
            for i, leaf in enumerate(leaves):
                t = carried.get((slot.key, i))
                if t is not None:
                    args.append(leaf_value(leaf, t))
                    params.append((slot.key, i))
                    block.params.append(Value(t, hint=slot.key if isinstance(slot.key, str) else ""))
                    leaves[i] = wrap_like(leaf, block.params[-1])
            remaining = iter(leaves)
            slot.write(state, tree.rebuild(structure, lambda _, it=remaining: next(it)))
        self.builder.emit(Br(Jump(block, tuple(args))))
        self.builder.block = block
        return state, params

    def _grown(
        self, entry: State, header: State, latch: State, carried: Carried, live: frozenset[str]
    ) -> Carried:
        """`carried`, and whatever else changed between the header and the way back to it."""
        grown = dict(carried)
        for slot in slots_of([entry], live):
            before, after = slot.read(header), slot.read(latch)
            if before is after or isinstance(before, Conflict):
                continue
            if isinstance(after, Conflict):
                grown[slot.key, -1] = after
                continue
            first, now, then = _leaves(slot.read(entry)), _leaves(before), _leaves(after)
            if not tree.same_structure(tree.flatten(before, []), tree.flatten(after, [])) or len(now) != len(then):
                grown[slot.key, -1] = self._conflict(slot, entry, latch, "is something else after an iteration")
                continue
            for i, (initial, a, b) in enumerate(zip(first, now, then, strict=True)):
                if (slot.key, i) in carried:
                    t = join_types([a, b])
                    t = join_types([initial, b]) if t is NO_TYPE else t
                elif tree.same(a, b) or (hasattr(a, "value") and hasattr(b, "value") and a.value is b.value):
                    continue
                else:
                    t = join_types([initial, b])
                if t is NO_TYPE:
                    grown[slot.key, -1] = self._conflict(slot, entry, latch, "changes its type in the loop")
                else:
                    grown[slot.key, i] = t
        return grown

    def _conflict(self, slot: Slot, entry: State, latch: State, reason: str) -> Conflict:
        from cutelite.lang.values import describe

        found = ((describe(slot.read(entry)), _place(slot, entry)), (describe(slot.read(latch)), _place(slot, latch)))
        return Conflict(reason, found)

    def _snapshot(self, state: State) -> Callable[[], None]:
        """A function that undoes everything since: blocks, ops in the open block, pending paths, lists."""
        blocks = self.builder.function.blocks
        count, open_block, length = len(blocks), state.block, len(state.block.ops)
        pending = {target: list(states) for target, states in self.pending.items()}
        returns, left = len(self.returns), [(active, len(active.left)) for active in self.active]
        contents = [(held, held.copy()) for held, _ in self.mutables.values()]

        def undo() -> None:
            del blocks[count:]
            del open_block.ops[length:]
            self.pending = pending
            del self.returns[returns:]
            for active, number in left:
                del active.left[number:]
            for held, content in contents:
                held.clear()
                held.update(content) if isinstance(held, dict | set) else held.extend(content)
            self.builder.block = open_block

        return undo


def _leaves(x: Any) -> list[Any]:
    leaves: list[Any] = []
    tree.flatten(x, leaves)
    return leaves


def _place(slot: Slot, state: State) -> Any:
    return state.where.get(slot.key) if isinstance(slot.key, str) else None
