"""Rows: a `Row` describes one instruction, and its tests are made from it: goldens, results, refusals, fuzzing.

    Row(bits.Bfe, "cl.bfe({0}, {1}, {2})", [of(t, i32, i32) for t in WORDS], ints(extracted), amounts=(1, 2),
        refuses=[(of(i16, i32, i32), "bfe takes i32 or u32 or i64 or u64, not i16")])

`tests/vocabulary/<family>.py` has the rows of `cutelite/ops/<family>.py`.
"""

import re
from ast import literal_eval
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cutelite.ir.function import Value
from cutelite.ir.op import Op
from cutelite.ir.types import Scalar, Type, Vec, bf16, elem_of, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from cutelite.target import Target
from tests.ir.parser import parse_type
from tests.vocabulary.numbers import INTS, TYPES, Array, each, from_float

HOPPER = Target.parse("sm_90a")
INTEGERS = (i8, i16, i32, i64, u8, u16, u32, u64)
WORDS = (i32, u32, i64, u64)
FLOATS = (f16, bf16, f32, f64)

Meaning = Callable[..., Array]


class Operation(NamedTuple):
    """An expression of kernels: `text` with {0}, {1}... for operands of the types `takes`; `meaning` takes arrays."""

    text: str
    takes: tuple[str, ...]
    gives: str
    meaning: Meaning


class Form:
    """One form of an instruction: the arguments of its class, with types in place of operands."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        self.args, self.fields = args, fields


of = Form


class Spelling:
    """A form together with its op `cls`; makes instances of the op."""

    def __init__(self, cls: type[Op], form: Form) -> None:
        self.cls = cls
        self.fields = {**{field.name: held for field, held in zip(cls.fields, form.args, strict=False)}, **form.fields}
        self._operands = [f.name for f in cls.fields if f.is_operand and self.fields.get(f.name) is not None]

    @property
    def types(self) -> tuple[Type, ...]:
        """Return the types of its operands, in the order of the fields."""
        held = [self.fields[name] for name in self._operands]
        return tuple(t for each in held for t in (each if isinstance(each, tuple) else (each,)))

    @property
    def lettered(self) -> list[tuple[str, Type]]:
        """Return the types of single operands, each with a letter for its place among the op's possible operands."""
        places = [field.name for field in self.cls.fields if field.is_operand]
        return [(chr(ord("a") + places.index(name)), self.fields[name]) for name in self._operands]

    @property
    def constants(self) -> dict[str, Any]:
        """Return its compile-time fields by name, with the class's defaults for those that the form leaves out."""
        op = self.op()
        return {field.name: getattr(op, field.name) for field in self.cls.fields if not field.is_operand}

    def op(self, values: Sequence[Value] | None = None) -> Op:
        """Return an instance with these values as operands, or with new ones."""
        left = iter(values if values is not None else map(Value, self.types))
        fields = dict(self.fields)
        for name in self._operands:
            held = fields[name]
            fields[name] = tuple(next(left) for _ in held) if isinstance(held, tuple) else next(left)
        return self.cls(**fields)

    def is_there(self, target: Target) -> bool:
        """Return whether the target has the instruction, and the memory that it works on."""
        feature = self.op().feature
        reaches = target.has("cluster") or "cluster" not in str(self.types)
        return reaches and (feature is None or target.has(feature))

    def __str__(self) -> str:
        """Return the text of the op in the IR, with types for operands."""
        text = [f"{name}={_said(held)}" for name, held in self.fields.items()]
        return f"{self.cls.name} {', '.join(text)}".strip()


def _said(held: Any) -> str:
    return f"({', '.join(map(_said, held))})" if isinstance(held, tuple) else str(held)


@dataclass(frozen=True)
class Row:
    """One instruction.

    op         the class
    word       the expression in kernels, {0}, {1}... being operands and {name} a compile-time field of the class; or a
               function of the op that returns it
    forms      every form: verified, printed, parsed, and assembled for each target that has it
    reference  a function of the op and NumPy arrays that returns the result (types: `tests.vocabulary.numbers`)
    tested     for ops without a reference, such as those on memory: the file that tests its meaning
    amounts    operands that are numbers of bits: mostly small ones are drawn
    more       further expressions that become this op, each with its meaning
    close      the greatest distance from the reference, given its type and the reference; None: the results are equal
    domain     the range of arguments that `close` holds for
    shown      forms of the golden file, as in `i32 i32 direction='l'; i32 i32`; all of `forms` if empty
    case       names of golden files written by hand that show it; then none is made
    alone      for asynchronous ops: each form has a kernel of its own, and its template is the golden
    refuses    forms that `verify` refuses, each with a regular expression that its first message has
    """

    op: type[Op]
    word: str | Callable[[Any], str] = ""
    forms: Sequence[Form] = ()
    reference: Meaning | None = None
    amounts: tuple[int, ...] = ()
    more: Sequence[Operation] = ()
    close: Callable[[str, Array], Array] | None = None
    domain: tuple[float, float] = (-9.0, 9.0)
    shown: str = ""
    case: str = ""
    alone: bool = False
    refuses: Sequence[tuple[Form, str]] = ()
    tested: str = ""

    @property
    def name(self) -> str:
        return self.op.name

    @cached_property
    def spellings(self) -> list[Spelling]:
        return [Spelling(self.op, form) for form in self.forms]

    @cached_property
    def golden(self) -> list[Spelling]:
        """Return the forms of its golden file."""
        if not self.shown:
            return self.spellings
        return [Spelling(self.op, _form(self.op, text)) for text in self.shown.split(";")]

    @cached_property
    def words(self) -> set[str]:
        """Return the names in `cl` that its expressions use: `bfe`, `math.sqrt`, `Barrier.wait`."""
        if callable(self.word):
            texts = [self.word(spelling.op()) for spelling in self.spellings]
        else:
            texts = [self.word.format(*"abcd", **s.constants) for s in self.spellings] or [self.word]
        texts += [operation.text for operation in self.more]
        return {name for text in texts for name in re.findall(r"\bcl\.([\w.]*\w)", text)}

    @cached_property
    def operations(self) -> list[Operation]:
        """Return exact expressions: one for each form of scalars that a kernel can write, and those of `more`."""
        return [*(() if self.close else self._written(masked=True)), *self.more]

    @cached_property
    def computed(self) -> list[Operation]:
        """As `operations`, but amounts of bits are used as they are."""
        return [*self._written(masked=False), *self.more]

    def _written(self, masked: bool) -> Iterator[Operation]:
        seen = set()
        for spelling in self.spellings if self.reference is not None else ():
            made = self._operation(spelling, masked)
            if made is not None and made[:2] not in seen:
                seen.add(made[:2])
                yield made

    def _operation(self, spelling: Spelling, masked: bool) -> Operation | None:
        op = spelling.op()
        text = self.word(op) if callable(self.word) else self.word
        if not text or not spelling.is_there(HOPPER):
            return None
        gives = op.result_types()[0]
        taken = spelling.types[: 1 + max(int(n) for n in re.findall(r"\{(\d)\}", text))]
        if not all(isinstance(t, Scalar) and t.name in TYPES for t in (*taken, gives)):
            return None
        amounts = self.amounts if masked else ()
        slots = [f"({{{i}}} & 63)" if i in amounts else f"{{{i}}}" for i in range(len(taken))]

        def meaning(*given: Array) -> Array:
            assert self.reference is not None
            return self.reference(op, *(x & 63 if i in amounts else x for i, x in enumerate(given)))

        return Operation(text.format(*slots, **spelling.constants), tuple(map(str, taken)), str(gives), meaning)


def _form(cls: type[Op], text: str) -> Form:
    """Parse a form, such as `i32 i32 direction='l'`: types for the operands in order, and fields by name."""
    operands = (field.name for field in cls.fields if field.is_operand)
    fields: dict[str, Any] = {}
    for word in text.split():
        name, equals, held = word.rpartition("=")
        fields[name if equals else next(operands)] = parsed(held)
    return Form(**fields)


def parsed(text: str) -> Any:
    """Return a literal's value, or else the type with that name."""
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return parse_type(text)


# References.


def result_of(op: Any) -> str:
    """Return the name of the element type of the first result."""
    return str(elem_of(op.result_types()[0]))


def ints(function: Callable[..., int]) -> Meaning:
    """Make a reference of `function` of the op and Python's integers, thread by thread; its results wrap."""
    return lambda op, *arrays: each(lambda *row: function(op, *row), result_of(op), *arrays)


def arrays(function: Callable[..., Array]) -> Meaning:
    """Make a reference of `function` of whole arrays, for operations that NumPy computes exactly."""
    return lambda op, *given: function(*given)


def floats(function: Callable[..., Array]) -> Meaning:
    """Make a reference that NumPy computes in f32 or wider, rounded once to the result: 2 p + 2 <= 24 for f16, bf16."""

    def computed(op: Any, *given: Array) -> Array:
        t = result_of(op)
        if t in ("f32", "f64"):
            return function(*given)
        return from_float(function(*(x.astype(np.float32) for x in given)), t)

    return computed


def numbers(integer: Meaning, real: Meaning) -> Meaning:
    """Make a reference that calls `integer` for integers, `real` for floats."""
    return lambda op, *given: (integer if str(elem_of(op.a.type)) in (*INTS, "bool") else real)(op, *given)


def unsigned(x: int, t: Type) -> int:
    """Return the bits of `x`, as an unsigned number."""
    return x & ((1 << elem_of(t).bits) - 1)


def vectors(*elems: Scalar, n: int = 3) -> tuple[Type, ...]:
    return (*elems, *(Vec(elem, n) for elem in elems))


def alike(types: Sequence[Type], operands: int) -> list[Form]:
    """Return forms whose operands all have one type, for each of the types."""
    return [of(*(t,) * operands) for t in types]
