"""The environment variables that cutelite reads: name, type, default and meaning, in one table. Read only here.

In: the environment, at the moment `read` is called. Out: a frozen `Config`. `python -m cutelite.config` prints the
table as docs/environment.md shows it. A leaf: imports `options`, `parsers`, the
names of targets, and what warns at the user's line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, fields
from typing import Any, TypeVar, cast

from cutelite.options import NAMES, OPTIONS, Options
from cutelite.parsers import FLAG, PATH, Parser, any_of, choice, optional, whole
from cutelite.records import dataclass
from cutelite.target.targets import TARGETS, Target
from cutelite.tuples import NamedTuple
from cutelite_rt import callers

T = TypeVar("T")

_ARCHS = f"one of {', '.join(TARGETS)}; or an alias such as 90a, 9.0a, hopper"
_ARCH: Parser[str] = Parser(_ARCHS, lambda text: Target.parse(text).arch, lambda name: Target.parse(name).arch, _ARCHS)

STAGES = ("bytecode", "cfg", "cir", "ll", "ptx", "cubin", "sass")
"""What `CUTELITE_DUMP` can write, by the file extension of the artefact."""


class ConfigError(ValueError):
    """An environment variable holds what it cannot mean, or a folder that cannot be written; the message says which."""


@contextmanager
def writing(variable: str, folder: str) -> Iterator[None]:
    """Make the folder that a variable names, for files written in the `with`. Errors: `ConfigError` if it cannot be."""
    try:
        os.makedirs(folder, exist_ok=True)
        yield
    except OSError as error:
        why = f"{error.strerror}: {error.filename}" if error.filename else str(error)
        raise ConfigError(f"{variable}={folder}: this folder cannot be made or written to ({why})") from None


class Variable(NamedTuple):
    """One row of the table."""

    name: str
    parser: Parser[Any]
    help: str
    default: str
    """The default in words, as the documentation shows it."""
    attribute: str = ""
    """The field of `Config` it fills."""


def _variable(name: str, parser: Parser[T], default: T, help: str, shown: str | None = None) -> T:
    """Return a field of `Config` filled from `name`; `shown` words the default where its text would not tell."""
    if shown is None:
        shown = "" if default is None else str(int(default)) if isinstance(default, bool) else str(default)
    row = Variable(name, cast("Parser[Any]", parser), help, shown)
    return field(default=default, metadata={"variable": row})


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of the environment. Arguments given in code (`@kernel(...)`, `compile(...)`) go before them."""

    arch: str | None = _variable(
        "CUTELITE_ARCH", optional(_ARCH), None, "architecture to compile for", "the GPU's own, or `sm_90a` without one"
    )  # fmt: skip
    options: Options = Options()
    """What kernels are compiled with where code does not say (docs/options.md)."""
    ptxas: str | None = _variable(
        "CUTELITE_PTXAS", optional(PATH), None,
        "the ptxas to run", "the first found: NVIDIA's wheels, `CUDA_HOME`, `PATH`",
    )  # fmt: skip
    cuda_home: str | None = _variable(
        "CUDA_HOME", optional(PATH), None, "a CUDA toolkit in which to look for tools", "what `CUDA_PATH` says"
    )
    cuda_path: str | None = _variable("CUDA_PATH", optional(PATH), None, "the same; `CUDA_HOME` goes first", "not set")

    cache: bool = _variable("CUTELITE_CACHE", FLAG, True, "keep compiled kernels on disk")
    cache_dir: str | None = _variable(
        "CUTELITE_CACHE_DIR", optional(PATH), None, "where to keep them", "the user's cache directory"
    )
    cache_max_mb: int = _variable(
        "CUTELITE_CACHE_MAX_MB", whole(1), 1024, "size of the cache in MB; beyond it the entries unused longest go"
    )

    compile: str = _variable(
        "CUTELITE_COMPILE", choice("1", "warn", "error"), "1",
        "compile kernels that are neither in memory nor on disk; warn: and warn of each; error: raise "
        "`CompileForbidden` instead, for production",
    )  # fmt: skip

    autotune: str = _variable(
        "CUTELITE_AUTOTUNE", choice("1", "0", "cached", "again"), "1",
        "tune what is not known yet; 0: use first configs; cached: use winners on disk, else first configs; "
        "again: tune once more, and keep the new winners",
    )  # fmt: skip
    autotune_report: bool = _variable(
        "CUTELITE_AUTOTUNE_REPORT", FLAG, False, "print what came of each tuning, config by config, to stderr"
    )
    autotune_jobs: int | None = _variable(
        "CUTELITE_AUTOTUNE_JOBS", optional(whole(1)), None,
        "kernels that are compiled at the same time when tuning", "the CPUs of the process",
    )  # fmt: skip

    simulate: bool = _variable("CUTELITE_SIM", FLAG, False, "run every launch on the simulator, GPU or none")
    sim_seed: int = _variable(
        "CUTELITE_SIM_SEED", whole(0), 0, "the simulator's schedule: another seed, another order of threads and copies"
    )
    check: int = _variable(
        "CUTELITE_CHECK", whole(0), 0,
        "check every simulated launch for races and missing fences, under this many schedules: docs/checking.md",
    )  # fmt: skip
    sync: bool = _variable(
        "CUTELITE_SYNC", FLAG, False, "wait for every launch, so that a CUDA error names the launch that caused it"
    )

    dry_run: bool = _variable(
        "CUTELITE_DRYRUN", FLAG, False, "compile what launches need and check their arguments, but launch nothing"
    )
    nvtx: bool = _variable(
        "CUTELITE_NVTX", FLAG, False, "put every launch into an NVTX range, by the package `nvtx` or by torch"
    )
    profile_dir: str | None = _variable(
        "CUTELITE_PROFILE", optional(PATH), None,
        "profile every launch, and write its events to files of this folder, for Perfetto: docs/profiling.md",
        "no profiles",
    )  # fmt: skip
    dump: tuple[str, ...] = _variable(
        "CUTELITE_DUMP", any_of(*STAGES), (), "stages to write to files for each kernel compiled", "no stage"
    )
    print: tuple[str, ...] = _variable(
        "CUTELITE_PRINT", any_of(*STAGES), (), "stages to print to stderr for each kernel compiled", "no stage"
    )
    dump_dir: str = _variable("CUTELITE_DUMP_DIR", PATH, "cutelite-dump", "where to write them")
    times: bool = _variable("CUTELITE_TIMES", FLAG, False, "print the time of each stage after a compile, to stderr")
    verbose: bool = _variable(
        "CUTELITE_VERBOSE", FLAG, False, "say what is compiled, found and cached as it happens, to stderr"
    )
    traceback: str = _variable(
        "CUTELITE_TRACEBACK", choice("short", "full"), "short",
        "what Python shows above a mistake in a kernel: the user's lines, or those of the compiler too",
    )  # fmt: skip
    color: str = _variable(
        "CUTELITE_COLOR", choice("auto", "always", "never"), "auto", "colour in messages; `auto` asks the terminal"
    )
    no_color: bool = _variable(
        "NO_COLOR",
        Parser("anything", bool, bool, "anything"),
        False,
        "any value means `CUTELITE_COLOR=never`, unless that is set",
        "unset",
    )

    @property
    def toolkit(self) -> str | None:
        """The CUDA toolkit the environment points at, if it points at one."""
        return self.cuda_home or self.cuda_path

    def use_color(self, terminal: bool) -> bool:
        """Tell whether a message has colour; `terminal` tells whether it goes to a terminal."""
        if self.color == "auto":
            return terminal and not self.no_color
        return self.color == "always"


def _shown(default: str) -> str:
    return {"True": "1", "False": "0"}.get(default, default)


def _rows() -> Iterator[Variable]:
    for entry in fields(Config):
        if entry.name == "options":
            common = (row for row in OPTIONS if not row.of_one)
            yield from (Variable(row.variable, row.parser, row.help, _shown(row.default), row.name) for row in common)
        else:
            yield cast(Variable, entry.metadata["variable"])._replace(attribute=entry.name)


VARIABLES: tuple[Variable, ...] = tuple(_rows())
"""The table, in the order the documentation shows it."""


def settings(*names: str) -> str:
    """Return those of the variables that are set, as a shell sets them."""
    return " ".join(f"{name}={value}" for name in names if (value := os.environ.get(name, "").strip()))


def of_programs(more: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the environment for programs: this process's own, plus the variables of `more` that it does not set."""
    return {**more, **os.environ} if more else os.environ


def is_environment(x: object) -> bool:
    """Tell whether `x` is the environment itself, which a kernel's helpers may ask for variables of their own."""
    return x is os.environ


def held_in_environment(names: Iterable[str]) -> tuple[dict[Any, Any], set[Any]]:
    """Return the dict in which Python keeps the environment, and the keys there of all variables and of `names`.

    A variable that is set anew holds another object, which is how it is watched. ({}, set()) without such a dict.
    """
    kept: dict[Any, Any] = getattr(os.environ, "_data", {})
    keys = (name.upper() if os.name == "nt" else os.fsencode(name) for name in names if "\0" not in name)
    return kept, {*kept, *keys} if kept else set()


def read(environment: Mapping[str, str] | None = None) -> Config:
    """Read the environment (`os.environ` unless given) as it is now. A variable set to nothing is not set.

    Errors   `ConfigError` for a value that a variable does not take
    Warns    once of each `CUTELITE_` name that is not in the table, since a misspelt one does nothing
    """
    if environment is None:
        environment = os.environ
    values: dict[str, object] = {}
    for row in VARIABLES:
        text = environment.get(row.name, "").strip()
        if not text:
            continue
        try:
            values[row.attribute] = row.parser.parse(text)
        except (ValueError, KeyError):
            raise ConfigError(f"{row.name}={text}: takes {row.parser.accepts}") from None
    for name in unknown(environment):
        if name not in _warned_of:
            _warned_of.add(name)
            callers.warn(f"{name} is set, but cutelite has no such variable{_nearest(name)}", UserWarning)
    said = {name: values.pop(name) for name in NAMES & values.keys()}
    return Config(options=Options(**said), **values)  # type: ignore[arg-type]  # each parser returns its field's type


_warned_of: set[str] = set()


def unknown(environment: Mapping[str, str]) -> list[str]:
    """Return the names that begin with `CUTELITE_`, or nearly, and are not in the table."""
    known = {row.name for row in VARIABLES}
    return sorted(name for name in environment if name.startswith(_MEANT) and name not in known)


_MEANT = ("CUTELITE_", "CUTLITE_", "CUTELIGHT_", "CUTELIT_", "CUTE_LITE_")


def _nearest(name: str) -> str:
    import difflib  # 2 ms, and only a misspelling needs it

    close = difflib.get_close_matches(name.upper(), [row.name for row in VARIABLES], 1)
    return f"; did you mean {close[0]}?" if close else ""


def markdown() -> str:
    """Return docs/environment.md: the table for people."""
    lines = [
        "# Environment variables",
        "",
        "Read when a kernel is compiled, or launched for the first time. What is given in code (an option of",
        "`@cutelite.kernel`, an argument of `compile`) goes before the environment. A variable set to nothing",
        "counts as not set; a value that makes no sense is an error that says what is taken.",
        "This page is printed by `python -m cutelite.config`.",
        "",
        "| variable | takes | default | meaning |",
        "|---|---|---|---|",
    ]
    for row in VARIABLES:
        default = row.default if not row.default or " " in row.default or "`" in row.default else f"`{row.default}`"
        lines.append(f"| `{row.name}` | {row.parser.accepts} | {default} | {row.help} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
