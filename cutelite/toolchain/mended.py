"""PTX without the instructions that ptxas computes otherwise than they say.

In    PTX of a backend. Out   the same, with others in their places:

neg.s16, abs.s16     are computed in 32 bits, and not cut to 16 again: of -32768 comes 32768, and a shift, comparison
                     or widening behind it goes wrong. PTX ISA does not say what becomes of the most negative number
abs.s32, abs.s64     are never below 0 to ptxas: a sign test behind them (also that of a remainder) is left out, and
                     the most negative number, which is its own absolute value, is taken for a positive one
add.sat, sub.sat     of a negated number take minus -2**31 for 2**31; so does cvt.sat, to which ptxas folds back their
                     sum in 64 bits. Sums with the bits of an overflow looked at are computed rightly
not.pred %p, %p      a selp by it in a loop behind is made one by the predicate of before, which is overwritten by then:
                     the wrong one of its two values is taken
selp, and, or, xor,  of a predicate that is written again behind them, by which time ptxas reads it: where one operand
not of predicates    of a logical one is known to it, so that the result is the other, as `or.pred p, q, 0` is; where it
                     folds constants of a selp into an addition behind. A copy through a number is not made one again
min, max of 16 bits  that are compared with an operand: VIMNMX.S16x2 has a predicate for the first being the result,
                     and it is taken also where the second, a constant, is compared: max(x, 3) == 3 becomes the
                     code of max(x, 3) == x. Made of the complement of `!=`, neither is taken from there
lop3 with an operand  is merged with a logical instruction behind it as another function than it is. It is written as
that comes twice     one of two operands, or as mov or not
mul.hi as 64 bits    less a number whose low 32 bits are 0 is 2**32 too small: multiplied and subtracted in one (IMAD.HI
                     with the negated number, of which 0 leaves no carry). As half of mul.wide it is subtracted alone
atom, red in shared  those that ptxas makes loops of (compare and swap until nobody came between): where one begins a
memory, in a loop    loop, both loops get one head, and threads that are done go on to the next round while others try
                     again. What the warp has once, such as the counter of the loop, is then stepped for each part of
                     it: rounds are missing. A predicate that ptxas cannot move out of the loop goes before them

Seen with ptxas 13.0.88 for sm_90a; 13.5.37 does abs, not.pred, selp, min, max and lop3 rightly.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

_OF_16_BITS = re.compile(r"\b(neg|abs)\.s16\s+(%\w+), (%\w+);")
_ABS = re.compile(r"abs\.s(32|64)\s+(%\w+), (%\w+);")
_SATURATING = re.compile(r"\b(add|sub)\.sat\.s32\s+(%\w+), (%\w+|-?\d+), (%\w+|-?\d+);")
_IN_PLACE = re.compile(r"\bnot\.pred\s+(%\w+), \1;")
_PREDICATE = re.compile(r"%p\d+(?=[,|])")
_TAKES_PREDICATES = re.compile(
    r"(?:@!?[%\w]+\s+)?\b(?P<word>selp\.\w+|(?:and|or|xor|not)\.pred|setp\.\w+\.(?:and|or|xor)\.\w+)\s+"
    r"(?P<out>[%\w|]+),(?P<operands>[^;]*);"
)
_LEAST_OR_MOST = re.compile(r"m(?:in|ax)(?:\.relu)?\.[su]16(?:x2)?\s+([%\w]+),")
_COPY = re.compile(r"\b(?:mov|cvt)\.[\w.]+\s+([^;,{]+|\{[^;}]*\}),\s*([^;,{]+|\{[^;}]*\});")
_REGISTER = re.compile(r"[%A-Za-z]\w*")
_EQUAL = re.compile(r"(@!?[%\w]+\s+)?\bsetp\.eq\.([bsu](?:16|32)\s+)([%\w]+),\s*([%\w]+|-\d+),\s*([%\w]+|-\d+);")
_LOP3 = re.compile(r"lop3\.b32\s+([%\w]+), (%\w+), (%\w+), (%\w+), (\d+);")
_HIGH_HALF = re.compile(r"mul\.hi\.([us]32)\s+(%\w+), (%\w+), (%\w+|-?\d+);")
_WIDENED = [re.compile(r"cvt\.u64\.u32\s+%\w+, (%\w+);"), re.compile(r"mov\.b64\s+%\w+, \{(%\w+), %\w+\};")]
_SPINNING = re.compile(
    r"(?:@(?P<guard>!?[%\w]+)\s+)?"
    r"\b(?P<update>(?:atom|red)\.(?:\w+\.)*shared(?:::cta)?\.(?:add|min|max|and|or|xor)\."
    r"(?:noftz\.)?(?:f32|f64|f16x2|bf16x2|[usb]64)\s[^;]*;)"
)
_IN_SHARED = re.compile(r"shared(?:::cta)?\.(?:add|min|max|and|or|xor)\.")  # found 80 times as fast
_BRANCH = re.compile(r"\bbra(?:\.uni)?\s+([$%\w]+);|\.branchtargets\s+([^;]*);")
_LABEL = re.compile(r"([$%\w]+):(?!:)")


def mended(ptx: str) -> str:
    if ".s16 " in ptx:
        ptx = _OF_16_BITS.sub(
            r"{ .reg .b32 wide; cvt.s32.s16 wide, \3; \1.s32 wide, wide; cvt.u16.u32 \2, wide; }", ptx
        )
    if "abs.s" in ptx:  # the 32 bits of abs.s16 are left: they hold no most negative number, and cannot match
        ptx = _ABS.sub(r"{ .reg .b\1 minus; neg.s\1 minus, \3; min.u\1 \2, \3, minus; }", ptx)
    if ".sat.s32 " in ptx:
        ptx = _SATURATING.sub(_by_its_overflow, ptx)
    if "%p" in ptx:
        ptx = _read_at_once(ptx)
    if "not.pred" in ptx:
        ptx = _IN_PLACE.sub(r"{ .reg .b32 no; selp.b32 no, 0, 1, \1; setp.ne.b32 \1, no, 0; }", ptx)
    if _LEAST_OR_MOST.search(ptx):
        ptx = _not_unequal(ptx)
    if "lop3.b32" in ptx:
        ptx = _LOP3.sub(_of_fewer, ptx)
    if "mul.hi." in ptx:
        ptx = _as_half(ptx)
    if _IN_SHARED.search(ptx):
        ptx = _loops_apart(ptx)
    return ptx


def _by_its_overflow(found: re.Match[str]) -> str:
    """The sum, or where its sign is wrong, the end of the range on the other side."""
    word, out, a, b = found.groups()
    other = "sum" if word == "add" else "a"  # overflow: the sum's sign is not that of a, nor is that of `other` b's
    lines = [f"mov.b32 a, {a};", f"mov.b32 b, {b};", f"{word}.s32 sum, a, b;"]
    lines += [f"xor.b32 c, sum, a; xor.b32 d, {other}, b; and.b32 c, c, d; setp.lt.s32 over, c, 0;"]
    lines += [f"shr.s32 c, sum, 31; xor.b32 c, c, 0x80000000; selp.b32 {out}, c, sum, over;"]
    return f"{{ .reg .b32 a, b, c, d, sum; .reg .pred over; {' '.join(lines)} }}"


def _read_at_once(ptx: str) -> str:
    """Predicates that are written more than once: those that a number says are read for `selp` and logic."""
    again = _written_again(ptx)
    if not again:
        return ptx

    def copied(found: re.Match[str]) -> str:
        operands = found["operands"]
        read = again.intersection(re.findall(r"%p\d+", operands))
        if not read or (found["word"] == "not.pred" and found["out"] in read):  # that one is `_IN_PLACE`
            return found[0]
        lines = []
        for i, name in enumerate(sorted(read)):
            lines.append(f".reg .b32 bit{i}; .reg .pred was{i}; selp.b32 bit{i}, 1, 0, {name};")
            lines.append(f"setp.ne.b32 was{i}, bit{i}, 0;")
            operands = re.sub(rf"{name}\b", f"was{i}", operands)
        text = found[0][: found.start("operands") - found.start()]
        return f"{{ {' '.join(lines)} {text}{operands}; }}"

    *statements, end = ptx.split(";")  # of which few name one
    return "".join(_TAKES_PREDICATES.sub(copied, f"{s};") if "%p" in s else f"{s};" for s in statements) + end


def _written_again(ptx: str) -> set[str]:
    """Predicates that stand first in more than one instruction."""
    times = Counter(found[0] for found in _PREDICATE.finditer(ptx) if ptx[found.start() - 2 : found.start()] != ", ")
    return {name for name, n in times.items() if n > 1}


def _not_unequal(ptx: str) -> str:
    """Comparisons for equality with a `min` or `max` of 16 bits: the complement of the opposite comparison."""
    results = set(_LEAST_OR_MOST.findall(ptx))
    for to, of in _COPY.findall(ptx):
        if results.intersection(_REGISTER.findall(of)):
            results.update(_REGISTER.findall(to))

    def unequal(found: re.Match[str]) -> str:
        guard, t, out, a, b = found.groups()
        if not results & {a, b}:
            return found[0]
        return f"{{ .reg .pred differ; {guard or ''}setp.ne.{t}differ|{out}, {a}, {b}; }}"

    return _EQUAL.sub(unequal, ptx)


def _of_fewer(found: re.Match[str]) -> str:
    """A function of three operands by its table, as one of those that differ."""
    out, *operands, table = found.groups()
    distinct = list(dict.fromkeys(operands))
    if len(distinct) == 3:
        return found[0]
    places = [distinct.index(operand) for operand in operands]

    def value(*bits: int) -> int:
        a, b, c = (bits[place] for place in places)
        return int(table) >> (4 * a + 2 * b + c) & 1

    if len(distinct) == 2:
        less = sum(value(a, b) << (4 * a + 2 * b + c) for a in (0, 1) for b in (0, 1) for c in (0, 1))
        return f"lop3.b32 {out}, {distinct[0]}, {distinct[1]}, 0, {less};"
    of_one = {(0, 0): "mov.b32 {}, 0;", (0, 1): "mov.b32 {}, {};", (1, 0): "not.b32 {}, {};", (1, 1): "mov.b32 {}, -1;"}
    return of_one[value(0), value(1)].format(out, *distinct)


def _as_half(ptx: str) -> str:
    """High halves of products that become 64 bits wide, as halves of products of 64 bits."""
    widened = {low for widening in _WIDENED for low in widening.findall(ptx)}

    def half(found: re.Match[str]) -> str:
        t, out, a, b = found.groups()
        if out not in widened:
            return found[0]
        return f"{{ .reg .b64 product; mul.wide.{t} product, {a}, {b}; mov.b64 {{_, {out}}}, product; }}"

    return _HIGH_HALF.sub(half, ptx)


def _loops_apart(ptx: str) -> str:
    """Atomic updates that become loops, kept from the head of a loop that they are in."""
    loops = list(_loops(ptx))

    def guarded(found: re.Match[str]) -> str:
        if not any(first < found.start() < last for first, last in loops):
            return found[0]
        test = "setp.ne.b32 mended_any, mended_lanes, 0"
        if found["guard"]:
            test = f"setp.ne.and.b32 mended_any, mended_lanes, 0, {found['guard']}"
        return (
            "{ .reg .b32 mended_lanes; .reg .pred mended_any; activemask.b32 mended_lanes; "
            f"{test}; @mended_any {found['update']} }}"
        )

    return _SPINNING.sub(guarded, ptx)


def _loops(ptx: str) -> Iterator[tuple[int, int]]:
    """Where each begins and ends in the text: from a label to the last branch back to it."""
    last: dict[str, int] = {}
    for branch in _BRANCH.finditer(ptx):
        for label in re.findall(r"[$%\w]+", branch[1] or branch[2]):
            last[label] = branch.start()
    for label in _LABEL.finditer(ptx):
        if label.start() < last.get(label[1], 0):
            yield label.start(), last[label[1]]
