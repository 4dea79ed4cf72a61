"""Splits of decoding timed over random sizes, and the numbers of their model fitted to the times.

    python tests/bench/attention_parts.py times.jsonl --seconds 60     # adds cells to the file; needs a GPU
    python tests/bench/attention_parts.py times.jsonl --fit            # anywhere: prints `splitting.Numbers`

A line is a cell: its sizes, and the us of each split (`c2`: a cluster of two). tests/kernels/attention_parts.jsonl has
such lines.
"""

import gc
import json
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cutelite.kernels.attention.splitting import CLUSTERS, Numbers, Split, Work, fastest, predicted
from tests.bench.given import parser
from tests.kernels.test_attention_splitting import RUNS, heads, latents

Cell = dict[str, Any]


def of(cell: Cell) -> tuple[Work, Numbers, tuple[int, ...]]:
    return heads(cell) if "dim" in cell else latents(cell)


def named(split: Split) -> str:
    return f"c{split.parts}" if split.cluster else str(split.parts)


def split_of(name: str) -> Split:
    return Split(int(name.removeprefix("c")), name.startswith("c"))


def cells(numbers: random.Random) -> Iterator[Cell]:
    """Random sizes, of latents and of heads in turn, up to 2 GB of keys and values."""
    while True:
        batch, keys = numbers.choice((1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)), 1 << numbers.randint(8, 17)
        if batch * keys <= 1 << 18:
            count = numbers.choice((16, 32, 64, 128))
            yield {"batch": batch, "queries": numbers.choice((1, 2)), "heads": count, "keys": keys}
        kv_heads, dim = numbers.choice((2, 8)), numbers.choice((64, 128, 256))
        if batch * keys * kv_heads * dim <= 1 << 29:
            yield {"batch": batch, "kv_heads": kv_heads, "dim": dim, "page": numbers.choice((0, 64)), "keys": keys}


def splits(cell: Cell) -> list[Split]:
    """Splits worth a time: the pick, one part where it is short, clusters, and numbers of parts that fill the GPU."""
    work, numbers, runs = of(cell)
    room = max(1, runs[0] * work.beside // work.tiles)
    most = {1 if work.blocks <= 24 else 2, *(room * i // 8 for i in (3, 4, 5, 6, 7, 8, 12, 16)), 8, 16, 32}
    counts = {-(-work.blocks // -(-work.blocks // min(n, work.blocks, 128))) for n in most if 0 < n <= 2 * room}
    found = {fastest(work, numbers, runs), *map(Split, counts)}
    found |= {
        Split(n, True)
        for n, at_once in zip(CLUSTERS, runs[1:], strict=False)
        if work.tiles <= at_once and work.blocks >= n
    }
    return sorted(found)


def caller(cell: Cell) -> tuple[Callable[[int, Split], Any], int]:
    """A function of a number of a set of arrays, and of a split; and how many sets there are."""
    import torch

    from cutelite.dispatch.replay import forget_plans
    from cutelite.kernels.attention import decode, decode_latent, decoding_call

    def normal(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    batch, keys, picked = cell["batch"], cell["keys"], decoding_call.picked
    sets = max(1, min(8, int(2e8 / of(cell)[0].bytes)))
    if "dim" not in cell:
        arrays = [
            (normal(batch, cell["queries"], cell["heads"], 576), normal(batch, keys, 576)) for _ in range(sets)
        ]  # fmt: skip
        return lambda i, split: decode_latent(*arrays[i % sets], splits=split.parts), sets
    count, dim, page, how = cell["kv_heads"], cell["dim"], cell["page"], dict[str, Any]()
    shape = (batch * keys // page, page, count, dim) if page else (batch, keys, count, dim)
    given = [(normal(batch, 1, count * 8, dim), normal(*shape), normal(*shape)) for _ in range(sets)]
    if page:
        how["table"] = torch.randperm(shape[0], device="cuda", dtype=torch.int32).view(batch, -1)
        how["lengths"] = torch.full((batch,), keys, device="cuda", dtype=torch.int32)

    def call(i: int, split: Split) -> Any:
        if not split.cluster:
            return decode(*given[i % sets], splits=split.parts, **how)
        forget_plans()
        decoding_call.picked = lambda *_: split
        try:
            return decode(*given[i % sets], **how)
        finally:
            decoding_call.picked = picked

    return call, sets


def timed(cell: Cell) -> dict[str, float]:
    """The us of each split."""
    from tests.bench.timing import Replay, medians

    (call, sets), trials = caller(cell), {}
    gc.freeze()  # what is collected before a capture is small then
    for split in splits(cell):
        call(0, split)
        each = of(cell)[0].bytes / 3e12 + 2e-5
        trials[named(split)] = Replay(lambda i, split=split: call(i, split), sets, 6e-4, each)  # type: ignore[misc]
    return {name: round(1e6 * took, 2) for name, took in medians(trials, 5).items()}


def allowed(split: Split) -> bool:
    """Tell whether the model may pick a split: earlier runs timed others too."""
    return not split.cluster or split.parts in CLUSTERS


def regrets(given: list[Cell], numbers: Numbers) -> tuple[list[float], float]:
    """Of the picks by these numbers the time over the fastest's; and the mean square of the logarithm of the error.

    What all splits cost alike is not predicted: it is taken from the times.
    """
    ratios, errors, weights = [], [], []
    for cell in given:
        us = {name: time for name, time in cell["us"].items() if allowed(split_of(name))}
        work, least = of(cell)[0], min(us.values())
        times = {name: predicted(split_of(name), work, numbers, RUNS[0]) for name in us}
        ratios.append(us[min(times, key=times.__getitem__)] / least)
        for name, at in times.items():
            errors.append((us[name] - at, at, us[name]))
            weights.append(math.exp(-6 * (us[name] / least - 1)))
    base = statistics.median(more for more, _, _ in errors)
    squares = (math.log(max(at + base, 0.1) / us) ** 2 for _, at, us in errors)
    return ratios, sum(w * s for w, s in zip(weights, squares, strict=True)) / sum(weights)


def fitted(given: list[Cell], numbers: Numbers, steps: int) -> Numbers:
    """Numbers that were better, in random steps from these."""

    def loss(numbers: Numbers) -> float:
        ratios, error = regrets(given, numbers)
        more = [ratio - 1 for ratio in ratios]
        return statistics.mean(more) + 0.5 * math.sqrt(statistics.mean(x * x for x in more)) + 0.5 * error

    source, wide, best = random.Random(0), 0.2, loss(numbers)
    for _ in range(steps):
        near = Numbers(*(x * math.exp(source.gauss(0, wide)) if source.random() < 0.4 else x for x in numbers))
        if (found := loss(near)) < best:
            numbers, best, wide = near, found, min(0.3, wide * 1.3)
        else:
            wide = max(0.003, wide * 0.995)
    return numbers


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("times", type=Path)
    asked.add_argument("--seconds", type=float, default=60.0)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--fit", action="store_true")
    asked.add_argument("--steps", type=int, default=400)
    given = asked.parse_args()
    if given.fit:
        known = [json.loads(line) for line in given.times.read_text().splitlines()]
        for dim in (None, 64, 128, 256):
            those = [cell for cell in known if cell.get("dim") == dim]
            was = of(those[0])[1]
            for numbers in (was, fitted(those, was, given.steps)):
                ratios, _ = regrets(those, numbers)
                print(dim or "latents", [float(f"{x:.3g}") for x in numbers])
                print(f"  of {len(those)} cells {statistics.mean(ratios):.4f} in the mean, {max(ratios):.3f} at most")
        return
    end = time.perf_counter() + given.seconds
    for cell in cells(random.Random(given.seed)):
        if time.perf_counter() > end:
            return
        us = timed(cell)
        taken = us[named(fastest(*of(cell)))] / min(us.values())
        print(cell, f"{taken:.3f}", flush=True)
        with given.times.open("a") as file:
            file.write(json.dumps(cell | {"us": us}) + "\n")


if __name__ == "__main__":
    main()
