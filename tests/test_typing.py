"""What type checkers are told is what the package exports."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import cutelite

STUB = Path(cutelite.__file__).with_suffix(".pyi")


def test_every_name_in_the_stub_is_defined_there() -> None:
    tree = ast.parse(STUB.read_text())
    defined = {alias.asname or alias.name for n in tree.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    defined |= {n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    defined |= {ast.unparse(n.targets[0]) for n in tree.body if isinstance(n, ast.Assign)}
    defined |= {ast.unparse(n.target) for n in tree.body if isinstance(n, ast.AnnAssign)}
    assert set(dir(cutelite)) <= defined


def test_the_package_says_that_it_is_typed() -> None:
    assert STUB.with_name("py.typed").exists()


KERNELS = """
from typing import Any

import cutelite as cl
from cutelite import Constexpr, Tensor, TmaTensor, bf16, f16, f32

M, N = cl.dims("M N")


def scaling(block: int, dtype: type[f32] | type[f16]) -> cl.Kernel:
    @cl.kernel(block=block)
    def scaled(x: Tensor[f32, (N,)], by: f32, times: Constexpr[int] = 1) -> None:
        i = cl.block_idx.x * block + cl.thread_idx.x
        tile = cl.shared(f32, (block,))
        if i < N:
            tile[cl.thread_idx.x] = x[i] * by + 1
            x[i] = tile[cl.thread_idx.x].to(f16).to(f32)
            x[i] += times * N
            x[i] = max(x[i], 0.0) / (1.0 + cl.math.exp(-x[i])) + (2 * (1.0 - x[i])).to(f16)
        with cl.profile.range("wait", i):
            cl.syncthreads()
        x.store(x.load() * 2.0)
        part = cl.make_fragment_like(x, f32)
        x[i] = part[0] + cl.load_acquire(x.ptr, i, dtype=f32) + cl.ldmatrix(tile.at(i), dtype=f32)[0]

    return scaled


umma = cl.Tcgen05MmaOp(bf16, f32, 128, 256), cl.Tcgen05ScaledMmaOp("mxf8f6f4", 128, cl.e4m3)


scaled = scaling(128, f32)
scaled[4](None, 2.0)
"""
"""Correct code, also in a factory: no checker complains."""

MISTAKES = {
    "cl.kernel(blocks=256)": "an option that there is not",
    "cl.Launch(1, blok=4)": "a field that there is not",
    "cl.shared(f32)": "the shape is missing",
    "cl.shared((32, 8), f32)": "arguments in the other order",
    "cl.thread_id.x": "a misspelt register",
    "cl.thread_idx + 1": "the axis is missing",
    "cl.syncthread()": "a misspelt function",
    "cl.PipelineTmaAsync.create(4, tx_bytes=1024, consumer=128)": "a misspelt parameter",
    "cl.tma_load(t, tile)": "no place and no barrier",
    'x[0].to("f16")': "a dtype as text",
    'x[0] = "one"': "text for a number",
    "cl.kernel(returning)": "a kernel that returns",
    # No checker sees these:
    "scaled(x, 2.0)": "no grid: to a checker a kernel may call a kernel",
    "x.shap": "a misspelt attribute: a dtype stands for a tensor and a number alike",
}
"""Common mistakes; the last two are not seen."""


def test_a_type_checker_sees_common_mistakes(tmp_path: Path) -> None:
    lines = "\n".join(f"    {mistake}" for mistake in MISTAKES)
    head = (
        "def returning(x: f32) -> int:\n    return 1\n\n\ndef wrong(x: Tensor[f32, (N,)], t: Any, tile: Any) -> None:\n"
    )
    file = tmp_path / "mistakes.py"
    file.write_text(f"{KERNELS}\n\n{head}{lines}\n")
    first = file.read_text().splitlines().index(f"    {next(iter(MISTAKES))}") + 1
    cache = ["--cache-dir", str(STUB.parents[1] / ".mypy_cache")]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", *cache, str(file)],
        capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": str(STUB.parents[1])},
    )  # fmt: skip
    # mypy's cache may know the file from an earlier run, in another folder.
    said = {int(line) for line in re.findall(r"mistakes\.py:(\d+): error", run.stdout)}
    seen = [mistake for i, mistake in enumerate(MISTAKES, first) if i in said]
    assert said <= set(range(first, first + len(MISTAKES))), run.stdout + run.stderr
    assert seen == list(MISTAKES)[:12], run.stdout
