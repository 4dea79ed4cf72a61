"""The derivative of `experts`: the gate's between four grouped GEMMs.

u = gradient @ down[e]                   of each pair of a token and a choice, without its weight
dw = sum(h * u), h = silu(gate) * up     the gradient of the pair's weight
ds = weight * u * derivatives of h       those of gate and up
dx = sum of ds @ gate_up[e]              over the choices of a token
dgate_up[e] = ds.T @ x                   ddown[e] = gradient.T @ (weight * h)
"""

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i32
from cutelite.dispatch.divert import left_out
from cutelite.kernels.arguments import Arguments, instance
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.gemm.laid import packed_rows
from cutelite.kernels.moe import wgrad
from cutelite.kernels.moe.call import checked
from cutelite.kernels.moe.combine import combine
from cutelite.kernels.moe.grouped import Problem, run
from cutelite.kernels.moe.routing import Sorted
from cutelite.kernels.planning import planned_alone
from cutelite.kernels.rows.arrays import DTYPES
from cutelite.kernels.rows.gates import silu
from cutelite.target.targets import WARP
from cutelite.tuples import NamedTuple

T, M, N, E, D = cl.dims("T M N:8 E D:8")
WARPS, VECTOR = 4, 8


@cache
def gate(dtype: Any, weight: Any, k: int) -> Any:
    """The kernel between the GEMMs: a warp has a pair, or clears a row behind the last expert's."""

    @cl.kernel(block=WARPS * WARP)
    def backward(
        u: Tensor[dtype, (M, N)], sums: Tensor[dtype, (M, D)], place: Tensor[i32, (T, k)],
        weights: Tensor[weight, (T, k)], ends: Tensor[i32, (E,)], ds: Tensor[dtype, (M, D)],
        weighted: Tensor[dtype, (M, N)], dw: Tensor[f32, (T, k)],
    ) -> None:  # fmt: skip
        pair, lane = cl.block_idx.x * WARPS + cl.thread_idx.x // WARP, cl.thread_idx.x % WARP
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        row, w, real = i32(-1), f32(0), pair < T * k
        if real:
            row, w = place[pair // k, pair % k], weights[pair // k, pair % k].to(f32)
        elif ends[E - 1] + (pair - T * k) < M:
            row = ends[E - 1] + i32(pair - T * k)
        total = f32(0)
        if row >= 0:
            for at in range(lane, N // VECTOR, WARP):
                made = [cl.full((VECTOR,), 0.0, f32)] * 3
                if real:
                    given = cl.local_tile(u[row, None], (VECTOR,), (at,)).load().to(f32)
                    gates = cl.local_tile(sums[row, None], (VECTOR,), (at,)).load().to(f32)
                    ups = cl.local_tile(sums[row, None], (VECTOR,), (N // VECTOR + at,)).load().to(f32)
                    value, slope = silu(gates, False)
                    total = total + (value * ups * given).reduce("sum")
                    made = [given * ups * slope * w, given * value * w, value * ups * w]
                for x, to, column in zip(made, (ds, ds, weighted), (at, N // VECTOR + at, at), strict=True):
                    cl.local_tile(to[row, None], (VECTOR,), (column,)).store(x.to(dtype))
        total = cl.warp_reduce(total)
        if real and lane == 0:
            dw[pair // k, pair % k] = total

    return backward


class Gradients(NamedTuple):
    """Gradients of the tokens, of both arrays of matrices, and of the weights; f32."""

    x: Any
    gate_up: Any
    down: Any
    weights: Any


@planned_alone()
def experts_backward(
    gradient: Any, x: Any, gate_up: Any, down: Any, weights: Any, sums: Any, order: Sorted, *, matrices: bool = True
) -> Gradients:  # fmt: skip
    """Compute the gradients of all but the choices, of that of ``experts(x, gate_up, down, index, weights)``.

    gradient  (tokens, hidden)
    sums      (pairs, 2 * inner), as `experts_kept` gives them, and `order` likewise
    matrices  False: those of the matrices are not wanted, and empty
    Memory    ``pairs * (4 * inner + hidden)`` elements, while it runs
    """
    instance("order", order, Sorted, needed=True)
    dtype, (x, gate_up, down, _, weights) = checked(x, gate_up, down, order.place, weights)
    (tokens, k), inner = order.place.shape, down.shape[2]
    pairs, width = tokens * k, 2 * inner
    given = Arguments()
    given.array("gradient", gradient, code_of(x), tuple(x.shape), why=", as x")
    given.array("sums", sums, code_of(x), (pairs, width), dense=True, why=": 2 * inner numbers of each pair")
    gradient = packed_rows(gradient)
    shapes = [tuple(each.shape) if matrices else (0,) for each in (gate_up, down)]
    of_x, of_gate_up, of_down = (empty(x, shape) for shape in (tuple(x.shape), *shapes))
    made = Gradients(of_x, of_gate_up, of_down, empty(x, (tokens, k), "f32"))
    if left_out():
        return made
    if not pairs or not inner or not x.shape[1]:
        for each in made:
            each[...] = 0
        return made
    u, weighted, ds = empty(x, (pairs, inner)), empty(x, (pairs, inner)), empty(x, (pairs, width))
    run(Problem(dtype, gather=True, major="MN"), gradient, down, order.ends, u, order.rows)
    launch = cl.Launch(-(-(pairs + wgrad.DEPTH) // WARPS), WARPS * WARP, pdl=True)
    kernel = gate(dtype, DTYPES[code_of(weights)], k)
    kernel[launch](u, sums, order.place, weights, order.ends, ds, weighted, made.weights)
    if matrices:
        wgrad.run(dtype, "A", gradient, weighted, order.ends, order.rows, made.down)
        wgrad.run(dtype, "B", ds, x, order.ends, order.rows, made.gate_up)
    found = empty(x, (pairs, x.shape[1]))
    run(Problem(dtype, major="MN"), ds, gate_up, order.ends, found)
    combine(found, order.place, out=made.x)
    return made
