"""`cutelite demo`: a GEMM compiled, looked at, run and compared, on a GPU through torch or in the simulator."""

from __future__ import annotations

import importlib
from time import perf_counter
from typing import Any

import ml_dtypes
import numpy as np

import cutelite as cl
from cutelite.kernels.gemm import Config, gemm, reference
from cutelite.kernels.gemm.call import arguments
from cutelite.kernels.gemm.dense import build

CONFIG = Config((128, 128), pingpong=True, cluster=(1, 2), stages=5)
SMALL, LARGE = (200, 264, 136), (4096, 4096, 4096)
MOST_ERROR = 5e-3
"""In the Frobenius norm, relative to the result; bf16 has eight bits."""


def main() -> int:
    """Print each step. Return 0, or 1 where a result is wrong."""
    torch = _torch_on_gpu()
    place = torch.cuda.get_device_name(0) if torch else "the simulator"
    print("d = a @ b in bf16 for Hopper: TMA into a ring of shared memory, mbarriers, wgmma.")
    a, b, d = _operands(SMALL, None)
    problem, *operands, _, _ = arguments(a, b, d, cl.Fused())
    rest = dict.fromkeys(("c", "bias", "scale_a", "scale_b", "more", "ends", "plain", "ahead", "parts"))
    compiled = build(CONFIG, problem).compile(*operands, **rest, alpha=1.0, beta=0.0, arch="sm_90a")
    print("compiled" + (", and found in the disk cache; compiled once more" if compiled.cached else "") + ":")
    for stage, seconds in compiled.build.times.items():
        print(f"  {stage:10}{seconds * 1e3:7.1f} ms")
    print(f"  {compiled!r}")
    for shape in (SMALL, LARGE) if torch else (SMALL,):
        start = perf_counter()
        error = _error(shape, torch)
        m, n, k = shape
        if not error <= MOST_ERROR:
            print(f"gemm {m} x {n} x {k}: WRONG, relative error {error:.3g}, on {place}")
            return 1
        taken = perf_counter() - start
        print(f"gemm {m} x {n} x {k}: relative error {error:.1e}, on {place}; {taken:.2f} s, NumPy's check included")
    return 0


def _torch_on_gpu() -> Any:
    """The torch module if it is installed and sees a GPU, else None."""
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def _operands(shape: tuple[int, int, int], torch: Any) -> tuple[Any, Any, Any]:
    """Random matrices, the second one contiguous along K, and a result full of NaN."""
    m, n, k = shape
    numbers = np.random.default_rng(1)
    found = [numbers.standard_normal(of, dtype=np.float32) for of in ((m, k), (n, k))]
    found.append(np.full((m, n), np.nan, np.float32))
    if torch:
        a, b, d = (torch.from_numpy(x).cuda().bfloat16() for x in found)
    else:
        a, b, d = (x.astype(ml_dtypes.bfloat16) for x in found)
    return a, b.T, d


def _error(shape: tuple[int, int, int], torch: Any) -> float:
    """Run the GEMM, and return its error relative to the result."""
    a, b, d = _operands(shape, torch)
    gemm(a, b, d, config=CONFIG)
    if torch:
        a, b, d = (x.float().cpu().numpy() for x in (a, b, d))
    expected = reference(a, b)
    return float(np.linalg.norm(d.astype(np.float64) - expected) / np.linalg.norm(expected))
