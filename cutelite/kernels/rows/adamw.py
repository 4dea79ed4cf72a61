"""AdamW over lists of tensors, eight of them in a launch: each element of each is read and written once.

m = b1 * m + (1 - b1) * g        v = b2 * v + (1 - b2) * g * g
p = p - lr * decay * p - lr * (m / (1 - b1 ** t)) / (sqrt(v / (1 - b2 ** t)) + eps)
"""

# mypy: disable-error-code="valid-type, attr-defined, index, type-arg, operator, arg-type, misc, name-defined"
# (kernels here are made for dtypes, which no annotation can say to a checker)

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32
from cutelite.kernels.arrays import code_of
from cutelite.kernels.rows.arrays import DTYPES
from cutelite.kernels.rows.plan import ACCESS

THREADS, TENSORS, BLOCKS = 256, 8, 4  # of a block; tensors of a launch; blocks of a multiprocessor
NAMES = ("p", "g", "m", "v", "master")


class Step(NamedTuple):
    """The numbers of a step: lr, and what is kept of p, m and v; lr and v by how many steps there have been.

    keep   1 - lr * decay;  rate  lr / (1 - b1 ** t);  root  1 / sqrt(1 - b2 ** t)
    """

    keep: f32
    rate: f32
    root: f32
    b1: f32
    b2: f32
    eps: f32


@cache
def build(kinds: tuple[Any, ...], count: int) -> Any:
    """The kernel for so many parameters, whose p, g, m, v and, where there is one, master have these dtypes."""
    vector = ACCESS // min(kind.bytes for kind in kinds if kind is not None)
    size = THREADS * vector
    fields = [(name, kind) for name, kind in zip(NAMES, kinds, strict=True) if kind is not None]
    ones = [
        NamedTuple(f"Parameter{i}", [(name, Tensor[kind, (cl.Dim(f"N{i}"),)]) for name, kind in fields])
        for i in range(count)
    ]
    Parameters = NamedTuple("Parameters", [(f"a{i}", one) for i, one in enumerate(ones)])

    def work(one: Any, at: Any, step: Step) -> None:
        tile = cl.RowTile(at * size, one.p.shape[0], vector, 1)
        w = one.p if len(fields) == 4 else one.master
        p, g, m, v = (tile.load(x).to(f32) for x in (w, one.g, one.m, one.v))
        m = m * step.b1 + g * (1.0 - step.b1)
        v = v * step.b2 + g * g * (1.0 - step.b2)
        p = p * step.keep - step.rate * m / (cl.math.sqrt(v) * step.root + step.eps)
        for out, made in [(one.p, p), (one.m, m), (one.v, v)] + ([(w, p)] if len(fields) == 5 else []):
            tile.store(made.to(out.dtype), out)

    @cl.kernel(block=THREADS, min_blocks=BLOCKS)
    def adamw(parameters: Parameters, step: Step) -> None:
        at = cl.block_idx.x
        for i in cl.static_range(count):
            tiles = cl.ceil_div(parameters[i].p.shape[0], size)
            if at >= 0 and at < tiles:
                work(parameters[i], at, step)
            at = at - tiles

    return adamw, ones, Parameters, size


def adamw(
    parameters: Sequence[Any],
    gradients: Sequence[Any],
    means: Sequence[Any],
    squares: Sequence[Any],
    step: int,
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    decay: float = 1e-2,
    masters: Sequence[Any] | None = None,
) -> None:
    """Make a step of AdamW, in place: of parameters, means and squares.

    parameters, gradients, means, squares   as many contiguous tensors each, alike in shape in each place: bf16,
               f16 or f32; what is computed is f32
    step       1 for the first
    lr, betas, eps, decay   as torch's AdamW has them
    masters    f32: parameters in full, which are updated; `parameters` are then their roundings
    Errors     `cl.ArgumentError` for tensors that do not fit
    """
    given = list(zip(parameters, gradients, means, squares, masters or [None] * len(parameters), strict=True))
    groups: dict[tuple[Any, ...], list[list[Any]]] = {}
    for i, tensors in enumerate(given):
        kinds = tuple(None if x is None else dtype_of(x, tensors[0], i) for x in tensors)
        if math.prod(tensors[0].shape):
            groups.setdefault(kinds, []).append(
                [flat(x, name, i) for x, name in zip(tensors, NAMES, strict=True) if x is not None]
            )
    b1, b2 = betas
    numbers = Step(1 - lr * decay, lr / (1 - b1**step), 1 / math.sqrt(1 - b2**step), b1, b2, eps)
    for kinds, members in groups.items():
        while members:
            count = min(TENSORS, 1 << (len(members).bit_length() - 1))
            part, members = members[:count], members[count:]
            kernel, ones, whole, size = build(kinds, count)
            tiles = sum(-(-int(one[0].shape[0]) // size) for one in part)
            kernel[tiles, THREADS](whole(*(one(*arrays) for one, arrays in zip(ones, part, strict=True))), numbers)


def dtype_of(x: Any, like: Any, i: int) -> Any:
    """The dtype of a tensor. Errors: `cl.ArgumentError` for others, and for another shape than the parameter has."""
    found = DTYPES.get(code_of(x))
    if found is None or tuple(x.shape) != tuple(like.shape):
        raise cl.ArgumentError(f"tensor {i} is {x.dtype} {tuple(x.shape)}, beside a parameter of {tuple(like.shape)}")
    return found


def flat(x: Any, name: str, i: int) -> Any:
    """All elements of a contiguous tensor, which is written in place."""
    view, step = rt.read(x), 1
    for extent, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if extent > 1 and stride != step:
            raise cl.ArgumentError(f"{name} {i} is not contiguous: strides {view.strides} of shape {view.shape}")
        step *= extent
    return x.reshape((-1,))
