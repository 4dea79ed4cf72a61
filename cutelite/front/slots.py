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
        self.entry: dict[int, tuple[_Slot, ...]] = {}  # the stack before each instruction reached
        self.final: dict[int, tuple[Instr, ...]] = {}

    def run(self) -> tuple[list[Instr], frozenset[str]]:
        """Return the final instructions and the names of local cells."""
        pending = [0]
        self.reach(0)
        while pending:
            at = pending.pop()
            self.stack = list(self.entry[at])
            while at not in self.final:
                instr = self.draft[at]
                step = _STEPS.get(instr.op)
                self.final[at] = (self.plain(instr),) if step is None else step(self, instr)
                if instr.op in JUMPS and self.reach(target := self.labels[instr.arg], drop=instr.op == "FOR_ITER"):
                    pending.append(target)
                if instr.op in ENDS:
                    break
                if instr.op == "FOR_ITER":
                    self.stack.append(_VALUE)
                at += 1
                self.reach(at)
        return self.renumber(), frozenset(self.cells)

    def reach(self, at: int, drop: bool = False) -> bool:
        """Note that control reaches `at` with the present stack, without its top if `drop`; tell whether it is new."""
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
        return [i._replace(arg=index[self.labels[i.arg]]) if i.op in JUMPS else i for i in instrs]

    # Steps execute an instruction on the stack of slots, and return the final instructions for it.

    def plain(self, instr: Instr) -> Instr:
        """Execute an instruction that takes and leaves values only; return it as its final one."""
        if instr.op not in EFFECTS:
            raise self.bug("an unknown instruction", instr)
        pops, pushes = stack_effect(instr.op, instr.arg)
        if pops:
            self.pop(pops, instr)
        self.stack += (_VALUE,) * pushes
        if instr.op in _INTO:
            above = self.stack[len(self.stack) - instr.arg + 1 :]
            return instr._replace(arg=1 + sum(not _hidden(slot) for slot in above))
        return instr

    def null(self, instr: Instr) -> tuple[Instr, ...]:
        self.stack.append(_NULL)
        return ()

    def method(self, instr: Instr) -> tuple[Instr, ...]:
        self.stack[-1:] = [_NULL, _VALUE]
        return (instr._replace(op="ATTR"),)

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
        return () if _hidden(self.stack.pop()) else (self.named(instr, result=True),)

    def for_iter(self, instr: Instr) -> tuple[Instr, ...]:
        return (instr,)  # `run` moves the stack, in two ways

    def variable(self, instr: Instr) -> tuple[Instr, ...]:
        """Execute an access to a local, under the name that it has here."""
        instr = self.named(instr, result=instr.op == "STORE_CELL")
        if instr.op == "MAKE_CELL":
            self.cells.add(instr.arg)
        elif instr.op == "LOAD" and instr.arg in self.cells:
            instr = instr._replace(op="CLOSURE")  # 3.13 has no instruction of its own for this
        return (self.plain(instr),)

    def named(self, instr: Instr, result: bool = False) -> Instr:
        """Return the access under its name here: the comprehension's while saved values are on the stack.

        A comprehension's result may be stored, as `result` says, before the saved values just below it are back.
        """
        if not self.counts:
            return instr
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
        return (instr._replace(op=op, arg=arg),)

    def pop(self, count: int, instr: Instr) -> None:
        if count > len(self.stack):
            raise self.bug("the stack is too short", instr)
        taken = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        if taken.count(_VALUE) < count and any(map(_hidden, taken)):
            raise self.bug("an operand is no value", instr)

    def bug(self, message: str, instr: Instr) -> InternalError:
        around = "\n".join(f"{i}  {one}" for i, one in enumerate(self.draft))
        at = f"{self.draft.index(instr)}  {instr}"
        return InternalError(message, stage="bytecode", op=at, ir=around, span=instr.span)


_STEPS: dict[str, Callable[[Flow, Instr], tuple[Instr, ...]]] = {
    "_NULL": Flow.null, "_METHOD": Flow.method, "_SAVE": Flow.save, "_CALL": Flow.call, "_CALL_EX": Flow.call,
    "GLOBAL": Flow.load_global, "POP": Flow.drop, "STORE": Flow.store, "COPY": Flow.copy, "SWAP": Flow.swap,
    "FOR_ITER": Flow.for_iter,
    **dict.fromkeys(("LOAD", "DELETE", "LOAD_CELL", "CLOSURE", "STORE_CELL", "MAKE_CELL"), Flow.variable),
}  # fmt: skip
"""The steps of all instructions that are not `plain`."""

_INTO = frozenset({"LIST_APPEND", "LIST_EXTEND", "SET_ADD", "SET_UPDATE", "MAP_ADD", "DICT_UPDATE", "DICT_MERGE"})


def _hidden(slot: _Slot) -> bool:
    """Tell whether a slot is there for CPython only."""
    return slot is _NULL or isinstance(slot, _Saved)
