"""The one exception of this room."""

from __future__ import annotations

import re


class ToolchainError(Exception):
    """A tool refused its input, or no tool was found.

    stage    the tool that refused: `llvm`, `nvvm`, `ptxas`, `nvjitlink`, `driver`; `find` when nothing was found,
             `run` when it does not run
    message  the tool's own words
    excerpt  the lines of its input that it complained about, numbered and marked; may be empty
    """

    def __init__(self, stage: str, message: str, excerpt: str = "") -> None:
        super().__init__(stage, message, excerpt)
        self.stage = stage
        self.message = message
        self.excerpt = excerpt

    def __str__(self) -> str:
        text = f"{self.stage}: {self.message.strip()}"
        return f"{text}\n{self.excerpt}" if self.excerpt else text


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
