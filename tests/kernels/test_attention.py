"""`kernels.attention` against float64: masks, lengths, head dims, scores made against the guess, mods, refusals."""

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.attention import attention, attention_varlen, reference
from cutelite.kernels.attention.forward import build
from cutelite.kernels.attention.model import Config, Work, chosen, costs, picked, predicted
from cutelite.kernels.attention.scores import GROUP, LN2, ROWS, Problem
from cutelite.toolchain import find
from tests.pairs import some

pytestmark = pytest.mark.usefixtures("everywhere")

BF16 = ml_dtypes.bfloat16


def inputs(sq: int, sk: int, heads: int, kv_heads: int, dim: int, dim_v: int = 0, dtype: Any = BF16) -> list[Any]:
    numbers = np.random.default_rng(sq + sk)
    shapes = (sq, heads, dim), (sk, kv_heads, dim), (sk, kv_heads, dim_v or dim)
    return [numbers.standard_normal((1, *shape)).astype(dtype) for shape in shapes]


def compare(q: Any, k: Any, v: Any, *, config: Config | None = None, rtol: float = 1e-5, **how: Any) -> None:
    """`rtol`: of scores, and so of logsumexps."""
    o, lse = attention(q, k, v, return_lse=True, config=config, **how)
    want, sums = reference(q, k, v, **how)
    np.testing.assert_allclose(o.astype(np.float64), want, atol=8e-3, rtol=8e-3)
    np.testing.assert_allclose(lse, sums, atol=1e-4, rtol=rtol)


@pytest.mark.parametrize(
    ("sq", "sk", "how"),
    [
        (130, 200, {}),
        (130, 200, {"causal": True}),
        (150, 70, {"causal": True}),  # the first 80 queries see nothing
        (70, 200, {"causal": "top-left"}),
        (100, 400, {"window": (40, 10)}),
        (65, 400, {"causal": True, "window": (150, None)}),
        (1, 1, {}),
        (3, 129, {"softcap": 2.0, "scale": 0.3}),
    ],
)
def test_masks_and_lengths(sq: int, sk: int, how: dict[str, Any]) -> None:
    compare(*inputs(sq, sk, 2, 1, 128), **how)


@pytest.mark.parametrize(("dim", "dim_v"), [(64, 64), (96, 96), (192, 128), (192, 192), (256, 256), (72, 40)])
def test_head_dims(dim: int, dim_v: int) -> None:
    compare(*inputs(70, 150, 2, 2, dim, dim_v, np.float16), causal=True)


def test_either_layout_with_padded_strides() -> None:
    q, k, v = (np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 8)))[..., :64] for x in inputs(70, 90, 4, 2, 64))
    compare(q, k, v)
    compare(*(x.swapaxes(1, 2) for x in (q, k, v)), layout="bhsd")


@pytest.mark.parametrize("kind", ["growing", "falling", "jump", "equal", "huge", "tails"])
def test_scores_made_against_the_guess(kind: str) -> None:
    """Blocks come from the last keys to the first: 'falling' outgrows the guess in each of them."""
    q, k, v = (x.astype(np.float32) for x in inputs(64, 640, 1, 1, 128))
    place = np.arange(640).reshape(1, 640, 1, 1)
    unit = np.eye(1, 128, dtype=np.float32)[0] * 128**0.5
    if kind in ("growing", "falling"):
        q, k = 0.1 * q + unit, 0.1 * k + unit / 128**0.5 * (place // 128) * (30 if kind == "growing" else -30)
    elif kind == "jump":
        q, k = 0.1 * q + unit, 0.1 * k + unit / 128**0.5 * (place == 131) * 500
    elif kind == "equal":
        q, k = np.ones_like(q), np.ones_like(k)
    elif kind == "huge":
        q, k = 30 * q, 30 * k
    else:
        q, k = q**3, k**3
    compare(*(x.astype(BF16) for x in (q, k, v)))


def test_nan_of_a_key_is_in_outputs_and_logsumexp_of_those_who_see_it() -> None:
    q, k, v = inputs(300, 300, 1, 1, 128)
    k[0, 156] = np.nan
    o, lse = attention(q, k, v, causal=True, return_lse=True)
    assert (np.isnan(lse[0, 0]) == (np.arange(300) >= 156)).all()
    assert (np.isnan(o.astype(np.float32)[0, :, 0, 5]) == (np.arange(300) >= 156)).all()


@pytest.mark.parametrize("cap", [1.0, 20.0])
def test_caps_of_scores_small_and_large(cap: float) -> None:
    """Some blocks have scores beyond what the polynomial takes, and queries at the start see nothing."""
    q, k, v = (x.astype(np.float32) for x in inputs(150, 270, 1, 1, 64))
    k[:, 130:150] *= 20.0
    how: dict[str, Any] = {"softcap": cap, "causal": True, "rtol": 1.3e-4}
    compare(*(x.astype(BF16) for x in (q, k, v)), **how)
    columns = Config(1, 80, turns=False)  # of which a thread's are no multiple of what is computed at a time
    compare(*(x.astype(BF16) for x in (q, k[:, :100], v[:, :100])), config=columns, **how)
    compare(*(x.astype(np.float16) for x in (q, k, v)), softcap=cap, window=(100, None))


@pytest.mark.parametrize(("most", "one"), [(-18.0, -18.0), (0.5, 15.0), (0.5, -40.0), (3.0, 3.0), (-9.0, 2.0)])
def test_sums_tell_that_a_cap_takes_its_special_function(most: float, one: float) -> None:
    """Of 160 keys in two blocks, the block that is computed last has no mask: its sums tell."""
    q, k, v = (x.astype(np.float32) for x in inputs(64, 160, 1, 1, 64))
    q, k = 0.02 * q, 0.02 * k
    q[..., 0], k[..., 0] = 8.0, most
    k[:, 21, :, 0] = one
    how: dict[str, Any] = {"softcap": 20.0, "config": Config(1, 80, turns=False), "rtol": 1.3e-4}
    compare(*(x.astype(BF16) for x in (q, k, v)), **how)


def test_a_nan_under_a_cap_is_in_outputs_and_logsumexp() -> None:
    q, k, v = inputs(70, 200, 1, 1, 64)
    k[0, 150] = np.nan
    o, lse = attention(q, k, v, softcap=5.0, causal=True, return_lse=True)
    assert (np.isnan(lse[0, 0]) == (np.arange(70) >= 20)).all()
    assert (np.isnan(o.astype(np.float32)[0, :, 0, 3]) == (np.arange(70) >= 20)).all()


def slope(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + (q_idx - kv_idx) * -0.05 * (h + 1)


def near(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (q_idx - kv_idx <= 20) & (kv_idx - q_idx <= 3)


def test_mods_are_functions_of_python() -> None:
    q, k, v = inputs(100, 200, 2, 1, 64)
    compare(q, k, v, score_mod=slope)
    compare(q, k, v, mask_mod=near, causal="top-left")
    compare(q, k, v, score_mod=slope, mask_mod=near, softcap=3.0)


def twice(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return 1.0 - (2.0 * (score + abs(q_idx - kv_idx) * 0.03) - 1) / -2.0


def turned(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return -score * ((h + 1) * 0.5) + 3 - kv_idx * 0.01 + score / 4


def opposite(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (2.0 - score) * 1.5 + kv_idx * 0.01


def thirds(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + kv_idx % 3 - q_idx % 2


def headed(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score * 0.5 + h


HALF = np.float32(0.5)


def branches(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """Scores and indices that are computed on one path, on the other and behind both, and in a loop."""
    if h == 0:
        score = abs(score) + abs(q_idx - kv_idx) * HALF
    for _ in range(h + 1):
        score = score * 0.5 + kv_idx * 0.1
    if h == 0:
        return score
    return score - abs(score) * HALF + q_idx % 3


@pytest.mark.parametrize("mod", [twice, turned, opposite, thirds, headed, branches])
def test_what_functions_add_to_scores(mod: Any) -> None:
    q, k, v = inputs(20, 200, 2, 1, 64)
    compare(q, k, v, score_mod=mod, causal=True)


def fading(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score - abs(q_idx - kv_idx) * 0.7


def leaning(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + (kv_idx - q_idx) * 0.7


BY_DISTANCE = (fading, BF16, 128), (fading, np.float16, 128), (leaning, BF16, 64)


@pytest.mark.parametrize(  # by the factor two rows share what is subtracted, or do not
    ("factor", "mod", "dtype", "dim"), some(((factor, *of) for factor in (1.0, 30.0) for of in BY_DISTANCE), 2)
)
def test_terms_by_distance_of_scores_near_0_and_far_from_it(factor: float, mod: Any, dtype: Any, dim: int) -> None:
    q, k, v = inputs(100, 200, 1, 1, dim, dim, dtype)
    for how in ({"causal": True}, {"window": (30, 5)}):  # a tile's last rows see none of the keys that come first
        compare((q * factor).astype(dtype), k, v, score_mod=mod, rtol=1e-4, **how)


@pytest.mark.parametrize("mod", [fading, leaning])
def test_scores_that_outgrow_a_number_for_two_rows(mod: Any) -> None:
    q, k, v = inputs(70, 300, 1, 1, 128)
    k[:, :100] *= 60  # which come last
    compare(q, k, v, score_mod=mod, rtol=1e-4)


@pytest.mark.parametrize(("dtype", "factor"), [(np.float16, 1.2e4), (BF16, 1e7)])
def test_scores_whose_exponents_f32_rounds_by_more_than_powers_have(dtype: Any, factor: float) -> None:
    q, k, v = inputs(30, 130, 1, 1, 64, 64, np.float32)
    k[:, 7] = k[:, 125]  # the greatest score of some rows, twice
    arrays = (q * factor).astype(dtype), (k * factor).astype(dtype), v.astype(dtype)
    compare(*arrays)
    compare(*arrays, config=Config(1, 64, turns=False))


def squared(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    print(f"head {h}")
    while h > 7:
        h = h // 2
    return score * score


def test_a_function_that_does_more_than_add_is_called_once_for_each_block(capfd: pytest.CaptureFixture[str]) -> None:
    """That it does more is found by a call that is taken back."""
    compare(*inputs(64, 128, 1, 1, 64), score_mod=squared, config=Config(1, 64, turns=False))
    assert capfd.readouterr().out.splitlines() == ["head 0"] * (1 + 2 * 128)  # by the reference, by each thread


WALKS = [
    (Config(2, 64, queries=2), Problem(cl.bf16, 64, 64, right=True)),
    (Config(2, 64, turns=False, pairs=True), Problem(cl.bf16, 128, 128)),
    (Config(1, 64, turns=False), Problem(cl.bf16, 64, 64, left=True, right=True)),
    (Config(2, 64), Problem(cl.bf16, 64, 64, right=True, ragged=True)),
    (Config(2, 64), Problem(cl.bf16, 128, 128, right=True, score_mod=fading)),
    (Config(2, 128, late=True), Problem(cl.bf16, 64, 64, right=True)),
    (Config(1, 64, turns=False, late=True), Problem(cl.bf16, 64, 64, right=True, ragged=True)),
]
NAMES = "dynamic", "turnless", "window", "ragged", "terms", "late", "late, ragged"


@pytest.mark.parametrize(("config", "problem"), WALKS, ids=NAMES)
def test_no_race_in_a_few_schedules(config: Config, problem: Problem) -> None:
    """One block, so that it goes from tile to tile; the second warpgroup has no rows in one of them."""
    q, k, v = (x.swapaxes(1, 2) for x in inputs(180, 200, 1, 1, problem.dim))
    o, lse, counter = np.empty_like(q), np.empty((1, 1, 180), np.float32), np.zeros(1, np.int32)
    ragged: tuple[Any, ...] = (None, None, None)
    if problem.ragged:
        ragged = o, *(np.array([0, 60, 60, end], np.int32) for end in (180, 200))
    report = build(config, problem).check(
        1, None, q, k, v, o, lse, None, counter, 0.1 / LN2, 0, 30, 0, 1, *ragged, None, None, (),
        seeds=2 if config is WALKS[0][0] else 1, notes=False,
    )  # fmt: skip
    assert not report.kinds, str(report)
    assert counter[0] == 0


def test_a_warpgroup_walks_from_tile_to_tile() -> None:
    compare(*inputs(400, 80, 2, 2, 64), causal="top-left", config=Config(1, 64))


@pytest.mark.parametrize(
    ("groups", "how"), some(product((1, 2), ({}, {"causal": True}, {"causal": "top-left", "window": (60, None)})), 2)
)
def test_sequences_of_any_lengths(groups: int, how: dict[str, Any]) -> None:
    """One has NaN in all keys and values, which its neighbours do not see."""
    queries, keys = [70, 0, 64, 1, 200, 30], [70, 3, 90, 1, 130, 0]
    starts_q, starts_k = (np.cumsum([0, *x]).astype(np.int32) for x in (queries, keys))
    q, k, v = (x[0] for x in inputs(starts_q[-1] + 5, starts_k[-1], 2, 1, 64))
    k[starts_k[4] : starts_k[5]] = v[starts_k[4] : starts_k[5]] = np.nan
    out = np.full(q.shape, 7, BF16)
    config = Config(groups, 64)
    o, lse = attention_varlen(q, k, v, starts_q, starts_k, out, return_lse=True, config=config, **how)
    for i in (0, 2, 3, 5):
        here, there = slice(*starts_q[i : i + 2]), slice(*starts_k[i : i + 2])
        want, sums = reference(q[None, here], k[None, there], v[None, there], **how)
        np.testing.assert_allclose(o[here].astype(np.float64), want[0], atol=8e-3, rtol=8e-3)
        np.testing.assert_allclose(lse[:, here], sums[0], atol=1e-4, rtol=1e-5)
    assert np.isnan(o[starts_q[4] : starts_q[5]].astype(np.float32)[-1]).all()
    assert (o[starts_q[-1] :] == 7).all()


@pytest.mark.parametrize(("softcap", "sink"), [(None, 0.5), (5.0, -100.0)])
def test_sinks_are_in_the_sums(softcap: float | None, sink: float) -> None:
    q, k, v = inputs(100, 70, 3, 1, 64)
    sinks = np.array([sink, -np.inf, np.inf], np.float32)  # the last one makes outputs NaN, as torch's softmax does
    o, lse = attention(q, k, v, causal=True, sinks=sinks, return_lse=True, softcap=softcap)
    assert np.isnan(o[:, :, 2].astype(np.float32)).all()
    assert (lse[:, 2] == np.inf).all()
    o, lse, q, sinks = o[:, :, :2], lse[:, :2], q[:, :, :2], sinks[:2]
    want, sums = reference(q, k, v, causal=True, softcap=softcap)
    with_sinks = np.logaddexp(sums, sinks[None, :, None])
    np.testing.assert_allclose(lse, with_sinks, atol=1e-4, rtol=1e-5)
    with np.errstate(invalid="ignore"):
        share = np.nan_to_num(np.exp(sums - with_sinks)).swapaxes(1, 2)[..., None]  # rows that see nothing see the sink
    np.testing.assert_allclose(o.astype(np.float64), want * share, atol=8e-3, rtol=8e-3)


@pytest.mark.sm(90)  # for its time alone
def test_terms_by_distance_fit_beside_the_widest_tiles() -> None:
    def near(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score + 1.0 / (1 + abs(q_idx - kv_idx))

    problem = Problem(cl.bf16, 192, 192, score_mod=near)
    shapes = *[(1, 1, 512, 192)] * 4, (1, 1, 512)
    compiled = build(chosen(192), problem).compile(
        *shapes, None, (1,), 1.0, 0, 0, 0, 1, *(None,) * 5, (), arch="sm_90a"
    )
    assert compiled.spills == 0


@pytest.mark.usefixtures("nvdisasm")
@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize(
    ("dim", "dim_v", "queries"),
    some([(64, 64, 8192), (64, 64, 512), (128, 128, 512), (192, 128, 512), (192, 192, 512), (192, 192, 8192),
          (256, 256, 512)], 3),
)  # fmt: skip
def test_powers_are_taken_while_values_are_multiplied(dim: int, dim_v: int, queries: int) -> None:
    """In machine code: between the wait for scores and the wait for the product there are all powers of a step."""
    config = picked(dim, dim_v, Work(queries, queries, 512, 0, None, 0), 132)
    compiled = assembled(config, Problem(cl.bf16, dim, dim_v, right=True))
    assert (compiled.spills, compiled.warnings) == (0, [])
    steps = compiled.sass.split("DEPBAR.LE gsb0, 0x1")[1:]
    assert steps
    for step in steps:
        assert step.partition("DEPBAR.LE gsb0, 0x0")[0].count("MUFU.EX2") >= config.columns // 2


def assembled(config: Config, problem: Problem) -> Any:
    """Return a kernel's machine code."""
    shapes = [(1, 2, 512, problem.dim)] * 2 + [(1, 2, 512, problem.dim_v)] * 2
    numbers, nothing = (1.0, 0, 0, 0, 1), (None,) * 5
    return build(config, problem).compile(*shapes, (1, 2, 512), None, (1,), *numbers, *nothing, (), arch="sm_90a")


@pytest.mark.usefixtures("nvdisasm")
@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize(
    ("causal", "softcap", "dtype"),
    some(product((False, True), (None, 20.0), (cl.bf16, cl.f16)), 3),
)
def test_powers_are_rounded_while_scores_are_multiplied(causal: bool, softcap: float | None, dtype: Any) -> None:
    """In machine code, of one text of a step: between the start of scores and that of the product with values."""
    config = picked(128, 128, Work(8192, 8192, 512, 0, None, 0 if causal else None), 132)
    compiled = assembled(config, Problem(dtype, 128, 128, right=causal, softcap=softcap))
    assert (compiled.spills, compiled.warnings) == (0, [])
    before, *steps = compiled.sass.split("DEPBAR.LE gsb0, 0x1")
    assert len(steps) == 1
    lines = before.splitlines()
    scores = max(i for i, line in enumerate(lines) if "HGMMA" in line and ".tnspB" not in line)
    values = next(i for i in range(scores, len(lines)) if ".tnspB" in lines[i])
    assert sum("F2FP" in line for line in lines[scores:values]) >= 28


def test_a_kernel_holds_a_function_twice() -> None:
    """For the first block of a tile, and for all others, of which some have masks."""

    def wave(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return cl.math.sin(score, fast=True)

    kernel = build(Config(1, 16, pairs=True), Problem(cl.bf16, 64, 64, True, True, wave))
    compiled = kernel.compile(
        *[(1, 1, 64, 64)] * 4, (1, 1, 64), None, None, 1.0, 0, 0, 0, 1, *(None,) * 5, (), arch="sm_90a"
    )
    assert compiled.ptx.count("sin.approx") == 2 * ROWS * 16 // GROUP


def test_what_does_not_fit_is_refused() -> None:
    q, k, v = inputs(8, 8, 3, 2, 64)
    with pytest.raises(ValueError, match="q has 3 heads"):
        attention(q, k, v)
    q = q[:, :, :2]
    for how in ({"softcap": 0.0}, {"window": (-1, None)}):
        with pytest.raises(ValueError, match=next(iter(how))):
            attention(q, k, v, **how)
    with pytest.raises(ValueError, match="multiples of 8"):
        attention(q[..., :60], k[..., :60], v)


def test_the_model_picks_small_tiles_for_little_work() -> None:
    """And it counts the blocks of keys that masks and windows leave."""
    cost = costs(64, 64)[0]
    rows, columns = 64 * cost.config.groups, cost.config.columns
    few, one, many = (Work(n, 8 * columns, heads, 0, None, None) for n, heads in ((1, 1), (rows, 1), (rows, 264)))
    assert predicted(cost, one, 132) == pytest.approx(cost.tile + 8 * cost.step)
    assert predicted(cost, many, 132) == pytest.approx(2 * predicted(cost, one, 132))
    assert cost.tile < predicted(cost, few, 132) < predicted(cost, one, 132)  # two of three warpgroups have no rows
    windowed = Work(8 * rows, 8 * rows, 1, 0, 0, 0)  # each query sees one key
    assert predicted(cost, windowed, 1) <= 9 * (cost.tile + cost.step * (rows // columns + 1))
    assert picked(64, 64, Work(8192, 8192, 64, 0, None, None), 132).groups == 3
    assert picked(64, 64, Work(64, 4096, 64, 0, None, None), 132).groups == 2
    for dim_v in (64, 192):
        assert picked(192, dim_v, Work(8192, 8192, 64, 0, None, None), 132) == chosen(192)
