"""mma.sync: one warp multiplies small matrices that its 32 threads hold in registers.

`FORMS` is the table of shapes and types; `operand_a`, `operand_b` and `accumulator` say which thread holds which
element of A, B and of C and D. Verifier, simulator, partitioning and documentation all read these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, ClassVar

from cutelite.ir.contract import Effect, Problem, Ptx, np, numpy_dtype
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.simulation import Array, Lanes
from cutelite.ir.types import SCALARS, Scalar, Vec, elem_of, i32
from cutelite.layout import Layout, static_value
from cutelite.ops.wgmma_layouts import places
from cutelite.target.targets import WARP as WARP
from cutelite.tuples import NamedTuple

N = 8  # columns of every form
REGISTER_BYTES = 4
PTX_NAMES = {"i4": "s4", "i8": "s8", "i32": "s32"}


class Form(NamedTuple):
    """The shapes and types that one type of A can be multiplied with.

    m, n     extents of the accumulator, of every instruction on this type
    k        extents along K that there are instructions for
    b, d     types of B, and of the accumulator
    feature  what the target must have
    """

    m: int
    n: int
    k: tuple[int, ...]
    b: tuple[str, ...]
    d: tuple[str, ...]
    feature: str = "mma"


FORMS: dict[str, Form] = {
    "f16": Form(16, 8, (8, 16), ("f16",), ("f32", "f16")),
    "bf16": Form(16, 8, (8, 16), ("bf16",), ("f32",)),
    "tf32": Form(16, 8, (4, 8), ("tf32",), ("f32",)),
    "i8": Form(16, 8, (16, 32), ("i8", "u8"), ("i32",)),
    "u8": Form(16, 8, (16, 32), ("i8", "u8"), ("i32",)),
    "e4m3": Form(16, 8, (32,), ("e4m3", "e5m2"), ("f32",), "fp8"),
    "e5m2": Form(16, 8, (32,), ("e4m3", "e5m2"), ("f32",), "fp8"),
    "f64": Form(8, 8, (4,), ("f64",), ("f64",)),
}
"""The forms of mma.sync, by the type of A (PTX ISA, mma: A is row-major, B column-major)."""

OTHERS: dict[str, Form] = {
    "f64": Form(16, 8, (4, 8, 16), ("f64",), ("f64",), "mma.f64"),
    "i8": Form(8, 8, (16,), ("i8", "u8"), ("i32",)),
    "u8": Form(8, 8, (16,), ("i8", "u8"), ("i32",)),
}
"""Forms with another m, which the length of the accumulator tells apart."""


def every_form() -> Iterator[tuple[str, Form]]:
    """Yield all forms, each with the type of A."""
    return chain(FORMS.items(), OTHERS.items())


def form_of(elem: str, m: int | None = None, forms: Iterable[tuple[str, Form]] | None = None) -> Form | None:
    """Return the form for the type of A, with the extent m of the accumulator; None without one."""
    each = every_form() if forms is None else forms
    return next((form for name, form in each if name == elem and m in (None, form.m)), None)


def known(forms: dict[str, Form]) -> str:
    """List the types of a table, for an error's help."""
    return "; ".join(f"{a} with {'/'.join(f.b)} into {'/'.join(f.d)}" for a, f in forms.items())


# The elements of each thread (PTX ISA, matrix fragments for mma). Thread t is member t % 4 of group t // 4.


def _each(elem: Scalar) -> int:
    """Return the number of elements, neighbours along K, that share a register."""
    return max(1, REGISTER_BYTES // elem.bytes)


@lru_cache
def operand_a(elem: Scalar, k: int, m: int | None = None) -> Layout:
    """Return the layout of the (m, k) operand A: (thread, value) to index, m first. `m` defaults to that of `FORMS`.

    A group has row t // 4 and the row 8 below; its members divide K, one register each.
    """
    m, each = m or FORMS[elem.name].m, _each(elem)
    return Layout(((4, 8), (each, m // 8, k // (4 * each))), ((m * each, 1), (m, 8, 4 * m * each)))


@lru_cache
def operand_b(elem: Scalar, k: int) -> Layout:
    """Return the layout of the (n, k) operand B: (thread, value) to index, n first. A group has column t // 4."""
    each = _each(elem)
    return Layout(((4, 8), (each, k // (4 * each))), ((N * each, 1), (N, 4 * N * each)))


@lru_cache
def accumulator(m: int) -> Layout:
    """Return the layout of the (m, 8) accumulator: (thread, value) to index, m first.

    A thread has pairs along N, in rows 8 apart.
    """
    return Layout(((4, 8), (2, m // 8)), ((2 * m, 1), (m, 8)))


def registers(layout: Layout) -> int:
    """Return the number of elements that each thread holds."""
    count = static_value(layout[1].size)
    assert count is not None
    return count


@op("mma.sync", scope="warp", effects=Effect.CONVERGENT, source="PTX ISA: mma")
class Mma(Op):
    """``d = a @ b.T + c``, A (m, k), B (n, k), C and D (m, n), spread over the 32 threads of a warp.

    a, b, c   each thread's elements, in the order of `operand_a`, `operand_b` and `accumulator`
    k         extent along K; m and n follow from the type of A, and the length of C
    saturate  integers only: clamp instead of wrapping

    Integer results are exact. The simulator computes floating-point ones in f64 and rounds once, to nearest; the
    hardware may truncate the last bits of the sums within an instruction.
    """

    a: Value
    b: Value
    c: Value
    k: int
    saturate: bool = False
    wide = True
    forms: ClassVar[dict[str, Form]] = FORMS
    gives = "c"

    def kind(self, field: str) -> str:
        """Return the name of the type of an operand's numbers."""
        return elem_of(self[field].type).name

    @property
    def form(self) -> Form:
        return self._form or self.forms[self.kind("a")]

    @property
    def _form(self) -> Form | None:
        if not (isinstance(self.a.type, Vec) and isinstance(self.c.type, Vec)):
            return None
        name = elem_of(self.a.type).name
        return form_of(name, self.c.type.n * WARP // FORMS[name].n) if name in FORMS else None

    @property
    def feature(self) -> str:  # type: ignore[override]
        form = self._form
        return form.feature if form else "mma"

    def verify(self) -> Iterator[Problem]:
        for field in ("a", "b", "c"):
            if not isinstance(self[field].type, Vec):
                yield Problem(field, f"mma.sync takes vectors in registers, and `{field}` is {self[field].type}")
                return
        a, b, c = map(self.kind, ("a", "b", "c"))
        form = self.form if a in self.forms else None
        if form is None or b not in form.b or c not in form.d:
            yield Problem("a", f"mma.sync does not multiply {a} by {b} into {c}", f"it takes {known(self.forms)}")
        elif self.k not in form.k:
            yield Problem("k", f"k is {self.k}; mma.sync on {a} takes {' or '.join(map(str, form.k))}")
        else:
            yield from self._length_problems(form)
            if self.saturate and c != "i32":
                yield Problem("saturate", f"only integers saturate, not {c}")

    def _length_problems(self, form: Form) -> Iterator[Problem]:
        for field, layout in self.layouts().items():
            t = self[field].type
            if t.n != registers(layout):
                extent = f"{form.m if field != 'b' else form.n} x {self.k if field != 'c' else form.n}"
                text = f"`{field}` is {t}, but a thread's part of the {extent} operand is {registers(layout)} elements"
                yield Problem(field, text)

    def layouts(self) -> dict[str, Layout]:
        """Return the layout of each operand: (thread, value) to index."""
        a, b = elem_of(self.a.type), elem_of(self.b.type)
        m = self.form.m
        return {"a": operand_a(a, self.k, m), "b": operand_b(b, self.k), "c": accumulator(m)}

    def ptx(self) -> Ptx:
        operands = ", ".join(self._braced(field) for field in ("out", "a", "b", "c"))
        return Ptx(
            f"mma.sync.aligned.{self._kinds} {operands};", pure=True, memory=False, packed=("a", "b", "c", "out")
        )

    @property
    def _kinds(self) -> str:
        """Shape and types, as PTX spells them."""
        a, b, d = (PTX_NAMES.get(name, name) for name in map(self.kind, "abc"))
        saturate = ".satfinite" if self.saturate else ""
        return f"m{self.form.m}n{self.form.n}k{self.k}.row.col{saturate}.{d}.{a}.{b}.{d}"

    def _braced(self, field: str) -> str:
        """Return the registers of an operand, in braces even if there is only one."""
        t: Any = (self.c if field == "out" else self[field]).type
        single = t.n * t.elem.bytes <= max(REGISTER_BYTES, t.elem.bytes)
        return f"{{${field}}}" if single else f"${field}"

    def simulate(self, lanes: Lanes) -> None:
        idle = ~lanes.warps(lanes.mask).all(axis=1)
        lanes.fault(np.repeat(idle, WARP), "mma.sync must be executed by all 32 threads of a warp", "divergence")
        form = self.form
        a = self._matrix(lanes, "a", form.m)
        b = self._matrix(lanes, "b", form.n)
        c = self._matrix(lanes, "c", form.m)
        total = self._rounded(self._product(a, b) + c.transpose(0, 2, 1))
        spread = total.transpose(0, 2, 1).reshape(len(total), -1)[:, self._places["c"]]
        lanes.define(spread.reshape(-1, spread.shape[-1]))

    @cached_property
    def _places(self) -> dict[str, Array]:
        return {field: places(layout) for field, layout in self.layouts().items()}

    def _matrix(self, lanes: Lanes, field: str, rows: int) -> Array:
        """Return the operand of each warp, (warps, columns, rows), in a type in which products and sums are exact."""
        held = lanes.warps(lanes.get(self[field]))
        exact = np.int64 if elem_of(self.c.type) == i32 else np.float64
        at = self._places[field]
        tile = np.empty((len(held), at.size), exact)
        tile[:, at] = widened(held, elem_of(self[field].type))
        return self._unpacked(lanes, field, tile.reshape(len(held), -1, rows))

    def _unpacked(self, lanes: Lanes, field: str, tile: Array) -> Array:
        """Return the operand, (warps, columns, rows), that `tile`, its elements in registers, stands for."""
        return tile

    def _product(self, a: Array, b: Array) -> Array:
        """Return ``a.T @ b`` of each warp."""
        return a.transpose(0, 2, 1) @ b

    def _rounded(self, exact: Array) -> Array:
        elem = elem_of(self.c.type)
        if elem == i32 and self.saturate:
            exact = np.clip(exact, *i32.range)
        return exact.astype(numpy_dtype(elem))


def widened(a: Array, elem: Scalar) -> Array:
    """Return a matrix as f64 or i64. tf32 is the upper 19 bits of an f32: the hardware ignores the others."""
    if elem == SCALARS["tf32"]:
        a = (np.ascontiguousarray(a).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return a.astype(np.int64 if elem.is_int else np.float64)
