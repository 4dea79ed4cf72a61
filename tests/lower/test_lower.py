"""LLVM IR text: the kernel's interface and attributes, loops, line information, and ops that cannot be lowered."""

import re
import time
from pathlib import Path

import pytest

import cutelite.ops  # noqa: F401  # registers the ops
from cutelite import lower, passes, toolchain
from cutelite.diag import InternalError, Span
from cutelite.ir.function import Function
from cutelite.target import Target
from cutelite.toolchain.cubin import sections
from tests.golden.cases import Case, paths
from tests.ir.parser import parse_function

HOPPER = Target.parse("sm_90a")


def llvm(text: str, line_info: bool = False) -> str:
    return lower.to_llvm(final(parse_function(text, "kernel.cir")), HOPPER, line_info)


def final(function: Function) -> Function:
    return passes.run(passes.PIPELINE, function, passes.Context(HOPPER))


def test_the_interface_of_a_kernel() -> None:
    text = llvm(
        """func @k[dims M: i32, N: i64](%a: tensor<bf16,gmem,(M,N):(N,1),16>, %p: bool, %h: f16, %e: e4m3,
                   %m: tensormap<bf16,(64,64):(64,1),(64,64),128B>, %q: ptr<gmem,4>) { ret }"""
    )
    (signature,) = re.findall(r"define ptx_kernel void @k\((.*)\) #0 \{", text)
    assert [part.strip() for part in re.split(r", (?=ptr|i\d|half)", signature)] == [
        "ptr addrspace(1) noundef align 16 %0",
        "i8 noundef %1",
        "half noundef %2",
        "i8 noundef %3",
        'ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %4',
        "ptr addrspace(1) noundef align 4 %5",
        "i32 noundef range(i32 0, 2147418113) %6",
        "i64 noundef range(i64 0, -9223372036854775808) %7",
    ]


@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        ("", []),
        ("block=(384,1,1)", ['"nvvm.reqntid"="384,1,1"', '"nvvm.minctasm"="1"']),
        ("block=(32,4,1), min_blocks=2", ['"nvvm.reqntid"="32,4,1"', '"nvvm.minctasm"="2"']),
        ("cluster=(2,1,1)", ['"nvvm.cluster_dim"="2,1,1"']),
        ("max_registers=64", ['"nvvm.maxnreg"="64"']),
    ],
)
def test_launch_bounds(attrs: str, expected: list[str]) -> None:
    text = llvm(f"func @k() attrs {{{attrs}}} {{ ret }}")
    (found,) = re.findall(r"attributes #0 = \{ (.*) \}", text)
    assert re.findall(r'"nvvm\.\w+"="[^"]*"', found) == expected


def test_loops_are_not_unrolled_and_each_is_itself() -> None:
    text = llvm(
        """func @k(%n: i32, %p: bool) {
          %c = const value=0, type=i32
          br to=^a(%c)
        ^a(%i: i32):
          %j = add a=%i, b=%n
          nanosleep ns=%n
          cond_br cond=%p, then=^a(%j), other=^b
        ^b:
          nanosleep ns=%j
          cond_br cond=%p, then=^b, other=^end
        ^end:
          ret
        }"""
    )
    assert len(set(re.findall(r"!llvm\.loop (!\d+)", text))) == 2
    assert '!0 = !{!"llvm.loop.unroll.disable"}' in text
    assert re.search(r"!1 = distinct !\{!1, !0\}", text)


def test_fusing_is_allowed_unless_fmad_is_off() -> None:
    body = "(%a: f32, %o: ptr<gmem,4>) %s{ %b = mul a=%a, b=%a st p=%o, a=%b ret }"
    assert "fmul contract " in llvm("func @k" + body.replace("%s", ""))
    assert "contract" not in llvm("func @k" + body.replace("%s", "attrs {fmad=False} "))


def test_shared_memory_is_one_external_array() -> None:
    text = llvm(
        """func @k() {
          %a = smem.alloc type=tensor<f32,smem,64:1,16>
          %b = smem.alloc type=tensor<bf16,smem,(8,64):(64,1),1024>
          %z = const value=0, type=i32
          %x = tensor.load t=%a, coord=(%z)
          tensor.store t=%a, coord=(%z), a=%x
          %y = tensor.load t=%b, coord=(%z)
          tensor.store t=%b, coord=(%z), a=%y
          ret
        }"""
    )
    assert "@smem = external addrspace(3) global [0 x i8], align 1024" in text
    assert re.findall(r"getelementptr i8, ptr addrspace\(3\) @smem, i32 (\d+)", text) == ["1024", "0"]


def test_source_lines_and_the_calls_they_were_inlined_through() -> None:
    function = parse_function("func @k(%a: f32, %o: ptr<gmem,4>) { %b = neg a=%a %c = abs a=%b st p=%o, a=%c ret }")
    call = Span("kernel.py", 41, 4, function="k")
    spans = [call, Span("/lib/helper.py", 7, 8, function="helper", caller=call), call, call]
    for op, span in zip(function.entry.ops, spans, strict=True):
        op.span = span
    text = lower.to_llvm(final(function), HOPPER, line_info=True)
    ptx = toolchain.to_ptx(text, HOPPER)
    assert re.search(r"\.loc\s+\d+ 41 5", ptx)
    called = re.search(r"\.loc\s+(\d+) 7 9, function_name (\S+), inlined_at (\d+) 41 5", ptx)
    assert called
    assert f'.file\t{called[1]} "/lib/helper.py"' in ptx and f'.file\t{called[3]} "kernel.py"' in ptx
    name = re.search(rf"{re.escape(called[2])}:\s+\.b8 ([\d,]+)", ptx)
    assert name and bytes(map(int, name[1].split(","))) == b"helper\0"
    assert "!dbg" not in lower.to_llvm(final(function), HOPPER)


def test_an_op_without_a_spelling_is_a_bug_of_ours() -> None:
    function = parse_function("func @k(%a: tensor<f32,gmem,4:1,16>) {\n  %v = tensor.load_all t=%a\n  ret\n}", "k.cir")
    with pytest.raises(InternalError, match=r"tensor\.load_all has neither `llvm` nor `ptx`") as caught:
        lower.to_llvm(function, HOPPER)
    assert caught.value.stage == "lower"
    assert caught.value.span is not None


def test_the_text_is_the_same_every_time() -> None:
    text = """func @k[dims M: i32](%a: tensor<f32,gmem,(M,4):(4,1),16>, %i: i32) {
      %v = tensor.load t=%a, coord=(%i) tensor.store t=%a, coord=(%i), a=%v ret }"""
    assert llvm(text) == llvm(text)


def test_a_second_way_in_behind_loops_costs_nothing(monkeypatch: pytest.MonkeyPatch, ptxas: str) -> None:
    """Where there are many loops, here more than one: LLVM takes less time then, and machine code is not longer."""
    loop = """
      br to=^head{0}(%x{0}, %c)
    ^head{0}(%s{0}: i32, %i{0}: i32):
      %more{0} = cmp predicate="lt", a=%i{0}, b=%n
      cond_br cond=%more{0}, then=^body{0}, other=^on{0}(%s{0})
    ^body{0}:
      %y{0} = mul a=%s{0}, b=%s{0}
      %next{0} = add a=%i{0}, b=%one
      br to=^head{0}(%y{0}, %next{0})
    ^on{0}(%x{1}: i32):
    """
    loops = "".join(loop.format(i, i + 1) for i in range(3))
    function = final(
        parse_function(
            "func @k(%out: tensor<i32,gmem,64:1,16>, %n: i32, %x0: i32) { %c = const value=0, type=i32"
            f" %one = const value=1, type=i32 {loops} tensor.store t=%out, coord=(%c), a=%x3 ret }}"
        )
    )
    texts = [lower.to_llvm(function, HOPPER)]
    monkeypatch.setattr("cutelite.lower.function.MANY_LOOPS", 1)
    monkeypatch.setattr("cutelite.lower.function.CUT", 1)
    texts.append(lower.to_llvm(function, HOPPER))
    assert [text.count("_aside:") for text in texts] == [0, 3]
    images = [toolchain.to_cubin(toolchain.to_ptx(text, HOPPER), HOPPER).image for text in texts]
    plain, cut = (next(n for name, _, n in sections(image) if name == ".text.k") for image in images)
    assert cut <= plain


def test_time_is_linear_in_ops() -> None:
    def seconds(count: int) -> float:
        lines = [f"%v{i + 1} = add a=%v{i}, b=%v0" for i in range(count)]
        lines += [f"tensor.store t=%out, coord=(%v0), a=%v{i}" for i in range(0, count, 4)]
        text = "func @k(%out: tensor<i32,gmem,64:1,16>, %v0: i32) { " + "\n".join(lines) + " ret }"
        function = parse_function(text)
        start = time.process_time()
        lower.to_llvm(final(function), HOPPER)
        return time.process_time() - start

    assert any(seconds(3000) < 20 * seconds(300) for _ in range(3))  # 10 if nothing else ran; a square would be 100


@pytest.mark.parametrize("path", paths("ops"), ids=lambda path: path.stem)
def test_values_are_numbered_in_the_order_of_their_definitions(path: Path) -> None:
    """They are numbered without a gap, as older LLVMs (libNVVM's) demand."""
    text = llvm(Case.read(path).source)
    body = text[text.index("define ptx_kernel") :]
    params = re.findall(r"%(\d+)(?=[,)])", body[: body.index("{\n")])
    numbers = [int(n) for n in params + re.findall(r"^  %(\d+) = ", body, re.MULTILINE)]
    assert numbers == list(range(len(numbers)))


@pytest.mark.parametrize(
    ("t", "n", "expected"),
    [
        ("e4m3", 8, ["i32"] * 2),
        ("u8", 7, ["i32", "i16", "i8"]),
        ("bool", 4, ["i1"] * 4),
        ("bf16", 3, ["i32", "bfloat"]),
    ],
)
def test_numbers_narrower_than_a_register_share_it_where_paths_meet(t: str, n: int, expected: list[str]) -> None:
    text = llvm(
        f"""func @k(%p: bool, %a: {t}, %b: {t}, %out: ptr<gmem,8>) {{
          %x = vec.splat a=%a, n={n}
          cond_br cond=%p, then=^end(%x), other=^more
        ^more:
          %y = vec.splat a=%b, n={n}
          br to=^end(%y)
        ^end(%z: vec<{t},{n}>):
          %s = vec.gather a=%z, picks=({n - 1}), scalar=True : {t}
          st p=%out, a=%s
          ret
        }}"""
    )
    assert re.findall(r"= phi (\w+) ", text) == expected
    toolchain.to_ptx(text, HOPPER)


PRODUCT = """func @k(%out: ptr<gmem,16>, %d: u64, %yes: bool) attrs {{block=(128,1,1)}} {{
  %0 = const value=0.0, type={t} : {t}
  %1 = vec.splat a=%0, n=4 : vec<{t},4>
  %2 = wgmma.mma_async d=%1, a=%d, b=%d, accumulate=%yes, n=8, elem_a=f16, elem_b=f16, elem_d={t}, fence=True
    : {running}
  wgmma.commit_group
  {between}
  %3 = wgmma.wait_group n=0, values=(%2) : vec<{t},4>
  st p=%out, a=%3
  ret
}}"""


@pytest.mark.parametrize(("elem", "running"), [("f32", "inflight<vec<f32,4>>"), ("f16", "inflight<vec<f16,4>>")])
def test_products_and_the_wait_behind_them_are_one_piece_of_assembly(elem: str, running: str) -> None:
    def pieces(between: str = "", line_info: bool = False) -> list[str]:
        text = PRODUCT.format(t=elem, running=running, between=between)
        made = llvm(text, line_info)
        toolchain.to_ptx(made, HOPPER)
        return [re.sub(r"\{.*\}", "wgmma.mma_async", piece) for piece in re.findall(r'asm sideeffect "(.*?)"', made)]

    product, commit, wait = "wgmma.mma_async", "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"
    assert pieces() == [f"{product} {commit} {wait}"]
    assert pieces(line_info=True) == [product, commit, wait]  # each keeps its line
    fence = "fence.mbarrier_init.release.cluster;"
    assert pieces("fence.mbarrier_init") == [product, commit, fence, wait]


def test_equal_steps_along_k_that_are_waited_for_at_once_are_a_loop() -> None:
    def products(between: str = "", n: int = 256, steps: str = "((0,0),(32,32),(64,64),(96,96))") -> int:
        text = PRODUCT.format(t="f32", running=f"inflight<vec<f32,{n // 2}>>", between=between)
        text = text.replace("n=4", f"n={n // 2}").replace("n=8", f"n={n}, steps={steps}")
        text = text.replace("vec<f32,4>", f"vec<f32,{n // 2}>")
        text = text.replace("st p=%out, a=%3", "%4 = vec.gather a=%3, picks=(1), scalar=True : f32\n  st p=%out, a=%4")
        ptx = toolchain.to_ptx(llvm(text), HOPPER)
        said = toolchain.to_cubin(ptx, HOPPER).log
        assert "C75" not in said, said  # ptxas then waits for each product
        return len(re.findall("wgmma.mma_async", ptx))

    assert products() == 1
    assert products("fence.mbarrier_init") == 4
    assert products(n=128) == 4
    assert products(steps="((0,0),(32,32),(64,64),(1024,1024))") == 4


def test_a_wait_holds_the_operand_that_registers_pass_to_a_product() -> None:
    """LLVM would put the next operand into its registers, which the product may still read."""
    text = (
        PRODUCT.replace("%d: u64,", "%d: u64, %h: f16,")
        .replace("a=%d, b", "a=%4, b")
        .format(t="f32", running="inflight<vec<f32,4>>", between="fence.mbarrier_init")
    )
    text = text.replace("  %2 =", "  %4 = vec.splat a=%h, n=8 : vec<f16,8>\n  %2 =")
    text = text.replace("values=(%2)", "values=(%2), read=(%4)")
    made = llvm(text)
    (wait,) = re.findall(r'wait_group.*?", "([^"]*)"', made)
    assert wait == "=f,=f,=f,=f,r,r,r,r,0,1,2,3,~{memory}"
    joined = llvm(text.replace("fence.mbarrier_init", ""))
    assert len(re.findall(r'asm sideeffect "', joined)) == 1
    toolchain.to_ptx(made, HOPPER)


def test_vectors_of_no_elements_take_no_code() -> None:
    made = llvm(
        """func @k(%out: ptr<gmem,8>, %x: f32) {
          %v = vec.splat a=%x, n=2 : vec<f32,2>
          %none = vec.gather a=%v, picks=() : vec<f32,0>
          %zero = const value=0.0, type=f32 : f32
          %zeros = vec.splat a=%zero, n=0 : vec<f32,0>
          %products = mul a=%none, b=%zeros : vec<f32,0>
          %all = vec.make items=(%products, %v) : vec<f32,2>
          st p=%out, a=%all
          ret
        }"""
    )
    assert "fmul" not in made and made.count("store") == 1


@pytest.mark.parametrize("n", [64, 32])
def test_vectors_that_fill_the_registers_are_computed_a_few_elements_at_a_time(n: int) -> None:
    """The quotients of 64 elements begin when those are there that the first needs."""
    made = llvm(
        f"""func @k(%x: tensor<f32,gmem,{n}:1,16>) {{
          %v = tensor.load_all t=%x
          %a = mul a=%v, b=%v : vec<f32,{n}>
          %b = add a=%a, b=%v : vec<f32,{n}>
          %c = sub a=%a, b=%b : vec<f32,{n}>
          %front = vec.gather a=%c, picks=({", ".join(map(str, range(n // 2)))}) : vec<f32,{n // 2}>
          %back = vec.gather a=%b, picks=({", ".join(map(str, range(n // 2, n)))}) : vec<f32,{n // 2}>
          %sums = max a=%front, b=%back : vec<f32,{n // 2}>
          %s = vec.gather a=%sums, picks=(0), scalar=True : f32
          %all = vec.splat a=%s, n={n} : vec<f32,{n}>
          %d = div a=%c, b=%all : vec<f32,{n}>
          %e = div a=%d, b=%a : vec<f32,{n}>
          tensor.store_all t=%x, a=%d
          tensor.store_all t=%x, a=%e
          ret
        }}"""
    )
    ops = re.findall(r"= (fmul|fadd|fsub|fdiv|call float @llvm.max)", made)
    assert [ops.count(name) for name in ("fmul", "fadd", "fsub", "fdiv")] == [n, n, n, 2 * n]
    first = ops.index("fdiv")
    assert ops[:first].count("fmul") == (4 if n == 64 else n)  # two elements of the front, and two of the back
    toolchain.to_ptx(made, HOPPER)
