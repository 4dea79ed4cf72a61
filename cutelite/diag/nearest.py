"""The name that was meant by one that there is not."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "did you mean `x`?" for the nearest of the known names; "" where none is near."""
    import difflib  # 2 ms, and only a misspelling needs it

    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean `{near[0]}`?" if near else ""
