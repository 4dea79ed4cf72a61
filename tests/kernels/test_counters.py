"""The counters that launches share: those given to graphs stay where they are."""

import gc
import sys
import threading
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cutelite_rt as rt
from cutelite.kernels import arrays
from cutelite.kernels.attention import attention
from cutelite_rt.arrays import stream as streams


class Made(np.ndarray[Any, Any]):
    """An array that can be referred to weakly."""


def test_counters_of_graphs_stay_when_the_last_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[Any]] = []
    capturing, stream = False, SimpleNamespace(cuda_stream=7, capture=0, wait_stream=lambda other: None)

    def zeros(count: int, dtype: Any, device: Any) -> Any:
        found = np.zeros(count, dtype).view(Made)
        made.append(weakref.ref(found))
        assert threading.current_thread() is not threading.main_thread()  # whose memory may be a graph's
        return found

    cuda = SimpleNamespace(
        current_stream=lambda device: stream, default_stream=lambda device: None,
        is_current_stream_capturing=lambda: capturing,
    )  # fmt: skip
    fake = SimpleNamespace(cuda=cuda, int32=np.int32, zeros=zeros)
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setattr(arrays, "reader_library", lambda kind: "torch")
    monkeypatch.setattr(rt, "read", lambda like: SimpleNamespace(device=("cuda", 99)))
    monkeypatch.setattr(rt, "device", lambda ordinal: None)
    monkeypatch.setattr(streams, "capture_of", lambda device, handle: stream.capture)
    monkeypatch.setattr(arrays, "_counters", {})
    like = SimpleNamespace(device="cuda:99")
    first = arrays.counter(like)
    assert arrays.counter(like) is first  # of one stream
    capturing = True
    places = set()
    for stream.capture in range(1, arrays.COUNTERS):
        places |= {arrays.counter(like).ctypes.data for _ in range(3)}  # of one stream of the capture
    assert len(places | {first.ctypes.data}) == arrays.COUNTERS
    del first
    gc.collect()
    assert len(made) == 1 and made[0]() is not None


@pytest.mark.gpu
def test_a_first_call_in_what_torch_makes_a_graph_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs such a call once before it captures it, and looks then what is left of the graph's memory."""
    torch = pytest.importorskip("torch")
    q, k, v = torch.randn(3, 1, 64, 2, 64, device="cuda", dtype=torch.bfloat16)
    compiled, right = torch.compile(attention, backend="cudagraphs"), attention(q, k, v)
    monkeypatch.setattr(arrays, "_counters", {})
    for _ in range(3):
        torch.compiler.cudagraph_mark_step_begin()
        assert torch.equal(compiled(q, k, v), right)
