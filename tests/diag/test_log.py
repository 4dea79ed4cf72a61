"""Messages of the compiler go to the logger that a program has set up, else to stderr where they are asked for."""

import logging
import subprocess
import sys

import pytest

from cutelite.diag import log
from tests.dispatch import kernels


@pytest.fixture(autouse=True)
def uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_CACHE", "0")
    for name in ("CUTELITE_VERBOSE", "CUTELITE_TIMES"):
        monkeypatch.delenv(name, raising=False)


def test_a_program_with_a_level_gets_records(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, "cutelite"):
        kernels.add.options(block=64).compile()
    compiling, times = (record.getMessage() for record in caplog.records if record.name == "cutelite")
    assert compiling.startswith("compiling add (") and times.startswith("add for sm_90a: front ")
    assert capsys.readouterr().err == ""


def test_a_level_above_silences(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.ERROR, "cutelite"):
        kernels.add.options(block=64).compile()
        log.tell("a warning", log.WARNING, wanted=True)
    assert not caplog.records and capsys.readouterr().err == ""


def test_without_a_logger_stderr_gets_what_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUTELITE_VERBOSE", "1")
    kernels.add.options(block=64).compile()
    assert capsys.readouterr().err.startswith("cutelite: compiling add (")
    monkeypatch.setenv("CUTELITE_VERBOSE", "0")
    kernels.add.options(block=64).compile()
    assert capsys.readouterr().err == ""


def test_logging_is_not_loaded_for_it() -> None:
    code = (
        "import sys; from cutelite.diag import log; log.tell('said', log.INFO, True); print('logging' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("False\n", "cutelite: said\n")
