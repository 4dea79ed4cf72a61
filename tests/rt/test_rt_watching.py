"""Dicts that are watched: every change counts, whoever makes it, and nothing else does."""

import ctypes
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from cutelite_rt.arrays.dlpack import api
from cutelite_rt.launcher import native, watching
from tests.processes import printed

pytestmark = [
    pytest.mark.skipif(sys.version_info < (3, 12), reason="this Python tells of no changes"),
    pytest.mark.usefixtures("machine_code"),
]


def watch(*dicts: dict[str, Any]) -> None:
    assert watching.watch(dicts)
    if native.FREE_THREADED:  # as launchers do
        for each in dicts:
            api("PyDict_Watch", ctypes.c_int, ctypes.c_int, ctypes.py_object)(watching.watcher(), each)


def changed(what: Callable[[], Any]) -> bool:
    before = watching.CHANGES.value
    what()
    return watching.CHANGES.value != before


def test_every_change_counts() -> None:
    module = ModuleType("module")
    names, other = module.__dict__, {"a": object()}
    names.update(a=1, b=2, c=3, d=4)
    watch(names, names)
    changes: list[Callable[[], Any]] = [
        lambda: names.__setitem__("a", 5),
        lambda: names.__setitem__("new", 5),
        lambda: setattr(module, "a", 6),
        lambda: exec("a = 7; f = lambda: 8", names),
        lambda: exec("def f():\n global a; a = 9\nf()", names),
        lambda: delattr(module, "b"),
        lambda: names.pop("c"),
        lambda: names.setdefault("newer", 1),
        lambda: names.update(other),
        lambda: names.__ior__({"a": 10}),
        names.popitem,
        names.clear,
        lambda: names.update(other),
    ]
    for i, change in enumerate(changes):
        assert changed(change), i


def test_nothing_else_does() -> None:
    names: dict[str, Any] = {"a": 1, "b": [2]}
    watch(names)
    same = names["b"]
    other: dict[str, Any] = {}
    for i, what in enumerate((
        *(lambda: names["a"], lambda: names.get("x"), lambda: dict(names), lambda: eval("a + b[0]", {}, names)),
        *(lambda: names.__setitem__("b", same), lambda: same.append(1), lambda: other.__setitem__("a", 2)),
    )):  # fmt: skip
        assert not changed(what), i


def test_a_process_ends_as_ever() -> None:
    """At its end modules are cleared, which is a change of what is watched."""
    names = "globals(), vars(json), vars(watching), vars(watching.native)"
    code = f"from cutelite_rt.launcher import watching\nimport json\nx = 1\nprint(watching.watch([{names}]))"
    assert printed(code) == "True\n"


def test_others_may_have_all_the_watchers() -> None:
    assert printed("import ctypes\nadd = ctypes.pythonapi.PyDict_AddWatcher\ntaken = 0\n"
               "from cutelite_rt.launcher import native, watching\n"
               "code = ctypes.c_void_p(native.executable(watching._counting(ctypes.addressof(ctypes.c_uint64()))))\n"
               "try:\n    while True: add(code); taken += 1\nexcept RuntimeError: pass\n"
               "print(taken > 0, watching.watch([globals()]))") == "True False\n"  # fmt: skip
