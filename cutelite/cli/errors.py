"""Errors of the command line."""

from __future__ import annotations


class UsageError(Exception):
    """The command line asks for something that is not there; its text says what is."""
