"""The loss of a language model in training, without storing all logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers.loss.loss_utils import ForCausalLMLoss
from transformers.modeling_outputs import CausalLMOutputWithPast, MoeCausalLMOutputWithPast

from cutelite.kernels.rows.operators_losses import linear_cross_entropy
from cutelite.models.calls import CACHE, Whole
from cutelite.models.dense import Linear, plain, taken
from cutelite.models.parted_loss import parted_loss
from cutelite.models.sums import entered

IGNORED = -100
PARTS = 4
"""The memory of the logits computed at a time, as a multiple of that of the head's gradient. The more logits, the less
often that gradient is read and written."""


class CausalLM(Whole):
    """A model with a head over words. In training its cross entropy includes the head's GEMM.

    Its output then has no logits. In evaluation, without labels, or with a hook on the head it works as before.
    """

    model: Any
    lm_head: Any
    training: bool
    loss_function: Any
    made = CausalLMOutputWithPast

    def forward(self, *args: Any, labels: Tensor | None = None, **more: Any) -> Any:
        """Compute as the model's own; with `labels` in training, `logits` is None."""
        own = labels is None or not self.training or more.get("return_dict") is False or more.get("logits_to_keep")
        own = own or self.loss_function is not ForCausalLMLoss or self.asks_routers(more.get("output_router_logits"))
        head = self.lm_head
        own = own or not (isinstance(head, Linear) and plain(head) and head.bias is None)
        if own or (head.gathered_over is not None and torch.compiler.is_compiling()):
            return super().forward(*args, labels=labels, **more)
        found = self.model(*args, **more)
        hidden, weight = found.last_hidden_state, head.weight
        logits = None
        if taken(hidden, weight):
            loss = shifted_loss(entered(hidden, head.entered_from), weight, labels, head.gathered_over, **more)
        else:
            logits = self.lm_head(hidden)
            loss = self.loss_function(logits=logits, labels=labels, vocab_size=logits.shape[-1], **more)
        kept = {name: getattr(found, name) for name in (CACHE, "hidden_states", "attentions")}
        return self.made(loss=loss, logits=logits, **kept)

    def asks_routers(self, asked: bool | None) -> bool:
        """Tell whether the loss includes a part for routers."""
        return False


class MoeCausalLM(CausalLM):
    """`CausalLM` of a mixture of experts, for a loss without a part for its routers."""

    made = MoeCausalLMOutputWithPast
    config: Any

    def asks_routers(self, asked: bool | None) -> bool:
        return bool(self.config.output_router_logits if asked is None else asked)


def shifted_loss(
    hidden: Tensor, weight: Tensor, labels: Any, group: Any = None, num_items_in_batch: Any = None,
    ignore_index: int = IGNORED, shift_labels: Tensor | None = None, **more: Any,
) -> Tensor:  # fmt: skip
    """Return the cross entropy of each next token: the mean, or the sum divided by `num_items_in_batch`.

    hidden  (B, S, K);  weight (words, K);  labels (B, S), int64
    group   the processes that each have a part of the words, or None
    """
    if shift_labels is None:
        shift_labels = nn.functional.pad(labels, (0, 1), value=ignore_index)[..., 1:]
    target = shift_labels.contiguous().view(-1)
    how = "mean" if num_items_in_batch is None else "sum"
    x = hidden.reshape(-1, hidden.shape[-1])
    rows = max(PARTS * x.shape[1], len(x) // 10)
    if group is None:
        loss = linear_cross_entropy(x, weight, target, reduction=how, ignore=ignore_index, rows=rows)
    else:
        loss = parted_loss(x, weight, target, how, ignore_index, rows, group)
    return loss if num_items_in_batch is None else loss / num_items_in_batch
