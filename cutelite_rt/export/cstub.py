"""C for an exported kernel: a header, and a source that holds its code, checks arguments and launches.

In: a `Bundle`. Out: `NAME.h` and `NAME.c`, which need `cuda.h` and libcuda alone:

    int NAME_load(NAME_kernel **kernel);                  into the current context
    int NAME_launch(NAME_kernel *, const cutelite_launch *, arguments...);
    int NAME_run(NAME_kernel *, CUstream, arguments...);  where it was exported with its grid
    void NAME_unload(NAME_kernel *);
    const char *NAME_error(void);                         words for this thread's last failure

0 is success, -1 arguments that do not fit, everything else a `CUresult`. Arrays come as `cutelite_tensor`, which is
DLPack's `DLTensor`; structs field by field; compile-time constants not at all. The rules are those of `signature.bind`,
as tables for `c/stub.c`. With TVM-FFI's headers there, -DCUTELITE_TVM_FFI adds `__tvm_ffi_NAME`: of the arguments where
it was exported with its grid, else of grid x, y, z, bytes of shared memory, and the arguments.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from cutelite_rt.dtype import DTYPES
from cutelite_rt.export.bundle import Bundle, Variant, rank_of
from cutelite_rt.gpu.params import ParameterLayout
from cutelite_rt.gpu.tensormap import DATA_TYPES, SWIZZLES

_MOST = 64  # dims, and expressions to check, that `c/stub.c` has room for
_C_TYPES = {
    **{f"{sign}{bits}": f"{'u' * (sign == 'u')}int{bits}_t" for sign in "iu" for bits in (8, 16, 32, 64)},
    "bool": "int",
    "f32": "float",
    "f64": "double",
    **dict.fromkeys(("f16", "bf16", "tf32", "e4m3", "e5m2"), "float"),
}
_FORMATS = {"f16": (5, 10, 1), "bf16": (8, 7, 1), "tf32": (8, 10, 1), "e4m3": (4, 3, 0), "e5m2": (5, 2, 1)}
"""Of floats that C has not: bits of exponent and mantissa, and whether there are infinities."""
# Words of C and C++, and what our functions call theirs.
_TAKEN = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    asm bool true false NULL class new delete this template typename namespace private public protected operator
    kernel launch stream call pointers at status
    """.split()  # noqa: SIM905
)


class CStub(NamedTuple):
    """C for one kernel: what is in `NAME.h` and `NAME.c`."""

    name: str
    header: str
    source: str

    def save(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write both files; gives their paths."""
        os.makedirs(folder, exist_ok=True)
        paths = []
        for ending, content in (("h", self.header), ("c", self.source)):
            paths.append(os.path.join(folder, f"{self.name}.{ending}"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(content)
        return paths


def c_stub(bundle: Bundle, name: str | None = None) -> CStub:
    """C for `bundle`, its functions called `name`_..., by default as the kernel is.

    Of several signatures each has functions of its own: `name`_0_..., `name`_1_..., in their order.
    Errors  ValueError for a name that C has not, and for a kernel with more than 64 dims or expressions to check, or
            parameters that would have one name in C; `ArtifactError` (a ValueError) for a bundle that is malformed
    """
    bundle.check()
    name = name or bundle.name
    if not name.isidentifier() or not name.isascii() or name in _TAKEN:
        raise ValueError(f"{name!r} is no name for C functions")
    several = len(bundle.variants) > 1
    parts = [_Part(f"{name}_{i}" if several else name, variant) for i, variant in enumerate(bundle.variants)]
    guard = f"{name.upper()}_CUTELITE_H"
    declarations = "\n".join(part.declarations() for part in parts)
    header = (
        f"/* The GPU kernel `{_comment(bundle.name)}`, exported by cutelite. */\n#ifndef {guard}\n#define {guard}\n\n"
        f'{_text("stub.h")}\n#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{declarations}\n'
        f"#ifdef __cplusplus\n}}\n#endif\n#endif\n"
    )
    body = "\n".join(part.definitions() for part in parts)
    return CStub(name, header, f'#include "{name}.h"\n\n{_text("stub.c")}\n{_text("tvm_ffi.c")}\n{body}')


def _text(file: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), "c", file), encoding="utf-8") as opened:
        return opened.read()


class _Leaf(NamedTuple):
    """One argument of the C functions: a parameter, or a field of one that is a struct."""

    name: str  # in words, such as 'scales.left'
    c_name: str
    rule: dict[str, Any]

    @property
    def declared(self) -> str:
        if self.rule["kind"] == "array":
            return f"const cutelite_tensor *{self.c_name}"
        if self.rule["kind"] == "pointer":
            return f"CUdeviceptr {self.c_name}"
        return f"{_C_TYPES[self.rule['dtype']]} {self.c_name}"


class _Part:
    """C for one signature."""

    def __init__(self, name: str, variant: Variant) -> None:
        self.name, self.variant = name, variant
        self.kernel: str = variant.signature["kernel"]
        self.dims: list[dict[str, Any]] = variant.signature["dims"]
        self.grid = variant.signature["grid"]
        self.leaves = list(_leaves(variant.signature["parameters"]))
        c_names = [leaf.c_name for leaf in self.leaves]
        if len(set(c_names)) != len(c_names):
            raise ValueError(f"{self.kernel} has parameters that C would have one name for: {', '.join(c_names)}")
        self._index = {dim["name"]: i for i, dim in enumerate(self.dims)}
        self._expressions: list[str] = []
        later = sum(isinstance(x, dict) for leaf in self.leaves for key in _EXTENTS for x in leaf.rule.get(key, ()))
        if max(len(self.dims), later) > _MOST:
            raise ValueError(
                f"{self.kernel} has {len(self.dims)} dims and {later} expressions to check; C takes {_MOST}"
            )

    def _arguments(self, *first: str) -> str:
        return ", ".join((*first, *(leaf.declared for leaf in self.leaves)))

    def _launch(self) -> str:
        return (
            f"int {self.name}_launch({self._arguments(f'{self.name}_kernel *kernel', 'const cutelite_launch *launch')})"
        )

    def _run(self) -> str:
        return f"int {self.name}_run({self._arguments(f'{self.name}_kernel *kernel', 'CUstream stream')})"

    def declarations(self) -> str:
        name = self.name
        lines = [
            f"/* {_comment(self.kernel)}({_comment(self.variant.signature['text'])})",
            "   0: success; -1: arguments that do not fit; else a CUresult. `_error` has words for the last failure of",
            "   the calling thread. A kernel is loaded into the current context, and launched there. */",
            f"typedef struct cutelite_loaded {name}_kernel;",
            f"int {name}_load({name}_kernel **kernel);",
            f"{self._launch()};",
            *([f"{self._run()}; /* with the grid that it was exported with */"] if self.grid else []),
            f"void {name}_unload({name}_kernel *kernel);",
            f"const char *{name}_error(void);",
        ]
        return "\n".join(lines) + "\n"

    def definitions(self) -> str:
        tables = "".join(self._tables())  # which fills `_expressions`
        return "".join((*self._images(), *self._expressions, tables, *self._functions(), self._tvm_ffi()))

    # Tables.

    def _images(self) -> Iterator[str]:
        ordered = sorted(self.variant.artifacts, key=lambda a: (bool(a.cubin), *rank_of(a.arch)))
        rows = []
        for i, artifact in enumerate(ordered):
            image = artifact.cubin or artifact.ptx.encode() + b"\0"
            lines = (", ".join(map(str, image[at : at + 24])) for at in range(0, len(image), 24))
            yield f"static const unsigned char {self.name}_image{i}[] = {{\n" + ",\n".join(lines) + "};\n"
            number, is_f, is_a = rank_of(artifact.arch)
            suffix = "'a'" if is_a else "'f'" if is_f else "0"
            rows.append(f"    {{{number}, {suffix}, {int(not artifact.cubin)}, {self.name}_image{i}}},\n")
        yield f"static const image_entry {self.name}_images[] = {{\n{''.join(rows)}}};\n"

    def _tables(self) -> Iterator[str]:
        for i, leaf in enumerate(self.leaves):
            if leaf.rule["kind"] == "array":
                yield from self._array(i, leaf)
        rows = "".join(
            f"    {{{_string(d['name'])}, {d['divisible_by']}, {d['min']}, "
            f"{'INT64_MAX' if d['max'] is None else d['max']}, {int(d['type'] == 'i64')}}},\n"
            for d in self.dims
        )
        by_name = sorted(range(len(self.dims)), key=lambda i: str(self.dims[i]["name"]))
        yield f"static const dim_rule {self.name}_dims[] = {{\n{rows or '    {0}'}}};\n"
        yield f"static const unsigned char {self.name}_by_name[] = {{{', '.join(map(str, by_name)) or '0'}}};\n"
        artifact = self.variant.artifacts[0]
        cluster = artifact.cluster or (1, 1, 1)
        blocks = cluster[0] * cluster[1] * cluster[2] if artifact.cluster else 0
        most_static = max(a.static_smem for a in self.variant.artifacts)
        yield (
            f"static const kernel_rule {self.name}_rule = {{\n    {_string(self.kernel)}, {self.name}_dims, "
            f"{len(self.dims)}, {self.name}_by_name, {_braces(artifact.block or ())}, {_braces(cluster)}, {blocks}, "
            f"{artifact.dynamic_smem}, {most_static}, {int(bool(self.variant.signature.get('wide')))}}};\n\n"
        )

    def _array(self, i: int, leaf: _Leaf) -> Iterator[str]:
        rule, name = leaf.rule, f"{self.name}_{leaf.c_name}"
        dlpack = DTYPES["f32" if rule["dtype"] == "tf32" else rule["dtype"]].dlpack
        assert dlpack is not None, "only tf32 has none"
        for key in _EXTENTS:
            if key in rule:
                rows = "".join(f"    {self._extent(x)},\n" for x in rule[key])
                yield f"static const extent_rule {name}_{key}[] = {{\n{rows or '    {0}'}}};\n"
        box = "NULL"
        if "box" in rule:
            box = f"{name}_box"
            yield f"static const uint32_t {box}[] = {_braces(rule['box'][::-1])};\n"
        order = "NESTED" if "cosize" in rule else _ORDERS[rule.get("order", "")]
        yield (
            f"static const array_rule {name}_rule = {{\n    {_string(leaf.name)}, {_string(rule['says'])}, "
            f"{_string(rule['dtype'])}, {dlpack[0]}, {dlpack[1]}, {len(rule.get('shape', ()))}, {order},\n    "
            f"{name + '_shape' if 'shape' in rule else 'NULL'}, {name + '_strides' if 'strides' in rule else 'NULL'}, "
            f"{rule.get('cosize', 0)}, {_string(rule.get('layout', ''))}, {rule.get('align', 1)}, {box}, "
            f"{DATA_TYPES[DTYPES[rule['dtype']].tensormap]}, {SWIZZLES[rule.get('swizzle', 'none')]}}};\n"
        )

    def _extent(self, x: Any) -> str:
        if isinstance(x, int):
            return f"{{NUMBER, {x}, NULL, NULL, 0}}"
        if isinstance(x, str):
            return f"{{DIM, {self._index[x]}, NULL, NULL, 0}}"
        function = f"{self.name}_expression{len(self._expressions)}"
        self._expressions.append(
            f"static int64_t {function}(const int64_t *dims) {{ return {_c_expression(x, self._index)}; }}\n"
        )
        bits = sum(1 << self._index[dim] for dim in set(_dims_of(x["tree"])))
        return f"{{EXPRESSION, 0, {function}, {_string(x['text'])}, {bits}ull}}"

    # Functions.

    def _functions(self) -> Iterator[str]:
        name = self.name
        yield f"const char *{name}_error(void) {{ return last_error; }}\n\n"
        yield (
            f"int {name}_load({name}_kernel **kernel) {{\n"
            f"    return load(&{name}_rule, {name}_images, {len(self.variant.artifacts)}, kernel);\n}}\n\n"
        )
        yield f"void {name}_unload({name}_kernel *kernel) {{ unload(kernel); }}\n\n"
        names = "".join(f", {leaf.c_name}" for leaf in self.leaves)
        first = f"{name}_kernel *kernel", "const cutelite_launch *launch", "int by_rule"
        yield f"static int {name}_start({self._arguments(*first)}) {{\n{''.join(self._body())}}}\n\n"
        yield f"{self._launch()} {{\n    return {name}_start(kernel, launch, 0{names});\n}}\n\n"
        if self.grid:
            yield (
                f"{self._run()} {{\n    cutelite_launch launch = {{{{0, 0, 0}}, 0, stream, 0, 0}};\n"
                f"    return {name}_start(kernel, &launch, 1{names});\n}}\n\n"
            )

    def _body(self) -> Iterator[str]:
        """Fit every argument, lay out the parameters, launch."""
        artifact = self.variant.artifacts[0]
        layout = ParameterLayout(artifact.params)
        yield "    if (!by_rule && !(launch->grid[0] && launch->grid[1] && launch->grid[2])) return 0;\n"
        yield f"    call_state call = {{.kernel = &{self.name}_rule}};\n    cutelite_launch shape = *launch;\n"
        yield f"    _Alignas(128) unsigned char at[{max(layout.size, 1)}] = {{0}};\n"
        pointers = ", ".join(f"at + {offset}" for offset in layout.offsets) or "NULL"
        yield f"    void *pointers[] = {{{pointers}}};\n    int status;\n    (void)at;\n"
        for leaf, offset in zip(self.leaves, layout.offsets, strict=False):
            yield from self._fitted(leaf, offset)
        yield "    if ((status = fit_dims(&call))) return status;\n"
        for i, (dim, offset) in enumerate(zip(self.dims, layout.offsets[len(self.leaves) :], strict=True)):
            kind = _C_TYPES[dim["type"]]
            yield f"    {{ {kind} value = ({kind})call.dims[{i}]; memcpy(at + {offset}, &value, sizeof value); }}\n"
        if self.grid:
            yield "    if (by_rule) {\n        const int64_t *dims = call.dims;\n        (void)dims;\n"
            for axis, x in enumerate((*self.grid, 1, 1)[:3]):
                yield f"        shape.grid[{axis}] = (unsigned)({_c_expression(x, self._index)});\n"
            yield "    }\n"
        yield f"    return launch_kernel(&{self.name}_rule, kernel, &shape, pointers);\n"

    def _fitted(self, leaf: _Leaf, offset: int) -> Iterator[str]:
        rule, c_name = leaf.rule, leaf.c_name
        if rule["kind"] == "array":
            places = (
                ("NULL", f"(CUtensorMap *)(at + {offset})")
                if "box" in rule
                else (f"(CUdeviceptr *)(at + {offset})", "NULL")
            )
            fit = f"fit_array(&call, &{self.name}_{c_name}_rule, {c_name}, {', '.join(places)})"
            yield f"    if ((status = {fit})) return status;\n"
            return
        if rule["kind"] == "pointer":
            given = f"{_string(self.kernel)}, {_string(leaf.name)}, {c_name}, {rule['align']}"
            yield (
                f"    if ((status = fit_pointer({given}))) return status;\n"
                f"    memcpy(at + {offset}, &{c_name}, sizeof {c_name});\n"
            )
            return
        dtype, kind = rule["dtype"], _C_TYPES[rule["dtype"]]
        if dtype in _FORMATS:
            exponent, mantissa, infinite = _FORMATS[dtype]
            bits = DTYPES[dtype].bytes * 8
            shift = " << 13" if dtype == "tf32" else ""
            yield (
                f"    {{\n        long code;\n        status = fit_float({_string(self.kernel)}, {_string(leaf.name)}, "
                f"{_string(dtype)}, {c_name}, {exponent}, {mantissa}, {infinite}, &code);\n"
                f"        if (status) return status;\n        uint{bits}_t value = (uint{bits}_t)(code{shift});\n"
                f"        memcpy(at + {offset}, &value, sizeof value);\n    }}\n"
            )
        elif dtype == "bool":
            yield f"    at[{offset}] = {c_name} != 0;\n"
        else:
            yield f"    {{ {kind} value = {c_name}; memcpy(at + {offset}, &value, sizeof value); }}\n"

    def _tvm_ffi(self) -> str:
        """The kernel as a function of TVM-FFI."""
        name, settings = self.name, 0 if self.grid else 4
        rows = "".join(f"    {_tvm_argument(leaf)},\n" for leaf in self.leaves)
        values = [_tvm_value(leaf, settings + i) for i, leaf in enumerate(self.leaves)]
        call = ", ".join((f"{name}_on[device]", "&launch", str(int(bool(self.grid))), *values))
        return f"""#ifdef CUTELITE_TVM_FFI
static struct cutelite_loaded *{name}_on[TVM_DEVICES];
static const tvm_argument {name}_arguments[] = {{
{rows or "    {0}"}}};
TVM_FFI_DLL_EXPORT int __tvm_ffi_{name}(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {{
    cutelite_launch launch = {{{{0, 0, 0}}, 0, NULL, 0, 0}};
    int device = 0;
    (void)self;
    if (tvm_begin(&{name}_rule, {name}_arguments, {len(self.leaves)}, args, count, {settings}, &launch, &device))
        return tvm_raise("TypeError");
    int status = tvm_load(&{name}_rule, {name}_images, {len(self.variant.artifacts)}, device, &{name}_on[device]);
    if (!status) status = {name}_start({call});
    if (status) return tvm_raise(status < 0 ? "TypeError" : "RuntimeError");
    result->type_index = kTVMFFINone;
    result->v_int64 = 0;
    return 0;
}}
#endif
"""


def _tvm_argument(leaf: _Leaf) -> str:
    rule = leaf.rule
    if rule["kind"] == "pointer":
        return f"{{'i', {_string(leaf.name)}, {_string('u64')}, 0, {(1 << 63) - 1}ull}}"
    kind = "t" if rule["kind"] == "array" else {"bool": "b", "float": "f"}.get(rule["takes"], "i")
    low, high = max(rule.get("low", 0), 1 - (1 << 63)), rule.get("high", 0)
    return f"{{'{kind}', {_string(leaf.name)}, {_string(rule['dtype'])}, {low}, {high}ull}}"


def _tvm_value(leaf: _Leaf, place: int) -> str:
    if leaf.rule["kind"] == "array":
        return f"tvm_tensor(&args[{place}])"
    if leaf.rule["kind"] == "pointer":
        return f"(CUdeviceptr)args[{place}].v_int64"
    if leaf.rule["takes"] == "float":
        return f"({_C_TYPES[leaf.rule['dtype']]})tvm_float(&args[{place}])"
    return f"({_C_TYPES[leaf.rule['dtype']]})args[{place}].v_int64"


_EXTENTS = ("shape", "strides")
_ORDERS = {"row": "ROW_MAJOR", "col": "COLUMN_MAJOR", "": "STRIDES"}


def _leaves(parameters: list[dict[str, Any]], prefix: str = "") -> Iterator[_Leaf]:
    for rule in parameters:
        name = prefix + rule["name"]
        if rule["kind"] in ("struct", "sequence"):
            yield from _leaves(rule["fields"], f"{name}.")
        elif rule["kind"] in ("array", "scalar", "pointer"):
            c_name = name.replace(".", "_")
            yield _Leaf(name, c_name + "_" * (c_name in _TAKEN or not c_name.isascii()), rule)


def _dims_of(tree: Any) -> Iterator[str]:
    """Names of the dims in an expression, as often as they occur."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list):
        for operand in tree[1:]:
            yield from _dims_of(operand)


def _c_expression(expr: Any, index: dict[str, int]) -> str:
    """An expr of a signature in C, over `dims`."""
    if isinstance(expr, int):
        return f"INT64_C({expr})"
    if isinstance(expr, str):
        return f"dims[{index[expr]}]"
    if isinstance(expr, dict):
        return _c_expression(expr["tree"], index)
    operation, a, b = expr[0], *(_c_expression(operand, index) for operand in expr[1:])
    return _C_OPERATIONS[operation].format(a=a, b=b)


_C_OPERATIONS = {
    "add": "({a} + {b})",
    "sub": "({a} - {b})",
    "mul": "({a} * {b})",
    "floordiv": "floor_divided({a}, {b})",
    "ceil_div": "-floor_divided(-{a}, {b})",
    "mod": "({a} - {b} * floor_divided({a}, {b}))",
    "min": "({a} < {b} ? {a} : {b})",
    "max": "({a} > {b} ? {a} : {b})",
}


def _braces(numbers: Any) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"


def _string(text: str) -> str:
    """A C literal; JSON escapes as C does, for text without control characters. No trigraph is left in it."""
    return json.dumps(text, ensure_ascii=False).replace("??", '?""?')


def _comment(text: str) -> str:
    """Text that neither ends nor begins a comment."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
