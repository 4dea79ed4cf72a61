"""Write a program as C: a header, and a source with all its kernels, which checks arguments once and then launches.

In: the arguments' tables and the launches, as `cutelite.dispatch.programs` planned them. Out: `NAME.h` and `NAME.c`:

    int NAME_load(NAME_program **program);                           into the current context, with its workspaces
    int NAME_run(NAME_program *, CUstream, const cutelite_tensor *...);
    void NAME_unload(NAME_program *);
    const char *NAME_error(void);

Results and error texts are as for an exported kernel (`cstub`). A program takes only arrays of the shapes that it was
planned for. One stream at a time may use its workspaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cutelite_rt.artifact import Artifact
from cutelite_rt.export import cstub
from cutelite_rt.gpu.attributes import Attribute
from cutelite_rt.launcher.outcomes import WORKSPACE, Moved
from cutelite_rt.signature.kinds import Signature
from cutelite_rt.signature.table import Table


class Step(NamedTuple):
    """One launch: code for each architecture, grid, settings, packed parameters, with zeros for those in `moved`."""

    artifacts: tuple[Artifact, ...]
    grid: tuple[int, int, int]
    smem: int
    cooperative: bool
    pdl: bool
    attributes: tuple[Attribute, ...]
    packed: bytes
    moved: tuple[Moved, ...]


def c_program(name: str, signature: Signature, steps: Sequence[Step], workspace: int) -> cstub.CStub:
    """Return C for a program whose arguments are the arrays of `signature`, and that needs `workspace` bytes.

    Errors  ValueError for a name that is none in C, and for two parameters with the same name in C
    """
    cstub.checked_name(name)
    leaves = cstub.arguments_of(name, signature, name)
    arguments = ", ".join((f"{name}_program *program", "CUstream stream", *(leaf.declared for leaf in leaves)))
    declarations = (
        f"/* {name}: {len(steps)} launches. 0: success; -1: arguments that do not fit; else a CUresult. */\n"
        f"typedef struct {name}_loaded {name}_program;\nint {name}_load({name}_program **program);\n"
        f"int {name}_run({arguments});\nvoid {name}_unload({name}_program *program);\n"
        f"const char *{name}_error(void);\n"
    )
    body = "".join(_body(name, signature, leaves, steps, workspace, arguments))
    header = cstub.header_of(name, f"The program `{name}`", declarations)
    return cstub.CStub(name, header, f'#include "{name}.h"\n\n{cstub.shared()}\n{body}')


def _body(
    name: str,
    signature: Signature,
    leaves: Sequence[cstub.Argument],
    steps: Sequence[Step],
    workspace: int,
    arguments: str,
) -> Iterator[str]:
    table = Table(signature)
    numbers: dict[tuple[Artifact, ...], int] = {}
    for step in steps:
        numbers.setdefault(step.artifacts, len(numbers))
    for artifacts, i in numbers.items():
        yield from cstub.images_of(f"{name}_{i}", artifacts)
        yield cstub.kernel_rule(f"{name}_{i}", artifacts[0].name, "NULL, NULL, NULL, NULL, NULL", artifacts, True)
    yield cstub.tables(name, table)
    yield cstub.array_of("leaf_words", f"{name}_leaves", (leaf.words for leaf in leaves))
    yield f'static const kernel_rule {name}_rule = {{.name = "{name}", .leaves = {name}_leaves, .wide = 1}};\n\n'
    count = len(numbers)
    yield (
        f"struct {name}_loaded {{\n    struct cutelite_loaded *kernels[{count}];\n    CUdeviceptr workspace;\n}};\n\n"
        f"const char *{name}_error(void) {{ return last_error; }}\n\n"
        f"void {name}_unload({name}_program *program) {{\n    if (!program) return;\n"
        "    if (program->workspace && program->kernels[0] && !cuCtxPushCurrent(program->kernels[0]->context)) {\n"
        "        cuMemFree(program->workspace);\n        cuCtxPopCurrent(NULL);\n    }\n"
        f"    for (int i = 0; i < {count}; i++) unload(program->kernels[i]);\n    free(program);\n}}\n\n"
        f"int {name}_load({name}_program **program) {{\n    {name}_program *made = calloc(1, sizeof *made);\n"
        f'    int bad = 0;\n    if (!made) return refuse("%s: out of memory", "{name}");\n'
    )
    for artifacts, i in numbers.items():
        entries = f"{name}_{i}_images, {len(artifacts)}"
        yield f"    if (!bad) bad = load(&{name}_{i}_rule, {entries}, &made->kernels[{i}]);\n"
    if workspace:
        yield (
            f"    CUresult status = bad ? CUDA_SUCCESS : cuMemAlloc(&made->workspace, {workspace});\n"
            f'    if (status) bad = failed("{name}", "allocating the workspaces of", status);\n'
        )
    yield f"    if (bad) {name}_unload(made);\n    else *program = made;\n    return bad;\n}}\n\n"
    yield f"int {name}_run({arguments}) {{\n    _Alignas(128) char memory[{table.scratch}] = {{0}};\n"
    yield f"    i64 strides[{max(len(leaves), 1)}][MOST_MODES];\n    int bad;\n"
    yield f"    call on = {{.is = (const void *){name}_tables, .memory = memory, .kernel = &{name}_rule}};\n"
    yield "    (void)strides;\n    (void)on;\n"
    for i, leaf in enumerate(leaves):
        yield f"    if ((bad = fit_array(&on, {i}, {i}, {leaf.c_name}, strides[{i}]))) return bad;\n"
    for step in steps:
        yield from _launched(name, step, numbers[step.artifacts])
    yield "    return 0;\n}\n"


def _launched(name: str, step: Step, kernel: int) -> Iterator[str]:
    layout = cstub.layout_of(name, step.artifacts)
    yield f"    {{\n        _Alignas(128) unsigned char at[] = {cstub.braces(step.packed or b'0')};\n"
    for move in step.moved:
        offset = layout.offsets[move.parameter]
        base = "program->workspace" if move.array == WORKSPACE else f"frame_of(&on)[{move.array}]"
        yield f"        {{\n            u64 address = {base} + {move.delta};\n"
        if move.form is None:
            yield f"            memcpy(at + {offset}, &address, sizeof address);\n        }}\n"
            continue
        shape, strides = (cstub.braces(numbers) for numbers in (move.shape, move.strides))
        rank = len(move.shape)
        yield (
            f"            static const i64 extents[] = {shape}, steps[] = {strides};\n"
            f"            static const map_form form = {cstub.map_form(move.form)};\n"
            f"            tensor of = {{.rank = {rank}, .extents = extents, .strides = steps}};\n"
            f"            on.leaf = {name}_leaves + {max(move.array, 0)};\n"
            f"            if ((bad = encode(&on, &form, &of, address, at + {offset}))) return bad;\n        }}\n"
        )
    pointers = ", ".join(f"at + {offset}" for offset in layout.starts) or "NULL"
    more = "NULL"
    if step.attributes:
        more = "attributes"
        rows = ", ".join(
            f"{{.id = {each.id}, .value = {{.pad = {cstub.braces(each.value)}}}}}" for each in step.attributes
        )
        yield f"        static const CUlaunchAttribute attributes[] = {{{rows}}};\n"
    yield (
        f"        void *parameters[] = {{{pointers}}};\n"
        f"        cutelite_launch shape = {{{cstub.braces(step.grid)}, {step.smem}, stream, {int(step.cooperative)}, "
        f"{int(step.pdl)}, {len(step.attributes)}, {more}}};\n"
        f"        if ((bad = launch_kernel(&{name}_{kernel}_rule, program->kernels[{kernel}], &shape, parameters)))\n"
        "            return bad;\n    }\n"
    )
