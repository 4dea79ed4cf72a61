"""Layouts of tiles in shared memory that wgmma reads, TMA fills and ldmatrix accesses without bank conflicts.

    layout = cl.tile_to_shape(cl.make_smem_layout_atom(cl.bf16), (128, 64, STAGES))
    tile = cl.shared(cl.bf16, layout)

An atom is 8 rows of one swizzled span (PTX ISA, canonical layouts); 'K' says that neighbours along K are contiguous,
'MN' those along M or N.
"""

from __future__ import annotations

from typing import Any, Literal

from cutelite.ir.types import Scalar as DType
from cutelite.lang.emit import mistake
from cutelite.layout import ComposedLayout, Layout, Swizzle, tile_to_shape
from cutelite.ops.swizzles import SWIZZLES, rows_of, span_of

Major = Literal["K", "MN"]
SwizzleName = Literal["none", "32B", "64B", "128B", "128B_ATOM_32B"]
ROWS = 8


def make_smem_layout_atom(dtype: DType, major: Major = "K", swizzle: SwizzleName = "128B") -> Any:
    """Return the least tile of a major mode and swizzle: (8, span) K-major, (span, 8) MN-major; the span in elements.

    dtype    the type of the elements
    swizzle  'none' (spans of 16 bytes), '32B', '64B' or '128B'; or '128B_ATOM_32B', Blackwell's swizzle in units of 32
             bytes, whose atom has 4 rows: tcgen05 reads MN-major tf32 with it
    Result   a layout of elements, composed with the swizzle if there is one
    """
    if major not in ("K", "MN") or swizzle not in SWIZZLES:
        raise mistake(
            "smem-layout", f"a major mode is K or MN, a swizzle one of {', '.join(SWIZZLES)}: not {major}, {swizzle}"
        )
    if dtype.bits not in (8, 16, 32, 64):
        raise mistake("smem-layout", f"tiles hold elements of 8 to 64 bits, not {dtype}")
    pattern = SWIZZLES[swizzle]
    span, rows = span_of(swizzle) // dtype.bytes, rows_of(swizzle)
    layout = Layout((rows, span), (span, 1)) if major == "K" else Layout((span, rows), (1, span))
    if pattern is None:
        return layout
    return ComposedLayout(
        Swizzle(pattern.bits, pattern.base - (dtype.bytes.bit_length() - 1), pattern.shift), 0, layout
    )


def make_smem_layout(dtype: DType, shape: tuple[int, ...], major: Major = "K", order: Any = None) -> Any:
    """Return the layout of a tile (rows, k) or (rows, k, stages) with the widest swizzle that fits its contiguous mode.

    dtype   the type of the elements, whose bytes set the spans of a swizzle
    order   the order of the atom's copies along the modes, as for `tile_to_shape`. Default: along the contiguous mode
            last, as boxes of TMA lie, then stages
    Errors  `smem-layout` when no atom divides the shape
    """
    along = 1 if major == "K" else 0
    for swizzle in ("128B", "64B", "32B", "none"):
        atom = make_smem_layout_atom(dtype, major, swizzle)
        if all(extent % have == 0 for extent, have in zip(shape, atom.shape, strict=False)):
            default = (0, 1, 2) if along == 1 else (1, 0, 2)
            return tile_to_shape(atom, shape, default[: len(shape)] if order is None else order)
    raise mistake(
        "smem-layout", f"no atom of a {major}-major tile of {dtype} divides {shape}",
        help=f"its contiguous mode must be a multiple of 16 bytes, {16 // dtype.bytes} elements, the other of {ROWS}",
    )  # fmt: skip
