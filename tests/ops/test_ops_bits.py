"""Integer instructions, against Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from cutelite import popc  # one by its public name
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import Scalar, Vec, i8, i16, i32, i64, u8, u16, u32, u64
from cutelite.lang import bits
from tests.ops.straight import evaluate

INTS = (i8, i16, i32, i64, u8, u16, u32, u64)
WORDS = (i32, u32, i64, u64)
RANDOM = np.random.default_rng(0)


def numbers(t: Scalar, count: int = 60) -> Any:
    low, high = t.range
    edges = [low, low + 1, 0, 1, 2, 3, high - 1, high, high // 2, high // 3]
    random = RANDOM.integers(low, high, count, dtype=numpy_dtype(t), endpoint=True)
    return np.concatenate(
        [np.array(edges, numpy_dtype(t)), random, random >> RANDOM.integers(0, t.bits, count, random.dtype)]
    )


def wrapped(x: int, t: Scalar) -> int:
    low, high = t.range
    return (x - low) % (high - low + 1) + low


def check(function: Callable[..., Any], types: tuple[Scalar, ...], python: Callable[..., int], *columns: Any) -> None:
    """`function` on run-time columns gives what `python` gives for each row."""
    got = evaluate(function, types, *columns)
    expected = [python(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    assert got.tolist() == expected


def pairs(t: Scalar) -> tuple[Any, Any]:
    a, b = zip(*product(numbers(t, 8), repeat=2), strict=True)
    return np.array(a, numpy_dtype(t)), np.array(b, numpy_dtype(t))


@pytest.mark.parametrize("t", INTS, ids=str)
def test_counting(t: Scalar) -> None:
    mask = (1 << t.bits) - 1
    text: Callable[[int], str] = lambda x: f"{x & mask:0{t.bits}b}"  # noqa: E731
    a = numbers(t)
    check(popc, (t,), lambda x: text(x).count("1"), a)
    check(bits.clz, (t,), lambda x: len(text(x)) - len(text(x).lstrip("0")), a)
    check(bits.ctz, (t,), lambda x: len(text(x)) - len(text(x).rstrip("0")), a)
    check(bits.ffs, (t,), lambda x: text(x)[::-1].find("1") + 1, a)
    check(bits.brev, (t,), lambda x: wrapped(int(text(x)[::-1], 2), t), a)


@pytest.mark.parametrize("t", WORDS, ids=str)
def test_bit_fields_as_the_ptx_isa_spells_them(t: Scalar) -> None:
    def extract(a: int, start: int, length: int) -> int:
        start, length, top = start & 255, length & 255, t.bits - 1
        sign = 0 if t.kind == "uint" or length == 0 else a >> min(start + length - 1, top) & 1
        taken = [a >> start + i & 1 if i < length and start + i <= top else sign for i in range(t.bits)]
        return wrapped(sum(bit << i for i, bit in enumerate(taken)), t)

    def insert(a: int, b: int, start: int, length: int) -> int:
        start, length = start & 255, length & 255
        for i in range(length):
            if start + i < t.bits:
                b = b & ~(1 << start + i) | (a >> i & 1) << start + i
        return wrapped(b, t)

    a = np.repeat(numbers(t), 8)
    start = RANDOM.integers(0, t.bits + 8, len(a)).astype(np.int32)
    length = RANDOM.integers(0, t.bits + 8, len(a)).astype(np.int32)
    start[:40], length[40:80] = 255 + 256, 0
    check(bits.bfe, (t, i32, i32), extract, a, start, length)
    check(bits.bfi, (t, t, i32, i32), insert, a, a[::-1].copy(), start, length)


def test_prmt_as_the_ptx_isa_tabulates_it() -> None:
    a, b = numbers(u32), numbers(u32)[::-1].copy()
    selector = RANDOM.integers(0, 1 << 16, len(a), np.uint32)

    def chosen(digits: Callable[[int], list[int]]) -> Callable[[int, int, int], int]:
        def permute(x: int, y: int, s: int) -> int:
            octets = (y << 32 | x).to_bytes(8, "little")
            taken = [octets[d & 7] if d < 8 else (255 if octets[d & 7] & 128 else 0) for d in digits(s)]
            return int.from_bytes(taken, "little")

        return permute

    check(bits.prmt, (u32, u32, u32), chosen(lambda s: [s >> 4 * i & 15 for i in range(4)]), a, b, selector)
    tables = {  # by the two low bits of the selector; lowest byte first
        "f4e": [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]],
        "b4e": [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]],
        "rc8": [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]],
        "ecl": [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]],
        "ecr": [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]],
        "rc16": [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
    }
    for mode, table in tables.items():
        expected = chosen(lambda s, rows=table: rows[s & 3])  # type: ignore[misc]
        check(lambda x, y, s, m=mode: bits.prmt(x, y, s, m), (u32, u32, u32), expected, a, b, selector)


def test_lop3_computes_any_function_of_three_bits() -> None:
    a, b, c = numbers(u32), numbers(u32)[::-1].copy(), RANDOM.permutation(numbers(u32))
    functions: list[Callable[[int, int, int], int]] = [lambda x, y, z: x & y | ~z, lambda x, y, z: x ^ y ^ z]
    functions += [lambda x, y, z: (x & y) | (x & z) | (y & z)]
    for f in functions:
        table = f(0xF0, 0xCC, 0xAA) & 0xFF
        check(
            lambda x, y, z, n=table: bits.lop3(x, y, z, n), (u32,) * 3,
            lambda x, y, z, g=f: g(x, y, z) & 0xFFFFFFFF, a, b, c,
        )  # fmt: skip


@pytest.mark.parametrize("clamp", [False, True])
def test_funnel_shifts(clamp: bool) -> None:
    low, high = numbers(u32), numbers(u32)[::-1].copy()
    amount = np.resize(np.arange(70, dtype=np.int32), len(low))
    count: Callable[[int], int] = lambda n: min(n, 32) if clamp else n % 32  # noqa: E731
    check(
        lambda x, y, n: bits.funnel_left(x, y, n, clamp=clamp), (u32, u32, i32),
        lambda x, y, n: ((y << 32 | x) << count(n) >> 32) & 0xFFFFFFFF, low, high, amount,
    )  # fmt: skip
    check(
        lambda x, y, n: bits.funnel_right(x, y, n, clamp=clamp), (u32, u32, i32),
        lambda x, y, n: ((y << 32 | x) >> count(n)) & 0xFFFFFFFF, low, high, amount,
    )  # fmt: skip


@pytest.mark.parametrize("t", WORDS, ids=str)
def test_products_and_differences(t: Scalar) -> None:
    a, b = pairs(t)
    check(bits.mul_hi, (t, t), lambda x, y: x * y >> t.bits, a, b)
    check(bits.sad, (t, t, t), lambda x, y, z: wrapped(z + abs(x - y), t), a, b, a)


@pytest.mark.parametrize("t", [i16, u16, i32, u32], ids=str)
def test_wide_products_lose_nothing(t: Scalar) -> None:
    check(bits.mul_wide, (t, t), lambda x, y: x * y, *pairs(t))


@pytest.mark.parametrize("t", [i32, u32], ids=str)
def test_products_of_24_bits(t: Scalar) -> None:
    def low24(x: int) -> int:
        return (x & 0xFFFFFF) - (1 << 24 if t == i32 and x & 0x800000 else 0)

    a, b = pairs(t)
    check(bits.mul24, (t, t), lambda x, y: wrapped(low24(x) * low24(y), t), a, b)
    check(bits.mad24, (t, t, t), lambda x, y, z: wrapped(low24(x) * low24(y) + z, t), a, b, b)


@pytest.mark.parametrize("t", INTS, ids=str)
def test_saturating_sums_stop_at_the_ends(t: Scalar) -> None:
    low, high = t.range
    check(bits.add_sat, (t, t), lambda x, y: min(max(x + y, low), high), *pairs(t))
    check(bits.sub_sat, (t, t), lambda x, y: min(max(x - y, low), high), *pairs(t))


@pytest.mark.parametrize("b", [i32, u32], ids=str)
@pytest.mark.parametrize("a", [i32, u32], ids=str)
def test_dot_products_of_the_parts_of_words(a: Scalar, b: Scalar) -> None:
    def parts(x: int, t: Scalar, size: int) -> list[int]:
        octets = (x & 0xFFFFFFFF).to_bytes(4, "little")
        return [int.from_bytes(octets[i : i + size], "little", signed=t == i32) for i in range(0, 4, size)]

    c = u32 if a == b == u32 else i32
    columns = numbers(a), numbers(b)[::-1].copy(), RANDOM.permutation(numbers(c))

    def dot(x: list[int], y: list[int], z: int) -> int:
        return wrapped(z + sum(p * q for p, q in zip(x, y, strict=True)), c)

    check(bits.dp4a, (a, b, c), lambda x, y, z: dot(parts(x, a, 1), parts(y, b, 1), z), *columns)
    low: Callable[[int, int, int], int] = lambda x, y, z: dot(parts(x, a, 2), parts(y, b, 1)[:2], z)  # noqa: E731
    high: Callable[[int, int, int], int] = lambda x, y, z: dot(parts(x, a, 2), parts(y, b, 1)[2:], z)  # noqa: E731
    check(bits.dp2a, (a, b, c), low, *columns)
    check(lambda x, y, z: bits.dp2a(x, y, z, high=True), (a, b, c), high, *columns)


def test_vectors_element_by_element_with_literals() -> None:
    a = RANDOM.integers(0, 1 << 32, (20, 3), np.uint32)
    got = evaluate(lambda x: bits.funnel_left(x, x, 8), (Vec(u32, 3),), a)
    assert np.array_equal(got, a << np.uint32(8) | a >> np.uint32(24))
    assert np.array_equal(evaluate(lambda x: bits.bfe(x, 4, 8), (Vec(u32, 3),), a), a >> np.uint32(4) & np.uint32(255))
