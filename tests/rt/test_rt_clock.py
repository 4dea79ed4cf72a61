"""Graphs and events: what is asked of the driver, and that nothing is left behind."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from cutelite_rt import CudaError, device
from cutelite_rt.arrays import stream as streams
from cutelite_rt.gpu.clock import TimedStream
from tests.rt.conftest import FakeCuda


@pytest.fixture
def stream(cuda: FakeCuda) -> TimedStream:
    return TimedStream(device(0))


def launch(cuda: FakeCuda, stream: TimedStream, times: int = 1) -> None:
    for _ in range(times):
        cuda.cuLaunchKernelEx(SimpleNamespace(hStream=stream.handle), 0xF00, 0, 0)


def test_a_graph_is_captured_once_and_timed_by_events(cuda: FakeCuda, stream: TimedStream) -> None:
    with stream.device.active():
        graph = stream.captured(lambda: launch(cuda, stream, 3))
        assert not cuda.capturing and len(cuda.graphs) == 1  # what was captured is freed, what runs is kept
        assert stream.timed(graph.replay) == pytest.approx(3 * 0.25e-3)
        assert [len(replay) for replay in cuda.replays] == [3]
        graph.close()
        graph.close()
        stream.wait()
    assert not cuda.graphs


def test_work_that_raises_ends_the_capture(cuda: FakeCuda, stream: TimedStream) -> None:
    def work() -> None:
        launch(cuda, stream)
        raise KeyError("theirs")

    with stream.device.active():
        with pytest.raises(KeyError, match="theirs"):
            stream.captured(work)
        assert not cuda.capturing and not cuda.graphs
        cuda.fail["cuStreamEndCapture"] = 1
        with pytest.raises(KeyError, match="theirs"):
            stream.captured(work)
        with pytest.raises(CudaError, match="capturing a stream into a graph"):
            stream.captured(lambda: launch(cuda, stream))
    assert not cuda.capturing


def test_following_another_stream_leaves_no_event(cuda: FakeCuda, stream: TimedStream) -> None:
    before = dict(cuda.events)
    with stream.device.active():
        stream.follow(0x77)
    assert cuda.calls[-5:-1] == ["cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventDestroy"]
    assert cuda.events == before


def test_a_device_is_known_by_its_uuid(cuda: FakeCuda) -> None:
    assert (device(0).uuid, device(1).uuid) == ("00" * 16, "01" * 16)


def test_a_stream_is_made_current_for_torch_and_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []

    class Within:
        def __init__(self, *words: Any) -> None:
            self.words = words

        def __enter__(self) -> None:
            said.append(("in", *self.words))

        def __exit__(self, *_: object) -> None:
            said.append(("out", *self.words))

    cuda = SimpleNamespace(
        stream=lambda stream: Within("torch", *stream), ExternalStream=lambda handle, device: (handle, device)
    )
    cupy = SimpleNamespace(Device=lambda n: Within("device", n), ExternalStream=lambda *what: Within("cupy", *what))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cupy))
    with streams.made_current(0x55, 1, ["torch", "cutelite", "cupy", "jax"]):
        assert said == [("in", "torch", 0x55, 1), ("in", "device", 1), ("in", "cupy", 0x55, 1)]
    assert said[3:] == [("out", "cupy", 0x55, 1), ("out", "device", 1), ("out", "torch", 0x55, 1)]
