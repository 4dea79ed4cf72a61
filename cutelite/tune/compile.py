"""Compiling every config at once, without a launch.

In    a call for each config
Out   for each config its compiled kernels, or the error for which it cannot be used

The calls are made here, one after another in the caller's own thread, with launches diverted: each launch is bound and
checked, and its compile is handed to a pool of threads. So user code runs where it always does, with its current device
and stream, and is neither pickled nor imported anywhere else; the threads only run the compiler. Its Python and LLVM
code take turns, but the assembler, which takes longer than both, is a process of its own for each kernel.
docs/autotuning.md has measurements.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from cutelite.diag.progress import Progress
from cutelite.dispatch.compiled import Compiled
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.kernel import Kernel
from cutelite.dispatch.launch import Launch
from cutelite.tuples import NamedTuple

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


class Compilation(NamedTuple):
    """The result for one config: the kernels it launches, in order, or the first error."""

    kernels: tuple[Compiled, ...] = ()
    error: Exception | None = None


def compile_all(calls: Iterable[Callable[[], Any]], jobs: int | None = None) -> list[Compilation]:
    """Compile the kernels that `calls` launch; `jobs` at a time, by default as many as this process has CPUs."""
    from concurrent.futures import ThreadPoolExecutor  # imported here: it takes 10 ms, which only tuning needs

    with ThreadPoolExecutor(jobs or cpus(), thread_name_prefix="cutelite-compile") as pool:
        started = [_started(call, pool) for call in calls]
        outcomes = []
        with Progress("compiling configs", total=len(started)) as progress:
            for each in started:
                outcomes.append(each if isinstance(each, Compilation) else _finished(each))
                progress.step()
        return outcomes


def _started(call: Callable[[], Any], pool: ThreadPoolExecutor) -> list[Future[Compiled]] | Compilation:
    compiling: list[Future[Compiled]] = []

    def submit(kernel: Kernel, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        compile = kernel.compiling(launch, *args, **kwargs)
        if compile is not None:
            compiling.append(pool.submit(compile))

    try:
        with diverted(submit):
            call()
    except Exception as error:  # of the user's code or cutelite: this config cannot be used, and the error says why
        return Compilation(error=error)
    return compiling


def _finished(compiling: list[Future[Compiled]]) -> Compilation:
    try:
        return Compilation(tuple(future.result() for future in compiling))
    except Exception as error:
        return Compilation(error=error)


def cpus() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
