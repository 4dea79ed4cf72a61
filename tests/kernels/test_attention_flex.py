"""The same functions work in `kernels.attention` and in torch's FlexAttention."""

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from cutelite import CompileError
from cutelite.kernels.attention import attention, attention_backward, decode
from cutelite.kernels.attention.blocks import block_mask_of

torch = pytest.importorskip("torch")
Mod = Callable[..., Any] | None

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def slope(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + (kv_idx - q_idx) * 0.05 * (h + 1)


def near(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + 4.0 / (1 + abs(q_idx - kv_idx))


def squared(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score * score * 0.5 - b


def below(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return kv_idx <= q_idx


def of_prefix(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (kv_idx < 30) | (kv_idx <= q_idx)


def of_document(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (q_idx // 48 == kv_idx // 48) & (q_idx >= kv_idx)


def dilated(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return ((q_idx - kv_idx) % 3 == 0) & (h != 5)


@pytest.mark.parametrize(
    ("score_mod", "mask_mod"),
    [(slope, None), (near, below), (squared, of_prefix), (None, of_document), (slope, dilated)],
)
def test_functions_of_flex_attention(score_mod: Mod, mask_mod: Mod) -> None:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch.manual_seed(0)
    q, k, v = (torch.randn(2, heads, 100, 64, dtype=torch.bfloat16, device=DEVICE) for heads in (4, 2, 2))
    mask = None if mask_mod is None else create_block_mask(mask_mod, None, None, 100, 100, device=DEVICE)
    given = (x.float() for x in (q, k, v))
    want, sums = flex_attention(*given, score_mod=score_mod, block_mask=mask, enable_gqa=True, return_lse=True)
    o, lse = attention(q, k, v, score_mod=score_mod, mask_mod=mask_mod, layout="bhsd", return_lse=True)
    np.testing.assert_allclose(o.float().cpu().numpy(), want.cpu().numpy(), atol=1e-2, rtol=1e-2)
    np.testing.assert_allclose(lse.cpu().numpy(), sums.cpu().numpy(), atol=1e-3, rtol=1e-4)


NUMBERS = torch.arange(200, device=DEVICE) // 37


def of_documents(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return (NUMBERS[q_idx] == NUMBERS[kv_idx]) & (q_idx >= kv_idx)


@pytest.mark.parametrize("mask_mod", [below, of_documents, dilated])
def test_block_masks_of_flex_attention(mask_mod: Callable[..., Any]) -> None:
    from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

    from cutelite.kernels.attention import create_block_mask as create_ours

    torch.manual_seed(0)
    q, k, v = (torch.randn(1, heads, 200, 64, dtype=torch.bfloat16, device=DEVICE) for heads in (2, 1, 1))
    mask = create_block_mask(mask_mod, None, None, 200, 200, device=DEVICE, BLOCK_SIZE=(128, 64))
    bias = torch.linspace(-1, 1, 200, device=DEVICE)

    def biased(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score + bias[kv_idx] * h

    given = (x.float() for x in (q, k, v))
    want = flex_attention(*given, score_mod=biased, block_mask=mask, enable_gqa=True)
    for given_mask in (mask, create_ours(mask_mod, None, None, 200, 200, BLOCK_SIZE=(128, 64))):
        o = attention(q, k, v, score_mod=biased, block_mask=given_mask, layout="bhsd")
        np.testing.assert_allclose(o.float().cpu().numpy(), want.cpu().numpy(), atol=1e-2, rtol=1e-2)
    counts, blocks = [[[1, 1]]], [[[[1, 0, 2, 3], [3, 0, 1, 2]]]]
    assert block_mask_of(
        create_block_mask(noop_in_name_only, None, None, 200, 200, device=DEVICE), (1, 2, 200, 200)
    ).mask_mod
    lists = [torch.tensor(x, dtype=torch.int32, device=DEVICE) for x in (counts, blocks)]
    mask = BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=(128, 64))  # without a function: keys 64 to 127, and 192 on
    o = attention(q, k, v, block_mask=mask, layout="bhsd")
    want = flex_attention(*(x.float() for x in (q, k, v)), mask_mod_of(mask), enable_gqa=True)
    np.testing.assert_allclose(o.float().cpu().numpy(), want.cpu().numpy(), atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("case", ["lists", "all", "lists and a function", "a function and what it would hide"])
def test_gradients_of_block_masks_that_were_given_as_lists(case: str) -> None:
    """Of a function beside them they are those of flex_attention when it is compiled: lists come first."""
    from torch.nn.attention.flex_attention import BlockMask, create_block_mask, noop_mask

    def listed(*rows: list[int]) -> Any:
        counts = torch.tensor([[[len(row) for row in rows]]], dtype=torch.int32, device=DEVICE)
        order = [row + [i for i in range(3) if i not in row] for row in rows]
        return counts, torch.tensor([[order]], dtype=torch.int32, device=DEVICE)

    part, whole = listed([0], [0, 1], [2]), listed([], [2], []) if "hide" in case else (None, None)
    mod = below if "function" in case else None
    mask = BlockMask.from_kv_blocks(*part, *whole, BLOCK_SIZE=128, mask_mod=mod)
    sees = torch.zeros(384, 384, dtype=torch.bool, device=DEVICE)
    for row, column in ((0, 0), (1, 0), (1, 1), (2, 2)):
        sees[row * 128 : (row + 1) * 128, column * 128 : (column + 1) * 128] = True
    sees = sees.tril() if mod is not None else sees
    if case == "all":
        mask, sees = create_block_mask(noop_mask, None, None, 384, 384, device=DEVICE), sees | True
    if "hide" in case:
        sees[128:256, 256:] = True
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 384, 64, dtype=torch.bfloat16, device=DEVICE, requires_grad=True) for _ in range(3))
    wide = [x.detach().double().requires_grad_() for x in (q, k, v)]
    scores = torch.where(sees, wide[0] @ wide[1].mT / 8, -math.inf)
    want, do = scores.softmax(-1) @ wide[2], torch.randn(1, 2, 384, 64, device=DEVICE)
    o = attention(q, k, v, block_mask=mask, layout="bhsd")
    found = o, *torch.autograd.grad(o, (q, k, v), do.to(o.dtype))
    for a, b in zip(found, (want, *torch.autograd.grad(want, wide, do.double())), strict=True):
        assert (a.double() - b).norm() < 0.01 * b.norm()


def noop_in_name_only(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return q_idx > kv_idx


def mask_mod_of(mask: Any) -> Callable[..., Any]:
    """The same as a score function: query blocks of 128 see keys 64 to 127, and those behind 191."""

    def scored(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        seen = torch.where(q_idx < 128, (kv_idx >= 64) & (kv_idx < 128), kv_idx >= 192)
        return torch.where(seen, score, -float("inf"))

    return scored


SLOPES = torch.tensor([0.5, 0.25], device=DEVICE)
SHIFT = torch.tensor(4, device=DEVICE)


def capped(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    bias = torch.exp2(-((h + 1) * 8.0 / 2)) * (kv_idx - q_idx).to(torch.float32)
    low = torch.full_like(score, -10.0) + torch.sign(q_idx - kv_idx) * torch.maximum(score * 0, torch.tensor(0.0))
    capped = torch.tanh(score / torch.tensor(5.0)) * torch.tensor(5)
    return torch.where(kv_idx < NUMBERS[b] + 50, capped + bias * SLOPES[h], low)


def neighbours(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """Of a canvas 9 wide, as in torch's example of neighbourhood attention."""
    down, across = q_idx // 9 - kv_idx // 9, (q_idx % 9).clamp(2, 6) - kv_idx % 9
    return (down.abs() <= 3) & torch.logical_or(across.abs() <= 2, torch.logical_not(h == 0))


def same_document(q_idx: Any, kv_idx: Any) -> Any:
    return NUMBERS[q_idx] == NUMBERS[kv_idx]


def within_documents(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return same_document(q_idx, kv_idx) & (q_idx + SHIFT >= kv_idx)


def test_functions_of_torch_and_what_they_captured_forward_and_backward() -> None:
    """Functions and methods of torch, tensors without modes, helpers, and masks that torch has combined."""
    from torch.nn.attention.flex_attention import and_masks, noop_mask, or_masks

    q, k, v = (torch.randn(1, 60, 2, 64, dtype=torch.bfloat16, device=DEVICE, requires_grad=True) for _ in range(3))
    mask_mod = and_masks(within_documents, or_masks(neighbours, below), noop_mask)
    o = attention(q, k, v, score_mod=capped, mask_mod=mask_mod)
    do = torch.randn_like(o)
    found = o, *torch.autograd.grad(o, (q, k, v), do)
    places = [torch.arange(n, device=DEVICE).reshape(-1, *[1] * more) for n, more in ((1, 3), (2, 2), (60, 1), (60, 0))]
    scores = torch.einsum("bqhd,bkhd->bhqk", q.float(), k.float()) / 8
    scores = torch.where(mask_mod(*places), capped(scores, *places), -float("inf"))
    want = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v.float())
    wanted = want, *torch.autograd.grad(want, (q, k, v), do.float())
    for name, a, b in zip(("o", "dq", "dk", "dv"), found, wanted, strict=True):
        error = (a - b).abs().max() / b.abs().max()
        assert error < 0.02, name


BIAS = torch.linspace(-1, 1, 32 * 2, device=DEVICE).view(32, 2)


def bucketed(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """T5's relative bias, as transformers has it."""
    apart = torch.abs(q_idx - kv_idx)
    far = 8 + (torch.log((apart + 1) / 8.0) / math.log(16) * 8).to(torch.int32)
    near = torch.where(apart < 8, apart, torch.minimum(far, torch.full_like(far, 15)))
    return score + BIAS[near + torch.where(kv_idx > q_idx, 16, 0), h]


def from_the_end(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """Numbers below 0 count from the end, and fewer indices than modes leave an array of the others."""
    return score * BIAS[-1][h] + SLOPES[-1 - h] + BIAS[kv_idx // 2][-1]


def wrapped_around(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + (q_idx * 1103515245 + kv_idx * 12345) % 7 * 0.1


def of_options(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """Functions with arguments beyond their numbers."""
    apart = q_idx - kv_idx
    whole = torch.div(apart, 7, rounding_mode="trunc") - torch.div(apart, 7, rounding_mode="floor")
    score = torch.add(torch.sub(score, apart, alpha=0.25), whole, alpha=2)
    return torch.lerp(torch.relu(score), score.masked_fill(kv_idx == 3, 0.5), 0.75)


def of_activations(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    functional = torch.nn.functional
    a, b = functional.silu(score) + functional.relu(score), functional.softplus(score, beta=2.0)
    a += torch.nan_to_num(torch.where(kv_idx == 3, torch.nan, score), 0.5) + functional.leaky_relu(score, 0.1)
    a += torch.where(q_idx == 5, score, torch.finfo(score.dtype).eps) + functional.elu(score) + functional.mish(score)
    a += functional.hardswish(score) + torch.tensor(2.0, dtype=score.dtype)
    return a - b + functional.logsigmoid(score) + functional.gelu(score) - functional.gelu(-score, approximate="tanh")


def of_more_activations(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    functional = torch.nn.functional
    a = torch.logaddexp(score, score.new_zeros(())) + torch.logaddexp2(score, -score) + torch.special.expit(score)
    a += torch.addcmul(score, score, score, value=0.5) - torch.addcdiv(score, score, 1 + score * score)
    a += functional.hardshrink(score) + functional.softshrink(score, 0.25) + functional.threshold(score, 0.5, -1.0)
    a += functional.celu(score, 1.5) + functional.selu(score) + torch.frac(score) - torch.fix(score)
    return a + torch.xlogy(score, 2.0 + score * score) + torch.arctan(score) + torch.bitwise_right_shift(kv_idx, 3)


def of_dtypes(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """What torch tells of numbers and arrays decides while it is compiled, or is a number."""
    whole = kv_idx.dtype in (torch.int32, torch.int64) and q_idx.dtype != torch.float32
    by = 0.5 if score.dtype == torch.float32 and score.dtype is not torch.float16 and whole else 2.0
    return score * by + BIAS[kv_idx % len(BIAS), -1] * BIAS.size(-1) + SLOPES.dim() * torch.sgn(q_idx - kv_idx)


def of_a_head_alone(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    """Scores do not matter: their gradients are zeros."""
    return SLOPES[h] * 2


def of_places_alone(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return torch.where(kv_idx % 3 == 0, torch.zeros_like(score), BIAS[kv_idx % 32, h])


@pytest.mark.parametrize(
    "score_mod",
    [
        bucketed, from_the_end, wrapped_around, of_options, of_activations, of_more_activations, of_dtypes,
        of_a_head_alone, of_places_alone,
    ],
)  # fmt: skip
def test_functions_and_their_derivatives_are_torchs(
    score_mod: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside torch on a CPU: on a GPU `logsigmoid` cannot be mapped four times."""
    given = [torch.randn(1, 40, 2, 64, dtype=torch.bfloat16, device=DEVICE, requires_grad=True) for _ in range(3)]
    for name in ("BIAS", "SLOPES"):
        monkeypatch.setitem(globals(), name, globals()[name].clone().requires_grad_())
    o = attention(*given, score_mod=score_mod)
    do = torch.randn_like(o)
    found = o, *torch.autograd.grad(o, (*given, BIAS, SLOPES), do, materialize_grads=True)
    for name in ("BIAS", "SLOPES"):
        monkeypatch.setitem(globals(), name, globals()[name].detach().cpu().requires_grad_())
    q, k, v = (x.detach().cpu().float().requires_grad_() for x in given)
    each: Any = score_mod
    for at in (4, 3, 2, 1):
        each = torch.vmap(each, in_dims=(0, *(0 if i == at else None for i in range(1, 5))))
    places = [torch.arange(n, dtype=torch.int32) for n in (1, 2, 40, 40)]
    scores = each(torch.einsum("bqhd,bkhd->bhqk", q, k) / 8, *places)
    want = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)
    wanted = want, *torch.autograd.grad(want, (q, k, v, BIAS, SLOPES), do.cpu().float(), materialize_grads=True)
    for name, a, b in zip(("o", "dq", "dk", "dv", "of BIAS", "of SLOPES"), found, wanted, strict=True):
        rounded = 0.1 if name.startswith("of") else 0.0  # of sums that cancel: softmax takes no notice of `SLOPES[h]`
        assert (a.cpu() - b).abs().max() <= 0.02 * b.abs().max() + rounded, name


def by_distance(table: Any) -> Callable[..., Any]:
    return lambda score, b, h, q_idx, kv_idx: score + table[h, kv_idx - q_idx + 60]


def by_place(table: Any) -> Callable[..., Any]:
    """Each element is read alone; what is not seen has derivatives that are not finite."""

    def mod(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score * table[b, h, 0, 0] + table[b, h, q_idx, kv_idx] * torch.log2(q_idx - kv_idx + 1.0)

    return mod


def by_number(table: Any) -> Callable[..., Any]:
    return lambda score, b, h, q_idx, kv_idx: score * table + torch.tanh(table) * kv_idx / 60


LEARNED = [
    (by_distance, (2, 120), 64, {}), (by_distance, (2, 120), 192, {"causal": True}),
    (by_number, (), 128, {"softcap": 5.0}), (by_number, (), 256, {}),
    (by_place, (2, 2, 60, 60), 64, {"causal": True, "window": (13, None)}),
]  # fmt: skip


@pytest.mark.parametrize(("compiled", "dtype", "most"), [(False, "bfloat16", 0.03), (True, "float16", 0.01)])
@pytest.mark.parametrize(("mod_of", "shape", "dim", "how"), LEARNED)
def test_gradients_of_tensors_that_functions_captured(
    mod_of: Callable[..., Any], shape: tuple[int, ...], dim: int, how: Any, compiled: bool, dtype: str, most: float
) -> None:
    torch.manual_seed(0)
    torch._dynamo.reset()
    made = {"dtype": getattr(torch, dtype), "device": DEVICE, "requires_grad": True}
    q, k, v = (torch.randn(2, 60, n, dim, **made) for n in (2, 1, 1))
    table = (torch.rand(shape, device=DEVICE) / 2).to(torch.bfloat16).requires_grad_()
    mod = mod_of(table)
    call = torch.compile(attention, backend="aot_eager", fullgraph=True) if compiled else attention
    o = call(q, k, v, score_mod=mod, **how)
    do = torch.randn_like(o)
    found = torch.autograd.grad(o, (q, k, v, table), do)
    wide = [x.detach().double().requires_grad_() for x in (q, k, v, table)]
    places = [torch.arange(n, device=DEVICE).reshape(-1, *[1] * more) for n, more in ((2, 3), (2, 2), (60, 1), (60, 0))]
    scores = torch.einsum("bqhd,bkhd->bhqk", wide[0], wide[1].expand(-1, -1, 2, -1)) * dim**-0.5
    cap, sees = how.get("softcap"), torch.ones(60, 60, dtype=torch.bool, device=DEVICE)
    sees = sees.tril().triu(-13) if "window" in how else sees.tril() if how.get("causal") else sees
    places[2:] = (torch.where(sees, x, 1 - i) for i, x in enumerate(places[2:]))  # of finite derivatives
    scores = mod_of(wide[3])(scores if cap is None else cap * torch.tanh(scores / cap), *places)
    p = torch.where(sees, scores, -math.inf).softmax(-1)
    want = torch.einsum("bhqk,bkhd->bqhd", p, wide[2].expand(-1, -1, 2, -1))
    for x, y in zip(found, torch.autograd.grad(want, wide, do.double()), strict=True):
        assert (x.double() - y).norm() < most * y.norm()


def test_captured_tensors_that_get_no_gradient() -> None:
    bias = torch.zeros(2, device=DEVICE, requires_grad=True)
    q, do = (torch.ones(1, 8, 2, 64, dtype=torch.bfloat16, device=DEVICE) for _ in range(2))

    def mod(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score + bias[h]

    def branching(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        if h > 0:
            score = score + bias[h]
        return score

    def behind_a_branch(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        if h > 0:
            score = score * 2.0
        return score + bias[h] * kv_idx

    with pytest.raises(ValueError, match="needs a gradient, and would get none: detach it"):
        attention(q, q, q, mask_mod=lambda b, h, q_idx, kv_idx: bias[h] >= 0)
    with pytest.raises(ValueError, match="needs a gradient, and would get none: detach it"):
        decode(q, q, q, score_mod=mod)
    with pytest.raises(ValueError, match="out= has no derivative, and score_mod needs a gradient"):
        attention(q, q, q, torch.empty_like(q), score_mod=mod)
    given, rows = (do, q, q, q, do, torch.zeros(1, 2, 8, device=DEVICE)), torch.zeros_like(bias, dtype=torch.int32)
    with pytest.raises(ValueError, match=r"captured\[0\] is no array that score_mod captured"):
        attention_backward(*given, captured=(bias.detach(),))
    with pytest.raises(ValueError, match=r"captured\[0\] has dtype torch\.int32, and has no gradient: leave it out"):
        attention_backward(*given, captured=(rows,), score_mod=lambda score, b, h, q_idx, kv_idx: score + rows[h])
    with pytest.raises(ValueError, match=r"within torch\.vmap tensors that functions captured have no gradients"):
        torch.vmap(lambda x: attention(x, x, x, score_mod=mod))(q[None])
    with pytest.raises(CompileError, match="is read in a branch or loop that depends on a run-time number"):
        attention(q, q, q, score_mod=branching).sum().backward()
    attention(q, q, q, score_mod=behind_a_branch).sum().backward()
    assert bias.grad is not None
    o = attention(q, q, q, score_mod=mod)
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(ValueError, match="are added up in any order"):
            o.sum().backward()
    finally:
        torch.use_deterministic_algorithms(False)
    with torch.no_grad():
        bias += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        o.sum().backward()


def test_functions_that_kernels_do_not_have() -> None:
    q = torch.zeros(1, 8, 1, 64, dtype=torch.bfloat16, device=DEVICE)
    with pytest.raises(CompileError, match=r"a kernel has no `torch\.cumsum`"):
        attention(q, q, q, score_mod=lambda score, b, h, q_idx, kv_idx: torch.cumsum(score, 0))
    with pytest.raises(CompileError, match=r"a kernel's `torch\.round` does not take these arguments: .*'decimals'"):
        attention(q, q, q, score_mod=lambda score, b, h, q_idx, kv_idx: torch.round(score, decimals=2))
    with pytest.raises(CompileError, match=r"a whole array of 1 mode \(take an element of it\)"):
        attention(q, q, q, score_mod=lambda score, b, h, q_idx, kv_idx: score + BIAS[kv_idx])
    with pytest.raises(CompileError, match=r"3 indices into an array of 2 modes"):
        attention(q, q, q, score_mod=lambda score, b, h, q_idx, kv_idx: score + BIAS[kv_idx, h, b])
    with pytest.raises(CompileError, match=r"with a whole tensor, here of shape \(1,\)"):
        attention(q, q, q, score_mod=lambda score, b, h, q_idx, kv_idx: score * torch.tensor([2.0]))
    with pytest.raises(CompileError, match=r"a whole array of 1 mode \(take an element of it\)"):
        attention(q, q, q, score_mod=lambda score, b, h, q_idx, kv_idx: score + SLOPES)
    holder = type("Holder", (), {"table": torch.arange(8, device=DEVICE)})()
    with pytest.raises(CompileError, match="cannot index this tensor"):
        attention(q, q, q, mask_mod=lambda b, h, q_idx, kv_idx: holder.table[q_idx] == kv_idx)


def test_what_functions_hold_beside_variables() -> None:
    """Defaults of parameters, arrays among them, tell functions apart; a variable may be bound for some of them."""

    def scaled(by: float, named: float, start: float | None) -> Mod:
        if start is not None:
            table = torch.full((2,), start, device=DEVICE)

        factor = torch.tensor([by], device=DEVICE)

        def score_mod(
            more: float, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, by: Any = factor, *, named: float = named
        ) -> Any:
            found = score * more * by[0] * named
            return found if start is None else found + table[h] * kv_idx

        return partial(score_mod, 0.5)

    q, k, v = (torch.randn(1, 8, 2, 64, dtype=torch.bfloat16, device=DEVICE) for _ in range(3))
    for by, named, start in ((1.0, 1.0, None), (1.0, 3.0, None), (2.0, 3.0, None), (1.0, 1.0, 0.5), (1.0, 1.0, 0.25)):
        o = attention(q, k, v, score_mod=scaled(by, named, start))
        scores = torch.einsum("bqhd,bkhd->bhqk", q.float(), k.float()) / 8 * 0.5 * by * named
        scores += (start or 0.0) * torch.arange(8, device=DEVICE)
        want = torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v.float())
        np.testing.assert_allclose(o.float().cpu().numpy(), want.cpu().numpy(), atol=2e-2)


EVALUATED: list[int] = []


@cache
def said() -> int:
    """Python executes this in each compile."""
    EVALUATED.append(0)
    return 0


def test_a_function_written_in_place_is_compiled_once() -> None:
    """It is found again by what it is made of."""
    q, last = torch.zeros(1, 8, 1, 64, dtype=torch.bfloat16, device=DEVICE), torch.tensor(3, device=DEVICE)
    counts = []
    for _ in range(2):
        mask_mod = partial(
            lambda end, b, h, q_idx, kv_idx: same_document(q_idx, kv_idx) & (kv_idx < end + said()), last
        )
        attention(q, q, q, mask_mod=mask_mod)
        counts.append(len(EVALUATED))
    assert 0 < counts[0] == counts[1]
