"""Floating-point operations of operators, for `torch.utils.flop_counter.FlopCounterMode`."""

# mypy: disable-error-code="no-untyped-call"
# (torch is not installed where types are checked)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula


def count_flops(operator: Any, formula: Callable[..., int]) -> None:
    """Register the number of floating-point operations of an operator.

    operator  an `OpOverloadPacket`; its overloads begin with the same arguments
    formula   of its arguments
    """

    def counted(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        return formula(*args, **kwargs)

    register_flop_formula(operator, get_raw=True)(counted)
    for mode in _get_current_dispatch_mode_stack():  # what counts already has a copy of what was known before
        counter = getattr(mode, "counter", mode)
        if isinstance(counter, FlopCounterMode):
            counter.flop_registry[operator] = flop_registry[operator]
