"""A CUDA driver made of Python: real enough that the runtime cannot tell, and that tests can see what it did."""

import ctypes
import enum
import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import cutelite_rt.gpu.driver
import cutelite_rt.gpu.launch
from cutelite_rt.gpu.driver import Driver
from cutelite_rt.gpu.launch import LaunchConfig, _loaded
from cutelite_rt.gpu.params import KINDS
from cutelite_rt.gpu.tensormap import TensorMaps
from cutelite_rt.launcher import native


def machine_code_or_skip() -> None:
    """Skip the test where this Python cannot run launchers' machine code: launches then go through Python."""
    if reason := native.unsupported():
        pytest.skip(f"launchers: {reason}")


@pytest.fixture
def machine_code() -> None:
    machine_code_or_skip()


class CUresult(enum.IntEnum):
    """The statuses that tests provoke."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER = 36
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720
    CUDA_ERROR_INVALID_CLUSTER_SIZE = 912


class AttributeValue:
    """As `CUlaunchAttributeValue`, a union: bytes, and the members that tests read."""

    def __init__(self, pad: bytes = bytes(64)) -> None:
        self.pad = pad

    @property
    def clusterDim(self) -> SimpleNamespace:
        x, y, z = (int.from_bytes(self.pad[at : at + 4], "little") for at in (0, 4, 8))
        return SimpleNamespace(x=x, y=y, z=z)

    @property
    def cooperative(self) -> int:
        return int.from_bytes(self.pad[:4], "little")

    programmaticStreamSerializationAllowed = cooperative


class LaunchAttribute:
    """As `CUlaunchAttribute`."""

    def __init__(self, id: int = 0, value: bytes = bytes(64)) -> None:
        self.id, self.value = id, AttributeValue(value)


LAUNCH_FIELDS = {
    **{f"{what}Dim{axis}": ctypes.c_uint32 for what in ("grid", "block") for axis in "XYZ"},
    "sharedMemBytes": ctypes.c_uint32,
    "hStream": ctypes.c_void_p,
    "attrs": ctypes.c_void_p,
    "numAttrs": ctypes.c_uint32,
}


class LaunchInC(ctypes.Structure):
    """CUlaunchConfig (cuda.h)."""

    _fields_ = tuple(LAUNCH_FIELDS.items())  # type: ignore[arg-type]


class AttributeInC(ctypes.Structure):
    """CUlaunchAttribute (cuda.h): an id, and a union of 64 bytes."""

    _fields_ = (("id", ctypes.c_uint32), ("pad", ctypes.c_uint32), ("value", ctypes.c_uint32 * 16))

    def as_bindings(self) -> LaunchAttribute:
        return LaunchAttribute(self.id, bytes(self.value))


# What an H200 says, by CUdevice_attribute.
H200 = {
    1: 1024,
    2: 1024,
    3: 1024,
    4: 64,
    5: 2**31 - 1,
    6: 65535,
    7: 65535,
    8: 49152,
    12: 65536,
    16: 132,
    38: 62914560,
    39: 2048,
    75: 9,
    76: 0,
    81: 233472,
    82: 65536,
    97: 232448,
    111: 1024,
}
A100 = H200 | {16: 108, 75: 8, 76: 0, 97: 166912}

ENCODE_TILED = ctypes.CFUNCTYPE(
    ctypes.c_int,
    *[ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p],
    *[ctypes.POINTER(ctypes.c_uint64)] * 2,
    *[ctypes.POINTER(ctypes.c_uint32)] * 2,
    *[ctypes.c_int] * 4,
)

ENCODE_IM2COL = ctypes.CFUNCTYPE(
    ctypes.c_int,
    *[ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p],
    *[ctypes.POINTER(ctypes.c_uint64)] * 2,
    *[ctypes.POINTER(ctypes.c_int)] * 2,
    *[ctypes.c_uint32] * 2,
    ctypes.POINTER(ctypes.c_uint32),
    *[ctypes.c_int] * 4,
)

ENCODE_WIDE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    *[ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p],
    *[ctypes.POINTER(ctypes.c_uint64)] * 2,
    *[ctypes.c_int] * 2,
    *[ctypes.c_uint32] * 2,
    ctypes.POINTER(ctypes.c_uint32),
    *[ctypes.c_int] * 5,
)


def _one_buffer(extra: int, parameters: int | None) -> tuple[int, int]:
    """Address and size of the one buffer that `extra` tells of (cuLaunchKernel)."""
    assert not parameters
    pointer, buffer, its_size, size, end = (ctypes.c_uint64 * 5).from_address(extra)
    assert (pointer, its_size, end) == (1, 2, 0)
    return buffer, ctypes.c_size_t.from_address(size).value


class FakeCuda:
    """The functions of `cuda.bindings.driver` that the runtime calls, over devices given by their attributes.

    fail        function name -> status that it returns from now on
    calls       names of the functions called, in order
    launches    of each kernel: its raw config, function handle and the address of its parameters
    capturing   streams that are being captured
    graphs      the launches in each graph that is not freed; `replays` those of each graph launched
    clock       milliseconds, as events read it; `cost` says how many a launch takes
    """

    CUresult = CUresult
    CUdevice_attribute = CUfunction_attribute = CUjit_option = CUlaunchAttributeID = CUpointer_attribute = int
    CUstreamCaptureMode = int
    CUlaunchConfig = SimpleNamespace
    CUlaunchAttribute = LaunchAttribute

    def __init__(self, *devices: dict[int, int], version: int = 13000) -> None:
        self.devices = devices
        self.version = version
        self.fail: dict[str, int] = {}
        self.calls: list[str] = []
        self.stack: list[int] = []  # of contexts; the last is current
        self.images: list[bytes] = []
        self.jit_log = b""  # what the driver's compiler has to say
        self.function_attributes: dict[int, int] = {0: 1024, 1: 0, 3: 0, 4: 32}
        self.launches: list[tuple[Any, Any, int]] = []
        self.launch_contexts: list[int] = []
        self.packed: list[bytes] = []  # of launches by compiled launchers
        self._made_for_c: dict[bytes, Any] = {}
        self.capturing: set[int] = set()
        self.graphs: dict[int, list[tuple[Any, Any, int]]] = {}
        self.replays: list[list[tuple[Any, Any, int]]] = []
        self.events: dict[int, float] = {}
        self.clock = 0.0
        self.cost: Callable[[Any], float] = lambda config: 0.25
        self._captured = 0  # launches before the capture under way
        self.memory: dict[int, Any] = {}
        self.maps: list[dict[str, Any]] = []
        self.blocks_per_sm = 2
        self._ids = itertools.count(7)
        self._context_ids: dict[int, int] = {}
        self._encoders = {
            b"cuTensorMapEncodeTiled": ENCODE_TILED(self._encode_tiled),
            b"cuTensorMapEncodeIm2col": ENCODE_IM2COL(self._encode_im2col),
            b"cuTensorMapEncodeIm2colWide": ENCODE_WIDE(self._encode_wide),
        }

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if not name.startswith("cu"):
            return found

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            status = self.fail.get(name, 0)
            values = found(*arguments)
            return (CUresult(status), *([None] * len(values) if status else values))

        return call

    def cuInit(self, flags: int) -> tuple[()]:
        return ()

    def cuDriverGetVersion(self) -> tuple[int]:
        return (self.version,)

    def cuGetProcAddress(self, name: bytes, version: int, flags: int) -> tuple[int | None, int]:
        """A function for callers in C, which comes to the same as the one of that name here."""
        if name in self._encoders:
            return ctypes.cast(self._encoders[name], ctypes.c_void_p).value, 0
        types, function = self._in_c[name.decode()]
        made = self._made_for_c.setdefault(name, ctypes.CFUNCTYPE(ctypes.c_int, *types)(function))
        return ctypes.cast(made, ctypes.c_void_p).value, 0

    @property
    def _in_c(self) -> dict[str, tuple[list[Any], Callable[..., int]]]:
        word = ctypes.POINTER(ctypes.c_uint64)

        def gives(name: str) -> Callable[..., int]:
            def function(*arguments: Any) -> int:
                *given, result = arguments
                status, value = getattr(self, name)(*(each or 0 for each in given))
                result[0] = value or 0
                return int(status)

            return function

        def status_of(name: str, *arguments: Any) -> int:
            return int(getattr(self, name)(*arguments)[0])

        return {
            "cuLaunchKernelEx": ([ctypes.POINTER(LaunchInC), *[ctypes.c_void_p] * 3], self._launch_in_c),
            "cuCtxGetCurrent": ([word], gives("cuCtxGetCurrent")),
            "cuCtxGetId": ([ctypes.c_void_p, word], gives("cuCtxGetId")),
            "cuCtxPopCurrent": ([word], gives("cuCtxPopCurrent")),
            "cuCtxPushCurrent": ([ctypes.c_void_p], lambda context: status_of("cuCtxPushCurrent", context or 0)),
        }

    def _launch_in_c(self, raw: Any, function: int, parameters: int, extra: int | None) -> int:
        """A launch whose structures last no longer than the call; `packed` has the bytes of its parameters."""
        config = SimpleNamespace(**{name: getattr(raw[0], name) or 0 for name in LAUNCH_FIELDS})
        attributes = (AttributeInC * config.numAttrs).from_address(config.attrs) if config.numAttrs else ()
        config.attrs = [each.as_bindings() for each in attributes]
        (made,) = (f for f in list(_loaded.values()) if f.driver.raw is self and f.handle == function)
        data = bytearray(made.layout.size)
        if extra:
            buffer, size = _one_buffer(extra, parameters)
            assert size == made.layout.size
            self.packed.append(ctypes.string_at(buffer, size))
            return int(getattr(self, "cuLaunchKernelEx")(config, function, buffer, 0)[0])  # noqa: B009 (a status more)
        pointers = (ctypes.c_uint64 * len(made.layout.offsets)).from_address(parameters)
        for kind, offset, pointer in zip(made.layout.kinds, made.layout.offsets, pointers, strict=True):
            data[offset : offset + KINDS[kind][0]] = ctypes.string_at(pointer, KINDS[kind][0])
        self.packed.append(bytes(data))
        return int(getattr(self, "cuLaunchKernelEx")(config, function, parameters, 0)[0])  # noqa: B009 (it adds a status)

    def cuFuncGetParamInfo(self, function: int, index: int) -> tuple[int, int]:
        (made,) = (f for f in list(_loaded.values()) if f.driver.raw is self and f.handle == function)
        return made.layout.offsets[index], KINDS[made.layout.kinds[index]][0]

    def cuDeviceGetCount(self) -> tuple[int]:
        return (len(self.devices),)

    def cuDeviceGet(self, ordinal: int) -> tuple[int]:
        return (ordinal,)

    def cuDeviceGetName(self, size: int, device: int) -> tuple[bytes]:
        return (b"Fake GPU\0\0\0",)

    def cuDeviceGetAttribute(self, number: int, device: int) -> tuple[int]:
        return (self.devices[device][number],)

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int]:
        return (0x1000 + device,)

    def cuCtxGetCurrent(self) -> tuple[int]:
        return (self.stack[-1] if self.stack else 0,)

    def cuCtxPushCurrent(self, context: int) -> tuple[()]:
        self.stack.append(context)
        return ()

    def cuCtxPopCurrent(self) -> tuple[int]:
        return (self.stack.pop(),)

    def cuCtxGetDevice(self) -> tuple[int]:
        return (self.stack[-1] & 0xFF,)

    def cuCtxGetId(self, context: int) -> tuple[int]:
        context = context or (self.stack[-1] if self.stack else 0)  # the current one
        if not context:
            return (0,)
        return (self._context_ids.setdefault(context, next(self._ids) + 1000 * id(self)),)

    def cuCtxSynchronize(self) -> tuple[()]:
        return ()

    def cuModuleLoadData(self, image: bytes) -> tuple[int]:
        self.images.append(image)
        return (len(self.images),)

    def cuModuleLoadDataEx(self, image: bytes, count: int, options: list[int], values: list[Any]) -> tuple[int]:
        assert (count, options, values[1]) == (2, [5, 6], len(values[0]))  # CU_JIT_ERROR_LOG_BUFFER and its size
        values[0][: len(self.jit_log)] = self.jit_log
        self.images.append(image)
        return (len(self.images),)

    def cuModuleGetFunction(self, module: int, name: bytes) -> tuple[int]:
        return (0xF00 + module,)

    def cuFuncGetAttribute(self, number: int, function: int) -> tuple[int]:
        return (self.function_attributes[number],)

    def cuFuncSetAttribute(self, function: int, number: int, value: int) -> tuple[()]:
        self.function_attributes[number] = value
        return ()

    def cuLaunchKernelEx(self, config: Any, function: int, parameters: int, extra: int) -> tuple[()]:
        self.launches.append((config, function, parameters))
        self.launch_contexts.append(self.stack[-1])
        if config.hStream not in self.capturing:
            self.clock += self.cost(config)
        return ()

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function: int, threads: int, smem: int) -> tuple[int]:
        return (self.blocks_per_sm,)

    def cuOccupancyMaxActiveClusters(self, function: int, config: Any) -> tuple[int]:
        return (17,)

    def cuStreamSynchronize(self, stream: int) -> tuple[()]:
        return ()

    def cuStreamIsCapturing(self, stream: int) -> tuple[int]:
        return (int(stream in self.capturing),)

    def cuPointerGetAttribute(self, number: int, pointer: int) -> tuple[int]:
        return (len(self.devices) - 1,)

    def cuMemAlloc(self, size: int) -> tuple[int]:
        storage = ctypes.create_string_buffer(size)
        self.memory[ctypes.addressof(storage)] = storage
        return (ctypes.addressof(storage),)

    def cuMemFree(self, pointer: int) -> tuple[()]:
        del self.memory[pointer]
        return ()

    def cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: int) -> tuple[()]:
        ctypes.memmove(target, source, size)
        return ()

    cuMemcpyDtoHAsync = cuMemcpyDtoDAsync = cuMemcpyHtoDAsync

    def cuMemsetD8Async(self, target: int, value: int, size: int, stream: int) -> tuple[()]:
        ctypes.memset(target, value, min(size, 1 << 20))  # not all of what is as large as a GPU's L2, hundreds of times
        return ()

    def cuDeviceGetUuid(self, device: int) -> tuple[Any]:
        return (SimpleNamespace(bytes=bytes([device]) * 16),)

    # Streams, graphs and events: what is captured is remembered, and every launch takes time on a clock.

    def cuStreamCreate(self, flags: int) -> tuple[int]:
        return (0x50000 + next(self._ids),)

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> tuple[()]:
        return ()

    def cuStreamBeginCapture(self, stream: int, mode: int) -> tuple[()]:
        self.capturing.add(stream)
        self._captured = len(self.launches)
        return ()

    def cuStreamEndCapture(self, stream: int) -> tuple[int | None]:
        self.capturing.discard(stream)
        if "cuStreamEndCapture" in self.fail:
            return (None,)
        self.graphs[key := next(self._ids)] = self.launches[self._captured :]
        return (key,)

    def cuGraphInstantiate(self, graph: int, flags: int) -> tuple[int]:
        self.graphs[key := next(self._ids)] = self.graphs[graph]
        return (key,)

    def cuGraphLaunch(self, graph: int, stream: int) -> tuple[()]:
        self.replays.append(self.graphs[graph])
        self.clock += sum(self.cost(config) for config, _, _ in self.graphs[graph])
        return ()

    def cuGraphExecDestroy(self, graph: int) -> tuple[()]:
        del self.graphs[graph]
        return ()

    cuGraphDestroy = cuGraphExecDestroy

    def cuEventCreate(self, flags: int) -> tuple[int]:
        self.events[key := next(self._ids)] = 0.0
        return (key,)

    def cuEventRecord(self, event: int, stream: int) -> tuple[()]:
        self.events[event] = self.clock
        return ()

    def cuEventSynchronize(self, event: int) -> tuple[()]:
        return ()

    def cuEventElapsedTime(self, start: int, stop: int) -> tuple[float]:
        return (self.events[stop] - self.events[start],)

    def cuEventDestroy(self, event: int) -> tuple[()]:
        del self.events[event]
        return ()

    def _encode_tiled(self, target: int, dtype: int, rank: int, address: int, *arrays_and_modes: Any) -> int:
        dims, strides, box, steps, interleave, swizzle, l2, fill = arrays_and_modes
        self.maps.append(
            {
                "target": target,
                "dtype": dtype,
                "address": address,
                "dims": dims[:rank],
                "strides": strides[: rank - 1],
                "box": box[:rank],
                "steps": steps[:rank],
                "modes": (interleave, swizzle, l2, fill),
            }
        )
        ctypes.memset(target, len(self.maps), 128)
        return self.fail.get("cuTensorMapEncodeTiled", 0)

    def _encode_im2col(self, target: int, dtype: int, rank: int, address: int, *others: Any) -> int:
        dims, strides, lower, upper, channels, pixels, *steps_and_modes = others
        box = (ctypes.c_uint32 * rank)(channels, pixels)
        self._encode_tiled(target, dtype, rank, address, dims, strides, box, *steps_and_modes)
        self.maps[-1] |= {"corners": (lower[: rank - 2], upper[: rank - 2])}
        return self.fail.get("cuTensorMapEncodeIm2col", 0)

    def _encode_wide(self, target: int, dtype: int, rank: int, address: int, *others: Any) -> int:
        dims, strides, lower, upper, channels, pixels, steps, interleave, wide, *modes = others
        box = (ctypes.c_uint32 * rank)(channels, pixels)
        self._encode_tiled(target, dtype, rank, address, dims, strides, box, steps, interleave, *modes)
        self.maps[-1] |= {"corners": (lower, upper), "wide": wide}
        return self.fail.get("cuTensorMapEncodeIm2colWide", 0)


Samples = dict[str, tuple[Any, bytes]]


@pytest.fixture(scope="session")
def samples() -> Samples:
    """For each kind of kernel parameter a value, and its bytes."""
    return {
        "bool": (True, b"\x01"),
        "i8": (-2, b"\xfe"),
        "i16": (-2, b"\xfe\xff"),
        "i32": (-2, b"\xfe\xff\xff\xff"),
        "i64": (-2, b"\xfe" + b"\xff" * 7),
        "u8": (255, b"\xff"),
        "u16": (0x1234, b"\x34\x12"),
        "u32": (2**32 - 1, b"\xff" * 4),
        "u64": (2**64 - 1, b"\xff" * 8),
        "f16": (1.5, b"\x00\x3e"),
        "bf16": (-1.5, b"\xc0\xbf"),
        "f32": (1.5, b"\x00\x00\xc0\x3f"),
        "f64": (1.5, b"\x00\x00\x00\x00\x00\x00\xf8\x3f"),
        "tf32": (1.0 + 2.0**-11 + 2.0**-20, b"\x00\x20\x80\x3f"),
        "e4m3": (448.0, b"\x7e"),
        "e5m2": (-1.0, b"\xbc"),
        "ptr": (0x7F0123456789ABCD, b"\xcd\xab\x89\x67\x45\x23\x01\x7f"),
        "tensormap": (bytes(range(128)), bytes(range(128))),
    }


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[FakeCuda]:
    """Two devices, an H200 and an A100, behind the driver of this process. No test of a real GPU has them."""
    assert not any(request.node.get_closest_marker(mark) for mark in ("gpu", "sm")), "launches would go to the fake one"
    fake = FakeCuda(H200, A100)
    monkeypatch.setattr(cutelite_rt.gpu.driver, "_driver", Driver(fake))
    monkeypatch.setattr("cutelite_rt.signature.bind.encode", TensorMaps().encode)  # which has met no driver yet
    yield fake
    assert not fake.stack, "a context was left current"


@pytest.fixture
def config() -> LaunchConfig:
    return LaunchConfig(grid=(4, 2, 1), block=(128, 1, 1))
