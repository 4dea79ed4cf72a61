"""Pictures of layouts: as coloured text for a terminal, as SVG, as HTML for notebooks.

A layout becomes a `Table`: mode 0 runs down, the other modes together run across, and every cell says where the element
lies. Three kinds of table: offsets of a layout (swizzled or not), banks of shared memory, and the owners, thread and
value, of a tile. A table is drawn by `ansi`, `svg`, `html` or `latex`; lines stand where a nested mode starts over.
Where a layout overlaps - several coordinates at one index, several owners of one element - cells are marked, and it is
said below the cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from colorsys import hls_to_rgb
from html import escape
from typing import Any, Protocol

from cutelite.layout import exact
from cutelite.layout.access import BANK_BYTES, BANKS
from cutelite.layout.errors import LayoutError
from cutelite.layout.expr import dims_of, evaluate
from cutelite.layout.frozen import Frozen
from cutelite.layout.inttuple import flatten_to_tuple, is_static, product, rank, show, size
from cutelite.layout.layout import AnyLayout, ComposedLayout, Layout
from cutelite.layout.text import parse_int_tuple, parse_layout

MOST_ROWS, MOST_COLUMNS = 64, 128
"""The most rows and columns that a table shows; a note says what is left out."""


class Table(Frozen):
    """Cells to draw.

    title    one line above
    cells    rows of (text, colour); a colour counts from 0 to `colours` - 1
    colours  the number of colours
    breaks   the number of rows, and of columns, after which a line is drawn; 0 for no lines
    left_out a note on what is not shown; "" if all is
    note     a note on how the layout overlaps; "" if it does not
    marked   (row, column) of the cells that overlap
    """

    __slots__ = ("title", "cells", "colours", "breaks", "left_out", "note", "marked")  # noqa: RUF023 (as it is drawn)
    title: str
    cells: tuple[tuple[tuple[str, int], ...], ...]
    colours: int
    breaks: tuple[int, int]
    left_out: str
    note: str
    marked: frozenset[tuple[int, int]]

    @property
    def remarks(self) -> list[str]:
        """The lines below the cells."""
        return [remark for remark in (self.note, self.left_out) if remark]

    def __str__(self) -> str:
        return ansi(self, color=False)

    def _repr_html_(self) -> str:
        return html(self)


# ----------------------------------------------------------------------------------------------------- tables


def offsets(layout: AnyLayout, colours: int = 8) -> Table:
    """Return a table of the index of every element, coloured in turn; elements that share an index are marked.

    >>> print(offsets(Layout((2, (2, 2)), (4, (1, 2)))))
    (2,(2,2)):(4,(1,2))
         0   1 |  2   3
     0   0   1 |  2   3
     1   4   5 |  6   7
    >>> print(offsets(Layout((2, 3), (1, 1))))
    (2,3):(1,1)
         0   1   2
     0   0  1!  2!
     1  1!  2!   3
    (overlaps: 4 of 6 coordinates lie at an index with others, 2 of them at 1)
    """
    shared, note = _shared_indices(layout)
    return _table(
        layout, str(layout), lambda value: (show(value), sum(flatten_to_tuple(value)) % colours), colours, shared, note
    )


MOST_COUNTED = 1 << 16
"""The most coordinates among which overlaps are looked for; layouts of plain strides are searched whole."""


def _shared_indices(layout: AnyLayout) -> tuple[set[Any], str]:
    """Return the indices at which several coordinates lie, and a remark on them."""
    if not is_static(layout):
        return set(), ""
    plain = isinstance(layout, Layout) and all(isinstance(d, int) for d in flatten_to_tuple(layout.stride))
    total = int(size(layout))
    looked_at = total if plain and total <= exact.MAX_POINTS else min(total, MOST_COUNTED)
    if plain and looked_at == total:
        values: list[Any] = exact.values(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride))
    else:
        values = [layout(i) for i in range(looked_at)]
    times = Counter(values)
    shared = {value: count for value, count in times.items() if count > 1}
    if not shared:
        return set(), ""
    most = max(shared, key=lambda value: shared[value])
    among = f"{total}" if looked_at == total else f"the first {looked_at}"
    note = f"overlaps: {sum(shared.values())} of {among} coordinates lie at an index with others, "
    return set(shared), note + f"{shared[most]} of them at {show(most)}"


def banks(layout: AnyLayout, bits: int) -> Table:
    """Return a table of the bank of shared memory that every element of `bits` bits lies in.

    >>> print(banks(Layout((2, 4), (32, 1)), 32))
    (2,4):(32,1), banks of 32-bit elements
         0   1   2   3
     0   0   1   2   3
     1   0   1   2   3
    """

    def cell(value: Any) -> tuple[str, int]:
        if isinstance(value, tuple):
            raise LayoutError("banks", f"{layout} gives coordinates, not offsets")
        bank = value * bits // 8 // BANK_BYTES % BANKS
        return str(bank), bank

    return _table(layout, f"{layout}, banks of {bits}-bit elements", cell, BANKS, *_shared_indices(layout))


def owners(layout_tv: AnyLayout, tiler: Any, title: str = "") -> Table:
    """Return a table of the thread and value that own every element of a tile; several owners are counted, and marked.

    layout_tv  (thread, value) -> index in the tile, column-major, as from `make_layout_tv` and from MMA and copy atoms
    tiler      shape of the tile
    title      default: both layouts

    >>> print(owners(Layout((4, 2), (2, 1)), (2, 4)))
    (4,2):(2,1) on (2,4)
            0     1     2     3
     0   T0V0  T1V0  T2V0  T3V0
     1   T0V1  T1V1  T2V1  T3V1
    >>> print(owners(Layout((2, 2), (1, 1)), (2, 2)))
    (2,2):(1,1) on (2,2)
              0        1
     0     T0V0     T1V1
     1  T0V1+1!
    (overlaps: 1 of 4 elements have several owners, 1 of them in several threads: T0V1 and T1V0 at (1,0); 1 has none)
    """
    if rank(layout_tv) != 2:
        raise LayoutError("owners", f"{layout_tv} must map (thread, value); it has {rank(layout_tv)} modes")
    threads, values = (_number("owners", size(layout_tv, mode)) for mode in (0, 1))
    belongs: dict[int, list[tuple[int, int]]] = {}
    for thread in range(threads):
        for value in range(values):
            belongs.setdefault(layout_tv(thread, value), []).append((thread, value))
    if any(isinstance(index, tuple) for index in belongs):
        raise LayoutError("owners", f"{layout_tv} gives coordinates, not indices in the tile")

    def cell(index: Any) -> tuple[str, int]:
        found = belongs.get(index)
        if not found:
            return "", 0
        more = f"+{len(found) - 1}" if len(found) > 1 else ""
        return f"T{found[0][0]}V{found[0][1]}{more}", found[0][0] % min(threads, BANKS)

    tile = Layout(tiler)
    shared = {index for index, found in belongs.items() if len(found) > 1}
    title = title or f"{layout_tv} on {show(tiler)}"
    return _table(tile, title, cell, min(threads, BANKS), shared, _several_owners(tile, belongs))


def _several_owners(tile: Layout, belongs: Mapping[Any, Sequence[tuple[int, int]]]) -> str:
    """Return remarks on elements that have several owners or none, and on owners that have no element."""
    total = _number("owners", tile.size)
    remarks: list[str] = []
    shared = {index: found for index, found in belongs.items() if len(found) > 1}
    if shared:
        apart = [index for index, found in shared.items() if len({thread for thread, _ in found}) > 1]
        first = min(apart or shared)
        (a, b), *others = shared[first]
        c, d = next(owner for owner in others if not apart or owner[0] != a)
        where = show(tile.get_flat_coord(first)) if first < total else str(first)
        several = f", {len(apart)} of them in several threads" if apart else ", in one thread each"
        remarks.append(f"overlaps: {len(shared)} of {total} elements have several owners{several}: "
                       f"T{a}V{b} and T{c}V{d} at {where}")  # fmt: skip
    bare = total - sum(1 for index in belongs if 0 <= index < total)
    if bare:
        has = "has" if bare == 1 else "have"
        remarks.append(f"{bare} {has} none" if shared else f"{bare} of {total} elements {has} no owner")
    beyond = sum(len(found) for index, found in belongs.items() if not 0 <= index < total)
    if beyond:
        remarks.append(f"{beyond} values lie beyond the tile")
    return "; ".join(remarks)


class Atom(Protocol):
    """The parts of an MMA operation that are drawn; `lang.mma_ops.MmaOp` has them."""

    @property
    def drawn(self) -> str: ...
    def extents(self, operand: str, /) -> tuple[int, int]: ...
    def layout_tv(self, operand: str, /) -> Layout: ...


def operands(atom: Atom) -> list[Table]:
    """Return tables of the registers that hold the operands of an MMA: A as (M, K), B as (N, K), C as (M, N).

    `atom.drawn` names the operands that are drawn: those in registers, and those in the memory of several blocks.
    """
    tables = []
    for operand in atom.drawn:
        layout_tv, extents = atom.layout_tv(operand), atom.extents(operand)
        tables.append(owners(layout_tv, extents, f"{operand} {show(extents)} of {atom}: {layout_tv}"))
    return tables


def _number(function: str, x: Any) -> int:
    if not isinstance(x, int):
        raise LayoutError(function, f"{x} is known at launch only: give the dims values")
    return x


def _table(
    layout: AnyLayout, title: str, cell: Any, colours: int, shared: Container[Any] = (), note: str = ""
) -> Table:
    if not is_static(layout):
        raise LayoutError("viz", f"{layout} is known at launch only: give the dims values")
    matrix = layout if rank(layout) != 1 else layout.on_modes(lambda t: (t[0] if isinstance(t, tuple) else t,))
    shape = matrix.shape
    down = int(size(shape[0])) if rank(layout) > 1 else 1
    across = int(size(layout)) // down
    rows, columns = min(down, MOST_ROWS), min(across, MOST_COLUMNS)
    values = [[layout(row + down * column) for column in range(columns)] for row in range(rows)]
    cells = tuple(tuple(cell(value) for value in row) for row in values)
    marked = frozenset((r, c) for r, row in enumerate(values) for c, value in enumerate(row) if value in shared)
    left_out = (
        "" if (rows, columns) == (down, across) else f"the first {rows} of {down} rows, {columns} of {across} columns"
    )
    first, second = (shape[0], shape[1]) if rank(layout) > 1 else (1, *shape, 1)[:2]
    return Table(title, cells, colours, (_period(first), _period(second)), left_out, note, marked)


def _period(shape: Any) -> int:
    """Return the number of coordinates after which the first nested mode starts over."""
    return int(product(shape[0])) if isinstance(shape, tuple) and len(shape) > 1 else 0


# ---------------------------------------------------------------------------------------------------- drawing


def _rgb(colour: int, colours: int) -> tuple[int, int, int]:
    """Return a pastel colour of a circle of hues; neighbours differ in lightness too."""
    red, green, blue = hls_to_rgb(colour / max(colours, 1), 0.86 if colour % 2 else 0.74, 0.7)
    return round(red * 255), round(green * 255), round(blue * 255)


def ansi(table: Table, color: bool = True) -> str:
    """Return the table as text, marked cells with a ``!``; with `color`, cells have backgrounds by ANSI escapes."""
    cells = [
        [(text + "!" if (r, c) in table.marked else text, colour) for c, (text, colour) in enumerate(row)]
        for r, row in enumerate(table.cells)
    ]
    wide = max((len(text) for row in cells for text, _ in row), default=1)
    wide = max(wide, len(str(len(table.cells[0]) - 1)), 2)
    margin = len(str(len(table.cells) - 1)) + 1
    down, across = table.breaks

    def line(label: str, texts: Sequence[tuple[str, int]], paint: bool) -> str:
        parts = [label.rjust(margin)]
        for column, (text, colour) in enumerate(texts):
            parts.append(" |" if across and column and column % across == 0 else "")
            filled = text.rjust(wide)
            if paint and text:
                red, green, blue = _rgb(colour, table.colours)
                filled = f"\x1b[30;48;2;{red};{green};{blue}m{filled}\x1b[0m"
            parts.append((" " if parts[-1] else "  ") + filled)
        return "".join(parts).rstrip()

    lines = [table.title, line("", [(str(column), 0) for column in range(len(table.cells[0]))], paint=False)]
    for row, texts in enumerate(cells):
        if down and row and row % down == 0:
            lines.append("")
        lines.append(line(str(row), texts, paint=color))
    return "\n".join([*lines, *(f"({remark})" for remark in table.remarks)])


def svg(*tables: Table) -> str:
    """Return the table as an SVG image; several one above the other."""
    if len(tables) == 1:
        return _svg(tables[0])[0]
    parts, width, height = [], 0, 0
    for image, wide, high in map(_svg, tables):
        parts.append(image.replace("<svg ", f'<svg y="{height}" ', 1))
        width, height = max(width, wide), height + high + 16
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">', *parts, "</svg>"])


def _svg(table: Table) -> tuple[str, int, int]:
    """Return the image, its width and its height."""
    wide = max(28, 7 * max((len(text) for row in table.cells for text, _ in row), default=1) + 8)
    high, left, top = 22, 34, 42
    rows, columns = len(table.cells), len(table.cells[0])
    remarks = table.remarks
    width, height = left + columns * wide + 8, top + rows * high + 8 + 16 * len(remarks)
    width = max(width, left + 7 * max(map(len, (table.title, *remarks))))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        '<g font-family="monospace" font-size="11" text-anchor="middle">',
        f'<text x="{left}" y="14" text-anchor="start" font-weight="bold">{escape(table.title)}</text>',
    ]
    for column in range(columns):
        parts.append(f'<text x="{left + column * wide + wide / 2:g}" y="{top - 6}" fill="#666">{column}</text>')
    for row, texts in enumerate(table.cells):
        y = top + row * high
        parts.append(f'<text x="{left - 14}" y="{y + 15}" fill="#666">{row}</text>')
        for column, (text, colour) in enumerate(texts):
            x = left + column * wide
            fill = "#{:02x}{:02x}{:02x}".format(*_rgb(colour, table.colours)) if text else "#fff"
            parts.append(f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" fill="{fill}" stroke="#fff"/>')
            parts.append(f'<text x="{x + wide / 2:g}" y="{y + 15}">{escape(text)}</text>')
    for row, column in sorted(table.marked):
        x, y = left + column * wide + 1, top + row * high + 1
        around = f"M{x} {y}h{wide - 2}v{high - 2}h{2 - wide}z"
        parts.append(f'<path d="{around}" fill="none" stroke="#c00" stroke-width="2"/>')
    down, across = table.breaks
    for column in range(across, columns, across) if across else ():
        x = left + column * wide
        parts.append(f'<path d="M{x} {top}V{top + rows * high}" stroke="#333" stroke-width="1.5"/>')
    for row in range(down, rows, down) if down else ():
        y = top + row * high
        parts.append(f'<path d="M{left} {y}H{left + columns * wide}" stroke="#333" stroke-width="1.5"/>')
    for k, remark in enumerate(remarks):
        y, fill = top + rows * high + 16 * (k + 1), "#c00" if remark == table.note else "#000"
        parts.append(f'<text x="{left}" y="{y}" text-anchor="start" fill="{fill}">{escape(remark)}</text>')
    return "\n".join([*parts, "</g></svg>"]), width, height


def html(*tables: Table) -> str:
    """Return tables as one piece of HTML, which a notebook shows, and `page` makes a file of."""
    return "\n".join(f'<div style="overflow-x:auto">{svg(table)}</div>' for table in tables)


def latex(*tables: Table) -> str:
    """Return tables as a LaTeX document with a TikZ picture each: marked cells have a thick red frame."""
    lines = [r"\documentclass{standalone}", r"\usepackage{tikz}", r"\begin{document}", r"\begin{tabular}{l}"]
    for table in tables:
        lines += [
            _tex(table.title) + r" \\",
            *_tikz(table),
            *(rf"\\ {_tex(remark)}" for remark in table.remarks),
            r"\\",
        ]
    return "\n".join([*lines, r"\end{tabular}", r"\end{document}"])


def _tikz(table: Table) -> list[str]:
    wide = max(0.8, 0.2 * max((len(text) for row in table.cells for text, _ in row), default=1))
    frame = rf"minimum width={wide:g}cm, minimum height=0.6cm, inner sep=0, font=\footnotesize\ttfamily"
    lines = [rf"\begin{{tikzpicture}}[x={wide:g}cm, y=-0.6cm, cell/.style={{draw=white, {frame}}}]"]
    for c in range(len(table.cells[0])):
        lines.append(rf"\node[cell, gray] at ({c},-1) {{{c}}};")
    for r, row in enumerate(table.cells):
        lines.append(rf"\node[cell, gray] at (-1,{r}) {{{r}}};")
        for c, (text, colour) in enumerate(row):
            red, green, blue = _rgb(colour, table.colours) if text else (255, 255, 255)
            mark = ", draw=red, thick" if (r, c) in table.marked else ""
            fill = rf"fill={{rgb,255:red,{red};green,{green};blue,{blue}}}"
            lines.append(rf"\node[cell, {fill}{mark}] at ({c},{r}) {{{_tex(text)}}};")
    down, across = table.breaks
    rows, columns = len(table.cells), len(table.cells[0])
    for c in range(across, columns, across) if across else ():
        lines.append(rf"\draw[thick] ({c - 0.5},-0.5) -- ({c - 0.5},{rows - 0.5});")
    for r in range(down, rows, down) if down else ():
        lines.append(rf"\draw[thick] (-0.5,{r - 0.5}) -- ({columns - 0.5},{r - 0.5});")
    return [*lines, r"\end{tikzpicture}"]


def _tex(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    special = {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}", "<": r"\textless{}", ">": r"\textgreater{}"}
    return "".join(special.get(c, "\\" + c if c in "&%$#_{}" else c) for c in text)


def print_latex(layout: AnyLayout) -> None:
    """Print a layout's offsets as a LaTeX document.

    >>> print_latex(Layout(2))   # doctest: +ELLIPSIS
    \\documentclass{standalone}
    ...
    """
    print(latex(offsets(layout)))


def print_latex_tv(layout_tv: AnyLayout, tiler: Any) -> None:
    """Print the owners of a tile's elements, as in `owners`, as a LaTeX document.

    >>> print_latex_tv(Layout((2, 2)), (2, 2))   # doctest: +ELLIPSIS
    \\documentclass{standalone}
    ...
    """
    print(latex(owners(layout_tv, tiler)))


def page(*tables: Table) -> str:
    """Return tables as a whole HTML page."""
    title = escape(tables[0].title)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        f"\n<body>\n{html(*tables)}\n</body></html>\n"
    )


def notebook(layout: AnyLayout) -> str | None:
    """Return the HTML that a notebook shows for a layout; None for its text, if it is large or known only at launch."""
    if not is_static(layout) or int(size(layout)) > MOST_ROWS * MOST_COLUMNS or not flatten_to_tuple(layout.shape):
        return None
    return html(offsets(layout))


def picture(
    text: str,
    *,
    tiler: str | None = None,
    bits: int | None = None,
    dims: Mapping[str, int] | None = None,
    form: str = "text",
    color: bool = True,
) -> str:
    """Return the tables that `cutelite layout TEXT` shows of a layout.

    text   a layout as it prints
    tiler  shape of a tile: the layout is then one from (thread, value) to its elements
    bits   of an element: show the banks of shared memory
    dims   values for the dims in the layout and the tile
    form   "text", "svg", "html" or "latex"

    >>> print(picture("(2,4):(4,1)", color=False))
    (2,4):(4,1)
         0   1   2   3
     0   0   1   2   3
     1   4   5   6   7
    """
    layout, tile = parse_layout(text), parse_int_tuple(tiler or "()")
    if not isinstance(layout, (Layout, ComposedLayout)):
        raise LayoutError("picture", f"{text} is no layout")
    if tiler is not None and bits is not None:
        raise LayoutError("picture", "a tile is drawn with its owners, and banks are a layout's: give one of both")
    if dims:
        if unknown := set(dims) - {dim.name for dim in dims_of(layout) | dims_of(tile)}:
            raise LayoutError("picture", f"{text} has no dim {', '.join(sorted(unknown))}")
        layout, tile = evaluate(layout, dims), evaluate(tile, dims)
    if tiler is not None:
        table = owners(layout, tile)
    elif bits is not None:
        table = banks(layout, bits)
    else:
        table = offsets(layout)
    return render([table], form, color)


def render(tables: Sequence[Table], form: str, color: bool = True) -> str:
    """Return the tables as "text", coloured or not, as one "svg", a page of "html", or a document for "latex"."""
    if form == "text":
        return "\n\n".join(ansi(table, color) for table in tables)
    drawn = {"svg": svg, "html": page, "latex": latex}.get(form)
    if drawn is None:
        raise LayoutError("picture", f"form is {form!r}, must be text, svg, html or latex")
    return drawn(*tables)
