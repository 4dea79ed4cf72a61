"""`lop3` of two operands and a logical instruction of the same two: their table, read off the machine code."""

import re

from tests.toolchain.ptxas_bugs.frames import OF_NUMBERS

REWRITTEN = {
    "lop3.b32 %r3, %r1, %r2, %r1, 29;": "lop3.b32 %r3, %r1, %r2, 0, 15;",
    "lop3.b32 %r3, %r1, %r1, %r2, 150;": "lop3.b32 %r3, %r1, %r2, 0, 204;",
    "lop3.b32 %r3, %r1, %r2, %r2, 232;": "lop3.b32 %r3, %r1, %r2, 0, 204;",
    "lop3.b32 %r3, %r1, %r1, %r1, 1;": "not.b32 %r3, %r1;",
    "lop3.b32 %r3, %r1, %r1, %r1, 128;": "mov.b32 %r3, %r1;",
    "lop3.b32 %r3, %r1, %r1, %r1, 129;": "mov.b32 %r3, -1;",
    "lop3.b32 %r3, %r1, %r1, %r1, 24;": "mov.b32 %r3, 0;",
}
UNCHANGED = ["lop3.b32 %r4, %r1, %r2, %r3, 29;"]
REPRODUCERS = [
    OF_NUMBERS.replace(
        "...",
        "ld.global.b32 %r1, [%rd1]; ld.global.b32 %r2, [%rd1+4]; "
        "lop3.b32 %r3, %r1, %r2, %r1, 29; xor.b32 %r4, %r1, %r2; and.b32 %r5, %r3, %r4; st.global.b32 [%rd1], %r5;",
    )
]

LOADED = re.compile(r"LDG\.E (R\d+),")
LOGIC = re.compile(r"LOP3\.LUT (R\d+), (R\w+), (R\w+), (R\w+), (0x[0-9a-f]+),")
BITS = {"RZ": 0b0000}


def shows(sass: str) -> bool:
    """Run the machine code on all four pairs of bits; ``~a & (a ^ b)`` is ``~a & b``."""
    registers = {**BITS, **dict(zip(LOADED.findall(sass), (0b1100, 0b1010), strict=True))}
    result = -1
    for out, *operands, table in LOGIC.findall(sass):
        a, b, c = (registers[name] for name in operands)
        places = [(a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1) for i in range(4)]
        result = registers[out] = sum((int(table, 16) >> place & 1) << i for i, place in enumerate(places))
    return result != 0b0010
