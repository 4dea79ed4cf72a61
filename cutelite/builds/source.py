"""The input of a compile. Importing this loads no compiler: the input is made before it is known whether to compile."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from cutelite.front.types import ArgType
from cutelite.ir.types import Scalar
from cutelite.tuples import NamedTuple


class Source(NamedTuple):
    """The input of a compile: a Python function, and the types of its arguments (see `front.build.build`)."""

    function: FunctionType
    types: dict[str, ArgType]
    dims: dict[str, Scalar]
    attrs: dict[str, Any]
