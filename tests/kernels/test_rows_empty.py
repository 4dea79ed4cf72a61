"""Rows of no elements, and no rows: results, gradients and errors are torch's, also in graphs of torch's compiler."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite.kernels.rows import cross_entropy as entropy
from cutelite.kernels.rows import norm, softmax
from cutelite.kernels.rows.elementwise import elementwise
from cutelite.kernels.rows.embedding import embedding, embedding_backward
from cutelite.kernels.rows.gates import activated, activated_backward, gated, gated_backward
from cutelite.kernels.rows.histogram import histogram
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.quantise import quantise
from cutelite.kernels.rows.reduce import reduced
from cutelite.kernels.rows.rope import rope
from cutelite.kernels.rows.sample import sample
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import argmax, top_k
from cutelite.kernels.rows.transpose import transposed

SHAPES = ((4, 0), (0, 5), (0, 0), (2, 3, 0), (2, 0, 5))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_have_no_elements_either(shape: tuple[int, ...]) -> None:
    x, n, leading = np.empty(shape, np.float32), shape[-1], shape[:-1]
    w, numbers, target = np.ones(n, np.float32), np.ones(leading, np.float32), np.zeros(leading, np.int64)
    out = np.empty_like(x)
    assert softmax.softmax(x, out=out) is out
    made = [
        softmax.log_softmax(x), softmax.softmax_backward(x, x), softmax.softmax_backward(x, x, log=True),
        *norm.rms_norm(x, w, residual=x)[:2], *norm.layer_norm(x, w, w)[:2], cumsum(x), activated(x, "gelu"),
        activated_backward(x, x, "gelu"), gated(x, x), *gated_backward(x, x, x), *elementwise(abs, (x,)),
        entropy.cross_entropy_backward(numbers, x, target, numbers), quantise(x).q, quantise(x, up=x).q,
        norm.rms_norm(x, w, narrow=Narrow()).y, norm.layer_norm(x, w, narrow=Narrow(block=128)).y,
    ]  # fmt: skip
    assert {each.shape for each in made} == {shape}
    gradients = norm.norm_backward(x, norm.Normed(None, x, numbers, numbers), w, bias=True, add=x)
    assert gradients.x.shape == shape
    np.testing.assert_array_equal(gradients.weight, np.zeros(n))
    np.testing.assert_array_equal(gradients.bias, np.zeros(n))
    assert norm.norm_backward(x, norm.Normed(None, x, None, numbers)).x.shape == shape
    np.testing.assert_array_equal(embedding_backward(x, target, 3), np.zeros((3, n)))
    np.testing.assert_array_equal(histogram(x, 4, 0.0, 1.0), np.zeros(4))
    assert [each.shape for each in top_k(x, 0)] == [(*leading, 0)] * 2


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_numbers_of_such_rows(shape: tuple[int, ...]) -> None:
    x, leading = np.empty(shape, np.float32), shape[:-1]
    target, given = np.full(leading, -100), np.ones(leading, np.float32)
    target[..., :1] = 0  # no column: such a target is out of bounds for torch
    wanted = np.where(target == -100, 0, -math.inf)
    for found in (entropy.cross_entropy(x, target, smoothing=0.1, z=1e-4),
                  entropy.cross_entropy_gradient(given, x, target, out=x)):  # fmt: skip
        np.testing.assert_array_equal(found.loss, wanted)
        np.testing.assert_array_equal(found.lse, np.full(leading, -math.inf))
    normed = norm.layer_norm(x, narrow=Narrow())
    np.testing.assert_array_equal(normed.mean, np.zeros(leading))
    np.testing.assert_array_equal(normed.rstd, np.full(leading, math.nan))
    of_zeros = quantise(np.zeros((1, 8), np.float32)).scale
    for scale in (normed.scale, quantise(x).scale):
        np.testing.assert_array_equal(scale, np.full((*leading, 1), of_zeros))
    assert quantise(x, Narrow(block=128)).scale.shape == (*leading, -(-shape[-1] // 128))


def test_heads_and_tables_of_no_elements() -> None:
    for q, half in ((np.empty((2, 3, 2, 0)), 0), (np.empty((2, 3, 0, 8)), 4), (np.empty((2, 0, 2, 8)), 4)):
        q, table = q.astype(np.float32), np.empty((3, half), np.float32)
        assert [each.shape for each in rope(q, q, table, table)] == [q.shape] * 2
    assert embedding(np.empty((4, 0), np.float32), np.array([1, 3])).shape == (2, 0)
    assert transposed(np.empty((4, 0), np.float32), "bf16").shape == (0, 4)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: argmax(x), lambda x: top_k(x, 1), lambda x: sample(x, np.ones(4, np.float32)),
        lambda x: reduced(x, "max", 1), lambda x: reduced(x[:0], "max", 0), lambda x: reduced(x[:0], "min", 1),
    ],
)  # fmt: skip
def test_what_torch_refuses_is_refused(call: Callable[[Any], Any]) -> None:
    with pytest.raises(cl.ArgumentError):
        call(np.empty((4, 0), np.float32))


# Torch's own functions, and derivatives, compiled or not.


def on_torch() -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    """Return functions of x and a weight, and torch's own."""
    torch = pytest.importorskip("torch")
    functions = torch.nn.functional

    def losses(of: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, w: of(x, torch.full(x.shape[:-1], -100, device=x.device)) + 0 * w.sum()

    def own_loss(x: Any, target: Any) -> Any:
        return functions.cross_entropy(x.flatten(0, -2), target.flatten(), reduction="none").view(target.shape)

    def of_mode(operation: str, mode: int | None) -> tuple[Any, Any]:
        own, modes = getattr(torch, operation), () if mode is None else (mode,)
        return lambda x, w: reduced(x.flatten(0, -2), operation, mode), lambda x, w: own(x.flatten(0, -2), *modes)

    return {
        "softmax": (lambda x, w: softmax.softmax(x), lambda x, w: x.softmax(-1)),
        "log_softmax": (lambda x, w: softmax.log_softmax(x), lambda x, w: x.log_softmax(-1)),
        "rms_norm": (lambda x, w: norm.rms_norm(x, w).y, lambda x, w: functions.rms_norm(x, w.shape, w)),
        "layer_norm": (
            lambda x, w: norm.layer_norm(x, w, w, residual=x).y,
            lambda x, w: functions.layer_norm(x + x, w.shape, w, w),
        ),
        "cross_entropy": (losses(lambda x, t: entropy.cross_entropy(x, t).loss), losses(own_loss)),
        "cumsum": (lambda x, w: cumsum(x), lambda x, w: x.cumsum(-1)),
        "activated": (lambda x, w: activated(x, "silu"), lambda x, w: functions.silu(x)),
        "gated": (lambda x, w: gated(x, x * w), lambda x, w: functions.silu(x) * (x * w)),
        "top_k": (lambda x, w: top_k(x, 0).value, lambda x, w: x.topk(0, -1).values),
        "sum": of_mode("sum", 0), "mean": of_mode("mean", 1), "sum of all": of_mode("sum", None),
    }  # fmt: skip


def outcomes(function: Callable[..., Any], shape: tuple[int, ...]) -> list[Any]:
    """Return the result of ``function(x, weight)``, and its gradients where it has any."""
    import torch

    on = {"device": "cuda" if torch.cuda.is_available() else "cpu", "requires_grad": True}
    given = [torch.empty(shape, **on), torch.ones(shape[-1], **on)]
    made = function(*given)
    gradients = [None, None]
    if made.requires_grad:
        gradients = torch.autograd.grad(made, given, torch.ones_like(made), allow_unused=True)
    return [made.detach(), *(torch.zeros_like(x) if g is None else g for x, g in zip(given, gradients, strict=True))]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_and_gradients_are_those_of_torch(shape: tuple[int, ...]) -> None:
    functions = on_torch()
    import torch

    for name, (ours, theirs) in functions.items():
        for found, wanted in zip(outcomes(ours, shape), outcomes(theirs, shape), strict=True):
            assert found.shape == wanted.shape, name
            torch.testing.assert_close(found, wanted, equal_nan=True)


def test_compiled_graphs_take_such_rows() -> None:
    functions = on_torch()
    import torch

    for shape in ((4, 0), (0, 5)):
        for name, (ours, theirs) in functions.items():
            torch.compiler.reset()
            compiled = torch.compile(ours, backend="aot_eager", fullgraph=True)
            for found, wanted in zip(outcomes(compiled, shape), outcomes(theirs, shape), strict=True):
                assert found.shape == wanted.shape, name
                torch.testing.assert_close(found, wanted, equal_nan=True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_torch_writes_to_the_caller_s_tensors(shape: tuple[int, ...]) -> None:
    torch = pytest.importorskip("torch")
    x, target = torch.empty(shape), torch.full(shape[:-1], -100)
    out, losses = torch.empty(shape), tuple(torch.ones(shape[:-1]) for _ in range(2))
    assert softmax.softmax(x, out=out) is out
    assert norm.layer_norm(x, out=out).y is out
    assert entropy.cross_entropy(x, target, out=losses).loss is losses[0]
    torch.testing.assert_close(losses, (torch.zeros(shape[:-1]), torch.full(shape[:-1], -math.inf)))
