"""GEMMs of groups, block scales and narrow weights in torch's hands: derivatives, torch.compile, autocast, vmap."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import cutelite as cl

pytest.importorskip("torch")

import torch

from cutelite.kernels import moe
from cutelite.kernels.gemm import Config, Finish, Prepare, fp8_block, gemm, grouped, mixed
from cutelite.kernels.gemm import operators_special as special

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROWS, GROUPS, COLUMNS, DEPTH = 40, 3, 48, 64
ENDS, COUNTS = [10, 10, 37], [0, 7, 20]


@pytest.fixture(autouse=True)
def _nothing_is_compiled() -> None:
    torch._dynamo.reset()


def random(*shape: int, dtype: Any = torch.bfloat16) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(DEVICE, dtype)


def whole(*numbers: int) -> Any:
    return torch.tensor(numbers, dtype=torch.int32, device=DEVICE)


def compiled(function: Any) -> Any:
    return torch.compile(function, backend="aot_eager", fullgraph=True)


def near(ours: Any, theirs: Any, most: float = 8e-3) -> bool:
    ours, theirs = ours.detach().double(), theirs.detach().double()
    return ours.shape == theirs.shape and float((ours - theirs).norm()) <= most * float(theirs.norm())


def by_rows(a: Any, b: Any, ends: Any, rows: Any = None) -> Any:
    """The grouped product as torch has it; rows behind the last end are zeros."""
    a = a if rows is None else a[rows.long()]
    starts = [0, *ends.tolist()]
    parts = [a[i:j] @ b[e].T for e, (i, j) in enumerate(pairwise(starts))]
    return torch.cat([*parts, a.new_zeros(len(a) - starts[-1], b.shape[1])])


def by_batches(a: Any, b: Any, counts: Any) -> Any:
    return torch.where(held(a, counts), torch.bmm(a, b.mT), 0)


def held(a: Any, counts: Any) -> Any:
    """Tell of the rows of padded groups which there are."""
    return (torch.arange(a.shape[1], device=DEVICE) < counts[:, None])[..., None]


def by_groups(a: Any, b: Any, ends: Any) -> Any:
    starts = [0, *ends.tolist()]
    return torch.stack([a[i:j].T @ b[i:j] for i, j in pairwise(starts)])


def of_all(product: Any) -> Any:
    return product


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...], Callable[[Any], Any]]] = {
    "rows": (grouped.gemm, by_rows, (random(ROWS, DEPTH), random(GROUPS, COLUMNS, DEPTH), whole(*ENDS)),
             lambda y: y[: ENDS[-1]]),
    "rows of odd depth": (grouped.gemm, by_rows, (random(ROWS, 61), random(GROUPS, COLUMNS, 61), whole(*ENDS)),
                          lambda y: y[: ENDS[-1]]),
    "gathered rows": (lambda a, b, ends, rows: grouped.gemm(a, b, ends, rows=rows), by_rows,
                      (random(ROWS, DEPTH), random(GROUPS, COLUMNS, DEPTH), whole(20, 20, 33),
                       whole(*(7 * i % ROWS for i in range(33)))), of_all),
    "padded": (grouped.padded, by_batches, (random(GROUPS, 20, DEPTH), random(GROUPS, COLUMNS, DEPTH), whole(*COUNTS)),
               lambda y: torch.where(held(y, whole(*COUNTS)), y, 0)),
    "along K": (grouped.along_k, by_groups, (random(ROWS, DEPTH), random(ROWS, COLUMNS), whole(*ENDS)), of_all),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_groups_are_differentiated(name: str) -> None:
    """Rows of no group have gradients of 0, whatever lies there."""
    ours, theirs, (a, b, *more), part = CASES[name]

    def gradients(function: Any, dtype: Any, outside: float = 0.0) -> tuple[Any, ...]:
        given = [x.detach().to(dtype).requires_grad_() for x in (a, b)]
        found = part(function(*given, *more))
        weights = random(*found.shape, dtype=torch.float64)
        return found, *torch.autograd.grad((found.double() * weights).sum(), given)

    right = gradients(theirs, torch.float64)
    for function in ours, compiled(lambda *given: ours(*given) * 1):
        assert all(near(x, y) for x, y in zip(gradients(function, torch.bfloat16), right, strict=True))
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        cast = gradients(ours, torch.float32)
    assert all(near(x, y) for x, y in zip(cast, right, strict=True)) and cast[1].dtype == torch.float32
    batch = torch.vmap(lambda x: ours(x, b, *more))(torch.stack([a, 2 * a]))
    assert near(part(batch[1]), 2 * right[0])


def test_opcheck_finds_nothing_to_mend() -> None:
    a, b = random(ROWS, DEPTH), random(GROUPS, COLUMNS, DEPTH)
    ends, rows = whole(10, 10, ROWS), whole(*range(ROWS))
    needy = [x.clone().requires_grad_() for x in (a, b)]
    packed = packed_weights()
    fp8, one = random(64, 128).to(torch.float8_e4m3fn), torch.ones(64, 1, device=DEVICE)
    padded = [random(GROUPS, 8, DEPTH).requires_grad_(), needy[1], whole(8, 8, 8)]
    for operator, given in (
        (special.grouped, (*needy, ends)),
        (special.grouped, (*needy, ends, rows)),
        (special.padded, padded),
        (special.along_k, (needy[0], random(ROWS, COLUMNS).requires_grad_(), ends)),
        (special.narrow, (random(16, 128), packed, "i4")),
    ):
        torch.library.opcheck(operator._opoverload, given)
    able = "test_faketensor", "test_autograd_registration"  # torch does not multiply fp8 on a CPU, as the others do
    torch.library.opcheck(special.scaled_blocks._opoverload, (fp8, fp8, one, one[:1]), test_utils=able)


def packed_weights() -> Any:
    source = np.random.default_rng(0)
    made = mixed.pack(source.integers(-8, 8, (64, 128)).astype(np.int8), np.ones((64, 1), np.float32), "i4")
    return torch.from_numpy(made).to(DEVICE)


def test_results_in_the_callers_tensors() -> None:
    """Graphs stay whole, autocast casts, and gradients are accumulated in place."""
    a, b, ends = random(ROWS, DEPTH), random(GROUPS, COLUMNS, DEPTH), whole(*ENDS)
    right, total = by_rows(a, b, ends)[: ENDS[-1]], torch.ones(GROUPS, DEPTH, COLUMNS, device=DEVICE)

    def into(out: Any, total: Any) -> Any:
        grouped.gemm(a, b, ends, out)
        grouped.along_k(a, out, ends, total, accumulate=True)
        return out + 0

    for function in into, compiled(into):
        found = function(torch.zeros(ROWS, COLUMNS, dtype=torch.bfloat16, device=DEVICE), total)
        assert near(found[: ENDS[-1]], right)
    assert near(total, 1 + 2 * by_groups(a.double(), found.double(), ends))
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        assert near(grouped.gemm(a.float(), b.float(), ends, torch.zeros_like(found))[: ENDS[-1]], right)
        assert near(gemm(a.float(), b[0].float().T, torch.zeros_like(found)), a @ b[0].T)
    with pytest.raises(ValueError, match="out= has no derivative, and a needs a gradient"):
        grouped.gemm(a.clone().requires_grad_(), b, ends, found)
    with pytest.raises(ValueError, match="accumulate= adds to out, and there is none"):
        torch.ops.cutelite.gemm_along_k(a, found, ends, True)


def test_narrow_operands_leave_graphs_whole() -> None:
    x, packed = random(16, 128), packed_weights()
    assert torch.equal(compiled(lambda x: mixed.gemm(x, packed, "i4"))(x), mixed.gemm(x, packed, "i4"))
    assert torch.equal(torch.vmap(lambda x: mixed.gemm(x, packed, "i4"))(torch.stack([x, -x]))[0],
                       mixed.gemm(x, packed, "i4"))  # fmt: skip
    narrow, scale = random(64, 128).to(torch.float8_e4m3fn), torch.ones(64, 1, device=DEVICE)
    found = compiled(lambda a, b, of_a, of_b: fp8_block.gemm(a, b, of_a, of_b))(narrow, narrow, scale, scale[:1])
    assert near(found, narrow.float().double() @ narrow.float().double().T)
    with pytest.raises(ValueError, match="gemm has no derivative, and x needs a gradient"):
        mixed.gemm(x.clone().requires_grad_(), packed, "i4")
    with pytest.raises(ValueError, match="has derivatives of bf16 and f16"):
        grouped.gemm(narrow.clone().requires_grad_(), narrow[None], whole(64))


def test_experts_in_compiled_code() -> None:
    """Of all kinds of matrices, and with results in the caller's tensors."""
    source, (tokens, hidden, inner) = np.random.default_rng(0), (5, 128, 128)
    x, index, weights = random(tokens, hidden), whole(0, 1, 1, 0, 1)[:, None], torch.ones(tokens, 1, device=DEVICE)
    shapes = (2, 2 * inner, hidden), (2, hidden, inner)

    def packed(shape: tuple[int, ...], gated: bool) -> Any:
        codes, scales = source.integers(-8, 8, shape).astype(np.int8), np.ones((*shape[:2], 4), np.float32) / 64
        return torch.from_numpy(moe.pack(codes, scales, "i4", gated=gated)).to(DEVICE)

    up, down = packed(shapes[0], True), packed(shapes[1], False)
    fp8 = [random(*shape).to(torch.float8_e4m3fn) for shape in shapes]
    scales = [torch.ones(2, rows, 1, device=DEVICE) / 64 for rows in (2, 1)]
    gate_up, second = (random(*matrix.shape) / 8 for matrix in fp8)
    functions: list[Callable[..., Any]] = [
        lambda out: moe.experts(x, gate_up, second, index, weights, out),
        lambda out: moe.narrow_experts(x, up, down, index, weights, "i4", inner=inner, out=out),
        lambda out: moe.scaled_experts(x, fp8[0], scales[0], fp8[1], scales[1], index, weights, out),
    ]
    for function in functions:
        wanted, made = function(None), torch.empty_like(x)
        assert torch.equal(compiled(lambda f=function: f(None))(), wanted)
        compiled(lambda out, f=function: f(out))(made)
        assert torch.equal(made, wanted)


def silu_gate(a: Any, b: Any) -> Any:
    both = a @ b
    gate, up = both.chunk(2, -1)
    return torch.nn.functional.silu(gate) * up


def test_a_gate_is_differentiated() -> None:
    a, b = random(ROWS, DEPTH), random(DEPTH, 2 * COLUMNS) / 4

    def gradients(function: Any, dtype: Any) -> tuple[Any, ...]:
        given = [x.detach().to(dtype).requires_grad_() for x in (a, b)]
        found = function(*given)
        return found, *torch.autograd.grad(found.double().square().sum(), given)

    right = gradients(silu_gate, torch.float64)
    for gate in "silu", lambda x: x / (1.0 + cl.math.exp(-x)):

        def gated(a: Any, b: Any, gate: Any = gate) -> Any:
            return gemm(a, b, gate=gate) * 1

        for function in gated, compiled(gated):
            assert all(near(x, y) for x, y in zip(gradients(function, torch.bfloat16), right, strict=True))
    torch.library.opcheck(torch.ops.cutelite.gemm.default, (a.requires_grad_(), b), {"gate": "silu"})


def test_compiled_code_makes_values_for_gemm() -> None:
    """Values are made in the graph; transforms say what there is none of."""
    a, b = random(ROWS, DEPTH), random(DEPTH, COLUMNS)
    finish = Finish(stored)
    for function in (
        lambda: gemm(a, b, finish=Finish(stored)) * 1,
        lambda: gemm(a, b, prepare=Prepare(values)) * 1,
        lambda: gemm(a, b, config=Config((64, 64), True, (1, 1), 4, buffers=1)) * 1,
        lambda: grouped.gemm(a, b.T[None], whole(ROWS), finish=Finish(stored)) * 1,
    ):
        assert near(torch.compile(function, backend="eager")(), a @ b)
    for call in (
        lambda x: gemm(x, b, finish=finish), lambda x: grouped.gemm(x, b.T[None], whole(ROWS), finish=finish),
    ):  # fmt: skip
        with pytest.raises(cl.ArgumentError, match="no operator"):
            torch.vmap(call)(a[None])


def stored(piece: cl.Piece) -> None:
    piece.result(piece.sums)


def values(chunk: cl.Chunk) -> Any:
    return chunk.values
