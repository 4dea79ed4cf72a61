"""Gated MLPs: gate, up and the activation in one GEMM, a residual in the last one."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from cutelite.kernels.arguments import needs_gradient
from cutelite.kernels.rows.operators_elements import gated_halves
from cutelite.models.dense import Joined, Linear, ScaledLinear, lasts, plain, project, projected, taken
from cutelite.models.norms import KINDS
from cutelite.models.operators import gated_linear, gated_mlp
from cutelite.models.scaled import scaled_gated_linear
from cutelite.models.summed import Normed, multiplies_norm, projected_norm, sum_and_norm, sums


class Gated(Joined):
    """``down(activation(gate(x)) * up(x))``: gate and up in one GEMM if their weights lie next to each other."""

    parts: tuple[str, ...]
    acts_by: str
    """The name of the attribute that is the activation."""
    down_proj: Any

    @property
    def gate(self) -> str | None:
        """The name of the activation; None for one that the kernels do not have."""
        return activation_of(getattr(self, self.acts_by))

    def layers(self) -> list[Any]:
        """Return the dense layers of gate and up."""
        return [getattr(self, name) for name in self.parts]

    def of_sum(self, x: Normed, residual: Tensor, following: Any) -> Tensor:
        """Return the same of a norm that is not computed yet, for which `takes` is true. The result is `held_for`
        the norm `following`, if there is one."""
        inner = projected_norm(x, self.layers(), self.gate or "")
        if following is None or not sums(self.down_proj, inner, residual, following):
            return project(self.down_proj, inner, residual, True)
        return sum_and_norm(self.down_proj, inner, residual, following).held()

    def takes(self, x: Tensor) -> bool:
        """Tell whether `of_sum` computes the layer, of the norm of a sum like `x`."""
        layers = self.layers()
        if self.gate is None or not multiplies_norm(layers, x):
            return False
        return sum(len(layer.weight) for layer in layers) % 16 == 0

    def added(self, x: Tensor, residual: Tensor | None, lasting: bool = False) -> Tensor:
        """Return ``forward(x) + residual``; the last GEMM adds the residual. lasting: as for `dense.project`."""
        gate, layers = self.gate, self.layers()
        if x.dtype not in KINDS or gate is None:
            out = super().forward(x)  # type: ignore[misc]
            return out if residual is None else residual + out
        if together(x, layers):  # no gradient is wanted
            halves = [half for layer in layers for half in layer.weight.chunk(2 // len(layers))]
            there = lasting and all(map(lasts, layers))
            return project(self.down_proj, gated_linear(x, halves, gate, there), residual, lasting)
        if residual is not None and len(layers) == 2 and differentiated(x, [*layers, self.down_proj], residual):
            weights = [layer.weight for layer in layers]
            found: Tensor = gated_mlp(x, weights, self.down_proj.weight, residual, gate)[0]
            return found
        return gated(self.down_proj, projected(x, layers), gate, residual)


class GatedMLP(Gated):
    """A gated MLP of three dense layers."""

    parts, acts_by = ("gate_proj", "up_proj"), "act_fn"

    def forward(self, x: Tensor) -> Tensor:
        """Compute as the layer's own."""
        return self.added(x, None)


class WholeGatedMLP(Gated):
    """The same of a layer that has gate and up in one weight, as Phi 3 has."""

    parts, acts_by = ("gate_up_proj",), "activation_fn"

    def forward(self, hidden_states: Tensor) -> Tensor:
        """Compute as the layer's own."""
        return self.added(hidden_states, None)


def gated(down: Any, both: Tensor, gate: str, residual: Tensor | None) -> Tensor:
    """Return ``down(activation(left) * right)`` of the halves of `both`, plus `residual`."""
    if not (isinstance(down, ScaledLinear) and plain(down) and down.takes(both)):
        return project(down, gated_halves(both, gate), residual)
    bias = None if down.bias is None else down.bias.detach()
    out: Tensor = scaled_gated_linear(both, down.weight.detach(), down.weight_scale_inv.detach(), bias, gate)
    return out if residual is None else residual + out


def together(x: Tensor, parts: list[Any]) -> bool:
    """Tell whether one GEMM computes gate, up and SwiGLU: without derivatives."""
    if not all(isinstance(part, Linear) and plain(part) and part.bias is None for part in parts):
        return False
    weights = [part.weight for part in parts]
    return taken(x, *weights) and sum(map(len, weights)) % 16 == 0 and not needs_gradient(x, *weights)


def differentiated(x: Tensor, parts: list[Any], residual: Tensor) -> bool:
    """Tell whether these layers of one process are to be differentiated, and make a product with a gate within."""
    if not all(isinstance(part, Linear) and plain(part) and part.bias is None for part in parts):
        return False
    weights = [part.weight for part in parts]
    alone = all(part.entered_from is None and part.summed_over is None for part in parts)
    return alone and taken(x, *weights, residual) and needs_gradient(x, *weights)


def activation_of(function: Any) -> str | None:
    """Return the name in `kernels.rows.gates` of an activation of `transformers` or torch; None for others, and where
    a hook or another `forward` changes what it computes."""
    kind = type(function)
    if not kind.__module__.startswith(("torch.nn.modules.", "transformers.")) or not plain(function):
        return None
    name = kind.__name__
    if name == "GELU":
        name += f" {function.approximate}"
    return ACTIVATIONS.get(name)


ACTIVATIONS = {
    "SiLU": "silu", "SiLUActivation": "silu", "ReLU": "relu", "GELU none": "gelu", "GELU tanh": "gelu_tanh",
    "GELUActivation": "gelu", "GELUTanh": "gelu_tanh", "PytorchGELUTanh": "gelu_tanh", "NewGELUActivation": "gelu_tanh",
}  # fmt: skip
"""Names of their classes, with the approximation for torch's GELU -> names of activations."""
