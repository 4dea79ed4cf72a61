"""C for an exported kernel: a header, and a source that holds its code, checks arguments and launches.

In: a `Bundle`. Out: `NAME.h` and `NAME.c`, which need `cuda.h` and libcuda alone:

    int NAME_load(NAME_kernel **kernel);                  into the current context
    int NAME_launch(NAME_kernel *, const cutelite_launch *, arguments...);
    int NAME_run(NAME_kernel *, CUstream, arguments...);  where it was exported with its grid
    void NAME_unload(NAME_kernel *);
    const char *NAME_error(void);                         words for this thread's last failure

0 is success, -1 arguments that do not fit, everything else a `CUresult`. Arrays come as `cutelite_tensor`, which is
DLPack's `DLTensor`; structs field by field; compile-time constants not at all. The rules are the launcher's own
(`launcher/rules.c`), over the tables that it goes through too (`signature.table`); `c/stub.c` has words for them.
With TVM-FFI's headers there, -DCUTELITE_TVM_FFI adds `__tvm_ffi_NAME`: of the arguments where it was exported with its
grid, else of grid x, y, z, bytes of shared memory, and the arguments.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from cutelite_rt.artifact import Artifact
from cutelite_rt.dtype import DTYPES
from cutelite_rt.export.bundle import Bundle, Variant, rank_of
from cutelite_rt.gpu.tensormap import DATA_TYPES, SWIZZLES
from cutelite_rt.signature.data import Array, Nested, Number, Pointer, Signature, Unsupported, leaves
from cutelite_rt.signature.settled import Rules
from cutelite_rt.signature.table import Table, kind_of

_C_TYPES = {
    **{f"{sign}{bits}": f"{'u' * (sign == 'u')}int{bits}_t" for sign in "iu" for bits in (8, 16, 32, 64)},
    "bool": "int",
    "f32": "float",
    "f64": "double",
    **dict.fromkeys(("f16", "bf16", "tf32", "e4m3", "e5m2"), "float"),
}
# Words of C and C++, and what our functions call theirs.
_TAKEN = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    asm bool true false NULL class new delete this template typename namespace private public protected operator
    kernel launch stream shape memory strides told unsure later on parameters bad by_rule call deferred leaf_words
    i64 u64 memcpy
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
    Errors  ValueError for a name that C has not, for parameters that would have one name in C, and for expressions that
            are nested too deeply; `ArtifactError` (a ValueError) for a bundle that is malformed
    """
    bundle.check()
    name = _checked(name or bundle.name)
    several = len(bundle.variants) > 1
    parts = [_Part(f"{name}_{i}" if several else name, variant) for i, variant in enumerate(bundle.variants)]
    declarations = "\n".join(part.declarations() for part in parts)
    header = _header(name, f"The GPU kernel `{_comment(bundle.name)}`", declarations)
    body = "\n".join(part.definitions() for part in parts)
    return CStub(name, header, f'#include "{name}.h"\n\n{_shared()}\n{_text("export/c", "tvm_ffi.c")}\n{body}')


def _checked(name: str) -> str:
    if not name.isidentifier() or not name.isascii() or name in _TAKEN:
        raise ValueError(f"{name!r} is no name for C functions")
    return name


def _header(name: str, what: str, declarations: str) -> str:
    guard = f"{name.upper()}_CUTELITE_H"
    return (
        f"/* {what}, exported by cutelite. */\n#ifndef {guard}\n#define {guard}\n\n"
        f'{_text("export/c", "stub.h")}\n#ifdef __cplusplus\nextern "C" {{\n#endif\n\n{declarations}\n'
        f"#ifdef __cplusplus\n}}\n#endif\n#endif\n"
    )


def _text(folder: str, file: str) -> str:
    room = os.path.dirname(os.path.dirname(__file__))
    with open(os.path.join(room, folder, file), encoding="utf-8") as opened:
        return opened.read()


def _shared() -> str:
    """C that all kernels share: words around the launcher's own rules."""
    source = _text("export/c", "stub.c")
    for name in ("tables.h", "rules.c"):
        source = source.replace(f"@@{name}@@\n", _text("launcher", name))
    return source


class _Leaf(NamedTuple):
    """One argument of the C functions: a parameter, or a field of one that is a struct."""

    is_: Array | Number | Pointer
    c_name: str

    @classmethod
    def of(cls, parameter: Array | Number | Pointer) -> _Leaf:
        c_name = parameter.name.replace(".", "_")
        return cls(parameter, c_name + "_" * (c_name in _TAKEN or not c_name.isascii()))

    @property
    def dtype(self) -> str:
        assert isinstance(self.is_.dtype, str), "signatures of exported kernels are settled"
        return self.is_.dtype

    @property
    def declared(self) -> str:
        if isinstance(self.is_, Array):
            return f"const cutelite_tensor *{self.c_name}"
        if isinstance(self.is_, Pointer):
            return f"CUdeviceptr {self.c_name}"
        return f"{_C_TYPES[self.dtype]} {self.c_name}"


class _Part:
    """C for one signature."""

    def __init__(self, name: str, variant: Variant) -> None:
        self.name, self.variant = name, variant
        self.kernel: str = variant.signature["kernel"]
        self.dims: list[dict[str, Any]] = variant.signature["dims"]
        rules = Rules(variant.signature)
        self.leaves = [_Leaf.of(leaf) for p in rules.parameters.values() for leaf in leaves(p)]
        c_names = [leaf.c_name for leaf in self.leaves]
        if len(set(c_names)) != len(c_names):
            raise ValueError(f"{self.kernel} has parameters that C would have one name for: {', '.join(c_names)}")
        self.grid = rules.grid
        parameters = tuple(leaf.is_ for leaf in self.leaves)
        grid = None if rules.grid is None else tuple(rules.grid)
        said = Signature(self.kernel, parameters, len(parameters), dims=tuple(rules.dims.values()), grid=grid)
        try:
            self.table = Table(said)
        except Unsupported as error:
            raise ValueError(f"{self.kernel} has no C: {error}") from None
        self.arrays = [(i, leaf.is_) for i, leaf in enumerate(self.leaves) if isinstance(leaf.is_, Array)]

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
        images = _images(self.name, self.variant.artifacts)
        return "".join((*images, *self._tables(), *self._functions(), self._tvm_ffi()))

    # Tables.

    def _tables(self) -> Iterator[str]:
        name, table = self.name, self.table
        words = list(table.words(f"{name}_tables"))
        lines = (", ".join(words[at : at + 8]) for at in range(0, len(words), 8))
        yield f"static const u64 {name}_tables[] = {{\n" + ",\n".join(lines) + "};\n"
        yield _rows("leaf_words", f"{name}_leaves", map(_leaf_words, self.leaves))
        wide = (f"{{{_string(dim['name'])}, {int(dim['type'] == 'i64')}}}" for dim in self.dims)
        yield _rows("dim_words", f"{name}_dims", wide)
        by_name = sorted(range(len(self.dims)), key=lambda i: str(self.dims[i]["name"]))
        yield f"static const unsigned char {name}_by_name[] = {{{', '.join(map(str, by_name)) or '0'}}};\n"
        yield _rows("char *const", f"{name}_expressions", map(_string, table.expressions))
        maps = (f"{{{i}, {_map_form(array)}}}" for i, array in self.arrays if array.box is not None)
        yield _rows("leaf_map", f"{name}_maps", maps)
        tables = f"{name}_tables, {name}_leaves, {name}_dims, {name}_by_name, {name}_expressions"
        yield _kernel_rule(name, self.kernel, tables, self.variant.artifacts, bool(self.variant.signature.get("wide")))

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
                f"{self._run()} {{\n    cutelite_launch launch = {{{{0, 0, 0}}, 0, stream, 0, 0, 0, NULL}};\n"
                f"    return {name}_start(kernel, &launch, 1{names});\n}}\n\n"
            )

    def _body(self) -> Iterator[str]:
        """Fit every argument, launch with what they are."""
        name, table, places = self.name, self.table, self.table.places.at
        dims = max(len(self.dims), 1)
        yield "    if (!by_rule && !(launch->grid[0] && launch->grid[1] && launch->grid[2])) return 0;\n"
        yield f"    _Alignas(128) char memory[{table.scratch}] = {{0}};\n"
        yield f"    const leaf_words *told[{dims}] = {{0}}, *unsure[{dims}] = {{0}};\n"
        yield f"    deferred later[{max(table.later, 1)}];\n"
        if self.arrays:
            yield f"    i64 strides[{len(self.arrays)}][MOST_MODES];\n"
        yield (
            f"    call on = {{.is = (const void *){name}_tables, .memory = memory, .kernel = &{name}_rule,\n"
            "               .told = told, .unsure = unsure, .later = later};\n"
        )
        pointers = ", ".join(f"memory + {at}" for at in places) or "NULL"
        yield f"    void *parameters[] = {{{pointers}}};\n    cutelite_launch shape = *launch;\n    int bad;\n"
        numbers = {i: n for n, (i, _) in enumerate(self.arrays)}
        for i, leaf in enumerate(self.leaves):
            yield self._fitted(leaf, i, places[i], numbers.get(i, 0))
        yield f"    if ((bad = fit_dims(&on, {name}_maps))) return bad;\n"
        if self.grid:
            yield "    if (by_rule && (bad = grid_of_dims(&on, shape.grid))) return bad == NOTHING ? 0 : -1;\n"
        yield f"    return launch_kernel(&{name}_rule, kernel, &shape, parameters);\n"

    def _fitted(self, leaf: _Leaf, i: int, at: int, array: int) -> str:
        c_name = leaf.c_name
        if isinstance(leaf.is_, Array):
            return f"    if ((bad = fit_array(&on, {i}, {array}, {c_name}, strides[{array}]))) return bad;\n"
        out, kind = f"memory + {at}", kind_of(leaf.is_)
        if isinstance(leaf.is_, Pointer):
            return f"    if ((bad = fit_pointer(&on, {i}, {kind}, {c_name}, {out}))) return bad;\n"
        if leaf.dtype in ("f16", "bf16", "tf32", "e4m3", "e5m2"):
            return f"    if ((bad = fit_number(&on, {i}, {kind}, {c_name}, {out}))) return bad;\n"
        if leaf.dtype == "bool":
            return f"    memory[{at}] = {c_name} != 0;\n"
        return f"    memcpy({out}, &{c_name}, sizeof {c_name});\n"

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
    cutelite_launch launch = {{{{0, 0, 0}}, 0, NULL, 0, 0, 0, NULL}};
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


def _images(name: str, artifacts: Sequence[Artifact]) -> Iterator[str]:
    ordered = sorted(artifacts, key=lambda a: (bool(a.cubin), *rank_of(a.arch)))
    rows = []
    for i, artifact in enumerate(ordered):
        image = artifact.cubin or artifact.ptx.encode() + b"\0"
        lines = (", ".join(map(str, image[at : at + 24])) for at in range(0, len(image), 24))
        yield f"static const unsigned char {name}_image{i}[] = {{\n" + ",\n".join(lines) + "};\n"
        number, is_f, is_a = rank_of(artifact.arch)
        suffix = "'a'" if is_a else "'f'" if is_f else "0"
        rows.append(f"    {{{number}, {suffix}, {int(not artifact.cubin)}, {name}_image{i}}},\n")
    yield f"static const image_entry {name}_images[] = {{\n{''.join(rows)}}};\n"


def _kernel_rule(name: str, kernel: str, tables: str, artifacts: Sequence[Artifact], wide: bool) -> str:
    artifact = artifacts[0]
    cluster = artifact.cluster or (1, 1, 1)
    blocks = cluster[0] * cluster[1] * cluster[2] if artifact.cluster else 0
    return (
        f"static const kernel_rule {name}_rule = {{\n    {_string(kernel)}, {tables},\n"
        f"    {_braces(artifact.block or ())}, {_braces(cluster)}, {blocks}, {artifact.dynamic_smem}, "
        f"{max(a.static_smem for a in artifacts)}, {int(wide)}}};\n\n"
    )


def _tvm_argument(leaf: _Leaf) -> str:
    kind = "ARRAY" if isinstance(leaf.is_, Array) else kind_of(leaf.is_)
    dtype = "u64" if isinstance(leaf.is_, Pointer) else leaf.dtype
    return f"{{{kind}, {_string(leaf.is_.name)}, {_string(dtype)}}}"


def _tvm_value(leaf: _Leaf, place: int) -> str:
    if isinstance(leaf.is_, Array):
        return f"tvm_tensor(&args[{place}])"
    if isinstance(leaf.is_, Pointer):
        return f"(CUdeviceptr)args[{place}].v_int64"
    if DTYPES[leaf.dtype].kind == "float":
        return f"({_C_TYPES[leaf.dtype]})tvm_float(&args[{place}])"
    return f"({_C_TYPES[leaf.dtype]})args[{place}].v_int64"


def _leaf_words(leaf: _Leaf) -> str:
    says = layout = ""
    if isinstance(leaf.is_, Array):
        says, of = leaf.is_.says, leaf.is_.layout
        layout = of.layout if isinstance(of, Nested) else ""
    return "{" + ", ".join(map(_string, (leaf.is_.name, says, leaf.dtype, layout))) + "}"


def _map_form(array: Array) -> str:
    assert array.box is not None and isinstance(array.dtype, str)
    row, box = DTYPES[array.dtype], array.box.extents
    form = DATA_TYPES[row.tensormap], SWIZZLES[array.box.swizzle], row.bytes, len(box)
    return f"{{{', '.join(map(str, form))}, {_braces(box[::-1])}}}"


def _rows(kind: str, name: str, rows: Iterable[str]) -> str:
    """An array of C with that content; of one empty row where there is none, which C asks for."""
    text = "".join(f"    {row},\n" for row in rows) or "    0\n" * ("char" in kind) or "    {0}\n"
    return f"static const {kind} {name}[] = {{\n{text}}};\n"


def _braces(numbers: Any) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"


def _string(text: str) -> str:
    """A C literal; JSON escapes as C does, for text without control characters. No trigraph is left in it."""
    return json.dumps(text, ensure_ascii=False).replace("??", '?""?')


def _comment(text: str) -> str:
    """Text that neither ends nor begins a comment."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
