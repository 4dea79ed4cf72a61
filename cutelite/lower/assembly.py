"""Ops spelled as PTX: this writes the inline assembly, with numbered registers and constraints.

LLVM numbers the operands of inline assembly, results first. A tied operand is an input that must be in the register of
a result; the text names that result. LLVM may put a result into the register of any other input, since it takes the
text for one instruction that reads all inputs before it writes a result. A result that the text writes before it has
read the last input is therefore marked early (`&`): it gets a register of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cutelite.ir.contract import Effect, Ptx
from cutelite.ir.function import Value
from cutelite.ir.op import Op
from cutelite.ir.types import InFlight, Scalar, Type, Vec, elem_of, tf32
from cutelite.lower.templates import Hole, pieces
from cutelite.lower.types import REGISTERS, Register, count, leaf, vector
from cutelite.lower.writer import Writer, escaped

ATTRIBUTES = {"plain": "#1", "convergent": "#2", "pure": "#3", "pure convergent": "#4"}
"""The attribute groups that calls of inline assembly refer to; `function` writes their definitions."""

REGISTER_BITS = 32


def write(w: Writer, op: Op, form: Ptx) -> None:
    if not op.elementwise:
        outcomes = _Call(w, op, form, None).write()
        for value, elements in zip(op.results, outcomes, strict=True):
            w.names[value] = elements[0] if count(value.type) is None else tuple(elements)
        return
    length = max((n for v in op.operands if (n := count(v.type)) is not None), default=1)
    made: list[list[str]] = [[] for _ in op.results]
    call = _Call(w, op, form, 0)
    for start in range(0, length, form.group):
        for all_of_it, part in zip(made, call.write() if start == 0 else call.again(start), strict=True):
            all_of_it += part
    for value, elements in zip(op.results, made, strict=True):
        n = count(value.type)
        w.names[value] = elements[0] if n is None else tuple(elements[:n])


def one_piece(ops: Sequence[Op], at: int) -> Sequence[Op]:
    """Return the ops from `at` up to the one that waits for its result, if they are best written as one piece.

    The first starts one result, which is in flight, the last makes it readable, and those between have no operands.
    LLVM takes a seventh less time for a GEMM whose 128 registers pass through one piece of assembly, not two.
    """
    first = ops[at]
    if len(first.results) == 1 and _names_registers(first):
        for end in range(at + 1, len(ops)):
            op = ops[end]
            if op.scope != first.scope or op.ptx() is None or _names_registers(op):
                break
            if tuple(v for v in op.operands if v not in first.operands) == first.results and [
                isinstance(value.type, InFlight) for value in op.results
            ] == [False]:
                return ops[at : end + 1]
            if op.operands or op.results:
                break
    return ()


def _names_registers(op: Op) -> bool:
    """Tell whether an op is spelled as PTX that names operands or results, and does not only take and return them."""
    form = op.ptx()
    return form is not None and any(
        isinstance(piece, Hole) and piece.kind != "constant" for piece in pieces(form.template)
    )


def write_joined(w: Writer, ops: Sequence[Op]) -> None:
    """Write the ops that `one_piece` found."""
    first, last = ops[0], ops[-1]
    form = first.ptx_with(ops[1:])
    if form is None:
        form, *others = (op.ptx() or Ptx("") for op in ops)
        texts = [form.template]
        for op, other in zip(ops[1:], others, strict=True):  # these name no registers
            texts.append(
                "".join(piece if isinstance(piece, str) else str(op[piece.name]) for piece in pieces(other.template))
            )
        form = form._replace(template=" ".join(texts))
    (registers,) = _Call(w, first, form._replace(memory=True), None).write()
    w.names[first.results[0]] = tuple(registers)
    t = last.results[0].type
    w.names[last.results[0]] = tuple(_Places(t, count(t) or 1, packed=True).empty(w, registers))


class _Places:
    """The registers of one value, and how its elements are put into them."""

    __slots__ = ("chunks", "elem", "registers")

    def __init__(self, t: Type, n: int, packed: bool) -> None:
        self.elem = leaf(t)
        packed = packed and elem_of(t).bits < REGISTER_BITS and not isinstance(t, InFlight)  # in flight: packed already
        bits = elem_of(t).bits if packed else REGISTER_BITS
        self.chunks: list[int] = []
        while n:
            k = max(1, REGISTER_BITS // bits)
            while k > n:
                k //= 2
            self.chunks.append(k)
            n -= k
        as_bits = isinstance(t, (Scalar, Vec, InFlight)) and elem_of(t) == tf32  # PTX holds tf32 in .b32 registers
        self.registers = [REGISTERS[f"i{k * bits}" if packed or as_bits else self.elem] for k in self.chunks]

    def fill(self, w: Writer, elements: list[str]) -> Iterator[str]:
        """Yield the operands, one per register, that hold the elements."""
        at = 0
        for register, k in zip(self.registers, self.chunks, strict=True):
            name = w.pack(elements[at : at + k], self.elem)
            yield self._cross(w, name, k, register, inward=True)
            at += k

    def empty(self, w: Writer, results: list[str]) -> list[str]:
        """Take the elements out of the registers `results`. Return their names."""
        found: list[str] = []
        for name, register, k in zip(results, self.registers, self.chunks, strict=True):
            found += w.unpack(self._cross(w, name, k, register, inward=False), self.elem, k)
        return found

    def _cross(self, w: Writer, name: str, k: int, register: Register, inward: bool) -> str:
        """Convert LLVM's `k` elements to the register's type, or back."""
        held = vector(self.elem, k)
        if held == register.type:
            return name
        opcode = (register.to if inward else register.back) or "bitcast"
        return w.convert(opcode, name, held, register.type) if inward else w.convert(opcode, name, register.type, held)


class _Call:
    """One piece of inline assembly. It takes each vector's elements from `start` on; all of them if `start` is None."""

    def __init__(self, w: Writer, op: Op, form: Ptx, start: int | None) -> None:
        self.w, self.op, self.form, self.start = w, op, form, start
        tied = [(field, value) for field in form.tied for value in self._values(field)]
        self.tied = tied
        self.outputs = [self._places(v.type, tied[i][0] if i < len(tied) else "out") for i, v in enumerate(op.results)]
        self.numbers: dict[str, list[int]] = {}
        self._number_outputs()
        self.inputs: list[tuple[str, str, str]] = []  # constraint, type, name
        self.places: dict[tuple[str, Value], _Places] = {}
        self.taken: list[str] = []  # the fields of these inputs, the tied ones apart

    def _values(self, field: str) -> tuple[Value, ...]:
        held = self.op[field]
        return () if held is None else held if isinstance(held, tuple) else (held,)

    def _places(self, t: Type, field: str) -> _Places:
        n = count(t) or 1
        if self.start is not None:
            n = self.form.group
        return _Places(t, n, field in self.form.packed)

    def _number_outputs(self) -> None:
        at = 0
        for i, places in enumerate(self.outputs):
            numbers = list(range(at, at + len(places.registers)))
            at += len(numbers)
            if i < len(self.tied):
                self.numbers.setdefault(self.tied[i][0], []).extend(numbers)
            else:
                self.numbers[f"out{i}"] = numbers
                self.numbers.setdefault("out", numbers)
        self.output_count = at

    def write(self) -> list[list[str]]:
        """Write the call. Return the elements of each result."""
        text = "".join(
            piece.replace("$", "$$") if isinstance(piece, str) else self._filled(piece)
            for piece in pieces(self.form.template)
        )
        for field in self.form.held:
            self._take(field)
        early = self._early()
        self._tie()
        outs = [register for places in self.outputs for register in places.registers]
        constraints = [f"=&{out.letter}" if i in early else f"={out.letter}" for i, out in enumerate(outs)]
        constraints += [letter for letter, _, _ in self.inputs]
        if self.form.memory:
            constraints.append("~{memory}")
        effect = "" if self.form.pure else "sideeffect "
        self.head = f'asm {effect}"{escaped(text)}", "{",".join(constraints)}"'
        self.attributes = self._attributes()
        self.types = [register.type for register in outs]
        return self._call()

    def again(self, start: int) -> list[list[str]]:
        """Write the same call for the elements from `start` on. Return them of each result."""
        self.start, self.inputs = start, []
        for field in self.taken:
            self._inputs(field)
        self._tie()
        return self._call()

    def _call(self) -> list[list[str]]:
        args = ", ".join(f"{t} {name}" for _, t, name in self.inputs)
        results = self._called(f"{self.head}({args}) {self.attributes}", self.types)
        found, at = [], 0
        for places in self.outputs:
            found.append(places.empty(self.w, results[at : at + len(places.registers)]))
            at += len(places.registers)
        return found

    def _early(self) -> set[int]:
        """Return the numbers of the results that are named in a statement before the last one that names an input."""
        statement, last, first = 0, 0, dict[int, int]()
        for piece in pieces(self.form.template):
            if isinstance(piece, str):
                statement += piece.count(";")
            elif piece.kind != "constant":
                for number in self.numbers[piece.name]:
                    if number < self.output_count:
                        first.setdefault(number, statement)
                    else:
                        last = statement
        return {number for number, at in first.items() if at < last}

    def _called(self, body: str, types: list[str]) -> list[str]:
        if not types:
            self.w.line(f"call void {body}")
            return []
        if len(types) == 1:
            return [self.w.define(f"call {types[0]} {body}")]
        struct = self.w.struct(types)
        name = self.w.define(f"call {struct} {body}")
        return [self.w.define(f"extractvalue {struct} {name}, {i}") for i in range(len(types))]

    def _attributes(self) -> str:
        convergent = self.op.scope != "thread" or Effect.CONVERGENT in self.op.effects
        if self.form.pure and not self.form.memory:
            return ATTRIBUTES["pure convergent" if convergent else "pure"]
        return ATTRIBUTES["convergent" if convergent else "plain"]

    def _filled(self, hole: Hole) -> str:
        if hole.kind == "constant":
            return str(self.op[hole.name])
        if hole.name not in self.numbers:
            self._take(hole.name)
        numbers = self.numbers[hole.name]
        if hole.register is not None:
            return f"${numbers[hole.register]}"
        return f"${numbers[0]}" if len(numbers) == 1 else f"{{{', '.join(f'${n}' for n in numbers)}}}"

    def _take(self, field: str) -> None:
        """Number the registers of an operand, at its first mention in the text."""
        first = self.output_count + len(self.inputs)
        self._inputs(field)
        self.taken.append(field)
        self.numbers[field] = list(range(first, self.output_count + len(self.inputs)))

    def _inputs(self, field: str) -> None:
        for value in self._values(field):
            for register, name in self._registers(field, value):
                self.inputs.append((register.letter, register.type, name))

    def _tie(self) -> None:
        number = 0
        for field, value in self.tied:
            for register, name in self._registers(field, value):
                self.inputs.append((str(number), register.type, name))
                number += 1

    def _registers(self, field: str, value: Value) -> list[tuple[Register, str]]:
        places = self.places.get((field, value))
        if places is None:
            places = self.places[field, value] = self._places(value.type, field)
        return list(zip(places.registers, places.fill(self.w, self._elements(value)), strict=True))

    def _elements(self, value: Value) -> list[str]:
        names = list(self.w.elements(value))
        if self.start is None:
            return names
        n = self.form.group
        if count(value.type) is None:
            return names * n
        part = names[self.start : self.start + n]
        return part + part[-1:] * (n - len(part))  # not zeros: ptxas 13.0 drops an `and.b16` before {x, 0}
