"""The body of a function while it is written: lines of LLVM IR, and the LLVM names of the values so far.

A scalar or pointer is one LLVM value. A vector is a tuple of them, one for each element, from its definition to
its uses: LLVM's time to take a `<128 x float>` apart grows faster than the number of elements.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cutelite.ir.function import Value
from cutelite.ir.op import Op
from cutelite.lower.types import merged, vector
from cutelite.ops.parameters import Place


class Writer:
    """Lines of LLVM IR. `note`, written behind each of them, is the reference to its source line, or empty."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []  # lines for the start of the entry block, which allocate local memory
        self.names: dict[Value, str | tuple[str, ...]] = {}
        self.declared: dict[str, None] = {}  # in order
        self.globals: dict[str, str] = {}  # names of constants
        self.structs: dict[tuple[str, ...], str] = {}  # names of structs, by the types of their members
        self.places: dict[Op, Place] = {}  # where ops find what they choose among, if that is parameters
        self.note = ""
        self.profiled = False
        self.recorded = False
        self.marks: list[str] = []  # names of events, by their number
        self.free = False  # whether lines will be put into another order
        self._next = self._free = 0
        self._wholes: dict[tuple[str, ...], str] = {}  # vectors that were taken apart, by their elements

    def fresh(self) -> str:
        """Return a name for the next instruction: a number, in the order of definitions as LLVM requires, if it can."""
        if self.free:
            self._free += 1
            return f"%free{self._free}"
        self._next += 1
        return f"%{self._next - 1}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}{self.note}")

    def define(self, text: str) -> str:
        """Write an instruction. Return the name of its result."""
        name = self.fresh()
        self.lines.append(f"  {name} = {text}{self.note}")
        return name

    def struct(self, types: Sequence[str]) -> str:
        """Return the name of a struct. A type of 128 members, written out each time, takes a quarter of LLVM's time."""
        return self.structs.setdefault(tuple(types), f"%struct{len(self.structs)}")

    def local(self, size: int, align: int) -> str:
        """Allocate local memory of the thread. Return a pointer into addrspace(5).

        The alloca is in the generic space: of an alloca in addrspace(5) LLVM's NVPTX backend takes the generic address
        for the local one, and the kernel faults.
        """
        name = f"%local{len(self.entry) // 2}"
        self.entry.append(f"  {name}.generic = alloca [{size} x i8], align {align}")
        self.entry.append(f"  {name} = addrspacecast ptr {name}.generic to ptr addrspace(5)")
        return name

    # Values.

    def one(self, value: Value) -> str:
        """Return the name of a value that is not a vector."""
        name = self.names[value]
        assert isinstance(name, str)
        return name

    def elements(self, value: Value) -> tuple[str, ...]:
        """Return the names of the elements of a vector; for any other value, its one name."""
        name = self.names[value]
        return (name,) if isinstance(name, str) else name

    # Small vectors, for instructions that take one.

    def pack(self, elements: Sequence[str], elem: str) -> str:
        """Write an LLVM vector of these names. Return its name. One that was taken apart is there already."""
        if len(elements) == 1:
            return elements[0]
        if (whole := self._wholes.get(tuple(elements))) is not None:
            return whole
        t = vector(elem, len(elements))
        packed = "poison"
        for i, element in enumerate(elements):
            packed = self.define(f"insertelement {t} {packed}, {elem} {element}, i32 {i}")
        return packed

    def unpack(self, packed: str, elem: str, n: int) -> list[str]:
        if n == 1:
            return [packed]
        t = vector(elem, n)
        elements = [self.define(f"extractelement {t} {packed}, i32 {i}") for i in range(n)]
        self._wholes[tuple(elements)] = packed
        return elements

    def join(self, elements: Sequence[str], elem: str, shares: Sequence[int]) -> tuple[str, ...]:
        """Write elements as integers, as many in each as `shares` says, the first one lowest. Return their names."""
        found, at = [], 0
        for n in shares:
            name = self.pack(elements[at : at + n], elem)
            found.append(self.convert("bitcast" if n > 1 else "", name, vector(elem, n), merged(elem, n)))
            at += n
        return tuple(found)

    def part(self, joined: Sequence[str], elem: str, shares: Sequence[int]) -> tuple[str, ...]:
        """Take apart what `join` joined. Return the names of the elements."""
        found: list[str] = []
        for name, n in zip(joined, shares, strict=True):
            name = self.convert("bitcast" if n > 1 else "", name, merged(elem, n), vector(elem, n))
            found += self.unpack(name, elem, n)
        return tuple(found)

    def convert(self, opcode: str, name: str, source: str, to: str) -> str:
        """Write a conversion by `opcode`; none if that is ''. Return the name of the result."""
        return self.define(f"{opcode} {source} {name} to {to}") if opcode else name


def escaped(text: str) -> str:
    r"""Return `text` as it is written in a string of LLVM IR: ``"`` is ``\22``."""
    return _SPECIAL.sub(lambda found: "".join(f"\\{octet:02X}" for octet in found[0].encode()), text)


_SPECIAL = re.compile(r"[^ !#-\[\]-~]")
