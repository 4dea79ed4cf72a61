"""Functions of GEMMs and of elements by number: values and gradients in graphs of torch.compile, and without."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Finish, Prepare
from cutelite.kernels.gemm import gemm, grouped
from cutelite.kernels.rows.elementwise import elementwise

pytest.importorskip("torch")

import torch
from torch.utils.flop_counter import FlopCounterMode

from cutelite.interop import torch_functions
from cutelite.kernels.gemm import operators
from cutelite.kernels.gemm.call import gating
from cutelite.kernels.rows import elementwise as elements
from cutelite.kernels.rows import operators_elements
from tests.interop.test_torch_functions import DEVICE, alike, made

pytestmark = pytest.mark.usefixtures("graphs")
ROWS, COLUMNS, DEPTH = 40, 72, 64
FACTOR, SCALE = torch.tensor(2.0, requires_grad=True, device=DEVICE), torch.tensor(1.0, device=DEVICE)
ENDS, COUNTS = (torch.tensor(x, dtype=torch.int32, device=DEVICE) for x in ((15, 40), (3, 8)))


def random(*shape: int, dtype: Any = torch.bfloat16) -> Any:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(DEVICE, dtype)


def off(found: Any, right: Any) -> float:
    return float((found.detach().double() - right.detach().double()).norm() / right.detach().double().norm())


def power(by: float) -> Callable[[Any], Any]:
    return lambda x: x * x * by


def swish(x: Any, slope: float = 1.0) -> Any:
    return x / (1.0 + cl.math.exp(-slope * x))


def by_factor(x: Any) -> Any:
    return x * FACTOR


def biased(a: Any, b: Any, c: Any, bias: Any, activation: Any) -> Any:
    return gemm(a, b, c=c, bias=bias, alpha=0.5, beta=2.0, activation=activation)


def greatest(piece: Any, bias: Any, most: Any) -> None:
    sums = piece.sums + piece.by_column(bias)
    piece.result(sums)
    piece.put_rows(most, piece.of_rows(abs(sums), "max"))


def test_activations_are_differentiated() -> None:
    """Gradients are those of float64, and in graphs the same bits."""
    given = [random(ROWS, DEPTH), random(DEPTH, COLUMNS), random(ROWS, COLUMNS), random(COLUMNS)]
    theirs: dict[Callable[..., Any], Callable[[Any], Any]] = {
        power(0.25): lambda x: x * x * 0.25, partial(swish, slope=2.0): lambda x: x * torch.sigmoid(2 * x)
    }  # fmt: skip
    call: Callable[..., Any] = biased
    compiled, graphs = made("aot_eager", biased)
    for ours, its in theirs.items():
        leaves, exact = ([x.detach().to(dtype).requires_grad_() for x in given] for dtype in (None, torch.float64))
        a, b, c, bias = exact
        found, right = call(*leaves, ours), its(0.5 * (a @ b) + 2 * c + bias)
        assert off(found, right) < 6e-3
        grad = random(ROWS, COLUMNS)
        for x, y in zip(
            *(torch.autograd.grad(r, xs, grad.to(r)) for r, xs in ((found, leaves), (right, exact))), strict=True
        ):
            assert off(x, y) < 1e-2
        alike(biased, compiled, given, ours)
    assert len(graphs) == 2 and all("cutelite.gemm_with.default" in graph for graph in graphs)


def test_gates_batches_and_shapes_that_are_symbols() -> None:
    def gated(a: Any, b: Any) -> Any:
        return gemm(a, b, gate=swish)

    compiled, graphs = made("aot_eager", gated, dynamic=True)
    known = []
    for rows in 40, 24:
        alike(gated, compiled, [random(3, rows, DEPTH), random(DEPTH, 32)])
        known.append(len(graphs))  # torch traces again where a number that is a symbol turns out to be fixed
    assert known[0] == known[1]
    a, b = random(3, 8, DEPTH), random(DEPTH, 32)
    each = torch.vmap(lambda a: gemm(a, b, activation=swish))(a)
    assert torch.equal(each, gemm(a, b, activation=swish))


def test_graphs_are_made_again_for_other_functions() -> None:
    compiled, graphs = made("aot_eager", lambda a, b, f: gemm(a, b, activation=f))
    a, b = random(ROWS, DEPTH), random(DEPTH, 32)
    for by, again in (0.5, True), (0.25, True), (0.5, False):
        known = len(graphs)
        assert torch.equal(compiled(a, b, power(by)), gemm(a, b, activation=power(by)))
        assert (len(graphs) > known) == again


def test_functions_that_finish_and_prepare() -> None:
    a, b, bias = random(ROWS, DEPTH), random(DEPTH, COLUMNS), random(COLUMNS, dtype=torch.float32)
    groups = random(2, COLUMNS, DEPTH)

    def plain(a: Any) -> Any:
        most = a.new_zeros(ROWS, 2, dtype=torch.float32)
        return gemm(a * 2, b, alpha=0.5, finish=Finish(greatest, (bias, most), columns=64)), most * 2

    def ahead(a: Any) -> Any:
        finish = Finish(lambda p, x, bias: p.result(p.sums + x), (bias,), ahead=lambda p, bias: p.by_column(bias))
        return (gemm(a, b, finish=finish),)

    def prepared(a: Any) -> Any:
        prepare = Prepare(lambda chunk, scales: chunk.values * chunk.by_row(scales), (bias[:ROWS],))
        into = a.new_empty(ROWS, COLUMNS)
        gemm(a, b, into, prepare=prepare)
        return gemm(a, b, prepare=prepare, activation=swish, bias=bias), into

    def of_groups(a: Any) -> Any:
        finish = Finish(lambda p, bias: p.result(p.sums + p.by_column(bias)), (bias,))
        padded = a.new_zeros(2, 20, COLUMNS)
        grouped.padded(a.view(2, 20, DEPTH), groups, COUNTS, padded, finish=finish)
        return grouped.gemm(a, groups, ENDS, finish=finish), padded

    for function in plain, ahead, prepared, of_groups:
        compiled, graphs = made("aot_eager", function)
        for x, y in zip(compiled(a), function(a), strict=True):
            assert torch.equal(x, y)
        assert len(graphs) == 1


def test_functions_of_elements() -> None:
    x, y = random(5, 72), random(5, 72)

    def both(x: Any, y: Any) -> Any:
        product, power = elementwise(lambda a, b: (a * b + 1.0, cl.math.exp(a)), (x, y), dtypes=("f32", "bf16"))
        return product + power

    def exact(x: Any, y: Any) -> Any:
        return x * y + 1 + torch.exp(x)

    compiled, graphs = made("aot_eager", both)
    alike(both, compiled, [x, y])
    assert "cutelite.elements.default" in graphs[0]
    found, right = (
        [*torch.autograd.grad(f(*xs).sum(), xs)]
        for f, xs in (
            (f, [z.clone().to(to).requires_grad_() for z in (x, y)]) for f, to in ((both, None), (exact, torch.double))
        )
    )
    assert all(off(*each) < 6e-3 for each in zip(found, right, strict=True))

    def in_place(x: Any, y: Any) -> Any:
        x = x * 1
        elementwise(lambda a, b: a + b, (x, y), out=(x,), names=("a", "b", "a"))
        return x

    compiled, _ = made("aot_eager", in_place)
    assert torch.equal(compiled(x, y), x + y)


def test_functions_without_a_derivative() -> None:
    x = random(5, 72).requires_grad_()
    for how in {"dtypes": ("e4m3",)}, {"out": (torch.empty_like(x),)}:
        for call in elementwise, torch.compile(elementwise, backend="aot_eager"):
            with pytest.raises(ValueError, match=r"elementwise has no derivative, and inputs\[0\] needs a gradient"):
                call(swish, (x,), **how)
    with pytest.raises(cl.ArgumentError, match="function= is a function that holds what may change"):
        elementwise(lambda x, held=[2.0]: x * held[0], (x,))


def test_what_may_change_is_seen_by_no_mode() -> None:
    """As calls without an operator run: their functions are what they are when they are called."""
    held = [2.0]
    a, b = random(ROWS, DEPTH), random(DEPTH, 32)
    with FlopCounterMode(display=False) as counter:
        gemm(a, b, activation=swish)
        seen = counter.get_total_flops()
        for by in 2.0, 3.0:
            held[0] = by
            scaled = gemm(a, b, activation=lambda x: x * held[0])
            assert torch.equal(elementwise(lambda x: x * held[0], (a,))[0], a * by)
            assert torch.equal(scaled, gemm(a, b, alpha=by))
    assert seen == 2 * ROWS * DEPTH * 32


def test_equal_functions_have_one_number() -> None:
    """What is written in place at each step of training is not kept at each."""
    x = random(5, 72).requires_grad_()
    counts = []
    for _ in range(3):
        for function in power(3.0), partial(swish, slope=3.0):
            elementwise(function, (x,))[0].sum().backward()
        kept = len(torch_functions._kept), len(torch_functions._forms)
        counts.append((*kept, elements.slopes.cache_info().currsize))
    assert counts[0] == counts[2]


@pytest.mark.parametrize("kind", [float, np.float32, np.array, torch.tensor, "partial"])
def test_a_captured_number_counts_by_its_value(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written in place at each step is traced once, whatever holds its numbers, and nothing is kept for it."""

    def written(value: float) -> Any:
        if kind == "partial":
            return partial(lambda x, by: x * by, by=torch.tensor(value, device=DEVICE))
        by = kind(value, device=DEVICE) if kind is torch.tensor else kind(value)
        return lambda x: x * by

    def together(a: Any, b: Any, by: Any) -> Any:
        return elementwise(by, (a,))[0] + gemm(a, b, activation=by) + gemm(a, b.repeat(1, 2), gate=by)

    call = torch.compile(together, backend="aot_eager") if kind is torch.tensor else together

    def step(a: Any, b: Any, value: float) -> list[Any]:
        made = call(a, b, written(value))
        return [made.detach(), *(torch.autograd.grad(made.sum(), (a, b)) if made.requires_grad else ())]

    def steps() -> list[Any]:
        given = random(8, DEPTH), random(DEPTH, DEPTH)
        every = [[x.clone().requires_grad_(needs) for x in given] for needs in (kind is not np.array, False)]
        return [x for value in (2.0, 3.0) for a, b in every for x in step(a, b, value)]

    first = steps()
    assert not torch.equal(first[0], first[len(first) // 2])
    caches = elements.build, elements.slopes, gating
    sizes = [each.cache_info().currsize for each in caches]
    kept = len(torch_functions._kept), len(torch_functions._forms)
    monkeypatch.setattr("cutelite.pipeline.evaluate", None)
    assert all(map(torch.equal, first, steps()))
    assert [each.cache_info().currsize for each in caches] == sizes
    assert (len(torch_functions._kept), len(torch_functions._forms)) == kept


def by_scale(x: Any) -> Any:
    return x * SCALE


def test_a_number_in_a_tensor_of_a_module_may_change() -> None:
    a, b = random(8, DEPTH), random(DEPTH, DEPTH)
    for value in 2.0, 4.0:
        SCALE.fill_(value)
        assert torch.equal(elementwise(by_scale, (a,))[0], a * value)
        assert torch.equal(gemm(a, b, activation=by_scale), gemm(a, b, alpha=value))
    with torch.inference_mode():  # its tensors have no versions
        held = SimpleNamespace(scale=torch.tensor(1.0, device=DEVICE))

        def scaled(x: Any) -> Any:
            return x * held.scale

        def together(a: Any, b: Any) -> Any:
            return elementwise(scaled, (a,))[0] + gemm(a, b, activation=scaled)

        compiled, _ = made("aot_eager", together)
        for value in 2.0, 4.0:
            held.scale.fill_(value)
            for call in together, compiled:
                assert torch.equal(call(a, b), a * value + gemm(a, b, alpha=value))


def test_a_captured_tensor_that_needs_a_gradient() -> None:
    given = random(ROWS, DEPTH), random(DEPTH, COLUMNS).requires_grad_(), random(5, 72).requires_grad_()

    def both(a: Any, b: Any, x: Any, which: str) -> Any:
        how: Any = {which: by_factor}
        return gemm(a, b, **how) if which else elementwise(by_factor, (x,))

    for call in both, torch.compile(both, backend="aot_eager"):
        for which in "activation", "gate", "":
            with pytest.raises(ValueError, match="captured a tensor that needs a gradient, and would get none"):
                call(*given, which)


def test_a_variable_that_changes_later_does_not_change_equal_functions() -> None:
    def bound(by: float) -> tuple[Any, Any]:
        def change(to: float) -> None:
            nonlocal by
            by = to

        return (lambda x: x * by), change

    (first, change), (second, _) = bound(2.0), bound(2.0)
    numbers = [torch_functions.numbered((each,))[0] for each in (first, second)]
    change(5.0)
    assert numbers[0] == numbers[1]
    assert torch_functions.restored(numbers[1], [])[0](1.0) == 2.0
    assert torch_functions.restored(torch_functions.numbered((first,))[0], [])[0](1.0) == 5.0


def test_operators() -> None:
    a, b, bias = random(ROWS, DEPTH), random(DEPTH, COLUMNS), random(COLUMNS, dtype=torch.float32)
    out, most = random(ROWS, COLUMNS), random(ROWS, 2, dtype=torch.float32)
    number, captured = torch_functions.numbered((swish, None, None))
    given: tuple[Any, ...] = (
        a.clone().requires_grad_(),
        b,
        None,
        bias.clone().requires_grad_(),
        None,
        None,
        captured,
        number,
    )
    torch.library.opcheck(operators.gemm_with._opoverload, (*given, 1.0, 0.0, None))
    torch.library.opcheck(operators.slope._opoverload, (out, out, captured, number))
    number, captured = torch_functions.numbered((Finish(greatest), None))
    given = a, b, None, out, [bias, most], captured, number, False, 1.0, None
    torch.library.opcheck(operators.gemm_finish._opoverload, given)
    number, captured = torch_functions.numbered((power(2.0),))
    x = random(5, 72)
    torch.library.opcheck(operators_elements.elements_of._opoverload, ([x.requires_grad_()], captured, number, "", ""))
    x = x.detach()
    torch.library.opcheck(operators_elements.elements_into._opoverload, ([x], [x.clone()], captured, number, ""))
    torch.library.opcheck(operators_elements.elements_backward._opoverload, ([x], [x], captured, number))
