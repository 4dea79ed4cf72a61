"""Atomic read-modify-write, and loads and stores that are ordered for other threads.

`semantic` and `scope` are those of the PTX memory model: 'relaxed' orders nothing else; 'acquire' orders later accesses
after this one, 'release' earlier accesses before it, 'acq_rel' both. The scope names the threads that see this order:
those of the CTA ('cta'), the cluster, the GPU, or the whole system ('sys').
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from cutelite.ir.contract import Effect, Problem, Ptx, np
from cutelite.ir.function import Value
from cutelite.ir.op import Op, Rule, op
from cutelite.ir.types import SCALARS, Scalar, Type, Vec, elem_of
from cutelite.ops.address import address, among, space_of
from cutelite.ops.convert import ptx_type
from cutelite.ops.memory import PTX_SPACE
from cutelite.ops.sync import SCOPES

if TYPE_CHECKING:
    from cutelite.ir.simulation import Array, Lanes

SPACES = ("gmem", "smem", "cluster")
SEMANTICS = ("relaxed", "acquire", "release", "acq_rel")

OPERATIONS: dict[str, tuple[str, ...]] = {
    "add": ("i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"),
    "min": ("i32", "u32", "i64", "u64", "f32", "f64"),
    "max": ("i32", "u32", "i64", "u64", "f32", "f64"),
    "and": ("i32", "u32", "i64", "u64"),
    "or": ("i32", "u32", "i64", "u64"),
    "xor": ("i32", "u32", "i64", "u64"),
    "exch": ("i32", "u32", "i64", "u64", "f32", "f64"),
    "inc": ("u32",),
    "dec": ("u32",),
}
"""The operations of `atom`, and the types that each takes."""

VECTORS = {"f32": (2, 4), "f16": (2, 4, 8), "bf16": (2, 4, 8)}
"""Lengths of the vectors that `atom.add` takes; each element is atomic by itself. Two 16-bit elements: in any space."""


def is_wide(t: Type) -> bool:
    """Tell whether `t` is 128 bits that are read or written at once: two integers of 64 bits, the low one first."""
    return isinstance(t, Vec) and t.n == 2 and t.elem.name in ("i64", "u64")


def ordered(*semantics: str) -> dict[str, Rule]:
    """Return the rules of an access that orders others as one of `semantics` says."""
    return {"semantic": among(semantics), "scope_of_order": among(SCOPES, "scope")}


class Ordered(Op):
    """An access, with effects `access`, which orders others unless its semantic is 'relaxed' or 'volatile'."""

    access: ClassVar[Effect]

    @property
    def effects(self) -> Effect:  # type: ignore[override]
        return self.access if self.semantic in ("relaxed", "volatile") else self.access | Effect.ORDERS


class ReadModifyWrite(Ordered):
    """An update of memory in one step: no access of another thread comes between its read and its write."""

    word: ClassVar[str]

    p: Value
    operation: str
    a: Value
    semantic: str = "relaxed"
    scope_of_order: str = "gpu"
    access = Effect.READS | Effect.WRITES
    takes = {"operation": among(OPERATIONS), **ordered(*SEMANTICS)}

    @property
    def commutes(self) -> bool:
        """Tell whether updates leave the same number in any order. Float sums round at each step."""
        return self.operation != "exch" and not (self.operation == "add" and elem_of(self.a.type).is_float)

    @property
    def feature(self) -> str | None:  # type: ignore[override]
        if self.scope_of_order == "cluster" or space_of(self.p) == "cluster":
            return "cluster"
        if isinstance(self.a.type, Vec) and not self._pair:
            return "atom.vector"
        return "atom.bf16" if elem_of(self.a.type).name == "bf16" else None

    @property
    def _pair(self) -> bool:
        """Tell whether `a` is two 16-bit numbers in one register: PTX has an operation for them, in any space."""
        return isinstance(self.a.type, Vec) and self.a.type.n == 2 and elem_of(self.a.type).bits == 16

    def verify(self) -> Iterator[Problem]:
        yield from self._type_problems()
        bytes = elem_of(self.a.type).bytes * (self.a.type.n if isinstance(self.a.type, Vec) else 1)
        yield from address(*SPACES, align=bytes)(self, "p")

    def _type_problems(self) -> Iterator[Problem]:
        t, names = self.a.type, OPERATIONS[self.operation]
        if not isinstance(t, Scalar | Vec) or elem_of(t).name not in names:
            yield Problem("a", f"{self.name} {self.operation} takes {', '.join(names)}, not {t}")
        elif isinstance(t, Vec) and not (self.operation == "exch" and is_wide(t)):
            if self.operation != "add" or t.n not in VECTORS.get(t.elem.name, ()):
                takes = ", ".join(f"{n} {name}" for name, counts in VECTORS.items() for n in counts)
                takes = takes if self.name == "red" else f"{takes}, and exchange 2 i64 or u64"
                yield Problem("a", f"of vectors, {self.name} can add {takes}; not {self.operation} {t}")
            elif not self._pair and space_of(self.p) != "gmem":
                yield Problem("a", f"{self.name} of {t} works in global memory only", "update the elements one by one")

    def ptx(self) -> Ptx:
        elem = elem_of(self.a.type)
        head = f"{self.word}.{self.semantic}.{self.scope_of_order}{PTX_SPACE[space_of(self.p)]}"
        out = "$out, " if self.word == "atom" else ""
        if self.operation in ("min", "max") and elem.is_float:
            return self._float_extreme(head)
        ftz = ".noftz" if elem.bits == 16 else ""
        if self._pair:
            packed = ("a", "out") if out else ("a",)
            return Ptx(f"{head}.add.noftz.{elem}x2 {out}[$p], $a;", packed=packed)
        if self.operation == "exch" and is_wide(self.a.type):
            return Ptx(
                f"{{ .reg .b128 new, old; mov.b128 new, $a; {head}.exch.b128 old, [$p], new; mov.b128 $out, old; }}"
            )
        count = f".v{self.a.type.n}" if isinstance(self.a.type, Vec) else ""
        return Ptx(f"{head}.{self.operation}{ftz}{count}.{self._ptx_type(elem)} {out}[$p], $a;")

    def _ptx_type(self, elem: Scalar) -> str:
        if self.operation in ("and", "or", "xor", "exch"):
            return f"b{elem.bits}"
        return "u64" if self.operation == "add" and elem.name == "i64" else ptx_type(elem)

    def _float_extreme(self, head: str) -> Ptx:
        """Return an integer min or max for floats: negative floats order in reverse, so the sign of `a` chooses it."""
        bits = elem_of(self.a.type).bits
        other = "min" if self.operation == "max" else "max"
        out = "$out, " if self.word == "atom" else ""
        return Ptx(
            f"{{ .reg .pred minus; .reg .b{bits} bits; mov.b{bits} bits, $a; setp.lt.s{bits} minus, bits, 0; "
            f"@!minus {head}.{self.operation}.s{bits} {out}[$p], $a; "
            f"@minus {head}.{other}.u{bits} {out}[$p], $a; }}"
        )

    def old_value(self, lanes: Lanes) -> Array:
        """Update memory, and return what was there before."""
        elem, a, p = elem_of(self.a.type), lanes.get(self.a), lanes.get(self.p)
        space = space_of(self.p)
        if not (elem.is_float and self.operation in ("min", "max")):
            return lanes.atomic(space, p, self.operation, elem, a)
        signed, unsigned = SCALARS[f"i{elem.bits}"], SCALARS[f"u{elem.bits}"]
        minus = np.signbit(a)
        other = "min" if self.operation == "max" else "max"
        plus_old = lanes.atomic(space, p, self.operation, signed, a.view(f"i{a.itemsize}"), mask=lanes.mask & ~minus)
        minus_old = lanes.atomic(space, p, other, unsigned, a.view(f"u{a.itemsize}"), mask=lanes.mask & minus)
        return np.where(minus, minus_old.view(a.dtype), plus_old.view(a.dtype))


@op("atom", source="PTX ISA: atom")
class Atom(ReadModifyWrite):
    """Replace the number at `p` by the result of `operation` on it and `a`; the result is the old number.

    operation  add, min, max, and, or, xor, exch (stores `a`), inc (0 if the number is `a` or more, else one
               more), dec (`a` if the number is 0 or above `a`, else one less)
    a          a scalar; for add also 2, 4 or 8 f16 or bf16, or 2 or 4 f32, each of which is atomic by itself; for exch
               also 2 i64 or u64, which are exchanged at once

    Float min and max compare as integers do: -0 is below +0, a positive NaN is above and a negative one below all
    numbers. Where all writes are such atomics, their order does not change the result.
    """

    word = "atom"
    gives = "a"

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(self.old_value(lanes))


@op("red", source="PTX ISA: red")
class Red(ReadModifyWrite):
    """`atom` without a result. There is no exch (a store does it), and semantics are relaxed or release."""

    word = "red"
    takes = {**ordered("relaxed", "release")}

    def verify(self) -> Iterator[Problem]:
        yield from super().verify()
        if self.operation == "exch":
            yield Problem("operation", "red has no exch", "use atom, or a store")

    def simulate(self, lanes: Lanes) -> None:
        self.old_value(lanes)


@op("atom.cas", source="PTX ISA: atom")
class AtomCas(Ordered):
    """Store `a` at `p` if the bits there are those of `compare`; the result is the old number.

    Takes numbers of 16, 32 and 64 bits, and 2 i64 or u64 as one of 128 bits.
    """

    p: Value
    compare: Value
    a: Value
    semantic: str = "relaxed"
    scope_of_order: str = "gpu"
    gives = "a"
    access = Effect.READS | Effect.WRITES
    takes = ordered(*SEMANTICS)

    @property
    def feature(self) -> str | None:  # type: ignore[override]
        if is_wide(self.a.type):
            return "atom.vector"
        return "cluster" if self.scope_of_order == "cluster" or space_of(self.p) == "cluster" else None

    def verify(self) -> Iterator[Problem]:
        t = self.a.type
        number = isinstance(t, Scalar) and t.bits in (16, 32, 64) and t.arithmetic
        if not number and not is_wide(t):
            yield Problem("a", f"atom.cas takes a number of 16, 32 or 64 bits, or 2 i64 or u64, not {t}")
        elif self.compare.type != t:
            yield Problem("compare", f"atom.cas takes two of one type, not {self.compare.type} and {t}")
        else:
            yield from address(*SPACES, align=16 if is_wide(t) else elem_of(t).bytes)(self, "p")

    def ptx(self) -> Ptx:
        head = f"atom.{self.semantic}.{self.scope_of_order}{PTX_SPACE[space_of(self.p)]}"
        if is_wide(self.a.type):
            given = "mov.b128 seen, $compare; mov.b128 new, $a;"
            swap = f"{head}.cas.b128 old, [$p], seen, new; mov.b128 $out, old;"
            return Ptx(f"{{ .reg .b128 seen, new, old; {given} {swap} }}")
        return Ptx(f"{head}.cas.b{elem_of(self.a.type).bits} $out, [$p], $compare, $a;")

    def simulate(self, lanes: Lanes) -> None:
        p, compare, a = (lanes.get(v) for v in (self.p, self.compare, self.a))
        lanes.define(lanes.atomic(space_of(self.p), p, "cas", elem_of(self.a.type), a, compare))


class Strong(Ordered):
    """A load or store that may race with other threads: the whole number is read or written at once."""

    semantic: str
    scope_of_order: str

    @property
    def feature(self) -> str | None:  # type: ignore[override]
        return "cluster" if self.scope_of_order == "cluster" or space_of(self["p"]) == "cluster" else None

    def type_problems(self, t: Type) -> Iterator[Problem]:
        if is_wide(t):
            yield from address(*SPACES, align=16)(self, "p")
        elif not isinstance(t, Scalar) or t.kind in ("bool", "barrier"):
            yield Problem("", f"{self.name} takes one number, or 2 i64 or u64, not {t}")
        else:
            yield from address(*SPACES, align=t.bytes)(self, "p")

    def head(self, word: str) -> str:
        scope = "" if self.semantic == "volatile" else f".{self.scope_of_order}"
        return f"{word}.{self.semantic}{scope}{PTX_SPACE[space_of(self['p'])]}"


@op("ld.strong", source="PTX ISA: ld.relaxed, ld.acquire, ld.volatile")
class LoadStrong(Strong):
    """Load the number of `type` at `p`, or 2 i64 or u64 at once.

    'acquire' makes visible what the writer did before its release; 'relaxed' does not.

    'volatile' is as 'relaxed' at system scope, and is never optimised away.
    """

    p: Value
    type: Type
    semantic: str = "acquire"
    scope_of_order: str = "gpu"
    gives = "type"
    access = Effect.READS | Effect.UNMERGEABLE
    takes = ordered("relaxed", "acquire", "volatile")

    def verify(self) -> Iterator[Problem]:
        return self.type_problems(self.type)

    def ptx(self) -> Ptx:
        if is_wide(self.type):
            return Ptx(f"{{ .reg .b128 found; {self.head('ld')}.b128 found, [$p]; mov.b128 $out, found; }}")
        return Ptx(f"{self.head('ld')}.b{elem_of(self.type).bits} $out, [$p];")

    def simulate(self, lanes: Lanes) -> None:
        n = 2 if is_wide(self.type) else 1
        found = lanes.load(space_of(self.p), lanes.get(self.p), elem_of(self.type), n)
        lanes.define(found if n > 1 else found[:, 0])


@op("st.strong", source="PTX ISA: st.relaxed, st.release, st.volatile")
class StoreStrong(Strong):
    """Write the number `a`, or 2 i64 or u64 at once, to `p`.

    'release': a thread that acquires it sees all that this thread did before.

    'volatile' is as 'relaxed' at system scope, and is never optimised away.
    """

    p: Value
    a: Value
    semantic: str = "release"
    scope_of_order: str = "gpu"
    access = Effect.WRITES
    takes = ordered("relaxed", "release", "volatile")

    def verify(self) -> Iterator[Problem]:
        return self.type_problems(self.a.type)

    def ptx(self) -> Ptx:
        if is_wide(self.a.type):
            return Ptx(f"{{ .reg .b128 new; mov.b128 new, $a; {self.head('st')}.b128 [$p], new; }}")
        return Ptx(f"{self.head('st')}.b{elem_of(self.a.type).bits} [$p], $a;")

    def simulate(self, lanes: Lanes) -> None:
        a = lanes.get(self.a)
        data = a if is_wide(self.a.type) else a[:, None]
        lanes.store(space_of(self.p), lanes.get(self.p), elem_of(self.a.type), data)


@op("prefetch", source="PTX ISA: prefetch, prefetchu")
class Prefetch(Op):
    """Bring the cache line of the global address `p` into cache `level`: 'L1', 'L2', or 'L2::evict_last'."""

    p: Value
    level: str = "L2"

    effects = Effect.ORDERS  # so that it is not moved; it neither reads nor writes
    takes = {"p": address("gmem"), "level": among(("L1", "L2", "L2::evict_last"))}

    @property
    def feature(self) -> str | None:  # type: ignore[override]
        return "cache_hint" if self.level == "L2::evict_last" else None

    def ptx(self) -> Ptx:
        return Ptx(f"prefetch{PTX_SPACE[space_of(self.p)]}.{self.level} [$p];")

    def simulate(self, lanes: Lanes) -> None:
        return None


__all__ = ["Atom", "AtomCas", "LoadStrong", "Prefetch", "Red", "StoreStrong"]
