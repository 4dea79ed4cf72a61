"""Messages as users see them: each ``errors/*.py`` is a wrong program, and the ``.err`` beside it is its message.

`pytest --update` writes the messages anew; read that diff like code.
"""

import linecache
from pathlib import Path

import pytest

from cutelite.diag import CompileError
from cutelite.dispatch import ArgumentError, LaunchError
from cutelite.sim import CheckFailed, SimError

PROGRAMS = sorted((Path(__file__).parent / "errors").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.stem for program in PROGRAMS])
def test_message(program: Path, update: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_CACHE", "0")
    found = message(program) + "\n"
    expected = program.with_suffix(".err")
    if update:
        expected.write_text(found)
    assert found == expected.read_text()


def message(program: Path) -> str:
    """Run a program, under its bare name so that messages do not depend on where it lies; what it fails with."""
    source = program.read_text()
    lines = source.splitlines(keepends=True)
    linecache.cache[program.name] = (len(source), None, lines, program.name)
    try:
        exec(compile(source, program.name, "exec", dont_inherit=True), {"__name__": program.stem})
    except CheckFailed as error:
        return "\n\n".join(map(str, error.report.findings))  # without the summary, which has the time it took
    except (CompileError, ArgumentError, LaunchError, SimError) as error:
        return str(error)
    finally:
        del linecache.cache[program.name]
    raise AssertionError(f"{program.name} compiles")


def test_every_message_has_its_program() -> None:
    assert {p.with_suffix(".py") for p in (Path(__file__).parent / "errors").glob("*.err")} == set(PROGRAMS)
