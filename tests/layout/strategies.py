"""Random layouts, small enough to be checked at every point."""

from math import prod
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from cutelite.layout import Layout, Swizzle, dims, flatten_to_tuple, make_ordered_layout, unflatten

M, N, K, J = dims("M N:2 K:8 J:4")
USUAL = settings(deadline=None)
"""As many examples as the profile says: 30, or those of `--hypothesis-profile=thorough`."""
THOROUGH = settings(max_examples=3 * settings().max_examples, deadline=None)

STRIDES = (0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 20, 24, 30, 48, 60)


PROFILES: dict[int, tuple[Any, ...]] = {
    0: ((), ((),)),
    1: (0, (0,), ((0,),), (0, ())),
    2: ((0, 0), ((0,), 0), ((0, 0),)),
    3: ((0, 0, 0), ((0, 0), 0), (0, (0, 0))),
    4: ((0, 0, 0, 0), ((0, 0), (0, 0)), (0, ((0, 0), 0)), (0, 0, (0, 0))),
    5: (((0, 0), 0, (0, 0)), (0, (0, 0, 0), 0)),
}
"""Nestings, by the number of leaves."""


@st.composite
def shapes(draw: st.DrawFn, most: int = 200) -> Any:
    """Nested shapes of at most that many elements."""
    extents: list[int] = []
    for extent in draw(st.lists(st.integers(1, 8), max_size=5)):
        extents.append(extent if prod(extents) * extent <= most else 1)
    return unflatten(extents, draw(st.sampled_from(PROFILES[len(extents)])))


@st.composite
def layouts(draw: st.DrawFn, most: int = 200, broadcast: bool = True) -> Layout:
    """Compact layouts in any order, padded ones, and ones with any strides."""
    shape = draw(shapes(most))
    count = len(flatten_to_tuple(shape))
    kind = draw(st.sampled_from(("compact", "ordered", "padded", "any", "any")))
    if kind == "compact":
        return Layout(shape)
    if kind == "any":
        strides = st.sampled_from(STRIDES if broadcast else STRIDES[1:])
        return Layout(shape, unflatten(draw(st.lists(strides, min_size=count, max_size=count)), shape))
    order = draw(st.permutations(range(count)))
    layout = make_ordered_layout(shape, unflatten(order, shape))
    if kind == "padded" and count:
        scaled, factor = draw(st.tuples(st.integers(0, count - 1), st.integers(2, 4)))
        leaves = [d * factor if i >= scaled else d for i, d in enumerate(flatten_to_tuple(layout.stride))]
        layout = Layout(shape, unflatten(leaves, shape))
    return layout


def swizzles() -> st.SearchStrategy[Swizzle]:
    """Swizzles that act within the first 256 indices."""
    return st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(2, 4), st.booleans()).map(
        lambda t: Swizzle(t[0], t[1], -t[2] if t[3] else t[2])
    )


EXTENTS: tuple[Any, ...] = (M, N, K, J, K // 4, J // 2, 2 * M, M + 1, 1, 2, 2, 3, 4, 4, 8)
PITCHES: tuple[Any, ...] = (0, 1, 1, 2, 4, 8, M, N, K, K // 2, M * N, 2 * K, K * J)


@st.composite
def symbolic_layouts(draw: st.DrawFn) -> Layout:
    """Layouts over the dims M, N (even), K (by 8) and J (by 4): compact in any order, padded, or with any strides."""
    shape = draw(st.lists(st.sampled_from(EXTENTS), min_size=1, max_size=3).map(tuple))
    if draw(st.booleans()):
        return Layout(shape, tuple(draw(st.sampled_from(PITCHES)) for _ in shape))
    current: Any = 1
    strides: list[Any] = [0] * len(shape)
    for mode in draw(st.permutations(range(len(shape)))):
        strides[mode] = current
        current = current * shape[mode] * draw(st.sampled_from((1, 1, 1, 2, 3)))
    return Layout(shape, tuple(strides))


def bindings() -> st.SearchStrategy[dict[str, int]]:
    """Values for the dims above."""
    return st.fixed_dictionaries(
        {
            "M": st.integers(1, 4),
            "N": st.integers(1, 2).map(lambda k: 2 * k),
            "K": st.integers(1, 2).map(lambda k: 8 * k),
            "J": st.integers(1, 2).map(lambda k: 4 * k),
        }
    )


def expressions(depth: int = 3) -> st.SearchStrategy[Any]:
    """Expression trees (operator, a, b) over ints and the dims M, N and K."""
    leaf: st.SearchStrategy[Any] = st.one_of(st.sampled_from((M, N, K)), st.integers(0, 70))
    operators = ("+", "-", "*", "//", "%", "min", "max", "ceil_div")
    return st.recursive(leaf, lambda item: st.tuples(st.sampled_from(operators), item, item), max_leaves=2**depth)
