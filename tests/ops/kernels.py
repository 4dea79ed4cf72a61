"""Small kernels written with intrinsics, run on the simulator and, where there is one, on a GPU."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np

import cutelite.lang.tensor  # noqa: F401  # by which tensors are wrapped
import cutelite_rt as rt
from cutelite import lower, passes, toolchain
from cutelite.ir.builder import Builder
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.function import Block, Function, Value
from cutelite.ir.types import SCALARS, Scalar, Tensor
from cutelite.lang.emit import wrap
from cutelite.layout import Layout
from cutelite.ops.control import Ret
from cutelite.ops.parameters import kinds
from cutelite.target import Target
from tests.places import gpu
from tests.sim import strict

HOPPER = Target.parse("sm_90a")


def elem_of_array(array: Any) -> Scalar:
    return next(
        t for t in SCALARS.values() if t.kind != "barrier" and t.name != "tf32" and numpy_dtype(t) == array.dtype
    )


def build(
    body: Callable[..., None], arrays: tuple[Any, ...], block: int, target: Target | None = HOPPER, cluster: int = 1
) -> Function:
    """A kernel whose parameters are tensors in global memory, shaped as the arrays (row-major)."""
    params = []
    for array in arrays:
        steps = [int(np.prod(array.shape[i + 1 :])) for i in range(array.ndim)]
        layout = Layout(array.shape, tuple(steps)) if array.ndim > 1 else Layout(len(array), 1)
        params.append(Value(Tensor(elem_of_array(array), "gmem", layout, 128)))
    attrs: dict[str, Any] = {"block": (block, 1, 1)}
    if cluster > 1:
        attrs["cluster"] = (cluster, 1, 1)
    function = Function("kernel", [Block(tuple(params))], {}, attrs)
    builder = Builder(function, target=target)
    with builder.active():
        body(*map(wrap, params))
    builder.emit(Ret())
    return function


def run(
    body: Callable[..., None], *arrays: Any, block: int = 32, grid: int = 1, cluster: int = 1, seed: int = 0
) -> str:
    """Execute `body` for every thread, on the arrays in place. What it printed."""
    out = io.StringIO()
    function = build(body, arrays, block, cluster=cluster)
    strict.run(function, grid, arrays, seed=seed, stdout=out)
    return out.getvalue()


def assembled(function: Function, target: Target) -> rt.Artifact:
    final = passes.run(passes.PIPELINE, function, passes.Context(target))
    cubin = toolchain.to_cubin(toolchain.to_ptx(lower.to_llvm(final, target), target), target)
    smem = final.attrs.get("smem_bytes", 0)
    return rt.Artifact(final.name, target.arch, cubin.image, params=kinds(final), dynamic_smem=smem)


def run_gpu(
    body: Callable[..., None], *arrays: Any, block: int = 32, grid: int = 1, cluster: int = 1, seed: int = 0
) -> str:
    """The same on the current GPU; what the kernel prints goes to the process's own output."""
    device = rt.device()
    target = Target.for_capability(device.compute_capability)
    artifact = assembled(build(body, arrays, block, target, cluster), target)
    function = rt.load(artifact, device)
    parameters = rt.Parameters(function.layout)
    shape = (cluster, 1, 1) if cluster > 1 else None
    config = rt.LaunchConfig((grid, 1, 1), (block, 1, 1), shape, artifact.dynamic_smem)

    def launch(*there: rt.DeviceArray) -> None:
        parameters.write([array.pointer for array in there])
        rt.launch(function, config, parameters, sync=True)

    gpu(launch, *arrays)
    return ""


Runner = Callable[..., str]
