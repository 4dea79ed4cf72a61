"""`gemm` as users call it, copies of operands and results included, against cuBLAS at random sizes of any alignment.

    python tests/bench/gemm_any.py times.jsonl --shapes 60 --seed 5 --seconds 60 --best 4 --jobs 8

A third of the sizes has few rows or few columns, a third any from 32 to 16,384 by their logarithms, a third any from 1
to 16,384; N and K of every second one are rounded up to multiples of 8. `--best` configurations are timed, those that
the model has for the fastest: the first is the pick. cuBLAS is torch.mm, or where that is faster torch.mm by cuBLASLt.
All are timed in graphs over rotating operands, in turns on a card that is warm, each behind a replay that does not
count. With `--near 1.3` these are all that the model expects to take at most so many times as long as the best, which
`gemm_fit.py` fits it to.
What is behind cuBLAS is timed again with tiles of other kinds, to see whether the pick or the kernels are at fault:

    python tests/bench/gemm_any.py again.jsonl --missed times.jsonl --best 8 --kinds 18

With `--tuned` they are tuned as by ``config="tuned"``, and the pick and what was found are timed in turns with cuBLAS;
`--bar` is what they are behind:

    python tests/bench/gemm_any.py tuned.jsonl --missed times.jsonl --bar 0.99 --tuned --jobs 14

With `--fp8` operands are e4m3, contiguous along K, with one scale each or one for each row and column, against
torch._scaled_mm with fast accumulation; N and K are rounded up to multiples of 16, which that needs.
"""

import argparse
import gc
import json
import math
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import torch

import cutelite as cl
from cutelite.kernels.gemm import CONFIGS, Config, gemm
from cutelite.kernels.gemm.call import arguments, fused_of
from cutelite.kernels.gemm.dense import fitting, picks, ranked, run, tuned
from cutelite.kernels.gemm.odd import vectors_pay
from cutelite.kernels.gemm.rates import kind_of
from cutelite.tune.compile import compile_all
from tests.bench.given import ahead, parser
from tests.bench.timing import Replay, cold, machine, medians, off

Size = tuple[int, int, int, str]
MAJORS = "K", "MN", "MN MN"
"""Of B where A is contiguous along K, and of both where both are along M and N."""
FP8 = "fp8", "fp8 rows"
"""In place of majors: both along K, with a scale for each tensor, or for each row of A and column of B."""
LARGEST, MOST = 1.1e12, 16_384
GRAPH_S, COLD_BYTES, ROUNDS, WARM_S = 3e-3, 100 << 20, 5, 0.1
BAR = 0.97
"""Of cuBLAS: no size is to have less."""


def sizes_of(count: int, seed: int, aligned: bool = False, fp8: bool = False) -> list[Size]:
    """Random (M, N, K), and the majors of A and B, of B alone where A's is K; `aligned`: all in multiples of 8.

    fp8  the same sizes with N and K in multiples of 16, and `FP8` for the majors
    """
    source, found = random.Random(seed), []

    def between(low: int, high: int) -> int:
        return min(high, int(math.exp(source.uniform(math.log(low), math.log(high + 1)))))

    for i in range(count):
        m, n, k = (between(32, MOST) if i % 3 == 1 else source.randint(1, MOST) for _ in range(3))
        if i % 3 == 0:
            m, n, k = between(1, 128), between(512, MOST), between(512, MOST)
            m, n = (n, m) if i % 4 == 3 else (m, n)
        k = min(k, max(64, int(LARGEST / m / n)))
        major = "MN MN" if i % 8 == 5 else "MN" if i % 4 == 2 else "K"
        if i % 2 or aligned:
            m, n, k = -(-m // 8) * 8 if aligned and major == "MN MN" else m, -(-n // 8) * 8, -(-k // 8) * 8
        found.append((m, -(-n // 16) * 16, -(-k // 16) * 16, FP8[i % 2]) if fp8 else (m, n, k, major))
    return found


def operands(m: int, n: int, k: int, major: str, make: Callable[..., Any] = torch.randn) -> tuple[Any, ...]:
    made = partial(make, device="cuda", dtype=torch.bfloat16)
    a = made(k, m).T if major == "MN MN" else made(m, k)
    b = made(k, n) if major.startswith("MN") else made(n, k).T
    if major in FP8:
        a, b = (x.to(torch.float8_e4m3fn) for x in (a, b))
    return a, b, torch.empty(m, n, device="cuda", dtype=torch.bfloat16)


def scales_of(size: Size) -> dict[str, Any]:
    """The scales of operands, as `gemm` takes them."""
    m, n, _, major = size
    shapes = {"fp8": ((), ()), "fp8 rows": ((m, 1), (1, n))}.get(major, ())
    made = (torch.rand(shape, device="cuda") + 0.5 for shape in shapes)
    return dict(zip(("scale_a", "scale_b"), made, strict=False))


def sets_of(size: Size, count: int | None = None, make: Callable[..., Any] = torch.randn) -> list[Any]:
    """Rotating operands, as `make` fills them, results and scales: so many that no cache holds them, or `count`."""
    scales = scales_of(size)
    return [(*operands(*size, make), scales) for _ in range(count or cold(bytes_of(size), COLD_BYTES, 24))]


def arguments_of(a: Any, b: Any, out: Any, scales: dict[str, Any]) -> tuple[Any, ...]:
    """What a configuration is picked for."""
    return arguments(a, b, out, fused_of(**scales))


def bytes_of(size: Size) -> int:
    m, n, k, major = size
    return (2 - (major in FP8)) * (m * k + n * k) + 2 * m * n


def said(config: Config) -> str:
    """The configuration as Python, without what is by default."""
    fields = ((name, getattr(config, name)) for name in Config.__dataclass_fields__)
    return f"Config({', '.join(f'{name}={value!r}' for name, value in fields if value != getattr(Config, name))})"


def firsts(configs: Iterable[Config]) -> Iterator[Config]:
    """The first of each kind: tiles that differ in more than their width."""
    seen = set()
    for config in configs:
        kind = kind_of(config), config.swapped, config.together, config.splits
        if kind not in seen:
            seen.add(kind)
            yield config


def calls_of(sets: list[Any], how: argparse.Namespace) -> dict[str, Callable[[int], Any]]:
    """The calls to be timed, by name, the pick first.

    how  what was asked for: the `best`, all that are expected to be `near` the best of these, and the first of each of
         some `kinds` of tile
    """
    a, b, out, scales = sets[0]
    if vectors_pay(a, b, out, fused_of(**scales)):
        return {"vectors": partial(ours, sets, None)}
    able = list(ranked(CONFIGS, *arguments_of(*sets[0])[:4]))
    near = takewhile(lambda each: each[0] <= how.near * able[0][0], able[how.best :])
    timed = [*able[: how.best], *near]
    kinds = islice(firsts(config for _, config in able), how.kinds)
    configs = dict.fromkeys([*(config for _, config in timed), *kinds])
    return {said(config): partial(ours, sets, config) for config in configs}


def ours(sets: list[Any], config: Config | None, i: int) -> Any:
    *given, scales = sets[i]
    return gemm(*given, config=config, **scales)


def tuned_of(sets: list[Any]) -> tuple[dict[str, Callable[[int], Any]], dict[str, Any]]:
    """The pick and what tuning finds, by name, and facts of that, such as how much longer the model had expected."""
    given = arguments_of(*sets[0])
    able = list(ranked(CONFIGS, *given[:4]))
    pick, found = able[0][1], picks.measured(*given)
    report = tuned.reports[-1]
    ran = {said(CONFIGS[i]): round(row.relative, 4) for i, row in enumerate(report.rows) if row.seconds}
    expected = next((us for us, config in able if config == found), math.inf) / able[0][0]
    spent = [round(seconds, 1) for seconds in (report.compile_seconds, report.timing_seconds)]
    facts = {"tuned": said(found), "expected": round(expected, 3), "s": spent, "race": ran}
    return {said(config): partial(ours, sets, config) for config in (pick, found)}, facts


def library(name: str, sets: list[Any], i: int) -> Any:
    a, b, out, scales = sets[i]
    if scales:
        by_tensor = {"out": out} if scales["scale_a"].ndim == 0 else {}  # by rows it takes no result to write to
        return torch._scaled_mm(a, b, **scales, out_dtype=torch.bfloat16, use_fast_accum=True, **by_tensor)
    torch.backends.cuda.preferred_blas_library(name)
    return torch.mm(a, b, out=out)


def exact(a: Any, b: Any, out: Any, scales: dict[str, Any]) -> torch.Tensor:
    """What the result should be, within what bf16 and fast accumulation lose."""
    if not scales:
        return torch.mm(a, b)
    return torch.mm(a.to(torch.bfloat16), b.to(torch.bfloat16)) * scales["scale_a"] * scales["scale_b"]


def timed_in_turns(size: Size, calls: dict[str, Callable[[int], Any]], sets: list[Any]) -> dict[str, float]:
    """Microseconds of each of `calls`, which take the number of a set (A, B, result); a wrong result is printed."""
    gc.collect()  # graphs of sizes before
    gc.freeze()  # else each graph of `timing` would look through all configurations again: a third of a second
    m, n, k, _ = size
    each, right = max(bytes_of(size) / 4e12, 2 * m * n * k / 7e14) + 3e-6, exact(*sets[0])
    trials = {}
    for name, call in calls.items():
        sets[0][2].fill_(math.nan)
        error = off(call(0), right)
        if not error < 1e-2:
            print(f"WRONG: {name} at {size}: relative error {error:.3g}", flush=True)
        trials[name] = Replay(call, len(sets), GRAPH_S, each)
    end = time.monotonic() + WARM_S  # clocks are as high as power allows only after a while, and picks are for those
    while time.monotonic() < end:
        for trial in trials.values():
            trial()
    return {name: round(1e6 * took, 3) for name, took in medians(trials, ROUNDS).items()}


def missed(paths: list[Path], bar: float) -> list[Size]:
    """The sizes of some files that had less than `bar` of cuBLAS, the worst first."""
    lines = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    behind = sorted((line for line in lines if ratios_of(line)[0] < bar), key=ratios_of)
    return [(*line["shape"], line["major"]) for line in behind]


def measured(size: Size, given: argparse.Namespace) -> dict[str, Any]:
    """A line: microseconds by configuration, and of cuBLAS."""
    *shape, major = size
    sets = sets_of(size)
    calls, facts = tuned_of(sets) if given.tuned else (calls_of(sets, given), {})
    compile_all([partial(call, 0) for call in calls.values()])
    for name in ("cublas",) if major in FP8 else ("cublas", "cublaslt"):
        calls[name] = partial(library, name, sets)
    return {"shape": shape, "major": major, "us": timed_in_turns(size, calls, sets), **facts}


def compile_part(sizes: list[Size], given: argparse.Namespace) -> None:
    """Compile what is timed of every so manieth size; of each size every so manieth candidate of tuning."""
    number, jobs = given.compile, given.jobs
    for size in sizes if given.tuned else sizes[number::jobs]:
        sets = sets_of(size, 1, torch.empty)
        if given.tuned:
            of = arguments_of(*sets[0])
            compile_all([partial(run, config, *of) for config in fitting(CONFIGS, *of)[number::jobs]], 2)
        else:
            compile_all([partial(call, 0) for call in calls_of(sets, given).values()], 2)
        print("compiled", flush=True)


def ratios_of(line: dict[str, Any], tell: bool = False) -> tuple[float, float]:
    """How many times cuBLAS takes the time of the pick, and of the best (of what tuning found) of a line.

    tell  print it
    """
    us = dict(line["us"])
    rival = min(us.pop(name, math.inf) for name in ("cublas", "cublaslt"))
    name = line.get("tuned") or min(us, key=lambda each: us[each])
    best = us[name]
    pick = next(iter(us.values()))
    if tell:
        print(f"{line['shape']} {line['major']}: cuBLAS {rival:.1f}, pick {pick:.1f} ({rival / pick:.3f}),"
              f" best {best:.1f} ({rival / best:.3f}) {name}", flush=True)  # fmt: skip
    return rival / pick, rival / best


def ratios(found: list[tuple[float, float]]) -> str:
    """In words, what the ratios come to."""
    kinds = []
    for what, of in zip(("picks", "best"), zip(*found, strict=True), strict=bool(found)):
        mean = math.exp(statistics.mean(map(math.log, of)))
        kinds.append(f"{what}: geometric mean {mean:.3f}, {sum(x < BAR for x in of)} below {BAR}, least {min(of):.3f}")
    return f"{len(found)} sizes; " + "; ".join(kinds)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("path", type=Path)
    asked.add_argument("--shapes", type=int, default=60)
    asked.add_argument("--after", type=int, default=0, help="sizes that are left out, the first ones")
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--seconds", type=float, default=60.0)
    asked.add_argument("--best", type=int, default=4, help="configurations to be timed")
    asked.add_argument("--near", type=float, default=0.0, help="and those expected to take so many times the best")
    asked.add_argument("--jobs", type=int, default=0, help="processes that compile ahead of what is timed")
    asked.add_argument("--majors", nargs="+", default=list(MAJORS), choices=MAJORS, help="of A and B, or of B alone")
    asked.add_argument("--aligned", action="store_true", help="N and K of all sizes are multiples of 8")
    asked.add_argument("--fp8", action="store_true", help="operands of e4m3, N and K multiples of 16")
    asked.add_argument("--sizes", nargs="+", default=[], help="these instead: 6144x4096x16384, of each of the majors")
    asked.add_argument("--kinds", type=int, default=0, help="configurations besides, the first of each kind of tile")
    asked.add_argument("--missed", type=Path, nargs="+", help="these sizes: those that files have behind cuBLAS")
    asked.add_argument("--bar", type=float, default=BAR, help="what `--missed` sizes had less than, of cuBLAS")
    asked.add_argument("--tuned", action="store_true", help="time the pick and what tuning finds")
    asked.add_argument("--compile", type=int, help=argparse.SUPPRESS)
    given, start = asked.parse_args(), time.monotonic()
    every = sizes_of(given.shapes, given.seed, given.aligned, given.fp8)
    sizes = [size for size in every if given.fp8 or size[3] in given.majors]
    sizes = sizes[given.after :]
    if given.sizes:
        wanted = [[int(extent) for extent in text.split("x")] for text in given.sizes]
        sizes = [(m, n, k, major) for m, n, k in wanted for major in (FP8 if given.fp8 else given.majors)]
    sizes = missed(given.missed, given.bar)[given.after :] if given.missed else sizes
    if given.compile is not None:
        compile_part(sizes, given)
        return
    print(machine(), flush=True)
    compiling = ahead(given.jobs)
    found, failed = [], 0
    with given.path.open("w") as file:
        for number, size in enumerate(sizes):
            for each in compiling if given.tuned or not compiling else [compiling[number % given.jobs]]:
                if each.stdout is not None:
                    each.stdout.readline()  # this size is compiled, or the process has ended
            if time.monotonic() - start > given.seconds:
                break
            try:
                line = measured(size, given)
            except cl.CompileError as error:
                print(f"FAILED: {size}: {error}", flush=True)
                failed += 1
                continue
            file.write(json.dumps(line) + "\n")
            file.flush()
            found.append(ratios_of(line, tell=True))
    for each in compiling:
        each.terminate()
    print(f"{ratios(found)}; {failed} failed; {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
