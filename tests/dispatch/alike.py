"""Two ways of launching compared: what a launch comes to, and launches of which many are alike."""

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st

import cutelite_rt as rt
from cutelite import config
from cutelite.dispatch import Kernel
from cutelite_rt.export.exported import MISTAKES
from cutelite_rt.gpu import driver
from tests.rt.conftest import FakeCuda, machine_code_or_skip


@dataclass(eq=False)
class Placed:
    """An array of our own kind, wherever a test wants it."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: rt.Device


def with_launcher(kernel: Kernel) -> Kernel:
    """Return the kernel, with its compiled launcher from now on; skip the test where this Python cannot run one."""
    machine_code_or_skip()
    kernel._launching.build(driver.get(), config.read())
    assert kernel._launching.launcher is not None
    return kernel


def our_frames(error: BaseException) -> list[str]:
    """The modules of ours in the traceback of an error."""
    modules = [frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(error.__traceback__)]
    return [module for module in modules if module.startswith("cutelite")]


def launched(kernel: Kernel | rt.ExportedKernel, cuda: FakeCuda, launch: Any, *args: Any, **kwargs: Any) -> Any:
    """What a launch comes to: the error and its words, or what the driver was asked for. Mistakes end at the launch.

    launch  what is between brackets; None for the grid that was exported
    """
    cuda.launches.clear()
    cuda.packed.clear()
    try:
        (kernel if launch is None else kernel[launch])(*args, **kwargs)
    except Exception as error:
        assert not isinstance(error, MISTAKES) or not our_frames(error)
        return type(error), str(error)
    if not cuda.launches:
        return None
    config, handle, address = cuda.launches[-1]
    if cuda.packed:
        (data,) = cuda.packed
    else:
        by_python = kernel._loaded if isinstance(kernel, Kernel) else kernel._functions
        kept = (getattr(each._buffers, "parameters", None) for each in {*by_python._functions.values()})
        (data,) = (p.data() for p in kept if p is not None and p.address == address)
    attributes = [attribute.id for attribute in config.attrs]
    return {**vars(config), "attrs": attributes}, handle, cuda.launch_contexts[-1], data


def alike(cuda: FakeCuda, pair: tuple[Any, Any], launch: Any, *args: Any, **kwargs: Any) -> Any:
    """What a launch comes to by the first kernel of a pair, three times, and by the other one; all the same."""
    compiled, python = pair
    expected = launched(python, cuda, launch, *args, **kwargs)
    for _ in range(3):
        assert launched(compiled, cuda, launch, *args, **kwargs) == expected
    return expected


def reuses(kernel: Kernel | rt.ExportedKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, launching from the start fails."""

    def anew(*_: Any) -> None:
        raise AssertionError("launched from the start")

    monkeypatch.setattr(kernel, "_launch_anew" if isinstance(kernel, Kernel) else "_launch", anew)


@st.composite
def calls(draw: Any, plain: dict[str, Any], fields: Mapping[str, Any], most: int) -> list[dict[str, Any]]:
    """Launches that differ in few things, at most `most`, from `plain` or an earlier one: many of them are alike."""
    result = [plain]
    for _ in range(draw(st.integers(1, 12))):
        changed = draw(st.lists(st.sampled_from(sorted(fields)), max_size=most))
        result.append({**draw(st.sampled_from(result)), **{name: draw(fields[name]) for name in changed}})
    return result
