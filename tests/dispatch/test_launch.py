"""Launches: where they go, what the driver or the simulator is asked, and what is refused before anything runs."""

from __future__ import annotations

import copy
import ctypes
import pickle
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor
from cutelite.dispatch import Kernel, Launch, LaunchError
from cutelite.dispatch import device as devices
from cutelite.sim import SimError, TooLarge
from tests.dispatch import kernels
from tests.dispatch.conftest import GpuArray
from tests.processes import printed
from tests.rt.conftest import FakeCuda
from tests.rt.exchange import ByDlpack
from tests.threads import at_once


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels as they were before any launch."""
    for name, kernel in vars(kernels).items():
        if isinstance(kernel, Kernel):
            again = Kernel(kernel.__cutelite_function__, kernel.given, kernel.block, kernel.cluster)
            monkeypatch.setattr(kernels, name, again)


def floats(n: int) -> Any:
    return np.arange(n, dtype=np.float32)


# ---- in the simulator


def test_numpy_means_the_simulator() -> None:
    a, b, c = floats(100), floats(100), np.zeros(100, np.float32)
    kernels.add[1, 128](a, b, c)
    np.testing.assert_array_equal(c, 2 * a)


def test_a_launch_object_and_keywords() -> None:
    x = floats(100)
    kernels.scale.launch(Launch(grid=2), x, by=2.0, times=3)
    np.testing.assert_array_equal(x, 8 * floats(100))
    kernels.scale[Launch(2, 64, seed=5)](x, 0.5)
    np.testing.assert_array_equal(x, 4 * floats(100))


def test_a_function_for_a_grid_takes_the_arguments() -> None:
    grid: Any
    for grid, error, said in (
        (
            lambda: 1,
            LaunchError,
            r"tripled: a grid that is a function is called with a dict of the arguments: .* takes 0",
        ),
        (lambda arguments: len(arguments["x"].shape[0]), TypeError, "object of type 'int' has no len"),
    ):
        with pytest.raises(error, match=said):
            kernels.tripled[grid, 32](floats(32))


def test_numba_s_form_with_stream_and_shared_memory() -> None:
    x = floats(128)
    x[0] = 7.0
    kernels.sharing[1, 128, None, 512](x)
    np.testing.assert_array_equal(x, np.full(128, 8.0))


@pytest.mark.parametrize("block", [[32], [32, 1], 32, np.int64(32)])
def test_extents_in_lists_and_of_numpy(block: Any) -> None:
    x = floats(32)
    kernels.tripled[Launch([1, 1], block, cluster=[1])](x)  # type: ignore[arg-type]
    kernels.tripled[[1], block](x)
    np.testing.assert_array_equal(x, 9 * floats(32))


def test_kernels_are_pickled_by_name_and_methods_with_their_object() -> None:
    add = kernels.add
    assert pickle.loads(pickle.dumps(add)) is copy.copy(add) is copy.deepcopy([add])[0] is add
    again = pickle.loads(pickle.dumps(kernels.Scaler(3).run))
    assert (again.kernel, again.instance.by) == (kernels.Scaler.run, 3)
    assert copy.copy(again).instance is again.instance
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(add.options(opt=1))  # a name gives the one without options


def test_another_process_launches_a_pickled_compile_without_compiling(tmp_path: Path) -> None:
    """Also with constants, whose keys are of one process, and of a method, whose object is one."""
    x = floats(32)
    scale, run = kernels.scale.compile(x, 0.5, times=3), kernels.Scaler(3).run.compile(x)
    (tmp_path / "compiled").write_bytes(pickle.dumps((scale, run)))
    program = """
        import pickle, sys
        from pathlib import Path
        import numpy as np
        scale, run = pickle.loads(Path(sys.argv[1]).read_bytes())
        x = np.ones(32, np.float32)
        run[1](x)
        scale[1](x, 2.0, times=3)
        print(x[31], scale.ptx.count(".entry"), run.name)
        try:
            scale[1](x, 2.0, times=2)
        except Exception as error:
            print(type(error).__name__)
    """
    found = printed(program, tmp_path / "compiled", CUTELITE_COMPILE="error", PYTHONHASHSEED="1")
    assert found.split() == ["24.0", "1", "run", "ArgumentError"]


def test_annotations_in_text_name_variables_beside_the_kernel() -> None:
    count = cl.dims("COUNT")

    @cl.kernel(block=32)
    def doubled(x: Tensor[cl.f32, (count,)]) -> None:  # Python captures no `count` for a string
        i = cl.thread_idx.x
        if i < x.shape[0]:
            x[i] = 2 * x[i]

    x = floats(20)
    doubled.options(opt=2)[1](x)
    doubled[1](x)
    np.testing.assert_array_equal(x, 4 * floats(20))


def test_a_tma_tensor_in_the_simulator() -> None:
    bf16 = pytest.importorskip("ml_dtypes").bfloat16
    a = np.arange(8 * 40).reshape(8, 40).astype(bf16)
    b = np.zeros((8, 40), bf16)
    kernels.copied[1, 128](a, b)
    np.testing.assert_array_equal(b, a)


def test_methods_are_kernels_and_their_object_a_constant() -> None:
    x = floats(32)
    kernels.Scaler(3).run[1, 32](x)
    kernels.Scaler(5).run[1, 32](x)
    np.testing.assert_array_equal(x, 15 * floats(32))
    kernels.Scaler.run[1, 32](kernels.Scaler(2), x)
    np.testing.assert_array_equal(x, 30 * floats(32))
    kernels.Scaler(2).twice[1, 32](x)
    np.testing.assert_array_equal(x, 120 * floats(32))
    run = kernels.Scaler(2).run
    assert run.check(1, 32, x, seeds=1) and run.trace_launch(cl.Launch(1, 32), x).cycles
    np.testing.assert_array_equal(x, 480 * floats(32))


def test_what_a_launch_looks_like() -> None:
    assert repr(cl.Launch(2, stream=0, pdl=True)) == "Launch(grid=2, stream=0, pdl=True)"
    assert repr(kernels.add[(2, 3), 32]) == "<add[Launch(grid=(2, 3), block=32)]>"


def test_a_mask_is_not_lost() -> None:
    masked = np.ma.masked_less(floats(4), 2)
    with pytest.raises(cl.ArgumentError, match=r"`a` cannot be read: this NumPy array has a mask, .*\.filled\(\)"):
        kernels.add[1, 32](masked, floats(4), floats(4))


def test_a_grid_of_no_blocks_launches_nothing(cuda: FakeCuda) -> None:
    for grid in (0, (4, 0), (1, 1, 0)):
        kernels.add[grid, 128]("not", "looked", "at")
    assert not cuda.launches


def test_an_array_that_may_not_be_written() -> None:
    a, c = floats(4), np.zeros(4, np.float32)
    a.flags.writeable = False
    kernels.add[1, 32](a, a, c)  # only read
    c.flags.writeable = False
    with pytest.raises(cl.ArgumentError, match="argument `c` is read-only, and the kernel writes it; pass a copy"):
        kernels.add[1, 32](a, a, c)
    memory = floats(4)
    with pytest.raises(cl.ArgumentError, match="argument `c` is read-only"):
        kernels.add[1, 32](memory, a, np.broadcast_to(memory, (4,)))  # also where another argument may be written


def test_arrays_of_other_libraries_in_host_memory_are_simulated_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "has_gpu", lambda: False)
    columns = np.zeros((100, 3), np.float32)
    c = np.zeros(100, np.float32)
    kernels.add[1, 128](ByDlpack(floats(100)), ByDlpack(floats(100)), ByDlpack(c))
    np.testing.assert_array_equal(c, 2 * floats(100))

    @cl.kernel(block=32)
    def fill(x: cl.Tensor[cl.f32, (None,), (None,)]) -> None:
        for i in range(cl.thread_idx.x, x.shape[0], 32):
            x[i] = cl.f32(i)

    fill[1, 32](ByDlpack(columns[:, 1]))
    np.testing.assert_array_equal(columns[:, 1], floats(100))
    assert not columns[:, [0, 2]].any()


def test_what_the_simulator_finds_names_kernel_and_line() -> None:
    @cl.kernel(block=32)
    def beyond(x: cl.Tensor[cl.f32, (kernels.N,)]) -> None:
        x[cl.thread_idx.x + kernels.N] = 0.0

    with pytest.raises(SimError, match=r"(?s)x\[cl.thread_idx.x \+ kernels.N\] = 0.0.*in kernel `beyond`"):
        beyond[1, 32](floats(32))


def test_assertions_hold_in_the_simulator() -> None:
    kernels.asserting[1, 32](4)
    with pytest.raises(SimError, match="n is small"):
        kernels.asserting[1, 32](3)


def test_what_a_gpu_would_refuse_is_refused_in_the_simulator_too() -> None:
    @cl.kernel(block=32)
    def large(x: cl.Tensor[cl.f32, (kernels.N,)]) -> None:
        tile = cl.shared(cl.f32, (1 << 18,))
        tile[0] = x[0]

    with pytest.raises(cl.CompileError, match="shared memory"):
        large[1, 32](floats(1))


# ---- on a GPU


def test_what_the_driver_is_asked(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    a, b, c = (on_gpu((1000,)) for _ in range(3))
    kernels.add[(8, 1), 128](a, b, c)
    config = cuda.launches[-1][0]
    assert (config.gridDimX, config.gridDimY, config.gridDimZ) == (8, 1, 1)
    assert (config.blockDimX, config.blockDimY, config.blockDimZ) == (128, 1, 1)
    assert (config.sharedMemBytes, config.hStream, config.numAttrs) == (0, 0, 0)
    assert cuda.images[0].startswith(b"\x7fELF")


def parameters_of(cuda: FakeCuda, kinds: list[Any]) -> list[Any]:
    addresses = (ctypes.c_uint64 * len(kinds)).from_address(cuda.launches[-1][2])
    return [kind.from_address(address).value for kind, address in zip(kinds, addresses, strict=True)]


def test_parameters_in_order(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x = on_gpu((70,))
    kernels.scale[2, 64](x, 2)
    pointer, by, n = parameters_of(cuda, [ctypes.c_uint64, ctypes.c_float, ctypes.c_int32])
    assert (pointer, by, n) == (x.pointer, 2.0, 70)


T = TypeVar("T")


def test_kernels_with_the_same_code_pack_their_own_parameters(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x = on_gpu((8,))

    @cl.kernel(block=32)
    def fill(x: cl.Tensor[cl.f32, (8,)], by: T) -> None:
        bits: Any = x.recast(cl.i32)
        bits[cl.thread_idx.x % 8] = cl.bitcast(by, cl.i32)

    for given, kind in ((np.float32(3), ctypes.c_float), (np.int32(3), ctypes.c_int32)):
        fill[1](x, given)
        assert parameters_of(cuda, [ctypes.c_uint64, kind]) == [x.pointer, 3]


def test_launch_settings_reach_the_driver(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x = on_gpu((8,))
    kernels.clustered.launch(Launch(8, stream=0x7700, smem=1000, cooperative=True, pdl=True), x)
    config = cuda.launches[-1][0]
    assert (config.hStream, config.sharedMemBytes, config.numAttrs) == (0x7700, 1000, 3)
    assert [attribute.id for attribute in config.attrs] == [4, 2, 6]
    assert config.attrs[0].value.clusterDim.x == 2
    kernels.clustered.launch(Launch(8, (32, 2), cluster=2), x)
    assert cuda.launches[-1][0].attrs[0].value.clusterDim.x == 2


class Event:
    """As torch has one: its handle is 0 before it is first recorded."""

    def __init__(self, handle: int) -> None:
        self.cuda_event = handle


def test_attributes_of_launches(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x = on_gpu((8,))
    launch = Launch(8, priority=-3, carveout=75, domain="remote", launched=Event(0x1234), triggered=0x99)
    kernels.clustered.launch(launch, x)
    found = {attribute.id: attribute.value.pad for attribute in cuda.launches[-1][0].attrs if attribute.id != 4}
    assert {len(value) for value in found.values()} == {64}
    numbers = {id: int.from_bytes(value[:8], "little") for id, value in found.items()}
    assert numbers == {7: 0x99, 8: (1 << 32) - 3, 10: 1, 12: 0x1234, 14: 75}
    kernels.clustered.launch(Launch(8, priority=0), x)
    assert [attribute.id for attribute in cuda.launches[-1][0].attrs] == [4, 8]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"priority": 1.5}, "a priority is an integer, the lower the sooner; not 1.5"),
        ({"priority": 1 << 31}, "a priority is an integer"),
        ({"carveout": 101}, "0 to 100, not 101"),
        ({"carveout": True}, "not True"),
        ({"domain": "far"}, "a domain is one of 'default', 'remote', not 'far'"),
        ({"launched": "event"}, "launched: a str is no CUDA event"),
        ({"launched": Event(0)}, "launched: the event does not exist yet"),
        ({"triggered": 1.5}, "triggered: a float is no CUDA event"),
        ({"triggered": True}, "triggered: a bool is no CUDA event"),
        ({"seed": "a"}, "the seed takes whole numbers, not 'a'"),
        ({"seed": 1.5}, "the seed takes whole numbers, not 1.5"),
        ({"seed": True}, "the seed takes whole numbers, not True"),
        ({"seed": -1}, "the seed has -1, but 0 is the least"),
        ({"pdl": 1}, "pdl is True or False, not 1"),
        ({"cooperative": "yes"}, "cooperative is True or False, not 'yes'"),
        ({"cooperative": np.zeros(2)}, "cooperative is True or False, not array"),
        ({"domain": np.zeros(2)}, "a domain is one of 'default', 'remote', not array"),
        ({"smem": "a"}, "the dynamic shared memory takes whole numbers, not 'a'"),
        ({"block": "a"}, "the block takes whole numbers, not 'a'"),
        ({"cluster": 1.5}, "the cluster takes whole numbers, not 1.5"),
        ({"stream": "a"}, "a str is not a CUDA stream"),
    ],
)
@pytest.mark.parametrize("place", ["gpu", "simulator"])
def test_attributes_that_cannot_be(
    cuda: FakeCuda, on_gpu: GpuArray, said: dict[str, Any], words: str, place: str
) -> None:
    x = on_gpu((8,)) if place == "gpu" else np.zeros(8, np.float32)
    with pytest.raises(LaunchError, match=words):
        kernels.clustered.launch(Launch(8, **said), x)


def test_a_seed_may_be_a_number_of_numpy() -> None:
    kernels.clustered.launch(Launch(8, seed=np.int64(5)), np.zeros(8, np.float32))  # type: ignore[arg-type]


def test_a_grid_of_more_blocks_than_can_be_simulated_is_refused_at_once() -> None:
    with pytest.raises(TooLarge, match="the 2147483646 blocks of the grid would take more operations than the limit"):
        kernels.clustered.launch(Launch(2**31 - 2), np.zeros(8, np.float32))


def test_shared_memory_is_the_compilers_and_what_is_asked_for(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x = on_gpu((128,))
    kernels.sharing[1, 128, None, 512](x)
    assert cuda.launches[-1][0].sharedMemBytes == 15 * 4096 + 512
    with pytest.raises(
        LaunchError, match=r"sharing: a block needs 61440 bytes of shared memory and 200000 are asked for"
    ):
        kernels.sharing[1, 128, None, 200_000](x)


def test_a_descriptor_is_encoded_from_the_tensor(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    a, b = on_gpu((24, 80), "bf16"), on_gpu((24, 80), "bf16")
    if a.pointer % 16:
        pytest.skip("the allocator gave no aligned memory")
    kernels.copied[1, 128](a, b)
    (asked,) = cuda.maps
    assert asked["address"] == a.pointer
    assert (asked["dims"], asked["strides"], asked["box"]) == ([80, 24], [160], [64, 16])
    address = (ctypes.c_uint64 * 1).from_address(cuda.launches[-1][2])[0]
    assert ctypes.string_at(address, 128) == bytes([1]) * 128
    kernels.copied[1, 128](a, b)
    assert len(cuda.maps) == 1


def test_the_device_of_the_arrays_is_used(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    for gpu in (1, 0):
        x = on_gpu((70,), gpu=gpu)
        kernels.scale[2, 64](x, 2.0)
        assert cuda.launch_contexts[-1] == 0x1000 + gpu
    assert [spec.arch for spec in kernels.scale.specialisations] == ["sm_80", "sm_90a"]


def test_a_context_of_ones_own_has_a_module_of_its_own(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x = on_gpu((70,))
    kernels.scale[2, 64](x, 2.0)
    cuda.stack.append(0x3000)
    kernels.scale[2, 64](x, 2.0)
    kernels.scale[2, 64](x, 2.0)
    cuda.stack.clear()
    assert cuda.launch_contexts == [0x1000, 0x3000, 0x3000]
    assert len(cuda.images) == 2


def test_one_specialisation_for_all_sizes(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    for n in (64, 1000, 31):
        kernels.scale[1, 64](on_gpu((n,)), 1.0)
    assert len(kernels.scale.specialisations) == len(cuda.images) == 1
    kernels.scale[1](on_gpu((64,), "f16"), 1.0)
    kernels.scale[1](on_gpu((64,), "f16"), 1.0, times=2)
    assert len(kernels.scale.specialisations) == 3


def test_without_arrays_the_current_gpu_is_taken(cuda: FakeCuda) -> None:
    kernels.nothing[1, 32]()
    assert cuda.launch_contexts == [0x1000]


class Stream:
    def __init__(self, handle: int, closed: bool = False) -> None:
        self.cuda_stream = handle
        self.is_closed = closed


def test_streams(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x = on_gpu((70,))
    for stream, handle in ((0x5500, 0x5500), (np.int64(0x5500), 0x5500), (Stream(0x66), 0x66), (None, 0)):
        kernels.scale[2, 64, stream](x, 2.0)
        assert cuda.launches[-1][0].hStream == handle
    closed: Any
    for closed, said in (
        (Stream(1, closed=True), "this Stream has been closed"),
        ("s", "a str is not a CUDA stream"),
        (1 << 65, f"{1 << 65} is not the handle of a stream"),
    ):
        with pytest.raises(LaunchError, match=f"scale: {said}"):
            kernels.scale[2, 64, closed](x, 2.0)
    assert len(cuda.launches) == 4


def test_producers_known_by_interface_are_told_the_stream(cuda: FakeCuda) -> None:
    told = []

    class OnGpu:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 0

        def __dlpack__(self, stream: int | None = None, max_version: Any = None) -> Any:
            told.append(stream)
            return rt.empty((70,), "f32", rt.device(0)).__dlpack__(stream=-1)

    kernels.scale[2, 64, 0x5500](OnGpu(), 2.0)
    kernels.scale[2, 64](OnGpu(), 2.0)
    assert told == [0x5500, 1]  # 1 is the default stream in DLPack


def test_a_fault_names_the_kernel_when_launches_are_waited_for(
    cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTELITE_SYNC", "1")
    launch, x = FakeCuda.cuLaunchKernelEx, on_gpu((70,))

    def submit(*arguments: Any) -> tuple[()]:
        cuda.fail["cuStreamSynchronize"] = 700
        return launch(cuda, *arguments)

    cuda.__dict__["cuLaunchKernelEx"] = submit
    said = (
        rf"running `scale` with grid.*device 0, with x: f32 \(70,\) with strides \(1,\) at {x.pointer:#x}, by: 2.0, t"
    )
    with pytest.raises(rt.CudaError, match=said):
        kernels.scale[2, 64](x, 2.0)
    with pytest.raises(rt.CudaError, match="waiting for what is ahead of `scale`"):
        kernels.scale[2, 64](x, 2.0)


def test_threads_launch_at_once(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    arrays = [on_gpu((70,)) for _ in range(8)]
    cuda.stack.append(0x1000)  # the fake has one stack of contexts for all threads

    def work(x: Any) -> None:
        for _ in range(20):
            kernels.scale[2, 64](x, 2.0)

    at_once(work, arrays)
    cuda.stack.clear()
    assert len(cuda.launches) == 160 and len(cuda.images) == 1


def test_threads_launch_while_others_compile(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x = on_gpu((70,))
    cuda.stack.append(0x1000)

    def work(times: int) -> None:
        for i in range(30):
            kernels.scale[2, 64](x, 2.0, times if i % 10 == 0 else 1)

    at_once(work, range(1, 7))
    cuda.stack.clear()
    assert len(cuda.launches) == 180 and len(kernels.scale.specialisations) == 6


# ---- refused before anything runs


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ((1, 2048), "add: a block of (2048, 1, 1) has 2048 threads, but sm_90a takes 1024"),
        ((1, (1, 1, 65)), "add: the block's z extent is 65, but sm_90a takes at most 64"),
        ((1, 0), "add: the block has 0, but 1 is the least it can have"),
        ((-1, 1), "add: the grid has -1, but 0 is the least it can have"),
        (((1, 65536), 1), "add: the grid's y extent is 65536, but sm_90a takes at most 65535"),
        ((1.5, 1), "add: the grid takes whole numbers, not 1.5"),
        ((True, 1), "add: the grid takes whole numbers, not True"),
        (((1, 1, 1, 1), 1), "add: the grid is (1, 1, 1, 1), but must be one to three integers"),
        (((), 1), "add: the grid is (), but must be one to three integers"),
        ((kernels.N, 1), "add: the grid takes whole numbers, not N: the value of N is known at launch only"),
        ((1, kernels.N), "add: the block takes whole numbers, not N: the value of N is known at launch only"),
        ((np.ones(2, int), 1), "add: the grid takes whole numbers, not array([1, 1]): "),
        ((1, np.ones(2)), "add: the block takes whole numbers, not array([1., 1.]): arguments follow grid and block"),
        (Launch(1), "add: no block is given, and its shape is compiled in"),
        (Launch(3, 32, cluster=2), "add: the grid's x extent 3 is no multiple of the cluster's, 2"),
        (Launch(32, 32, cluster=32), "add: a cluster of (32, 1, 1) has 32 blocks, but sm_90a takes 16"),
        (Launch(1, 32, smem=-1), "add: the dynamic shared memory has -1, but 0 is the least it can have"),
        (Launch(1, 32, smem=1 << 20), "add: 1048576 bytes of shared memory are asked for, but sm_90a has 232448"),
    ],
)
@pytest.mark.parametrize("where", ["gpu", "simulator"])
def test_shapes_that_cannot_be(key: Any, said: str, where: str, cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x = on_gpu((8,)) if where == "gpu" else floats(8)
    with pytest.raises(LaunchError) as caught:
        kernels.add[key](x, x, x)
    assert str(caught.value).startswith(said)
    assert not cuda.launches


def test_what_an_older_gpu_lacks(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x = on_gpu((8,), gpu=1)
    with pytest.raises(LaunchError, match=r"a cluster of .* has 2 blocks, but sm_80 takes no clusters"):
        kernels.clustered[2](x)
    with pytest.raises(LaunchError, match=r"pdl .* came with sm_90; sm_80 has none"):
        kernels.add[Launch(1, 32, pdl=True)](x, x, x)
    with pytest.raises(cl.CompileError, match="sm_80"):
        kernels.copied[1, 128](on_gpu((16, 64), "bf16", gpu=1), on_gpu((16, 64), "bf16", gpu=1))


@pytest.mark.parametrize("key", [1, (1,), "x", (1, 2, 3, 4, 5)])
def test_subscripts_that_are_none(key: Any) -> None:
    with pytest.raises(LaunchError, match=r"add: a kernel is launched as kernel\[grid, block\]"):
        kernels.add[key]


@pytest.mark.parametrize("key", [3, (3,), ((3, 1), None), (3, 64), ((3,), (64, 1, 1)), Launch(3), (3, None, None, 8)])
def test_the_decorators_block_need_not_be_said(key: Any, cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x = on_gpu((64,))
    for _ in range(4):  # the later ones go through the compiled launcher
        kernels.scale[key](x, 1.0)
        config = cuda.launches[-1][0]
        assert (config.gridDimX, config.blockDimX, config.blockDimY) == (3, 64, 1)
    y = floats(64)
    kernels.scale[key](y, 2.0)
    np.testing.assert_array_equal(y, floats(64) * 2)


def test_a_launch_does_not_override_the_decorator(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x, y = on_gpu((64,)), floats(64)
    said = r"scale: a block of .* is asked for in .*test_launch\.py:\d+, but @kernel\(block=64\) says .*kernels\.py:\d+"
    said += r"; .*\(x, y\), None"
    other = Launch(1, 32)
    for asked in (
        lambda: kernels.scale[1, 32](x, 1.0),
        lambda: kernels.scale[1, (32, 2)](y, 1.0),
        lambda: kernels.scale.launch(other, x, 1.0),
        lambda: kernels.scale.check(1, 32, y, 1.0),
        lambda: kernels.scale.trace_launch(other, y, 1.0),
        lambda: kernels.scale.compiling(other, x, 1.0),
        lambda: kernels.scale.compile(block=32, T=cl.f32),
        lambda: kernels.scale.export(None, block=(64, 2), T=cl.f32),
    ):
        with pytest.raises(LaunchError, match=said):
            asked()
    with pytest.raises(LaunchError, match=r"clustered: a cluster of 4 .* @kernel\(cluster=2\)"):
        kernels.clustered.launch(Launch(8, cluster=4), x)
    assert not cuda.launches
    assert kernels.scale.compile(block=(64, 1), T=cl.f32).artifact.block == (64, 1, 1)
    assert kernels.scale.check(1, None, y, 1.0) and kernels.scale.check(1, 64, y, 1.0)


def test_calling_a_kernel_says_how_to_launch_it() -> None:
    with pytest.raises(LaunchError, match=r"add is a kernel: launch it as add\[grid, block\]"):
        kernels.add(1, 2, 3)


def test_arrays_in_different_places(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    here, there, host = on_gpu((8,)), on_gpu((8,), gpu=1), floats(8)
    with pytest.raises(cl.ArgumentError, match="argument `a` is on GPU 0, but `b` is on GPU 1; move them to one place"):
        kernels.add[1, 32](here, there, here)
    with pytest.raises(cl.ArgumentError, match="argument `a` is on GPU 0, but `c` is in host memory; move"):
        kernels.add[1, 32](here, here, host)
    assert not cuda.launches


def test_host_arrays_of_other_libraries_are_refused_where_there_is_a_gpu(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.ones(8, np.float32)
    with pytest.raises(cl.ArgumentError, match=r"argument `x` is a tests array in host memory; move it to the GPU, or"):
        kernels.tripled[1, 32](ByDlpack(x))
    monkeypatch.setenv("CUTELITE_SIM", "1")
    kernels.scale[1, 64](ByDlpack(x), 4.0)
    np.testing.assert_array_equal(x, np.full(8, 4.0))


@pytest.mark.parametrize("check", ["0", "2"])
def test_the_simulator_takes_copies_of_gpu_arrays(
    check: str, cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of one array that is given twice: what one argument writes the other reads."""
    monkeypatch.setenv("CUTELITE_SIM", "1")
    monkeypatch.setenv("CUTELITE_CHECK", check)
    x = rt.to_device(np.arange(64, dtype=np.float32))
    kernels.scale.options(opt=2)[1](x, 4.0)
    np.testing.assert_array_equal(rt.from_device(x), 4.0 * np.arange(64, dtype=np.float32))
    kernels.add.options(opt=2)[1, 64](x, x, x)
    np.testing.assert_array_equal(rt.from_device(x), 8.0 * np.arange(64, dtype=np.float32))
    assert not cuda.launches


def test_simulations_take_copies_of_gpu_arrays(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    """The host cannot read memory of a GPU, though it reads that of the driver made of Python."""
    a, b, c = (rt.to_device(np.full(64, value, np.float32)) for value in (1, 2, 0))
    assert kernels.add.check(1, 64, a, b, c)
    assert (rt.from_device(c) == 3).all()
    kernels.add.trace_launch(cl.Launch(1, 64), a, c, c)
    assert (rt.from_device(c) == 4).all()
    (work,) = cl.roofline(lambda: kernels.add[1, 64](a, b, c))
    assert work.bytes == 3 * 64 * 4 and not cuda.launches


def test_a_gpu_is_compared_with_the_simulator(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    """The driver made of Python launches nothing, so its arrays stay as they were."""
    ones, zeros = np.ones(64, np.float32), np.zeros(64, np.float32)
    found = kernels.add.compare_with_gpu(1, 64, *map(rt.to_device, (ones, zeros, zeros)))
    assert len(cuda.launches) == 1 and not found
    (difference,) = found.differences
    assert (difference.argument, difference.index, difference.gpu, difference.simulator) == ("c", (0,), 0.0, 1.0)
    assert (difference.count, difference.worst) == (64, 1.0)
    assert difference.span is not None and "c[i] = a[i] + b[i]" in difference.span.source()[0]
    assert "`c`[0] is 0 on the GPU and 1 in the simulator" in str(found) and "the simulator wrote it here last" in str(
        found
    )
    agreed = kernels.add.compare_with_gpu(1, 64, *map(rt.to_device, (ones, zeros, ones)))
    assert agreed and str(agreed) == "add: GPU and simulator agree on a, b, c"
    assert kernels.add.compare_with_gpu(1, 64, *map(rt.to_device, (ones, zeros, zeros)), tolerance=1.0)
    with pytest.raises(cl.ArgumentError, match="takes arrays on a GPU"):
        kernels.add.compare_with_gpu(1, 64, ones, zeros, zeros)


@pytest.mark.parametrize("where", ["gpu", "simulator"])
def test_tensors_that_tma_cannot_take(where: str, cuda: FakeCuda, on_gpu: GpuArray) -> None:
    bf16 = pytest.importorskip("ml_dtypes").bfloat16
    odd = on_gpu((16, 65), "bf16") if where == "gpu" else np.zeros((16, 65), bf16)
    with pytest.raises(cl.ArgumentError, match=r"copied\(\): argument `a` cannot be accessed by TMA: .*130 bytes"):
        kernels.copied[1, 128](odd, odd)
    assert not cuda.launches


def test_a_compile_error_at_a_launch_points_at_the_line(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    @cl.kernel(block=32)
    def wrong(x: cl.Tensor[cl.f32, (kernels.N,)]) -> None:
        x[0] = y  # noqa: F821

    for _ in range(2):  # and fails again: nothing is kept of it
        with pytest.raises(cl.CompileError) as caught:
            wrong[1, 32](on_gpu((8,)))
        assert "the name `y` is not defined" in str(caught.value)
        assert "x[0] = y" in str(caught.value) and "^" in str(caught.value)
    assert not cuda.launches and not wrong.specialisations


def test_no_driver_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gpu:
        __cuda_array_interface__ = {"shape": (8,), "typestr": "<f4", "data": (4096, False), "version": 3}

    def none() -> Any:
        raise rt.NoDriver("libcuda cannot be opened")

    monkeypatch.setattr("cutelite_rt.gpu.driver.get", none)
    with pytest.raises(rt.NoDriver, match="libcuda cannot be opened"):
        kernels.tripled[1, 32](Gpu())


# ---- globals


def test_a_global_that_changes_between_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(32, np.float32)
    kernels.tripled[1, 32](x)
    monkeypatch.setattr(kernels, "FACTOR", 5)
    kernels.tripled[1, 32](x)
    np.testing.assert_array_equal(x, np.full(32, 15.0))


def test_a_global_that_changes_between_launches_on_a_gpu(
    cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = on_gpu((8,))
    kernels.tripled[1, 32](x)
    monkeypatch.setattr(kernels, "FACTOR", 5)
    kernels.tripled[1, 32](x)
    kernels.tripled[1, 32](x)
    monkeypatch.setattr(kernels, "FACTOR", 3)
    kernels.tripled[1, 32](x)
    assert len(cuda.images) == 2  # the first one is in the disk cache still, and loaded
    assert len({handle for _, handle, _ in cuda.launches}) == 2


def test_rebinding_a_global_to_an_equal_value_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(32, np.float32)
    kernels.tripled[1, 32](x)
    (spec,) = kernels.tripled._made.simulated
    function = kernels.tripled._made.simulated[spec]
    monkeypatch.setattr(kernels, "FACTOR", int("3"))
    monkeypatch.setattr(kernels, "N", cl.dims("N"))
    kernels.tripled[1, 32](x)
    assert kernels.tripled._made.simulated == {spec: function}


ROWS, COLUMNS = cl.dims("ROWS COLUMNS")
BETWEEN = cl.Dim("BETWEEN", divisible_by=4, min=8)


@pytest.mark.parametrize("step", [0, 3, -5])
def test_a_stride_that_means_nothing_is_nothing_to_the_simulator(step: int) -> None:
    @cl.kernel
    def doubled(x: cl.Tensor[cl.f32, (ROWS, COLUMNS), (BETWEEN, 1)]) -> None:
        x[0, cl.thread_idx.x] = 2.0 * x[0, cl.thread_idx.x]

    x = np.ones(16, np.float32)
    doubled[1, 4](np.lib.stride_tricks.as_strided(x, (1, 4), (4 * step, 4)))
    assert x.tolist() == [2.0] * 4 + [1.0] * 12
