"""Narrow weights made bf16 in registers: every value there is, at every place of a word."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor
from cutelite.lib.narrow import bf16_of, narrow_place
from tests.places import Place

N = cl.dims("N")
WORDS = 2
FLOATS: dict[str, Any] = {"e2m1": ml_dtypes.float4_e2m1fn, "e4m3": ml_dtypes.float8_e4m3fn}


def values(kind: str, bits: int) -> np.ndarray[Any, Any]:
    """What each bit pattern stands for."""
    codes = np.arange(1 << bits)
    if kind in FLOATS:
        floats: np.ndarray[Any, Any] = codes.astype(np.uint8).view(FLOATS[kind]).astype(np.float32)
        return floats
    return np.where(codes < 1 << bits - 1, codes, codes - (1 << bits)).astype(np.float32)


@pytest.mark.parametrize(("kind", "bits"), [("i4", 4), ("e2m1", 4), ("i8", 8), ("e4m3", 8)])
def test_every_value_at_every_place(place: Place, kind: str, bits: int) -> None:
    per, name = 32 // bits, getattr(cl, kind)

    @cl.kernel(block=32)
    def kernel(words: Tensor[cl.u32, (N, WORDS)], out: Tensor[cl.bf16, (N, WORDS * per)]) -> None:
        i = cl.block_idx.x * 32 + cl.thread_idx.x
        if i < N:
            out[i, None].store(bf16_of(words[i, None].load(), name))

    codes = np.ascontiguousarray(
        np.random.default_rng(1).permuted(np.tile(np.arange(1 << bits), (WORDS * per, 1)), axis=1).T
    )
    shifts = bits * np.array([narrow_place(bits, e) for e in range(per)])
    words = (codes.reshape(-1, WORDS, per) << shifts).sum(-1).astype(np.uint32)
    out = np.full(codes.shape, np.nan, ml_dtypes.bfloat16)
    place(kernel[-(-len(words) // 32), 32], words, out)
    expected = values(kind, bits)[codes]
    if kind == "e4m3":
        expected = np.where(np.isnan(expected), np.where(codes >> 7, -480.0, 480.0), expected)
    np.testing.assert_array_equal(out.astype(np.float32), expected)


def test_places_are_all_different() -> None:
    for bits in (4, 8):
        assert sorted(narrow_place(bits, e) for e in range(32 // bits)) == list(range(32 // bits))
