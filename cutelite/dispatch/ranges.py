"""Ranges around launches, for profilers: NVTX ranges by the package `nvtx` or by torch, or a program's own."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from typing import Any

from cutelite.diag.callables import check_callable
from cutelite.dispatch.divert import diversion, diverted
from cutelite.dispatch.launch import Dim3, Launch, LaunchError, shortest
from cutelite.tuples import NamedTuple


class LaunchEvent(NamedTuple):
    """A launch that is about to be made: the kernel's name, its grid, block and other settings, and its arguments."""

    name: str
    launch: Launch
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@contextmanager
def around_launches(enter: Callable[[LaunchEvent], AbstractContextManager[object]]) -> Iterator[None]:
    """Within the `with`, do each launch of this thread inside ``with enter(event):``.

        with cl.around_launches(lambda event: torch.profiler.record_function(event.name)):
            step()

    enter   a function of a `LaunchEvent` that returns a context manager. Launches that it makes itself are not wrapped
    Errors  TypeError for an `enter` that cannot be called; the launch raises what it or its context manager raises
    Cost    each launch goes through Python, not through the compiled launcher
    """
    check_callable("what around_launches takes", enter, ("event",))
    before = diversion.get()

    def launched(kernel: Any, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        with diverted(before), enter(LaunchEvent(kernel.__name__, launch, args, kwargs)):
            kernel.launch(launch, *args, **kwargs)

    with diverted(launched):
        yield


@contextmanager
def launch_range(name: str, grid: Dim3, block: Dim3) -> Iterator[None]:
    """Put a launch into a range ``gemm[132](384)``: the kernel, its grid, its block; extents of 1 are left out.

    Errors  `LaunchError` where neither `nvtx` nor torch is there
    """
    push, pop = _nvtx()
    shown, threads = (str(shortest(shape)).strip("()") for shape in (grid, block))
    push(f"{name}[{shown}]({threads})")
    try:
        yield
    finally:
        pop()


@lru_cache(maxsize=1)
def _nvtx() -> tuple[Callable[[str], Any], Callable[[], Any]]:
    with suppress(ImportError):
        nvtx = importlib.import_module("nvtx")
        return nvtx.push_range, nvtx.pop_range
    with suppress(ImportError):
        ranges = importlib.import_module("torch.cuda.nvtx")
        return ranges.range_push, ranges.range_pop
    raise LaunchError("CUTELITE_NVTX=1 needs the package nvtx (`pip install nvtx`), or torch")
