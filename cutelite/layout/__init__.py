"""CuTe layout algebra in plain Python: shapes, strides, swizzles, composition, division, inverses.

A leaf: imports nothing else of ours, and is of use to any Python program. In: ints, named run-time extents (`Dim`),
tuples of them. Out: layouts, frozen values that print the way they parse, or a `LayoutError` that names the function,
the mode and the numbers.

    errors    the one exception                    layout       Layout and ComposedLayout
    dims      named extents and expressions        make         layouts from shapes, orders, other layouts
    expr      walking expressions: text, values    modes        coalesce, filter
    facts     provable factors, bounds, order        compose      composition
    basis     strides that make coordinates        complements  layouts of the gaps between a layout's values
    f2        strides that are added by XOR        inverses     right, left, nullspace
    inttuple  nested integer tuples                common       elements contiguous in two layouts
    coords    coordinates and indices              divide       tiles: divide, product, tile_to_shape
    swizzle   XOR permutations                     tiles        slices, local tiles, thread-value, recast
    exact     functions as layouts, by values      access       bank conflicts, sectors of global memory
    text      parsing                              synthesis    swizzles free of bank conflicts; TMA's and wgmma's
    viz       pictures                             tuples       joining, searching, transforming tuples

The names are imported when first used: a program that launches kernels needs few of them.
"""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import Any

from cutelite.layout.dims import dims as dims  # now: imported later, the module would take the function's name
from cutelite.layout.errors import named

_WHERE = {
    "access": "BankReport SectorReport bank_conflicts sectors",
    "basis": "Basis E basis_get basis_value",
    "common": "CopyVector copy_vector max_common_layout max_common_vector",
    "complements": "complement",
    "compose": "composition with_shape",
    "coords": "crd2crd crd2idx idx2crd increment_coord",
    "dims": "Dim DimExpr Int dims maximum minimum",
    "divide": "blocked_product flat_divide flat_product logical_divide logical_product raked_product tile_to_shape"
    " tiled_divide tiled_product zipped_divide zipped_product",
    "errors": "LayoutArgumentError LayoutError",
    "f2": "F2",
    "expr": "Ops dims_of evaluate fold substitute",
    "facts": "exact_div is_divisible known_divisor lower_bound prove_le prove_lt static_value upper_bound",
    "inttuple": "IntTuple append ceil_div depth elem_less flatten flatten_to_tuple get group_modes inner_product"
    " is_compatible is_congruent is_static is_weakly_congruent prefix_product prepend product"
    " product_each product_like rank repeat repeat_like round_up select shape_div show size take"
    " transform_leaf unflatten",
    "inverses": "left_inverse nullspace right_inverse",
    "layout": "AnyLayout ComposedLayout Layout cosize get_flat_coord get_hier_coord get_nonswizzle_portion"
    " get_swizzle_portion leading_dim shape size_in_bytes stride",
    "make": "append_ones make_composed_layout make_fragment_like make_identity_layout make_layout make_layout_like"
    " make_ordered_layout make_swizzle prepend_ones row_major",
    "modes": "as_f2 coalesce filter filter_zeros",
    "swizzle": "Swizzle",
    "synthesis": "SwizzleSearch hopper_swizzle synthesize_swizzle tma_problems wgmma_problems",
    "text": "parse_int_tuple parse_layout",
    "tiles": "dice downcast has_underscore local_partition local_partition_and_offset local_tile"
    " local_tile_and_offset make_layout_image_mask make_layout_tv recast_layout slice_ slice_and_offset"
    " upcast",
    "tuples": "ScaledBasis assume filter_tuple find find_if front get_divisibility get_leaves has_scaled_basis"
    " is_int_tuple is_integer is_major pretty_str repeat_as_tuple transform_apply tuple_cat unwrap wrap",
    "viz": "print_latex print_latex_tv",
}
_HOME = {name: module for module, names in _WHERE.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    if isinstance(value, FunctionType):
        value = named(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
