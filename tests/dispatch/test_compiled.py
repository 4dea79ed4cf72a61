"""What `kernel.compile` gives: launched as it is, named, and with what the assembler said of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import ArgumentError, CompileError, Constexpr, LaunchError, OptionError, Tensor, f32
from cutelite.target import Target

N = cl.dims("N")


@cl.kernel
def scale(x: Tensor[f32, (N,)], by: Constexpr[int]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        x[i] = x[i] * by


class Scaler:
    def __init__(self, by: int) -> None:
        self.by = by

    @cl.kernel(block=64)
    def run(self: Constexpr[Any], x: Tensor[f32, (N,)]) -> None:
        if cl.thread_idx.x < N:
            x[cl.thread_idx.x] = x[cl.thread_idx.x] * self.by


@pytest.fixture(autouse=True)
def no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_CACHE", "0")


def test_it_launches() -> None:
    compiled = scale.compile(by=3, block=32)
    x = np.arange(40, dtype=np.float32)
    compiled[2](x, 3)
    compiled[2, 32](x, by=3)
    compiled.launch(cl.Launch(2), x, 3)
    compiled(x, 3, grid=2)
    assert x.tolist() == [81 * i for i in range(40)]


def test_its_constants_may_be_left_out() -> None:
    dtype = f32  # named by annotations alone, which are text here

    @cl.kernel(block=32)
    def added(x: Tensor[dtype, (N,)], by: Constexpr[int], y: Tensor[dtype, (N,)] | None, n: f32) -> None:
        x[cl.thread_idx.x] = x[cl.thread_idx.x] + by * n

    x = np.zeros(32, np.float32)
    compiled = added.compile(x, 3, None)
    compiled[1](x, n=1.0)
    compiled(x, 3, n=1.0, grid=1)
    assert x.tolist() == [6] * 32
    with pytest.raises(ArgumentError, match="`by` is 4, not 3"):
        compiled[1](x, 4, n=1.0)
    with pytest.raises(ArgumentError, match=r"added\(\) lacks the argument n; .* by: Constexpr\[int\] = 3, "):
        compiled[1](x)


def test_other_structures_are_told_by_their_fields() -> None:
    @cl.kernel(block=32)
    def of_all(*xs: Tensor[f32, (N,)]) -> None:
        xs[0][0] = 1.0

    x = np.zeros(4, np.float32)
    with pytest.raises(ArgumentError, match=r"`xs` is tuple\(tensor<[^(]*\(N\).*, tensor<.*\), not tuple\(tensor<"):
        of_all.compile(x)[1](x, x)


def test_so_does_that_of_a_method() -> None:
    compiled = [Scaler(by).run.compile() for by in (2, 5)]
    x = np.ones(3, np.float32)
    for each in compiled:
        each[1](x)
    assert x.tolist() == [10, 10, 10]


def test_no_kernel_is_iterated_over() -> None:
    compiled = scale.compile(by=3, block=32)
    for each in (scale, scale.options(opt=1), Scaler(2).run, compiled, cl.autotune([{"by": 2}])(scale)):
        with pytest.raises(TypeError, match="is not iterable"):
            iter(each)


def test_arguments_of_another_specialisation_are_refused() -> None:
    compiled = scale.compile(by=3, block=32)
    x = np.ones(4, np.float32)
    with pytest.raises(ArgumentError, match=r"scale was compiled for other arguments: `by` is 4, not 3\."):
        compiled[1](x, 4)
    with pytest.raises(ArgumentError, match=r"`x` is tensor<f32,gmem,\(N\):\(1\),4>, not .*,16>"):
        compiled[1](np.ones(8, np.float32)[1:], 3)
    with pytest.raises(LaunchError, match="scale: it was compiled for a block of 32, not 64: leave it out"):
        compiled[1, 64](x, 3)
    assert x.tolist() == [1, 1, 1, 1]


def test_a_name_may_tell_the_specialisation() -> None:
    named = scale.options(name="scale by {by}")
    assert [named.compile(by=by, block=32).name for by in (2, 3)] == ["scaleby2", "scaleby3"]
    assert ".visible .entry scaleby2(" in named.compile(by=2, block=32).ptx
    with pytest.raises(CompileError, match=r"'\{width\}' is no name: there is no Constexpr 'width'\nhelp: .* \{by\}"):
        scale.compile(by=2, block=32, name="{width}")


def test_what_the_assembler_said() -> None:
    compiled = scale.compile(by=3, block=256)
    assert compiled.stack_frame == compiled.barriers == 0
    assert compiled.constant_banks[0] > 8  # the parameters, behind what the driver keeps there
    assert f"Used {compiled.registers} registers" in compiled.log
    assert compiled.occupancy() == (8, 64, "threads", 1.0)
    assert compiled.occupancy(smem=100_000).limiter == "shared memory"
    assert compiled.occupancy(block=64).blocks == 32
    with pytest.raises(LaunchError, match="smem is -1, but must be a number of bytes"):
        compiled.occupancy(smem=-1)
    with pytest.raises(LaunchError, match="has 2000 threads, but sm_90a takes 1024"):
        compiled.occupancy(block=2000)


@cl.kernel(block=64)
def crowded(x: Tensor[cl.f32, (4, 2560)], y: Tensor[cl.f32, (4, 2560)]) -> None:
    i = cl.thread_idx.x
    held = [x[j % 4, i + 64 * j] for j in range(32)]
    cl.syncthreads()
    y[0, i] = sum((a * b for a in held for b in (held[0], held[-1])), cl.f32(0))


def test_lines_with_spills() -> None:
    compiled = crowded.compile((4, 2560), (4, 2560), line_info=True, max_registers=24)
    if compiled.sass is None:
        pytest.skip("no disassembler")
    stored, loaded = (sum(both) for both in zip(*compiled.spill_lines.values(), strict=True))
    assert stored + loaded == compiled.spills > 0
    (file, line), _ = next(iter(compiled.spill_lines.items()))
    first = crowded.__cutelite_function__.__code__.co_firstlineno
    assert file == __file__
    assert first < line <= first + 6
    assert f"test_compiled.py:{line} (" in compiled.warnings[0]
    assert crowded.compile((4, 2560), (4, 2560), max_registers=24).spill_lines == {}


@cl.kernel(cluster=2)
def blocks_there_are(out: Tensor[cl.i32, (4,)]) -> None:
    out[0] = cl.grid_dim.x


def test_a_persistent_grid() -> None:
    out = np.zeros(4, np.int32)
    blocks_there_are["persistent", 32](out)
    assert out[0] == 8, "four clusters in the simulator"
    assert blocks_there_are.check("persistent", 32, out)
    compiled = blocks_there_are.compile(out, block=32)
    said = r"^blocks_there_are: a grid is extents, .*, not 'all'"
    with pytest.raises(cl.LaunchError, match=said):
        blocks_there_are["all", 32](out)
    with pytest.raises(cl.LaunchError, match=said):
        compiled(out, grid="all")
    with pytest.raises(
        cl.LaunchError, match=r"blocks_there_are: `launch` takes a cl\.Launch before the arguments, not 3"
    ):
        blocks_there_are.launch(3, out)  # type: ignore[arg-type]


@pytest.mark.sm(90)
def test_a_persistent_grid_fills_the_gpu() -> None:
    torch = pytest.importorskip("torch")
    out = torch.zeros(4, dtype=torch.int32, device="cuda")
    compiled = blocks_there_are.compile(out, block=1024)
    for _ in range(3):
        blocks_there_are["persistent", 1024](out)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    assert out[0] == compiled.resident_blocks() <= 2 * sms
    assert compiled.resident_blocks(200_000) < compiled.resident_blocks()


@pytest.mark.parametrize(
    ("threads", "registers", "smem", "blocks", "limiter"),
    [
        (128, 168, 0, 3, "registers"),
        (32, 16, 0, 32, "blocks"),
        (1024, 32, 0, 2, "registers"),
        (256, 32, 232448, 1, "shared memory"),
    ],
)
def test_occupancy(threads: int, registers: int, smem: int, blocks: int, limiter: str) -> None:
    found = Target.parse("sm_90a").occupancy(threads, registers, smem)
    assert (found.blocks, found.limiter, found.warps) == (blocks, limiter, blocks * threads // 32)


def test_warnings_can_be_errors() -> None:
    few = scale.options(ptxas_options="--maxrregcount=7")
    assert len(few.compile(by=2, block=1024).warnings) == 1
    with pytest.raises(CompileError, match=r"(?s)`scale` compiles with 1 warning, .*lower bound of"):
        few.compile(by=2, block=1024, warnings_as_errors=True)
    with pytest.raises(OptionError):
        few.options(warnings_as_errors=2)  # type: ignore[arg-type]


@cl.kernel(block=1)
def asks(out: Tensor[cl.i32, (4,)]) -> None:
    out[0] = cl.target.capability[0]
    if cl.target.has("wgmma"):
        out[1] = 1
    if cl.target.arch == "sm_80":
        out[2] = 1


@pytest.mark.parametrize(("arch", "expected"), [("sm_90a", [9, 1, 0]), ("sm_80", [8, 0, 1]), ("ada", [8, 0, 0])])
def test_a_kernel_asks_what_it_is_compiled_for(arch: str, expected: list[int]) -> None:
    out = np.zeros(4, np.int32)
    asks.compile(arch=arch)[1](out)
    assert out[:3].tolist() == expected


def test_outside_of_kernels_there_is_no_target() -> None:
    with pytest.raises(RuntimeError, match="no kernel is being compiled here"):
        cl.target.arch  # noqa: B018
    with pytest.raises(AttributeError):
        cl.target.colour  # noqa: B018
