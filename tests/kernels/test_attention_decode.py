"""`kernels.attention.decode` against float64: lengths, pages, several queries, heads that share keys, splits."""

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.dispatch.replay import forget_plans
from cutelite.kernels.attention import combining, decode, decoding_call, reference
from cutelite.kernels.attention.decoding import build
from cutelite.kernels.attention.parts import Config
from cutelite.kernels.attention.scores import LN2, Problem
from cutelite.kernels.attention.splitting import Split
from cutelite.toolchain import find
from tests.pairs import some

pytestmark = pytest.mark.usefixtures("everywhere")

BF16 = ml_dtypes.bfloat16
NAN = float("nan")


def inputs(batch: int, sq: int, sk: int, heads: int, kv_heads: int, dim: int, dim_v: int = 0) -> list[Any]:
    numbers = np.random.default_rng(sq + sk)
    shapes = (sq, heads, dim), (sk, kv_heads, dim), (sk, kv_heads, dim_v or dim)
    return [numbers.standard_normal((batch, *shape)).astype(BF16) for shape in shapes]


def paged(x: Any, lengths: list[int], page: int) -> tuple[Any, Any]:
    """The cache of sequences in pages out of order, NaN where no key is, and the table."""
    slots = -(-x.shape[1] // page)
    order = np.random.default_rng(1).permutation(len(lengths) * slots).astype(np.int32).reshape(len(lengths), slots)
    order = np.concatenate([order, np.full_like(order, -1)], 1)[:, :slots]
    cache = np.full((len(lengths) * slots, page, *x.shape[2:]), NAN, BF16)
    for b, length in enumerate(lengths):
        for i in range(length):
            cache[order[b, i // page], i % page] = x[b, i]
    return cache, order


def compare(
    arrays: list[Any], lengths: list[int], page: int = 0, splits: int | Split | None = None, starts: Any = None,
    **how: Any,
) -> None:  # fmt: skip
    if isinstance(splits, Split):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(decoding_call, "picked", lambda *_: splits)
            compare(arrays, lengths, page, None, starts, **how)
        return
    q, k, v = arrays
    told = np.array([lengths, starts or lengths], np.int32).T.copy()  # as parts of a larger array
    (cache, table), (cache_v, _) = ((paged(x, lengths, page) if page else (x, None)) for x in (k, v))
    if table is not None and "window" in how:  # pages before the window may be others' by now
        for b, length in enumerate(lengths):
            table[b, : max(0, length - q.shape[1] - how["window"][0]) // page] = -1
    more = how | {"lengths": told[:, 0], "starts": starts and told[:, 1], "table": table, "splits": splits}
    o, lse = decode(q, cache, cache_v, return_lse=True, **more)
    for b, length in enumerate(lengths):
        first = starts[b] if starts else 0
        parts = (x[b : b + 1] for x in (q, k[:, first:length], v[:, first:length]))
        want, sums = reference(*parts, **{"causal": True} | {key: x for key, x in how.items() if key != "early"})
        np.testing.assert_allclose(o[b : b + 1].astype(np.float64), want, atol=8e-3, rtol=8e-3)
        np.testing.assert_allclose(lse[b : b + 1], sums, atol=1e-4, rtol=1e-5)


def shares(count: int, beside: int = 1) -> Split:
    return Split(count, even=beside)


@pytest.mark.parametrize(
    ("page", "splits"),
    [
        (0, 1), (0, 3), (16, 3), (98, 1), (17, 2), (0, Split(2, True)), (0, shares(5)), (16, shares(22, 2)),
        (17, shares(64)),
    ],
)  # fmt: skip
def test_lengths_pages_and_splits(page: int, splits: Any) -> None:
    starts = [70, 0, page // 2, 129] if splits in (3, shares(5)) else None
    early = splits in (3, Split(2, True), shares(5), shares(22, 2))
    compare(inputs(4, 1, 300, 8, 2, 64), [300, page, page + 1, 130], page, splits=splits, starts=starts, early=early)


def test_several_queries_of_heads_that_share_keys() -> None:
    compare(inputs(2, 5, 200, 6, 2, 128), [200, 77], 32, splits=2, starts=[150, 75])  # three queries see no key
    compare(inputs(1, 9, 150, 16, 1, 64), [150], starts=[70])  # 144 rows: three tiles
    for early in (False, True):
        compare(inputs(40, 2, 70, 2, 1, 64), [1 + 67 * i % 70 for i in range(40)], splits=shares(13), early=early)


@pytest.mark.parametrize(("dim", "dim_v"), [(72, 40), (192, 128), (256, 256)])
def test_head_dims(dim: int, dim_v: int) -> None:
    compare(inputs(1, 2, 150, 2, 1, dim, dim_v), [130], splits=2)


def test_windows_softcap_and_mods() -> None:
    how: dict[str, Any] = {"window": (70, None), "softcap": 3.0, "starts": [350, 9], "early": True}
    compare(inputs(2, 2, 400, 4, 2, 64), [400, 90], 16, splits=3, **how)
    compare(
        inputs(1, 2, 200, 4, 2, 64),
        [200],
        splits=shares(3),
        score_mod=lambda score, b, h, q_idx, kv_idx: score + (kv_idx - q_idx) * 0.05 * (h + 1),
        mask_mod=lambda b, h, q_idx, kv_idx: (kv_idx & 3) != 1,
        causal=False,
    )


def test_functions_may_capture_arrays() -> None:
    bias = np.random.default_rng(0).standard_normal((200, 4)).astype(np.float32).T
    shown = (np.arange(400) % 6 != 2)[::2]
    compare(
        inputs(2, 2, 200, 4, 2, 64),
        [200, 90],
        16,
        splits=2,
        score_mod=lambda score, b, h, q_idx, kv_idx: score + bias[h, kv_idx],
        mask_mod=lambda b, h, q_idx, kv_idx: shown[kv_idx],
        causal=False,
    )


def test_a_sequence_without_keys_and_sinks(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = inputs(2, 1, 200, 2, 1, 64)
    sinks = np.array([0.5, -np.inf], np.float32)
    for splits, split in (1, None), (2, None), (None, Split(2, True)), (None, shares(3)):
        monkeypatch.setattr(decoding_call, "picked", lambda *_, split=split: split)
        far = np.array([-(1 << 31), (1 << 31) - 1], np.int32)  # as 0 and 200
        o, lse = decode(q, k, v, lengths=far, splits=splits, return_lse=True)
        assert (o[0] == 0).all()
        assert (lse[0] == -np.inf).all()
        o, with_sinks = decode(q, k, v, lengths=far, sinks=sinks, splits=splits, return_lse=True)
        np.testing.assert_allclose(with_sinks, np.logaddexp(lse, sinks[:, None]), atol=1e-4)
        assert (o[0] == 0).all()
        endless = np.array([np.inf, 0], np.float32)
        known = far if splits else None
        *_, infinite = decode(q, k, v, lengths=known, sinks=endless, splits=splits, return_lse=True)
        assert (np.isposinf(infinite) == np.array([[True], [False]])).all()


@pytest.mark.parametrize("page", [0, 16])
def test_no_race_in_a_few_schedules(page: int) -> None:
    q, k, v = inputs(1, 2, 300, 2, 1, 64)
    kernel = build(Config(), Problem(cl.bf16, 64, 64, right=True), 2, page, True)
    (k, table), (v, _) = (paged(x, [300], page) for x in (k, v)) if page else ((k, None), (v, None))
    parts, sums = np.empty((1, 2, 2, 2, 64), np.float32), np.empty((1, 2, 2, 2), np.float32)
    arrays, lengths = (q, k.swapaxes(1, 2), v.swapaxes(1, 2), parts, sums), np.array([290], np.int32)
    numbers = 0.1 / LN2, 1, 1 << 30, 0, ()
    starts = lengths // 3
    report = kernel.check((1, 2), None, *arrays, lengths, starts, table, None, *numbers, seeds=2, notes=False)
    assert not report.kinds, str(report)
    results = q.copy(), sums[..., 0].copy()
    combine = combining.of_rows(cl.bf16, 64, 64, False, 2 if page else 1, 4)
    report = combine.check(2 if page else 1, None, parts, sums, *results, lengths, starts, None, 300, 1, 1 << 30)
    assert not report.kinds, str(report)


def test_no_race_in_shares() -> None:
    q, k, v = inputs(2, 1, 130, 4, 2, 64)
    kernel = build(Config(), Problem(cl.bf16, 64, 64, right=True), 2, 0, False, even=True, early=True)
    results = q.copy(), np.empty((2, 4, 1), np.float32)
    held = np.empty((8, 2, 64), np.float32), np.empty((8, 2), np.float32), np.zeros(4, np.int32)
    arrays, numbers = (q, k.swapaxes(1, 2), v.swapaxes(1, 2), *results), (0.1 / LN2, 1, 1 << 30, 0, (), held)
    lengths = np.array([130, 60], np.int32)
    how: dict[str, Any] = {"untouched": ["k", "v", "lengths"], "seeds": 2, "notes": False}
    report = kernel.check((1, 4), None, *arrays, lengths, None, None, None, *numbers, **how)
    assert not report.kinds, str(report)


@cl.kernel
def late(new: cl.Tensor[cl.i16, (cl.Dim("N"),)], to: cl.Tensor[cl.i16, (cl.Dim("N"),)]) -> None:
    """Copy numbers a tenth of a millisecond after the kernel behind may begin."""
    cl.griddepcontrol_launch_dependents()
    for _ in range(100):
        cl.nanosleep(1000)
    to[cl.thread_idx.x] = new[cl.thread_idx.x]


@pytest.mark.gpu
@pytest.mark.parametrize("splits", [1, 3, Split(2, True), shares(8, 2)])
def test_loads_begin_early_but_for_the_newest_keys(splits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel ahead writes them, with the query, while this one is already there."""
    torch = pytest.importorskip("torch")
    arrays = [torch.from_numpy(x.view(np.int16)).cuda().view(torch.bfloat16) for x in inputs(1, 1, 320, 4, 2, 64)]
    monkeypatch.setattr(decoding_call, "picked", lambda *_: splits if isinstance(splits, Split) else Split(splits))
    how = {"lengths": torch.tensor([300], dtype=torch.int32, device="cuda"), "early": True}
    forget_plans()  # of calls that were split otherwise
    right = decoding_call.attend_decode(*arrays, **how)
    for given, place in (arrays[0], slice(None)), (arrays[1], 299), (arrays[2], 299):
        new = given[0, place].flatten().clone()
        kept = given.clone()
        given[0, place] = NAN
        torch.cuda.synchronize()
        late[1, len(new)](new.view(torch.int16), given[0, place].flatten().view(torch.int16))
        assert torch.equal(decoding_call.attend_decode(*arrays, **how), right)
        assert torch.equal(given, kept)


@pytest.mark.parametrize(("splits", "dim", "at_once"), [(5, 136, 1), (20, 40, 132), (128, 512, 132)])
def test_parts_are_combined_by_one_warp_or_several(splits: int, dim: int, at_once: int) -> None:
    numbers = np.random.default_rng(splits)
    parts, sums = numbers.standard_normal((1, 2, 3, splits, dim)), numbers.standard_normal((1, 3, 2, splits))
    sinks = np.array([1.0, -np.inf, 3.0])
    o, lse = np.zeros((1, 2, 3, dim), BF16), np.zeros((1, 3, 2), np.float32)
    *how, grid = combining.chosen(6, dim, splits, at_once)
    arrays = (*(x.astype(np.float32) for x in (parts, sums)), o, lse, None, None, sinks.astype(np.float32))
    combining.of_rows(cl.bf16, dim, 64, False, *how)[grid](*arrays, 0, 1, 0)
    total = np.log(np.exp(sums).sum(-1) + np.exp(sinks[:, None]))
    np.testing.assert_allclose(lse, total, atol=1e-5)
    want = np.einsum("bhqs,bqhsd->bqhd", np.exp(sums - total[..., None]), parts)
    np.testing.assert_allclose(o.astype(np.float64), want, atol=8e-3, rtol=8e-3)


def test_no_race_in_clusters() -> None:
    """Two blocks have two blocks of keys each, another none."""
    q, k, v = inputs(1, 2, 300, 2, 1, 64)
    kernel = build(Config(), Problem(cl.bf16, 64, 64, right=True), 2, 0, False, True)
    arrays = q, k.swapaxes(1, 2), v.swapaxes(1, 2), q.copy(), np.empty((1, 2, 2), np.float32)
    given = np.array([250], np.int32), None, None, np.zeros(2, np.float32), 0.1 / LN2, 1, 1 << 30, 0, ()
    report = kernel.check((1, 3), None, *arrays, *given, cluster=(1, 3), seeds=2, notes=False)
    assert not report.kinds, str(report)


@pytest.mark.skipif(find.ptxas() is None, reason="needs ptxas")
@pytest.mark.parametrize(("dim", "lone"), some(product((64, 80, 128, 256), (False, True)), 3))
def test_registers_suffice(dim: int, lone: bool) -> None:
    """And of blocks of threads that are to have a multiprocessor each no two find room on one."""
    from cutelite.kernels.attention.decoding import chosen

    config = chosen(dim, lone)
    kernel = build(config, Problem(cl.bf16, dim, dim, right=True), 8, 16, True, early=lone)
    cache, parts = [(9, 8, 16, dim)] * 2, ((1, 1, 64, 4, dim), (1, 64, 1, 4))
    numbers = 1.0, 1, 0, 0, ()
    compiled = kernel.compile((1, 1, 64, dim), *cache, *parts, (1,), None, (1, 9), None, *numbers, arch="sm_90a")
    assert (compiled.spills, compiled.warnings) == (0, [])
    beside = compiled.occupancy().blocks
    assert beside == 1 if lone else beside >= config.beside


def test_a_cache_without_pages() -> None:
    q, k, v = inputs(2, 1, 32, 2, 2, 64)
    o, lse = decode(q, k[:0], v[:0], table=np.full((2, 3), -1, np.int32), return_lse=True)
    assert (o == 0).all()
    assert (lse == -np.inf).all()


def test_what_does_not_fit_is_refused() -> None:
    q, k, v = inputs(2, 1, 32, 2, 2, 64)
    with pytest.raises(ValueError, match="are possible"):
        decode(q, k, v, table=np.broadcast_to(np.int32(0), (2, 1 << 26)))
    odd = np.zeros((2, 1, 2, 65), BF16)[..., :64]
    with pytest.raises(cl.ArgumentError, match=r"\bq`? has stride 130, .* 8$"):
        decode(odd, k, v)
    with pytest.raises(cl.ArgumentError, match=r"\bk`? cannot be accessed by TMA"):
        decode(q, np.zeros((2, 32, 2, 65), BF16)[..., :64], v)
