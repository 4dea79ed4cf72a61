"""`@kernel`: a Python function -> a `Kernel`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Unpack, overload

from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.dynamo import untraced
from cutelite.dispatch.kernel import Kernel
from cutelite.dispatch.launch import Extent, Launch, extents
from cutelite.dispatch.mistakes import without_our_frames
from cutelite.dispatch.signature import gathers
from cutelite.lang.annotations import NOTHING_SEEN, names_in_text
from cutelite.options import Given, checked
from cutelite.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping


@overload
def kernel(function: Callable[..., None], /) -> Kernel: ...
@overload
def kernel(
    *,
    block: Extent | None = None,
    cluster: Extent | None = None,
    arch: str | None = None,
    **options: Unpack[Given],
) -> Callable[[Callable[..., None]], Kernel]: ...
@without_our_frames
def kernel(
    function: Any = None, /, *, block: Any = None, cluster: Any = None, arch: str | None = None, **options: Any
) -> Any:
    """Decorator: make a GPU kernel of an annotated Python function; with or without options.

    block, cluster  the shapes of all launches: ``kernel[grid]`` takes them, and a launch with others is refused
    arch            the architecture to compile for without a GPU, so also for the simulator, unless CUTELITE_ARCH is
                    set, such as 'sm_100a'; default: 'sm_90a'. A launch on a GPU compiles for that GPU
    options         docs/options.md: fmad, assertions, line_info, opt, max_registers, min_blocks, ...
    Errors          TypeError for an object that is no function and a name that is no option; `OptionError`,
                    `LaunchError` for values
    """
    given = checked(options)
    shape = None if block is None else extents(block, "block")
    clusters = None if cluster is None else extents(cluster, "cluster")
    arch = None if arch is None else Target.parse(arch).arch

    def decorate(function: Callable[..., None]) -> Kernel:
        if isinstance(function, staticmethod | classmethod):
            raise ArgumentError(f"@kernel goes below @{type(function).__name__}")
        if not isinstance(function, FunctionType):
            raise ArgumentError(f"@kernel takes a Python function, not {function!r}")
        made = (GatheringKernel if gathers(function) else Kernel)(function, given, shape, clusters, arch)
        made._seen = _seen_beside(function)
        return made

    return decorate if function is None else decorate(function)


def _seen_beside(function: FunctionType) -> Mapping[str, Any]:
    """Return those variables of the calling function or class body that annotations name as strings."""
    frame: FrameType | None = sys._getframe(1)
    # `kernel` is called by its wrapper for tracebacks; kernels of `cutelite.kernels` are defined by code of ours too
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("cutelite.dispatch.", "cutelite_rt.")):
        frame = frame.f_back
    if frame is None or frame.f_locals is frame.f_globals:
        return NOTHING_SEEN
    local = frame.f_locals
    return {name: local[name] for name in names_in_text(function) if name in local}


class GatheringKernel(Kernel):
    """A kernel with ``*args: A``: positional arguments after the named ones go there as a tuple.

    The kernel is specialised for their number. A launch first calls Python, which gathers them for the compiled
    launcher; elsewhere `Signature.match` gathers them.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        raise ArgumentError(f"{name} of {owner.__name__}: a kernel that is a method takes no *args; take a tuple")

    @without_our_frames
    def _gathered(self, launch: Callable[..., None], /, *args: Any, **kwargs: Any) -> None:
        count, (star,) = self.__cutelite_function__.__code__.co_argcount, gathers(self.__cutelite_function__)
        if len(args) >= count:
            kwargs.setdefault(star, tuple(args[count:]))
        launch(*args[:count], **kwargs)

    @untraced
    def __getitem__(self, key: Any) -> Callable[..., None]:
        return functools.partial(self._gathered, super().__getitem__(key))

    @untraced
    @without_our_frames
    def launch(self, launch: Launch, /, *args: Any, **kwargs: Any) -> None:
        self._gathered(functools.partial(super().launch, launch), *args, **kwargs)
