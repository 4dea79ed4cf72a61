"""Decorators for what users call: tracebacks of their mistakes end at their own line."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import cutelite_rt as rt
from cutelite import config
from cutelite.diag import CompileError
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.launch import LaunchError
from cutelite.options import OptionError
from cutelite.target import UnknownTarget
from cutelite_rt import callers
from cutelite_rt.errors import named

F = TypeVar("F", bound=Callable[..., Any])

_LATE = (
    ("cutelite.sim.error", "SimError"),
    ("cutelite.sim.checker.findings", "CheckFailed"),
    ("cutelite.sim.checker.run", "SettingError"),
    ("cutelite.toolchain.errors", "ToolchainError"),
    ("cutelite.dispatch.compiling", "CompileForbidden"),
    ("cutelite.builds.hooks", "HookError"),
)
"""Mistakes whose modules may not be loaded, or import this one."""


def is_mistake(error: Exception) -> bool:
    """Tell whether an error is the user's mistake, whose traceback needs no frames of ours."""
    if isinstance(error, config.ConfigError | UnknownTarget):  # the environment may not be readable then
        return True
    mistakes = [CompileError, ArgumentError, LaunchError, OptionError, rt.CudaError]
    for module, name in _LATE:
        mistakes += [getattr(sys.modules[module], name)] if module in sys.modules else []
    return isinstance(error, tuple(mistakes)) and config.read().traceback != "full"


without_our_frames = callers.without_frames(is_mistake)
"""Decorator: the tracebacks of the user's mistakes end at the caller, without frames of compiler and simulator."""

around_users_code = callers.without_frames(is_mistake, callers.shorten)
"""Decorator for functions that call the user's: as `without_our_frames`, unless a traceback goes through that code."""


def shorten(error: Exception) -> None:
    """Let the traceback of an error end at the caller's caller, unless it goes through code that is not ours."""
    if config.read().traceback != "full":
        callers.shorten(error)


def named_by_kernel(function: F) -> F:
    """Decorator for methods of a kernel: as `without_our_frames`, and put the kernel's name into a `LaunchError`."""

    @functools.wraps(function)
    def call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return named(self.__name__, function, self, *args, **kwargs)

    return without_our_frames(call)  # type: ignore[return-value]
