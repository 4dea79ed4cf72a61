"""GPU generations (`targets.py`): limits, features, PTX version. A leaf: it imports no other room.

In a kernel `cl.target` is this module. At compile time it describes the GPU that is compiled for: `cl.target.arch`,
`cl.target.capability`, `cl.target.has("wgmma")`, and every other attribute of `Target`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from cutelite.target.targets import ALIASES, FEATURES, TARGETS, Occupancy, Target, UnknownTarget, first_with
from cutelite.threads import OfThread

if TYPE_CHECKING:
    arch: str
    capability: tuple[int, int]

_compiled_for: OfThread[Target | None] = OfThread("compiled for", None)


def compiling_for(target: Target | None) -> AbstractContextManager[None]:
    """Let `current` return `target` in this thread within the block, in which a kernel is evaluated for it."""
    return _compiled_for.set(target)


def current() -> Target:
    """Return the target of the kernel that is being compiled. Errors: RuntimeError outside of kernels."""
    target = _compiled_for.get()
    if target is None:
        raise RuntimeError("no kernel is being compiled here, so there is no target: ask in a kernel")
    return target


def has(feature: str) -> bool:
    """Tell whether the GPU that is compiled for has `feature`, a name of `FEATURES`. The answer is a compile-time bool.

    Errors   ValueError for another name; RuntimeError outside of kernels
    """
    return current().has(feature)


def __getattr__(name: str) -> Any:
    if name in Target.__dataclass_fields__ or name in ("smem_per_block", "specific", "of_family"):
        return getattr(current(), name)
    raise AttributeError(f"module 'cutelite.target' has no attribute {name!r}")


__all__ = [
    "ALIASES", "FEATURES", "TARGETS", "Occupancy", "Target", "UnknownTarget", "compiling_for", "current", "first_with",
    "has",
]  # fmt: skip
