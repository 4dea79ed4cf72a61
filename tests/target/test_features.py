"""The table of features against ptxas: it takes an instruction of each for exactly the targets that have it.

What ptxas says beyond the table is not tested: that sm_120 lets 8 blocks form a cluster, say, only a GPU knows.
"""

import functools
import re
import subprocess

import pytest

from cutelite.target import TARGETS, Target
from cutelite.target.targets import FEATURES
from cutelite.toolchain import ToolchainError
from cutelite.toolchain.ptxas import assemble

KERNEL = """
.version {major}.{minor}
.target {arch}
.address_size 64
.visible .entry k(.param .u64 out) .reqntid 128,1,1 {{
  .reg .pred %p<4>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .b128 %q<3>;
  .shared .align 128 .b8 tile[4096];
  mov.u32 %r1, tile;
  ld.param.u64 %d1, [out];
  {instruction}
  ret;
}}
"""

BY_DESCRIPTORS = {"tcgen05.k96", "tma.atom_32"}
"""Features that a word in a register or a tensor map asks for, of which ptxas knows nothing."""

INSTRUCTIONS = {
    "cp.async": "cp.async.ca.shared.global [%r1], [%d1], 16;",
    "mbarrier": "mbarrier.init.shared.b64 [%r1], 1;",
    "redux": "redux.sync.add.s32 %r2, %r1, -1;",
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];",
    "bf16": "fma.rn.bf16x2 %r2, %r1, %r1, %r1;",
    "cvt.x2": "cvt.rn.f16x2.f32 %r2, %f1, %f2;",
    "tf32": "cvt.rna.tf32.f32 %r2, %f1;",
    "mma": "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
    "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};",
    "cache_hint": "createpolicy.fractional.L2::evict_last.b64 %d2, 1.0;",
    "fp8": "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;",
    "cluster": "barrier.cluster.arrive.aligned;",
    "mbarrier.try_wait": "mbarrier.try_wait.parity.shared.b64 %p1, [%r1], 0;",
    "tma": "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2}], [%r1];",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};",
    "elect": "elect.sync _|%p1, -1;",
    "pdl": "griddepcontrol.wait;",
    "atom.vector": "red.global.add.v4.f32 [%d1], {%f1,%f2,%f3,%f4};",
    "atom.bf16": "atom.global.add.noftz.bf16 %h1, [%d1], %h2;",
    "tf32.rounding": "cvt.rn.tf32.f32 %r2, %f1;",
    "mma.f64": "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
    "{%d2,%d3,%d4,%d5}, {%d1,%d1}, {%d1}, {%d2,%d3,%d4,%d5};",
    "multimem": "multimem.red.relaxed.gpu.global.add.f32 [%d1], %f1;",
    "wgmma": "wgmma.fence.sync.aligned;",
    "setmaxnreg": "setmaxnreg.dec.sync.aligned.u32 40;",
    "tensormap.replace": "tensormap.replace.tile.global_address.global.b1024.b64 [%d1], %d1;",
    "f32x2": "add.rn.f32x2 %d2, %d1, %d1;",
    "ld.256": "ld.global.v4.b64 {%d2,%d3,%d4,%d5}, [%d1];",
    "cp_mask": "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d1], [%r1], 16, %h1;",
    "clusterlaunchcontrol": "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
    "[%r1], [%r1];",
    "clusterlaunchcontrol.multicast": "clusterlaunchcontrol.try_cancel.async.shared::cta"
    ".mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%r1], [%r1];",
    "fp4": "{ .reg .b8 %b; cvt.rn.satfinite.e2m1x2.f32 %b, %f1, %f2; }",
    "multimem.fp8": "multimem.ld_reduce.relaxed.sys.global.min.e4m3x4 %r1, [%d1];",
    "tcgen05": "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
    "tcgen05.i8": "tcgen05.mma.cta_group::1.kind::i8 [%r1], %d1, %d1, %r2, %p1;",
    "tcgen05.scale_d": "tcgen05.mma.cta_group::1.kind::f16 [%r1], %d1, %d1, %r2, %p1, 3;",
    "tcgen05.ld_red": "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {%r1, %r2}, %r3, [%r4];",
    "tcgen05.specific": "tcgen05.shift.cta_group::1.down [%r1];",
    "tma.im2col_w": "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes "
    "[%r1], [%d1, {%r2,%r2,%r2}], [%r1], {%h1,%h1};",
    "tma.im2col_w128": "cp.async.bulk.tensor.3d.shared::cta.global.im2col::w::128.mbarrier::complete_tx::bytes "
    "[%r1], [%d1, {%r2,%r2,%r2}], [%r1], {%h1,%h1};",
    "tma.gather4": "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
    "[%r1], [%d1, {%r2,%r2,%r2,%r2,%r2}], [%r1];",
    "tma.scatter4": "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group "
    "[%d1, {%r2,%r2,%r2,%r2,%r2}], [%r1];",
    "redux.f32": "redux.sync.min.f32 %f1, %f2, -1;",
    "mma.block_scale": "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X"
    ".f32.e4m3.e4m3.f32.ue8m0 "
    "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4}, %r7, {0,0}, %r8, {0,0};",
}


def taken(program: str, target: Target) -> set[str]:
    """Features whose instructions ptxas takes for a target. It tells the lines that it refuses, one phase at a time."""
    major, minor = divmod(target.ptx_isa, 10)
    left = dict(INSTRUCTIONS)
    while True:
        lines = "\n".join(f"{{ {instruction} }}" for instruction in left.values())
        text = KERNEL.format(arch=target.ptx_arch, major=major, minor=minor, instruction=lines)
        first = text[: text.index(lines)].count("\n") + 1
        try:
            assemble(program, text, target, ["-O0"])
        except ToolchainError as error:
            said = re.findall(r"line (\d+); error +: (.*)", error.message)
            refused = {int(at) for at, why in said if "not supported" in why or "requires" in why}
            assert refused and all(int(at) in refused for at, _ in said), f"{target}: {error}"
            left = {name: text for at, (name, text) in enumerate(left.items(), first) if at not in refused}
        else:
            return set(left)


@functools.cache
def known(program: str) -> set[str]:
    """The targets of a ptxas, as its help lists them."""
    said = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"'(sm_\d+[af]?)'", said))


def test_every_target_of_ptxas_is_there(ptxas: str) -> None:
    assert known(ptxas) <= set(TARGETS)


def test_every_feature_has_an_instruction() -> None:
    assert set(INSTRUCTIONS) == set(FEATURES) - BY_DESCRIPTORS


@pytest.mark.parametrize("arch", TARGETS)
def test_ptxas_agrees(arch: str, ptxas: str) -> None:
    target = TARGETS[arch]
    if arch not in known(ptxas):
        pytest.skip(f"this ptxas does not know {arch}")
    assert taken(ptxas, target) == {feature for feature in FEATURES if target.has(feature)} - BY_DESCRIPTORS
