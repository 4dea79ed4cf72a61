"""Every instruction has one row, and the row is right. `test_computed.py` tests what the instruction computes."""

import operator
import re
from pathlib import Path

import pytest

import cutelite as cl
from cutelite.ir.op import REGISTRY, Op
from cutelite.ir.verifier import verify
from cutelite.target.targets import FEATURES
from tests.ir.parser import parse_function
from tests.vocabulary import FAMILIES, ROWS
from tests.vocabulary.kernels import alone, together
from tests.vocabulary.row import Row, Spelling

ROOT = Path(__file__).resolve().parents[2]
UNSPELLED = re.compile(
    r"(call|choose|const|vec|br|breakpoint|variable|cond_br|ret|unreachable|assert|printf|profile|record|dim|rmem|tensor)\b.*"
)
"""Ops that a pass replaces, or that `lower` writes itself."""
COMPOSED = {
    "Barrier",
    "atomic_sub",
    "ffs",
    "linear_thread_idx",
    "make_warp_uniform",
    "tensormap_shared",
    "tma_shared",
    "warpgroup_idx",
}
"""Names beside the words: made of several instructions, or of none."""
rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def test_every_op_has_one_row_in_the_file_of_its_family() -> None:
    declared = {(op.__module__.rpartition(".")[2], op.name) for op in REGISTRY.values()}
    rows = [(family, row.name) for family, rows in FAMILIES.items() for row in rows]
    assert declared - set(rows) == set(), "ops without a row"
    assert sorted(rows) == sorted(declared), "rows of no op in that file, or two of one"


@rows
def test_the_op_is_declared_in_full(row: Row) -> None:
    op = row.op
    assert (op.__doc__ or "").strip() and op.__doc__ != Op.__doc__, "an op needs a docstring of its own"
    assert op.source, "an op says where its meaning is written down"
    assert op.simulate is not Op.simulate, "an op has a meaning in the simulator"
    spelled = op.as_ptx or op.as_llvm or op.ptx is not Op.ptx or op.llvm is not Op.llvm
    assert spelled or UNSPELLED.fullmatch(op.name), "an op has a spelling"
    assert row.forms or row.case or row.shown, "a row has forms, or a golden file written by hand"
    if row.alone:
        assert "PTX ISA" in op.source and op.feature, "what is asynchronous names its source, and what a GPU needs"


@rows
def test_words_are_there_for_kernels_to_use(row: Row) -> None:
    for word in row.words:
        try:
            operator.attrgetter(word)(cl)
        except AttributeError:
            pytest.fail(f"the row writes `cl.{word}`, which cutelite/__init__.py does not name")


def test_every_intrinsic_is_the_word_of_a_row() -> None:
    families = {f"cutelite.lang.{family}" for family in {*FAMILIES, "matrix"} - {"tensor", "mma"}}
    intrinsics = {name for name, home in vars(cl)["_HOME"].items() if home in families}
    unnamed = intrinsics - {word for row in ROWS for word in row.words}
    assert unnamed - COMPOSED == set(), "words that no row names in its `word`"
    assert COMPOSED - unnamed == set(), "words of rows, which COMPOSED need not list"


@rows
def test_what_it_computes_is_tested(row: Row) -> None:
    """An instruction's meaning is tested by its reference, or in a file that mentions it."""
    if not row.computed:
        names = [row.op.name, row.op.__name__, *(word.rpartition(".")[2] for word in row.words)]
        text = (ROOT / row.tested).read_text()
        assert not row.words or any(name in text for name in names), f"{row.tested} has none of {names}"


@pytest.mark.parametrize("row", [row for row in ROWS if row.refuses], ids=lambda row: row.name)
def test_what_is_wrong_is_said(row: Row) -> None:
    for form, message in row.refuses:
        problems = [problem.message for problem in Spelling(row.op, form).op().problems()]
        text = Spelling(row.op, form)
        assert problems, f"{text}: `verify` accepts what the row says it refuses"
        assert re.search(message, problems[0]), f"{text}: `verify` says {problems[0]!r}, not {message!r}"


@rows
def test_forms_are_accepted_and_their_text_reads_back(row: Row) -> None:
    for spelling in row.spellings:
        op = spelling.op()
        assert not list(op.problems()), (str(spelling), list(op.problems()))
        assert op.feature is None or op.feature in FEATURES
    for function in map(alone, row.spellings) if row.alone else [together(row.spellings)]:
        verify(function)
        text = str(function)
        assert str(parse_function(text)) == text
