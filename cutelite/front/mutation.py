"""Changes of compile-time objects: which a kernel may make, and how they are taken back.

A kernel may change what it made itself: a list, dict or set, an array of NumPy, an object of a class of the user's. It
may do so only where all threads see the change, which are those that made the object, and not once it has met another
one where paths meet, since the two have become a third, while that may be read. Where the unrolling of a `while` is
taken back (see `loops.trial`), the changes made in it are too.
"""

from __future__ import annotations

import functools
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FunctionType, MemberDescriptorType
from typing import Any

from cutelite.front import tree
from cutelite.front.state import Share
from cutelite.lang.emit import describe, mistake

CONTAINERS = (list, OrderedDict, dict, set, deque, bytearray)
_MUTATORS = """
    append appendleft extend extendleft insert remove pop popleft clear sort reverse rotate update setdefault popitem
    add discard difference_update intersection_update symmetric_difference_update move_to_end
    subtract fromlist frombytes fromfile byteswap
    __init__ __setitem__ __delitem__ __iadd__ __ior__ __iand__ __isub__ __ixor__ __imul__
"""
MUTATORS = frozenset(_MUTATORS.split())
"""Methods of containers that change them."""

COPIES = frozenset(("copy", "union", "difference", "intersection", "symmetric_difference"))
"""Methods of `CONTAINERS` that make a new one."""

ACTING = ("iter", "next", "reversed", "index", "str", "format", "getattr", "getattribute")
"""Methods of the user's classes, without underscores, that Python itself calls: they are not inlined."""

KINDS = {"StaticIter": "iterator", "Closure": "function"}
"""From the names of our stand-in classes to the names of what they stand for."""

MEMORY = "a thread's memory is `cl.make_rmem_tensor(cl.f32, 4)`"


def is_array(x: Any) -> bool:
    """Tell whether `x` is an array of NumPy."""
    return "numpy" in sys.modules and isinstance(x, sys.modules["numpy"].ndarray)


def check_tensor(x: Any, what: str) -> None:
    """Refuse to change a tensor of torch. Errors: `mutation`."""
    if "torch" in sys.modules and isinstance(x, sys.modules["torch"].Tensor):
        help = "make another one, as by `t + 1`, or an array of NumPy, which may change"
        raise mistake("mutation", f"{what} would change a tensor of torch, which is constant in a kernel", help=help)


def owner_of(x: Any) -> Any:
    """Return the array whose memory an array of NumPy shows, itself or another; any other object as it is."""
    while is_array(x) and is_array(x.base):
        x = x.base
    return x


class Mutables:
    """The objects that the kernel made, the shares of the threads that made them, and their changes since each mark.

    reaches  tells whether the rest of the kernel may read one of some objects
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Share]] = {}  # keeps them alive, so that an id stays theirs
        self._marks: list[dict[int, tuple[Any, Any]]] = []
        self.meetings: dict[int, tuple[Any, tuple[Any, ...]]] = {}  # objects that differed, and what they became
        self.reaches: Callable[[Sequence[Any]], bool] = lambda sought: True
        self.acting: dict[int, Any] = {}  # what those objects hold whose methods `ACTING` may change them

    def made(self, obj: Any, share: Share) -> Any:
        """Remember that threads of this share made an object, and return it."""
        self._made[id(obj)] = (obj, share)
        kind: Any = type(obj)
        if _acts(kind):
            self.acting[id(obj)] = contents(obj)
        return obj

    def compare(self, share: Share) -> None:
        """Find what methods that Python called have changed since the last time. Errors: `mutation`, as of `changing`.

        share   of the threads that executed the instruction that called them
        """
        for key, before in self.acting.items():
            obj, _ = self._made[key]
            if not unchanged(obj, before):
                now = self.acting[key] = contents(obj)
                restore(obj, before)
                self.changing(obj, share, "a method that Python calls")
                restore(obj, now)

    def is_made(self, obj: Any, share: Share | None = None) -> bool:
        """Tell whether the kernel made an object; with a share, whether just these threads did."""
        known = self._made.get(id(owner_of(obj)))
        return known is not None and share in (None, known[1])

    def met(self, found: Sequence[Any], made: Any) -> Any:
        """Return `made`, which structures become where paths meet.

        It may not change, nor what differs in the structures, as long as `reaches` says that `made` may be read.
        """
        for column in tree.objects_apart([*found, made]):
            for x in column:
                _, known = self.meetings.get(id(x), (x, ()))
                self.meetings[id(x)] = x, (*known, column[-1])
        return made

    def may_be_one(self, a: Any, b: Any) -> bool:
        """Tell whether two objects may be one object on some of the paths that met."""
        return (self._has_met(a) or self._has_met(b)) and id(a) in self.meetings and id(b) in self.meetings

    def _has_met(self, x: Any) -> bool:
        """Tell whether it is what objects that differed became."""
        return any(made is x for made in self.meetings.get(id(x), (x, ()))[1])

    def changing(self, obj: Any, share: Share, what: str) -> None:
        """Allow `what` to change `obj`, which it is about to do. Errors: `mutation`."""
        obj = owner_of(obj)
        known = self._made.get(id(obj))
        kind = KINDS.get(type(obj).__name__, type(obj).__name__)
        _, became = self.meetings.get(id(obj), (obj, ()))
        if self._has_met(obj) or (became and self.reaches(became)):
            help = "another name may hold it on one of the paths that met: change a copy of it, as by `copy.copy(...)`"
            raise mistake("mutation", f"{what} would change a {kind} that depends on the path", help=help)
        if known is None:
            help = f"kernels cannot change Python objects from outside: make a new {kind} here, as by `copy.copy(...)`"
            if kind == "ndarray":
                help = f"kernels cannot change arrays from outside: make one here, as by `x.copy()`; {MEMORY}"
            raise mistake("mutation", f"{what} would change {describe(obj)} that this kernel did not make", help=help)
        if known[1] != share:
            raise mistake(
                "mutation",
                f"{what} would change a compile-time {kind} under a run-time condition or in a run-time loop",
                help=(
                    "compile-time objects exist once for all threads: make it before, or unroll with `cl.static_range`",
                    "values that differ between threads belong in variables, frozen dataclasses, or a register tensor",
                ),
            )
        if self._marks and id(obj) not in self._marks[-1]:
            self._marks[-1][id(obj)] = (obj, contents(obj))

    def mark(self) -> None:
        """Begin to note what changes."""
        self._marks.append({})

    def keep(self) -> bool:
        """Forget the last mark: what changed since then stays changed. Return whether anything did."""
        changed = self._marks.pop()
        if self._marks:
            self._marks[-1] = changed | self._marks[-1]
        return bool(changed)

    def undo(self) -> None:
        """Take back what changed since the last mark, and forget it."""
        for key, (obj, before) in self._marks.pop().items():
            restore(obj, before)
            if key in self.acting:
                self.acting[key] = before


@functools.lru_cache(maxsize=1024)
def _acts(kind: Any) -> bool:
    """Tell whether Python calls methods of the user's for objects of this class, or for its attributes.

    Objects of frozen dataclasses do not change.
    """
    if getattr(getattr(kind, "__dataclass_params__", None), "frozen", False):
        return False
    called = [getattr(kind, f"__{name}__", None) for name in ACTING]
    called += [getattr(type(member), "__get__", None) for cls in kind.__mro__ for member in vars(cls).values()]
    homes = {(f.__module__ or "").partition(".")[0] for f in called if type(f) is FunctionType}
    return not homes <= {"cutelite", *sys.stdlib_module_names}


def contents(obj: Any) -> Any:
    """Return a copy of what an object holds, for `restore`."""
    if is_array(obj):
        return obj.copy()
    kind = _container(obj)
    if kind is None:
        return _attributes(obj)
    return kind(kind.items(obj) if issubclass(kind, dict) else kind.__iter__(obj))


def restore(obj: Any, before: Any) -> None:
    """Give an object what it held before."""
    if is_array(obj):
        obj[...] = before
        return
    kind = _container(obj)
    if kind is not None:
        kind.clear(obj)
        kind.update(obj, before) if issubclass(kind, dict | set) else kind.extend(obj, before)
        return
    for name in _attributes(obj).keys() - before.keys():
        object.__delattr__(obj, name)
    for name, value in before.items():
        object.__setattr__(obj, name, value)


def unchanged(obj: Any, before: Any) -> bool:
    """Tell whether a container holds just what it held: the same objects in the same order; an array the same bits."""
    if is_array(obj):
        return bool(obj.tobytes() == before.tobytes())
    now = contents(obj)
    if isinstance(now, set):
        return bool(now == before)
    if isinstance(now, dict):
        now, before = [*now, *now.values()], [*before, *before.values()]
    return len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True))


def _container(obj: Any) -> Any:
    """Return Python's own class of a container, by whose methods it is read: a class of the user's has any others."""
    return next((kind for kind in CONTAINERS if isinstance(obj, kind)), None)


def _attributes(obj: Any) -> dict[str, Any]:
    """Return what an object holds, without a call of its `__getattr__`."""
    found: dict[str, Any] = {}
    with suppress(AttributeError):
        found.update(object.__getattribute__(obj, "__dict__"))
    for cls in type(obj).__mro__:
        for name, slot in vars(cls).items():
            if type(slot) is MemberDescriptorType:
                with suppress(AttributeError):  # it holds nothing yet
                    found[name] = slot.__get__(obj)
    return found
