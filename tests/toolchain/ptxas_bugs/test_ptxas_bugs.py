"""Each bug of ptxas: shown by its reproducer in the versions that have it, avoided by its rewrite.

A module of this folder for each module of `cutelite.toolchain.ptxas_bugs`, with

REWRITTEN    instructions -> a part of what they become
UNCHANGED    instructions that look alike, and are right
REPRODUCERS  kernels that ptxas makes wrong machine code of
shows        the function that tells it from the machine code

Another ptxas is tried with CUTELITE_PTXAS.
"""

import importlib
import re
from types import ModuleType

import pytest

from cutelite.target import Target
from cutelite.toolchain import assemble, disassemble, find, to_cubin
from cutelite.toolchain.ptxas import version
from cutelite.toolchain.ptxas_bugs import BUGS, WORDS, avoid, bugs_of
from cutelite.toolchain.ptxas_bugs.bug import Bug, parse_version
from tests.toolchain.ptxas_bugs import atomic_loops
from tests.toolchain.ptxas_bugs.frames import STRAIGHT

MODULES = [importlib.import_module(f"tests.toolchain.ptxas_bugs.{name}") for name in WORDS]
BUG_OF = dict(zip(MODULES, BUGS, strict=True))


def framed(module: ModuleType, line: str) -> str:
    return str(getattr(module, "FRAME", STRAIGHT).replace("...", line))


def of_all(what: str) -> pytest.MarkDecorator:
    """Every entry of a list of every module, with the module's bug."""
    rows = [(module, entry) for module in MODULES for entry in getattr(module, what)]
    names = [f"{BUG_OF[module].name}-{i}" for i, (module, _) in enumerate(rows)]
    return pytest.mark.parametrize(("module", "entry"), rows, ids=names)


def test_every_bug_has_its_reproducer() -> None:
    assert set(BUG_OF.values()) == set(BUGS) and all(module.REPRODUCERS for module in MODULES)


@of_all("REWRITTEN")
def test_instructions_are_rewritten(module: ModuleType, entry: str, ptxas: str, hopper: Target) -> None:
    text = BUG_OF[module].rewrite(framed(module, entry))
    avoided = avoid(framed(module, entry))
    assert avoided.startswith(text) and avoided[len(text) :].lstrip().startswith("// ")  # the other rewrites leave it
    assert avoid(avoided) == avoided
    assert text != framed(module, entry) and module.REWRITTEN[entry] in text
    assert to_cubin(text, hopper, assembler="ptxas").image


@of_all("UNCHANGED")
def test_others_stay(module: ModuleType, entry: str) -> None:
    assert avoid(framed(module, entry)) == framed(module, entry)


def test_updates_outside_of_loops_stay() -> None:
    text = STRAIGHT.replace("...", f"{atomic_loops.SPINNING[0]} bra $out; $out:")
    assert avoid(text) == text


REPRODUCERS = [(module, entry) for module in MODULES for entry in module.REPRODUCERS]


@pytest.fixture(scope="module")
def reproduced(ptxas: str, nvdisasm: str) -> tuple[list[str], list[str]]:
    """The machine code of every reproducer as it stands, and rewritten."""
    rewritten = [BUG_OF[module].rewrite(entry) for module, entry in REPRODUCERS]
    return machine_codes([entry for _, entry in REPRODUCERS]), machine_codes(rewritten)


@of_all("REPRODUCERS")
def test_ptxas_shows_the_bug_in_the_versions_said_to(
    module: ModuleType, entry: str, ptxas: str, reproduced: tuple[list[str], list[str]]
) -> None:
    bug: Bug = BUG_OF[module]
    before, after = (codes[REPRODUCERS.index((module, entry))] for codes in reproduced)
    here = parse_version(version(ptxas))
    if here in bug.seen:
        assert module.shows(before)
    elif here is not None and not bug.is_in(here):
        assert not module.shows(before)
    assert not module.shows(after)


HEAD = re.compile(r"^.*?\.entry \w+", re.DOTALL)


def machine_codes(texts: list[str]) -> list[str]:
    """SASS of each text's kernel, without addresses and encodings; all of them in one run of the assembler."""
    kernels = [HEAD.sub(f".visible .entry kernel_{i}", text, count=1) for i, text in enumerate(texts)]
    head = texts[0][: texts[0].index(".visible")]
    image = to_cubin(head + "".join(kernels), Target.parse("sm_90a"), assembler="ptxas").image
    text = disassemble(image)
    assert text is not None
    parts = re.split(r"^\.text\.kernel_(\d+):$", re.sub(r"/\*[^*]*\*/", "", text), flags=re.MULTILINE)
    found = {int(at): code for at, code in zip(parts[1::2], parts[2::2], strict=True)}
    return [found[i] for i in range(len(texts))]


def test_unknown_versions_have_every_bug() -> None:
    assert bugs_of(None) == bugs_of((12, 0, 140)) == BUGS
    assert parse_version("not a version") is None and parse_version("13.5") == (13, 5)


def test_a_release_without_its_build_counts_as_its_first_build() -> None:
    fixed = {bug for bug in BUGS if bug.fixed == (13, 5, 37)}
    assert fixed and set(bugs_of((13, 5))) == set(BUGS) and not fixed & set(bugs_of((13, 5, 37)))


def test_ptx_for_here_avoids_the_bugs_of_the_assembler_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """PTX for others avoids all. The version is not asked for where it makes no difference."""
    monkeypatch.setattr(find, "ptxas", lambda: "ptxas")
    asked = []

    def at(text: str) -> None:
        def version(program: str) -> str:
            asked.append(program)
            return text

        monkeypatch.setattr("cutelite.toolchain.ptxas.version", version)

    sizes = STRAIGHT.replace("...", "abs.s32 %r2, %r1; add.sat.s32 %r3, %r2, 1;")
    everything = avoid(sizes)
    at("13.0.88")
    assert assemble.for_ptxas(sizes, "ptxas") == (everything, everything)
    at("13.5.37")
    here, anywhere = assemble.for_ptxas(sizes, "ptxas")
    assert anywhere == everything
    assert "abs.s32 %r2, %r1;" in here and "add.sat" not in here
    asked.clear()
    plain = STRAIGHT.replace("...", "add.s32 %r2, %r1, 1;")
    assert assemble.for_ptxas(plain, "ptxas") == (plain, plain) and not asked
