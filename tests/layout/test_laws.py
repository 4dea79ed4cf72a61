"""Every public function of the algebra has a law, which holds for random arguments of every kind, and an example.

A law says what must be true of a result and its arguments. A refusal is a `LayoutError` that bears the name of what was
called.
"""

import inspect
import operator
from collections.abc import Callable
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutelite.layout as algebra
from cutelite.layout import (
    F2,
    ComposedLayout,
    DimExpr,
    E,
    Layout,
    LayoutError,
    dims_of,
    evaluate,
    make_identity_layout,
)
from cutelite.layout.expr import text
from tests.layout import laws, oracle
from tests.layout.strategies import M, N, bindings, expressions, layouts, shapes, swizzles, symbolic_layouts

FUNCTIONS = {name: thing for name in dir(algebra) if inspect.isfunction(thing := getattr(algebra, name))}
FEW = settings(max_examples=settings().max_examples // 2, deadline=None)

Values = dict[str, int]


# ------------------------------------------------------------------------------------------------- arguments


@st.composite
def xor_layouts(draw: st.DrawFn) -> Layout:
    shape = draw(st.lists(st.sampled_from((1, 2, 4, 8)), min_size=1, max_size=3).map(tuple))
    return Layout(shape, tuple(F2(draw(st.integers(1, 24))) for _ in shape))


@st.composite
def coordinate_layouts(draw: st.DrawFn) -> Layout:
    identity = make_identity_layout(draw(shapes(48)))
    if draw(st.booleans()):
        return identity
    units = st.sampled_from((E(0), E(1), 2 * E(0), 3 * E(1), E(0) + E(1), M * E(0)))
    return Layout(identity.shape, algebra.transform_leaf(lambda _: draw(units), identity.shape))


small = layouts(48)
plain = st.one_of(small, symbolic_layouts(), xor_layouts(), coordinate_layouts())
added = st.one_of(small, symbolic_layouts(), coordinate_layouts())
either = st.one_of(small, symbolic_layouts())
composed = st.builds(ComposedLayout, swizzles(), st.sampled_from((0, 4, 64, M)), either)
threads = small.map(lambda x: Layout((x.shape,), (x.stride,)))
anything = st.one_of(small, plain, composed)
extents = st.one_of(st.integers(1, 12), st.sampled_from((M, N, 2 * M, M + 1)))
tuples = st.recursive(st.integers(1, 9), lambda item: st.lists(item, min_size=1, max_size=3).map(tuple), max_leaves=5)
tilers = st.one_of(small, anything, extents, st.none(), st.lists(st.one_of(extents, small), max_size=3).map(tuple))
coords = st.one_of(st.integers(0, 60), st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=3).map(tuple))
modes = st.integers(-1, 2)
widths = st.sampled_from((8, 16, 32))
factors = st.sampled_from((2, 3, 4))
whole = expressions().map(lambda tree: _built(tree))


def _built(tree: Any) -> Any:
    if not isinstance(tree, tuple):
        return tree
    name, a, b = tree[0], _built(tree[1]), _built(tree[2])
    return OPERATORS[name](a, algebra.maximum(b, 1) if name in ("//", "%", "ceil_div") else b)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": algebra.minimum,
    "max": algebra.maximum,
    "ceil_div": algebra.ceil_div,
}

TILED = (anything, tilers)
Law = tuple[tuple[st.SearchStrategy[Any], ...], Callable[..., Any]]
POINTWISE: dict[str, Law] = {
    "as_f2": ((anything,), laws.same_values),
    "blocked_product": (TILED, laws.ranked_product),
    "coalesce": ((anything, st.one_of(st.none(), tuples)), laws.coalesce),
    "complement": ((anything, st.one_of(st.integers(1, 100), tuples, anything)), laws.complement),
    "composition": ((st.one_of(anything, swizzles()), tilers), laws.composition),
    "downcast": ((anything, factors), laws.downcast),
    "filter": ((anything,), laws.same_set),
    "filter_zeros": ((anything,), laws.same_set),
    "flat_divide": (TILED, laws.regrouped),
    "flat_product": (TILED, laws.regrouped),
    "left_inverse": ((anything,), laws.left_inverse),
    "local_partition_and_offset": ((anything, small, st.integers(0, 9)), laws.local_partition),
    "local_tile_and_offset": ((anything, tuples, coords), laws.local_tile),
    "logical_divide": (TILED, laws.logical_divide),
    "logical_product": (TILED, laws.logical_product),
    "make_fragment_like": ((anything,), laws.like),
    "make_identity_layout": ((tuples,), laws.identity),
    "make_layout_like": ((anything,), laws.like),
    "make_layout_tv": ((small, small), laws.thread_value),
    "make_ordered_layout": ((tuples, tuples), laws.compact),
    "max_common_layout": ((anything, anything), laws.max_common_layout),
    "nullspace": ((anything,), laws.nullspace),
    "raked_product": (TILED, laws.ranked_product),
    "recast_layout": ((widths, widths, anything), laws.recast_layout),
    "right_inverse": ((anything,), laws.right_inverse),
    "row_major": ((tuples,), laws.compact),
    "slice_and_offset": ((coords, anything), laws.slice_and_offset),
    "tile_to_shape": ((anything, tuples), laws.tile_to_shape),
    "tiled_divide": (TILED, laws.regrouped),
    "tiled_product": (TILED, laws.regrouped),
    "upcast": ((anything, factors), laws.upcast),
    "zipped_divide": (TILED, laws.zipped_divide),
    "zipped_product": (TILED, laws.regrouped),
}
"""Random arguments, and the law that holds at every point of the layouts."""


# ------------------------------------------------------------------------------------------- laws of all others


def leaves(x: Any) -> list[Any]:
    return oracle.leaves(getattr(x, "shape", x))


def nesting(x: Any) -> Any:
    return tuple(map(nesting, x)) if isinstance(x, tuple) else 0


def splits(result: Any, x: Any, coord: Any) -> bool:
    kept, dropped = algebra.slice_(x, coord), algebra.dice(x, coord)
    return result in (kept, dropped) and sorted(leaves(kept) + leaves(dropped)) == sorted(leaves(x))


def covers(result: int, layout: Any) -> bool:
    values = [layout(i) for i in range(layout.size)]
    return all(value < result for value in values) if min(values) >= 0 else bool(result > max(values) - min(values))


def served(report: Any, layout: Any, bits: int) -> bool:
    words = [{(layout(t) * bits // 8 + k) // 4 for k in range(bits // 8)} for t in range(min(32, layout.size))]
    together = set().union(*words)
    return layout.size > 32 or bool(report.ways == max(sum(w % 32 == bank for w in together) for bank in range(32)))


def touched(report: Any, layout: Any, bits: int) -> bool:
    found = {(layout(t) * bits // 8) // 32 for t in range(min(32, layout.size))}
    return bool(report.sectors[0] == len(found) and 0 < report.efficiency <= 1)


def vectors(result: Any, src: Any, dst: Any, bits: int) -> bool:
    found = [result.layout(k) for k in range(result.elements)]
    return all([x(i) for i in found] == list(range(result.elements)) for x in (src, dst)) and result.bits <= 128


def is_prefix_product(result: Any, x: Any) -> bool:
    flat = oracle.leaves(x)
    return oracle.leaves(result) == [prod(flat[:i]) for i in range(len(flat))] and nesting(result) == nesting(x)


def fits_mode(a: Any, b: Any) -> bool:
    if not isinstance(a, tuple):
        return True
    return isinstance(b, tuple) and len(a) == len(b) and all(map(fits_mode, a, b))


def dense(problems: list[str], layout: Any, bits: int) -> bool:
    return bool(problems) or sorted(layout(i) for i in range(layout.size)) == list(range(layout.size))


class Python(dict[str, int]):
    """Operations of `fold` on numbers, dims by their bindings."""

    const = staticmethod(int)
    add, sub, mul = (staticmethod(f) for f in (int.__add__, int.__sub__, int.__mul__))
    floordiv, mod = staticmethod(int.__floordiv__), staticmethod(int.__mod__)
    min, max = staticmethod(min), staticmethod(max)

    def dim(self, dim: Any) -> int:
        return self[dim.name]


def at(values: Values) -> Callable[[Any], Any]:
    return lambda x: evaluate(x, values)


two = st.tuples(tuples, tuples)
static = st.one_of(small, st.builds(ComposedLayout, swizzles(), st.integers(0, 9), small))
ints = st.integers(-20, 40)
some = st.lists(st.integers(1, 9), min_size=1, max_size=4).map(tuple)

LAWS: dict[str, Law] = {
    # integer tuples
    "append": ((added, small), lambda r, x, e: (r.rank, r[-1]) == (x.rank + 1, e)),
    "prepend": ((added, small), lambda r, x, e: (r.rank, r[0]) == (x.rank + 1, e)),
    "ceil_div": ((st.integers(1, 99), st.integers(1, 20)), lambda r, a, b: (r - 1) * b < a <= r * b),
    "round_up": ((st.integers(1, 99), st.integers(1, 20)), lambda r, a, b: r % b == 0 and a <= r < a + b),
    "depth": ((tuples,), lambda r, x: r == str(nesting(x)).replace(",", "").replace("0", "").rstrip(")").count("(")
              or r == max(str(nesting(x))[:i].count("(") - str(nesting(x))[:i].count(")") for i in range(99))),
    "dice": ((tuples, coords), splits),
    "slice_": ((tuples, coords), splits),
    "elem_less": ((some, some), lambda r, a, b: r == all(x < y for x, y in zip(a, b, strict=True))),
    "flatten": ((tuples,), lambda r, x: oracle.leaves(r) == oracle.leaves(x) and algebra.depth(r) <= 1),
    "flatten_to_tuple": ((tuples,), lambda r, x: list(r) == oracle.leaves(x)),
    "get": ((some, modes), lambda r, x, mode: r == x[mode]),
    "group_modes": ((some, modes, modes), lambda r, x, begin, end: list(x) == oracle.leaves(r)),
    "has_underscore": ((coords,), lambda r, x: r == (None in oracle.leaves(x))),
    "inner_product": ((tuples, tuples), lambda r, a, b: r == sum(map(int.__mul__, leaves(a), leaves(b)))),
    "is_compatible": ((tuples, tuples), lambda r, a, b: r == (fits_mode(a, b) and algebra.product_like(b, a) == a)),
    "is_congruent": ((tuples, tuples), lambda r, a, b: r == (nesting(a) == nesting(b))),
    "is_weakly_congruent": ((tuples, tuples), lambda r, a, b: r == fits_mode(a, b)),
    "is_static": ((anything,), lambda r, x: r == (not dims_of(x))),
    "prefix_product": ((tuples,), is_prefix_product),
    "product": ((tuples,), lambda r, x: r == prod(oracle.leaves(x))),
    "product_each": ((some,), lambda r, x: r == x),
    "product_like": ((tuples, tuples), lambda r, x, p: nesting(r) == nesting(p) and prod(leaves(r)) == prod(leaves(x))),
    "rank": ((anything,), lambda r, x: r == (len(x.shape) if isinstance(x.shape, tuple) else 1)),
    "repeat": ((tuples, st.integers(0, 4)), lambda r, x, n: r == ((x,) * n if n > 1 else x)),
    "repeat_like": ((st.just(0), tuples), lambda r, x, t: r == nesting(t)),
    "select": ((some, st.lists(modes, max_size=3)), lambda r, x, chosen: r == tuple(x[mode] for mode in chosen)),
    "shape_div": ((tuples, st.integers(1, 9)), lambda r, a, b: nesting(r) == nesting(a)
                  and (prod(leaves(a)) % b or prod(leaves(r)) == prod(leaves(a)) // b)),
    "show": ((tuples,), lambda r, x: algebra.parse_int_tuple(r) == x),
    "size": ((anything,), lambda r, x: r == prod(leaves(x))),
    "take": ((some, modes, st.integers(-1, 4)), lambda r, x, begin, end: r == x[begin:end]),
    "transform_leaf": ((st.just(int.__add__), some, some), lambda r, f, a, b: r == tuple(map(f, a, b))),
    "unflatten": ((some, tuples), lambda r, x, p: nesting(r) == nesting(p) and oracle.leaves(r) == list(x)),
    "wrap": ((tuples,), lambda r, x: r == (x if isinstance(x, tuple) else (x,))),
    "unwrap": ((tuples,), lambda r, x: oracle.leaves(r) == oracle.leaves(x) and (isinstance(r, int) or len(r) > 1)),
    "tuple_cat": ((tuples, tuples), lambda r, a, b: r == (*algebra.wrap(a), *algebra.wrap(b))),
    "repeat_as_tuple": ((tuples, st.integers(0, 4)), lambda r, x, n: r == (x,) * n and n > 0),
    "front": ((tuples,), lambda r, x: r == oracle.leaves(x)[0]),
    "get_leaves": ((tuples,), lambda r, x: list(r) == oracle.leaves(x)),
    "find": ((tuples, st.integers(1, 9)), lambda r, x, n: n not in oracle.leaves(x) if r is None
             else algebra.get(x, r) == n),
    "find_if": ((tuples, st.just(lambda value, position: value > 4), st.booleans()), lambda r, x, f, paths:
                max(oracle.leaves(x)) <= 4 if r is None
                else (paths or isinstance(r, int)) and max(oracle.leaves(algebra.get(x, r))) > 4),
    "is_integer": ((st.one_of(tuples, whole),), lambda r, x: r == isinstance(x, (int, DimExpr))),
    "is_int_tuple": ((coords,), lambda r, x: r == (None not in oracle.leaves(x))),
    "has_scaled_basis": ((plain,), lambda r, x: r == any(isinstance(x(i), tuple) for i in range(3))),
    "pretty_str": ((tuples,), lambda r, x: algebra.parse_int_tuple(r) == x),
    "get_divisibility": ((whole,), lambda r, x, **values: at(values)(x) == 0 if r == 0 else at(values)(x) % r == 0),
    "assume": ((st.one_of(ints, st.just(N)), factors), lambda r, x, n: algebra.is_divisible(r, n)
               and (r == x if isinstance(x, int) else r.name == x.name)),
    # coordinates
    "crd2idx": ((st.integers(0, 99), small), lambda r, c, x: r == oracle.value(x, c)),
    "idx2crd": ((st.integers(0, 99), tuples), lambda r, i, s: nesting(r) == nesting(s) and algebra.crd2idx(r, s) == i),
    "crd2crd": ((st.integers(0, 99), tuples, tuples), lambda r, c, a, b: algebra.crd2idx(r, b) == c),
    "increment_coord": ((st.integers(0, 99), tuples), lambda r, c, s: algebra.crd2idx(r, s)
                        == (c + 1) % prod(leaves(s))),
    "E": ((st.integers(0, 3), st.integers(0, 3)), lambda r, a, b: r.terms == (((a, b), 1),)),
    "basis_value": ((ints,), lambda r, n: r == n and (not n or algebra.basis_value(n * E(1)) == n)),
    "basis_get": ((st.just(E(1)), some), lambda r, e, x: r == x[1]),
    # expressions over dims; the last argument is what the dims are
    "dims": ((st.sampled_from(("M", "K:8")), st.sampled_from((1, 4))), lambda r, names, d: r.name == names[0]
             and r.divisible_by == (8 if ":" in names else d)),
    "maximum": ((whole, whole), lambda r, a, b, **values: at(values)(r) == max(at(values)(a), at(values)(b))),
    "minimum": ((whole, whole), lambda r, a, b, **values: at(values)(r) == min(at(values)(a), at(values)(b))),
    "dims_of": ((whole,), lambda r, x: all(dim.name in text(x) for dim in r) and bool(r) == isinstance(x, DimExpr)),
    "exact_div": ((whole, whole), lambda r, a, b, **values: r is None
                  or at(values)(r) * at(values)(b) == at(values)(a)),
    "is_divisible": ((whole, st.integers(1, 9)), lambda r, x, k, **values: not r or at(values)(x) % k == 0),
    "known_divisor": ((whole,), lambda r, x, **values: at(values)(x) == 0 if r == 0 else at(values)(x) % r == 0),
    "lower_bound": ((whole,), lambda r, x, **values: r is None or r <= at(values)(x)),
    "upper_bound": ((whole,), lambda r, x, **values: r is None or r >= at(values)(x)),
    "prove_le": ((whole, whole), lambda r, a, b, **values: not r or at(values)(a) <= at(values)(b)),
    "prove_lt": ((whole, whole), lambda r, a, b, **values: not r or at(values)(a) < at(values)(b)),
    "static_value": ((whole,), lambda r, x: r is None if isinstance(x, DimExpr) else r == x),
    "evaluate": ((whole, bindings()), lambda r, x, values: r == algebra.fold(x, Python(values))),
    "fold": ((whole, bindings().map(Python)), lambda r, x, ops: r == evaluate(x, dict(ops))),
    "substitute": ((whole, st.just({M: N + 2})), lambda r, x, to, **values: at(values)(r)
                   == at({**values, "M": values["N"] + 2})(x)),
    # layouts
    "cosize": ((static,), covers),
    "leading_dim": ((small,), lambda r, x: 1 not in oracle.leaves(x.stride) if r is None
                    else algebra.get(x.stride, r) == 1),
    "is_major": ((st.integers(0, 0), plain), lambda r, mode, x: r == (oracle.leaves(x.stride)[:1] == [1])),
    "get_hier_coord": ((small, st.integers(0, 47)), lambda r, x, i: nesting(r) == nesting(x.shape)
                       and (i not in oracle.values(x) or x(r) == i)),
    "get_flat_coord": ((small, st.integers(0, 47)), lambda r, x, i: algebra.rank(r) == x.rank
                       and r == x.get_flat_coord(i)),
    "size_in_bytes": ((widths, static), lambda r, bits, x: 8 * r == bits * algebra.cosize(x)),
    "get_swizzle_portion": ((static,), lambda r, x: all(
        r(getattr(x, "offset", 0) + algebra.get_nonswizzle_portion(x)(i)) == x(i) for i in range(x.size))),
    "get_nonswizzle_portion": ((static,), lambda r, x: r.shape == x.shape and isinstance(r, Layout)),
    "with_shape": ((small, tuples), lambda r, x, s: oracle.values(r) == oracle.values(x)
                   and algebra.is_compatible(s, r.shape)),
    "shape": ((anything,), lambda r, x: r == x.shape),
    "stride": ((plain,), lambda r, x: r == x.stride and nesting(r) == nesting(x.shape)),
    "make_swizzle": ((st.integers(0, 3), st.integers(0, 3), st.integers(-4, 4)), lambda r, b, m, s: r
                     == algebra.Swizzle(b, m, s)),
    "append_ones": ((added,), lambda r, x: r.rank == x.rank + 1 and r[-1].size == 1 and list(r)[:-1] == list(x)),
    "prepend_ones": ((added,), lambda r, x: r.rank == x.rank + 1 and r[0].size == 1 and list(r)[1:] == list(x)),
    "make_layout_image_mask": ((threads, st.tuples(st.integers(0, 40)), st.just(0)), lambda r, x, coord, mode: r
                               == sum(1 << i for i in set(oracle.values(x)))),
    "make_layout": ((added, small), lambda r, a, b: list(r) == [a, b]),
    "make_composed_layout": ((swizzles(), st.integers(0, 9), small), lambda r, s, offset, x: all(
        r(i) == s(offset + x(i)) for i in range(x.size))),
    "local_tile": ((small, tuples, coords), lambda r, x, tiler, c: r == algebra.local_tile_and_offset(x, tiler, c)[0]),
    "local_partition": ((small, small, st.integers(0, 9)), lambda r, x, tile, i: r
                        == algebra.local_partition_and_offset(x, tile, i)[0]),
    "max_common_vector": ((anything, anything), lambda r, a, b: r == algebra.max_common_layout(a, b).size),
    "parse_layout": ((anything.map(str),), lambda r, x: str(r) == x),
    "parse_int_tuple": ((tuples.map(algebra.show),), lambda r, x: algebra.show(r) == x),
    # beyond CuTe
    "bank_conflicts": ((threads, widths), served),
    "sectors": ((threads, widths), touched),
    "copy_vector": ((small, small, widths), vectors),
    "synthesize_swizzle": ((st.lists(layouts(32), min_size=1, max_size=2), widths), lambda r, accesses, bits: (
        r.swizzle is None) == any(report.ways > 1 for report in r.reports)),
    "hopper_swizzle": ((swizzles(), widths), lambda r, s, bits: r is None or r == "none" or (
        s.base * 1 + (bits // 8).bit_length() - 1, s.shift) == (4, 3)),
    "tma_problems": ((static, widths), dense),
    "wgmma_problems": ((static, widths), lambda problems, x, bits: bool(problems) or x.size % (64 // (bits // 8)) == 0),
}  # fmt: skip
"""Name -> random arguments, and what is true of the result and them; keywords are the values of the dims M, N, K, J."""


# ------------------------------------------------------------------------------------------------- the tests


def test_every_public_function_has_a_law_and_only_one() -> None:
    by_themselves = ["transform_apply", "filter_tuple", "print_latex", "print_latex_tv"]
    assert sorted(FUNCTIONS) == sorted([*POINTWISE, *LAWS, *by_themselves])


def test_tuples_transformed_and_joined() -> None:
    for x in (5, (1, 2, 3), (1, (2, (3, 4))), ((4,),)):
        flat = oracle.leaves(x)
        assert algebra.transform_apply(x, x, f=lambda a, b: a * b, g=lambda *items: sum(items)) == sum(
            n * n for n in flat
        )
        assert algebra.transform_apply(x, f=lambda a: a, g=lambda *items: items) == tuple(flat)
        assert algebra.filter_tuple(x, f=lambda a: (a,) if a % 2 else ()) == tuple(n for n in flat if n % 2)
    assert algebra.filter_tuple((M, (2, N)), f=lambda a: (2 * a,)) == (2 * M, 4, 2 * N)
    for arguments in ((), ((1, 2), (1, (2, 3)))):
        with pytest.raises(LayoutError, match="transform_apply: "):
            algebra.transform_apply(*arguments, f=lambda *a: a, g=lambda *a: a)


def test_every_public_name_has_an_example() -> None:
    shown = FUNCTIONS | {
        name: getattr(algebra, name) for name in ("Layout", "ComposedLayout", "Swizzle", "F2", "Dim", "DimExpr")
    }
    assert [name for name, thing in shown.items() if ">>>" not in (thing.__doc__ or "")] == []


@pytest.mark.parametrize("name", POINTWISE)
def test_laws_hold_at_every_point(name: str) -> None:
    arguments, law = POINTWISE[name]

    @FEW
    @given(st.tuples(*arguments), bindings())
    def holds(arguments: tuple[Any, ...], values: Values) -> None:
        result = outcome(name, arguments)
        if result is not REFUSED:
            laws.check(law, (result, *arguments), values)

    holds()


@pytest.mark.parametrize("name", LAWS)
def test_laws_hold(name: str) -> None:
    arguments, law = LAWS[name]
    over_dims = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(law).parameters.values())

    @FEW
    @given(st.tuples(*arguments), bindings())
    def holds(arguments: tuple[Any, ...], values: Values) -> None:
        result = outcome(name, arguments)
        if result is not REFUSED:
            assert law(result, *arguments, **(values if over_dims else {}))

    holds()


REFUSED = object()


def outcome(name: str, arguments: tuple[Any, ...]) -> Any:
    """What the function gives, or `REFUSED` where it says, under its own name or that of an operand, why not."""
    try:
        return FUNCTIONS[name](*arguments)
    except LayoutError as error:
        assert error.function in (name, "Layout", "ComposedLayout", "F2", "Swizzle")
        return REFUSED
