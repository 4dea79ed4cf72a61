"""The user's lines, functions and variables as LLVM debug metadata, which becomes DWARF in PTX.

Each variable has local memory of its own, which all calls of its function share, and each op `variable` stores there
what the variable holds now. A debugger finds it in the same place at any time:

    %v0 = alloca [4 x i8]                                    #dbg_declare(ptr %v0, !9, !DIExpression(), !10)
    store i32 %i, ptr %v0, !dbg !10                          !9 = !DILocalVariable(name: "i", scope: !5, type: !8)

A register tensor is in local memory itself, and is declared there if the variable never holds anything else. Other
tensors are structs with the pointer to their first element; parts of tuples and objects are members of structs. Each
inlined function is a `DISubprogram`, reached by the `inlinedAt` of its lines, so that a debugger shows it as a frame.
"""

from __future__ import annotations

import re
from typing import Any

from cutelite.diag import Span
from cutelite.ir.function import Function, Value
from cutelite.ir.op import Op
from cutelite.ir.types import Ptr, Scalar, Tensor, Type, Vec, elem_of, u32
from cutelite.lower.debug import Nodes, file_node, outermost
from cutelite.lower.types import leaf, memory
from cutelite.lower.writer import Writer, escaped
from cutelite.ops.tensor import RmemAlloc, static_cosize
from cutelite.tuples import NamedTuple

_WIDER = ("f16", "bf16", "tf32")
"""Floats that variables hold as f32, which is exact: not every debugger knows these formats."""

_GENERIC = ("gmem", "smem", "rmem", "const")
"""Spaces whose addresses a variable holds as generic pointers; addresses in other spaces are shown as numbers."""

_Key = tuple[Any, ...]


class Scope(NamedTuple):
    """An inlined function: its node, the node of the call's place, and the number of its callers that are calls of the
    same function. `call` is None in the kernel itself.
    """

    function: int
    call: int | None = None
    depth: int = 0


class Part(NamedTuple):
    """A part of a variable: its name as a member ('' for all of it), where it begins, and its DWARF type and size."""

    name: str
    offset: int
    type: int
    size: int


class DebugInfo(Nodes):
    """The metadata nodes of one kernel's debug information, and the local memory of its variables."""

    def __init__(self, function: Function, first: int) -> None:
        super().__init__(first)
        self.function = function
        self.unit = self._node("")  # filled in by `start`, when the file is known
        self._made: dict[str, int] = {}
        self._last = ""  # the reference to the line of the previous instruction
        self._homes: dict[_Key, str] = {}  # local memory, by function, depth, name and type
        self._declared: set[tuple[Scope, str, str]] = set()
        self._stored: dict[tuple[str, int], str] = {}  # the values that this block has stored there, by place
        self._held: dict[_Key, set[Value]] = {}  # all values of a variable, by its key (`_of`)
        self._names: dict[_Key, list[int]] = {}  # types of a variable, by function and name
        for op in function.ops():
            if op.name == "variable":
                self._held.setdefault(_of(op), set()).update(op["values"])

    def start(self, span: Span | None) -> str:
        """Return the reference to put behind `define`: the kernel's scope. `span` is a place in the kernel's body."""
        place = outermost(span) if span else Span("<unknown>", 0)
        self._kernel = place.filename, self.function.name
        file = self._once(file_node(place.filename))
        self.nodes[self.unit - self.first] = (
            f'distinct !DICompileUnit(language: DW_LANG_C99, file: !{file}, producer: "cutelite", '
            "isOptimized: false, emissionKind: FullDebug)"
        )
        self.scope = self._subprogram(place.filename, self.function.name, place.line)
        self._last = f", !dbg !{self._once(f'!DILocation(line: {place.line}, scope: !{self.scope})')}"
        return f" !dbg !{self.scope}"

    def at(self, span: Span | None) -> str:
        """Return the reference to put behind an instruction; without a span that of the previous one."""
        if span is not None:
            self._last = f", !dbg !{self._once(self._place(span))}"
        return self._last

    def enter(self) -> None:
        """Begin a block: it is unknown what the blocks before it have stored."""
        self._stored.clear()

    def dims(self, w: Writer) -> None:
        """Store the launch's named dims, as variables of the kernel."""
        for name, value in self.function.dims.items():
            self._keep(w, Scope(self.scope), name, ("",), (value,))

    def keep(self, w: Writer, op: Any) -> None:
        """Store what a variable holds now in its memory."""
        scope = self._scope(op.span)
        held = self._held[_of(op)]
        value = op["values"][0]
        if len(held) == 1 and isinstance(value.op, RmemAlloc):
            self._declare_tensor(w, scope, op["called"], value)
        else:
            self._keep(w, scope, op["called"], op["parts"], op["values"])

    # Places.

    def _once(self, text: str) -> int:
        if text not in self._made:
            self._made[text] = self._node(text)
        return self._made[text]

    def _subprogram(self, filename: str, name: str, line: int) -> int:
        """Return the scope of a function. It is said to begin at the line that comes here first."""
        key = f"subprogram {filename} {name}"
        if key not in self._made:
            file = self._once(file_node(filename))
            signature = self._once(f"!DISubroutineType(types: !{self._once('!{}')})")
            self._made[key] = self._node(
                f'distinct !DISubprogram(name: "{escaped(name)}", scope: !{file}, file: !{file}, line: {line}, '
                f"scopeLine: {line}, type: !{signature}, unit: !{self.unit}, spFlags: DISPFlagDefinition)"
            )
        return self._made[key]

    def _scope(self, span: Span) -> Scope:
        """Return the function of `span`, as it was inlined."""
        if span.caller is None:
            return Scope(self.scope)
        function = self._subprogram(span.filename, span.function or "<lambda>", span.line)
        key = f"call {span.caller!r}"
        if key not in self._made:  # distinct: each call is an inlined scope of its own
            self._made[key] = self._node("distinct " + self._place(span.caller))
        same = (span.filename, span.function)
        return Scope(function, self._made[key], sum((call.filename, call.function) == same for call in span.callers()))

    def _place(self, span: Span) -> str:
        return self._location_in(
            self._scope(span), f"line: {span.line}, column: {0 if span.col is None else span.col + 1}"
        )

    def _location_in(self, scope: Scope, place: str) -> str:
        inlined = "" if scope.call is None else f", inlinedAt: !{scope.call}"
        return f"!DILocation({place}, scope: !{scope.function}{inlined})"

    # Variables.

    def _keep(self, w: Writer, scope: Scope, name: str, parts: tuple[str, ...], values: tuple[Value, ...]) -> None:
        members, size = self._laid_out(parts, [value.type for value in values])
        home = self._home(w, scope, name, self._struct(members, size), size)
        for part, value in zip(members, values, strict=True):
            t = value.type
            step = part.size // t.n if isinstance(t, Vec) else 0
            for number, element in enumerate(w.elements(value)):
                offset = part.offset + number * step
                if self._stored.get((home, offset)) == element:  # another element of the vector has changed
                    continue
                self._stored[home, offset] = element
                llvm, held = _kept(w, t, element)
                place = w.define(f"getelementptr i8, ptr {home}, i64 {offset}")
                w.line(f"store {llvm} {held}, ptr {place}")

    def _laid_out(self, names: tuple[str, ...], types: list[Type]) -> tuple[list[Part], int]:
        parts: list[Part] = []
        end = 0
        for name, t in zip(names, types, strict=True):
            node, size, align = self._dwarf(t)
            start = -(-end // align) * align
            parts.append(Part(_member(name), start, node, size))
            end = start + size
        return parts, end

    def _home(self, w: Writer, scope: Scope, name: str, node: int, size: int, memory: str = "") -> str:
        """Return the memory of a variable: `memory` if given, otherwise its own, which its first store allocates.

        The calls of a function share it, since one ends before the next begins. Only a call within a call has its own.
        """
        key = (scope.function, scope.depth, name, node)
        if not memory and key not in self._homes:
            self._homes[key] = f"%v{len(self._homes)}"
            w.entry.append(f"  {self._homes[key]} = alloca [{size} x i8], align 8")
        home = memory or self._homes[key]
        if (scope, name, home) not in self._declared:
            self._declared.add((scope, name, home))
            types = self._names.setdefault((scope.function, name), [])
            if node not in types:
                types.append(node)
            number = types.index(node)  # a Python variable of several types is several in DWARF
            shown = f"{name}${number + 1}" if number else name
            variable = self._once(
                f'!DILocalVariable(name: "{escaped(shown)}", scope: !{scope.function}, type: !{node})'
            )
            place = self._once(self._location_in(scope, "line: 0"))
            w.entry.append(f"    #dbg_declare(ptr {home}, !{variable}, !DIExpression(), !{place})")
        return home

    def _declare_tensor(self, w: Writer, scope: Scope, name: str, value: Value) -> None:
        """Declare a register tensor as an array at its own memory."""
        t = value.type
        assert isinstance(t, Tensor)
        n = static_cosize(t.layout)
        array = self._array(self._number(t.elem, in_memory=True), n, n * t.elem.bytes)
        self._home(w, scope, name, array, 0, f"{w.one(value)}.generic")

    # Types.

    def _dwarf(self, t: Type) -> tuple[int, int, int]:
        """Return the DWARF type of a value in a variable, its size and its alignment in bytes."""
        match t:
            case Vec():
                number, size = self._number(t.elem), _size(t.elem)
                return self._array(number, t.n, t.n * size), t.n * size, size
            case Scalar():
                return self._number(t), _size(t), _size(t)
            case Ptr() if t.space in _GENERIC:
                return self._pointer(None), 8, 8
            case Tensor() if t.space in _GENERIC:
                pointer = Part("ptr", 0, self._pointer(t.elem), 8)
                return self._struct([pointer], 8, str(t)), 8, 8
        return self._number(u32), 4, 4

    def _number(self, elem: Scalar, in_memory: bool = False) -> int:
        name, bits, encoding = elem.name, 8 * _size(elem), "unsigned"
        if elem.kind == "float" and elem.bits > 8:
            encoding = "float"
            if in_memory:
                name, bits = "__bf16" if name == "bf16" else name, elem.bits  # gdb knows the format by this name
        elif elem.kind == "bool":
            encoding = "boolean"
        elif elem.kind == "int":
            encoding = "signed"
        return self._once(f'!DIBasicType(name: "{name}", size: {bits}, encoding: DW_ATE_{encoding})')

    def _pointer(self, elem: Scalar | None) -> int:
        to = "null" if elem is None else f"!{self._number(elem, in_memory=True)}"
        return self._once(f"!DIDerivedType(tag: DW_TAG_pointer_type, baseType: {to}, size: 64)")

    def _array(self, elem: int, n: int, size: int) -> int:
        extent = self._once(f"!{{!{self._once(f'!DISubrange(count: {n})')}}}")
        return self._once(
            f"!DICompositeType(tag: DW_TAG_array_type, baseType: !{elem}, size: {8 * size}, elements: !{extent})"
        )

    def _struct(self, parts: list[Part], size: int, name: str = "") -> int:
        if not name and [part.name for part in parts] == [""]:
            return parts[0].type
        members = [
            self._once(
                f'!DIDerivedType(tag: DW_TAG_member, name: "{escaped(part.name)}", baseType: !{part.type}, '
                f"size: {8 * part.size}, offset: {8 * part.offset})"
            )
            for part in parts
        ]
        elements = self._once("!{" + ", ".join(f"!{member}" for member in members) + "}")
        named = f'name: "{escaped(name)}", ' if name else ""
        return self._once(
            f"!DICompositeType(tag: DW_TAG_structure_type, {named}size: {8 * size}, elements: !{elements})"
        )


def _of(op: Op) -> _Key:
    """Return the key of the variable that an op `variable` stores to."""
    span = op.span
    return op["called"], span.filename, span.function, span.caller


def _member(name: str) -> str:
    """Return a part's name as a member of a struct: `_0_phase` for `[0].phase`, `phase` for `.phase`."""
    return re.sub(r"\W+", "_", name.lstrip(".")).rstrip("_")


def _size(elem: Scalar) -> int:
    """Return the size of a number in a variable, in bytes."""
    return 4 if elem.name in _WIDER else max(elem.bits // 8, 1)


def _kept(w: Writer, t: Type, name: str) -> tuple[str, str]:
    """Convert a number or address to the form that its variable holds. Return its LLVM type and name."""
    if isinstance(t, Ptr | Tensor):
        source = leaf(t)
        if t.space in _GENERIC:
            return "ptr", w.define(f"addrspacecast {source} {name} to ptr")
        return "i32", w.define(f"ptrtoint {source} {name} to i32")
    elem = elem_of(t)
    if elem.kind == "bool":
        return "i8", w.define(f"zext i1 {name} to i8")
    if elem.name in ("f16", "bf16"):
        return "float", w.define(f"fpext {leaf(t)} {name} to float")
    return memory(elem), name
