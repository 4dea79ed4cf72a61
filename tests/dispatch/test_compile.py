"""Compiling ahead of a launch: every stage to look at, every architecture, threads, warnings, and what goes wrong."""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Constexpr, Tensor, f16, f32, i32, lower, passes, pipeline, toolchain
from cutelite.config import ConfigError
from cutelite.diag import InternalError
from cutelite.dispatch import ArgumentError, Compiled, Kernel, LaunchError, OptionError, kernel
from cutelite.front.types import Constant
from cutelite.ir.function import Function
from cutelite.options import Options
from cutelite.target import UnknownTarget
from cutelite.toolchain import ToolchainError
from tests.dispatch import kernels
from tests.dispatch.conftest import GpuArray
from tests.threads import at_once

N = cl.dims("N")
ARCHS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a")


def fresh(kernel: Kernel, **options: Any) -> Kernel:
    """The same kernel, never compiled before."""
    return Kernel(kernel.__cutelite_function__, options, kernel.block or (64, 1, 1), kernel.cluster)


@pytest.fixture(scope="module")
def add() -> Iterator[Compiled]:
    patch = pytest.MonkeyPatch()
    patch.setenv("CUTELITE_CACHE", "0")
    yield fresh(kernels.add).compile()
    patch.undo()


# ---- what there is to look at


def test_every_stage(add: Compiled) -> None:
    assert "func @add[dims N: i32](%a: " in add.ir and "tensor<f32,gmem,(N):(1),16>" in add.ir
    assert "define ptx_kernel void @add(" in add.llvm
    assert ".visible .entry add(" in add.ptx and ".target sm_90a" in add.ptx
    assert add.cubin.startswith(b"\x7fELF")
    assert list(add.times) == ["front", "passes", "lower", "llvm", "assemble"]
    assert all(seconds > 0 for seconds in add.times.values())
    assert (add.name, add.arch, add.cached, add.spills, add.shared_memory) == ("add", "sm_90a", False, 0, 0)
    assert 0 < add.registers < 64 and add.warnings == []
    assert repr(add) == f"<add for sm_90a: {add.registers} registers, 0 bytes of shared memory>"


def test_stages_as_files(add: Compiled) -> None:
    assert add.stage("ptx") == {"ptx": add.ptx} and add.stage("ll") == {"ll": add.llvm}
    assert add.stage("cubin") == {"cubin": add.cubin}
    assert "LOAD_GLOBAL" in str(add.stage("bytecode")["bytecode"]) or "LOAD" in str(add.stage("bytecode")["bytecode"])
    assert "block" in str(add.stage("cfg")["cfg"])
    texts = add.stage("cir")
    assert next(iter(texts)) == "00-front.cir" and texts["00-front.cir"] == add.ir
    assert [name.partition("-")[2] for name in texts][1:] == [f"{step.name}.cir" for step in passes.PIPELINE]


def test_machine_code_as_text(add: Compiled) -> None:
    if add.sass is None:
        pytest.skip("needs nvdisasm")
    assert "add" in add.sass and add.stage("sass") == {"sass": add.sass}


def test_shared_memory_is_summed() -> None:
    assert fresh(kernels.sharing).compile().shared_memory == 15 * 4096


@pytest.mark.parametrize("arch", ARCHS)
def test_every_architecture(arch: str) -> None:
    compiled = fresh(kernels.add).compile(arch=arch)
    assert compiled.arch == arch and f".target {arch}" in compiled.ptx and compiled.cubin.startswith(b"\x7fELF")


def test_the_architecture_is_the_argument_s_then_the_environment_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_ARCH", "sm_80")
    assert fresh(kernels.add).compile().arch == "sm_80"
    assert fresh(kernels.add).compile(arch=" SM_90 ").arch == "sm_90"
    with pytest.raises(UnknownTarget, match="unknown GPU architecture 'sm_91'; known are sm_75, sm_80"):
        fresh(kernels.add).compile(arch="sm_91")


# ---- what it is compiled for


def types_of(compiled: Compiled) -> list[str]:
    return [str(value.type) for value in compiled.function.params]


def test_examples_say_what_the_annotations_leave_open() -> None:
    scale = fresh(kernels.scale)
    x = np.zeros(8, np.float16)
    by_example, by_name, by_shape = scale.compile(x, 2), scale.compile(T=f16), scale.compile((8,), T=f16)
    assert by_example is by_name is by_shape
    assert types_of(by_name) == ["tensor<f16,gmem,(N):(1),16>", "f16"]
    unaligned = np.zeros(9, np.float16)[1:]
    assert types_of(scale.compile(x=unaligned)) == ["tensor<f16,gmem,(N):(1),2>", "f16"]


def test_wide_dims() -> None:
    for given in ({"wide_dims": True}, {"N": 1 << 31}, {"a": (1 << 31,)}):
        assert [str(v.type) for v in fresh(kernels.add).compile(**given).function.dims.values()] == ["i64"]
    assert [str(v.type) for v in fresh(kernels.add).compile(N=1000).function.dims.values()] == ["i32"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "scale(): argument `x` has the dtype variable T: say what it is, as in `compile(T=cl.f32)`"),
        ({"T": f32, "zz": 1}, "scale() has neither a parameter, nor a dtype variable, nor a dim called 'zz'"),
        ({"T": f32, "N": "x"}, "scale() takes a dtype, or the extent of a dim, for 'N', not 'x'"),
        ({"T": f32, "N": -5}, "scale() takes a dtype, or the extent of a dim, for 'N', not -5"),
        (
            {"T": f32, "optt": "x"},
            "scale() takes a dtype, or the extent of a dim, for 'optt', not 'x' (did you mean `opt`?)",
        ),
        (
            {"T": f32, "optt": 1},
            "scale() has neither a parameter, nor a dtype variable, nor a dim called 'optt' (did you",
        ),
        ({"T": f32, "times": "x"}, "scale(): argument `times` must be a compile-time int, not 'x'"),
        ({"x": (1, 2), "T": f32}, "scale(): argument `x` has shape (1, 2), but Tensor[T, (N,)] has 1 mode"),
    ],
)
def test_what_is_not_enough_to_compile(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        fresh(kernels.scale).compile(**given)
    assert str(caught.value).startswith(said)


def test_constants_have_no_default_of_their_own() -> None:
    @kernel(block=32)
    def needs(n: Constexpr[int]) -> None: ...

    with pytest.raises(
        ArgumentError, match=r"`n` is a compile-time constant: give its value, as in `compile\(n=...\)`"
    ):
        needs.compile()
    assert needs.compile(n=3) is needs.compile(3)


@dataclass(frozen=True)
class Tile:
    x: Tensor[f32, (N,)]
    size: Constexpr[int]
    depth: Constexpr[int] = 2


def test_structs_ahead_of_a_launch() -> None:
    @kernel(block=32)
    def uses(t: Tile) -> None:
        for i in cl.static_range(t.size * t.depth):
            t.x[i] = 1.0

    with pytest.raises(ArgumentError, match=r"`t.size` is a compile-time constant: give an example of `t`, as in"):
        uses.compile()
    example: Any = (8,)
    assert uses.compile(Tile(example, 3)).ir.count("tensor.store") == 6


def test_a_block_is_needed() -> None:
    with pytest.raises(LaunchError, match="add: no block is given, and its shape is compiled in"):
        kernels.add.compile()
    with pytest.raises(LaunchError, match=r"add: a block of \(2048, 1, 1\) has 2048 threads, but sm_90a takes 1024"):
        kernels.add.compile(block=2048)


def test_methods_compile_with_their_object() -> None:
    scaler = kernels.Scaler(7)
    assert scaler.run.compile() is kernels.Scaler.run.compile(kernels.Scaler(7))
    assert scaler.run.compile() is not kernels.Scaler(8).run.compile()
    assert repr(scaler.run).startswith(
        "<bound <kernel Scaler.run(self: Constexpr[object], x: Tensor[f32, (N,)])> of Scaler("
    )


# ---- the kernel itself


def test_a_kernel_looks_like_its_function() -> None:
    def documented(a: Tensor[f32, (N,)], n: Constexpr[int] = 4) -> None:
        """What it does."""

    made = kernel(documented)
    assert (made.__name__, made.__doc__, made.__module__) == ("documented", "What it does.", __name__)
    assert made.__qualname__ == documented.__qualname__ and made.__wrapped__ is documented  # type: ignore[attr-defined]
    assert inspect.signature(made) == inspect.signature(documented)
    assert repr(made) == f"<kernel {documented.__qualname__}(a: Tensor[f32, (N,)], n: Constexpr[int] = 4)>"


def test_inspection_as_numba_has_it() -> None:
    scale = fresh(kernels.scale)
    assert scale.inspect_llvm() == {}
    for dtype in (f16, f32):
        scale.compile(T=dtype)
    half, single = scale.specialisations
    assert list(scale.inspect_asm()) == [half, single]
    assert ".entry scale" in scale.inspect_asm(half) and "define ptx_kernel" in scale.inspect_llvm()[single]
    assert set(scale.inspect_sass()) == {half, single}
    assert str(half) == (
        "(x: tensor<f16,gmem,(N):(1),16>, by: f16, times: Constant(1)) in blocks of (64, 1, 1) for sm_90a"
    )
    file = io.StringIO()
    scale.inspect_types(file)
    assert file.getvalue().count("func @scale[") == 2 and f"// scale {half}\n" in file.getvalue()


def test_types_of_what_was_only_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    tripled = fresh(kernels.tripled)
    tripled[1, 32](np.ones(4, np.float32))
    assert tripled.specialisations == []
    tripled.inspect_types()
    assert "func @tripled[" in capsys.readouterr().out


def test_compiling_and_simulating_do_not_mix() -> None:
    tripled = fresh(kernels.tripled)
    x = np.ones(4, np.float32)
    tripled[1, 32](x)
    compiled = tripled.compile(block=32)
    assert compiled.cubin
    tripled[1, 32](x)
    np.testing.assert_array_equal(x, np.full(4, 9.0))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"opt": 4}, "opt is 4, but must be a whole number from 0 to 3"),
        ({"opt": True}, "opt is True, but must be a whole number"),
        ({"max_registers": 300}, "max_registers is 300, but must be a whole number from 16 to 255"),
        ({"min_blocks": 0}, "min_blocks is 0"),
        ({"backend": "gcc"}, "backend is 'gcc', but must be one of llvm, nvvm"),
        ({"assembler": "as"}, "assembler is 'as', but must be one of auto, ptxas, nvjitlink, driver"),
        ({"fmad": 1}, "fmad is 1, but must be True or False"),
        ({"assertions": "yes"}, "assertions is 'yes', but must be True or False"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError) as caught:
        kernel(**options)(kernels.add.__cutelite_function__)
    assert str(caught.value).startswith(said)


def test_ptxas_options_as_text_or_one_by_one() -> None:
    text: Any = "-v  --x"
    words: Any = ["-v", "--x"]
    assert Options(ptxas_options=text) == Options(ptxas_options=words) == Options(ptxas_options=("-v", "--x"))


decorator: Any = kernel


def blank() -> None: ...


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: decorator(fast=True), "@kernel has no option 'fast'; it has block, cluster, arch, fmad,"),
        (lambda: decorator(3), "@kernel takes a Python function, not 3"),
        (lambda: decorator(staticmethod(len)), "@kernel goes below @staticmethod"),
        (lambda: decorator(blank).options(fast=True), "kernel.options has no option 'fast'; it has block"),
        (lambda: cl.device_function(int), "device_function takes a Python function, not"),
        (lambda: cl.program(int), "a program is"),  # type: ignore[arg-type]
        (lambda: decorator(int), "@kernel takes a Python function, not <class 'int'>"),
    ],
)
def test_what_is_no_kernel(make: Any, said: str) -> None:
    with pytest.raises(TypeError) as caught:
        make()
    assert str(caught.value).startswith(said)
    assert str(caught.traceback[-1].path) == __file__, "there are no frames of ours"


def test_a_block_in_the_decorator_is_checked_there() -> None:
    with pytest.raises(LaunchError, match="the block has 0, but 1 is the least"):
        kernel(block=(32, 0))
    with pytest.raises(LaunchError, match="the cluster takes whole numbers, not 1"):
        decorator(cluster=1.5)


def test_constants_compare_by_type_and_value() -> None:
    assert len({Constant(1), Constant(True), Constant(1.0)}) == 3
    assert Constant(1) == Constant(1) and hash(Constant((1, 2))) == hash(Constant((1, 2)))


# ---- threads


def test_eight_threads_compile_eight_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_CACHE", "0")
    made = [kernels.add, kernels.scale, kernels.tripled, kernels.sharing, kernels.copied, kernels.nothing,
            kernels.clustered, kernels.asserting]  # fmt: skip
    given: dict[Kernel, dict[str, Any]] = {kernels.scale: {"T": f32}}
    alone = [fresh(k).compile(**given.get(k, {})) for k in made]
    together = at_once(lambda k: fresh(k).compile(**given.get(k, {})), made)
    assert [c.name for c in together] == [k.__name__ for k in made]
    for one, other in zip(alone, together, strict=True):
        assert (one.ptx, one.ir, one.cubin) == (other.ptx, other.ir, other.cubin)


def test_threads_that_want_the_same_get_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    compiles = Mock(wraps=pipeline.compile_kernel)
    monkeypatch.setattr(pipeline, "compile_kernel", compiles)
    one = fresh(kernels.scale)
    results = at_once(lambda i: one.compile(T=f32, times=i % 2 + 1), range(8))
    assert len(set(map(id, results))) == compiles.call_count == 2


def test_a_compile_that_fails_is_tried_again_by_each_thread() -> None:
    @kernel(block=32)
    def wrong(x: Tensor[f32, (N,)]) -> None:
        x[0] = unknown  # noqa: F821

    def attempt(_: int) -> str:
        with pytest.raises(cl.CompileError) as caught:
            wrong.compile()
        return caught.value.diagnostic.code

    assert at_once(attempt, range(4)) == ["unknown-name"] * 4


# ---- what is said while compiling


@kernel(block=32)
def local_memory(x: Tensor[f32, (N,)]) -> None:
    table = cl.make_rmem_tensor(f32, (8,))
    for j in cl.static_range(8):
        table[j] = x[j]
    x[0] = table[cl.i32(x[1])]


def test_warnings_are_said_once_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    compiled = fresh(local_memory).compile()
    said = capsys.readouterr().err
    assert said.startswith("warning[") and "x[0] = table[cl.i32(x[1])]" in said
    assert len(compiled.warnings) >= 1 and all(text in said for text in compiled.warnings)
    again = fresh(local_memory).compile()
    assert again.cached and again.warnings == compiled.warnings
    assert capsys.readouterr().err == ""


def spilling(count: int, **options: Any) -> Any:
    """A kernel that needs `count` values at a time."""

    @kernel(**options)
    def spilled(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)]) -> None:
        values = [x[cl.thread_idx.x + 1024 * k] for k in range(count)]
        cl.syncthreads()
        for k in cl.static_range(count):
            y[cl.thread_idx.x + 1024 * k] = values[k] + values[(7 * k + 3) % count] * values[(11 * k + 5) % count]

    return spilled


def test_spills_are_said_once_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ({"block": 1024}, {"block": 32, "max_registers": 40}):
        compiled = spilling(120, **options).compile()
        said = capsys.readouterr().err
        assert compiled.spills > 0 and compiled.warnings
        (text,) = compiled.warnings
        assert said == text + "\n" and text.startswith("warning[spills]: registers ran out in `spilled`")
        stored, loaded = map(int, re.findall(r"(?:stores|loads) (\d+)", text))
        assert stored + loaded == compiled.spills and "test_compile.py" in text and "max_registers" in text
        again = spilling(120, **options).compile()
        assert again.cached and again.warnings == [text] and capsys.readouterr().err == ""
    assert not spilling(20, block=1024).compile().warnings


def test_times_are_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CUTELITE_TIMES", "1")
    fresh(kernels.add).compile()
    assert capsys.readouterr().err.startswith("cutelite: add for sm_90a: front ")


def test_dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_DUMP", "all")
    monkeypatch.setenv("CUTELITE_DUMP_DIR", str(tmp_path / "a" / "dump"))
    compiled = fresh(kernels.add).compile()
    files = {path.name.removeprefix("add.sm_90a."): path for path in (tmp_path / "a" / "dump").iterdir()}
    texts = {"bytecode", "cfg", "ll", "ptx", "00-front.cir"}
    assert texts <= set(files) and "01-fold.cir" in files
    assert files["cubin"].read_bytes() == compiled.cubin
    assert files["ptx"].read_text() == compiled.ptx
    monkeypatch.setenv("CUTELITE_DUMP_DIR", str(files["ptx"]))
    with pytest.raises(ConfigError, match=r"^CUTELITE_DUMP_DIR=.*: this folder cannot be made or written to"):
        fresh(kernels.add).compile()


def test_stages_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CUTELITE_PRINT", "cir,ptx,cubin")
    compiled = fresh(kernels.add).compile()
    said = capsys.readouterr().err
    assert f"// add.sm_90a.00-front.cir\n{compiled.ir}" in said and "// add.sm_90a.01-fold.cir" in said
    assert f"// add.sm_90a.ptx\n{compiled.ptx.rstrip()}\n" in said
    assert f"// add.sm_90a.cubin\n{len(compiled.cubin)} bytes\n" in said


def test_a_dry_run_compiles_and_launches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_DRYRUN", "1")
    kernel = fresh(kernels.add)
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    for _ in range(2):
        kernel[1, 64](x, x, out)
    assert not out.any() and len(kernel.specialisations) == 1
    with pytest.raises(ArgumentError):
        kernel[1, 64](x, x[:32], out)
    monkeypatch.setenv("CUTELITE_DRYRUN", "0")
    again = fresh(kernels.add)
    again[1, 64](x, x, out)
    assert (out == 2).all()


# ---- what goes wrong


def broken(*args: Any, **kwargs: Any) -> Any:
    raise ZeroDivisionError("one too many")


def test_a_bug_in_a_stage_names_the_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "to_llvm", broken)
    with pytest.raises(cl.InternalError) as caught:
        fresh(kernels.add).compile()
    assert caught.value.stage == "lower" and isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "internal error in `lower`: ZeroDivisionError: one too many" in str(caught.value)


def test_a_bug_in_a_pass_names_the_pass_and_the_op(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(function: Any, context: passes.Context) -> Any:
        for op in function.ops():
            op.no_such_thing  # noqa: B018
        return function

    monkeypatch.setattr(passes.order, "PIPELINE", (passes.Pass(careless, why="it is not"), *passes.PIPELINE))
    with pytest.raises(cl.InternalError) as caught:
        fresh(kernels.add).compile()
    assert caught.value.stage == "careless" and caught.value.op
    assert "no_such_thing" in caught.value.message and "kernels.py" in str(caught.value)


def test_a_bug_in_the_frontend_points_at_the_users_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutelite.lang.values import Scalar

    monkeypatch.setattr(Scalar, "__mul__", broken)

    @kernel(block=32)
    def multiplies(x: Tensor[f32, (N,)]) -> None:
        x[0] = x[1] * x[2]

    with pytest.raises((cl.InternalError, cl.CompileError)) as caught:
        multiplies.compile()
    assert "x[0] = x[1] * x[2]" in str(caught.value)


def test_a_tool_that_refuses_our_code_is_our_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    real = toolchain.write_ptx
    monkeypatch.setattr(toolchain, "write_ptx", lambda *a, **k: real(*a, **k).replace("add.", "adds."))
    with pytest.raises(cl.InternalError) as caught:
        fresh(kernels.add).compile()
    assert caught.value.stage == "ptxas" and isinstance(caught.value.__cause__, ToolchainError)
    assert "adds." in str(caught.value) and "This is a bug in cutelite" in str(caught.value)


def test_llvm_that_refuses_our_code_is_our_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    real = lower.to_llvm
    monkeypatch.setattr(lower, "to_llvm", lambda *a, **k: real(*a, **k).replace("ret void", "ret viod"))
    with pytest.raises(cl.InternalError) as caught:
        fresh(kernels.add).compile()
    assert caught.value.stage == "llvm" and "ret viod" in str(caught.value)


def test_a_tool_that_refuses_the_users_own_ptx_points_there() -> None:
    @kernel(block=32)
    def own(x: Tensor[f32, (N,)]) -> None:
        cl.inline_ptx("no_such_instruction $a;", a=x[0])

    with pytest.raises(cl.CompileError) as caught:
        own.compile()
    assert caught.value.diagnostic.code == "inline-ptx"
    assert "cl.inline_ptx(" in str(caught.value)
    assert "no_such_instruction" in str(caught.value).partition("note:")[2]


@pytest.mark.parametrize("options", ["--no-such-option", "-arch=sm_80", '"unclosed'])
def test_an_option_that_the_assembler_refuses_is_shown(options: str) -> None:
    with pytest.raises(ToolchainError, match=f"the options given are: {options}"):
        fresh(kernels.add, ptxas_options=options).compile()


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutelite.toolchain.find.ptxas", lambda: None)
    monkeypatch.setattr("cutelite.toolchain.find.library", lambda name: None)


def test_without_an_assembler_there_is_ptx(no_tools: None) -> None:
    compiled = fresh(kernels.add).compile()
    assert ".entry add" in compiled.ptx and compiled.registers == compiled.spills == -1
    assert repr(compiled) == "<add for sm_90a: PTX alone, 0 bytes of shared memory>"
    with pytest.raises(ToolchainError, match="add is compiled to PTX only: there was no assembler"):
        compiled.cubin  # noqa: B018
    assert fresh(kernels.add).compile().cached


def test_an_assembler_that_is_asked_for_must_be_there(no_tools: None) -> None:
    with pytest.raises(ToolchainError, match="nothing to turn PTX into a cubin: looked for nvjitlink"):
        fresh(kernels.add, assembler="nvjitlink").compile()


def test_parameters_as_the_runtime_packs_them() -> None:
    artifact = fresh(kernels.copied).compile().artifact
    assert artifact.params[:2] == ("tensormap", "ptr") and set(artifact.params[2:]) == {"i32"}
    assert fresh(kernels.scale).compile(T=f16).artifact.params == ("ptr", "f16", "i32")
    assert artifact.block == (128, 1, 1) and artifact.max_threads == 128


def test_the_assembler_s_version_goes_with_the_cubin(add: Compiled, ptxas: str) -> None:
    from cutelite.toolchain.ptxas import version

    major, minor = version(ptxas).split(".")[:2]
    assert add.artifact.built_with in ((int(major), int(minor)), (0, 0))
    assert int(major) < 13 or add.artifact.built_with != (0, 0)


@cl.kernel(block=128)
def crowded(out: Tensor[f32, (64, 256)], more: Tensor[f32, (64, 256)]) -> None:
    a = cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (64, 64)))
    b = cl.shared(cl.bf16, cl.make_smem_layout(cl.bf16, (256, 64)))
    one, two = cl.wgmma.zeros_accumulator(256), cl.wgmma.zeros_accumulator(256)
    for _ in range(4):
        one, two = cl.wgmma.mma_async(a, b, one), cl.wgmma.mma_async(a, b, two)
        cl.wgmma.commit_group()
        one, two = cl.wgmma.wait_group(0, one, two)
    cl.wgmma.partition(out).store(one)
    cl.wgmma.partition(more).store(two)


def test_wgmma_that_ptxas_serialises_are_told_at_their_line(ptxas: str, capsys: pytest.CaptureFixture[str]) -> None:
    fresh(crowded, assembler="ptxas").compile()
    said = capsys.readouterr().err
    assert "wgmma" in said and "serialized" in said
    assert "test_compile.py" in said and "cl.wgmma.mma_async(a, b, one)" in said


def test_too_few_registers_for_an_instruction_are_an_error_at_its_line(ptxas: str) -> None:
    with pytest.raises(CompileError, match="may use 128 registers per thread, and ptxas needs") as caught:
        fresh(crowded, assembler="ptxas", max_registers=128).compile()
    assert "mma_async" in str(caught.value)


def test_more_parameters_than_a_kernel_has_room_for() -> None:
    space: dict[str, Any] = {"cl": cl, "f64": cl.f64}
    names = [f"x{i}" for i in range(4100)]
    exec(f"def many({', '.join(f'{name}: f64' for name in names)}): pass", space)
    with pytest.raises(CompileError, match="the kernel's parameters have 32800 bytes, and there is room for 32764"):
        cl.kernel(space["many"]).compile(block=32)
    with pytest.raises(CompileError, match="there is room for 32764"):
        cl.kernel(space["many"])[1, 32](*range(4100))


def test_a_kernel_says_what_it_is_for_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    @cl.kernel(arch="blackwell")
    def which(out: Tensor[i32, (1,)]) -> None:
        out[0] = 100 if cl.target.arch == "sm_100a" else 80 if cl.target.arch == "sm_80" else 90

    out = np.zeros(1, np.int32)

    def simulated(kernel: Any) -> int:
        kernel[1, 1](out)
        return int(out[0])

    assert simulated(which) == 100
    assert simulated(which.options(arch="sm_90a")) == 90
    assert simulated(which.options(opt=1)) == 100
    assert which.compile(block=1).arch == "sm_100a"
    monkeypatch.setenv("CUTELITE_ARCH", "sm_80")
    assert simulated(which.options(opt=2)) == 80
    with pytest.raises(ValueError, match="unknown GPU architecture 'sm_99z'"):
        cl.kernel(arch="sm_99z")


def test_a_check_on_arrays_of_a_gpu_is_for_what_the_kernel_says(on_gpu: GpuArray) -> None:
    @cl.kernel
    def which(out: Tensor[i32, (4,)]) -> None:
        assert cl.target.arch == "sm_80"

    older, out = which.options(arch="sm_80"), on_gpu((4,), "i32")
    assert older.check(1, 1, out)
    older.trace_launch(cl.Launch(1, 1), out)
    with pytest.raises(CompileError, match=r"assert cl\.target\.arch"):
        which.check(1, 1, out)


@pytest.mark.parametrize("lowered", [True, False], ids=["lowered", "not lowered"])
def test_ir_that_a_pass_broke_is_the_pass_s_fault(lowered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is verified while ptxas runs; where it cannot be lowered, its fault is told and not what came of it."""

    def broken(*args: Any, **kwargs: Any) -> Function:
        function = run(*args, **kwargs)
        if lowered:
            ops = next(block.ops for block in function.blocks if not block.successors)
            ops.append(ops[-1])  # a second return, which LLVM takes
        else:
            del function.entry.ops[0]  # which a later one needs
        return function

    run = passes.run
    monkeypatch.setattr(passes, "run", broken)
    with pytest.raises(InternalError) as caught:
        fresh(kernels.add).compile(block=64)
    assert caught.value.stage == "passes"
