"""Multimem: addresses that stand for the same place in the memory of several GPUs.

The host maps such an address (CUDA driver, multicast objects). The simulator has one GPU: there, a load reduces just
the one number at the address.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutelite.ir.contract import Effect, Problem, Ptx
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.simulation import Lanes
from cutelite.ir.types import Scalar, Type, Vec, elem_of
from cutelite.ops.address import address
from cutelite.ops.atomics import Ordered, ordered
from cutelite.ops.convert import ptx_type

OPERATIONS: dict[str, tuple[str, ...]] = {
    "add": ("i32", "u32", "u64", "f16", "bf16", "f32", "f64", "e4m3", "e5m2"),
    "min": ("i32", "u32", "i64", "u64", "f16", "bf16", "e4m3", "e5m2"),
    "max": ("i32", "u32", "i64", "u64", "f16", "bf16", "e4m3", "e5m2"),
    "and": ("i32", "u32", "i64", "u64"),
    "or": ("i32", "u32", "i64", "u64"),
    "xor": ("i32", "u32", "i64", "u64"),
}
"""Operations, and the types that each takes; floats of 8 and 16 bits only in vectors, and those of 8 not by `red`."""

VECTORS = {"f32": (2, 4), "f16": (2, 4, 8), "bf16": (2, 4, 8), "e4m3": (4, 8, 16), "e5m2": (4, 8, 16)}
WORDS = "vectors are 2 or 4 f32, to add; 2, 4 or 8 f16 or bf16; 4, 8 or 16 e4m3 or e5m2"


def type_problems(op: Op, t: Type, operation: str, what: str | None = None) -> Iterator[Problem]:
    """Yield what is wrong with the type of an operation, which messages call `what`."""
    names, does = OPERATIONS.get(operation), " ".join(filter(None, (op.name, operation if what is None else what)))
    if names is None:
        yield Problem("operation", f"{op.name} does {', '.join(OPERATIONS)}, not {operation!r}")
    elif not isinstance(t, Scalar | Vec) or elem_of(t).name not in names:
        yield Problem("type", f"{does} takes {', '.join(names)}, not {t}")
    elif isinstance(t, Vec) and (
        t.n not in VECTORS.get(t.elem.name, ()) or (t.elem.name == "f32" and operation != "add")
    ):
        yield Problem("type", f"{does} takes no {t}", WORDS)
    elif isinstance(t, Scalar) and t.bits <= 16:
        few, some, many = VECTORS[t.name]
        yield Problem("type", f"{op.name} takes {t} in vectors of {few}, {some} or {many}")
    else:
        yield from address("gmem", align=size(t))(op, "p")


def size(t: Type) -> int:
    return elem_of(t).bytes * (t.n if isinstance(t, Vec) else 1)


def is_small(t: Type) -> bool:
    """Tell whether several elements of vectors lie in a register."""
    return elem_of(t).bits < 32


def feature_of(t: Type) -> str:
    return "multimem.fp8" if elem_of(t).bits == 8 else "multimem"


def spelled(t: Type, operation: str = "") -> str:
    """Return vector and type as PTX writes them: a register of smaller numbers is one number."""
    elem = elem_of(t)
    n = t.n if isinstance(t, Vec) else 1
    if is_small(t):
        each = 32 // elem.bits
        n, name = n // each, f"{elem}x{each}"
    elif operation in ("and", "or", "xor"):
        name = f"b{elem.bits}"
    else:
        name = ptx_type(elem)
    return f"{f'.v{n}' if n > 1 else ''}.{name}"


@op("multimem.ld_reduce", source="PTX ISA: multimem.ld_reduce")
class MultimemLoadReduce(Ordered):
    """The numbers at the places that the multimem address `p` stands for, combined by `operation`.

    type      a number, or a vector of 2 or 4 f32, of 2, 4 or 8 f16 or bf16, or of 4, 8 or 16 e4m3 or e5m2
    exact     add f16 and bf16 in f32, e4m3 and e5m2 in f16
    semantic  relaxed or acquire, at `scope_of_order`
    """

    p: Value
    type: Type
    operation: str
    semantic: str = "relaxed"
    scope_of_order: str = "sys"
    exact: bool = True
    gives = "type"
    access = Effect.READS | Effect.UNMERGEABLE
    takes = ordered("relaxed", "acquire")

    @property
    def feature(self) -> str | None:  # type: ignore[override]
        return feature_of(self.type)

    def verify(self) -> Iterator[Problem]:
        return type_problems(self, self.type, self.operation)

    def ptx(self) -> Ptx:
        small = is_small(self.type)
        exact = f".acc::f{2 * elem_of(self.type).bits}" if small and self.exact and self.operation == "add" else ""
        head = f"multimem.ld_reduce.{self.semantic}.{self.scope_of_order}.global.{self.operation}{exact}"
        return Ptx(f"{head}{spelled(self.type, self.operation)} $out, [$p];", packed=("out",) if small else ())

    def simulate(self, lanes: Lanes) -> None:
        n = self.type.n if isinstance(self.type, Vec) else 1
        data = lanes.load("gmem", lanes.get(self.p), elem_of(self.type), n)
        lanes.define(data if isinstance(self.type, Vec) else data[:, 0])


@op("multimem.st", source="PTX ISA: multimem.st")
class MultimemStore(Ordered):
    """Write `a` to every place that the multimem address `p` stands for."""

    p: Value
    a: Value
    semantic: str = "relaxed"
    scope_of_order: str = "sys"
    access = Effect.WRITES
    takes = ordered("relaxed", "release")

    @property
    def feature(self) -> str | None:  # type: ignore[override]
        return feature_of(self.a.type)

    def verify(self) -> Iterator[Problem]:
        return type_problems(self, self.a.type, "add" if elem_of(self.a.type).is_float else "max", "")

    def ptx(self) -> Ptx:
        head = f"multimem.st.{self.semantic}.{self.scope_of_order}.global"
        return Ptx(f"{head}{spelled(self.a.type)} [$p], $a;", packed=("a",) if is_small(self.a.type) else ())

    def simulate(self, lanes: Lanes) -> None:
        a = lanes.get(self.a)
        lanes.store("gmem", lanes.get(self.p), elem_of(self.a.type), a if a.ndim == 2 else a[:, None])


@op("multimem.red", feature="multimem", source="PTX ISA: multimem.red")
class MultimemRed(Ordered):
    """Combine `a` by `operation` into every place that the multimem address `p` stands for, atomically at each."""

    p: Value
    a: Value
    operation: str
    semantic: str = "relaxed"
    scope_of_order: str = "sys"
    access = Effect.READS | Effect.WRITES
    takes = ordered("relaxed", "release")

    @property
    def commutes(self) -> bool:
        return not elem_of(self.a.type).is_float

    def verify(self) -> Iterator[Problem]:
        yield from type_problems(self, self.a.type, self.operation)
        if elem_of(self.a.type).bits == 8:
            yield Problem("a", f"multimem.red takes no {self.a.type}", "add f16: `x.to(cl.f16)`")
        if elem_of(self.a.type).is_float and self.operation != "add":
            yield Problem("operation", f"multimem.red only adds {self.a.type}")

    def ptx(self) -> Ptx:
        head = f"multimem.red.{self.semantic}.{self.scope_of_order}.global.{self.operation}"
        text = f"{head}{spelled(self.a.type, self.operation)} [$p], $a;"
        return Ptx(text, packed=("a",) if is_small(self.a.type) else ())

    def simulate(self, lanes: Lanes) -> None:
        lanes.atomic("gmem", lanes.get(self.p), self.operation, elem_of(self.a.type), lanes.get(self.a))


__all__ = ["MultimemLoadReduce", "MultimemRed", "MultimemStore"]
