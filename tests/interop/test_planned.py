"""Planned calls: they give what calls as they are give, and are planned only where that holds."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

import pytest

import cutelite as cl
from cutelite import Tensor, f32

pytest.importorskip("torch")

import torch
from torch._dynamo.testing import CompileCounter
from torch.fx.experimental.proxy_tensor import make_fx

from cutelite.dispatch.replay import forget_plans
from cutelite.interop import planned as plans
from cutelite.interop.planned import planned
from cutelite.kernels.attention.blocks import tables_of, with_own_mask
from cutelite.kernels.attention.call import attention
from cutelite.kernels.functions import lifted, settled
from cutelite.kernels.gemm import gemm
from cutelite.kernels.rows.embedding import embedding, embedding_backward
from cutelite.kernels.rows.gates import activated, gated
from cutelite.kernels.rows.histogram import histogram
from cutelite.kernels.rows.norm import layer_norm, rms_norm
from cutelite.kernels.rows.quantise import quantise
from cutelite.kernels.rows.reduce import reduced
from cutelite.kernels.rows.rope_append import rope_append
from cutelite.kernels.rows.rope_tables import rope_tables
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import argmax, top_k
from cutelite.kernels.rows.softmax import log_softmax, softmax
from cutelite.kernels.rows.sort import sort
from cutelite.kernels.rows.transpose import transposed
from cutelite.lang.tables import Holder, bound
from tests.interop.test_torch_out import CASES

N = cl.dims("N")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(autouse=True)
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls are planned on a CPU too, whose tensors are aligned to 16 bytes; their kernels are simulated.

    On a GPU other tests' calls are counted as well, and are forgotten here.
    """
    forget_plans()
    monkeypatch.setattr(plans, "PLANNED", ("cuda", "cpu"))
    monkeypatch.setattr(plans, "ALIGNED", 16)
    monkeypatch.setattr(plans, "COUNTED", 1)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions of planned calls, by name, in the order of the calls."""
    names: list[str] = []
    run = plans.Plan.run

    def noted(plan: Any, tensors: list[Any]) -> Any:
        names.append(plan.program.__name__)
        return run(plan, tensors)

    monkeypatch.setattr(plans.Plan, "run", noted)
    return names


@cl.kernel(block=64)
def scaled(x: Tensor[f32, (N,)], by: f32, y: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    if i < N:
        y[i] = x[i] * by


def tensors_of(x: Any) -> list[torch.Tensor]:
    if isinstance(x, torch.Tensor):
        return [x]
    return [each for part in x for each in tensors_of(part)] if isinstance(x, (tuple, list)) else []


@pytest.mark.parametrize("name", sorted(CASES))
def test_operators_give_the_same(name: str, ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    operator, given = CASES[name]()
    with monkeypatch.context() as context:
        context.setattr(plans, "PLANNED", ())
        want = tensors_of(operator(*given))
    for _ in range(4):
        for got, wanted in zip(tensors_of(operator(*given)), want, strict=True):
            torch.testing.assert_close(got, wanted, rtol=0, atol=0, equal_nan=True)
    assert len(ran) == 2


def written(*shape: int, dtype: Any = torch.float32) -> torch.Tensor:
    return torch.full(shape, 7, dtype=dtype, device=DEVICE)


FP8 = torch.float8_e4m3fn
INTO: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "softmax": lambda x: (softmax(x, out=(y := written(4, 160))), y),
    "log_softmax": lambda x: (log_softmax(x, out=(y := written(4, 160))), y),
    "rms_norm": lambda x: (rms_norm(x, x[0], out=(y := written(4, 160))).y, y),
    "layer_norm": lambda x: (layer_norm(x, x[0], x[1], out=(y := written(4, 160))).y, y),
    "activated": lambda x: (activated(x, "gelu", out=(y := written(4, 160))), y),
    "gated": lambda x: (gated(x, x, out=(y := written(4, 160))), y),
    "cumsum": lambda x: (cumsum(x, out=(y := written(4, 160))), y),
    "reduced": lambda x: (reduced(x, out=(y := written())), y),
    "sums of rows": lambda x: (reduced(x, mode=1, out=(y := written(4))), y),
    "sums of columns": lambda x: (reduced(x, mode=0, out=(y := written(160))), y),
    "transposed": lambda x: (transposed(x, "bf16", out=(y := written(160, 4, dtype=torch.bfloat16))), y),
    "histogram": lambda x: (histogram(x, 8, -1.0, 1.0, out=(y := written(8, dtype=torch.int32))), y),
    "argmax": lambda x: (argmax(x, out=(y := (written(4), written(4, dtype=torch.int64)))), y),
    "top_k": lambda x: (top_k(x, 3, out=(y := (written(4, 3), written(4, 3, dtype=torch.int64)))), y),
    "sort": lambda x: (sort(x[0], out=(y := (written(160), written(160, dtype=torch.int64)))), y),
    "quantise": lambda x: (quantise(x, out=(y := (written(4, 160, dtype=FP8), written(4, 1)))), y),
    "embedding": lambda x: (embedding(x, torch.arange(3, device=DEVICE), out=(y := written(3, 160))), y),
    "embedding_backward": lambda x: ((y := embedding_backward(x, torch.arange(4, device=DEVICE), 9)), y),
}
"""Functions of rows that write where they are told, and one that adds up in new memory: what they give, and where."""


@pytest.mark.parametrize("name", INTO)
def test_calls_of_rows_with_out_are_planned(name: str, ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.linspace(-1, 1, 640, device=DEVICE).reshape(4, 160)
    with monkeypatch.context() as context:
        context.setattr(plans, "PLANNED", ())
        want = tensors_of(INTO[name](x)[1])
    for _ in range(4):
        found = INTO[name](x)
        for got, into, wanted in zip(*map(tensors_of, found), want, strict=True):
            assert got.data_ptr() == into.data_ptr()
            torch.testing.assert_close(got, wanted, rtol=0, atol=0)
    assert len(ran) == 2


@pytest.mark.parametrize("name", [name for name in INTO if name != "embedding_backward"])
def test_calls_by_a_plan_tell_torch_what_they_wrote(name: str, ran: list[str]) -> None:
    x = torch.linspace(-1, 1, 640, device=DEVICE).reshape(4, 160)
    for _ in range(4):
        assert all(y._version > written(1)._version for y in tensors_of(INTO[name](x)[1]))
    assert len(ran) == 2


def test_calls_that_have_a_plan_are_checked_where_they_differ(ran: list[str]) -> None:
    x, y = (torch.linspace(-1, 1, 640, device=DEVICE).reshape(4, 160) for _ in range(2))
    for _ in range(4):
        softmax(x, out=y)
    assert len(ran) == 2
    with pytest.raises(cl.ArgumentError, match="out needs a gradient"):
        softmax(x, out=y.clone().requires_grad_())
    with pytest.raises(cl.ArgumentError, match="x needs a gradient"):
        softmax(x.clone().requires_grad_(), out=y)
    with pytest.raises(cl.ArgumentError, match="a stride of 0") as found:
        softmax(x, out=x.reshape(-1)[-160:].expand(4, 160))
    assert str(found.traceback[-1].path) == __file__
    with torch.no_grad():
        softmax(x.clone().requires_grad_(), out=y)
    assert len(ran) == 3


def test_results_are_new_tensors_given_ones_and_views_of_either(ran: list[str]) -> None:
    @planned
    def both(x: Any, by: float, *, out: Any) -> Any:
        made = torch.empty_like(x)
        for result in made, out:
            scaled[-(-x.numel() // 64)](x, by, result)
        return {"all": 3}["all"], [made, made[2:]], out, x[:5]

    first = None
    for i in range(5):
        x, out = torch.arange(100.0, device=DEVICE) + i, torch.zeros(100, device=DEVICE)
        count, (made, rest), same, start = both(x, 2.0, out=out)
        assert count == 3 and same is out and start.data_ptr() == x.data_ptr() and start.shape == (5,)
        assert rest.data_ptr() == made[2:].data_ptr() and first is not made
        torch.testing.assert_close(made, 2 * x)
        torch.testing.assert_close(out, 2 * x)
        first = made
    assert ran == ["both"] * 3


@dataclass(frozen=True)
class Held:
    tensor: Any
    number: int


def test_results_may_be_dicts_and_dataclasses(ran: list[str]) -> None:
    @planned
    def named(x: Any) -> Any:
        made = torch.empty_like(x)
        scaled[-(-x.numel() // 64)](x, 2.0, made)
        return {"made": made}, Held(made, 3)

    for i in range(4):
        x = torch.arange(100.0, device=DEVICE) + i
        by_name, held = named(x)
        torch.testing.assert_close(by_name["made"], 2 * x)
        assert held.tensor.data_ptr() == by_name["made"].data_ptr() and held.number == 3
    assert ran == ["named"] * 2


@cl.kernel(block=64)
def added(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    if i < N:
        y[i] += x[i]


@pytest.mark.parametrize(
    "zeros", [torch.zeros_like, lambda x: x.new_zeros(64), lambda x: torch.zeros(64, device=DEVICE)]
)
def test_what_is_allocated_with_zeros_has_them_at_each_call(
    zeros: Callable[[Any], Any], ran: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any, **kwargs: Any) -> Any:  # memory that was in use before
        return empty_strided(*given, **kwargs).fill_(7)

    empty_strided = torch.empty_strided
    monkeypatch.setattr(torch, "empty_strided", full)
    on_gpu = plans._empty_on_gpu
    monkeypatch.setattr(plans, "_empty_on_gpu", lambda *given: on_gpu(*given).fill_(7))

    @planned
    def sums(x: Any) -> Any:
        first, rest = zeros(x), torch.empty_like(x)
        added[1](x, first)
        scaled[1](first, 2.0, rest)
        added[1](x, rest)
        return first, rest

    for i in range(5):
        x = torch.arange(64.0, device=DEVICE) + i
        first, rest = sums(x)
        assert torch.equal(first, x) and torch.equal(rest, 3 * x)
    assert ran == ["sums"] * 3


def test_a_call_that_keeps_a_tensor_has_no_plan(ran: list[str]) -> None:
    kept: list[torch.Tensor] = []
    calls = iter(range(9))

    @planned
    def counted(x: Any) -> Any:
        if next(calls) == 1:  # the one that is watched
            kept.append(torch.zeros_like(x))
        out = torch.empty_like(x)
        scaled[1](x, 2.0, out)
        return out

    x = torch.ones(64, device=DEVICE)
    for _ in range(5):
        assert torch.equal(counted(x), 2 * x)
    assert ran == ["counted"], "of which the program was refused"


def test_other_arguments_are_of_other_kinds(ran: list[str]) -> None:
    @planned
    def into(x: Any, by: Any, out: Any) -> Any:
        scaled[-(-x.numel() // 64)](x, float(by), out)
        return out

    memory = torch.zeros(400, device=DEVICE)
    for by, at in ((2.0, 0), (-0.0, 0), (0.0, 0), (1, 0), (1.0, 0), (True, 0), (2.0, 8), (2.0, 60)):
        for _ in range(3):
            x = memory[:64] = torch.arange(64.0, device=DEVICE)
            out = into(memory[:64], by, memory[64 + at : 128 + at])
            torch.testing.assert_close(out, x * float(by), rtol=0, atol=0)
            assert torch.equal(out.signbit(), (x * float(by)).signbit())
    assert len(ran) == 6 + 2 * 3, "at other distances, but apart and aligned as before, all three calls are planned"


def test_calls_that_overlap_differently_are_apart(ran: list[str]) -> None:
    @planned
    def checked(x: Any, out: Any) -> Any:
        if x.data_ptr() < out.data_ptr() < x.data_ptr() + 4 * x.numel():
            raise ValueError("they overlap")
        scaled[1](x, 2.0, out)
        return out

    memory = torch.ones(400, device=DEVICE)
    for _ in range(4):
        checked(memory[:64], memory[64:128])
        with pytest.raises(ValueError, match="they overlap"):
            checked(memory[:64], memory[32:96])
        in_place = memory[128:192].fill_(3)
        assert checked(in_place, in_place)[0] == 6
    assert len(ran) == 4


@lru_cache
def plus(of_index: Any) -> Any:
    held = Holder(of_index)

    @cl.kernel(block=64)
    def plus(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)], tables: tables_of(of_index)) -> None:
        i = cl.i32(cl.block_idx.x * 64 + cl.thread_idx.x)
        y[i] = x[i] + bound(held, tables).function(i)

    return plus


@planned
def with_function(x: Any, of_index: Any) -> Any:
    arrays: list[Any] = []
    made, y = settled(lifted(of_index, arrays)), torch.empty_like(x)
    plus(made)[x.numel() // 64](x, y, tuple(arrays))
    return y


TABLE: Any = None
FACTOR = 1.0


def in_module(i: Any) -> Any:
    return TABLE[i] * FACTOR


def by_another(i: Any) -> Any:
    return in_module(i) + 1.0


def twice(table: Any) -> Any:
    return partial(lambda by, i: table[i] * by, 2.0)


def test_tensors_that_functions_read_are_tensors_of_the_call(ran: list[str]) -> None:
    """What functions captured or find in their module may be others at each call. Plans keep nothing of it."""
    global TABLE, FACTOR
    x, made = torch.ones(64, device=DEVICE), []
    for FACTOR in (3.0, 5.0):
        for number in range(4):
            table, TABLE = (torch.arange(64.0, device=DEVICE) + number for _ in range(2))
            made.append(weakref.ref(table))
            for function, want in (by_another, table * FACTOR + 1), (twice(table), table * 2):
                torch.testing.assert_close(with_function(x, function), 1 + want, rtol=0, atol=0)
    assert ran == ["with_function"] * (2 * 2 + 6)
    table = function = None
    gc.collect()
    assert all(each() is None for each in made)


SETTINGS = SimpleNamespace(factor=1.0)


def by_settings(i: Any) -> Any:
    return i * SETTINGS.factor


def test_numbers_that_functions_read_of_objects_may_change(ran: list[str]) -> None:
    x, places = torch.ones(64, device=DEVICE), torch.arange(64.0, device=DEVICE)
    for SETTINGS.factor in (3.0, 5.0):
        for _ in range(9):
            torch.testing.assert_close(with_function(x, by_settings), 1 + places * SETTINGS.factor, rtol=0, atol=0)
    assert len(ran) < 2 * 9  # some were planned


class Layer(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, *inner: torch.nn.Module) -> None:
        super().__init__()
        self.factor, self.inner, self.weight = 2.0, inner[0] if inner else None, torch.nn.Parameter(torch.ones(3))

    def by_both(self, i: Any) -> Any:
        return i * self.factor * self.inner.factor  # type: ignore[union-attr]


def test_numbers_of_modules_are_read_in_those_that_hold_them() -> None:
    layer = Layer(Layer())
    x, places = torch.ones(64, device=DEVICE), torch.arange(64.0, device=DEVICE)
    for layer.factor, layer.inner.factor in ((3.0, 0.5), (3.0, 5.0), (7.0, 5.0), (3.0, 0.5)):  # type: ignore[union-attr]
        want = 1 + places * layer.factor * layer.inner.factor  # type: ignore[union-attr]
        torch.testing.assert_close(with_function(x, layer.by_both), want, rtol=0, atol=0)


def test_block_masks_of_torch_are_tensors_and_a_function() -> None:
    from torch.nn.attention.flex_attention import create_block_mask

    @with_own_mask
    def kind(q: Any, k: Any, *, block_mask: Any) -> Any:
        tensors: list[Any] = []
        return plans.kind_of((q, k, block_mask), {}, tensors), block_mask, len(tensors)

    def made(width: int, document: Any) -> Any:
        return lambda b, h, i, j: (document[i] == document[j]) & (i - j < width)

    q, document, kinds = torch.zeros(1, 128, 1, 8, device=DEVICE), torch.zeros(128, device=DEVICE), []
    for width in (64, 64, 32):
        mask = create_block_mask(made(width, document.clone()), None, None, 128, 128, device=DEVICE)
        found, own, count = kind(q, q, block_mask=mask)
        assert own is kind(q, q, block_mask=mask)[1] and count == 2 + 3 + 1
        kinds.append(found)
    assert kinds[0] is not None and kinds[0] == kinds[1] != kinds[2]


LEARNED: dict[str, tuple[Callable[..., Any], int]] = {
    "softmax": (softmax, 1),
    "norm": (lambda x, y, w: rms_norm(x, w, residual=y).y, 3),
    "gated": (gated, 2),
    "gemm": (gemm, 2),
    "attention": (lambda *heads: attention(*(x.view(1, 8, 2, 16) for x in heads), causal=True), 3),
}
"""Functions of two matrices and a row, and of how many of these."""


@pytest.mark.parametrize("name", LEARNED)
def test_calls_with_gradients_are_planned(name: str, ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Forward and backward are a plan each, for each choice of what needs a gradient; what is kept is not changed."""
    function, count = LEARNED[name]
    torch.manual_seed(0)
    x, y, w = torch.randn(16, 16, device=DEVICE), torch.randn(16, 16, device=DEVICE), torch.randn(16, device=DEVICE)
    given = [each.bfloat16() for each in ((x, y, w) if name != "attention" else (x, y, x + y))[:count]]

    def computed(needs: int) -> list[torch.Tensor]:
        leaves = [each.clone().requires_grad_(bool(needs >> i & 1)) for i, each in enumerate(given)]
        result = function(*leaves)
        assert result.requires_grad and not result._is_view()
        wanted = [each for each in leaves if each.requires_grad]
        gradient = torch.ones_like(result)
        first = torch.autograd.grad(result, wanted, gradient, retain_graph=True)
        return [result, *first, *torch.autograd.grad(result, wanted, 2 * gradient)]

    for needs in (1, 2**count - 1):
        with monkeypatch.context() as context:
            context.setattr(plans, "PLANNED", ())
            want = computed(needs)
        for _ in range(5):
            before = len(ran)
            for got, wanted in zip(computed(needs), want, strict=True):
                torch.testing.assert_close(got, wanted, rtol=0, atol=0)
        assert len(ran) - before == 3
        assert name in ran[-3] and ran[-2:] == ["gradient"] * 2


def test_what_is_not_planned(ran: list[str]) -> None:
    @planned
    def computed(x: Any) -> Any:
        out = torch.ones_like(x)
        scaled[1](x, 2.0, out)
        return out

    @planned
    def elsewhere(x: Any) -> Any:
        scaled[1](x, 2.0, GLOBAL)
        return GLOBAL

    @planned
    def derived(x: Any) -> Any:
        return x * 2 if x.requires_grad else computed(x)

    @planned
    def scaled_by_two(x: Any) -> None:
        scaled[1](x, 2.0, GLOBAL)

    x = torch.ones(64, device=DEVICE)
    for _ in range(4):
        assert computed(x)[0] == 2 and elsewhere(x)[0] == 2
        assert derived(x.clone().requires_grad_()).requires_grad
        with pytest.raises(cl.ArgumentError):
            scaled_by_two(x.to_sparse())
    assert set(ran) <= {"elsewhere"}, "its launch takes an array that no argument contains, and so is refused"


GLOBAL = torch.zeros(64, device=DEVICE)


def test_functions_that_have_a_plan_still_go_to_operators(ran: list[str]) -> None:
    """The whole function is planned, also what asks whether a gradient is wanted, or torch traces."""
    a, b = (torch.randn(shape, device=DEVICE).bfloat16() for shape in ((8, 64), (64, 16)))
    q, weight = torch.randn(1, 8, 1, 16, device=DEVICE).bfloat16(), torch.ones(64, device=DEVICE)
    functions: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "gemm": (lambda x: gemm(x, b), a),
        "attention": (lambda x: attention(x, x, x), q),
        "rms_norm": (lambda x: rms_norm(x, weight).y, a),
    }
    for name, (function, x) in functions.items():
        for _ in range(4):
            right = function(x)
        assert ran[-1] == name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch.jit is deprecated
            traced = torch.jit.trace(function, (x,))
        for again in traced, make_fx(function)(x), torch.compile(function, backend="eager", fullgraph=True):
            assert torch.equal(again(x), right) and torch.equal(again(-x), function(-x))
        needy = x.clone().requires_grad_()
        result = function(needy)
        (one,) = torch.autograd.grad(result, needy, torch.ones_like(result), retain_graph=True)
        both = torch.stack([torch.ones_like(result), torch.zeros_like(result)])
        (batch,) = torch.autograd.grad(result, needy, both, is_grads_batched=True)  # tensors without data
        torch.testing.assert_close(batch, torch.stack([one, torch.zeros_like(one)]), rtol=0.02, atol=0.02)
        assert torch.equal(torch.vmap(function)(torch.stack([x, -x]))[0], right)
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend=(counter := CompileCounter()))):
            function(needy).backward(torch.ones_like(result))
        assert torch.equal(needy.grad, one) and counter.frame_count == 1
        if name != "rms_norm":  # which is computed in f32
            with torch.autocast(DEVICE, dtype=torch.bfloat16):
                assert function(x.float()).dtype == torch.bfloat16


def test_a_cache_grows_by_planned_calls(ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its length is on the device, and angles differ from token to token."""

    def decoded() -> list[torch.Tensor]:
        source = torch.Generator().manual_seed(0)
        keys, values = (torch.zeros(2, 2, 12, 16, device=DEVICE) for _ in range(2))
        length, found = torch.zeros(1, dtype=torch.int64, device=DEVICE), []
        for i in range(6):
            q, k, v = (torch.randn(2, 1, heads, 16, generator=source).to(DEVICE) for heads in (4, 2, 2))
            cosines, sines = rope_tables(torch.tensor([i], device=DEVICE), torch.ones(8, device=DEVICE), "f32")
            found.append(rope_append(q, k, v, cosines[:, :8], sines[:, :8], keys, values, length))
        return [*found, keys, values, length]

    with monkeypatch.context() as context:
        context.setattr(plans, "PLANNED", ())
        want = decoded()
    assert all(torch.equal(x, y) for x, y in zip(decoded(), want, strict=True))
    assert ran == ["rope_tables", "rope_append"] * 4
