"""Failures of a stage, turned into an error for the user or a report of a bug."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from cutelite.builds.build import Build
from cutelite.builds.findings import first_of
from cutelite.builds.source import Source
from cutelite.config import ConfigError
from cutelite.diag import CompileError, InternalError, Mistake, Note, Span
from cutelite.ir.function import Function
from cutelite.ops.parameters import kinds
from cutelite.options import OptionError
from cutelite.toolchain import ToolchainError
from cutelite_rt.gpu.params import ParameterLayout

MOST_PARAMETER_BYTES = 32_764  # PTX ISA, kernel function parameters: from 8.1 on, for sm_70 and later


@contextmanager
def stage(name: str, times: dict[str, float], build: Build | None = None) -> Iterator[None]:
    """Time a stage. An unexpected exception becomes an `InternalError` that names the stage."""
    start = perf_counter()
    try:
        yield
    except (CompileError, ConfigError, OptionError):
        raise
    except InternalError as error:
        error.blame = error.blame or _hooks_blame(build)
        raise
    except ToolchainError as error:
        refused = _refused(error, build)  # a mistake of the user's says all that the tool said
        raise refused from error if isinstance(refused, InternalError) else None
    except Exception as error:
        raise InternalError(f"{type(error).__name__}: {error}", stage=name, blame=_hooks_blame(build)) from error
    times[name] = perf_counter() - start


def _hooks_blame(build: Build | None) -> str:
    return f"The hook {build.changed}." if build is not None and build.changed else ""


def check_parameters(front: Function, source: Source) -> None:
    """Check that the parameters of a kernel, whose IR is `front`, have room. Errors: `CompileError`."""
    size = ParameterLayout(kinds(front)).size
    if size > MOST_PARAMETER_BYTES:
        text = f"the kernel's parameters have {size} bytes, and there is room for {MOST_PARAMETER_BYTES}"
        mistake = Mistake("parameters", text, help="pass them in an array")
        raise CompileError(mistake, Span.of_code(source.function.__code__))


def warned(build: Build) -> CompileError:
    """Return the error that reports a kernel's warnings, for when warnings are treated as errors."""
    count = len(build.warnings)
    said = f"{count} warning{'s' if count > 1 else ''}"
    mistake = Mistake(
        "warnings",
        f"`{build.front.name}` compiles with {said}, and warnings_as_errors is set",
        help="fix the causes of the warnings below, or leave warnings_as_errors out",
    )
    return CompileError(mistake, Span.of_code(build.source.function.__code__), [Note(text) for text in build.warnings])


def _refused(error: ToolchainError, build: Build | None) -> Exception:
    """Return the error for input that a tool refused: a bug in cutelite, unless the user wrote a part of the input."""
    if error.stage in ("find", "run") or build is None or build.final is None:
        return error
    calls = [op for op in build.final.ops() if op.name == "call"]
    if of := [op for op in calls if re.search(rf"[`']{op['function']}['`]", error.message)]:
        name, unknown = of[0]["function"], re.search(r"(?i)unresolved|undefined", error.message)
        text = f"no library defines `{name}`" if unknown else f"`{name}` cannot be linked"
        help = "which of `cl.extern` and `link_libraries` is missing?" if unknown else ""
        others = [Note("and here", span) for span in dict.fromkeys(op.span for op in of) if span and span != of[0].span]
        said = Note(f"{error.message.strip()}\n{error.excerpt}".rstrip())
        return CompileError(Mistake("link", text, help=help), of[0].span, [*others, said])
    if error.stage == "link":
        return error
    if build.changed:
        return ToolchainError(error.stage, f"{error.message.strip()}\nthe hook {build.changed}", error.excerpt)
    few = re.search(r"Insufficient registers \((\d+)\).* target of (\d+) or higher", error.message)
    if few:
        text = f"the kernel may use {few[1]} registers per thread, and ptxas needs {few[2]} for one of its instructions"
        help = "take smaller tiles, or allow more: `max_registers=`, `min_blocks=`, smaller blocks"
        return CompileError(Mistake("registers", text, help=help), first_of(build.final, "wgmma"))
    if calls:
        return ToolchainError("link", error.message, error.excerpt)
    options = build.options.ptxas_options
    if options and not re.search(r"^ptxas (application ptx input, )?line \d+", error.message, re.M):  # not of the PTX
        return ToolchainError(error.stage, f"{error.message.strip()}\nthe options given are: {' '.join(options)}")
    own = [op.span for op in build.final.ops() if op.name == "asm" and op.span is not None]
    if not own:
        return InternalError(error.message.strip(), stage=error.stage, ir=error.excerpt)
    mistake = Mistake(
        "inline-ptx",
        f"{error.stage} refuses the PTX of this kernel",
        "here is PTX of your own",
        "if the lines above are not your own PTX, this is a bug in cutelite: please report it",
    )
    others = [Note("and here", span) for span in dict.fromkeys(own[1:]) if span != own[0]]
    return CompileError(mistake, own[0], [*others, Note(f"{error.message.strip()}\n{error.excerpt}".rstrip())])
