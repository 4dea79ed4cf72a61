"""The form of what a file says: exported kernels and artefacts come from others, and are data to be checked.

In: JSON data as it was read. Out: nothing, or `ArtifactError` naming the field. Everything that reads a signature
(`rules`, `cstub`, `exported`) may rely on what is checked here: every field is there, of its type, and within bounds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from cutelite_rt.artifact import Artifact, ArtifactError
from cutelite_rt.dtype import DTYPES
from cutelite_rt.gpu.params import KINDS
from cutelite_rt.gpu.tensormap import SWIZZLES
from cutelite_rt.signature.data import OPERATIONS

MOST_DEPTH = 100  # of an expression, and of structs in structs
MOST_MODES = 64
_ARCH = re.compile(r"sm_[1-9]\d{1,3}[af]?")
_I64 = 1 << 63
_TAKES = ("bool", "int", "uint", "float")


def check_signature(signature: Any) -> None:
    """Check the signature of a variant. Errors: `ArtifactError`."""
    fields = _Fields("signature", signature)
    fields.identifier("kernel")
    fields.text("text")
    dims = set()
    for i, dim in enumerate(fields.list("dims")):
        each = _Fields(f"dims[{i}]", dim)
        dims.add(each.identifier("name"))
        each.one_of("type", ("i32", "i64"))
        each.integer("divisible_by", 1)
        each.integer("min", 0)
        if each.value("max") is not None:
            each.integer("max", 0)
    parameters = fields.list("parameters")
    names = [_parameter(f"parameters[{i}]", parameter, dims, 0) for i, parameter in enumerate(parameters)]
    if len(set(names)) != len(names):
        raise _wrong("parameters", names, "parameters of different names")
    fields.integer("positional", 0, len(names))
    fields.integer("position_only", 0, len(names))
    if fields.value("grid") is not None:
        if not 1 <= len(fields.list("grid")) <= 3:
            raise _wrong("grid", signature["grid"], "one to three extents")
        for i, extent in enumerate(signature["grid"]):
            _expr(f"grid[{i}]", extent, dims)


def check_artifact(artifact: Artifact) -> None:
    """Check the fields of an artefact. Errors: `ArtifactError`."""
    fields = _Fields("artefact", artifact._asdict())
    fields.text("name")
    if not _ARCH.fullmatch(fields.text("arch")):
        raise _wrong("arch", artifact.arch, "an architecture, such as sm_90a")
    for i, kind in enumerate(artifact.params):
        if not isinstance(kind, str) or kind not in KINDS:
            raise _wrong(f"params[{i}]", kind, "the kind of a parameter")
    for name in artifact.written:
        if not isinstance(name, str):
            raise _wrong("written", artifact.written, "names of parameters")
    for name in ("static_smem", "dynamic_smem", "max_threads"):
        fields.integer(name, 0)
    for name in ("registers", "spills"):
        fields.integer(name, -1)
    for name, least, count in (("block", 1, 3), ("cluster", 1, 3), ("built_with", 0, 2)):
        value = getattr(artifact, name)
        if value is None and name != "built_with":
            continue
        if not isinstance(value, tuple) or len(value) != count or not all(_is_integer(x, least) for x in value):
            raise _wrong(name, value, f"{count} numbers")


def check_variant(signature: dict[str, Any], artifacts: Sequence[Artifact]) -> None:
    """Check that code takes the parameters that its signature says. Errors: `ArtifactError`."""
    check_signature(signature)
    if not artifacts:
        raise ArtifactError("a signature of the exported kernel has no code")
    wanted = [*_packed(signature["parameters"]), *(dim["type"] for dim in signature["dims"])]
    for artifact in artifacts:
        if list(artifact.params) != wanted:
            raise _wrong("params", artifact.params, f"{', '.join(wanted)}, as its signature says")
        if artifact.block is None:
            raise _wrong("block", None, "a block")


def _packed(parameters: list[dict[str, Any]]) -> list[str]:
    """The kinds of the kernel's parameters that arguments make."""
    found: list[str] = []
    for parameter in parameters:
        match parameter["kind"]:
            case "struct" | "sequence":
                found += _packed(parameter["fields"])
            case "array":
                found.append("tensormap" if "box" in parameter else "ptr")
            case "pointer":
                found.append("ptr")
            case "scalar":
                found.append(parameter["dtype"])
    return found


def _parameter(path: str, parameter: Any, dims: set[str], depth: int, item: int | None = None) -> str:
    """Check a parameter, or the item of that number of one; gives its name."""
    fields = _Fields(path, parameter)
    name = fields.identifier("name") if item is None else fields.one_of("name", (str(item),))
    match fields.one_of("kind", ("array", "scalar", "pointer", "constant", "none", "struct", "sequence")):
        case "array":
            _array(fields, dims)
        case "scalar":
            fields.one_of("dtype", DTYPES)
            takes = fields.one_of("takes", _TAKES)
            if takes in ("int", "uint"):
                low, high = (fields.integer(end, -_I64, 2 * _I64 - 1) for end in ("low", "high"))
                if low > high:
                    raise _wrong(f"{path}.low", low, f"a number up to {high}")
            if "beyond" in parameter and not _is_number(parameter["beyond"]):
                raise _wrong(f"{path}.beyond", parameter["beyond"], "a number")
            if not _is_number(parameter.get("default", 0)):
                raise _wrong(f"{path}.default", parameter["default"], "a number")
        case "pointer":
            fields.text("says")
            fields.one_of("dtype", DTYPES)
            fields.integer("align", 1)
        case "constant":
            if "value" not in parameter:
                fields.text("opaque")
            elif not isinstance(parameter["value"], bool | int | float | str | None):
                raise _wrong(f"{path}.value", parameter["value"], "a plain value")
        case "none":
            fields.text("says")
        case "struct" | "sequence" as kind:
            fields.text("class" if kind == "struct" else "says")
            if depth == MOST_DEPTH:
                raise ArtifactError(f"the exported kernel is malformed: {path} is nested too deeply")
            held = [
                _parameter(f"{path}.fields[{i}]", x, dims, depth + 1, i if kind == "sequence" else None)
                for i, x in enumerate(fields.list("fields"))
            ]
            if len(set(held)) != len(held):
                raise _wrong(f"{path}.fields", held, "fields of different names")
    return name


def _array(fields: _Fields, dims: set[str]) -> None:
    fields.text("says")
    dtype = fields.one_of("dtype", DTYPES)
    said = fields.said
    if "cosize" in said:
        fields.integer("cosize", 0)
        fields.text("layout")
    else:
        for name in ("shape", *(() if "order" in said else ("strides",))):
            for i, extent in enumerate(fields.list(name)):
                _expr(f"{fields.path}.{name}[{i}]", extent, dims)
        if len(said["shape"]) > MOST_MODES or len(said.get("strides", said["shape"])) != len(said["shape"]):
            raise _wrong(f"{fields.path}.shape", said["shape"], f"up to {MOST_MODES} modes, each with a stride")
        if "order" in said:
            fields.one_of("order", ("row", "col"))
    if "box" in said:
        fields.one_of("swizzle", SWIZZLES)
        if not DTYPES[dtype].tensormap or not 1 <= len(fields.list("box")) <= 5:
            raise _wrong(f"{fields.path}.box", said["box"], "one to five extents")
        for extent in said["box"]:
            if not _is_integer(extent, 1, 256):
                raise _wrong(f"{fields.path}.box", said["box"], "extents from 1 to 256")
    elif dtype != "tf32" or "align" in said:
        fields.integer("align", 1)


def _expr(path: str, expr: Any, dims: set[str]) -> None:
    if isinstance(expr, dict):
        fields = _Fields(path, expr)
        fields.text("text")
        _tree(path, fields.value("tree"), dims, 0)
    elif isinstance(expr, list):
        raise _wrong(path, expr, "a number, a dim, or an expression with its text")
    else:
        _tree(path, expr, dims, 0)


def _tree(path: str, tree: Any, dims: set[str], depth: int) -> None:
    if _is_integer(tree, -_I64, _I64 - 1) or (isinstance(tree, str) and tree in dims):
        return
    known = isinstance(tree, list) and len(tree) == 3 and isinstance(tree[0], str) and tree[0] in OPERATIONS
    if not known or depth == MOST_DEPTH or (tree[0] in ("floordiv", "ceil_div", "mod") and not _is_integer(tree[2], 1)):
        raise _wrong(path, tree, "an expression over its dims")
    for operand in tree[1:]:
        _tree(path, operand, dims, depth + 1)


class _Fields:
    """The fields of an object, asked for by name. `path` is where it is in the file."""

    def __init__(self, path: str, said: Any) -> None:
        self.path = path
        if not isinstance(said, dict):
            raise _wrong(path, said, "an object")
        self.said: dict[str, Any] = said

    def value(self, name: str) -> Any:
        if name not in self.said:
            raise ArtifactError(f"the exported kernel is malformed: {self.path} has no {name!r}")
        return self.said[name]

    def list(self, name: str) -> list[Any]:
        value = self.value(name)
        if not isinstance(value, list):
            raise _wrong(f"{self.path}.{name}", value, "a list")
        return value

    def text(self, name: str) -> str:
        value = self.value(name)
        if not isinstance(value, str) or not value.isprintable():
            raise _wrong(f"{self.path}.{name}", value, "text of one line")
        return value

    def identifier(self, name: str) -> str:
        value = self.text(name)
        if not value.isidentifier():
            raise _wrong(f"{self.path}.{name}", value, "a name")
        return value

    def one_of(self, name: str, known: Any) -> str:
        value = self.value(name)
        if not isinstance(value, str) or value not in known:
            raise _wrong(f"{self.path}.{name}", value, f"one of {', '.join(known)}")
        return value

    def integer(self, name: str, least: int, most: int = _I64 - 1) -> int:
        value: int = self.value(name)
        if not _is_integer(value, least, most):
            raise _wrong(f"{self.path}.{name}", value, f"a whole number of at least {least}")
        return value


def _is_integer(x: Any, least: int, most: int = _I64 - 1) -> bool:
    return type(x) is int and least <= x <= most


def _is_number(x: Any) -> bool:
    return isinstance(x, bool | int | float) and math.isfinite(x)


def _wrong(path: str, value: Any, wanted: str) -> ArtifactError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return ArtifactError(f"the exported kernel is malformed: {path} is {shown}, and should be {wanted}")
