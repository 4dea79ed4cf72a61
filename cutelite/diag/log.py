"""Messages of the compiler, to the logger `cutelite` if the program has set it up, otherwise to stderr.

A program sets it up by giving it a level or a handler: ``logging.getLogger("cutelite").setLevel("INFO")``. Python's
`logging` is not imported here: if the program does not import it, there is no logger.
"""

from __future__ import annotations

import sys
from typing import Any

INFO, WARNING = 20, 30
"""Levels, as `logging` numbers them. INFO: what is compiled, found and cached, and how long it took."""


def heard(level: int, wanted: bool) -> bool:
    """Tell whether a message of that level is shown. `wanted`: the environment asks for messages on stderr."""
    logger = _logger()
    return wanted if logger is None else bool(logger.isEnabledFor(level))


def tell(text: str, level: int, wanted: bool) -> None:
    """Log `text`; without a logger, write it to stderr if `wanted`."""
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
