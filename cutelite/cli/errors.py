"""Errors of the command line."""

from __future__ import annotations


class UsageError(Exception):
    """The command line asks for something that does not exist; the text says what does."""
