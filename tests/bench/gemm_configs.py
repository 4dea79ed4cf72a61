"""Every configuration of the GEMM against cuBLAS: TFLOP/s and ratios, the fastest first.

python tests/bench/gemm_configs.py [--sets large,skinny] [--rounds N]
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import torch

from cutelite.kernels.gemm import CONFIGS, Config, gemm
from cutelite.kernels.gemm.call import arguments, fused_of
from cutelite.kernels.gemm.fits import made_for
from tests.bench.gemm_cases import Case, Inputs, error, expected, inputs, poisoned, sets
from tests.bench.gemm_rivals import RIVALS
from tests.bench.given import parser
from tests.bench.timing import Replay, rounds

MOST_ERROR = 1e-2


def sweep(case: Case, count: int) -> dict[str, float]:
    """Median seconds of cuBLAS, and of every configuration that can be had and is right."""
    of = inputs(case)
    right = expected(of)
    calls = {"cuBLAS": RIVALS["cublas"](of).call}
    problem, *_ = arguments(of.a[0], of.b[0], of.out[0], fused_of(scale_a=of.scale_a, scale_b=of.scale_b))
    for config in CONFIGS:
        if not made_for(config, problem):
            continue
        of.out[0].copy_(poisoned(case))
        calls[str(config)] = _call(of, config)
        calls[str(config)](0)
        torch.cuda.synchronize()
        if not error(of.out[0], right) < MOST_ERROR:
            print(f"{case}: {config} is WRONG")
            del calls[str(config)]
    times = rounds({name: Replay(call, of.count, 4e-3, case.seconds) for name, call in calls.items()}, count)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def _call(of: Inputs, config: Config) -> Callable[[int], Any]:
    how: dict[str, Any] = {"scale_a": of.scale_a, "scale_b": of.scale_b}
    return lambda i: gemm(of.a[i], of.b[i], of.out[i], config=config, **how)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--sets", default="large,skinny")
    asked.add_argument("--rounds", type=int, default=7)
    given = asked.parse_args()
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    for name in given.sets.split(","):
        for case in sets()[name]:
            found = sweep(case, given.rounds)
            print(f"{case}: cuBLAS {case.flops / found['cuBLAS'] / 1e12:.0f}")
            for config, seconds in sorted(found.items(), key=lambda pair: pair[1]):
                rate, ratio = case.flops / seconds / 1e12, found["cuBLAS"] / seconds
                print(f"    {rate:5.0f}  {ratio:.3f}  {config}", flush=True)


if __name__ == "__main__":
    main()
