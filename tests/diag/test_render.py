"""Messages as users see them: the text around a caret, with and without source."""

import linecache
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import pytest

from cutelite.diag import CompileError, Diagnostic, InternalError, Mistake, Note, Span, render

SOURCE = """\
from cutelite import *

def helper(t):
\treturn t["überall", 日本, 1] + t

def kernel(a):
    b_tile = smem(bf16, (100, 64))
    total = (a +
             a * 2)
    far = [a,
           1,
           2,
           a]
    return helper(a)
"""


@dataclass(frozen=True)
class WgmmaWidth(Diagnostic):
    title = "wgmma takes N from 8 to 256 in steps of 8"
    label = "N is {d.n}, from `{d.operand}`"
    help = "use N = {d.n} or {d.n}0"
    n: int
    operand: str


@pytest.fixture
def span(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Span]]:
    """Return a function that makes the span of the first piece of SOURCE that equals its argument."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "gemm.py"
    file.write_text(SOURCE, encoding="utf-8")

    def find(text: str, function: str = "kernel", last: str = "") -> Span:
        start = SOURCE.index(text)
        stop = SOURCE.index(last, start) + len(last) if last else start + len(text)

        def place(at: int) -> tuple[int, int]:
            line_start = SOURCE.rfind("\n", 0, at) + 1
            return SOURCE.count("\n", 0, at) + 1, len(SOURCE[line_start:at].encode())

        (line, col), (end_line, end_col) = place(start), place(stop)
        return Span(str(file), line, col, end_line, end_col, function)

    yield find
    linecache.clearcache()


def lines(text: str) -> str:
    """`text` as it stands in these tests: first and last newline dropped."""
    return text.strip("\n")


def test_carets_label_secondary_span_and_help(span: Callable[..., Span]) -> None:
    notes = [Note("`b_tile` gets its shape here", span("b_tile = smem(bf16, (100, 64))"))]
    error = CompileError(WgmmaWidth(100, "b_tile"), span("helper(a)"), notes)
    assert str(error) == lines("""
error[wgmma-width]: wgmma takes N from 8 to 256 in steps of 8
  --> gemm.py:14:12
   |
14 |     return helper(a)
   |            ^^^^^^^^^ N is 100, from `b_tile`
   |
 7 |     b_tile = smem(bf16, (100, 64))
   |     ------------------------------ `b_tile` gets its shape here
help: use N = 100 or 1000
""")


def test_columns_count_characters_and_carets_count_terminal_cells(span: Callable[..., Span]) -> None:
    at = span("日本", "helper")
    assert at.place() == "gemm.py:4:22"  # the tab, `ü` and each wide character are one character
    text = render(Mistake("rank-mismatch", "ranks differ", "2 of them"), at)
    assert text.splitlines()[-2:] == [
        '4 |     return t["überall", 日本, 1] + t',
        "  |                         ^^^^ 2 of them",
    ]


def test_span_over_two_lines(span: Callable[..., Span]) -> None:
    text = render(Mistake("m", "t", "label"), span("a +", last="a * 2"))
    assert text.splitlines()[3:] == [
        "8 |     total = (a +",
        "  |              ^^^",
        "9 |              a * 2)",
        "  |              ^^^^^ label",
    ]


def test_middle_of_a_long_span_is_left_out(span: Callable[..., Span]) -> None:
    text = render(Mistake("m", "t", "label"), span("[a,", last="a]"))
    assert text.splitlines()[3:] == [
        "10 |     far = [a,",
        "   |           ^^^",
        "...",
        "13 |            a]",
        "   |            ^^ label",
    ]
    assert span("[a,", last="a]").first_line().source() == ["    far = [a,"]


def test_without_columns_the_whole_line_is_meant(span: Callable[..., Span]) -> None:
    at = span("helper(a)")._replace(col=None, end_col=None)
    assert render(Mistake("m", "t"), at).splitlines()[1:] == [
        "  --> gemm.py:14",
        "   |",
        "14 |     return helper(a)",
        "   |     ^^^^^^^^^^^^^^^^",
    ]


def test_inlined_calls_are_named_innermost_first(span: Callable[..., Span]) -> None:
    outer = Span("<string>", 2, 4, 2, 9, "entry")
    at = span("日本", "helper").inlined_at(span("helper(a)").inlined_at(outer))
    assert str(CompileError(Mistake("m", "t"), at)).splitlines()[5:] == [
        "note: in `helper`, called from here",
        "  --> gemm.py:14:12",
        "   |",
        "14 |     return helper(a)",
        "   |            ---------",
        "note: in `kernel`, called from here",
        "  --> <string>:2, in `entry`",
    ]


def test_deep_recursion_keeps_both_ends_of_the_stack(span: Callable[..., Span]) -> None:
    at = span("helper(a)", "outermost")
    for _ in range(100):
        at = span("日本", "helper").inlined_at(at)
    text = render(Mistake("m", "t"), at)
    assert "note: 94 more calls in between" in text
    assert text.count("called from here") == 6
    assert text.splitlines()[-2] == "14 |     return helper(a)"


@pytest.mark.parametrize("name", ["<stdin>", "/no/such/file.py"])
def test_without_source_the_function_stands_in(name: str) -> None:
    notes = [Note("bound here", Span(name, 2, 0, 2, 5, "k")), Note("a remark")]
    error = CompileError(WgmmaWidth(3, "b"), Span(name, 3, 2, 3, 5, "k"), notes)
    assert str(error) == lines(f"""
error[wgmma-width]: wgmma takes N from 8 to 256 in steps of 8
 --> {name}:3, in `k`
  = N is 3, from `b`
 ::: {name}:2, in `k`
  = bound here
note: a remark
help: use N = 3 or 30
""")


def test_source_that_shrank_since_is_not_shown(span: Callable[..., Span]) -> None:
    at = span("helper(a)")._replace(line=900, end_line=900)
    assert render(Mistake("m", "t"), at).splitlines()[1:] == ["   --> gemm.py:900, in `kernel`"]


def test_edited_source_is_read_again(span: Callable[..., Span], tmp_path: Any) -> None:
    at = span("helper(a)")
    assert "helper(a)" in render(Mistake("m", "t"), at)
    (tmp_path / "gemm.py").write_text(SOURCE.replace("helper(a)", "helper(b) # new"), encoding="utf-8")
    assert "helper(b) # new" in render(Mistake("m", "t"), at)


def test_spans_of_real_bytecode_from_exec_with_registered_source() -> None:
    text = "def f(x):\n    return x + missing\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(keepends=True), "<cell 1>")
    space: dict[str, Any] = {}
    exec(compile(text, "<cell 1>", "exec"), space)
    f = space["f"]
    assert isinstance(f, FunctionType)
    at = {Span("<cell 1>", a or 0, c, b, d) for a, b, c, d in f.__code__.co_positions()}
    marked = [render(Mistake("m", "t"), s).splitlines()[-1].strip(" |") for s in at if s.line == 2]
    assert {"^" * len("missing"), "^" * len("x + missing")} <= set(marked)


def test_colours_only_when_asked(span: Callable[..., Span]) -> None:
    error = CompileError(WgmmaWidth(100, "b"), span("helper(a)"))
    assert "\x1b" not in str(error)
    assert "\x1b[1;31merror[wgmma-width]\x1b[0m: " in error.render(color=True)


def test_code_comes_from_the_name_and_several_helps_from_a_tuple() -> None:
    class Several(Diagnostic):
        title = "t"
        help = ("one", "two\nlines")
        severity = "warning"

    assert WgmmaWidth.code == "wgmma-width"
    assert render(Several(), None).splitlines() == [
        "warning[several]: t",
        "help: one",
        "help: two",
        "      lines",
    ]


def test_words_of_a_mistake_are_not_templates() -> None:
    assert render(Mistake("m", "a {dict}", "{x}", "{d.n}"), None).splitlines() == [
        "error[m]: a {dict}",
        "  = {x}",
        "help: {d.n}",
    ]


def test_an_error_gets_a_place_once(span: Callable[..., Span]) -> None:
    error = CompileError(Mistake("m", "t"))
    assert error.at(span("helper(a)")) is error
    error.at(span("日本"))
    assert error.span == span("helper(a)")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_internal_error_marks_the_op(span: Callable[..., Span]) -> None:
    ir = "\n".join(f"%{i} = add %a, {i}" for i in range(60))
    error = InternalError("no rule for `add`", stage="lower", op="%30 = add %a, 30", ir=ir, span=span("helper(a)"))
    text = str(error)
    assert text.startswith("internal error in `lower`: no rule for `add`\n  op: %30 = add %a, 30\n")
    assert "> %30 = add %a, 30\n" in text
    assert "gemm.py:14:12" in text
    assert "%5 = add" not in text
    assert str(pickle.loads(pickle.dumps(error))) == text


def test_import_pulls_in_nothing_heavy() -> None:
    code = "import sys, typing; before = set(sys.modules); import cutelite.diag; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert {"inspect", "dis", "dataclasses", "linecache", "numpy"}.isdisjoint(done.stdout.split())
