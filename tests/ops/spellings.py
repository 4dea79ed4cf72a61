"""Instances of every op of the general vocabulary, in every way it is spelled: what is assembled and checked.

Control flow, tensors and the asynchrony of Hopper have their own tests.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Function, Value
from cutelite.ir.op import Op
from cutelite.ir.types import (
    SCALARS,
    Ptr,
    Scalar,
    Type,
    Vec,
    bf16,
    boolean,
    e4m3,
    e5m2,
    elem_of,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    tf32,
    u8,
    u16,
    u32,
    u64,
)
from cutelite.ops import arith, asm, atomics, bits, convert, debug, math, sync, trig, warp
from cutelite.ops.control import Ret
from cutelite.ops.memory import Load, PtrAdd, Store
from cutelite.target import Target
from tests.spelled import Spelling

GMEM, SMEM, REMOTE, GENERIC = (Ptr(space, 16) for space in ("gmem", "smem", "cluster", "generic"))
POINTERS = (GMEM, SMEM, REMOTE, GENERIC)
INTS = (i8, i16, i32, i64, u8, u16, u32, u64)
WORDS = (i32, u32, i64, u64)
FLOATS = (f16, bf16, f32, f64)
NUMBERS = (*INTS, *FLOATS)


def vectors(*elems: Scalar, n: int = 3) -> tuple[Type, ...]:
    return (*elems, *(Vec(elem, n) for elem in elems))


def spellings() -> Iterator[Spelling]:
    yield from _conversions()
    yield from _mathematics()
    yield from _bits()
    yield from _atomics()
    yield from _warp()
    yield from _block()


def _conversions() -> Iterator[Spelling]:
    every = [s for s in SCALARS.values() if s.kind != "barrier"]
    for source in every:
        for to in every:
            for rounding in (*(convert.modes(source, to) or ()), *([""] if convert.modes(source, to) == () else [])):
                for n in (1, 2, 3) if source.is_float else (1,):
                    yield _conversion(source, to, n, rounding, False)
            if source.is_int and to.is_int and source != to:
                yield _conversion(source, to, 1, "", True)
    for to in (f16, bf16, tf32, e4m3, e5m2):
        for n in (1, 2, 3):
            yield _conversion(f32, to, n, "", True)
    for a, b in ((u32, Vec(bf16, 2)), (Vec(f16, 4), Vec(f32, 2)), (f32, i32), (f64, Vec(u8, 8)), (Vec(e4m3, 4), u32)):
        yield Spelling("bitcast", (a,), lambda x, t=b: convert.Bitcast(x, t))
        yield Spelling("bitcast", (b,), lambda x, t=a: convert.Bitcast(x, t))


def _conversion(source: Scalar, to: Scalar, n: int, rounding: str, saturate: bool) -> Spelling:
    family = "cvt int" if source.is_int else "cvt float"
    t = Vec(source, n) if n > 1 else source
    return Spelling(family, (t,), lambda a: convert.Convert(a, to, rounding, saturate))


def _mathematics() -> Iterator[Spelling]:
    for cls in (math.Floor, math.Ceil, math.Trunc, math.Rint, math.Saturate, math.Sqrt, math.Rcp):
        yield from (Spelling("math", (t,), cls) for t in vectors(*FLOATS))
    for kind in ("nan", "inf", "finite"):
        yield from (Spelling("math", (t,), lambda a, k=kind: math.FpTest(a, kind=k)) for t in FLOATS)
    for pair in (math.CopySign, math.MinNan, math.MaxNan):
        yield from (Spelling("math", (t, t), pair) for t in vectors(*FLOATS))
    for approx in math.Approx.__subclasses__():
        for name, form in approx.forms.items():
            for t in vectors(SCALARS[name]):
                yield Spelling("math", (t,), approx)
                if "{ftz}" in form:
                    yield Spelling("math", (t,), lambda a, c=approx: c(a, ftz=True))
    for full in (False, True):
        for ftz in (False, True):
            yield Spelling("math", (f32, f32), lambda a, b, g=full, h=ftz: math.DivApprox(a, b, full=g, ftz=h))
    for rest in (math.Fmod, math.Remainder):
        yield from (Spelling("long math", (t, t), rest) for t in (f32, f64, Vec(f32, 2)))
    yield from (Spelling("long math", (t,), trig.TrigReduce) for t in (f32, f64, Vec(f32, 2)))
    yield from (Spelling("math", (t, t, t), arith.Fma) for t in vectors(*FLOATS))


def _bits() -> Iterator[Spelling]:
    for count in (bits.Popc, bits.Clz, bits.Ctz, bits.Brev):
        yield from (Spelling("bits", (t,), count) for t in (*INTS, Vec(u32, 3)))
    for t in (*WORDS, Vec(i32, 3)):
        n = Vec(i32, 3) if isinstance(t, Vec) else i32
        yield Spelling("bits", (t, n, n), bits.Bfe)
        yield Spelling("bits", (t, t, n, n), bits.Bfi)
        yield Spelling("bits", (t, t), bits.MulHi)
        yield Spelling("bits", (t, t, t), bits.Sad)
    for t in (i32, u32):
        for mode in bits.PRMT_MODES:
            yield Spelling("bits", (t, t, t), lambda a, b, s, m=mode: bits.Prmt(a, b, s, m))
        yield Spelling("bits", (t, t, t), lambda a, b, c: bits.Lop3(a, b, c, 0xE8))
        for direction in "lr":
            for clamp in (False, True):
                make = lambda a, b, n, d=direction, c=clamp: bits.Shf(a, b, n, d, c)  # noqa: E731
                yield Spelling("bits", (t, t, i32), make)
        yield Spelling("bits", (t, t), bits.Mul24)
        yield Spelling("bits", (t, t, t), bits.Mad24)
    yield from (Spelling("bits", (t, t), bits.MulWide) for t in (i16, u16, i32, u32, Vec(i32, 2)))
    for a in (i32, u32):
        for b in (i32, u32):
            c = u32 if a == b == u32 else i32
            yield Spelling("bits", (a, b, c), bits.Dp4a)
            for high in (False, True):
                yield Spelling("bits", (a, b, c), lambda x, y, z, h=high: bits.Dp2a(x, y, z, h))
    for saturating in (bits.AddSat, bits.SubSat):
        yield from (Spelling("bits", (t, t), saturating) for t in (*INTS, Vec(i16, 2)))


def _atomics() -> Iterator[Spelling]:
    for operation, names in atomics.OPERATIONS.items():
        for name in names:
            for space in POINTERS:
                t = SCALARS[name]
                yield Spelling("atom", (space, t), lambda p, a, o=operation: atomics.Atom(p, o, a))
                if operation != "exch":
                    yield Spelling("red", (space, t), lambda p, a, o=operation: atomics.Red(p, o, a))
    for name, counts in atomics.VECTORS.items():
        for n in counts:
            spaces = POINTERS if n == 2 and name != "f32" else (GMEM, GENERIC)
            for space in spaces:
                types = (space, Vec(SCALARS[name], n))
                yield Spelling("atom", types, lambda p, a: atomics.Atom(p, "add", a))
                yield Spelling("red", types, lambda p, a: atomics.Red(p, "add", a))
    for semantic in atomics.SEMANTICS:
        for scope in atomics.SCOPES:
            order = (semantic, scope)
            yield Spelling("atom", (GMEM, u32), lambda p, a, o=order: atomics.Atom(p, "add", a, *o))
            yield Spelling("atom", (SMEM, f32, f32), lambda p, c, a, o=order: atomics.AtomCas(p, c, a, *o))
            if semantic in ("relaxed", "release"):
                yield Spelling("red", (GMEM, f32), lambda p, a, o=order: atomics.Red(p, "add", a, *o))
                yield Spelling("order", (GMEM, f32), lambda p, a, o=order: atomics.StoreStrong(p, a, *o))
            if semantic in ("relaxed", "acquire"):
                yield Spelling("order", (GMEM,), lambda p, o=order: atomics.LoadStrong(p, u64, *o))
    for t in (u16, f16, i32, f32, u64, f64):
        yield Spelling("atom", (GMEM, t, t), atomics.AtomCas)
    for t in (i8, e4m3, bf16, f32, i64):
        for space in POINTERS:
            yield Spelling("order", (space,), lambda p, e=t: atomics.LoadStrong(p, e))
            yield Spelling("order", (space, t), atomics.StoreStrong)
        yield Spelling("order", (GMEM,), lambda p, e=t: atomics.LoadStrong(p, e, "volatile"))
        yield Spelling("order", (GMEM, t), lambda p, a: atomics.StoreStrong(p, a, "volatile"))
    for level in ("L1", "L2", "L2::evict_last"):
        yield Spelling("order", (GMEM,), lambda p, g=level: atomics.Prefetch(p, g))


def _warp() -> Iterator[Spelling]:
    for mode in warp.MODES:
        for width in (4, 32):
            make = lambda a, n, m, o=mode, w=width: warp.Shuffle(a, n, m, o, w)  # noqa: E731
            yield from (Spelling("warp", (t, i32, u32), make) for t in (f32, u32, Vec(i32, 3)))
    for vote in ("all", "any", "uni"):
        yield Spelling("warp", (boolean, u32), lambda a, m, v=vote: warp.Vote(a, m, v))
    yield Spelling("warp", (boolean, u32), warp.Ballot)
    for t in (u32, f32, i64, f64):
        yield Spelling("warp", (t, u32), warp.MatchAny)
        yield Spelling("warp", (t, u32), warp.MatchAll)
    for operation in warp.Redux.integer:
        for t in (i32, u32):
            yield Spelling("warp", (t, u32), lambda a, m, o=operation: warp.Redux(a, m, o))
    for flags in ((False, False), (True, False), (False, True), (True, True)):
        yield Spelling("warp", (f32, u32), lambda a, m, f=flags: warp.Redux(a, m, "max", *f))
    yield Spelling("warp", (), warp.ActiveMask)
    yield Spelling("warp", (u32,), warp.WarpSync)


def _block() -> Iterator[Spelling]:
    for aligned in (True, False):
        yield Spelling("block", (), lambda g=aligned: sync.BarSync(aligned=g))
        yield Spelling("block", (), lambda g=aligned: sync.BarSync(3, 64, aligned=g))
        yield Spelling("block", (i32,), lambda n, g=aligned: sync.BarSync(0, 64, n, g))
        yield Spelling("block", (), lambda g=aligned: sync.BarArrive(3, 64, aligned=g))
        yield Spelling("block", (i32,), lambda n, g=aligned: sync.BarArrive(0, 64, n, g))
    for operation in ("and", "or", "popc"):
        yield Spelling("block", (boolean,), lambda a, o=operation: sync.BarRed(a=a, operation=o))
        yield Spelling("block", (boolean, i32), lambda a, n, o=operation: sync.BarRed(0, 32, n, a, o))
    for semantic in sync.FENCES:
        for scope in atomics.SCOPES:
            yield Spelling("block", (), lambda s=semantic, r=scope: sync.Fence(s, r))
    yield Spelling("block", (u32,), sync.Nanosleep)
    fmt = "%% %d %5.2f %llx %u %p %g\n"
    yield Spelling("block", (i32, f32, i64, u8, GMEM, bf16), lambda *a: debug.Printf(fmt, a))
    yield Spelling("block", (), lambda: debug.Printf("no numbers\n", ()))
    yield Spelling("block", (), debug.Trap)
    yield Spelling("block", (), debug.Brkpt)
    yield Spelling("block", (u32, Vec(f32, 2)), _inline_ptx)


def _inline_ptx(a: Value, v: Value) -> Op:
    text = "{ .reg .b32 t; add.u32 t, $a, 1; mov.b32 $out0, t; mov.b64 $out1, $v; }"
    return asm.InlinePtx(text, ("a", "v"), (a, v), (u32, u64), pure=True)


def kernel(of: list[Spelling], target: Target | None = None) -> Function:
    """A kernel that loads the operands of each from memory, executes it, and stores its results."""
    params = {t: Value(t, hint=t.space) for t in POINTERS}
    block = Block(tuple(params.values()))
    builder = Builder(Function("spellings", [block], {}, {"block": (128, 1, 1)}), block, target)
    memory = _Memory(builder, params[GMEM])
    for spelling in of:
        operands = [params[t] if isinstance(t, Ptr) else memory.load(t) for t in spelling.types]
        op = spelling.make(*operands)
        builder.emit(op)
        for result in op.results:
            memory.store(result)
    builder.emit(Ret())
    return builder.function


class _Memory:
    """Loads and stores at ever new places."""

    def __init__(self, builder: Builder, base: Value) -> None:
        self.builder, self.base, self.offset = builder, base, 0

    def _place(self) -> Value:
        self.offset += 16
        distance = self.builder.emit(arith.Const(self.offset, i32))
        return self.builder.emit(PtrAdd(self.base, distance, 16))  # type: ignore[no-any-return]

    def load(self, t: Type) -> Value:
        items = [self.builder.emit(Load(self._place(), elem_of(t))) for _ in range(t.n if isinstance(t, Vec) else 1)]
        return self.builder.emit(arith.VecMake(tuple(items))) if isinstance(t, Vec) else items[0]  # type: ignore[no-any-return]

    def store(self, value: Value) -> None:
        count = value.type.n if isinstance(value.type, Vec) else 0
        elements = [self.builder.emit(arith.VecGather(value, (i,), scalar=True)) for i in range(count)]
        for element in elements or [value]:
            self.builder.emit(Store(self._place(), element))
