"""The out= forms of operators, `torch.ops.cutelite.softmax.out` and its like; functions that lose no gradient."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_map_only

import cutelite as cl
from cutelite.dispatch.divert import diverted
from cutelite.kernels import gemm as kernel
from cutelite.kernels.attention import attention as attend
from cutelite.kernels.attention import attention_varlen, backward_call, create_block_mask
from cutelite.kernels.attention import operators as attention
from cutelite.kernels.gemm import grouped
from cutelite.kernels.gemm import operators as gemm
from cutelite.kernels.gemm.rotated import rotated_product
from cutelite.kernels.moe import backward, call, routing
from cutelite.kernels.moe import operators as moe
from cutelite.kernels.rows import cross_entropy, gates, norm, rope, rope_append, select, softmax
from cutelite.kernels.rows import operators as rows
from cutelite.kernels.rows.adamw import adamw
from cutelite.kernels.rows.elementwise import elementwise, scale
from cutelite.models import operators as models
from tests.kernels.test_bad_arguments import RIGHT, only_checked

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NO_WINDOW = "", None, None, None, None


def random(*shape: int, dtype: Any = torch.bfloat16) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(DEVICE, dtype)


def choices() -> tuple[Any, ...]:
    x, gate_up, down = random(5, 32), random(4, 32, 32) / 4, random(4, 32, 16) / 4
    weights, index = moe.route(random(5, 4, dtype=torch.float32), 2, True)
    return x, gate_up, down, index, weights


CASES: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "activated": lambda: (rows.activated, (random(4, 24), "silu")),
    "argmax": lambda: (rows.argmax, (random(3, 16),)),
    "attention": lambda: (attention.attention, (*(random(1, 8, 2, 16),) * 3, None, *NO_WINDOW, "bshd")),
    "attention_varlen": lambda: (
        attention.attention_varlen,
        (*(random(8, 2, 16),) * 3, None, *(torch.tensor([0, 3, 8], dtype=torch.int32, device=DEVICE),) * 2, *NO_WINDOW),
    ),
    "cross_entropy": lambda: (
        rows.cross_entropy, (random(3, 24), torch.tensor([3, 0, -100], device=DEVICE), 0.1, 1e-3, -100)
    ),
    "cross_entropy_backward": lambda: (
        rows.cross_entropy_backward,
        (random(3, dtype=torch.float32), random(3, 24), torch.tensor([3, 0, -100], device=DEVICE),
         random(3, dtype=torch.float32), 0.1, 1e-3, -100),
    ),
    "sample": lambda: (
        rows.sample, (random(3, 24), torch.rand(3, device=DEVICE), 0.7, 5, 0.9)
    ),
    "cumsum": lambda: (rows.cumsum, (random(4, 24),)),
    "decode": lambda: (
        attention.decode,
        (random(1, 1, 2, 16), *(random(1, 8, 2, 16),) * 2, None, None, None, "bottom-right", *(None,) * 3),
    ),
    "embedding": lambda: (rows.embedding, (random(9, 16), torch.tensor([3, 0, 8], device=DEVICE), -1)),
    "experts": lambda: (moe.experts_alone, choices()),
    "gated": lambda: (rows.gated, (random(4, 24), random(4, 24), "gelu")),
    "gated_halves": lambda: (rows.gated_halves, (random(4, 48), "silu")),
    "gemm": lambda: (gemm.gemm, (random(24, 32), random(32, 16))),
    "histogram": lambda: (rows.histogram, (random(4, 24), 8, -1.0, 1.0)),
    "norm": lambda: (rows.norm_forward, (random(4, 24), random(24), None, None, 1e-6, 0.0, False)),
    "quantise": lambda: (rows.quantise, (random(3, 144), 128, None, "silu")),
    "reduced": lambda: (rows.reduced, (random(3, 16), "max", 0)),
    "rope": lambda: (
        rows.rope, (random(1, 5, 3, 16), random(1, 5, 1, 16), random(8, 8), random(8, 8), None, False, False)
    ),
    "route": lambda: (moe.route, (random(5, 8, dtype=torch.float32), 2, True)),
    "softmax": lambda: (rows.softmax, (random(4, 24), True)),
    "sort": lambda: (rows.sort, (random(50), True)),
    "top_k": lambda: (rows.top_k, (random(3, 16), 2)),
    "transposed": lambda: (rows.transposed, (random(5, 24), "f16")),
    "transposed_blocks": lambda: (rows.transposed_blocks, (random(150, 24), "e4m3")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_results_go_to_the_tensors_that_are_given(name: str) -> None:
    operator, given = CASES[name]()
    found = operator(*given)
    into = getattr(torch.ops.cutelite, name).out
    several = sum(x.alias_info is not None for x in into._schema.arguments)
    rights = (found,) if isinstance(found, torch.Tensor) else found[:several]
    buffers = [torch.ones_like(x, memory_format=torch.contiguous_format) for x in rights]
    into(*given, *buffers)
    for buffer, right in zip(buffers, rights, strict=True):
        assert torch.equal(buffer.view(torch.uint8), right.contiguous().view(torch.uint8))


def writers() -> dict[str, tuple[Callable[[], Any], list[Any]]]:
    """Return calls of functions that write to tensors they are given, and these tensors."""
    x, y, ones = random(4, 16), random(4, 16), torch.ones(4, 8, dtype=torch.bfloat16, device=DEVICE)
    heads, column = random(1, 4, 1, 16), torch.zeros((4, 1), dtype=torch.int64, device=DEVICE)
    state, cache, length = [random(4, 16) for _ in range(3)], random(1, 1, 8, 16), column[0]
    return {
        "softmax": (lambda: softmax.softmax(x, out=y), [y]),
        "softmax in place": (lambda: softmax.softmax(x, out=x), [x]),
        "top_k": (lambda: select.top_k(x, 1, out=(state[0][:, :1].clone(), column)), [column]),
        "gemm": (lambda: kernel.gemm(x, x.T.contiguous(), out=ones[:, :4]), [ones]),
        "attention": (lambda: attend(heads, heads, heads, out=y.view(1, 4, 1, 16)), [y]),
        "rope": (lambda: rope.rope(heads, None, ones, ones, out=(heads,)), [heads]),
        "rope_append": (
            lambda: rope_append.rope_append(*(heads,) * 3, ones, ones, cache, cache.clone(), length),
            [cache, length],
        ),
        "adamw": (lambda: adamw([state[0]], [x], [state[1]], [state[2]], 1), state),
        "scale": (lambda: scale(x, torch.full((1,), 2.0, device=DEVICE)), [x]),
    }


@pytest.mark.parametrize("name", writers())
def test_gradients_of_what_was_written_over_are_refused(name: str) -> None:
    call, written = writers()[name]
    if written[0].is_floating_point():
        kept = torch.ones_like(written[0], requires_grad=True) * written[0]
    before = [x._version for x in written]
    call()
    assert all(x._version > version for x, version in zip(written, before, strict=True))
    if written[0].is_floating_point():
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            kept.sum().backward()


def test_derivatives_that_do_not_exist_are_told_in_our_words() -> None:
    x = random(4, 16).requires_grad_()
    (gradient,) = torch.autograd.grad(softmax.softmax(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"softmax_backward.default has no derivative: leave create_graph=True out"):
        gradient.sum().backward()
    mixed = moe.experts_alone(choices()[0].requires_grad_(), *choices()[1:])
    with pytest.raises(RuntimeError, match=r"experts.default has no derivative: detach what it is given"):
        mixed.sum().backward()


class Lost(torch.autograd.Function):  # type: ignore[misc]
    """The same, without a gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> None:
        return None


@pytest.mark.parametrize("name", ["top_k", "cross_entropy", "gated MLP"])
def test_of_no_gradient_there_is_none(name: str) -> None:
    operator, (x, *given) = (CASES | FURTHER)[name]()
    Lost.apply(operator(x.requires_grad_(), *given)[0]).sum().backward()
    assert x.grad is None


def test_results_do_not_go_to_tensors_that_need_a_gradient() -> None:
    x, weight = random(4, 16), torch.zeros(4, 16, dtype=torch.bfloat16, device=DEVICE).requires_grad_()
    for out in weight, weight * 1:
        with pytest.raises(cl.ArgumentError, match="out needs a gradient"):
            softmax.softmax(x, out=out)
    with pytest.raises(cl.ArgumentError, match="out needs a gradient"):
        rope.rope(x.view(1, 4, 1, 16), None, x[:, :8], x[:, :8], out=(weight.view(1, 4, 1, 16),))
    with torch.no_grad():
        softmax.softmax(x, out=weight)
    adamw([weight], [x], [x.clone()], [x.abs()], 1)  # as torch's optimisers do
    assert weight._version == 2


INT = torch.int32
FURTHER: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {
    "attention_backward": lambda: (
        attention.attention_backward,
        (random(1, 8, 2, 16), None, *(random(1, 8, 2, 16),) * 4, random(1, 2, 8, dtype=torch.float32), *NO_WINDOW,
         "bshd", False),
    ),
    "decode of pages": lambda: (
        attention.decode,
        (random(2, 1, 2, 64), *(random(4, 16, 1, 64),) * 2, torch.tensor([3, 5], dtype=INT, device=DEVICE),
         torch.tensor([[0], [1]], dtype=INT, device=DEVICE), random(2, dtype=torch.float32), "bottom-right",
         *(None,) * 3, torch.tensor([0, 1], dtype=INT, device=DEVICE)),
    ),
    "dense": lambda: (models.dense, (random(5, 32), [random(16, 32), random(24, 32)], random(40), random(5, 40))),
    "gated MLP": lambda: (models.gated_mlp, (random(5, 32), [random(16, 32)] * 2, random(32, 16), None, "silu")),
    "norm_backward": lambda: (
        rows.norm_backward,
        (random(4, 24), random(4, 24), random(24), *(random(4, dtype=torch.float32),) * 2, None, True, 0.0),
    ),
    "rope_": lambda: (
        rows.rope_,
        (random(1, 5, 3, 16), random(1, 5, 1, 16), *(random(8, 8),) * 2,
         torch.tensor([[0, 1, 2, 3, 4]], device=DEVICE), False, False),
    ),
    "route_backward": lambda: (
        moe.route_backward,
        (random(5, 2, dtype=torch.float32), random(5, 8), random(5, 2, dtype=torch.float32),
         torch.zeros(5, 2, dtype=torch.int64, device=DEVICE), True),
    ),
    "rope_append": lambda: (
        rows.rope_append,
        (random(2, 1, 4, 16), *(random(2, 1, 2, 16),) * 2, *(random(1, 8),) * 2, random(2, 2, 12, 16),
         random(2, 2, 12, 16), torch.tensor(3, device=DEVICE)),
    ),
}  # fmt: skip


def others(x: Any) -> Iterator[tuple[str, Any]]:
    """What may come instead of an argument: some of it is right."""
    if isinstance(x, list):
        yield "none of them", []
        yield from ((what, [*x[:-1], other]) for what, other in others(x[-1]))
    elif isinstance(x, torch.Tensor):
        yield "of other numbers", x.to(torch.int16)
        yield "a mode more", x[None]
        yield "with gaps", torch.stack([x, x], -1)[..., 0]
        if x.dim():
            yield "a mode less", x[0]
            yield "no elements", x[..., :0]
            yield "a row less", x[1:]
    elif isinstance(x, int | float) and not isinstance(x, bool):
        yield from ((str(other), type(x)(other)) for other in (-1, 0, 1 << 40))
    elif isinstance(x, str):
        yield "another word", "nope"


@pytest.mark.parametrize("name", [*CASES, *FURTHER])
def test_fake_tensors_are_taken_where_others_are(name: str) -> None:
    """They become what others do, or are refused in the same words."""
    operator, given = (CASES | FURTHER)[name]()
    wrong = []
    for place, x in enumerate(given):
        for what, other in (("as it is", x), *others(x)):
            asked = (*given[:place], other, *given[place + 1 :])
            with diverted(only_checked):
                real = told(operator, asked)
            with FakeTensorMode() as mode:
                fake = told(operator, tree_map_only(torch.Tensor, mode.from_tensor, asked))
            if real != fake:
                wrong.append(f"{place}, {what}: {real}, but of fake tensors {fake}")
    assert not wrong, "\n".join(wrong)


def told(operator: Any, given: tuple[Any, ...]) -> Any:
    """Shapes, strides and dtypes of the results of a call, or the words of its refusal."""
    try:
        found = operator(*given)
    except (ValueError, TypeError) as error:
        return str(error)
    made = [] if found is None else [found] if isinstance(found, torch.Tensor) else found
    return [(tuple(x.shape), x.stride(), x.dtype) for x in made]


@pytest.mark.parametrize("name", CASES)
def test_sizes_stay_symbols(name: str) -> None:
    """So one graph of torch.compile serves any number of rows, tokens or sequences."""
    operator, given = CASES[name]()
    places = [i for i, x in enumerate(given) if isinstance(x, torch.Tensor)]

    def call(*tensors: Any) -> Any:
        return operator(*(dict(enumerate(given)) | dict(zip(places, tensors, strict=True))).values())

    made = make_fx(call, tracing_mode="symbolic")(*(given[i] for i in places))
    guards = [str(guard.expr) for guard in made.shape_env.guards]
    assert not [guard for guard in guards if re.fullmatch(r"Eq\(s\d+, \d+\)", guard)]


def test_they_are_operators_to_torch() -> None:
    x = random(4, 24)
    torch.library.opcheck(torch.ops.cutelite.softmax.out, (x, False, torch.empty_like(x)))
    torch.library.opcheck(torch.ops.cutelite.reduced.out, (x, "sum", 0, x[0].clone()))
    torch.library.opcheck(torch.ops.cutelite.gemm.out, (random(24, 32), random(32, 16), random(24, 16)))


def test_there_is_no_break_in_a_graph() -> None:
    q = random(1, 8, 2, 16)

    def both(q: Any) -> Any:
        into, made = torch.empty_like(q), torch.empty_like(q)
        torch.ops.cutelite.softmax.out(q, False, into)
        return attend(into, q, q, made) + 1, made

    compiled = torch.compile(both, fullgraph=True, backend="aot_eager")
    for found, right in zip(compiled(q), both(q), strict=True):
        assert torch.equal(found, right)


def test_a_gradient_is_refused() -> None:
    x = random(4, 24, dtype=torch.float32).requires_grad_()
    out = torch.empty_like(x)
    for operator, given in ((torch.ops.cutelite.softmax, (x, False)), (torch.ops.cutelite.cumsum, (x,))):
        with pytest.raises(ValueError, match="out has no derivative"):
            operator.out(*given, out)
        with torch.no_grad():
            operator.out(*given, out)
    assert torch.equal(out, rows.cumsum(x).detach())
    with pytest.raises(cl.ArgumentError, match=r"elementwise has no derivative, and inputs\[1\] needs a gradient"):
        elementwise(lambda a, b: a * b, (out.detach(), x), out=(out,), names=("a", "b"))
    heads, tables = random(8, 16), random(8, 8)
    turned, _ = rows.rope(heads[:, None], heads[:, None], tables, tables.requires_grad_(), None, False, False)
    with pytest.raises(cl.ArgumentError, match="has no derivative by cosines, which needs a gradient"):
        turned.sum().backward()
    tables = tables.detach()
    with pytest.raises(cl.ArgumentError, match="rotated_product has no derivative, and weight needs a gradient"):
        rotated_product(heads, random(16, 16).requires_grad_(), tables, tables, heads=1, dim=16)
    normed = norm.rms_norm(x)
    with pytest.raises(cl.ArgumentError, match=r"norm_backward has no derivative, and normed\[0\] needs a gradient"):
        norm.norm_backward(out, normed)


UPDATES = ("adamw",)
"""Functions that change tensors which need a gradient, and are no part of what is differentiated."""


@pytest.mark.parametrize("name", [name for name in RIGHT if name not in UPDATES])
def test_no_gradient_is_lost(name: str) -> None:
    """A result is differentiated by each floating-point argument, or the call is refused."""
    function, given = RIGHT[name]
    tensors = {word: as_tensor(x) if isinstance(x, np.ndarray) else x for word, x in given.items()}
    for word, x in tensors.items():
        if word != "out" and isinstance(x, torch.Tensor) and x.is_floating_point():
            asked = tensors | {word: x.clone().requires_grad_()}
            if inspect.signature(function).parameters.get("out", inspect.Parameter).default is None:
                asked["out"] = None
            try:
                found = function(**asked)
            except ValueError as error:
                assert "derivative" in str(error), error
            else:
                results = found if isinstance(found, tuple) else (found,)
                assert any(isinstance(made, torch.Tensor) and made.requires_grad for made in results), word


REFUSING: dict[Callable[..., Any], str] = {
    softmax.softmax_backward: "dy y", cross_entropy.cross_entropy_backward: "gradient x target lse",
    norm.norm_backward: "dy normed weight add", gates.activated_backward: "dy x activation",
    routing.route_backward: "gradient logits made",
    call.experts_kept: "x gate_up down index weights",
    backward.experts_backward: "gradient x gate_up down weights sums order",
    backward_call.attention_varlen_backward: "do q k v o lse cu_seqlens_q dlse",
}  # fmt: skip
"""Functions without a derivative that `RIGHT` does not have, and their arguments."""


@pytest.mark.parametrize("function", REFUSING)
def test_each_argument_that_needs_a_gradient_is_refused(function: Callable[..., Any]) -> None:
    """Before anything is asked of the others."""
    words = REFUSING[function].split()
    for word in words:
        with pytest.raises(cl.ArgumentError, match=f"has no derivative, and {word} needs a gradient"):
            function(**dict.fromkeys(words) | {word: torch.zeros(1, requires_grad=True)})


def below_made() -> Any:
    return create_block_mask(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 8, 8)


GROUPS, STARTS = (torch.tensor(x, dtype=torch.int32, device=DEVICE) for x in ((3, 8), (0, 3, 8)))
WITH_FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "score_mod": (lambda x: attend(x, x, x, score_mod=lambda score, *_: score * 2.0), (1, 8, 1, 64)),
    "mask_mod": (lambda x: attend(x, x, x, mask_mod=lambda b, h, q_idx, kv_idx: q_idx >= kv_idx), (1, 8, 1, 64)),
    "block_mask": (lambda x: attend(x, x, x, block_mask=below_made()), (1, 8, 1, 64)),
    "score_mod of sequences": (
        lambda x: attention_varlen(x, x, x, STARTS, score_mod=lambda score, *_: score * 2.0), (8, 1, 64)
    ),
    "activation": (lambda x: kernel.gemm(x, x, activation=lambda v: v * 2.0), (8, 8)),
    "gate": (lambda x: kernel.gemm(x, x, gate=lambda v: v * 2.0), (16, 16)),
    "finish": (lambda x: kernel.gemm(x, x, finish=cl.Finish(lambda piece: piece.result(piece.sums))), (8, 8)),
    "finish of groups": (
        lambda x: grouped.gemm(x, x[None, :].expand(2, 8, 8), GROUPS, finish=cl.Finish(lambda p: p.result(p.sums))),
        (8, 8),
    ),
    "finish of padded groups": (
        lambda x: grouped.padded(x, x, GROUPS, finish=cl.Finish(lambda p: p.result(p.sums))), (2, 8, 8)
    ),
}  # fmt: skip
"""Calls with functions, and the shape of their argument."""


@pytest.mark.parametrize("name", WITH_FUNCTIONS)
def test_no_gradient_is_lost_of_calls_with_functions(name: str) -> None:
    """Compiled code gives the gradient that other code gives, or refuses what that refuses."""
    function, shape = WITH_FUNCTIONS[name]

    def gradient_of(function: Callable[..., Any]) -> Any:
        x = random(*shape).requires_grad_()
        try:
            return torch.autograd.grad(function(x).float().sum(), x)[0]
        except ValueError as error:
            return str(error)

    torch._dynamo.reset()

    def total(x: Any) -> Any:
        return function(x * 1).float().sum() + x.sum()

    found, wanted = gradient_of(torch.compile(total, backend="eager")), gradient_of(total)
    assert torch.equal(found, wanted) if isinstance(wanted, torch.Tensor) else found == wanted and "derivative" in found


def as_tensor(x: Any) -> Any:
    """A tensor with the numbers of an array of NumPy, and its dtype."""
    if x.dtype == ml_dtypes.float8_e4m3fn:
        made = torch.from_numpy(x.view(np.uint8).copy()).view(torch.float8_e4m3fn)
    elif x.dtype == ml_dtypes.bfloat16:
        made = torch.from_numpy(x.astype(np.float32)).bfloat16()
    else:
        made = torch.from_numpy(x.copy())
    return made.to(DEVICE)
