"""The options of a compile, a row for each: name, parser, default, help.

From the rows come `@kernel(...)`, `kernel.compile(...)` and `kernel.options(...)`, option strings, the flags of the
command line, the environment variables (`config.py`), docs/options.md (`python -m cutelite.options` prints it) and, as
`Options` is part of what a kernel is compiled for, the cache key. A leaf: imports only leaves.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field, fields
from typing import Any, TypedDict, TypeVar, cast

from cutelite.parsers import FLAG, TEXT, WORDS, Parser, choice, optional, whole
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

T = TypeVar("T")


class OptionError(ValueError):
    """An option that is not taken, or a value of one; the message says what is."""


class UnknownOption(OptionError, TypeError):
    """A name that is no option. Also a TypeError, as of any name that a function does not take."""


class Option(NamedTuple):
    """One row of the table.

    name     of the keyword; `flag` and `variable` are made of it
    parser   what it takes
    default  in words, as the documentation shows it
    aliases  flags of CuTe DSL and of ptxas that mean the same in option strings
    """

    name: str
    parser: Parser[Any]
    help: str
    default: str
    aliases: tuple[str, ...] = ()
    of_one: bool = False
    """The option is set for one kernel at a time, so there is no environment variable."""

    @property
    def flag(self) -> str:
        """The flag of the command line: `--max-registers`."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment variable: `CUTELITE_MAX_REGISTERS`."""
        return f"CUTELITE_{self.name.upper()}"


def _option(
    parser: Parser[T], default: T, help: str, shown: str | None = None, *aliases: str, of_one: bool = False
) -> T:
    """Return a field of `Options`; `shown` words the default where its text would not tell."""
    shown = str(default) if shown is None else shown
    row = Option("", cast("Parser[Any]", parser), help, shown, aliases, of_one)
    return field(default=default, metadata={"option": row})


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options that one kernel is compiled with. Errors: `OptionError` for a value that an option does not take."""

    fmad: bool = _option(FLAG, True, "let a multiply and an add fuse into one rounding, as nvcc does by default")
    assertions: bool = _option(
        FLAG, False, "compile `assert` and bounds checks on the GPU; the simulator always has them",
        None, "--enable-assertions",
    )  # fmt: skip
    line_info: bool = _option(
        FLAG, False, "put source lines into the cubin, for profilers and `compute-sanitizer`",
        None, "--generate-line-info",
    )  # fmt: skip
    debug: bool = _option(
        FLAG, False, "put lines and variables into the cubin for cuda-gdb, and optimise nothing (docs/cuda-gdb.md)",
        None, "--device-debug",
    )  # fmt: skip
    opt: int = _option(whole(0, 3), 3, "optimisation level of LLVM and of the assembler", None, "--opt-level")
    max_registers: int | None = _option(
        optional(whole(16, 255)), None, "cap on registers per thread", "no cap", "--maxrregcount"
    )
    min_blocks: int | None = _option(
        optional(whole(1, 32)), None, "blocks that must fit on one multiprocessor: another cap on registers", "no cap"
    )
    ptxas_options: tuple[str, ...] = _option(
        WORDS, (), "more options for ptxas, such as `--warn-on-spills`", "no options"
    )
    link_libraries: tuple[str, ...] = _option(
        WORDS, (), "files to link: LLVM bitcode, PTX, cubins, fatbins, objects, archives (see `cl.extern`)", "no files"
    )
    backend: str = _option(
        choice("llvm", "nvvm"), "llvm",
        "the tool that turns LLVM IR into PTX: LLVM's own NVPTX backend, or NVIDIA's libNVVM",
    )  # fmt: skip
    assembler: str = _option(
        choice("auto", "ptxas", "nvjitlink", "driver"), "auto",
        "the tool that turns PTX into a cubin; `auto` takes the first of the three that it finds",
    )  # fmt: skip
    passes: str | None = _option(
        optional(TEXT), None,
        "passes to run on the IR: `fold, cse, ...`, or changes to the default ones: `+mine>cse, -join_accesses`",
        "`cutelite.passes.PIPELINE`", of_one=True,
    )  # fmt: skip
    warnings_as_errors: bool = _option(
        FLAG, False, "refuse a kernel if passes or the assembler warn, such as of spilled registers"
    )  # fmt: skip
    profile: bool = _option(
        FLAG, False, "record the events of `cl.profile`; `kernel.profile(...)` sets it for a launch: docs/profiling.md",
        of_one=True,
    )  # fmt: skip
    record: bool = _option(
        FLAG, False, "keep the values of all ops, for `kernel.compare_with_gpu(..., by=\"line\")` (docs/debugging.md)",
        of_one=True,
    )  # fmt: skip
    name: str | None = _option(
        optional(TEXT), None,
        "name of the kernel in profilers and in the cubin, `{BM}` being the value of the Constexpr `BM`",
        "the function's name", of_one=True,
    )  # fmt: skip

    def __post_init__(self) -> None:
        for row in OPTIONS:
            value = getattr(self, row.name)
            if value is not None:
                object.__setattr__(self, row.name, _checked(row, value))
        if self.debug and self.backend != "llvm":
            raise OptionError(f"debug=True takes backend='llvm', not {self.backend!r}, which describes no variables")

    def given(self) -> dict[str, Any]:
        """Return every option by name, as a kernel is given them."""
        return {row.name: getattr(self, row.name) for row in OPTIONS}

    def attrs(self, block: tuple[int, int, int], cluster: tuple[int, int, int] | None) -> dict[str, Any]:
        """Return the attributes of an IR function that is compiled so (see `ir.function`)."""
        attrs: dict[str, Any] = {"block": block, "fmad": self.fmad}
        if cluster is not None:
            attrs["cluster"] = cluster
        if self.assertions:
            attrs["assertions"] = True
        if self.debug:
            attrs["debug"] = True
        if self.profile:
            attrs["profile"] = True
        if self.record:
            attrs["record"] = True
        for name in ("min_blocks", "max_registers", "name"):
            if getattr(self, name) is not None:
                attrs[name] = getattr(self, name)
        return attrs


class Given(TypedDict, total=False):
    """Options as keywords. None leaves one to the environment."""

    fmad: bool | None
    assertions: bool | None
    line_info: bool | None
    debug: bool | None
    opt: int | None
    max_registers: int | None
    min_blocks: int | None
    ptxas_options: str | tuple[str, ...] | None
    link_libraries: str | os.PathLike[str] | tuple[str, ...] | tuple[str | os.PathLike[str], ...] | None
    backend: str | None
    assembler: str | None
    passes: str | None
    warnings_as_errors: bool | None
    profile: bool | None
    record: bool | None
    name: str | None


OPTIONS: tuple[Option, ...] = tuple(entry.metadata["option"]._replace(name=entry.name) for entry in fields(Options))
"""The table, in the order the documentation shows it."""

NAMES = frozenset(row.name for row in OPTIONS)


def checked(given: Mapping[str, Any], who: str = "@kernel") -> dict[str, Any]:
    """Return the options that `who` is given, each as `Options` holds it, without those that are None.

    Errors   `OptionError` for a name that is none, which is a TypeError too, and for a value that one does not take
    """
    for name in given:
        if name not in NAMES:
            names = ["block", "cluster", *(["arch"] if who == "@kernel" else []), *(row.name for row in OPTIONS)]
            raise UnknownOption(f"{who} has no option {name!r}; it has {', '.join(names)}")
    said = ((row, given[row.name]) for row in OPTIONS if given.get(row.name) is not None)
    return {row.name: _checked(row, value) for row, value in said}


def parsed(text: str) -> dict[str, Any]:
    """Return the options of a text such as ``"--opt-level=3 --ptxas-options='-v --warn-on-spills'"``.

    A flag alone switches on; a value may also be the next word. Names are those of `@kernel`, or CuTe DSL's.
    Errors   `OptionError`
    """
    if not text:
        return {}
    import shlex  # 0.2 ms, which only who ports needs

    if not isinstance(text, str):
        raise OptionError(f"options are a text, such as '--opt-level=3', not {text!r}")
    rows = {flag: row for row in OPTIONS for flag in (row.flag, *row.aliases)}
    try:
        words = shlex.split(text)
    except ValueError as error:  # a quotation without an end
        raise OptionError(f"options={text!r}: {str(error).lower()}") from None
    found: dict[str, Any] = {}
    while words:
        flag, equals, value = words.pop(0).partition("=")
        row = rows.get(flag.replace("_", "-"))
        if row is None:
            import difflib  # 2 ms, and only a misspelling needs it

            if (instead := _INSTEAD.get(flag.lstrip("-"))) is not None:
                raise OptionError(f"{flag} is no option of a kernel here: {instead}")
            close = difflib.get_close_matches(flag, rows, 1)
            meant = f"; did you mean {close[0]}?" if close else ""
            raise OptionError(f"{flag} is none of the options {', '.join(rows)}{meant}")
        if not equals:
            follows = bool(words) and words[0].partition("=")[0] not in rows
            if row.parser is not FLAG and not follows:
                raise OptionError(f"{flag} needs a value: {row.parser.accepts}")
            value = words.pop(0) if follows else "1"
        found[row.name] = parse(row, value, flag)
    return found


_INSTEAD = {
    "keep-ptx": "`compiled.ptx` has it, and CUTELITE_DUMP=ptx writes it",
    "keep-cubin": "`compiled.cubin` has it, and CUTELITE_DUMP=cubin writes it",
    "keep-sass": "`compiled.sass` has it, and CUTELITE_DUMP=sass writes it",
    "dump-dir": "CUTELITE_DUMP_DIR is where CUTELITE_DUMP writes",
    "gpu-arch": "`arch=` of `compile` or `@kernel`, or CUTELITE_ARCH",
    "enable-tvm-ffi": "`cutelite.interop.tvm_ffi` makes functions of kernels",
}
"""What CuTe DSL's other options are here."""


def parse(row: Option, text: str, said_as: str) -> Any:
    """Return the value that `text` is for that option. Errors: `OptionError`, which names the option as `said_as`."""
    try:
        return row.parser.parse(text)
    except (ValueError, KeyError):
        raise OptionError(f"{said_as}={text}: takes {row.parser.accepts}") from None


def _checked(row: Option, value: Any) -> Any:
    try:
        return row.parser.check(value)
    except (ValueError, TypeError):
        raise OptionError(f"{row.name} is {value!r}, but must be {row.parser.values}") from None


_PAGE = """\
# Options

Set an option in code for a kernel (`@cl.kernel(opt=2)`), for a derived kernel (`kernel.options(opt=2)`) or for one
compile (`kernel.compile(opt=2)`, `kernel.export(path, opt=2)`), on the command line (`cutelite compile --opt 2 FILE`),
or in the environment for all kernels (`CUTELITE_OPT=2`). Settings in code win over the environment, and those of a
compile over those of a kernel. For code from CuTe DSL, options can also be given as text:
`kernel.options("--opt-level=2 --generate-line-info")`, `kernel.compile(options="...")`. Options are part of a kernel's
key in the disk cache. If a parameter of a kernel has the name of an option, the name means the parameter in `compile`
and `export`; in `kernel.options(...)` it means the option.

This page is printed by `python -m cutelite.options`.

| option | takes | default | meaning | flags | variable |
|---|---|---|---|---|---|
"""


def markdown() -> str:
    """Return docs/options.md: the table for people."""
    lines = []
    for row in OPTIONS:
        default = row.default if " " in row.default else f"`{row.default}`"
        flags = ", ".join(f"`{flag}`" for flag in (row.flag, *row.aliases))
        variable = "" if row.of_one else f"`{row.variable}`"
        lines.append(f"| `{row.name}` | {row.parser.values} | {default} | {row.help} | {flags} | {variable} |\n")
    return _PAGE + "".join(lines)


if __name__ == "__main__":
    print(markdown(), end="")
