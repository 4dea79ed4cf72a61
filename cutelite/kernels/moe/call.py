"""`experts` on arrays: sort the choices of all tokens, compute two grouped GEMMs, and add up their results."""

from __future__ import annotations

from typing import Any

import numpy as np

import cutelite as cl
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    FLOATS,
    HALVES,
    PLACES,
    Arguments,
    ArrayError,
    check_underived,
    contiguous,
    in_words_of_caller,
    is_torch,
)
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.gemm.laid import packed_rows
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.moe.combine import combine
from cutelite.kernels.moe.grouped import Problem, run
from cutelite.kernels.moe.routing import Sorted, sort
from cutelite.kernels.planning import planned, planned_alone, planned_whole
from cutelite.tuples import NamedTuple

MATRICES = ": 2 * inner, as in down, and hidden, as in x"
DTYPES = {"bf16": cl.bf16, "f16": cl.f16}


@planned_whole()
@in_words_of_caller
@takes_jax(traced="moe.on_jax.experts")
def experts(x: Any, gate_up: Any, down: Any, index: Any, weights: Any, out: Any = None) -> Any:
    """Compute ``sum(weights[t, j] * down[e] @ (silu(gate) * up))`` over the choices ``e = index[t, j]`` of each token.

    x        (tokens, hidden), bf16 or f16; arrays that are not row-major are copied
    gate_up  (experts, 2 * inner, hidden): the rows of the gate, then those of `up`; ``gate, up = gate_up[e] @ x[t]``
    down     (experts, hidden, inner)
    index    (tokens, k), i32 or i64: see `route`. A number that is no expert's adds nothing
    weights  (tokens, k), f32, bf16 or f16
    out      (tokens, hidden); made where it is not given
    Memory   ``tokens * k * (inner + hidden)`` elements, while it runs
    Sizes    hidden and inner are multiples of 8
    Arrays   of torch and CuPy on a GPU; of NumPy in the simulator. Torch's may be fake, under `torch.compile` or
             `torch.autocast`, or need a gradient (`kernels.moe.operators`). JAX's, within `jax.jit`, `jax.grad` and
             `jax.vmap` or without, without `out`
    Errors   ValueError for shapes that do not fit
    """
    if out is not None:
        check_underived(x=x, gate_up=gate_up, down=down, weights=weights)
    if (
        found := by_operator("experts" if out is None else "experts_alone", out, x, gate_up, down, index, weights)
    ) is not None:
        return found
    return mix(x, gate_up, down, index, weights, out)


def by_operator(name: str, out: Any, *given: Any) -> Any:
    """Return what an operator of `moe.operators` computes where a call goes to one, else None.

    given  its arguments, x and the matrices first
    """
    if not is_torch(given[0]):
        return None
    from cutelite.interop.torch import called  # late: these import torch
    from cutelite.kernels.moe import operators

    return called(getattr(operators, name), out, given) if operators.wanted(*given) else None


@untraced
@planned
@in_words_of_caller
def mix(x: Any, gate_up: Any, down: Any, index: Any, weights: Any, out: Any = None) -> Any:
    """Compute `experts`, for arrays that hold data."""
    return computed(x, gate_up, down, index, weights, out, False)[0]


class Kept(NamedTuple):
    """The result of `experts`, and what its derivative needs.

    sums   (pairs, 2 * inner): gate and up of each pair, sorted
    order  where the pairs are
    """

    out: Any
    sums: Any
    order: Sorted


@planned_alone()
def experts_kept(x: Any, gate_up: Any, down: Any, index: Any, weights: Any) -> Kept:
    """Compute `experts`, and return what `experts_backward` needs too."""
    return computed(x, gate_up, down, index, weights, None, True)


def computed(x: Any, gate_up: Any, down: Any, index: Any, weights: Any, out: Any, kept: bool) -> Kept:
    """Compute the result, and with `kept` the sums."""
    dtype, (x, gate_up, down, index, weights) = checked(x, gate_up, down, index, weights)
    read = {"gate_up": gate_up, "down": down, "index": index, "weights": weights}
    out = Arguments().result(out, x, code_of(x), tuple(x.shape), dense=True, apart=read)
    order = sort(index, down.shape[0])
    pairs, inner = index.shape[0] * index.shape[1], down.shape[2]
    sums = empty(x, (pairs, 2 * inner)) if kept else None
    if left_out():
        return Kept(out, sums, order)
    if not pairs or not inner or not x.shape[1]:
        out[...] = 0
        return Kept(out, sums, order)
    gated, found = empty(x, (pairs, inner)), empty(x, (pairs, x.shape[1]))
    run(Problem(dtype, True, True, kept), x, gate_up, order.ends, gated, order.rows, sums)
    run(Problem(dtype), gated, down, order.ends, found)
    return Kept(combine(found, order.place, weights, out=out), sums, order)


def checked(x: Any, gate_up: Any, down: Any, index: Any, weights: Any) -> tuple[Any, list[Any]]:
    """Check the arguments, and return the dtype of the GEMMs and the arrays, row-major. Errors: ValueError."""
    given = Arguments()
    given.array("x", x, HALVES, "T H")
    given.array("down", down, "x", "E H I")
    given.array("gate_up", gate_up, "x", (down.shape[0], 2 * down.shape[2], x.shape[1]), why=MATRICES)
    chosen = check_choices(given, index, weights)
    if x.shape[1] % 8 or down.shape[2] % 8:
        raise ArrayError(f"down is {tuple(down.shape)}: hidden and inner are multiples of 8")
    return DTYPES[code_of(x)], [*map(packed_rows, (x, gate_up, down)), *chosen]


def check_choices(given: Arguments, index: Any, weights: Any) -> tuple[Any, Any]:
    """Check the choices of each token, and return them row-major. An array checked before has as many tokens, "T"."""
    given.array("index", index, PLACES, "T K")
    given.array("weights", weights, FLOATS, "T K")
    return contiguous(index), contiguous(weights)


def reference(x: Any, gate_up: Any, down: Any, index: Any, weights: Any) -> Any:
    """Compute `experts` in f64, of NumPy arrays."""
    x, gate_up, down, weights = (np.asarray(each).astype(np.float64) for each in (x, gate_up, down, weights))
    out, inner = np.zeros_like(x), down.shape[2]
    for e in range(len(down)):
        tokens, choices = np.nonzero(np.asarray(index) == e)
        both = x[tokens] @ gate_up[e].T
        gate, up = both[:, :inner], both[:, inner:]
        found = (gate / (1 + np.exp(-gate)) * up) @ down[e].T
        np.add.at(out, tokens, weights[tokens, choices, None] * found)
    return out
