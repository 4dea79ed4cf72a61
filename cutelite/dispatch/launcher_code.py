"""A kernel's signature -> LLVM IR of its compiled launcher: what `Signature.bind` does, for what fits.

In    parameters, as annotations made them
Out   IR text, and the `Program` that says what its state has to hold

The launcher takes no decision that Python has not taken before: it checks what can be checked by itself (dtypes, ranks,
extents, strides, named dims, alignment, device, ranges of numbers), gathers all that a decision depended on as the
words of a key, and looks up the outcome under it. Whatever is wrong or new goes to Python, which says it or does it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cutelite.dispatch import launcher_ir as ir
from cutelite.dispatch.arguments import Parameter
from cutelite.dispatch.arrays import VECTOR_BYTES, TensorParameter, TmaParameter
from cutelite.dispatch.parameters import ConstantParameter, OptionalParameter, ScalarParameter, StructParameter
from cutelite.dispatch.signature import Signature
from cutelite.ir.types import I32_DIM_LIMIT, Scalar
from cutelite.lang.annotations import DTypeVar
from cutelite.layout import Dim, DimExpr, dims_of, fold
from cutelite_rt.dlpack import CUDA, CUDA_MANAGED
from cutelite_rt.dtype import DTYPES
from cutelite_rt.exchange import TENSOR_BYTES
from cutelite_rt.launcher import ABSENT, BY_DIMS, FACTS, KIND, STREAM, WORD, Places, Program


class Unsupported(Exception):
    """A signature that no launcher is made for: every launch of it is an error, or Python's."""


@dataclass(eq=False)
class Leaf:
    """A parameter or field that is neither a struct nor optional: where its object is, and when there is one.

    x        the object
    given    an i1, None for always
    tensor   its DLTensor; address, extents and strides of it as they become known
    """

    parameter: Any
    x: str
    given: str | None
    slot: int = -1
    map: int = -1
    tensor: str = ""
    address: str = ""  # a cell
    value: str = ""  # a cell: the bits of a number


class _Code:
    """Lines of a function, with structured control: memory cells carry what has to outlive a branch."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.cells: list[str] = []
        self._next = 0

    def fresh(self, stem: str = "v") -> str:
        self._next += 1
        return f"%{stem}{self._next}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def let(self, text: str) -> str:
        name = self.fresh()
        self.do(f"{name} = {text}")
        return name

    def cell(self, initial: str = "0", type: str = "i64") -> str:
        """Memory of the function's, written at its entry."""
        name = self.fresh("cell")
        self.cells.append(f"  {name} = alloca {type}\n  store {type} {initial}, ptr {name}")
        return name

    def room(self, bytes: int, align: int = 8) -> str:
        name = self.fresh("room")
        self.cells.append(f"  {name} = alloca [{bytes} x i8], align {align}")
        return name

    def get(self, cell: str, type: str = "i64") -> str:
        return self.let(f"load {type}, ptr {cell}")

    def set(self, cell: str, value: str | int, type: str = "i64") -> None:
        self.do(f"store {type} {value}, ptr {cell}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name[1:]}:")

    def require(self, condition: str) -> None:
        """Go on where it holds; else Python launches."""
        after = self.fresh("ok")
        self.do(f"br i1 {condition}, label {after}, label %slow")
        self.label(after)

    def require_well(self, status: str) -> None:
        """Go on after 0; else return what came."""
        after, out = self.fresh("ok"), self.fresh("out")
        self.do(f"br i1 {self.let(f'icmp eq i32 {status}, 0')}, label {after}, label {out}, !prof !0")
        self.label(out)
        self.do(f"ret i32 {status}")
        self.label(after)

    @contextmanager
    def when(self, condition: str | None) -> Iterator[None]:
        if condition is None:
            yield
            return
        then, after = self.fresh("then"), self.fresh("after")
        self.do(f"br i1 {condition}, label {then}, label {after}")
        self.label(then)
        yield
        self.do(f"br label {after}")
        self.label(after)

    def unless(self, condition: str) -> Any:
        return self.when(self.negated(condition))

    def negated(self, condition: str) -> str:
        return self.let(f"xor i1 {condition}, true")

    def compare(self, how: str, a: str, b: str | int, type: str = "i64") -> str:
        return self.let(f"icmp {how} {type} {a}, {b}")

    def both(self, a: str | None, b: str) -> str:
        return b if a is None else self.let(f"and i1 {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.let(f"or i1 {a}, {b}")

    def wide(self, value: str, type: str) -> str:
        return self.let(f"zext {type} {value} to i64")

    def at(self, base: str, offset: int | str) -> str:
        return self.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    def word(self, base: str, offset: int | str) -> str:
        return self.let(f"call i64 @word(ptr {base}, i64 {offset})")

    def half(self, base: str, offset: int) -> str:
        return self.let(f"call i32 @half(ptr {base}, i64 {offset})")

    def link(self, base: str, offset: int | str) -> str:
        return self.let(f"call ptr @link(ptr {base}, i64 {offset})")


@dataclass(eq=False)
class _DimCells:
    """What is known of a dim: its value; whether an array told it; a stride of one element that may be it."""

    dim: Dim
    value: str
    told: str
    unsure: str
    has_unsure: str


@dataclass(eq=False)
class _Later:
    """An expression over dims that a value has to be, if the flag is set."""

    expr: DimExpr
    flag: str
    value: str


class Subject(NamedTuple):
    """What a launcher is written for: parameters, by Python's rules.

    grid     by which a launch that does not say gets its blocks: ints and expressions over dims
    classes  whether a struct has to be of its class, or may be whatever has its fields
    """

    names: tuple[str, ...]
    positional: int
    position_only: int
    parameters: Sequence[Parameter]
    grid: tuple[int | DimExpr, ...] | None = None
    classes: bool = True


@dataclass
class _Body:
    """The writing of one launcher's body."""

    subject: Subject
    code: _Code = field(default_factory=_Code)
    objects: list[object] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    constants: list[tuple[str, str | None]] = field(default_factory=list)  # object, when
    bits: list[str] = field(default_factory=list)  # i1 cells
    words: list[str] = field(default_factory=list)  # i64 cells, or values that are there throughout
    dims: dict[str, _DimCells] = field(default_factory=dict)
    variables: dict[str, tuple[str, str]] = field(default_factory=dict)  # dtype variable -> its word, whether told
    later: list[_Later] = field(default_factory=list)
    owned: int = 1  # the first is the entry's own
    facts: str = "%facts"

    def write(self) -> None:
        c = self.code
        for i, parameter in enumerate(self.subject.parameters):
            self.fetch(parameter, c.link("%slots", i * WORD), None)
        tensors = [leaf for leaf in self.leaves if isinstance(leaf.parameter, TensorParameter | TmaParameter)]
        self.read(tensors)
        device = c.cell("-1")
        for leaf in tensors:
            with c.when(leaf.given):
                self.check(leaf, device)
        for leaf in self.leaves:
            if isinstance(leaf.parameter, ScalarParameter):
                self.number(leaf)
        for x, given in self.constants:
            self.constant(x, given)
        self.finish_dims()
        self.find(device)
        self.blocks()
        self.pack()

    # Arguments.

    def object(self, value: object) -> str:
        """An object of the state's."""
        self.objects.append(value)
        table = self.code.link("%state", "<state.objects>")
        return self.code.link(table, (len(self.objects) - 1) * WORD)

    def own(self) -> str:
        self.owned += 1
        return self.code.at("%owned", (self.owned - 1) * WORD)

    def fetch(self, parameter: Parameter, x: str, given: str | None) -> None:
        """Find the objects of the leaves within a parameter."""
        c = self.code
        match parameter:
            case OptionalParameter():
                there = c.compare("ne", x, self.none(), "ptr")
                given = c.both(given, there)
                self.bits.append(self.flag(given))
                self.fetch(parameter.given, x, given)
            case StructParameter():
                self.fetch_fields(parameter, x, given)
            case ConstantParameter():
                self.constants.append((x, given))
            case TensorParameter() | TmaParameter() | ScalarParameter():
                self.leaves.append(Leaf(parameter, x, given))
            case _:
                raise Unsupported(f"`{parameter.name}` has no annotation")

    def none(self) -> str:
        return self.code.link("%env", "<env.None>")

    def flag(self, condition: str) -> str:
        cell = self.code.cell("false", "i1")
        self.code.set(cell, condition, "i1")
        return cell

    def fetch_fields(self, parameter: StructParameter, x: str, given: str | None) -> None:
        if self.subject.classes:
            self.is_instance(parameter.cls, x, given)
        c = self.code
        for name, of in parameter.fields.items():
            attribute, kept, cell = self.object(name), self.own(), c.cell("null", "ptr")
            c.set(cell, self.none(), "ptr")
            with c.when(given):
                value = c.let(f"call ptr @PyObject_GetAttr(ptr %env, ptr {x}, ptr {attribute})")
                c.set(kept, value, "ptr")
                with c.when(c.compare("eq", value, "null", "ptr")):
                    c.do(f"ret i32 {c.let('call i32 @failed(ptr %env)')}")
                    c.label(c.fresh("dead"))
                c.set(cell, value, "ptr")
            self.fetch(of, c.get(cell, "ptr"), given)

    def is_instance(self, wanted: type, x: str, given: str | None) -> None:
        c, cls = self.code, self.object(wanted)
        with c.when(given):
            kind = c.let(f"call ptr @type_of(ptr {x})")
            with c.unless(c.compare("eq", kind, cls, "ptr")):
                is_one = c.let(f"call i32 @PyObject_IsInstance(ptr %env, ptr {x}, ptr {cls})")
                with c.when(c.compare("slt", is_one, 0, "i32")):
                    c.require_well(c.let("call i32 @failed(ptr %env)"))
                c.require(c.compare("eq", is_one, 1, "i32"))

    # Arrays.

    def read(self, tensors: list[Leaf]) -> None:
        """Fill the DLTensors, and find out the stream."""
        c = self.code
        room = c.room(TENSOR_BYTES * max(len(tensors), 1))
        objects = c.room(WORD * max(len(tensors), 1))
        source, pending = c.room(3 * WORD), c.cell("false", "i1")
        nothing = c.cell("null", "ptr")
        c.set(source, "null", "ptr")
        c.set(c.at(source, 2 * WORD), nothing, "ptr")
        for i, leaf in enumerate(tensors):
            leaf.tensor = c.at(room, i * TENSOR_BYTES)
            c.set(c.at(objects, i * WORD), leaf.x, "ptr")
            with c.when(leaf.given):
                status = c.let(f"call i32 @read(ptr %env, ptr {leaf.x}, ptr {leaf.tensor}, ptr {source})")
                by_python = c.compare("eq", status, ir.PENDING, "i32")
                with c.when(by_python):
                    c.set(pending, "true", "i1")
                c.require_well(c.let(f"select i1 {by_python}, i32 0, i32 {status}"))
        given = c.compare("ne", c.let(f"and i32 %bits, {STREAM}"), 0, "i32")
        handle = c.word("%facts", 24)
        kept = self.own()
        with c.when(c.get(pending, "i1")):
            wanted = c.let(f"select i1 {given}, i64 {handle}, i64 -1")
            c.require_well(
                c.let(f"call i32 @read_others(ptr %env, ptr %state, i64 {wanted}, ptr {room}, ptr {objects}, "
                      f"i64 {len(tensors)}, ptr {kept}, ptr %stream)")
            )  # fmt: skip
        with c.unless(c.get(pending, "i1")):
            with c.unless(given):
                c.require_well(c.let(f"call i32 @current_stream(ptr %env, ptr {source}, ptr %stream)"))
            with c.when(given):
                c.set("%stream", c.let(f"inttoptr i64 {handle} to ptr"), "ptr")

    def check(self, leaf: Leaf, device: str) -> None:
        """Everything about an array; its dims are learnt."""
        c, p = self.code, leaf.parameter
        tensor = leaf.tensor
        kind, where = c.half(tensor, 8), c.half(tensor, 12)
        on_gpu = c.either(c.compare("eq", kind, CUDA, "i32"), c.compare("eq", kind, CUDA_MANAGED, "i32"))
        c.require(on_gpu)
        ordinal = c.wide(where, "i32")
        before = c.get(device)
        c.require(c.either(c.compare("eq", before, -1), c.compare("eq", before, ordinal)))
        c.set(device, ordinal)
        address = c.let(f"add i64 {c.word(tensor, 0)}, {c.word(tensor, 40)}")
        c.require(c.compare("ne", address, 0))
        leaf.address = c.cell()
        c.set(leaf.address, address)
        spec = p.spec.tensor if isinstance(p, TmaParameter) else p.spec
        bytes = self.dtype(spec.dtype, c.half(tensor, 20))
        if isinstance(p, TensorParameter):
            self.alignment(spec.align, address, bytes)
        self.layout(p._extents, tensor)

    def dtype(self, wanted: Scalar | DTypeVar, found: str) -> str:
        """Check the 32 bits that DLPack has for a dtype; the bytes of an element."""
        c = self.code
        if isinstance(wanted, Scalar):
            row = DTYPES["f32" if wanted.name == "tf32" else wanted.name]
            assert row.dlpack is not None, "arrays have it"
            code, bits = row.dlpack
            c.require(c.compare("eq", found, code | bits << 8 | 1 << 16, "i32"))
            return str(row.bytes)
        if wanted.name not in self.variables:
            self.variables[wanted.name] = c.cell(), c.cell("false", "i1")
            self.words.append(self.variables[wanted.name][0])
        word, told = self.variables[wanted.name]
        value = c.wide(found, "i32")
        c.require(c.either(c.compare("eq", c.get(word), value), c.negated(c.get(told, "i1"))))
        c.set(word, value)
        c.set(told, "true", "i1")
        bits_ = c.let(f"and i64 {c.let(f'lshr i64 {value}, 8')}, 255")
        return c.let(f"lshr i64 {bits_}, 3")

    def alignment(self, wanted: int | None, address: str, bytes: str) -> None:
        c = self.code
        if wanted is not None:
            c.require(c.compare("eq", c.let(f"and i64 {address}, {wanted - 1}"), 0))
            return
        aligned = c.compare("eq", c.let(f"and i64 {address}, {VECTOR_BYTES - 1}"), 0)
        mask = c.let(f"sub i64 {bytes}, 1")
        c.require(c.either(aligned, c.compare("eq", c.let(f"and i64 {address}, {mask}"), 0)))
        self.bits.append(self.flag(aligned))

    def layout(self, wanted: Any, tensor: str) -> None:
        """Extents and strides: `arrays._Extents.match`."""
        c = self.code
        if wanted.nested:
            need = wanted.layout.cosize
            if isinstance(need, DimExpr):
                raise Unsupported(f"`{wanted.name}` has nested modes of extents that are not known")
            size = c.let(f"call i64 @compact_size(ptr {tensor})")
            c.require(c.compare("sge", size, need))
            return
        rank = len(wanted.shape)
        c.require(c.compare("eq", c.half(tensor, 16), rank, "i32"))
        at_extents, at_strides = c.link(tensor, 24), c.link(tensor, 32)
        extents = [c.word(at_extents, i * WORD) for i in range(rank)]
        strides = [c.word(at_strides, i * WORD) for i in range(rank)]
        for expected, value in zip(wanted.shape, extents, strict=True):
            self.match(expected, value, None)
        some = "true"
        for extent in extents:
            some = c.both(some, c.compare("ne", extent, 0))
        several = [c.both(some, c.compare("sgt", extent, 1)) for extent in extents]
        if wanted.spec.stride is None:
            order = range(rank)[::-1] if wanted.spec.order == "row" else range(rank)
            step = "1"
            for i in order:
                adjacent = c.compare("eq", strides[i], step)
                c.require(c.either(adjacent, c.negated(several[i])))
                step = c.let(f"mul i64 {step}, {extents[i]}")
            return
        for expected, value, sure in zip(wanted.stride, strides, several, strict=True):
            self.match(expected, value, sure)

    def match(self, wanted: Any, value: str, sure: str | None) -> None:
        """`Call.extent`: an int, a dim or an expression over dims; `sure` is an i1, None for always."""
        c = self.code
        if isinstance(wanted, Dim):
            known = self.cells_of(wanted)
            with c.when(sure):
                self.learn(known, value)
            if sure is not None:
                with c.when(c.both(c.negated(sure), c.negated(c.get(known.has_unsure, "i1")))):
                    c.set(known.unsure, value)
                    c.set(known.has_unsure, "true", "i1")
        elif isinstance(wanted, DimExpr):
            for dim in dims_of(wanted):
                self.cells_of(dim)
            later = _Later(wanted, c.cell("false", "i1"), c.cell())
            c.set(later.value, value)
            c.set(later.flag, sure or "true", "i1")
            self.later.append(later)
        else:
            right = c.compare("eq", value, wanted)
            c.require(right if sure is None else c.either(right, c.negated(sure)))

    def cells_of(self, dim: Dim) -> _DimCells:
        known = self.dims.get(dim.name)
        if known is None:
            c = self.code
            known = _DimCells(dim, c.cell(), c.cell("false", "i1"), c.cell(), c.cell("false", "i1"))
            self.dims[dim.name] = known
        elif known.dim != dim:
            raise Unsupported(f"{dim.name} is declared in two ways")
        return known

    def learn(self, known: _DimCells, value: str) -> None:
        c = self.code
        told = c.get(known.told, "i1")
        c.require(c.either(c.compare("eq", c.get(known.value), value), c.negated(told)))
        with c.unless(told):
            self.declared(known.dim, value)
            c.set(known.value, value)
            c.set(known.told, "true", "i1")

    def declared(self, dim: Dim, value: str) -> None:
        c = self.code
        c.require(c.compare("sge", value, max(dim.min, 0)))
        if dim.max is not None:
            c.require(c.compare("sle", value, dim.max))
        if dim.divisible_by > 1:
            c.require(c.compare("eq", c.let(f"urem i64 {value}, {dim.divisible_by}"), 0))

    def finish_dims(self) -> None:
        """Dims that nothing told; then the expressions; and which dims are wide."""
        c = self.code
        inside = {dim.name for later in self.later for dim in dims_of(later.expr)}
        for name, known in self.dims.items():
            spare = c.both(c.negated(c.get(known.told, "i1")), c.get(known.has_unsure, "i1"))
            with c.when(spare):
                value = c.get(known.unsure)
                if name in inside:
                    self.declared(known.dim, value)
                c.require(c.compare("sge", value, -(1 << 31)))
                c.set(known.value, value)
                c.set(known.told, "true", "i1")
        for later in self.later:
            with c.when(c.get(later.flag, "i1")):
                c.require(c.compare("eq", _Arithmetic(c, self.dims).value(later.expr), c.get(later.value)))
        for known in self.dims.values():
            self.bits.append(self.flag(c.compare("sgt", c.get(known.value), I32_DIM_LIMIT)))

    def blocks(self) -> None:
        """The grid that follows from the dims, where a launch does not say: in facts of its own."""
        if self.subject.grid is None:
            return
        c = self.code
        self.facts = c.room(FACTS.size)
        for i in range(0, FACTS.size, WORD):
            c.set(c.at(self.facts, i), c.word("%facts", i))
        with c.when(c.compare("ne", c.let(f"and i32 %bits, {BY_DIMS}"), 0, "i32")):
            nothing = "false"
            for i, expr in enumerate(self.subject.grid):
                blocks = _Arithmetic(c, self.dims).value(expr) if isinstance(expr, DimExpr) else str(expr)
                c.require(c.compare("ult", blocks, 1 << 32))
                nothing = c.either(nothing, c.compare("eq", blocks, 0))
                c.set(c.at(self.facts, 4 * i), c.let(f"trunc i64 {blocks} to i32"), "i32")
            with c.when(nothing):
                c.do(f"ret i32 {ir.OK}")
                c.label(c.fresh("dead"))

    # Numbers and constants.

    def number(self, leaf: Leaf) -> None:
        """Convert it; one of a dtype variable as soon as that is known."""
        c = self.code
        wanted = leaf.parameter.wanted
        leaf.value = c.cell()
        with c.when(leaf.given):
            if isinstance(wanted, Scalar):
                self.convert(leaf, str(KIND[wanted.name]))
                return_type = None
            else:
                return_type = c.let(f"ptrtoint ptr {c.let(f'call ptr @type_of(ptr {leaf.x})')} to i64")
                c.set(leaf.value, return_type)
        if isinstance(wanted, DTypeVar):
            kind = c.cell()
            c.set(kind, c.get(leaf.value))
            self.words.append(kind)

    def convert(self, leaf: Leaf, kind: str) -> None:
        c = self.code
        c.require_well(
            c.let(f"call i32 @number(ptr %env, ptr %state, ptr {leaf.x}, i32 {kind}, ptr {leaf.value})")
        )  # fmt: skip

    def constant(self, x: str, given: str | None) -> None:
        c = self.code
        words = c.room(2 * WORD)
        cells = c.cell(), c.cell()
        with c.when(given):
            c.require_well(c.let(f"call i32 @constant(ptr %env, ptr %state, ptr {x}, ptr {words})"))
            for i, cell in enumerate(cells):
                c.set(cell, c.word(words, i * WORD))
        self.words += cells

    # The outcome.

    def find(self, device: str) -> None:
        """Make the key, and look it up."""
        c = self.code
        context, id = c.cell("null", "ptr"), c.cell()
        c.require(c.let(f"call i1 @context(ptr %env, ptr {context}, ptr {id})"))
        self.words = [self.value_cell(c.word("%facts", 16)), id, device, *self.bit_words(), *self.words]
        for i, cell in enumerate(self.words):
            c.do(f"call void @put(ptr %key, i64 {i * WORD}, i64 {c.get(cell)})")
        found = c.let(f"call ptr @find(ptr %env, ptr %state, ptr %key, ptr {self.own()})")
        hit, miss = c.fresh("hit"), c.fresh("miss")
        c.do(f"br i1 {c.compare('eq', found, 'null', 'ptr')}, label {miss}, label {hit}, !prof !1")
        c.label(miss)
        c.do(f"ret i32 {ir.MISSED}")
        c.label(hit)
        self.variant, self.context = found, context

    def value_cell(self, value: str) -> str:
        cell = self.code.cell()
        self.code.set(cell, value)
        return cell

    def bit_words(self) -> Iterator[str]:
        c = self.code
        for start in range(0, len(self.bits), 64):
            word = "0"
            for i, cell in enumerate(self.bits[start : start + 64]):
                bit = c.let(f"shl i64 {c.wide(c.get(cell, 'i1'), 'i1')}, {i}")
                word = c.let(f"or i64 {word}, {bit}")
            yield self.value_cell(word)

    def places(self) -> Places:
        maps = sum(isinstance(leaf.parameter, TmaParameter) for leaf in self.leaves)
        return Places(len(self.leaves) + len(self.dims), maps, len(self.words))

    def pack(self) -> None:
        """Parameters into a buffer, at the variant's offsets; and launch."""
        c, places = self.code, self.places()
        maps = iter(range(places.maps))
        room = sum(192 if isinstance(leaf.parameter, TmaParameter) else 16 for leaf in self.leaves)
        buffer = c.room(room + 16 * len(self.dims) + 64, 128)
        for slot, leaf in enumerate(self.leaves):
            cache = places.caches + WORD * next(maps) if isinstance(leaf.parameter, TmaParameter) else 0
            with c.when(leaf.given):
                offset = c.wide(c.half(self.variant, places.offsets + 4 * slot), "i32")
                to = c.at(buffer, offset)
                if isinstance(leaf.parameter, TmaParameter):
                    at = c.link(self.variant, cache)
                    taken = c.let(f"call i1 @tensor_map(ptr %env, ptr {at}, ptr {leaf.tensor}, "
                                  f"i64 {c.get(leaf.address)}, ptr {to})")  # fmt: skip
                    c.require(taken)
                elif isinstance(leaf.parameter, TensorParameter):
                    c.set(to, c.get(leaf.address))
                else:
                    if isinstance(leaf.parameter.wanted, DTypeVar):
                        self.convert(leaf, c.half(self.variant, places.kinds + 4 * slot))
                    c.set(to, c.get(leaf.value))  # more than its bytes at times: what is behind is written later
        for slot, known in enumerate(self.dims.values(), len(self.leaves)):
            offset32 = c.half(self.variant, places.offsets + 4 * slot)
            with c.when(c.compare("ne", offset32, ABSENT - (1 << 32), "i32")):
                c.require(c.get(known.told, "i1"))
                to, value = c.at(buffer, c.wide(offset32, "i32")), c.get(known.value)
                kind = c.half(self.variant, places.kinds + 4 * slot)
                wide = c.compare("eq", kind, KIND["i64"], "i32")
                with c.when(wide):
                    c.set(to, value)
                with c.unless(wide):
                    c.set(to, c.let(f"trunc i64 {value} to i32"), "i32")
        current, stream = c.get(self.context, "ptr"), c.get("%stream", "ptr")
        status = c.let(f"call i32 @submit(ptr %env, ptr {self.facts}, ptr {self.variant}, ptr {buffer}, ptr {stream}, "
                       f"ptr {current})")  # fmt: skip
        c.do(f"ret i32 {status}")


class _Arithmetic:
    """`layout.Ops` on numbers that are never negative: a sum beyond 64 bits, or below 0, has Python launch."""

    def __init__(self, code: _Code, dims: dict[str, _DimCells]) -> None:
        self.code, self.dims = code, dims

    def value(self, expr: DimExpr) -> str:
        return str(fold(expr, self))

    def const(self, value: int) -> str:
        return str(value)

    def dim(self, dim: Dim) -> str:
        known = self.dims[dim.name]
        self.code.require(self.code.get(known.told, "i1"))
        return self.code.get(known.value)

    def add(self, a: str, b: str) -> str:
        return self.code.let(f"add i64 {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.code.let(f"sub i64 {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        c = self.code
        product = c.let(f"call {{ i64, i1 }} @llvm.smul.with.overflow.i64(i64 {a}, i64 {b})")
        c.require(c.negated(c.let(f"extractvalue {{ i64, i1 }} {product}, 1")))
        return c.let(f"extractvalue {{ i64, i1 }} {product}, 0")

    def floordiv(self, a: str, b: str) -> str:
        return self._natural("udiv", a, b)

    def mod(self, a: str, b: str) -> str:
        return self._natural("urem", a, b)

    def _natural(self, opcode: str, a: str, b: str) -> str:
        c = self.code
        c.require(c.compare("sge", a, 0))
        c.require(c.compare("sgt", b, 0))
        return c.let(f"{opcode} i64 {a}, {b}")

    def min(self, a: str, b: str) -> str:
        return self.code.let(f"select i1 {self.code.compare('slt', a, b)}, i64 {a}, i64 {b}")

    def max(self, a: str, b: str) -> str:
        return self.code.let(f"select i1 {self.code.compare('sgt', a, b)}, i64 {a}, i64 {b}")


def of(signature: Signature) -> Subject:
    """What a signature says."""
    counts = len(signature.positional), len(signature.position_only)
    return Subject(signature.names, *counts, signature.parameters)


def write(subject: Subject) -> tuple[str, Program]:
    """The launcher of a subject. Errors: `Unsupported`."""
    body = _Body(subject)
    body.write()
    names, places = subject.names, body.places()
    count = len(names)
    constants = {
        "count": count,
        "room": max(count, 1),
        "plain": count if count == subject.positional else -1,
        "positional": subject.positional,
        "position_only": subject.position_only,
        "owned": body.owned,
        "words": places.words,
        "key_bytes": places.words * WORD,
        "key": places.key,
        "order": places.order,
        "slots": max(places.slots, 1),
    }
    lines = [
        "define internal i32 @body(ptr %env, ptr %state, ptr %facts, i32 %bits, ptr %slots, ptr %owned, ptr %key) #1 {",
        "  %stream = alloca ptr\n  store ptr null, ptr %stream",
        *body.code.cells,
        *body.code.lines,
        "slow:\n  ret i32 1\n}",
    ]
    shared = re.sub(r"<p\.(\w+)>", lambda m: str(constants[m[1]]), ir.functions())
    text = ir.weighed(shared + ir.filled("\n".join(lines)))
    counts = subject.positional, subject.position_only
    return text, Program(names, *counts, tuple(body.objects), tuple(body.dims), places)
