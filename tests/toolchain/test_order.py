"""Instructions that an assembler moved across a fence of operands are counted in machine code."""

import re
from pathlib import Path
from typing import Any

import pytest

import cutelite as cl
from cutelite import Tensor, bf16, f32, i32, toolchain
from cutelite.target import Target
from cutelite.toolchain import crossed, disassemble, order, to_cubin


def overlapping(how: str) -> Any:
    """Raise the results of one product to powers, 32 in each thread, while the next product is under way."""

    @cl.kernel(block=128)
    def overlapped(out: Tensor[f32, (64, 64)], rounds: i32, scale: f32) -> None:
        a = cl.shared(bf16, (64, 64), swizzle=cl.Swizzle(3, 4, 3))
        s = cl.wgmma.zeros_accumulator(64)
        total = cl.wgmma.zeros_accumulator(64)
        for _ in range(rounds):
            s = cl.wgmma.mma_async(a, a, s, accumulate=False)
            cl.wgmma.commit_group()
            total = cl.wgmma.mma_async(a, a, total)
            cl.wgmma.commit_group()
            s, total = cl.wgmma.wait_group(1, s, keep=total)
            p = cl.math.exp2(s * scale, fast=True)
            if how == "after":
                total, p = cl.wgmma.wait_group(0, total, after=p)
            elif how == "fence":
                p = cl.wgmma.fence_operand(p)
                total = cl.wgmma.wait_group(0, total)
            else:
                total = cl.wgmma.wait_group(0, total)
            total = total + p
        cl.wgmma.partition(out).store(total)

    return overlapped


def powers_of_the_loop(sass: str) -> tuple[int, int]:
    """Return the code from the wait that leaves one group to the one that leaves none, and on to a branch."""
    between = sass[sass.index("DEPBAR.LE gsb0, 0x1") :]
    before, _, behind = between.partition("DEPBAR.LE gsb0, 0x0")
    return before.count("MUFU.EX2"), behind.count("MUFU.EX2")


@pytest.mark.parametrize("how", ["after", "fence"])
def test_arithmetic_stays_above_the_wait(how: str, ptxas: str) -> None:
    compiled = overlapping(how).compile(arch="sm_90a")
    assert powers_of_the_loop(compiled.sass) == (32, 0)
    assert compiled.warnings == []


def test_without_a_fence_there_is_no_mark_and_nothing_is_counted(ptxas: str) -> None:
    compiled = overlapping("no").compile(arch="sm_90a")
    assert "pmevent" not in compiled.ptx
    assert crossed(compiled.ptx, compiled.cubin) == {}


def raised(ptx: str) -> str:
    """Return PTX with the mark above the powers: its machine code is that of an assembler that moves them behind."""
    mark = re.search(r"\n[^\n]*pmevent\.mask 0;", ptx)
    retired = ptx.index("wgmma.wait_group.sync.aligned 1;") + len("wgmma.wait_group.sync.aligned 1;")
    assert mark is not None
    return ptx[:retired] + "\n\tpmevent.mask 0;" + ptx[retired : mark.start()] + ptx[mark.end() :]


def test_what_crosses_is_counted(ptxas: str, hopper: Target) -> None:
    ptx = overlapping("fence").compile(arch="sm_90a").ptx
    assert crossed(ptx, to_cubin(ptx, hopper).image) == {}
    found = crossed(ptx, to_cubin(raised(ptx), hopper).image)
    assert found == {0: 64}  # a product and a power of each


def test_branches_of_ptx_go_to_the_label_in_their_braces() -> None:
    waits = "{ .reg .pred done; WAIT: mov.b32 a, b; @!done bra WAIT; }"
    lines = (
        "{",
        waits,
        "add.f32 a, b, c; $top:",
        "pmevent.mask 0;",
        waits,
        "@p bra $top;",
        "@p mul.f32 a, b, c;",
        "ret; }",
    )
    program = order._of_ptx("\n\t".join(lines))
    assert order._around(program) == {0: (1, 0)}
    loops = [at for at, step in program.items() if at in step.next]
    assert len(loops) == 2  # each of the waits


def test_a_crossing_is_told_at_the_fence(ptxas: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUTELITE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(toolchain, "to_cubin", lambda ptx, *args, **more: to_cubin(raised(ptx), *args, **more))
    (said,) = overlapping("after").compile(arch="sm_90a").warnings
    assert "64 operations" in said
    assert "cl.wgmma.wait_group(0, total, after=p)" in said


def test_branches_and_kinds_are_read_as_the_disassembler_has_them(ptxas: str) -> None:
    compiled = overlapping("after").compile(arch="sm_90a")
    text = disassemble(compiled.cubin)
    if text is None:
        pytest.skip("needs nvdisasm")
    program = order._of_sass(compiled.cubin)
    base, labels, waiting, branches = min(program), {}, [], []
    arithmetic = dict.fromkeys(program, 0)
    for line in map(str, text.splitlines()):
        if label := re.match(r"(\.L_x_\d+):", line):
            waiting.append(label[1])
        elif found := re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?);", line):
            address, words = int(found[1], 16), found[2].split()
            labels.update(dict.fromkeys(waiting, address))
            run = max(at for at in program if at <= base + address)
            waiting, step = [], program[run]
            kind = words[0].split(".")[0]
            arithmetic[run] += kind in {"FMUL", "FADD", "FFMA", "F2FP", "F2I", "I2F", "MUFU"}
            assert step.stops == (kind == "HGMMA"), line
            assert (step.fence is not None) == (kind == "PMTRIG"), line
            if goal := re.search(r"BRA.*`\((\.L_x_\d+)\)", found[2]):
                branches.append((step, goal[1], words[0] == "BRA" and len(words) == 2))
    assert arithmetic == {at: step.arithmetic for at, step in program.items()}
    assert branches
    for step, target, always in branches:
        assert step.next[0] == base + labels[target]
        assert always == (len(step.next) == 1)


@pytest.mark.parametrize("first", ["short", "long"])
def test_the_longest_of_several_paths_counts_in_whatever_order_they_stand(first: str) -> None:
    long = "LONG: add.f32 a, a, a; mul.f32 a, a, a; bra SHORT;"
    short = "SHORT: ex2.approx.f32 a, a; ret;"
    ways = ("SHORT", "LONG") if first == "short" else ("LONG", "SHORT")
    ptx = f"pmevent.mask 0; @p bra {ways[0]}; bra {ways[1]}; {short} {long}"
    assert order._around(order._of_ptx(ptx)) == {0: (0, 3)}
