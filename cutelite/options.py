"""What a kernel is compiled with. A leaf: the decorator fills it in, and every stage may ask it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BACKENDS = ("llvm", "nvvm")
ASSEMBLERS = ("auto", "ptxas", "nvjitlink", "driver")


class OptionError(ValueError):
    """An option of `@kernel` that it does not take; the message says what it does."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to compile. None: what the environment says (docs/environment.md), else the default in brackets.

    fmad           a multiply and an add may fuse into one rounding, as nvcc does by default
    assertions     compile `assert` and bounds checks [no; the simulator always has them]
    line_info      source lines in the cubin, for profilers [no]
    opt            optimisation level of LLVM and the assembler, 0 to 3 [3]
    max_registers  cap on registers per thread, 16 to 255 [no cap]
    min_blocks     blocks that must fit on one multiprocessor: another way to cap registers
    ptxas_options  more options for the assembler, as a text or one by one
    backend        'llvm', or 'nvvm' for NVIDIA's libNVVM ['llvm']
    assembler      'auto', 'ptxas', 'nvjitlink' or 'driver' ['auto': the first that is there]
    """

    fmad: bool = True
    assertions: bool | None = None
    line_info: bool | None = None
    opt: int | None = None
    max_registers: int | None = None
    min_blocks: int | None = None
    ptxas_options: tuple[str, ...] | None = None
    backend: str | None = None
    assembler: str | None = None

    def __post_init__(self) -> None:
        given = self.ptxas_options
        if given is not None:
            words = given.split() if isinstance(given, str) else given
            object.__setattr__(self, "ptxas_options", tuple(map(str, words)))
        self._check_number("opt", 0, 3)
        self._check_number("max_registers", 16, 255)
        self._check_number("min_blocks", 1, 32)
        self._check_name("backend", BACKENDS)
        self._check_name("assembler", ASSEMBLERS)
        for name in ("fmad", "assertions", "line_info"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, bool):
                raise OptionError(f"{name} is {value!r}, but must be True or False")

    def _check_number(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if value is not None and (type(value) is not int or not low <= value <= high):
            raise OptionError(f"{name} is {value!r}, but must be a whole number from {low} to {high}")

    def _check_name(self, name: str, names: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if value is not None and value not in names:
            raise OptionError(f"{name} is {value!r}, but must be one of {', '.join(names)}")

    def attrs(self, block: tuple[int, int, int], cluster: tuple[int, int, int] | None) -> dict[str, Any]:
        """The attributes of an IR function compiled so (see `ir.function`)."""
        attrs: dict[str, Any] = {"block": block, "fmad": self.fmad}
        if cluster is not None:
            attrs["cluster"] = cluster
        if self.assertions:
            attrs["assertions"] = True
        for name in ("min_blocks", "max_registers"):
            if getattr(self, name) is not None:
                attrs[name] = getattr(self, name)
        return attrs
