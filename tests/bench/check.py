"""How long a check takes: `python tests/bench/check.py [NAME ...]`. One schedule each; seconds of one core, and memory.

hopper_gemm is the GEMM of 128 x 128 x 64 tiles and 4 stages on 256 x 256 x 256. The first call of each compiles it for
the simulator, and simulates it once.
"""

import contextlib
import functools
import importlib
import io
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from tests.bench import given

EXAMPLES_ALONE = ("hopper_gemm_tiled", "softmax", "reduction", "tensorop_gemm", "matmul_simt")


def seconds(call: Callable[[], object], seed: int) -> tuple[float, float]:
    """Of a check of what a call launches, once it is compiled, and of the simulation alone."""
    from cutelite.dispatch.checking import each_launch

    started = time.process_time()
    call()
    alone = time.process_time() - started
    started = time.process_time()
    for report in each_launch(call, None, lambda made: made.check(seeds=[seed], notes=False)):
        report.raise_if_wrong()
    return time.process_time() - started, alone


def example(name: str, *arguments: int) -> None:
    """Call an example's `main`, which prints nothing here."""
    module = narrow_gemm() if name == "hopper_gemm" else given.example(name)
    with contextlib.redirect_stdout(io.StringIO()):
        module.main(*arguments)


def library_gemm() -> None:
    """Call the library's GEMM on 256 x 256 x 256, in a configuration that stays when picks change."""
    from cutelite.kernels.gemm import gemm
    from cutelite.kernels.gemm.configs import Config

    config = Config((64, 64), pingpong=True, cluster=(1, 4), stages=10, buffers=1)
    gemm(bf16(256, 256), bf16(256, 256), config=config)


def library_attention() -> None:
    """Call the library's attention: two heads of 64, 256 queries and keys, causal."""
    from cutelite.kernels.attention import attention

    attention(*(bf16(1, 256, 2, 64) for _ in range(3)), causal=True)


def bf16(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(ml_dtypes.bfloat16)


@functools.cache
def narrow_gemm() -> ModuleType:
    """The Hopper GEMM with tiles of 128 columns instead of 256."""
    given.example("common")  # which it imports
    text = (given.EXAMPLES / "hopper_gemm.py").read_text()
    folder = Path(tempfile.mkdtemp())
    (folder / "narrow_gemm.py").write_text(text.replace("BM, BN, BK = 128, 256, 64", "BM, BN, BK = 128, 128, 64"))
    sys.path.insert(0, str(folder))
    return importlib.import_module("narrow_gemm")


CALLS: dict[str, Callable[[], object]] = {
    "hopper_gemm": functools.partial(example, "hopper_gemm", 256, 256, 256),
    **{name: functools.partial(example, name) for name in EXAMPLES_ALONE},
    "kernels.gemm": library_gemm,
    "kernels.attention": library_attention,
}


if __name__ == "__main__":
    asked = given.parser(__doc__)
    asked.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CALLS))
    names = asked.parse_args().names
    if unknown := {*names} - {*CALLS}:
        asked.error(f"there is no {', '.join(unknown)}")
    print("call: seconds of the first; seed: seconds of a check; of a simulation under seed 0")
    for name in names or CALLS:
        started = time.process_time()
        CALLS[name]()
        print(f"{name:20}    {time.process_time() - started:6.2f}", flush=True)
        for seed in (0, 1, 2):
            checked, alone = seconds(CALLS[name], seed)
            print(f"{'':20} {seed}: {checked:6.2f}  {alone:6.2f}", flush=True)
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
