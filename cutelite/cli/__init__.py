"""The command line: `cutelite demo | compile | check | explore | export | layout | doctor | cache ...`.

parser   every command with its flags             kernels  kernels and values that a command line names
compile  check  explore  layout  doctor  demo     commands; `export` is in compile, `cache` in doctor
report   REPORT.json                              errors   errors of the command line

A command's module is loaded when the command is run.
"""

from __future__ import annotations

import importlib
import os
import sys

from cutelite import config
from cutelite.cli.errors import UsageError
from cutelite.cli.parser import parser
from cutelite.diag import CompileError, InternalError
from cutelite.dispatch import ArgumentError, CompileForbidden, LaunchError, OptionError
from cutelite.layout import LayoutError
from cutelite.target import UnknownTarget
from cutelite.toolchain import ToolchainError
from cutelite_rt import CudaError

FORESEEN = (
    ArgumentError,
    CompileForbidden,
    CudaError,
    LaunchError,
    LayoutError,
    OptionError,
    ToolchainError,
    UnknownTarget,
    UsageError,
    config.ConfigError,
)
"""Errors whose texts are enough for the user, without a traceback."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command. Return its status: 0; 1 if it failed and said why; 2 for wrong arguments; 141 if nobody reads."""
    given = parser().parse_args(arguments)
    try:
        module, _, function = given.run.partition(":")
        status: int = getattr(importlib.import_module(f"{__name__}.{module}"), function)(given)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141  # 128 + SIGPIPE, as of other programs: `pipefail` must not take a check for passed
    except OSError as error:  # a file that cannot be written
        if error.filename is None:
            raise
        print(f"cutelite: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except CompileError as error:
        print(error.render(color=config.read().use_color(sys.stderr.isatty())), file=sys.stderr)
        return 1
    except InternalError as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        if not isinstance(error, FORESEEN):
            raise
        text = f"cutelite: {error}"
        if isinstance(error, ArgumentError) and "compile(" in text:
            text += "; here: --set NAME=VALUE"
        elif isinstance(error, LaunchError) and "no block is given" in text:
            text += "; here: --block"
        elif isinstance(error, LayoutError) and "give the dims values" in text:
            text += "; here: --set NAME=VALUE"
        print(text, file=sys.stderr)
        return 1
    return status
