"""Compile times of Blackwell's kernels beside Hopper's: ``CUTELITE_CACHE=0 python tests/bench/blackwell.py``.

Seconds of CPU of one first compile, of the process and of ptxas together, and of the process alone: of each library's
GEMM in bf16, and of attention, causal, with heads of 128. A small kernel is compiled for both targets before, so that
LLVM has started; with --cold it is not, and the GEMM that comes first is compiled alone, since it pays for modules and
LLVM: run it for both. Then a GEMM of 512 x 512 x 512 in the simulator.

--hopper-first  compile Hopper's before Blackwell's
--cold          compile nothing before, and one GEMM alone
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.dispatch.divert import diverted
from cutelite.kernels.attention.call import attention
from cutelite.kernels.blackwell import attention_call, call, configs
from cutelite.kernels.gemm import Config, gemm
from tests.bench.given import parser

Row = tuple[str, Callable[[], Any], str]


@cl.kernel(block=32)
def first(x: Tensor[f32, (32,)]) -> None:
    x[cl.thread_idx.x] = 1.0


def compiling(run: Callable[[], Any], arch: str) -> Callable[[], Any]:
    """The compile of the first kernel that `run` launches."""
    found: list[Callable[[], Any]] = []

    def take(kernel: Any, launch: Any, args: Any, kwargs: Any) -> None:
        found.append(lambda: kernel.compile(*args, **kwargs, arch=arch))

    with diverted(take):
        run()
    return found[0]


def seconds(call: Callable[[], Any]) -> tuple[float, float]:
    """CPU time of a call: of this process and its children, and of this process."""
    before = os.times()
    call()
    after = os.times()
    return sum(after[:4]) - sum(before[:4]), sum(after[:2]) - sum(before[:2])


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--hopper-first", action="store_true")
    asked.add_argument("--cold", action="store_true")
    options = asked.parse_args()
    a = np.ones((512, 512), ml_dtypes.bfloat16)
    q = np.ones((1, 512, 2, 128), ml_dtypes.bfloat16)
    pairs: list[tuple[Row, Row]] = [
        (
            ("GEMM", lambda: call.gemm(a, a, config=configs.Config()), "sm_100a"),
            ("GEMM", lambda: gemm(a, a, config=Config()), "sm_90a"),
        ),
        (
            ("attention", lambda: attention_call.attention(q, q, q, causal=True), "sm_100a"),
            ("attention", lambda: attention(q, q, q, causal=True), "sm_90a"),
        ),
    ]
    if not options.cold:
        for arch in ("sm_100a", "sm_90a"):
            first.compile(arch=arch)
    for pair in pairs[: 1 if options.cold else None]:
        order = tuple(reversed(pair)) if options.hopper_first else pair
        for name, run, arch in order[: 1 if options.cold else None]:
            whole, own = seconds(compiling(run, arch))
            print(f"{name:10} {arch:8} {whole:.2f} s with ptxas, {own:.2f} s without", flush=True)
    if options.cold:
        return
    whole, _ = seconds(lambda: call.gemm(a, a))
    print(f"GEMM of 512 x 512 x 512 in the simulator: {whole:.2f} s")


if __name__ == "__main__":
    main()
