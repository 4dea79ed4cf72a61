"""Rotary embedding into a cache: what is turned, what is written, and what stays."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.rows.rope_append import rope_append

pytestmark = pytest.mark.usefixtures("everywhere")

NUMBERS = np.random.default_rng(0)


def turned(x: Any, c: Any, s: Any) -> Any:
    a, b = np.split(x.astype(float), 2, axis=-1)
    return np.concatenate([a * c - b * s, b * c + a * s], -1)


@pytest.mark.parametrize(
    ("sizes", "each", "dtype"),
    [
        ((1, 1, 4, 2, 32), False, ml_dtypes.bfloat16),  # one block
        ((3, 2, 4, 2, 128), True, np.float32),  # several
        ((2, 9, 8, 1, 12), False, np.float16),  # heads of which threads take two elements
        ((5, 30, 6, 3, 32), True, ml_dtypes.bfloat16),  # tokens behind the end of the cache
    ],
)
def test_written_behind_what_is_there(sizes: tuple[int, ...], each: bool, dtype: Any) -> None:
    count, tokens, heads, shared, n = sizes
    both = NUMBERS.standard_normal((count, tokens, heads + 2 * shared, n)).astype(dtype)
    q, k, v = np.split(both, [heads, heads + shared], axis=2)  # as one GEMM gives them
    angles = NUMBERS.uniform(0, 6, (count if each else 1, tokens, n // 2))
    tables = [f(angles).astype(np.float32).reshape(-1, n // 2) for f in (np.cos, np.sin)]
    held = [NUMBERS.standard_normal((count, shared, 32, n)).astype(dtype) for _ in "kv"]
    before, start = [x.copy() for x in held], 5
    length = np.array([start], np.int64)
    out = rope_append(q, k, v, tables[0], tables[1], held[0], held[1], length)
    c, s = (f(angles)[:, :, None] for f in (np.cos, np.sin))
    new = min(tokens, 32 - start)
    close: Any = {"rtol": 2e-2, "atol": 2e-2} if dtype != np.float32 else {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(out.astype(float), turned(q, c, s), **close)
    np.testing.assert_allclose(
        held[0][:, :, start : start + new].astype(float), turned(k, c, s).swapaxes(1, 2)[:, :, :new], **close
    )
    assert (held[1][:, :, start : start + new] == v.swapaxes(1, 2)[:, :, :new]).all()
    for now, was in zip(held, before, strict=True):
        assert (now[:, :, :start] == was[:, :, :start]).all() and (
            now[:, :, start + new :] == was[:, :, start + new :]
        ).all()
    assert length[0] == start + tokens


@pytest.mark.parametrize("start", [4, 2**32, -1])
def test_nothing_is_written_outside_of_the_cache(start: int) -> None:
    x, table, length = np.ones((1, 2, 1, 8), np.float32), np.ones((2, 4), np.float32), np.array([start], np.int64)
    room = np.zeros((2, 1, 1, 8, 8), np.float32)
    rope_append(x, x, x, table, table, room[0, :, :, 2:6], room[1, :, :, 2:6], length)
    assert not room.any()
    assert length[0] == start + 2


def test_refused() -> None:
    x, cache = np.zeros((1, 2, 1, 8), np.float32), np.zeros((1, 1, 4, 8), np.float32)
    table, length = np.zeros((2, 4), np.float32), np.zeros(1, np.int64)
    with pytest.raises(cl.ArgumentError, match="values lies where keys does"):
        rope_append(x, x, x, table, table, cache, cache, length)
