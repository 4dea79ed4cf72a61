"""Rates of large GEMMs that last, and the energy that they take: the card's power is the bound, and not short bursts.

    python tests/bench/gemm_energy.py [--sizes 16384x28672x4096:K ...] [--seconds 0.4] [--near 1.06] [--out FILE]

Each configuration that the model has within `near` of its best, and cuBLAS, runs alone for so long, by graphs over
rotating operands; the last half of it counts. Watts are the energy counter's (NVML) over that time. What the card does
at its limit is joules a call.
"""

from __future__ import annotations

import ctypes
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

from cutelite.kernels.gemm import CONFIGS, dense
from cutelite.kernels.gemm.call import arguments, fused_of
from cutelite.kernels.gemm.configs import swapped
from cutelite.kernels.gemm.model import Sizes
from cutelite.tune.compile import compile_all
from tests.bench.gemm_model import near_to, operands, said
from tests.bench.given import parser
from tests.bench.timing import graph

SIZES = (
    "16384x28672x4096:K", "16384x4096x28672:MN", "28672x4096x16384:MN MN", "1792x128256x4096:K", "1792x4096x128256:MN",
    "128256x4096x1792:MN MN",
)  # fmt: skip
"""GEMMs of training an 8B Llama on 16384 tokens: a layer's largest with its gradients, and the head's, in parts."""
WIDE = (160, 256), (176, 256), (192, 128), (224, 128), (256, 128)
LARGE = [
    *(config for config in CONFIGS[:14] if config.tile[0] * config.tile[1] > 16_000),
    *(swapped(rows, columns, cluster=2) for rows, columns in WIDE),
    *(swapped(rows, 128, True, 2) for rows in (128, 160, 192)),
]
BURST_S, SETS = 20e-3, 3


def joules() -> float:
    """What the first GPU has taken since its driver was loaded."""
    counted = ctypes.c_ulonglong()
    library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(counted))
    return counted.value * 1e-3


def sustained(call: Any, count: int, seconds: float) -> tuple[float, float]:
    """Seconds and joules of a call that is repeated, in the second half of `seconds` seconds."""
    captured, found = graph(call, SETS, count), []
    for _ in range(2):
        start, before, calls = time.perf_counter(), joules(), 0
        while time.perf_counter() - start < seconds / 2:
            captured.replay()
            torch.cuda.synchronize()
            calls += count
        found.append(((time.perf_counter() - start) / calls, (joules() - before) / calls))
    return found[-1]


def measured(size: str, seconds: float, near: float) -> dict[str, Any]:
    """A line: seconds and joules of a call by configuration."""
    extents, _, major = size.partition(":")
    m, n, k = map(int, extents.split("x"))
    sets = [operands(m, n, k, major) for _ in range(SETS)]
    given = [arguments(a, b, d, fused_of()) for a, b, d in sets]
    configs = near_to(given[0][0], Sizes(m, n, k, 1), near, LARGE)
    calls: dict[str, Any] = {"cublas": lambda i: torch.mm(sets[i][0], sets[i][1], out=sets[i][2])}
    calls |= {said(config): partial(lambda config, i: dense.run(config, *given[i]), config) for config in configs}
    compile_all([partial(call, 0) for name, call in calls.items() if name != "cublas"])
    count = max(SETS, int(BURST_S / (2 * m * n * k / 7e14)))
    found = {name: sustained(call, count, seconds) for name, call in calls.items()}
    for name, (took, energy) in sorted(found.items(), key=lambda row: row[1]):
        print(
            f"{size} {2e-12 * m * n * k / took:6.0f} TFLOP/s {energy / took:5.0f} W {energy:7.3f} J {name}", flush=True
        )
    return {"shape": [m, n, k], "major": major, "found": found}


if __name__ == "__main__":
    asked = parser(__doc__)
    asked.add_argument("--sizes", nargs="+", default=SIZES)
    asked.add_argument("--seconds", type=float, default=0.4)
    asked.add_argument("--near", type=float, default=2.0)
    asked.add_argument("--out", type=Path)
    options = asked.parse_args()
    library, device = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
    library.nvmlInit_v2()
    library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))
    for size in options.sizes:
        line = measured(size, options.seconds, options.near)
        if options.out:
            with options.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
