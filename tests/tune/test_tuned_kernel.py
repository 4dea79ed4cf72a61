"""`@autotune` over kernels: constants, launch settings and options from configs; grids that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import (
    ArgumentError,
    AutotuneError,
    CompileError,
    Config,
    Constexpr,
    Launch,
    LaunchError,
    Tensor,
    autotune,
    f32,
)
from cutelite.dispatch import Kernel
from cutelite.tune.tuned import TunedKernel
from tests.dispatch.conftest import GpuArray
from tests.rt.conftest import FakeCuda
from tests.tune import kernels
from tests.tune.conftest import Stopwatch

N = cl.dims("N")


def tuned(timer: Any, *configs: Any, block: Any = (64, 1, 1), **options: Any) -> TunedKernel:
    kernel = Kernel(kernels.scale.__cutelite_function__, kernels.scale.given, block)
    return autotune(configs or (Config(BN=64), Config(BN=128), Config(BN=256)), timer=timer, **options)(kernel)


def shapes(cuda: FakeCuda) -> list[tuple[int, int]]:
    return [(config.gridDimX, config.blockDimX) for config, _, _ in cuda.launches]


def test_on_the_simulator(environment: Any) -> None:
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    tuned(Stopwatch())[lambda config: cl.ceil_div(1000, config.BN)](x, y, twice=True)
    np.testing.assert_array_equal(y, 2 * x)


def test_the_grid_follows_from_the_winner(on_gpu: GpuArray, cuda: FakeCuda, fastest_last: Stopwatch) -> None:
    scale = tuned(fastest_last, block=None)
    x, y = on_gpu((1024,)), on_gpu((1024,))
    of_config: Any = lambda config: 1024 // config.BN  # noqa: E731
    width: Any = lambda config: config.BN  # noqa: E731
    for _ in range(2):
        scale[lambda config: 1024 // config.BN, 64](x, y)
        scale[lambda config: 1024 // config["BN"], 32](x, y)
        scale.launch(Launch(grid=of_config, block=width), x, y=y)
        scale[7, 64](x, y)
    assert shapes(cuda) == [(4, 64), (4, 32), (4, 256), (7, 64)] * 2
    # Of two functions from different lines each is another way to launch, and so are two block shapes.
    assert len(fastest_last.asked) == 4


def test_parameters_by_position_and_by_keyword_alone(environment: Any) -> None:
    def ordered(x: cl.Tensor[cl.f32, (kernels.N,)], /, BN: cl.Constexpr[int], *, by: cl.f32) -> None:
        for i in range(cl.thread_idx.x, BN, 32):
            x[i] = x[i] * by

    x = np.ones(96, np.float32)
    autotune([Config(BN=64, block=32), Config(BN=96, block=32)])(cl.kernel(ordered))[[1], None](x, by=3.0)
    np.testing.assert_array_equal(x, [3.0] * 64 + [1.0] * 32)
    with pytest.raises(TypeError, match="key names 'M', but the call has N, x, by"):
        autotune([Config(BN=64, block=32)], key=("M",))(cl.kernel(ordered))[[1], None](x, by=3.0)


def test_a_config_with_options_keeps_what_the_kernel_was_made_with(environment: Any) -> None:
    dtype = cl.f32  # named by annotations alone, which are text here

    @autotune([Config(by=2, opt=1), Config(by=3, opt=2)])
    @cl.kernel(block=32, arch="sm_100a")
    def added(x: cl.Tensor[dtype, (kernels.N,)], *ys: cl.Tensor[dtype, (kernels.N,)], by: cl.Constexpr[int]) -> None:
        x[cl.thread_idx.x] = float(by + 10 * len(ys)) if cl.target.has("tcgen05") else -1.0

    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    for ys, expected in (((), 2), ((y,), 12), ((y, y), 22)):
        added[1](x, *ys)
        assert x.tolist() == [expected] * 32


def test_settings_and_options_come_from_configs(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    timer = Stopwatch(2e-6, 1e-6)
    large = {"BN": 64, "block": 128, "cluster": 2, "smem": 64, "carveout": 50, "max_registers": 40, "twice": True}
    scale = tuned(timer, {"BN": 64}, large)
    scale[2](on_gpu((64,)), on_gpu((64,)))
    config, _, _ = cuda.launches[0]
    assert (config.blockDimX, config.sharedMemBytes, config.attrs[0].value.clusterDim.x) == (128, 64, 2)
    assert int(config.attrs[-1].id) == 14  # CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
    (compiled,) = scale._variants[1][2].specialisations
    assert compiled.options.max_registers == 40 and str(dict(compiled.types)["twice"]) == "Constant(True)"
    assert scale._variants[0][2] is scale.kernel


def test_dims_are_keys_too(on_gpu: GpuArray) -> None:
    timer = Stopwatch(1e-6, 2e-6, 3e-6)
    scale = tuned(timer, key=("N",))
    for n in (64, 128, 64):
        scale[1](on_gpu((n,)), on_gpu((n,)))
    scale[1](on_gpu((64,)), on_gpu((64,)), twice=True)
    assert len(timer.asked) == 2
    with pytest.raises(TypeError, match="key names 'M', but the call has N, x, y, twice"):
        tuned(timer, key=("M",))[1](on_gpu((64,)), on_gpu((64,)))


def test_what_only_kernels_have_is_told() -> None:
    scale = tuned(Stopwatch())
    with pytest.raises(AttributeError, match=r"has no `compile`: that of its kernel is `scale\.kernel\.compile`"):
        _ = scale.compile  # type: ignore[attr-defined]
    assert not hasattr(scale, "nonsense")


def test_wrong_arguments_and_launches_are_the_kernel_s_errors(on_gpu: GpuArray) -> None:
    scale = tuned(Stopwatch())
    with pytest.raises(ArgumentError, match="lacks the argument y"):
        scale[1](on_gpu((64,)))
    with pytest.raises(ArgumentError, match="`y` has extent 32, but N is 64"):
        scale[1](on_gpu((64,)), on_gpu((32,)))
    with pytest.raises(LaunchError, match=r"scale\[grid, block\]"):
        scale(on_gpu((64,)), on_gpu((64,)))
    with pytest.raises(LaunchError, match="launched as"):
        scale[1, 2, 3, 4, 5](on_gpu((64,)), on_gpu((64,)))
    with pytest.raises(ArgumentError, match="has no parameter 'z'"):
        scale[1](on_gpu((64,)), on_gpu((64,)), z=1)
    for args, kwargs in (((64,), {}), ((), {"BN": 64})):
        with pytest.raises(ArgumentError, match=r"scale\(\) got `BN`, which its configs set"):
            scale[1](on_gpu((64,)), on_gpu((64,)), *args, **kwargs)


def test_a_config_that_means_nothing(on_gpu: GpuArray) -> None:
    with pytest.raises(TypeError, match="sets 'BK', which is neither"):
        tuned(Stopwatch(), Config(BN=64), Config(BK=3))[1](on_gpu((64,)), on_gpu((64,)))


def test_configs_that_cannot_be_launched_are_skipped(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    configs = [Config(BN=64, block=2048), Config(BN=64, smem=300_000), Config(BN=128), Config(BN=0)]
    scale = tuned(Stopwatch(1e-6, 1e-6, 1e-6, 1e-6), *configs)
    scale[lambda config: 1024 // config.BN](on_gpu((1024,)), on_gpu((1024,)))
    assert shapes(cuda) == [(8, 64)]
    notes = [row.note for row in scale.reports[0].rows]
    assert "2048 threads" in notes[0] and "300000 bytes of shared memory" in notes[1]
    assert notes[3].startswith("ZeroDivisionError: ")
    with pytest.raises(AutotuneError, match="none of 2 configs runs"):
        tuned(Stopwatch(), *configs[:2])[1](on_gpu((64,)), on_gpu((64,)))


def test_what_it_shows_of_itself() -> None:
    scale = tuned(Stopwatch())
    assert scale.__name__ == "scale"
    assert repr(scale) == f"<{scale.kernel!r} of 3 configs>"
    assert scale.configs[1] == Config(BN=128)


def test_a_kernel_calls_it_with_what_its_configs_fill_in_and_does_not_launch_it() -> None:
    @cl.autotune([cl.Config(by=3)])
    @cl.kernel
    def filled(x: Tensor[f32, (N,)], by: Constexpr[int]) -> None:
        x[cl.thread_idx.x] = by * 1.0

    @cl.kernel(block=4)
    def calling(x: Tensor[f32, (N,)], how: Constexpr[str]) -> None:
        if how == "called":
            filled(x, by=5)
        elif how == "launched":
            filled[1, 4](x)
        else:
            filled(x)

    x = np.zeros(4, np.float32)
    calling[1](x, "called")
    assert x.tolist() == [5] * 4
    for how, said in (("launched", "filled is launched in a kernel"), ("", "lacks the argument `by`")):
        with pytest.raises(CompileError, match=said):
            calling[1](x, how)
