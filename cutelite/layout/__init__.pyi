"""What type checkers and editors see of the layout algebra."""

from cutelite.layout.access import (
    BankReport as BankReport, SectorReport as SectorReport, bank_conflicts as bank_conflicts, sectors as sectors
)
from cutelite.layout.basis import Basis as Basis, E as E, basis_get as basis_get, basis_value as basis_value
from cutelite.layout.common import (
    CopyVector as CopyVector, copy_vector as copy_vector, max_common_layout as max_common_layout,
    max_common_vector as max_common_vector
)
from cutelite.layout.complements import complement as complement
from cutelite.layout.compose import composition as composition, with_shape as with_shape
from cutelite.layout.coords import (
    crd2crd as crd2crd, crd2idx as crd2idx, idx2crd as idx2crd, increment_coord as increment_coord
)
from cutelite.layout.dims import (
    Dim as Dim, DimExpr as DimExpr, Int as Int, dims as dims, maximum as maximum, minimum as minimum
)
from cutelite.layout.divide import (
    blocked_product as blocked_product, flat_divide as flat_divide, flat_product as flat_product,
    logical_divide as logical_divide, logical_product as logical_product, raked_product as raked_product,
    tile_to_shape as tile_to_shape, tiled_divide as tiled_divide, tiled_product as tiled_product,
    zipped_divide as zipped_divide, zipped_product as zipped_product
)
from cutelite.layout.errors import LayoutArgumentError as LayoutArgumentError, LayoutError as LayoutError
from cutelite.layout.expr import (
    Ops as Ops, dims_of as dims_of, evaluate as evaluate, fold as fold, substitute as substitute
)
from cutelite.layout.f2 import F2 as F2
from cutelite.layout.facts import (
    exact_div as exact_div, is_divisible as is_divisible, known_divisor as known_divisor, lower_bound as lower_bound,
    prove_le as prove_le, prove_lt as prove_lt, static_value as static_value, upper_bound as upper_bound
)
from cutelite.layout.inttuple import (
    IntTuple as IntTuple, append as append, ceil_div as ceil_div, depth as depth, elem_less as elem_less,
    flatten as flatten, flatten_to_tuple as flatten_to_tuple, get as get, group_modes as group_modes,
    inner_product as inner_product, is_compatible as is_compatible, is_congruent as is_congruent,
    is_static as is_static, is_weakly_congruent as is_weakly_congruent, prefix_product as prefix_product,
    prepend as prepend, product as product, product_each as product_each, product_like as product_like, rank as rank,
    repeat as repeat, repeat_like as repeat_like, round_up as round_up, select as select, shape_div as shape_div,
    show as show, size as size, take as take, transform_leaf as transform_leaf, unflatten as unflatten
)
from cutelite.layout.inverses import (
    left_inverse as left_inverse, nullspace as nullspace, right_inverse as right_inverse
)
from cutelite.layout.layout import (
    AnyLayout as AnyLayout, ComposedLayout as ComposedLayout, Layout as Layout, cosize as cosize,
    get_flat_coord as get_flat_coord, get_hier_coord as get_hier_coord,
    get_nonswizzle_portion as get_nonswizzle_portion, get_swizzle_portion as get_swizzle_portion,
    leading_dim as leading_dim, shape as shape, size_in_bytes as size_in_bytes, stride as stride
)
from cutelite.layout.make import (
    append_ones as append_ones, make_composed_layout as make_composed_layout, make_fragment_like as make_fragment_like,
    make_identity_layout as make_identity_layout, make_layout as make_layout, make_layout_like as make_layout_like,
    make_ordered_layout as make_ordered_layout, make_swizzle as make_swizzle, prepend_ones as prepend_ones,
    row_major as row_major
)
from cutelite.layout.modes import as_f2 as as_f2, coalesce as coalesce, filter as filter, filter_zeros as filter_zeros
from cutelite.layout.swizzle import Swizzle as Swizzle
from cutelite.layout.synthesis import (
    SwizzleSearch as SwizzleSearch, hopper_swizzle as hopper_swizzle, synthesize_swizzle as synthesize_swizzle,
    tma_problems as tma_problems, wgmma_problems as wgmma_problems
)
from cutelite.layout.text import parse_int_tuple as parse_int_tuple, parse_layout as parse_layout
from cutelite.layout.tiles import (
    dice as dice, downcast as downcast, has_underscore as has_underscore, local_partition as local_partition,
    local_partition_and_offset as local_partition_and_offset, local_tile as local_tile,
    local_tile_and_offset as local_tile_and_offset, make_layout_image_mask as make_layout_image_mask,
    make_layout_tv as make_layout_tv, recast_layout as recast_layout, slice_ as slice_,
    slice_and_offset as slice_and_offset, upcast as upcast
)
from cutelite.layout.tuples import (
    ScaledBasis as ScaledBasis, assume as assume, filter_tuple as filter_tuple, find as find, find_if as find_if,
    front as front, get_divisibility as get_divisibility, get_leaves as get_leaves,
    has_scaled_basis as has_scaled_basis, is_int_tuple as is_int_tuple, is_integer as is_integer, is_major as is_major,
    pretty_str as pretty_str, repeat_as_tuple as repeat_as_tuple, transform_apply as transform_apply,
    tuple_cat as tuple_cat, unwrap as unwrap, wrap as wrap
)
from cutelite.layout.viz import print_latex as print_latex, print_latex_tv as print_latex_tv
