"""Loading kernels and launching them, against a driver that remembers what it was asked."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import pytest

import cutelite_rt as rt
from cutelite_rt.artifact import Artifact
from cutelite_rt.gpu import occupancy
from cutelite_rt.gpu.device import device
from cutelite_rt.gpu.driver import CudaError
from cutelite_rt.gpu.launch import Function, LaunchConfig, launch, load

if TYPE_CHECKING:
    from tests.rt.conftest import FakeCuda

ADD = Artifact("add", "sm_90a", cubin=b"\x7fELF add", params=("ptr", "i32"), static_smem=1024, built_with=(13, 0))
CONTEXT = 0x1000


def loaded(**changes: Any) -> Function:
    return load(ADD._replace(**changes), device(0))


def run(function: Function, config: LaunchConfig, sync: bool = False) -> None:
    launch(function, config, function.layout.pack([0x7000, 5]), sync)


# ---- loading


def test_a_kernel_is_loaded_once_per_context(cuda: FakeCuda) -> None:
    first = loaded()
    assert loaded(signature={"other": 1}) is first
    assert cuda.images == [ADD.cubin]
    assert load(ADD._replace(arch="sm_80"), device(1)) is not first
    cuda.stack.append(0x3000)  # a context of someone's own on device 0
    assert loaded().context == 0x3000
    cuda.stack.clear()
    assert len(cuda.images) == 3


def test_kernels_that_differ_are_loaded_apart(cuda: FakeCuda) -> None:
    assert loaded() is not loaded(cubin=b"\x7fELF other")
    assert loaded() is not loaded(name="sub")


def test_ptx_is_terminated(cuda: FakeCuda) -> None:
    loaded(cubin=b"", ptx=".version 8.0\n")
    assert cuda.images == [b".version 8.0\n\0"]


def test_neither_cubin_nor_ptx(cuda: FakeCuda) -> None:
    with pytest.raises(ValueError, match="`add` has neither a cubin nor PTX"):
        loaded(cubin=b"")


def test_a_cubin_for_another_gpu(cuda: FakeCuda) -> None:
    cuda.fail["cuModuleLoadData"] = 209
    with pytest.raises(CudaError) as caught:
        load(ADD, device(1))
    assert str(caught.value) == (
        "CUDA_ERROR_NO_BINARY_FOR_GPU (209) loading `add`: cubin is sm_90a, device 1 is sm_80 (Fake GPU)"
    )


@pytest.mark.parametrize(
    ("name", "changes", "status"),
    [("cuModuleLoadData", {}, 200), ("cuModuleLoadDataEx", {"cubin": b"", "ptx": ".version 9.9"}, 222)],
)
def test_a_driver_too_old_for_the_image(cuda: FakeCuda, name: str, changes: dict[str, Any], status: int) -> None:
    cuda.version = 12040
    cuda.fail[name] = status
    with pytest.raises(CudaError, match=r"made with CUDA 13.0, and the driver speaks CUDA 12.4: update the NVIDIA"):
        loaded(**changes)


def test_the_drivers_compiler_is_quoted(cuda: FakeCuda) -> None:
    cuda.fail["cuModuleLoadDataEx"] = 218
    cuda.jit_log = b"line 3: no such opcode"
    with pytest.raises(CudaError, match=r"(?s)refuses the PTX\nline 3: no such opcode$"):
        loaded(cubin=b"", ptx="bad")


def test_a_kernel_the_image_lacks(cuda: FakeCuda) -> None:
    cuda.fail["cuModuleGetFunction"] = 500
    with pytest.raises(CudaError, match="looking up `add` in its image"):
        loaded()


def test_usage(cuda: FakeCuda) -> None:
    cuda.function_attributes |= {0: 512, 1: 2048, 3: 8, 4: 99}
    assert loaded().usage() == (99, 2048, 8, 512)


# ---- launching


def test_what_the_driver_is_asked(cuda: FakeCuda) -> None:
    function = loaded()
    parameters = function.layout.pack([0x7000, -5])
    wanted = LaunchConfig((4, 3, 2), (128, 2, 1), cluster=(2, 1, 1), smem=100, stream=0x55, cooperative=True, pdl=True)
    launch(function, wanted, parameters)
    [(raw, handle, address)] = cuda.launches
    assert (raw.gridDimX, raw.gridDimY, raw.gridDimZ) == (4, 3, 2)
    assert (raw.blockDimX, raw.blockDimY, raw.blockDimZ) == (128, 2, 1)
    assert (raw.sharedMemBytes, raw.hStream, raw.numAttrs) == (100, 0x55, 3)
    by_id = {attribute.id: attribute.value for attribute in raw.attrs}
    dims = by_id[4].clusterDim
    assert (dims.x, dims.y, dims.z) == (2, 1, 1)
    assert by_id[2].cooperative == 1
    assert by_id[6].programmaticStreamSerializationAllowed == 1
    assert handle == function.handle
    pointers = (ctypes.c_uint64 * 2).from_address(address)
    assert ctypes.c_uint64.from_address(pointers[0]).value == 0x7000
    assert ctypes.c_int32.from_address(pointers[1]).value == -5


def test_plain_launches_have_no_attributes(cuda: FakeCuda, config: LaunchConfig) -> None:
    run(loaded(), config)
    assert cuda.launches[0][0].numAttrs == 0


def test_a_config_is_built_once(cuda: FakeCuda, config: LaunchConfig) -> None:
    function = loaded()
    for stream in (0, 0, 7, 7):
        run(function, config._replace(stream=stream))
    raws = [raw for raw, _, _ in cuda.launches]
    assert raws[0] is raws[1] is not raws[2] is raws[3]


def test_configs_kept_are_bounded(cuda: FakeCuda, config: LaunchConfig) -> None:
    function = loaded()
    for stream in range(1000):
        run(function, config._replace(stream=stream))
    assert len(function._configs) <= 64
    assert [raw.hStream for raw, _, _ in cuda.launches] == list(range(1000))


def test_the_functions_context_is_current_while_it_launches(cuda: FakeCuda, config: LaunchConfig) -> None:
    function = loaded()
    run(function, config)
    cuda.stack.append(0x1001)
    run(function, config)
    assert cuda.stack == [0x1001]
    cuda.stack.append(CONTEXT)
    run(function, config)
    assert cuda.launch_contexts == [CONTEXT] * 3
    cuda.stack.clear()


def test_shared_memory_above_48_kb_is_opted_in_once(cuda: FakeCuda, config: LaunchConfig) -> None:
    function = loaded()
    run(function, config._replace(smem=48 * 1024 - 1024))
    assert "cuFuncSetAttribute" not in cuda.calls
    for smem in (48 * 1024, 200_000, 100_000, 200_000):
        run(function, config._replace(smem=smem))
    assert cuda.calls.count("cuFuncSetAttribute") == 2
    assert cuda.function_attributes[8] == 200_000


def test_more_shared_memory_than_there_is(cuda: FakeCuda, config: LaunchConfig) -> None:
    with pytest.raises(CudaError) as caught:
        run(loaded(), config._replace(smem=232_000))
    assert caught.value.sentence == (
        "a block needs 232000 bytes of dynamic and 1024 of static shared memory; "
        "Device(0, sm_90) has 232448 bytes a block"
    )
    assert not cuda.launches


@pytest.mark.parametrize(("cluster", "allowed"), [((8, 1, 1), 0), ((4, 4, 1), 1)])
def test_large_clusters_are_opted_in(cuda: FakeCuda, cluster: tuple[int, int, int], allowed: int) -> None:
    run(loaded(), LaunchConfig((16, 4, 1), (64, 1, 1), cluster))
    assert cuda.function_attributes.get(14, 0) == allowed


def test_of_a_cluster_that_the_device_does_not_run_none_run_at_once(cuda: FakeCuda) -> None:
    occupancy._clusters.cache_clear()
    assert rt.max_active_clusters(8) == 17
    cuda.fail["cuOccupancyMaxActiveClusters"] = 912
    assert rt.max_active_clusters(16) == 0
    cuda.fail["cuOccupancyMaxActiveClusters"] = 1
    with pytest.raises(CudaError, match="asking how many clusters"):
        rt.max_active_clusters(16, resident=2)
    occupancy._clusters.cache_clear()


@pytest.mark.parametrize(
    ("changes", "status", "sentence"),
    [
        ({"grid": (0, 1, 1)}, 1, "grid x is 0; Device(0, sm_90) takes 1 to 2147483647"),
        ({"grid": (1, 65536, 1)}, 1, "grid y is 65536; Device(0, sm_90) takes 1 to 65535"),
        ({"block": (1, 1, 65)}, 1, "block z is 65; Device(0, sm_90) takes 1 to 64"),
        ({"block": (64, 32, 1)}, 1, "a block has 2048 threads; this kernel takes 1024 on Device(0, sm_90)"),
        ({"cluster": (3, 1, 1)}, 912, "grid x is 4, not a multiple of cluster x, 3"),
        (
            {"cooperative": True, "grid": (300, 1, 1)},
            720,
            "a cooperative grid of 300 blocks; 264 fit on Device(0, sm_90) at once",
        ),
        ({}, 400, "a stream, function or context was closed, or belongs to another context"),
        ({}, 1, "the driver refuses an argument of the call"),
    ],
)
def test_a_refused_launch_says_what_was_too_much(
    cuda: FakeCuda, config: LaunchConfig, changes: dict[str, Any], status: int, sentence: str
) -> None:
    cuda.fail["cuLaunchKernelEx"] = status
    with pytest.raises(CudaError) as caught:
        run(loaded(), config._replace(**changes))
    assert caught.value.sentence == sentence
    assert "launching `add` with grid " in str(caught.value)


def test_a_kernel_compiled_for_one_block_shape(cuda: FakeCuda, config: LaunchConfig) -> None:
    cuda.fail["cuLaunchKernelEx"] = 1
    with pytest.raises(CudaError, match=r"the kernel was compiled for blocks of \(256, 1, 1\)"):
        run(loaded(block=(256, 1, 1)), config)


def test_registers_bound_the_threads_of_a_block(cuda: FakeCuda, config: LaunchConfig) -> None:
    cuda.function_attributes[0] = 96
    cuda.fail["cuLaunchKernelEx"] = 701
    with pytest.raises(CudaError, match=r"a block has 128 threads; this kernel takes 96 on"):
        run(loaded(), config)


def test_a_launch_is_described_in_full(cuda: FakeCuda) -> None:
    cuda.fail["cuLaunchKernelEx"] = 400
    wanted = LaunchConfig((4, 1, 1), (128, 1, 1), (2, 1, 1), 512, 0xAB, cooperative=True, pdl=True)
    with pytest.raises(CudaError) as caught:
        run(loaded(), wanted)
    assert caught.value.doing == (
        "launching `add` with grid (4, 1, 1), block (128, 1, 1), cluster (2, 1, 1), "
        "512 bytes of dynamic shared memory, cooperative, pdl on stream 0xab of device 0"
    )


def test_an_extent_the_driver_has_no_room_for(cuda: FakeCuda, config: LaunchConfig) -> None:
    class Narrow:
        def __setattr__(self, name: str, value: object) -> None:
            if isinstance(value, int) and not 0 <= value < 2**32:
                raise OverflowError(f"{value} is out of range")

    cuda.CUlaunchConfig = Narrow  # type: ignore[assignment]
    with pytest.raises(CudaError, match=r"launching `add` with grid \(-1, 1, 1\).*-1 is out of range"):
        run(loaded(), config._replace(grid=(-1, 1, 1)))


# ---- faults of the kernel itself


def faulting(cuda: FakeCuda) -> None:
    """From now on kernels that are launched read where they must not: whoever waits for one is told."""
    launch = type(cuda).cuLaunchKernelEx

    def submit(*arguments: Any) -> tuple[()]:
        cuda.fail["cuStreamSynchronize"] = 700
        return launch(cuda, *arguments)

    cuda.__dict__["cuLaunchKernelEx"] = submit


def test_sync_names_the_kernel_that_failed(cuda: FakeCuda, config: LaunchConfig) -> None:
    faulting(cuda)
    function = loaded()
    run(function, config)  # asynchronous: nothing shows
    cuda.fail.clear()
    with pytest.raises(CudaError) as caught:
        run(function, config, sync=True)
    assert str(caught.value) == (
        "CUDA_ERROR_ILLEGAL_ADDRESS (700) running `add` with grid (4, 2, 1), block (128, 1, 1) on stream 0x0 "
        "of device 0: a kernel read or wrote memory outside its arrays"
    )


def test_an_error_of_an_earlier_kernel_is_not_blamed_on_this_one(cuda: FakeCuda, config: LaunchConfig) -> None:
    cuda.fail["cuLaunchKernelEx"] = 700
    with pytest.raises(CudaError, match="an earlier kernel failed, and the context is lost; launch with sync=True"):
        run(loaded(), config)


def test_a_fault_of_what_is_ahead_is_not_blamed_on_this_one(cuda: FakeCuda, config: LaunchConfig) -> None:
    cuda.fail["cuStreamSynchronize"] = 700
    with pytest.raises(CudaError, match=r"\(700\) waiting for what is ahead of `add` with grid \(4, 2, 1\)"):
        run(loaded(), config, sync=True)
    assert not cuda.launches


def test_a_captured_stream_is_not_waited_for(cuda: FakeCuda, config: LaunchConfig) -> None:
    cuda.capturing.add(9)
    run(loaded(), config._replace(stream=9), sync=True)
    assert "cuStreamSynchronize" not in cuda.calls
    run(loaded(), config._replace(stream=8), sync=True)
    assert "cuStreamSynchronize" in cuda.calls
