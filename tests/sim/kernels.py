"""Kernels as Python functions and as IR text, and running them: what the tests of the simulator share.

Most kernels here write one i32 for each thread, to their first parameter. In texts it is ``OUT``; ``PROLOGUE`` defines
%tid (in the block), %i (in the grid) and a few constants.
"""

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cutelite.ops  # noqa: F401 (registers the ops that the texts name)
from cutelite import sim
from cutelite.front.build import build
from cutelite.ir.function import Function
from cutelite.ir.types import Tensor, i32
from cutelite.ir.verifier import verify
from cutelite.lang.tensor import row_major
from cutelite.sim import SimError
from cutelite.sim.launch import SimLaunch
from cutelite.sim.machine import Cluster, Machine
from cutelite.sim.program import Program
from tests.ir.parser import parse_function
from tests.sim import strict

SEEDS = range(8)

OUT = "%out: tensor<i32,gmem,4096:1,16>"

PROLOGUE = """
  %tid = special register="tid.x"
  %block = special register="ctaid.x"
  %width = special register="ntid.x"
  %first = mul a=%block, b=%width
  %i = add a=%first, b=%tid
  %lane = special register="laneid"
  %c0 = const value=0, type=i32
  %c1 = const value=1, type=i32
  %c2 = const value=2, type=i32
  %c3 = const value=3, type=i32
  %all = const value=4294967295, type=u32
"""


def ints(count: int = 4096) -> Tensor:
    return Tensor(i32, "gmem", row_major((count,)), 16)


def traced(body: Callable[..., None], *, block: int = 64, cluster: int = 1, **params: Tensor) -> Function:
    """The kernel that a Python function is. Parameters are of the types given, or 4096 i32."""
    types = {name: params.get(name, ints()) for name in inspect.signature(body).parameters}
    attrs: dict[str, Any] = {"block": (block, 1, 1), "name": body.__name__.strip("<>")}
    made = build(body, types, {}, attrs | ({"cluster": (cluster, 1, 1)} if cluster > 1 else {}))  # type: ignore[arg-type]
    verify(made)
    return made


def kernel(body: str, params: str = OUT, *, block: int = 64, name: str = "kernel", **attrs: Any) -> Function:
    """A kernel of that body, with the prologue."""
    facts = ", ".join(f"{key}={value}" for key, value in {"block": (block, 1, 1), **attrs}.items())
    text = f"func @{name}({params}) attrs {{{facts}}} {{{PROLOGUE}{textwrap.dedent(body)}}}\n"
    function = parse_function(text, "kernel.cir")
    verify(function)
    return function


def outputs(function: Function, grid: int = 1, *, seed: int = 0, **options: Any) -> np.ndarray[Any, Any]:
    """What a kernel with the one parameter `OUT` writes: -1 where it wrote nothing."""
    out = np.full(4096, -1, np.int32)
    strict.run(function, grid, [out], seed=seed, **options)
    threads = grid * int(np.prod(function.attrs["block"]))
    assert (out[threads:] == -1).all()
    return out[:threads]


def errors(function: Function, grid: int = 1, seeds: range = SEEDS) -> list[SimError]:
    """The errors of a kernel with the one parameter `OUT`, under the seeds that show one."""
    found = []
    for seed in seeds:
        try:
            sim.run(function, grid, [np.zeros(4096, np.int32)], seed=seed)
        except SimError as error:
            found.append(error)
    return found


def each_seed(function: Function, grid: int = 1, seeds: range = SEEDS, **options: Any) -> np.ndarray[Any, Any]:
    """The same under every schedule, which must all agree."""
    results = [outputs(function, grid, seed=seed, **options) for seed in seeds]
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    return results[0]


def failure(
    function: Function, seed: int = 0, grid: int = 1, args: list[Any] | None = None, **options: Any
) -> SimError:
    """The error of a kernel, by default with the one parameter `OUT`."""
    with pytest.raises(SimError) as caught:
        sim.run(function, grid, [np.zeros(4096, np.int32)] if args is None else args, seed=seed, **options)
    return caught.value


def machine_of(function: Function, **options: Any) -> Machine:
    """The first CTA of a launch that has not begun, with an output array for each parameter."""
    facts: dict[str, Any] = {"block": None, "cluster": None, "dims": {}, "smem_dynamic": 0, "seed": 0}
    facts |= {"observer": None, "sm_count": 132, "max_ops": 10**6, "sample": None, **options}
    launch = SimLaunch(
        Program(function), facts.pop("grid", 1), [np.zeros(4096, np.int32) for _ in function.params], **facts
    )
    return Cluster(launch, (0, 0, 0)).machines[0]
