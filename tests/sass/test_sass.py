"""Machine code as a structure: what a kernel's instructions are, where they come from, what waits for what."""

from pathlib import Path
from typing import Any

import pytest

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.sass import Control, Sass, kind_of
from cutelite.sass.program import _texts
from cutelite.toolchain import live_registers

HERE = Path(__file__).name
(N,) = (cl.dims("N"),)


def scaled(x: Any, by: float) -> Any:
    return cl.math.exp2(x, fast=True) * by


@cl.kernel(block=128)
def weighed(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], out: Tensor[f32, (N,)]) -> None:
    i = cl.thread_idx.x
    total = f32(0.0)
    while i < N:
        total += scaled(a[i], 2.0)  # the first call
        total += scaled(b[i], 3.0)  # the second call
        i += 128
    out[cl.thread_idx.x] = total


def line_of(text: str) -> int:
    return 1 + next(i for i, line in enumerate(Path(__file__).read_text().splitlines()) if text in line)


@pytest.fixture(scope="module")
def sass() -> Sass:
    compiled = weighed.compile(line_info=True, arch="sm_90a")
    if compiled.sass is None:
        pytest.skip("no nvdisasm")
    return compiled.sass


def test_a_loop_has_its_mix(sass: Sass) -> None:
    loop = sass.loops[0]
    assert sass.hot is not None
    assert sass.hot.mix["special"] >= 2
    assert loop.mix["tensor"] == 0 and loop.mix["global load"] >= 2
    assert sum(loop.mix.values()) == len(loop.instructions) <= sum(sass.mix.values())
    assert loop.depth == 1 and not loop.spins
    assert loop.stalls >= len(loop.instructions) / 2
    assert loop.header in loop.header.before or any(block in loop.blocks for block in loop.header.before)


def test_instructions_wait_for_what_they_use(sass: Sass) -> None:
    """A result of a load is used by an instruction that waits for the barrier of that load."""
    assert sass.hot is not None
    loads = {each for each in sass.hot.instructions if each.name == "LDG"}
    waiting = [each for each in sass.instructions if loads & set(sass.waits_for(each))]
    assert waiting
    for each in waiting:
        targets = {load.operands[0] for load in loads & set(sass.waits_for(each))}
        assert each.control.waits
        assert any(target in operand for target in targets for operand in each.operands) or each.name != "MUFU"
    assert not sass.waits_for(sass.instructions[0])


def test_instructions_carry_the_chain_of_calls(sass: Sass) -> None:
    """The same line of a function that is called twice is two places."""
    body = line_of("return cl.math.exp2(x, fast=True) * by")
    first, second = line_of("# the first call"), line_of("# the second call")
    powers = [each for each in sass.instructions if each.name == "MUFU"]
    assert all(each.place is not None and each.place.line == body for each in powers)
    chains = {each.place.callers[0][1] for each in powers if each.place}
    assert chains == {first, second}
    assert {each for each in sass.at(HERE, body) if each.name == "MUFU"} == set(powers)
    assert {each for each in sass.at(HERE, first) if each.name == "MUFU"} < set(powers)
    assert not sass.at(HERE, 1)
    with pytest.raises(ValueError, match=r"no instruction comes from another\.py, only from test_sass\.py"):
        sass.at("another.py", body)


def test_ptx_lines_are_those_of_the_ptx() -> None:
    compiled = weighed.compile(line_info=True, arch="sm_90a")
    if compiled.sass is None:
        pytest.skip("no nvdisasm")
    ptx = compiled.build.ptx.splitlines()
    for each in compiled.sass.instructions:
        if each.name == "MUFU" and "EX2" in each.opcode:
            assert each.ptx_line is not None and "ex2" in ptx[each.ptx_line - 1]
        if each.name == "STG":
            assert each.ptx_line is not None and "st.global" in ptx[each.ptx_line - 1]


def test_line_info_changes_no_instruction(sass: Sass) -> None:
    plain = weighed.compile(arch="sm_90a")
    assert plain.sass is not None
    assert [each.text for each in plain.sass.instructions] == [each.text for each in sass.instructions]
    assert all(each.place is None for each in plain.sass.instructions)
    with pytest.raises(ValueError, match="line_info=True"):
        plain.sass.at(HERE, 1)
    with pytest.raises(KeyError, match=r"no class 'locals'; classes are tensor, .*, local, "):
        plain.sass.mix["locals"]
    assert plain.sass.lines == {}
    assert "MUFU.EX2" in plain.sass and plain.sass.text == str(plain.sass)


def test_live_registers_are_told_for_each_instruction() -> None:
    compiled = weighed.compile(arch="sm_90a")
    live = live_registers(compiled.cubin)
    if live is None or compiled.sass is None:
        pytest.skip("no nvdisasm")
    counts = [live[each.address] for each in compiled.sass.instructions]
    assert 0 < max(counts) <= compiled.registers


def test_control_words() -> None:
    # S2R R9, SR_CTAID.X and LEA R9, R9, R0, 0x8, which waits for it, as ptxas 13.5 makes them.
    assert Control.of(0x000E220000002500_0000000000097919) == Control(1, False, 0, None, ())
    assert Control.of(0x001FC800078E40FF_0000000009097211) == Control(4, True, None, None, (0,))
    assert str(Control(4, True, 2, 1, (0, 3))) == "B0.3 R1 W2 Y S4"


def test_the_cubin_is_read_as_it_is(sass: Sass) -> None:
    (code,) = dict(_texts(weighed.compile(arch="sm_90a").cubin)).values()
    assert len(code) % 16 == 0
    assert {each.control.stall for each in sass.instructions} <= set(range(16))


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [("HGMMA.64x256x16.F32", "tensor"), ("IGMMA", "tensor"), ("UTCHMMA", "tensor"), ("MUFU.EX2", "special"),
     ("LDG.E.128", "global load"), ("UTMALDG.2D", "copy"), ("STL.64", "local"), ("FROB.X", "other")],
)  # fmt: skip
def test_classes(opcode: str, kind: str) -> None:
    assert kind_of(opcode) == kind


@pytest.mark.parametrize("options", [{"line_info": True}, {"debug": True}, {"assertions": True}])
def test_files_of_any_name(options: dict[str, bool]) -> None:
    file = '/home/josé/a "b"/100%41/\udce9.py'
    space: dict[str, Any] = {"cl": cl, "Tensor": Tensor, "f32": f32, "N": N}
    source = "@cl.kernel(block=1)\ndef kernel(x: Tensor[f32, (N,)]) -> None:\n    assert N > 3\n    x[0] = x[1] * 2\n"
    exec(compile(source, file, "exec"), space)
    compiled = space["kernel"].compile(arch="sm_90a", **options)
    assert compiled.cubin
    if "line_info" in options and compiled.sass is not None:
        assert (file, 4) in compiled.sass.lines
