"""Pictures: what stands in the cells, where lines are drawn, and that SVG is well formed."""

import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from cutelite.cli import main
from cutelite.ir.types import bf16, f16, f32
from cutelite.lang.mma_ops import WarpgroupMmaOp, WarpMmaOp
from cutelite.layout import (
    F2,
    ComposedLayout,
    E,
    Layout,
    LayoutError,
    Swizzle,
    dims,
    make_identity_layout,
    make_layout_tv,
    print_latex,
    print_latex_tv,
    row_major,
)
from cutelite.layout.viz import Table, ansi, banks, notebook, offsets, operands, owners, page, picture, svg


def texts(image: str) -> list[str]:
    root = ElementTree.fromstring(image)
    return [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_text_of_a_layout() -> None:
    assert picture("(4,(2,2)):(4,(1,32))", color=False).splitlines() == [
        "(4,(2,2)):(4,(1,32))",
        "     0   1 |  2   3",
        " 0   0   1 | 32  33",
        " 1   4   5 | 36  37",
        " 2   8   9 | 40  41",
        " 3  12  13 | 44  45",
    ]
    assert picture("((2,2),2)", color=False).splitlines()[3:] == [" 1   1   5", "", " 2   2   6", " 3   3   7"]
    assert picture("(M,4):(4,1)", dims={"M": 2}, color=False).splitlines()[-1] == " 1   4   5   6   7"
    assert picture("4:2", color=False).splitlines()[-1] == " 0   0   2   4   6"
    assert picture("()", color=False).splitlines()[1:] == ["     0", " 0   0"]
    assert "(1,2)" in str(offsets(make_identity_layout((2, 3))))


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", "(M,2):(2,1)", "--set", "M=2"]) == 0
    assert capsys.readouterr().out == "(2,2):(2,1)\n     0   1\n 0   0   1\n 1   2   3\n"
    assert main(["layout", "(8,8):(8,1)", "--bits", "32", "--form", "svg"]) == 0
    assert "banks of 32-bit elements" in texts(capsys.readouterr().out)[0]
    assert main(["layout", "(4,2):(2,1)", "--tiler", "(2,4)"]) == 0
    assert "T3V1" in capsys.readouterr().out
    assert main(["layout", "(4,2):(2,1)", "--tiler", "(M,4)", "--set", "M=2"]) == 0
    assert "T3V1" in capsys.readouterr().out
    assert main(["layout", "(M,2)"]) == 1
    assert "cutelite: viz: (M,2):(1,M) is known at launch only" in capsys.readouterr().err


def test_colour() -> None:
    coloured = picture("(2,2):(2,1)")
    assert coloured.count("\x1b[0m") == 4
    assert len({part.split("m")[0] for part in coloured.split("\x1b[30;")[1:]}) == 4


def test_svg_holds_every_cell() -> None:
    table = offsets(Layout((4, (2, 4)), (8, (1, 2))))
    image = svg(table)
    assert texts(image)[0] == table.title
    assert set(map(str, range(32))) <= set(texts(image))
    assert image.count("<rect") == 32
    assert image.count("<path") == 3
    assert page(table).startswith("<!DOCTYPE html>")


def test_banks_of_a_swizzled_tile() -> None:
    plain, swizzled = row_major((8, 32)), ComposedLayout(Swizzle(3, 2, 3), 0, row_major((8, 32)))
    column = [[row[0][0] for row in banks(layout, 32).cells] for layout in (plain, swizzled)]
    assert column == [["0"] * 8, ["0", "4", "8", "12", "16", "20", "24", "28"]]


def test_owners_of_a_tile() -> None:
    tiler, tv = make_layout_tv(row_major((2, 2)), row_major((1, 2)))
    assert [[text for text, _ in row] for row in owners(tv, tiler).cells] == [
        ["T0V0", "T0V1", "T1V0", "T1V1"],
        ["T2V0", "T2V1", "T3V0", "T3V1"],
    ]
    shared = owners(Layout((4, 2), (0, 1)), (2, 2))
    assert [text for row in shared.cells for text, _ in row] == ["T0V0+3", "", "T0V1+3", ""]


def marks(table: Table) -> list[str]:
    return [table.cells[row][column][0] for row, column in sorted(table.marked)]


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (Layout((2, 3), (1, 1)), "overlaps: 4 of 6 coordinates lie at an index with others, 2 of them at 1"),
        (Layout((4, 3), (0, 1)), "overlaps: 12 of 12 coordinates lie at an index with others, 4 of them at 0"),
        (Layout(((2, 2), 2), ((1, 0), 2)), "overlaps: 8 of 8 coordinates lie at an index with others, 2 of them at 0"),
        (Layout(6, 0), "overlaps: 6 of 6 coordinates lie at an index with others, 6 of them at 0"),
        (Layout((2, 2), (F2(3), F2(3))), "overlaps: 4 of 4 coordinates lie at an index with others, 2 of them at 0"),
        (Layout((2, 2), (E(0), E(0))), "overlaps: 2 of 4 coordinates lie at an index with others, 2 of them at (1)"),
        (ComposedLayout(Swizzle(1, 0, 1), 0, Layout((2, 2), (1, 0))), "overlaps: 4 of 4 coordinates"),
        (
            Layout((100, 200), (1, 1)),
            "overlaps: 19998 of 20000 coordinates lie at an index with others, 100 of them at 99",
        ),
    ],
)
def test_what_overlaps_is_said_and_marked(layout: Any, said: str) -> None:
    table = offsets(layout)
    assert table.note.startswith(said)
    assert said in ansi(table, color=False)
    shown = [text for row in table.cells for text, _ in row]
    assert set(marks(table)) >= {text for text in shown if shown.count(text) > 1}
    image = svg(table)
    assert table.note in texts(image)
    assert image.count('stroke="#c00"') == len(table.marked) == ansi(table, color=False).count("!")
    assert table.remarks[0] in page(table)


def test_what_does_not_overlap_is_not_marked() -> None:
    for layout in (row_major((4, 8)), Layout((4, 2), (1, 5)), make_identity_layout((2, 3)), Layout((1, 4), (0, 1))):
        assert (offsets(layout).note, offsets(layout).marked) == ("", frozenset())
    assert banks(row_major((8, 32)), 32).note == ""  # one bank, but not one element
    assert banks(Layout((8, 32), (0, 1)), 32).note.startswith("overlaps: 256 of 256")


def test_elements_of_several_owners() -> None:
    table = owners(Layout(((4, 8), (2, 2)), ((16, 2), (1, 8))), (8, 16))
    assert table.note.startswith("overlaps: ")
    assert "in several threads" in table.note
    assert set(marks(table)) == {text for row in table.cells for text, _ in row if "+" in text}
    within = owners(Layout((2, (2, 2)), (2, (1, 0))), (2, 2))
    assert "4 of 4 elements have several owners, in one thread each: T0V0 and T0V2 at (0,0)" in within.note
    assert owners(Layout((2, 2), (1, 2)), (2, 4)).note == "4 of 8 elements have no owner"
    assert owners(Layout((2, 2), (1, 3)), (2, 2)).note == "1 of 4 elements has no owner; 1 values lie beyond the tile"
    tiler, tv = make_layout_tv(Layout((4, 8), (8, 1)), Layout((2, 2)))
    assert (owners(tv, tiler).note, owners(tv, tiler).marked) == ("", frozenset())


def test_the_pictures_in_the_docs_do_not_overlap(capsys: pytest.CaptureFixture[str]) -> None:
    page_of_layouts = (Path(__file__).resolve().parents[2] / "docs" / "layouts.md").read_text()
    commands = [
        shlex.split(line, comments=True) for line in page_of_layouts.splitlines() if line.startswith("cutelite layout")
    ]
    for command in commands:
        assert main(command[1:]) == 0
        assert "overlaps" not in capsys.readouterr().out, command
    assert len(commands) > 4


def test_latex(capsys: pytest.CaptureFixture[str]) -> None:
    print_latex(Layout((2, 3), (1, 1)))
    text = capsys.readouterr().out
    assert text.count(r"\node[cell, fill") == 6
    assert text.count("draw=red") == 4
    assert r"\\ overlaps: 4 of 6 coordinates" in text
    print_latex_tv(Layout((4, 2), (2, 1)), (2, 4))
    assert "{T3V1};" in capsys.readouterr().out
    assert main(["layout", "S<1,0,1> o 0 o (2,(2,2))", "--form", "latex"]) == 0
    text = capsys.readouterr().out
    assert r"S\textless{}1,0,1\textgreater{}" in text
    assert text.count("{") == text.count("}")
    assert r"\draw[thick] (1.5," in text


def test_operands_of_an_mma() -> None:
    a, b, c = operands(WarpMmaOp(f16, f32))
    assert [len(t.cells) for t in (a, b, c)] == [16, 8, 16]
    assert [len(t.cells[0]) for t in (a, b, c)] == [16, 16, 8]
    assert c.cells[0][:3] == (("T0V0", 0), ("T0V1", 0), ("T1V0", 1))  # PTX ISA, mma.m16n8k16: row 0 is threads 0 to 3
    assert c.cells[9][7][0] == "T7V3"
    assert c.title.startswith("C (16,8) of WarpMmaOp(")
    (accumulator,) = operands(WarpgroupMmaOp(bf16, f32, 16))  # A and B lie in shared memory
    assert {text.partition("V")[0] for row in accumulator.cells for text, _ in row} == {f"T{i}" for i in range(128)}
    assert WarpMmaOp(f16, f32)._repr_html_().count("<svg") == 3


def test_several_tables_in_one_image() -> None:
    images = svg(*operands(WarpMmaOp(f16, f32)))
    assert ElementTree.fromstring(images).attrib["height"].isdigit()
    assert "T31V3" in texts(images)


def test_an_mma_at_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", "WarpMmaOp(f16, f32, k=8)"]) == 0
    assert "B (8,8) of WarpMmaOp(" in capsys.readouterr().out
    for text, why in (
        ("WarpMmaOp(f17, f32)", "is no MMA operation"),
        ("WarpMmaOp(f16", "is no MMA operation"),
        ("CopyUniversalOp()", "such as 'WarpMmaOp"),
        ("WarpMmaOp()", "missing 2 required"),
        ("WarpMmaOp(f16, f(3))", "f(3) is neither a dtype nor a literal"),
        ("WarpMmaOp(f16, f32) --bits 8", "--bits are for a layout"),
    ):
        assert main(["layout", *text.split(" --bits ")[:1], *(["--bits", "8"] if "--bits" in text else [])]) == 1
        assert why in capsys.readouterr().err
    assert main(["layout", "WarpMmaOp(f16, i32)"]) == 1
    assert "does not multiply f16 by f16 into i32" in capsys.readouterr().err


def test_large_tables_say_what_is_left_out() -> None:
    table = offsets(Layout((100, 200)))
    assert table.left_out == "the first 64 of 100 rows, 128 of 200 columns"
    assert ansi(table, color=False).endswith(f"({table.left_out})")
    assert table.left_out in texts(svg(table))


def test_notebooks() -> None:
    html = Layout((2, 2))._repr_html_()
    assert html is not None
    assert html.startswith("<div")
    assert ComposedLayout(Swizzle(1, 0, 1), 0, Layout((2, 2)))._repr_html_()
    assert notebook(Layout((1000, 1000))) is None
    assert Layout((2, dims("M")))._repr_html_() is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: picture("(M,4)"), "give the dims values"),
        (lambda: picture("(M,4)", dims={"M": 2, "N": 3}), "\\(M,4\\) has no dim N"),
        (lambda: picture("(M,4)", dims={"M": 2.0}), "M is 2.0, but must be a whole number"),  # type: ignore[dict-item]
        (lambda: picture("(2,4)", tiler="8", bits=16), "give one of both"),
        (lambda: picture("S<1,2,3>"), "is no layout"),
        (lambda: picture("(2,2)", form="pdf"), "must be text, svg, html or latex"),
        (lambda: owners(make_identity_layout((2, 2)), (2, 2)), "gives coordinates, not indices"),
        (lambda: picture("(2,2,2)", tiler="(2,4)"), "has 3 modes"),
        (lambda: banks(make_identity_layout((2, 2)), 32), "gives coordinates"),
    ],
)
def test_misuse(make: object, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        make()  # type: ignore[operator]
