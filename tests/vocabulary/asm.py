"""PTX that the kernel's author wrote."""

from cutelite.ir.types import Vec, f32, u32, u64
from cutelite.ops import asm
from tests.vocabulary.row import Row, of

TEXT = "{ .reg .b32 t; add.u32 t, $a, 1; mov.b32 $out0, t; mov.b64 $out1, $v; }"

ROWS = [
    Row(
        asm.InlinePtx,
        "cl.inline_ptx",
        [of(TEXT, ("a", "v"), (u32, Vec(f32, 2)), (u32, u64), pure=True)],
        case="asm",
        tested="tests/ops/test_ops_debug.py",
    )
]
