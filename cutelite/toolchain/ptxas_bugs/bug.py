"""The form of a bug: where it was seen, and the rewrite that avoids it."""

from __future__ import annotations

import re
from collections.abc import Callable

from cutelite.tuples import NamedTuple

Version = tuple[int, ...]
"""Of ptxas: (13, 0, 88); (13, 0) where only the release is known, which counts as its first build."""


class Bug(NamedTuple):
    """Instructions that some versions of ptxas compute otherwise than PTX ISA says.

    seen     versions that show it in the reproducer (tests/toolchain/ptxas_bugs)
    fixed    the first version known to be right, None if there is none; versions nobody has tried count as wrong
    rewrite  PTX -> PTX that computes the same without those instructions
    """

    name: str
    seen: tuple[Version, ...]
    fixed: Version | None
    rewrite: Callable[[str], str]

    def is_in(self, version: Version | None) -> bool:
        """Tell whether PTX for that version of ptxas has to avoid the bug; None is an unknown version."""
        return self.fixed is None or version is None or version < self.fixed


def parse_version(text: str) -> Version | None:
    """Return `13.0.88` as numbers; None for what is no version."""
    found = re.fullmatch(r"\d+(\.\d+)+", text)
    return tuple(map(int, text.split("."))) if found else None
