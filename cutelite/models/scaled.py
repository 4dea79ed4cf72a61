"""Operators of dense layers in e4m3, whose weights have a scale for each 128 x 128.

    torch.ops.cutelite.scaled_linear          one input times several weights
    torch.ops.cutelite.scaled_gated_linear    the product of a gate and its other half times a weight

The input is quantised with a scale for each row and 128 along K, once for all weights. There is no derivative.
"""

# mypy: disable-error-code="untyped-decorator"
# (torch is not installed where types are checked)

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from cutelite.interop.torch import library_op
from cutelite.kernels.arguments import Arguments, ArrayError
from cutelite.kernels.gemm import fp8_block
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.quantise import quantise
from cutelite.models.operators import flops_of_layers, joined, of_weights

BLOCKS = Narrow(block=fp8_block.BLOCK)


@library_op("cutelite::scaled_linear", results=lambda x, weights, *_: of_weights(x, weights), flops=flops_of_layers)
def scaled_linear(x: Tensor, weights: Sequence[Tensor], scales: Sequence[Tensor], bias: Tensor | None) -> Tensor:
    """Return ``x @ cat(weights).T + bias``, (..., N), bf16; N is the number of rows of all weights.

    x        (..., K), bf16; K a multiple of 16
    weights  (N_i, K) each, e4m3; N_i multiples of 8. One GEMM if they and their scales are contiguous in memory, and no
             128 rows are of two of them; otherwise one for each
    scales   (ceil(N_i / 128), ceil(K / 128)), f32
    bias     (N,), added to the rounded results
    """
    Arguments().array("x", x, "bf16", "... K")
    if not weights or len(weights) != len(scales):
        raise ArrayError(f"weights are {len(weights)} and scales {len(scales)}: as many, one or more")
    out, start = of_weights(x, weights), 0
    if bias is not None:
        Arguments().array("bias", bias, "bf16", (out.shape[-1],))
    rows = out.view(-1, out.shape[-1])
    q, scale = quantise(x.reshape(-1, x.shape[-1]), BLOCKS)
    for weight, of_weight in together(weights, scales):
        fp8_block.multiply(q, weight, scale, of_weight, rows[:, start : start + len(weight)])
        start += len(weight)
    return out if bias is None else out.add_(bias)


@library_op(
    "cutelite::scaled_gated_linear",
    results=lambda both, weight, *_: of_weights(both, [weight]),
    flops=lambda both, weight, *_: flops_of_layers(both[..., : weight.shape[1]], [weight]),
)
def scaled_gated_linear(both: Tensor, weight: Tensor, scale: Tensor, bias: Tensor | None, activation: str) -> Tensor:
    """Return ``(activation(gate) * up) @ weight.T + bias``, (..., N), bf16: the product is quantised, and never stored.

    both        (..., 2 K), bf16: the gate's columns and then those of `up`
    weight      (N, K), with its `scale` and the bias as for `scaled_linear`
    activation  of `kernels.rows.gates`
    """
    Arguments().array(
        "both", both, "bf16", (*both.shape[:-1], 2 * weight.shape[1]), why=": two for each column of weight"
    )
    out, halves = of_weights(both, [weight]), both.reshape(-1, both.shape[-1]).chunk(2, -1)
    q, of_rows = quantise(halves[0], BLOCKS, up=halves[1], activation=activation)
    fp8_block.multiply(q, weight, of_rows, scale, out.view(-1, len(weight)))
    return out if bias is None else out.add_(bias)


def together(weights: Sequence[Tensor], scales: Sequence[Tensor]) -> Iterable[tuple[Tensor, Tensor]]:
    """Return matrices with their scales: one of all rows if there is one."""
    every, of_every = joined(weights), joined(scales)
    if every is None or of_every is None or any(len(weight) % fp8_block.BLOCK for weight in weights[:-1]):
        return zip(weights, scales, strict=True)
    return [(every, of_every)]
