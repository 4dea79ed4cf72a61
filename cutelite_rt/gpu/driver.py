"""The CUDA driver: a call either succeeds or raises a `CudaError` that says why.

Nothing else in this package calls the driver. `cuda.bindings` is imported, and libcuda opened, by the first `get()`.
Tests give the other modules a `Driver` over functions of their own.
"""

from __future__ import annotations

import importlib
from typing import Any

from cutelite_rt import forks

# Every driver call of this package, and in words what it does.
CALLS = {
    "cuInit": "initialising CUDA",
    "cuDriverGetVersion": "asking for the driver's version",
    "cuGetProcAddress": "looking up a driver function",
    "cuDeviceGetCount": "counting devices",
    "cuDeviceGet": "opening a device",
    "cuDeviceGetName": "reading a device's name",
    "cuDeviceGetAttribute": "reading a device attribute",
    "cuDeviceGetUuid": "asking which device it is",
    "cuDevicePrimaryCtxRetain": "opening a device's primary context",
    "cuCtxGetCurrent": "asking for the current context",
    "cuCtxPushCurrent": "making a context current",
    "cuCtxPopCurrent": "going back to the context before",
    "cuCtxGetDevice": "asking for the current device",
    "cuCtxGetId": "identifying a context",
    "cuCtxSynchronize": "waiting for a device",
    "cuModuleLoadData": "loading a cubin",
    "cuModuleLoadDataEx": "compiling PTX",
    "cuModuleGetFunction": "looking up a kernel",
    "cuModuleGetGlobal": "looking up a variable of a kernel's module",
    "cuFuncGetAttribute": "reading a kernel attribute",
    "cuFuncSetAttribute": "setting a kernel attribute",
    "cuFuncGetParamInfo": "asking where a kernel has a parameter",
    "cuLaunchKernelEx": "launching a kernel",
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": "computing occupancy",
    "cuOccupancyMaxActiveClusters": "computing how many clusters fit",
    "cuStreamSynchronize": "waiting for a stream",
    "cuStreamIsCapturing": "asking whether a stream is being captured",
    "cuStreamGetCaptureInfo": "asking which capture a stream is in",
    "cuStreamCreate": "making a stream",
    "cuStreamWaitEvent": "having a stream wait for another",
    "cuStreamBeginCapture": "beginning to capture a stream into a graph",
    "cuStreamEndCapture": "capturing a stream into a graph",
    "cuGraphInstantiate": "making a graph ready to run",
    "cuGraphLaunch": "launching a graph",
    "cuGraphExecDestroy": "freeing a graph",
    "cuGraphDestroy": "freeing a graph",
    "cuEventCreate": "making an event",
    "cuEventRecord": "recording an event",
    "cuEventSynchronize": "waiting for an event",
    "cuEventElapsedTime": "reading the time between two events",
    "cuEventDestroy": "freeing an event",
    "cuPointerGetAttribute": "asking where memory lies",
    "cuMemAlloc": "allocating device memory",
    "cuMemFree": "freeing device memory",
    "cuMemcpyHtoDAsync": "copying to the device",
    "cuMemcpyDtoHAsync": "copying from the device",
    "cuMemcpyDtoDAsync": "copying within a device",
    "cuMemsetD8Async": "filling device memory",
}

# The meaning of a status for the user.
MEANING = {
    1: "the driver refuses an argument of the call",
    2: "the device has not enough free memory",
    3: "CUDA is not initialised in this process; after fork() it never can be: start workers with 'spawn'",
    4: "CUDA is shutting down",
    34: "the libcuda found is a stub for linking, not the driver's",
    36: "the driver is too old for this call: update the NVIDIA driver",
    46: "the device is in use by others, or in exclusive mode",
    100: "there is no CUDA device that this process may use",
    101: "there is no device of that number",
    200: "the image is neither a cubin nor PTX that this driver reads",
    201: "no CUDA context is current, or it has been destroyed",
    209: "the cubin holds no code for this device",
    218: "the driver's compiler refuses the PTX",
    221: "the driver's PTX compiler library is not there",
    222: "the PTX is of a newer CUDA version than the driver knows: update the NVIDIA driver",
    227: "the driver is too old for this image: update the NVIDIA driver",
    400: "a stream, function or context was closed, or belongs to another context",
    500: "there is nothing of that name in it",
    700: "a kernel read or wrote memory outside its arrays",
    701: "a block needs more registers, shared memory or threads than a multiprocessor has",
    702: "a kernel ran longer than the display's time limit",
    709: "the CUDA context has been destroyed",
    710: "an assertion in a kernel failed",
    714: "a kernel overflowed or corrupted its stack",
    715: "a kernel ran an instruction that is illegal here",
    716: "a kernel read or wrote at an address not aligned to the access",
    717: "a kernel used an address in the wrong state space",
    718: "a kernel jumped outside its code",
    719: "a kernel failed (bad address, bad barrier or trap)",
    720: "a cooperative grid must fit on the device all at once",
    721: "a kernel ended without freeing its tensor memory",
    801: "this device or driver does not support it",
    802: "the system is not ready: the fabric manager or driver is still starting",
    803: "the kernel driver and libcuda are of different versions: reboot or reinstall the NVIDIA driver",
    804: "the forward-compatible libcuda found does not support this device",
    900: "the call is not allowed while its stream is being captured into a graph",
    901: "the capture into a graph was broken by an earlier error",
    912: "the device cannot run clusters of that size",
}

TOO_OLD = 36
"""CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER; also used where cuda-bindings lacks the call."""

# After one of these the context is lost, and any later call reports the failure of an earlier kernel.
STICKY = frozenset((214, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721))


class CudaError(RuntimeError):
    """Raised for a failed driver call: `number` and `name` of its status, `doing` what failed, and a `sentence` why."""

    def __init__(self, number: int, name: str, doing: str, sentence: str) -> None:
        super().__init__(f"{name} ({number}) {doing}: {sentence}")
        self.number = number
        self.name = name
        self.doing = doing
        self.sentence = sentence

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.number, self.name, self.doing, self.sentence)

    def said_of(self, more: str) -> CudaError:
        """Return this error with more words about what was being done."""
        return CudaError(self.number, self.name, f"{self.doing}, {more}", self.sentence)


class NoDriver(CudaError):
    """Raised where this machine has no CUDA driver."""

    def __init__(self, sentence: str) -> None:
        super().__init__(34, "no CUDA driver", CALLS["cuInit"], sentence)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.sentence,)


class Driver:
    """Driver calls by `raw`: the module `cuda.bindings.driver`, or a test's object with the same functions."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self._version: tuple[int, int] | None = None

    def call(self, name: str, *arguments: Any, doing: str | None = None) -> Any:
        """Call `name`; return its results besides the status: None, a value, or a list. Errors: `CudaError`."""
        function = getattr(self.raw, name, None)
        try:
            if function is None:
                raise RuntimeError(f'Function "{name}" not found')
            status, *values = function(*arguments)
        except RuntimeError as problem:
            # cuda.bindings looks up a function in libcuda at its first call, and raises this if there is none.
            if str(problem) != f'Function "{name}" not found':
                raise
            sentence = f"the driver, or cuda-bindings, is too old to have {name}: update it"
            raise CudaError(
                TOO_OLD, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", doing or CALLS[name], sentence
            ) from problem
        if status:
            raise self.error(status, doing or CALLS[name])
        return values[0] if len(values) == 1 else values or None

    def error(self, status: int, doing: str, sentence: str | None = None) -> CudaError:
        """Return the exception for a bad status; `sentence` replaces that of `MEANING`."""
        number = int(status)
        try:
            name = str(self.raw.CUresult(number).name)
        except ValueError:  # a status newer than these bindings
            name = "CUDA_ERROR"
        return CudaError(number, name, doing, sentence or MEANING.get(number, "the driver says no more"))

    def version(self) -> tuple[int, int]:
        """Return the newest CUDA version that the driver supports, such as (13, 0)."""
        if self._version is None:
            number = int(self.call("cuDriverGetVersion"))
            self._version = number // 1000, number % 1000 // 10
        return self._version

    def address_of(self, function: str, since: tuple[int, int]) -> int:
        """Return the address of a driver function, for machine code; `since`: the CUDA version of its form."""
        doing = f"looking up {function}"
        address = 0
        if self.version() >= since:
            address, *_ = self.call(
                "cuGetProcAddress", function.encode(), since[0] * 1000 + since[1] * 10, 0, doing=doing
            )
        if not address:
            speaks = "CUDA {}.{}".format(*self.version())
            raise self.error(
                TOO_OLD, doing, f"it came with CUDA {since[0]}.{since[1]}, and the driver speaks {speaks}: update it"
            )
        return int(address)


_lock = forks.lock()
_driver: Driver | None = None


def get() -> Driver:
    """Return the driver of this machine, initialised. Errors: `NoDriver`; `CudaError` without a usable device."""
    global _driver
    if _driver is None:
        with _lock:
            if _driver is None:
                _driver = open_driver()
    return _driver


def open_driver(bindings: str = "cuda.bindings.driver") -> Driver:
    """Import the module `bindings` and initialise CUDA through it."""
    try:
        raw = importlib.import_module(bindings)
    except ImportError as problem:
        sentence = f"the package cuda-bindings cannot be imported ({problem}): pip install cuda-bindings"
        raise NoDriver(sentence) from problem
    driver = Driver(raw)
    try:
        driver.call("cuInit", 0)
    except CudaError:
        raise
    except (RuntimeError, OSError) as problem:  # raised by cuda.bindings if libcuda cannot be opened
        sentence = f"libcuda cannot be opened ({problem}); install the NVIDIA driver, or run on the simulator"
        raise NoDriver(sentence) from problem
    return driver
