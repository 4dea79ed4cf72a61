"""What the tests of launching share: a clean environment, a driver made of Python, arrays on its GPUs."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import cutelite_rt as rt
from cutelite.dispatch import device, launcher, specialise
from tests.rt.conftest import FakeCuda
from tests.rt.conftest import cuda as cuda

GpuArray = Callable[..., rt.DeviceArray]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No CUTELITE_ variable but a cache directory of the test's own, and no memory of another test's GPUs."""
    for name in os.environ:
        if name.startswith("CUTELITE_") and name not in ("CUTELITE_PTXAS",):
            monkeypatch.delenv(name)
    cache = tmp_path / "cache"
    monkeypatch.setenv("CUTELITE_CACHE_DIR", str(cache))
    monkeypatch.setattr(launcher, "LAUNCHES", 0)  # tests that want a compiled launcher have it built
    yield cache
    device.arch_of.cache_clear()
    specialise._opened.cache_clear()


@pytest.fixture
def on_gpu(cuda: FakeCuda) -> GpuArray:
    """Makes arrays that lie on a GPU of the driver made of Python: ``on_gpu((4, 8), "f32", gpu=0)``."""

    def make(shape: tuple[int, ...], dtype: str = "f32", gpu: int = 0) -> rt.DeviceArray:
        return rt.empty(shape, dtype, rt.device(gpu))

    return make
