"""Rotary embedding against float64: both ways of pairing, layouts, positions, parts of a head, in place."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.rows.rope import rope
from tests.kernels.test_rows import BF16, close, random
from tests.pairs import in_pairs

pytestmark = pytest.mark.usefixtures("everywhere")

Array = np.ndarray[Any, Any]


def tables(positions: int, half: int, dtype: Any = np.float32) -> tuple[Array, Array]:
    angles = np.arange(positions)[:, None] * 100.0 ** -(np.arange(half) / half)
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def turned(x: Array, cosines: Array, sines: Array, positions: Array, interleaved: bool) -> Array:
    """(..., tokens, heads, n) in float64."""
    c, s = (t.astype(np.float64)[positions][..., None, :] for t in (cosines, sines))
    half, y = cosines.shape[-1], x.astype(np.float64)
    of = (slice(0, 2 * half, 2), slice(1, 2 * half, 2)) if interleaved else (slice(0, half), slice(half, 2 * half))
    a, b = y[..., of[0]].copy(), y[..., of[1]].copy()
    y[..., of[0]], y[..., of[1]] = a * c - b * s, b * c + a * s
    return y


SIZES = [((5, 2), 64, 32), ((3, 1), 20, 10), ((4, 4), 24, 4), ((1, 1), 6, 3)]


@pytest.mark.parametrize(
    ("interleaved", "dtype", "sizes"), in_pairs((False, True), (np.float32, np.float16, BF16), SIZES)
)
def test_queries_and_keys(interleaved: bool, dtype: Any, sizes: tuple[tuple[int, int], int, int]) -> None:
    heads, n, half = sizes
    q, k = (random((2, 7, h, n), dtype, h) for h in heads)
    cosines, sines = tables(16, half)
    positions = np.random.default_rng(1).integers(0, 16, (2, 7))
    exact = [turned(x, cosines, sines, positions, interleaved) for x in (q, k)]
    found = rope(q, k, cosines, sines, positions, interleaved=interleaved)
    for mine, theirs in zip(found, exact, strict=True):
        close(mine, theirs, dtype)
    back = rope(*found, cosines, sines, positions, interleaved=interleaved, inverse=True)
    np.testing.assert_allclose(back[0].astype(float), q.astype(float), atol=1e-5 if dtype == np.float32 else 6e-2)
    others = np.full_like(q, np.nan), np.full_like(k, np.nan)
    assert rope(q, k, cosines, sines, positions, interleaved=interleaved, out=others)[0] is others[0]
    for mine, theirs in zip(others, found, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    given = q.copy()
    assert rope(q, k, cosines, sines, positions, interleaved=interleaved, out=(q, k))[0] is q
    np.testing.assert_array_equal(q, found[0])
    assert not (q == given).all()


def test_heads_before_tokens_and_positions_by_default(checked: Callable[[int], None]) -> None:
    checked(1)
    whole = random((2, 3, 9, 33), BF16)  # sequences, heads, tokens, with a pitch that is odd
    q = whole.transpose(0, 2, 1, 3)[..., :32]
    cosines, sines = tables(9, 16, BF16)
    exact = turned(q, cosines, sines, np.arange(9)[None].repeat(2, 0), False)
    last = whole[..., 32].copy()
    rope(q, None, cosines, sines, out=(q, None))
    close(q, exact, BF16)
    np.testing.assert_array_equal(whole[..., 32], last)


def test_tables_of_one_column_at_any_stride_and_positions_that_they_have_not() -> None:
    q, (cosines, sines) = (
        random((2, 3, 2, 4), np.float32),
        (np.asfortranarray(t.reshape(1, -1)).T for t in tables(5, 1)),
    )
    assert cosines.strides[1] != 4
    positions = np.array([[0, 4, 5], [-1, 2, 2**32 + 1]])
    exact = turned(q, cosines, sines, positions.clip(0, 4), False)
    exact[[0, 1, 1], [2, 0, 2], :, :2] = np.nan
    np.testing.assert_allclose(rope(q, None, cosines, sines, positions)[0], exact, rtol=1e-5)


def test_tokens_without_sequences() -> None:
    """Of keys that are the same for all tokens, by a stride of 0."""
    q, k = random((6, 2, 16), np.float32), np.broadcast_to(random((1, 1, 16), np.float32, 1), (6, 1, 16))
    cosines, sines = tables(8, 8)
    positions = np.array([7, 0, 1, 1, 3, 2], np.int32)
    found = rope(q, k, cosines, sines, positions)
    close(found[1], turned(k, cosines, sines, positions, False), np.float32)
    assert rope(q[:0], None, cosines, sines)[0].shape == (0, 2, 16)


def test_positions_of_all_sequences() -> None:
    q, (cosines, sines) = random((3, 6, 2, 16), np.float32), tables(8, 8)
    positions = np.array([7, 0, 1, 1, 3, 2], np.int32)
    exact = turned(q, cosines, sines, np.stack([positions] * 3), False)
    for given in (positions, positions[None]):
        close(rope(q, None, cosines, sines, given)[0], exact, np.float32)
    with pytest.raises(
        cl.ArgumentError, match=r"positions are \(2, 6\), but must be \(tokens,\) or \(sequences, tokens\)"
    ):
        rope(q[:0], None, cosines, sines, np.zeros((2, 6), np.int64))


def test_what_is_refused() -> None:
    q, (cosines, sines) = random((6, 2, 16), np.float32), tables(8, 8)
    with pytest.raises(cl.ArgumentError, match=r"cosines and sines are \(8, 8\); heads have 14 elements"):
        rope(q[..., :14], None, cosines, sines)
    with pytest.raises(cl.ArgumentError, match="q is not contiguous along its last mode"):
        rope(q[..., ::2], None, cosines[:, :4], sines[:, :4])
