"""Sums over two GPUs of one host: `cutelite.models.pairs` beside NCCL and torch's own kernels for that.

    python tests/bench/sums.py [--rows 1 8 64 512 8192 16384] [--columns 4096]

First, sums of changing sizes, one process behind the other by random times, are compared with NCCL's, bit by bit. Then
microseconds of a call in CUDA graphs of 20, medians of rounds in turns, and GB/s of the array's bytes.
"""

import os
import tempfile
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

from cutelite.models import pairs
from tests.bench.given import parser
from tests.bench.timing import graph, medians, timed

REPEATS, CHECKS, LATE = 20, 400, 200_000
"""Calls of a graph; sums that are compared; cycles that a process is late by, at most."""


def compare(group: Any) -> None:
    """Compare sums with NCCL's. Errors: SystemExit where a bit differs."""
    mine, both = torch.Generator().manual_seed(dist.get_rank()), torch.Generator().manual_seed(7)
    wrong = 0
    for _ in range(CHECKS):
        count = 8 * int(torch.randint(1, 4 ** int(torch.randint(1, 10, (), generator=both)), (), generator=both))
        x = torch.randn(count, device="cuda", dtype=torch.bfloat16)
        right = x.clone()
        dist.all_reduce(right)
        torch.cuda._sleep(int(torch.randint(1, LATE, (), generator=mine)))
        pair = pairs.of(group, x)
        if pair is None:
            raise SystemExit("these GPUs do not reach each other")
        pair.add(x)
        wrong += not torch.equal(x, right)
    print(f"{CHECKS} sums, {wrong} of them wrong", flush=True)
    if wrong:
        raise SystemExit("sums are wrong")


def measured(rows: int, columns: int, group: Any) -> None:
    """Print a line."""
    from torch.distributed import _symmetric_memory as symmetric

    x, name = torch.zeros(rows, columns, device="cuda", dtype=torch.bfloat16), group.group_name
    shared = symmetric.empty(rows, columns, device=x.device, dtype=x.dtype).zero_()
    symmetric.rendezvous(shared, group)
    pair: Any = pairs.of(group, x)
    calls = {
        "ours": lambda i: pair.add(x),
        "NCCL": lambda i: dist.all_reduce(x),
        "one-shot": lambda i: torch.ops.symm_mem.one_shot_all_reduce(shared, "sum", name),
        "two-shot": lambda i: torch.ops.symm_mem.two_shot_all_reduce_(shared, "sum", name),
    }
    graphs = {key: graph(call, 1, REPEATS) for key, call in calls.items()}
    found = medians({key: partial(timed, each, REPEATS) for key, each in graphs.items()}, 7)
    line = f"{rows:6} x {columns}"
    for key, took in found.items():
        line += f"  {key} {1e6 * took:8.2f} us {1e-9 * 2 * rows * columns / took:6.1f} GB/s"
    print(line, flush=True)


def one(rank: int, options: Any, place: str) -> None:
    """One process."""
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=2, init_method=f"file://{place}/meet")
    if rank:  # the first speaks for all
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    group = dist.group.WORLD
    compare(group)
    for rows in options.rows:
        measured(rows, options.columns, group)
    dist.destroy_process_group()


if __name__ == "__main__":
    asked = parser(__doc__)
    asked.add_argument("--rows", type=int, nargs="+", default=[1, 8, 64, 512, 8192, 16384])
    asked.add_argument("--columns", type=int, default=4096)
    options = asked.parse_args()
    with tempfile.TemporaryDirectory() as place:
        processes.spawn(one, (options, place), nprocs=2)
