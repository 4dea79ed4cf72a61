"""Kernels in torch's operators: opaque to torch.compile and autograd, with shapes known without a GPU.

    @custom_op("mylib::add", mutates_args=())
    def add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        c = torch.empty_like(a)
        vector_add[cl.ceil_div(a.numel(), 256), 256](a, b, c)
        return c

What torch asks of an operator beside what it does is a fake implementation: which tensors it returns, told from shapes
alone. Here the function itself is that, run on fake tensors with its launches left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, overload

import torch

from cutelite.dispatch.divert import diverted, nothing

Function = Callable[..., Any]


@overload
def custom_op(
    name: str,
    function: Function,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
) -> Any: ...
@overload
def custom_op(
    name: str,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
) -> Callable[[Function], Any]: ...
def custom_op(
    name: str,
    function: Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
) -> Any:
    """As `torch.library.custom_op`, with a fake implementation: the function itself, without its launches.

    name          'namespace::name', by which torch.ops has it
    mutates_args  names of the tensors that it writes to, of those that it is given
    device_types, schema   as torch has them
    Gives         torch's `CustomOpDef`: call it, give it `register_autograd`, `register_vmap`, or a `register_fake` of
                  your own where the function looks at what is in a tensor

    The function must do with tensors only what torch can do without their values: allocate by shape, view, and launch.
    Kernels are launched in torch's current stream. A grid may be computed from sizes that torch.compile keeps symbolic.
    """

    def decorate(function: Function) -> Any:
        made = torch.library.custom_op(
            name, function, mutates_args=mutates_args, device_types=device_types, schema=schema
        )

        @functools.wraps(function)
        def fake(*args: Any, **kwargs: Any) -> Any:
            with diverted(nothing):
                return function(*args, **kwargs)

        made.register_fake(fake)
        return made

    return decorate if function is None else decorate(function)
