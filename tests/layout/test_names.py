"""The package's names: imported when first used, and the same as type checkers are told."""

import ast
import importlib
import inspect
import pickle
from inspect import unwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutelite import layout
from cutelite.layout.errors import OF_ANYTHING, OF_NUMBERS

STUB = ast.parse(Path(layout.__file__).with_suffix(".pyi").read_text())
IMPORTS = [node for node in STUB.body if isinstance(node, ast.ImportFrom)]


def test_every_name_is_the_one_that_the_stub_imports() -> None:
    told = {alias.name: node.module for node in IMPORTS for alias in node.names if alias.name == alias.asname}
    assert sorted(told) == dir(layout)
    for name, module in told.items():
        assert unwrap(getattr(layout, name)) is unwrap(getattr(importlib.import_module(str(module)), name)), name


def test_functions_whose_arguments_are_not_all_integers_are_functions_of_the_package() -> None:
    """So that none keeps its old name in the lists when it is renamed."""
    functions = {name for name in dir(layout) if inspect.isfunction(getattr(layout, name))}
    assert functions >= OF_ANYTHING | OF_NUMBERS and not OF_ANYTHING & OF_NUMBERS


@pytest.mark.parametrize("wrong", ["x", 2.5, None, [1, "x"], object], ids=repr)
def test_what_a_function_does_not_take_is_its_layout_error(wrong: object) -> None:
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    refused = 0
    for name in dir(layout):
        function = getattr(layout, name)
        if not inspect.isfunction(function):
            continue
        needed = [
            p for p in inspect.signature(function).parameters.values() if p.kind in kinds and p.default is p.empty
        ]
        for place in range(len(needed)):
            given = [layout.Layout((4, 2)) for _ in needed]
            try:
                function(*given[:place], wrong, *given[place + 1 :])
            except layout.LayoutError as error:
                assert error.function in (name, "Layout", "ComposedLayout")
                refused += 1
    assert refused > 100


def test_what_it_takes_is_said_in_one_line_and_other_errors_stay() -> None:
    composition: Any = layout.composition
    with pytest.raises(layout.LayoutArgumentError) as caught:
        composition("x", 3)
    said = "composition() does not take these arguments: lhs = 'x', rhs = 3; it is `composition(lhs, rhs)`"
    assert str(caught.value) == said and str(pickle.loads(pickle.dumps(caught.value))) == said
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'rhs'") as unbound:
        composition("x")
    assert not isinstance(unbound.value, layout.LayoutError)
    with pytest.raises(ZeroDivisionError):
        layout.transform_leaf(lambda x: 1 // x, (0, 1))
    for function in (layout.upcast, layout.downcast):
        with pytest.raises(layout.LayoutError, match="must be 1 or more"):
            function(layout.Layout(8), 0)
    with pytest.raises(layout.LayoutError, match="shape_div: 2 is divided by 0"):
        layout.shape_div(2, 0)


@pytest.mark.parametrize("wrong", ["x", b"x", 1.5, np.float32(2), {1: 2}, {1}, object(), len, ("a", 2), ((1, 2.0), 3)])
def test_what_is_no_integer_is_no_leaf(wrong: Any) -> None:
    """Functions of integers do not let it through; those of structure take tuples of anything."""
    a = layout.Layout((4, 8))
    calls: list[tuple[Any, ...]] = [
        (layout.size, wrong), (layout.product, wrong), (layout.ceil_div, wrong, 2), (layout.ceil_div, 8, wrong),
        (layout.assume, wrong), (layout.crd2idx, wrong, 4), (layout.crd2idx, 3, wrong), (layout.idx2crd, wrong, (2, 4)),
        (layout.composition, a, wrong), (layout.logical_divide, a, wrong), (layout.local_tile, a, (2, 2), wrong),
        (layout.make_composed_layout, a, wrong, a), (layout.make_ordered_layout, (2, 4), wrong),
        (layout.recast_layout, 8, 16, wrong), (layout.elem_less, wrong, 3), (layout.round_up, wrong, 2),
    ]  # fmt: skip
    for function, *args in calls:
        with pytest.raises(layout.LayoutError, match=function.__name__):
            function(*args)
    for function in (layout.flatten, layout.unwrap, layout.is_static, layout.rank):
        function(wrong)


def test_none_is_a_mode_and_no_number() -> None:
    functions: Any = (layout.size, layout.product, layout.product_each, layout.assume, layout.maximum)
    for function in functions:
        for wrong in (None, (2, None)):
            with pytest.raises(layout.LayoutError, match=function.__name__):
                function(wrong)
    assert layout.local_tile(layout.Layout((4, 8)), (2, 2), (1, None)) == layout.Layout((2, 2, 4), (1, 4, 8))


def test_lists_are_tuples_and_numbers_of_numpy_numbers() -> None:
    assert layout.size([2, [3, 4]]) == 24 and layout.crd2idx([1, 2], [4, 8]) == 9
    assert layout.make_layout([2, 3]) == layout.Layout((2, 3))
    assert layout.composition(layout.Layout((4, 8)), [2, 3]) == layout.Layout((2, 3), (1, 4))
    assert layout.size((np.int64(2), 3)) == 6
    assert layout.crd2idx((np.arange(3), 1), (4, 8)).tolist() == [4, 5, 6]
