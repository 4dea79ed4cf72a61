"""Integer instructions beyond `+` and `&`: counting, moving and mixing bits, wide and saturating arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from cutelite.ir.contract import Llvm, Problem, Ptx, np, numpy_dtype
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.simulation import Array, Lanes
from cutelite.ir.types import Scalar, Type, Vec, elem_of, i32, u32, with_elem
from cutelite.ops.address import among
from cutelite.ops.arith import Binary, Unary
from cutelite.ops.convert import ptx_type


def _computes(template: str) -> Ptx:
    return Ptx(template, pure=True, memory=False)


def _unsigned(a: Array) -> Array:
    return a.view(f"u{a.dtype.itemsize}")


class Count(Unary):
    """A count of bits of an integer, as an i32."""

    def result_types(self) -> tuple[Type, ...]:
        return (with_elem(self.a.type, i32),)

    def accepts(self, elem: Scalar) -> bool:
        return elem.is_int

    def intrinsic(self, call: str) -> Llvm:
        """Return LLVM that calls an intrinsic with a result of the operand's type and makes it an i32."""
        bits = elem_of(self.a.type).bits
        cast = {32: "bitcast", 64: "trunc"}.get(bits, "zext")
        return Llvm(f"$.n = call $a:type {call}\n$out = {cast} $a:type $.n to i32")

    def simulate(self, lanes: Lanes) -> None:
        lanes.define(np.asarray(self.compute(lanes.get(self.a))).astype(np.int32))


@op("popc", elementwise=True, source="PTX ISA: popc")
class Popc(Count):
    """The number of bits of `a` that are 1."""

    def llvm(self) -> Llvm:
        return self.intrinsic("@llvm.ctpop.$a:suffix($a:type $a)")

    def compute(self, a: Array) -> Array:
        return np.bitwise_count(_unsigned(a))


@op("clz", elementwise=True, source="PTX ISA: clz")
class Clz(Count):
    """The number of 0 bits of `a` above its highest 1; all bits if `a` is 0."""

    def llvm(self) -> Llvm:
        return self.intrinsic("@llvm.ctlz.$a:suffix($a:type $a, i1 false)")

    def compute(self, a: Array) -> Array:
        return a.itemsize * 8 - np.bitwise_count(_smeared(_unsigned(a)))


@op("ctz", elementwise=True, source="LLVM LangRef: llvm.cttz; PTX ISA: brev, clz")
class Ctz(Count):
    """The number of 0 bits of `a` below its lowest 1; all bits if `a` is 0."""

    def llvm(self) -> Llvm | None:
        if elem_of(self.a.type).bits >= 32:
            return None
        return self.intrinsic("@llvm.cttz.$a:suffix($a:type $a, i1 false)")

    def ptx(self) -> Ptx | None:
        if self.llvm() is not None:
            return None
        bits = elem_of(self.a.type).bits
        # LLVM branches for 0 and counts the 1s of ~a & (a - 1), on which ptxas can loop forever if a lop3 precedes
        return _computes(f"{{ .reg .b{bits} back; brev.b{bits} back, $a; clz.b{bits} $out, back; }}")

    def compute(self, a: Array) -> Array:
        u = _unsigned(a)
        return np.bitwise_count(~u & (u - u.dtype.type(1)))


def _smeared(u: Array) -> Array:
    """Return `u` with every bit below its highest 1 set."""
    shift = 1
    while shift < u.itemsize * 8:
        u = u | u >> u.dtype.type(shift)
        shift *= 2
    return u


@op("brev", elementwise=True, source="PTX ISA: brev")
class Brev(Unary):
    """The bits of `a` in the opposite order."""

    as_llvm = Llvm("$out = call $a:type @llvm.bitreverse.$a:suffix($a:type $a)")

    def accepts(self, elem: Scalar) -> bool:
        return elem.is_int

    def compute(self, a: Array) -> Array:
        octets = _unsigned(np.ascontiguousarray(a))[..., None].view(np.uint8)
        bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., ::-1]
        return np.packbits(bits, axis=-1, bitorder="little").view(a.dtype)[..., 0]


class Words(Op):
    """An instruction on integers of 32 or 64 bits, whose operands `whole` have the type of the result."""

    whole: ClassVar[tuple[str, ...]] = ("a",)
    types: ClassVar[tuple[str, ...]] = ("i32", "u32", "i64", "u64")

    def result_types(self) -> tuple[Type, ...]:
        return (self[self.whole[0]].type,)

    def verify(self) -> Iterator[Problem]:
        main = self[self.whole[0]].type
        if not isinstance(main, Scalar | Vec) or elem_of(main).name not in self.types:
            yield Problem(self.whole[0], f"{self.name} takes {' or '.join(self.types)}, not {main}")
            return
        for field in self.fields:
            if not field.is_operand:
                continue
            expected = main if field.name in self.whole else with_elem(main, i32)
            if self[field.name].type != expected:
                yield Problem(field.name, f"`{field.name}` of {self.name} is {self[field.name].type}, not {expected}")

    @property
    def suffix(self) -> str:
        """The PTX type of the result."""
        return ptx_type(elem_of(self[self.whole[0]].type))

    @property
    def bits(self) -> int:
        return elem_of(self[self.whole[0]].type).bits

    def simulate(self, lanes: Lanes) -> None:
        values = [lanes.get(self[field.name]) for field in self.fields if field.is_operand]
        lanes.define(np.asarray(self.compute(*values)).astype(values[0].dtype, copy=False))

    def compute(self, *values: Array) -> Array:
        raise NotImplementedError


@op("bfe", elementwise=True, source="PTX ISA: bfe")
class Bfe(Words):
    """`length` bits of `a` from bit `start` on, sign-extended if `a` is signed.

    start, length  i32, of which the low 8 bits are used; a field that reaches beyond `a` is filled with its sign
    """

    a: Value
    start: Value
    length: Value

    def ptx(self) -> Ptx:
        if self.suffix == "s32":  # beyond the top are sign bits only; ptxas 13.0 folds a constant start there to -1
            first = "and.b32 first, $start, 255; min.u32 first, first, 31;"
            return _computes(f"{{ .reg .b32 first; {first} bfe.s32 $out, $a, first, $length; }}")
        return _computes(f"bfe.{self.suffix} $out, $a, $start, $length;")

    def compute(self, a: Array, start: Array, length: Array) -> Array:
        bits, start, length = a.itemsize * 8, start.astype(np.int64) & 255, length.astype(np.int64) & 255
        field = _ones(length, a.dtype) & _shift_right(_unsigned(a), start)
        if a.dtype.kind == "u":
            return field
        top = np.minimum(start + length - 1, bits - 1)
        sign = _shift_right(_unsigned(a), top) & np.where(length > 0, 1, 0).astype(field.dtype)
        available = np.clip(bits - start, 0, length)
        return np.where(sign > 0, (field | ~_ones(available, a.dtype)), field).view(a.dtype)


def _shift_right(u: Array, by: Array) -> Array:
    bits = u.itemsize * 8
    return np.where(by < bits, u >> np.minimum(by, bits - 1).astype(u.dtype), 0).astype(u.dtype)


def _shift_left(u: Array, by: Array) -> Array:
    bits = u.itemsize * 8
    return np.where(by < bits, u << np.minimum(by, bits - 1).astype(u.dtype), 0).astype(u.dtype)


def _ones(count: Array, dtype: Any) -> Array:
    """Return the lowest `count` bits set."""
    u = np.dtype(f"u{dtype.itemsize}")
    return ~_shift_left(np.full(np.shape(count), ~u.type(0), u), count)


@op("bfi", elementwise=True, source="PTX ISA: bfi")
class Bfi(Words):
    """`b` with `length` of its bits from `start` on replaced by the low bits of `a`.

    start, length  i32, of which the low 8 bits are used; bits beyond `b` are dropped
    """

    whole = ("a", "b")

    a: Value
    b: Value
    start: Value
    length: Value

    def ptx(self) -> Ptx:
        if self.bits == 32:  # ptxas 13.0 takes constant lengths of 32 and more modulo 32: clamp to the top
            left = "and.b32 left, $start, 31; sub.s32 left, 32, left;"
            long = "and.b32 long, $length, 255; min.u32 long, long, left;"
            return _computes(f"{{ .reg .b32 left, long; {left} {long} bfi.b32 $out, $a, $b, $start, long; }}")
        return _computes(f"bfi.b{self.bits} $out, $a, $b, $start, $length;")

    def compute(self, a: Array, b: Array, start: Array, length: Array) -> Array:
        start, length = start.astype(np.int64) & 255, length.astype(np.int64) & 255
        field = _shift_left(_ones(length, a.dtype), start)
        return (_unsigned(b) & ~field | _shift_left(_unsigned(a), start) & field).view(a.dtype)


@op("bmsk", elementwise=True, source="PTX ISA: bmsk")
class Bmsk(Words):
    """A mask of `length` bits from bit `start` on, as far as they lie in 32 bits.

    mode  'clamp': a `start` of 32 or more gives 0, a `length` of 32 or more reaches to the top; 'wrap': both modulo 32
    """

    whole = ("start", "length")
    types = ("u32", "i32")

    start: Value
    length: Value
    mode: str = "clamp"
    takes = {"mode": among(("clamp", "wrap"))}
    as_ptx = _computes("bmsk.${mode}.b32 $out, $start, $length;")

    def compute(self, start: Array, length: Array) -> Array:
        first, count = _unsigned(start), _unsigned(length)
        if self.mode == "wrap":
            first, count = first & np.uint32(31), count & np.uint32(31)
        return _shift_left(_ones(count, start.dtype), first).view(start.dtype)


@op("szext", elementwise=True, source="PTX ISA: szext")
class Szext(Words):
    """The lowest `length` bits of `x`, sign-extended to 32 if `x` is signed; 0 for a `length` of 0.

    mode  'clamp': a `length` of 32 or more takes all bits; 'wrap': it counts modulo 32
    """

    whole = ("x", "length")
    types = ("u32", "i32")

    x: Value
    length: Value
    mode: str = "clamp"
    takes = {"mode": among(("clamp", "wrap"))}
    as_ptx = _computes("szext.${mode}.${suffix} $out, $x, $length;")

    def compute(self, x: Array, length: Array) -> Array:
        count = _unsigned(length).astype(np.int64)
        count = count & 31 if self.mode == "wrap" else np.minimum(count, 32)
        low = x.astype(np.int64) & ((np.int64(1) << count) - 1)
        sign = (np.int64(1) << count) >> 1 if x.dtype.kind == "i" else np.int64(0)
        return ((low ^ sign) - sign).astype(x.dtype)


PRMT_MODES = ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16")


@op("prmt", elementwise=True, source="PTX ISA: prmt")
class Prmt(Words):
    """Four of the eight bytes of `b:a`, chosen by the hexadecimal digits of `selector`, lowest byte first.

    A digit of 8 to 15 repeats the sign of byte digit - 8. With `mode` ('f4e', 'b4e', 'rc8', 'ecl', 'ecr', 'rc16')
    the two low bits of `selector` choose a pattern instead.
    """

    whole = ("a", "b", "selector")
    types = ("u32", "i32")

    a: Value
    b: Value
    selector: Value
    mode: str = ""
    takes = {"mode": among(PRMT_MODES)}

    def ptx(self) -> Ptx:
        return _computes(f"prmt.b32{f'.{self.mode}' if self.mode else ''} $out, $a, $b, $selector;")

    def compute(self, a: Array, b: Array, selector: Array) -> Array:
        source = _unsigned(a).astype(np.uint64) | _unsigned(b).astype(np.uint64) << np.uint64(32)
        chosen = np.zeros(a.shape, np.uint32)
        for place in range(4):
            digit = self._digit(_unsigned(selector).astype(np.int64), place)
            byte = source >> (8 * (digit & 7)).astype(np.uint64) & np.uint64(255)
            byte = np.where(digit & 8, np.where(byte & np.uint64(128), 255, 0), byte).astype(np.uint32)
            chosen |= byte << np.uint32(8 * place)
        return chosen.view(a.dtype)

    def _digit(self, selector: Array, place: int) -> Array:
        s = selector & 3
        match self.mode:
            case "f4e":  # forward: four bytes from s on
                return s + place
            case "b4e":  # backward from s
                return (s - place) & 7
            case "rc8":
                return s
            case "ecl":
                return np.maximum(s, place)
            case "ecr":
                return np.minimum(s, place)
            case "rc16":
                return (s & 1) * 2 + (place & 1)
        return selector >> 4 * place & 15


@op("lop3", elementwise=True, source="PTX ISA: lop3")
class Lop3(Words):
    """Any logical function of three integers, bit by bit: `table` is the function at a = 0xF0, b = 0xCC, c = 0xAA.

    The table of ``(a & b) | ~c`` is ``(0xF0 & 0xCC | ~0xAA) & 0xFF``.
    """

    whole = ("a", "b", "c")
    types = ("u32", "i32")

    a: Value
    b: Value
    c: Value
    table: int
    takes = {"table": among(range(256))}
    as_ptx = _computes("lop3.b32 $out, $a, $b, $c, ${table};")

    def compute(self, a: Array, b: Array, c: Array) -> Array:
        result = np.zeros_like(a)
        for row in range(8):
            if self.table >> row & 1:
                result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        return result


@op("shf", elementwise=True, source="PTX ISA: shf")
class Shf(Words):
    """32 of the 64 bits ``high:low`` shifted: the high half after a shift left, the low half after one to the right.

    amount     i32; modulo 32, or with `clamp` at most 32
    direction  'l' or 'r'
    """

    whole = ("low", "high")
    types = ("u32", "i32")

    low: Value
    high: Value
    amount: Value
    direction: str
    clamp: bool = False
    takes = {"direction": among(("l", "r"))}

    def ptx(self) -> Ptx:
        mode = "clamp" if self.clamp else "wrap"
        return _computes(f"shf.{self.direction}.{mode}.b32 $out, $low, $high, $amount;")

    def compute(self, low: Array, high: Array, amount: Array) -> Array:
        whole = _unsigned(low).astype(np.uint64) | _unsigned(high).astype(np.uint64) << np.uint64(32)
        n = _unsigned(amount).astype(np.uint64)
        n = np.minimum(n, np.uint64(32)) if self.clamp else n & np.uint64(31)
        shifted = whole << n >> np.uint64(32) if self.direction == "l" else whole >> n
        return (shifted & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(low.dtype)


@op("mul.hi", elementwise=True, source="PTX ISA: mul.hi")
class MulHi(Words):
    """The high half of ``a * b``."""

    whole = ("a", "b")

    a: Value
    b: Value
    as_ptx = _computes("mul.hi.${suffix} $out, $a, $b;")

    def compute(self, a: Array, b: Array) -> Array:
        bits = a.itemsize * 8
        high = (a.astype(object) * b.astype(object)) >> bits
        return np.asarray(high, object).astype(a.dtype)


@op("mul.wide", elementwise=True, source="PTX ISA: mul.wide")
class MulWide(Op):
    """``a * b`` of two 16- or 32-bit integers, in twice as many bits."""

    a: Value
    b: Value

    def result_types(self) -> tuple[Type, ...]:
        return (with_elem(self.a.type, self.wider),)

    @property
    def wider(self) -> Scalar:
        elem = elem_of(self.a.type)
        return Scalar(f"{elem.name[0]}{elem.bits * 2}", elem.kind, elem.bits * 2)

    def verify(self) -> Iterator[Problem]:
        if not isinstance(self.a.type, Scalar | Vec) or elem_of(self.a.type).name not in ("i16", "u16", "i32", "u32"):
            yield Problem("a", f"mul.wide takes i16, u16, i32 or u32, not {self.a.type}")
        elif self.a.type != self.b.type:
            yield Problem("b", f"mul.wide takes two of one type, not {self.a.type} and {self.b.type}")

    def llvm(self) -> Llvm:
        cast = "sext" if elem_of(self.a.type).kind == "int" else "zext"
        return Llvm(
            f"$.x = {cast} $a:type $a to $out:type\n$.y = {cast} $a:type $b to $out:type\n$out = mul $out:type $.x, $.y"
        )

    def simulate(self, lanes: Lanes) -> None:
        dtype = numpy_dtype(self.wider)
        lanes.define(lanes.get(self.a).astype(dtype) * lanes.get(self.b).astype(dtype))


@op("mul24", elementwise=True, source="PTX ISA: mul24")
class Mul24(Words):
    """The low 32 bits of the 48-bit product of the low 24 bits of `a` and `b`; several instructions on today's GPUs."""

    whole = ("a", "b")
    types = ("i32", "u32")

    a: Value
    b: Value
    as_ptx = _computes("mul24.lo.${suffix} $out, $a, $b;")

    def compute(self, a: Array, b: Array) -> Array:
        return _low24(a) * _low24(b)


def _low24(a: Array) -> Array:
    return a << a.dtype.type(8) >> a.dtype.type(8)


@op("mad24", elementwise=True, source="PTX ISA: mad24")
class Mad24(Words):
    """``mul24(a, b) + c``."""

    whole = ("a", "b", "c")
    types = ("i32", "u32")

    a: Value
    b: Value
    c: Value
    as_ptx = _computes("mad24.lo.${suffix} $out, $a, $b, $c;")

    def compute(self, a: Array, b: Array, c: Array) -> Array:
        return _low24(a) * _low24(b) + c


@op("sad", elementwise=True, source="PTX ISA: sad")
class Sad(Words):
    """``c + abs(a - b)``; the difference does not overflow."""

    whole = ("a", "b", "c")

    a: Value
    b: Value
    c: Value
    as_ptx = _computes("sad.${suffix} $out, $a, $b, $c;")

    def compute(self, a: Array, b: Array, c: Array) -> Array:
        return c + np.where(a < b, b - a, a - b)


class Dot(Op):
    """A dot product of the parts of 32-bit words, added to `c`. `a` and `b` may differ in signedness."""

    parts: ClassVar[str]

    a: Value
    b: Value
    c: Value
    gives = "c"

    def verify(self) -> Iterator[Problem]:
        for field in ("a", "b", "c"):
            t = self[field].type
            if not isinstance(t, Scalar | Vec) or elem_of(t) not in (i32, u32):
                yield Problem(field, f"`{field}` of {self.name} is {t}, but must be {self.parts} in an i32 or u32")
                return
        signed = i32 in (elem_of(self.a.type), elem_of(self.b.type))
        if (elem_of(self.c.type) == i32) != signed:
            yield Problem("c", f"`c` must be {'i32, as `a` or `b` is' if signed else 'u32, as `a` and `b` are'}")

    @property
    def kinds(self) -> str:
        return f"{ptx_type(elem_of(self.a.type))}.{ptx_type(elem_of(self.b.type))}"

    def simulate(self, lanes: Lanes) -> None:
        a, b, c = lanes.get(self.a), lanes.get(self.b), lanes.get(self.c)
        lanes.define((self.dot(a, b) + c.astype(np.int64)).astype(c.dtype))

    def dot(self, a: Array, b: Array) -> Array:
        raise NotImplementedError


def _parts(a: Array, bits: int) -> Array:
    """Return the 8- or 16-bit parts of 32-bit words, lowest first, in a last axis, as int64."""
    kind = f"{a.dtype.kind}{bits // 8}"
    return np.ascontiguousarray(a)[..., None].view(kind).astype(np.int64)


@op("dp4a", elementwise=True, source="PTX ISA: dp4a")
class Dp4a(Dot):
    """``c + sum(a[i] * b[i])`` over the four bytes of `a` and `b`, which are signed if the type is."""

    parts = "four bytes"
    as_ptx = _computes("dp4a.${kinds} $out, $a, $b, $c;")

    def dot(self, a: Array, b: Array) -> Array:
        return (_parts(a, 8) * _parts(b, 8)).sum(axis=-1)


@op("dp2a", elementwise=True, source="PTX ISA: dp2a")
class Dp2a(Dot):
    """``c + a[0] * b[i] + a[1] * b[i + 1]``: the halves of `a` with the two low bytes of `b`, or the `high` ones."""

    parts = "two halves or four bytes"

    high: bool = False

    def ptx(self) -> Ptx:
        return _computes(f"dp2a.{'hi' if self.high else 'lo'}.{self.kinds} $out, $a, $b, $c;")

    def dot(self, a: Array, b: Array) -> Array:
        octets = _parts(b, 8)
        return (_parts(a, 16) * (octets[..., 2:] if self.high else octets[..., :2])).sum(axis=-1)


class Saturating(Binary):
    """An integer operation whose result stops at the ends of the type's range."""

    word: ClassVar[str]

    def accepts(self, elem: Scalar) -> bool:
        return elem.is_int

    def llvm(self) -> Llvm | None:  # type: ignore[override]
        elem = elem_of(self.a.type)
        if elem == i32:
            return None
        letter = "s" if elem.kind == "int" else "u"
        return Llvm(f"$out = call $a:type @llvm.{letter}{self.word}.sat.$a:suffix($a:type $a, $a:type $b)")

    def ptx(self) -> Ptx | None:
        return _computes(f"{self.word}.sat.s32 $out, $a, $b;") if elem_of(self.a.type) == i32 else None

    def compute(self, a: Array, b: Array) -> Array:
        wrapped = a + b if self.word == "add" else a - b
        ends = np.iinfo(a.dtype)
        if a.dtype.kind == "u":
            over = wrapped < a if self.word == "add" else wrapped > a
            return np.where(over, a.dtype.type(ends.max if self.word == "add" else 0), wrapped)
        other = b if self.word == "add" else ~b
        over = (~(a ^ other) & (a ^ wrapped)) < 0  # the operands agree in sign and the result does not
        return np.where(over, np.where(a < 0, a.dtype.type(ends.min), a.dtype.type(ends.max)), wrapped)


@op("add.sat", elementwise=True, source="PTX ISA: add.sat")
class AddSat(Saturating):
    """``a + b``, stopping at the ends of the type's range."""

    word = "add"


@op("sub.sat", elementwise=True, source="PTX ISA: sub.sat")
class SubSat(Saturating):
    """``a - b``, stopping at the ends of the type's range."""

    word = "sub"
