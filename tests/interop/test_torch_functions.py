"""Functions of the caller's in the graphs of torch.compile: values and gradients, and when a graph is made again."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import cutelite as cl
from cutelite.kernels.attention import attention, attention_varlen, create_block_mask

pytest.importorskip("torch")

import torch
from torch.utils.checkpoint import checkpoint

from cutelite.interop.torch_functions import GUARDS_DICTS

pytestmark = pytest.mark.usefixtures("graphs")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SLOPES = torch.tensor([0.5, -0.25], device=DEVICE)


def operands(rows: int = 40) -> list[Any]:
    torch.manual_seed(rows)
    return [torch.randn(1, rows, 2, 64, dtype=torch.bfloat16, device=DEVICE) for _ in range(3)]


def made(backend: str, function: Callable[..., Any], **how: Any) -> tuple[Any, list[list[str]]]:
    """Return a function compiled as one graph, and what its graphs call, each time one is made."""
    graphs: list[list[str]] = []

    def count(module: Any, inputs: Any) -> Any:
        graphs.append([str(node.target) for node in module.graph.nodes if node.op == "call_function"])
        return torch._dynamo.lookup_backend(backend)(module, inputs)

    return torch.compile(function, backend=count, fullgraph=True, **how), graphs


def alike(function: Callable[..., Any], compiled: Callable[..., Any], tensors: list[Any], *more: Any) -> None:
    """Compare values and gradients, which are the same bits, also of a call that `checkpoint` makes again."""
    found = []
    for each in function, partial(checkpoint, function, use_reentrant=False), compiled:
        leaves = [x.detach().clone().requires_grad_() for x in tensors]
        result = each(*leaves, *more)
        found.append([result.detach(), *torch.autograd.grad(result.float().square().sum(), leaves)])
    for x, *others in zip(*found, strict=True):
        assert all(torch.equal(x, y) for y in others)


def biased(slopes: Any, far: float, factor: float = 1.0) -> Callable[..., Any]:
    def mod(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score * factor + cl.where(kv_idx - q_idx < far, slopes[h], 0.0)

    return mod


def by_global(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return score + SLOPES[h]


def by_default(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, slopes: Any = SLOPES) -> Any:
    return score + slopes[h]


def by_more(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any, slopes: Any, end: Any) -> Any:
    return score + slopes[h] * (kv_idx - end)


def causal(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return q_idx >= kv_idx


def scored(q: Any, k: Any, v: Any, mod: Any) -> Any:
    return attention(q, k, v, score_mod=mod)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_functions_from_outside_are_in_the_graph(backend: str) -> None:
    def nested(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return inner(score, b, h, q_idx, kv_idx) + pair[1][h]

    inner, pair = biased(SLOPES, 5, 0.5), (2, SLOPES * 3)
    compiled, graphs = made(backend, scored)
    for mod in nested, by_global, by_default, partial(by_more, slopes=SLOPES, end=3):
        alike(scored, compiled, operands(), mod)
    assert len(graphs) == 4
    assert all("cutelite.attention_with.default" in graph for graph in graphs)


def test_graphs_are_made_again_for_other_numbers_but_not_for_other_tensors() -> None:
    compiled, graphs = made("aot_eager", scored)
    seen: list[Any] = []
    for slopes, far, factor, again in (
        (SLOPES, 5, 1.0, True), (SLOPES * 2, 5, 1.0, False), (SLOPES, 7, 1.0, True), (SLOPES, 9, 1.0, True),
        (SLOPES, 9, 0.5, True), (SLOPES, 9, 0.25, True), (SLOPES * 3, 7, 1.0, False), (SLOPES * 2, 9, 0.5, False),
    ):  # fmt: skip
        given, known = [*operands(), biased(slopes, far, factor)], len(graphs)
        found = compiled(*given)
        assert torch.equal(found, scored(*given))
        assert not any(torch.equal(found, each) for each in seen)
        assert (len(graphs) > known) == again
        seen.append(found)


def test_objects_that_functions_hold_are_told_apart() -> None:
    class Factor:
        def __init__(self, by: float) -> None:
            self.by = by

    def times(factor: Any, kind: Any) -> Callable[..., Any]:
        return lambda score, b, h, q_idx, kv_idx: score * factor.by + kind(1.0) * kv_idx

    compiled, _ = made("aot_eager", scored)
    for mod in times(Factor(2.0), cl.f32), times(Factor(3.0), cl.f32), times(Factor(3.0), cl.f16):
        given = [*operands(), mod]
        assert torch.equal(compiled(*given), scored(*given))


def test_functions_and_lists_that_functions_hold_are_told_apart() -> None:
    def after(*held: Any) -> Callable[..., Any]:
        def mod(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
            for each in functions:
                score = each(score)
            return score

        functions = list(held)
        return mod

    def power(by: float) -> Callable[..., Any]:
        return lambda score: score * by

    compiled, _ = made("aot_eager", scored)
    twice, more, some = (lambda score: score * 2.0), (lambda score: score + SLOPES[0]), partial(max, 0.5)
    for held in (
        (twice, twice), (twice, more), (more, more), (some, power(2.0)), (twice, power(3.0)), (twice,), (),
    ):  # fmt: skip
        given = [*operands(), after(*held)]
        assert torch.equal(compiled(*given), scored(*given))


class Biased(torch.nn.Module):  # type: ignore[misc]
    """A score modification by a method, which reads a number of its object and of a dict."""

    def __init__(self, by: float) -> None:
        super().__init__()
        self.by, self.known = by, {"factor": by}

    def mod(self, score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score * self.by + kv_idx * self.known["factor"]

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        return scored(q, k, v, self.mod)


def test_methods_are_in_the_graph_and_read_when_it_runs() -> None:
    model = Biased(0.5)
    compiled, graphs = made("aot_eager", model)
    alike(model, compiled, operands())
    count = len(graphs)
    model.known["factor"] = 3.0
    alike(model, compiled, operands())
    assert len(graphs) == count == 1
    compiled, graphs = made("aot_eager", scored)
    first, other = Biased(2.0), Biased(0.25)
    for each, again in (first.mod, 1), (other.mod, 2), (first.mod, 2):
        given = [*operands(), each]
        assert torch.equal(compiled(*given), scored(*given))
        assert len(graphs) == again


@pytest.mark.skipif(not GUARDS_DICTS, reason="this torch does not guard dicts, and breaks the graph")
def test_functions_that_hold_dicts_are_in_the_graph() -> None:
    known = {"factor": 2.0}

    def mod(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return score * known["factor"]

    compiled, graphs = made("aot_eager", scored)
    for each, again in (mod, 1), (partial(mod), 2):
        given = [*operands(), each]
        assert torch.equal(compiled(*given), scored(*given))
        assert len(graphs) == again
    for known in {"factor": 5.0}, {"factor": 6.0}:  # noqa: B007  the function's variable
        given = [*operands(), mod]
        assert torch.equal(compiled(*given), scored(*given))


def test_functions_made_in_the_graph() -> None:
    def call(q: Any, k: Any, v: Any, slopes: Any) -> Any:
        mod = partial(by_more, slopes=slopes * 2, end=q.shape[1])
        return attention(q, k, v, score_mod=mod, mask_mod=lambda b, h, q_idx, kv_idx: q_idx >= kv_idx)

    compiled, graphs = made("aot_eager", call)
    for rows in 40, 24:
        alike(call, compiled, operands(rows), SLOPES)
    assert "cutelite.attention_with.default" in graphs[0]


def test_shapes_may_be_dynamic() -> None:
    def call(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v, score_mod=by_global, mask_mod=causal)

    compiled, graphs = made("aot_eager", call, dynamic=True)
    for rows in 40, 24, 33:
        with torch.no_grad():
            assert torch.equal(compiled(*operands(rows)), call(*operands(rows)))
    assert len(graphs) == 1


def test_block_masks_sinks_and_sequences() -> None:
    mask = create_block_mask(causal, None, None, 40, 40, device=DEVICE, BLOCK_SIZE=64)
    mask = replace(mask, **{name: torch.as_tensor(getattr(mask, name)) for name in ("order", "counts", "spans")})
    starts = torch.tensor([0, 15, 40], dtype=torch.int32, device=DEVICE)

    def masked(q: Any, k: Any, v: Any, sinks: Any) -> Any:
        return attention(q, k, v, score_mod=by_global, block_mask=mask, sinks=sinks)

    def ragged(q: Any, k: Any, v: Any, sinks: Any) -> Any:
        return attention_varlen(q[0], k[0], v[0], starts, score_mod=by_global, mask_mod=causal, sinks=sinks)

    for call in masked, ragged:
        compiled, _ = made("aot_eager", call)
        alike(call, compiled, [*operands(), torch.tensor([0.5, 1.0], device=DEVICE)])


def test_outputs_of_the_caller() -> None:
    def into(q: Any, k: Any, v: Any) -> Any:
        out = torch.empty_like(q)
        attention(q, k, v, out, score_mod=by_global)
        return out * 2

    compiled, graphs = made("aot_eager", into)
    assert torch.equal(compiled(*operands()), into(*operands()))
    assert "cutelite.attention_with.out" in graphs[0]
    needy = [x.requires_grad_() for x in operands()]
    with pytest.raises(ValueError, match="out= has no derivative, and q needs a gradient"):
        torch.compile(into, backend="aot_eager")(*needy)


def test_block_masks_of_torch() -> None:
    """Of a function, of lists alone, and of both, where the lists show more than the function."""
    from torch.nn.attention.flex_attention import BlockMask
    from torch.nn.attention.flex_attention import create_block_mask as create_theirs

    def masked(q: Any, k: Any, v: Any, mask: Any) -> Any:
        return attention(q, k, v, block_mask=mask)

    mask = create_theirs(causal, None, None, 200, 200, device=DEVICE, BLOCK_SIZE=64)
    lists = mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices
    near = create_theirs(lambda b, h, q_idx, kv_idx: q_idx - kv_idx < 70, 1, 2, 200, 200, device=DEVICE, BLOCK_SIZE=64)
    compiled, graphs = made("aot_eager", masked)
    for each in (
        mask, near,
        BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=64),
        BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=64, mask_mod=lambda b, h, q_idx, kv_idx: q_idx == kv_idx),
    ):  # fmt: skip
        alike(masked, compiled, operands(200), each)
    assert len(graphs) == 4


def test_what_cannot_be_in_the_graph_breaks_it() -> None:
    def call(q: Any, k: Any, v: Any, slopes: Any) -> Any:
        own = slopes * 2
        return attention(q, k, v, score_mod=lambda score, b, h, q_idx, kv_idx: score + own[h])

    def in_place(q: Any, k: Any, v: Any, _: Any) -> Any:
        return attention(q, k, v, score_mod=lambda score, b, h, q_idx, kv_idx: score + SLOPES[h])

    known = Biased(2.0).mod
    every: tuple[tuple[Callable[..., Any], Any], ...] = (
        (call, SLOPES), (in_place, 0), (scored, lambda *given: known(*given)),
    )  # fmt: skip
    for function, more in every:
        torch._dynamo.reset()
        alike(function, torch.compile(function, backend="aot_eager"), operands(), more)
        with pytest.raises(torch._dynamo.exc.Unsupported, match="no operator takes these arguments: a function that"):
            torch.compile(function, backend="aot_eager", fullgraph=True)(*operands(), more)


def test_captured_tensors_get_no_gradient_in_silence() -> None:
    slopes = SLOPES.clone().requires_grad_()

    def masked(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v, mask_mod=lambda b, h, q_idx, kv_idx: slopes[h] > kv_idx)

    with pytest.raises(ValueError, match="captured a tensor that needs a gradient"):
        torch.compile(masked, backend="aot_eager")(*operands())


def test_exporting_is_refused() -> None:
    class Module(torch.nn.Module):  # type: ignore[misc]
        def forward(self, q: Any, k: Any, v: Any) -> Any:
            return scored(q, k, v, by_global)

    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.export.export(Module(), tuple(operands()), strict=True)


def test_operator() -> None:
    from cutelite.interop.torch_functions import numbered, restored
    from cutelite.kernels.attention import operators

    number, captured = numbered((by_global, None, None))
    assert captured == [SLOPES]
    assert torch.equal(restored(number, [SLOPES * 2])[0].__globals__["SLOPES"], SLOPES * 2)
    equal = partial(by_more, end=1), partial(by_more, end=True), partial(by_more, end=1.0)
    kinds = [type(restored(numbered((each,))[0], [])[0].keywords["end"]) for each in equal]
    assert kinds == [int, bool, float]
    how = "", None, None, None, None, "bshd"
    given = [x.requires_grad_() for x in operands()]
    torch.library.opcheck(operators.attention_with._opoverload, (*given, None, [], captured, number, *how))
