"""Attention on one GPU beside cuDNN's, by torch: ``python tests/bench/attention.py [--configs]``.

Errors to float64 first; then TFLOP/s of 2 B H S^2 (D + DV) FLOP, half of it if causal: CUDA events around calls in a
row, the contestants in turn, medians. With `--configs`, configurations in place of cuDNN.
"""

import argparse
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from cutelite.kernels.attention import attention
from cutelite.kernels.attention.forward import Config, chosen

LENGTHS = 1024, 2048, 4096, 8192, 16384
CONFIGS: dict[int, dict[str, Config]] = {
    128: {
        "2x128 guess": Config(guess=True),
        "no turns": Config(guess=True, turns=False),
        "pairs": Config(guess=True, pairs=True),
        "pairs, no turns": Config(guess=True, pairs=True, turns=False),
    },
    64: {
        "3x128": Config(3, regs=(32, 160)),
        "3x96 guess": Config(3, 96, guess=True, regs=(32, 160)),
        "3x96 guess, no turns": Config(3, 96, guess=True, turns=False, regs=(32, 160)),
        "2x160 guess": Config(2, 160, guess=True),
        "2x128 guess, 3 stages": Config(2, 128, stages=3, guess=True),
    },
    256: {
        "2x80": Config(columns=80, turns=False),
        "2x80 turns": Config(columns=80),
        "2x64 guess": Config(columns=64, turns=False, guess=True),
    },
}


def made(batch: int, sq: int, sk: int, heads: int, kv_heads: int, dim: int, dim_v: int) -> list[Any]:
    torch.manual_seed(1)
    shapes = (sq, heads, dim), (sk, kv_heads, dim), (sk, kv_heads, dim_v)
    return [torch.randn(batch, *shape, device="cuda", dtype=torch.bfloat16) for shape in shapes]


def against_grown(kind: str, sk: int, q: Any, k: Any, v: Any) -> list[Any]:
    """Inputs whose scores grow against the guess: blocks come from the last keys to the first."""
    unit = torch.zeros(q.shape[-1], device="cuda")
    unit[0] = 1.0
    block = (torch.arange(sk, device="cuda") // 128).view(1, sk, 1, 1) * 30.0
    if kind in ("falling", "growing"):
        q, k = 0.1 * q + unit * q.shape[-1] ** 0.5, 0.1 * k + unit * (block if kind == "growing" else -block)
    elif kind == "large":
        q, k = 30 * q, 30 * k
    elif kind == "tails":
        q, k, v = q**3, k**3, v**3
    return [x.bfloat16() for x in (q, k, v)]


def wrong(arrays: list[Any], causal: bool) -> bool:
    q, k, v = arrays
    o, lse = attention(q, k, v, causal=causal, return_lse=True)
    q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    n, m = s.shape[-2:]
    if causal:
        seen = torch.arange(m, device="cuda")[None] <= torch.arange(n, device="cuda")[:, None] + m - n
        s = s.masked_fill(~seen, -math.inf)
    sums = s.logsumexp(-1)
    want = (torch.exp(s - torch.where(sums.isinf(), 0, sums)[..., None]) @ v).transpose(1, 2)
    finite = sums.isfinite()
    alike = bool((lse.isfinite() == finite).all()) and bool((lse - sums)[finite].abs().max() < 1e-4)
    return not (alike and bool((o.double() - want).norm() < 4e-3 * want.norm()))


def seconds(calls: list[Callable[[], Any]], rounds: int = 5, target: float = 8e-3) -> list[float]:
    """Of each call, its median; they take turns."""
    counts, found = [], []
    for call in calls:
        for _ in range(2):
            call()
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        counts.append(max(2, int(target / (time.perf_counter() - start))))
        found.append([0.0] * rounds)
    for i in range(rounds):
        for call, count, times in zip(calls, counts, found, strict=True):
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            first.record()
            for _ in range(count):
                call()
            last.record()
            torch.cuda.synchronize()
            times[i] = first.elapsed_time(last) / count * 1e-3
    return [sorted(times)[rounds // 2] for times in found]


def row(dim: int, dim_v: int, causal: bool, length: int, configs: dict[str, Config] | None) -> str:
    batch, heads = max(1, 16384 // length), 2048 // dim
    q, k, v = made(batch, length, length, heads, heads, dim, dim_v)
    swapped = [x.transpose(1, 2) for x in (q, k, v)]

    def cudnn() -> Any:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(*swapped, is_causal=causal)

    def ours(config: Config) -> Callable[[], Any]:
        return lambda: attention(q, k, v, causal=causal, config=config)

    calls = {"cutelite": ours(chosen(-(-dim // 64) * 64)), "cuDNN": cudnn}
    if configs is not None:
        calls = {name: ours(config) for name, config in configs.items()}
    flop = 2 * batch * heads * length**2 * (dim + dim_v) / (2 if causal else 1)
    told = (f"{name} {flop / t / 1e12:.0f}" for name, t in zip(calls, seconds(list(calls.values())), strict=True))
    return f"{dim}/{dim_v} {'causal' if causal else 'full'} {length}: {', '.join(told)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configs", action="store_true")
    given = parser.parse_args()
    print(torch.cuda.get_device_name(0), "torch", torch.__version__, "cuDNN", torch.backends.cudnn.version())
    sizes = (1024, 1024, 4, 4), (777, 1333, 8, 2), (500, 300, 2, 1), (1, 4000, 4, 1)
    dims = (128, 128), (64, 64), (256, 256), (192, 128), (96, 96)
    bad = [(d, s, c) for d in dims for s in sizes for c in (False, True) if wrong(made(2, *s, *d), c)]
    print("wrong:", bad or "none")
    for dim, dim_v in dims[:4]:
        if given.configs and dim not in CONFIGS:
            continue
        for causal in (False, True):
            for length in LENGTHS:
                print(row(dim, dim_v, causal, length, CONFIGS[dim] if given.configs else None), flush=True)
    for kind in ("normal", "falling", "growing", "large", "tails"):
        arrays = against_grown(kind, 8192, *made(2, 8192, 8192, 16, 16, 128, 128))
        calls = [partial(attention, *arrays, causal=causal) for causal in (False, True)]
        print(kind, "full and causal:", ", ".join(f"{t * 1e6:.0f} us" for t in seconds([*calls])), flush=True)


if __name__ == "__main__":
    main()
