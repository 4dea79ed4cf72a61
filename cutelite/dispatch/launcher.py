"""Replace launches by Python with launches by machine code, once a kernel is launched often.

In    launches that succeeded, and their outcomes
Out   `Launching.entry` and `Launching.subscript`: Python at first, machine code as soon as the launcher is ready

One launcher serves all kernels; each kernel adds the tables of its signature. Compiling its machine code takes most of
a second, once per machine. That happens in a separate thread after a kernel's first `LAUNCHES` launches on a GPU, so a
program that launches a few times never loads LLVM for it. The code is kept in the disk cache under a digest of its IR.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cutelite.config import Config
from cutelite.dispatch import fingerprint
from cutelite.dispatch.arguments import Bound
from cutelite.dispatch.launch import Launch
from cutelite.dispatch.mistakes import without_our_frames
from cutelite.tuples import NamedTuple
from cutelite_rt import Driver, Function, LaunchConfig, forks
from cutelite_rt.launcher import asked, native

if TYPE_CHECKING:
    from cutelite.dispatch.signature import Signature
    from cutelite_rt.launcher.state import Launcher
    from cutelite_rt.launcher.subscript import Subscripts

Watched = tuple[fingerprint.Source, ...]
"""The sources that a kernel was made from, as `Specialisations.watched` has them."""

LAUNCHES = 8
"""The launcher is compiled after this many launches."""

Held = tuple[Any, ...]
"""The part of a launch that is not arguments: `Launch.facts`, and the `Launch` itself."""

MOST_HELD = 1024
"""At most this many results of ``kernel[...]`` are kept, so that an equal subscript gets the same one."""


class LaunchRecord(NamedTuple):
    """A launch that succeeded: the facts from which `Outcome` is made."""

    bound: Bound
    function: Function
    config: LaunchConfig
    arguments: dict[str, Any]


class HeldLaunch(functools.partial[None]):
    """The result of ``kernel[...]`` as long as Python launches. Calling it launches."""

    kernel: str

    def __repr__(self) -> str:
        return f"<{self.kernel}[{self.args[-1][1]}]>"  # the last: a partial of a partial has the arguments of both


class Launching:
    """The launches of one kernel.

    kernel     its name
    signature  (): the kernel's signature
    read       (key): the launch that a subscript means. Errors: `LaunchError`
    launch     (key, held, *args, **kwargs): launch by Python, and report it to `went_well` with the key

    entry      (held, *args, **kwargs): launch
    subscript  (key): the function that ``kernel[key]`` is
    """

    __slots__ = ("__dict__", "__weakref__", "subscript")  # the last is on the way of each launch
    subscript: Callable[[Any], Callable[..., None]]

    def __init__(
        self,
        kernel: str,
        signature: Callable[[], Signature],
        read: Callable[[Any], Launch],
        launch: Callable[..., None],
    ) -> None:
        self._kernel, self._signature, self._read, self._launch = kernel, signature, read, launch
        self.entry: Callable[..., None] = functools.partial(launch, None)  # has no frame in a traceback
        self.subscript = self._by_key
        self.launcher: Launcher | None = None
        self._subscripts: Subscripts | None = None
        self._kept: dict[Any, Callable[..., None]] = {}
        self._count = 0
        self._lock = forks.lock()
        self._partials: weakref.WeakSet[HeldLaunch] = weakref.WeakSet()
        self._watched: Watched = ()

    def _by_key(self, key: Any) -> Callable[..., None]:
        if not asked.is_exact(key):
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
        """Return ``kernel[key]`` with the object of a method as first argument."""
        return functools.partial(self.subscript(key), instance)

    def held(self, launch: Launch) -> Callable[..., None]:
        """Return a function that launches this way."""
        if self.launcher is not None:
            return self.launcher.bound(launch.facts, launch)
        entry = self._enter_now if native.FREE_THREADED else self.entry
        made = HeldLaunch(entry, (launch.facts, launch))
        made.kernel = self._kernel
        if native.FREE_THREADED:  # another thread may be calling it while this one gave it a new state
            return made
        with self._lock:
            self._partials.add(made)
            if self.launcher is not None:  # it was made since the first look
                self._enter(made)
        return made

    @without_our_frames
    def _enter_now(self, /, *args: Any, **kwargs: Any) -> None:
        self.entry(*args, **kwargs)

    def _enter(self, made: HeldLaunch) -> None:
        """Make a partial call the launcher, by giving it a new state, as unpickling does."""
        state: Any = made
        state.__setstate__((self.entry, made.args[-1:], {}, vars(made)))

    @property
    def generation(self) -> object:
        """An object that each `forget` replaces: it tells whether outcomes were dropped meanwhile."""
        return None if self.launcher is None else self.launcher.generation

    def forget(self) -> None:
        """Drop the outcomes of launches."""
        if self.launcher is not None:
            self.launcher.forget()

    def went_well(
        self, key: bytes | None, generation: object, went: LaunchRecord, watched: Watched, env: Config
    ) -> None:
        """Keep the outcome of a launch under the launcher's key. Without one, count launches, and build it when due."""
        if self.launcher is None:
            with self._lock:
                self._count += 1
                due = self._count == LAUNCHES
            if due and native.unsupported() is None:
                with contextlib.suppress(RuntimeError):  # at exit Python starts no threads; no launcher is needed then
                    threading.Thread(target=self.build, args=(went.function.driver, env)).start()
            return
        from cutelite.dispatch import building

        with self._lock:
            if watched is not self._watched:
                if not {*map(id, self._watched)} <= {*map(id, watched)}:
                    self.launcher.forget()  # earlier outcomes depend on sources that are no longer watched
                self._watched = watched
                self.launcher.watch(building.watch(watched))
        if key is not None and (outcome := building.outcome(self._signature(), self.launcher.table, went)):
            self.launcher.add(key, outcome, generation)

    def build(self, driver: Driver, environment: Config) -> None:
        """Compile the launcher, which calls this driver, and send launches to it from now on."""
        with _building:
            from cutelite.dispatch import building

            made = building.launcher(self._signature(), self._launch, self._by_key, driver, environment)
        if made is None:
            return
        with self._lock:
            self.launcher, self._subscripts = made
            self.entry, self.subscript = self.launcher.function, self._subscripts.function
            self._kept = {}  # the launcher makes new ones, which are builtins
            for partial in self._partials:
                self._enter(partial)
            self._partials.clear()


_building = forks.lock()  # one build at a time, to leave the CPU to the program
