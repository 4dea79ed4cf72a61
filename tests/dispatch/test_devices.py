"""Several GPUs in one process: a kernel is loaded into each one's context, and what was current stays so."""

import numpy as np
import pytest

import cutelite_rt as rt
from tests.dispatch import kernels
from tests.dispatch.conftest import GpuArray
from tests.rt.conftest import FakeCuda
from tests.threads import at_once


def test_a_module_for_each_context(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    for _ in range(2):
        for gpu in (0, 1):
            kernels.add[1, 64](*(on_gpu((8,), "f32", gpu) for _ in range(3)))
            assert cuda.stack == []
    assert len(cuda.images) == 2  # an H200 and an A100: an image for each
    assert cuda.launch_contexts == [0x1000, 0x1001] * 2


@pytest.fixture
def gpus() -> list[rt.Device]:
    if rt.count() < 2:
        pytest.skip("needs two GPUs")
    return [rt.device(n) for n in range(rt.count())]


@pytest.mark.gpu
def test_kernels_on_every_gpu(gpus: list[rt.Device]) -> None:
    exported = rt.load_kernel(kernels.add.export(None, block=64, arch="sm_80"))
    x = np.arange(1000, dtype=np.float32)
    arrays = {gpu.ordinal: [rt.to_device(each, gpu) for each in (x, 2 * x, 0 * x)] for gpu in gpus}
    for add in (kernels.add, exported):
        for ordinal, (a, b, c) in arrays.items():
            with gpus[0].active():
                add[16, 64](a, b, c)
                assert rt.device().ordinal == 0  # still
            np.testing.assert_array_equal(c.numpy(), 3 * x)
            arrays[ordinal][2] = rt.to_device(0 * x, c.device)


@pytest.mark.gpu
def test_a_thread_for_each_gpu(gpus: list[rt.Device]) -> None:
    x = np.arange(1000, dtype=np.float32)

    def work(gpu: rt.Device) -> None:
        a, b, c = (rt.to_device(each, gpu) for each in (x, x + gpu.ordinal, 0 * x))
        for _ in range(200):
            kernels.add[16, 64](a, b, c)
        np.testing.assert_array_equal(c.numpy(), 2 * x + gpu.ordinal)

    at_once(work, gpus * 2)


@pytest.mark.gpu
def test_torch_tensors_of_two_gpus(gpus: list[rt.Device]) -> None:
    torch = pytest.importorskip("torch")
    for n in (1, 0, 1):
        a = torch.ones(1000, device=f"cuda:{n}")
        c = torch.empty_like(a)
        kernels.add[16, 64](a, a, c)
        assert torch.cuda.current_device() == 0
        assert c.eq(2).all().item()
    with pytest.raises(rt.ArgumentError, match="is on GPU 0, but `b` is on GPU 1; move them to one place"):
        kernels.add[16, 64](
            torch.ones(8, device="cuda:0"), torch.ones(8, device="cuda:1"), torch.ones(8, device="cuda:0")
        )
