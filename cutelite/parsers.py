"""Texts and values that options, environment variables and the command line take. A leaf: imports nothing of ours."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from cutelite.tuples import NamedTuple

T = TypeVar("T")


class Parser(NamedTuple, Generic[T]):
    """One kind of value, as text and as Python's.

    accepts  the texts it takes, in words
    parse    text -> value; ValueError or KeyError for another text
    check    Python's value -> the same, normalised; ValueError for one that it does not take
    values   the values it takes, in words
    """

    accepts: str
    parse: Callable[[str], T]
    check: Callable[[Any], T]
    values: str


def choice(*names: str) -> Parser[str]:
    """Return a parser of one of `names`; texts may be in capitals."""

    def check(value: Any) -> str:
        if value not in names:
            raise ValueError(value)
        return cast(str, value)

    words = ", ".join(names[:-1]) + " or " + names[-1]
    return Parser(words, lambda text: check(text.lower()), check, f"one of {', '.join(names)}")


def whole(low: int, high: int | None = None) -> Parser[int]:
    """Return a parser of whole numbers from `low` to `high`, both included."""

    def check(value: Any) -> int:
        if type(value) is not int or value < low or (high is not None and value > high):
            raise ValueError(value)
        return value

    words = f"a whole number from {low} to {high}" if high is not None else f"a whole number of at least {low}"
    return Parser(words, lambda text: check(int(text)), check, words)


def optional(parser: Parser[T]) -> Parser[T | None]:
    """Return `parser` for a field that is None where nothing is said; it takes no None itself."""
    return cast("Parser[T | None]", parser)


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(value)
    return value


def _flag(text: str) -> bool:
    return {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}[
        text.lower()
    ]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(_text(os.fspath(each)) for each in ((value,) if isinstance(value, os.PathLike) else value))


FLAG: Parser[bool] = Parser("1 or 0 (or true/false, yes/no, on/off)", _flag, _bool, "True or False")
PATH: Parser[str] = Parser("a path", os.path.expanduser, os.fspath, "a path")
TEXT: Parser[str] = Parser("text", str, _text, "text")
WORDS: Parser[tuple[str, ...]] = Parser("words separated by spaces", _words, _words, "a text, or words one by one")


def any_of(*names: str) -> Parser[tuple[str, ...]]:
    """Return a parser of several of `names`, separated by commas; 'all' is all of them."""

    def parse(text: str) -> tuple[str, ...]:
        return check(tuple(name.strip().lower() for name in text.split(",")))

    def check(value: Any) -> tuple[str, ...]:
        if tuple(value) == ("all",):
            return names
        if not set(value) <= set(names):
            raise ValueError(value)
        return tuple(value)

    words = f"all, or any of {', '.join(names)} separated by commas"
    return Parser(words, parse, check, words)
