"""Mistakes in the user's code, each with a code, a title, a label and help."""

from __future__ import annotations

from typing import Any, ClassVar, dataclass_transform

from cutelite.diag.span import Span
from cutelite.tuples import NamedTuple


@dataclass_transform(frozen_default=True)
class Diagnostic:
    """A mistake: the fields are its facts, the class variables the words that report it.

        class WgmmaWidth(Diagnostic):
            title = "wgmma takes N from 8 to 256 in steps of 8"
            label = "N is {d.n}, from `{d.operand}`"
            help = "use N = {d.below} or {d.above}, or pad the tile"
            n: int
            operand: str
            ...

    title     what is wrong, in one line
    label     the text at the caret; may be empty
    help      what to do about it: one line, or a tuple of lines of help
    severity  "error", or "warning", which does not end the compilation
    code      the word to look it up by, made from the class name: `WgmmaWidth` is ``wgmma-width`` (so write `TmaBox`)

    The words are `str.format` templates over ``d``, the diagnostic itself.
    """

    title: str = ""
    label: str = ""
    help: str | tuple[str, ...] = ()
    severity: str = "error"
    code: str = "diagnostic"

    _facts: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = cls.__dict__.get("__annotations__", {})  # noqa: RUF063  # inspect takes 5 ms to import
        cls._facts = (*cls._facts, *own)
        if "code" not in cls.__dict__:
            cls.code = "".join("-" + c.lower() if c.isupper() else c for c in cls.__name__).lstrip("-")

    def __init__(self, *facts: Any, **more: Any) -> None:
        self.__dict__.update(zip(self._facts, facts, strict=False), **more)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({facts})"

    def say(self, template: str) -> str:
        """Return `template` with the facts of this mistake filled in."""
        return template.format(d=self)

    def help_lines(self) -> tuple[str, ...]:
        """Return the lines of help; each is printed after a ``help:``."""
        helps = (self.help,) if isinstance(self.help, str) else self.help
        return tuple(self.say(text) for text in helps if text)


class Mistake(Diagnostic):
    """A diagnostic that only one place in the code raises, which gives its words: they are final, not templates."""

    def __init__(
        self,
        code: str,
        title: str,
        label: str = "",
        help: str | tuple[str, ...] = (),
        *,
        severity: str = "error",
    ) -> None:
        self.code = code
        self.title = title
        self.label = label
        self.help = help
        self.severity = severity

    def say(self, template: str) -> str:
        return template


class Note(NamedTuple):
    """An addition to a diagnostic: a label under another piece of source or, without a span, a line of its own."""

    text: str
    span: Span | None = None
