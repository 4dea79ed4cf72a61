"""LLVM IR -> PTX by libNVVM: the translation to LLVM 7, and equal kernels from both backends."""

import ctypes
import itertools
import re
from collections.abc import Callable

import pytest

from cutelite.target import Target
from cutelite.toolchain import ToolchainError, host, nvvm, nvvm7, to_cubin, to_ptx
from cutelite_rt.launcher import image

needs_nvvm = pytest.mark.skipif(not nvvm.available(), reason="needs libNVVM")

PARAMS = (
    "ptr addrspace(1) noundef align 16 %0, float noundef %1, half noundef %2, bfloat noundef %3, i32 noundef %4, "
    "i64 noundef %5, double noundef %6, i8 noundef %7, i32 noundef range(i32 0, 2147418112) %8, i16 noundef %9"
)
ATTRIBUTES = 'nounwind convergent norecurse "nvvm.reqntid"="128,1,1" "nvvm.minctasm"="1"'


def kernel(*lines: str, params: str = PARAMS, attributes: str = ATTRIBUTES, outside: str = "") -> str:
    return "\n".join(
        [
            'target triple = "nvptx64-nvidia-cuda"',
            outside,
            f"define ptx_kernel void @k({params}) #0 {{",
            "entry:",
            *(f"  {line}" for line in lines),
            "  ret void",
            "}",
            f"attributes #0 = {{ {attributes} }}",
            "attributes #1 = { nounwind }",
            "attributes #3 = { nounwind memory(none) }",
            "",
        ]
    )


def stored(t: str, *lines: str) -> tuple[str, ...]:
    """`lines`, and a store of the `%x` of type `t` that they make."""
    return (*lines, f"store {t} %x, ptr addrspace(1) %0, align 16")


PAIR = ("%a = insertelement <2 x {0}> poison, {0} {1}, i32 0", "%b = insertelement <2 x {0}> %a, {0} {1}, i32 1")
HALVES, BRAINS = ([line.format(t, v) for line in PAIR] for t, v in (("half", "%2"), ("bfloat", "%3")))
BODIES: dict[str, tuple[str, ...]] = {
    "load": stored("float", "%x = load float, ptr addrspace(1) %0, align 4"),
    "load volatile": stored("i8", "%x = load volatile i8, ptr addrspace(1) %0, align 1"),
    "load vector": stored("<4 x float>", "%x = load <4 x float>, ptr addrspace(1) %0, align 16"),
    "load bfloats": stored("<8 x bfloat>", "%x = load <8 x bfloat>, ptr addrspace(1) %0, align 16"),
    "store constant": ("store bfloat 0xR3F80, ptr addrspace(1) %0, align 2",),
    "getelementptr": ("%p = getelementptr i8, ptr addrspace(1) %0, i64 %5", "store i8 0, ptr addrspace(1) %p, align 1"),
    "shared": ("%p = getelementptr i8, ptr addrspace(3) @smem, i32 64", "store i32 %4, ptr addrspace(3) %p, align 4"),
    "shared base": ("store i32 %4, ptr addrspace(3) @smem, align 4",),
    "text": stored(
        "i32", "%x = call i32 @vprintf(ptr addrspacecast (ptr addrspace(1) @text to ptr), ptr null)"
    ),
    "local": stored(
        "float",
        "%a = alloca [64 x i8], align 4",
        "%l = addrspacecast ptr %a to ptr addrspace(5)",
        "%o = and i32 %4, 60",
        "%p = getelementptr i8, ptr addrspace(5) %l, i32 %o",
        "store float %1, ptr addrspace(5) %p, align 4",
        "%x = load float, ptr addrspace(5) %p, align 4",
    ),
    "predicate to asm": stored(
        "i32", "%c = icmp sgt i32 %4, 3", '%x = call i32 asm "selp.s32 $0, 1, 0, $1;", "=r,b"(i1 %c) #3'
    ),
    "half to asm": stored("half", '%x = call half asm "add.f16 $0, $1, $1;", "=h,h"(half %2) #3'),
    "bfloat to asm": stored("bfloat", '%x = call bfloat asm "abs.bf16 $0, $1;", "=h,h"(bfloat %3) #3'),
    "pointer to asm": ('call void asm sideeffect "prefetch.global.L2 [$0];", "l"(ptr addrspace(1) %0) #1',),
    "asm with quotes": ('call void asm sideeffect "// \\22ptr\\22 %0 poison", ""() #1',),
    "special": stored("i32", "%x = call range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x()"),
    "fneg": stored("float", "%x = fneg float %1"),
    "fneg halves": stored("<2 x half>", *HALVES, "%x = fneg <2 x half> %b"),
    "poison": stored("<2 x half>", *HALVES, "%x = fadd contract <2 x half> %b, %b"),
    "fma halves": stored(
        "<2 x half>", *HALVES, "%x = call <2 x half> @llvm.fma.v2f16(<2 x half> %b, <2 x half> %b, <2 x half> %b)"
    ),
    "sqrt": stored("double", "%x = call double @llvm.sqrt.f64(double %6)"),
    "minnum": stored("float", "%x = call float @llvm.minnum.f32(float %1, float 0x3FF0000000000000)"),
    "minimum": stored("float", "%x = call float @llvm.minimum.f32(float %1, float %1)"),
    "minimum of halves": stored(
        "<2 x half>", *HALVES, "%x = call <2 x half> @llvm.minimum.v2f16(<2 x half> %b, <2 x half> %b)"
    ),
    "maximum of bfloat": stored("bfloat", "%x = call bfloat @llvm.maximum.bf16(bfloat %3, bfloat 0xR3F80)"),
    "maximum of f64": stored("double", "%x = call double @llvm.maximum.f64(double %6, double %6)"),
    "bits": stored("i32", "%x = call i32 @llvm.bitreverse.i32(i32 %4)"),
    "clz": stored("i64", "%x = call i64 @llvm.ctlz.i64(i64 %5, i1 false)"),
    "abs": stored("i32", "%x = call i32 @llvm.abs.i32(i32 %4, i1 false)"),
    "bfloat fadd": stored("bfloat", "%x = fadd contract bfloat %3, 0xR3F80"),
    "bfloat fneg": stored("bfloat", "%x = fneg bfloat %3"),
    "bfloat fcmp": stored("i32", "%c = fcmp olt bfloat %3, 0xR0000", "%x = zext i1 %c to i32"),
    "bfloat maxnum": stored("bfloat", "%x = call bfloat @llvm.maxnum.bf16(bfloat %3, bfloat 0.0)"),
    "bfloat fma": stored("bfloat", "%x = call bfloat @llvm.fma.bf16(bfloat %3, bfloat 0xR4000, bfloat %3)"),
    "bfloats fma": stored(
        "<2 x bfloat>", *BRAINS,
        "%x = call <2 x bfloat> @llvm.fma.v2bf16(<2 x bfloat> %b, <2 x bfloat> %b, <2 x bfloat> %b)",
    ),
    "bfloats fmul": stored("<2 x bfloat>", *BRAINS, "%x = fmul contract <2 x bfloat> %b, %b"),
    "bfloats fneg": stored("<2 x bfloat>", *BRAINS, "%x = fneg <2 x bfloat> %b"),
    "bfloats fabs": stored("<2 x bfloat>", *BRAINS, "%x = call <2 x bfloat> @llvm.fabs.v2bf16(<2 x bfloat> %b)"),
    "bfloats as bits": stored("i32", *BRAINS, "%x = bitcast <2 x bfloat> %b to i32"),
    "bfloat select": stored("bfloat", "%c = icmp eq i32 %4, 0", "%x = select i1 %c, bfloat %3, bfloat 0xR3F80"),
    "bfloat extended": stored("float", "%x = fpext bfloat %3 to float"),
    "bfloat extended to f64": stored("double", "%x = fpext bfloat %3 to double"),
    "bfloat rounded": stored("bfloat", "%x = fptrunc float %1 to bfloat"),
    "bool": stored("i8", "%c = icmp ne i8 %7, 0", "%x = zext i1 %c to i8"),
}  # fmt: skip
OUTSIDE = (
    "@smem = external addrspace(3) global [0 x i8], align 1024\n"
    '@text = private unnamed_addr addrspace(1) constant [3 x i8] c"hi\\00"\n'
    "declare i32 @vprintf(ptr, ptr)"
)


BRANCH = """\
  %c = icmp slt i32 %4, %8
  br i1 %c, label %b1, label %b2, !llvm.loop !0
b1:
  store i32 %4, ptr addrspace(1) %0, align 4
  br label %b2
b2:
  %x = phi bfloat [ %3, %entry ], [ 0xR3F80, %b1 ]
  store bfloat %x, ptr addrspace(1) %0, align 2"""


@needs_nvvm
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", BODIES)
def test_both_backends_take_it(name: str, arch: str, ptxas: str) -> None:
    target = Target.parse(arch)
    for backend in ("llvm", "nvvm"):
        to_cubin(to_ptx(kernel(*BODIES[name], outside=OUTSIDE), target, backend=backend), target, opt_level=0)


@needs_nvvm
def test_blocks_and_phis(ptxas: str, hopper: Target) -> None:
    text = kernel(BRANCH) + "!0 = distinct !{!0}\n"
    for backend in ("llvm", "nvvm"):
        assert "bra" in to_ptx(text, hopper, backend=backend)


@needs_nvvm
@pytest.mark.parametrize("lines", [
    stored("bfloat", "%x = sitofp i32 %4 to bfloat"),
    stored("bfloat", "%x = uitofp i16 %9 to bfloat"),
    stored("bfloat", "%x = fptrunc double %6 to bfloat"),
    ("%p = inttoptr i32 %4 to ptr addrspace(7)", "store i32 %4, ptr addrspace(7) %p, align 4"),
    stored("i32", "%x = call range(i32 1, 9) i32 @llvm.nvvm.read.ptx.sreg.cluster.nctaid.x()"),
])  # fmt: skip
def test_what_hopper_has_besides(lines: tuple[str, ...], ptxas: str, hopper: Target) -> None:
    to_cubin(nvvm.to_ptx(kernel(*lines), hopper), hopper, opt_level=0)


def test_what_ampere_has_no_instruction_for_is_refused() -> None:
    with pytest.raises(ToolchainError, match="sitofp i32 %v4 to bfloat"):
        nvvm7.translate(kernel(*stored("bfloat", "%x = sitofp i32 %4 to bfloat")), Target.parse("sm_80"))


DIRECTIVES = re.compile(
    r"^\.(?:reqntid|maxntid|minnctapersm|maxnreg|explicitcluster|reqnctapercluster).*", re.MULTILINE
)


@needs_nvvm
def test_the_limits_of_a_kernel_are_the_same(hopper: Target) -> None:
    attributes = 'nounwind "nvvm.reqntid"="64,2,1" "nvvm.maxnreg"="168" "nvvm.cluster_dim"="2,1,1"'
    texts = [to_ptx(kernel(attributes=attributes), hopper, backend=backend) for backend in ("llvm", "nvvm")]
    expected = {".reqntid 64, 2, 1", ".maxnreg 168", ".explicitcluster", ".reqnctapercluster 2, 1, 1"}
    assert [set(DIRECTIVES.findall(ptx)) for ptx in texts] == [expected, expected]


@needs_nvvm
def test_a_tensor_map_stays_a_parameter(hopper: Target) -> None:
    params = 'i32 %0, ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %1'
    ptx = nvvm.to_ptx(
        kernel('call void asm sideeffect "prefetch.tensormap [$0];", "l,~{memory}"(ptr %1) #1', params=params), hopper
    )
    assert ".param .align 64 .b8 k_param_1[128]" in ptx
    assert ".local" not in ptx
    assert "cvta.param" in ptx


@needs_nvvm
def test_only_what_may_fuse_is_fused(hopper: Target) -> None:
    for word, fused in (("contract ", True), ("", False)):
        lines = stored("float", f"%m = fmul {word}float %1, %1", f"%x = fadd {word}float %m, %1")
        assert ("fma.rn.f32" in nvvm.to_ptx(kernel(*lines), hopper)) is fused


@needs_nvvm
def test_an_intrinsic_it_lacks_is_named(hopper: Target) -> None:
    lines = stored("float", "%x = call float @llvm.roundeven.f32(float %1)")
    with pytest.raises(ToolchainError, match=r"libNVVM has no intrinsic llvm\.roundeven\.f32 for sm_90a"):
        nvvm.to_ptx(kernel(*lines), hopper)


@needs_nvvm
def test_text_it_cannot_parse_is_shown(hopper: Target) -> None:
    with pytest.raises(ToolchainError) as caught:
        nvvm.to_ptx(kernel("%x = frobnicate i32 %4"), hopper)
    assert "%x = frobnicate i32 %v4" in caught.value.excerpt


@needs_nvvm
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_source_lines_stay(arch: str) -> None:
    nodes = (
        '!0 = !DIFile(filename: "user.py", directory: "")\n'
        "!1 = distinct !DICompileUnit(language: DW_LANG_Python, file: !0, emissionKind: DebugDirectivesOnly)\n"
        "!2 = !{}\n!3 = !DISubroutineType(types: !2)\n"
        '!4 = distinct !DISubprogram(name: "k", scope: !0, file: !0, line: 1, type: !3, unit: !1, '
        "spFlags: DISPFlagDefinition)\n"
        "!5 = !DILocation(line: 41, column: 7, scope: !4)\n"
        '!llvm.dbg.cu = !{!1}\n!llvm.module.flags = !{!6}\n!6 = !{i32 2, !"Debug Info Version", i32 3}\n'
    )
    module = kernel("store i32 %4, ptr addrspace(1) %0, align 4, !dbg !5") + nodes
    ptx = nvvm.to_ptx(module.replace(") #0 {", ") #0 !dbg !4 {"), Target.parse(arch))
    assert re.search(r"\.loc\s+1 41 7", ptx)
    assert "user.py" in ptx


def compiled(body: list[str], t: str) -> Callable[[int, int], int]:
    """Return straight-line integer code, which computes `%x` from `%a` and `%b`, as a function on this CPU."""
    code = host.to_image("\n".join([f"define {t} @f({t} %a, {t} %b) {{", *body, f"  ret {t} %x", "}"]), ("f", "f"))
    number = {8: ctypes.c_int8, 16: ctypes.c_int16, 32: ctypes.c_int32, 64: ctypes.c_int64}[int(t[1:])]
    return ctypes.CFUNCTYPE(number, number, number)(image.Machine.of(code).launch)


@pytest.mark.parametrize("bits", [8, 32, 64])
@pytest.mark.parametrize(
    "word", ["smin", "smax", "umin", "umax", "abs", "sadd.sat", "uadd.sat", "ssub.sat", "usub.sat"]
)
def test_integer_operations_mean_the_same(word: str, bits: int) -> None:
    t = f"i{bits}"
    args = f"{t} %a, i1 false" if word == "abs" else f"{t} %a, {t} %b"
    today = f"  %x = call {t} @llvm.{word}.{t}({args})"
    module = nvvm7._Module("", Target.parse("sm_90a"))
    then = list(module._instruction(today))
    assert "@llvm" not in "".join(then)
    edges = (0, 1, -1, 5, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    expected, found = compiled([today], t), compiled(then, t)
    for a, b in itertools.product(edges, edges):
        assert expected(a, b) == found(a, b), (a, b)
