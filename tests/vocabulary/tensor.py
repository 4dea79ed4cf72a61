"""Tensors, which passes make into pointers and values."""

from cutelite.ir.types import Tensor, f32
from cutelite.layout import Layout
from cutelite.ops import tensor
from tests.vocabulary.row import Row, of

TESTED = "tests/sim/test_memory.py"

ROWS = [
    Row(
        tensor.ConstArray,
        "cl.constant",
        case="constants",
        tested="tests/lib/test_tensors.py",
        refuses=[
            (
                of(Tensor(f32, "gmem", Layout((1,), (1,)), 16), "00000000"),
                "const.array makes a tensor in const, not in gmem",
            ),
            (of(Tensor(f32, "const", Layout((2,), (1,)), 16), "00000000"), "4 bytes are not the elements of"),
            (
                of(Tensor(f32, "const", Layout((1 << 15,), (1,)), 16), "00000000" * (1 << 15)),
                "constant memory has 65536 bytes",
            ),
        ],
    ),
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
