"""The known name that a misspelled one probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "did you mean `x`?" for the known name most similar to `name`; "" if none is similar."""
    import difflib  # imported here: it takes 2 ms, and only a misspelling needs it

    alike = 0.66 if len(name) <= 3 else 0.7  # one letter of three may differ
    near = difflib.get_close_matches(name, list(known), 1, alike)
    return f"did you mean `{near[0]}`?" if near else ""
