"""`@kernel`: a Python function -> a `Kernel`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, Unpack, overload

from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.dynamo import untraced
from cutelite.dispatch.kernel import Kernel
from cutelite.dispatch.launch import Extent, Launch, extents
from cutelite.dispatch.mistakes import without_our_frames
from cutelite.dispatch.signature import gathers
from cutelite.lang.annotations import seen_beside
from cutelite.options import Given, checked
from cutelite.target import Target


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
        made._seen = seen_beside(function.__annotations__)
        return made

    return decorate if function is None else decorate(function)


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
