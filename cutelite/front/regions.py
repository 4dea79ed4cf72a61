"""The walk over the blocks of one function: which is executed next, where paths meet, which loops they leave.

A block waits in `pending` until every path that can reach it has been executed, which the order of the CFG guarantees.
Then those paths are merged, and the block is executed once. A loop is one step of the walk: the host calls
`cutelite.front.loops`, whose modules call `body` as often as their kind of loop needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from cutelite.diag import Span
from cutelite.front.cfg import Block, Cfg, Loop
from cutelite.front.instructions import Instr
from cutelite.front.merge import can_meet, merge
from cutelite.front.mutation import Mutables
from cutelite.front.state import Share, State
from cutelite.ir.builder import Builder
from cutelite.tuples import NamedTuple


class Returned(NamedTuple):
    """One way in which a function returns."""

    state: State
    value: Any
    span: Span | None


class Host(Protocol):
    """The frame that executes the function."""

    def run_block(self, block: Block, state: State) -> None:
        """Execute the block's instructions; calls `Regions.edge` and `Regions.leave`."""

    def run_loop(self, loop: Loop, entry: State) -> None:
        """Execute a loop that is entered in this state."""

    def span_of(self, instr: Instr) -> Span: ...


class Running:
    """A loop whose body is being executed. It is told of each path that leaves it.

    left  the states that have left
    rest  for a partly unrolled loop: the state in which fewer iterations are left than the unrolled body has
    """

    def __init__(self, loop: Loop, share: Share) -> None:
        self.loop, self.share = loop, share
        self.left: list[State] = []
        self.rest: State | None = None

    def leave(self, state: State) -> None:
        self.left.append(state)

    def reshared(self, states: list[State]) -> None:
        """Take note of states that left an inner loop and this one, and whose share has changed."""


class Regions:
    """The walk over one function's CFG.

    memory     facts about loops, kept for the whole kernel; `key` identifies this call in it
    running    the loops whose bodies are being executed, outermost first
    iteration  the iteration numbers of the enclosing unrolled loops
    late       by the header of a loop: the values, at its end, of names that only its body binds (see `loops.run_time`)
    """

    def __init__(
        self, cfg: Cfg, builder: Builder, host: Host, memory: dict[Any, Any], key: Any, mutables: Mutables
    ) -> None:
        self.cfg, self.builder, self.host = cfg, builder, host
        self.loop_at = {loop.header: loop for loop in cfg.loops}
        self.memory, self.key, self.mutables = memory, key, mutables
        self.pending: dict[int, list[State]] = {}
        self.returns: list[Returned] = []
        self.running: list[Running] = []
        self.iteration: tuple[int, ...] = ()
        self.late: dict[int, dict[str, Any]] = {}

    def run(self, entry: State) -> list[Returned]:
        """Return every way in which the function returns, having started in `entry`."""
        self.edge(0, entry)
        self._walk(range(len(self.cfg.blocks)))
        return self.returns

    def edge(self, target: int, state: State) -> None:
        """Let the path of `state` go on to the block `target`."""
        state.block, state.iteration = self.builder.block, self.iteration
        for running in reversed(self.running):
            if target in running.loop.blocks:
                break
            running.leave(state)
        self.pending.setdefault(target, []).append(state)

    def leave(self, state: State, value: Any) -> None:
        """Let the path of `state` return `value`."""
        state.block = self.builder.block
        for running in reversed(self.running):
            running.leave(state)
        self.returns.append(Returned(state, value, self.builder.span))

    def remainder(self, state: State) -> None:
        """Let the path of `state` go on to the iterations that are left after the unrolled body."""
        state.block = self.builder.block
        running = self.running[-1]
        running.leave(state)
        running.rest = state

    def _walk(self, indices: range) -> None:
        """Execute these blocks, and each loop among them as a whole."""
        at = indices.start
        while at < indices.stop:
            loop = self.loop_at.get(at)
            if at in self.pending:
                states = self.pending.pop(at)
                if at in self.cfg.ways_out:
                    outer = self.iteration
                    for number, group in enumerate(self._groups(at, states)):
                        self.iteration = (*outer, -1 - at, number)
                        self._execute(at, loop, group)
                    self.iteration = outer
                else:
                    self._execute(at, loop, states)
            at = loop.blocks.stop if loop else at + 1

    def _execute(self, at: int, loop: Loop | None, states: list[State]) -> None:
        """Execute a block, or the loop of which it is the header, in the state that these make together."""
        state = merge(self.builder, states, self.cfg.live_in[at], self.mutables)
        if loop:
            self.host.run_loop(loop, state)
        else:
            self.host.run_block(self.cfg.blocks[at], state)

    def _groups(self, at: int, states: list[State]) -> list[list[State]]:
        """Return the states that meet at a way out of a loop: those that can.

        Iterations of an unrolled loop differ in functions, texts, objects: what comes before a `break` is executed for
        each of them, as the rest of the body is.
        """
        of: dict[tuple[int, ...], list[State]] = {}
        for state in states:
            of.setdefault(state.iteration, []).append(state)
        groups: list[list[State]] = []
        for its in of.values():
            found = next((group for group in groups if can_meet([group[0], *its], self.cfg.live_in[at])), None)
            if found is None:
                groups.append(its)
            else:
                found += its
        return groups

    def body(self, loop: Loop, state: State, running: Running | None) -> list[State]:
        """Execute the loop's blocks once, from its header on, and return the states that come back to the header."""
        if running:
            self.running.append(running)
        try:
            self.builder.block = state.block
            self.host.run_block(self.cfg.blocks[loop.header], state)
            self._walk(range(loop.header + 1, loop.blocks.stop))
        finally:
            if running:
                self.running.remove(running)
        return self.pending.pop(loop.header, [])

    def reshared(self, states: list[State]) -> None:
        """Tell the enclosing loops that the shares of these states, which left an inner loop, have changed."""
        for running in self.running:
            waiting = [s for target in running.loop.blocks for s in self.pending.get(target, ())]
            running.reshared([state for state in states if not any(state is s for s in waiting)])

    def span(self, loop: Loop) -> Span:
        """Return the place of the loop's header in the user's code."""
        return self.host.span_of(self.cfg.instrs(self.cfg.blocks[loop.header])[0])

    def snapshot(self, state: State) -> Callable[[], None]:
        """Return a function that undoes what happens after this call: blocks, ops, pending paths, returns, meetings."""
        undo_ops = self.builder.snapshot(state.block)
        pending = {target: list(states) for target, states in self.pending.items()}
        meetings = dict(self.mutables.meetings)
        returns, left = len(self.returns), [(running, len(running.left)) for running in self.running]

        def undo() -> None:
            undo_ops()
            self.pending, self.mutables.meetings = pending, meetings
            del self.returns[returns:]
            for running, number in left:
                del running.left[number:]

        return undo
