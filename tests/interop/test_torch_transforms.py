"""Operators under `torch.autocast` and `torch.vmap`."""

from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

import cutelite as cl
from cutelite.interop.torch import custom_op, out_form
from cutelite.kernels import gemm as kernels
from cutelite.kernels.attention import attention as attend
from cutelite.kernels.attention.decoding_call import decode
from cutelite.kernels.attention.operators import attention
from cutelite.kernels.attention.varlen import attention_varlen
from cutelite.kernels.gemm.operators import gemm
from cutelite.kernels.moe import experts, route
from cutelite.kernels.moe import operators as moe
from cutelite.kernels.rows import operators as rows
from cutelite.kernels.rows.operators_losses import linear_cross_entropy
from cutelite.kernels.rows.reduce import reduced
from cutelite.kernels.rows.softmax import softmax
from cutelite.models.operators import dense

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def random(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape))).to(DEVICE, dtype)


def test_autocast_casts_what_is_multiplied() -> None:
    a, b, c, bias = random(24, 32), random(32, 16), random(24, 16), random(16)
    for dtype in torch.bfloat16, torch.float16:
        with torch.autocast(DEVICE, dtype=dtype):
            found = gemm(a, b, c, bias, None, None, 1.0, 1.0)
            traced = torch.compile(lambda a, b: gemm(a, b), fullgraph=True, backend="aot_eager")(a, b)
            whole = gemm(a.to(torch.int8), b.T.contiguous().to(torch.int8).T)
        assert (found.dtype, traced.dtype, whole.dtype) == (dtype, dtype, torch.int32)
        torch.testing.assert_close(found.float(), a @ b + c + bias, atol=0.1, rtol=0.02)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        q = random(1, 16, 2, 16).requires_grad_()
        out, lse = attention(q, q, q, None, "", None, None, None, None, "bshd")
        out.float().sum().backward()
    assert (out.dtype, lse.dtype, q.grad.dtype) == (torch.bfloat16, torch.float32, torch.float32)


def test_vmap_of_products() -> None:
    a, b, c = (random(*shape, dtype=torch.bfloat16) for shape in ((3, 24, 32), (3, 32, 16), (24, 16)))
    wide = a.double() @ b.double()
    for found, right in (
        (torch.vmap(lambda a, b: gemm(a, b))(a, b), wide),
        (torch.vmap(lambda a: gemm(a, b[0]), in_dims=1)(a.movedim(0, 1)), a.double() @ b[0].double()),
        (torch.vmap(lambda a: gemm(a, b[0], c, None, None, None, 1.0, 1.0))(a), a.double() @ b[0].double() + c),
        (torch.vmap(lambda b: gemm(a[0], b))(b), a[0].double() @ b.double()),
    ):
        torch.testing.assert_close(found.double(), right, atol=0.1, rtol=0.02)
    needy = b[0].clone().requires_grad_()
    product, gradients = gemm(a[0], needy, None, c[0]), random(2, 24, 16, dtype=torch.bfloat16)
    (batch,) = torch.autograd.grad(product, needy, gradients, is_grads_batched=True)
    torch.testing.assert_close(batch.double(), a[0].double().mT @ gradients.double(), atol=0.1, rtol=0.02)
    scale = random(24, 1).abs()
    found = torch.vmap(lambda a: gemm(a, b[0], None, None, scale, scale[:16].T.contiguous()))(a)
    torch.testing.assert_close(found.double(), a.double() @ b[0].double() * scale * scale[:16].T, atol=0.2, rtol=0.02)


def test_vmap_writes_results_where_the_batch_is() -> None:
    @custom_op("cutelite_tests::sums", mutates_args=())
    def sums(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + b

    into = out_form(sums, lambda a, b, out: torch.add(a, b, out=out))
    a, b, out = random(3, 4), random(4), torch.zeros(4, 3, device=DEVICE)
    torch.vmap(into, (1, None, 1), None)(a.T.contiguous(), b, out)
    torch.testing.assert_close(out, (a + b).T)
    with pytest.raises(cl.ArgumentError, match="under vmap out needs the batch"):
        torch.vmap(into, (0, None, None))(a, b, out[:, 0])


def test_vmap_of_rows() -> None:
    x, y, weight = random(4, 4, 24), random(4, 24), random(24)
    functions: list[tuple[Any, Any]] = [
        (lambda x: rows.softmax(x, False), lambda x: x.softmax(-1)),
        (lambda x: rows.gated(x, y, "silu"), lambda x: torch.nn.functional.silu(x) * y),
        (lambda x: rows.cumsum(x), lambda x: x.cumsum(-1)),
        (lambda x: rows.top_k(x, 3)[1], lambda x: x.topk(3).indices),
        (
            lambda x: rows.norm_forward(x, weight, None, None, 1e-6, 0.0, False)[0],
            lambda x: torch.nn.functional.rms_norm(x, (24,), weight, 1e-6),
        ),
    ]
    for ours, its in functions:
        for at in 0, 1:
            torch.testing.assert_close(torch.vmap(ours, in_dims=at)(x), torch.vmap(its, in_dims=at)(x))
    for function, made in (
        (lambda x: rows.softmax(x, False), [((0, 4, 24), x.dtype)]),
        (lambda x: rows.embedding(y, x.long()[0], -1), [((0, 24, 24), x.dtype)]),
        (lambda x: moe.route(x, 2, True), [((0, 4, 2), x.dtype), ((0, 4, 2), torch.int64)]),
    ):
        found = torch.vmap(function)(x[:0])
        assert [(tuple(each.shape), each.dtype) for each in (found if isinstance(found, tuple) else [found])] == made
    of_weights = torch.vmap(lambda w: rows.norm_forward(y, w, None, None, 1e-6, 0.0, False)[0])(x[:, 0])
    right = torch.vmap(lambda w: torch.nn.functional.rms_norm(y, (24,), w, 1e-6))(x[:, 0])
    torch.testing.assert_close(of_weights, right)
    total = torch.vmap(lambda x: rows.norm_forward(x, weight, None, y, 1e-6, 0.0, True)[1])(x)
    torch.testing.assert_close(total, x + y)
    with pytest.raises(cl.ArgumentError, match="out: there is none within"):
        torch.vmap(lambda x: softmax(x, out=x))(x)


def test_vmap_of_experts() -> None:
    x, logits = random(3, 5, 32, dtype=torch.bfloat16), random(3, 5, 4)
    gate_up, down = random(4, 32, 32, dtype=torch.bfloat16) / 4, random(4, 32, 16, dtype=torch.bfloat16) / 4

    def mixed(x: Any, logits: Any, down: Any) -> Any:
        weights, index = moe.route(logits, 2, True)
        return moe.experts(x, gate_up, down, index, weights)

    one_by_one = torch.stack([mixed(x[i], logits[i], down) for i in range(3)])
    assert torch.equal(torch.vmap(mixed, in_dims=(1, 0, None))(x.movedim(0, 1), logits, down), one_by_one)
    downs = torch.stack([down, down * 2])
    assert torch.equal(torch.vmap(lambda down: mixed(x[0], logits[0], down))(downs)[0], one_by_one[0])


def twice(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score * 2.0


def test_functions_go_to_operators_where_tensors_hold_no_data_or_are_to_be_cast() -> None:
    """Under vmap, on meta and fake tensors, and under autocast, whether or not anything needs a gradient."""
    a, b, q = random(3, 8, 16), random(16, 8), random(2, 1, 8, 1, 16)
    halves, pairs = (a.bfloat16(), b.bfloat16()), q.bfloat16()
    by_item = torch.stack([kernels.gemm(x, halves[1]) for x in halves[0]])
    torch.testing.assert_close(torch.vmap(lambda x: kernels.gemm(x, halves[1]))(halves[0]), by_item)
    torch.testing.assert_close(torch.vmap(softmax)(a), softmax(a))
    attended = torch.stack([attend(x, x, x) for x in pairs])
    for at in range(5):
        found = torch.vmap(lambda x: attend(x, x, x), at)(pairs.movedim(0, at).contiguous())
        torch.testing.assert_close(found, attended)
    with pytest.raises(cl.ArgumentError, match="no forward-mode derivatives"):
        torch.func.jvp(lambda x: attend(x, x, x, score_mod=twice), (pairs[0],), (pairs[0],))
    for made in (halves[0].to("meta"), FakeTensorMode().from_tensor(halves[0])):
        assert softmax(made).shape == a.shape and kernels.gemm(made[0], made[0].T).shape == (8, 8)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert kernels.gemm(a[0], b).dtype == attend(q[0], q[0], q[0]).dtype == torch.bfloat16
        for how in (
            {"activation": lambda x: x * 2.0},
            {"finish": cl.Finish(lambda piece: piece.result(piece.sums * 2.0))},
        ):
            assert torch.equal(kernels.gemm(a[0], b, **how), 2 * kernels.gemm(a[0], b))
        starts = torch.tensor([0, 8], dtype=torch.int32, device=DEVICE)
        assert attention_varlen(q[0, 0], q[0, 0], q[0, 0], starts).dtype == torch.bfloat16
        needy = q.clone().requires_grad_()
        doubled = torch.vmap(lambda x: attend(x, x, x, score_mod=twice))(needy)
        (gradient,) = torch.autograd.grad(doubled.float().sum(), needy)
        assert torch.equal(doubled[1], decode(q[1], q[1], q[1], score_mod=twice, causal=False))
        assert gradient.dtype == torch.float32
        target = torch.zeros(8, dtype=torch.int64, device=DEVICE)
        loss = linear_cross_entropy(a[0], b.T, target)
    torch.testing.assert_close(loss, linear_cross_entropy(halves[0][0], halves[1].T, target))


def test_checkpoints_and_symbolic_sizes() -> None:
    """Saved tensors are read once, and extents that torch.compile does not know may be counts."""
    x, gate_up, down = (random(*shape).bfloat16().requires_grad_() for shape in ((5, 32), (2, 32, 32), (2, 32, 16)))
    weights, index = moe.route(random(5, 4)[:, :2], 1, True)

    def mixed(x: Any, gate_up: Any, down: Any) -> Any:
        return reduced(moe.experts(x, gate_up, down, index, weights), "max", 0)

    wanted = torch.autograd.grad(mixed(x, gate_up, down).float().sum(), (x, gate_up, down))
    kept = checkpoint(mixed, x, gate_up, down, use_reentrant=False)
    for found, right in zip(torch.autograd.grad(kept.float().sum(), (x, gate_up, down)), wanted, strict=True):
        torch.testing.assert_close(found, right)

    def routed(x: Any, gate_up: Any, down: Any) -> Any:
        weights, index = route(x[:, :2], 1)
        return reduced(experts(x, gate_up, down, index, weights), "max", 0)

    compiled = torch.compile(routed, fullgraph=True, dynamic=True, backend="aot_eager")
    with torch.no_grad():
        found = compiled(x, gate_up, down)
        assert torch.equal(found, routed(x, gate_up, down))
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert torch.equal(routed(x.float(), gate_up.float(), down.float()), found)


def test_second_and_forward_derivatives_are_refused() -> None:
    """By attention with functions and a loss with its gradients too, whose gradients would else count as constants."""
    for function, x in ((softmax, random(2, 8)), (lambda x: kernels.gemm(x, x), random(8, 8).bfloat16())):
        with pytest.raises(cl.ArgumentError, match="no forward-mode derivatives"):
            torch.func.jvp(function, (x,), (x,))
    with forward_ad.dual_level():
        x = forward_ad.make_dual(*(random(8, 8).bfloat16() for _ in range(2)))
        plain = x.detach()
        for operator, given in (
            (rows.softmax, (x, False)), (rows.softmax.into, (x, False, plain)), (dense, (plain, [x], None, None))
        ):  # fmt: skip
            with pytest.raises(cl.ArgumentError, match="no forward-mode derivatives"):
                operator(*given)
    q = random(1, 8, 1, 16).bfloat16().requires_grad_()
    o = attend(q, q.detach(), q.detach(), score_mod=twice)
    (dq,) = torch.autograd.grad(o.float().square().sum(), q, create_graph=True)
    x = random(3, 32).bfloat16().requires_grad_()
    loss = linear_cross_entropy(x, x.detach(), torch.arange(3, device=DEVICE))
    (dx,) = torch.autograd.grad(loss, x, create_graph=True)
    for gradient in dq, dx:
        with pytest.raises(RuntimeError, match="no second derivative"):
            gradient.float().square().sum().backward()


def squared(function: Any) -> Any:
    return lambda x: function(x).float().square().sum()


def test_derivatives_by_torch_func() -> None:
    """Equal to autograd's, under vmap too, and by calls on constants within; second and forward ones are refused."""
    q = random(2, 1, 8, 1, 16).bfloat16()
    attended = squared(lambda x: attend(x, x, x, score_mod=twice))
    for function, x in (
        (attended, q[0]), (squared(softmax), q[0, 0]), (squared(lambda x: softmax(q) * x), q[0, 0]),
        (lambda x: linear_cross_entropy(x, q[1, 0, :, 0], torch.arange(8, device=DEVICE)), q[0, 0, :, 0]),
    ):  # fmt: skip
        needy = x.clone().requires_grad_()
        (wanted,) = torch.autograd.grad(function(needy), needy)
        assert torch.equal(torch.func.grad(function)(x), wanted)
    assert torch.equal(torch.vmap(torch.func.grad(attended))(q[:1])[0], torch.func.grad(attended)(q[0]))
    with pytest.raises(cl.ArgumentError, match="no forward-mode derivatives"):
        torch.func.jvp(torch.func.grad(attended), (q[0],), (q[0],))
    for function in attended, squared(softmax):
        with pytest.raises(RuntimeError, match=r"no (second )?derivative"):
            torch.func.grad(squared(torch.func.grad(function)))(q[0])


def test_tensors_that_are_none_of_numbers_in_memory_are_named() -> None:
    q = random(1, 4, 1, 16).bfloat16()
    attend(q, q, q)
    with pytest.raises(cl.ArgumentError, match="v is a tensor of layout sparse_coo"):
        attend(q, q, q.to_sparse())
    with pytest.raises(cl.ArgumentError, match="q is a tensor of layout nested"):
        attend(torch.nested.nested_tensor([q[0], q[0]]), q, q)
    with pytest.raises(cl.ArgumentError, match="a tensor is on 'meta', which holds no data, and others are not"):
        decode(q, q.to("meta"), q)
    a = random(16, 16).bfloat16()
    with pytest.raises(
        cl.ArgumentError, match="cutelite::gemm: a tensor is on 'meta', which holds no data, and others"
    ):
        gemm(a, a.to("meta"))
    with pytest.raises(cl.ArgumentError, match="b cannot be read: this torch tensor is a view with its sign"):
        kernels.gemm(a, torch._neg_view(a))
    with pytest.raises(ValueError, match="attention with functions is no operator"):
        attend(*[q.to("meta")] * 3, score_mod=twice)


def test_compiled_code_calls_attention_with_a_function() -> None:
    def doubled(q: Any) -> Any:
        return 2 * attend(q, q, q, score_mod=lambda score, b, h, q_idx, kv_idx: score + 1.0)

    q = random(1, 8, 1, 16).bfloat16()
    torch.testing.assert_close(torch.compile(doubled, backend="eager")(q), doubled(q))


def test_batches_within_forward_mode_derivatives() -> None:
    """Torch cannot ask a batch for its tangent: those that have one are refused, and others are computed."""
    x = random(4, 16)
    for function in softmax, torch.vmap(softmax):
        with pytest.raises(cl.ArgumentError, match="no forward-mode derivatives"):
            torch.func.jvp(torch.vmap(function), (x.expand(2, 4, 16),), (x.expand(2, 4, 16),))
    found, _ = torch.func.jvp(lambda t: torch.vmap(softmax)(x) * t, (x,), (x,))
    torch.testing.assert_close(found, softmax(x) * x)
