"""Functions that are linked: bitcode by LLVM, all else by nvJitLink; what they and inline PTX mean in the simulator."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Tensor, ToolchainError, f32, i32
from cutelite.toolchain import find, nvjitlink
from cutelite.toolchain.cubin import prototypes
from tests.dispatch.kernels import add
from tests.dispatch.test_compile import fresh

THREE = f32(3)
SCALE = Path(__file__).parents[1] / "linked" / "scale.ptx"
TOOLS = os.path.dirname(os.path.dirname(find.ptxas() or "/bin/none"))
LIBDEVICE = os.path.join(TOOLS, "nvvm", "libdevice", "libdevice.10.bc")

links = pytest.mark.skipif(bool(nvjitlink.missing()), reason="needs nvJitLink")
inlines = pytest.mark.skipif(not os.path.exists(LIBDEVICE), reason="needs libdevice")


@cl.extern(library=SCALE)
def scale(x: f32, out: cl.Pointer[f32]) -> f32:
    out[0] = x
    return x * 2


@cl.extern("__nv_erfinvf", library=LIBDEVICE, pure=True)
def erfinv(x: f32) -> f32: ...  # type: ignore[empty-body]


@cl.kernel(block=32)
def scales(x: Tensor[f32, (32,)], y: Tensor[f32, (32,)]) -> None:
    part = cl.shared(f32, (1,))
    if cl.thread_idx.x == 0:
        y[0] = scale(x[1], y) + scale(3, part)
        y[1] = part[0]


@cl.kernel(block=32)
def inverts(x: Tensor[f32, (32,)]) -> None:
    x[cl.thread_idx.x] = erfinv(x[cl.thread_idx.x])


def test_a_linked_function_means_its_body_in_the_simulator() -> None:
    x, y = np.full(32, 5, np.float32), np.zeros(32, np.float32)
    scales[1](x, y)
    assert y[:2].tolist() == [16, 3]


@links
def test_a_kernel_may_be_called_as_a_function_that_it_links() -> None:
    def body(x: Tensor[f32, (32,)]) -> None:
        x[0] = scale(x[1], x)

    body.__name__ = "scale"
    compiled = cl.kernel(block=32)(body).compile(arch="sm_90a")
    assert ".entry scale_(" in compiled.ptx and compiled.cubin


def test_the_body_of_a_linked_function_sees_memory_behind_any_address() -> None:
    @cl.extern()
    def two(x: f32, out: cl.Pointer[f32]) -> f32:
        out[0] = x
        out[1] = out[0] + 1
        return x

    @cl.kernel(block=1)
    def kernel(x: Tensor[f32, (4, 4), cl.col_major], y: Tensor[f32, (8,)]) -> None:
        shared = cl.shared(f32, (4, 4))
        y[0] = two(5.0, y.at(2)) + two(7.0, shared.at(1, 0))
        y[1] = shared[1, 1]
        two(1.0, x)

    x, y = np.zeros((4, 4), np.float32, order="F"), np.zeros(8, np.float32)
    kernel[1](x, y)
    assert y.tolist() == [12, 8, 5, 6, 0, 0, 0, 0] and x[:2, 0].tolist() == [1, 2]


@links
def test_ptx_is_linked() -> None:
    compiled = fresh(scales).compile()
    assert "call.uni (retval0), scale," in compiled.build.ptx
    assert compiled.registers > 0
    assert b"scale" in compiled.cubin
    assert not compiled.artifact.ptx  # which nobody could load


@links
def test_a_declaration_that_the_library_disagrees_with() -> None:
    @cl.extern("scale", library=SCALE)
    def alone(x: f32) -> f32: ...  # type: ignore[empty-body]

    @cl.kernel(block=32)
    def calls(x: Tensor[f32, (32,)]) -> None:
        x[0] = alone(x[1])

    with pytest.raises(CompileError, match=r"(?s)alone\(x\[1\]\).*declared as \(b32\) -> b32, and is \(b32, b64\)"):
        calls.compile()
    with pytest.raises(TypeError, match="takes the path of a library, or a tuple of paths, not 5"):
        cl.extern(library=5)  # type: ignore[arg-type]


@links
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_a_cubin_is_linked(arch: str, ptxas: str, tmp_path: Path) -> None:
    file = tmp_path / "scale.cubin"
    subprocess.run([ptxas, "-c", f"-arch={arch}", str(SCALE), "-o", str(file)], check=True)

    @cl.extern("scale", library=file)
    def of_cubin(x: f32, out: cl.Pointer[f32]) -> f32: ...  # type: ignore[empty-body]

    @cl.kernel(block=32)
    def kernel(x: Tensor[f32, (32,)]) -> None:
        x[0] = of_cubin(x[1], x)

    @cl.extern("scale", library=(file, SCALE))
    def of_both(x: f32, out: i32) -> f32: ...  # type: ignore[empty-body]

    @cl.kernel(block=32)
    def disagrees(x: Tensor[f32, (32,)]) -> None:
        x[0] = of_both(x[1], 3)

    assert kernel.compile(arch=arch).registers > 0
    with pytest.raises(CompileError, match=r"declared as \(b32, b32\) -> b32, and is \(b32, b64\) -> b32 there"):
        disagrees.compile(arch=arch)
    with pytest.raises(CompileError, match=r"`scale` is defined in .*scale\.ptx and in .*scale\.cubin"):
        kernel.compile(arch=arch, link_libraries=SCALE)


def test_prototypes_in_ptx_and_in_cubins_are_told_alike(ptxas: str, tmp_path: Path) -> None:
    functions = (
        ".visible .func (.param .f32 r) a(.param .s32 x, .param .u64 q) { ret; }",
        ".weak .func (.param .align 16 .b8 r[16]) b(.param .align 4 .b8 x[12], .param .f64 y) { ret; }",
        ".visible .func c() { ret; }",
        ".func d() { ret; }",
    )
    text = "\n".join((".version 8.0", ".target sm_80", ".address_size 64", *functions))
    (tmp_path / "a.ptx").write_text(text)
    subprocess.run([ptxas, "-c", "-arch=sm_80", tmp_path / "a.ptx", "-o", tmp_path / "a.cubin"], check=True)
    image = (tmp_path / "a.cubin").read_bytes()
    expected = {"a": "(b32, b64) -> b32", "c": "() -> nothing"}
    assert prototypes(image, "visible") == nvjitlink.prototypes(text, "visible") == expected
    expected = {"b": "(b8[12], b64) -> b8[16]"}
    assert prototypes(image, "weak") == nvjitlink.prototypes(text, "weak") == expected


@inlines
def test_bitcode_whose_types_the_declaration_disagrees_with() -> None:
    @cl.extern("__nv_erfinvf", library=LIBDEVICE)
    def of_integers(x: i32) -> f32: ...  # type: ignore[empty-body]

    @cl.kernel(block=32)
    def kernel(x: Tensor[f32, (32,)]) -> None:
        x[0] = of_integers(3)

    with pytest.raises(CompileError, match=r"(?s)integers\(3\).* declared as float \(i32\), and is float \(float\) "):
        kernel.compile()


@inlines
def test_bitcode_is_inlined_and_the_rest_of_it_left_out() -> None:
    ptx = fresh(inverts).compile().ptx
    assert "call" not in ptx and ".func" not in ptx
    assert "lg2.approx" in ptx and len(ptx) < 4000
    with pytest.raises(CompileError, match=r"the simulator cannot execute __nv_erfinvf\(\), which is linked"):
        inverts[1](np.zeros(32, np.float32))


@links
def test_libraries_of_a_kernel_are_an_option() -> None:
    @cl.extern()
    def scale(x: f32, out: cl.Pointer[f32]) -> f32: ...  # type: ignore[empty-body]

    @cl.kernel(block=32)
    def kernel(x: Tensor[f32, (32,)]) -> None:
        x[0] = scale(x[1], x)

    with pytest.raises(CompileError, match=r"(?s)scale\(x\[1\], x\).*of `cl.extern` and `link_libraries` is missing"):
        kernel.compile(assembler="nvjitlink")
    assert kernel.compile(link_libraries=SCALE).registers > 0


def test_what_cannot_be_linked(tmp_path: Path) -> None:
    for path, message in (("none.a", "No such file"), (str(tmp_path), "a library must end in one of .bc, .ptx")):
        with pytest.raises(ToolchainError, match=message):
            fresh(scales).compile(link_libraries=path)
    names = ("wrong.cubin", "wrong.ptx", "empty.cubin", "empty.ptx", "empty.a")
    for name in ("wrong.bc", *(() if nvjitlink.missing() else names)):
        wrong = tmp_path / name
        wrong.write_bytes(b"" if name.startswith("empty") else b"BC no bitcode")
        for kernel in (scales, add):  # which calls something, and which does not
            with pytest.raises(ToolchainError, match=f"(?s)^link: .*{name}"):
                fresh(kernel).compile(link_libraries=str(wrong))


@links
@pytest.mark.skipif(not find.ptxas(), reason="needs ptxas")
def test_machine_code_for_other_gpus_is_told(tmp_path: Path) -> None:
    (tmp_path / "scale.ptx").write_text(re.sub("sm_[0-9a-f]+", "sm_80", SCALE.read_text()))
    file, ptxas = tmp_path / "scale.cubin", str(find.ptxas())
    subprocess.run([ptxas, "-c", "-arch=sm_80", str(tmp_path / "scale.ptx"), "-o", str(file)], check=True)
    with pytest.raises(ToolchainError, match=r"machine code for sm_80, and the kernel is for sm_90a"):
        fresh(scales).compile(arch="sm_90a", link_libraries=str(file))


@links
def test_a_library_that_changes_is_compiled_anew(tmp_path: Path) -> None:
    file = tmp_path / "scale.ptx"
    text = SCALE.read_text()
    file.write_text(text)

    @cl.kernel(block=32)
    def kernel(x: Tensor[f32, (1,)]) -> None:
        x[0] = 1

    linked = [kernel.options(link_libraries=str(file)) for _ in range(3)]
    assert not linked[0].compile().cached
    assert linked[1].compile().cached
    file.write_text(text + "// more\n")
    assert not linked[2].compile().cached


@pytest.mark.parametrize(
    ("called", "said"),
    [
        (lambda x, y: scale(y[0], x), r"scale\(\) takes f32 for `x`, not a run-time i32"),
        (lambda x, y: scale(1, y), r"scale\(\) takes an address of f32 for `out`, not a run-time tensor<i32"),
        (lambda x, y: scale(1, 2), r"scale\(\) takes an address of f32 for `out`, not 2"),
        (lambda x, y: scale(1, x, x), r"scale\(\) takes 2 arguments, but 3 were given"),
        (lambda x, y: scale(1, x=x), r"scale\(\) got two values for `x`"),
        (lambda x, y: scale(1, to=x), r"scale\(\) has no parameter `to`"),
        (lambda x, y: scale(out=x), r"scale\(\) lacks the argument `x`"),
    ],
)
def test_arguments_are_checked(called: Any, said: str) -> None:
    @cl.kernel(block=1)
    def kernel(x: Tensor[f32, (1,)], y: Tensor[i32, (1,)]) -> None:
        x[0] = called(x, y)

    with pytest.raises(CompileError, match=said):
        kernel.compile()
    with pytest.raises(CompileError, match=said):
        kernel[1](np.zeros(1, np.float32), np.zeros(1, np.int32))


def test_arguments_by_name_and_defaults() -> None:
    @cl.extern()
    def scaled(x: f32, by: f32 = THREE) -> f32:
        return x * by

    @cl.kernel(block=1)
    def kernel(x: Tensor[f32, (2,)]) -> None:
        x[0], x[1] = scaled(by=2, x=x[0]), scaled(x[0])

    x = np.full(2, 5, np.float32)
    kernel[1](x)
    assert x.tolist() == [10, 15]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("def f(x: f32) -> str: ...", "returns a number of a dtype"),
        ("def f(x) -> f32: ...", "has a parameter `x`; each is annotated with a dtype, or an address"),
        ("def f(*x: f32) -> f32: ...", r"has a parameter `\*x: "),
        ("f = 3", "cl.extern declares a Python function, not 3"),
    ],
)
def test_declarations_that_are_refused(function: str, said: str) -> None:
    names: dict[str, Any] = {"f32": f32}
    exec(function, names)
    with pytest.raises(TypeError, match=said):
        cl.extern()(names["f"])
    for name in (test_declarations_that_are_refused, "a b", "", "é", 3):
        with pytest.raises(TypeError, match=r"cl\.extern takes the name of a symbol, not "):
            cl.extern(name)  # type: ignore[arg-type]


@cl.kernel(block=32)
def permutes(x: Tensor[i32, (32,)]) -> None:
    i = cl.thread_idx.x
    x[i] = cl.inline_ptx("shl.b32 $out, $a, $n;", i32, a=x[i], n=i32(2), meaning=lambda a, n: a << n)
    low, high = cl.inline_ptx("{ mov.b32 $out0, $a; mov.b32 $out1, $a; }", (i32, i32), a=x[i], meaning=lambda a: (a, a))
    x[i] = low + high


def _meant(meaning: Any) -> Any:
    def kernel(x: Tensor[i32, (1,)]) -> None:
        x[0] = cl.inline_ptx("mov.b32 $out, $a;", i32, a=x[0], meaning=meaning)

    return kernel


def test_inline_ptx_with_a_meaning_is_simulated() -> None:
    x = np.arange(32, dtype=np.int32)
    permutes[1](x)
    assert x.tolist() == [8 * i for i in range(32)]
    assert permutes.compile().ptx.count("shl.b32") == 1

    @cl.kernel(block=1)
    def wrong(x: Tensor[i32, (1,)]) -> None:
        x[0] = cl.inline_ptx("mov.b32 $out, $a;", i32, a=x[0], meaning=lambda a: (a, a))

    with pytest.raises(CompileError, match="the meaning of this PTX gives"):
        wrong[1](np.zeros(1, np.int32))

    for meaning, said in (
        (lambda a: a.to(f32), "this PTX gives i32, not a run-time f32"),
        (lambda a: 2.5, "the literal 2.5 does not fit i32"),
        (lambda a: 2**31, "the literal 2147483648 does not fit i32"),
    ):
        converts = cl.kernel(block=1)(_meant(meaning))
        with pytest.raises(CompileError, match=said):
            converts[1](np.zeros(1, np.int32))

    @cl.kernel(block=1)
    def unused(x: Tensor[i32, (1,)]) -> None:
        x[0] = cl.inline_ptx("mov.b32 $out, $a;", i32, a=x[0], b=x[0], meaning=lambda a, b: a)

    with pytest.raises(CompileError, match="the template does not use `\\$b`"):
        unused[1](np.zeros(1, np.int32))


def capped(x: f32, times: i32, out: cl.Pointer[f32]) -> f32:
    if x > 8.0:
        return 8.0  # type: ignore[return-value]
    for i in range(times):
        out[i] = x
    return x * 2


@links
def test_a_device_function_is_linked_again(tmp_path: Path, ptxas: str) -> None:
    made = cl.device_function(capped, name="capped_at_8")
    assert ".visible .func  (.param .b32 func_retval0) capped_at_8(" in made.ptx
    assert 'extern "C" __device__ float capped_at_8(float x, int times, float *out);' in made.header
    paths = made.save(tmp_path)
    assert [Path(path).name for path in paths] == ["capped_at_8.ptx", "capped_at_8.cubin", "capped_at_8.h"]
    for library in paths[:2]:

        @cl.extern("capped_at_8", library=library)
        def linked(x: f32, times: i32, out: cl.Pointer[f32]) -> f32:
            return capped(x, times, out)

        @cl.kernel(block=32)
        def kernel(x: Tensor[f32, (32,)], y: Tensor[f32, (32,)]) -> None:
            x[0] = linked(x[1], i32(4), y)

        assert b"capped_at_8" in kernel.compile().cubin
        x, y = np.full(32, 3, np.float32), np.zeros(32, np.float32)
        kernel[1](x, y)
        assert x[0] == 6 and y[:5].tolist() == [3, 3, 3, 3, 0]


def test_device_functions_without_results_and_of_any_block() -> None:
    def put(out: cl.Pointer[cl.bf16], double: f32) -> None:
        out[cl.linear_thread_idx()] = double.to(cl.bf16)

    made = cl.device_function(put, arch="sm_80", opt=1)
    assert "%ntid.x" in made.ptx and ".target sm_80" in made.ptx and "(void *out, float double_);" in made.header
    with pytest.raises(TypeError, match="the name of a symbol of C, not 'double'"):
        cl.device_function(put, name="double")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: x, "`x` is without an annotation"),
        (scale, "device_function takes a Python function, not <extern scale>"),
        (scales, "device_function takes a Python function"),
    ],
)
def test_what_is_no_device_function(function: Any, said: str) -> None:
    with pytest.raises((CompileError, TypeError), match=said):
        cl.device_function(function)


def test_annotations_that_device_functions_cannot_have() -> None:
    def of_tensors(x: Tensor[f32, (32,)]) -> None: ...

    def of_halves(x: cl.f16) -> None: ...

    def gives_text(x: f32) -> str: ...  # type: ignore[empty-body]

    def gives_less(x: f32) -> i32:
        return x

    def gives_nothing(x: f32) -> None:
        return x  # type: ignore[return-value]

    def shares(x: f32) -> f32:
        part = cl.shared(f32, (1,))
        part[0] = x
        return part[0]

    for function, said in (
        (of_tensors, r"`x` is Tensor\[f32, \(32,\)\]"),
        (of_halves, "`x` is "),
        (gives_text, "it returns <class 'str'>"),
        (gives_less, "the function returns i32"),
        (gives_nothing, "a function returns nothing"),
        (shares, "has shared memory of its own, which only kernels have"),
    ):
        with pytest.raises(CompileError, match=said):
            cl.device_function(function)
    with pytest.raises(TypeError, match="device_function has no option 'optt'"):
        cl.device_function(capped, optt=1)
