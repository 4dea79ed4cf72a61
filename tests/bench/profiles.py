"""Cost of profiles on a GPU: cycles of an event, and the speed of two GEMMs with events.

python tests/bench/profiles.py [--size 8192]
"""

from __future__ import annotations

from typing import Any

import torch

import cutelite as cl
from cutelite import Tensor, i64
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.profiling import Rings
from cutelite.kernels.gemm import gemm
from tests.bench.given import example, parser

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


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--size", type=int, default=8192)
    n = asked.parse_args().size
    tiled = example("hopper_gemm_tiled")
    cost()
    a, b, c = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    speed("hopper_gemm_tiled", tiled.gemm, cl.Launch(132, tiled.THREADS), (a, b, c), {}, 2 * n**3)
    for kernel, launch, args, kwargs in captured(lambda: gemm(a, b.T, out=c)):
        speed("kernels.gemm", kernel, launch, args, kwargs, 2 * n**3)


if __name__ == "__main__":
    main()
