"""Sums over two GPUs of one host, each of which writes to the other's memory: one kernel in place of NCCL's.

pair = of(group, x)              # in both processes
pair.add(x)                      # x becomes the sum of both processes' x

It needs a group of two processes on one host, a GPU each, that reach each other's memory (NVLink, or PCIe with peer
access), torch's symmetric memory (torch 2.9), and bf16 or f16. `of` returns None for anything else.
"""

# mypy: disable-error-code="misc, no-any-return"
# (torch is not installed where types are checked)

from __future__ import annotations

import socket
import warnings
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from cutelite.kernels.rows.exchange import BLOCKS, SLOT, VECTOR, add_other

TYPES = torch.bfloat16, torch.float16  # as in `dense`, which imports this file


class Pair:
    """Memory of two GPUs through which they add numbers of one dtype. Made in both processes at once.

    Both processes add the same sizes in the same order, each in one stream after the other. A kernel waits for the one
    of the other process, without a limit of time.
    """

    def __init__(self, group: Any, device: torch.device, dtype: torch.dtype) -> None:
        from torch.distributed import _symmetric_memory as symmetric

        places, other = BLOCKS * 2 * SLOT, 1 - dist.get_rank(group)
        held = symmetric.empty(places * dtype.itemsize + BLOCKS * 8, dtype=torch.uint8, device=device)
        self.held, self.memory = held, symmetric.rendezvous(held, group)
        sides = []
        for rank in (1 - other, other):
            numbers = self.memory.get_buffer(rank, (places,), dtype)
            sides.append((numbers, self.memory.get_buffer(rank, (BLOCKS,), torch.int64, places * dtype.itemsize // 8)))
        (self.mine, self.flags), (self.theirs, self.their_flags) = sides
        self.counts = torch.zeros(BLOCKS, dtype=torch.int64, device=device)
        self.flags.zero_()
        torch.cuda.synchronize(device)
        dist.barrier(group)

    def add(self, x: Tensor) -> None:
        """Add the other process's x, in place: contiguous, a multiple of `VECTOR` elements."""
        flat = x.view(-1)
        aligned = flat if flat.data_ptr() % (VECTOR * x.itemsize) == 0 else flat.clone()
        add_other(aligned, (self.mine, self.theirs, self.flags, self.their_flags, self.counts))
        if aligned is not flat:
            flat.copy_(aligned)


_pairs: dict[Any, Pair | None] = {}


def of(group: Any, x: Tensor) -> Pair | None:
    """Return the pair that adds up arrays like x over a group of two GPUs of one host that reach each other.

    None for other groups and arrays: use NCCL. The first call makes the pair, in both processes; in a CUDA graph it
    must be there. The answer depends on nothing that differs between the processes, such as addresses: else one would
    wait for the other forever.
    """
    if not x.is_cuda or x.dtype not in TYPES or dist.get_world_size(group) != 2:
        return None
    if x.numel() % VECTOR or not x.numel():
        return None
    key = group, x.device, x.dtype
    if key not in _pairs and not torch.cuda.is_current_stream_capturing():
        _pairs[key] = made(group, x)
    return _pairs.get(key)


def made(group: Any, x: Tensor) -> Pair | None:
    """Make a pair; return None, with a warning, where the GPUs do not reach each other."""
    hosts: list[Any] = [None, None]
    dist.all_gather_object(hosts, socket.gethostname(), group=group)
    pair, why = None, "they are in two hosts"
    if hosts[0] == hosts[1]:
        try:
            pair = Pair(group, x.device, x.dtype)
        except (RuntimeError, ImportError) as error:  # torch without symmetric memory, GPUs without access
            why = str(error)
    able = torch.tensor(int(pair is not None), device=x.device)
    dist.all_reduce(able, dist.ReduceOp.MIN, group=group)
    if not able:
        warnings.warn(f"two GPUs add through NCCL, which takes longer: {why}", stacklevel=2)
        return None
    return pair
