"""The special GEMM examples beside torch's own, in one run: TFLOP/s, medians of interleaved rounds.

    python tests/bench/gemm_special.py fp8 [M N K ...]          fp8 with block scales, against torch's scaled matmul
    python tests/bench/gemm_special.py grouped [M N K ...]      bf16, 8 experts' uneven shares of M rows, beside torch's
                                                                grouped matmul and a matmul for each expert
    python tests/bench/gemm_special.py mixed [M N K ...]        bf16 x i4, i8, e4m3 weights, beside torch's bf16 matmul
    python tests/bench/gemm_special.py PART M N K --sweep       every configuration that is worth trying

Inputs are normal random numbers in rotating buffers, larger than L2 together; calls are captured in CUDA graphs. Each
graph is replayed once untimed right before it is timed, so that nobody gains by a neighbour that lets the chip cool;
each round has an order of its own.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import torch

from cutelite.kernels.arrays import clusters_at_once
from cutelite.kernels.gemm import fp8_block as fp8
from cutelite.kernels.gemm import grouped, mixed
from cutelite.kernels.gemm.fp8_configs import TILES
from tests.bench.given import parser
from tests.bench.timing import L2_BYTES, Replay, cold, machine, medians, off

Calls = dict[str, Callable[[int], Any]]
SHAPES = {
    "fp8": [(4096, 4096, 4096), (8192, 8192, 8192), (4096, 7168, 16384), (4096, 24576, 1536), (512, 4096, 7168)],
    "mixed": [(t, n, k) for n, k in ((8192, 8192), (4096, 14336)) for t in (16, 64, 4096)],
    "grouped": [
        (32768, 4096, 7168),
        (32768, 7168, 2048),
        (2048, 4096, 7168),
        (512, 4096, 7168),
        (128, 2048, 4096),
        (1024, 1536, 2048),
    ],
}
EXPERTS = 8


def rates(calls: Calls, buffers: int, flops: float, bytes: float = 0, seconds: float = 8e-3) -> dict[str, float]:
    """TFLOP/s of each, from the medians of rounds that each take about `seconds`.

    bytes  that a call has to bring from memory, if that takes longer than its products
    """
    each = max(flops / 1000e12, bytes / 4e12)
    found = medians({name: Replay(call, buffers, seconds, each) for name, call in calls.items()})
    return {name: flops / took / 1e12 for name, took in found.items()}


def errors(calls: Calls, outs: dict[str, torch.Tensor], exact: torch.Tensor) -> dict[str, float]:
    """Relative distance from `exact` of what torch gives for the first buffers, and at most of all the others."""
    found = {"error of torch": 0.0, "error of cutelite": 0.0}
    for name, call in calls.items():
        call(0)
        torch.cuda.synchronize()
        of = "error of torch" if name.startswith("torch") else "error of cutelite"
        found[of] = max(found[of], off(outs[name], exact))
    return found


def block_scaled(m: int, n: int, k: int, sweep: bool) -> dict[str, Any]:
    """fp8 with a scale for each 1 x 128 of A and 128 x 128 of B."""
    buffers = cold(m * k + n * k)
    a, b = ([torch.randn(x, k, device="cuda").to(torch.float8_e4m3fn) for _ in range(buffers)] for x in (m, n))
    scale_a = [torch.rand(k // 128, m, device="cuda").T + 0.5 for _ in range(buffers)]
    scale_b = [torch.rand(n // 128, k // 128, device="cuda") + 0.5 for _ in range(buffers)]
    outs: dict[str, Any] = {}

    def ours(name: str, config: Any) -> Callable[[int], Any]:
        outs[name] = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        return lambda i: fp8.gemm(a[i], b[i], scale_a[i], scale_b[i], outs[name], config=config)

    def torchs(i: int) -> None:
        outs["torch"] = torch._scaled_mm(
            a[i], b[i].T, scale_a=scale_a[i], scale_b=scale_b[i].T, out_dtype=torch.bfloat16, use_fast_accum=False
        )

    calls: Calls = {"torch": torchs, "cutelite": ours("cutelite", None)}
    calls["cutelite tuned"] = ours("cutelite tuned", "tuned")
    if sweep:
        for config in candidates():
            calls[str(config)] = ours(str(config), config)
    found = rates(calls, buffers, 2 * m * n * k)
    left = a[0].double().view(m, -1, 128) * scale_a[0].double()[:, :, None]
    right = b[0].double().view(n // 128, 128, -1, 128) * scale_b[0].double()[:, None, :, None]
    exact = left.view(m, k) @ right.reshape(n, k).T
    ratios = {f"{name} / torch": found[name] / found["torch"] for name in ("cutelite", "cutelite tuned")}
    return {**found, **ratios, **errors(calls, outs, exact)}


def candidates() -> list[fp8.Config]:
    """Configurations of the fp8 kernel worth trying on large shapes."""
    two = fp8.Config(2, regs=(40, 232))
    strips = replace(two, strips=2, piece=32)
    found = [*TILES, fp8.Config(buffers=1), fp8.Config(stages=2)]
    bands = [replace(config, swizzle=swizzle) for config in (fp8.Config(), strips) for swizzle in (1, 4, 16)]
    return [*found, *bands, replace(two, swizzle=16)]


def experts(m: int, n: int, k: int, sweep: bool) -> dict[str, Any]:
    """bf16, a matrix for each expert. Torch's loop is told on the host how many rows each has."""
    buffers = cold(2 * (m * k + EXPERTS * n * k))
    draw = torch.distributions.Multinomial(m, torch.rand(EXPERTS, generator=torch.Generator().manual_seed(1)) + 0.5)
    counts = [int(x) for x in draw.sample()]
    ends = torch.tensor(counts).cumsum(0).to("cuda", torch.int32)
    a = [torch.randn(m, k, device="cuda", dtype=torch.bfloat16) for _ in range(buffers)]
    b = [torch.randn(EXPERTS, n, k, device="cuda", dtype=torch.bfloat16) for _ in range(buffers)]
    outs: dict[str, Any] = {}

    def ours(name: str, config: Any) -> Callable[[int], Any]:
        outs[name] = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        return lambda i: grouped.gemm(a[i], b[i], ends, outs[name], config=config)

    def torchs(i: int) -> None:
        outs["torch"] = torch._grouped_mm(a[i], b[i].transpose(1, 2), offs=ends)

    outs["torch loop"] = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)

    def loop(i: int) -> None:
        left, right = a[i].split(counts), outs["torch loop"].split(counts)
        for e in range(EXPERTS):
            torch.mm(left[e], b[i][e].T, out=right[e])

    calls: Calls = {"torch": torchs, "torch loop": loop, "cutelite": ours("cutelite", None)}
    calls["cutelite tuned"] = ours("cutelite tuned", "tuned")
    if sweep:
        for config in grouped.CONFIGS:
            calls[f"{config.tile} {config.cluster}"] = ours(f"{config.tile} {config.cluster}", config)
    found = rates(calls, buffers, 2 * m * n * k)
    exact = torch.cat([x.double() @ b[0][e].double().T for e, x in enumerate(a[0].split(counts))])
    best = max(found["torch"], found["torch loop"])
    ratios = {f"{name} / torch's best": found[name] / best for name in ("cutelite", "cutelite tuned")}
    return {**found, **ratios, **errors(calls, outs, exact)}


def mixed_inputs(m: int, n: int, k: int, sweep: bool) -> dict[str, Any]:
    """bf16 by weights of 4 and 8 bits, and by the same weights in bf16 for torch. As many buffers for all."""
    buffers = cold(n * k, 6 * L2_BYTES)
    x = [torch.randn(m, k, device="cuda", dtype=torch.bfloat16) for _ in range(buffers)]
    whole = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) for _ in range(buffers)]
    outs = {"torch": torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)}
    calls: Calls = {"torch": lambda i: torch.mm(x[i], whole[i].T, out=outs["torch"])}
    worst = 0.0

    def ours(name: str, packed: list[torch.Tensor], kind: str, config: Any = None) -> Callable[[int], Any]:
        outs[name] = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        return lambda i: mixed.gemm(x[i], packed[i], kind, outs[name], config=config)

    for kind, (bits, _) in mixed.KINDS.items():
        numbers = np.random.default_rng(1)
        codes = numbers.integers(0, 1 << bits, (n, k))
        if kind == "e4m3":
            codes = np.where(codes % 128 == 127, 0, codes)  # NaN
        scales = numbers.uniform(0.5, 2.0, (n, -(-k // mixed.DEPTH))).astype(np.float32)
        packed = torch.from_numpy(mixed.pack(codes, scales, kind)).cuda()
        calls[kind] = ours(kind, [packed.clone() for _ in range(buffers)], kind)
        if sweep:
            base = mixed.choose(m, n, k, kind, clusters_at_once(1, x[0]))
            for groups, splits in product((2, 4), (1, 2, 4, 8)) if base.tokens <= 64 else ():
                name, regs = f"{kind} groups {groups} splits {splits}", (40, 104) if groups == 4 else (40, 232)
                config = replace(base, groups=groups, splits=splits, regs=regs)
                calls[name] = ours(name, [packed.clone() for _ in range(buffers)], kind, config)
        calls[kind](0)
        weights = torch.from_numpy(codes).cuda()
        if kind == "e4m3":
            exact = weights.to(torch.uint8).view(torch.float8_e4m3fn).double()
        else:
            exact = torch.where(weights < 1 << bits - 1, weights, weights - (1 << bits)).double()
        of_blocks = torch.from_numpy(scales).cuda().bfloat16().double().repeat_interleave(mixed.DEPTH, 1)[:, :k]
        expected = x[0].double() @ (exact * of_blocks).T
        worst = max(worst, off(outs[kind], expected))
    found = rates(calls, buffers, 2 * m * n * k, bytes=n * k)
    ratios = {f"{kind} / torch": found[kind] / found["torch"] for kind in mixed.KINDS}
    return {**found, **ratios, "error of cutelite": worst}


PARTS: dict[str, Callable[[int, int, int, bool], dict[str, Any]]] = {
    "fp8": block_scaled,
    "grouped": experts,
    "mixed": mixed_inputs,
}


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("part", choices=PARTS)
    asked.add_argument("numbers", nargs="*", type=int, metavar="N")
    asked.add_argument("--sweep", action="store_true")
    given = asked.parse_args()
    numbers: list[int] = given.numbers
    shapes = [(numbers[i], numbers[i + 1], numbers[i + 2]) for i in range(0, len(numbers), 3)] or SHAPES[given.part]
    print(machine())
    for shape in shapes:
        found = PARTS[given.part](*shape, given.sweep)
        print(
            json.dumps({"shape": shape, **{key: round(v, 5 if v < 1 else 3) for key, v in found.items()}}), flush=True
        )


if __name__ == "__main__":
    main()
