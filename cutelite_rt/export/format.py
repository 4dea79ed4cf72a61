"""Check the content of files: exported kernels and artefacts may come from others, and are not trusted.

In: signatures and artefacts as they were read. Out: nothing, or `ArtifactError` that names the field. All other code
may rely on this: every field is of its declared type, and within bounds.
"""

from __future__ import annotations

import functools
import math
import re
import types
import typing
from collections.abc import Sequence
from typing import Any

from cutelite_rt.artifact import Artifact, ArtifactError
from cutelite_rt.dtype import DTYPES
from cutelite_rt.gpu.params import CONTINUED
from cutelite_rt.gpu.params import KINDS as PARAMETERS
from cutelite_rt.signature.data import KINDS, MOST_DEPTH, Count, Positive, dims_of
from cutelite_rt.signature.kinds import Parameter, Signature, mentioned

_ARCH = re.compile(r"sm_[1-9]\d{1,3}[af]?")
_I64 = 1 << 63
_ARTIFACT: dict[str, Any] = {
    "name": str,
    "arch": str,
    "params": tuple[str, ...],
    "written": tuple[str, ...],
    "built_with": tuple[Count, ...],
    **dict.fromkeys(("static_smem", "dynamic_smem", "max_threads"), Count),
    **dict.fromkeys(("registers", "spills"), typing.Annotated[int, range(-1, _I64)]),
    **dict.fromkeys(("block", "cluster"), tuple[Positive, ...] | None),
}
"""Field of an artefact -> the values that a file may have there."""


def check_signature(signature: Any) -> None:
    """Check the settled signature of a variant. Errors: `ArtifactError`."""
    _check("signature", signature, Signature, 0)
    names = [parameter.name for parameter in signature.parameters]
    if len(set(names)) != len(names):
        raise _wrong("signature.parameters", names, "parameters of different names")
    for field in ("positional", "position_only"):
        if getattr(signature, field) > len(names):
            raise _wrong(f"signature.{field}", getattr(signature, field), f"at most {len(names)}")
    if signature.grid is not None and not 1 <= len(signature.grid) <= 3:
        raise _wrong("signature.grid", signature.grid, "one to three extents")
    in_grid = [("signature.grid", dim) for extent in signature.grid or () for dim in dims_of(extent)]
    dims = {dim.name: dim for dim in signature.dims}
    if len(dims) != len(signature.dims) or not {*signature.wide_dims} <= {*dims}:
        raise _wrong(
            "signature.dims", [dim.name for dim in signature.dims], "dims of different names, the wide ones among them"
        )
    for name, dim in (*mentioned(signature.parameters), *in_grid):
        if dims.get(dim.name) != dim:
            raise _wrong(name, str(dim), "a dim as the signature declares it")


def check_artifact(artifact: Artifact) -> None:
    """Check the fields of an artefact. Errors: `ArtifactError`."""
    for field, wanted in _ARTIFACT.items():
        _check(f"artefact.{field}", getattr(artifact, field), wanted, 0)
    if not _ARCH.fullmatch(artifact.arch):
        raise _wrong("artefact.arch", artifact.arch, "an architecture, such as sm_90a")
    for i, kind in enumerate(artifact.params):
        if kind.removeprefix(CONTINUED * (i > 0)) not in PARAMETERS:
            raise _wrong(f"artefact.params[{i}]", kind, "the kind of a parameter")
    for field, count in (("block", 3), ("cluster", 3), ("built_with", 2)):
        if (value := getattr(artifact, field)) is not None and len(value) != count:
            raise _wrong(f"artefact.{field}", value, f"{count} numbers")


def check_variant(signature: Any, artifacts: Sequence[Artifact]) -> None:
    """Check that code has the parameters that its signature declares. Errors: `ArtifactError`."""
    check_signature(signature)
    if not artifacts:
        raise ArtifactError("a signature of the exported kernel has no code")
    wanted = signature.packs_as()
    for artifact in artifacts:
        if [kind.removeprefix(CONTINUED) for kind in artifact.params] != wanted:
            raise _wrong("params", artifact.params, f"{', '.join(wanted)}, as its signature says")
        if artifact.block is None:
            raise _wrong("block", None, "a block")


# Values by the annotations of their fields.


def _check(path: str, value: Any, wanted: Any, depth: int) -> None:
    """Check a value, and all values in it, against an annotation. Errors: `ArtifactError`."""
    if depth > MOST_DEPTH:
        raise ArtifactError(f"the exported kernel is malformed: {path} is nested too deeply")
    if wanted is Parameter or (isinstance(wanted, type) and issubclass(wanted, tuple) and wanted is not tuple):
        _check_kind(path, value, wanted, depth)
    elif typing.get_origin(wanted) is tuple:
        each = typing.get_args(wanted)[0]
        if type(value) is not tuple:
            raise _wrong(path, value, "a list")
        for i, item in enumerate(value):
            _check(f"{path}[{i}]", item, each, depth + 1)
    elif typing.get_origin(wanted) in (typing.Union, types.UnionType):
        _check(path, value, _member(path, value, typing.get_args(wanted)), depth)
    elif not _is_plain(value, wanted):
        raise _wrong(path, value, _words(wanted))


def _check_kind(path: str, value: Any, wanted: Any, depth: int) -> None:
    cls: Any = type(value)
    if cls not in KINDS.values() or not (hasattr(cls, "leaves") if wanted is Parameter else cls is wanted):
        raise _wrong(path, value, "a parameter" if wanted is Parameter else f"a {wanted.__name__.lower()}")
    for field, annotation in _annotations(cls):
        _check(f"{path}.{field}", getattr(value, field), annotation, depth + 1)
    for field, words in getattr(value, "misfits", tuple)():
        raise _wrong(f"{path}.{field}", getattr(value, field, cls.__name__), words)


@functools.cache
def _annotations(cls: type) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a class with their annotations."""
    return tuple(typing.get_type_hints(cls, include_extras=True).items())


def _member(path: str, value: Any, members: tuple[Any, ...]) -> Any:
    """Return the member of a union that a value belongs to. Errors: `ArtifactError`."""
    for member in members:
        its = typing.get_origin(member) or member
        if its is tuple:
            fits = type(value) is tuple
        elif isinstance(its, type) and issubclass(its, tuple):
            fits = type(value) is its
        else:
            fits = _is_plain(value, member)
        if fits:
            return member
    raise _wrong(path, value, " or ".join(map(_words, members)))


def _is_plain(value: Any, wanted: Any) -> bool:
    """Tell whether an annotation allows a value without fields."""
    if wanted is Any:
        return True  # `misfits` checks these
    if typing.get_origin(wanted) is typing.Literal:
        return isinstance(value, str) and value in typing.get_args(wanted)
    bounds = getattr(wanted, "__metadata__", (None,))[0]
    if isinstance(bounds, range):
        return type(value) is int and value in bounds
    if wanted is str or bounds is not None:
        if not isinstance(value, str) or not value.isprintable():
            return False
        parts = value.split(".")
        return (
            value in DTYPES
            if bounds == "dtype"
            else bounds is None or (parts[0].isidentifier() and all(p.isidentifier() or p.isdecimal() for p in parts))
        )
    if wanted is float:
        return isinstance(value, float) and math.isfinite(value)
    if wanted is int:
        return type(value) is int and -_I64 <= value < 2 * _I64
    return type(value) is wanted or (wanted in (None, types.NoneType) and value is None)


def _words(wanted: Any) -> str:
    """Return an annotation in words."""
    if typing.get_origin(wanted) is typing.Literal:
        return f"one of {', '.join(typing.get_args(wanted))}"
    if typing.get_origin(wanted) is tuple:
        return "a list"
    bounds = getattr(wanted, "__metadata__", (None,))[0]
    if isinstance(bounds, range):
        last = f" and at most {bounds[-1]}" if bounds[-1] < _I64 - 1 else ""
        return f"a whole number of at least {bounds[0]}{last}"
    if bounds == "dtype":
        return f"one of {', '.join(DTYPES)}"
    if bounds == "name":
        return "a name"
    named = {str: "text of one line", int: "a whole number", bool: "true or false", types.NoneType: "null"}
    return named.get(wanted) or f"a {getattr(wanted, '__name__', wanted)}".lower()


def _wrong(path: str, value: Any, wanted: str) -> ArtifactError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return ArtifactError(f"the exported kernel is malformed: {path} is {shown}, and should be {wanted}")
