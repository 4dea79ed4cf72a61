"""Operators of dense layers by torch's own checks, with weights that lie together and weights that do not."""

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from cutelite.models import masks
from cutelite.models.attention import Turned
from cutelite.models.norms import Beside
from cutelite.models.operators import (
    appended_linear,
    beside,
    dense,
    gated_linear,
    gated_mlp,
    joined,
    lookup,
    normed_linear,
    rotated_linear,
    summed_linear,
)
from cutelite.models.scaled import scaled_gated_linear, scaled_linear

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def random(*shape: int) -> Any:
    made = torch.randn(*shape, device=DEVICE, dtype=torch.float32)
    return (made / 4).to(torch.bfloat16)


@pytest.mark.parametrize("together", [True, False])
def test_dense_layers_of_one_input(together: bool) -> None:
    x, weights = random(2, 9, 32).requires_grad_(), [random(rows, 32).requires_grad_() for rows in (24, 16)]
    bias, add = random(40).requires_grad_(), random(2, 9, 40).requires_grad_()
    if together:
        beside(weights)
    assert (joined(weights) is not None) == together
    torch.library.opcheck(dense, (x, weights, None, None))
    torch.library.opcheck(dense, (x, weights, bias, add))
    for more, name in ((torch.cat([bias, bias]), None), "bias"), ((None, add[:, :1]), "add"):
        with pytest.raises(ValueError, match=f"{name} has shape"):
            dense(x, weights, *more)
    wide = [each.detach().double().requires_grad_() for each in (x, *weights, bias, add)]
    each = torch.vmap(lambda x: dense(x, weights, None, None))(x)
    torch.testing.assert_close(each, dense(x, weights, None, None))
    several = [torch.stack([weight, 2 * weight]) for weight in weights]
    each = torch.vmap(lambda *weights: dense(x, list(weights), None, None))(*several)
    torch.testing.assert_close(each[1], 2 * each[0])
    found, right = dense(x, weights, bias, add), wide[0] @ torch.cat(wide[1:3]).T + wide[3] + wide[4]
    torch.testing.assert_close(found.double(), right, atol=0.05, rtol=0.02)
    gradient = random(2, 9, 40)
    mine = torch.autograd.grad(found, [x, *weights, bias, add], gradient)
    for a, b in zip(mine, torch.autograd.grad(right, wide, gradient.double()), strict=True):
        torch.testing.assert_close(a.double(), b, atol=0.05, rtol=0.02)
    of_samples = torch.func.grad(lambda weight, x, g: (dense(x, [weight], None, None) * g).sum())
    each = torch.vmap(of_samples, (None, 0, 0))(weights[0].detach(), x.detach(), gradient[..., :24])
    torch.testing.assert_close(each.sum(0), mine[1], atol=0.05, rtol=0.02)


def test_derivatives_of_layers_within_transforms() -> None:
    """Of a norm that gives its input too, and of dense layers whose heads are turned; traced by torch.compile too."""
    x, weight, cosines, sines = random(2, 64, 32), random(32), random(64, 8), random(64, 8)
    weights = [random(16 * heads, 32) for heads in (2, 1, 1)]
    functions: list[tuple[Any, Any]] = [
        (lambda x: sum(each.float().square().sum() for each in Beside.apply(x, weight, 1e-6, 0.0)[:2]), x[:, :4]),
        (lambda x: sum(each.float().square().sum() for each in Turned.apply(cosines, sines, 1, x, *weights)), x),
    ]
    for function, given in functions:
        needy = given.clone().requires_grad_()
        (right,) = torch.autograd.grad(function(needy), needy)
        compiled = torch.compile(function, fullgraph=True, backend="eager")
        found = torch.vmap(torch.func.grad(function))(given[:, None])[:, 0]
        for each in found, torch.func.grad(function)(given), torch.autograd.grad(compiled(needy), needy)[0]:
            torch.testing.assert_close(each, right, atol=0.05, rtol=0.02)


def test_rows_of_a_table() -> None:
    table, places = random(7, 16).requires_grad_(), torch.tensor([[3, 0, 3], [6, 3, 1]], device=DEVICE)
    torch.library.opcheck(lookup, (table, places, 0))
    gradient = random(2, 3, 16)
    rows = lookup(table, places, 0)
    rows[0, 0] = 0.0  # as models of pictures write theirs among those of words
    (found,) = torch.autograd.grad(rows, table, gradient)
    wide = table.detach().double().requires_grad_()
    right = torch.nn.functional.embedding(places, wide, padding_idx=0)
    written = torch.ones(2, 3, 1, device=DEVICE)
    written[0, 0] = 0.0
    torch.testing.assert_close(lookup(table, places, 0).double(), right)
    (wanted,) = torch.autograd.grad(right, wide, gradient.double() * written)
    torch.testing.assert_close(found.double(), wanted, atol=0.02, rtol=0.01)
    with pytest.raises(IndexError):
        lookup(table.cpu(), torch.tensor([7]), -1)


@pytest.mark.parametrize("together", [True, False])
def test_a_gate_in_a_dense_layer(together: bool) -> None:
    x, weights = random(2, 9, 32), [random(24, 32), random(24, 32)]
    if together:
        beside(weights)
    torch.library.opcheck(gated_linear, (x, weights, "gelu_tanh"))
    gate, up = (x.double() @ weight.double().T for weight in weights)
    right = torch.nn.functional.gelu(gate, approximate="tanh") * up
    torch.testing.assert_close(gated_linear(x, weights, "gelu_tanh").double(), right, atol=0.05, rtol=0.03)


@pytest.mark.parametrize("inner", [32, 24])
def test_a_gated_mlp_and_its_gradients(inner: int) -> None:
    """Gradients of gate and up come from the GEMM of their product's gradient where that has whole pieces."""
    x, weights = random(2, 9, 32).requires_grad_(), [random(inner, 32).requires_grad_() for _ in range(2)]
    down, add = random(40, inner).requires_grad_(), random(2, 9, 40).requires_grad_()
    beside(weights)
    if inner == 32:
        torch.library.opcheck(gated_mlp, (x, weights, down, add, "silu"))
    wide = [each.detach().double().requires_grad_() for each in (x, *weights, down, add)]
    gate, up = (wide[0] @ each.T for each in wide[1:3])
    right = (torch.nn.functional.silu(gate) * up) @ wide[3].T + wide[4]
    found = gated_mlp(x, weights, down, add, "silu")[0]
    torch.testing.assert_close(found.double(), right, atol=0.05, rtol=0.03)
    gradient = random(2, 9, 40)
    mine = torch.autograd.grad(found, [x, *weights, down, add], gradient)
    for a, b in zip(mine, torch.autograd.grad(right, wide, gradient.double()), strict=True):
        torch.testing.assert_close(a.double(), b, atol=0.06, rtol=0.03)


@pytest.mark.parametrize("together", [True, False])
def test_rotary_embedding_in_a_dense_layer(together: bool) -> None:
    """Two heads of queries, one of keys and one of values, of 16 elements."""
    x, weights = random(2, 64, 32), [random(16 * heads, 32) for heads in (2, 1, 1)]
    if together:
        beside(weights)
    given = (x, weights, random(64, 8), random(64, 8), 3, 16)
    torch.library.opcheck(rotated_linear, given)
    right = (x.double() @ torch.cat(weights).double().T).view(2, 64, 4, 16)
    left, other = right[:, :, :3].chunk(2, -1)
    c, s = given[2].double()[:, None], given[3].double()[:, None]
    right[:, :, :3] = torch.cat([left * c - other * s, other * c + left * s], -1)
    torch.testing.assert_close(rotated_linear(*given).double(), right.flatten(2), atol=0.1, rtol=0.02)


@pytest.mark.parametrize("together", [True, False])
def test_a_norm_between_dense_layers(together: bool) -> None:
    x, down, add, factors = random(2, 9, 32), random(128, 32), random(2, 9, 128), random(128)
    weights = [random(24, 128), random(24, 128)]
    if together:
        beside(weights)
    bias, biases = random(128), [random(24), random(24)]
    torch.library.opcheck(summed_linear, (x, down, bias, add, factors, 1.0))
    h, weighted, squares = summed_linear(x, down, bias, add, factors, 1.0)
    of_one = torch.vmap(lambda x: summed_linear(x, down, bias, add[0], factors, 1.0)[0])(x)
    assert torch.equal(of_one[0], h[0])
    torch.library.opcheck(normed_linear, (weighted, squares, weights, [], 1e-3, "silu"))
    exact = x.double() @ down.double().T + bias.double() + add.double()
    torch.testing.assert_close(h.double(), exact, atol=0.02, rtol=0.01)
    normed = torch.nn.functional.rms_norm(exact, (128,), 1 + factors.double(), 1e-3)
    right = normed @ torch.cat(weights).double().T + torch.cat(biases).double()
    each = torch.vmap(lambda *given: normed_linear(*given, weights, biases, 1e-3, ""))(weighted, squares)
    torch.testing.assert_close(each.double(), right, atol=0.1, rtol=0.02)


def test_a_dense_layer_that_fills_a_cache() -> None:
    x, weights, cache = random(3, 1, 32), [random(64 * heads, 32) for heads in (2, 1, 1)], random(2, 3, 1, 4, 64)
    length = torch.tensor([2], device=x.device)
    given = (x, weights, [], random(1, 32), random(1, 32), *cache.unbind(), length, None, 0.0)
    torch.library.opcheck(appended_linear, given)
    appended_linear(*given)
    assert given[-3] == 3
    torch.testing.assert_close(given[-4][:, 0, 2], (x @ weights[2].T)[:, 0], atol=0.1, rtol=0.02)


@pytest.mark.parametrize("together", [True, False])
def test_dense_layers_in_fp8_of_one_input(together: bool) -> None:
    x, bias = random(2, 9, 144), random(168)
    weights = [torch.randn(rows, 144, device=DEVICE).to(torch.float8_e4m3fn) for rows in (128, 40)]
    scales = [torch.rand(1, 2, device=DEVICE) + 0.5 for _ in weights]
    if together:
        beside(weights)
        beside(scales)
    checks = "test_autograd_registration", "test_faketensor"  # others do arithmetic on e4m3
    torch.library.opcheck(scaled_linear, (x, weights, scales, bias), test_utils=checks)
    wide = [w.double() * s.double().repeat_interleave(128, 1)[:, :144] for w, s in zip(weights, scales, strict=True)]
    right = x.double() @ torch.cat(wide).T + bias
    off = scaled_linear(x, weights, scales, bias).double() - right
    assert off.norm() < 0.04 * right.norm()  # as inputs in e4m3 have it
    with pytest.raises(ValueError, match="bias has shape"):
        scaled_linear(x, weights, scales, bias[1:])
    with pytest.raises(ValueError, match="weights are 2 and scales 1"):
        scaled_linear(x, weights, scales[:1], None)
    with pytest.raises(ValueError, match=r"x has dtype torch\.float16"):
        scaled_linear(x.half(), weights, scales, None)


def test_a_dense_layer_in_fp8_behind_a_gate() -> None:
    both, bias, scale = random(2, 9, 288), random(40), torch.rand(1, 2, device=DEVICE) + 0.5
    weight = torch.randn(40, 144, device=DEVICE).to(torch.float8_e4m3fn)
    checks = "test_autograd_registration", "test_faketensor"
    torch.library.opcheck(scaled_gated_linear, (both, weight, scale, bias, "silu"), test_utils=checks)
    gate, up = both.double().chunk(2, -1)
    wide = weight.double() * scale.double().repeat_interleave(128, 1)[:, :144]
    right = (torch.nn.functional.silu(gate) * up) @ wide.T + bias
    off = scaled_gated_linear(both, weight, scale, bias, "silu").double() - right
    assert off.norm() < 0.04 * right.norm()
    with pytest.raises(ValueError, match="two for each column of weight"):
        scaled_gated_linear(both[..., :144], weight, scale, bias, "silu")


def test_lengths_behind_a_static_cache_take_one_kernel() -> None:
    """Each that a call launches beside its layers takes 1.2 us, of some 500 for a token of one sequence."""
    names: list[str] = []

    class Seen(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            names.append(str(function))
            return function(*args, **(kwargs or {}))

    place = torch.tensor(5)
    with Seen():
        lengths = masks.mask(2, 1, 64, place)
    assert isinstance(lengths, torch.Tensor) and lengths.flatten().tolist() == [6, 6]
    assert names == ["aten.empty.memory_format", "aten.expand.default", "aten.add.out"]
