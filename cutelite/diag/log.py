"""Messages of the compiler: to the logger `cutelite` where the program has set it up, else to stderr.

A program sets it up by a level or a handler of its own: ``logging.getLogger("cutelite").setLevel("INFO")``. Python's
`logging` is not loaded for it: a program without it has no logger.
"""

from __future__ import annotations

import sys
from typing import Any

INFO, WARNING = 20, 30
"""As `logging` has them: what is compiled, found and cached, and how long it took; and warnings of a compile."""


def heard(level: int, wanted: bool) -> bool:
    """Tell whether a message of that level goes anywhere; `wanted`: the environment asks for it on stderr."""
    logger = _logger()
    return wanted if logger is None else bool(logger.isEnabledFor(level))


def tell(text: str, level: int, wanted: bool) -> None:
    """Log `text`, or where there is no logger and it is `wanted`, write it to stderr."""
    logger = _logger()
    if logger is not None:
        logger.log(level, "%s", text)
    elif wanted:
        sys.stderr.write(f"cutelite: {text}\n" if level == INFO else f"{text}\n")


def _logger() -> Any | None:
    logging = sys.modules.get("logging")
    if logging is None:
        return None
    logger = logging.getLogger("cutelite")
    return logger if logger.handlers or logger.level else None
