"""Tensors, which passes make into pointers and values."""

from __future__ import annotations

from cutelite.ops import tensor
from tests.vocabulary.row import Row

TESTED = "tests/sim/test_memory.py"

ROWS = [
    Row(tensor.SmemAlloc, "cl.shared", case="pointers", tested=TESTED),
    Row(tensor.RmemAlloc, "cl.make_rmem_tensor", case="tensor", tested="tests/atoms/test_fragments.py"),
    Row(tensor.TensorMake, "cl.make_tensor", case="pointers", tested="tests/run/test_wide.py"),
    Row(tensor.TensorAddress, "t.ptr", case="pointers", tested=TESTED),
    Row(tensor.TensorLoad, "t[i, j]", case="tensor", tested=TESTED),
    Row(tensor.TensorStore, "t[i, j] = x", case="tensor", tested=TESTED),
    Row(tensor.TensorPtr, "t.at(i, j)", case="tensor", tested=TESTED),
    Row(tensor.TensorView, "t.view, t.tile", case="tensor", tested=TESTED),
    Row(tensor.TensorLoadAll, "t.load()", case="tensor", tested=TESTED),
    Row(tensor.TensorStoreAll, "t.store(x)", case="tensor", tested=TESTED),
]
