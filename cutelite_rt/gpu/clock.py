"""Time work on the GPU without the time of the host: in a separate stream, as captured graphs between two events.

    stream = TimedStream(device(0))
    with stream.device.active():
        graph = stream.captured(work)     # all that `work()` submits to `stream.handle`
        seconds = stream.timed(graph.replay)

Every method needs a context of the device to be current: `Device.active` makes one current.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from cutelite_rt.gpu.device import Device
from cutelite_rt.gpu.driver import CudaError

K = TypeVar("K")

_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: no waiting for the legacy default stream, which cannot be captured
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED: memory may be allocated and modules loaded meanwhile, in any thread
_DISABLE_TIMING = 2  # CU_EVENT_DISABLE_TIMING


class Graph:
    """Work captured in a stream, which one call submits again. Made by `TimedStream.captured`."""

    def __init__(self, stream: TimedStream, executable: Any) -> None:
        self._stream, self._executable = stream, executable

    def replay(self) -> None:
        """Submit the captured work once more."""
        self._stream.device.driver.call("cuGraphLaunch", self._executable, self._stream.handle)

    def close(self) -> None:
        """Free the graph. Its work must have ended."""
        if self._executable is not None:
            self._stream.device.driver.call("cuGraphExecDestroy", self._executable)
            self._executable = None


class TimedStream:
    """A new stream on `device`, and two events that time the work submitted to it."""

    def __init__(self, device: Device) -> None:
        self.device = device
        with device.active():
            self.handle = int(device.driver.call("cuStreamCreate", _NON_BLOCKING))
            self._start, self._stop = (device.driver.call("cuEventCreate", 0) for _ in range(2))

    def follow(self, stream: int) -> None:
        """Make this stream wait, on the GPU, for the work that is in `stream` now."""
        driver = self.device.driver
        event = driver.call("cuEventCreate", _DISABLE_TIMING)
        driver.call("cuEventRecord", event, stream)
        driver.call("cuStreamWaitEvent", self.handle, event, 0)
        driver.call("cuEventDestroy", event)  # the driver frees it once it has occurred

    def wait(self) -> None:
        """Wait until all work in the stream has ended. Errors: `CudaError` if a kernel failed."""
        self.device.driver.call("cuStreamSynchronize", self.handle)

    def timed(self, work: Callable[[], object]) -> float:
        """Return the seconds on the GPU for all that `work()` submits to the stream; wait until it has ended."""
        driver = self.device.driver
        driver.call("cuEventRecord", self._start, self.handle)
        work()
        driver.call("cuEventRecord", self._stop, self.handle)
        driver.call("cuEventSynchronize", self._stop)
        return float(driver.call("cuEventElapsedTime", self._start, self._stop)) * 1e-3

    def captured(self, work: Callable[[], object]) -> Graph:
        """Capture everything that `work()` submits to the stream as a graph, without running it.

        Errors  `CudaError` for work that cannot be captured, such as waiting for a result; whatever `work` raises
        """
        driver = self.device.driver
        driver.call("cuStreamBeginCapture", self.handle, driver.raw.CUstreamCaptureMode(_RELAXED))
        try:
            work()
        except BaseException:
            with contextlib.suppress(CudaError):  # this error only says that the capture is broken
                self._close(driver.call("cuStreamEndCapture", self.handle))
            raise
        graph = driver.call("cuStreamEndCapture", self.handle)
        try:
            return Graph(self, driver.call("cuGraphInstantiate", graph, 0))
        finally:
            self._close(graph)

    def all_captured(
        self, works: Mapping[K, Callable[[], object]], opened: contextlib.ExitStack, must: bool = False
    ) -> dict[K, Graph] | None:
        """Capture each of `works` as a graph, which `opened` frees. None if one cannot be captured and not `must`.

        Errors  as `captured`, if `must`
        """
        found = {}
        for name, work in works.items():
            try:
                graph = found[name] = self.captured(work)
            except Exception:  # the work ran before, so only its capture fails
                if must:
                    raise
                return None
            opened.callback(graph.close)
        return found

    def _close(self, graph: Any) -> None:
        if graph:
            self.device.driver.call("cuGraphDestroy", graph)

    # Memory, in the order of the stream.

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copy `nbytes` from device memory to device memory, by address."""
        self.device.driver.call("cuMemcpyDtoDAsync", target, source, nbytes, self.handle)

    def fill(self, target: int, nbytes: int) -> None:
        """Write zeros. Enough of them evict everything else from L2."""
        self.device.driver.call("cuMemsetD8Async", target, 0, nbytes, self.handle)
