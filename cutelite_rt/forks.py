"""Locks that a forked child may use: the child finds them free, even where another thread of its parent held them.

A fork copies the memory of all threads and only the one that forked: a lock that another thread held is held in the
child for ever. Python's own locks in `threading` and `logging` are made anew in a child, and so are those made here.
What a lock protects is looked at and changed in single operations of dicts and attributes, so that it is whole in the
child too.
"""

from __future__ import annotations

import os
import threading
import weakref

_made: weakref.WeakSet[threading.Lock] = weakref.WeakSet()


def lock() -> threading.Lock:
    """Make a lock."""
    made = threading.Lock()
    _made.add(made)
    return made


def _in_child() -> None:
    for each in list(_made):
        each._at_fork_reinit()  # type: ignore[attr-defined]  # as the standard library's own modules do


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
