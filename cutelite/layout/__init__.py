"""CuTe layout algebra in plain Python: shapes, strides, swizzles, composition, division, inverses.

A leaf: imports nothing else of ours, and is of use to any Python program. In: ints, named run-time extents (`Dim`),
tuples of them. Out: layouts, frozen values that print the way they parse, or a `LayoutError` that names the function,
the mode and the numbers. What every function promises is stated in `laws.py`, and checked there.

    errors    the one exception                    layout       Layout and ComposedLayout
    dims      named extents and expressions        make         layouts from shapes, orders, other layouts
    expr      walking expressions: text, values    modes        coalesce, filter
    facts     what can be proven about them        compose      composition
    basis     strides that make coordinates        complements  what a layout leaves out
    inttuple  nested integer tuples                inverses     right, left, nullspace
    coords    coordinates and indices              common       what is contiguous in two layouts
    swizzle   XOR permutations                     divide       tiles: divide, product, tile_to_shape
    exact     functions as layouts, by values      tiles        slices, local tiles, thread-value, recast
    text      parsing                              access       bank conflicts, sectors of global memory
    viz       pictures                             synthesis    swizzles free of bank conflicts; TMA's and wgmma's

The names are imported when first used: a program that launches kernels needs few of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cutelite.layout.dims import dims as dims  # now: imported later, the module would take the function's name

if TYPE_CHECKING:  # the names of `_WHERE` once more, for type checkers and editors
    from cutelite.layout.access import (
        BankReport as BankReport,
    )
    from cutelite.layout.access import (
        SectorReport as SectorReport,
    )
    from cutelite.layout.access import (
        bank_conflicts as bank_conflicts,
    )
    from cutelite.layout.access import (
        sectors as sectors,
    )
    from cutelite.layout.basis import Basis as Basis
    from cutelite.layout.basis import E as E
    from cutelite.layout.basis import basis_get as basis_get
    from cutelite.layout.basis import basis_value as basis_value
    from cutelite.layout.common import (
        CopyVector as CopyVector,
    )
    from cutelite.layout.common import (
        copy_vector as copy_vector,
    )
    from cutelite.layout.common import (
        max_common_layout as max_common_layout,
    )
    from cutelite.layout.common import (
        max_common_vector as max_common_vector,
    )
    from cutelite.layout.complements import complement as complement
    from cutelite.layout.compose import composition as composition
    from cutelite.layout.coords import (
        crd2crd as crd2crd,
    )
    from cutelite.layout.coords import (
        crd2idx as crd2idx,
    )
    from cutelite.layout.coords import (
        idx2crd as idx2crd,
    )
    from cutelite.layout.coords import (
        increment_coord as increment_coord,
    )
    from cutelite.layout.dims import (
        Dim as Dim,
    )
    from cutelite.layout.dims import (
        DimExpr as DimExpr,
    )
    from cutelite.layout.dims import (
        Int as Int,
    )
    from cutelite.layout.dims import (
        dims as dims,
    )
    from cutelite.layout.dims import (
        maximum as maximum,
    )
    from cutelite.layout.dims import (
        minimum as minimum,
    )
    from cutelite.layout.divide import (
        blocked_product as blocked_product,
    )
    from cutelite.layout.divide import (
        flat_divide as flat_divide,
    )
    from cutelite.layout.divide import (
        flat_product as flat_product,
    )
    from cutelite.layout.divide import (
        logical_divide as logical_divide,
    )
    from cutelite.layout.divide import (
        logical_product as logical_product,
    )
    from cutelite.layout.divide import (
        raked_product as raked_product,
    )
    from cutelite.layout.divide import (
        tile_to_shape as tile_to_shape,
    )
    from cutelite.layout.divide import (
        tiled_divide as tiled_divide,
    )
    from cutelite.layout.divide import (
        tiled_product as tiled_product,
    )
    from cutelite.layout.divide import (
        zipped_divide as zipped_divide,
    )
    from cutelite.layout.divide import (
        zipped_product as zipped_product,
    )
    from cutelite.layout.errors import LayoutError as LayoutError
    from cutelite.layout.expr import (
        Ops as Ops,
    )
    from cutelite.layout.expr import (
        dims_of as dims_of,
    )
    from cutelite.layout.expr import (
        evaluate as evaluate,
    )
    from cutelite.layout.expr import (
        fold as fold,
    )
    from cutelite.layout.expr import (
        substitute as substitute,
    )
    from cutelite.layout.facts import (
        exact_div as exact_div,
    )
    from cutelite.layout.facts import (
        is_divisible as is_divisible,
    )
    from cutelite.layout.facts import (
        known_divisor as known_divisor,
    )
    from cutelite.layout.facts import (
        lower_bound as lower_bound,
    )
    from cutelite.layout.facts import (
        prove_le as prove_le,
    )
    from cutelite.layout.facts import (
        prove_lt as prove_lt,
    )
    from cutelite.layout.facts import (
        static_value as static_value,
    )
    from cutelite.layout.facts import (
        upper_bound as upper_bound,
    )
    from cutelite.layout.inttuple import (
        IntTuple as IntTuple,
    )
    from cutelite.layout.inttuple import (
        append as append,
    )
    from cutelite.layout.inttuple import (
        ceil_div as ceil_div,
    )
    from cutelite.layout.inttuple import (
        depth as depth,
    )
    from cutelite.layout.inttuple import (
        elem_less as elem_less,
    )
    from cutelite.layout.inttuple import (
        flatten as flatten,
    )
    from cutelite.layout.inttuple import (
        flatten_to_tuple as flatten_to_tuple,
    )
    from cutelite.layout.inttuple import (
        get as get,
    )
    from cutelite.layout.inttuple import (
        group_modes as group_modes,
    )
    from cutelite.layout.inttuple import (
        inner_product as inner_product,
    )
    from cutelite.layout.inttuple import (
        is_compatible as is_compatible,
    )
    from cutelite.layout.inttuple import (
        is_congruent as is_congruent,
    )
    from cutelite.layout.inttuple import (
        is_static as is_static,
    )
    from cutelite.layout.inttuple import (
        is_weakly_congruent as is_weakly_congruent,
    )
    from cutelite.layout.inttuple import (
        prefix_product as prefix_product,
    )
    from cutelite.layout.inttuple import (
        prepend as prepend,
    )
    from cutelite.layout.inttuple import (
        product as product,
    )
    from cutelite.layout.inttuple import (
        product_each as product_each,
    )
    from cutelite.layout.inttuple import (
        product_like as product_like,
    )
    from cutelite.layout.inttuple import (
        rank as rank,
    )
    from cutelite.layout.inttuple import (
        repeat as repeat,
    )
    from cutelite.layout.inttuple import (
        repeat_like as repeat_like,
    )
    from cutelite.layout.inttuple import (
        round_up as round_up,
    )
    from cutelite.layout.inttuple import (
        select as select,
    )
    from cutelite.layout.inttuple import (
        shape_div as shape_div,
    )
    from cutelite.layout.inttuple import (
        show as show,
    )
    from cutelite.layout.inttuple import (
        size as size,
    )
    from cutelite.layout.inttuple import (
        take as take,
    )
    from cutelite.layout.inttuple import (
        transform_leaf as transform_leaf,
    )
    from cutelite.layout.inttuple import (
        unflatten as unflatten,
    )
    from cutelite.layout.inverses import (
        left_inverse as left_inverse,
    )
    from cutelite.layout.inverses import (
        nullspace as nullspace,
    )
    from cutelite.layout.inverses import (
        right_inverse as right_inverse,
    )
    from cutelite.layout.laws import BrokenPromise as BrokenPromise
    from cutelite.layout.laws import checked as checked
    from cutelite.layout.layout import (
        AnyLayout as AnyLayout,
    )
    from cutelite.layout.layout import (
        ComposedLayout as ComposedLayout,
    )
    from cutelite.layout.layout import (
        Layout as Layout,
    )
    from cutelite.layout.layout import (
        cosize as cosize,
    )
    from cutelite.layout.layout import (
        leading_dim as leading_dim,
    )
    from cutelite.layout.layout import (
        shape as shape,
    )
    from cutelite.layout.layout import (
        stride as stride,
    )
    from cutelite.layout.make import (
        make_composed_layout as make_composed_layout,
    )
    from cutelite.layout.make import (
        make_fragment_like as make_fragment_like,
    )
    from cutelite.layout.make import (
        make_identity_layout as make_identity_layout,
    )
    from cutelite.layout.make import (
        make_layout as make_layout,
    )
    from cutelite.layout.make import (
        make_layout_like as make_layout_like,
    )
    from cutelite.layout.make import (
        make_ordered_layout as make_ordered_layout,
    )
    from cutelite.layout.make import (
        row_major as row_major,
    )
    from cutelite.layout.modes import coalesce as coalesce
    from cutelite.layout.modes import filter as filter
    from cutelite.layout.modes import filter_zeros as filter_zeros
    from cutelite.layout.swizzle import Swizzle as Swizzle
    from cutelite.layout.synthesis import (
        SwizzleSearch as SwizzleSearch,
    )
    from cutelite.layout.synthesis import (
        hopper_swizzle as hopper_swizzle,
    )
    from cutelite.layout.synthesis import (
        synthesize_swizzle as synthesize_swizzle,
    )
    from cutelite.layout.synthesis import (
        tma_problems as tma_problems,
    )
    from cutelite.layout.synthesis import (
        wgmma_problems as wgmma_problems,
    )
    from cutelite.layout.text import parse_int_tuple as parse_int_tuple
    from cutelite.layout.text import parse_layout as parse_layout
    from cutelite.layout.tiles import (
        dice as dice,
    )
    from cutelite.layout.tiles import (
        downcast as downcast,
    )
    from cutelite.layout.tiles import (
        has_underscore as has_underscore,
    )
    from cutelite.layout.tiles import (
        local_partition as local_partition,
    )
    from cutelite.layout.tiles import (
        local_partition_and_offset as local_partition_and_offset,
    )
    from cutelite.layout.tiles import (
        local_tile as local_tile,
    )
    from cutelite.layout.tiles import (
        local_tile_and_offset as local_tile_and_offset,
    )
    from cutelite.layout.tiles import (
        make_layout_tv as make_layout_tv,
    )
    from cutelite.layout.tiles import (
        recast_layout as recast_layout,
    )
    from cutelite.layout.tiles import (
        slice_ as slice_,
    )
    from cutelite.layout.tiles import (
        slice_and_offset as slice_and_offset,
    )
    from cutelite.layout.tiles import (
        upcast as upcast,
    )

_WHERE = {
    "access": "BankReport SectorReport bank_conflicts sectors",
    "basis": "Basis E basis_get basis_value",
    "common": "CopyVector copy_vector max_common_layout max_common_vector",
    "complements": "complement",
    "compose": "composition",
    "coords": "crd2crd crd2idx idx2crd increment_coord",
    "dims": "Dim DimExpr Int dims maximum minimum",
    "divide": "blocked_product flat_divide flat_product logical_divide logical_product raked_product tile_to_shape"
    " tiled_divide tiled_product zipped_divide zipped_product",
    "errors": "LayoutError",
    "expr": "Ops dims_of evaluate fold substitute",
    "facts": "exact_div is_divisible known_divisor lower_bound prove_le prove_lt static_value upper_bound",
    "inttuple": "IntTuple append ceil_div depth elem_less flatten flatten_to_tuple get group_modes inner_product"
    " is_compatible is_congruent is_static is_weakly_congruent prefix_product prepend product"
    " product_each product_like rank repeat repeat_like round_up select shape_div show size take"
    " transform_leaf unflatten",
    "inverses": "left_inverse nullspace right_inverse",
    "laws": "BrokenPromise checked",
    "layout": "AnyLayout ComposedLayout Layout cosize leading_dim shape stride",
    "make": "make_composed_layout make_fragment_like make_identity_layout make_layout make_layout_like"
    " make_ordered_layout row_major",
    "modes": "coalesce filter filter_zeros",
    "swizzle": "Swizzle",
    "synthesis": "SwizzleSearch hopper_swizzle synthesize_swizzle tma_problems wgmma_problems",
    "text": "parse_int_tuple parse_layout",
    "tiles": "dice downcast has_underscore local_partition local_partition_and_offset local_tile"
    " local_tile_and_offset make_layout_tv recast_layout slice_ slice_and_offset upcast",
}
_HOME = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
