"""Tensor parallelism: each process has a part of the heads, of the MLPs' inner columns, and of the vocabulary.

    accelerate(model)
    shard(model)              # in every process, after torch.distributed.init_process_group

Each decoder layer has two sums over the processes, after attention and after the MLP or experts. All processes compute
norms and routers. In inference the first process adds the residual, in the GEMM before the sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from cutelite.models import attention, dense, experts, mlps

WHOLE = attention.FlatNormAttention, attention.SinkAttention, attention.WholeAttention
"""Attention with norms, sinks or a weight of all heads."""
EIGHT = 8  # operands of GEMMs have a multiple of this many columns


def shard(model: nn.Module, group: Any = None) -> None:
    """Reduce a model to this process's part, in place.

    model   a model after `accelerate`, the same in all processes, each on its own device
    group   a group of processes, of NCCL for GPUs; default: all
    After   `state_dict` has this process's parts. Forward, cache and generation work as before: all processes make the
            same calls, and get the same results. A part's gradient is the same part of the gradient
    Errors  ValueError, before anything is changed, for heads and columns that cannot be split evenly, for attention
            that `accelerate` did not change, for that of OLMo 2, gpt-oss and Phi 3, and for dense layers of other
            kinds, such as those in fp8 and with adapters
    """
    group = dist.group.WORLD if group is None else group
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    for name, count in shares(model):
        if count % size:
            raise ValueError(f"{name} has {count} parts, which {size} processes cannot share evenly")
    for layer in model.modules():
        if isinstance(layer, attention.Attention):
            split([getattr(layer, name) for name in layer.parts], layer.o_proj, rank, size, group)
        elif isinstance(layer, mlps.GatedMLP):
            split(layer.layers(), layer.down_proj, rank, size, group)
        elif experts.known(layer):
            both = [part(x, 1, rank, size) for x in layer.gate_up_proj.data.chunk(2, dim=1)]
            layer.gate_up_proj.data = torch.cat(both, 1)
            layer.down_proj.data = part(layer.down_proj.data, 2, rank, size)
            layer.summed_over = group
    head = own_head(model)
    if head is not None and len(head.weight) % (EIGHT * size) == 0:
        rows(head, rank, size)
        head.entered_from = head.gathered_over = group


def shares(model: nn.Module) -> Iterator[tuple[str, int]]:
    """Yield the name of each layer and its number of parts. Errors: ValueError for layers that cannot be split."""
    for name, layer in model.named_modules():
        if isinstance(layer, WHOLE):
            raise ValueError(f"{name} is a {type(layer).__name__}, which has parts for all heads: it cannot be split")
        for each in products(layer):
            if not isinstance(found := getattr(layer, each), dense.Linear):
                raise ValueError(f"{name}.{each} is a {type(found).__name__}, no plain dense layer: it cannot be split")
        if isinstance(layer, attention.Attention):
            yield name, layer.heads_of_keys(sum(getattr(layer, part).out_features for part in layer.parts))
        elif isinstance(layer, mlps.GatedMLP):
            yield name, layer.layers()[0].out_features // EIGHT
        elif experts.known(layer):
            if not experts.is_plain(layer):
                raise ValueError(f"{name} is a {type(layer).__name__}, not changed by accelerate(): it cannot be split")
            yield name, layer.down_proj.shape[2] // EIGHT
        elif type(layer).__name__.endswith("Attention"):
            raise ValueError(f"{name} is a {type(layer).__name__}, not changed by accelerate(): it cannot be split")


def products(layer: Any) -> tuple[str, ...]:
    """Return the names of the dense layers of attention or an MLP that are split; none for other layers."""
    last = "o_proj" if isinstance(layer, attention.Attention) else "down_proj"
    return (*layer.parts, last) if isinstance(layer, attention.Attention | mlps.GatedMLP) else ()


def own_head(model: Any) -> Any:
    """Return the model's head over words; None if it has none, or its weight is the embedding's."""
    head, words = getattr(model, "lm_head", None), getattr(getattr(model, "model", None), "embed_tokens", None)
    tied = words is not None and head is not None and head.weight is words.weight
    return head if isinstance(head, dense.Linear) and not tied else None


def part(whole: Tensor, mode: int, rank: int, size: int) -> Tensor:
    """Return a copy of a process's part of a tensor along a mode."""
    return whole.chunk(size, dim=mode)[rank].clone()


def rows(layer: Any, rank: int, size: int) -> None:
    """Reduce a dense layer to the rows that compute a process's part of its results."""
    for each in (layer.weight, layer.bias):
        if each is not None:
            each.data = part(each.data, 0, rank, size)
    layer.out_features = len(layer.weight)


def split(inner: list[Any], last: Any, rank: int, size: int, group: Any) -> None:
    """Reduce inner layers to a process's rows, contiguous in memory, and the last layer to the matching columns."""
    for layer in inner:
        rows(layer, rank, size)
        layer.entered_from = group
    dense.move(inner)
    last.weight.data = part(last.weight.data, 1, rank, size)
    last.in_features, last.summed_over, last.adds = last.weight.shape[1], group, rank == 0
