"""`@kernel` and what it makes: binds arguments, finds or compiles the specialisation, launches it."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple, overload

from cutelite import config
from cutelite.front.types import ArgType
from cutelite.ir.types import Scalar
from cutelite.lang.annotations import Spec, specs_of
from cutelite.target import Target
from cutelite_rt import Artifact, ArtifactError, DiskCache, default_cache_dir

from . import fingerprint
from .arguments import ArgumentError, Bound, bind, types_of
from .compiled import Compiled
from .launch import Dim3, Launch, LaunchError, check, extents, from_subscript
from .options import Options

DEFAULT_ARCH = "sm_90a"
"""What is compiled for where no architecture is given and there is no GPU."""


class Specialisation(NamedTuple):
    """What a kernel is compiled for: types of its parameters, widths of its dims, shapes, target, options."""

    types: tuple[tuple[str, ArgType], ...]
    dims: tuple[tuple[str, Scalar], ...]
    block: Dim3
    cluster: Dim3 | None
    arch: str
    options: Options


class Kernel:
    """A GPU kernel written in Python: ``kernel[grid, block](*args)``. Made by `@kernel`."""

    def __init__(self, function: FunctionType, options: Options, block: Any = None, cluster: Any = None) -> None:
        functools.update_wrapper(self, function)
        self.__cutelite_function__ = function
        self.options = options
        self.block, self.cluster = block, cluster
        self._compiled: dict[Specialisation, Compiled] = {}
        self._loaded: dict[tuple[Specialisation, int], Any] = {}
        self._lock = threading.Lock()

    @functools.cached_property
    def specs(self) -> dict[str, Spec | None]:
        """What each parameter's annotation means."""
        return specs_of(self.__cutelite_function__)

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.__cutelite_function__)

    def __getitem__(self, key: Any) -> Callable[..., None]:
        launch = from_subscript(key)
        return functools.partial(self.launch, launch)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        raise LaunchError(
            f"{self.__name__} is a kernel: launch it as {self.__name__}[grid, block](...),"
            " or call it from another kernel"
        )

    def launch(self, launch: Launch, /, *args: Any, **kwargs: Any) -> None:
        """Run the kernel: asynchronously on the GPU that holds the arrays, or at once in the simulator on NumPy.

        Errors  `ArgumentError`, `LaunchError` before anything is launched; `CompileError` at the first launch of
                a specialisation; `CudaError` from the driver
        """
        bound = bind(self.__name__, self.specs, self._arguments(args, kwargs))
        environment = config.read()
        ordinal = _device_of(self.__name__, bound, environment.simulate)
        if ordinal is None:
            self._simulate(launch, bound, environment)
        else:
            self._run(launch, bound, environment, ordinal)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        try:
            given = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self.__name__}(): {error}; it takes {self.signature}") from None
        given.apply_defaults()
        return given.arguments

    # On a GPU.

    def _run(self, launch: Launch, bound: Bound, environment: config.Config, ordinal: int) -> None:
        import cutelite_rt as rt
        from cutelite_rt import stream

        device = rt.device(ordinal)
        arch = environment.arch or Target.for_capability(device.compute_capability).arch
        spec = self._specialisation(launch, bound, environment, arch)
        compiled = self._get(spec, environment)
        function = self._loaded.get((spec, ordinal))
        if function is None:
            function = self._loaded[spec, ordinal] = rt.load(compiled.artifact, device)
        given = launch.stream
        shape = rt.LaunchConfig(
            extents(launch.grid, "grid"),
            spec.block,
            spec.cluster,
            launch.smem + compiled.artifact.dynamic_smem,
            stream.current(bound.views) if given is None else stream.handle(given),
            launch.cooperative,
            launch.pdl,
        )
        rt.launch(function, shape, _packed(compiled.artifact, bound), sync=environment.sync)

    # In the simulator.

    def _simulate(self, launch: Launch, bound: Bound, environment: config.Config) -> None:
        from cutelite import pipeline

        spec = self._specialisation(launch, bound, environment, environment.arch or DEFAULT_ARCH)
        with self._lock:
            compiled = self._compiled.get(spec)
        front = compiled.function if compiled else self._front(spec, assertions=True)
        if compiled is None:
            with self._lock:
                self._compiled[spec] = Compiled(_unbuilt(self.__name__, spec), lambda: pipeline.Build(front))
        pipeline.simulate(front, extents(launch.grid, "grid"), bound, launch.smem, environment.sim_seed)

    # Compiling.

    def _specialisation(
        self, launch: Launch, bound: Bound, environment: config.Config, arch: str
    ) -> Specialisation:
        block = extents(launch.block, "block")
        cluster = extents(launch.cluster, "cluster") if launch.cluster is not None else self._own_cluster()
        check(self.__name__, extents(launch.grid, "grid"), block, cluster, Target.parse(arch))
        options = self.options.completed(environment)
        return Specialisation(tuple(bound.types.items()), tuple(bound.dims.items()), block, cluster, arch, options)

    def _own_cluster(self) -> Dim3 | None:
        return None if self.cluster is None else extents(self.cluster, "cluster")

    def compile(
        self,
        *,
        block: Any = None,
        cluster: Any = None,
        arch: str | None = None,
        wide_dims: bool = False,
        **given: Any,
    ) -> Compiled:
        """Compile ahead of a launch; needs neither a GPU nor a driver.

        block, cluster  threads in a block, blocks in a cluster; default: what `@kernel(block=...)` says
        arch            such as 'sm_90a'; default: CUTELITE_ARCH, else sm_90a
        wide_dims       for extents of 2**31 and more
        given           by parameter name: values of Constexpr parameters, example arrays; by the name of a dtype
                        variable: its dtype
        Errors          `CompileError` at the user's line; `ArgumentError`; `LaunchError`
        """
        environment = config.read()
        block, cluster = block or self.block, cluster or self.cluster
        if block is None:
            raise LaunchError(f"{self.__name__}.compile() needs block=: the kernel is specialised for its shape")
        arch = arch or environment.arch or DEFAULT_ARCH
        defaults = {n: p.default for n, p in self.signature.parameters.items() if p.default is not p.empty}
        types, dims = types_of(self.__name__, self.specs, {**defaults, **given}, wide_dims)
        bound = Bound(types, dims, [], [])
        shape = Launch(extents(cluster, "cluster") if cluster else 1, block, cluster)
        return self._get(self._specialisation(shape, bound, environment, arch), environment)

    def _get(self, spec: Specialisation, environment: config.Config) -> Compiled:
        """The compiled specialisation: from memory, from disk, or compiled now."""
        found = self._compiled.get(spec)
        if found is not None:
            return found
        with self._lock:
            found = self._compiled.get(spec)
            if found is None:
                found = self._compiled[spec] = self._from_disk_or_now(spec, environment)
        return found

    def _from_disk_or_now(self, spec: Specialisation, environment: config.Config) -> Compiled:
        from cutelite import pipeline

        def again() -> pipeline.Build:
            return self._build(spec, environment)

        cache = open_cache(environment)
        key = self._key(spec, environment) if cache else None
        if cache is None or key is None or environment.dump:
            build = again()
            return Compiled(build.artifact, again, build)
        made: list[pipeline.Build] = []

        def make() -> bytes:
            made.append(again())
            return made[0].artifact.to_bytes()

        payload = cache.get_or_make(key, make)
        try:
            artifact = made[0].artifact if made else Artifact.from_bytes(payload)
        except ArtifactError:
            build = again()
            cache.put(key, build.artifact.to_bytes())
            return Compiled(build.artifact, again, build)
        return Compiled(artifact, again, made[0] if made else None)

    def _key(self, spec: Specialisation, environment: config.Config) -> str | None:
        from cutelite.toolchain.tools import identity

        positions = bool(spec.options.line_info or spec.options.assertions)
        try:
            tools = identity(spec.options.assembler or "auto", spec.options.backend or "llvm")
            return fingerprint.digest(self.__cutelite_function__, _facts(spec), tools, positions=positions)
        except fingerprint.Undigestible as error:
            if environment.verbose:
                print(f"cutelite: {self.__name__} is not kept on disk: {error}", file=sys.stderr)
            return None

    def _front(self, spec: Specialisation, assertions: bool = False) -> Any:
        from cutelite.front.build import build

        attrs = spec.options.attrs(spec.block, spec.cluster)
        if assertions:
            attrs["assertions"] = True
        return build(self.__cutelite_function__, dict(spec.types), dict(spec.dims), attrs, Target.parse(spec.arch))

    def _build(self, spec: Specialisation, environment: config.Config) -> Any:
        from cutelite import pipeline

        return pipeline.compile_kernel(lambda: self._front(spec), Target.parse(spec.arch), spec.options, environment)

    # What Numba's users know.

    def inspect_llvm(self) -> dict[Specialisation, str]:
        """LLVM IR of every specialisation compiled so far."""
        return {spec: compiled.llvm for spec, compiled in self._compiled.items()}

    def inspect_asm(self) -> dict[Specialisation, str]:
        """PTX of every specialisation compiled so far."""
        return {spec: compiled.ptx for spec, compiled in self._compiled.items()}

    def inspect_sass(self) -> dict[Specialisation, str | None]:
        """Machine code of every specialisation compiled so far, where a disassembler is found."""
        return {spec: compiled.sass for spec, compiled in self._compiled.items()}

    def inspect_types(self) -> dict[Specialisation, str]:
        """Typed IR of every specialisation compiled so far."""
        return {spec: compiled.ir for spec, compiled in self._compiled.items()}

    @property
    def specialisations(self) -> list[Specialisation]:
        return list(self._compiled)

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"


@functools.cache
def _opened(directory: str, megabytes: int) -> DiskCache:
    return DiskCache(directory, megabytes << 20)


def cache_directory(environment: config.Config) -> str | None:
    """Where compiled kernels are kept on disk; None where the environment switches that off."""
    if not environment.cache:
        return None
    return str(environment.cache_dir) if environment.cache_dir else default_cache_dir()


def open_cache(environment: config.Config) -> DiskCache | None:
    directory = cache_directory(environment)
    return None if directory is None else _opened(directory, environment.cache_max_mb)


def _device_of(kernel: str, bound: Bound, simulate: bool) -> int | None:
    """The GPU that a launch goes to; None for the simulator."""
    homes = {view.device for view in bound.views}
    cuda = sorted(ordinal for kind, ordinal in homes if kind == "cuda")
    if not cuda:
        return None if simulate or homes or not _has_gpu() else _current_device()
    if simulate:
        raise ArgumentError(f"{kernel}(): CUTELITE_SIM is set, but the arrays are on a GPU; pass NumPy arrays")
    if len(homes) > 1:
        where = ", ".join(sorted({f"{kind}:{n}" if kind == "cuda" else "the CPU" for kind, n in homes}))
        raise ArgumentError(f"{kernel}(): the arrays are on different devices: {where}; move them to one")
    return cuda[0]


def _has_gpu() -> bool:
    import cutelite_rt as rt

    try:
        return rt.count() > 0
    except rt.CudaError:
        return False


def _current_device() -> int:
    import cutelite_rt as rt

    return rt.device().ordinal


def _packed(artifact: Artifact, bound: Bound) -> Any:
    from cutelite_rt import ParameterLayout, Tiling
    from cutelite_rt.tensormap import encode

    from .arguments import MapRequest

    values = []
    for value in bound.values:
        if isinstance(value, MapRequest):
            view, t = value
            values.append(encode(view.pointer, view.dtype, view.shape, view.strides, Tiling(t.box, swizzle=t.swizzle)))
        else:
            values.append(getattr(value, "pointer", value))
    return ParameterLayout(artifact.params).pack(values)


def _facts(spec: Specialisation) -> tuple[Any, ...]:
    """A specialisation as values whose digest is its own."""
    return (*spec[:-1], repr(spec.options))


def _unbuilt(name: str, spec: Specialisation) -> Artifact:
    """What stands for the artefact of a kernel that has only been simulated."""
    return Artifact(name, spec.arch, block=spec.block, cluster=spec.cluster)


@overload
def kernel(function: Callable[..., None], /) -> Kernel: ...
@overload
def kernel(
    *,
    block: Any = None,
    cluster: Any = None,
    fmad: bool = True,
    assertions: bool | None = None,
    line_info: bool | None = None,
    opt: int | None = None,
    max_registers: int | None = None,
    min_blocks: int | None = None,
    ptxas_options: tuple[str, ...] | None = None,
    backend: str | None = None,
    assembler: str | None = None,
) -> Callable[[Callable[..., None]], Kernel]: ...
def kernel(function: Any = None, /, *, block: Any = None, cluster: Any = None, **options: Any) -> Any:
    """Make a GPU kernel of an annotated Python function; with or without options.

    block, cluster  the shapes that `compile` and the command line take where none is given
    options         see `Options`: fmad, assertions, line_info, opt, max_registers, min_blocks, ptxas_options, ...
    """

    def decorate(function: Callable[..., None]) -> Kernel:
        if not isinstance(function, FunctionType):
            raise TypeError(f"@kernel takes a Python function, not {function!r}")
        return Kernel(function, Options(**options), block, cluster)

    return decorate if function is None else decorate(function)


