"""docs/from-cute-dsl.md: the names that it says are here are here."""

import re
from pathlib import Path

import pytest

import cutelite as cl
import cutelite.layout
from cutelite.lang.copy import ThrCopy
from cutelite.lang.mma import ThrMma, TiledMma
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Vector
from cutelite.lib.participants import PipelineConsumer, PipelineProducer

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "from-cute-dsl.md").read_text(encoding="utf-8")
ROWS = [
    row for row in re.findall(r"^\| (.+) \| (.+) \|$", PAGE[PAGE.index("## Names") :], re.M) if row[0] != "CuTe DSL"
]
HELD = (
    cl,
    cl.math,
    cutelite.layout,
    cl.Layout,
    Tensor,
    Vector,
    TiledMma,
    ThrMma,
    cl.TiledCopy,
    ThrCopy,
    cl.PipelineTmaAsync,
    cl.PipelineState,
    PipelineProducer,
    PipelineConsumer,
)
"""Where a name of the same spelling may be: `cl`, or a method of one of its classes."""


def names(text: str) -> list[str]:
    """The names that stand by themselves in code: without what they are applied to, and what is passed to them."""
    found = (re.match(r"@?(?:\w+\.)*(\w+)", code) for code in re.findall(r"`([^`]+)`", text))
    return [match[1] for match in found if match]


def resolves(path: str) -> bool:
    held: object = cl
    for part in path.split(".")[1:]:
        if hasattr(type(held), part) or (held is cl.target and part in cl.target.Target.__dataclass_fields__):
            return True  # a method; or what only kernels are told
        if not hasattr(held, part):
            return False
        held = getattr(held, part)
    return True


def test_there_are_rows() -> None:
    assert len(ROWS) > 100


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\bcl(?:\.[A-Za-z_]\w*)+", PAGE))))
def test_names_of_cutelite_exist(path: str) -> None:
    assert resolves(path), f"{path} is not there"


@pytest.mark.parametrize(
    "left", [left for left, right in ROWS if right.startswith(("the same", "methods of the same"))]
)
def test_what_is_the_same_has_the_same_name(left: str) -> None:
    own = {"cute", "math"}  # the modules that a row names
    missing = [name for name in names(left) if name not in own and not any(hasattr(held, name) for held in HELD)]
    assert not missing


@pytest.mark.parametrize("left", [left for left, right in ROWS if "in `cutelite.layout`" in right])
def test_what_is_in_layout_is_there(left: str) -> None:
    assert all(hasattr(cutelite.layout, name) for name in names(left))


def test_what_cuda_has_of_mathematics_is_in_math() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "mathematics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (.+) \|$", page, re.M)
    assert len([name for left, right in rows if right.startswith("the same") for name in names(left)]) > 60
    assert not [
        n for left, right in rows if right.startswith("the same") for n in names(left) if not hasattr(cl.math, n)
    ]
    assert all(resolves(path) for path in re.findall(r"\bcl(?:\.[A-Za-z_]\w*)+", page))


def test_each_name_has_one_row() -> None:
    seen: dict[str, str] = {}
    for left, right in ROWS:
        for name in names(left):
            if right.startswith("the same"):
                assert name not in seen or name in ("cute", "copy"), f"{name} is in two rows: {seen[name]} and {left}"
                seen[name] = left
