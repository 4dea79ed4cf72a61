"""Cost of profiles on a GPU: cycles of an event, and a GEMM's speed with events; events in the simulator's order.

python tests/bench/profiles.py [--size 8192] [--out FOLDER] [--only cost|order|speed ...]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import torch

import cutelite as cl
from cutelite import Tensor, i64
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.profiling import Rings
from cutelite.kernels.gemm import gemm

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
EVENTS = 64


@cl.kernel(block=32)
def many_events(out: Tensor[i64, (2,)]) -> None:
    start = cl.clock64()
    for i in cl.static_range(EVENTS):
        cl.profile.mark("event", i)
    middle = cl.clock64()
    for _ in cl.static_range(EVENTS):
        with cl.profile.range("range", cl.thread_idx.x):
            pass
    end = cl.clock64()
    if cl.thread_idx.x == 0:
        out[0] = i64(middle - start)
        out[1] = i64(end - middle)


def cost() -> None:
    out = torch.zeros(2, dtype=torch.int64, device="cuda")
    many_events.profile(1, None, out)
    profile = many_events.profile(1, None, out)
    mark, pair = out.tolist()
    print(f"cycles of an event: {mark / EVENTS:.1f} with a constant, {pair / EVENTS / 2:.1f} with a value")
    order = profile.order(0, 0)
    assert order[:EVENTS] == [("mark", "event", i) for i in range(EVENTS)], order[:5]
    assert len(order) == 3 * EVENTS and profile.cycles > mark, profile


def captured(call: Any) -> list[Any]:
    """The launches of a call: kernel, launch, arguments."""
    found: list[Any] = []
    with diverted(lambda kernel, launch, args, kwargs: found.append((kernel, launch, args, kwargs))):
        call()
    return found


def speed(name: str, kernel: Any, launch: Any, args: Any, kwargs: Any, flops: float) -> None:
    """The kernel with and without events, in turns."""
    recording = kernel.options(profile=True)
    checked = kernel._checked(launch, args, kwargs)
    spec = checked.spec.under(profile=True)
    compiled = kernel._compiled(launch, spec)
    rings = Rings(kernel._function(spec, compiled, checked.ordinal), checked.grid, spec.block)
    calls = {"plain": lambda: kernel.launch(launch, *args, **kwargs),
             "profiled": lambda: recording.launch(launch, *args, **kwargs)}  # fmt: skip
    plain, profiled = (timing.seconds for timing in cl.do_bench(calls, cache="warm", graph=False).values())
    profile = rings.read(kernel.__name__, compiled.artifact.signature["marks"])
    print(f"{name}: {flops / plain / 1e12:.0f} TFLOPS, profiled {flops / profiled / 1e12:.0f}: {plain / profiled:.3f}")
    print(f"  {len(profile.events)} events kept, {compiled.registers} registers, {compiled.spills} bytes spilled")


def same_order(kernel: Any, launch: Any, args: Any, kwargs: Any) -> None:
    """Each warp has the same events in the same order as in the simulator."""
    profile = kernel.profile_launch(launch, *args, **kwargs)
    from ml_dtypes import bfloat16

    host = [x.float().cpu().numpy().astype(bfloat16) if x.dtype == torch.bfloat16 else x.cpu().numpy() for x in args]
    timeline = kernel.trace_launch(launch, *host, **kwargs)
    warps = sorted({(mark.block, mark.warp) for mark in timeline.marks})
    assert warps == sorted({(mark.block, mark.warp) for mark in profile.events})
    for block, warp in warps:
        assert profile.order(block, warp) == timeline.order(block, warp), (block, warp)
    print(f"{kernel.__name__}: {len(warps)} warps, {len(profile.events)} events in the simulator's order; "
          f"{profile.cycles:.0f} cycles on the GPU, {timeline.cycles:.0f} simulated")  # fmt: skip
    profile.save(f"{OUT}/gpu.json")
    timeline.save(f"{OUT}/simulator.json")


OUT = "."


def main() -> None:
    global OUT
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--out", default=".")
    parts = ("cost", "order", "speed")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    given = parser.parse_args()
    OUT = given.out
    sys.path.insert(0, str(EXAMPLES))
    import hopper_gemm_tiled as tiled

    if "cost" in given.only:
        cost()

    def tensors(m: int, n: int, k: int) -> tuple[Any, Any, Any]:
        new = {"device": "cuda", "dtype": torch.bfloat16}
        return torch.randn(m, k, **new), torch.randn(n, k, **new), torch.empty(m, n, **new)

    if "order" in given.only:
        same_order(tiled.gemm, cl.Launch(4, tiled.THREADS), tensors(512, 768, 512), {})
    if "speed" not in given.only:
        return
    n = given.size
    a, b, c = tensors(n, n, n)
    speed("hopper_gemm_tiled", tiled.gemm, cl.Launch(132, tiled.THREADS), (a, b, c), {}, 2 * n**3)
    for kernel, launch, args, kwargs in captured(lambda: gemm(a, b.T, out=c)):
        speed("kernels.gemm", kernel, launch, args, kwargs, 2 * n**3)


if __name__ == "__main__":
    main()
