"""docs/atoms.md says what the tables say, docs/from-cute-dsl.md names what there is."""

import re
from pathlib import Path

import pytest

import cutelite as cl
from cutelite.ir.types import SCALARS
from cutelite.ops import ldmatrix, mma, wgmma_layouts, wgmma_sparse

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "atoms.md").read_text()
bf16, f16 = SCALARS["bf16"], SCALARS["f16"]


@pytest.mark.parametrize(("name", "m", "k"), [(name, form.m, k) for name, form in mma.every_form() for k in form.k])
def test_warp_layouts(name: str, m: int, k: int) -> None:
    form, elem = mma.form_of(name, m), SCALARS[name]
    assert form is not None
    (row,) = (line for line in TEXT.splitlines() if f"m{form.m}n{form.n}k{k} " in line and name in line.split("|")[1])
    for layout in (mma.operand_a(elem, k, m), mma.operand_b(elem, k), mma.accumulator(form.m)):
        assert f"`{layout}`" in row


def test_other_layouts() -> None:
    for layout in (
        wgmma_layouts.accumulator(64),
        *(wgmma_layouts.operand_a(SCALARS[name]) for name in ("bf16", "tf32", "e4m3")),
        *(wgmma_sparse.metadata_layout(SCALARS[name]) for name in ("bf16", "e4m3")),
        ldmatrix.fragment(f16, 4, False),
        ldmatrix.fragment(f16, 4, True),
        ldmatrix.rows(f16, 4),
        cl.make_smem_layout_atom(bf16),
        cl.make_smem_layout_atom(bf16, "MN"),
    ):
        assert f"`{layout}`" in TEXT


def test_every_operation_is_described() -> None:
    described = [name for name in dir(cl) if name.endswith("Op") or name.startswith(("Pipeline", "make_tiled"))]
    missing = [name for name in described if name not in TEXT and name not in ("PipelineState", "make_tiled_copy_C")]
    assert [name for name in missing if not name.endswith(("G2SMulticastOp", "_B"))] == []


def test_the_porting_guide_names_what_there_is() -> None:
    guide = (ROOT / "docs" / "from-cute-dsl.md").read_text()
    names = set(re.findall(r"\bcl\.(\w+)", guide))
    assert names - set(dir(cl)) == set()
    for example in re.findall(r"`examples/(\w+)\.py`", guide):
        assert (ROOT / "examples" / f"{example}.py").exists()
