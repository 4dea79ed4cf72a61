"""A mixture of experts: routing, sorting, GEMMs of gathered rows, their derivatives, and the operators of torch."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels import moe
from cutelite.kernels.moe import grouped, narrow, wgrad
from cutelite.kernels.moe.grouped import Config, Problem

pytestmark = pytest.mark.usefixtures("everywhere")

BF16, FP8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
NUMBERS = np.random.default_rng(0)


def normal(*shape: int, scale: float = 1.0, dtype: Any = BF16) -> Any:
    return (NUMBERS.standard_normal(shape) * scale).astype(dtype)


def off(found: Any, right: Any) -> float:
    return float(np.linalg.norm(found.astype(float) - right) / np.linalg.norm(right))


@pytest.mark.parametrize(
    ("tokens", "experts", "k", "normalise", "dtype"),
    [(37, 128, 8, True, np.float32), (9, 60, 4, False, BF16), (3, 5, 5, True, np.float16), (2, 300, 1, False, BF16)],
)
def test_routes(tokens: int, experts: int, k: int, normalise: bool, dtype: Any) -> None:
    logits = normal(tokens, experts, dtype=dtype)
    logits[0, :3] = logits[0].max()  # equal ones: the first are chosen
    made = moe.route(logits, k, normalise=normalise, index_dtype="i64" if k == 4 else "i32")
    wide = logits.astype(float)
    right = np.exp(wide) / np.exp(wide).sum(1, keepdims=True)
    order = np.argsort(-wide, 1, kind="stable")[:, :k]
    assert (made.index == order).all()
    chosen = np.take_along_axis(right, order, 1)
    assert np.allclose(made.weights, chosen / chosen.sum(1, keepdims=True) if normalise else chosen, rtol=1e-4)


@pytest.mark.parametrize(("tokens", "experts", "k"), [(5, 7, 3), (700, 128, 8), (1500, 300, 3)])
def test_sorts_by_expert(tokens: int, experts: int, k: int) -> None:
    """One block, and several; more experts than threads; choices that are nobody's."""
    index: Any = NUMBERS.integers(-1, experts + 1, (tokens, k)).astype(np.int32 if k == 8 else np.int64)
    index[:, 0] = np.where(index[:, 0] == 2, 3 if k == 8 else 2**32 + 2, index[:, 0])
    made = moe.sort(index, experts)
    flat = index.reshape(-1)
    real = np.flatnonzero((flat >= 0) & (flat < experts))
    order = real[np.argsort(flat[real], kind="stable")]
    assert (made.rows[: len(order)] == order // k).all()
    assert (made.ends == np.searchsorted(flat[order], np.arange(experts), side="right")).all()
    place = np.full(flat.shape, -1)
    place[order] = np.arange(len(order))
    assert (made.place.reshape(-1) == place).all()


def test_nothing_to_sort() -> None:
    assert (moe.sort(np.zeros((0, 2), np.int32), 3).ends == 0).all()


def test_choices_without_a_row_add_nothing_whatever_their_weight() -> None:
    x, place = np.arange(32, dtype=np.float32).reshape(4, 8), np.array([[-1, 2], [4, 0], [1, -9]], np.int32)
    weights = np.array([[np.nan, 1], [np.inf, 2], [3, np.nan]], np.float32)
    np.testing.assert_array_equal(moe.combine(x, place, weights), [x[2], 2 * x[0], 3 * x[1]])
    np.testing.assert_array_equal(moe.combine(x, place), x[[2, 0, 1]])
    for rows, places in ((x, place[:, :0]), (x[:0], place)):
        np.testing.assert_array_equal(moe.combine(rows, places), np.zeros_like(x[:3]))


KINDS = [
    (Problem(cl.bf16), Config(stages=3)),
    (Problem(cl.bf16, gather=True), Config(stages=3, swizzle=1)),
    (Problem(cl.bf16, gather=True, gated=True), Config((128, 128), stages=3, buffers=1)),
    (Problem(cl.bf16, True, True, True), Config((64, 256), True, 4, behind=2, buffers=3)),
    (Problem(cl.bf16, gated=True, kept=True), Config((64, 128), True, 3)),
    (Problem(cl.bf16, major="MN"), Config((64, 128), True, 3)),
    (Problem(cl.bf16, gather=True, major="MN"), Config(stages=3, buffers=2)),
]


@pytest.mark.parametrize(("problem", "config"), KINDS)
def test_rows_times_the_matrix_of_their_expert(problem: Problem, config: Config) -> None:
    """Rows of several tiles, of one, and of none; tiles that reach over the end of an expert and of the columns."""
    ends, n, k = np.cumsum([70, 0, 129, 64, 1]).astype(np.int32), 72, 136
    m, tokens = int(ends[-1]) + 3, 50
    a, rows = normal(tokens if problem.gather else m, k), NUMBERS.integers(0, tokens, m).astype(np.int32)
    b = normal(5, 2 * n if problem.gated else n, k)
    d = np.full((m, n), np.nan, BF16)
    sums = np.full((m, 2 * n), np.nan, BF16) if problem.kept else None
    held = b if problem.major == "K" else np.ascontiguousarray(b.swapaxes(1, 2))
    grouped.run(problem, a, held, ends, d, rows if problem.gather else None, sums, config)
    left = (a[rows] if problem.gather else a)[: m - 3].astype(float)
    parts = zip([0, *ends[:-1]], ends, b.astype(float), strict=True)
    right = np.concatenate([left[i:j] @ each.T for i, j, each in parts])
    if sums is not None:
        assert off(sums[: m - 3], right) < 4e-3
    if problem.gated:
        right = right[:, :n] / (1 + np.exp(-right[:, :n])) * right[:, n:]
    assert off(d[: m - 3], right) < 4e-3
    assert np.isnan(d[m - 3 :].astype(float)).all(), "rows of nobody were written"


def test_tiles_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="not whole pieces"):
        grouped.build(Config((64, 256)), Problem(cl.bf16))
    with pytest.raises(ValueError, match="two more"):
        grouped.build(Config(stages=3, behind=2), Problem(cl.bf16, gather=True))
    with pytest.raises(ValueError, match="not whole pieces"):
        wgrad.build(wgrad.Config(buffers=3), cl.bf16, "A")


SCALED = [
    (False, False, Config((128, 128), stages=3), 128),
    (True, False, Config((64, 256), True, 4), 128),
    (True, True, Config((128, 128), stages=3), 128),
    (True, True, Config((64, 256), True, 4, behind=2), 256),
    (False, False, Config((128, 256), stages=3), 264),
]


@pytest.mark.parametrize(("gather", "gated", "config", "n"), SCALED)
def test_fp8_with_scales_of_blocks(gather: bool, gated: bool, config: Config, n: int) -> None:
    """Scales that differ by rows of A, by columns of a tile, for gate and `up`, and along K, no multiple of 128."""
    ends, k, tokens, r = np.cumsum([70, 0, 129, 1]).astype(np.int32), 272, 50, 2 * n if gated else n
    m = int(ends[-1])
    a, rows = normal(tokens if gather else m, k, dtype=FP8), NUMBERS.integers(0, tokens, m).astype(np.int32)
    b, d = normal(4, r, k, dtype=FP8), np.full((m, n), np.nan, BF16)
    of_a, of_b = (NUMBERS.uniform(0.5, 2, shape).astype(np.float32) for shape in ((len(a), 3), (4, -(-r // 128), 3)))
    grouped.run(
        Problem(cl.e4m3, gather, gated), a, b, ends, d, rows if gather else None, config=config, scales=(of_a, of_b)
    )
    left = a.astype(float) * of_a.repeat(128, 1)[:, :k]
    left, wide = left[rows] if gather else left, b * of_b.repeat(128, 1).repeat(128, 2)[:, :r, :k].astype(float)
    right = np.concatenate([left[i:j] @ x.T for i, j, x in zip([0, *ends[:-1]], ends, wide, strict=True)])
    if gated:
        right = right[:, :n] / (1 + np.exp(-right[:, :n])) * right[:, n:]
    assert off(d, right) < 4e-3


def test_experts_in_fp8() -> None:
    x, gate_up, down, index, weights = made(20, 144, 128, 4, 2)
    given: list[Any] = []
    for matrix in gate_up, down:
        scale = NUMBERS.uniform(0.5, 2, (4, *(-(-size // 128) for size in matrix.shape[1:]))).astype(np.float32)
        given += [matrix.astype(FP8), scale]
    up, of_up, lower, of_lower = given
    found = moe.scaled_experts(x, up, of_up, lower, of_lower, index, weights)
    wide = [
        matrix.astype(float) * scale.repeat(128, 1).repeat(128, 2)[:, : matrix.shape[1], : matrix.shape[2]]
        for matrix, scale in zip(given[::2], given[1::2], strict=True)
    ]
    assert off(found, moe.reference(x, wide[0], wide[1], index, weights)) < 5e-2  # e4m3 has three bits
    with pytest.raises(ValueError, match="gate_up has dtype bfloat16, but must be e4m3"):
        moe.scaled_experts(x, gate_up, of_up, lower, of_lower, index, weights)
    with pytest.raises(ValueError, match=r"but must be \(4, 2, 2\)"):
        moe.scaled_experts(x, up, of_lower, lower, of_lower, index, weights)
    out = lower.view(BF16).reshape(-1)[: x.size].reshape(x.shape)
    with pytest.raises(ValueError, match="out lies where down does"):
        moe.scaled_experts(x, up, of_up, lower, of_lower, index, weights, out)


def made(tokens: int, hidden: int, inner: int, experts: int, k: int) -> tuple[Any, ...]:
    """Tokens, matrices, choices and weights. The last expert has no tokens."""
    x, gate_up = normal(tokens, hidden), normal(experts, 2 * inner, hidden, scale=hidden**-0.5)
    down = normal(experts, hidden, inner, scale=inner**-0.5)
    index = np.stack([NUMBERS.permutation(experts - 1)[:k] for _ in range(tokens)]).astype(np.int64)
    return x, gate_up, down, index, NUMBERS.uniform(0.1, 1, (tokens, k)).astype(np.float32)


def gradients(*given: Any) -> moe.Gradients:
    """Those of the reference, by hand, in f64, from the result's gradient and what `experts` is given."""
    gradient, x, gate_up, down, index, weights = given
    g, x, gate_up, down, w = (np.asarray(each).astype(float) for each in (gradient, x, gate_up, down, weights))
    found = moe.Gradients(*(np.zeros_like(each) for each in (x, gate_up, down, w)))
    inner = down.shape[2]
    for e in range(len(down)):
        tokens, choices = np.nonzero(index == e)
        both, u = x[tokens] @ gate_up[e].T, g[tokens] @ down[e]
        gate, up, share = both[:, :inner], both[:, inner:], w[tokens, choices][:, None]
        s = 1 / (1 + np.exp(-gate))
        h, slopes = gate * s * up, share * u
        both = np.concatenate([slopes * up * (s + gate * s * (1 - s)), slopes * gate * s], 1)
        found.weights[tokens, choices] = (h * u).sum(1)
        found.down[e], found.gate_up[e] = g[tokens].T @ (share * h), both.T @ x[tokens]
        np.add.at(found.x, tokens, both @ gate_up[e])
    return found


@pytest.mark.parametrize(("sizes", "nobodys"), [((70, 136, 72, 5, 2), False), ((30, 64, 64, 6, 3), True)])
def test_experts_and_their_derivative(sizes: tuple[int, ...], nobodys: bool) -> None:
    x, gate_up, down, index, weights = made(*sizes)
    if nobodys:  # of tokens that are all the same, by a stride of 0, and choices in another order
        index[::3, 0] = sizes[3]
        x, index = np.broadcast_to(x[:1], x.shape), np.asfortranarray(index)
    kept = moe.experts_kept(x, gate_up, down, index, weights)
    assert (moe.experts(x, gate_up, down, index, weights) == kept.out).all()
    assert off(kept.out, moe.reference(x, gate_up, down, index, weights)) < 5e-3
    gradient = normal(*x.shape)
    found = moe.experts_backward(gradient, x, gate_up, down, weights, kept.sums, kept.order)
    for name, each, right in zip(
        found._fields, found, gradients(gradient, x, gate_up, down, index, weights), strict=True
    ):
        assert off(each, right) < 6e-3, name
    assert (found.gate_up[-1].astype(float) == 0).all() and (found.down[-1].astype(float) == 0).all()


def test_refused() -> None:
    index = np.zeros((4, 2), np.int32)
    with pytest.raises(cl.ArgumentError, match="cannot be found"):
        moe.route(normal(4, 8), 9)
    with pytest.raises(cl.ArgumentError, match="experts is 2000, but must be 1 to 1024"):
        moe.sort(index, 2000)
    with pytest.raises(cl.ArgumentError, match="multiple of 8"):
        moe.combine(normal(4, 12), np.zeros((2, 2), np.int32))


def test_operators_of_torch() -> None:
    torch: Any = pytest.importorskip("torch")
    from cutelite.kernels.moe import operators

    device = "cuda" if torch.cuda.is_available() else "cpu"
    given = [torch.from_numpy(x.astype(np.float32 if x.dtype == BF16 else x.dtype)) for x in made(20, 64, 32, 4, 2)]
    x, gate_up, down = (each.to(device, torch.bfloat16).requires_grad_() for each in given[:3])
    index = given[3].to(device)
    logits = torch.randn(20, 4, device=device).requires_grad_()
    weights, chosen = operators.route(logits, 2, True)
    right, places = logits.softmax(-1).topk(2)
    assert torch.equal(chosen, places)
    torch.testing.assert_close(weights, right / right.sum(-1, keepdim=True))
    for normalise in (True, False):
        towards = torch.randn_like(weights)
        (found,) = torch.autograd.grad(operators.route(logits, 2, normalise)[0], logits, towards)
        values = logits.softmax(-1).topk(2).values
        (wanted,) = torch.autograd.grad(values / values.sum(-1, keepdim=True) if normalise else values, logits, towards)
        torch.testing.assert_close(found, wanted)
    with pytest.raises(ValueError, match="out= has no derivative, and x needs a gradient: detach it"):
        moe.experts(x, gate_up, down, index, weights, torch.empty_like(x))
    out = moe.experts(x, gate_up, down, index, weights)
    alone = moe.experts(*(each.detach() for each in (x, gate_up, down, index, weights)))
    assert torch.equal(out, alone)
    out.float().square().sum().backward()
    g, *numpy = (each.detach().float().cpu().numpy() for each in (2 * out, x, gate_up, down, index, weights))
    for each, its in zip((x, gate_up, down), gradients(g, *numpy), strict=False):
        assert off(each.grad.float().cpu().numpy(), its) < 1e-2
    checked = tuple(each.detach() for each in (x, gate_up, down, index, weights))
    torch.library.opcheck(torch.ops.cutelite.experts.default, checked, test_utils=("test_schema", "test_faketensor"))
    torch.library.opcheck(torch.ops.cutelite.route.default, (logits, 2, True))
    utilities, chosen = ("test_schema", "test_faketensor"), (index[:5] % 2, weights[:5].detach())
    values, scales = NUMBERS.integers(-8, 8, (2, 32, 32)), NUMBERS.uniform(0.1, 1, (2, 32, 1))
    packed = narrow.pack(values, scales, "i4", gated=True), narrow.pack(values[..., :16], scales, "i4")
    arguments = (torch.randn(5, 32, device=device).bfloat16(), *(torch.from_numpy(x).to(device) for x in packed))
    operator = torch.ops.cutelite.narrow_experts.default
    torch.library.opcheck(operator, (*arguments, *chosen, "i4", 16), test_utils=utilities)
    e4m3 = {"device": device, "dtype": torch.float8_e4m3fn}
    scaled = [torch.ones(2, 256, 128, **e4m3), torch.ones(2, 2, 1, device=device)]
    scaled += [torch.ones(2, 128, 128, **e4m3), torch.ones(2, 1, 1, device=device)]
    arguments = (torch.randn(5, 128, device=device).bfloat16(), *scaled, *chosen)
    fakes = ("test_faketensor",)  # others compute with fp8, which torch does not on CPUs
    torch.library.opcheck(torch.ops.cutelite.scaled_experts.default, arguments, test_utils=fakes)
