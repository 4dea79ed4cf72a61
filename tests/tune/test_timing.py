"""The timing of calls on a GPU: graphs over copies in a stream of their own, and the way without graphs."""

import itertools
import threading
from typing import Any

import pytest

import cutelite_rt as rt
from cutelite import autotune
from cutelite.tune import timing
from cutelite.tune.sets import TIMES_L2, Sets
from cutelite.tune.tuned import TunedFunction
from cutelite_rt import CudaError
from cutelite_rt.gpu.clock import TimedStream
from tests.dispatch.conftest import GpuArray
from tests.rt.conftest import H200, FakeCuda
from tests.rt.exchange import ByDlpack
from tests.tune import kernels

L2 = H200[38]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, cuda: FakeCuda) -> None:
    """Time without warming up and with few copies; a launch takes as many microseconds as it has blocks."""
    monkeypatch.setattr(timing, "WARM_UP_S", 0.0)
    cuda.cost = lambda config: config.gridDimX * 1e-3
    timing._timed_stream.cache_clear()


def tuned(*configs: int, **options: Any) -> TunedFunction:
    kernels.build.cache_clear()
    return autotune(configs, **options)(kernels.scaled_by)


def test_the_fastest_on_the_gpu_wins_by_its_time_in_graphs(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    cuda.cost = lambda config: config.gridDimX * 0.02  # milliseconds
    scaled = tuned(5, 3, 4, 40, 90)
    x, y = on_gpu((1 << 20,)), on_gpu((1 << 20,))
    assert scaled.config_for(x, y) == 3
    (report,) = scaled.reports
    assert [row.seconds for row in report.rows] == pytest.approx([1e-4, 6e-5, 8e-5, 8e-4, 1.8e-3])
    assert not cuda.graphs and not cuda.capturing
    (stream,) = {config.hStream for config, _, _ in cuda.launches}
    assert stream != 0
    # The last one, known from its first call, is not captured; the one before it may be slow by the host alone.
    assert len({id(replay) for replay in cuda.replays}) == 4
    scaled(x, y)
    assert cuda.launches[-1][0].hStream == 0


def test_short_kernels_are_timed_for_as_long_as_others(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    """Although a graph has few of them, since the host takes long to capture one."""
    assert tuned(5, 3).config_for(on_gpu((1 << 20,)), on_gpu((1 << 20,))) == 3
    seconds = {id(replay): sum(config.gridDimX for config, _, _ in replay) * 1e-6 for replay in cuda.replays}
    assert max(seconds.values()) < timing.GRAPH_S / 5
    in_a_row = [(graph, len(list(same))) for graph, same in itertools.groupby(map(id, cuda.replays))]
    assert min(count * seconds[graph] for graph, count in in_a_row[2:]) >= 1.9 * timing.GRAPH_S


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> "Host":
    """A host that takes no time but what it is told, however busy this machine is."""
    clock = Host()
    monkeypatch.setattr(timing, "perf_counter", clock)
    return clock


class Host:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1e-6
        return self.now


def test_first_calls_are_timed_behind_work_that_hides_the_host(on_gpu: GpuArray, cuda: FakeCuda, host: Host) -> None:
    tuned(5, 3).config_for(on_gpu((64,)), on_gpu((64,)))
    names = {"cuMemsetD8Async", "cuEventRecord", "cuEventSynchronize", "cuStreamWaitEvent", "cuLaunchKernelEx"}
    told = [name for name in cuda.calls if name in names]
    timed = [i for i, name in enumerate(told) if name == "cuLaunchKernelEx" and told[i - 1] == "cuEventRecord"]
    assert len(timed) == 4 and {told[i - 2] for i in timed} == {"cuMemsetD8Async"}


def test_the_longer_the_host_takes_for_a_first_call_the_more_is_ahead_of_it(
    on_gpu: GpuArray, cuda: FakeCuda, host: Host
) -> None:
    """Else its seconds are the host's, and a config that is fast is left out."""

    def rarely_launched(config: int, x: Any, y: Any) -> None:
        if config == 3:
            host.now += 4 * timing.AHEAD_S
        kernels.scaled_by(config, x, y)

    autotune([5, 3])(rarely_launched).config_for(on_gpu((64,)), on_gpu((64,)))
    told = [name for name in cuda.calls if name in {"cuMemsetD8Async", "cuLaunchKernelEx"}]
    ahead = [len(list(same)) for name, same in itertools.groupby(told) if name == "cuMemsetD8Async"]
    (_, *fast), slow = ahead[:3], ahead[3:]
    assert fast == slow[::2] and min(slow[1::2]) >= 8 * max(fast)


def test_sets_are_larger_than_l2_and_copies_like_their_originals(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    stream = timing.timed_stream_on(0)
    x, y = on_gpu((1 << 22,)), on_gpu((3, 1 << 20))
    with stream.device.active():
        sets = Sets((x, [y]), {"z": (x, 5)}, [], stream)
        assert sets.sets == [((x, [y]), {"z": (x, 5)})] and sets.movable
        sets.grow(100)
    total = x.nbytes + y.nbytes
    assert len(sets.sets) == -(-TIMES_L2 * L2 // total) == 7
    for args, kwargs in sets.sets[1:]:
        a, (b,) = args
        assert a is kwargs["z"][0] and kwargs["z"][1] == 5
        assert (a.shape, b.shape, a.dtype) == (x.shape, y.shape, "f32")
    assert len({id(args[0]) for args, _ in sets.sets}) == 7


def test_fewer_sets_where_memory_or_time_is_short(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    stream = timing.timed_stream_on(0)
    x = on_gpu((1 << 20,))
    with stream.device.active():
        sets = Sets((x,), {}, [], stream)
        sets.grow(3)
        assert len(sets.sets) == 3
        cuda.fail["cuMemAlloc"] = 2
        sets.grow(100)
        assert len(sets.sets) == 3
        cuda.fail["cuMemAlloc"] = 1
        with pytest.raises(CudaError):
            sets.grow(100)


def test_restored_arrays_are_copies_in_every_set_and_refreshed(cuda: FakeCuda) -> None:
    import numpy as np

    stream = timing.timed_stream_on(0)
    x = rt.to_device(np.arange(4.0))
    with stream.device.active():
        sets = Sets((x, x), {}, [x], stream)
        sets.grow(2)
        for (a, b), _ in sets.sets:
            assert a is b and a is not x
            np.testing.assert_array_equal(a.numpy(), np.arange(4.0))
            TimedStream(stream.device).fill(a.pointer, a.nbytes)
        np.testing.assert_array_equal(x.numpy(), np.arange(4.0))
        sets.refresh()
        for (a, _), _ in sets.sets:
            np.testing.assert_array_equal(a.numpy(), np.arange(4.0))


def test_in_place_functions_see_fresh_arrays_in_every_replay(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    refreshed: list[int] = []
    monkeypatch.setattr(Sets, "refresh", lambda self: refreshed.append(len(cuda.replays)))
    tuned(2, 3, restore=("y",)).config_for(rt.empty((64,), "f32"), rt.empty((64,), "f32"))
    timed = refreshed[refreshed.index(2) :]  # after each was warmed up once
    assert timed == list(range(2, 2 + len(timed))) and len(timed) == len(cuda.replays) - 2


def test_what_cannot_be_captured_is_timed_in_the_open(
    on_gpu: GpuArray, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled: list[int] = []

    def fill(target: int, value: int, size: int, stream: int) -> tuple[int]:
        filled.append(size)
        return (0,)

    monkeypatch.setattr(cuda, "cuMemsetD8Async", fill)

    capturing = cuda.capturing

    def waits(config: int, x: Any, y: Any) -> None:
        kernels.scaled_by(config, x, y)
        if capturing:
            raise RuntimeError("operation not permitted when stream is capturing")

    waiting = autotune([5, 3])(waits)
    assert waiting.config_for(on_gpu((64,)), on_gpu((64,))) == 3
    assert [row.seconds for row in waiting.reports[0].rows] == pytest.approx([5e-6, 3e-6])
    assert not cuda.replays and set(filled) == {2 * L2} and not cuda.capturing and not cuda.graphs


def test_arrays_that_cannot_be_copied_are_timed_in_the_open(
    on_gpu: GpuArray, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = ByDlpack(on_gpu((64,))), ByDlpack(on_gpu((64,)))
    assert tuned(5, 3).config_for(x, y) == 3
    assert not cuda.replays
    with pytest.raises(TypeError, match=r"a tests array with strides \(1,\) can be neither copied nor restored"):
        tuned(5, 3, restore=("y",)).config_for(ByDlpack(on_gpu((65,))), ByDlpack(on_gpu((65,))))


def test_streams_that_the_function_names_are_replaced_while_it_is_timed(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    @autotune([2, 3])
    def on_its_own(config: int, x: Any, y: Any) -> None:
        kernels.build(config)[config, 64, 0x7700](x, y)

    x, y = on_gpu((64,)), on_gpu((64,))
    on_its_own(x, y)
    streams = [config.hStream for config, _, _ in cuda.launches]
    assert streams[-1] == 0x7700 and 0x7700 not in streams[:-1]
    assert cuda.replays


def test_work_under_way_is_waited_for(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    tuned(2, 3).config_for(on_gpu((64,)), on_gpu((64,)))
    first_launch = cuda.calls.index("cuLaunchKernelEx")
    assert cuda.calls.index("cuStreamWaitEvent") < first_launch
    last_replay = len(cuda.calls) - 1 - cuda.calls[::-1].index("cuGraphLaunch")
    assert "cuStreamSynchronize" in cuda.calls[last_replay:]


def test_a_config_that_does_not_run_is_skipped(on_gpu: GpuArray, cuda: FakeCuda) -> None:
    loaded = cuda.images

    def fails(config: int, x: Any, y: Any) -> None:
        kernels.scaled_by(config, x, y)
        if config == 2 and loaded:
            raise CudaError(701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "launching", "too many registers")

    failing = autotune([2, 3, 4])(fails)
    assert failing.config_for(on_gpu((64,)), on_gpu((64,))) == 3
    notes = [row.note for row in failing.reports[0].rows]
    assert notes[0] == "CudaError: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701) launching: too many registers"


def test_no_thread_is_left_over(on_gpu: GpuArray) -> None:
    before = threading.active_count()
    tuned(2, 3).config_for(on_gpu((64,)), on_gpu((64,)))
    assert threading.active_count() == before
