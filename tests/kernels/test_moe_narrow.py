"""Experts with weights of 4 bits: MXFP4, and integers with scales for groups."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.moe import narrow, reference
from cutelite.kernels.moe.narrow import Config, Problem

pytestmark = pytest.mark.usefixtures("everywhere")

NUMBERS = np.random.default_rng(0)
BF16 = ml_dtypes.bfloat16


def matrices(kind: str, each: int, experts: int, n: int, k: int) -> tuple[Any, Any]:
    """Values of all codes, and scales."""
    shape = experts, n, -(-k // each)
    if kind == "e2m1":
        return NUMBERS.integers(0, 16, (experts, n, k)), 2.0 ** NUMBERS.integers(-6, 4, shape)
    return NUMBERS.integers(-8, 8, (experts, n, k)), NUMBERS.uniform(0.01, 0.05, shape)


@pytest.mark.parametrize(
    ("kind", "each", "sizes"),
    [("e2m1", 32, (20, 136, 72, 4, 2)), ("i4", 32, (9, 264, 136, 3, 2)), ("i4", 128, (70, 256, 64, 5, 2))],
)
def test_experts(kind: str, each: int, sizes: tuple[int, ...]) -> None:
    tokens, hidden, inner, experts, k = sizes
    up, down = matrices(kind, each, experts, 2 * inner, hidden), matrices(kind, each, experts, hidden, inner)
    x = NUMBERS.standard_normal((tokens, hidden)).astype(BF16)
    index = np.stack([NUMBERS.permutation(experts)[:k] for _ in range(tokens)]).astype(np.int32)
    weights = NUMBERS.uniform(0.1, 1, index.shape).astype(np.float32)
    packed = narrow.pack(*up, kind, each, gated=True), narrow.pack(*down, kind, each)
    found = narrow.narrow_experts(x, *packed, index, weights, kind, inner=inner)
    wide = narrow.unpacked(*up, kind, each), narrow.unpacked(*down, kind, each)
    right = reference(x, *wide, index, weights)
    assert np.linalg.norm(found.astype(float) - right) < 5e-3 * np.linalg.norm(right)


@pytest.mark.parametrize("config", [Config(16, 1, 3), Config(32, 2, 4, 2), Config(128, 2, 3)], ids=str)
def test_tiles(config: Config) -> None:
    """One by one, each weight and each scale: an identity is multiplied."""
    values, scales = matrices("e2m1", 32, 2, 144, 200)
    x, ends = np.eye(200, dtype=BF16), np.array([90, 200], np.int32)
    d = np.full((203, 144), np.nan, BF16)
    rows = np.concatenate([np.arange(200), [7, 7, 7]]).astype(np.int32)
    narrow.run(Problem("e2m1", 32, gather=True), x, narrow.pack(values, scales, "e2m1"), ends, d, rows, config)
    wide = narrow.unpacked(values, scales, "e2m1")
    assert (d[:90].astype(float) == wide[0].T[:90]).all() and (d[90:200].astype(float) == wide[1].T[90:]).all()
    assert np.isnan(d[200:].astype(float)).all()


def test_refused() -> None:
    values, scales = matrices("i4", 32, 2, 64, 64)
    with pytest.raises(ValueError, match="each is 128, but 'e2m1' has a scale for each 32 along K"):
        narrow.pack(values, scales, "e2m1", 128)
    with pytest.raises(ValueError, match="kind is 'i8', but must be one of 'e2m1', 'i4'"):
        narrow.pack(values, scales, "i8")
    with pytest.raises(ValueError, match=r"scales have shape \(2, 64, 2\), but must be \(2, 64, 1\): of each 128"):
        narrow.pack(values, scales, "i4", 128)
    with pytest.raises(ValueError, match=r"values have shape \(64, 64\), but must be \(E, N, K\)"):
        narrow.pack(values[0], scales[0], "i4")
    with pytest.raises(ValueError, match="24 rows, but with gated=True must have a multiple of 16"):
        narrow.pack(values[:, :24], scales[:, :24], "i4", gated=True)
    with pytest.raises(ValueError, match="of MXFP4's bytes"):
        narrow.pack(values, np.full(scales.shape, 127, np.uint8), "i4")
    with pytest.raises(ValueError, match="two more"):
        narrow.build(Config(stages=2), Problem("i4", 32))
    packed, x = narrow.pack(values, scales, "i4"), np.zeros((3, 64), BF16)
    index, weights = np.zeros((3, 1), np.int32), np.ones((3, 1), np.float32)
    with pytest.raises(ValueError, match="as pack makes it of"):
        narrow.narrow_experts(x, packed, packed, index, weights, "i4", inner=200)
    out = packed.view(BF16).reshape(-1)[: x.size].reshape(x.shape)
    with pytest.raises(ValueError, match="out lies where gate_up does"):
        narrow.narrow_experts(x, packed, packed, index, weights, "i4", inner=32, out=out)


@pytest.mark.parametrize("kind", ["e2m1", "i4"])
def test_codes(kind: str) -> None:
    """All sixteen, in each place of a word."""

    @cl.kernel(block=1)
    def decode(words: cl.Tensor[cl.u32, (8,)], out: cl.Tensor[cl.bf16, (64,)], kind: cl.Constexpr[str]) -> None:
        out.store(cl.bf16_of(words.load(), kind))

    codes = np.arange(64).reshape(8, 8) * 5 % 16
    places = np.array([cl.narrow_place(4, e) for e in range(8)])
    words, out = (
        (codes.astype(np.uint64) << (4 * places).astype(np.uint64)).sum(1).astype(np.uint32),
        np.zeros(64, BF16),
    )
    decode[1](words, out, kind)
    right = np.array([*narrow.E2M1, *(-x for x in narrow.E2M1)])[codes] if kind == "e2m1" else (codes ^ 8) - 8
    assert (out.astype(float) == right.reshape(-1)).all()
