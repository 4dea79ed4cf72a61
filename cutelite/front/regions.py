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

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

from cutelite.diag import CompileError, Span
from cutelite.front import tree
from cutelite.front.bytecode import Instr
from cutelite.front.cfg import Block, Cfg, Loop
from cutelite.front.iterators import Range, RangeIter, StaticIter, iterate, iterate_static
from cutelite.front.merge import NO_TYPE, fits, hint, join_types, leaf_value, merge, tell, wrap_like
from cutelite.front.mutation import Mutables
from cutelite.front.state import UNBOUND, Conflict, Share, Slot, State, new_share, slots_of, split
from cutelite.ir.builder import Builder
from cutelite.ir.function import Jump, Value
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Type, Vec, boolean, elem_of
from cutelite.lang.values import Runtime, Scalar, Vector, as_value, common_type, mistake
from cutelite.ops.control import Br

UNROLL_LIMIT = 100_000
"""Iterations that are unrolled at most. A `while` that has not ended by then is taken for one that never does."""

Carried = dict[tuple[str | int, int], Any]
"""(slot, number of the leaf in it) -> type of the header's parameter; (slot, WHOLE_SLOT) -> a Conflict."""
WHOLE_SLOT = -1


class Known(NamedTuple):
    """What is known of a loop that has been executed before, by the same chain of calls."""

    peeled: int  # iterations of a `while` that were unrolled before it turned out to be a run-time loop
    carried: Carried
    late: dict[str, Any]  # what the body binds, where it is certain to be executed, as it was then


class Returned(NamedTuple):
    """One way in which a function returns."""

    state: State
    value: Any
    span: Span | None


class Host(Protocol):
    """The frame whose function it is."""

    def run_block(self, block: Block, state: State) -> None:
        """Execute the block's instructions; calls `Regions.edge` and `Regions.leave`."""

    def span_of(self, instr: Instr) -> Span: ...


class _RunTimeExit(Exception):
    """A `while` being unrolled turned out to be left, or continued, by a run-time decision."""

    def __init__(self, trial: _Active) -> None:
        self.trial = trial


class _Active:
    """A loop being executed: an unrolling on trial, or a run-time loop that collects the paths leaving it."""

    def __init__(self, loop: Loop, share: Share, trial: bool) -> None:
        self.loop, self.share, self.trial = loop, share, trial
        self.left: list[State] = []


class Regions:
    """Executes one function's CFG."""

    def __init__(
        self, cfg: Cfg, builder: Builder, host: Host, memory: dict[Any, Known], key: Any, mutables: Mutables
    ) -> None:
        self.cfg, self.builder, self.host = cfg, builder, host
        self.loop_at = {loop.header: loop for loop in cfg.loops}
        self.memory, self.key = memory, key  # the whole kernel's, and what tells this call apart in it
        self.mutables = mutables
        self.pending: dict[int, list[State]] = {}
        self.returns: list[Returned] = []
        self.active: list[_Active] = []
        self.iteration: tuple[int, ...] = ()  # of the unrolled loops around
        self.late: dict[int, dict[str, Any]] = {}  # by header: what is bound when the loop has come to its end

    def run(self, entry: State) -> list[Returned]:
        """Every way in which the function returns, having started in `entry`."""
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
        self.returns.append(Returned(state, value, self.builder.span))

    def _leaves(self, active: _Active, state: State) -> None:
        if not active.trial:
            active.left.append(state)
        elif state.share != active.share:
            raise _RunTimeExit(active)

    def _region(self, indices: range) -> None:
        """Execute these blocks, and each loop among them as a whole."""
        at = indices.start
        while at < indices.stop:
            loop = self.loop_at.get(at)
            if at in self.pending:
                state = merge(self.builder, self.pending.pop(at), self.cfg.live_in[at])
                if loop:
                    self._loop(loop, state)
                else:
                    self.host.run_block(self.cfg.blocks[at], state)
            at = loop.blocks.stop if loop else at + 1

    def _body(self, loop: Loop, state: State, active: _Active | None) -> list[State]:
        """One execution of the loop's blocks from its header on; the states that come back to the header."""
        if active:
            self.active.append(active)
        try:
            self.builder.block = state.block
            self.host.run_block(self.cfg.blocks[loop.header], state)
            self._region(range(loop.header + 1, loop.blocks.stop))
        finally:
            if active:
                self.active.remove(active)
        return self.pending.pop(loop.header, [])

    def _loop(self, loop: Loop, entry: State) -> None:
        if not loop.is_for:
            self._while(loop, entry)
            return
        iterator = entry.stack[-1]
        if isinstance(iterator, Range):
            self.builder.span = self._span(loop)
            iterator = StaticIter(iterate_static(iterator)) if loop.collects else iterate(iterator)
            entry.block = self.builder.block
            entry.stack[-1] = iterator
        if isinstance(iterator, RangeIter):
            self._run_time_loop(loop, entry)
        else:
            self._unrolled(loop, entry)

    # Loops over compile-time items.

    def _unrolled(self, loop: Loop, state: State) -> None:
        outer = self.iteration
        for n in range(UNROLL_LIMIT):
            self.iteration = (*outer, n)
            back = self._body(loop, state, None)
            if not back:
                self.iteration = outer
                return
            state = merge(self.builder, back, self.cfg.live_in[loop.header])
        self.builder.span = self._span(loop)
        raise mistake(
            "unrolling",
            f"this loop is unrolled, and has more than {UNROLL_LIMIT} iterations",
            help="use `range` for a loop on the GPU",
        )

    # `while`.

    def _while(self, loop: Loop, state: State) -> None:
        """Unroll it, as long as it turns out that it is not a run-time loop."""
        outer = self.iteration
        known = self.memory.get((self.key, loop.header, outer))
        for n in range(UNROLL_LIMIT):
            if known and n == known.peeled:
                self.iteration = outer
                return self._run_time_loop(loop, state, n)
            self.iteration = (*outer, n)
            start = state.fork(state.block, state.share)
            undo = self._snapshot(state)
            self.mutables.mark()
            active = _Active(loop, state.share, trial=True)
            try:
                back = self._body(loop, state, active)
                if back:
                    state = merge(self.builder, back, self.cfg.live_in[loop.header])
                    if state.share != active.share:
                        raise _RunTimeExit(active)
            except _RunTimeExit as exit:
                self.mutables.undo()
                if exit.trial is not active:
                    raise
                undo()
                self.iteration = outer
                return self._run_time_loop(loop, start, n)
            changed = self.mutables.keep()
            if not back:
                self.iteration = outer
                return None
            if not changed and self._same(start, state, loop):
                break
        self.builder.span = self._span(loop)
        raise mistake(
            "endless-loop",
            "this loop never ends: nothing that decides about it changes",
            help="its condition must change from one iteration to the next, or depend on a run-time value",
        )

    def _same(self, before: State, after: State, loop: Loop) -> bool:
        slots = slots_of([before, after], self.cfg.live_in[loop.header])
        return all(
            slot.read(before) is slot.read(after) or tree.same(slot.read(before), slot.read(after)) for slot in slots
        )

    def _span(self, loop: Loop) -> Span:
        return self.host.span_of(self.cfg.instrs(self.cfg.blocks[loop.header])[0])

    # Run-time loops.

    def _run_time_loop(self, loop: Loop, entry: State, peeled: int = 0) -> None:
        live = self.cfg.live_in[loop.header]
        key = (self.key, loop.header, self.iteration)
        known = self.memory.get(key)
        carried = self._first_guess(loop, entry, live, known)
        certain = loop.is_for and entry.stack[-1].begins
        late: dict[str, Any] = known.late if known and certain else {}
        fresh: set[str] = set()  # names that the body binds to another object whenever it is executed
        first_error: CompileError | None = None
        while True:
            carried = {key: t for key, t in carried.items() if key[0] not in fresh} | _late_types(late)
            self.memory[key] = Known(peeled, carried, late)
            undo = self._snapshot(entry)
            header, params = self._open_header(loop, entry, carried, live, late)
            template = header.fork(header.block, header.share)
            active = _Active(loop, entry.share, trial=False)
            try:
                back = self._body(loop, header, active)
            except CompileError as error:  # perhaps only because numbers that change were still constants
                bold = self._with_numbers(loop, entry, carried, live)
                if first_error is not None or bold == carried:
                    raise first_error or error from None
                undo()
                carried, first_error = bold, error
                continue
            if not back:
                break
            latch = merge(self.builder, back, live)
            grown = self._grown(entry, template, latch, carried, live)
            bound = _bound_by(latch, entry, live & loop.assigned - fresh) if certain else {}
            changed = {name for name in late.keys() | bound.keys() if not _alike(late, bound, name)}
            if grown == carried and not changed:
                leaves = {key: tree.leaves_of(Slot(key).read(latch)) for key, _ in params}
                args = [leaf_value(leaves[k][i], carried[k, i]) for k, i in params]
                self.builder.emit(Br(Jump(template.block, tuple(args))))
                break
            undo()
            if grown == carried:
                fresh |= late.keys() & changed
            grown = {key: t for key, t in grown.items() if key[0] not in late}
            late = {name: value for name, value in bound.items() if name not in fresh}
            carried = _without_rash(grown, carried)
        self.late.pop(loop.header, None)
        self._relabel(active.left, entry.share)

    def _first_guess(self, loop: Loop, entry: State, live: frozenset[str], known: Known | None) -> Carried:
        """What was carried when the loop was last executed; and run-time numbers that are assigned in it."""
        carried: Carried = {}
        for slot in slots_of([entry], live):
            value = slot.read(entry)
            if isinstance(value, Conflict):
                continue
            if isinstance(value, Scalar | Vector) and slot.key in loop.assigned:
                carried[slot.key, 0] = value.value.type
            for i, leaf in enumerate(tree.leaves_of(value) if known else ()):
                t = known.carried.get((slot.key, i)) if known else None
                if t is not None and (leaf.value.type == t if isinstance(leaf, Runtime) else fits(leaf, t)):
                    carried[slot.key, i] = t
        if loop.is_for:  # the counter changes in any case
            place, counter = len(entry.stack) - 1, entry.stack[-1]
            carried[place, 0] = counter.type
            if counter.more is not None:
                carried[place, 3] = boolean
        return carried

    def _with_numbers(self, loop: Loop, entry: State, carried: Carried, live: frozenset[str]) -> Carried:
        """`carried`, and the numbers that are constants so far and are assigned in the loop."""
        more = dict(carried)
        for slot in slots_of([entry], live):
            value = slot.read(entry)
            if type(value) in (int, float) and slot.key in loop.assigned:
                more.setdefault((slot.key, 0), join_types([value]))
        return more

    def _open_header(
        self, loop: Loop, entry: State, carried: Carried, live: frozenset[str], late: dict[str, Any]
    ) -> tuple[State, list[tuple[str | int, int]]]:
        """The state in a new header block, with a parameter for everything carried; entered from `entry`.

        Parameters of what is bound late begin as some number: nobody gets to see it.
        """
        block = self.builder.new_block(label="loop")
        state = entry.fork(block, new_share())
        params: list[tuple[str | int, int]] = []
        args: list[Value] = []
        self.builder.block = entry.block
        for slot in slots_of([entry], live):
            if (slot.key, WHOLE_SLOT) in carried:
                slot.write(state, carried[slot.key, WHOLE_SLOT])
                continue
            leaves: list[Any] = []
            structure = tree.flatten(slot.read(entry), leaves)
            for i, leaf in enumerate(leaves):
                t = carried.get((slot.key, i))
                if t is not None:
                    args.append(leaf_value(leaf, t))
                    params.append((slot.key, i))
                    block.params.append(Value(t, hint=hint(slot, structure, i)))
                    leaves[i] = wrap_like(leaf, block.params[-1])
            slot.write(state, tree.with_leaves(slot.read(entry), iter(leaves)))
        self.late[loop.header] = {}
        for name, value in late.items():
            leaves = []
            structure = tree.flatten(value, leaves)
            for i, leaf in enumerate(leaves):
                if isinstance(leaf, Runtime):
                    args.append(as_value(_some_number(leaf.value.type), leaf.value.type))
                    params.append((name, i))
                    block.params.append(Value(leaf.value.type, hint=hint(Slot(name), structure, i)))
                    leaves[i] = wrap_like(leaf, block.params[-1])
            self.late[loop.header][name] = tree.with_leaves(value, iter(leaves))
        for name in sorted(live & loop.assigned - state.locals.keys()):
            state.locals[name] = _bound_inside(name, loop, self.cfg)
        self.builder.emit(Br(Jump(block, tuple(args))))
        self.builder.block = block
        return state, params

    def _grown(self, entry: State, header: State, latch: State, carried: Carried, live: frozenset[str]) -> Carried:
        """`carried`, and whatever else changed between the header and the way back to it."""
        grown = dict(carried)
        for slot in slots_of([entry], live):
            before, after = slot.read(header), slot.read(latch)
            if before is after or isinstance(before, Conflict):
                continue
            if isinstance(after, Conflict):
                grown[slot.key, WHOLE_SLOT] = after
                continue
            now: list[Any] = []
            then: list[Any] = []
            if not tree.same_structure(structure := tree.flatten(before, now), tree.flatten(after, then)):
                grown[slot.key, WHOLE_SLOT] = _changed_kind(slot, entry, latch)
                continue
            first = tree.leaves_of(slot.read(entry))
            for i, (initial, a, b) in enumerate(zip(first, now, then, strict=True)):
                if tree.same_leaf(a, b):
                    continue
                t = _carried_type(carried.get((slot.key, i)), initial, a, b)
                if t is NO_TYPE:
                    grown[slot.key, WHOLE_SLOT] = _changed_type(
                        slot, tree.leaf_name(structure, i), entry, initial, latch, b
                    )
                else:
                    grown[slot.key, i] = t
        return grown

    def _relabel(self, left: list[State], share: Share) -> None:
        """Leaving a loop is one decision with an alternative for each exit; with a single exit it is none."""
        for state, part in zip(left, split(share, len(left)) if left else (), strict=True):
            state.share = part
        for active in self.active:
            if active.trial and any(state.share != active.share and self._is_outside(active, state) for state in left):
                raise _RunTimeExit(active)

    def _is_outside(self, active: _Active, state: State) -> bool:
        return not any(state is s for target in active.loop.blocks for s in self.pending.get(target, ()))

    def _snapshot(self, state: State) -> Callable[[], None]:
        """A function that undoes everything since: blocks, ops in the open block, pending paths, returns."""
        blocks = self.builder.function.blocks
        count, open_block, length = len(blocks), state.block, len(state.block.ops)
        pending = {target: list(states) for target, states in self.pending.items()}
        returns, left = len(self.returns), [(active, len(active.left)) for active in self.active]

        def undo() -> None:
            del blocks[count:]
            del open_block.ops[length:]
            self.pending = pending
            del self.returns[returns:]
            for active, number in left:
                del active.left[number:]
            self.builder.block = open_block

        return undo


def _bound_by(latch: State, entry: State, names: Iterable[str]) -> dict[str, Any]:
    """What the body of a loop has bound that was not before, as far as header parameters can hold it."""
    found = {}
    for name in names:
        value = latch.locals.get(name, UNBOUND)
        if value is UNBOUND or isinstance(value, Conflict):
            continue
        before = entry.locals.get(name, UNBOUND)
        types = [leaf.value.type for leaf in tree.leaves_of(value) if isinstance(leaf, Runtime)]
        if (before is UNBOUND or isinstance(before, Conflict)) and all(map(_is_numeric, types)):
            found[name] = value
    return dict(sorted(found.items()))


def _alike(late: dict[str, Any], bound: dict[str, Any], name: str) -> bool:
    """Whether what a loop binds is of the same structure and types as it was taken to be."""
    if name not in late or name not in bound:
        return False
    before: list[Any] = []
    after: list[Any] = []
    if not tree.same_structure(tree.flatten(late[name], before), tree.flatten(bound[name], after)):
        return False
    return all(
        a.value.type == b.value.type if isinstance(a, Runtime) and isinstance(b, Runtime) else tree.same_leaf(a, b)
        for a, b in zip(before, after, strict=True)
    )


def _late_types(late: dict[str, Any]) -> Carried:
    leaves = ((name, i, leaf) for name, value in late.items() for i, leaf in enumerate(tree.leaves_of(value)))
    return {(name, i): leaf.value.type for name, i, leaf in leaves if isinstance(leaf, Runtime)}


def _is_numeric(t: Type) -> bool:
    elem = t.elem if isinstance(t, Vec) else t
    return isinstance(elem, DType) and (elem.arithmetic or elem == boolean)


def _some_number(t: Type) -> bool | int:
    return False if elem_of(t) == boolean else 0


def _without_rash(grown: Carried, before: Carried) -> Carried:
    """Without what cannot be carried, where numbers have turned out to change as well.

    The body has been executed as if they were compile-time constants: `max(x, k)` may be of another type when `k` is
    a run-time number. What cannot be carried then either is found again.
    """
    numbers = {key: t for key, t in grown.items() if key[1] != WHOLE_SLOT}
    if all(before.get(key) == t for key, t in numbers.items()):
        return grown
    return numbers | {key: t for key, t in before.items() if key[1] == WHOLE_SLOT}


def _carried_type(known: Any, initial: Any, now: Any, then: Any) -> Any:
    """The type of a header parameter that is `initial` at first, `now` in an iteration and `then` in the next one.

    It may change while the loop is executed again and again only to a wider one, or that would not end.
    """
    if known is None:
        return join_types([initial, then])
    t = join_types([now, then])
    if t is not NO_TYPE:
        return t
    t = join_types([initial, then])
    if not (isinstance(t, DType) and isinstance(known, DType) and t.arithmetic and known.arithmetic):
        return NO_TYPE
    return t if common_type(known, t, "bits") == t else NO_TYPE


def _bound_inside(name: str, loop: Loop, cfg: Cfg) -> Conflict:
    instrs = (instr for block in loop.blocks for instr in cfg.instrs(cfg.blocks[block]))
    store = next((i.span for i in instrs if i.op in ("STORE", "STORE_CELL") and i.arg == name), None)
    return Conflict(
        "unbound",
        "`{name}` is not bound if the loop does not get so far",
        [("bound", store)],
        "bind it before the loop",
    )


def _changed_kind(slot: Slot, entry: State, latch: State) -> Conflict:
    return Conflict(
        "type-changes",
        "`{name}` is something else after an iteration of the loop",
        tell([slot.read(entry), slot.read(latch)], [slot.place(entry), slot.place(latch)]),
        "a loop on the GPU can only change numbers; unroll with `cl.static_range`, or use another name",
    )


def _changed_type(slot: Slot, leaf: str, entry: State, initial: Any, latch: State, then: Any) -> Conflict:
    return Conflict(
        "type-changes",
        f"`{{name}}{leaf}` changes its type in the loop",
        tell([initial, then], [slot.place(entry), slot.place(latch)]),
        "give it the right type before the loop, as with `0.0` or `cl.f32(0)`, or convert it back in the loop",
    )
