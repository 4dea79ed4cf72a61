"""The products of tcgen05: dense and sparse, plain and scaled."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from cutelite.ir.types import SCALARS, Type, Vec, bf16, boolean, e4m3, f16, f32, i8, i32, u8, u32, u64
from cutelite.ops import tcgen05_mma
from cutelite.ops.narrow import FORMATS
from cutelite.ops.tcgen05_layouts import KINDS, SCALED_KINDS, kind_of
from tests.vocabulary import row
from tests.vocabulary.places import SMEM
from tests.vocabulary.row import Form, of
from tests.vocabulary.tcgen05 import TMEM, accumulator

Row = partial(row.Row, alone=True, tested="tests/blackwell/test_tcgen05.py")
SCALES = "tests/blackwell/test_scales.py"
BF16: dict[str, Any] = {"elem_a": bf16, "elem_b": bf16}
I8: dict[str, Any] = {"elem_a": i8, "elem_b": i8, "elem_d": i32}
STEPS = ((0, 0), (32, 32), (64, 2048), (96, 4096))


def product(m: int, n: int, a: Type = u64, **fields: Any) -> Form:
    d = accumulator(m, n, fields.get("elem_d", f32), fields.get("cta_group", 1), sparse="metadata" in fields)
    return of(d, a, u64, boolean, m=m, n=n, **fields)


def typed(operand: str, name: str) -> dict[str, Any]:
    """Return the fields for an operand of a type, or of a format held in u8."""
    if name in FORMATS:
        return {f"elem_{operand}": u8, f"format_{operand}": name}
    return {f"elem_{operand}": SCALARS[name]}


def products() -> Iterator[Form]:
    for kind in KINDS.values():
        for a in kind.ab:
            for b in kind.ab:
                for d in kind.d:
                    if not kind_of(a, b, d):
                        continue
                    types = {**typed("a", a), **typed("b", b), "elem_d": SCALARS[d]}
                    yield product(128, 64, **types)
                    yield product(128, 64, metadata=TMEM, steps=STEPS, **types)
                    if a == b:
                        yield product(64, 32, a=TMEM, **types)
                        yield product(64, 32, metadata=TMEM, **types)
    for n in (8, 16, 24, 32, 64, 256):
        yield product(64, n, **BF16)
        yield product(128, n, **BF16)
        if n % 16 == 0:
            yield product(128, n, cta_group=2, **BF16)
            yield product(256, n, cta_group=2, **BF16)
    for types in (BF16, {**typed("a", "tf32"), **typed("b", "tf32")}, {**typed("a", "e2m1"), **typed("b", "e3m2")}):
        yield product(128, 64, a_major="MN", b_major="MN", **types)
    yield product(128, 64, negate_a=True, negate_b=True, **BF16)
    yield product(128, 64, saturate=True, elem_a=i8, elem_b=i8, elem_d=i32)
    yield product(128, 64, steps=STEPS, **BF16)
    yield product(128, 64, a=TMEM, steps=((0, 0), (8, 32)), **BF16)
    yield product(128, 64, mask=(u32,) * 4, **BF16)
    yield product(256, 64, mask=(u32,) * 8, cta_group=2, steps=STEPS, **BF16)
    yield product(128, 64, a=TMEM, metadata=TMEM, steps=((0, 0), (8, 64)), collector="lastuse", **BF16)
    yield product(256, 64, metadata=TMEM, cta_group=2, mask=(u32,) * 8, **BF16)
    yield product(128, 64, metadata=TMEM, cta_group=2, steps=STEPS, **BF16)
    yield product(128, 64, a=TMEM, metadata=TMEM, cta_group=2, elem_a=e4m3, elem_b=e4m3)
    for scale in (1, 15):
        yield product(128, 64, scale_d=scale, steps=STEPS, **BF16)
    yield product(128, 64, scale_d=2, metadata=TMEM, mask=(u32,) * 4, elem_a=f16, elem_b=f16, elem_d=f16)
    for collector in ("", "lastuse", "discard"):
        yield product(128, 64, a=TMEM, shift_a=True, collector=collector, **BF16)
    yield product(256, 64, a=TMEM, shift_a=True, cta_group=2, **BF16)
    for collector in ("fill", "use", "lastuse", "discard"):
        yield product(128, 64, collector=collector, **BF16)


def stationary() -> Iterator[Form]:
    """Yield products of .ws: every kind, shape and buffer, with and without a mask of columns."""

    def form(m: int, n: int, a: Type = u64, **fields: Any) -> Form:
        return of(accumulator(m, n, fields.get("elem_d", f32), ws=True), a, u64, boolean, m=m, n=n, **fields)

    for kind in KINDS.values():
        for a in kind.ab:
            for d in kind.d:
                if kind_of(a, a, d):
                    types = {**typed("a", a), **typed("b", a), "elem_d": SCALARS[d]}
                    yield form(64, 64, **types)
                    yield form(128, 128, metadata=TMEM, steps=STEPS, zero_columns=u64, **types)
    for m in (32, 64, 128):
        for n in (64, 128, 256):
            yield form(m, n, **BF16)
    for buffer in ("b0", "b1", "b2", "b3"):
        for action in ("fill", "use", "lastuse", "discard"):
            yield form(128, 64, collector=f"{buffer}::{action}", **BF16)
    yield form(128, 64, a=TMEM, steps=((0, 0), (8, 32)), zero_columns=u64, max_shift=16, **BF16)
    yield form(128, 64, a=TMEM, metadata=TMEM, collector="b2::use", **BF16)
    for m in (32, 64):
        yield form(m, 64, a=TMEM, steps=((0, 0), (8, 32)), **BF16)
        yield form(m, 128, metadata=TMEM, steps=STEPS, **BF16)
        yield form(m, 64, a=TMEM, metadata=TMEM, elem_a=e4m3, elem_b=e4m3)


def refused(words: str, *types: Type, **fields: Any) -> tuple[Form, str]:
    types = (*types, *(accumulator(128, 64), u64, u64, boolean)[len(types) :])
    return of(*types, **{"m": 128, "n": 64, **BF16, **fields}), words


def scaled() -> Iterator[Form]:
    for name, kind in SCALED_KINDS.items():
        types = [typed("a", t) for t in kind.ab] if not kind.packed else [{"elem_a": u8}]
        for block, scale in ((block, scale) for block, found in kind.scales.items() for scale in found):
            how: dict[str, Any] = {"scaled": name, "block": block, "scale": scale, "scale_a": TMEM, "scale_b": TMEM}
            how |= {"elem_b": u8 if kind.packed else e4m3}
            for of_a in types:
                yield product(128, 64, steps=STEPS, **of_a, **how)
                yield product(128, 64, metadata=TMEM, **of_a, **how)
                if "format_a" in of_a:
                    yield product(128, 64, a=TMEM, steps=((0, 0), (8, 32)), **of_a, **how)
            how |= {"elem_a": how["elem_b"]}
            yield product(256, 64, cta_group=2, **how)
            yield product(128, 64, cta_group=2, steps=STEPS, **how)
            yield product(128, 64, a=TMEM, cta_group=2, **how)
            yield product(256, 64, cta_group=2, metadata=TMEM, steps=STEPS, **how)
            yield product(128, 64, a=TMEM, steps=((0, 0), (8, 32)), **how)
            yield product(128, 64, a=TMEM, metadata=TMEM, collector="fill", **how)
    deep: dict[str, Any] = {"scale_a": TMEM, "scale_b": TMEM, "elem_a": u8, "elem_b": u8, "deep": True}
    across = ((0, 0), (48, 48), (96, 96), (16400, 4112))  # the third goes on in the next block of 128 bytes
    for name, block, scale in (("mxf4", 32, "ue8m0"), ("mxf4nvf4", 16, "ue4m3"), ("mxf4nvf4", 32, "ue8m0")):
        how = {"scaled": name, "block": block, "scale": scale, **deep}
        yield product(128, 64, steps=across, far=(16384, 4096), **how)
        yield product(256, 64, cta_group=2, **how)
    plain: dict[str, Any] = {"scale_a": TMEM, "scale_b": TMEM, "elem_a": e4m3, "elem_b": e4m3}
    yield product(128, 256, negate_a=True, **plain)
    yield product(128, 64, **typed("b", "e3m2"), **{k: v for k, v in plain.items() if k != "elem_b"})


def scaled_refused(words: str, **fields: Any) -> tuple[Form, str]:
    how: dict[str, Any] = {"m": 128, "n": 64, "elem_a": e4m3, "elem_b": e4m3, **fields}
    return of(accumulator(128, 64), u64, u64, boolean, scale_a=TMEM, scale_b=TMEM, **how), words


ROWS = [
    Row(
        tcgen05_mma.Mma,
        "cl.tcgen05.mma",
        list(products()),
        refuses=[
            refused("tcgen05.mma does not multiply f32 times bf16 into f32", elem_a=f32),
            refused("does not multiply bf16 times f16 into f32", elem_b=f16),
            refused("does not multiply bf16 times bf16 into f16", elem_d=f16),
            refused("M is 96; with cta_group::1 it is 64 or 128", m=96),
            refused("M is 64; with cta_group::2 it is 128 or 256", m=64, cta_group=2),
            refused("N is 20; kind::f16 with cta_group::1 takes multiples of 8 up to 256", n=20),
            refused("N is 24; kind::f16 with cta_group::2 takes multiples of 16", m=256, n=24, cta_group=2),
            refused("N is 40; kind::i8 with cta_group::1 takes multiples of 16", n=40, **I8),
            refused("N is 24; kind::f8f6f4 .* multiples of 16", n=24, elem_a=e4m3, elem_b=e4m3, b_major="MN"),
            refused("the accumulator is .*, but must be f32 in tensor memory", accumulator(128, 32)),
            refused("the accumulator is .*, but must be f32 in tensor memory", Vec(f32, 64)),
            refused("`a` of tcgen05.mma is in .*, but must be in tensor memory", accumulator(128, 64), SMEM),
            refused("A in tensor memory is always K-major", accumulator(128, 64), TMEM, a_major="MN"),
            refused("B is i32, but must be a descriptor", accumulator(128, 64), u64, i32),
            refused("accumulate is i32, not bool", accumulator(128, 64), u64, u64, i32),
            refused("`saturate` is for integers", saturate=True),
            refused("are not pairs of multiples of 16 bytes", steps=((8, 0),)),
            refused("in shared memory multiples of 16 bytes", steps=((0, 8),)),
            refused("a mask of lanes is 4 u32 words", mask=(u32,) * 8),
            refused("'keep' is none of fill, use", collector="keep"),
            refused("does not multiply e2m1 times bf16", elem_a=u8, format_a="e2m1"),
            refused("format_a is 'e2m1' of e4m3", elem_a=e4m3, elem_b=e4m3, format_a="e2m1"),
            refused("the accumulator is .*, but must be", accumulator(128, 64, f32, 2), cta_group=2, metadata=TMEM),
            refused("`metadata` of tcgen05.mma is in", metadata=SMEM),
            refused("kinds f16 and tf32 take 0 to 15", scale_d=16),
            refused("kinds f16 and tf32 take 0 to 15", elem_a=e4m3, elem_b=e4m3, scale_d=1),
            refused("shift_a needs A in tensor memory, with 128", shift_a=True),
            refused("does not take collector='use'", accumulator(128, 64), TMEM, shift_a=True, collector="use"),
        ],
    ),
    Row(
        tcgen05_mma.MmaWs,
        "cl.tcgen05.mma_ws",
        list(stationary()),
        tested="tests/blackwell/test_variants.py",
        refuses=[
            refused("M is 256; for tcgen05.mma.ws it is 32, 64 or 128", m=256),
            refused("N is 32; for tcgen05.mma.ws it is one of 64, 128, 256", n=32),
            refused("N is 256; for tcgen05.mma.ws it is one of 64, 128", n=256, metadata=TMEM),
            refused("the accumulator is .*, but must be f32 in tensor memory", m=64),
            refused("'b4::fill' is not one of b0 to b3", collector="b4::fill"),
            refused("'fill' is not one of b0 to b3", collector="fill"),
            refused("`max_shift` is 4, none of 0, 8, 16, 32", max_shift=4),
            refused(
                "products of 32 rows shift by 16 columns at most", accumulator(32, 64, ws=True), m=32, max_shift=32
            ),
            refused("must be u64", zero_columns=u32),
            refused("does not multiply f32 times bf16", elem_a=f32),
        ],
    ),
    Row(
        tcgen05_mma.MmaScaled,
        "cl.tcgen05.mma_scaled",
        list(scaled()),
        tested=SCALES,
        refuses=[
            scaled_refused("'mxf6' is none of mxf8f6f4, mxf4, mxf4nvf4", scaled="mxf6"),
            scaled_refused("kind::mxf8f6f4 multiplies e4m3 and e5m2 and e2m3 and e3m2 and e2m1 into", elem_a=bf16),
            scaled_refused("kind::mxf4 multiplies u8 into f32", scaled="mxf4"),
            scaled_refused("blocks of 16 scaled by ue8m0: kind::mxf8f6f4 has those of 32 by ue8m0", block=16),
            scaled_refused("M is 64; with block scales it is 128, for a pair 256", m=64),
            scaled_refused("M is 128; .* with a dense A", m=128, cta_group=2, metadata=TMEM),
            scaled_refused("96 numbers along K are for mxf4 and mxf4nvf4", deep=True),
            scaled_refused("N is 20; kind::mxf8f6f4 with cta_group::1 takes multiples of 8", n=20),
        ],
    ),
]
