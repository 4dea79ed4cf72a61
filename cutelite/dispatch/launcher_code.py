"""A kernel's signature -> LLVM IR of its compiled launcher: what `Signature.bind` does, for what fits.

In    parameters, as annotations made them
Out   IR text, and the `Program` that says what its state has to hold

Where things are kept, `launcher_frame` says; `launcher_arrays` writes what is about arrays; what all launchers share is
in `launcher_ir`.

The launcher takes no decision that Python has not taken before: it checks what can be checked by itself (dtypes, ranks,
extents, strides, named dims, alignment, device, ranges of numbers), gathers all that a decision depended on as the
words of a key, and looks up the outcome under it. Whatever is wrong or new goes to Python, which says it or does it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from cutelite.dispatch import launcher_ir as ir
from cutelite.dispatch.arguments import Parameter
from cutelite.dispatch.arrays import TensorParameter, TmaParameter
from cutelite.dispatch.launcher_arrays import NAME, Arrays, require_declared, tell
from cutelite.dispatch.launcher_frame import MAP_ALIGN, PENDING, READ, SOURCE_BYTES, Frame, Leaf
from cutelite.dispatch.launcher_frame import Unsupported as Unsupported
from cutelite.dispatch.launcher_text import Arithmetic, Code
from cutelite.dispatch.parameters import ConstantParameter, OptionalParameter, ScalarParameter, StructParameter
from cutelite.dispatch.signature import Signature
from cutelite.ir.types import Scalar
from cutelite.layout import Dim, DimExpr, dims_of
from cutelite_rt.launcher import BY_DIMS, FACTS, KIND, MAX_GRID, STREAM, WORD, Program


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
    code: Code = field(default_factory=Code)
    functions: dict[str, str] = field(default_factory=dict)  # text -> name
    objects: list[object] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)
    constants: list[tuple[str, str | None]] = field(default_factory=list)  # where the object is, when
    given: list[str] = field(default_factory=list)  # i1 for each that may be None
    later: list[tuple[DimExpr, int]] = field(default_factory=list)  # in the frame: a value, and whether it counts
    owned: int = 1  # the first is the entry's own
    facts: str = "%facts"

    def write(self) -> None:
        for i, parameter in enumerate(self.subject.parameters):
            self.fetch(parameter, self.code.at("%slots", i * WORD), i, None)
        self.frame = Frame(self.leaves, len(self.constants), len(self.given))
        self.arrays()
        self.stream()
        self.flags()
        self.numbers()
        self.fixed()
        self.finish_dims()
        self.find()
        self.blocks()
        self.launch()

    # Arguments.

    def object(self, value: object) -> str:
        """An object of the state's."""
        self.objects.append(value)
        table = self.code.link("%state", "<state.objects>")
        return self.code.link(table, (len(self.objects) - 1) * WORD)

    def own(self) -> str:
        self.owned += 1
        return self.code.at("%owned", (self.owned - 1) * WORD)

    def fetch(self, parameter: Parameter, at: str, place: int | None, given: str | None) -> None:
        """Find the objects of the leaves within a parameter, the pointer to which is at `at`."""
        c = self.code
        match parameter:
            case OptionalParameter():
                there = c.compare("ne", c.get(at, "ptr"), c.link("%env", "<env.None>"), "ptr")
                given = c.both(given, there)
                self.given.append(given)
                self.fetch(parameter.given, at, place, given)
            case StructParameter():
                self.fetch_fields(parameter, c.get(at, "ptr"), given)
            case ConstantParameter():
                self.constants.append((at, given))
            case TensorParameter() | TmaParameter() | ScalarParameter():
                self.leaves.append(Leaf(parameter, at, place, given))
            case _:
                raise Unsupported(f"`{parameter.name}` has no annotation")

    def fetch_fields(self, parameter: StructParameter, x: str, given: str | None) -> None:
        if self.subject.classes:
            self.is_instance(parameter.cls, x, given)
        c = self.code
        for name, of in parameter.fields.items():
            attribute, kept = self.object(name), self.own()
            with c.when(given):
                value = c.let(f"call ptr @PyObject_GetAttr(ptr %env, ptr {x}, ptr {attribute})")
                c.set(kept, value, "ptr")
                with c.when(c.compare("eq", value, "null", "ptr"), rare=True):
                    c.do(f"ret i32 {c.let('call i32 @failed(ptr %env)')}")
                    c.label(c.fresh("dead"))
            self.fetch(of, kept, None, given)

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

    def arrays(self) -> None:
        """Read and check them all; again from the start, with those read, where Python has to read some."""
        c, frame = self.code, self.frame
        source = c.at("%frame", frame.source)
        for i in range(0, SOURCE_BYTES, WORD):
            c.set(c.at(source, i), 0)
        c.do("br label %arrays")
        c.label("%arrays")
        self.clear()
        rows = [(leaf, self.function(leaf)) for leaf in frame.arrays]
        for row in runs(rows):
            leaf, function = row[0]
            with c.when(leaf.given):
                c.require_well(
                    c.let(f"call i32 {function}(ptr %env, ptr {leaf.at}, ptr %frame, ptr %key, i64 {leaf.number}, "
                          f"i64 {len(row)})")
                )  # fmt: skip
        with c.when(c.compare("ne", c.half(source, PENDING), 0, "i32"), rare=True):
            self.read_others(source)
            c.do("br label %arrays")
            c.label(c.fresh("dead"))

    def clear(self) -> None:
        """What is learnt of arrays: nothing yet."""
        c, frame = self.code, self.frame
        c.set(c.at("%key", 2 * WORD), -1)
        for i in range(3, frame.words):
            c.set(c.at("%key", i * WORD), 0)
        for i in range(frame.cell_count):
            c.set(c.at("%frame", frame.cells + (2 * i + 1) * WORD), 0)

    def function(self, leaf: Leaf) -> str:
        """The one that reads and checks an array."""
        writing = Arrays(self.frame, leaf, len(self.later))
        text = writing.write()
        self.later += writing.later
        return self.functions.setdefault(text, f"{NAME}{len(self.functions)}")

    def read_others(self, source: str) -> None:
        """Have Python read what is Python's, which tells the stream too."""
        c, arrays = self.code, self.frame.arrays
        nothing = c.link("%env", "<env.None>")
        for leaf in arrays:
            to = c.at("%objects", leaf.number * WORD)
            c.set(to, nothing, "ptr")
            with c.when(leaf.given):
                c.set(to, c.get(leaf.at, "ptr"), "ptr")
        given = c.compare("ne", c.let(f"and i32 %bits, {STREAM}"), 0, "i32")
        wanted = c.let(f"select i1 {given}, i64 {c.word('%facts', 24)}, i64 -1")
        tensors = c.at("%frame", self.frame.tensors)
        c.require_well(
            c.let(f"call i32 @read_others(ptr %env, ptr %state, i64 {wanted}, ptr {tensors}, ptr %objects, "
                  f"i64 {len(arrays)}, ptr {self.own()}, ptr %stream)")
        )  # fmt: skip
        c.do(f"call void @put_half(ptr {source}, i64 {PENDING}, i32 0)")
        c.do(f"call void @put(ptr {source}, i64 {READ}, i64 1)")

    def stream(self) -> None:
        """Where it is given, or else as the arrays' library says, if Python has not asked."""
        c = self.code
        source = c.at("%frame", self.frame.source)
        with c.when(c.compare("eq", c.word(source, READ), 0)):
            given = c.compare("ne", c.let(f"and i32 %bits, {STREAM}"), 0, "i32")
            with c.unless(given):
                c.require_well(c.let(f"call i32 @current_stream(ptr %env, ptr {source}, ptr %stream)"))
            with c.when(given):
                c.set("%stream", c.link("%facts", 24), "ptr")

    def flags(self) -> None:
        first = self.frame.flags + len(self.frame.arrays)
        for i, given in enumerate(self.given):
            self.code.set_flag("%key", first + i, given)

    # Numbers and constants.

    def numbers(self) -> None:
        """Convert them; those of a dtype variable as soon as that is known."""
        c, frame = self.code, self.frame
        known = [(leaf, _converting(leaf)) for leaf in frame.numbers if not leaf.variable]
        for row in runs(known):
            leaf, (function, kind) = row[0]
            with c.when(leaf.given):
                c.require_well(
                    c.let(f"call i32 {function}(ptr %env, ptr %state, ptr {leaf.at}, ptr {self.value(leaf)}, "
                          f"i64 {len(row)}, i32 {kind})")
                )  # fmt: skip
        for leaf, word in frame.types.items():
            with c.when(leaf.given):
                kind = c.let(f"call ptr @type_of(ptr {c.get(leaf.at, 'ptr')})")
                c.set(c.at("%key", word * WORD), kind, "ptr")

    def value(self, leaf: Leaf) -> str:
        return self.code.at("%frame", self.frame.value(leaf))

    def fixed(self) -> None:
        """Compile-time constants, two words each."""
        c = self.code
        for i, (at, given) in enumerate(self.constants):
            words = c.at("%key", (self.frame.constants + 2 * i) * WORD)
            with c.when(given):
                x = c.get(at, "ptr")
                c.require_well(c.let(f"call i32 @constant(ptr %env, ptr %state, ptr {x}, ptr {words})"))

    # Dims.

    def finish_dims(self) -> None:
        """Dims that nothing told; then the expressions."""
        c, frame = self.code, self.frame
        inside = {dim.name for expr, _ in self.later for dim in dims_of(expr)}
        for name in frame.strided:
            at = frame.unsure(name)
            spare = c.both(c.negated(c.flag("%key", frame.told(name))), c.flag("%frame", at + WORD))
            with c.when(spare):
                value = c.word("%frame", at)
                if name in inside:
                    require_declared(c, frame.dims[name], value)
                c.require(c.compare("sge", value, -(1 << 31)))
                tell(c, frame, name, value)
        for expr, at in self.later:
            with c.when(c.flag("%frame", at + WORD)):
                c.require(c.compare("eq", self.evaluated(expr), c.word("%frame", at)))

    def evaluated(self, expr: DimExpr) -> str:
        return Arithmetic(self.code, self.known).value(expr)

    def known(self, dim: Dim) -> str:
        self.code.require(self.code.flag("%key", self.frame.told(dim.name)))
        return self.code.word("%frame", self.frame.dim(dim.name))

    def blocks(self) -> None:
        """The grid that follows from the dims, where a launch does not say: in facts of its own."""
        if self.subject.grid is None:
            return
        c = self.code
        self.facts = c.at("%frame", self.frame.facts)
        for i in range(0, FACTS.size, WORD):
            c.set(c.at(self.facts, i), c.word("%facts", i))
        with c.when(c.compare("ne", c.let(f"and i32 %bits, {BY_DIMS}"), 0, "i32")):
            nothing = "false"
            for i, expr in enumerate(self.subject.grid):
                blocks = self.evaluated(expr) if isinstance(expr, DimExpr) else str(expr)
                c.require(c.compare("ule", blocks, MAX_GRID[i]))
                nothing = c.either(nothing, c.compare("eq", blocks, 0))
                c.set(c.at(self.facts, 4 * i), c.let(f"trunc i64 {blocks} to i32"), "i32")
            with c.when(nothing):
                c.do(f"ret i32 {ir.OK}")
                c.label(c.fresh("dead"))

    # The outcome.

    def find(self) -> None:
        """Make the key, and look for its variant: the one that was found before, then all of them."""
        c = self.code
        c.set("%key", c.word("%facts", 16))
        c.do(f"call void @context(ptr %env, ptr {c.at('%key', WORD)})")
        table = c.link("%state", "<state.table>")
        recent = c.link(table, "<table.recent>")
        key = self.frame.places().key
        differs = "0"
        for i in range(self.frame.words):
            differ = c.let(f"xor i64 {c.word('%key', i * WORD)}, {c.word(recent, key + i * WORD)}")
            differs = c.let(f"or i64 {differs}, {differ}")
        self.variant = "%variant"
        other, found = c.fresh("other"), c.fresh("found")
        c.do("br label %compared")
        c.label("%compared")
        c.do(f"br i1 {c.compare('eq', differs, 0)}, label {found}, label {other}, !prof !0")
        c.label(other)
        searched = c.let(f"call ptr @find(ptr %env, ptr {table}, ptr %key)")
        missed = c.fresh("missed")
        c.do(f"br i1 {c.compare('eq', searched, 'null', 'ptr')}, label {missed}, label {found}")
        c.label(missed)
        c.do(f"ret i32 {ir.MISSED}")
        c.label(found)
        c.do(f"%variant = phi ptr [ {recent}, %compared ], [ {searched}, {other} ]")
        c.do(f"call void @count(ptr {table}, i64 1)")
        c.set("%used", table, "ptr")

    def launch(self) -> None:
        """What the variant tells how to make: numbers of a dtype variable, and tensor maps. Then launch."""
        c, frame, places = self.code, self.frame, self.frame.places()
        for leaf in frame.types:
            with c.when(leaf.given):
                kind = c.half(self.variant, places.kinds + 4 * self.leaves.index(leaf))
                x = c.get(leaf.at, "ptr")
                c.require_well(
                    c.let(f"call i32 @number(ptr %env, ptr %state, ptr {x}, i32 {kind}, ptr {self.value(leaf)})")
                )  # fmt: skip
        for i, leaf in enumerate(frame.maps):
            with c.when(leaf.given):
                cache = c.link(self.variant, places.caches + WORD * i)
                taken = c.let(f"call i1 @tensor_map(ptr %env, ptr {cache}, ptr {c.at('%frame', frame.tensor(leaf))}, "
                              f"i64 {c.get(self.value(leaf))}, ptr {c.at('%frame', frame.map(leaf))})")  # fmt: skip
                c.require(taken)
        status = c.let(f"call i32 @submit(ptr %env, ptr {self.facts}, ptr {self.variant}, ptr %frame, "
                       f"ptr {c.get('%stream', 'ptr')}, i64 {c.word('%key', WORD)})")  # fmt: skip
        c.do(f"ret i32 {status}")


def runs(rows: Sequence[tuple[Leaf, Any]]) -> Iterator[list[tuple[Leaf, Any]]]:
    """Leaves that the same is done with and whose objects lie side by side, together."""

    def run(row: tuple[int, tuple[Leaf, Any]]) -> Any:
        i, (leaf, how) = row
        return (how, leaf.place - i) if leaf.place is not None and leaf.given is None else leaf

    for _, group in groupby(enumerate(rows), run):
        yield [row for _, row in group]


def _converting(leaf: Leaf) -> tuple[str, int]:
    """The function that converts a number, and the dtype to give it."""
    wanted = leaf.parameter.wanted
    assert isinstance(wanted, Scalar)
    if wanted.is_int and wanted.bytes >= 4:
        return "@integers", KIND[wanted.name]
    return "@singles" if wanted.name == "f32" else "@others", KIND[wanted.name]


def of(signature: Signature) -> Subject:
    """What a signature says."""
    counts = len(signature.positional), len(signature.position_only)
    return Subject(signature.names, *counts, signature.parameters)


def write(subject: Subject) -> tuple[str, Program]:
    """The launcher of a subject. Errors: `Unsupported`."""
    body = _Body(subject)
    body.write()
    names, frame = subject.names, body.frame
    count, places = len(names), frame.places()
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
        "slots": max(len(places.at), 1),
    }
    given = "ptr %env, ptr %state, ptr %facts, i32 %bits, ptr %slots, ptr %owned, ptr %key, ptr %used"
    lines = [
        f"define internal i32 @body({given}) #1 {{",
        f"  %frame = alloca [{frame.size} x i8], align {MAP_ALIGN if frame.maps else WORD}",
        f"  %objects = alloca [{max(len(frame.arrays), 1)} x ptr]",
        "  %stream = alloca ptr\n  store ptr null, ptr %stream",
        *body.code.lines,
        "slow:\n  ret i32 1\n}",
    ]
    arrays = [text.replace(NAME, name) for text, name in body.functions.items()]
    shared = re.sub(r"<p\.(\w+)>", lambda m: str(constants[m[1]]), ir.functions())
    text = ir.weighed(shared + ir.filled("\n".join([*arrays, *lines])))
    counts = subject.positional, subject.position_only
    return text, Program(names, *counts, tuple(body.objects), tuple(frame.dims), places)
