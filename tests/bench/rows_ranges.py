"""Whole arrays, from one element to 2**28, and rows of any shape beside torch, which has CUB's: microseconds.

    python tests/bench/rows_ranges.py [--only cumsum,sort,...] [--processes 15]

Where `rows_whole.py` has the sizes that bars are for, this has those at which plans change: few elements, short rows,
few long ones, narrow matrices, keys that are equal, in order or against it, and runs of equal places.
"""

import gc
import multiprocessing
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from cutelite.kernels.rows.embedding import embedding, embedding_backward
from cutelite.kernels.rows.histogram import histogram
from cutelite.kernels.rows.reduce import reduced
from cutelite.kernels.rows.sample import sample
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import argmax, top_k
from cutelite.kernels.rows.sort import sort
from tests.bench.given import parser
from tests.bench.rows_whole import called
from tests.bench.timing import Replay, in_turns, machine, medians

ON = {"device": "cuda"}
Pair = tuple[Callable[[], Any], Callable[[], Any]]
Case = tuple[str, Callable[[], Pair], float]
ROUNDING = {torch.float32: 1e-3, torch.bfloat16: 2e-2}
SHAPES = (1 << 22, 4), (1 << 20, 33), (1 << 20, 64), (1 << 17, 1000), (1 << 14, 5000), (64, 1 << 20), (1 << 24, 1)
WORDS = 1 << 17
KS = [
    (1, WORDS, 1),
    (8, WORDS, 1),
    (64, WORDS, 1),
    (1, 1 << 26, 1),
    (1 << 20, 8, 1),
    (1 << 17, 1000, 1),
    (1, WORDS, 50),
]
KS += [(8, WORDS, 50), (1, WORDS, 1000), (1, 1 << 24, 50), (1 << 20, 8, 2), (1 << 17, 64, 8), (1 << 15, 256, 8)]
KS += [(128, WORDS, 1024)]


def whole(n: int, dtype: Any = torch.int32, low: int = -(1 << 31), high: int = (1 << 31) - 1) -> Any:
    return torch.randint(low, high, (n,), dtype=dtype, **ON)


def random(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*shape, **ON).to(dtype)


def sorts() -> Iterator[Case]:
    def case(x: Any) -> Pair:
        return lambda: sort(x).values, lambda: torch.sort(x, stable=True)[1]

    for n in (1, 100, 1000, 4096, 8192, 1 << 14, 1 << 17, 1 << 20, 1 << 23, 1 << 28):
        yield f"sort {n} i32", partial(lambda n: case(whole(n)), n), 0
    n = 1 << 24
    yield "sort 16M i32, equal", lambda: case(torch.full((n,), 7, dtype=torch.int32, **ON)), 0
    yield "sort 16M i32, in order", lambda: case(torch.arange(n, dtype=torch.int32, **ON)), 0
    yield "sort 16M i32, reversed", lambda: case(torch.arange(n, 0, -1, dtype=torch.int32, **ON)), 0
    yield "sort 16M i32, four values", lambda: case(whole(n, low=0, high=4)), 0
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        yield f"sort 16M {dtype}", partial(lambda dtype: case(random(n, dtype=dtype)), dtype), 0
    yield "sort 16M i64", lambda: case(whole(n, torch.int64, -(1 << 62), 1 << 62)), 0


def sums() -> Iterator[Case]:
    def upto(x: Any) -> Pair:
        return lambda: cumsum(x), lambda: torch.cumsum(x, -1, dtype=x.dtype)

    def along(x: Any, mode: int | None = None) -> Pair:
        return lambda: reduced(x, "sum", mode), lambda: x.sum() if mode is None else x.sum(mode)

    for n in (1, 1000, 1 << 14, 1 << 17, 1 << 20, 1 << 24, 1 << 28):
        yield f"cumsum {n} f32", partial(lambda n: upto(random(n)), n), 1e-3
        yield f"sum {n} f32", partial(lambda n: along(random(n)), n), 1e-3
    yield "cumsum 64M i32", lambda: upto(whole(1 << 26, low=-9, high=9)), 0
    for shape in SHAPES:
        for dtype, off in ROUNDING.items():
            name = f"{shape[0]} x {shape[1]} {dtype}"
            if dtype == torch.float32:
                yield f"cumsum of rows, {name}", partial(lambda shape: upto(random(*shape)), shape), off
            for mode, what in ((1, "rows"), (0, "columns")):
                yield (
                    f"sums of {what}, {name}",
                    partial(lambda s, d, m: along(random(*s, dtype=d), m), shape, dtype, mode),
                    off,
                )


def counts() -> Iterator[Case]:
    def spread(x: Any) -> Pair:
        return lambda: histogram(x, 256, -4, 4), lambda: torch.histc(x, 256, -4, 4)

    def of(x: Any, bins: int) -> Pair:
        return lambda: histogram(x, bins), lambda: torch.bincount(x, minlength=bins)

    yield "histogram of 64M f32, equal", lambda: spread(torch.zeros(1 << 26, **ON)), 0
    yield "histogram of 16k f32", lambda: spread(random(1 << 14)), 0
    yield "bincount of 16M i64, 8k", lambda: of(whole(1 << 24, torch.int64, 0, 8192), 8192), 0
    yield "bincount of 16M i64, 50k", lambda: of(whole(1 << 24, torch.int64, 0, 50_000), 50_000), 0
    yield "bincount of 64M u8, 256", lambda: of(whole(1 << 26, torch.uint8, 0, 256), 256), 0


def choices() -> Iterator[Case]:
    def greatest(x: Any, k: int) -> Pair:
        if k == 1:
            return lambda: argmax(x).value, lambda: x.max(-1)[0]
        return lambda: top_k(x, k).value, lambda: torch.topk(x, k)[0]

    def chosen(m: int, **how: Any) -> Pair:
        x, chances = random(m, WORDS, dtype=torch.bfloat16), torch.rand(m, **ON)
        theirs = lambda: torch.multinomial(x.float().softmax(-1), 1)[:, 0] * 0  # noqa: E731
        return lambda: sample(x, chances, **how) * 0, theirs

    for m, n, k in KS:
        name = f"top-{k} of {m} x {n} bf16"
        yield name, partial(lambda m, n, k: greatest(random(m, n, dtype=torch.bfloat16), k), m, n, k), 0
    yield f"top-64 of 128 x {WORDS} f32, equal", lambda: greatest(torch.zeros(128, WORDS, **ON), 64), 0
    for m in (1, 128):
        for how in ({"top_k": 50, "top_p": 0.9}, {"top_p": 0.9}, {}):
            yield f"sample of {m} x {WORDS} {how}", partial(chosen, m, **how), 0


def tables() -> Iterator[Case]:
    def gathered(words: int, n: int, m: int) -> Pair:
        table, places = random(words, n, dtype=torch.bfloat16), torch.randint(0, words, (m,), **ON)
        return lambda: embedding(table, places), lambda: torch.nn.functional.embedding(places, table)

    def added(words: int, n: int, m: int, kind: str) -> Pair:
        dy, places = random(m, n, dtype=torch.bfloat16), torch.randint(0, words, (m,), **ON)
        if kind == "skewed":
            places = (torch.rand(m, **ON) ** 8 * words).long()
        elif kind != "any":
            places[torch.rand(m, **ON) < (1.1 if kind == "equal" else 0.5)] = 0
        theirs = torch.ops.aten.embedding_dense_backward
        return lambda: embedding_backward(dy, places, words), lambda: theirs(dy, places, words, -1, False).float()

    for n, m in ((3, 1 << 20), (32, 1 << 20), (64, 1 << 20), (128, 1 << 18), (1000, 1 << 15), (4096, 1), (4096, 64)):
        yield f"embedding, {m} x {n} bf16", partial(gathered, WORDS, n, m), 0
    for words, n, m in ((32_000, 4096, 1 << 14), (WORDS, 64, 1 << 20), (1000, 512, 1 << 16)):
        for kind in ("any", "skewed", "half padding", "equal"):
            name = f"embedding's gradient, {m} x {n}, {kind}"
            yield name, partial(added, words, n, m, kind), 2e-2


def cases() -> Iterator[Case]:
    for each in (sorts, sums, counts, choices, tables):
        yield from each()


WAITS = "bincount"
"""Torch's waits for the GPU: after a failed capture of it, torch makes no random numbers."""


def seconds(calls: Pair, graphs: bool) -> tuple[list[float], str]:
    """Median seconds of both, in turns: in graphs, or as they are, and a word for that."""
    for call in calls:
        for _ in range(8):  # the sixth of a kind makes its plan, the first of all loads what does that
            call()
    guesses = in_turns(list(calls), 1, 5e-4)  # of the host's time where calls are short: these are repeated 30 times
    each = [guess if guess > 5e-3 else 5e-5 for guess in guesses]
    if not graphs:
        return in_turns(list(calls), 3, 2e-3), "  (no graph)"
    replays = {str(i): Replay(partial(called, call), 1, 1.5e-3, each[i]) for i, call in enumerate(calls)}
    return list(medians(replays, 5).values()), ""


def row(calls: Pair, bound: float, graphs: bool) -> str:
    """Compare both, time them, and return the text of the table."""
    a, b = (call().double() for call in calls)
    off = float((a - b).abs().max() / b.abs().max().clamp(min=1))
    (ours, theirs), how = seconds(calls, graphs)
    verdict = "" if off <= bound else f"  WRONG by {off:.1e}"
    return f"{ours * 1e6:9.1f} {theirs * 1e6:9.1f}  {theirs / ours:.2f}{how}{verdict}"


def compiled(number: int, processes: int, only: tuple[str, ...]) -> None:
    """Compile what some of the cases need: errors show when they are timed."""
    for name, make, _ in list(cases())[number::processes]:
        if name.startswith(only):
            try:
                make()[0]()
            except Exception as problem:
                print(f"{name}: {type(problem).__name__}", flush=True)
            gc.collect()
            torch.cuda.empty_cache()


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--only", default="")
    asked.add_argument("--processes", type=int, default=8)
    options = asked.parse_args()
    only, context = tuple(options.only.split(",")), multiprocessing.get_context("spawn")
    count = options.processes
    workers = [context.Process(target=compiled, args=(i, count, only)) for i in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"{machine()}: microseconds, cutelite, torch", flush=True)
    for name, make, bound in cases():
        if not name.startswith(only):
            continue
        try:
            print(f"{name:52} {row(make(), bound, not name.startswith(WAITS))}", flush=True)
        except Exception as problem:
            print(f"{name:52} {type(problem).__name__}: {str(problem).splitlines()[0][:100]}", flush=True)
        gc.collect()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
