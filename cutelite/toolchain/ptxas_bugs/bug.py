"""The description of a bug: the versions that have it, and the rewrite that avoids it."""

from __future__ import annotations

import re
from collections.abc import Callable

from cutelite.tuples import NamedTuple

Version = tuple[int, ...]
"""A version of ptxas: (13, 0, 88); or (13, 0) if only the release is known, which counts as its first build."""


class Bug(NamedTuple):
    """Instructions that some versions of ptxas compute differently from the PTX ISA.

    seen     versions that show it in the reproducer (tests/toolchain/ptxas_bugs)
    fixed    the first version known to be right, None if there is none; untried versions count as wrong
    rewrite  PTX -> PTX that computes the same without those instructions
    """

    name: str
    seen: tuple[Version, ...]
    fixed: Version | None
    rewrite: Callable[[str], str]

    def is_in(self, version: Version | None) -> bool:
        """Tell whether PTX for that version of ptxas must avoid the bug; None is an unknown version."""
        return self.fixed is None or version is None or version < self.fixed


def parse_version(text: str) -> Version | None:
    """Return a version such as `13.0.88` as numbers; None if `text` is no version."""
    found = re.fullmatch(r"\d+(\.\d+)+", text)
    return tuple(map(int, text.split("."))) if found else None
