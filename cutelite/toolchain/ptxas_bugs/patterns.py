"""Regular expressions that are compiled when they are first used: most kernels have nothing to avoid."""

from __future__ import annotations

import re
from functools import cached_property


class Pattern:
    """The regular expression `text`."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.text)
