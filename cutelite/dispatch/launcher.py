"""Have a kernel launched by machine code, once it is launched often.

In    launches that went well, and what they came to
Out   `Launching.entry` and `Launching.subscript`: Python at first; from the launch after the launcher is ready on,
      machine code

One launcher serves all kernels. Its machine code takes most of a second to make, once per machine: in a thread of its
own, after `LAUNCHES` launches on a GPU, so that a program that launches a few times never loads LLVM for it. It is kept
on disk beside kernels, under a digest of the IR that it was made from. A kernel adds the tables of its signature.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from cutelite.config import Config
from cutelite.dispatch import fingerprint
from cutelite.dispatch.arguments import Bound, Parameter
from cutelite.dispatch.dynamo import keep_out, untraced
from cutelite.dispatch.launch import Launch, is_exact
from cutelite.dispatch.parameters import OptionalParameter, ScalarParameter, SequenceParameter, StructParameter
from cutelite.dispatch.slots import slots_of
from cutelite.dispatch.specialise import open_cache
from cutelite.lang.annotations import DTypeVar
from cutelite_rt import CudaError, Driver, Function, LaunchConfig, forks
from cutelite_rt.launcher import image, native
from cutelite_rt.launcher import state as runtime
from cutelite_rt.launcher.environment import environment as environment_of
from cutelite_rt.launcher.subscript import Subscripts
from cutelite_rt.launcher.variants import Outcome
from cutelite_rt.signature.bind import plain_number
from cutelite_rt.signature.data import Unsupported

if TYPE_CHECKING:
    from cutelite.dispatch.signature import Signature

Watched = tuple[fingerprint.Source, ...]
"""What the kernel was made from, as `Specialisations` looks at it."""

LAUNCHES = 8
"""After so many the launcher is compiled."""

Held = tuple[Any, ...]
"""What a launch has besides its arguments: `Launch.facts`, and the `Launch` itself."""

MOST_HELD = 1024
"""Of ``kernel[...]`` so many are kept, to be had again at once."""


class Went(NamedTuple):
    """A launch that went well: what it came to, as `Outcome` wants it."""

    bound: Bound
    function: Function
    config: LaunchConfig
    arguments: dict[str, Any]


class Launching:
    """The launches of one kernel.

    signature  makes it, at a launch
    read       what a subscript of the kernel says. Errors: `LaunchError`
    launch     (key, held, *args, **kwargs): launch from the start, and tell `went_well` of it, with the key

    entry      (held, *args, **kwargs): launches
    subscript  ``kernel[...]``: what launches so
    """

    __slots__ = ("__dict__", "__weakref__", "subscript")  # the last is on the way of each launch
    subscript: Callable[[Any], Callable[..., None]]

    def __init__(
        self, signature: Callable[[], Signature], read: Callable[[Any], Launch], launch: Callable[..., None]
    ) -> None:
        self._signature, self._read, self._launch = signature, read, launch
        self.entry: Callable[..., None] = self._by_python
        self.subscript = self._by_key
        self.launcher: runtime.Launcher | None = None
        self._subscripts: Subscripts | None = None
        self._kept: dict[Any, Callable[..., None]] = {}
        self._count = 0
        self._lock = forks.lock()
        self._partials: weakref.WeakSet[functools.partial[None]] = weakref.WeakSet()
        self._watched: Watched = ()

    @untraced
    def _by_python(self, held: Held, /, *args: Any, **kwargs: Any) -> None:
        self._launch(None, held, *args, **kwargs)

    def _by_key(self, key: Any) -> Callable[..., None]:
        keep_out()
        if not is_exact(key):
            return self.held(self._read(key))
        kept, subscripts = self._kept, self._subscripts
        held = kept.get(key)
        if held is None:
            if len(kept) >= MOST_HELD:
                kept.clear()
            held = kept[key] = self.held(self._read(key))
        if subscripts is not None:
            subscripts.add(key, held)
        return held

    def of_method(self, key: Any, instance: object) -> Callable[..., None]:
        """``kernel[key]`` with an argument ahead of the others."""
        if self.launcher is None:
            keep_out()
            return self.held(self._read(key), instance)
        return functools.partial(self.subscript(key), instance)

    def held(self, launch: Launch, *before: Any) -> Callable[..., None]:
        """Return what launches so; `before` goes ahead of the arguments."""
        if self.launcher is not None and not before:
            return self.launcher.bound(launch.facts, launch)
        made = functools.partial(self.entry, (launch.facts, launch), *before)
        if self.launcher is None:
            with self._lock:
                self._partials.add(made)
                if self.launcher is not None:  # since a moment ago
                    self._enter(made)
        return made

    def _enter(self, made: functools.partial[None]) -> None:
        """Have it launch by the launcher; a partial takes a new state, as it does from a pickle."""
        state: Any = made
        state.__setstate__((self.entry, made.args, {}, None))

    @property
    def generation(self) -> object:
        """Another one whenever all was forgotten."""
        return None if self.launcher is None else self.launcher.generation

    def forget(self) -> None:
        """Return what launches came to counts no more."""
        if self.launcher is not None:
            self.launcher.forget()

    def went_well(self, key: bytes | None, generation: object, went: Went, watched: Watched, env: Config) -> None:
        """Keep what a launch came to, under the key that the launcher had for it; or see to it that there is one."""
        if self.launcher is None:
            with self._lock:
                self._count += 1
                due = self._count == LAUNCHES
            if due and native.unsupported() is None:
                with contextlib.suppress(RuntimeError):  # at exit Python starts no thread, and none is worth it
                    threading.Thread(target=self.build, args=(went.function.driver, env)).start()
            return
        if watched is not self._watched:
            if not {*map(id, self._watched)} <= {*map(id, watched)}:
                self.launcher.forget()  # what was launched before was made from what is watched no more
            self._watched = watched
            self.launcher.watch(_watch(watched))
        signature = self._signature()
        if key is not None and all(_tells_dtypes(p, went.arguments[p.name]) for p in signature.parameters):
            self.launcher.add(key, _outcome(signature, self.launcher.table.dims, went), generation)

    def build(self, driver: Driver, environment: Config) -> None:
        """Compile the launcher; launches go to it from now on, and by it to this driver."""
        with _building:
            made = self._made(driver, environment)
        if made is None:
            return
        with self._lock:
            self.launcher, self._subscripts = made
            self.entry, self.subscript = self.launcher.function, self._subscripts.function
            self._kept = {}  # from now on they are builtins
            for partial in self._partials:
                self._enter(partial)
            self._partials.clear()

    def _made(self, driver: Driver, environment: Config) -> tuple[runtime.Launcher, Subscripts] | None:
        """None where there can be none, and the reason on stderr if that is asked for: launches stay Python's."""
        from cutelite.toolchain import ToolchainError
        from cutelite_rt.signature.table import Table  # like LLVM for programs that launch much

        signature = self._signature()
        try:
            functions = environment_of(driver)
            table = Table(signature.data(), _classes(signature.parameters))
            calls = runtime.Callbacks(self._launch, _number, _constant, _resolved(signature))
            machine = image.Machine.of(_image(environment))
            doc = f"launch({signature}), compiled"
            launcher = runtime.Launcher(machine, table, calls, driver, signature.defaults, doc)
            return launcher, Subscripts(machine, functions, self._by_key)
        except (Unsupported, ToolchainError, CudaError, OSError) as error:
            if environment.verbose:
                print(f"cutelite: {signature.kernel} has no compiled launcher: {error}", file=sys.stderr)
            return None


_building = forks.lock()  # one at a time: they are not in a hurry, and share a machine with the program


def _image(environment: Config) -> bytes:
    """The launcher's machine code: from the disk cache, where nobody but this user can have put it, or made now."""
    from cutelite.toolchain import host

    text = image.launcher_ir()
    cache = open_cache(environment)
    if cache is None or not _is_private(cache.directory):
        return host.to_image(text, image.Machine._fields)
    key = fingerprint.combined(b"host code", native.MACHINE.encode(), text.encode())
    return cache.get_or_make(key, lambda: host.to_image(text, image.Machine._fields))


def _is_private(directory: str) -> bool:
    try:
        status = os.stat(directory)
    except FileNotFoundError:
        return True  # it will be made, for this user alone
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _classes(parameters: Iterable[Parameter]) -> dict[str, type]:
    """Classes of the structs among parameters and their fields, by name: 'a', 'a.b'."""
    found: dict[str, type] = {}
    for parameter in parameters:
        its = parameter.given if isinstance(parameter, OptionalParameter) else parameter
        if isinstance(its, SequenceParameter):
            found |= _classes(its.latest)
        elif isinstance(its, StructParameter):
            found |= {its.name: its.cls} | _classes(its.fields.values())
    return found


# What launchers call.


def _number(x: Any) -> int | float | bool:
    found = plain_number(x)
    if type(found) not in (int, float, bool):
        raise TypeError(f"{x!r} is no number")
    return found  # type: ignore[no-any-return]


def _constant(x: Any) -> tuple[Hashable, bool]:
    return fingerprint.constant_key(x), fingerprint.lasts(x)


def _resolved(signature: Signature) -> Callable[..., bytes]:
    def resolved(held: Held, /, *args: Any, **kwargs: Any) -> bytes:
        launch: Launch = held[1]
        return launch.resolved(signature.match(args, kwargs) if callable(launch.grid) else {}).settled()

    return resolved


# What launchers are told.


def _watch(sources: Watched) -> runtime.Watch:
    names = [row for each in sources for row in zip(each.namespaces, each.names, each.held, strict=True)]
    cells = [row for each in sources for row in each.cells]
    return names, [(cell, runtime.UNBOUND if held is fingerprint.MISSING else held) for cell, held in cells]


def _outcome(signature: Signature, dims: Sequence[str], went: Went) -> Outcome:
    slots = slots_of(signature.parameters, went.bound.types, went.bound.dims, dims)
    return Outcome(went.function, went.config, *slots)


def _tells_dtypes(parameter: Parameter, argument: Any) -> bool:
    """Tell whether types of arguments tell all dtypes: those of numbers of a dtype variable that are no arrays."""
    match parameter:
        case ScalarParameter(wanted=DTypeVar()):
            generic = getattr(sys.modules.get("numpy"), "generic", ())
            return type(argument) in (int, float, bool) or isinstance(argument, generic)
        case OptionalParameter():
            return argument is None or _tells_dtypes(parameter.given, argument)
        case StructParameter():
            return all(_tells_dtypes(of, getattr(argument, name)) for name, of in parameter.fields.items())
        case SequenceParameter():
            return all(map(_tells_dtypes, parameter.items(len(argument)), argument))
    return True
