"""PTX -> cubin, by each assembler that is there, and what is said when there is none."""

import os
import re
import resource
import shutil
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from cutelite.config import ConfigError
from cutelite.target import Target
from cutelite.toolchain import ToolchainError, assemble, disassemble, early, find, nvjitlink, to_cubin, waiting
from cutelite.toolchain.identity import identity
from cutelite.toolchain.ptxas import version
from cutelite.toolchain.tools import tools

HEADER = ".version 8.6\n.target sm_90a\n.address_size 64\n"

SHARED = (
    HEADER
    + """
.visible .entry shared(.param .u64 out) .reqntid 256,1,1 {
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  .shared .align 8 .b8 tile[1024];
  mov.u32 %r1, tile;
  ld.param.u64 %rd1, [out];
  st.shared.u32 [%r1], 7;
  bar.sync 0;
  ld.shared.u32 %r2, [%r1+4];
  st.global.u32 [%rd1], %r2;
  ret;
}
"""
)

EARLY_USE_OF_WGMMA = (
    HEADER
    + """
.visible .entry early(.param .u64 out) .maxntid 128,1,1 {
  .reg .f32 %f<5>; .reg .b64 %rd<3>;
  setmaxnreg.dec.sync.aligned.u32 40;
  ld.param.u64 %rd1, [out];
  mov.b64 %rd2, 0;
  mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1,%f2,%f3,%f4}, %rd2, %rd2, 1, 1, 1, 0, 0;
  add.f32 %f1, %f1, %f2;
  wgmma.commit_group.sync.aligned;
  st.global.f32 [%rd1], %f1;
  wgmma.wait_group.sync.aligned 0;
  ret;
}
"""
)


def keeps_alive(values: int) -> str:
    """Return a kernel with `values` registers alive at once."""
    numbers = range(values)
    return "\n".join(
        [
            HEADER,
            f".visible .entry many(.param .u64 p) {{ .reg .f32 %f<{values}>; .reg .b64 %rd; ld.param.u64 %rd, [p];",
            *(f"ld.volatile.global.f32 %f{i}, [%rd+{4 * i}];" for i in numbers),
            *(f"st.volatile.global.f32 [%rd+{4 * i}], %f{i};" for i in numbers),
            "ret; }",
        ]
    )


@pytest.fixture(params=["ptxas", "nvjitlink", pytest.param("driver", marks=pytest.mark.gpu)])
def assembler(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    try:
        return assemble.choose(name)
    except ToolchainError:
        pytest.skip(f"needs {name}")


def test_resources(assembler: str, hopper: Target) -> None:
    cubin = to_cubin(SHARED, hopper, assembler=assembler)
    assert cubin.image.startswith(b"\x7fELF")
    assert cubin.usage.smem_static == 1024
    assert cubin.usage.barriers == 1
    assert 0 < cubin.usage.registers <= 32
    assert cubin.usage.spill_stores == cubin.usage.stack_frame == 0
    assert cubin.warnings == ()


@pytest.mark.gpu
@pytest.mark.parametrize("assembler", ["nvjitlink", "driver"], indirect=True)
def test_resources_are_told_again(assembler: str, hopper: Target) -> None:
    """Where there is a GPU, both libraries have a cache, which keeps no log."""
    first, again = (to_cubin(SHARED, hopper, assembler=assembler) for _ in range(2))
    assert again.usage == first.usage


def test_a_register_cap_spills(assembler: str, hopper: Target) -> None:
    text = keeps_alive(64)
    free = to_cubin(text, hopper, assembler=assembler).usage
    capped = to_cubin(text, hopper, assembler=assembler, max_registers=24).usage
    assert free.registers > 64
    assert free.spill_stores == free.spill_loads == 0
    assert capped.registers <= 24
    assert capped.stack_frame > 0
    if assembler != "driver":  # which tells the stack frame alone
        assert min(capped.spill_stores, capped.spill_loads) > 0


def test_warnings_that_cost_speed_are_reported(assembler: str, hopper: Target) -> None:
    if assembler == "driver" or (assembler == "nvjitlink" and nvjitlink.version() == "13.0"):
        pytest.skip("driver 580.159.04 and nvJitLink 13.0 crash on this PTX")
    codes = {warning.code for warning in to_cubin(EARLY_USE_OF_WGMMA, hopper, assembler=assembler).warnings}
    assert codes == {"C7508" if assembler == "ptxas" else "C7504", "C7517"}


def test_a_refusal_shows_the_line(assembler: str, hopper: Target) -> None:
    text = SHARED.replace("bar.sync 0;", "bar.snyc 0;")
    with pytest.raises(ToolchainError) as caught:
        to_cubin(text, hopper, assembler=assembler)
    assert caught.value.stage == assembler
    assert "bar.snyc 0;" in next(line for line in caught.value.excerpt.splitlines() if line.startswith(">"))


def test_an_instruction_the_target_lacks_is_refused(assembler: str) -> None:
    if assembler == "driver":
        pytest.skip("the driver compiles for its own GPU")
    text = EARLY_USE_OF_WGMMA.replace("sm_90a", "sm_80")
    with pytest.raises(ToolchainError, match=r"not supported on \.target 'sm_80'"):
        to_cubin(text, Target.parse("sm_80"), assembler=assembler)


def test_source_lines_stay(assembler: str, hopper: Target) -> None:
    lines = SHARED.replace("  mov.u32", "\t.loc 1 41 7\n  mov.u32") + '.file 1 "user.py"\n'
    assert b"user.py" in to_cubin(lines, hopper, assembler=assembler).image
    assert b".debug_line" not in to_cubin(SHARED, hopper, assembler=assembler).image


def test_extra_options_reach_ptxas(ptxas: str, hopper: Target) -> None:
    text = keeps_alive(64)
    spills = to_cubin(text, hopper, max_registers=24, options=("--warn-on-spills",))
    assert any("spilled" in warning.message for warning in spills.warnings)
    with pytest.raises(ToolchainError, match="no-such-option"):
        to_cubin(text, hopper, options=("--no-such-option",))


def test_assembling_leaves_no_files(
    ptxas: str, hopper: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cutelite.toolchain.ptxas._MEMORY", str(tmp_path))
    to_cubin(SHARED, hopper)
    with pytest.raises(ToolchainError):
        to_cubin(HEADER + "nonsense", hopper)
    assert list(tmp_path.iterdir()) == []


def nothing_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "ptxas", lambda: None)
    monkeypatch.setattr(find, "library", lambda name: None)


def test_without_an_assembler_the_error_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, hopper: Target) -> None:
    nothing_found(monkeypatch)
    with pytest.raises(ToolchainError, match=r"looked for ptxas, nvjitlink, driver\. `pip install cutelite\[cuda\]`"):
        to_cubin(SHARED, hopper)


def test_tools_have_an_identity_without_an_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    complete = identity()
    nothing_found(monkeypatch)
    assert identity() != complete


def test_the_next_assembler_steps_in(monkeypatch: pytest.MonkeyPatch, hopper: Target) -> None:
    if not nvjitlink.available():
        pytest.skip("needs nvJitLink")
    monkeypatch.setattr(find, "ptxas", lambda: None)
    assert to_cubin(SHARED, hopper).tool == "nvJitLink"


@pytest.mark.parametrize("at", ["/nowhere/ptxas", "/", __file__])
def test_a_named_ptxas_that_is_no_program_is_an_error(at: str, monkeypatch: pytest.MonkeyPatch, hopper: Target) -> None:
    monkeypatch.setenv("CUTELITE_PTXAS", at)
    with pytest.raises(ConfigError, match=f"^CUTELITE_PTXAS={re.escape(at)}: takes the path of a program"):
        to_cubin(SHARED, hopper)


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


PATIENCE = 'case "$*" in --version) echo V13.0.88;; *) echo out of patience >&2; exit 3;; esac'


def test_a_ptxas_that_dies_is_quoted(monkeypatch: pytest.MonkeyPatch, hopper: Target, tmp_path: Path) -> None:
    monkeypatch.setenv("CUTELITE_PTXAS", str(script(tmp_path / "ptxas", PATIENCE)))
    with pytest.raises(ToolchainError, match="ptxas: out of patience"):
        to_cubin(SHARED, hopper)


def test_a_ptxas_that_crashes_is_run_without_optimisation(
    ptxas: str, monkeypatch: pytest.MonkeyPatch, hopper: Target, tmp_path: Path
) -> None:
    crashing = f'case "$*" in *-O3*) kill -SEGV $$;; esac\nexec "{ptxas}" "$@"'
    monkeypatch.setenv("CUTELITE_PTXAS", str(script(tmp_path / "ptxas", crashing)))
    made = to_cubin(SHARED, hopper)
    assert "ptxas crashed (SIGSEGV), and has assembled this with -O0" in made.warnings[0].message
    monkeypatch.setenv("CUTELITE_PTXAS", str(script(tmp_path / "ptxas", "kill -SEGV $$")))
    with pytest.raises(ToolchainError, match="exit status -11"):
        to_cubin(SHARED, hopper)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit 1", r"said nothing \(exit status 1\)"),
        ("", "made no cubin"),
        ("echo bad option; exit 1", "cannot run .*"),
    ],
)
def test_a_program_that_is_no_ptxas_is_not_taken_for_a_refusal(
    body: str, said: str, monkeypatch: pytest.MonkeyPatch, hopper: Target, tmp_path: Path
) -> None:
    program = script(tmp_path / "ptxas", body)
    monkeypatch.setenv("CUTELITE_PTXAS", str(program))
    with pytest.raises(ToolchainError, match=said) as found:
        to_cubin(SHARED, hopper)
    assert found.value.stage == "run"  # others become reports of a bug
    assert str(found.value).endswith(f"\nset: CUTELITE_PTXAS={program}")


def test_identity_follows_the_assembler(ptxas: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = identity()
    assert identity() == before
    wrapper = script(tmp_path / "ptxas", f'exec "{ptxas}" "$@"')
    monkeypatch.setenv("CUTELITE_PTXAS", str(wrapper))
    assert str(wrapper) in identity()
    behind = tmp_path / "ptxas-behind"
    shutil.copy(ptxas, behind)
    script(wrapper, f'exec {behind} "$@"')
    named = identity()
    assert str(behind) in named
    os.utime(behind, (1, 1))
    assert identity() != named  # the script alone would not tell that the ptxas behind it has changed
    script(wrapper, f'tool={ptxas}\nexec $tool "$@"')
    assert version(ptxas) in identity()  # what the script starts is not plain to see


def test_disassembly_shows_instructions(ptxas: str, hopper: Target) -> None:
    sass = disassemble(to_cubin(SHARED, hopper).image)
    if sass is None:
        pytest.skip("needs nvdisasm")
    assert "BAR.SYNC" in sass


def test_what_is_not_a_cubin_is_not_disassembled() -> None:
    if find.program("nvdisasm") is None:
        pytest.skip("needs nvdisasm")
    with pytest.raises(ToolchainError):
        disassemble(b"nonsense")


def test_tools_say_what_they_are_or_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for tool in tools():
        assert (tool.path and tool.version and not tool.why) if tool.usable else tool.why
    nothing_found(monkeypatch)
    missing = {tool.name: tool.why for tool in tools() if not tool.usable}
    assert {"ptxas", "nvJitLink", "driver"} <= set(missing)
    assert "pip install cutelite[cuda]" in missing["ptxas"]


def test_ptxas_is_told_to_take_memory_in_large_pieces_unless_the_user_tunes_it(
    monkeypatch: pytest.MonkeyPatch, hopper: Target, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUTELITE_PTXAS", str(script(tmp_path / "ptxas", "echo it has $GLIBC_TUNABLES >&2; exit 3")))
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    with pytest.raises(ToolchainError, match=r"it has glibc\.malloc\.hugetlb=1:glibc\.malloc\.top_pad=67108864"):
        to_cubin(SHARED, hopper)
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.perturb=0")
    with pytest.raises(ToolchainError, match=r"it has glibc\.malloc\.perturb=0"):
        to_cubin(SHARED, hopper)


def test_there_is_work_for_python_while_ptxas_runs(
    ptxas: str, monkeypatch: pytest.MonkeyPatch, hopper: Target, tmp_path: Path
) -> None:
    """ptxas waits here for a file that the work makes."""
    go = tmp_path / "go"
    waiting = f'while [ ! -e "{go}" ]; do sleep 0.01; done\nexec "{ptxas}" "$@"'
    monkeypatch.setenv("CUTELITE_PTXAS", str(script(tmp_path / "ptxas", waiting)))
    assert to_cubin(SHARED, hopper, meanwhile=go.touch).image


@pytest.mark.parametrize("comment", ["", "//" + "-" * 200_000], ids=["short", "more than a pipe takes by itself"])
def test_ptxas_that_was_started_before_makes_the_same_cubin(
    ptxas: str, monkeypatch: pytest.MonkeyPatch, hopper: Target, tmp_path: Path, comment: str
) -> None:
    ptx, runs = SHARED + comment, tmp_path / "runs"
    expected = to_cubin(ptx, hopper)
    monkeypatch.setenv("CUTELITE_PTXAS", str(script(tmp_path / "ptxas", f'echo >> "{runs}"; exec "{ptxas}" "$@"')))
    with early(hopper) as started:
        assert to_cubin(ptx, hopper, started=started).image == expected.image
    assert runs.read_text() == "\n"


@pytest.mark.parametrize(
    "body", ["exit 0", "exit 3", "sleep 9", 'cat "$4" > /dev/null; exit 3', 'cat "$4" "$4" > /dev/null']
)
def test_where_starting_before_fails_ptxas_is_run_as_ever(
    ptxas: str, monkeypatch: pytest.MonkeyPatch, hopper: Target, tmp_path: Path, body: str
) -> None:
    """The program, $4 being its source, does something else the first time it is run."""
    first = f'if mkdir "{tmp_path}/first" 2> /dev/null; then {body}; fi'
    monkeypatch.setenv("CUTELITE_PTXAS", str(script(tmp_path / "ptxas", f'{first}\nexec "{ptxas}" "$@"')))
    monkeypatch.setattr(waiting, "PATIENCE_S", 0.05)
    with early(hopper) as started:
        assert started is not None
        while not (tmp_path / "first").exists():
            pass
        assert to_cubin(SHARED, hopper, started=started).image


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork")
def test_ptxas_ends_with_the_process_that_started_it(ptxas: str, hopper: Target) -> None:
    """Also where that ends at once, and a process that it forked lives on."""
    told, tell = os.pipe()
    if (child := os.fork()) == 0:
        context = early(hopper)
        waits = context.__enter__()
        assert waits is not None and waits._reads()
        os.write(tell, f"{waits._program._child} {os.path.dirname(waits.source)}".encode())
        if os.fork() == 0:
            time.sleep(5)
        os._exit(0)
    os.waitpid(child, 0)
    number, folder = os.read(told, 200).decode().split()
    shutil.rmtree(folder)
    program = Path("/proc", number, "cmdline")
    end = time.monotonic() + 4
    while (
        program.exists() and program.read_bytes()
    ):  # one that has ended and was not waited for has no command any more
        assert time.monotonic() < end
        time.sleep(0.005)
    os.close(told)
    os.close(tell)


def test_mistakes_are_reported_as_without_a_start_before(ptxas: str, hopper: Target) -> None:
    def refused(started: waiting.Waiting | None = None) -> str:
        with pytest.raises(ToolchainError) as error:
            to_cubin(SHARED.replace("bar.sync", "bar.snyc"), hopper, started=started)
        return str(error.value)

    with early(hopper) as started:
        assert refused(started) == refused()
    with early(hopper) as unused:
        assert unused is not None
    assert unused._program.ended()


def test_ending_one_leaves_another_whose_pipe_has_the_same_number(ptxas: str, hopper: Target) -> None:
    with ExitStack() as later:
        with early(hopper) as first:
            assert first is not None and to_cubin(SHARED, hopper, started=first).image
            second = later.enter_context(early(hopper))
            assert second is not None and second._pipe == first._pipe, "the number was free"
        assert second.assemble(SHARED), "it was started, and has its source"


def test_a_status_that_somebody_else_took_is_no_error(ptxas: str, hopper: Target) -> None:
    """As where a signal's exception comes between the end of `waitpid` and its result's being kept."""
    with early(hopper) as started:
        assert started is not None
        os.kill(started._program._child, 9)
        os.waitpid(started._program._child, 0)
        assert to_cubin(SHARED, hopper, started=started).image


def test_a_full_disk_is_no_bug(ptxas: str, hopper: Target) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    said = []
    for size in (0, 2048):  # not even the PTX can be written; a part of the cubin
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            with pytest.raises(ToolchainError) as caught:
                to_cubin(SHARED, hopper)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        said.append(caught.value.message)
    assert said[0].startswith("files for ptxas cannot be written: [Errno 27]")
    assert said[1].endswith("ends early: is that full?")


def test_memory_with_little_room_left_is_not_used(
    ptxas: str, hopper: Target, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("cutelite.toolchain.ptxas._MEMORY", str(tmp_path))
    for room in (0, 1 << 60):
        monkeypatch.setattr("cutelite.toolchain.ptxas._ROOM", room)
        before = tmp_path.stat().st_mtime_ns
        to_cubin(SHARED, hopper)
        assert (tmp_path.stat().st_mtime_ns == before) == bool(room)
