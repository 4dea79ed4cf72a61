"""What a process loads for its first compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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


def test_a_compile_loads_neither_numpy_nor_what_it_does_not_use(tmp_path: Path) -> None:
    program = tmp_path / "first.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "CUTELITE_CACHE": "0", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
