"""The command line: each command as a user types it, and what it answers to a wrong one."""

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

import cutelite
from cutelite import config
from cutelite.cli import main

ROOT = Path(__file__).resolve().parents[2]
ARCHS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a")

ONE = """
import cutelite as cl
from cutelite import Tensor, f32
N = cl.dims("N")

@cl.kernel(block=128)
def add(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        b[i] = a[i] + b[i]
"""
SEVERAL = """
from typing import TypeVar
from dataclasses import dataclass
import cutelite as cl
from cutelite import Constexpr, Tensor, f16, f32
from one import add
N = cl.dims("N")
T = TypeVar("T", f16, f32)

@cl.kernel
def fill(a: Tensor[T, (N,)], n: Constexpr[int], text: Constexpr[str] = "x") -> None:
    for i in cl.static_range(n):
        a[i] = 1.0

@cl.kernel(block=32)
def wrong(a: Tensor[f32, (N,)]) -> None:
    a[0] = missing

@dataclass(frozen=True)
class Scaler:
    by: int
    @cl.kernel(block=32)
    def run(self, a: Tensor[f32, (N,)]) -> None:
        a[0] = a[0] * self.by

doubler = Scaler(2)
"""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the test a cache of its own, and restore paths and modules afterwards."""
    for name in list(os.environ):
        if name.startswith("CUTELITE_") and name != "CUTELITE_PTXAS":
            monkeypatch.delenv(name)
    monkeypatch.setenv("CUTELITE_CACHE_DIR", str(tmp_path / "cache"))
    modules, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in sys.modules.keys() - modules:
        if not name.startswith(("cutelite", "numpy", "llvmlite", "ml_dtypes", "cuda")):
            del sys.modules[name]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "one.py").write_text(ONE)
    (tmp_path / "several.py").write_text(SEVERAL)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process. Return its status, its output and its messages."""

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            status = main(list(arguments))
        except SystemExit as stop:  # how argparse answers a wrong command line
            status = int(stop.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return call


def started(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "cutelite.cli", *arguments]
    found = dict(os.environ) | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=found)


# ---- compile


@pytest.mark.parametrize("arch", ARCHS)
def test_ptx_for_every_architecture(files: Path, run: Run, arch: str) -> None:
    status, out, err = run("compile", "one.py", "--arch", arch)
    assert status == 0 and f".target {arch}" in out and ".entry add" in out
    assert err.startswith(f"<add for {arch}: ")


def test_in_a_process_of_its_own(files: Path) -> None:
    done = started("compile", "one.py:add", "--emit", "ll", cwd=files)
    assert done.returncode == 0 and "define ptx_kernel void @add" in done.stdout
    again = started("compile", "several.py:nothing", cwd=files)
    assert again.returncode == 1
    assert again.stderr == "cutelite: several.py has no kernel nothing; it has add, fill, wrong\n"


def test_every_stage_into_files(files: Path, run: Run) -> None:
    status, out, err = run("compile", "one.py", "--emit", "all", "--out", "deep/out")
    assert status == 0 and out == ""
    written = {path.name for path in (files / "deep" / "out").iterdir()}
    assert {f"add.sm_90a.{ending}" for ending in ("bytecode", "cfg", "00-front.cir", "ll", "ptx", "cubin")} <= written
    assert (files / "deep" / "out" / "add.sm_90a.cubin").read_bytes().startswith(b"\x7fELF")
    assert all(f"wrote deep/out/{name}" in err for name in written)
    assert ("add.sm_90a.sass" in written) != ("without SASS: no disassembler is found" in err)


def test_stages_on_the_terminal(files: Path, run: Run) -> None:
    for stage, text in (("cir", "func @add["), ("bytecode", "LOAD"), ("cfg", "block"), ("ptx", ".entry add")):
        status, out, _ = run("compile", "one.py", "--emit", stage)
        assert status == 0 and text in out, stage
    status, out, _ = run("compile", "one.py", "--emit", "cir,ptx")
    assert out.index("func @add[") < out.index(".entry add")


def test_machine_code_goes_into_a_file(files: Path, run: Run) -> None:
    status, out, err = run("compile", "one.py", "--emit", "cubin")
    assert (status, out) == (0, "") and "wrote add.sm_90a.cubin" in err
    assert (files / "add.sm_90a.cubin").read_bytes().startswith(b"\x7fELF")


def test_without_a_disassembler(files: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutelite.toolchain.find._program", lambda *how: None)
    status, _, err = run("compile", "one.py", "--emit", "sass")
    assert status == 1 and "cutelite: no disassembler is found: `pip install nvidia-cuda-nvdisasm`" in err


def test_shapes_and_values(files: Path, run: Run) -> None:
    status, out, _ = run(
        "compile", "several.py:fill", "--block", "32,2", "--cluster", "2", "--set", "n=3", "--set", "T=f16",
        "--set", "N=5000000000", "--emit", "cir,ptx",
    )  # fmt: skip
    assert status == 0
    assert ".reqntid 32, 2, 1" in out and ".explicitcluster" in out
    assert "tensor<f16," in out and "dims N: i64" in out and out.count("tensor.store") == 3


def test_kernels_inside_of_things(files: Path, run: Run) -> None:
    status, out, _ = run("compile", "several.py:doubler.run", "--emit", "cir")
    assert status == 0 and "func @run[" in out
    status, out, _ = run("compile", "several.py:add", "--emit", "ptx")
    assert status == 0 and ".entry add" in out


def test_a_file_named_as_a_module_of_python(files: Path, run: Run) -> None:
    (files / "queue.py").write_text(ONE)
    assert run("compile", "queue.py")[0] == 0
    import queue

    assert queue.Queue().empty()


def test_a_cached_kernel_has_its_warnings(files: Path, run: Run) -> None:
    (files / "slow.py").write_text(
        ONE.replace("b[i] = a[i] + b[i]", "t = cl.make_rmem_tensor(f32, (4,)); t.fill(1.0); b[i] = t[i % 4]")
    )
    for _ in range(2):
        status, _, err = run("compile", "slow.py")
        assert status == 0 and err.count("warning[") == 1


@pytest.mark.parametrize("made", ["module", "factory"])
def test_a_kernel_that_is_not_complete_by_itself_is_compiled_as_its_file_launches_it(
    files: Path, run: Run, made: str
) -> None:
    text = ONE.replace("@cl.kernel(block=128)", "@cl.kernel").removeprefix("\n")
    head, _, body = text.partition("@cl.kernel\n")
    if made == "factory":
        body = "    ".join(["", *body.splitlines(keepends=True)])
        text = f"{head}def make():\n    @cl.kernel\n{body}    return add\n\n"
    launch = "import numpy as np\n\ndef main():\n    x = np.ones(4, np.float32)\n    KERNEL[1, 32](x, x)\n"
    (files / "launched.py").write_text(text + launch.replace("KERNEL", "make()" if made == "factory" else "add"))
    status, out, err = run("compile", "launched.py", "--emit", "ptx")
    assert (status, ".reqntid 32" in out) == (0, True), err
    if made == "module":
        assert ".reqntid 64" in run("compile", "launched.py", "--block", "64", "--emit", "ptx")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing.py"], "cutelite: there is no file nothing.py"),
        (["nothing.py:add"], "cutelite: there is no file nothing.py"),
        (["one.py:sub"], "cutelite: one.py has no kernel sub; it has add"),
        (["one.py:N"], "cutelite: one.py has no kernel N, which is a Dim; it has add"),
        (["empty.py"], "cutelite: empty.py holds no kernel"),
        (["several.py"], "cutelite: several.py holds 2 kernels: say which by several.py:KERNEL; they are fill, wrong"),
        (["text.txt"], "cutelite: text.txt is not a Python file: its name must end in .py"),
        (["one.py", "--arch", "sm_91"], "cutelite: unknown GPU architecture 'sm_91'; known are sm_75, sm_80,"),
        (["one.py", "--block", "2048"], "cutelite: add: a block of (2048,) is asked for, but"),
        (["one.py", "--set", "n"], "cutelite: --set takes NAME=VALUE, not 'n'"),
        (["one.py", "--set", "n=a b"], "cutelite: --set n: 'a b' is neither a Python literal nor a dtype"),
        (["one.py", "--set", "n=3"], "cutelite: add() has neither a parameter, nor a dtype variable, nor a dim"),
        (["several.py:fill"], "cutelite: fill(): argument `a` has the dtype variable T: say what it is"),
        (["several.py:fill", "--set", "T=f16"], "cutelite: fill(): argument `n` is a compile-time constant: give its"),
        (["several.py:fill", "--set", "T=f16", "--set", "n=2"], "cutelite: fill: no block is given"),
        (["broken.py"], "cutelite: broken.py cannot be imported:\n"),
        (["raises.py"], "cutelite: raises.py cannot be imported:\n"),
    ],
)  # fmt: skip
def test_what_cannot_be_compiled(files: Path, run: Run, arguments: list[str], said: str) -> None:
    for name, text in (("empty.py", ""), ("text.txt", ""), ("broken.py", "def ("), ("raises.py", "x = 1\ny = 1 / 0\n")):
        (files / name).write_text(text)
    status, out, err = run("compile", *arguments)
    assert (status, out) == (1, "")
    assert err.startswith(said)
    assert ("here: --set NAME=VALUE" in err) == ("compile(" in err)


def test_an_error_in_the_users_file_shows_the_line(files: Path, run: Run) -> None:
    (files / "raises.py").write_text("x = 1\ny = 1 / 0\n")
    err = run("compile", "raises.py")[2]
    assert f'File "{files / "raises.py"}", line 2, in <module>\n    y = 1 / 0' in err
    assert err.endswith("ZeroDivisionError: division by zero\n")


def test_a_compile_error_is_shown_at_the_line(files: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, err = run("compile", "several.py:wrong")
    assert (status, out) == (1, "")
    assert err.startswith("error[unknown-name]: the name `missing` is not defined") and "a[0] = missing" in err
    assert "\x1b" not in err
    monkeypatch.setenv("CUTELITE_COLOR", "always")
    assert "\x1b[1;31m" in run("compile", "several.py:wrong")[2]


def test_a_bug_of_the_compiler_is_said_to_be_one(files: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("one too many")

    monkeypatch.setattr("cutelite.lower.to_llvm", broken)
    status, _, err = run("compile", "one.py")
    assert status == 1 and err.startswith("internal error in `lower`: ZeroDivisionError: one too many")
    assert "This is a bug in cutelite" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "one.py", "-o", "away/add.cutelite"),
        ("explore", "one.py", "-o", "away/add.html"),
        ("compile", "one.py", "--out", "one.py"),
        ("check", "one.py", "--grid", "1", "--arg", "a=4", "--arg", "b=(4,)", "--trace", "away/add.json"),
    ],
)
def test_files_that_cannot_be_written(files: Path, run: Run, arguments: tuple[str, ...]) -> None:
    status, _, err = run(*arguments)
    assert status == 1
    assert re.search(r"^cutelite: .*(away/add|one\.py).*: (No such file or directory|File exists|Not a dir)", err, re.M)
    assert ".part" not in err


def test_an_error_of_the_program_that_is_checked_shows_its_line(files: Path, run: Run) -> None:
    (files / "program.py").write_text("from one import add\ndef main():\n    assert 1 == 2, 'no'\n")
    for command in ("check", "explore"):
        status, _, err = run(command, "program.py")
        assert status == 1 and err.endswith("AssertionError: no\n")
        assert f'File "{files / "program.py"}", line 3, in main\n    assert 1 == 2' in err and "Traceback" not in err


def test_a_file_of_a_package_may_import_what_lies_beside_it(files: Path, run: Run) -> None:
    inner = files / "things" / "inner"
    inner.mkdir(parents=True)
    for folder, text in ((files / "things", "BY = 3\n"), (inner, "")):
        (folder / "__init__.py").write_text(text)
    (inner / "kernels.py").write_text(ONE.replace("\n@cl", "from .. import BY\n@cl").replace("+ b[i]", "* BY"))
    status, out, err = run("compile", "things/inner/kernels.py", "--emit", "cir")
    assert status == 0 and "const value=3.0" in out, err
    (inner / "broken.py").write_text("from .kernels import missing\n")
    status, _, err = run("compile", "things/inner/broken.py")
    assert status == 1 and err.startswith("cutelite: things/inner/broken.py cannot be imported:\n") and "missing" in err
    assert run("compile", "things/inner/__init__.py")[2].startswith(
        "cutelite: things/inner/__init__.py holds no kernel"
    )


RACE = """
import sys
import numpy as np
import cutelite as cl
from cutelite import Tensor, f32

@cl.kernel(block=64)
def turn(a: Tensor[f32, (64,)]) -> None:
    s = cl.shared(f32, 64)
    s[cl.thread_idx.x] = a[cl.thread_idx.x]
    a[cl.thread_idx.x] = s[63 - cl.thread_idx.x]

def main():
    assert len(sys.argv) == 1
    turn[1](np.zeros(64, np.float32))
    sys.exit(STATUS)
"""


def test_a_program_that_ends_by_an_exit_is_checked(files: Path, run: Run) -> None:
    (files / "race.py").write_text(RACE.replace("STATUS", "0"))
    status, out, _ = run("check", "race.py")
    assert status == 1 and out.startswith("error[race]")
    assert run("explore", "race.py", "--check")[0] == 0 and (files / "turn.html").exists()


def test_an_exit_that_is_no_end_is_an_error(files: Path, run: Run) -> None:
    (files / "race.py").write_text(RACE.replace("STATUS", "'wrong'"))
    (files / "script.py").write_text("import sys\nsys.exit(0)\n")
    for command, name, said in ("check", "race", "wrong"), ("compile", "script", "0"), ("check", "script", "0"):
        status, out, err = run(command, f"{name}.py")
        assert status == 1 and err.endswith(f"SystemExit: {said}\n")
        assert out.startswith("error[race]") if name == "race" else out == ""  # found before the program failed


def test_what_an_argument_of_a_check_may_be(files: Path, run: Run) -> None:
    status, _, err = run("check", "one.py", "--grid", "1", "--arg", "a=f32[4]", "--arg", "b=(4,)")
    assert status == 1 and err.startswith(
        "cutelite: --arg a: 'f32[4]' is neither a Python literal nor a dtype; an array"
    )
    for extent in 10**15, 10**25:
        status, _, err = run("check", "one.py", "--grid", "1", "--arg", f"a={extent}", "--arg", f"b={extent}")
        assert status == 1 and err == f"cutelite: this machine has no memory for an array of shape ({extent},)\n"


def test_a_bug_of_the_command_line_is_not_hidden(files: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise TypeError("not foreseen")

    monkeypatch.setattr("cutelite.cli.compile.the_kernel", broken)
    with pytest.raises(TypeError, match="not foreseen"):
        run("compile", "one.py")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: command"),
        (["build"], "invalid choice: 'build'"),
        (["compile"], "the following arguments are required: FILE[:KERNEL]"),
        (["compile", "one.py", "--emit", "asm"], "'asm' is none of bytecode, cfg, cir, ll, ptx, cubin, sass, all"),
        (["compile", "one.py", "--block", "x"], "argument --block: 'x' is not one to three whole numbers from 1"),
        (["check", "one.py", "--grid", "4,0"], "argument --grid: '4,0' is not one to three whole numbers from 1"),
        (["check", "one.py", "--seeds", "0"], "argument --seeds: '0' is not a whole number from 1"),
        (["check", "one.py", "--seed", "1", "--seeds", "2"], "argument --seeds: not allowed with argument --seed"),
        (["check", "one.py", "--blocks", "-1"], "argument --blocks: '-1' is not a whole number from 1"),
        (["layout", "8:1", "--bits", "-3"], "argument --bits: '-3' is not a whole number from 1"),
        (["cache"], "the following arguments are required: action"),
        (["cache", "burn"], "invalid choice: 'burn'"),
    ],
)
def test_a_wrong_command_line(run: Run, arguments: list[str], said: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert said in err


def test_a_layout_of_unknown_extents_asks_for_them_by_the_flag(run: Run) -> None:
    status, _, err = run("layout", "(M,8)")
    assert status == 1 and err.endswith(
        "(M,8):(1,M) is known at launch only: give the dims values; here: --set NAME=VALUE\n"
    )


def test_a_wrong_environment_is_said(files: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_OPT", "fast")
    status, _, err = run("compile", "one.py")
    assert (status, err) == (1, "cutelite: CUTELITE_OPT=fast: takes a whole number from 0 to 3\n")


def test_help_and_version(run: Run) -> None:
    status, out, _ = run("--help")
    assert status == 0 and all(command in out for command in ("demo", "compile", "doctor", "cache"))
    status, out, _ = run("compile", "--help")
    assert status == 0 and all(stage in out for stage in config.STAGES)
    assert run("--version")[:2] == (0, f"cutelite {cutelite.__version__}\n")


# ---- cache


def test_cache(files: Path, run: Run) -> None:
    assert run("compile", "one.py")[0] == 0
    status, out, _ = run("cache", "info")
    facts = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert status == 0 and facts["entries"] == "1" and facts["directory"] == str(files / "cache")
    (entry,) = (files / "cache").glob("*.entry")
    (files / "cache" / f"{'0' * 40}.entry").write_bytes(entry.read_bytes())  # under a key that is not its own
    assert run("cache", "verify")[:2] == (0, "1 entries are intact; 1 were damaged and have been removed\n")
    status, _, err = run("cache", "clear", entry.name[:8])
    assert status == 1 and "`cutelite cache clear` is for the whole cache: it takes no key" in err
    assert run("cache", "clear")[:2] == (0, "1 entries removed\n")
    assert "entries    0" in run("cache", "info")[1]


def test_entries_of_the_cache_one_by_one(files: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("compile", "one.py", "--emit", "ptx")
    status, out, _ = run("cache", "list")
    key, size, *_, registers, word = out.split()  # one line
    assert status == 0 and int(size) > 1000 and registers.isdigit() and word == "registers"
    assert "add for sm_90a, blocks of (128, 1, 1)" in out
    status, out, _ = run("cache", "show", key[:8])
    assert status == 0 and f"key             {key}" in out
    assert "registers       " in out and "ptxas info" in out
    status, _, err = run("cache", "show", "xyz")
    assert status == 1 and "0 entries have a key that begins with 'xyz'" in err
    status, _, err = run("cache", "show")
    assert status == 1 and "takes the beginning of a key" in err
    monkeypatch.setenv("CUTELITE_COMPILE", "error")
    status, _, err = run("compile", "one.py", "--opt", "1")
    assert status == 1 and err.startswith("cutelite: ")


def test_a_report_lies_beside_the_files(files: Path, run: Run) -> None:
    status, _, err = run("compile", "one.py", "--emit", "ptx,cubin", "--out", "made")
    assert status == 0 and "REPORT.json" in err
    report = json.loads((files / "made" / "REPORT.json").read_text())
    assert set(report["files"]) == {"add.sm_90a.ptx", "add.sm_90a.cubin"}
    assert report["resources"]["occupancy"]["limiter"] == "threads"
    assert set(report["times"]) == {"front", "passes", "lower", "llvm", "assemble"}
    assert report["options"]["opt"] == 3 and "ptxas info" in report["log"]


def test_the_cache_switched_off(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_CACHE", "0")
    assert run("cache", "info")[:2] == (0, "the disk cache is off (CUTELITE_CACHE=0)\n")


# ---- doctor and demo


def test_doctor(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("doctor")
    rows = {line.split()[0]: line for line in out.splitlines()}
    assert status == 0
    assert list(rows) == ["cutelite", "Python", "numpy", "ml_dtypes", "llvmlite", "libNVVM", "ptxas", "nvJitLink",
                          "driver", "nvdisasm", "GPU", "cache"]  # fmt: skip
    assert "LLVM IR to PTX" in rows["llvmlite"] and rows["cache"].endswith(str(tmp_path / "cache"))


def test_doctor_without_anything(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def missing(name: str) -> ModuleType:
        if name in ("numpy", "ml_dtypes"):
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr("cutelite.toolchain.find._program", lambda *how: None)
    monkeypatch.setattr("cutelite.toolchain.find.library", lambda name: None)
    monkeypatch.setattr("importlib.import_module", missing)
    monkeypatch.setenv("CUTELITE_CACHE", "0")
    status, out, _ = run("doctor")
    assert status == 0  # llvmlite is there, and makes PTX
    assert out.count("not usable: ") == 5 and "numpy      simulator         not installed: `pip install numpy`" in out
    assert out.endswith("off (CUTELITE_CACHE=0)\n")


def test_doctor_where_a_binding_refuses(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behave as cuda-bindings 12.9 does for libNVVM and nvJitLink where there is no driver."""

    def refuse() -> str:
        raise RuntimeError("CUDA driver is not found")

    monkeypatch.setattr("cutelite.toolchain.find.library", lambda name: name)
    for name in ("nvvm", "nvjitlink"):
        monkeypatch.setattr(f"cutelite.toolchain.{name}.version", refuse)
    monkeypatch.setattr("cutelite.toolchain.driver.available", lambda: False)
    status, out, _ = run("doctor")
    assert status == 0
    for name in ("libNVVM", "nvJitLink"):
        assert f"not usable: cuda.bindings cannot load {name}: CUDA driver is not found" in out


def test_demo(tmp_path: Path) -> None:
    """Run the GEMM as `make demo` does: its stages timed, its result checked, the place named."""
    done = started("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in ("front", "passes", "lower", "llvm", "assemble", "gemm for sm_90a", "relative error"):
        assert text in done.stdout
    assert done.stdout.count(" ms\n") == 5
    again = started("demo", cwd=tmp_path)
    assert "found in the disk cache; compiled once more" in again.stdout and again.stdout.count(" ms\n") == 5


# ---- export


def test_export(run: Run, files: Path) -> None:
    from cutelite_rt import Bundle

    status, out, err = run("export", "one.py", "--arch", "sm_80,sm_90a", "--grid", "ceil_div(N, 128), 2", "--c", "c")
    assert (status, out) == (0, "")
    assert err == (
        "add(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)]): sm_80, sm_90a, PTX of sm_80\n"
        f"wrote add.cutelite\nwrote {os.path.join('c', 'add.h')}\nwrote {os.path.join('c', 'add.c')}\n"
    )
    (variant,) = Bundle.open("add.cutelite").variants
    rounded, two = variant.signature.grid or ()
    assert (getattr(rounded, "text", ""), two) == ("ceil_div(N,128)", 2)
    assert "int add_run(add_kernel *kernel, CUstream stream, " in Path("c/add.h").read_text()


def test_export_of_one_of_several(run: Run, files: Path) -> None:
    status, _, err = run(
        "export", "several.py:fill", "-o", "out.cutelite", "--set", "n=2", "--set", "T=f16", "--block", "64"
    )
    assert status == 0 and "PTX" not in err and Path("out.cutelite").exists()
    assert run("export", "several.py:fill", "--block", "64", "--set", "T=f16")[0] == 1
    status, _, err = run("export", "one.py", "--grid", "ceil_div(K, 2)")
    assert (
        status == 1
        and err
        == "cutelite: add(): the grid to export takes ints and expressions over dims, not K, which no argument has\n"
    )
    assert run("export", "one.py", "--grid", "ceil_div(N,")[0] == 1


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    ours = Path(cutelite.__file__).parents[1]
    command = f"'{sys.executable}' -m cutelite layout '(128,256):(256,1)' | true; exit ${{PIPESTATUS[0]}}"
    found = os.environ | {"PYTHONPATH": str(ours)}
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path, env=found)
    assert run.returncode == 141 and run.stderr == "" == run.stdout


def test_warnings_show_no_line_of_ours(files: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_CACHE_DIR", str(files / "one.py"))  # no folder
    with pytest.warns(RuntimeWarning, match="the kernel cache .* cannot be written") as caught:
        assert run("compile", "one.py")[0] == 0
    assert [each.filename for each in caught] == ["cutelite"]
