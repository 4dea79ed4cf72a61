"""Find loop-carried values: those for which the header of a run-time loop has parameters.

In    the states at the loop's entry, at its header, and where the body comes back to the header (the latch)
Out   `Carried`: the parameters, by their place in the header's state
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cutelite.front import tree
from cutelite.front.cfg import Cfg, Loop
from cutelite.front.merge import NO_TYPE, fits, how_to_meet, join_types, tell
from cutelite.front.state import UNBOUND, Conflict, Slot, State, slots_of
from cutelite.ir.function import Value
from cutelite.ir.types import InFlight, Type, Vec, boolean, i32
from cutelite.ir.types import Scalar as DType
from cutelite.lang.emit import Runtime
from cutelite.lang.pipeline_state import PipelineState
from cutelite.lang.promotion import common_type
from cutelite.lang.values import RuntimeNumber

Key = tuple[str | int, int]
Carried = dict[Key, Any]
"""(slot, number of the leaf in it) -> type of the header's parameter; (slot, WHOLE_SLOT) -> a Conflict."""
WHOLE_SLOT = -1


def remembered(entry: State, live: frozenset[str], carried: Carried) -> Carried:
    """Return the leaves that the loop carried when last executed, where the values at its entry fit their types."""
    found: Carried = {}
    for slot in slots_of([entry], live):
        value = slot.read(entry)
        for i, leaf in enumerate(() if isinstance(value, Conflict) else tree.leaves_of(value)):
            t = carried.get((slot.key, i))
            if t is not None and (leaf.value.type == t if isinstance(leaf, Runtime) else fits(leaf, t)):
                found[slot.key, i] = t
    return found


def assigned_values(loop: Loop, entry: State, live: frozenset[str]) -> Carried:
    """Return the run-time numbers that are assigned in the loop."""
    slots = [slot for slot in slots_of([entry], live) if slot.key in loop.assigned]
    values = [(slot, slot.read(entry)) for slot in slots]
    return {(slot.key, 0): value.value.type for slot, value in values if isinstance(value, RuntimeNumber)}


def assigned_literals(loop: Loop, entry: State, live: frozenset[str]) -> Carried:
    """Return the types of the compile-time numbers that are assigned in the loop."""
    slots = [slot for slot in slots_of([entry], live) if slot.key in loop.assigned]
    values = [(slot, slot.read(entry)) for slot in slots]
    return {(slot.key, 0): join_types([value]) for slot, value in values if type(value) in (int, float)}


def grown(entry: State, header: State, latch: State, carried: Carried, live: frozenset[str]) -> Carried:
    """Return `carried` and the other leaves that changed between the header and the latch."""
    found = dict(carried)
    for slot in slots_of([entry], live):
        before, after = slot.read(header), slot.read(latch)
        if before is after or isinstance(before, Conflict):
            continue
        if isinstance(after, Conflict):
            found[slot.key, WHOLE_SLOT] = after
            continue
        now: list[Any] = []
        then: list[Any] = []
        if not tree.same_structure(structure := tree.flatten(before, now), tree.flatten(after, then)):
            found[slot.key, WHOLE_SLOT] = _changed_kind(slot, entry, latch)
            continue
        first = tree.leaves_of(slot.read(entry))
        for i, (initial, a, b) in enumerate(zip(first, now, then, strict=True)):
            if tree.same_leaf(a, b):
                continue
            t = _carried_type(carried.get((slot.key, i)), initial, a, b)
            if t is NO_TYPE:
                name = tree.leaf_name(structure, i)
                found[slot.key, WHOLE_SLOT] = _changed_type(slot, name, entry, initial, latch, b)
            else:
                found[slot.key, i] = t
    return found


def _carried_type(known: Any, initial: Any, now: Any, then: Any) -> Any:
    """Return the type of a parameter that is `initial` at first, `now` in an iteration and `then` in the next one.

    Each execution of the body may only widen it: otherwise the search might not end.
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


def without_early_conflicts(found: Carried, before: Carried) -> Carried:
    """Drop the conflicts of an execution of the body that also found further numbers to carry.

    That execution took these numbers for compile-time constants: `max(x, k)` may be of another type when `k` is a
    run-time number. A conflict that remains is found again.
    """
    numbers = {key: t for key, t in found.items() if key[1] != WHOLE_SLOT}
    if all(before.get(key) == t for key, t in numbers.items()):
        return found
    return numbers | {key: t for key, t in before.items() if key[1] == WHOLE_SLOT}


# Guesses. Each execution of a body that finds more to carry is one more of the whole body, inner loops included. So
# what probably changes is carried from the first one on, and confirmed behind it.


def guesses(loop: Loop, entry: State, live: frozenset[str], like: Callable[[Kinds], frozenset[int] | None]) -> Carried:
    """Return what probably changes of what is assigned in the loop.

    These are truth values, places in rings (`PipelineState`), and the run-time numbers in structures: of those `like`
    which an earlier loop has carried some, the same; of classes that name the fields that change in `CHANGING`, those.
    """
    found: Carried = {}
    for slot in slots_of([entry], live):
        value = slot.read(entry) if slot.key in loop.assigned else None
        if value is None or isinstance(value, Conflict):
            continue
        leaves: list[Any] = []
        structure = tree.flatten(value, leaves)
        before, (rings, still) = like(_kinds(structure)), _rings(structure)
        for i, leaf in enumerate(leaves):
            number = isinstance(leaf, Runtime) and (isinstance(leaf.type, InFlight) or _is_numeric(leaf.type))
            if number and (i not in still if before is None else i in before):
                found[slot.key, i] = leaf.value.type
        if type(value) is bool:
            found[slot.key, 0] = boolean
        for index in rings:
            places = (index + 1,) if leaves[index - 1] == 1 else (index, index + 1)
            found |= {(slot.key, i): i32 for i in places if type(leaves[i]) is int}
    return found


def phases(entry: State, found: Carried) -> Carried:
    """Return the parities that change, sooner or later, in rings of which an index is carried.

    The iteration that found the index to change took it for a constant, which did not come to the end of the ring.
    """
    more: Carried = {}
    for slot in dict.fromkeys(Slot(key) for key, _ in found):
        value = slot.read(entry)
        leaves: list[Any] = []
        for index in () if isinstance(value, Conflict) else _rings(tree.flatten(value, leaves))[0]:
            if (slot.key, index) in found and (slot.key, index + 1) not in found and type(leaves[index + 1]) is int:
                more[slot.key, index + 1] = i32
    return more


def confirmed(entry: State, header: State, latch: State, guessed: set[Key]) -> set[Key]:
    """Return those of the guessed leaves that the search would have found to change without guessing.

    A number that is known at the entry is taken for known as long as the iteration leaves it as it is, if all numbers
    that do so are known: the index of a ring that is unrolled as a whole comes back to where it was.
    """
    ends: dict[Key, tuple[Any, Any]] = {}  # what each is at the entry and at the latch
    params: dict[Value, Key] = {}  # those that are numbers at the entry
    for key, i in guessed:
        now: list[Any] = []
        then: list[Any] = []
        before, after = Slot(key).read(header), Slot(key).read(latch)
        if isinstance(after, Conflict) or not tree.same_structure(tree.flatten(before, now), tree.flatten(after, then)):
            ends[key, i] = None, None  # what `grown` tells of
            continue
        first = tree.leaves_of(Slot(key).read(entry))[i]
        if tree.same_leaf(now[i], then[i]) or tree.same_leaf(first, then[i]):
            continue
        ends[key, i] = first, then[i]
        if type(first) in (int, bool) and isinstance(now[i], Runtime) and isinstance(then[i], Runtime):
            params[now[i].value] = key, i
    changing = ends.keys() - params.values()
    while left := {param: key for param, key in params.items() if key not in changing}:
        from cutelite.front.loops.foreseen import Foreseen  # which kernels without rings do not need

        foreseen = Foreseen(header.block, {param: ends[key][0] for param, key in left.items()})
        more = {key for key in left.values() if foreseen.number(ends[key][1].value) != ends[key][0]}
        if not more:
            break
        changing |= more
    return changing


Kinds = Any
"""The containers of a structure, whatever is in them."""


def carried_parts(loop: Loop, entry: State, carried: Carried, live: frozenset[str]) -> dict[Kinds, frozenset[int]]:
    """Return the numbers of the leaves that are carried of each kind of structure that is assigned in a loop."""
    found = {}
    for slot in slots_of([entry], live):
        value = slot.read(entry)
        if slot.key in loop.assigned and not isinstance(value, Conflict | Runtime):
            found[_kinds(tree.flatten(value, []))] = frozenset(i for key, i in carried if key == slot.key)
    return found


def _kinds(structure: Any) -> Kinds:
    return (structure.kind, *map(_kinds, structure.children)) if isinstance(structure, tree.Node) else None


def _rings(structure: Any) -> tuple[list[int], set[int]]:
    """Return the numbers of the leaves that are the index of a `PipelineState`, and of those in fields that stay.

    The leaf before an index is `stages`, the leaf behind it the phase.
    """
    rings: list[int] = []
    still: set[int] = set()

    def walk(part: Any, number: int, stays: bool) -> int:
        if isinstance(part, tree.Leaf):
            if stays:
                still.add(number)
            return number + 1
        if isinstance(part, tree.Node):
            if part.kind is PipelineState:
                rings.append(number + 1)
            changing = getattr(part.kind, "CHANGING", None)
            for i, child in enumerate(part.children):
                number = walk(child, number, stays or (changing is not None and part.keys[i] not in changing))
        return number

    walk(structure, 0, False)
    return rings, still


# Names that only the body binds.


def bound_by(latch: State, entry: State, names: Iterable[str]) -> dict[str, Any]:
    """Return the variables that only the body binds, if parameters of the header can hold their values."""
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


def alike(late: dict[str, Any], bound: dict[str, Any], name: str) -> bool:
    """Tell whether what the body binds to a name has the structure and types that were assumed."""
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


def late_types(late: dict[str, Any]) -> Carried:
    """Return the parameters for names that are bound late."""
    leaves = ((name, i, leaf) for name, value in late.items() for i, leaf in enumerate(tree.leaves_of(value)))
    return {(name, i): leaf.value.type for name, i, leaf in leaves if isinstance(leaf, Runtime)}


def _is_numeric(t: Type) -> bool:
    elem = t.elem if isinstance(t, Vec) else t
    return isinstance(elem, DType) and (elem.arithmetic or elem == boolean)


# What cannot be carried.


def bound_inside(name: str, loop: Loop, cfg: Cfg) -> Conflict:
    """Return the conflict of a name that is bound in the body but not before the loop."""
    instrs = (instr for block in loop.blocks for instr in cfg.instrs(cfg.blocks[block]))
    store = next((i.span for i in instrs if i.op in ("STORE", "STORE_CELL") and i.arg == name), None)
    return Conflict(
        "unbound",
        "`{name}` is not bound if the loop does not get so far",
        [("bound", store)],
        "bind it before the loop",
    )


def _changed_kind(slot: Slot, entry: State, latch: State) -> Conflict:
    found = [slot.read(entry), slot.read(latch)]
    otherwise = "a loop on the GPU can only change numbers; unroll with `cl.static_range`, or use another name"
    return Conflict(
        "type-changes",
        "`{name}` is something else after an iteration of the loop",
        tell(found, [slot.place(entry), slot.place(latch)]),
        how_to_meet(found, otherwise),
    )


def _changed_type(slot: Slot, leaf: str, entry: State, initial: Any, latch: State, then: Any) -> Conflict:
    return Conflict(
        "type-changes",
        f"`{{name}}{leaf}` changes its type in the loop",
        tell([initial, then], [slot.place(entry), slot.place(latch)]),
        "give it the right type before the loop, as with `0.0` or `cl.f32(0)`, or convert it back in the loop",
    )
