"""Cross entropy of a linear layer, forward and backward, beside its three GEMMs alone, Liger, and torch; peak memory.

    python tests/bench/linear_cross_entropy.py [--tokens 32768] [--words 131072] [--hidden 4096] [--rows 4096 8192]

Times are those of `cl.do_bench`, of calls that are launched; memory is what a call allocates at its peak, the gradients
that it returns not counted. With `--rows`, ours alone, by how many rows have logits at a time, beside torch's GEMMs on
all rows: in windows of half a second, by turns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch

import cutelite as cl
from cutelite.kernels.gemm import gemm
from cutelite.kernels.rows.operators import linear_cross_entropy
from tests.bench.given import parser
from tests.bench.timing import lasting, machine, medians

F = torch.nn.functional


def memory(call: Callable[[], Any]) -> int:
    """Bytes allocated at the peak of a call, beyond those from before."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before: int = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    torch.cuda.synchronize()
    peak: int = torch.cuda.max_memory_allocated()
    return peak - before


def gemms(x: Any, w: Any) -> float:
    """Seconds of the GEMMs of a pass forward and backward, on all rows at a time."""
    logits, dx, dw = x @ w.T, torch.empty_like(x), torch.empty_like(w)
    calls = {
        "logits": lambda: gemm(x, w.T, logits),
        "dx": lambda: gemm(logits, w, dx),
        "dw": lambda: gemm(logits.T, x, dw),
    }
    return sum(timing.seconds for timing in cl.do_bench(calls, cache="warm", graph=False, rounds=5).values())


def seconds(call: Callable[[], Any]) -> float:
    """Return the time of a call. Each is timed by itself, since not all fit into memory."""
    return cl.do_bench(call, cache="warm", graph=False, rounds=5).seconds


def by_rows(x: Any, w: Any, target: Any, counts: list[int]) -> None:
    """Print what each number of rows takes."""
    plain, matrix = x.detach(), w.detach()
    logits, dx, dw = plain @ matrix.T, torch.empty_like(plain), torch.empty_like(matrix)

    def products() -> None:
        torch.mm(plain, matrix.T, out=logits)
        torch.mm(logits, matrix, out=dx)
        torch.mm(logits.T, plain, out=dw)

    def ours(rows: int) -> None:
        torch.autograd.grad(linear_cross_entropy(x, w, target, rows=rows), (x, w))

    trials = {f"{rows} rows": partial(lasting, partial(ours, rows), 0.5) for rows in counts}
    trials["torch's three GEMMs"] = partial(lasting, products, 0.5)
    for name, took in medians(trials, 4).items():
        print(f"{name:20} {took * 1e3:7.2f} ms", flush=True)


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--tokens", type=int, default=32768)
    asked.add_argument("--words", type=int, default=131072)
    asked.add_argument("--hidden", type=int, default=4096)
    asked.add_argument("--rows", type=int, nargs="+")
    options = asked.parse_args()
    m, n, k = options.tokens, options.words, options.hidden
    x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16).requires_grad_()
    w = (torch.randn(n, k, device="cuda") * k**-0.5).bfloat16().requires_grad_()
    target = torch.randint(0, n, (m,), device="cuda")
    logits = 2 * m * n
    if options.rows:
        print(f"{machine()}, {m} tokens, {n} words, {k} hidden")
        by_rows(x, w, target, options.rows)
        return

    def forward_backward(loss: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(loss(), (x, w))

    calls = {
        "cutelite": forward_backward(lambda: linear_cross_entropy(x, w, target)),
        "torch": forward_backward(lambda: F.cross_entropy(x @ w.T, target)),
    }
    if find_spec("liger_kernel") is not None:
        liger = import_module("liger_kernel.transformers.functional").liger_fused_linear_cross_entropy
        calls["liger"] = forward_backward(lambda: liger(x, w, target))
    exact = F.cross_entropy(x[:512].detach().double() @ w.detach().double().T, target[:512])
    found = linear_cross_entropy(x[:512], w, target[:512])
    print(f"{machine()}, {m} tokens, {n} words, {k} hidden; error {float(found - exact):.1e}")
    alone = gemms(x.detach(), w.detach())
    tflops = 6 * m * n * k / alone * 1e-12
    print(f"the three GEMMs alone: {alone * 1e3:.1f} ms, {tflops:.0f} TFLOP/s", flush=True)
    for name, call in calls.items():
        try:
            time, bytes = seconds(call), memory(call) - 2 * (m + n) * k
            print(f"{name:10} {time * 1e3:7.1f} ms, {time / alone:.3f} of the GEMMs, peak {bytes / 2**20:.0f} MiB,"
                  f" 1/{logits / max(bytes, 1):.1f} of the logits", flush=True)  # fmt: skip
        except torch.OutOfMemoryError:
            print(f"{name:10} out of memory", flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
