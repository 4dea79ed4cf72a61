"""The stream that a launch goes to: the one given, or the current one of the library whose arrays are passed."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cutelite_rt.arrays.memory import ArrayView, reader_library
from cutelite_rt.gpu.device import Device

DEFAULT = 0  # handle of the legacy default stream
PER_THREAD = 2  # the largest handle that is a number: cudaStreamPerThread
LEAST_ADDRESS = 4096  # no address lies in the first page


class ClosedStream(ValueError):
    """Raised for a stream that has been closed: its handle would mean the default stream, or none."""


def handle(stream: object) -> int:
    """Return the CUstream handle of `stream`, as an integer.

    stream   None (the default stream), an integer handle, or a stream of torch, CuPy, Numba, cuda.core or
             cuda.bindings, or any object with `__cuda_stream__`
    Errors   `ClosedStream`; TypeError for an object that is no stream
    """
    if stream is None:
        return DEFAULT
    if type(stream) is not int and hasattr(type(stream), "__index__") and not isinstance(stream, bool):
        with contextlib.suppress(TypeError):  # an array of several
            stream = operator.index(stream)  # type: ignore[arg-type]
    if type(stream) is int:
        if not 0 <= stream <= PER_THREAD and not LEAST_ADDRESS <= stream < 1 << 64:
            raise ValueError(f"{stream} is not the handle of a stream, which is an address")
        return stream
    if getattr(stream, "is_closed", False):  # cuda.core: the handle of a closed stream is the default stream's
        raise ClosedStream(f"this {type(stream).__name__} has been closed")
    found = _handle_of(stream)
    if found is None:
        raise TypeError(f"a {type(stream).__name__} is not a CUDA stream: pass a stream object, its handle, or None")
    return found


def stays(stream: object) -> bool:
    """Tell whether a stream's handle never changes: true for None, for a handle, and for torch's streams.

    Streams of other libraries may be closed.
    """
    kind = type(stream)
    return stream is None or kind is int or kind.__module__ == "torch.cuda.streams"


def _handle_of(stream: Any) -> int | None:
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        _, found = protocol() if callable(protocol) else protocol  # a property in early versions of cuda.core
        return int(found)
    for attribute in ("cuda_stream", "ptr", "handle"):  # torch; CuPy; Numba
        found = getattr(stream, attribute, None)
        if found is not None:
            found = getattr(found, "value", found)
            return int(found or DEFAULT)
    return int(stream) if type(stream).__name__ == "CUstream" else None


def current(arrays: Iterable[ArrayView]) -> int:
    """Return the current stream of the first array whose library has one; else the default stream.

    torch and CuPy have a current stream per thread and device, and order their own work by it; so do libraries with the
    DLPack C exchange API.
    """
    for array in arrays:
        owner = array.owner[0] if isinstance(array.owner, tuple) else array.owner
        tells = _teller(type(owner)) if array.device[0] == "cuda" else None
        if tells is not None:
            return tells(array.device[1])
    return DEFAULT


def of(objects: Iterable[Any]) -> int:
    """Return the current stream as `current` does, for arrays among any objects. The arrays are not read."""
    for each in objects:
        tells = _teller(type(each))
        ordinal = -1 if tells is None else _ordinal(each)
        if tells is not None and ordinal >= 0:
            return tells(ordinal)
    return DEFAULT


def is_captured(device: Device, stream: int) -> bool:
    """Tell whether what goes to a stream of the device is being captured into a graph."""
    with device.active():
        status, *captured = device.driver.raw.cuStreamIsCapturing(stream)
        return bool(status) or bool(int(captured[0]))  # error: captures forbid the query


def capture_of(device: Device, stream: int) -> int:
    """Return the number of the capture that a stream of the device is in, which no other one has; 0 if not known."""
    with device.active():
        raw = device.driver.raw
        # CUDA 12's bindings have two, of which the older one cannot tell programmatic edges
        ask = getattr(raw, "cuStreamGetCaptureInfo_v3", None) or raw.cuStreamGetCaptureInfo
        status, _, number, *_ = ask(stream)
        return 0 if status else int(number)


def _teller(kind: type) -> Callable[[int], int] | None:
    """Return a function from a device's ordinal to the current stream of an array type's library; None without one."""
    library = reader_library(kind)
    if library is not None:
        return _CURRENT.get(library)
    from cutelite_rt.arrays import exchange

    return exchange.stream_of(kind)


def _ordinal(array: Any) -> int:
    """Return the ordinal of the device that an array is on; -1 for host memory."""
    from cutelite_rt.arrays import exchange

    library = reader_library(type(array))
    if library == "torch":
        return int(array.get_device())
    if library == "cupy":
        return int(array.device.id)
    kind, ordinal = array.__dlpack_device__()
    return int(ordinal) if kind in exchange.ON_CUDA else -1


@contextlib.contextmanager
def made_current(stream: int, ordinal: int, libraries: Iterable[str]) -> Iterator[None]:
    """Within the `with`, make `stream` of device `ordinal` the current one of these libraries, in this thread.

    Libraries without a current stream are ignored.
    """
    with contextlib.ExitStack() as stack:
        for library in libraries:
            if library == "torch":
                cuda = sys.modules["torch"].cuda
                stack.enter_context(cuda.stream(cuda.ExternalStream(stream, device=ordinal)))
            elif library == "cupy":
                cuda = sys.modules["cupy"].cuda
                stack.enter_context(cuda.Device(ordinal))
                stack.enter_context(cuda.ExternalStream(stream, ordinal))
        yield


def _current_torch(ordinal: int) -> int:
    torch = sys.modules["torch"]
    # torch's own compiled code uses this function: it takes 0.1 us, the public one 2.
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return int(torch.cuda.current_stream(ordinal).cuda_stream if raw is None else raw(ordinal))


def _current_cupy(ordinal: int) -> int:
    return int(sys.modules["cupy"].cuda.get_current_stream(ordinal).ptr)


_CURRENT = {"torch": _current_torch, "cupy": _current_cupy}
