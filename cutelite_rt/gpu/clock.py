"""Times of work on the GPU, the host left out: a stream of one's own, graphs captured in it, events around them.

    stream = TimedStream(device(0))
    with stream.device.active():
        graph = stream.captured(work)     # whatever `work()` puts into `stream.handle`
        seconds = stream.timed(graph.replay)

Every method wants a context of the device to be current, as `Device.active` makes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from cutelite_rt.gpu.device import Device
from cutelite_rt.gpu.driver import CudaError

K = TypeVar("K")

_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: it does not wait for the legacy default stream, which cannot be captured
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED: memory may be allocated and modules loaded meanwhile, in any thread
_DISABLE_TIMING = 2  # CU_EVENT_DISABLE_TIMING


class Graph:
    """Work captured in a stream, to be put there again at the cost of one call. Made by `TimedStream.captured`."""

    def __init__(self, stream: TimedStream, executable: Any) -> None:
        self._stream, self._executable = stream, executable

    def replay(self) -> None:
        """All of it, once more."""
        self._stream.device.driver.call("cuGraphLaunch", self._executable, self._stream.handle)

    def close(self) -> None:
        """Free it, when it has ended."""
        if self._executable is not None:
            self._stream.device.driver.call("cuGraphExecDestroy", self._executable)
            self._executable = None


class TimedStream:
    """A stream of our own on `device`, and two events to time what goes into it."""

    def __init__(self, device: Device) -> None:
        self.device = device
        with device.active():
            self.handle = int(device.driver.call("cuStreamCreate", _NON_BLOCKING))
            self._start, self._stop = (device.driver.call("cuEventCreate", 0) for _ in range(2))

    def follow(self, stream: int) -> None:
        """Wait on the GPU for what is in `stream` now."""
        driver = self.device.driver
        event = driver.call("cuEventCreate", _DISABLE_TIMING)
        driver.call("cuEventRecord", event, stream)
        driver.call("cuStreamWaitEvent", self.handle, event, 0)
        driver.call("cuEventDestroy", event)  # which the driver puts off until it has happened

    def wait(self) -> None:
        """Until all in it has ended. Errors: `CudaError` of a kernel that failed."""
        self.device.driver.call("cuStreamSynchronize", self.handle)

    def timed(self, work: Callable[[], object]) -> float:
        """Seconds from the first thing that `work()` puts in to the last. Waits for it."""
        driver = self.device.driver
        driver.call("cuEventRecord", self._start, self.handle)
        work()
        driver.call("cuEventRecord", self._stop, self.handle)
        driver.call("cuEventSynchronize", self._stop)
        return float(driver.call("cuEventElapsedTime", self._start, self._stop)) * 1e-3

    def captured(self, work: Callable[[], object]) -> Graph:
        """Capture the work that `work()` puts into the stream as a graph; nothing of it runs.

        Errors  `CudaError` for what cannot be captured, such as waiting for a result; whatever `work` raises
        """
        driver = self.device.driver
        driver.call("cuStreamBeginCapture", self.handle, driver.raw.CUstreamCaptureMode(_RELAXED))
        try:
            work()
        except BaseException:
            with contextlib.suppress(CudaError):  # that the capture is broken is what it says, and why is on its way
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
        """Capture each as a graph, which `opened` frees; None where one cannot be, unless all `must`.

        Errors  as `captured`, with `must`
        """
        found = {}
        for name, work in works.items():
            try:
                graph = found[name] = self.captured(work)
            except Exception:  # what ran a moment ago, and cannot be captured
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
        """From device memory to device memory, by address."""
        self.device.driver.call("cuMemcpyDtoDAsync", target, source, nbytes, self.handle)

    def fill(self, target: int, nbytes: int) -> None:
        """Write zeros, which is how a cache is emptied of everything else."""
        self.device.driver.call("cuMemsetD8Async", target, 0, nbytes, self.handle)
