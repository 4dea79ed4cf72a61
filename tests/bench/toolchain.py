"""Costs of LLVM and ptxas, and of each choice in `cutelite.toolchain.llvm`: the tables of docs/lab/compile-time.md.

    python tests/bench/toolchain.py           every table, half a minute
    python tests/bench/toolchain.py VARIANT   one line of the first table as JSON; the above runs it for each,
                                              since LLVM's options hold for the life of a process

The LLVM IR is made here, in the form a frontend would give it, so that a figure does not move with the frontend.
"""

from __future__ import annotations

import functools
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from cutelite.target import Target
from cutelite.toolchain import bindings, disassemble, llvm, to_cubin, to_ptx
from cutelite.toolchain.undisturbed import parsed
from tests.bench.given import parser

HOPPER = Target.parse("sm_90a")
TID = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
FMA = "declare float @llvm.fma.f32(float, float, float)\n"
SMEM = "@smem = external addrspace(3) global [0 x i8], align 1024\n"


def vector_add() -> str:
    """c[i] = a[i] + b[i], for i < n."""
    return TID + (
        "define ptx_kernel void @add(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, i32 %n) "
        '"nvvm.reqntid"="256,1,1" {\n'
        "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %g = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
        "  %m = mul nsw i32 %g, 256\n  %i = add nsw i32 %m, %t\n  %in = icmp slt i32 %i, %n\n"
        "  br i1 %in, label %then, label %exit\nthen:\n"
        + "".join(f"  %p{v} = getelementptr float, ptr addrspace(1) %{v}, i32 %i\n" for v in "abc")
        + "".join(f"  %{v}v = load float, ptr addrspace(1) %p{v}, align 4\n" for v in "ab")
        + "  %s = fadd float %av, %bv\n  store float %s, ptr addrspace(1) %pc, align 4\n"
        "  br label %exit\nexit:\n  ret void\n}\n"
    )


def tiles(size: int = 8, steps: int = 8) -> str:
    """The inner loop of a matrix product from shared memory: size x size accumulators a thread, `steps` of k."""
    pairs = [(i, j) for i in range(size) for j in range(size)]
    lines = [
        TID + FMA + SMEM,
        'define ptx_kernel void @tiles(ptr addrspace(1) %c, i32 %k, i32 %n) "nvvm.reqntid"="256,1,1" {\nentry:',
        "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %x = and i32 %t, 15\n  %y = lshr i32 %t, 4",
        "  br label %loop",
        "loop:\n  %i = phi i32 [0, %entry], [%next, %loop]",
        *(f"  %acc{i}_{j} = phi float [0.0, %entry], [%s{steps - 1}_{i}_{j}, %loop]" for i, j in pairs),
    ]
    for k in range(steps):
        for name, axis, stride, base in (("a", "y", 16, k), ("b", "x", 1, 128 * k + 2048)):
            for i in range(size):
                v = f"{name}{k}_{i}"
                lines += [
                    f"  %q{v} = mul nsw i32 %{axis}, {size}\n  %r{v} = add nsw i32 %q{v}, {i}",
                    f"  %u{v} = mul nsw i32 %r{v}, {stride}\n  %w{v} = add nsw i32 %u{v}, {base}",
                    f"  %p{v} = getelementptr float, ptr addrspace(3) @smem, i32 %w{v}",
                    f"  %{v} = load float, ptr addrspace(3) %p{v}, align 4",
                ]
        for i, j in pairs:
            before = f"%s{k - 1}_{i}_{j}" if k else f"%acc{i}_{j}"
            lines.append(
                f"  %s{k}_{i}_{j} = call float @llvm.fma.f32(float %a{k}_{i}, float %b{k}_{j}, float {before})"
            )
    lines.append(
        "  %next = add nsw i32 %i, 8\n  %more = icmp slt i32 %next, %k\n  br i1 %more, label %loop, label %done\ndone:"
    )
    for i, j in pairs:
        v = f"{i}_{j}"
        lines += [
            f"  %e{v} = mul nsw i32 %y, {size}\n  %f{v} = add nsw i32 %e{v}, {i}\n  %g{v} = mul nsw i32 %f{v}, %n",
            f"  %h{v} = mul nsw i32 %x, {size}\n  %o{v} = add nsw i32 %g{v}, %h{v}\n  %z{v} = add nsw i32 %o{v}, {j}",
            f"  %d{v} = getelementptr float, ptr addrspace(1) %c, i32 %z{v}",
            f"  store float %s{steps - 1}_{v}, ptr addrspace(1) %d{v}, align 4",
        ]
    return "\n".join([*lines, "  ret void\n}\n"])


def wgmma(rolled: bool = True) -> str:
    """A loop of 4 wgmma m64n256k16 on one accumulator, and its store: the heart of a GEMM for Hopper.

    `rolled` marks the loop as not to be unrolled, which LLVM hands on to ptxas as `.pragma "nounroll"`.
    """
    count, steps = 128, 4
    mma = "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"
    struct = "{ " + ", ".join(["float"] * count) + " }"
    outs, ties = ",".join(["=f"] * count), ",".join(map(str, range(count)))
    registers = ", ".join(f"${i}" for i in range(count))

    def asm(text: str, result: str, before: list[str], constraints: str, operands: str) -> Iterator[str]:
        values = ", ".join(f"float {value}" for value in before)
        yield f'  %{result} = call {struct} asm sideeffect "{text}", "{outs},{ties}{constraints}"({values}{operands})'
        yield from (f"  %{result}_{i} = extractvalue {struct} %{result}, {i}" for i in range(count))

    mark = ", !llvm.loop !0" if rolled else ""
    lines = [
        TID + 'define ptx_kernel void @mma(ptr addrspace(1) %c, i32 %k, i64 %a, i64 %b) "nvvm.maxntid"="128,1,1" '
        '"nvvm.minctasm"="1" {\nentry:\n  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  br label %loop',
        "loop:\n  %i = phi i32 [0, %entry], [%next, %loop]",
        *(f"  %acc_{i} = phi float [0.0, %entry], [%wait_{i}, %loop]" for i in range(count)),
        '  call void asm sideeffect "wgmma.fence.sync.aligned;", "~{memory}"()',
    ]
    before = [f"%acc_{i}" for i in range(count)]
    for k in range(steps):
        text = f"{mma} {{{registers}}}, ${2 * count}, ${2 * count + 1}, 1, 1, 1, 0, 0;"
        lines += [f"  %a{k} = add i64 %a, {2 * k}", f"  %b{k} = add i64 %b, {2 * k}"]
        lines += asm(text, f"m{k}", before, ",l,l,~{memory}", f", i64 %a{k}, i64 %b{k}")
        before = [f"%m{k}_{i}" for i in range(count)]
    lines.append('  call void asm sideeffect "wgmma.commit_group.sync.aligned;", "~{memory}"()')
    lines += asm("wgmma.wait_group.sync.aligned 0;", "wait", before, ",~{memory}", "")
    lines.append("  %next = add nsw i32 %i, 1\n  %more = icmp slt i32 %next, %k")
    lines.append(f"  br i1 %more, label %loop, label %done{mark}\ndone:")
    for i in range(count):
        lines += [
            f"  %at{i} = add nsw i32 %t, {128 * i}\n  %p{i} = getelementptr float, ptr addrspace(1) %c, i32 %at{i}",
            f"  store float %wait_{i}, ptr addrspace(1) %p{i}, align 4",
        ]
    lines.append('  ret void\n}\n!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}\n')
    return "\n".join(lines)


def unrolled(ops: int, kind: str) -> str:
    """A straight line of about `ops` instructions: a chain of `fma`s, loads from shared memory, or strided copies."""
    head = [
        TID + FMA + SMEM,
        'define ptx_kernel void @line(ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %n) "nvvm.reqntid"="256,1,1" {',
        "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %x0 = sitofp i32 %t to float",
    ]
    if kind == "fma":
        count = ops
        body = [
            f"  %x{i + 1} = call float @llvm.fma.f32(float %x{i}, float %x{i}, float {i % 7}.5)" for i in range(count)
        ]
    elif kind == "shared loads":
        count = ops // 4
        body = [
            f"  %i{i} = add nsw i32 %t, {i}\n  %p{i} = getelementptr float, ptr addrspace(3) @smem, i32 %i{i}\n"
            f"  %v{i} = load float, ptr addrspace(3) %p{i}, align 4\n  %x{i + 1} = fadd float %x{i}, %v{i}"
            for i in range(count)
        ]
    else:
        count = 0
        body = [
            f"  %j{i} = add nsw i32 %t, {i}\n  %i{i} = mul nsw i32 %j{i}, %n\n"
            f"  %p{i} = getelementptr float, ptr addrspace(1) %a, i32 %i{i}\n"
            f"  %v{i} = load float, ptr addrspace(1) %p{i}, align 4\n"
            f"  %q{i} = getelementptr float, ptr addrspace(1) %b, i32 %i{i}\n"
            f"  store float %v{i}, ptr addrspace(1) %q{i}, align 4"
            for i in range(ops // 6)
        ]
    out = "  %out = getelementptr float, ptr addrspace(1) %a, i32 %t"
    store = f"  store float %x{count}, ptr addrspace(1) %out, align 4"
    return "\n".join([*head, *body, out, store, "  ret void\n}\n"])


KERNELS: dict[str, Callable[[], str]] = {"vector add": vector_add, "8x8 tiles": tiles, "4 wgmma, n=256": wgmma}


@functools.cache
def started(left_out: tuple[str, ...] = ()) -> Any:
    """llvmlite's bindings, with the options of `llvm.SWITCHED_OFF` but those left out."""
    binding = bindings.llvm()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    for option in llvm.SWITCHED_OFF:
        if option not in left_out:
            binding.set_option("bench", option)
    return binding


def default_pipeline(module: Any, machine: Any) -> None:
    tuning = started().create_pipeline_tuning_options(speed_level=3)
    builder = started().create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def nothing(module: Any, machine: Any) -> None:
    pass


def ours(module: Any, machine: Any) -> None:
    builder = started().create_pass_builder(machine, started().create_pipeline_tuning_options(speed_level=2))
    passes = started().create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


SLSR, JOINS = "-opt-disable=slsr", "-disable-nvptx-load-store-vectorizer"
# name: (passes, level of code generation, options of `_llvm` that are left out)
VARIANTS: dict[str, tuple[Callable[[Any, Any], None], int, tuple[str, ...]]] = {
    "as it is": (ours, 2, ()),
    "no passes": (nothing, 2, ()),
    "LLVM's default O3": (default_pipeline, 2, (SLSR, JOINS)),
    "code generation at 3": (ours, 3, ()),
    "code generation at 0": (ours, 0, ()),
    "with strength reduction": (ours, 2, (SLSR,)),
    "with joining of accesses": (ours, 2, (JOINS,)),
}


def variant(name: str) -> dict[str, tuple[float, int, int]]:
    """For each kernel: ms in LLVM, instructions in SASS (0 without nvdisasm), registers."""
    passes, level, left_out = VARIANTS[name]
    global started
    binding = started(left_out)
    started = lambda: binding  # type: ignore[assignment]  # noqa: E731
    target = binding.Target.from_triple(llvm.TRIPLE)
    machine = target.create_target_machine(cpu=HOPPER.arch, features=f"+ptx{HOPPER.ptx_isa}", opt=level)

    def compile(text: str) -> str:
        with parsed(started(), text) as module:
            module.triple = llvm.TRIPLE
            module.verify()
            passes(module, machine)
            return str(machine.emit_assembly(module))

    lines = {}
    for kernel, make in KERNELS.items():
        text = make()
        cubin = to_cubin(compile(text), HOPPER)
        instructions = len(re.findall(r"^\s+/\*[0-9a-f]+\*/", disassemble(cubin.image) or "", re.MULTILINE))
        lines[kernel] = median_ms(functools.partial(compile, text)), instructions, cubin.usage.registers
    return lines


def median_ms(run: Callable[[], object], times: int = 11) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(taken)


SET_UP = """
import time; start = time.perf_counter()
from cutelite.toolchain import libllvm, llvm
imported = time.perf_counter()
llvm._start()
libllvm.machine_of(llvm.TRIPLE, "sm_90a", "+ptx86", 2)
print(imported - start, time.perf_counter() - imported)
"""


def main() -> None:
    runs = [
        subprocess.run([sys.executable, "-c", SET_UP], capture_output=True, text=True, check=True) for _ in range(11)
    ]
    imports, machines = zip(*([1e3 * float(part) for part in run.stdout.split()] for run in runs), strict=True)
    print(
        f"set-up: importing this room {statistics.median(imports):.0f} ms, LLVM {statistics.median(machines):.0f} ms\n"
    )

    print("| LLVM to PTX | " + " | ".join(f"{kernel}: ms, SASS, registers" for kernel in KERNELS) + " |")
    print("|---|" + "---|" * len(KERNELS))
    for name in VARIANTS:
        run = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)
        cells = [f"{ms:.1f}, {sass}, {registers}" for ms, sass, registers in json.loads(run.stdout).values()]
        print(f"| {name} | {' | '.join(cells)} |")

    print("\n| kernel | to_ptx ms | to_cubin ms |\n|---|---|---|")
    for kernel, make in KERNELS.items():
        print(line(kernel, make()))
    print(line("4 wgmma, n=256, free to unroll", wgmma(rolled=False)))
    print("\n| straight line of | to_ptx ms | to_cubin ms |\n|---|---|---|")
    for kind in ("fma", "shared loads", "strided copies"):
        for ops in (500, 5000):
            print(line(f"{ops} ops: {kind}", unrolled(ops, kind), times=3))


def line(name: str, text: str, times: int = 11) -> str:
    ptx = to_ptx(text, HOPPER)
    first, second = median_ms(lambda: to_ptx(text, HOPPER), times), median_ms(lambda: to_cubin(ptx, HOPPER), times)
    return f"| {name} | {first:.1f} | {second:.1f} |"


if __name__ == "__main__":
    asked = parser(__doc__)
    asked.add_argument("variant", nargs="?", choices=VARIANTS)
    given = asked.parse_args().variant
    if given is None:
        main()
    else:
        print(json.dumps(variant(given)))
