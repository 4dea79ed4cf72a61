"""Dense layers: one GEMM each, or one for several layers of the same input.

If the GEMMs do not take a call (a dtype, wrapped weights, a hook in between), the layer's own code is called.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from cutelite.kernels.arguments import needs_gradient
from cutelite.kernels.gemm.fp8_configs import BLOCK
from cutelite.models.operators import beside, linear
from cutelite.models.scaled import scaled_linear
from cutelite.models.sums import entered, gathered, summed

TYPES = torch.bfloat16, torch.float16
"""Dtypes that the GEMMs take."""


class Linear:
    """A dense layer as `torch.ops.cutelite.linear`, in bf16 and f16.

    entered_from   the processes that each compute a part of the results (`models.parallel`), or None
    summed_over    the processes that each have a part of the weight's columns: their results are added up
    gathered_over  the processes whose parts of the results are concatenated
    adds           whether this process adds bias and residual to the sum
    """

    weight: Tensor
    bias: Tensor | None
    entered_from: Any = None
    summed_over: Any = None
    gathered_over: Any = None
    adds: bool = True

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x @ weight.T + bias``."""
        return gathered(own(self, entered(x, self.entered_from), None), self.gathered_over)


class TurnedLinear:
    """GPT-2's dense layer, whose weight is (inputs, outputs)."""

    weight: Tensor
    bias: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x @ weight + bias``."""
        return linear(x, [self.weight.T], self.bias) if taken(x, self.weight) else super().forward(x)  # type: ignore[misc]


class ScaledLinear:
    """transformers' dense layer of e4m3 with block scales, as `torch.ops.cutelite.scaled_linear`: without gradients.

    weight_scale_inv  what each 128 x 128 of the weight is multiplied by
    """

    weight: Tensor
    weight_scale_inv: Tensor
    bias: Tensor | None

    def forward(self, input: Tensor) -> Tensor:
        """Return ``input @ (weight * scales).T + bias``, of an input that is quantised likewise."""
        if self.takes(input):
            return products([self], input)
        return super().forward(input)  # type: ignore[misc]

    def takes(self, x: Tensor) -> bool:
        """Tell whether the kernels compute the layer: of bf16, where no gradient is wanted. Weights have none."""
        given = x, self.weight, self.weight_scale_inv
        dtypes = torch.bfloat16, torch.float8_e4m3fn, torch.float32
        return all(a.dtype == b for a, b in zip(given, dtypes, strict=True)) and not (
            wrapped(*given) or needs_gradient(x)
        )


def products(layers: list[Any], x: Tensor) -> Tensor:
    """Return the results of `ScaledLinear`s for the same input, which is quantised once, one behind the other."""
    biases = [layer.bias for layer in layers]
    bias = None if biases[0] is None else torch.cat(biases).detach()
    found: Tensor = scaled_linear(
        x, [layer.weight.detach() for layer in layers], [layer.weight_scale_inv.detach() for layer in layers], bias
    )
    return found


def in_blocks(layer: Any) -> bool:
    """Tell whether a dense layer of transformers in fp8 has scales as the kernels take them."""
    (n, k), size = layer.weight.shape, layer.block_size
    whole = n % 8 == 0 and k % 16 == 0 and layer.weight.dtype == torch.float8_e4m3fn
    return whole and size is not None and tuple(size) == (BLOCK, BLOCK) and layer.activation_scale is None


def biases_of(layers: list[Any]) -> list[Tensor]:
    """Return the biases of those dense layers that have one."""
    return [layer.bias for layer in layers if layer.bias is not None]


def alike(layers: list[Any]) -> bool:
    """Tell whether all dense layers have biases, or none."""
    return len(biases_of(layers)) in (0, len(layers))


def move(layers: list[Any]) -> None:
    """Move the weights of dense layers next to each other in memory, and their biases."""
    beside([layer.weight for layer in layers])
    biases = biases_of(layers)
    if biases and len({bias.dtype for bias in biases}) == 1 and not wrapped(*biases):
        beside(biases)


class Joined:
    """A layer that keeps weights with the same input next to each other in memory, so that one GEMM multiplies them.

    parts   the names of their layers
    """

    parts: tuple[str, ...]

    def join(self) -> None:
        """Move the weights next to each other, where they are not and the GEMMs take them."""
        dense = [getattr(self, name) for name in self.parts]
        if all(isinstance(part, Linear) and taken(part.weight) for part in dense):
            move(dense)
        elif all(isinstance(part, ScaledLinear) and not wrapped(part.weight) for part in dense):
            beside([part.weight for part in dense])
            beside([part.weight_scale_inv for part in dense])

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        """Convert as `nn.Module` does for `to`, `cuda` and `half`: it makes a new tensor of each weight."""
        self = super()._apply(*args, **kwargs)  # type: ignore[misc]
        self.join()
        return self

    def __setstate__(self, state: Any) -> None:
        """Be filled by `copy.deepcopy`, which copies each weight, or `pickle`."""
        super().__setstate__(state)  # type: ignore[misc]
        self.join()


def projected(x: Tensor, layers: list[Any], lasting: bool = False) -> Tensor:
    """Return the results of dense layers for the same input, concatenated along the last mode.

    lasting  as for `project`
    """
    if all(isinstance(layer, Linear) and plain(layer) for layer in layers):
        weights, biases = [layer.weight for layer in layers], biases_of(layers)
        if taken(x, *weights) and alike(layers):
            bias = torch.cat(biases) if biases else None
            there = lasting and all(map(lasts, layers))
            return linear(entered(x, layers[0].entered_from), weights, bias, None, there)
    if all(isinstance(layer, ScaledLinear) and plain(layer) and layer.takes(x) for layer in layers) and alike(layers):
        return products(layers, x)
    each = [layer(x) for layer in layers]
    return torch.cat(each, -1) if len(each) > 1 else each[0]


def project(layer: Any, x: Tensor, residual: Tensor | None, lasting: bool = False) -> Tensor:
    """Return the result of a dense layer on `x`, plus `residual`.

    lasting  parameters are complete before the kernel ahead begins, and any that still runs then
    """
    if not (isinstance(layer, Linear) and plain(layer)):
        return layer(x) if residual is None else residual + layer(x)
    return own(layer, x, residual, lasting)


def own(layer: Any, x: Tensor, residual: Tensor | None, lasting: bool = False) -> Tensor:
    """Return the same for a `Linear` without hooks, whose `forward` is not called."""
    if layer.summed_over is not None:
        return added_up(layer, x, residual, lasting)
    return multiplied(layer, x, layer.bias, residual, lasting)


def added_up(layer: Any, x: Tensor, residual: Tensor | None, lasting: bool) -> Tensor:
    """Return the same for a layer whose columns are split: with gradients, each process adds the residual itself."""
    later = residual is not None and needs_gradient(x, layer.weight, residual)
    bias, add = (layer.bias, None if later else residual) if layer.adds else (None, None)
    out = summed(multiplied(layer, x, bias, add, lasting), layer.summed_over)
    return out + residual if residual is not None and later else out


def multiplied(layer: Any, x: Tensor, bias: Tensor | None, add: Tensor | None, lasting: bool) -> Tensor:
    """Return ``x @ layer.weight.T + bias + add``, computed by torch if the GEMM does not take them."""
    weight = layer.weight
    if taken(x, weight, *([] if add is None else [add])):
        return linear(x, [weight], bias, add, lasting and lasts(layer))
    out = nn.functional.linear(x, weight, bias)
    return out if add is None else out + add


def lasts(layer: Any) -> bool:
    """Tell whether a layer's weight lasts, and was not computed for this call, as by torch's `parametrize`."""
    return isinstance(layer.weight, nn.Parameter)


def taken(*tensors: Tensor) -> bool:
    """Tell whether the GEMMs take these tensors: all bf16 or all f16, no single vectors, and no wrappers such as
    quantised tensors."""
    alike = tensors[0].dtype in TYPES and all(tensor.dtype == tensors[0].dtype for tensor in tensors)
    return alike and not wrapped(*tensors) and all(tensor.ndim >= 2 for tensor in tensors)


def wrapped(*tensors: Tensor | None) -> bool:
    """Tell whether one is a wrapper, such as a quantised tensor or one of torch's `DTensor`s, which know torch's
    operators only."""
    return any(map(is_traceable_wrapper_subclass, tensors))


HOOKS = {
    "_forward_hooks": "_global_forward_hooks", "_forward_pre_hooks": "_global_forward_pre_hooks",
    "_backward_hooks": "_global_backward_hooks", "_backward_pre_hooks": "_global_backward_pre_hooks",
}  # fmt: skip
"""The names under which torch keeps the hooks of a layer, and those of all layers."""


def plain(layer: Any) -> bool:
    """Tell whether a call of the layer just calls its class's `forward`, without hooks or a replacement."""
    return "forward" not in layer.__dict__ and not any(
        getattr(layer, name) or getattr(module, name_of_all) for name, name_of_all in HOOKS.items()
    )
