"""What a process loads for its first compile."""

from tests.processes import printed

PROGRAM = """
import sys
import cutelite as cl
from cutelite import Tensor, f32
assert not {"numpy", "llvmlite"} & set(sys.modules)
@cl.kernel(block=32)
def kernel(x: Tensor[f32, (cl.Dim("N"),)]) -> None:
    x[cl.thread_idx.x] = cl.where(x[0] > 0, x[cl.thread_idx.x] + 1.0 + x[0], 0.0)
assert "cutelite.ir.op" not in sys.modules
kernel.compile()
unused = {"numpy", "llvmlite.binding", "difflib", "signal", "cutelite.sim"}
unused |= {f"cutelite.{name}" for name in "lang.math ir.simulation lower.profile toolchain.driver".split()}
print(*sorted(unused & set(sys.modules)))
"""


def test_a_compile_loads_neither_numpy_nor_what_it_does_not_use() -> None:
    assert printed(PROGRAM, CUTELITE_CACHE="0") == "\n"
