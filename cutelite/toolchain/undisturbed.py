"""Calls of LLVM that neither signals nor forks disturb.

If a signal's handler raises (Ctrl-C, a test's time limit) between two calls of LLVM, objects may be left half disposed
of, and LLVM then ends the process. Python runs handlers only in the main thread: there they are put off until the
call returns.

Any number of threads may use LLVM at once, each with its own modules and target machines. A call that changes LLVM for
all of them, such as registering targets, is made by `alone`: it waits until the other threads have left LLVM, and keeps
them out meanwhile.

A child that is forked while a thread is in LLVM inherits LLVM's locks, held by a thread that the child does not have.
So a fork waits until all threads have left LLVM. If a fork gives up waiting, its child refuses to compile.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` makes enums: 1 ms to import, and to ask for handlers
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from cutelite.toolchain.errors import ToolchainError

P = ParamSpec("P")
R = TypeVar("R")
Handler = Callable[[int, FrameType | None], Any]

PATIENCE_S = 60.0  # a fork gives up waiting after this time
_SIGNALS = tuple(_signal.valid_signals())
_changed = threading.Condition()  # guards `_at_work` and `_alone`
_at_work: dict[int, int] = {}  # ident of a thread that is in LLVM -> the depth of its nested calls
_alone: int | None = None  # the thread that has LLVM to itself, or waits for that
_broken = False  # this process was forked while another thread was in LLVM
_waited = False  # the fork waited until no other thread was in LLVM


def undisturbed(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return ``function(*args, **kwargs)``, which calls LLVM; other threads may call it at the same time.

    Errors  what the function raises; `ToolchainError` in a child that was forked while another thread was in LLVM
    """
    if _broken:
        raise ToolchainError("llvm", "this process was forked while another thread compiled, and can compile nothing")
    with _signals_later(), _entered():
        return function(*args, **kwargs)


def alone(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return ``function(*args, **kwargs)``, called while no other thread is in LLVM. Errors: as `undisturbed`."""
    with _signals_later():
        with _changed:
            _have_alone(None)
        try:
            return undisturbed(function, *args, **kwargs)
        finally:
            with _changed:
                _give_back()


@contextmanager
def _entered() -> Iterator[None]:
    """Enter LLVM, after waiting while another thread is `alone`, unless this thread is in LLVM already."""
    me = threading.get_ident()
    with _changed:
        if me not in _at_work:
            _changed.wait_for(lambda: _alone in (None, me))
        _at_work[me] = _at_work.get(me, 0) + 1
    try:
        yield
    finally:
        with _changed:
            _at_work[me] -= 1
            if not _at_work[me]:
                del _at_work[me]
                _changed.notify_all()


def _have_alone(patience: float | None) -> bool:
    """Keep other threads out of LLVM, and wait until all have left. False: it took too long. `_changed` is held."""
    global _alone
    me = threading.get_ident()
    if not _changed.wait_for(lambda: _alone in (None, me), patience):
        return False
    _alone = me
    return _changed.wait_for(lambda: not set(_at_work) - {me}, patience)


def _give_back() -> None:
    global _alone
    if _alone == threading.get_ident():
        _alone = None
        _changed.notify_all()


@contextmanager
def _signals_later() -> Iterator[None]:
    """Put off calls of Python's signal handlers until the end of the block, in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before: dict[int, Handler] = {}
    try:
        for each in _SIGNALS:
            handler = _signal.getsignal(each)
            if callable(handler):
                before[each] = handler
                _signal.signal(each, lambda number, frame: came.append((number, frame)))
        yield
    finally:
        _restore(dict(before))
        for number, frame in came:
            before[number](number, frame)


def _restore(handlers: dict[int, Handler]) -> None:
    """Put all handlers back, even if one of them is called meanwhile and raises."""
    try:
        while handlers:
            number = next(iter(handlers))
            _signal.signal(number, handlers[number])
            del handlers[number]
    finally:
        if handlers:
            _restore(handlers)


def _before_fork() -> None:
    global _waited
    _changed.acquire()
    _waited = _have_alone(PATIENCE_S)


def _in_parent() -> None:
    _give_back()
    _changed.release()


def _in_child() -> None:
    global _broken, _changed, _alone
    _broken = not _waited
    _changed, _alone = threading.Condition(), None
    for other in set(_at_work) - {threading.get_ident()}:
        del _at_work[other]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
