"""How long tuning takes: 20 configs of a Hopper GEMM, from nothing compiled to the winner, and its parts.

    python tests/bench/autotune.py [M N K]

Without a GPU the compiles alone are timed, by jobs. The configs are the GEMM of examples/hopper_gemm_tiled.py with
other tiles, stages and bands.
"""

import functools
import itertools
import os
import tempfile
import time
from typing import Any

import ml_dtypes
import numpy as np

import cutelite as cl
from cutelite.dispatch import Kernel
from cutelite.tune.compile import compile_all
from tests.bench.given import EXAMPLES, example, words

CONFIGS = [
    cl.Config(bn=bn, stages=stages, band=band)
    for bn, stages, band in itertools.product((256, 192, 128, 64), (3, 2, 4, 6), (8, 1))
    if (128 + bn) * 128 * stages + 256 * bn <= 227 << 10  # bytes of shared memory
][:20]
SOURCE = EXAMPLES / "hopper_gemm_tiled.py"


def variant(config: cl.Config) -> dict[str, Any]:
    """The example as a module of other constants."""
    example("common")  # which it imports
    text = SOURCE.read_text()
    for old, new in (
        ("BM, BN, BK = 128, 256, 64", f"BM, BN, BK = 128, {config.bn}, 64"),
        ("STAGES = 3", f"STAGES = {config.stages}"),
        ("swizzle=8", f"swizzle={config.band}"),
    ):
        assert old in text, f"{SOURCE.name} no longer has {old!r}"
        text = text.replace(old, new)
    module: dict[str, Any] = {"__name__": "tiled"}
    exec(compile(text, str(SOURCE), "exec", dont_inherit=True), module)
    return module


KERNELS: list[Kernel] = [variant(config)["gemm"] for config in CONFIGS]


def gemm(number: int, a: Any, b: Any, c: Any) -> None:
    """c = a @ b.T by the config of that number."""
    tiles = cl.ceil_div(a.shape[0], 128) * cl.ceil_div(b.shape[0], CONFIGS[number].bn)
    KERNELS[number][min(132, tiles), 384](a, b, c)


def compiles() -> None:
    """All of them from nothing, by the number of threads."""
    KERNELS[0].compile()  # what a process pays once
    arrays = [np.empty((4096, 4096), ml_dtypes.bfloat16) for _ in range(3)]
    for jobs in (1, 2, 4, 8, 16):
        os.environ["CUTELITE_CACHE_DIR"] = tempfile.mkdtemp()
        fresh = [Kernel(kernel.__cutelite_function__, kernel.given, kernel.block) for kernel in KERNELS]
        start, cpu = time.perf_counter(), time.process_time()
        outcomes = compile_all([functools.partial(kernel[132, 384], *arrays) for kernel in fresh], jobs)
        seconds = time.perf_counter() - start
        assert not [outcome.error for outcome in outcomes if outcome.error]
        times = [kernel.times for outcome in outcomes for kernel in outcome.kernels]
        stages = {stage: round(sum(each[stage] for each in times) * 1e3) for stage in times[0]}
        print(
            f"{jobs:2} jobs: {seconds:.2f} s, {time.process_time() - cpu:.2f} s of them in this process; ms: {stages}"
        )


def tuning(m: int, n: int, k: int) -> None:
    """From nothing to the winner; then another shape, whose kernels are compiled."""
    import torch

    os.environ["CUTELITE_CACHE_DIR"] = tempfile.mkdtemp()
    os.environ["CUTELITE_AUTOTUNE_REPORT"] = "1"
    tuned = cl.autotune(range(len(CONFIGS)))(gemm)
    for rows in (m, 2 * m):
        a, b = (torch.randn(x, k, device="cuda", dtype=torch.bfloat16) for x in (rows, n))
        c = torch.full((rows, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        torch.cuda.synchronize()
        start = time.perf_counter()
        number = tuned.config_for(a, b, c)
        print(f"{rows} x {n} x {k}: {time.perf_counter() - start:.2f} s, {CONFIGS[number]}")
        c.fill_(float("nan"))
        tuned(a, b, c)
        assert torch.allclose(c.float(), (a @ b.T).float(), rtol=2e-2, atol=1.0)
        start = time.perf_counter()
        for _ in range(1000):
            tuned.config_for(a, b, c)
        print(f"a call of a known config costs {(time.perf_counter() - start) * 1e3:.1f} us more than the function")


def main() -> None:
    m, n, k = words(__doc__, "N") or (4096, 4096, 4096)
    print(f"{len(CONFIGS)} configs, {len(os.sched_getaffinity(0))} CPUs")
    compiles()
    try:
        import torch
    except ImportError:
        return
    if torch.cuda.is_available():
        tuning(m, n, k)


if __name__ == "__main__":
    main()
