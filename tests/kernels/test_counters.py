"""The counters that launches share: those given to graphs stay where they are."""

import gc
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cutelite_rt as rt
from cutelite.kernels import arrays
from cutelite_rt.arrays import stream as streams


class Made(np.ndarray[Any, Any]):
    """An array that can be referred to weakly."""


def test_counters_of_graphs_stay_when_the_last_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[Any]] = []
    capturing, stream = False, SimpleNamespace(cuda_stream=7, capture=0)

    def zeros(count: int, dtype: Any, device: Any) -> Any:
        found = np.zeros(count, dtype).view(Made)
        made.append(weakref.ref(found))
        return found

    cuda = SimpleNamespace(current_stream=lambda device: stream, is_current_stream_capturing=lambda: capturing)
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
