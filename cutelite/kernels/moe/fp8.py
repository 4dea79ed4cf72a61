"""Experts in fp8 with block scales: tokens quantised, a grouped GEMM, SwiGLU quantised, another one, and the sum."""

from __future__ import annotations

from typing import Any

import cutelite as cl
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import Arguments, ArrayError, contiguous, underived
from cutelite.kernels.arrays import empty
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.moe.call import MATRICES, by_operator, check_choices
from cutelite.kernels.moe.combine import combine
from cutelite.kernels.moe.grouped import BLOCK, Problem, run
from cutelite.kernels.moe.routing import sort
from cutelite.kernels.planning import planned, planned_whole
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.quantise import quantise


@planned_whole()
@underived()
@takes_jax(traced="moe.on_jax.scaled_experts")
def scaled_experts(
    x: Any, gate_up: Any, gate_up_scale: Any, down: Any, down_scale: Any, index: Any, weights: Any, out: Any = None
) -> Any:  # fmt: skip
    """`experts` with matrices of e4m3. Their inputs are quantised to e4m3, a scale for each row and 128 along K.

    x              (tokens, hidden), bf16
    gate_up        (experts, 2 * inner, hidden), e4m3;  down  (experts, hidden, inner)
    gate_up_scale  (experts, 2 * inner / 128, ceil(hidden / 128)), f32, of each 128 x 128;  down_scale  likewise
    Sizes          hidden is a multiple of 16, inner of 128
    Arrays         as for `experts`, but for gradients, of which there are none
    Errors         ValueError for shapes and dtypes that do not fit
    """
    given = x, gate_up, gate_up_scale, down, down_scale, index, weights
    if (found := by_operator("scaled_experts", out, *given)) is not None:
        return found
    return mix_scaled(*given, out)


@untraced
@planned
def mix_scaled(
    x: Any, gate_up: Any, gate_up_scale: Any, down: Any, down_scale: Any, index: Any, weights: Any, out: Any = None
) -> Any:  # fmt: skip
    """Compute `scaled_experts` of arrays that hold data."""
    x, index, weights = checked(x, (gate_up, down), (gate_up_scale, down_scale), index, weights)
    (tokens, hidden), (count, _, inner), k = x.shape, down.shape, index.shape[1]
    read = {"gate_up": gate_up, "down": down, "index": index, "weights": weights}
    read |= {"gate_up_scale": gate_up_scale, "down_scale": down_scale}
    out = Arguments().result(out, x, "bf16", tuple(x.shape), dense=True, apart=read)
    order, pairs = sort(index, count), tokens * k
    if left_out():
        return out
    if not pairs or not inner or not hidden:
        out[...] = 0
        return out
    both, found = empty(x, (pairs, 2 * inner)), empty(x, (pairs, hidden))
    q, scale = quantise(x, Narrow(block=BLOCK))
    run(Problem(cl.e4m3, gather=True), q, gate_up, order.ends, both, order.rows, scales=(scale, gate_up_scale))
    q, scale = quantise(both[:, :inner], Narrow(block=BLOCK), up=both[:, inner:])
    run(Problem(cl.e4m3), q, down, order.ends, found, scales=(scale, down_scale))
    return combine(found, order.place, weights, out=out)


def checked(
    x: Any, matrices: tuple[Any, Any], scales: tuple[Any, Any], index: Any, weights: Any
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Check shapes and dtypes, and return x, index and weights row-major. Errors: ValueError."""
    (gate_up, down), given = matrices, Arguments()
    given.array("x", x, "bf16", "T H")
    given.array("down", down, "e4m3", "E H I", dense=True)
    count, hidden, inner = down.shape
    given.array("gate_up", gate_up, "e4m3", (count, 2 * inner, hidden), dense=True, why=MATRICES)
    for name, matrix, scale in zip(("gate_up", "down"), matrices, scales, strict=True):
        wanted = (count, *(-(-size // BLOCK) for size in matrix.shape[1:]))
        given.array(f"{name}_scale", scale, "f32", wanted, dense=True, why=f": one for each 128 x 128 of {name}")
    chosen = check_choices(given, index, weights)
    if hidden % 16 or inner % BLOCK:
        raise ArrayError(f"down is {tuple(down.shape)}: hidden is a multiple of 16, inner of {BLOCK}")
    return contiguous(x), *chosen
