"""The values of a strand: a dict that copies missing values from the strand that its threads parted from.

Threads that part at a branch use few of the values that they had before, and mostly meet again soon. So `Values.of`
copies nothing: a value is copied at its first use, and where all threads meet again, `joined` reuses the old arrays.

    base {a, b, c} of 128 threads ──of──▶ {} of 1, {d} of 127 ──joined──▶ {a, b, c, d} of 128
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

Array = Any

DEEPEST = 16  # after this many partings without a meeting, all values are copied at once


class Values(dict[Any, Any]):
    """The values of some threads, by `Value`; dims bound in the kernel by their names.

    threads  the number of threads
    base     the values of the strand that these threads parted from; None without one
    which    the positions of these threads among those of `base`, ascending
    taken    the values that were copied from `base`, as they were then
    """

    __slots__ = ("base", "depth", "taken", "threads", "which")

    def __init__(self, held: dict[Any, Any], threads: int, base: Values | None = None, which: Array = None) -> None:
        super().__init__(held)
        self.threads, self.base, self.which = threads, base, which
        self.taken: dict[Any, Any] = {}
        self.depth: int = 0 if base is None else base.depth + 1

    def __missing__(self, key: Any) -> Any:
        if self.base is None:
            raise KeyError(key)
        held = self.base[key]
        if isinstance(held, np.ndarray):
            held = held[self.which]
        self[key] = self.taken[key] = held
        return held

    def has(self, key: Any) -> bool:
        """Tell whether there is such a value, here or in `base`."""
        held: Values | None = self
        while held is not None:
            if key in held:
                return True
            held = held.base
        return False

    def every(self) -> Iterable[Any]:
        """Return all keys, those of `base` first."""
        if self.base is None:
            return self
        return {**dict.fromkeys(self.base.every()), **self}

    def of(self, which: Array) -> Values:
        """Return the values of the threads at some positions, ascending. This object must not be written afterwards."""
        return Values({}, len(which), self, which)

    def only(self, needed: Callable[[Any], bool]) -> Values:
        """Return the needed values, copied now."""
        return Values({key: self[key] for key in tuple(self.every()) if needed(key)}, self.threads)

    def lifted(self, needed: Callable[[Any], bool]) -> Values:
        """Return the same values, as those of threads that parted from the base of `base`."""
        base = self.base
        assert base is not None
        lifted = Values(self, self.threads, base.base, None if base.which is None else base.which[self.which])
        for key in base.changed(needed):
            lifted[key] = self[key]
        for key, held in self.taken.items():
            if key not in base or base.taken.get(key) is base[key]:
                lifted.taken[key] = held
        return lifted

    def changed(self, needed: Callable[[Any], bool]) -> Iterator[Any]:
        """Return the keys of needed values that differ from those of `base`."""
        taken = self.taken
        return (key for key in filter(needed, self) if taken.get(key) is not self[key])


def joined(parts: Sequence[Values], order: Array | None, needed: Callable[[Any], bool]) -> Values:
    """Return the values of all threads of several parts: the needed ones that every part has, right, and any others.

    order  permutation that sorts the threads of the concatenated parts; None if they are sorted
    """
    base = parts[0].base
    if any(part.base is not base for part in parts):
        base = None
        if (rebased := _on_one_base(parts, needed)) is not None:
            parts, base, order = rebased, rebased[0].base, _sorting([part.which for part in rebased])
    first = parts[0]
    threads = sum(part.threads for part in parts)
    if base is None:
        values = Values({}, threads)
        keys = [key for key in filter(needed, first.every()) if all(part.has(key) for part in parts[1:])]
    else:
        if threads == base.threads:  # all threads are back
            values = Values(base, threads, base.base, base.which)
            values.taken = base.taken
        else:
            which = _ordered([part.which for part in parts], order)
            values = Values({}, threads, base, which)
        changed = dict.fromkeys(key for part in parts for key in part.changed(needed))
        keys = [key for key in changed if all(part.has(key) for part in parts)]
        if len(keys) < len(changed):
            for key in changed:
                values.pop(key, None)
    for key in keys:
        held = first[key]
        values[key] = _ordered([part[key] for part in parts], order) if isinstance(held, np.ndarray) else held
    return values


def _on_one_base(parts: Sequence[Values], needed: Callable[[Any], bool]) -> list[Values] | None:
    """Return parts of the same threads, whose base is the values that all of them come from; None without such."""
    left = list(parts)
    while any(part.base is not left[0].base for part in left):
        base = max(left, key=lambda part: part.depth).base
        if base is None or base.base is None:
            return None
        group = [part for part in left if part.base is base]
        left = [part for part in left if part.base is not base]
        one = group[0] if len(group) == 1 else joined(group, _sorting([part.which for part in group]), needed)
        left.append(one if one.base is base.base else one.lifted(needed))
    return left


def _sorting(which: list[Array]) -> Array | None:
    """Return the permutation that sorts concatenated positions; None if they are sorted."""
    if len(which) == 1:
        return None
    joint = np.concatenate(which)
    return None if (joint[1:] > joint[:-1]).all() else joint.argsort(kind="stable")


def _ordered(arrays: list[Array], order: Array | None) -> Array:
    found = np.concatenate(arrays)
    return found if order is None else found[order]
