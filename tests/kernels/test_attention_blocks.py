"""`kernels.attention` with block masks, and with functions that captured arrays, against float64."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.attention import attention, attention_backward, create_block_mask, reference
from cutelite.kernels.attention.forward import build
from cutelite.kernels.attention.model import Config
from cutelite.kernels.attention.scores import LN2, Problem
from cutelite.kernels.functions import lifted, settled
from cutelite.lang.tables import MOST, first
from tests.pairs import some

pytestmark = pytest.mark.usefixtures("everywhere")

BF16 = ml_dtypes.bfloat16
SQ, SK = 200, 330
DOCUMENTS = np.repeat(np.arange(7), 50).astype(np.int64)[:SK]
SLOPES = np.array([0.25, -0.5], np.float32)


def inputs(dim: int = 64, batch: int = 1) -> list[Any]:
    numbers = np.random.default_rng(dim)
    return [numbers.standard_normal((batch, n, h, dim)).astype(BF16) for n, h in ((SQ, 2), (SK, 1), (SK, 1))]


def causal(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return kv_idx <= q_idx + 130


def strip(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """Queries 64 to 127 see nothing."""
    return ((q_idx < 64) | (q_idx > 127)) & (kv_idx - q_idx < 70) & (q_idx - kv_idx < 70)


def of_documents(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return DOCUMENTS[q_idx] == DOCUMENTS[kv_idx]


def by_head(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (kv_idx // 64 + b) % 2 == h


def everything(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return kv_idx >= 0


def kinds(mask: Callable[..., Any], b: int, h: int, block: tuple[int, int]) -> Any:
    """0, 1 or 2 for each block of a mask: nothing, a part, all of it."""
    sees = np.broadcast_to(mask(b, h, np.arange(SQ)[:, None], np.arange(SK)[None]), (SQ, SK))
    rows, columns = (range(0, n, w) for n, w in zip((SQ, SK), block, strict=True))
    found = [[sees[i : i + block[0], j : j + block[1]] for j in columns] for i in rows]
    whole = [[part.all() and part.shape[1] == block[1] for part in row] for row in found]
    return np.array([[part.any() for part in row] for row in found]).astype(int) + np.array(whole)


@pytest.mark.parametrize("block", [(128, 128), (64, 192)])
@pytest.mark.parametrize("mask", [causal, strip, of_documents, by_head, everything])
def test_blocks_are_those_that_are_seen(mask: Callable[..., Any], block: tuple[int, int]) -> None:
    made = create_block_mask(mask, 2, 2, SQ, SK, "cpu", block)
    for b in range(2):
        for h in range(2):
            want = kinds(mask, b, h, block)
            for order, (full, seen), row in zip(made.order[b, h], made.counts[b, h], want, strict=True):
                assert list(order[:full]) == list(np.flatnonzero(row == 2))
                assert list(order[full:seen]) == list(np.flatnonzero(row == 1))
            for span, column in zip(made.spans[b, h], want.T, strict=True):
                rows = np.flatnonzero(column)
                assert tuple(span) == ((rows[0], rows[-1] + 1) if rows.size else (len(column), 0))
    visited = np.mean([kinds(mask, b, h, block) > 0 for b in range(2) for h in range(2)])
    assert made.sparsity() == pytest.approx(100 * (1 - visited))


@pytest.mark.parametrize(
    ("mask", "block", "dim", "each"),
    [
        (causal, (128, 128), 128, False),
        (strip, (64, 64), 64, False),
        (of_documents, (128, 128), 64, False),
        (by_head, (128, 64), 64, True),
        (everything, (256, 192), 192, False),
        (strip, (128, 128), 256, True),
    ],
)
def test_only_blocks_that_are_seen_are_computed(
    mask: Callable[..., Any], block: tuple[int, int], dim: int, each: bool
) -> None:
    """Keys and values of blocks that nobody sees are NaN."""
    batch = 2 if mask is by_head else 1
    q, k, v = inputs(dim, batch)
    made = create_block_mask(mask, batch if each else None, 2 if each else None, SQ, SK, "cpu", block)
    want, sums = reference(q, k, v, mask_mod=mask)
    seen = [(kinds(mask, b, h, block) > 0).any(0) for b in range(batch) for h in range(2)]
    for j in np.flatnonzero(~np.array(seen).any(0)):
        k[:, j * block[1] : (j + 1) * block[1]] = v[:, j * block[1] : (j + 1) * block[1]] = np.nan
    o, lse = attention(q, k, v, block_mask=made, return_lse=True)
    np.testing.assert_allclose(o.astype(np.float64), want, atol=8e-3, rtol=8e-3)
    np.testing.assert_allclose(lse, sums, atol=1e-4, rtol=1e-5)


def test_functions_may_capture_arrays() -> None:
    """By closure, as globals, of several modes, and together with a block mask that has arrays of its own."""
    q, k, v = inputs()
    bias = np.random.default_rng(0).standard_normal((2, SQ + SK)).astype(np.float32)

    def relative(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score + bias[h, kv_idx - q_idx + SQ] * SLOPES[h]

    made = create_block_mask(of_documents, None, None, SQ, SK, "cpu")
    for how in ({"score_mod": relative}, {"score_mod": relative, "mask_mod": of_documents}):
        o = attention(q, k, v, **how)
        np.testing.assert_allclose(o.astype(np.float64), reference(q, k, v, **how)[0], atol=1e-2, rtol=1e-2)
    found = attention(q, k, v, score_mod=relative, block_mask=made).astype(np.float64)
    np.testing.assert_allclose(found, o.astype(np.float64), atol=1e-2, rtol=1e-2)
    few = bias[:, :5].copy()  # fewer than a warp has lanes; what is masked may be looked up from the end

    def near(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score + few[h, q_idx - kv_idx]

    short = [x[:, :5] for x in (q, k, v)]
    o, want = attention(*short, score_mod=near, causal=True), reference(*short, score_mod=near, causal=True)[0]
    np.testing.assert_allclose(o.astype(np.float64), want, atol=1e-2, rtol=1e-2)


def test_functions_within_functions_may_name_arrays() -> None:
    """A lambda, or a comprehension, which is a function in some versions of Python, has names that no other has."""
    q, k, v = inputs()

    def relative(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return sum((SLOPES[(h + i) % 2] * score for i in range(2)), 0.0) + (lambda i: SLOPES[i])(kv_idx % 2)

    o, want = attention(q, k, v, score_mod=relative), reference(q, k, v, score_mod=relative)[0]
    np.testing.assert_allclose(o.astype(np.float64), want, atol=1e-2, rtol=1e-2)


class Held:
    """What functions read numbers of: its attributes, an item, a method's, and by being called."""

    kind = 2.0

    def __init__(self) -> None:
        self.by, self.items, self.inner = 0.5, [0.5], SimpleNamespace(by={"by": np.float32(0.5)})

    def mod(self, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return self(score)

    def __call__(self, score: Any) -> Any:
        return score * self.by * self.scaled

    @property
    def scaled(self) -> Any:
        return self.items[0] * self.kind


HELD = Held()


def of_held(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score * HELD.inner.by["by"] + HELD(score)


@pytest.mark.parametrize("of", some(["method", "function", "written in place", "partial"], 2))
def test_what_functions_read_of_objects_may_change(of: str) -> None:
    q, k, v = (x[:, :20] for x in inputs())

    def given() -> Any:
        if of == "written in place":
            return lambda score, b, h, q_idx, kv_idx: of_held(score, b, h, q_idx, kv_idx)
        return {"function": of_held, "method": HELD.mod, "partial": partial(of_held)}[of]

    def same() -> None:
        for _ in range(2):
            o, want = attention(q, k, v, score_mod=given()), reference(q, k, v, score_mod=given())[0]
            np.testing.assert_allclose(o.astype(np.float64), want, atol=1e-2, rtol=1e-2)

    try:
        same()
        for holder, name in (HELD, "by"), (Held, "kind"):
            setattr(holder, name, -2.0)
            same()
        HELD.items[0] = 0.1
        same()
        HELD.inner.by["by"] = np.float32(7)
        same()
    finally:
        Held.kind, HELD.by, HELD.items[0], HELD.inner.by["by"] = 2.0, 0.5, 0.5, np.float32(0.5)
    same()


def test_a_function_with_another_array_is_not_compiled_again() -> None:
    q, k, v = inputs()

    def biased(bias: Any) -> Any:
        return lambda score, b, h, q_idx, kv_idx: score + bias[kv_idx]

    one, another = (settled(lifted(biased(bias), [])) for bias in (SLOPES, SLOPES[:1] + 3))
    assert one is another
    one, another = (settled(lifted(of_documents, [])) for _ in range(2))  # an array that is a global variable
    assert one is another
    a, b = (np.linspace(0, x, SK).astype(np.float32) for x in (3, -5))
    for bias in (a, b):
        want, _ = reference(q, k, v, score_mod=biased(bias))
        o = attention(q, k, v, score_mod=biased(bias))
        np.testing.assert_allclose(o.astype(np.float64), want, atol=1e-2, rtol=1e-2)


def test_what_is_known_of_functions_is_bounded() -> None:
    def scaled(by: float, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score * by

    assert lifted(partial(scaled, 0.0), []) is lifted(partial(scaled, 0.0), [])
    assert lifted(partial(scaled, 0.0), []) is not lifted(partial(scaled, -0.0), [])
    known: dict[int, int] = {}
    assert [first(known, n, -n) for n in range(MOST + 2)] == [-n for n in range(MOST + 2)]
    assert (len(known), first(known, 2, 7), first(known, 0, 7)) == (MOST, -2, 7)


def test_no_race_in_a_few_schedules() -> None:
    problem = Problem(cl.bf16, 64, 64, mask_mod=settled(strip), blocks=(128, 128))
    q, k, v = (x.swapaxes(1, 2) for x in inputs())
    o, lse, counter = np.empty_like(q), np.empty((1, 2, SQ), np.float32), np.zeros(1, np.int32)
    made = create_block_mask(strip, None, None, SQ, SK, "cpu")
    report = build(Config(2, 64, queries=2), problem).check(
        1, None, q, k, v, o, lse, None, counter, 0.1 / LN2, 0, 0, 0, 1, None, None, None, made.order, made.counts, (),
        seeds=2, notes=False,
    )  # fmt: skip
    assert not report.kinds, str(report)


def test_what_does_not_fit_is_refused() -> None:
    q, k, v = inputs()
    made = create_block_mask(causal, None, None, SQ, SK, "cpu")
    with pytest.raises(ValueError, match="block_mask is of 200 queries and 330 keys"):
        attention(q, k[:, :200], v[:, :200], block_mask=made)
    with pytest.raises(ValueError, match="1 sequences, 2 heads"):
        attention(q, k, v, block_mask=create_block_mask(causal, 3, None, SQ, SK, "cpu"))
    for how in ({"causal": True}, {"window": (3, None)}, {"mask_mod": causal}):
        with pytest.raises(ValueError, match="leave out"):
            attention(q, k, v, block_mask=made, **how)
        with pytest.raises(ValueError, match="leave out"):
            attention_backward(q, q, k, v, q, np.zeros((1, 2, SQ), np.float32), block_mask=made, **how)
    with pytest.raises(ValueError, match="multiples of 64"):
        create_block_mask(causal, None, None, SQ, SK, "cpu", 100)
    numbers = np.zeros(SK, np.complex64)
    with pytest.raises(ValueError, match="an array of complex64"):
        attention(q, k, v, score_mod=lambda score, b, h, q_idx, kv_idx: score * numbers[kv_idx])
