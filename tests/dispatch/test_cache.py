"""The disk cache: what is found there and by whom, and what happens when it is damaged, foreign or gone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Constexpr, Tensor, f32
from cutelite.dispatch import Compiled, Kernel
from cutelite.dispatch.specialise import open_cache
from tests.dispatch import kernels
from tests.processes import ROOT, printed

N = cl.dims("N")


def compiled(function: Any, options: dict[str, Any] | None = None, **given: Any) -> Compiled:
    """`function` compiled as in a process of its own: nothing but the disk remembers."""
    kernel = Kernel(getattr(function, "__cutelite_function__", function), options or {})
    return kernel.compile(**{"block": 64, **given})


def entries(cache: Path) -> list[Path]:
    return sorted(cache.glob("*.entry"))


def test_a_kernel_is_compiled_once(environment: Path) -> None:
    first, second = compiled(kernels.add), compiled(kernels.add)
    assert (first.cached, second.cached) == (False, True)
    assert second.cubin == first.cubin and second.ptx == first.ptx
    assert (second.registers, second.spills, second.shared_memory) == (first.registers, 0, 0)
    assert first.times and not second.times
    assert len(entries(environment)) == 1


def test_stages_that_are_not_kept_are_made_again(environment: Path) -> None:
    compiled(kernels.add)
    found = compiled(kernels.add)
    assert "func @add" in found.ir and "define ptx_kernel void @add" in found.llvm
    assert found.cached


def with_dims(dim: Any) -> Any:
    def kernel(x: Any) -> None: ...

    kernel.__annotations__["x"] = Tensor[f32, (dim,)]
    return kernel


def with_constant(x: Tensor[f32, (N,)], n: Constexpr[Any]) -> None: ...


@pytest.mark.parametrize(
    "given",
    [
        {"block": 32},
        {"block": (8, 8)},
        {"cluster": 2},
        {"arch": "sm_80"},
        {"wide_dims": True},
        {"x": np.zeros(17, np.float32)[1:]},
        {"n": True},
        {"n": 1.0},
        {"n": (1,)},
        {"n": lambda x: x},
    ],
)
def test_what_a_kernel_is_compiled_for_is_in_the_key(environment: Path, given: dict[str, Any]) -> None:
    compiled(with_constant, n=1)
    assert not compiled(with_constant, **{"n": 1, **given}).cached
    assert compiled(with_constant, **{"n": 1, **given}).cached
    assert len(entries(environment)) == 2


@pytest.mark.parametrize(
    "options",
    [
        {"fmad": False},
        {"assertions": True},
        {"line_info": True},
        {"opt": 1},
        {"max_registers": 32},
        {"min_blocks": 2},
        {"ptxas_options": "--warn-on-spills"},
        {"assembler": "ptxas"},
    ],
)
def test_options_are_in_the_key(environment: Path, options: dict[str, Any]) -> None:
    compiled(kernels.add)
    assert not compiled(kernels.add, options).cached
    assert compiled(kernels.add, options).cached


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CUTELITE_OPT", "1"),
        ("CUTELITE_LINE_INFO", "1"),
        ("CUTELITE_ASSERTIONS", "1"),
        ("CUTELITE_MAX_REGISTERS", "64"),
        ("CUTELITE_PTXAS_OPTIONS", "--warn-on-spills"),
        ("CUTELITE_ARCH", "sm_80"),
    ],
)
def test_the_environment_is_in_the_key(
    environment: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    compiled(kernels.add)
    monkeypatch.setenv(name, value)
    assert not compiled(kernels.add).cached
    assert compiled(kernels.add).cached
    assert len(entries(environment)) == 2


def test_facts_about_dims_are_in_the_key(environment: Path) -> None:
    dims = (cl.Dim("L"), cl.Dim("L", divisible_by=8), cl.Dim("L", min=0), cl.Dim("L", max=64), 64)
    assert [compiled(with_dims(dim)).cached for dim in dims] == [False] * 5
    assert [compiled(with_dims(dim)).cached for dim in dims] == [True] * 5


def test_the_assembler_is_in_the_key(environment: Path, monkeypatch: pytest.MonkeyPatch, ptxas: str) -> None:
    compiled(kernels.add)
    other = environment.parent / "ptxas"
    other.write_text(f'#!/bin/sh\nexec {ptxas} "$@"\n')
    other.chmod(0o755)
    monkeypatch.setenv("CUTELITE_PTXAS", str(other))
    assert not compiled(kernels.add).cached
    assert compiled(kernels.add).cached
    os.utime(other, (1, 1))
    assert not compiled(kernels.add).cached


def test_the_cache_can_be_switched_off(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_CACHE", "0")
    assert not compiled(kernels.add).cached
    assert not compiled(kernels.add).cached
    assert not environment.exists()


def test_what_is_dumped_is_made(environment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(kernels.add)
    monkeypatch.setenv("CUTELITE_DUMP", "ptx")
    monkeypatch.setenv("CUTELITE_DUMP_DIR", str(environment.parent / "dump"))
    assert not compiled(kernels.add).cached
    assert [path.name for path in (environment.parent / "dump").iterdir()] == ["add.sm_90a.ptx"]


# ---- damage


def damaged(data: bytes) -> list[bytes]:
    return [b"", data[:100], data[:-1], data[:-9] + b"damage!!!", b"x" * len(data), data + b"more"]


@pytest.mark.parametrize("how", range(6))
def test_a_damaged_entry_is_made_again(environment: Path, how: int) -> None:
    whole = compiled(kernels.add)
    (entry,) = entries(environment)
    entry.write_bytes(damaged(entry.read_bytes())[how])
    again = compiled(kernels.add)
    assert not again.cached and again.cubin == whole.cubin
    assert compiled(kernels.add).cached


def test_an_entry_of_another_format_is_made_again(environment: Path) -> None:
    compiled(kernels.add)
    (entry,) = entries(environment)
    cache = open_cache(cl_config())
    assert cache is not None
    cache.put(entry.stem, b"what another version of the runtime would write")
    again = compiled(kernels.add)
    assert not again.cached and again.cubin
    assert compiled(kernels.add).cached


def cl_config() -> Any:
    from cutelite import config

    return config.read()


def test_a_directory_that_cannot_be_written_costs_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CUTELITE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.warns(RuntimeWarning, match=r"cannot be written.*CUTELITE_CACHE_DIR") as caught:
        assert all(compiled(kernel).cubin for kernel in (kernels.add, kernels.tripled))
    assert [warning.filename for warning in caught] == [__file__]


def test_a_failed_compile_leaves_nothing(environment: Path) -> None:
    def wrong(x: Tensor[f32, (N,)]) -> None:
        x[0] = unknown  # noqa: F821

    for _ in range(2):
        with pytest.raises(cl.CompileError, match="unknown"):
            compiled(wrong)
    assert not entries(environment) and not list(environment.glob("*.lock"))


LOCK = threading.Lock()


def locked(x: Tensor[f32, (N,)]) -> None:
    if LOCK is not None:
        x[0] = 1.0


def test_what_has_no_key_is_compiled_each_time(
    environment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not compiled(locked).cached
    monkeypatch.setenv("CUTELITE_VERBOSE", "1")
    assert not compiled(locked).cached
    assert "cutelite: locked is not kept on disk: a _thread.lock is among its constants" in capsys.readouterr().err
    assert not entries(environment)


def test_verbose_says_what_is_found(
    environment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUTELITE_VERBOSE", "1")
    compiled(kernels.add)
    said = capsys.readouterr().err
    assert said.startswith("cutelite: compiling add (a: tensor<f32,gmem,(N):(1),16>, ")
    assert "in blocks of (64, 1, 1) for sm_90a" in said
    compiled(kernels.add)
    (entry,) = entries(environment)
    assert capsys.readouterr().err.endswith(f"for sm_90a is in the cache as {entry.stem}\n")


# ---- several processes

PROGRAM = """
import sys
import cutelite as cl
from cutelite import PipelineState, Tensor, f32
N = cl.dims("N")
@cl.kernel(block=64)
def program(x: Tensor[f32, (N,)]) -> None:
    i = cl.thread_idx.x
    if i < N:
        x[i] = x[i] * {factor}
compiled = program.compile()
print(compiled.cached, len(compiled.cubin) > 0)
if len(sys.argv) > 1:
    print(" ".join(sys.modules))
"""


def start(folder: Path, *arguments: str, factor: int = 2, **environment: str) -> subprocess.Popen[str]:
    script = folder / "program.py"
    if not script.exists() or PROGRAM.format(factor=factor) != script.read_text():
        script.write_text(PROGRAM.format(factor=factor))
    found = dict(os.environ) | {"PYTHONPATH": str(ROOT)} | environment
    command = [sys.executable, str(script), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=found)


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out, err


COMPILING = ("cutelite.ops", "cutelite.passes", "cutelite.lower", "cutelite.pipeline", "cutelite.front.build",
             "cutelite.lang.emit", "cutelite.sim", "cutelite.toolchain.libllvm", "numpy", "cuda", "torch", "tempfile",
             "subprocess", "pathlib")  # fmt: skip


def test_a_second_process_finds_it_and_loads_no_compiler(tmp_path: Path) -> None:
    out, _ = finish(start(tmp_path))
    assert out == "False True\n"
    out, _ = finish(start(tmp_path, "modules"))
    first, loaded = out.splitlines()
    assert first == "True True"
    assert not set(COMPILING) & set(loaded.split())


def test_processes_that_start_together_compile_once(tmp_path: Path) -> None:
    processes = [start(tmp_path, CUTELITE_VERBOSE="1") for _ in range(4)]
    answers = [finish(process) for process in processes]
    assert sum("cutelite: compiling program" in err for _, err in answers) == 1
    assert sorted(out for out, _ in answers) == ["False True\n"] + ["True True\n"] * 3


def test_a_changed_program_is_another_entry(tmp_path: Path, environment: Path) -> None:
    assert finish(start(tmp_path, factor=2))[0] == "False True\n"
    assert finish(start(tmp_path, factor=3))[0] == "False True\n"
    assert finish(start(tmp_path, factor=2))[0] == "True True\n"
    assert len(entries(environment)) == 2


def test_two_builds_side_by_side(tmp_path: Path, environment: Path) -> None:
    """A copy of the compiler with a file changed: each build has its own entry, and finds it again."""
    other = tmp_path / "other"
    for package in ("cutelite", "cutelite_rt"):
        shutil.copytree(ROOT / package, other / package, ignore=shutil.ignore_patterns("__pycache__"))
    changed = other / "cutelite" / "lower" / "constants.py"
    changed.write_text(changed.read_text() + "# another build\n")
    for cached in ("False", "True"):
        for build in (ROOT, other):
            assert finish(start(tmp_path, PYTHONPATH=str(build)))[0] == f"{cached} True\n"
    assert len(entries(environment)) == 2


def test_importing_the_package_loads_next_to_nothing() -> None:
    ask = "import sys; before = set(sys.modules); import cutelite; print(*sorted(set(sys.modules) - before))"
    loaded = set(printed(ask).split())
    assert {name for name in loaded if name.startswith("cutelite")} == {"cutelite"}
    assert not loaded & {"numpy", "llvmlite", "cuda", "dataclasses", "inspect", "pathlib", "ctypes"}


def test_no_warning_is_left_over(environment: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(kernels.add)
        compiled(kernels.add)
