"""Integer instructions that Python has no operator for, against Python's integers."""

from typing import Any

from cutelite.ir.types import Vec, elem_of, f32, i8, i16, i32, i64, u16, u32
from cutelite.ops import bits
from tests.vocabulary.numbers import limits
from tests.vocabulary.row import INTEGERS, WORDS, Row, alike, ints, of, result_of, unsigned

COUNTED = [of(t) for t in (*INTEGERS, Vec(u32, 3))]
COUNTS = "i8; i32; i64; vec<i32,2>; vec<u8,4>"
FIELDS = [*((t, i32) for t in WORDS), (Vec(i32, 3), Vec(i32, 3))]
WHOLE = "i32 i32; u32 u32; i64 i64; u64 u64; vec<i32,2> vec<i32,2>"
SATURATED = "i8 i8; u8 u8; i32 i32; vec<i32,2> vec<i32,2>; vec<u8,4> vec<u8,4>"
DOTS = [of(a, b, u32 if a == b == u32 else i32) for a in (i32, u32) for b in (i32, u32)]
DOTTED = "i32 i32 i32; u32 u32 u32; vec<i32,2> vec<i32,2> vec<i32,2>; i32 u32 i32; u32 i32 i32"
PERMUTED = {  # by the two low bits of the selector; lowest byte first (PTX ISA: prmt)
    "f4e": [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]],
    "b4e": [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]],
    "rc8": [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]],
    "ecl": [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]],
    "ecr": [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]],
    "rc16": [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
}


def in_bits(op: Any, x: int) -> str:
    return f"{unsigned(x, op.a.type):0{elem_of(op.a.type).bits}b}"


def extracted(op: Any, a: int, start: int, length: int) -> int:
    """PTX ISA, bfe: bits beyond the top are copies of the sign, which is 0 for unsigned ones."""
    t = elem_of(op.a.type)
    start, length, top = start & 255, length & 255, t.bits - 1
    sign = 0 if t.kind == "uint" or length == 0 else a >> min(start + length - 1, top) & 1
    return sum((a >> start + i & 1 if i < length and start + i <= top else sign) << i for i in range(t.bits))


def inserted(op: Any, a: int, b: int, start: int, length: int) -> int:
    mask = ((1 << (length & 255)) - 1) << (start & 255)
    return b & ~mask | a << (start & 255) & mask


def masked(op: Any, start: int, length: int) -> int:
    start, length = unsigned(start, u32), unsigned(length, u32)
    if op.mode == "wrap":
        start, length = start % 32, length % 32
    return sum(1 << i for i in range(32) if start <= i < start + length)


def extended(op: Any, x: int, length: int) -> int:
    length = unsigned(length, u32)
    length = length % 32 if op.mode == "wrap" else min(length, 32)
    low = x % (1 << length)
    return low - (1 << length) if elem_of(op.x.type).kind == "int" and 2 * low >= 1 << length > 1 else low


def permuted(op: Any, a: int, b: int, selector: int) -> int:
    octets = (unsigned(b, u32) << 32 | unsigned(a, u32)).to_bytes(8, "little")
    digits = PERMUTED[op.mode][selector & 3] if op.mode else [selector >> 4 * i & 15 for i in range(4)]
    return int.from_bytes([octets[d & 7] if d < 8 else 255 * (octets[d & 7] >> 7) for d in digits], "little")


def looked_up(op: Any, a: int, b: int, c: int) -> int:
    return sum((op.table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))


def shifted(op: Any, low: int, high: int, amount: int) -> int:
    whole = unsigned(high, u32) << 32 | unsigned(low, u32)
    n = min(unsigned(amount, i32), 32) if op.clamp else amount % 32
    return whole << n >> 32 if op.direction == "l" else whole >> n


def low24(op: Any, x: int) -> int:
    return (x & 0xFFFFFF) - (1 << 24 if op.a.type == i32 and x & 0x800000 else 0)


def parts(x: int, t: Any, size: int) -> list[int]:
    octets = unsigned(x, t).to_bytes(4, "little")
    return [int.from_bytes(octets[i : i + size], "little", signed=t == i32) for i in range(0, 4, size)]


def dot(op: Any, a: int, b: int, c: int) -> int:
    size = 2 if op.name == "dp2a" else 1
    octets = parts(b, op.b.type, 1)[2 * getattr(op, "high", False) :]
    return c + sum(x * y for x, y in zip(parts(a, op.a.type, size), octets, strict=False))


def count(op: Any, word: str, function: Any) -> Row:
    return Row(op, f"cl.{word}({{0}})", COUNTED, ints(lambda op, x: function(in_bits(op, x))), shown=COUNTS)


def saturating(op: Any, word: str, sign: int) -> Row:
    def stopped(op: Any, a: int, b: int) -> int:
        low, high = limits(result_of(op))
        return min(max(a + sign * b, low), high)

    forms, refused = alike((*INTEGERS, Vec(i16, 2)), 2), [(of(f32, f32), f"{op.name} does not take f32")]
    return Row(op, f"cl.{word}({{0}}, {{1}})", forms, ints(stopped), shown=SATURATED, refuses=refused)


ROWS = [
    Row(
        bits.Popc,
        "cl.popc({0})",
        COUNTED,
        ints(lambda op, x: in_bits(op, x).count("1")),
        shown=COUNTS,
        refuses=[(of(f32), "popc does not take f32")],
    ),
    count(bits.Clz, "clz", lambda text: len(text) - len(text.lstrip("0"))),
    count(bits.Ctz, "ctz", lambda text: len(text) - len(text.rstrip("0"))),
    Row(bits.Brev, "cl.brev({0})", COUNTED, ints(lambda op, x: int(in_bits(op, x)[::-1], 2)), shown="i8; vec<i32,2>"),
    Row(
        bits.Bfe,
        "cl.bfe({0}, {1}, {2})",
        [of(t, n, n) for t, n in FIELDS],
        ints(extracted),
        amounts=(1, 2),
        shown="i32 i32 i32; u32 i32 i32; i64 i32 i32; u64 i32 i32",
        refuses=[
            (of(i16, i32, i32), "bfe takes i32 or u32 or i64 or u64, not i16"),
            (of(i64, i64, i32), "`start` of bfe is i64, not i32"),
        ],
    ),
    Row(
        bits.Bfi,
        "cl.bfi({0}, {1}, {2}, {3})",
        [of(t, t, n, n) for t, n in FIELDS],
        ints(inserted),
        amounts=(2, 3),
        shown="i32 i32 i32 i32; i64 i64 i32 i32",
        refuses=[(of(i64, i32, i32, i32), "`b` of bfi is i32, not i64")],
    ),
    Row(
        bits.Bmsk,
        lambda op: f"cl.bmsk({{0}}, {{1}}, wrap={op.mode == 'wrap'})",
        [of(t, t, mode) for t in (i32, u32) for mode in ("clamp", "wrap")] + [of(Vec(u32, 2), Vec(u32, 2))],
        ints(masked),
        amounts=(0, 1),
        refuses=[
            (of(i64, i64), "bmsk takes u32 or i32, not i64"),
            (of(u32, u32, "cut"), "`mode` of .* is 'cut', but must"),
        ],
    ),
    Row(
        bits.Szext,
        lambda op: f"cl.szext({{0}}, {{1}}, wrap={op.mode == 'wrap'})",
        [of(t, t, mode) for t in (i32, u32) for mode in ("clamp", "wrap")] + [of(Vec(i32, 2), Vec(i32, 2))],
        ints(extended),
        amounts=(1,),
        refuses=[
            (of(i64, i64), "szext takes u32 or i32, not i64"),
            (of(u32, u32, "cut"), "`mode` of .* is 'cut', but must"),
        ],
    ),
    Row(
        bits.Prmt,
        "cl.prmt({0}, {1}, {2}, {mode!r})",
        [of(t, t, t, mode) for t in (i32, u32) for mode in bits.PRMT_MODES],
        ints(permuted),
        shown="i32 i32 i32; i32 i32 i32 mode='f4e'",
        refuses=[(of(u32, u32, u32, "f8e"), "`mode` of .* is 'f8e', but must")],
    ),
    Row(
        bits.Lop3,
        "cl.lop3({0}, {1}, {2}, {table})",
        [of(t, t, t, table) for t in (i32, u32) for table in (0xE8, 0x96, 0x1D, 0xCA)],
        ints(looked_up),
        shown="i32 i32 i32 table=234; vec<i32,2> vec<i32,2> vec<i32,2> table=234",
        refuses=[(of(u32, u32, u32, 256), "`table` of .* is 256, but must")],
    ),
    Row(
        bits.Shf,
        lambda op: f"cl.funnel_{'left' if op.direction == 'l' else 'right'}({{0}}, {{1}}, {{2}}, clamp={op.clamp})",
        [of(t, t, i32, direction, clamp) for t in (i32, u32) for direction in "lr" for clamp in (False, True)],
        ints(shifted),
        amounts=(2,),
        shown="; ".join(f"i32 i32 i32 direction='{d}'{c}" for d in "lr" for c in ("", " clamp=True")),
        refuses=[(of(u32, u32, i32, "left"), "`direction` of .* is 'left', but must")],
    ),
    Row(
        bits.MulHi,
        "cl.mul_hi({0}, {1})",
        alike((*WORDS, Vec(i32, 3)), 2),
        ints(lambda op, a, b: a * b >> elem_of(op.a.type).bits),
        shown=WHOLE,
    ),
    Row(
        bits.MulWide,
        "cl.mul_wide({0}, {1})",
        alike((i16, u16, i32, u32, Vec(i32, 2)), 2),
        ints(lambda op, a, b: a * b),
        shown="i16 i16; u16 u16; vec<i32,2> vec<i32,2>; vec<u16,2> vec<u16,2>",
        refuses=[(of(i64, i64), "mul.wide takes i16, u16, i32 or u32, not i64")],
    ),
    Row(
        bits.Mul24,
        "cl.mul24({0}, {1})",
        alike((i32, u32), 2),
        ints(lambda op, a, b: low24(op, a) * low24(op, b)),
        shown="i32 i32; u32 u32; vec<i32,2> vec<i32,2>",
    ),
    Row(
        bits.Mad24,
        "cl.mad24({0}, {1}, {2})",
        alike((i32, u32), 3),
        ints(lambda op, a, b, c: low24(op, a) * low24(op, b) + c),
        shown="i32 i32 i32; u32 u32 u32; vec<i32,2> vec<i32,2> vec<i32,2>",
    ),
    Row(
        bits.Sad,
        "cl.sad({0}, {1}, {2})",
        alike((*WORDS, Vec(i32, 3)), 3),
        ints(lambda op, a, b, c: c + abs(a - b)),
        shown="; ".join(f"{pair} {pair.split()[0]}" for pair in WHOLE.split("; ")),
    ),
    Row(
        bits.Dp4a,
        "cl.dp4a({0}, {1}, {2})",
        DOTS,
        ints(dot),
        shown=DOTTED,
        refuses=[
            (of(i32, u32, u32), "`c` must be i32"),
            (of(i8, u32, u32), "`a` of dp4a is i8, but must be four bytes"),
        ],
    ),
    Row(
        bits.Dp2a,
        "cl.dp2a({0}, {1}, {2}, high={high})",
        [of(*form.args, high) for form in DOTS for high in (False, True)],
        ints(dot),
        shown=f"{DOTTED}; i32 i32 i32 high=True",
    ),
    saturating(bits.AddSat, "add_sat", 1),
    saturating(bits.SubSat, "sub_sat", -1),
]
