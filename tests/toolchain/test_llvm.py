"""LLVM IR -> PTX."""

import pytest

from cutelite.target import TARGETS, Target
from cutelite.toolchain import ToolchainError, to_ptx
from tests.threads import at_once

STORE_TID = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @store_tid(ptr addrspace(1) %out) "nvvm.reqntid"="128,1,1" {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %t, ptr addrspace(1) %p
  ret void
}
"""


@pytest.mark.parametrize("arch", TARGETS)
def test_every_target_gets_its_ptx(arch: str) -> None:
    target = TARGETS[arch]
    ptx = to_ptx(STORE_TID, target)
    assert f".version {target.ptx_isa // 10}.{target.ptx_isa % 10}\n" in ptx
    assert f".target {target.ptx_arch}\n" in ptx
    assert ".visible .entry store_tid(" in ptx
    assert ".reqntid 128, 1, 1" in ptx


@pytest.mark.parametrize("opt_level", range(4))
def test_every_level_compiles(opt_level: int, hopper: Target) -> None:
    assert "st.global.b32" in to_ptx(STORE_TID, hopper, opt_level=opt_level)


def test_a_loop_stays_a_loop(hopper: Target) -> None:
    text = """
    define ptx_kernel void @loop() {
    entry:
      br label %body
    body:
      %i = phi i32 [ 0, %entry ], [ %next, %body ]
      call void asm sideeffect "nanosleep.u32 $0;", "r"(i32 %i)
      %next = add nsw i32 %i, 1
      %more = icmp slt i32 %next, 4
      br i1 %more, label %body, label %exit, !llvm.loop !0
    exit:
      ret void
    }
    !0 = distinct !{!0, !1}
    !1 = !{!"llvm.loop.unroll.disable"}
    """
    ptx = to_ptx(text, hopper)
    assert ptx.count("nanosleep") == 1
    assert '.pragma "nounroll"' in ptx


def test_a_constant_is_split_off_an_index_that_cannot_wrap(hopper: Target) -> None:
    text = """
    declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b) {
      %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
      %i = add nsw i32 %t, 6
      %p = getelementptr float, ptr addrspace(1) %a, i32 %i
      %x = load float, ptr addrspace(1) %p, align 4
      store float %x, ptr addrspace(1) %b, align 4
      ret void
    }
    """
    assert "+24]" in to_ptx(text, hopper)


def test_text_that_does_not_parse_is_shown(hopper: Target) -> None:
    with pytest.raises(ToolchainError) as caught:
        to_ptx("define ptx_kernel void @k(i32 %x) {\n  %y = addd i32 %x, 1\n  ret void\n}\n", hopper)
    assert caught.value.stage == "llvm"
    assert "expected instruction opcode" in caught.value.message
    assert ">    2 |   %y = addd i32 %x, 1" in caught.value.excerpt.splitlines()


def test_text_that_breaks_the_rules_is_refused(hopper: Target) -> None:
    text = (
        "define ptx_kernel void @k() {\ne:\n br label %b\nb:\n %y = add i32 %z, 1\n %z = add i32 %y, 1\n br label %b\n}"
    )
    with pytest.raises(ToolchainError, match="does not dominate all uses"):
        to_ptx(text, hopper)


def test_threads_get_what_one_gets(hopper: Target) -> None:
    texts = [STORE_TID.replace("store_tid", f"kernel_{i}") for i in range(4)]
    alone = [to_ptx(text, hopper) for text in texts]
    assert at_once(lambda text: to_ptx(text, hopper), texts) == alone
