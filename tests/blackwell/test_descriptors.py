"""The two descriptors of tcgen05.mma, field by field against the tables of the PTX ISA."""

from dataclasses import replace
from typing import Any

import pytest

from cutelite.ops.tcgen05_layouts import InstructionDescriptor, SmemDescriptor

PLAIN = InstructionDescriptor("f16", "f16", "f16", 64, 8, d="f16")
PLAIN_BITS = 8 >> 3 << 17 | 64 >> 4 << 24

# Name of the field, its value, the kind and types that have it, the first bit and what is there.
FIELDS: list[tuple[dict[str, Any], int, int]] = [
    ({"sparse": True, "selector": 1}, 0, 0b101),
    ({"sparse": True, "selector": 3}, 0, 0b111),
    ({"sparse": True}, 2, 1),
    ({"d": "f32"}, 4, 1),
    ({"a": "bf16", "b": "bf16"}, 7, 1 | 1 << 3),
    ({"a": "bf16"}, 7, 1),
    ({"b": "bf16"}, 10, 1),
    ({"negate_a": True}, 13, 1),
    ({"negate_b": True}, 14, 1),
    ({"a_major": "MN"}, 15, 1),
    ({"b_major": "MN"}, 16, 1),
    ({"max_shift": 8}, 30, 1),
    ({"max_shift": 16}, 30, 2),
    ({"max_shift": 32}, 30, 3),
]


@pytest.mark.parametrize(("fields", "at", "value"), FIELDS, ids=str)
def test_each_field_of_an_instruction_descriptor_has_its_bits(fields: dict[str, Any], at: int, value: int) -> None:
    word = replace(PLAIN, **fields)
    assert PLAIN.bits == PLAIN_BITS
    assert word.bits ^ PLAIN_BITS == value << at
    assert InstructionDescriptor.parse("f16", word.bits) == word


@pytest.mark.parametrize(
    ("kind", "a", "d", "codes"),
    [
        ("f16", "f16", "f16", (0, 0)),
        ("f16", "bf16", "f32", (1, 1)),
        ("tf32", "tf32", "f32", (2, 1)),
        ("f8f6f4", "e4m3", "f32", (0, 1)),
        ("f8f6f4", "e5m2", "f16", (1, 0)),
        ("i8", "u8", "i32", (0, 2)),
        ("i8", "i8", "i32", (1, 2)),
    ],
)
def test_types_have_their_codes(kind: str, a: str, d: str, codes: tuple[int, int]) -> None:
    word = InstructionDescriptor(kind, a, a, 128, 256, d=d)
    assert (word.bits >> 7 & 7, word.bits >> 10 & 7, word.bits >> 4 & 3) == (codes[0], codes[0], codes[1])
    assert (word.bits >> 17 & 63, word.bits >> 24 & 31) == (32, 8)
    assert InstructionDescriptor.parse(kind, word.bits) == word


def test_saturation_is_bit_3() -> None:
    word = InstructionDescriptor("i8", "i8", "u8", 128, 64, d="i32")
    assert replace(word, saturate=True).bits ^ word.bits == 1 << 3


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "f4"}, "no kind is called 'f4'"),
        ({"a": "e4m3"}, "`a` is e4m3; kind::f16 takes f16, bf16"),
        ({"d": "i32"}, "`d` is i32; kind::f16 has accumulators of f32, f16"),
        ({"b_major": "N"}, "`b_major` is 'N'; kind::f16 takes K and MN"),
        ({"n": 12}, "`n` is 12, no multiple of 8"),
        ({"n": 264}, "`n` is 264"),
        ({"m": 24}, "`m` is 24, none of 32, 48"),
        ({"m": 512}, "`m` is 512"),
        ({"saturate": True}, "`saturate` is for integers"),
        ({"selector": 1}, "`selector` is for a sparse A"),
        ({"sparse": True, "selector": 4}, "`selector` is 4, but its field has 2 bits"),
        ({"max_shift": 4}, "`max_shift` is 4"),
        ({"kind": "i8", "a": "i8", "b": "i8", "d": "i32", "negate_a": True}, "kind::i8 does not negate"),
    ],
)
def test_a_field_that_does_not_fit_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(PLAIN, **fields)


def test_bits_that_no_instruction_descriptor_has_are_refused() -> None:
    for bits in (PLAIN_BITS | 1 << 6, PLAIN_BITS | 1 << 29, PLAIN_BITS | 7 << 7):
        with pytest.raises(ValueError, match=r"bits where|codes"):
            InstructionDescriptor.parse("f16", bits)


SMEM_BITS = 1 << 46

SMEM_FIELDS: list[tuple[dict[str, Any], int, int]] = [
    ({"address": 0x10}, 0, 1),
    ({"address": 0x3FFF0}, 0, 0x3FFF),
    ({"leading": 0x10}, 16, 1),
    ({"leading": 0x3FFF0}, 16, 0x3FFF),
    ({"stride": 0x400}, 32, 0x40),
    ({"stride": 0x3FFF0}, 32, 0x3FFF),
    ({"base": 1}, 49, 1),
    ({"base": 7}, 49, 7),
    ({"absolute": True}, 52, 1),
    ({"swizzle": "128B_ATOM_32B"}, 61, 1),
    ({"swizzle": "128B"}, 61, 2),
    ({"swizzle": "64B"}, 61, 4),
    ({"swizzle": "32B"}, 61, 6),
]


@pytest.mark.parametrize(("fields", "at", "value"), SMEM_FIELDS, ids=str)
def test_each_field_of_a_shared_memory_descriptor_has_its_bits(fields: dict[str, Any], at: int, value: int) -> None:
    plain = SmemDescriptor(0, 0, 0)
    word = replace(plain, **fields)
    assert plain.bits == SMEM_BITS
    assert word.bits ^ SMEM_BITS == value << at
    assert SmemDescriptor.parse(word.bits) == word


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"address": 8}, "`address` is 8, no multiple of 16"),
        ({"leading": 1 << 18}, "`leading` is 262144"),
        ({"stride": -16}, "`stride` is -16"),
        ({"swizzle": "16B"}, "`swizzle` is '16B'"),
        ({"base": 8}, "`base` is 8, but its field has 3 bits"),
    ],
)
def test_a_field_of_shared_memory_that_does_not_fit_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(SmemDescriptor(0, 0, 0), **fields)


def test_bits_that_no_shared_memory_descriptor_has_are_refused() -> None:
    for bits in (0, SMEM_BITS | 1 << 14, SMEM_BITS | 3 << 61, SMEM_BITS | 1 << 53, 2 << 46):
        with pytest.raises(ValueError, match=r"bits where|swizzle"):
            SmemDescriptor.parse(bits)
