"""Paths of source files: in PTX and in what is made of it, where ptxas takes ASCII alone and no quotes; and the
current folder."""

from __future__ import annotations

import os
import re

_NOT_TAKEN, _CODED, _HOW = r"[^ !#$&-~]", r"(?:%[0-9A-F]{2})+", "surrogateescape"


def coded(path: str) -> str:
    """Return a path as PTX can hold it: other characters as octets, `é` as `%C3%A9`, and so `%` itself."""
    return re.sub(_NOT_TAKEN, lambda found: "".join(f"%{octet:02X}" for octet in found[0].encode(errors=_HOW)), path)


def decoded(name: str) -> str:
    """Return the path that `coded` made this of."""
    return re.sub(_CODED, lambda found: bytes.fromhex(found[0].replace("%", "")).decode(errors=_HOW), name)


def current_folder() -> str:
    """Return the current folder; '' if it has been removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""
