"""Load an artefact into a context, and launch it.

    function = load(artifact, device(0))
    launch(function, LaunchConfig(grid=(8, 1, 1), block=(256, 1, 1)), function.layout.pack(values))

The compiled launcher does the same faster, from `function.handle`, `function.context`, the fields of `LaunchConfig` and
the layout of `params`. It does not explain errors.
"""

from __future__ import annotations

import ctypes
import functools
import math
import struct
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from cutelite_rt import forks
from cutelite_rt.artifact import Artifact
from cutelite_rt.gpu.attributes import CLUSTER, COOPERATIVE, SERIALIZATION, VALUE_BYTES, Attribute
from cutelite_rt.gpu.device import Device, context_active, runs_on
from cutelite_rt.gpu.driver import STICKY, TOO_OLD, CudaError
from cutelite_rt.gpu.params import ParameterLayout, Parameters
from cutelite_rt.shapes import Dim3

# CUfunction_attribute and CUjit_option (cuda.h)
_MAX_THREADS, _STATIC_SMEM, _LOCAL_BYTES, _REGISTERS = 0, 1, 3, 4
_MAX_DYNAMIC_SMEM, _NON_PORTABLE_CLUSTER = 8, 14
_ERROR_LOG, _ERROR_LOG_BYTES = 5, 6
_PORTABLE_CLUSTER = 8  # blocks; a kernel opts in to more (CUDA programming guide, thread block clusters)
_SHAPE_ERRORS = frozenset((1, 701, 720, 912))  # statuses of a launch that exceeds a limit
_KEPT_CONFIGS = 64  # launch shapes remembered per function


class LaunchConfig(NamedTuple):
    """The settings of a launch: grid and block as (x, y, z); the others have CUDA's defaults.

    smem         bytes of dynamic shared memory per block
    stream       its handle; 0 is the legacy default stream
    cooperative  all blocks are resident at once, so that they may wait for each other
    pdl          it may start before the kernel ahead in the stream ends (programmatic dependent launch)
    attributes   further launch attributes
    """

    grid: Dim3
    block: Dim3
    cluster: Dim3 | None = None
    smem: int = 0
    stream: int = 0
    cooperative: bool = False
    pdl: bool = False
    attributes: tuple[Attribute, ...] = ()

    def all_attributes(self) -> Iterator[Attribute]:
        """Yield all launch attributes for the driver: cluster, cooperative, pdl, then `attributes`."""
        if self.cluster:
            yield Attribute(CLUSTER, struct.pack("<3I", *self.cluster))
        for number, given in ((COOPERATIVE, self.cooperative), (SERIALIZATION, self.pdl)):
            if given:
                yield Attribute(number, struct.pack("<I", 1))
        yield from self.attributes


class Usage(NamedTuple):
    """The resources of a kernel's loaded code: registers per thread, memory in bytes."""

    registers: int
    static_smem: int
    local_bytes: int  # per thread: spills and arrays in local memory
    max_threads: int  # per block


class Function:
    """One kernel loaded into one context. Made by `load`; lives as long as the process."""

    def __init__(self, artifact: Artifact, device: Device, context: int, handle: Any, module: Any = None) -> None:
        self.artifact = artifact
        self.device = device
        self.driver = device.driver
        self.context = context  # handle of the context it is loaded in
        self.handle = handle  # CUfunction
        self.module = module  # CUmodule
        self.layout = ParameterLayout(artifact.params)
        self._smem_allowed = device.limits.smem_per_block - artifact.static_smem
        self._configs: dict[LaunchConfig, Any] = {}
        self._lock = forks.lock()
        self._buffers = threading.local()

    def __repr__(self) -> str:
        return f"Function({self.artifact.name!r}, {self.device!r})"

    @functools.cached_property
    def takes_one_buffer(self) -> bool:
        """True where all parameters can be passed as one buffer (CU_LAUNCH_PARAM_BUFFER_POINTER) laid out as `layout`.

        For kernels with tensor maps the driver has other offsets, from 48 on (cuFuncGetParamInfo). With arrays of
        parameters, which no kernel has beside tensor maps, there is no other way.
        """
        if not self.layout.kinds or "tensormap" in self.layout.kinds:
            return False
        if len(self.layout.starts) < len(self.layout.offsets):
            return True
        try:
            places = [self.driver.call("cuFuncGetParamInfo", self.handle, i) for i in range(len(self.layout.kinds))]
        except CudaError as error:
            if error.number != TOO_OLD:
                raise
            return False
        return [int(offset) for offset, _ in places] == list(self.layout.offsets)

    def usage(self) -> Usage:
        """Return the resources of the code, as the driver reports them."""
        kinds = map(self.driver.raw.CUfunction_attribute, (_REGISTERS, _STATIC_SMEM, _LOCAL_BYTES, _MAX_THREADS))
        return Usage(*(int(self.driver.call("cuFuncGetAttribute", kind, self.handle)) for kind in kinds))

    def packed(self, values: Sequence[Any]) -> Parameters:
        """Write the values to the parameter buffer of this thread and return it; the driver copies it at the launch.

        Errors  as `Parameters.write`
        """
        parameters: Parameters | None = getattr(self._buffers, "parameters", None)
        if parameters is None:
            parameters = self._buffers.parameters = Parameters(self.layout)
        parameters.write(values)
        return parameters

    def prepared(self, config: LaunchConfig) -> Any:
        """Return the driver's `CUlaunchConfig`, after raising the function's limits as `config` needs."""
        raw = self._configs.get(config)
        if raw is None:
            with self._lock:
                self._allow(config)
                raw = self._raw_config(config)
                if len(self._configs) >= _KEPT_CONFIGS:
                    del self._configs[next(iter(self._configs))]
                self._configs[config] = raw
        return raw

    def _allow(self, config: LaunchConfig) -> None:
        if config.smem > self._smem_allowed:
            limit = self.device.limits.smem_per_block_optin
            doing = f"reserving shared memory for {describe(self, config)}"
            if config.smem + self.artifact.static_smem > limit:
                sentence = f"a block needs {_smem(self, config)}; {self.device!r} has {limit} bytes a block"
                raise self.driver.error(701, doing, sentence)
            kind = self.driver.raw.CUfunction_attribute(_MAX_DYNAMIC_SMEM)
            self.driver.call("cuFuncSetAttribute", self.handle, kind, config.smem, doing=doing)
            self._smem_allowed = config.smem
        if config.cluster and math.prod(config.cluster) > _PORTABLE_CLUSTER:
            kind = self.driver.raw.CUfunction_attribute(_NON_PORTABLE_CLUSTER)
            doing = f"allowing a large cluster for {describe(self, config)}"
            self.driver.call("cuFuncSetAttribute", self.handle, kind, 1, doing=doing)

    def _raw_config(self, config: LaunchConfig) -> Any:
        raw = self.driver.raw.CUlaunchConfig()
        try:
            raw.gridDimX, raw.gridDimY, raw.gridDimZ = config.grid
            raw.blockDimX, raw.blockDimY, raw.blockDimZ = config.block
            raw.sharedMemBytes = config.smem
        except (OverflowError, TypeError, ValueError) as problem:
            raise self.driver.error(1, f"launching {describe(self, config)}", str(problem)) from problem
        raw.hStream = config.stream
        attributes = []
        for each in config.all_attributes():
            made = self.driver.raw.CUlaunchAttribute()
            made.id = self.driver.raw.CUlaunchAttributeID(each.id)
            made.value.pad = each.value.ljust(VALUE_BYTES, b"\0")
            attributes.append(made)
        raw.attrs = attributes
        raw.numAttrs = len(attributes)
        return raw


_loaded: dict[tuple[int, str], Function] = {}
_loading = forks.lock()


def load(artifact: Artifact, device: Device) -> Function:
    """Load a kernel into the current context, if it is one of `device`, else into its primary one; once per context.

    Errors: `CudaError` that names the architectures of the image and the device.
    """
    driver = device.driver
    with device.active() as context:
        # The driver may reuse the handle of a destroyed context, but never its id.
        key = int(driver.call("cuCtxGetId", context)), artifact.digest
        with _loading:
            function = _loaded.get(key)
            if function is None:
                module = _load_image(artifact, device)
                doing = f"looking up `{artifact.name}` in its image"
                handle = driver.call("cuModuleGetFunction", module, artifact.name.encode(), doing=doing)
                function = _loaded[key] = Function(artifact, device, context, handle, module)
            return function


class Loaded:
    """Loaded functions by key and context: a cache in front of `load` that needs no digest of the code."""

    def __init__(self) -> None:
        self._functions: dict[tuple[Hashable, int], Function] = {}

    def function(self, key: Hashable, device: Device, artifact: Callable[[], Artifact]) -> Function:
        """Return the kernel loaded into the same context as `load` would take. Errors: as `load`."""
        with device.active() as context:
            at = key, int(device.driver.call("cuCtxGetId", context))
            function = self._functions.get(at)
            if function is None:
                function = self._functions[at] = load(artifact(), device)
            return function


def write_global(function: Function, name: str, *numbers: int) -> None:
    """Write 64-bit numbers to a variable of a kernel's module: after all earlier work, before all later work.

    Errors  `CudaError`; ValueError if the variable is smaller
    """
    driver, content = function.driver, (ctypes.c_int64 * len(numbers))(*numbers)
    nbytes = ctypes.sizeof(content)
    with function.device.active():
        pointer, size = driver.call("cuModuleGetGlobal", function.module, name.encode())
        if nbytes > int(size):
            raise ValueError(f"{name} has {int(size)} bytes, not {nbytes}")
        driver.call("cuCtxSynchronize")
        driver.call("cuMemcpyHtoDAsync", int(pointer), ctypes.addressof(content), nbytes, 0)
        driver.call("cuStreamSynchronize", 0)


def _load_image(artifact: Artifact, device: Device) -> Any:
    driver = device.driver
    doing = f"loading `{artifact.name}`"
    if not artifact.cubin and not artifact.ptx:
        raise ValueError(f"the artefact of `{artifact.name}` has neither a cubin nor PTX")
    try:
        if artifact.cubin:
            return driver.call("cuModuleLoadData", artifact.cubin, doing=doing)
        log = bytearray(8192)
        option = driver.raw.CUjit_option
        options = [option(_ERROR_LOG), option(_ERROR_LOG_BYTES)]
        image = artifact.ptx.encode() + b"\0"
        return driver.call("cuModuleLoadDataEx", image, 2, options, [log, len(log)], doing=doing)
    except CudaError as problem:
        said = "" if artifact.cubin else log.split(b"\0", 1)[0].decode(errors="replace").strip()
        sentence = _why_not_loaded(artifact, device, problem) + (f"\n{said}" if said else "")
        raise driver.error(problem.number, doing, sentence) from problem


def _why_not_loaded(artifact: Artifact, device: Device, problem: CudaError) -> str:
    version = device.driver.version()
    if artifact.cubin and not runs_on(artifact.arch, device.compute_capability):
        return f"cubin is {artifact.arch}, device {device.ordinal} is {device.arch} ({device.name})"
    if problem.number in (200, 209, 222, 227) and artifact.built_with > version:
        made, speaks = (f"CUDA {major}.{minor}" for major, minor in (artifact.built_with, version))
        return f"the image was made with {made}, and the driver speaks {speaks}: update the NVIDIA driver"
    return problem.sentence


def launch(
    function: Function, config: LaunchConfig, parameters: Parameters, sync: bool = False, current: int | None = None
) -> None:
    """Launch the kernel in `config.stream`; return at once, or with `sync` when it has ended.

    sync     wait for the stream before the launch and after it: so this call raises the kernel's errors and no others.
             Otherwise some later call raises them. A stream that is being captured into a graph is not waited for
    current  handle of the calling thread's context, if known
    Errors   `CudaError` with the kernel, its launch settings, and the limit that was exceeded
    """
    if current is None:
        status, handle = function.driver.raw.cuCtxGetCurrent()
        current = 0 if status else int(handle)
    if current != function.context:
        with context_active(function.driver, function.context):
            _launch(function, config, parameters, sync)
    else:
        _launch(function, config, parameters, sync)


def _launch(function: Function, config: LaunchConfig, parameters: Parameters, sync: bool) -> None:
    driver = function.driver
    raw = function.prepared(config)
    waits = False
    if sync:
        doing = f"waiting for what is ahead of {describe(function, config)}"
        waits = not int(driver.call("cuStreamIsCapturing", config.stream, doing=doing))
    if waits:
        driver.call("cuStreamSynchronize", config.stream, doing=doing)
    status = int(driver.raw.cuLaunchKernelEx(raw, function.handle, parameters.address, 0)[0])
    if status:
        sentence = None
        if status in STICKY:
            sentence = "an earlier kernel failed, and the context is lost; launch with sync=True to see which it was"
        elif status in _SHAPE_ERRORS:
            sentence = "; ".join(_exceeded(function, config)) or None
        raise driver.error(status, f"launching {describe(function, config)}", sentence)
    if waits:
        driver.call("cuStreamSynchronize", config.stream, doing=f"running {describe(function, config)}")


def describe(function: Function, config: LaunchConfig) -> str:
    """Describe a launch in words: kernel, shape, stream and device."""
    words = [f"`{function.artifact.name}` with grid {config.grid}, block {config.block}"]
    if config.cluster:
        words.append(f"cluster {config.cluster}")
    if config.smem:
        words.append(f"{config.smem} bytes of dynamic shared memory")
    words += [word for word, given in (("cooperative", config.cooperative), ("pdl", config.pdl)) if given]
    return ", ".join(words) + f" on stream {config.stream:#x} of device {function.device.ordinal}"


def _exceeded(function: Function, config: LaunchConfig) -> list[str]:
    """Return the limits that a refused launch exceeds, in words."""
    limits, where = function.device.limits, repr(function.device)
    found = []
    for what, dims, most in (("grid", config.grid, limits[4:7]), ("block", config.block, limits[1:4])):
        for axis, extent, limit in zip("xyz", dims, most, strict=True):
            if not 1 <= extent <= limit:
                found.append(f"{what} {axis} is {extent}; {where} takes 1 to {limit}")
    threads = math.prod(config.block)
    most_threads = min(limits.max_threads_per_block, function.usage().max_threads)
    if threads > most_threads:
        found.append(f"a block has {threads} threads; this kernel takes {most_threads} on {where}")
    needed = function.artifact.block
    if needed and needed != config.block:
        found.append(f"the kernel was compiled for blocks of {needed}")
    if config.cluster:
        for axis, extent, size in zip("xyz", config.grid, config.cluster, strict=True):
            if size < 1 or extent % size:
                found.append(f"grid {axis} is {extent}, not a multiple of cluster {axis}, {size}")
    if config.smem + function.artifact.static_smem > limits.smem_per_block_optin:
        found.append(f"a block needs {_smem(function, config)}; {where} has {limits.smem_per_block_optin}")
    if config.cooperative and not found:
        occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        fit = int(function.driver.call(occupancy, function.handle, threads, config.smem)) * limits.sm_count
        if (blocks := math.prod(config.grid)) > fit:
            found.append(f"a cooperative grid of {blocks} blocks; {fit} fit on {where} at once")
    return found


def _smem(function: Function, config: LaunchConfig) -> str:
    return f"{config.smem} bytes of dynamic and {function.artifact.static_smem} of static shared memory"
