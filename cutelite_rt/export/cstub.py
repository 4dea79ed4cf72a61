"""Write an exported kernel as C: a header, and a source that contains its code, checks arguments and launches.

In: a `Bundle`. Out: `NAME.h` and `NAME.c`, which need `cuda.h` and libcuda alone:

    int NAME_load(NAME_kernel **kernel);                  into the current context
    int NAME_launch(NAME_kernel *, const cutelite_launch *, arguments...);
    int NAME_run(NAME_kernel *, CUstream, arguments...);  where it was exported with its grid
    void NAME_unload(NAME_kernel *);
    const char *NAME_error(void);                         text of this thread's last failure

Results: 0 for success, -1 for arguments that do not fit, else a `CUresult`. Arrays come as `cutelite_tensor`, which is
DLPack's `DLTensor`; structs field by field; compile-time constants not at all. Arguments are checked by the
launcher's own code (`launcher/rules.c`) and tables (`signature.table`); `c/stub.c` adds error texts.
With TVM-FFI's headers, -DCUTELITE_TVM_FFI adds the function `__tvm_ffi_NAME`. It takes the arguments; for a kernel
exported without its grid, before them grid x, y, z and bytes of shared memory.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from cutelite_rt.artifact import Artifact
from cutelite_rt.export.bundle import Bundle, Variant, rank_of
from cutelite_rt.gpu.params import KINDS, ParameterLayout
from cutelite_rt.gpu.tensormap import MapForm
from cutelite_rt.signature.data import Nested, Unsupported
from cutelite_rt.signature.kinds import Array, Leaf, Signature
from cutelite_rt.signature.table import Table

C_WORDS = frozenset(
    """
auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    asm bool true false NULL class new delete this template typename namespace private public protected operator
    _Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local alignas alignof
    and and_eq bitand bitor catch char8_t char16_t char32_t co_await co_return co_yield compl concept const_cast
    consteval constexpr constinit decltype dynamic_cast explicit export friend i386 linux mutable noexcept not not_eq
    nullptr or or_eq reinterpret_cast requires static_assert static_cast thread_local throw try typeid typeof unix using
    virtual wchar_t xor xor_eq
    EOF errno stdin stdout stderr
    """.split()  # noqa: SIM905
)
"""Keywords of C and C++, and macros that compilers begin with: no names of functions and parameters."""

_TAKEN = C_WORDS | frozenset(  # and names that our functions use
    """
    kernel program launch stream shape memory packed strides told unsure later on parameters bad by_rule call deferred
    leaf_words i64 u64 memcpy
    """.split()  # noqa: SIM905
)


def saved(folder: str | os.PathLike[str], files: Mapping[str, bytes]) -> list[str]:
    """Write files to a folder, which is made if there is none; return their paths."""
    os.makedirs(folder, exist_ok=True)
    paths = [os.path.join(folder, name) for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        with open(path, "wb") as file:
            file.write(content)
    return paths


class CStub(NamedTuple):
    """C for one kernel or program: the texts of `NAME.h` and `NAME.c`."""

    name: str
    header: str
    source: str

    def save(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write both files; return their paths."""
        return saved(folder, {f"{self.name}.h": self.header.encode(), f"{self.name}.c": self.source.encode()})


def c_stub(bundle: Bundle, name: str | None = None) -> CStub:
    """Return C for `bundle`, with functions called `name`_...; default: the kernel's name.

    With several signatures each has its own functions: `name`_0_..., `name`_1_..., in their order.
    Errors  ValueError for a name that is none in C, for two parameters with the same name in C, and for expressions
            that are nested too deeply; `ArtifactError` (a ValueError) for a malformed bundle
    """
    bundle.check()
    name = checked_name(name or bundle.name)
    several = len(bundle.variants) > 1
    parts = [_Part(f"{name}_{i}" if several else name, variant) for i, variant in enumerate(bundle.variants)]
    declarations = "\n".join(part.declarations() for part in parts)
    header = header_of(name, f"The GPU kernel `{_comment(bundle.name)}`", declarations)
    body = "\n".join(part.definitions() for part in parts)
    return CStub(name, header, f'#include "{name}.h"\n\n{shared()}\n{_text("export/c", "tvm_ffi.c")}\n{body}')


def arguments_of(kernel: str, signature: Signature, own: str) -> list[Argument]:
    """Return the arguments of the C functions, whose names begin with `own` and an underscore.

    Errors  ValueError for two arguments with the same name
    """
    found = [Argument.of(leaf, own) for leaf in signature.leaves()]
    names = [argument.c_name for argument in found]
    if len({*names}) != len(names):
        raise ValueError(f"{kernel} has parameters that C would have one name for: {', '.join(names)}")
    return found


def layout_of(name: str, artifacts: Sequence[Artifact]) -> ParameterLayout:
    """Return how a kernel's parameters are passed. Errors: ValueError where its architectures have it differently."""
    if len({artifact.params for artifact in artifacts}) > 1:
        raise ValueError(
            f"{name}: code for one architecture takes parameters as an array, and that for another does not"
        )
    return ParameterLayout(artifacts[0].params)


def tables(name: str, table: Table) -> str:
    """Return the launcher's tables in C, as an array called `name`_tables."""
    words = list(table.words(f"{name}_tables"))
    lines = (", ".join(words[at : at + 8]) for at in range(0, len(words), 8))
    return f"static const u64 {name}_tables[] = {{\n" + ",\n".join(lines) + "};\n"


_OWN = (
    "arguments by_name dims error expressions image images kernel launch leaves load loaded maps on program rule run "
    "start tables unload"
)
"""The names of a kernel or program in C, behind its own and an underscore."""


def checked_name(name: str) -> str:
    if not name.isidentifier() or not name.isascii() or name in _TAKEN:
        raise ValueError(f"{name!r} is no name for C functions")
    clash = {f"{name}_{own}" for own in _OWN.split()} & {*re.findall(r"\w+", shared())}
    if clash:
        raise ValueError(f"{name!r} is no name for C functions: `{min(clash)}` is one of ours")
    return name


def header_of(name: str, what: str, declarations: str) -> str:
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


def shared() -> str:
    """Return the C that all kernels share: the launcher's checks, with error texts."""
    source = _text("export/c", "stub.c")
    for name in ("tables.h", "rules.c"):
        source = source.replace(f"@@{name}@@\n", _text("launcher", name))
    return source


@cache
def declared_names() -> frozenset[str]:
    """Return the names of functions, types and numbers of the C that all share: an argument would hide them."""
    text = shared() + _text("export/c", "stub.h")
    found = re.findall(r"(\w+)\(|\}\s*(\w+);|\btypedef [^;{]*\b(\w+);|\b([A-Z_][A-Z0-9_]{2,}|\w+_t)\b", text)
    return frozenset(name for names in found for name in names if name)


class Argument(NamedTuple):
    """One argument of the C functions: a leaf, and its name in C."""

    leaf: Leaf
    c_name: str

    @classmethod
    def of(cls, leaf: Leaf, own: str) -> Argument:
        c_name = leaf.name.replace(".", "_")
        taken = c_name in _TAKEN or c_name in declared_names() or c_name.startswith(f"{own}_")
        return cls(leaf, c_name + "_" * (taken or not c_name.isascii()))

    @property
    def declared(self) -> str:
        return self.leaf.c.declared.format(name=self.c_name)

    @property
    def words(self) -> str:
        """The structure `leaf_words` of stub.c."""
        layout = getattr(self.leaf, "layout", None)
        nested = layout.layout if isinstance(layout, Nested) else ""
        says = self.leaf.says if isinstance(self.leaf, Array) else ""
        return "{" + ", ".join(map(string, (self.leaf.name, says, str(self.leaf.dtype), nested))) + "}"


class _Part:
    """C for one signature."""

    def __init__(self, name: str, variant: Variant) -> None:
        self.name, self.variant, self.signature = name, variant, variant.signature
        self.kernel, self.grid = self.signature.kernel, self.signature.grid
        self.arguments = arguments_of(self.kernel, self.signature, self.name)
        leaves = tuple(argument.leaf for argument in self.arguments)
        dims, grid = self.signature.dims, self.grid
        try:
            self.table = Table(Signature(self.kernel, leaves, len(leaves), dims=dims, grid=grid))
        except Unsupported as error:
            raise ValueError(f"{self.kernel} has no C: {error}") from None
        self.arrays = [(i, leaf) for i, leaf in enumerate(leaves) if isinstance(leaf, Array)]

    def _arguments(self, *first: str) -> str:
        return ", ".join((*first, *(each.declared for each in self.arguments)))

    def _launch(self) -> str:
        return (
            f"int {self.name}_launch({self._arguments(f'{self.name}_kernel *kernel', 'const cutelite_launch *launch')})"
        )

    def _run(self) -> str:
        return f"int {self.name}_run({self._arguments(f'{self.name}_kernel *kernel', 'CUstream stream')})"

    def declarations(self) -> str:
        name = self.name
        lines = [
            f"/* {_comment(self.kernel)}({_comment(self.signature.text)})",
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
        images = images_of(self.name, self.variant.artifacts)
        return "".join((*images, *self._tables(), *self._functions(), self._tvm_ffi()))

    # Tables.

    def _tables(self) -> Iterator[str]:
        name, dims = self.name, self.signature.dims
        yield tables(name, self.table)
        yield array_of("leaf_words", f"{name}_leaves", (argument.words for argument in self.arguments))
        wide = (f"{{{string(dim.name)}, {int(dim.name in self.signature.wide_dims)}}}" for dim in dims)
        yield array_of("dim_words", f"{name}_dims", wide)
        by_name = sorted(range(len(dims)), key=lambda i: dims[i].name)
        yield f"static const unsigned char {name}_by_name[] = {{{', '.join(map(str, by_name)) or '0'}}};\n"
        yield array_of("char *const", f"{name}_expressions", map(string, self.table.expressions))
        maps = (f"{{{i}, {map_form(array.form)}}}" for i, array in self.arrays if array.form is not None)
        yield array_of("leaf_map", f"{name}_maps", maps)
        its = f"{name}_tables, {name}_leaves, {name}_dims, {name}_by_name, {name}_expressions"
        yield kernel_rule(name, self.kernel, its, self.variant.artifacts, self.signature.wide)

    # Functions.

    def _functions(self) -> Iterator[str]:
        name = self.name
        yield f"const char *{name}_error(void) {{ return last_error; }}\n\n"
        yield (
            f"int {name}_load({name}_kernel **kernel) {{\n"
            f"    return load(&{name}_rule, {name}_images, {len(self.variant.artifacts)}, kernel);\n}}\n\n"
        )
        yield f"void {name}_unload({name}_kernel *kernel) {{ unload(kernel); }}\n\n"
        names = "".join(f", {argument.c_name}" for argument in self.arguments)
        first = f"{name}_kernel *kernel", "const cutelite_launch *launch", "int by_rule"
        yield f"static int {name}_start({self._arguments(*first)}) {{\n{''.join(self._body())}}}\n\n"
        yield f"{self._launch()} {{\n    return {name}_start(kernel, launch, 0{names});\n}}\n\n"
        if self.grid:
            yield (
                f"{self._run()} {{\n    cutelite_launch launch = {{{{0, 0, 0}}, 0, stream, 0, 0, 0, NULL}};\n"
                f"    return {name}_start(kernel, &launch, 1{names});\n}}\n\n"
            )

    def _body(self) -> Iterator[str]:
        """Yield the statements that check every argument, and then launch."""
        name, table, places = self.name, self.table, self.table.places.at
        dims = max(len(self.signature.dims), 1)
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
        layout = layout_of(name, self.variant.artifacts)
        apart = len(layout.starts) == len(layout.offsets)  # none is an array
        pointers = ", ".join(f"memory + {at}" for at in places)
        if not apart:
            yield f"    _Alignas(16) char packed[{layout.size}];\n"
            pointers = ", ".join(f"packed + {at}" for at in layout.starts)
        yield f"    void *parameters[] = {{{pointers or 'NULL'}}};\n"
        yield "    cutelite_launch shape = *launch;\n    int bad;\n"
        numbers = {i: n for n, (i, _) in enumerate(self.arrays)}
        for i, argument in enumerate(self.arguments):
            its = {"leaf": i, "array": numbers.get(i, 0), "to": f"memory + {places[i]}", "name": argument.c_name}
            yield f"    {argument.leaf.c.taken.format(**its)}\n"
        yield f"    if ((bad = fit_dims(&on, {name}_maps))) return bad;\n"
        if self.grid:
            yield "    if (by_rule && (bad = grid_of_dims(&on, shape.grid))) return bad == NOTHING ? 0 : -1;\n"
        for kind, at, place in () if apart else zip(layout.kinds, layout.offsets, places, strict=True):
            yield f"    memcpy(packed + {at}, memory + {place}, {KINDS[kind][0]});\n"
        yield f"    return launch_kernel(&{name}_rule, kernel, &shape, parameters);\n"

    def _tvm_ffi(self) -> str:
        """Return the kernel as a TVM-FFI function."""
        name, settings = self.name, 0 if self.grid else 4
        forms = [(argument.leaf.name, argument.leaf.c) for argument in self.arguments]
        rows = "".join(f"    {{{c.kind}, {string(its)}, {string(c.dtype)}}},\n" for its, c in forms)
        values = [c.ffi.format(any=f"&args[{settings + i}]") for i, (_, c) in enumerate(forms)]
        call = ", ".join((f"{name}_on[device]", "&launch", str(int(bool(self.grid))), *values))
        return f"""#ifdef CUTELITE_TVM_FFI
static struct cutelite_loaded *{name}_on[TVM_DEVICES];
static const tvm_argument {name}_arguments[] = {{
{rows or "    {0}"}}};
TVM_FFI_DLL_EXPORT int __tvm_ffi_{name}(void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result) {{
    cutelite_launch launch = {{{{0, 0, 0}}, 0, NULL, 0, 0, 0, NULL}};
    int device = 0;
    (void)self;
    if (tvm_begin(&{name}_rule, {name}_arguments, {len(forms)}, args, count, {settings}, &launch, &device))
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


def images_of(name: str, artifacts: Sequence[Artifact]) -> Iterator[str]:
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


def kernel_rule(name: str, kernel: str, tables: str, artifacts: Sequence[Artifact], wide: bool) -> str:
    artifact = artifacts[0]
    cluster = artifact.cluster or (1, 1, 1)
    blocks = cluster[0] * cluster[1] * cluster[2] if artifact.cluster else 0
    return (
        f"static const kernel_rule {name}_rule = {{\n    {string(kernel)}, {tables},\n"
        f"    {braces(artifact.block or ())}, {braces(cluster)}, {blocks}, {artifact.dynamic_smem}, "
        f"{max(a.static_smem for a in artifacts)}, {int(wide)}}};\n\n"
    )


def map_form(form: MapForm) -> str:
    numbers, *arrays = form.words
    return f"{{{', '.join(map(str, numbers))}, {', '.join(map(braces, arrays))}}}"


def array_of(kind: str, name: str, rows: Iterable[str]) -> str:
    """Return a C array of these rows; without rows it has one zero row, since C has no empty arrays."""
    text = "".join(f"    {row},\n" for row in rows) or "    0\n" * ("char" in kind) or "    {0}\n"
    return f"static const {kind} {name}[] = {{\n{text}}};\n"


def braces(numbers: Any) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"


def string(text: str) -> str:
    """Return a C string literal without trigraphs. JSON escapes as C does, for text without control characters."""
    return json.dumps(text, ensure_ascii=False).replace("??", '?""?')


def _comment(text: str) -> str:
    """Return text that neither ends nor begins a C comment."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
