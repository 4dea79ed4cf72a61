"""Instructions as CPython's stack needs them -> those that `instructions` describes: slots without values are dropped.

In    instructions, jumps to offsets, and three that exist only here:
        _NULL             -> NULL                             a slot that CPython's calls want and ours do not
        _METHOD  name     object -> NULL, object.name
        _SAVE    name     -> the local `name`, unbound now    what an inlined comprehension does to its variables
      and CALL and CALL_EX come as _CALL and _CALL_EX, with such a slot below or above the callable
Out   those that are reached, jumps to indices, and the names of local cells
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType

from cutelite.diag import InternalError
from cutelite.front.instructions import EFFECTS, ENDS, JUMPS, Call, Instr, stack_effect
from cutelite.tuples import NamedTuple


class _Saved(NamedTuple):
    """A stack slot with the outer value of a variable of an inlined comprehension."""

    name: str
    inner: str  # the comprehension's own variable


_VALUE, _NULL, _SUPER = "value", "null", "super"
_Slot = str | _Saved


class Flow:
    """An abstract run of the instructions on a stack of kinds of slots, which drops slots that hold no value.

    It finds the number of arguments of each call, the names that an inlined comprehension has, and what is reached.
    """

    def __init__(self, pycode: CodeType, draft: list[Instr], labels: dict[int, int]) -> None:
        self.pycode = pycode
        self.draft = draft
        self.labels = labels
        self.cells = set(pycode.co_cellvars)
        self.counts: dict[str, int] = {}  # how often each name was a variable of an inlined comprehension
        self.stack: list[_Slot] = []
        self.entry: dict[int, tuple[_Slot, ...]] = {}  # the stack before each instruction that jumps lead to
        self.final: dict[int, tuple[Instr, ...]] = {}

    def run(self) -> tuple[list[Instr], frozenset[str]]:
        """Return the final instructions and the names of local cells."""
        draft, final, targets = self.draft, self.final, {self.labels[i.arg] for i in self.draft if i.op in JUMPS}
        pending = [0]
        self.reach(0)
        while pending:
            at = pending.pop()
            stack = self.stack = list(self.entry[at])
            while at not in final:
                instr = draft[at]
                op = instr.op
                effect = _SIMPLE.get(op)
                if effect is not None:
                    pops, pushes = effect
                    if pops:
                        self.pop(pops, instr)
                    if pushes:
                        stack.append(_VALUE)
                    final[at] = (instr,)
                else:
                    step = _STEPS.get(op)
                    final[at] = (self.plain(instr),) if step is None else step(self, instr)
                    if op in JUMPS and self.reach(target := self.labels[instr.arg], drop=op == "FOR_ITER"):
                        pending.append(target)
                    if op in ENDS:
                        break
                    if op == "FOR_ITER":
                        stack.append(_VALUE)
                at += 1
                if at in targets:
                    self.reach(at)
        return self.renumber(), frozenset(self.cells)

    def reach(self, at: int, drop: bool = False) -> bool:
        """Note that a jump, or the instruction before, leads to `at` with the present stack; tell whether it is new.

        drop  it leads there without the top of the stack
        """
        stack = tuple(self.stack[:-1] if drop else self.stack)
        new = at not in self.entry
        known = self.entry.setdefault(at, stack)
        if known != stack and [_hidden(slot) and slot for slot in known] != [_hidden(slot) and slot for slot in stack]:
            raise self.bug("the stack differs between two ways here", self.draft[at])
        return new

    def renumber(self) -> list[Instr]:
        """Return the reached instructions in their order, with jumps to indices."""
        index: dict[int, int] = {}
        instrs: list[Instr] = []
        for at in sorted(self.final):
            index[at] = len(instrs)
            instrs += self.final[at]
        for at, (op, arg, offset, span) in enumerate(instrs):
            if op in JUMPS:
                instrs[at] = Instr(op, index[self.labels[arg]], offset, span)
        return instrs

    # Steps execute an instruction on the stack of slots, and return the final instructions for it.

    def plain(self, instr: Instr) -> Instr:
        """Execute an instruction that takes and leaves values only; return it as its final one."""
        op, arg, _, _ = instr
        effect = EFFECTS.get(op)
        if effect is None:
            raise self.bug("an unknown instruction", instr)
        pops, pushes = effect(arg) if callable(effect) else effect
        if pops:
            self.pop(pops, instr)
        self.stack += (_VALUE,) * pushes
        if op in _INTO:
            above = self.stack[len(self.stack) - instr.arg + 1 :]
            return instr._replace(arg=1 + sum(not _hidden(slot) for slot in above))
        return instr

    def null(self, instr: Instr) -> tuple[Instr, ...]:
        self.stack.append(_NULL)
        return ()

    def method(self, instr: Instr) -> tuple[Instr, ...]:
        self.stack[-1:] = [_NULL, _VALUE]
        return (Instr("ATTR", instr.arg, instr.offset, instr.span),)

    def load_global(self, instr: Instr) -> tuple[Instr, ...]:
        self.stack.append(_SUPER if instr.arg == "super" else _VALUE)
        return (instr,)

    def save(self, instr: Instr) -> tuple[Instr, ...]:
        name = instr.arg
        count = self.counts[name] = self.counts.get(name, 0) + 1
        self.stack.append(_Saved(name, f"{name}.{count}"))
        return ()

    def drop(self, instr: Instr) -> tuple[Instr, ...]:
        return () if _hidden(self.stack.pop()) else (instr,)

    def store(self, instr: Instr) -> tuple[Instr, ...]:
        if _hidden(self.stack.pop()):
            return ()
        return (self.named(instr, result=True) if self.counts else instr,)

    def for_iter(self, instr: Instr) -> tuple[Instr, ...]:
        return (instr,)  # `run` moves the stack, in two ways

    def load(self, instr: Instr) -> tuple[Instr, ...]:
        if self.counts:
            instr = self.named(instr)
        self.stack.append(_VALUE)
        return (instr._replace(op="CLOSURE") if instr.arg in self.cells else instr,)  # 3.13 has no such instruction

    def variable(self, instr: Instr) -> tuple[Instr, ...]:
        """Execute an access to a local, under the name that it has here."""
        if self.counts:
            instr = self.named(instr, result=instr.op == "STORE_CELL")
        if instr.op == "MAKE_CELL":
            self.cells.add(instr.arg)
        return (self.plain(instr),)

    def named(self, instr: Instr, result: bool = False) -> Instr:
        """Return the access under its name here: the comprehension's while saved values are on the stack.

        A comprehension's result may be stored, as `result` says, before the saved values just below it are back.
        """
        stack, name = self.stack, instr.arg
        end = len(stack)
        while result and end and isinstance(stack[end - 1], _Saved):
            end -= 1
        saved = (slot for slot in reversed(stack[:end]) if isinstance(slot, _Saved) and slot.name == name)
        return instr._replace(arg=next((slot.inner for slot in saved), name))

    def copy(self, instr: Instr) -> tuple[Instr, ...]:
        """Execute COPY, whose argument counts the slots that hold no value too."""
        stack, n = self.stack, instr.arg
        if _hidden(stack[-n]):
            raise self.bug("COPY of a slot without a value", instr)
        above = sum(not _hidden(slot) for slot in stack[len(stack) - n + 1 :])
        stack.append(stack[-n])
        return (instr._replace(arg=1 + above),)

    def swap(self, instr: Instr) -> tuple[Instr, ...]:
        """Execute SWAP, whose argument counts the slots that hold no value too."""
        stack, n = self.stack, instr.arg
        between = sum(not _hidden(slot) for slot in stack[len(stack) - n + 1 : -1])
        hidden = _hidden(stack[-1]) + _hidden(stack[-n])
        stack[-1], stack[-n] = stack[-n], stack[-1]
        if hidden == 1 and between:
            raise self.bug("SWAP of a value and a slot without one", instr)
        return () if hidden else (instr._replace(arg=between + 2),)

    def call(self, instr: Instr) -> tuple[Instr, ...]:
        """Execute CALL or CALL_EX: below the arguments lie a callable and NULL, either first, or a method and self."""
        op, arg = instr.op[1:], instr.arg
        if op == "CALL_EX" and self.stack[-1] is _NULL:  # 3.14's slot for keywords, of which there are none
            self.stack.pop()
            arg = False
        pops = stack_effect(op, arg)[0] - 1
        self.pop(pops, instr)
        pair = [self.stack.pop(), self.stack.pop()]
        if op == "CALL" and _NULL not in pair:
            arg = arg._replace(positional=arg.positional + 1)
        elif _NULL not in pair:
            raise self.bug("a call without a slot to spare", instr)
        self.stack.append(_VALUE)
        if _SUPER in pair and arg == Call(0) and self.pycode.co_argcount and "__class__" in self.pycode.co_freevars:
            first = self.pycode.co_varnames[0]
            of_class = instr._replace(op="LOAD_CELL", arg="__class__")
            return (
                of_class,
                of_class._replace(op="LOAD_CELL" if first in self.cells else "LOAD", arg=first),
                instr._replace(op=op, arg=Call(2)),
            )
        return (Instr(op, arg, instr.offset, instr.span),)

    def pop(self, count: int, instr: Instr) -> None:
        stack, rest = self.stack, len(self.stack) - count
        if rest < 0:
            raise self.bug("the stack is too short", instr)
        taken = stack[rest:]
        del stack[rest:]
        if taken.count(_VALUE) < count and any(map(_hidden, taken)):
            raise self.bug("an operand is no value", instr)

    def bug(self, message: str, instr: Instr) -> InternalError:
        around = "\n".join(f"{i}  {one}" for i, one in enumerate(self.draft))
        at = f"{self.draft.index(instr)}  {instr}"
        return InternalError(message, stage="bytecode", op=at, ir=around, span=instr.span)


_STEPS: dict[str, Callable[[Flow, Instr], tuple[Instr, ...]]] = {
    "_NULL": Flow.null, "_METHOD": Flow.method, "_SAVE": Flow.save, "_CALL": Flow.call, "_CALL_EX": Flow.call,
    "GLOBAL": Flow.load_global, "POP": Flow.drop, "STORE": Flow.store, "COPY": Flow.copy, "SWAP": Flow.swap,
    "FOR_ITER": Flow.for_iter, "LOAD": Flow.load,
    **dict.fromkeys(("DELETE", "LOAD_CELL", "CLOSURE", "STORE_CELL", "MAKE_CELL"), Flow.variable),
}  # fmt: skip
"""The steps of all instructions that are not `plain`."""

_INTO = frozenset({"LIST_APPEND", "LIST_EXTEND", "SET_ADD", "SET_UPDATE", "MAP_ADD", "DICT_UPDATE", "DICT_MERGE"})

_SIMPLE = {
    op: effect
    for op, effect in EFFECTS.items()
    if isinstance(effect, tuple) and effect[1] < 2 and op not in (*_STEPS, *_INTO, *JUMPS, *ENDS)
}
"""What plain instructions take and leave, if every one of the name does so, stays as it is and goes on to the next."""


def _hidden(slot: _Slot) -> bool:
    """Tell whether a slot is there for CPython only."""
    return slot is _NULL or isinstance(slot, _Saved)
