"""Scans, sorts, reductions, histograms, top-k and embeddings beside torch, which has CUB's: microseconds.

    python tests/bench/rows_whole.py [--only cumsum,sort,...]

Results are compared first. Calls are captured in CUDA graphs where torch's can be, else timed as they are, in turns;
medians.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from cutelite.kernels.rows.adamw import adamw
from cutelite.kernels.rows.embedding import embedding, embedding_backward
from cutelite.kernels.rows.histogram import histogram
from cutelite.kernels.rows.reduce import reduced
from cutelite.kernels.rows.sample import sample
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import argmax, top_k
from cutelite.kernels.rows.sort import sort
from tests.bench.given import parser
from tests.bench.rows import COPIED
from tests.bench.timing import Replay, in_turns, machine, medians


def seconds(*calls: Callable[[], Any]) -> list[float]:
    """Median seconds of each, in turns, L2 cold by what they move: as graphs, or as they are if one is none."""
    guess = in_turns(list(calls), 1, 1e-3)
    try:
        replays = {str(i): Replay(partial(called, call), 1, 4e-3, guess[i]) for i, call in enumerate(calls)}
    except Exception as problem:
        print(f"    no graphs: {str(problem).splitlines()[0][:100]}", flush=True)
        torch.cuda.synchronize()
        return in_turns(list(calls))
    return list(medians(replays, 9).values())


def called(call: Callable[[], Any], _: int) -> None:
    """Call, whatever the buffers."""
    call()


def cases() -> dict[str, tuple[Callable[[], Any], Callable[[], Any], float | None]]:
    """Return ours, torch's, and by how much results may differ, relative to the greatest; None: not compared."""
    on = {"device": "cuda"}
    x, h = torch.randn(1 << 26, **on), torch.randn(8192, 16384, **on).bfloat16()
    keys = torch.randint(-(1 << 31), (1 << 31) - 1, (1 << 25,), dtype=torch.int32, **on)
    floats = torch.randn(1 << 25, **on)
    small, words = (
        torch.randint(0, 1 << 10, (1 << 26,), dtype=torch.int32, **on),
        torch.randn(128, 131072, **on).bfloat16(),
    )
    table, ids = torch.randn(131072, 4096, **on).bfloat16(), torch.randint(0, 131072, (32768,), **on)
    dy, chances = torch.randn(32768, 4096, **on).bfloat16(), torch.rand(128, **on)
    return {
        "cumsum 64M f32": (lambda: cumsum(x), lambda: torch.cumsum(x, 0), 1e-4),
        "cumsum rows 8k x 16k bf16": (lambda: cumsum(h), lambda: torch.cumsum(h, 1), None),  # torch's error is 0.1
        "sort 32M i32": (lambda: sort(keys).keys, lambda: torch.sort(keys, stable=True)[0], 0),
        "sort 32M f32": (lambda: sort(floats).values, lambda: torch.sort(floats, stable=True)[1], 0),
        "sum 64M f32": (lambda: reduced(x), lambda: x.sum(), 1e-4),
        "max 128M bf16": (lambda: reduced(h, "max"), lambda: h.max(), 0),
        "sum of rows": (lambda: reduced(h, "sum", 1), lambda: h.sum(1), 1e-2),
        "sum of columns": (lambda: reduced(h, "sum", 0), lambda: h.sum(0), 1e-2),
        "histogram 64M f32, 256": (lambda: histogram(x, 256, -4, 4), lambda: torch.histc(x, 256, -4, 4), 0),
        "bincount 64M i32, 1k": (lambda: histogram(small, 1024), lambda: torch.bincount(small, minlength=1024), 0),
        "argmax 8k x 16k bf16": (lambda: argmax(h).value, lambda: h.max(1)[0], 0),
        "top-64 8k x 16k bf16": (lambda: top_k(h, 64).value, lambda: torch.topk(h, 64)[0], 0),
        "top-64 128 x 128k bf16": (lambda: top_k(words, 64).value, lambda: torch.topk(words, 64)[0], 0),
        "sample 128 x 128k, k 50, p 0.9": (
            lambda: sample(words, chances, top_k=50, top_p=0.9) * 0,
            lambda: torch.multinomial(words.float().softmax(-1), 1)[:, 0] * 0,
            0,
        ),
        "embedding 32k x 4k bf16": (
            lambda: embedding(table, ids),
            lambda: torch.nn.functional.embedding(ids, table),
            0,
        ),
        "embedding backward": (
            lambda: embedding_backward(dy, ids, 131072),
            lambda: torch.ops.aten.embedding_dense_backward(dy, ids, 131072, -1, False),
            1e-2,
        ),
    }


LAYER = [(4096, 4096)] * 4 + [(11008, 4096)] * 2 + [(4096, 11008)] + [(4096,)] * 2
LISTS: tuple[list[tuple[int, ...]], ...] = [(32000, 4096), *LAYER * 32, (4096,), (32000, 4096)], [(1024, 1024)] * 512
"""The shapes of a 7B model's parameters; as many tensors as one launch takes."""


def optimiser(shapes: list[tuple[int, ...]]) -> None:
    """AdamW over tensors of these shapes, beside torch's fused one and a copy.

    Torch's has all of one dtype: bf16 here, so that it moves 14 bytes for each parameter where ours moves 22.
    """
    p, g = ([torch.empty(shape, device="cuda", dtype=torch.bfloat16).normal_() for shape in shapes] for _ in range(2))
    m, v = ([torch.zeros(shape, device="cuda") for shape in shapes] for _ in range(2))
    halves = [[x.bfloat16() for x in each] for each in (m, v)]
    numbers = [torch.tensor(1.0, device="cuda") for _ in p]
    fused: dict[str, Any] = {"lr": 1e-3, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.01, "eps": 1e-8}
    one = torch.empty(COPIED, device="cuda", dtype=torch.int8)
    count, other = sum(x.numel() for x in p), torch.empty_like(one)

    def theirs() -> None:
        torch._fused_adamw_(p, g, *halves, [], numbers, amsgrad=False, maximize=False, **fused)

    calls = {
        "cutelite": (lambda: adamw(p, g, m, v, 1), 22 * count),
        "torch, fused": (theirs, 14 * count),
        "copy": (lambda: other.copy_(one), 2 * COPIED),
    }
    times = seconds(*(call for call, _ in calls.values()))
    speeds = [bytes / each * 1e-9 for (_, bytes), each in zip(calls.values(), times, strict=True)]
    for name, speed in zip(calls, speeds, strict=True):
        print(f"AdamW, {len(p)} tensors, {name:12} {speed:6.0f} GB/s, {speed / speeds[-1]:.3f} of the copy", flush=True)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--only", default="")
    options = asked.parse_args()
    print(f"{machine()}: microseconds, cutelite, torch", flush=True)
    if "AdamW".startswith(tuple(options.only.split(","))):
        for shapes in LISTS:
            optimiser(shapes)
    for name, (ours, theirs, bound) in cases().items():
        if not name.startswith(tuple(options.only.split(","))):
            continue
        try:
            a, b = ours().double(), theirs().double()
            off = float((a - b).abs().max() / b.abs().max().clamp(min=1))
            times = seconds(ours, theirs)
        except Exception as problem:
            print(f"{name:32} {type(problem).__name__}: {str(problem)[:150]}", flush=True)
            continue
        verdict = "" if bound is None or off <= bound else f"  WRONG by {off:.1e}"
        print(f"{name:32} {times[0] * 1e6:8.0f} {times[1] * 1e6:8.0f}  {times[1] / times[0]:.2f}{verdict}", flush=True)


if __name__ == "__main__":
    main()
