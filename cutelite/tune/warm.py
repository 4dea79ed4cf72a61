"""`warm`: compile in parallel the kernels that some calls will launch; tune the functions that they tune.

In    functions to call, or an object that provides them (`__cutelite_calls__`)
Out   their kernels, in memory and in the disk cache; and a `Warmed`, with their number
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cutelite.diag.progress import Progress as Line
from cutelite.dispatch.compiling import CompileEvent, off_compile, on_compile
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.kernel import Kernel
from cutelite.dispatch.launch import Launch
from cutelite.dispatch.mistakes import around_users_code, without_our_frames
from cutelite.dispatch.replay import wanted
from cutelite.tune.compile import cpus
from cutelite.tuples import NamedTuple
from cutelite_rt import forks

if TYPE_CHECKING:
    from concurrent.futures import Future

Progress = Callable[[int, int, float], object]
"""A function of three numbers: kernels ready, kernels known to be needed, seconds since the start."""


class Warmed(NamedTuple):
    """The result of `warm`.

    kernels   the number of different kernels that the calls launch
    compiled  the number of them that were neither in memory nor on disk
    seconds   the time of the whole call
    """

    kernels: int
    compiled: int
    seconds: float


def tuning_wanted() -> bool:
    """Tell whether this runs in a call by `warm(..., tune=True)`."""
    return wanted.get()


@around_users_code
def warm(
    what: Any, /, *, tune: bool = False, jobs: int | None = None, progress: Progress | bool = False, **how: Any
) -> Warmed:
    """Compile the kernels that some calls launch, so that no later call waits for the compiler.

        cl.warm([lambda: gemm(a, b), lambda: attention(q, k, v)])
        cl.warm(model, shapes=[(1, 8192), (8, 1)], progress=True)       # a model of `cutelite.models.accelerate`

    what      a function without parameters, or several. They are called in order, with launches left out: their results
              have undefined contents, so code that depends on contents goes wrong. Or an object with a method
              ``__cutelite_calls__(**how)`` that returns such functions
    tune      call them again with launches, and let the GEMMs of `cutelite.kernels` measure their configurations.
              Winners are kept on disk, as for functions of `@autotune`, which are tuned in any case
    jobs      kernels compiled at a time; default: as many as this process has CPUs
    progress  True: a line on stderr; or a function of kernels ready, kernels needed, and seconds. Default: a line on a
              terminal, if it takes longer than two seconds
    how       the arguments of the object's own method
    Result    a `Warmed`; the kernels are in the disk cache then, unless it is off, where other processes find them
    Errors    TypeError for objects that cannot be called; the first error of a call or a compile, after all compiles
              that were started have ended; `CompileForbidden` if CUTELITE_COMPILE=error forbids a compile
    """
    calls = calls_of(what, how)
    line = Line("compiling kernels")
    tell = show if progress is True else progress or (lambda ready, needed, _: line.at(ready, needed))
    compiled: list[CompileEvent] = []
    start, listener = perf_counter(), on_compile(compiled.append)
    try:
        with nullcontext() if progress else line:
            kernels = compile_calls(calls, jobs, lambda ready, needed: tell(ready, needed, perf_counter() - start))
        if tune:
            for call in calls:
                with wanted.set(True), in_this_thread():
                    call()
    finally:
        off_compile(listener)
    return Warmed(kernels, len(compiled), perf_counter() - start)


def calls_of(what: Any, how: dict[str, Any]) -> list[Callable[[], object]]:
    """Return the functions that `warm` calls. Errors: TypeError."""
    own = getattr(what, "__cutelite_calls__", None)
    if own is not None:
        signature = inspect.signature(own)
        try:
            signature.bind(**how)
        except TypeError as error:
            takes = ", ".join(signature.parameters)
            raise TypeError(f"warm() of a {type(what).__name__} takes {takes}: {error}") from None
        return list(own(**how))
    if how:
        raise TypeError(
            f"warm() takes {', '.join(how)} only for objects that know their calls, such as a model behind "
            f"cutelite.models.accelerate; not for {type(what).__name__}"
        )
    calls = list(what) if isinstance(what, Iterable) else [what]
    for call in calls:
        if not callable(call):
            raise TypeError(f"warm() takes functions without parameters, not {call!r}")
    return calls


def compile_calls(calls: Iterable[Callable[[], object]], jobs: int | None, tell: Callable[[int, int], object]) -> int:
    """Compile the kernels that the calls launch. Return their number. `tell(ready, needed)` is called meanwhile."""
    from concurrent.futures import ThreadPoolExecutor

    lock, ready = forks.lock(), 0
    errors: list[BaseException] = []
    started: dict[Any, Future[Any]] = {}

    def finished(_: Any) -> None:
        nonlocal ready
        with lock:
            ready += 1
            tell(ready, len(started))

    with ThreadPoolExecutor(jobs or cpus(), thread_name_prefix="cutelite-compile") as pool:

        def submit(kernel: Kernel, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            compile = kernel.compiling(launch, *args, **kwargs)
            if compile is not None and (key := (kernel, compile.args[-1])) not in started:
                started[key] = pool.submit(without_our_frames(compile))
                started[key].add_done_callback(finished)

        try:
            for call in calls:
                with diverted(submit), in_this_thread():
                    call()
        except Exception as error:
            errors.append(error)
    errors += [error for error in (future.exception() for future in started.values()) if error is not None]
    if errors:
        raise errors[0]
    return len(started)


def in_this_thread() -> AbstractContextManager[object]:
    """Let torch compute derivatives in the calling thread, because only its launches are diverted."""
    torch = sys.modules.get("torch")
    return nullcontext() if torch is None else torch.autograd.set_multithreading_enabled(False)


def show(ready: int, needed: int, seconds: float) -> None:
    """Print the progress on stderr, in one line that the next call overwrites."""
    print(f"\rcutelite: {ready} of {needed} kernels, {seconds:.1f} s", end="", file=sys.stderr, flush=True)
