"""Specialisations of a kernel: found in memory, else on disk, else compiled, each by one thread.

In    a `Specialisation` of a kernel
Out   `Compiled` for a GPU, or the IR that the simulator runs
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from cutelite.builds import collector, hooks
from cutelite.builds.source import Source
from cutelite.config import Config
from cutelite.diag import log
from cutelite.dispatch import fingerprint
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.compiled import Compiled
from cutelite.dispatch.compiling import compiled
from cutelite.dispatch.launch import Dim3
from cutelite.front.types import ArgType, Constant, Struct
from cutelite.ir.types import Scalar
from cutelite.options import Options
from cutelite.target import Target
from cutelite.together import together
from cutelite.toolchain import warm
from cutelite.toolchain.identity import identity, stamp
from cutelite_rt import Artifact, ArtifactError, DiskCache, default_cache_dir, forks

if TYPE_CHECKING:
    from cutelite.builds.build import Build
    from cutelite.ir.function import Function
    from cutelite.sim import Program

T = TypeVar("T")


class Specialisation:
    """The facts that a kernel is compiled for: types of its parameters, widths of its dims, shapes, target, options.

    wide  block indices are 64 bits wide

    The hash is computed once, since every launch uses it for several look-ups.
    """

    __slots__ = ("_hash", "arch", "block", "cluster", "dims", "options", "types", "wide")

    def __init__(
        self,
        types: dict[str, ArgType],
        dims: dict[str, Scalar],
        block: Dim3,
        cluster: Dim3 | None,
        arch: str,
        options: Options,
        wide: bool = False,
    ) -> None:
        self.types = tuple(types.items())
        self.dims = tuple(dims.items())
        self.block, self.cluster, self.arch, self.options, self.wide = block, cluster, arch, options, wide
        self._hash = hash(self.facts())

    def under(self, **options: Any) -> Specialisation:
        """Return the same specialisation with other options."""
        given = replace(self.options, **options)
        return Specialisation(dict(self.types), dict(self.dims), self.block, self.cluster, self.arch, given, self.wide)

    def facts(self) -> tuple[Any, ...]:
        """Return all fields as one value, to compare and hash."""
        return self.types, self.dims, self.block, self.cluster, self.arch, self.options, self.wide

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the IR function (see `ir.function`)."""
        attrs = self.options.attrs(self.block, self.cluster)
        return attrs | {"wide": True} if self.wide else attrs

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Specialisation) and self.facts() == other.facts())

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it without what is of this process: its hash, and the keys of constants."""
        given = dict(self.types), dict(self.dims), self.block, self.cluster, self.arch, self.options, self.wide
        return _of_another_process, given

    def __str__(self) -> str:
        types = ", ".join(f"{name}: {t}" for name, t in self.types)
        cluster = f", cluster {self.cluster}" if self.cluster else ""
        return f"({types}) in blocks of {self.block}{cluster} for {self.arch}"

    def __repr__(self) -> str:
        return f"<{self}>"


class Specialisations:
    """All specialisations of one kernel. Any thread may use it; each specialisation is compiled once."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.compiled: dict[Specialisation, Compiled] = {}
        self.simulated: dict[Specialisation, Function] = {}
        self.lowered: dict[Specialisation, Function] = {}
        self.programs: dict[Specialisation, Program] = {}
        # The sources of the function, by whether lines count, and of each specialisation, since its constants may be
        # functions too. The dict is replaced and never changed, since other threads read it while they launch.
        self._sources: dict[bool | Specialisation, fingerprint.Source] = {}
        # The sources that depend on globals or closures, for `drop_if_changed`; replaced by a new tuple on a change.
        self.watched: tuple[fingerprint.Source, ...] = ()
        self._lock = forks.lock()
        self._making: dict[object, threading.Lock] = {}

    def get(self, spec: Specialisation, environment: Config) -> Compiled:
        """Return it compiled. Errors: `CompileError` at the user's line, `InternalError`, `ToolchainError`."""
        return self._once(self.compiled, spec, lambda: self._from_disk_or_now(spec, environment))

    def simulation(self, spec: Specialisation) -> Function:
        """Return the IR that the simulator runs: checked as for a GPU, with assertions. Errors: as `get`."""

        def make() -> Function:
            self._reads(spec)
            attrs = spec.attrs | {"simulated": True}
            if not spec.options.record:  # a recorded kernel needs the same ops as on a GPU
                attrs["assertions"] = True
            # imported late: a kernel from the disk cache does not need it
            with collector.rarely(), together("pipeline") as pipeline:
                ir: Function = pipeline.for_simulator(self._evaluated(spec, attrs), Target.parse(spec.arch))
            return ir

        return self._once(self.simulated, spec, make)

    def prepared(self, spec: Specialisation, prepare: Callable[[Function], Program]) -> Program:
        """Return ``prepare(simulation(spec))``, computed once. Errors: as `get`."""
        return self._once(self.programs, spec, lambda: prepare(self.simulation(spec)))

    def drop_if_changed(self) -> bool:
        """Forget everything if a global or a closure's variable holds another object than when it was compiled."""
        if all(source.is_current() for source in self.watched):
            return False
        with self._lock:
            before = self._sources
            now = {key: self._read(key) for key in before}
            changed = any(now[key].digest is None or now[key].digest != before[key].digest for key in now)
            self._depend_on({} if changed else now)
            if changed:
                self.compiled, self.simulated, self.lowered, self.programs = {}, {}, {}, {}
        return changed

    def costs(self, spec: Specialisation) -> Function:
        """Return the IR after the passes, from which costs of accesses are estimated. Errors: as `get`."""

        def make() -> Function:
            with together("pipeline") as pipeline:
                ir: Function = pipeline.for_costs(self._evaluated(spec, spec.attrs), Target.parse(spec.arch))
            return ir

        return self._once(self.lowered, spec, make)

    def _once(self, made: dict[Specialisation, T], spec: Specialisation, make: Callable[[], T]) -> T:
        """Return `made[spec]`. The first thread that asks makes it; after an error the next thread tries again."""
        found = made.get(spec)
        if found is not None:
            return found
        with self._lock:
            turn = self._making.setdefault((id(made), spec), forks.lock())
        with turn:
            found = made.get(spec)
            if found is None:
                found = made[spec] = make()
        with self._lock:
            self._making.pop((id(made), spec), None)
        return found

    # Compiling.

    def _evaluated(self, spec: Specialisation, attrs: dict[str, Any]) -> Source:
        return Source(self.function, dict(spec.types), dict(spec.dims), attrs)

    def build(self, spec: Specialisation, environment: Config) -> Build:
        """Compile it, whatever the disk cache holds."""
        if log.heard(log.INFO, environment.verbose):
            log.tell(f"compiling {self.function.__name__} {spec}", log.INFO, wanted=True)
        if spec.options.backend == "llvm":
            warm.begin()
        source = self._evaluated(spec, spec.attrs)
        name, target = self.function.__name__, Target.parse(spec.arch)
        with collector.rarely(), together("pipeline") as pipeline:
            make = functools.partial(pipeline.compile_kernel, source, target, spec.options, environment)
            return compiled(name, str(spec), spec.arch, environment, make)

    def _from_disk_or_now(self, spec: Specialisation, environment: Config) -> Compiled:
        def again() -> Build:
            return self.build(spec, environment)

        sources = self._reads(spec)  # also without a cache, for `drop_if_changed`
        cache = open_cache(environment)
        key = self._key(spec, sources, environment) if cache else None
        looked_at = environment.dump or environment.print or hooks.registered()  # only a compile shows its stages
        if cache is None or key is None or looked_at:
            return Compiled.of(again())
        made: list[Compiled] = []

        def make() -> bytes:
            made.append(Compiled.of(again()))
            return made[0].artifact.to_bytes()

        payload = cache.get_or_make(key, make)
        if made:
            return made[0]
        try:
            found = Compiled(Artifact.from_bytes(payload), again)
        except ArtifactError:  # written by a runtime with another format: compile anew
            compiled = Compiled.of(again())
            cache.put(key, compiled.artifact.to_bytes())
            return compiled
        if log.heard(log.INFO, environment.verbose):
            log.tell(f"{self.function.__name__} {spec} is in the cache as {key}", log.INFO, wanted=True)
        return found

    # Sources.

    def _key(
        self, spec: Specialisation, sources: tuple[fingerprint.Source, fingerprint.Source], environment: Config
    ) -> str | None:
        """Return the key in the disk cache; None for a kernel that cannot be kept there."""
        tools = identity(spec.options.assembler, spec.options.backend)
        digests = [tools.encode(), fingerprint.build_id()]
        digests += [stamp(path).encode() for path in spec.options.link_libraries]
        for source in sources:
            if source.digest is None:
                why = f"{self.function.__name__} is not kept on disk: {source.why}"
                log.tell(why, log.INFO, environment.verbose)
                return None
            digests.append(source.digest)
        return fingerprint.combined(*digests)

    def _reads(self, spec: Specialisation) -> tuple[fingerprint.Source, fingerprint.Source]:
        """Return the sources of the function and of the specialisation, each read once."""
        lines = _with_lines(spec)
        with self._lock:
            for key in (lines, spec):
                if key not in self._sources:
                    self._depend_on({**self._sources, key: self._read(key)})
            return self._sources[lines], self._sources[spec]

    def _depend_on(self, sources: dict[bool | Specialisation, fingerprint.Source]) -> None:
        self._sources = sources
        self.watched = tuple(source for source in sources.values() if source.names or source.cells)

    def _read(self, key: bool | Specialisation) -> fingerprint.Source:
        if isinstance(key, bool):
            return fingerprint.source(self.function, key)
        own = ()
        if key.options.passes:
            with together("pipeline") as pipeline:
                own = pipeline.passes.of_users(key.options.passes)
        return fingerprint.source((*key.facts(), *own), _with_lines(key))


class OnlyOne(Specialisations):
    """The one specialisation of a kernel that was compiled ahead; it compiles no others."""

    def __init__(self, function: FunctionType, spec: Specialisation, compiled: Compiled) -> None:
        super().__init__(function)
        self.spec = spec
        self.compiled[spec] = compiled

    def drop_if_changed(self) -> bool:
        return False

    def _once(self, made: dict[Specialisation, T], spec: Specialisation, make: Callable[[], T]) -> T:
        """Make what any kernel has of the one specialisation. Errors: `ArgumentError` for another."""
        if spec == self.spec:
            return super()._once(made, spec, make)
        given = {**dict(spec.types), **dict(spec.dims), "block": spec.block, "cluster": spec.cluster, "wide": spec.wide}
        only = self.spec
        known = {**dict(only.types), **dict(only.dims), "block": only.block, "cluster": only.cluster, "wide": only.wide}
        other = [f"`{k}` is {_short(given[k])}, not {_short(known[k])}" for k in known if given.get(k) != known[k]]
        raise ArgumentError(
            f"{self.function.__name__} was compiled for other arguments: {'; '.join(other)}. Compile for these, or "
            "launch the kernel itself, which compiles what it needs"
        )


def _of_another_process(types: dict[str, ArgType], *facts: Any) -> Specialisation:
    """Return an unpickled specialisation, whose constants have the keys of this process."""

    def keyed(t: ArgType) -> ArgType:
        if isinstance(t, Struct):
            return t._replace(fields=tuple((name, keyed(each)) for name, each in t.fields))
        return Constant(t.value, fingerprint.constant_key(t.value)) if isinstance(t, Constant) else t

    return Specialisation({name: keyed(t) for name, t in types.items()}, *facts)


def _short(value: Any) -> str:
    return repr(value.value) if isinstance(value, Constant) else str(value)


def _with_lines(spec: Specialisation) -> bool:
    """Tell whether the generated code contains source lines."""
    return spec.options.line_info or spec.options.debug or spec.options.assertions


@functools.cache
def _opened(directory: str | None, megabytes: int) -> DiskCache:
    return DiskCache(directory, megabytes << 20)  # None: it checks that only this user can write to the directory


def cache_directory(environment: Config) -> str | None:
    """Return the directory of the disk cache; None if the environment switches it off."""
    if not environment.cache:
        return None
    return environment.cache_dir or default_cache_dir()


def open_cache(environment: Config) -> DiskCache | None:
    """Return the disk cache, one for each directory in a process; None if the environment switches it off."""
    return _opened(environment.cache_dir, environment.cache_max_mb) if environment.cache else None
