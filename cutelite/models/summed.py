"""RMSNorm of few rows without a kernel: the GEMM before it prepares it, and the GEMM behind it multiplies it.

A layer whose last GEMM has prepared the norm of its result leaves it with `Summed.held`; the next one finds it with
`held_for`. It also finds that the layer before has made its input: so nothing that still runs makes its weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from cutelite.kernels.arguments import needs_gradient
from cutelite.kernels.gemm.normed import fits as normed_fits
from cutelite.models.dense import Linear, alike, biases_of, lasts, plain, taken
from cutelite.models.norms import RMSNorm, normalised
from cutelite.models.operators import normed_linear, summed_linear

FEW = 64
"""The most rows, those of a tile, whose norms are computed by the GEMMs beside them."""


class Normed(NamedTuple):
    """The RMSNorm of a sum, of few rows, for a GEMM to multiply: `kernels.gemm.normed`."""

    weighted: Tensor
    squares: Tensor
    eps: float


class Summed(NamedTuple):
    """A sum, and its norm by the layer `norm`, if it was prepared."""

    total: Tensor
    normed: Normed | None
    norm: Any

    def held(self) -> Tensor:
        """Return the sum. `held_for` finds its norm as long as it lives, if the sum can tell of changes.

        Where torch compiles no tensor can, and nothing may lie between the two layers.
        """
        if torch.compiler.is_compiling():
            self.norm.prepared = self.total, self.normed
        elif not self.total.is_inference():
            PREPARED[self.total] = self.total._version, self.norm, self.normed
        return self.total


PREPARED = WeakTensorKeyDictionary()
"""Results of layers -> their version, the norm behind them, and what there is of that. Nothing is put on the tensors
themselves: their users may save them."""


def held_for(norm: Any, x: Tensor) -> tuple[bool, Normed | None]:
    """Tell whether x is the result of the layer before, for the layer `norm`, and return the norm of it, if the layer
    before has prepared that and x was not changed since."""
    if not (isinstance(norm, RMSNorm) and plain(norm)):
        return False, None
    if torch.compiler.is_compiling():
        held = norm.prepared
        if held is None:
            return False, None
        norm.prepared = None
        return (True, held[1]) if held[0] is x else (False, None)
    if x not in PREPARED:
        return False, None
    version, by, normed = PREPARED[x]
    return by is norm, normed if by is norm and version == x._version else None


def multiplies_norm(layers: list[Any], x: Tensor) -> bool:
    """Tell whether one GEMM multiplies the norm of a sum like x by the weights of dense layers, and adds all biases."""
    alone = all(kept(each) and each.entered_from is None and each.gathered_over is None for each in layers)
    return alone and alike(layers) and few_rows(x, [layer.weight for layer in layers], biases_of(layers))


def kept(layer: Any) -> bool:
    """Tell whether a layer is a plain dense layer whose weight lasts: it is loaded while the kernel ahead runs."""
    return isinstance(layer, Linear) and plain(layer) and lasts(layer)


def projected_norm(norm: Normed, layers: list[Any], gate: str = "") -> Tensor:
    """Return the results of dense layers for a norm that is not computed yet, concatenated; or those of a `gate`."""
    weights, biases = [layer.weight for layer in layers], biases_of(layers)
    return normed_linear(norm.weighted, norm.squares, weights, biases, norm.eps, gate)


def sums(layer: Any, x: Tensor, residual: Tensor, norm: Any) -> bool:
    """Tell whether `sum_and_norm` computes the result of a dense layer."""
    fits = kept(layer) and layer.summed_over is None
    fits = fits and isinstance(norm, RMSNorm) and plain(norm) and norm.weight.dtype == residual.dtype
    return fits and few_rows(residual, [layer.weight, x], biases_of([layer])) and residual.is_contiguous()


def few_rows(x: Tensor, others: list[Tensor], biases: list[Tensor]) -> bool:
    """Tell whether the rows of x are few, bf16, and without derivatives: `kernels.gemm.normed` takes them."""
    fits = x.dtype == torch.bfloat16 and taken(x, *others) and normalised(x, *biases) and normed_fits(x.shape[-1])
    return fits and 0 < x.numel() <= FEW * x.shape[-1] and not needs_gradient(x, *others, *biases)


def sum_and_norm(layer: Any, x: Tensor, residual: Tensor, norm: Any) -> Summed:
    """Return the result of a dense layer plus `residual`, and the norm of that."""
    total, weighted, squares = summed_linear(x, layer.weight, layer.bias, residual, norm.weight, norm.offset)
    return Summed(total, Normed(weighted, squares, norm.epsilon), norm)
