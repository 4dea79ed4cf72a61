"""Routers of a mixture of experts: a dense layer, then softmax and the choice of the best in one kernel."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from cutelite.kernels.moe.operators import route
from cutelite.models.dense import lasts, plain, taken
from cutelite.models.operators import linear


def routed(mixture: Any, x: Tensor, lasting: bool) -> Any:
    """Return the result of a mixture of experts. lasting: as for `dense.project`, of the weight of its router."""
    router = getattr(mixture, "gate", None)
    if not (lasting and isinstance(router, Router) and plain(mixture) and plain(router)):
        return mixture(x)
    router.lasting = True
    try:
        return mixture(x)
    finally:
        router.lasting = False


class Router:
    """The choice of experts: a dense layer, then softmax and the choice of the best in one kernel."""

    weight: Tensor
    top_k: int
    num_experts: int
    hidden_dim: int
    norm_topk_prob: bool
    lasting: bool = False
    """As for `routed`, which calls it."""

    def logits(self, hidden_states: Tensor) -> Tensor:
        """Return the score of each expert, for each token."""
        x = hidden_states.reshape(-1, self.hidden_dim)
        if not taken(x, self.weight):
            return nn.functional.linear(x, self.weight)
        return linear(x, [self.weight], None, None, self.lasting and lasts(self))

    def forward(self, hidden_states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, the weights of each token's experts, and the experts."""
        logits = self.logits(hidden_states)
        weights, index = route(logits, self.top_k, self.norm_topk_prob)
        return logits, weights.to(logits.dtype), index


class MixtralRouter(Router):
    """`Router` with weights in f32, whose sum is 1."""

    def forward(self, hidden_states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the same."""
        logits = self.logits(hidden_states)
        return logits, *route(logits, self.top_k, True)
