"""Functions of `cutelite.kernels` where others look at torch's operators: modes, tracers, and classes of tensors."""

import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("torch")

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

import cutelite as cl
from cutelite.kernels.attention import attention, attention_varlen, decode
from cutelite.kernels.gemm import gemm
from cutelite.kernels.moe import combine, experts, route
from cutelite.kernels.rows import adamw as optimiser
from cutelite.kernels.rows.adamw import adamw
from cutelite.kernels.rows.elementwise import elementwise, scale
from cutelite.kernels.rows.norm import rms_norm
from cutelite.kernels.rows.operators import linear_cross_entropy
from cutelite.kernels.rows.softmax import softmax

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def random(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape))).to(DEVICE, torch.bfloat16)


class Named(torch.nn.Parameter):  # type: ignore[misc]
    """A parameter of somebody's own class, as those that say how they are loaded are."""


class Held(torch.Tensor):  # type: ignore[misc]
    """A tensor that stands for another one, as distributed and quantised ones do."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        how = {"strides": inner.stride(), "dtype": inner.dtype, "device": inner.device}
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, **how)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*tree_map_only(Held, lambda x: x.inner, args), **(kwargs or {}))
        return tree_map_only(torch.Tensor, Held, found)


class Plain(torch.Tensor):  # type: ignore[misc]
    """A tensor with memory of its own, whose class sees operators and changes nothing."""

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_dispatch__(function, types, args, kwargs or {})


class Seen(TorchDispatchMode):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(function))
        return function(*args, **(kwargs or {}))


def calls() -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """Return the first tensor of a call of each function with an operator and a derivative, and the call."""
    rows, heads, cu = random(4, 16), random(1, 4, 1, 16), torch.tensor([0, 4], dtype=torch.int32, device=DEVICE)
    up, down = random(4, 32, 16), random(4, 16, 16)
    weights, index = route(rows[:, :4], 2)
    return {
        "gemm": (rows, lambda x: gemm(x, rows.T)),
        "attention": (heads, lambda x: attention(x, heads, heads)),
        "attention_varlen": (heads[0], lambda x: attention_varlen(x, heads[0], heads[0], cu)),
        "softmax": (rows, softmax),
        "norm": (rows, lambda x: rms_norm(x, None).y),
        "route": (rows, lambda x: route(x, 2)[0]),
        "experts": (rows, lambda x: experts(x, up, down, index, weights)),
    }


@pytest.mark.parametrize("name", calls())
def test_tensors_of_derived_classes_have_gradients(name: str) -> None:
    x, call = calls()[name]
    expected = torch.autograd.grad(call(given := x.clone().requires_grad_()).float().square().sum(), given)
    found = call(given := Named(x.clone()))
    assert torch.equal(torch.autograd.grad(found.float().square().sum(), given)[0], expected[0])


@pytest.mark.parametrize("name", calls())
def test_tensors_that_stand_for_others_and_modes_see_operators(name: str) -> None:
    x, call = calls()[name]
    expected = call(x)
    found = call(Held(x))
    assert type(found) is Held and torch.equal(found.inner, expected)
    assert torch.equal(call(x.as_subclass(Plain)), expected)
    with Seen() as seen:
        assert torch.equal(call(x), expected)
    assert f"cutelite.{name}.default" in seen.names and "aten.new_empty.default" not in seen.names


def test_a_mode_sees_decoding() -> None:
    q, cache = random(1, 1, 1, 16), random(1, 8, 1, 16)
    with Seen() as seen:
        decode(q, cache, cache)
    assert seen.names == ["cutelite.decode.default"]


def test_traces_and_graphs_have_operators() -> None:
    x, y = random(4, 16), random(4, 16) * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is deprecated
        traced = torch.jit.trace(lambda x: softmax(gemm(x, x.T)), (x,))
    for again in traced, make_fx(lambda x: softmax(gemm(x, x.T)))(x):
        assert torch.equal(again(y), softmax(gemm(y, y.T)))


def test_graphs_have_the_derivative_of_a_loss() -> None:
    x, w, target = random(9, 32), random(40, 32), torch.arange(9, device=DEVICE)

    def gradients(x: Any, w: Any) -> Any:
        given = [each.detach().requires_grad_() for each in (x, w)]
        return torch.autograd.grad(linear_cross_entropy(given[0], given[1], target) * 2, given)

    for mine, right in zip(make_fx(gradients)(x, w)(x, w), gradients(x, w), strict=True):
        torch.testing.assert_close(mine, right)


def test_graphs_have_functions_by_number_and_traces_for_other_processes_have_none() -> None:
    def call(x: Any) -> Any:
        return elementwise(lambda x: x * 2.0, (gemm(x, x.T, activation=lambda x: x * 3.0),))[0]

    x, y = random(4, 16), random(4, 16) * 2
    assert torch.equal(make_fx(call)(x)(y), call(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit is deprecated
        with pytest.raises(cl.ArgumentError, match="a record for other processes does not hold"):
            torch.jit.trace(call, (x,))


UNRECORDED: dict[str, Callable[[Any], Any]] = {
    "scale": lambda x: scale(x, torch.ones(1, device=DEVICE)),
    "out": lambda x: softmax(x, out=torch.empty_like(x)),
    "adamw": lambda x: adamw([x], [x.clone()], [x.clone()], [x.clone()], 1),
    "combine": lambda x: combine(x, torch.arange(4, dtype=torch.int32, device=DEVICE)[:, None]),
}


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@pytest.mark.parametrize("name", UNRECORDED)
def test_calls_that_a_record_would_miss_are_refused(name: str) -> None:
    x = random(4, 16)
    UNRECORDED[name](x.clone())
    records: Any = (lambda call: torch.jit.trace(call, (x,)), lambda call: make_fx(call)(x))
    for record in records:
        with pytest.raises(cl.ArgumentError, match="would miss this call: call one of"):
            record(UNRECORDED[name])


def test_lists_of_tensors_are_checked_once_until_a_fact_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    grouped = Mock(wraps=optimiser.grouped)
    monkeypatch.setattr(optimiser, "grouped", grouped)
    p, g, m, v = ([random(6, 6) + i, torch.nn.Parameter(random(40))] for i in range(4))
    for step in (1, 2, 3):
        before = p[1].clone()
        adamw(p, g, m, v, step)
        assert grouped.call_count == 1
        assert not torch.equal(p[1], before)
    g[0] = g[0].clone()
    adamw(p, g, m, v, 4)
    assert grouped.call_count == 2
    v[0] = v[0].t()
    with pytest.raises(cl.ArgumentError, match=r"squares\[0\] is not contiguous"):
        adamw(p, g, m, v, 5)
    v[0] = m[0]
    with pytest.raises(cl.ArgumentError, match="lies where"):
        adamw(p, g, m, v, 5)


def test_tensors_whose_memory_was_freed_are_told_as_such() -> None:
    """As FSDP frees that of parameters between uses."""
    x = random(4, 16)
    x.untyped_storage().resize_(0)
    with pytest.raises(cl.ArgumentError, match=r"^x cannot be read: the memory of this Tensor has been freed$"):
        softmax(x)
