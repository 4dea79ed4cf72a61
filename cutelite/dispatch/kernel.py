"""The class `Kernel`: a launch binds arguments, finds or compiles a specialisation, and runs it."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import count as count_from
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal, TextIO, Unpack, overload

import cutelite_rt as rt
from cutelite import config
from cutelite.dispatch.arguments import ArgumentError, Bound, described
from cutelite.dispatch.compiled import Compiled
from cutelite.dispatch.device import arch_of, device_of
from cutelite.dispatch.divert import diversion, on_host
from cutelite.dispatch.dynamo import untraced
from cutelite.dispatch.launch import (
    PERSISTENT,
    Dim3,
    Extent,
    Launch,
    LaunchError,
    check_shape,
    extents,
    from_subscript,
    shortest,
)
from cutelite.dispatch.launcher import Held, Launching, LaunchRecord
from cutelite.dispatch.mistakes import named_by_kernel, shorten, without_our_frames
from cutelite.dispatch.ranges import launch_range
from cutelite.dispatch.signature import Signature
from cutelite.dispatch.specialise import OnlyOne, Specialisation, Specialisations
from cutelite.front.types import Constant
from cutelite.lang.annotations import NOTHING_SEEN
from cutelite.options import NAMES, Given, Options, checked, parsed
from cutelite.target import Target
from cutelite.tuples import NamedTuple
from cutelite_rt.arrays import stream as streams
from cutelite_rt.arrays.memory import check_writable
from cutelite_rt.callers import calling_line
from cutelite_rt.errors import named
from cutelite_rt.gpu.attributes import ways_of
from cutelite_rt.gpu.launch import Loaded
from cutelite_rt.launcher import asked
from cutelite_rt.shapes import hashable, is_wide, whole
from cutelite_rt.signature.bind import packable

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from cutelite.builds.build import Build
    from cutelite.dispatch.against import GpuComparison
    from cutelite.dispatch.profiling import Profile
    from cutelite.sim import CheckReport, Timeline
    from cutelite.sim.tally import Tally

DEFAULT_ARCH = "sm_90a"
"""The architecture to compile for where none is given and there is no GPU."""
SIMULATED_CLUSTERS = 4  # clusters of a persistent grid in the simulator: enough for blocks to wait for each other


class _Settings(NamedTuple):
    """The environment at a kernel's first launch, and the options that follow from it."""

    environment: config.Config
    options: Options


class Checked(NamedTuple):
    """A launch whose arguments and shapes have been found to fit.

    ordinal     the GPU that it goes to; None for the simulator
    generation  the launcher's `generation`: if it changes before the launch ends, the outcome is not kept
    """

    grid: Dim3
    spec: Specialisation
    bound: Bound
    ordinal: int | None
    stream: int | None
    generation: object
    arguments: dict[str, Any]


class Planned(NamedTuple):
    """A launch that is ready to be made: `values` of its parameters in order; `watched`, the sources of its kernel."""

    function: rt.Function
    config: rt.LaunchConfig
    values: list[Any]
    watched: tuple[Any, ...]


class Kernel:
    """A GPU kernel written in Python: ``kernel[grid, block](*args)``. Made by `@kernel`.

    Threads may launch and compile it at the same time.
    """

    __slots__ = ("__dict__", "__weakref__", "_launching")  # the last is on the way of each launch
    __name__: str
    __qualname__: str

    def __init__(
        self,
        function: FunctionType,
        given: Mapping[str, Any],
        block: Dim3 | None = None,
        cluster: Dim3 | None = None,
        arch: str | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.__cutelite_function__ = function
        self.given = given
        self.block, self.cluster, self.arch = block, cluster, arch
        self._owner: type | None = None
        self._seen: Mapping[str, Any] = NOTHING_SEEN
        self._made = Specialisations(function)
        self._known: dict[Hashable, Specialisation] = {}
        self._loaded = Loaded()
        declared = block is not None
        read = functools.partial(named, self.__name__, lambda key: self._filling(from_subscript(key, declared)))
        self._launching = Launching(self.__qualname__, lambda: self.signature, read, self._launch)
        self._resident: dict[Any, int] = {}

    def __repr__(self) -> str:
        return f"<kernel {self.__qualname__}({self.signature})>"

    def __reduce__(self) -> str:
        """Pickle the kernel by name, as functions are; a copy is the kernel itself."""
        return self.__qualname__

    @functools.cached_property
    def signature(self) -> Signature:
        """The parameters. Errors: `CompileError` for objects that are no annotations."""
        return Signature(self.__cutelite_function__, method=self._owner is not None, seen=self._seen)

    @functools.cached_property
    def _settings(self) -> _Settings:
        environment = config.read()
        return _Settings(environment, replace(environment.options, **self.given))

    # Methods: the object is a compile-time constant.

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner

    @overload
    def __get__(self, instance: None, owner: type) -> Kernel: ...
    @overload
    def __get__(self, instance: object, owner: type) -> BoundKernel: ...
    def __get__(self, instance: object, owner: type) -> Kernel | BoundKernel:
        if instance is None:
            return self
        self._owner = owner  # NamedTuple does not call `__set_name__`
        return BoundKernel(self, instance)

    # Options.

    @without_our_frames
    def options(
        self,
        text: str = "",
        /,
        *,
        block: Extent | None = None,
        cluster: Extent | None = None,
        arch: str | None = None,
        **said: Unpack[Given],
    ) -> Kernel:
        """Return a new kernel with other options. Keep it: it has compiled code of its own.

        text            options as flags, such as "--opt-level=2 --max-registers=64"
        block, cluster, arch  as for `@kernel`; default: this kernel's
        said            options by name; those left out, or None, are as in this kernel
        Errors          TypeError for a name that is no option; `OptionError`, `LaunchError` for values
        """
        return self.like(
            {**self.given, **parsed(text), **checked(said, "kernel.options")},
            self.block if block is None else extents(block, "block"),
            self.cluster if cluster is None else extents(cluster, "cluster"),
            self.arch if arch is None else Target.parse(arch).arch,
        )

    def like(self, given: Mapping[str, Any], block: Dim3 | None, cluster: Dim3 | None, arch: str | None) -> Kernel:
        """Return a new kernel of the same function, with these settings, which have been checked."""
        made = type(self)(self.__cutelite_function__, given, block, cluster, arch)
        made._owner, made._seen = self._owner, self._seen
        return made

    @property
    def default_arch(self) -> str:
        """The architecture to compile for where none is given and there is no GPU."""
        return self.arch or DEFAULT_ARCH

    def _options_among(self, given: dict[str, Any]) -> dict[str, Any]:
        """Remove the options from `given`, check and return them. A name that is also a parameter's stays."""
        parameters = self.signature.names
        text = given.pop("options", "") if "options" not in parameters else ""
        said = {name: given.pop(name) for name in NAMES & given.keys() if name not in parameters}
        return {**parsed(text or ""), **checked(said)}

    # Launching.

    __iter__ = None  # by `__getitem__` alone Python would iterate for ever

    @untraced
    def __getitem__(self, key: Any) -> Callable[..., None]:
        """Return the launch function of ``kernel[grid, block, stream, smem](...)``, or of ``kernel[Launch(...)](...)``.

        ``kernel[grid](...)`` takes the decorator's block; a grid of several extents is then ``kernel[(x, y), None]``.
        """
        try:
            return self._launching.subscript(key)
        except LaunchError as error:
            shorten(error)
            raise

    @without_our_frames
    def __call__(self, *args: Any, **kwargs: Any) -> None:
        name = self.__name__
        raise LaunchError(f"{name} is a kernel: launch it as {name}[grid, block](...), or call it from another kernel")

    @untraced
    @without_our_frames
    def launch(self, launch: Launch, /, *args: Any, **kwargs: Any) -> None:
        """Run the kernel: asynchronously on the GPU that holds the arrays, or at once in the simulator on NumPy.

        With an empty grid nothing is launched, and the arguments are not checked.
        Errors  `ArgumentError`, `LaunchError` before anything is launched; `CompileError` at the first launch of
                a specialisation; `CudaError` from the driver; `SimError` from the simulator
        """
        launch = named(self.__name__, self._filling, launch)
        self._launching.entry((launch.facts, launch), *args, **kwargs)

    def compiling(self, launch: Launch, /, *args: Any, **kwargs: Any) -> functools.partial[Compiled] | None:
        """Check a launch now, and return a function that compiles for it; None for an empty grid.

        The function may be called in any thread; the last of its `args` is the specialisation.
        Errors  as `launch`: for arguments and shapes from here, for the compile from the function
        """
        checked = named(self.__name__, self._checked, launch, args, kwargs)
        return (
            None if checked is None else functools.partial(named, self.__name__, self._compiled, launch, checked.spec)
        )

    @untraced
    @without_our_frames
    def _launch(self, key: bytes | None, held: Held, /, *args: Any, **kwargs: Any) -> None:
        """Launch by Python, and keep the outcome under the key that the compiled launcher gave."""
        on_host(self.__name__)
        instead = diversion.get()
        if instead is None:
            named(self.__name__, self._launch_anew, key, held[1], args, kwargs)
        else:
            instead(self, held[1], args, kwargs)

    def _launch_anew(self, key: bytes | None, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        checked = self._checked(launch, args, kwargs)
        if checked is None:
            return
        if self._settings.environment.dry_run:
            self._compiled(launch, checked.spec)
            return
        if self._settings.environment.profile_dir is not None:
            self._profiled_to(self._settings.environment.profile_dir, launch, args, kwargs)
            return
        if checked.ordinal is None:
            _simulator().launch_simulated(self, launch, checked)
            return
        function, config = self._run(launch, checked, checked.ordinal)
        environment = self._settings.environment
        if not environment.sync and not environment.nvtx:  # only Python waits for faults and makes NVTX ranges
            went = LaunchRecord(checked.bound, function, config, checked.arguments)
            self._launching.went_well(key, checked.generation, went, self._made.watched, environment)

    def _checked(
        self, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any], *, simulated: bool = False
    ) -> Checked | None:
        """Check a launch, as far as possible without a compile; None where there are no blocks to launch.

        simulated  it is only simulated, wherever its arrays are
        """
        arguments = self.signature.match(args, kwargs)
        launch = self._filling(launch).resolved({**arguments})
        grid = extents(launch.grid, "grid", least=0)
        if 0 in grid:
            return None
        stream = asked.given_stream(launch)
        bound, ordinal, arch = self._placed(arguments, stream, simulated)
        generation = self._launching.generation
        spec = self._specialisation(launch, grid, bound, arch)
        target = Target.parse(arch)
        limits = target.max_grid, target.smem_per_block, target.has("pdl"), target.arch
        asked.check(launch, grid, spec.cluster, *limits)
        if launch.seed is not None:
            whole(launch.seed, "the seed")
        return Checked(grid, spec, bound, ordinal, stream, generation, arguments)

    def _placed(
        self, arguments: dict[str, Any], stream: int | None, simulated: bool = False
    ) -> tuple[Bound, int | None, str]:
        """Bind the arguments; find the GPU that holds them (None: the simulator), and the architecture."""
        bound, environment = self.signature.bound(arguments, stream), self._settings.environment
        ordinal = device_of(self.__name__, bound, environment)
        self._forget_if_changed()
        arch = self.default_arch if ordinal is None or (simulated and self.arch) else arch_of(ordinal)
        return bound, ordinal, environment.arch or arch

    def _blocks(
        self, what: str, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any], *, simulated: bool = False
    ) -> Checked:
        """Check a launch as `_checked` does. Errors: also `LaunchError` for an empty grid; `what`: the verb in it."""
        if isinstance(launch, Launch) and launch.block is not None:
            extents(launch.block, "block")  # before arguments are bound: it may be one of them
        checked = self._checked(launch, args, kwargs, simulated=simulated)
        if checked is None:
            raise LaunchError(f"a grid of no blocks has nothing to {what}")
        return checked

    def _filling(self, launch: Launch) -> Launch:
        """Return `launch`, with a grid of 'persistent' replaced by a function of the arguments."""
        if not isinstance(launch, Launch):
            raise LaunchError(f"`launch` takes a cl.Launch before the arguments, not {launch!r}")
        if type(launch.grid) is not str:
            return launch
        if launch.grid != PERSISTENT:
            raise LaunchError(f"a grid is extents, a function or {PERSISTENT!r}, not {launch.grid!r}")
        return replace(launch, grid=functools.partial(self._grid_at_once, launch))

    def _grid_at_once(self, launch: Launch, arguments: dict[str, Any]) -> Dim3:
        """Return a grid of as many blocks, along x, as run at once; in the simulator, of four clusters."""
        bound, ordinal, arch = self._placed(arguments, None)
        spec = self._specialisation(launch, (1, 1, 1), bound, arch)
        x, y, z = spec.cluster or (1, 1, 1)
        if ordinal is None:
            return (SIMULATED_CLUSTERS * x, y, z)
        key = spec, ordinal, launch.smem
        if key not in self._resident:
            compiled = self._compiled(launch, spec)
            config = rt.LaunchConfig((x, y, z), spec.block, spec.cluster, launch.smem + compiled.artifact.dynamic_smem)
            self._resident[key] = rt.resident_clusters(self._function(spec, compiled, ordinal), config)
        return (self._resident[key] * x, y, z)

    def _forget_if_changed(self) -> None:
        if self._made.drop_if_changed():
            self._known, self._loaded, self._resident = {}, Loaded(), {}
            self._launching.forget()

    def _specialisation(self, launch: Launch, grid: Dim3, bound: Bound, arch: str) -> Specialisation:
        wide = bound.wide or is_wide(grid, launch.block)
        block, cluster = hashable(launch.block, "block"), hashable(launch.cluster, "cluster")
        key = (bound.token, block, cluster, arch, wide)
        spec = self._known.get(key)
        if spec is None:
            options = self._settings.options
            bound = bound._replace(wide=wide)
            spec = self._known[key] = self._specialised(bound, block, cluster, arch, options)
        return spec

    def _specialised(self, bound: Bound, block: Any, cluster: Any, arch: str, options: Options) -> Specialisation:
        block, cluster = self._agreed("block", block), self._agreed("cluster", cluster)
        if block is None:
            raise LaunchError(
                "no block is given, and its shape is compiled in: kernel[grid, block] or @kernel(block=...)"
            )
        check_shape(block, cluster, Target.parse(arch))
        return Specialisation(bound.types, bound.dims, block, cluster, arch, options, bound.wide)

    def _agreed(self, what: str, given: Any) -> Dim3 | None:
        """Return the shape that the decorator or the launch gives. Errors: `LaunchError` where these differ."""
        declared: Dim3 | None = getattr(self, what)
        if given is None:
            return declared
        found = extents(given, what)
        if declared is None or found == declared:
            return found
        if isinstance(self._made, OnlyOne):
            text = f"it was compiled for a {what} of {shortest(declared)}, not {given}"
            raise LaunchError(f"{text}: leave it out, or launch the kernel itself, which compiles what it needs")
        code = self.__cutelite_function__.__code__
        raise LaunchError(
            f"a {what} of {given} is asked for{calling_line()}, but @kernel({what}={shortest(declared)}) says another, "
            f"in {code.co_filename}:{code.co_firstlineno}; leave one of them out: kernel[grid] takes the decorator's, "
            "and kernel[(x, y), None] for a grid of two extents"
        )

    # On a GPU.

    def _compiled(self, launch: Launch, spec: Specialisation) -> Compiled:
        """Return the compiled kernel. Errors: as compiling; `LaunchError` for too much shared memory."""
        compiled = self._made.get(spec, self._settings.environment)
        target = Target.parse(spec.arch)
        asked.check_memory(compiled.shared_memory, launch.smem, target.smem_per_block, target.arch)
        return compiled

    @named_by_kernel
    def planned(self, launch: Launch, /, *args: Any, **kwargs: Any) -> Planned | None:
        """Check and compile a launch on a GPU without making it; None for a grid of no blocks.

        Errors  as `launch`; `ArgumentError` for arrays in host memory
        """
        checked = self._checked(launch, args, kwargs)
        if checked is None:
            return None
        if checked.ordinal is None:
            raise ArgumentError(f"{self.__name__}(): one argument is on a GPU, but those of this launch are not")
        function, shape = self._shaped(launch, checked, checked.ordinal)
        function.prepared(shape)  # it allows the shared memory now, since launches of the plan do not
        return Planned(function, shape, checked.bound.values, self._made.watched)

    def _shaped(self, launch: Launch, checked: Checked, ordinal: int) -> tuple[rt.Function, rt.LaunchConfig]:
        """Return the loaded kernel, and the driver's settings for the launch."""
        grid, spec, bound, stream = checked.grid, checked.spec, checked.bound, checked.stream
        compiled = self._compiled(launch, spec)
        check_writable(self.__name__, bound.arrays, compiled.artifact.written)
        smem = launch.smem + compiled.artifact.dynamic_smem
        function = self._function(spec, compiled, ordinal)
        if stream is None:
            stream = streams.current(view for _, view in bound.arrays)
        return function, rt.LaunchConfig(grid, spec.block, spec.cluster, smem, stream, *ways_of(launch))

    def _run(self, launch: Launch, checked: Checked, ordinal: int) -> tuple[rt.Function, rt.LaunchConfig]:
        environment = self._settings.environment
        grid, spec, bound = checked.grid, checked.spec, checked.bound
        function, shape = self._shaped(launch, checked, ordinal)
        parameters = function.packed([packable(self.__name__, value) for value in bound.values])
        try:
            with launch_range(self.__name__, grid, spec.block) if environment.nvtx else nullcontext():
                rt.launch(function, shape, parameters, sync=environment.sync)
        except rt.CudaError as error:
            if not environment.sync:
                raise
            raise error.said_of(f"with {described(checked.arguments)}") from None
        return function, shape

    def _function(self, spec: Specialisation, compiled: Compiled, ordinal: int) -> rt.Function:
        return self._loaded.function(spec, rt.device(ordinal), lambda: compiled.artifact)

    @without_our_frames
    def check(
        self,
        grid: Extent | Literal["persistent"],
        block: Extent | None = None,
        /,
        *args: Any,
        cluster: Extent | None = None,
        smem: int = 0,
        seeds: int | Iterable[int] | None = None,
        blocks: int | None = None,
        notes: bool = True,
        pdl: bool = False,
        untouched: Iterable[str] | None = None,
        ordered: Iterable[str] = (),
        **kwargs: Any,
    ) -> CheckReport:
        """Simulate a launch under several schedules, and report what PTX's memory model forbids: docs/checking.md.

        grid, block    as in ``kernel[grid, block](*args)``; a block of None is the decorator's
        cluster, smem  as in `Launch`. A kernel's parameter with the name of an option is passed by position
        seeds          how many schedules, or which; default: 4
        blocks         check only this many blocks of the grid, drawn anew for each schedule: for kernels whose blocks
                       do not wait for each other. Default: all
        notes          note bank conflicts and uncoalesced accesses
        pdl            as in `Launch`: the kernel ahead may still run, so global memory may be accessed only after
                       `griddepcontrol_wait`. This is also checked where the kernel has that instruction
        untouched      names of arguments that may be accessed before `griddepcontrol_wait`: no kernel ahead writes
                       them, nor reads those that this one writes. Default: those that threads read which execute it
                       afterwards
        ordered        names of arguments in which atomic updates that do not commute, such as sums of floats, must come
                       in one order, so that results have the same bits each time
        Result         true where nothing was found; print it, or call `raise_if_wrong`. The arrays are then as the last
                       schedule left them; those on a GPU are copied to the host and back
        Errors         as `launch`, for arguments that do not fit; `TooLarge`. The kernel's mistakes are in the result
        """
        launch = Launch(grid, block, cluster, smem, pdl=pdl)
        return self.check_launch(
            launch, *args, seeds=seeds, blocks=blocks, notes=notes, untouched=untouched, ordered=ordered, **kwargs
        )

    @named_by_kernel
    def check_launch(
        self,
        launch: Launch,
        /,
        *args: Any,
        seeds: int | Iterable[int] | None = None,
        blocks: int | None = None,
        notes: bool = True,
        untouched: Iterable[str] | None = None,
        ordered: Iterable[str] = (),
        **kwargs: Any,
    ) -> CheckReport:
        """Check the launch that ``kernel[launch](*args)`` would be, as `check` does; if it has a seed, under that."""
        checked = self._blocks("check", launch, args, kwargs, simulated=True)
        options: dict[str, Any] = {"blocks": blocks, "untouched": untouched, "ordered": ordered}
        report: CheckReport = _simulator().check(self, launch, checked, seeds, notes, **options)
        return report

    @named_by_kernel
    def trace_launch(self, launch: Launch, /, *args: Any, **kwargs: Any) -> Timeline:
        """Simulate the launch that ``kernel[launch](*args)`` would be, and return its timeline: docs/trace.md.

        ``kernel.trace_launch(cl.Launch(grid, block), a, b).save("out.json")`` writes it for Perfetto. Arrays are
        written as by the launch; those on a GPU are copied to the host and back.
        Errors  as `launch`; `SimError`
        """
        checked = self._blocks("trace", launch, args, kwargs, simulated=True)
        timeline: Timeline = _simulator().trace(self, launch, checked)
        return timeline

    @named_by_kernel
    def tally_launch(self, launch: Launch, /, *args: Any, **kwargs: Any) -> Tally:
        """Simulate the launch that ``kernel[launch](*args)`` would be, and count its work: for `cl.roofline`."""
        counted: Tally = _simulator().tally(self, launch, self._checked(launch, args, kwargs, simulated=True))
        return counted

    @named_by_kernel
    def compare_with_gpu(
        self,
        grid: Extent | Literal["persistent"],
        block: Extent | None = None,
        /,
        *args: Any,
        cluster: Extent | None = None,
        smem: int = 0,
        tolerance: float | None = None,
        by: Literal["kernel", "line"] = "kernel",
        **kwargs: Any,
    ) -> GpuComparison:
        """Launch on the GPU and, on copies of the arrays, in the simulator; compare the arrays afterwards.

        grid, block, ...  as in ``kernel[grid, block](*args)`` and `Launch`; arrays on a GPU, written as by the launch
        tolerance         difference that passes, relative to an argument's largest element (of a value: to the largest
                          of the threads that compute it together); default: by dtype
        by                'line': where arrays differ, run again on the same input with the values of all ops recorded,
                          and report the first op that differs: docs/debugging.md
        Result            true where all arguments agree. Printed, it shows the first op that differs, then for each
                          argument that differs the first such element and the line that wrote it
        Errors            as `launch`; `ArgumentError` for arrays in host memory; `SimError`; ValueError for `by`
        """
        from cutelite.dispatch.comparing import compare

        if by not in ("kernel", "line"):
            raise ValueError(f"a comparison is by 'kernel' or by 'line', not by {by!r}")
        launch = Launch(grid, block, cluster, smem)
        return compare(self, launch, self._blocks("compare", launch, args, kwargs), tolerance, by)

    # Profiles.

    @without_our_frames
    def profile(
        self,
        grid: Extent | Literal["persistent"],
        block: Extent | None = None,
        /,
        *args: Any,
        cluster: Extent | None = None,
        smem: int = 0,
        stream: Any = None,
        **kwargs: Any,
    ) -> Profile | Timeline:
        """Launch the kernel, and return the times at which its warps reached events of `cl.profile`: docs/profiling.md.

        grid, block, ...  as in ``kernel[grid, block](*args)`` and `Launch`
        Result  ``.save("out.json")`` writes it for Perfetto; ``.order(block, warp)`` returns a warp's events. On NumPy
                arrays it is the simulator's timeline, which has the events too
        Errors  as `launch`
        """
        return self.profile_launch(Launch(grid, block, cluster, smem, stream), *args, **kwargs)

    @named_by_kernel
    def profile_launch(self, launch: Launch, /, *args: Any, **kwargs: Any) -> Profile | Timeline:
        """Profile the launch that ``kernel[launch](*args)`` would be, as `profile` does."""
        return self._profile(launch, args, kwargs)

    def _profile(self, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Profile | Timeline:
        from cutelite.dispatch.profiling import Rings

        checked = self._blocks("profile", launch, args, kwargs)
        if checked.ordinal is None:
            timeline: Timeline = _simulator().trace(self, launch, checked)
            return timeline
        spec = checked.spec.under(profile=True)
        compiled = self._compiled(launch, spec)
        rings = Rings(self._function(spec, compiled, checked.ordinal), checked.grid, spec.block)
        _, shape = self._run(launch, checked._replace(spec=spec), checked.ordinal)
        return rings.read(self.__name__, (compiled.artifact.signature or {})["marks"], shape.stream)

    def _profiled_to(self, folder: str, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Profile a launch, and write it to a file of the folder: kernel.0.json, kernel.1.json, ..."""
        profile = self._profile(launch, args, kwargs)
        paths = (os.path.join(folder, f"{self.__name__}.{number}.json") for number in count_from(0))
        with config.writing("CUTELITE_PROFILE", folder):
            profile.save(next(path for path in paths if not os.path.exists(path)))

    # Compiling.

    @named_by_kernel
    def compile(
        self,
        /,
        *examples: Any,
        block: Extent | None = None,
        cluster: Extent | None = None,
        arch: str | None = None,
        wide_dims: bool = False,
        **given: Any,
    ) -> Compiled:
        """Compile ahead of a launch; needs neither a GPU nor a driver.

        examples        for parameters in order: an array or its shape, a number, the value of a Constexpr; those after
                        the named parameters are for ``*args``
        block, cluster  threads in a block, blocks in a cluster; default: those of `@kernel(block=...)`
        arch            such as 'sm_90a'; default: CUTELITE_ARCH, else sm_90a
        wide_dims       for extents of 2**31 and more, and arrays of more than 2**30 elements
        given           examples by parameter name; a dtype by the name of a dtype variable; an extent by that of a dim;
                        options (docs/options.md), which override those of `@kernel`, also as text: `options="..."`
        Errors          `CompileError` at the user's line; `ArgumentError`; `LaunchError`; `UnknownTarget`

        Tensors without an example are assumed to be aligned to 16 bytes, as allocations are.
        """
        environment = config.read()
        said = self._options_among(given)
        bound = self.signature.ahead(examples, given, wide_dims)
        arch = Target.parse(arch or environment.arch or self.default_arch).arch
        options = replace(environment.options, **{**self.given, **said})
        self._forget_if_changed()
        spec = self._specialised(bound, block, cluster, arch, options)
        compiled = self._made.get(spec, environment)
        if compiled.origin is None:
            compiled.origin = self, spec
        return compiled

    def compile_again(self, spec: Specialisation) -> Build:
        """Compile a specialisation whatever the disk cache holds, and return every stage's artefact."""
        return self._made.build(spec, config.read())

    def launching_only(self, spec: Specialisation, compiled: Compiled) -> Kernel:
        """Return a kernel that launches this specialisation alone, and refuses arguments that need another.

        Its constants are defaults of their parameters.
        """
        only = self.like(spec.options.given(), spec.block, spec.cluster, spec.arch)
        only.signature.defaults.update((name, t.value) for name, t in spec.types if isinstance(t, Constant))
        only._made = OnlyOne(self.__cutelite_function__, spec, compiled)
        only.__dict__["_settings"] = _Settings(replace(config.read(), arch=spec.arch), spec.options)
        return only

    @without_our_frames
    def export(
        self,
        path: str | os.PathLike[str] | None,
        /,
        *examples: Any,
        arch: str | Sequence[str] | None = None,
        ptx: str | None = None,
        grid: Any = None,
        signatures: Sequence[Mapping[str, Any]] = ({},),
        cpus: str | Sequence[str] = (),
        block: Extent | None = None,
        cluster: Extent | None = None,
        wide_dims: bool = False,
        **given: Any,
    ) -> rt.Bundle:
        """Write the kernel to a file that `cutelite_rt.load_kernel` launches from, with no compiler installed.

        path        None: write no file, only return its content
        examples    as for `compile`, with `given`, `block`, `cluster`, `wide_dims` and options
        arch        architectures to compile cubins for; default: that of `compile`
        ptx         architecture to add PTX for, which the driver of another GPU compiles; default: the highest plain
                    one of `arch` ('sm_90', not 'sm_90a', whose PTX is for that GPU alone), if there is one
        grid        blocks: ints and expressions over dims, as `cl.ceil_div(N, 256)`; launches need not give a grid then
        signatures  several dicts with names as in `given`, where one signature is not enough: a call takes the first
                    that fits
        cpus        'x86_64', 'aarch64', and for free-threaded Pythons 'x86_64t', 'aarch64t': add a launcher for them,
                    as machine code, with which a launch costs as much as one of a live kernel
                    (`load_kernel(path, host_code=True)`)
        Errors      as `compile`; `ToolchainError` where there is no assembler
        """
        from cutelite.dispatch import export

        settings = {"block": block, "cluster": cluster, "wide_dims": wide_dims, **self._options_among(given)}
        each = [{**given, **more} for more in signatures]
        made = export.bundle(self, examples, each, settings, arch, ptx, grid, self._owner is not None, cpus)
        if path is not None:
            made.save(path)
        return made

    # As in Numba. Each takes one of `specialisations`, or returns a dict with all of them.

    @property
    def specialisations(self) -> list[Specialisation]:
        """The specialisations that have been compiled so far."""
        return list(self._made.compiled)

    def inspect_llvm(self, specialisation: Specialisation | None = None) -> Any:
        """Return LLVM IR, as text."""
        return self._inspect(specialisation, lambda compiled: compiled.llvm)

    def inspect_asm(self, specialisation: Specialisation | None = None) -> Any:
        """Return PTX, as text."""
        return self._inspect(specialisation, lambda compiled: compiled.ptx)

    def inspect_sass(self, specialisation: Specialisation | None = None) -> Any:
        """Return machine code, as text; None where no disassembler is found."""
        return self._inspect(specialisation, lambda compiled: compiled.sass)

    def inspect_types(self, file: TextIO | None = None) -> None:
        """Print the typed IR of everything compiled or simulated so far to `file`, by default standard output."""
        functions = {spec: compiled.function for spec, compiled in self._made.compiled.items()}
        for spec, function in {**self._made.simulated, **functions}.items():
            print(f"// {self.__name__} {spec}\n{function}", file=file or sys.stdout)

    def _inspect(self, specialisation: Specialisation | None, what: Callable[[Compiled], Any]) -> Any:
        if specialisation is not None:
            return what(self._made.compiled[specialisation])
        return {spec: what(compiled) for spec, compiled in self._made.compiled.items()}


_BEFORE_ARGUMENTS = {
    **dict.fromkeys(("compiling", "planned", "check_launch", "trace_launch", "tally_launch", "profile_launch"), 1),
    **dict.fromkeys(("check", "profile", "compare_with_gpu"), 2),
    "export": 1,
}
"""Methods of `Kernel` that take the kernel's arguments, with the number of their own arguments before those."""


class BoundKernel:
    """A kernel that is a method, bound to an object. Other attributes are the kernel's."""

    def __init__(self, kernel: Kernel, instance: object) -> None:
        self.kernel, self.instance = kernel, instance

    @property
    def __cutelite_function__(self) -> Any:
        return self.kernel.__cutelite_function__.__get__(self.instance)

    __iter__ = None  # by `__getitem__` alone Python would iterate for ever

    @untraced
    def __getitem__(self, key: Any) -> Callable[..., None]:
        try:
            return self.kernel._launching.of_method(key, self.instance)
        except LaunchError as error:
            shorten(error)
            raise

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.kernel(*args, **kwargs)

    @untraced
    @without_our_frames
    def launch(self, launch: Launch, /, *args: Any, **kwargs: Any) -> None:
        """Launch the kernel with its object, as `Kernel.launch` does."""
        self.kernel.launch(launch, self.instance, *args, **kwargs)

    @without_our_frames
    def options(self, text: str = "", /, **said: Any) -> BoundKernel:
        """Return this method with other options, as `Kernel.options` does."""
        return BoundKernel(self.kernel.options(text, **said), self.instance)

    def compile(self, /, *examples: Any, **given: Any) -> Compiled:
        """Compile the kernel for its object, as `Kernel.compile` does."""
        compiled = self.kernel.compile(self.instance, *examples, **given)
        if compiled.origin is not None:
            compiled.origin = self, compiled.origin[1]
        return compiled

    def launching_only(self, spec: Specialisation, compiled: Compiled) -> BoundKernel:
        """Return the method that launches this specialisation alone, as `Kernel.launching_only` does."""
        return BoundKernel(self.kernel.launching_only(spec, compiled), self.instance)

    def __getattr__(self, name: str) -> Any:
        found, before = getattr(self.kernel, name), _BEFORE_ARGUMENTS.get(name)
        if before is None:
            return found

        @functools.wraps(found)
        def method(*args: Any, **kwargs: Any) -> Any:
            own = (*args[:before], *(None,) * (before - len(args)))
            return found(*own, self.instance, *args[before:], **kwargs)

        return method

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it as methods are: by the object and the kernel's name in it."""
        if getattr(type(self.instance), self.kernel.__name__, None) is self.kernel:
            return getattr, (self.instance, self.kernel.__name__)
        return BoundKernel, (self.kernel, self.instance)

    def __repr__(self) -> str:
        return f"<bound {self.kernel!r} of {self.instance!r}>"


def _simulator() -> Any:
    """Return the module `simulating`. It needs NumPy, so it is imported late: launches on a GPU do not need it."""
    from cutelite.dispatch import simulating

    return simulating
