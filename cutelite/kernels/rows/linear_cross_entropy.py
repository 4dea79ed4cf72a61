"""Cross entropy of x @ weight.T and its gradients, without the logits ever being stored whole.

    loss, lse, _, _ = linear_cross_entropy(x, weight, target)                     # losses alone
    loss, lse, dx, dw = linear_cross_entropy(x, weight, target, gradient)         # and gradients, in the same pass

For some rows at a time, a GEMM computes the logits, row kernels compute the losses and overwrite the logits with their
gradients, and two GEMMs multiply these by the weight and by x. Each product is computed once. For that the gradient of
each loss must be known beforehand, as it is for sums and means. In bf16, without smoothing and z, the first GEMM stores
powers in place of logits, and nothing overwrites them (`powers_loss`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import cutelite as cl
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import HALVES, Arguments, as_number, one_of, results, underived
from cutelite.kernels.arrays import code_of, empty, has_tensor_memory
from cutelite.kernels.gemm import gemm
from cutelite.kernels.gemm.arrays import read_by_tma
from cutelite.kernels.lent import is_jax
from cutelite.kernels.rows import powers_loss
from cutelite.kernels.rows.arrays import derived
from cutelite.kernels.rows.arrays import flat as contiguous
from cutelite.kernels.rows.cross_entropy import cross_entropy, cross_entropy_gradient
from cutelite.kernels.rows.elementwise import elementwise
from cutelite.tuples import NamedTuple

REDUCTIONS = ("mean", "sum", "none")
"""What the operators make of losses of rows."""

PARTS, GRAIN = 10, 256  # logits are computed in 10 parts, each of a multiple of 256 rows


class Made(NamedTuple):
    """Each row's loss and log of the sum of exponentials, (...), f32, and gradients of x and weight or None."""

    loss: Any
    lse: Any
    x: Any
    weight: Any


@untraced
@underived(see="cutelite.kernels.rows.operators_losses")
def linear_cross_entropy(
    x: Any, weight: Any, target: Any, gradient: Any = None, *, smoothing: float = 0.0, z: float = 0.0,
    ignore: int = -100, rows: int | None = None, sums: str = "f32", out: Sequence[Any] | None = None,
) -> Made:  # fmt: skip
    """Compute the cross entropy of each row of ``x @ weight.T``, and gradients of x and weight.

    x         (..., k), bf16 or f16
    weight    (n, k), of the dtype of x
    target    (...), int64: as for `cross_entropy`
    gradient  (...), f32: the gradient of each row's loss; None for losses alone
    smoothing, z, ignore   as for `cross_entropy`
    rows      how many rows' logits are in memory at a time; default: a tenth of all, in multiples of 256
    sums      dtype in which the parts of weight's gradient are added up: 'f32', or that of x, which needs no memory
              beside the result and rounds once for each part
    out       arrays to write to, those of `Made`, without gaps; without `gradient` the first two
    Gives     `Made`
    Errors    `cl.ArgumentError` for arrays that do not fit
    """
    how: dict[str, Any] = {"smoothing": smoothing, "z": z, "ignore": ignore}
    if (found := derived(*filter(is_jax, (x, weight, target)), out=out)) is not None:
        return Made(*found.made_with_gradients(x, weight, target, gradient, **how, rows=rows, sums=sums))
    given = Arguments()
    given.array("x", x, HALVES, "... K")
    leading = tuple(x.shape[:-1])
    given.array("weight", weight, "x", "N K")
    given.array("target", target, "i64", leading)
    if gradient is not None:
        given.array("gradient", gradient, "f32", leading)
    rows = None if rows is None else as_number("rows", rows, whole=True, least=1)
    one_of("sums", sums, ("f32", code_of(x)))
    if not weight.shape[0]:
        raise cl.ArgumentError("weight has no rows: there are no words")
    how |= {"smoothing": as_number("smoothing", smoothing), "z": as_number("z", z)}
    how["ignore"] = as_number("ignore", ignore, whole=True, least=-(2**63), most=2**63 - 1)
    wanted = dict.fromkeys(("loss", "lse"), (leading, "f32"))
    if gradient is not None:
        wanted |= {f"gradient of {name}": (tuple(y.shape), code_of(x)) for name, y in (("x", x), ("weight", weight))}
    made = Made(
        *results(out, wanted, x=x, weight=weight, target=target, gradient=gradient), *(None,) * (4 - len(wanted))
    )
    compute(x, weight, target, gradient, made, rows, sums, how)
    return made


def compute(
    x: Any, weight: Any, target: Any, gradient: Any, made: Made, rows: int | None, sums: str, how: dict[str, Any]
) -> None:  # fmt: skip
    """Write to what is `made` of checked arrays."""
    flat, targets = x.reshape((m := prod(map(int, x.shape[:-1])), x.shape[-1])), target.reshape((m,))
    loss, lse = (each.reshape((m,)) for each in made[:2])
    dx, dw = None if made.x is None else made.x.reshape(flat.shape), made.weight
    if dw is not None and sums != code_of(x):
        dw = empty(x, tuple(weight.shape), sums)
    each = rows or max(1, -(-m // (PARTS * GRAIN))) * GRAIN

    def work(part: slice, logits: Any) -> None:
        if gradient is None:
            loss[part], lse[part] = cross_entropy(logits, targets[part], **how)
        else:
            of_loss = gradient.reshape((m,))[part]
            loss[part], lse[part] = cross_entropy_gradient(of_loss, logits, targets[part], out=logits, **how)

    if dx is not None and how["smoothing"] == how["z"] == 0 and takes(flat, weight):
        vectors = contiguous(target, m), contiguous(gradient, m)
        powers_loss.gradients(flat, weight, *vectors, how["ignore"], each, loss, lse, dx, dw)
    else:
        by_parts(flat, weight, each, work, dx, dw)
    if dw is not made.weight:
        elementwise(same, (dw,), out=(made.weight,))


def takes(x: Any, weight: Any) -> bool:
    """Tell whether powers may take the place of logits: bf16 holds as great numbers as f32, f16 does not."""
    if code_of(x) != "bf16" or 0 in x.shape or weight.shape[0] % 8 or weight.shape[1] % 8:
        return False
    return read_by_tma(x) and read_by_tma(weight) and not has_tensor_memory(x)


def by_parts(x: Any, weight: Any, rows: int, work: Callable[[slice, Any], None], dx: Any, dw: Any) -> None:
    """Compute logits, ``x @ weight.T``, of some rows at a time, and gradients of x and weight from theirs.

    rows    of a part
    work    ``work(part, logits)`` puts the gradient of a part's logits in their place
    dx, dw  to write to; None where no gradients are wanted
    """
    (m, _), (n, _) = x.shape, weight.shape
    if not m and dw is not None:
        dw[...] = 0
    room = empty(x, (min(rows, m), -(-n // 8) * 8))  # rows are whole 16 bytes apart, for TMA
    for first in range(0, m, rows):
        part = slice(first, min(first + rows, m))
        logits = gemm(x[part], weight.T, room[: part.stop - first, :n])
        work(part, logits)
        if dx is not None:
            gemm(logits, weight, dx[part])
            gemm(logits.T, x[part], dw, c=dw if first else None, beta=1.0 if first else 0.0)


def same(v: Any) -> Any:
    """Return the elements as they are."""
    return v
