"""The one exception of this room. It names the environment variables that may have caused it."""

from __future__ import annotations

import re

from cutelite import config


class ToolchainError(Exception):
    """A tool refused its input, or no tool was found.

    stage    the tool that refused: `llvm`, `nvvm`, `ptxas`, `nvjitlink`, `driver`, `link`; `find` when nothing was
             found, `run` when it does not run
    message  the tool's own words
    excerpt  the lines of its input that it complained about, numbered and marked; may be empty
    """

    def __init__(self, stage: str, message: str, excerpt: str = "") -> None:
        super().__init__(stage, message, excerpt)
        self.stage = stage
        self.message = message
        self.excerpt = excerpt
        self.settings = config.settings(*_SETTINGS.get(stage, ()))

    def __str__(self) -> str:
        lines = f"{self.stage}: {self.message.strip()}", self.excerpt, self.settings and f"set: {self.settings}"
        return "\n".join(filter(None, lines))


_SETTINGS = {
    "find": ("CUTELITE_BACKEND", "CUTELITE_ASSEMBLER", "CUDA_HOME", "CUDA_PATH"),
    "run": ("CUTELITE_PTXAS", "CUTELITE_PTXAS_OPTIONS"),
    "ptxas": ("CUTELITE_PTXAS", "CUTELITE_PTXAS_OPTIONS"),
    "nvjitlink": ("CUTELITE_PTXAS_OPTIONS",),
    "link": ("CUTELITE_LINK_LIBRARIES",),
}
"""The variables that a stage depends on."""


SHOWN, AROUND = 3, 2  # lines that are named, and lines on either side of each


def excerpt(text: str, complaint: str, pattern: str) -> str:
    """Return the first lines of `text` that `complaint` names, each with some lines around it.

    `pattern` has one group, which matches a line number (from 1) in the complaint.
    """
    lines = text.splitlines()
    wanted = list(dict.fromkeys(int(number) for number in re.findall(pattern, complaint)))[:SHOWN]
    shown = sorted({near for line in wanted for near in range(line - AROUND, line + AROUND + 1)})
    return "\n".join(
        f"{'>' if number in wanted else ' '}{number:5d} | {lines[number - 1]}"
        for number in shown
        if 1 <= number <= len(lines)
    )
