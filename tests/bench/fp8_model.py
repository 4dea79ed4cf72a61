"""Times of configurations of the block-scaled fp8 GEMM at sizes of real models, beside torch; and how its model picks.

    python tests/bench/fp8_model.py times.jsonl [--seconds 70] [--seed 1]       # on a GPU; sizes by chance: --random
    python tests/bench/fp8_model.py times.jsonl --picks                         # anywhere: needs no torch
    python tests/bench/fp8_model.py times.jsonl --fit                           # likewise

Rows are those of decoding to prefill, matrices those of DeepSeek-V3, of Qwen 2.5 and 3, and parts of them that tensor
parallelism leaves. Calls are in CUDA graphs over rotating operands, in turns. `--picks` prints how much longer than the
fastest configuration the picks of `cutelite.kernels.gemm.fp8_configs` take; `--fit` fits its numbers to the times, the
near ones of a size more than the others, from where they are, and prints both.
"""

import gc
import json
import math
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cutelite.kernels.gemm.fp8_configs import CONFIGS, NUMBERS, RATES, Config, Numbers, Rates, microseconds
from tests.bench.gemm_fit import least_squares
from tests.bench.given import parser

ROWS = 1, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3000, 4096, 8192, 16384
MATRICES = (
    (1536, 7168), (576, 7168), (2112, 7168), (24576, 1536), (32768, 512), (7168, 16384), (36864, 7168), (7168, 18432),
    (4096, 7168), (7168, 2048), (4608, 7168), (7168, 2304), (3072, 1536), (7168, 1024), (6144, 4096), (4096, 4096),
    (24576, 4096), (4096, 12288), (10240, 5120), (5120, 8192), (51200, 5120), (5120, 25600), (5120, 2048), (2048, 4096),
    (9216, 4096), (4096, 8192), (1280, 5120), (5120, 3200), (1536, 2048), (2048, 768),
)  # fmt: skip
"""(N, K): the first fourteen are DeepSeek-V3's."""
LARGEST, GRAPH_S, ROUNDS, BLOCKS = 7e11, 0.6e-3, 4, 132
NEAR, MOST = 1.5, 12
"""Times the shortest time that is expected, beyond which nothing is timed; and how many are, by chance, at most."""


def sizes(seed: int, chance: bool = False) -> list[tuple[int, int, int]]:
    """All sizes, in an order by chance; `chance`: 500 others, N a multiple of 64 and K of 512."""
    source = random.Random(seed)

    def some(most: int) -> int:
        return int(most ** source.random())

    if chance:
        found = [(some(16384), 64 * some(256), 512 * some(32)) for _ in range(500)]
    else:
        found = [(m, n, k) for m in ROWS for n, k in MATRICES]
    found = [(m, n, k) for m, n, k in found if m * n * k <= LARGEST]
    source.shuffle(found)
    return found


def candidates(m: int, n: int, k: int) -> list[Config]:
    """The configuration that should be the fastest, and others that are not hopeless, by chance."""
    able = [c for c in CONFIGS if c.divided(m, n, k, BLOCKS)[2] == c.splits]
    times = {c: microseconds(c, m, n, k, BLOCKS) for c in able}
    first, *others = sorted(able, key=times.__getitem__)
    near = [c for c in others if times[c] <= NEAR * times[first]]
    return [first, *random.Random(m * n + k).sample(near, min(len(near), MOST - 1))]


def text(config: Config) -> str:
    """A configuration in few words: rows and columns of its tiles, and splits."""
    return f"{config.rows} x {config.columns} / {config.splits}"


def timed(m: int, n: int, k: int) -> dict[str, float]:
    """Microseconds of `candidates`, by their text, and of torch."""
    import torch

    from cutelite.kernels.gemm import fp8_block
    from cutelite.tune.compile import compile_all
    from tests.bench.timing import Replay, cold, medians

    buffers, blocks = cold(m * k + n * k, most=16), -(-k // 128)
    a, b = ([torch.randn(x, k, device="cuda").to(torch.float8_e4m3fn) for _ in range(buffers)] for x in (m, n))
    scale_a = [(torch.rand(blocks, -(-m // 4) * 4, device="cuda") + 0.5).T[:m] for _ in range(buffers)]
    scale_b = [torch.rand(-(-n // 128), blocks, device="cuda") + 0.5 for _ in range(buffers)]
    out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)

    def ours(i: int, config: Any) -> None:  # not by `gemm`, which would plan the calls of each configuration
        of_b = (scale_b[i], None) if blocks % 2 == 0 else (None, scale_b[i])
        fp8_block.run(config, a[i], b[i], out, scale_a[i].T, None, *of_b)

    def torchs(i: int) -> None:
        torch._scaled_mm(
            a[i], b[i].T, scale_a=scale_a[i], scale_b=scale_b[i].T, out_dtype=torch.bfloat16, use_fast_accum=False
        )

    calls: dict[str, Callable[[int], None]] = {
        text(config): partial(ours, config=config) for config in candidates(m, n, k)
    }
    for name, outcome in zip(list(calls), compile_all([partial(call, 0) for call in calls.values()]), strict=True):
        if outcome.error is not None:
            raise RuntimeError(name) from outcome.error
    if m > 1:  # torch refuses one row
        calls["torch"] = torchs
    each = max(2 * m * n * k / 1e15, (m * k + n * k) / 4e12) + 3e-6
    found = medians({name: Replay(call, buffers, GRAPH_S, each) for name, call in calls.items()}, ROUNDS)
    return {name: round(1e6 * seconds, 2) for name, seconds in found.items()}


Model = tuple[Rates, Numbers]


def picked(line: dict[str, Any], model: Model = (RATES, NUMBERS)) -> tuple[float, float, str]:
    """Of one size's times: how many times as long as the fastest the pick takes, torch's time by the pick's, and which.

    What was not timed is not picked.
    """
    times = {name: us for name, us in line["us"].items() if name != "torch"}
    able = [config for config in CONFIGS if text(config) in times]
    m, n, k = line["shape"]
    pick = text(min(able, key=lambda config: microseconds(config, m, n, k, BLOCKS, *model)))
    return times[pick] / min(times.values()), line["us"].get("torch", math.nan) / times[pick], pick


def fit(lines: list[dict[str, Any]], steps: int = 20) -> Model:
    """The numbers of the model for which relative errors have the least sum of squares.

    An error counts by how near a time is to the least of its size, which is what decides; and a logarithm of a number
    that moves by 1 as much as one of `HELD`, so that what no size tells stays where it is.
    """
    of = {text(config): config for config in CONFIGS}
    known = [(line["shape"], {of[name]: us for name, us in line["us"].items() if name in of}) for line in lines]
    times = np.array([us for _, timed in known for us in timed.values()])
    least = np.array([min(timed.values()) for _, timed in known for _ in timed])
    start = np.log([*NUMBERS, *(number for rates in RATES.values() for number in rates)])

    def model(at: Any) -> Model:
        numbers, rates = np.split(np.exp(at), [len(NUMBERS)])
        return dict(zip(RATES, map(tuple, rates.reshape(-1, 2).tolist()), strict=True)), Numbers(*numbers.tolist())

    def off(at: Any) -> tuple[Any, Any]:
        rates, numbers = model(at)
        found = np.array(
            [microseconds(config, m, n, k, BLOCKS, rates, numbers) for (m, n, k), timed in known for config in timed]
        )
        errors = np.concatenate([(least / times) ** 2 * np.log(found / times), HELD * (at - start)])
        return errors, errors

    def slopes(at: Any, errors: Any, step: float = 1e-6) -> Any:
        return np.stack([(off(at + step * each)[0] - errors) / step for each in np.eye(len(at))], 1)

    return model(least_squares(start, steps, off, slopes))


HELD = 0.1
"""The pull that keeps numbers where they are, as `gemm_fit` has it."""


def show(lines: list[dict[str, Any]], model: Model = (RATES, NUMBERS)) -> None:
    """Print the picks that are not the fastest, and means."""
    found = [(*picked(line, model), line["shape"]) for line in lines]
    for regret, over, pick, shape in sorted(found, key=lambda each: -each[0]):
        if regret > 1.03:
            print(f"{shape!s:22} {regret:.3f}, {over:.3f} of torch: {pick}")
    regrets, ratios = [each[0] for each in found], [each[1] for each in found]
    for name, of in ("of the fastest's time", regrets), ("as fast as torch", ratios):
        logs = [math.log(x) for x in of if not math.isnan(x)]
        mean, least, most = (math.exp(x) for x in (sum(logs) / len(logs), min(logs), max(logs)))
        print(f"{len(logs)} sizes: {mean:.4f} {name}, {least:.3f} to {most:.3f}")


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("times", type=Path)
    asked.add_argument("--seconds", type=float, default=70)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--random", action="store_true", help="other sizes than those of models")
    asked.add_argument("--picks", action="store_true")
    asked.add_argument("--fit", action="store_true")
    given = asked.parse_args()
    if given.picks or given.fit:
        lines = [json.loads(line) for line in given.times.read_text().splitlines()]
        show(lines)
        if given.fit:
            fitted = fit(lines)
            show(lines, fitted)
            for key, of in [*fitted[0].items(), *fitted[1]._asdict().items()]:
                print(f"    {key}:", *(f"{number:.4g}" for number in np.atleast_1d(of)))
        return
    start = time.monotonic()
    gc.freeze()
    with given.times.open("a") as file:
        for shape in sizes(given.seed, given.random):
            if time.monotonic() - start > given.seconds:
                break
            line = {"shape": shape, "us": timed(*shape)}
            print(json.dumps(line), file=file, flush=True)
            print(*shape, *"{:.3f} of the fastest, {:.3f} of torch, {}".format(*picked(line)).split(), flush=True)


if __name__ == "__main__":
    main()
