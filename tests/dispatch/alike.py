"""Two ways of launching compared: what a launch comes to, and launches of which many are alike."""

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import cutelite_rt as rt
from cutelite import config
from cutelite.dispatch import Kernel
from cutelite_rt.export.exported import MISTAKES
from cutelite_rt.gpu import driver
from cutelite_rt.gpu.launch import Loaded
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


def outcome(cuda: FakeCuda, launch: Callable[[], Any], loaded: Callable[[], Loaded]) -> Any:
    """What a launch comes to: the error and its words, or what the driver was asked for. Mistakes end at the launch.

    loaded  what launches by Python have loaded so far
    """
    cuda.launches.clear()
    cuda.packed.clear()
    try:
        launch()
    except Exception as error:
        assert not isinstance(error, MISTAKES) or not our_frames(error)
        return type(error), str(error)
    if not cuda.launches:
        return None
    config, handle, address = cuda.launches[-1]
    if cuda.packed:
        (data,) = cuda.packed
    else:
        kept = (getattr(each._buffers, "parameters", None) for each in {*loaded()._functions.values()})
        (data,) = (p.data() for p in kept if p is not None and p.address == address)
    attributes = [attribute.id for attribute in config.attrs]
    return {**vars(config), "attrs": attributes}, handle, cuda.launch_contexts[-1], data


@st.composite
def calls(draw: Any, plain: dict[str, Any], fields: Mapping[str, Any], most: int) -> list[dict[str, Any]]:
    """Launches that differ in few things, at most `most`, from `plain` or an earlier one: many of them are alike."""
    result = [plain]
    for _ in range(draw(st.integers(1, 12))):
        changed = draw(st.lists(st.sampled_from(sorted(fields)), max_size=most))
        result.append({**draw(st.sampled_from(result)), **{name: draw(fields[name]) for name in changed}})
    return result
