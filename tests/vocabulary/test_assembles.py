"""Every spelling of every op goes through LLVM and is taken by ptxas, on all targets that have it."""

import re
import subprocess
from pathlib import Path

import pytest

from cutelite import lower, toolchain
from cutelite.ir.function import Function
from cutelite.target import Target
from tests.vocabulary import FAMILIES
from tests.vocabulary.kernels import alone, check_assembles, together
from tests.vocabulary.row import Spelling
from tests.vocabulary.sass import APART, CLIENT, EXPECTED, missing

TOGETHER = {name: [s for row in rows if not row.alone for s in row.spellings] for name, rows in FAMILIES.items()}
ALONE = {name: [s for row in rows if row.alone for s in row.spellings] for name, rows in FAMILIES.items()}
TRIPLE = 'target triple = "nvptx64-nvidia-cuda"\n'
AT_ONCE = 200  # spellings in a kernel: in much longer ones, ptxas takes longer for each


def ptx(function: Function, target: Target) -> str:
    return toolchain.to_ptx(lower.to_llvm(function, target), target)


EACH = [(family, arch) for family, found in TOGETHER.items() if found for arch in ("sm_80", "sm_90a", "sm_100a")]


@pytest.mark.parametrize(
    ("family", "arch"),
    [*EACH, ("convert", "sm_75"), ("atomics", "sm_75"), ("mma", "sm_89"), ("mma", "sm_120a"), ("ldmatrix", "sm_120a")],
)
def test_in_a_kernel_with_others(family: str, arch: str, ptxas: str, tmp_path: Path) -> None:
    target = Target.parse(arch)
    chosen = [s for s in TOGETHER[family] if s.is_there(target)]
    for first in range(0, len(chosen), AT_ONCE):
        text = ptx(together(chosen[first : first + AT_ONCE], target), target)
        check_assembles(text, target, ptxas, tmp_path, "-O1")


def assemble(
    chosen: list[Spelling], target: Target, ptxas: str, folder: Path, *options: str, kept: bool = False
) -> None:
    """Assemble spellings as kernels of one module, `spelling_0` and so on; `kept` as for `alone`."""
    texts = [lower.to_llvm(alone(spelling, kept), target).partition("\n}\n") for spelling in chosen]
    (attributes,) = {text[2] for text in texts}
    kernels = (re.sub(r"(@spelling|%struct\d+)\b", rf"\g<1>_{i}", text[0]) for i, text in enumerate(texts))
    llvm = "".join(f"{kernel}\n}}\n" for kernel in kernels).replace(TRIPLE, "")  # which is not said twice
    check_assembles(toolchain.to_ptx(llvm + attributes, target), target, ptxas, folder, *options)


HOPPER = Target.parse("sm_90a")
ON_HOPPER = {name: [s for s in found if s.is_there(HOPPER)] for name, found in ALONE.items()}


@pytest.mark.parametrize("family", [name for name, found in ON_HOPPER.items() if found])
def test_in_kernels_of_their_own(family: str, ptxas: str, tmp_path: Path) -> None:
    assemble(ON_HOPPER[family], HOPPER, ptxas, tmp_path)


OTHERS = {
    arch: [s for found in ALONE.values() for s in found if s.is_there(Target.parse(arch))]
    for arch in ("sm_80", "sm_90", "sm_100a", "sm_103a", "sm_110a", "sm_120a")
}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_other_targets_take_what_they_are_said_to_have(arch: str, ptxas: str, tmp_path: Path) -> None:
    assemble(OTHERS[arch], Target.parse(arch), ptxas, tmp_path)


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a", "sm_110a", "sm_120a"])
def test_blackwell_has_the_instructions_expected(arch: str, ptxas: str, nvdisasm: str, tmp_path: Path) -> None:
    """ptxas takes every instruction of the target, and nvdisasm shows Blackwell's own.

    For sm_103a and sm_110a it is a form of each, and all that sm_100a does not have.
    """
    spellings = OTHERS[arch]
    if arch in ("sm_103a", "sm_110a"):
        other = Target.parse("sm_100a")
        each = {spelling.op().name: spelling for spelling in spellings}.values()
        spellings = list(dict.fromkeys([*each, *(s for s in spellings if not s.is_there(other))]))
    assemble(
        spellings, Target.parse(arch), ptxas, tmp_path, "-O0", kept=True
    )  # else loads are left out that nobody reads
    command = [nvdisasm, "--print-code", str(tmp_path / "spelled.cubin")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^\.text\.spelling_(\d+):$", printed, flags=re.MULTILINE)
    code = dict(zip(map(int, parts[1::2]), parts[2::2], strict=True))
    ops = [spelling.op() for spelling in spellings]
    assert len(code) == len(ops)
    expected = {"sm_110a": EXPECTED | APART, "sm_120a": CLIENT}.get(arch, EXPECTED)
    found = {str(spelling): missing(code[i], ops[i], expected) for i, spelling in enumerate(spellings)}
    assert {form: lacking for form, lacking in found.items() if lacking} == {}
    seen = {op.name for op in ops}
    assert set(expected) - seen <= ({"tcgen05.ld.red"} if arch == "sm_100a" else set())
