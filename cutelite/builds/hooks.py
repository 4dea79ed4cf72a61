"""Users' functions that see, and may replace, the input and the output of each stage of a compile.

In: an artefact and the facts of the specialisation. Out: the artefact to continue with. Importing this loads no
compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from cutelite.builds.source import Source
from cutelite.diag import InternalError
from cutelite.diag.callables import check_callable
from cutelite.options import Options
from cutelite.target import Target
from cutelite.tuples import NamedTuple

STAGES = ("front", "passes", "lower", "llvm", "assemble")
"""The stages in order (`pipeline.py`)."""


class StageEvent(NamedTuple):
    """A stage that is about to run, or has run.

    stage     one of `STAGES`
    when      'before' or 'after'
    artefact  the input or output of the stage: before `front` the Python function, then an IR function, LLVM IR as
              text, PTX as text; after `assemble` the cubin as bytes
    source    the Python function, and types, dims and attributes of the specialisation
    target    the architecture
    options   the options of the compile
    """

    stage: str
    when: str
    artefact: Any
    source: Source
    target: Target
    options: Options

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.source.function.__name__


Hook = TypeVar("Hook", bound="Callable[[StageEvent], Any]")


def before_stage(*stages: str) -> Callable[[Hook], Hook]:
    """Decorate a function to be called with a `StageEvent` before each of these stages of every compile.

        @cl.after_stage("llvm")
        def count(event: cl.StageEvent) -> None:
            print(event.name, event.artefact.count("wgmma.mma_async"))

    If the function returns something, it replaces the artefact; None leaves it. Before `front` nothing can be replaced.
    While there is a hook, kernels are compiled anew in each process: the disk cache is neither read nor written.
    Kernels that this process has already compiled are not compiled again.
    Result  the function; `cutelite.remove_hook` removes it again
    Errors  ValueError for other names than stages, TypeError for what cannot be called. The compile raises what a hook
            raises
    """
    return _registering("before", stages)


def after_stage(*stages: str) -> Callable[[Hook], Hook]:
    """Decorate a function to be called with a `StageEvent` after each of these stages; otherwise as `before_stage`."""
    return _registering("after", stages)


def remove_hook(hook: Callable[[StageEvent], Any]) -> None:
    """Stop calling `hook`, at any stage. Errors: ValueError if it is no hook."""
    global _hooks
    kept = {key: tuple(each for each in hooks if each is not hook) for key, hooks in _hooks.items()}
    if kept == _hooks:
        raise ValueError(f"{hook!r} is no hook")
    _hooks = {key: hooks for key, hooks in kept.items() if hooks}


_hooks: dict[tuple[str, str], tuple[Callable[[StageEvent], Any], ...]] = {}  # replaced, never changed in place


def _registering(when: str, stages: tuple[str, ...]) -> Callable[[Hook], Hook]:
    if any(map(callable, stages)):
        raise TypeError(f'write @cl.{when}_stage("llvm") above the function, with names of stages: {", ".join(STAGES)}')
    if not stages:
        raise ValueError(f"name the stages at which to call the hook: {', '.join(STAGES)}")
    for stage in stages:
        if stage not in STAGES:
            raise ValueError(f"{stage!r} is no stage; the stages are {', '.join(STAGES)}")

    def register(hook: Hook) -> Hook:
        global _hooks
        check_callable("a hook", hook, ("event",))
        more: dict[tuple[str, str], Any] = {(when, stage): (*_hooks.get((when, stage), ()), hook) for stage in stages}
        _hooks = {**_hooks, **more}
        return hook

    return register


def registered() -> bool:
    """Tell whether there are hooks, for which every kernel must be compiled."""
    return bool(_hooks)


class HookError(TypeError):
    """A hook returned, or made of what it was given, something that is not an artefact of its stage."""


def _check(artefact: Any, hook: Any, when: str, stage: str) -> None:
    """Refuse IR that breaks a rule of the verifier, returned or changed in place, and bytes that are no cubin."""
    if isinstance(artefact, bytes) and not artefact.startswith(b"\x7fELF"):
        raise HookError(f"{hook!r} returned {artefact[:16]!r} {when} {stage}, which is no cubin")
    try:
        _verify(artefact, stage)
    except InternalError as error:
        error.blame = f"{hook!r}, called {when} {stage}, left IR that breaks this rule."
        raise HookError(str(error)) from None


def _verify(artefact: Any, stage: str) -> None:
    """Check an artefact that is IR. Errors: InternalError."""
    from cutelite.ir import function, verifier  # imported here: they are the compiler, which few processes need

    if isinstance(artefact, function.Function):
        verifier.verify(artefact, stage)


class Hooks:
    """The hooks of one compile, with the facts of its specialisation."""

    def __init__(self, source: Source, target: Target, options: Options) -> None:
        self._facts = source, target, options
        self.changed = ""  # what a hook made of an artefact, for errors that may come of that

    def before(self, stage: str, artefact: Any) -> Any:
        """Return the artefact that the stage takes, after hooks have seen it."""
        return self._told(stage, "before", artefact) if _hooks else artefact

    def after(self, stage: str, artefact: Any) -> Any:
        """Return the artefact that the next stage takes, after hooks have seen it."""
        return self._told(stage, "after", artefact) if _hooks else artefact

    def _told(self, stage: str, when: str, artefact: Any) -> Any:
        for hook in _hooks.get((when, stage), ()):
            _verify(artefact, stage)  # so that what is found below is the hook's fault
            made = hook(StageEvent(stage, when, artefact, *self._facts))
            _check(artefact if made is None else made, hook, when, stage)
            if made is None or (made is artefact and isinstance(made, str | bytes)):
                continue
            if not isinstance(made, type(artefact)):
                what = type(artefact).__name__
                raise HookError(f"{hook!r} returned {made!r} {when} {stage}, which takes a {what}, or None")
            self.changed = f"{getattr(hook, '__name__', hook)} changed what came {when} {stage}"
            artefact = made
        return artefact
