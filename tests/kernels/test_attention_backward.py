"""`attention_backward` against float64: masks, lengths, head dims, mods, layouts, schedules, refusals."""

from dataclasses import replace
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.attention import (
    attention,
    attention_backward,
    attention_varlen,
    attention_varlen_backward,
    backward_call,
    create_block_mask,
)
from cutelite.kernels.attention.backward import gradients
from cutelite.kernels.attention.backward_outer import finish, prepare
from cutelite.kernels.attention.backward_plan import Addend, Config, Plan, added_by
from cutelite.kernels.attention.backward_tiles import Starts
from cutelite.kernels.attention.call import seen
from cutelite.kernels.attention.scores import Problem
from cutelite.kernels.attention.tiles import Given
from cutelite.kernels.functions import lifted
from cutelite.toolchain import find
from tests.pairs import some

pytestmark = pytest.mark.usefixtures("everywhere")

BF16 = ml_dtypes.bfloat16


def inputs(sq: int, sk: int, heads: int, kv_heads: int, dim: int, dtype: Any = BF16, batch: int = 1) -> list[Any]:
    numbers = np.random.default_rng(sq + sk)
    shapes = (sq, heads), (sk, kv_heads), (sk, kv_heads), (sq, heads)
    return [numbers.standard_normal((batch, *shape, dim)).astype(dtype) for shape in shapes]


def scored(q: Any, k: Any, **how: Any) -> tuple[Any, Any, Any]:
    """Weights, logsumexps, and derivatives of the weights' scores (of functions, by differences), in float64."""
    q, k = (x.astype(np.float64).swapaxes(1, 2) for x in (q, k))
    group, step = q.shape[1] // k.shape[1], 1e-6
    scale, cap = how.get("scale") or q.shape[-1] ** -0.5, how.get("softcap")
    s = np.einsum("bhqd,bhkd->bhqk", q, k.repeat(group, 1)) * scale
    rows, columns = np.arange(s.shape[2])[:, None], np.arange(s.shape[3])[None]
    left, right, offset = seen(how.get("causal", False), how.get("window", (None, None)), s.shape[3] - s.shape[2])
    sees = (columns >= rows + offset - (left or 0)) | (left is None)
    sees &= (columns <= rows + offset + (right or 0)) | (right is None)

    def modified(s: Any) -> Any:
        s = s if cap is None else cap * np.tanh(s / cap)
        mod = how.get("score_mod")
        if mod is None:
            return s
        for b, h in np.ndindex(s.shape[:2]):
            s[b, h] = mod(s[b, h], b, h, rows, columns)
        return s

    slope = (modified(s + step) - modified(s - step)) / (2 * step)
    s = np.where(sees, modified(s.copy()), -np.inf)
    for b, h in np.ndindex(s.shape[:2]) if how.get("mask_mod") is not None else ():
        s[b, h] = np.where(how["mask_mod"](b, h, rows, columns), s[b, h], -np.inf)
    top = s.max(-1, keepdims=True)
    p = np.exp(s - np.where(np.isinf(top), 0, top))
    total = p.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (np.log(total) + np.where(np.isinf(top), 0, top))[..., 0]
    return p / np.where(total > 0, total, 1), lse, slope * scale


def forward(q: Any, k: Any, v: Any, **how: Any) -> tuple[Any, Any]:
    """What `attention` returns, in its types: its own tests say that it does."""
    p, lse, _ = scored(q, k, **how)
    wide = v.astype(np.float64).repeat(q.shape[2] // k.shape[2], 2)
    return np.einsum("bhqk,bkhd->bqhd", p, wide).astype(q.dtype), lse.astype(np.float32)


def forward_of_sequences(q: Any, k: Any, v: Any, slices: Any, **how: Any) -> tuple[Any, Any]:
    """The same of `attention_varlen`, for the rows and keys of each sequence."""
    o, lse = np.zeros((*q.shape[:2], v.shape[2]), q.dtype), np.full(q.shape[1::-1], -np.inf, np.float32)
    for rows, keys in slices:
        if rows.start < rows.stop and keys.start < keys.stop:
            (o[rows],), (lse[:, rows],) = forward(q[None, rows], k[None, keys], v[None, keys], **how)
    return o, lse


def exact(q: Any, k: Any, v: Any, do: Any, dlse: Any = None, **how: Any) -> list[Any]:
    """dq, dk and dv in float64 of (B, S, H, D) arrays."""
    p, _, slope = scored(q, k, **how)
    q, k, v, do = (x.astype(np.float64).swapaxes(1, 2) for x in (q, k, v, do))
    group = q.shape[1] // k.shape[1]
    dp = np.einsum("bhqd,bhkd->bhqk", do, v.repeat(group, 1))
    more = 0 if dlse is None else dlse[..., None]
    ds = p * (dp - (p * dp).sum(-1, keepdims=True) + more) * slope
    dq = np.einsum("bhqk,bhkd->bqhd", ds, k.repeat(group, 1))
    pairs = np.einsum("bhqk,bhqd->bkhd", ds, q), np.einsum("bhqk,bhqd->bkhd", p, do)
    return [dq, *(x.reshape(*x.shape[:2], -1, group, x.shape[3]).sum(3) for x in pairs)]


def compare(
    q: Any, k: Any, v: Any, do: Any, dlse: Any = None, more: dict[str, Any] | None = None, ahead: Any = forward,
    **how: Any,
) -> Any:  # fmt: skip
    """Check the derivatives behind what `ahead` returns; `forward` compiles nothing."""
    o, lse = ahead(q, k, v, **how)
    apart = None if dlse is None else np.asfortranarray(dlse)  # sums at any strides
    found = attention_backward(do, q, k, v, o, lse, dlse=apart, **how, **more or {})
    for x, y in zip(found, exact(q, k, v, do, dlse, **how), strict=True):
        assert np.linalg.norm(x.astype(np.float64) - y) <= 4e-3 * np.linalg.norm(y) + 1e-5
    return found


@pytest.mark.parametrize(
    ("sq", "sk", "how"),
    [
        (130, 200, {}),
        (150, 70, {"causal": True}),  # the first 80 queries see nothing
        (70, 200, {"causal": "top-left"}),  # the last 130 keys are seen by nobody
        (100, 300, {"window": (40, 10)}),
        (1, 1, {}),
        (3, 129, {"softcap": 2.0, "scale": 0.3}),
    ],
)
def test_masks_and_lengths(sq: int, sk: int, how: dict[str, Any]) -> None:
    q, k, v, do = inputs(sq, sk, 2, 1, 128)
    compare(q, k, v, do, ahead=partial(attention, return_lse=True), **how)


@pytest.mark.parametrize("dim", [64, 128, 192])
def test_a_cap_within_the_reach_of_its_polynomial_in_some_warps_alone(dim: int) -> None:
    q, k, v, do = inputs(70, 150, 1, 1, dim)
    k[:, 20:23] *= 8
    compare(q / 8, k, v, do, softcap=2.0)


@pytest.mark.parametrize(
    "how",
    [
        {"softcap": 1e-15},
        {"softcap": 1e30},
        {"scale": 1e-15},
        {"scale": 1e-15, "softcap": 1e30},
        {"scale": 1e15, "softcap": 1.0},
    ],
)
def test_scales_and_caps_may_be_tiny_or_huge(how: dict[str, Any]) -> None:
    q, k, v, do = inputs(70, 90, 1, 1, 64)
    compare(q, k, v, do, causal=True, **how)


def test_head_dims_types_and_batches() -> None:
    compare(*inputs(140, 150, 4, 2, 64, np.float16, batch=2), causal=True)
    compare(*inputs(70, 150, 1, 1, 96, np.float16), causal=True)
    for mod in (None, slope, near_or_far):  # logsumexps divided by the scale leave f16's range
        compare(*inputs(20, 20, 1, 1, 64, np.float16), scale=1e-10, score_mod=mod)
    compare(*inputs(40, 50, 1, 1, 40))


def test_row_sums_of_f16_may_exceed_its_range() -> None:
    q, k, v, do = (np.full((1, 1, 1, 64), x, np.float16) for x in (0.5, 0.5, 2.0**15, 2.0**15))
    dq, dk, dv = attention_backward(do, q, k, v, v, np.full((1, 1, 1), 2.0, np.float32))
    assert not dq.any() and not dk.any()
    np.testing.assert_array_equal(dv, do)


def test_wide_heads_and_narrow_values() -> None:
    kinds = ((192, 128), True, 3.0), ((256, 200), True, None), ((128, 40), False, None), ((256, 64), False, None)
    for dims, causal, cap in kinds:
        q, k, v, do = inputs(70, 135, 2, 1, dims[0])
        compare(q, k, v[..., : dims[1]].copy(), do[..., : dims[1]].copy(), causal=causal, softcap=cap)


def slope(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + (q_idx - kv_idx) * -0.05 * (h + 1)


OF_KEYS = np.linspace(-1, 1, 140, dtype=np.float32)


def tabled(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + OF_KEYS[kv_idx]


def ending(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """Infinite behind the last of 70 queries and of 140 keys."""
    return score + 1.0 / (70 - q_idx) - 1.0 / (140 - kv_idx)


def halved(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (score - (q_idx - kv_idx) * 0.1 * (h + 1)) / 2


def near_or_far(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score - 3 + 4 / (1 + abs(q_idx - kv_idx))


OF_DISTANCES = np.random.default_rng(1).standard_normal((2, 350)).astype(np.float32)


def by_distance(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (score + OF_DISTANCES[h, kv_idx - q_idx + 145]) * 0.5


def bent(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score * abs(score) * 0.25 + score / ((q_idx - kv_idx) * (q_idx - kv_idx) + 2)


def near(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (q_idx - kv_idx <= 20) & (kv_idx - q_idx <= 3)


def test_mods_are_differentiated() -> None:
    q, k, v, do = inputs(70, 140, 2, 1, 64)
    for mod in (tabled, halved, near_or_far):
        compare(q, k, v, do, score_mod=mod)
    compare(4 * q, k, v, do, softcap=8.0, mask_mod=near)
    q, k, v, do = inputs(130, 140, 2, 1, 64)
    compare(q, k, v, do, score_mod=by_distance, causal=True, more={"deterministic": True})
    q, k, v, do = inputs(70, 140, 2, 1, 128)
    compare(q, k, v, do, score_mod=by_distance, causal="top-left")
    q, k, v, do = inputs(70, 140, 2, 1, 136)
    compare(q, k, v, do, score_mod=ending)
    compare(q, k, v, do, score_mod=bent, mask_mod=near, softcap=3.0, causal="top-left")


@pytest.mark.parametrize(
    ("mod", "known"),
    [
        *((slope, (1.0, True)), (halved, (0.5, True)), (lambda s, b, h, q, k: 3 * s - 1, (3.0, True))),
        *((tabled, (1.0, False)), (near_or_far, (1.0, False)), (by_distance, (0.5, False))),
        (lambda s, b, h, q, k: s + OF_KEYS[h] * q, (1.0, True)),
        *((bent, None), (lambda s, b, h, q, k: -s, None), (lambda s, b, h, q, k: s * h, None)),
        *((lambda s, b, h, q, k: s + cl.where(s > 1.0, 1.0, 0.0), None), (lambda s, b, h, q, k: 1.0 * q, None)),
    ],
)
def test_functions_that_add_to_scores_are_known(mod: Any, known: Any) -> None:
    problem = Problem(cl.f16, 64, 64, score_mod=lifted(mod, []))
    assert added_by(problem) == (known and Addend(*known))
    assert added_by(replace(problem, softcap=3.0)) is None
    assert Plan.of(problem).extended == (known is not None)


@pytest.mark.parametrize(("sq", "sk", "dim"), some([(2, 35, 64), (40, 35, 72), (2, 19, 128), (3, 70, 136)], 2))
def test_tables_end_where_queries_and_keys_do(sq: int, sk: int, dim: int) -> None:
    """Nothing is read before an array, nor behind it, for those that fill up a tile."""
    q, k, v, do = inputs(sq, sk, 2, 1, dim)
    apart = np.random.default_rng(0).standard_normal((2, sq + sk - 1)).astype(np.float32)
    turned, squares = np.asfortranarray(apart[:, ::-1]), np.random.default_rng(1).random((2, sq)).astype(np.float32)
    compare(q, k, v, do, score_mod=lambda s, b, h, q_idx, kv_idx: s + apart[h, kv_idx - q_idx + sq - 1])
    compare(q, k, v, do, score_mod=lambda s, b, h, q_idx, kv_idx: s * squares[h, sq - 1 - q_idx])
    compare(q, k, v, do, mask_mod=lambda b, h, q_idx, kv_idx: turned[h, q_idx - kv_idx + sk - 1] < 0.5)


@pytest.mark.parametrize("dim", [64, 128])
def test_biases_may_be_infinite(dim: int) -> None:
    wall, (q, k, v, do) = np.where(np.arange(140) < 30, -np.inf, 0.0).astype(np.float32), inputs(70, 140, 2, 1, dim)
    seen: Any = {"mask_mod": lambda b, h, q_idx, kv_idx: kv_idx >= 30}
    (o, lse), want = forward(q, k, v, **seen), exact(q, k, v, do, **seen)
    found = attention_backward(do, q, k, v, o, lse, score_mod=lambda score, b, h, q_idx, kv_idx: score + wall[kv_idx])
    for x, y in zip(found, want, strict=True):
        assert np.linalg.norm(x.astype(np.float64) - y) <= 4e-3 * np.linalg.norm(y)


def test_block_masks_leave_out_queries_that_see_nothing() -> None:
    q, k, v, do = inputs(200, 140, 2, 1, 64)

    def first(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return (q_idx < 64 * (h + 1)) & (kv_idx < 100)

    mask = create_block_mask(first, None, 2, 200, 140, "cpu", 64)
    (o, lse), want = forward(q, k, v, mask_mod=first), exact(q, k, v, do, mask_mod=first)
    q[:, 128:] = np.nan  # products with these would be NaN
    found = attention_backward(do, q, k, v, o, lse, block_mask=mask)
    for x, y in zip(found, want, strict=True):
        assert np.linalg.norm(x.astype(np.float64) - y) <= 4e-3 * np.linalg.norm(y)


def test_either_layout_and_the_gradient_of_the_logsumexp() -> None:
    q, k, v, do = (np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 8)))[..., :64] for x in inputs(70, 90, 2, 1, 64))
    dlse = np.random.default_rng(0).standard_normal((1, 2, 70)).astype(np.float32)
    found = compare(q, k, v, do, dlse)
    o, lse = forward(q, k, v)
    do, q, k, v, o = (x.swapaxes(1, 2) for x in (do, q, k, v, o))
    for x, y in zip(attention_backward(do, q, k, v, o, lse, dlse=dlse, layout="bhsd"), found, strict=True):
        np.testing.assert_array_equal(x.swapaxes(1, 2), y)


@pytest.mark.parametrize(
    ("lengths_q", "lengths_k", "heads", "dim", "how", "more"),
    [
        ([70, 0, 3, 150], [70, 10, 200, 0], (2, 1), 64, {"causal": True}, {}),
        (
            *([70, 140, 3, 90], [130, 128, 200, 64], (2, 1), 128),
            *({"window": (40, 3), "score_mod": by_distance}, {"deterministic": True}),
        ),
        ([70, 90], [30, 128], (2, 2), 40, {"score_mod": slope, "mask_mod": near, "causal": "top-left"}, {}),
        ([1, 64, 65], [129, 64, 1], (1, 1), 136, {}, {}),
    ],
)
def test_sequences_of_any_lengths(
    lengths_q: list[int], lengths_k: list[int], heads: tuple[int, int], dim: int, how: Any, more: Any
) -> None:
    """Rows of other sequences, NaN here, do nothing; rows behind the last one get zeros."""
    starts_q, starts_k = (np.cumsum([0, *x]).astype(np.int32) for x in (lengths_q, lengths_k))
    end_q, end_k = starts_q[-1], starts_k[-1]
    q, k, v, do = (x[0] for x in inputs(end_q + 150, end_k + 190, *heads, dim))
    v, do = (x[..., : dim if dim < 128 else dim - 32].copy() for x in (v, do))
    slices = [(slice(*starts_q[i : i + 2]), slice(*starts_k[i : i + 2])) for i in range(len(lengths_q))]
    for poisoned in range(len(slices)) if len(slices) < 4 else (2,):
        mine_q, mine_k = slices[poisoned]
        q1, do1, k1, v1 = (x.copy() for x in (q, do, k, v))
        q1[mine_q], do1[mine_q], k1[mine_k], v1[mine_k] = (np.nan,) * 4
        q1[end_q:], do1[end_q:], k1[end_k:], v1[end_k:] = (np.nan,) * 4
        if dim == 64:
            o, lse = attention_varlen(q1, k1, v1, starts_q, starts_k, return_lse=True, **how)
        else:
            o, lse = forward_of_sequences(q1, k1, v1, slices, **how)
        found = attention_varlen_backward(do1, q1, k1, v1, o, lse, starts_q, starts_k, **how, **more)
        for x, end in zip(found, (end_q, end_k, end_k), strict=True):
            assert not x[end:].astype(np.float32).any()
        for i, (rows, keys) in enumerate(slices):
            if i == poisoned:
                continue
            parts = found[0][rows], found[1][keys], found[2][keys]
            if 0 in (lengths_q[i], lengths_k[i]):
                assert not any(x.astype(np.float32).any() for x in parts)
                continue
            want = exact(q[None, rows], k[None, keys], v[None, keys], do[None, rows], **how)
            for x, y in zip(parts, want, strict=True):
                assert np.linalg.norm(x.astype(np.float64) - y[0]) <= 6e-3 * np.linalg.norm(y) + 3e-5


def test_sequences_that_end_beyond_the_arrays_end_there() -> None:
    q, k, v, do = (np.random.default_rng(i).standard_normal((80, 1, 64)).astype(BF16) for i in range(4))
    made = []
    for ends in ([0, 30, 80], [0, 30, 300]):
        starts = np.array(ends, np.int32)
        o, lse = attention_varlen(q, k, v, starts, causal=True, return_lse=True)
        made.append([o, lse, *attention_varlen_backward(do, q, k, v, o, lse, starts, causal=True)])
    for right, found in zip(*made, strict=True):
        np.testing.assert_array_equal(found, right)


def test_sums_in_the_order_of_keys_are_the_same_bits_each_time() -> None:
    q, k, v, do = inputs(100, 400, 2, 1, 64)
    first, second = (compare(q, k, v, do, more={"deterministic": True}, window=(150, 0)) for _ in range(2))
    assert all(x.tobytes() == y.tobytes() for x, y in zip(first, second, strict=True))


def test_of_no_keys_or_queries() -> None:
    for sq, sk in ((0, 5), (5, 0)):
        q, k, v, do = inputs(sq, sk, 1, 1, 64)
        found = attention_backward(do, q, k, v, np.zeros_like(q), np.zeros((1, 1, sq), np.float32))
        assert not any(x.astype(np.float32).any() for x in found)
    q, k, v, do = inputs(5, 7, 1, 1, 64)
    none = q[:, :, :0]  # of no heads
    found = attention_backward(do[:, :, :0], none, k, v, none, np.zeros((1, 0, 5), np.float32))
    assert not any(x.astype(np.float32).any() for x in found)


@pytest.mark.parametrize(
    ("dim", "dim_v", "ordered", "ragged", "mod"),
    [
        *((64, 64, False, False, None), (64, 64, True, False, near_or_far), (64, 64, False, True, None)),
        *((136, 136, False, False, None), (136, 128, False, False, None), (128, 128, False, False, near_or_far)),
    ],
)
def test_no_race_in_a_few_schedules(dim: int, dim_v: int, ordered: bool, ragged: bool, mod: Any) -> None:
    sq = 70 if ordered or dim > 64 else 150
    q, k, v, do = (x.swapaxes(1, 2) for x in inputs(sq, 140, 1, 1, dim))
    v, do = v[..., :dim_v].copy(), do[..., :dim_v].copy()
    o, lse = np.zeros_like(do), np.zeros((1, 1, sq), np.float32)
    problem = replace(PROBLEM, dim=dim, dim_v=dim_v, ragged=ragged, score_mod=mod)
    plan = Plan.of(problem)
    starts = Starts(*(np.array(x, np.int32) if ragged else None for x in ([0, 100, 150], [0, 40, 140])))
    blocks = -(-sq // plan.config.rows) + ragged
    base = np.empty((1, 1, blocks * plan.of_rows[1], plan.of_rows[2]), BF16 if plan.extended else np.float32)
    turns = np.empty((1, 1, blocks, plan.adders), np.int32) if ordered else None
    sums = np.empty((1, 1, blocks, plan.count, 64 * plan.columns), np.float32), turns
    counter, (dq, dk, dv), none = np.zeros(1, np.int32), (np.empty_like(x) for x in (q, k, v)), (None, None)
    given = Given(0.1, int(ragged) or -10, 1 << 30, 0, 1)
    arrays, rows = (dk, dv) if ragged else none, (q, k, v, do)
    for kernel, grid, block, args in (
        (prepare(plan), blocks, 256, (o, do, lse, None, base, *sums, given, starts, 140)),
        (gradients(plan), 2, plan.threads, (*rows, base, *sums, counter, (dk, dv), given, starts, arrays, none)),
        (finish(plan, 2), blocks, 256, (dq, sums[0], 0.1, dq if ragged else None, starts)),
    ):
        report = kernel.check(grid, block, *args, seeds=1 if ordered or ragged or dim > 64 else 2, notes=False)
        assert not report.kinds, str(report)


PROBLEM = Problem(cl.bf16, 64, 64, right=True)


@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize(
    ("dim", "dim_v", "how"),
    some([
        (64, 64, {"right": True, "ragged": True}), (96, 96, {"right": True}), (192, 128, {"mask_mod": near}),
        (128, 128, {"right": True, "ragged": True}), (128, 128, {"right": True, "left": True, "mask_mod": near}),
        (128, 128, {"right": True, "score_mod": near_or_far}), (192, 192, {"right": True, "score_mod": slope}),
        (64, 64, {"right": True, "softcap": 20.0}),
    ], 3),
)  # fmt: skip
def test_registers_suffice(dim: int, dim_v: int, how: Any) -> None:
    """ptxas neither spills nor serialises products."""
    problem = Problem(cl.bf16, dim, dim_v, **how)
    plan = Plan.of(problem)
    blocks, of_k, of_v = 512 // plan.config.rows + 1, (1, 2, 512, dim), (1, 2, 512, dim_v)
    starts, arrays = (((3,), (3,)), (of_k, of_v)) if problem.ragged else ((None, None),) * 2
    compiled = gradients(plan).compile(
        of_k, of_k, of_v, of_v, (1, 2, blocks * plan.of_rows[1], plan.of_rows[2]),
        (1, 2, blocks, plan.count, 64 * plan.columns), None, (1,), (of_k, of_v), Given(1.0, 0, 0, 0, 1),
        Starts(*starts), arrays, (None, None), arch="sm_90a",
    )  # fmt: skip
    assert (compiled.spills, compiled.warnings) == (0, [])


def test_operator_of_torch() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    on = {"device": "cuda" if torch.cuda.is_available() else "cpu", "dtype": torch.bfloat16, "requires_grad": True}
    q, k, v = torch.randn(1, 70, 2, 64, **on), torch.randn(1, 90, 1, 64, **on), torch.randn(1, 90, 1, 64, **on)
    wide = [x.detach().double().transpose(1, 2).requires_grad_() for x in (q, k, v)]
    sees = torch.ones(70, 90, dtype=torch.bool, device=q.device).tril(20)
    s = (wide[0] @ wide[1].mT * 64**-0.5).masked_fill(~sees, -torch.inf)
    want = (s.softmax(-1) @ wide[2]).transpose(1, 2), s.logsumexp(-1)
    do, dlse = (torch.randn_like(x.detach()) for x in want)
    exactly = torch.autograd.grad(want, wide, (do, dlse))

    def total(q: Any, k: Any, v: Any, **how: Any) -> Any:
        o, lse = attention(q, k, v, causal=True, return_lse=True, **how)
        return (o * do).sum() + (lse * dlse).sum()

    compiled = torch.compile(total, backend="aot_eager", fullgraph=True)
    neutral = {"score_mod": lambda score, b, h, q_idx, kv_idx: score * 1.0}
    for function, how in ((total, {}), (compiled, {}), (total, neutral)):
        for x, y in zip(torch.autograd.grad(function(q, k, v, **how), (q, k, v)), exactly, strict=True):
            assert (x.double().transpose(1, 2) - y).norm() < 4e-3 * y.norm()
    torch.library.opcheck(torch.ops.cutelite.attention.default, (q, k, v, None, "top-left", 5, None, 3.0, 0.1, "bshd"))
    with pytest.raises(ValueError, match="out= has no derivative"):
        attention(q, k, v, torch.empty_like(q))


def test_operator_of_torch_for_sequences() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    on = {"device": device, "dtype": torch.bfloat16, "requires_grad": True}
    q, k, v = torch.randn(110, 2, 64, **on), torch.randn(160, 1, 64, **on), torch.randn(160, 1, 64, **on)
    starts = [torch.tensor(x, dtype=torch.int32, device=device) for x in ([0, 40, 100], [0, 100, 150])]
    wide = [x.detach().double().requires_grad_() for x in (q, k, v)]
    outs, sums = [], []
    for (a, b), (c, d) in (((0, 40), (0, 100)), ((40, 100), (100, 150))):
        s = torch.einsum("qhd,khd->hqk", wide[0][a:b], wide[1][c:d].expand(-1, 2, -1)) * 64**-0.5
        sees = torch.ones(b - a, d - c, dtype=torch.bool, device=device).tril(d - c - (b - a))
        s = s.masked_fill(~sees, -torch.inf)
        p = torch.where(sees.any(-1, keepdim=True), s.softmax(-1), 0.0).nan_to_num(0.0)
        outs.append(torch.einsum("hqk,khd->qhd", p, wide[2][c:d].expand(-1, 2, -1)))
        sums.append(torch.where(sees.any(-1), s.logsumexp(-1), 0.0))
    want = torch.cat(outs), torch.cat(sums, -1)
    do, dlse = torch.randn_like(want[0]), torch.randn_like(want[1])
    exactly = torch.autograd.grad((want[0] * do).sum() + (want[1][:, 50:] * dlse[:, 50:]).sum(), wide)

    def total(q: Any, k: Any, v: Any, **how: Any) -> Any:
        o, lse = attention_varlen(q, k, v, *starts, causal=True, return_lse=True, **how)
        return (o[:100] * do).sum() + (lse[:, 50:100] * dlse[:, 50:]).sum()

    compiled = torch.compile(total, backend="aot_eager", fullgraph=True)
    neutral = {"score_mod": lambda score, b, h, q_idx, kv_idx: score * 1.0}
    for function, how in ((total, {}), (compiled, {}), (total, neutral)):
        for x, y in zip(torch.autograd.grad(function(q, k, v, **how), (q, k, v)), exactly, strict=True):
            assert (x.double() - y).norm() < 4e-3 * y.norm()
    whole = *(x.detach()[:n].requires_grad_() for x, n in ((q, 100), (k, 150), (v, 150))), *starts
    given = *whole[:3], None, *whole[3:], "top-left", 5, None, 3.0, 0.1
    torch.library.opcheck(torch.ops.cutelite.attention_varlen.default, given)


@pytest.mark.parametrize("ragged", [False, True])
def test_gradients_of_sinks(ragged: bool) -> None:
    """Of one sequence, alone or with rows behind its end, and with a function."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    on = {"device": "cuda" if torch.cuda.is_available() else "cpu", "requires_grad": True}
    q, k, v = (torch.randn(1, 20, heads, 16, dtype=torch.bfloat16, **on) for heads in (2, 1, 1))
    sinks = torch.tensor([0.5, -1.0], **on)
    wide = [x.detach().double().requires_grad_() for x in (q, k, v, sinks)]
    s = torch.einsum("bqhd,bkd->bhqk", wide[0], wide[1][:, :, 0]) / 4
    s = s.masked_fill(torch.ones_like(s[0, 0], dtype=torch.bool).triu(1), -torch.inf)
    s = torch.cat([s, wide[3][:, None, None].expand(1, 2, 20, 1)], -1)
    want = torch.einsum("bhqk,bkd->bqhd", s.softmax(-1)[..., :-1], wide[2][:, :, 0]), s.logsumexp(-1)
    do, dlse = (torch.randn_like(x.detach()) for x in want)
    exactly = torch.autograd.grad(want, wide, (do, dlse))
    starts = torch.tensor([0, 20], dtype=torch.int32, device=q.device)

    def total(q: Any, k: Any, v: Any, sinks: Any, **how: Any) -> Any:
        if ragged:
            q = torch.cat([q[0], torch.ones_like(q[0, :3])])
            o, lse = attention_varlen(q, k[0], v[0], starts, causal=True, sinks=sinks, return_lse=True, **how)
            o, lse = o[None, :20], lse[None, :, :20]
        else:
            o, lse = attention(q, k, v, causal=True, sinks=sinks, return_lse=True, **how)
        return (o * do).sum() + (lse * dlse).sum()

    compiled = torch.compile(total, backend="aot_eager", fullgraph=True)
    neutral = {"score_mod": lambda score, b, h, q_idx, kv_idx: score * 1.0}
    for function, how in ((total, {}), (compiled, {}), (total, neutral)):
        found = torch.autograd.grad(function(q, k, v, sinks, **how), (q, k, v, sinks))
        for x, y in zip(found, exactly, strict=True):
            assert (x.double() - y).norm() < 5e-3 * y.norm()


def test_a_sink_of_minus_infinity_has_no_gradient_where_nothing_is_seen() -> None:
    torch = pytest.importorskip("torch")
    from cutelite.kernels.attention.operators import of_sinks

    o, lse = torch.ones(1, 2, 1, 8), torch.tensor([[[-torch.inf, 0.0]]])
    assert of_sinks((o, None), (o, o, o, o, lse), torch.tensor([-torch.inf]), "bshd") == 0


def test_what_does_not_fit_is_refused() -> None:
    wide = np.zeros((1, 8, 1, 264), BF16)
    with pytest.raises(ValueError, match="up to 256"):
        attention_backward(wide, wide, wide, wide, wide, np.zeros((1, 1, 8), np.float32))


def test_configurations_are_alike() -> None:
    q, k, v, do = inputs(70, 140, 2, 1, 128)
    for config in (Config(held=2), Config(stages=1)):
        compare(q, k, v, do, more={"config": config}, causal=True)


def test_heads_of_queries_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backward_call, "parted", lambda *_: 2)
    for dim, dim_v, how in ((128, 128, {"causal": True}), (192, 128, {}), (192, 160, {"window": (60, 9)})):
        q, k, v, do = inputs(70, 135, 2, 1, dim)
        compare(q, k, v[..., :dim_v].copy(), do[..., :dim_v].copy(), more={"deterministic": True}, **how)
