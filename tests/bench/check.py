"""How long a check takes: `python tests/bench/check.py`. One schedule each, by seed; seconds of one core, and memory.

The first is the GEMM of 128 x 128 x 64 tiles and 4 stages on 256 x 256 x 256.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import resource
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))


def seconds(name: str, seed: int, *arguments: int) -> tuple[float, float]:
    """Of a check of what an example's `main` launches, and of the simulation alone."""
    from cutelite.dispatch.checking import Asked, each_launch

    example = narrow_gemm() if name == "hopper_gemm" else importlib.import_module(name)

    def main() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            example.main(*arguments)

    main()  # compiles
    started = time.process_time()
    main()
    alone = time.process_time() - started
    started = time.process_time()
    for report in each_launch(main, None, lambda call: call.check(Asked([seed], None, False))):
        report.raise_if_wrong()
    return time.process_time() - started, alone


@functools.cache
def narrow_gemm() -> ModuleType:
    """The Hopper GEMM with tiles of 128 columns instead of 256."""
    text = (EXAMPLES / "hopper_gemm.py").read_text()
    folder = Path(tempfile.mkdtemp())
    (folder / "narrow_gemm.py").write_text(text.replace("BM, BN, BK = 128, 256, 64", "BM, BN, BK = 128, 128, 64"))
    sys.path.insert(0, str(folder))
    return importlib.import_module("narrow_gemm")


if __name__ == "__main__":
    print("example, seed: seconds of a check; of a simulation under seed 0")
    for name, *arguments in (("hopper_gemm", 256, 256, 256), ("hopper_gemm_tiled",), ("softmax",), ("reduction",),
                             ("tensorop_gemm",), ("matmul_simt",)):  # fmt: skip
        for seed in (0, 1, 2):
            checked, alone = seconds(str(name), seed, *map(int, arguments))
            print(f"{name:20} {seed}: {checked:6.2f}  {alone:6.2f}", flush=True)
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
