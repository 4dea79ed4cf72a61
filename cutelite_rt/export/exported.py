"""Launch an exported kernel, with no compiler installed.

add = load_kernel("add.cutelite")
add[grid](a, b, c)                 # as kernel[grid, block](a, b, c): same checks, same errors
add(a, b, c)                       # where it was exported with its grid

Python launches, and keeps plans: for a launch like an earlier one it only fills in addresses and numbers, and does not
bind arguments again. With `host_code` the machine code in the file launches, as for live kernels
(`cutelite_rt.launcher`): launches with equal keys fit the same signature, and differ only in addresses, extents and
numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import Any, NamedTuple

from cutelite_rt import forks
from cutelite_rt.arrays import stream as streams
from cutelite_rt.arrays.memory import ArrayView, check_writable
from cutelite_rt.artifact import ArtifactError
from cutelite_rt.callers import ours_alone, shorten, without_frames
from cutelite_rt.errors import ArgumentError, LaunchError, named
from cutelite_rt.export.bundle import Bundle, HostCode
from cutelite_rt.gpu import driver as cuda
from cutelite_rt.gpu.attributes import ways_of
from cutelite_rt.gpu.device import device
from cutelite_rt.gpu.launch import Function, LaunchConfig, Loaded
from cutelite_rt.gpu.launch import launch as start
from cutelite_rt.gpu.params import Parameters
from cutelite_rt.launcher import asked, native
from cutelite_rt.launcher.asked import ExportedLaunch
from cutelite_rt.launcher.environment import environment
from cutelite_rt.launcher.image import HERE, Machine, digest
from cutelite_rt.launcher.outcomes import Outcome, slots_of
from cutelite_rt.launcher.state import Callbacks, Launcher
from cutelite_rt.launcher.subscript import Subscripts
from cutelite_rt.shapes import Dim3, extents, is_exact, is_wide, whole
from cutelite_rt.signature.bind import MISSING, MapRequest, home_of, packable
from cutelite_rt.signature.data import evaluate
from cutelite_rt.signature.kinds import LEFT_OUT, Fixed, Parameter, Signature, left_out
from cutelite_rt.signature.settled import Binder, Fitted
from cutelite_rt.signature.table import Table

MISTAKES = (ArgumentError, LaunchError, ArtifactError, cuda.CudaError)
"""Errors whose tracebacks end at the user's line."""


without_our_frames = without_frames(lambda error: isinstance(error, MISTAKES) and ours_alone(error))
"""Decorator: the tracebacks of mistakes end at the caller. Where launches pass often, they do without its cost."""


class _Plan(NamedTuple):
    """A launch that was checked, to be repeated with another stream, other addresses of arrays and other numbers.

    values  for each of the kernel's parameters (index of its argument, tensor map to encode or None), or (None, value)
    """

    kernel: str
    function: Function
    config: LaunchConfig
    values: list[tuple[int | None, Any]]

    def filled(self, found: list[Any]) -> list[Any]:
        """Return the parameters' values for the arguments `found`. Errors: as encoding a tensor map."""
        return [given if at is None else self._of(found[at], given) for at, given in self.values]

    def _of(self, found: Any, request: MapRequest | None) -> Any:
        if request is None:
            return found.pointer if isinstance(found, ArrayView) else found
        return packable(self.kernel, request._replace(view=found))


class _Launched(NamedTuple):
    """A launch that succeeded, with the index of its variant."""

    variant: int
    fitted: Fitted
    function: Function
    config: LaunchConfig


def _values(signature: Signature, fitted: Fitted, given: int) -> list[tuple[int | None, Any]]:
    """Return `_Plan.values` of a launch with `given` arguments, all by position."""
    values: list[tuple[int | None, Any]] = []
    for i, parameter in enumerate(signature.parameters):
        for _ in parameter.leaves():  # one at most: parameters of several leaves are not planned
            value = fitted.values[len(values)]
            if isinstance(value, MapRequest):
                value = value._replace(view=value.view._replace(owner=None))  # a plan keeps no array alive
                values.append((i, value))
            else:
                values.append((i, None) if i < given else (None, value))
    return values + [(None, value) for value in fitted.values[len(values) :]]


def _context() -> tuple[int, int]:
    """Return handle and id of the calling thread's context, 0 without one. The driver reuses handles, but no ids."""
    raw = cuda.get().raw
    status, handle = raw.cuCtxGetCurrent()
    address = 0 if status else int(handle)
    return address, int(raw.cuCtxGetId(handle)[1]) if address else 0


_MOST_PLANS = 1024


class ExportedKernel:
    """A kernel from a `Bundle`. Threads may launch it at the same time.

    sync  wait for each launch, so that a fault is reported by the launch that caused it
    host  whether machine code from the bundle launches: with `host_code`, if there is some for this CPU and runtime
    """

    def __init__(self, bundle: Bundle, sync: bool = False, host_code: bool = False) -> None:
        self.bundle, self.sync = bundle, sync
        self.__name__ = bundle.name
        self._functions = Loaded()
        self._lock = forks.lock()
        self._plans: dict[Hashable, _Plan] = {}
        self._held: dict[Any, Callable[..., None]] = {}
        self._binders = [Binder(variant.signature) for variant in bundle.variants]
        parameters = [parameter for variant in bundle.variants for parameter in variant.signature.parameters]
        self._alignment = max([16, *(getattr(parameter, "align", None) or 1 for parameter in parameters)])
        self._launcher: Launcher | None = None
        self._subscripts: Subscripts | None = None
        self._subscript = self._by_key
        if host_code and not sync and bundle.host is not None and _is_for_here(bundle.host):
            self._compiled(bundle.host, _defaults(parameters), cuda.get())
        self._default = self.held(ExportedLaunch())

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the kernel by its bundle."""
        return load_kernel, (self.bundle.to_bytes(), self.sync, self.host)

    def _compiled(self, code: HostCode, defaults: dict[str, Any], driver: cuda.Driver) -> None:
        """Make the bundle's machine code launch. Errors: `CudaError` for a driver that is too old; OSError."""
        table, machine = Table(code.signature), Machine.of(code.images[HERE])
        self._slots = [slots_of(table, variant.signature) for variant in self.bundle.variants]
        calls = Callbacks(self._launch_anew, _constant, lambda held, *_, **__: self._settled(held[1]))
        doc = f"launch({self.bundle.variants[0].signature.text}), compiled"
        self._launcher = Launcher(machine, table, calls, driver, defaults, doc)
        self._subscripts = Subscripts(machine, environment(driver), self._by_key)
        self._subscript = self._subscripts.function

    @property
    def host(self) -> bool:
        return self._launcher is not None

    def __repr__(self) -> str:
        return f"<exported kernel {self.__name__}({self.bundle.variants[0].signature.text})>"

    __iter__ = None  # by `__getitem__` alone Python would iterate for ever

    def __getitem__(self, key: Any) -> Callable[..., None]:
        """Return the launch function of ``kernel[grid, block, stream, smem]``, or of a grid or an `ExportedLaunch`."""
        try:
            return self._subscript(key)
        except MISTAKES as error:
            shorten(error)
            raise

    def _by_key(self, key: Any) -> Callable[..., None]:
        if not asked.is_exact(key):
            return self.held(_from_subscript(self.__name__, key))
        held = self._held.get(key)
        if held is None:
            if len(self._held) >= _MOST_PLANS:
                self._held.clear()
            held = self._held[key] = self.held(_from_subscript(self.__name__, key))
        if self._subscripts is not None:
            self._subscripts.add(key, held)
        return held

    def held(self, launch: Any) -> Callable[..., None]:
        """Return a function of the arguments that launches this way."""
        if self._launcher is None:
            return partial(self._launch_by_python, launch)
        facts = asked.facts_while(streams.stays(launch.stream), lambda: self._settled(launch))
        return self._launcher.bound(facts, launch)

    def _settled(self, launch: Any) -> bytes:
        if launch.grid is not None:
            return asked.settled_facts(launch, extents(launch.grid, "grid", least=0))
        by_dims = self.bundle.variants[0].signature.grid is not None
        return asked.settled_facts(launch, (1, 1, 1), asked.BY_DIMS if by_dims else asked.ODD)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Launch with the grid that the kernel was exported with."""
        try:
            self._default(*args, **kwargs)
        except MISTAKES as error:
            shorten(error)
            raise

    @without_our_frames
    def launch(self, launch: Any, /, *args: Any, **kwargs: Any) -> None:
        """Run the kernel on the GPU that holds the arrays, asynchronously.

        With an empty grid nothing is launched. Of several signatures the first that fits is used.
        Errors  `ArgumentError`, `LaunchError` before anything is launched; `CudaError` from the driver
        """
        self.held(launch)(*args, **kwargs)

    @without_our_frames
    def _launch_anew(self, key: bytes | None, held: tuple[Any, ...], /, *args: Any, **kwargs: Any) -> None:
        """Launch by Python, and keep the outcome under the key that the machine code computed."""
        assert self._launcher is not None
        generation = self._launcher.generation
        went = named(self.__name__, self._launch, held[1], args, kwargs)
        # Arrays without elements are checked less strictly, but may have the same key as others.
        if went is not None and key is not None and all(view.size for _, view in went.fitted.arrays):
            outcome = Outcome(went.function, went.config, *self._slots[went.variant])
            self._launcher.add(key, outcome, generation)

    def _launch_by_python(self, launch: Any, /, *args: Any, **kwargs: Any) -> None:
        try:
            key, ready = self._planned(launch, args, kwargs)
            if ready is not None:
                function, config, parameters, context = ready
                return start(function, config, parameters, self.sync, context)
            went = named(self.__name__, self._launch, launch, args, kwargs)
        except MISTAKES as error:
            shorten(error)
            raise
        # Without arrays the device may differ from launch to launch.
        if went is not None and key is not None and went.fitted.arrays:
            signature = self.bundle.variants[went.variant].signature
            plan = _Plan(self.__name__, went.function, went.config, _values(signature, went.fitted, len(args)))
            with self._lock:
                while len(self._plans) >= _MOST_PLANS:
                    del self._plans[next(iter(self._plans))]
                self._plans[key] = plan
        return None

    def _planned(
        self, launch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Hashable, tuple[Function, LaunchConfig, Parameters, int] | None]:
        """Return the key of a plan for this launch, None where none can be kept; and the launch, if there is a plan."""
        key: Hashable = None
        try:
            context, context_id = _context()
            facts, found = self._facts(launch, args, kwargs, context_id)
            key = facts
            plan = self._plans.get(key)
            if plan is None:
                return key, None
            views = (view for view in found if isinstance(view, ArrayView))
            stream = streams.current(views) if launch.stream is None else streams.handle(launch.stream)
            config = plan.config if plan.config.stream == stream else plan.config._replace(stream=stream)
            return key, (plan.function, config, plan.function.packed(plan.filled(found)), context)
        except Exception:  # the full check then raises the error
            return key, None

    def _facts(
        self, launch: Any, args: tuple[Any, ...], kwargs: dict[str, Any], context_id: int
    ) -> tuple[Hashable, list[Any]]:
        """Return the key of a launch, and its arrays and numbers. Errors: any, for launches without plans."""
        shapes = launch.grid, launch.block, launch.cluster
        if kwargs or type(launch.smem) is not int or not all(map(is_exact, shapes)):
            raise TypeError
        key, found = [len(args), *shapes, launch.smem, *ways_of(launch), context_id], []
        parameter: Any
        for parameter, argument in zip(self.bundle.variants[0].signature.parameters, args, strict=False):
            facts, given = parameter.look(argument, self._alignment)
            key += type(argument), facts
            found.append(given)
        return tuple(key), found

    def _launch(self, launch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Launched | None:
        """Check everything and launch; None for an empty grid."""
        grid = None if launch.grid is None else extents(launch.grid, "grid", least=0)
        if grid is not None and 0 in grid:
            return None
        stream = asked.given_stream(launch)
        index, fitted = self._fit(args, kwargs, stream)
        variant = self.bundle.variants[index]
        signature = variant.signature
        if grid is None:
            if signature.grid is None:
                raise LaunchError("no grid is given, and the kernel was exported without one: kernel[grid](...)")
            blocks = tuple(evaluate(extent, fitted.dims) for extent in signature.grid)
            grid = extents(blocks, "grid", least=0)
            if 0 in grid:
                return None
        kind, ordinal = home_of(self.__name__, fitted.arrays) or ("cuda", None)
        if kind != "cuda":
            name = fitted.arrays[0][0]
            raise ArgumentError(f"{self.__name__}(): argument `{name}` is in host memory, and an exported kernel runs "
                                "on GPUs alone; copy it there (cutelite_rt.to_device)")  # fmt: skip
        where = device(ordinal)
        function = self._functions.function(index, where, lambda: variant.artifact(where))
        check_writable(self.__name__, fitted.arrays, function.artifact.written)
        if stream is None:
            stream = streams.current(view for _, view in fitted.arrays)
        config = _config(launch, grid, function, stream)
        if is_wide(grid, config.block) and not signature.wide:
            raise LaunchError(f"a grid of {grid} in blocks of {config.block} has more threads along an axis than the "
                              "kernel was exported to count: export it with wide_dims=True")  # fmt: skip
        packed = function.packed([packable(self.__name__, value) for value in fitted.values])
        start(function, config, packed, sync=self.sync)
        return _Launched(index, fitted, function, config)

    def _fit(self, args: tuple[Any, ...], kwargs: dict[str, Any], stream: int | None) -> tuple[int, Fitted]:
        problems = []
        for index, binder in enumerate(self._binders):
            try:
                return index, binder.fit(args, kwargs, stream)
            except ArgumentError as problem:
                problems.append(problem)
        if len(problems) == 1:
            raise problems[0]
        said = "\n".join(
            f"  ({of.signature.text}): {problem}" for of, problem in zip(self._binders, problems, strict=True)
        )
        raise ArgumentError(f"{self.__name__}() was exported for {len(problems)} signatures, and none fits:\n{said}")


@without_our_frames
def load_kernel(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview | Bundle,
    sync: bool = False,
    host_code: bool = False,
) -> ExportedKernel:
    """Load the kernel that `kernel.export(path)` wrote: from its file, from the bytes of one, or from a `Bundle`.

    sync       wait for each launch, so that a fault is reported by the launch that caused it
    host_code  let machine code for this CPU launch, if the file has some (`kernel.export(cpus=...)`). It can do
               whatever this process can, so use it only for files that you trust like programs
    Errors     `ArtifactError` for other or damaged files; OSError; with `host_code` also `CudaError` without a driver
    """
    if isinstance(source, bytes | bytearray | memoryview):
        source = Bundle.from_bytes(bytes(source))
    return ExportedKernel(source if isinstance(source, Bundle) else Bundle.open(source), sync, host_code)


# How it is launched.


def _from_subscript(name: str, key: Any) -> ExportedLaunch:
    if not isinstance(key, tuple | ExportedLaunch):
        return ExportedLaunch(key)
    forms = "kernel[grid](...), kernel[grid, block](...) or kernel[ExportedLaunch(...)](...)"
    found: ExportedLaunch = named(name, asked.from_subscript, key, ExportedLaunch, 2, forms)
    return found


def _config(launch: Any, grid: Dim3, function: Function, stream: int) -> LaunchConfig:
    artifact, limits = function.artifact, function.device.limits
    for what, given, compiled in (
        ("block", launch.block, artifact.block),
        ("cluster", launch.cluster, artifact.cluster),
    ):
        if given is not None and extents(given, what) != (compiled or (1, 1, 1)):
            raise LaunchError(f"the kernel was exported for a {what} of {compiled or 1}, not of {given}")
    most = limits.smem_per_block_optin
    pdl = function.device.compute_capability >= (9, 0)
    asked.check(launch, grid, artifact.cluster, limits[4:7], most, pdl, artifact.arch)
    asked.check_memory(artifact.dynamic_smem + artifact.static_smem, launch.smem, most, artifact.arch)
    smem = whole(launch.smem, "smem") + artifact.dynamic_smem
    block = artifact.block
    assert block is not None, "the compiler fixes the block of every kernel"
    return LaunchConfig(grid, block, artifact.cluster, smem, stream, *ways_of(launch))


def _is_for_here(code: HostCode) -> bool:
    """Tell whether this process can run the machine code, and this runtime writes the tables that it reads."""
    return HERE in code.images and code.interface == digest() and native.unsupported() is None


def _constant(x: Any) -> tuple[Hashable, bool]:
    """Return a key by which constants are compared as in `Fixed`, and whether it never changes."""
    return (type(x), repr(x)), x is LEFT_OUT or type(x) in (str, int, float)


def _defaults(parameters: Iterable[Parameter]) -> dict[str, Any]:
    """Return the values of arguments that are left out, by name, for those that any signature allows to leave out."""
    found: dict[str, Any] = {}
    for parameter in parameters:
        if isinstance(parameter, Fixed):
            found[parameter.name] = LEFT_OUT  # the value depends on the signature that fits
        elif left_out(parameter) is not MISSING:
            found.setdefault(parameter.name, left_out(parameter))
    return found
