"""Exporting a kernel: compiled for architectures and signatures, with what its arguments must be, as a `Bundle`.

What a signature says (`cutelite_rt.signature.settled`) is plain data, so that neither the compiler nor Python is needed
to check arguments by it: `cutelite_rt.load_kernel` launches an exported kernel, and `cutelite_rt.export.cstub` writes C
that does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import cutelite_rt as rt
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.compiled import Compiled
from cutelite.dispatch.export_host import host_code
from cutelite.dispatch.signature import Signature
from cutelite.front.types import ArgType, Constant, Struct
from cutelite.ir.types import Scalar, Tensor, TensorMap
from cutelite.lang.annotations import (
    OptionalSpec,
    PointerSpec,
    PointersSpec,
    SequenceSpec,
    Spec,
    StructSpec,
    TensorSpec,
    TmaSpec,
)
from cutelite.layout import Dim, DimExpr, Layout, dims_of
from cutelite.layout.expr import text, tree
from cutelite_rt.signature.bind import BEYOND

Words = dict[str, Any]


class Compilable(Protocol):
    """A kernel, as far as exporting it needs to know."""

    __name__: str

    @property
    def signature(self) -> Signature: ...

    def compile(self, /, *examples: Any, **given: Any) -> Compiled: ...


def bundle(
    kernel: Compilable,
    examples: Sequence[Any],
    signatures: Sequence[Mapping[str, Any]],
    archs: Sequence[str],
    ptx: str | None,
    grid: Sequence[Any] | None,
    wide_dims: bool,
    shapes: Mapping[str, Any],
    method: bool,
    cpus: Sequence[str] = (),
) -> rt.Bundle:
    """`kernel` compiled for each of `signatures` and each of `archs`; the rest as `Kernel.export` has it.

    shapes   block and cluster
    method   the first parameter is the object that the kernel is a method of, and no parameter any more
    Errors   as `Kernel.compile`; `ToolchainError` where there is no assembler
    """
    variants, bounds = [], []
    for given in signatures:
        bound = kernel.signature.ahead(examples, dict(given), wide_dims)
        settings = {**given, **shapes, "wide_dims": wide_dims}
        artifacts = []
        for arch in dict.fromkeys(archs):
            compiled = kernel.compile(*examples, arch=arch, **settings)
            artifacts.append(compiled.artifact._replace(cubin=compiled.cubin, ptx="", signature=None))
        if ptx is not None:
            compiled = kernel.compile(*examples, arch=ptx, **settings)
            artifacts.append(compiled.artifact._replace(cubin=b"", ptx=compiled.ptx, signature=None))
        said = signature(kernel.signature, bound.types, bound.dims, grid, int(method), bound.wide)
        variants.append(rt.Variant(said, tuple(artifacts)))
        bounds.append(bound)
    host = host_code(kernel.signature, int(method), grid, bounds, cpus) if cpus else None
    return rt.Bundle(kernel.__name__, tuple(variants), host)


def default_ptx(archs: Sequence[str]) -> str | None:
    """The architecture whose PTX later GPUs run: the highest plain one, for PTX of `a` and `f` runs nowhere else."""
    plain = [arch for arch in archs if not arch.endswith(("a", "f"))]
    return max(plain, key=lambda arch: int(arch.removeprefix("sm_")), default=None)


def signature(
    of: Signature,
    types: Mapping[str, ArgType],
    dims: Mapping[str, Scalar],
    grid: Sequence[Any] | None,
    skip: int,
    wide: bool = False,
) -> Words:
    """Return what arguments must be, as plain data (`cutelite_rt.signature.settled`).

    types, dims  what the kernel is compiled for
    grid         blocks: ints and expressions over its dims; None: each launch says
    skip         parameters to leave out at the front
    wide         its block indices are 64 bits wide
    """
    writer = _Writer(of.kernel)
    names = of.names[skip:]
    parameters = []
    for name in names:
        said = writer.parameter(name, of.specs[name], types[name])
        default = of.defaults.get(name)
        if said["kind"] == "scalar" and isinstance(default, bool | int | float):
            said["default"] = default
        parameters.append(said)
    return {
        "kernel": of.kernel,
        "text": str(of).split(", ", skip)[-1] if names else "",
        "parameters": parameters,
        "positional": len(of.positional) - skip,
        "position_only": max(0, len(of.position_only) - skip),
        "dims": [writer.dim(name, t) for name, t in dims.items()],
        "wide": wide,
        "grid": None if grid is None else [writer.grid(extent, dims) for extent in grid],
    }


class _Writer:
    """Writes the parameters of one kernel, and remembers the dims that they declare."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        self._declared: dict[str, tuple[Dim, str]] = {}

    def parameter(self, name: str, spec: Spec | None, t: ArgType) -> Words:
        said = {"name": name.rpartition(".")[2]}
        match t:
            case Constant(value=None) if isinstance(spec, OptionalSpec):
                return said | {"kind": "none", "says": repr(spec)}
            case Constant(value=value):
                return said | {"kind": "constant", **_constant(value)}
            case Struct() if isinstance(spec, SequenceSpec):
                its = spec.items or (spec.each,) * len(t.fields)
                items = [self.parameter(f"{name}.{i}", of, field) for (i, field), of in zip(t.fields, its, strict=True)]
                return said | {"kind": "sequence", "says": repr(spec), "fields": items}
            case Struct() if isinstance(pointers := _given(spec), PointersSpec):
                return self.parameter(name, pointers.addresses, t.fields[0][1]) | {"says": repr(pointers)}
            case Struct():
                assert isinstance(spec, StructSpec)
                fields = [self.parameter(f"{name}.{field}", spec.fields[field], of) for field, of in t.fields]
                return said | {"kind": "struct", "class": t.cls.__name__, "fields": fields}
            case Scalar():
                return said | {"kind": "scalar", "dtype": t.name, "takes": t.kind, **_limits(t)}
        spec = _given(spec)
        if isinstance(spec, PointerSpec):
            return said | {"kind": "pointer", "says": repr(spec), "dtype": spec.dtype.name, "align": spec.align}
        assert isinstance(spec, TensorSpec | TmaSpec) and isinstance(t, Tensor | TensorMap)
        said |= {"kind": "array", "says": repr(spec), "dtype": t.elem.name}
        tensor = spec.tensor if isinstance(spec, TmaSpec) else spec
        said |= self._layout(name, t.layout, tensor)
        if isinstance(t, TensorMap):
            return said | {"box": list(t.box), "swizzle": t.swizzle}
        return said | {"align": t.align}

    def _layout(self, name: str, layout: Layout, spec: TensorSpec) -> Words:
        shape = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
        stride = layout.stride if isinstance(layout.stride, tuple) else (layout.stride,)
        for dim in sorted(dims_of((shape, stride)), key=str):
            stated, who = self._declared.setdefault(dim.name, (dim, name))
            if stated != dim:
                raise ArgumentError(f"{self._kernel}(): argument `{name}` uses {dim!r}, which `{who}` has as "
                                    f"{stated!r}: declare each dim once")  # fmt: skip
        if any(isinstance(extent, tuple) for extent in shape):
            cosize = layout.cosize
            if isinstance(cosize, DimExpr):
                raise ArgumentError(f"{self._kernel}(): argument `{name}` has the nested layout {layout}, whose "
                                    "extents must be compile-time")  # fmt: skip
            return {"layout": str(layout), "cosize": cosize}
        said: Words = {"shape": [_expr(extent) for extent in shape]}
        return said | ({"order": spec.order} if spec.stride is None else {"strides": [_expr(step) for step in stride]})

    def dim(self, name: str, t: Scalar) -> Words:
        dim, _ = self._declared[name]
        return {"name": name, "type": t.name, "divisible_by": dim.divisible_by, "min": dim.min, "max": dim.max}

    def grid(self, extent: Any, dims: Mapping[str, Scalar]) -> Any:
        unknown = [dim.name for dim in dims_of(extent) if dim.name not in dims]
        if unknown or not isinstance(extent, int | DimExpr):
            what = f"{unknown[0]}, which no argument has" if unknown else repr(extent)
            raise ArgumentError(
                f"{self._kernel}(): the grid to export takes ints and expressions over dims, not {what}"
            )
        return _expr(extent)


def _given(spec: Spec | None) -> Spec | None:
    """Return the annotation of a parameter that is not None."""
    return spec.spec if isinstance(spec, OptionalSpec) else spec


def _constant(value: Any) -> Words:
    """Its value, where JSON has it; else words for it."""
    finite = not isinstance(value, float) or math.isfinite(value)
    plain = type(value) in (bool, int, float, str, type(None)) and finite
    return {"value": value} if plain else {"opaque": repr(value)}


def _limits(t: Scalar) -> Words:
    if t.is_int:
        low, high = t.range
        return {"low": low, "high": high}
    return {"beyond": BEYOND[t.name]} if t.name in BEYOND else {}


def _expr(x: Any) -> Any:
    """An extent or stride as `rules` has it."""
    if isinstance(x, Dim):
        return x.name
    if not isinstance(x, DimExpr):
        return x
    return {"text": text(x), "tree": _tree(tree(x))}


def _tree(node: tuple[Any, ...]) -> Any:
    operation, *operands = node
    if operation == "const":
        return operands[0]
    return operands[0].name if operation == "dim" else [operation, *map(_tree, operands)]
