"""Driver calls, what their failures say, and devices."""

from __future__ import annotations

import contextlib
import inspect
import pickle
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import cutelite_rt
from cutelite_rt.gpu import driver
from cutelite_rt.gpu.device import Device, count, device, runs_on
from cutelite_rt.gpu.driver import CALLS, CudaError, Driver, NoDriver

if TYPE_CHECKING:
    from tests.rt.conftest import FakeCuda


def test_a_call_gives_its_value(cuda: FakeCuda) -> None:
    assert driver.get().call("cuDeviceGetCount") == 2
    assert driver.get().call("cuCtxSynchronize") is None
    assert driver.get().version() == (13, 0)


def test_a_bad_status_says_name_number_and_meaning(cuda: FakeCuda) -> None:
    cuda.fail["cuMemAlloc"] = 2
    with pytest.raises(CudaError) as caught:
        driver.get().call("cuMemAlloc", 16, doing="allocating 16 bytes")
    assert str(caught.value) == (
        "CUDA_ERROR_OUT_OF_MEMORY (2) allocating 16 bytes: the device has not enough free memory"
    )
    assert (caught.value.number, caught.value.name) == (2, "CUDA_ERROR_OUT_OF_MEMORY")


def test_a_status_these_bindings_do_not_know(cuda: FakeCuda) -> None:
    assert str(driver.get().error(4711, "trying")) == "CUDA_ERROR (4711) trying: the driver says no more"


@pytest.mark.parametrize("error", [CudaError(2, "NAME", "doing", "why"), NoDriver("there is none")])
def test_errors_cross_processes(error: CudaError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.number) == (type(error), str(error), error.number)


class Old:
    """Bindings whose driver lacks a function, in cuda.bindings' words."""

    def cuCtxGetId(self, context: int) -> Any:
        raise RuntimeError('Function "cuCtxGetId" not found')


@pytest.mark.parametrize("name", ["cuCtxGetId", "cuCtxSynchronize"])
def test_a_function_the_driver_lacks(name: str) -> None:
    with pytest.raises(CudaError, match=f"too old to have {name}: update it") as caught:
        Driver(Old()).call(name, *[0] * (name == "cuCtxGetId"))
    assert caught.value.number == 36


def test_other_errors_of_the_bindings_pass_through() -> None:
    class Broken:
        def cuInit(self, flags: int) -> Any:
            raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match=r"^something else$"):
        Driver(Broken()).call("cuInit", 0)


def bindings(monkeypatch: pytest.MonkeyPatch, **functions: Any) -> str:
    module = ModuleType("some_bindings")
    module.__dict__.update(functions)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module.__name__


def test_no_bindings() -> None:
    with pytest.raises(NoDriver, match="cuda-bindings cannot be imported"):
        driver.open_driver("no_such_bindings")


def test_no_driver_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(flags: int) -> Any:
        raise RuntimeError("libcuda.so.1: cannot open shared object file")

    with pytest.raises(NoDriver, match=r"libcuda.so.1: cannot open .*; install the NVIDIA driver, or run on the sim"):
        driver.open_driver(bindings(monkeypatch, cuInit=no_library))


def test_no_device(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    cuda.fail["cuInit"] = 100
    with pytest.raises(CudaError, match=r"CUDA_ERROR_NO_DEVICE \(100\) initialising CUDA: there is no CUDA device"):
        driver.open_driver(bindings(monkeypatch, cuInit=cuda.cuInit, CUresult=cuda.CUresult))


def test_count_is_zero_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Driver:
        raise NoDriver("there is none")

    monkeypatch.setattr(driver, "get", none)
    assert count() == 0


def test_count(cuda: FakeCuda) -> None:
    assert count() == 2
    cuda.fail["cuDeviceGetCount"] = 3
    with pytest.raises(CudaError, match="fork"):
        count()


def test_every_call_made_is_in_the_table() -> None:
    made = set()
    for file in Path(inspect.getfile(cutelite_rt)).parent.rglob("*.py"):
        text = file.read_text()
        code = text[text.index("\nMEANING = ") :] if file.name == "driver.py" else text  # the table itself is above
        made |= set(re.findall(r'"(cu[A-Z]\w+)"|raw\.(cu[A-Z]\w+)\(', code))
    made = {re.sub(r"_v\d+$", "", quoted or called) for quoted, called in made}  # of a version of the same call
    at_addresses = {"cuTensorMapEncodeTiled", "cuTensorMapEncodeIm2col", "cuTensorMapEncodeIm2colWide"}
    assert made - at_addresses == set(CALLS)


def test_device_facts(cuda: FakeCuda) -> None:
    first, second = device(0), device(1)
    assert (first.arch, second.arch) == ("sm_90", "sm_80")
    assert first.name == "Fake GPU"
    assert first.compute_capability == (9, 0)
    assert (first.limits.sm_count, second.limits.smem_per_block_optin) == (132, 166912)
    assert device(0) is first


def test_current_device(cuda: FakeCuda) -> None:
    assert device().ordinal == 0  # none is current: the first
    cuda.stack.append(0x2001)
    assert device().ordinal == 1
    cuda.stack.clear()


def test_a_context_already_current_is_used(cuda: FakeCuda) -> None:
    cuda.stack.append(0x2000)  # someone's own context on device 0
    with device(0).active() as context:
        assert context == 0x2000
        assert cuda.stack == [0x2000]
    assert "cuDevicePrimaryCtxRetain" not in cuda.calls
    cuda.stack.clear()


def test_another_device_is_active_for_a_while(cuda: FakeCuda) -> None:
    cuda.stack.append(0x1000)
    with device(1).active() as context:
        assert context == cuda.stack[-1] == 0x1001
    assert cuda.stack == [0x1000]
    with contextlib.suppress(KeyError), device(1).active():
        raise KeyError
    assert cuda.stack == [0x1000]
    cuda.stack.clear()


def test_the_primary_context_is_retained_once(cuda: FakeCuda) -> None:
    one = Device(0, driver.get())
    assert one.primary_context == one.primary_context == 0x1000
    assert cuda.calls.count("cuDevicePrimaryCtxRetain") == 1


@pytest.mark.parametrize(
    ("arch", "capability", "runs"),
    [
        ("sm_80", (8, 0), True),
        ("sm_80", (8, 9), True),
        ("sm_86", (8, 0), False),
        ("sm_80", (9, 0), False),
        ("sm_90a", (9, 0), True),
        ("sm_100a", (10, 0), True),
        ("sm_100a", (10, 3), False),
        ("sm_100f", (10, 3), True),
        ("sm_120a", (10, 0), False),
    ],
)
def test_which_cubin_runs_where(arch: str, capability: tuple[int, int], runs: bool) -> None:
    assert runs_on(arch, capability) is runs


@pytest.mark.parametrize("arch", ["compute_90", "sm_", "sm_9", "90a", "sm_x0"])
def test_not_an_architecture(arch: str) -> None:
    with pytest.raises(ValueError, match="is not an architecture such as"):
        runs_on(arch, (9, 0))
