"""The GEMMs of the tutorial, an example, the library's and cuBLAS's, in one run: TFLOP/s, and whether they are right.

    python tests/bench/tutorial.py

Needs a GPU and torch. Timed by `cl.do_bench`, over rotating operands.
"""

import runpy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

import cutelite as cl
from cutelite.kernels.gemm import gemm as library
from tests.bench.given import ROOT, example, parser
from tests.bench.rotating import rotating
from tests.bench.timing import machine, off

COPIES = 3  # of the operands, more than L2 holds


def step(name: str) -> Any:
    """What a step of the tutorial defines."""
    return runpy.run_path(str(ROOT / "docs" / "tutorial" / name))


def rivals(size: int) -> dict[str, Callable[[int], Any]]:
    a = [torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(COPIES)]
    b = [torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(COPIES)]
    c = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)
    wide = torch.empty(size, size, device="cuda")
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    nine, ten = step("09_pipelines.py"), step("10_gemm.py")

    def check(result: Any) -> None:
        exact = a[0].double() @ b[0].double().T
        assert off(result, exact) < 5e-3, off(result, exact)

    def last(i: int) -> None:
        nine["gemm"][(size // nine["BM"], size // nine["BN"]), nine["THREADS"]](a[i % COPIES], b[i % COPIES], wide)

    def persistent(module: Any, i: int) -> None:
        kernel, tiles = module["gemm"], -(-size // module["BM"]) * -(-size // module["BN"])
        kernel[min(processors, tiles), module["THREADS"]](a[i % COPIES], b[i % COPIES], c)

    calls: dict[str, Callable[[int], Any]] = {
        "step 9": last,
        "example": partial(persistent, vars(example("hopper_gemm_tiled"))),
        "step 10": partial(persistent, ten),
        "library": lambda i: library(a[i % COPIES], b[i % COPIES].T, c),
        "cuBLAS": lambda i: torch.mm(a[i % COPIES], b[i % COPIES].T, out=c),
    }
    for name, call in calls.items():
        c.fill_(float("nan"))
        wide.fill_(float("nan"))
        call(0)
        check(wide if name == "step 9" else c)
    return calls


def main() -> None:
    parser(__doc__).parse_args()
    print(f"{machine()}: bf16, TFLOP/s, of cuBLAS")
    for size in (2048, 4096, 8192):
        calls = rivals(size)
        timings = cl.do_bench(rotating(calls, COPIES), cache="warm", graph=True)
        rates = {name: timing.rate(2 * size**3) / 1e12 for name, timing in timings.items()}
        print(size, "  ".join(f"{name} {rate:.0f} ({rate / rates['cuBLAS']:.3f})" for name, rate in rates.items()))


if __name__ == "__main__":
    main()
