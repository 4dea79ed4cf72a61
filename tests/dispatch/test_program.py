"""Programs: host functions whose launches one call of machine code issues."""

from __future__ import annotations

import ctypes
import functools
import itertools
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32
from cutelite.dispatch import ArgumentError
from cutelite.dispatch.programs import keep, placed
from cutelite.ir.contract import numpy_dtype
from tests.dispatch import kernels
from tests.dispatch.conftest import GpuArray
from tests.dispatch.test_export_c import COMPILER, FAKE, INCLUDE, ON_LAUNCH, compiled, tensor
from tests.dispatch.test_launcher import in_a_context as in_a_context
from tests.rt.conftest import FakeCuda, machine_code_or_skip

N = cl.dims("N")
WORDS = ctypes.POINTER(ctypes.c_uint64)


@cl.kernel(block=64)
def doubled(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    if i < N:
        y[i] = 2.0 * x[i]


@cl.kernel(block=64)
def shifted(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)], by: f32) -> None:
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    if i < N:
        y[i] = x[i] + by


def _step(x: Any, out: Any, by: float, times: int = 2) -> None:
    blocks = -(-x.shape[0] // 64)
    before = x
    for _ in range(times):
        after = cl.workspace(x.shape, f32)
        doubled[blocks](before, after)
        before = after
    shifted[blocks](before, out, by)


def _line_of(text: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if line.lstrip().startswith(text))


def made(function: Any) -> cl.Program:
    return cl.program(function)


def test_it_is_simulated_on_numpy_arrays() -> None:
    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    made(_step)(x, out, 3.0)
    np.testing.assert_array_equal(out, 4 * x + 3)
    made(_step)(x, out, by=1.0, times=3)
    np.testing.assert_array_equal(out, 8 * x + 1)


class Launches:
    """The driver's launches by machine code: grid, and the words of their parameters."""

    def __init__(self, cuda: FakeCuda) -> None:
        self.cuda, self.seen = cuda, len(cuda.packed)

    def new(self) -> list[tuple[int, ...]]:
        """Grid and packed parameters of what was launched since."""
        fresh, self.seen = self.cuda.packed[self.seen :], len(self.cuda.packed)
        return [tuple(np.frombuffer(each[: len(each) // 4 * 4], np.uint32).tolist()) for each in fresh]


def test_one_call_issues_all_launches(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_code_or_skip()
    ran = []

    def step(x: Any, out: Any, by: float, times: int = 2) -> None:
        ran.append(times)
        _step(x, out, by, times)

    program, x, out = made(step), on_gpu((200,)), on_gpu((200,))
    seen = Launches(cuda)
    program(x, out, 3.0)
    first = seen.new()
    assert len(first) == 3 and ran == [2]
    program(x, out, 3.0)
    assert seen.new() == first and ran == [2], "the same, and nothing of the function is executed"
    monkeypatch.setattr(program, "_anew", None)
    other = on_gpu((200,))
    program(x, other, by=3.0)
    again = seen.new()
    assert again[:2] == first[:2] and again[2] != first[2] and ran == [2]
    assert again[2][2] | again[2][3] << 32 == other.pointer


@cl.kernel(block=64)
def summed(xs: list[Tensor[f32, (N,)]], y: Tensor[f32, (N,)], more: list[Tensor[f32, (N,)]] | None) -> None:
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    if i < N:
        y[i] = sum(x[i] for x in xs)


@cl.program
def outer(x: Any, y: Any, out: Any) -> None:
    between = cl.workspace(x.shape, f32)
    made(_step)(x, between, 1.0)
    summed[-(-x.shape[0] // 64)]([between, y], out, None)


@cl.program
def nothing(x: Any) -> None:
    summed[0]([x], x, None)


def test_programs_within_programs_and_kernels_of_lists(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x, y, out = np.arange(100, dtype=np.float32), np.ones(100, np.float32), np.zeros(100, np.float32)
    outer(x, y, out)
    np.testing.assert_array_equal(out, 4 * x + 2)
    stub = outer.export(None, x, y, out, arch="sm_90a")
    assert "int outer_run(outer_program *program, CUstream stream, const cutelite_tensor *x," in stub.header
    with pytest.raises(ArgumentError, match=r"nothing\(\): nothing is launched for these examples"):
        nothing.export(None, x)
    machine_code_or_skip()
    arrays, seen = [on_gpu((100,)) for _ in range(3)], Launches(cuda)
    outer(*arrays)
    first = seen.new()
    outer(*arrays)
    assert len(first) == 4 and seen.new() == first


def test_other_arguments_are_planned_anew(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    machine_code_or_skip()
    ran = []

    def step(x: Any, out: Any, by: float, times: int = 2) -> None:
        ran.append((x.shape, by, times))
        _step(x, out, by, times)

    program, seen = made(step), Launches(cuda)
    small, large = [on_gpu((64,)) for _ in range(2)], [on_gpu((640,)) for _ in range(2)]
    for arrays, by, times in ((small, 1.0, 2), (large, 1.0, 2), (small, 2.0, 2), (small, 1.0, 4)):
        for _ in range(3):
            program(*arrays, by, times)
            assert len(seen.new()) == times + 1
    assert ran == [((64,), 1.0, 2), ((640,), 1.0, 2), ((64,), 2.0, 2), ((64,), 1.0, 4)]


def test_views_and_maps_follow_their_arguments(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    machine_code_or_skip()

    @cl.program
    def step(a: Any, b: Any) -> None:
        kernels.copied[1, 128](a, b)
        kernels.copied[1, 128](b, a)

    arrays = [rt.DeviceArray((40, 128), "bf16", rt.device(0), 1 << (30 + i), owner=step) for i in range(4)]
    step(arrays[0], arrays[1])
    seen = Launches(cuda)
    for a, b in ((arrays[0], arrays[1]), (arrays[2], arrays[3]), (arrays[1], arrays[0])):
        step(a, b)
        forward, back = seen.new()
        for words, source, target in ((forward, a, b), (back, b, a)):
            encoded = cuda.maps[(words[0] & 255) - 1]  # the driver made of Python fills a map with its number
            assert encoded["address"] == source.pointer and list(encoded["dims"]) == [128, 40]
            assert words[32] | words[33] << 32 == target.pointer


def test_maps_of_pixels_follow_their_arguments(cuda: FakeCuda) -> None:
    @cl.program
    def step(a: Any, b: Any) -> None:
        kernels.pixels[1, 32](a, b)

    arrays = [rt.DeviceArray((2, 3, 7, 32), "bf16", rt.device(0), 1 << (30 + i), owner=step) for i in range(3)]
    for a in arrays:
        step(a, arrays[0])
        assert cuda.maps[-1]["address"] == a.pointer and cuda.maps[-1]["corners"] == ([-2, -1], [-3, 0])


def test_what_is_refused(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x, y, outside = (on_gpu((64,)) for _ in range(3))

    @cl.program
    def with_another(x: Any) -> None:
        doubled[1](x, outside)

    @cl.program
    def with_a_result(x: Any) -> Any:
        return x

    @cl.program
    def with_a_stream(x: Any, y: Any) -> None:
        doubled[1, 64, 7](x, y)

    for program, arguments, words in (
        (
            with_another,
            (x,),
            r"an array of doubled, f32 \(64,\), lies in no argument: take it as one, or as",
        ),
        (with_a_result, (x,), r"with_a_result\(\): a program returns nothing"),
        (with_a_stream, (x, y), r"with_a_stream\(\): a launch of doubled names its stream"),
        (with_a_stream, (x,), r"with_a_stream\(\): missing a required argument: 'y'"),
        (made(_step), (x, np.zeros(64, np.float32), 1.0), r"argument `x` is on GPU 0, but `out` is in host memory"),
        (made(_step), (x, on_gpu((65,)), 1.0), r"argument `y` has extent 65, but N is 64, from `x`"),
    ):
        for _ in range(2):
            with pytest.raises(ArgumentError, match=words) as caught:
                program(*arguments)
            assert caught.traceback[-1].path == Path(__file__)
    assert getattr(caught.value, "__notes__", None) == [f"of the launch in {__file__}:{_line_of('shifted[blocks]')}"]
    with pytest.raises(TypeError, match="a program is a Python function, not 3"):
        made(3)
    with pytest.raises(TypeError, match="a program is a function that launches kernels, not <kernel scale"):
        made(kernels.scale)
    with pytest.raises(RuntimeError, match="a workspace is a program's"):
        cl.workspace((4,), f32)
    with pytest.raises(TypeError, match=r"a program is a plain function, not functools\.partial"):
        cl.program(functools.partial(lambda x: None))
    with pytest.raises(TypeError, match=r"a program is a plain function, not <class '.*FakeCuda'>"):
        cl.program(FakeCuda)  # type: ignore[arg-type]


def test_an_optional_array_may_come_and_go(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    @cl.program
    def step(x: Any, other: Any = None) -> None:
        between = cl.workspace(x.shape, f32)
        doubled[1](x, between)
        doubled[1](between, x if other is None else other)

    x, other = on_gpu((64,)), on_gpu((64,))
    with pytest.raises(AttributeError):
        step(None, other)
    launches = Launches(cuda)
    for _ in range(3):
        for arguments in ((x,), (x, other)):
            step(*arguments)
            (_, last) = launches.new()
            assert last[2] | last[3] << 32 == arguments[-1].pointer


def test_the_simulator_refuses_the_same() -> None:
    x, outside = np.ones(64, np.float32), np.ones(64, np.float32)

    @cl.program
    def with_another(x: Any) -> None:
        between = cl.workspace((64,), f32)
        doubled[1](x[:32], between[:32])
        doubled[1](between, outside)

    @cl.program
    def with_a_stream(x: Any) -> None:
        doubled[1, 64, 7](x[:32], x[32:])

    with pytest.raises(ArgumentError, match=r"an array of doubled, f32 \(64,\), lies in no argument"):
        with_another(x)
    with pytest.raises(ArgumentError, match="a launch of doubled names its stream"):
        with_a_stream(x)

    @cl.kernel(block=64)
    def of_list(xs: list[cl.Tensor[f32, (64,)]]) -> None:
        xs[0][cl.thread_idx.x] = 0.0

    @cl.program
    def with_a_list(x: Any) -> None:
        of_list[1]([x, outside])

    with pytest.raises(ArgumentError, match=r"an array of of_list, f32 \(64,\), lies in no argument"):
        with_a_list(x)


def test_arguments_that_overlap_are_launched_one_by_one(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    machine_code_or_skip()
    x, program = on_gpu((64,)), made(_step)
    before = len(cuda.launches)
    program(x, x, 1.0)
    assert len(cuda.launches) == before + 3
    program(x, on_gpu((64,)), 1.0)
    seen = Launches(cuda)
    program(x, x, 1.0)
    assert len(seen.new()) == 3, "a plan for arrays apart is right for them too"


def test_no_graph_uses_a_workspace_that_ends_with_the_call(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    x, program = on_gpu((64,)), made(_step)
    program(x, x, 1.0)
    cuda.capturing.add(0)
    with pytest.raises(ArgumentError, match="no graph can use it"):
        program(x, x, 1.0)


def test_overlapping_arguments_are_planned_where_their_distances_are_fixed(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    machine_code_or_skip()
    ran = []

    def step(x: Any, out: Any) -> None:
        ran.append(x)
        doubled[1](x, out)

    program, seen = cl.Program(step, tied=True), Launches(cuda)
    arrays = [rt.DeviceArray((64,), "f32", rt.device(0), (1 << 30) + at, owner=step) for at in (0, 64, 4096, 4160)]
    for i in range(3):
        program(*arrays[:2]) if i < 2 else program(*arrays[2:])
    assert len(ran) == 1 and [words[0] for words in seen.new()] == [(1 << 30), (1 << 30), (1 << 30) + 4096]


def test_arrays_that_are_kept_belong_to_a_plan(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    machine_code_or_skip()
    kept, x = on_gpu((64,)), on_gpu((64,))

    @cl.program
    def step(x: Any) -> None:
        doubled[1](x, keep(kept))

    seen = Launches(cuda)
    step(x)
    step(x)
    one, two = seen.new()
    assert one == two and kept.pointer in [a | b << 32 for a, b in itertools.pairwise(one)]


def test_a_plan_is_dropped_with_what_its_kernels_were_made_from(
    cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    @cl.program
    def step(x: Any) -> None:
        kernels.tripled[1](x)

    x, images = on_gpu((8,)), len(cuda.images)
    for _ in range(2):
        step(x)
    assert len(cuda.images) == images + 1
    monkeypatch.setattr(kernels, "FACTOR", 5)
    for _ in range(2):
        step(x)
    assert len(cuda.images) == images + 2


def test_workspaces_share_bytes_when_they_are_not_alive_together() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        lives = [(int(rng.integers(1, 9)) * 256, *sorted(rng.integers(0, 8, 2).tolist())) for _ in range(12)]
        offsets, total = placed(lives)
        for i, (size, first, last) in enumerate(lives):
            assert offsets[i] % 256 == 0 and offsets[i] + size <= total
            for j, (other, begin, end) in enumerate(lives[:i]):
                if begin <= last and first <= end:
                    assert offsets[i] + size <= offsets[j] or offsets[j] + other <= offsets[i]
        alive = max(sum(s for s, f, e in lives if f <= at <= e) for at in range(8))
        assert alive <= total <= sum(s for s, *_ in lives)


@pytest.mark.skipif(not (COMPILER and INCLUDE), reason="needs a C compiler and cuda.h")
def test_exported_to_c(cuda: FakeCuda, on_gpu: GpuArray, tmp_path: Path) -> None:
    @cl.program
    def both(program: Any, fit_array: Any, both_rule: Any, out: Any) -> None:
        kernels.copied[1, 128](program, fit_array)
        _step(both_rule[8:], out, 3.0)

    shapes = ((40, 128), "u2"), ((40, 128), "u2"), ((72,), "f4"), ((64,), "f4")
    examples = [np.zeros(shape, dtype) for shape, dtype in shapes]
    examples[:2] = (each.view(numpy_dtype(cl.bf16)) for each in examples[:2])
    stub = both.export(tmp_path, *examples, arch=["sm_90a"])
    assert "int both_run(both_program *program, CUstream stream, const cutelite_tensor *program_," in stub.header
    c = compiled(str(tmp_path / "both.c"), *FAKE)
    c.both_error.restype = ctypes.c_char_p
    launched: list[tuple[tuple[int, ...], int, int]] = []

    def on_launch(config: Any, pointers: Any) -> None:
        words = [ctypes.cast(pointers[i], ctypes.POINTER(ctypes.c_uint64))[0] for i in range(2)]
        words[0] = words[0] if config.contents.block[0] == 64 else ctypes.cast(pointers[0], WORDS)[3]
        launched.append((tuple(config.contents.grid), *words))

    callback = ON_LAUNCH(on_launch)
    c.fake_on_launch(callback)
    program = ctypes.c_void_p()
    assert c.both_load(ctypes.byref(program)) == 0, c.both_error()
    assert ctypes.c_int.in_dll(c, "fake_allocated").value == 512, "two workspaces, alive together in one launch"
    a, b = (tensor(on_gpu((40, 128), "bf16"), data=1 << at) for at in (20, 21))
    x, out = (tensor(on_gpu((n,)), data=1 << at) for n, at in ((72, 22), (64, 23)))
    given = [ctypes.byref(each) for each in (a, b, x, out)]
    assert c.both_run(program, None, *given) == 0, c.both_error()
    work = 0x7000000
    first, second = launched[1][2], launched[2][2]
    assert {first, second} == {work, work + 256}
    assert launched == [
        ((1, 1, 1), 1 << 20, 1 << 21),
        ((1, 1, 1), (1 << 22) + 32, first),
        ((1, 1, 1), first, second),
        ((1, 1, 1), second, 1 << 23),
    ]
    wrong = tensor(on_gpu((65,)), data=1 << 23)
    assert c.both_run(program, None, *given[:3], ctypes.byref(wrong)) == -1 and len(launched) == 4
    assert c.both_error() == b"both(): argument `out` has extent 65, but its annotation says 64"
    c.both_unload(program)
    assert ctypes.c_int.in_dll(c, "fake_allocated").value == 0


class Raised:
    def __init__(self, by: float) -> None:
        self.by = by

    @cl.program
    def run(self, x: Any, out: Any) -> None:
        shifted[1](x, out, self.by)


def test_a_method_is_called_and_exported_for_its_object() -> None:
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    raised = Raised(3.0)
    raised.run(x, out)
    assert out.tolist() == (x + 3).tolist()
    stub = raised.run.export(None, x, out)
    assert stub == Raised.run.export(None, raised, x, out)
    assert (raised.run.__name__, "of <" in repr(raised.run)) == ("run", True)


class Pair(NamedTuple):
    x: Any
    by: float


@dataclass(frozen=True)
class Layers:
    """What a model may hold: arrays in lists and dicts, beside constants."""

    pairs: list[Pair]
    named: dict[str, Any]
    count: int = 1

    @cl.program
    def run(self, out: Any, *more: Any, **others: Any) -> None:
        """Add up: out[i] += by for each pair, and so on."""
        for _ in range(self.count):
            for pair in self.pairs:
                shifted[1](pair.x, out, pair.by)
        for x in (*self.named.values(), *more, *others.values()):
            doubled[1](x, x)


def layers(array: Any, by: float = 1.0, count: int = 1) -> tuple[Layers, list[Any]]:
    arrays = [array() for _ in range(3)]
    return Layers([Pair(arrays[0], by), Pair(arrays[1], 2.0)], {"layer.0": arrays[2]}, count), arrays


def test_arrays_within_arguments_are_simulated() -> None:
    held, (first, second, third) = layers(lambda: np.ones(64, np.float32))
    out, more = np.zeros(64, np.float32), np.ones(64, np.float32)
    held.run(out, more, more=more)
    assert (out[0], third[0], more[0], first[0], second[0]) == (3, 2, 4, 1, 1)


def test_arrays_within_arguments_are_planned(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    machine_code_or_skip()
    seen, out, more = Launches(cuda), on_gpu((64,)), on_gpu((64,))
    held, arrays = layers(lambda: on_gpu((64,)))
    held.run(out, more)
    first = seen.new()
    addresses = [x.pointer for x in (*arrays[:2], arrays[2], more)]
    assert [words[0] | words[1] << 32 for words in first] == addresses
    assert [words[2] | words[3] << 32 for words in first] == [out.pointer, out.pointer, *addresses[2:]]
    *_, program = Layers.run._of_parts.values()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "_anew", None)  # all is done by machine code
        held.run(out, more)
        assert seen.new() == first
        other, others = layers(lambda: on_gpu((64,)))
        other.run(more, out)
        assert [words[0] | words[1] << 32 for words in seen.new()] == [x.pointer for x in (*others, out)]
    layers(lambda: on_gpu((64,)), count=2)[0].run(out)
    assert len(seen.new()) == 5
    layers(lambda: on_gpu((64,)), by=5.0)[0].run(out, x=more)
    assert len(seen.new()) == 4


def test_exported_programs_require_what_kernels_do_wherever_examples_of_the_host_lie() -> None:
    @cl.kernel(block=32)
    def fill(x: Tensor[f32, (64,), cl.align(128)]) -> None:
        x[cl.thread_idx.x] = 1.0

    @cl.program
    def filled(x: Any) -> None:
        fill[1](x)

    memory = bytearray(512)
    examples = [np.frombuffer(memoryview(memory)[start:], np.float32, 64) for start in range(0, 128, 4)]
    assert len({filled.export(None, x).source for x in examples}) == 1


def test_arrays_within_arguments_are_exported() -> None:
    held, _ = layers(lambda: np.ones(64, np.float32))
    x = np.zeros(64, np.float32)
    stub = held.run.export(None, x, x.copy(), name="run")
    taken = "self_pairs_0_x, const cutelite_tensor *self_pairs_1_x, const cutelite_tensor *self_named_0"
    assert f"const cutelite_tensor *{taken}, const cutelite_tensor *out, const cutelite_tensor *more_0)" in stub.header


def test_parts_have_names_of_their_own() -> None:
    @cl.program
    def both(x: list[Any], x_0: Any) -> None:
        doubled[1](x[0], x_0)

    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    both([x], y)
    assert y[0] == 2


def test_arrays_within_other_objects_are_no_arguments() -> None:
    @cl.program
    def run(held: Any, x: Any) -> None:
        doubled[1](held.x, x)

    x = np.ones(64, np.float32)
    with pytest.raises(ArgumentError, match=r"run\(\): an array of doubled, f32 \(64,\), lies in no argument"):
        run(SimpleNamespace(x=x.copy()), x)
