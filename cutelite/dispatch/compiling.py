"""Listeners that are called after each compile, and the switch that forbids compiles.

In    a kernel's name, its specialisation, and a function that compiles it
Out   the result of that function, after `on_compile`'s listeners were called; `CUTELITE_COMPILE=error` forbids the
      call, `warn` warns
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from cutelite.diag.callables import check_callable
from cutelite.tuples import NamedTuple
from cutelite_rt import callers

if TYPE_CHECKING:
    from cutelite.builds.build import Build
    from cutelite.config import Config

Listener = TypeVar("Listener", bound="Callable[[CompileEvent], object]")


class CompileForbidden(RuntimeError):
    """Raised where a kernel would have to be compiled, and CUTELITE_COMPILE=error forbids it."""


class CompileEvent(NamedTuple):
    """A compile that has ended, well or with an error.

    name            the kernel's name
    specialisation  what it was compiled for, in words
    arch            the architecture
    seconds         how long the compile took
    stages          seconds of each stage; empty after an error
    error           the error; None where there was none
    """

    name: str
    specialisation: str
    arch: str
    seconds: float
    stages: dict[str, float]
    error: Exception | None


def on_compile(listener: Listener) -> Listener:
    """Call `listener(event)` after each compile in this process, in the thread that compiled.

        @cl.on_compile
        def log(event: cl.CompileEvent) -> None:
            print(f"{event.name} for {event.arch}: {event.seconds:.2f} s")

    A kernel found in memory or on disk is not compiled. The launch that compiled raises a listener's exceptions.
    Result  the listener; `cutelite.off_compile` removes it
    Errors  TypeError for what cannot be called so
    """
    global _listeners
    check_callable("what on_compile takes", listener, ("event",))
    _listeners = (*_listeners, listener)
    return listener


def off_compile(listener: Callable[[CompileEvent], object]) -> None:
    """Stop calling `listener`. Errors: ValueError where it was no listener."""
    global _listeners
    if listener not in _listeners:
        raise ValueError(f"{listener!r} is no listener")
    kept = list(_listeners)
    kept.remove(listener)
    _listeners = tuple(kept)


_listeners: tuple[Callable[[CompileEvent], object], ...] = ()  # replaced, never changed: other threads iterate over it


def compiled(name: str, spec: str, arch: str, environment: Config, make: Callable[[], Build]) -> Build:
    """Call `make`, then the listeners. Errors: `CompileForbidden`, before the call; whatever `make` raises."""
    if environment.compile == "error":
        raise CompileForbidden(
            f"{name} {spec} would have to be compiled, which CUTELITE_COMPILE=error forbids: compile it beforehand, "
            "into the disk cache"
        )
    if environment.compile == "warn":
        callers.warn(f"{name} {spec} is compiled now (CUTELITE_COMPILE=warn)")
    start = perf_counter()
    try:
        made = make()
    except Exception as error:
        _tell(CompileEvent(name, spec, arch, perf_counter() - start, {}, error))
        raise
    _tell(CompileEvent(name, spec, arch, perf_counter() - start, dict(made.times), None))
    return made


def _tell(event: CompileEvent) -> None:
    for listener in _listeners:
        listener(event)
