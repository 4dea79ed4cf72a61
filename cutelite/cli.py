"""The command line: `cutelite demo | compile | check | export FILE:KERNEL | layout TEXT | doctor | cache ACTION`."""

from __future__ import annotations

import argparse
import ast
import functools
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import cutelite
from cutelite import config
from cutelite.diag import CompileError, InternalError
from cutelite.options import OPTIONS, Option, OptionError, parse
from cutelite.parsers import FLAG

if TYPE_CHECKING:
    from cutelite.dispatch import BoundKernel, Compiled, Kernel
    from cutelite.lang.mma_ops import MmaOp
    from cutelite.sim import CheckReport, Timeline


class UsageError(Exception):
    """The command line asks for something that is not there; its text says what is."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit status: 0, or 1 where it failed and said why, or 2 for a wrong command line."""
    given = _parser().parse_args(arguments)
    try:
        status: int = given.run(given)
        sys.stdout.flush()
    except BrokenPipeError:  # who reads the output, such as `head`, has seen enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except CompileError as error:
        print(error.render(color=config.read().use_color(sys.stderr.isatty())), file=sys.stderr)
        return 1
    except InternalError as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        if not isinstance(error, _foreseen()):
            raise
        print(f"cutelite: {error}", file=sys.stderr)
        return 1
    return status


def _foreseen() -> tuple[type[Exception], ...]:
    """What says all there is to say in its text."""
    from cutelite.dispatch import ArgumentError, LaunchError
    from cutelite.layout import LayoutError
    from cutelite.target import UnknownTarget
    from cutelite.toolchain import ToolchainError
    from cutelite_rt import CudaError

    ours = (ArgumentError, LaunchError, LayoutError, OptionError, UnknownTarget, ToolchainError, CudaError)
    return (UsageError, config.ConfigError, *ours)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cutelite", description="A compiler for GPU kernels written in Python.")
    parser.add_argument("--version", action="version", version=f"cutelite {cutelite.__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    demo = commands.add_parser("demo", help="a Hopper GEMM end to end, on the GPU if there is one")
    demo.set_defaults(run=_demo)
    compiling = commands.add_parser("compile", help="write the stages of a kernel, with no GPU needed")
    compiling.add_argument("kernel", metavar="FILE[:KERNEL]", help="KERNEL may be left out where FILE holds one")
    compiling.add_argument("--arch", help="such as sm_80, sm_90a, sm_100a; default: CUTELITE_ARCH, else sm_90a")
    compiling.add_argument("--block", type=_extents, help="threads in a block: 256 or 32,8; default: the decorator's")
    compiling.add_argument("--cluster", type=_extents, help="blocks in a cluster; default: the decorator's")
    compiling.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a Constexpr parameter, a dtype for a dtype variable, or an extent of a dim",
    )
    _add_options(compiling)
    stages = ", ".join(config.STAGES)
    compiling.add_argument("--emit", type=_stages, default=("ptx",), metavar="STAGE,...", help=f"{stages}, or all")
    compiling.add_argument("--out", type=Path, help="directory to write to; default: the terminal, and . for a cubin")
    compiling.set_defaults(run=_compile)
    exporting = commands.add_parser(
        "export", help="a kernel as a file to launch without the compiler, from Python or C"
    )
    exporting.add_argument("kernel", metavar="FILE[:KERNEL]", help="KERNEL may be left out where FILE holds one")
    exporting.add_argument("-o", "--out", type=Path, help="default: the kernel's name and .cutelite")
    exporting.add_argument("--arch", default="", help="such as sm_80,sm_90a; default: CUTELITE_ARCH, else sm_90a")
    exporting.add_argument("--ptx", help="keep PTX of this architecture; default: the highest plain one of --arch")
    exporting.add_argument("--block", type=_extents, help="threads in a block: 256 or 32,8; default: the decorator's")
    exporting.add_argument("--cluster", type=_extents, help="blocks in a cluster; default: the decorator's")
    exporting.add_argument("--grid", help="blocks, by dims: 'ceil_div(N, 256)'; then launches need not say")
    exporting.add_argument("--wide-dims", action="store_true", help="for extents of 2**31 and more")
    exporting.add_argument("--cpus", help="x86_64,aarch64: keep a launcher, as machine code")
    exporting.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as for compile")
    _add_options(exporting)
    exporting.add_argument("--c", type=Path, metavar="FOLDER", help="write a C header and source there, too")
    exporting.set_defaults(run=_export)
    _add_check(commands.add_parser("check", help="find races, missing fences and deadlocks, in the simulator"))
    picture = commands.add_parser("layout", help="a layout as a table: '(8,(4,2)):(4,(1,32))'; an MMA's operands")
    picture.add_argument(
        "layout",
        help="as layouts print, swizzled ones too: 'S<3,3,3> o 0 o (8,64):(64,1)'; or 'WarpMmaOp(f16, f32)'",
    )
    picture.add_argument("--tiler", help="the shape of a tile whose (thread, value) layout this is: who owns what")
    picture.add_argument("--bits", type=int, help="of an element: show the banks of shared memory")
    picture.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an extent of a dim")
    picture.add_argument("--form", choices=("text", "svg", "html", "latex"), default="text")
    picture.set_defaults(run=_layout)
    doctor = commands.add_parser("doctor", help="what is there to compile with and to run on")
    doctor.set_defaults(run=_doctor)
    cache = commands.add_parser("cache", help="the disk cache of compiled kernels")
    cache.add_argument("action", choices=("info", "verify", "clear"))
    cache.set_defaults(run=_cache)
    return parser


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="FILE[:KERNEL]", help="without KERNEL, every kernel that FILE launches")
    parser.add_argument("--seeds", type=int, default=4, help="under how many schedules; default: 4")
    parser.add_argument("--seed", type=int, help="under this one alone")
    parser.add_argument("--blocks", type=int, help="check only so many blocks of a grid")
    parser.add_argument("--no-notes", action="store_true", help="leave out what accesses cost")
    parser.add_argument(
        "--grid", type=_extents, help="launch KERNEL itself, on --arg, instead of calling FILE's main()"
    )
    parser.add_argument("--block", type=_extents, help="with --grid: threads in a block; default: the decorator's")
    parser.add_argument("--cluster", type=_extents, help="with --grid: blocks in a cluster; default: the decorator's")
    parser.add_argument("--smem", type=int, default=0, help="with --grid: bytes of dynamic shared memory")
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="with --grid: an array of random numbers by its shape, 256x128; a number; a Constexpr; a dtype",
    )
    parser.add_argument("--trace", type=Path, metavar="OUT.json", help="also write a timeline, for ui.perfetto.dev")
    parser.set_defaults(run=_check)


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each option of `@kernel` (docs/options.md)."""
    group = parser.add_argument_group("options of the compile; default: the decorator's, else the environment's")
    for row in OPTIONS:
        if row.parser is FLAG:
            group.add_argument(row.flag, action=argparse.BooleanOptionalAction, default=None, help=row.help)
        else:
            help = f"{row.help}; takes {row.parser.accepts}".replace("%", "%%")
            group.add_argument(row.flag, type=functools.partial(_option, row), metavar="VALUE", help=help)


def _option(row: Option, text: str) -> Any:
    try:
        return parse(row, text, row.flag)
    except OptionError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _options_of(given: argparse.Namespace) -> dict[str, Any]:
    return {row.name: getattr(given, row.name) for row in OPTIONS}


def _extents(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _stages(text: str) -> tuple[str, ...]:
    names = config.STAGES if text == "all" else tuple(text.split(","))
    for name in names:
        if name not in config.STAGES:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(config.STAGES)}, all")
    return names


# compile


def _compile(given: argparse.Namespace) -> int:
    kernel = find_kernel(given.kernel).options(**_options_of(given))
    values = dict(map(_setting, given.set))
    compiled = kernel.compile(block=given.block, cluster=given.cluster, arch=given.arch, **values)
    for stage in given.emit:
        if not _emit(compiled, stage, given.out):
            missing = "no disassembler is found: `pip install nvidia-cuda-nvdisasm`, or see `cutelite doctor`"
            if given.emit != config.STAGES:
                raise UsageError(missing)
            print(f"without SASS: {missing}", file=sys.stderr)
    print(compiled, file=sys.stderr)
    for warning in compiled.warnings if compiled.cached else ():  # else they have been said
        print(warning, file=sys.stderr)
    return 0


def _export(given: argparse.Namespace) -> int:
    from cutelite_rt.export.cstub import c_stub

    kernel = find_kernel(given.kernel).options(**_options_of(given))
    out = given.out or Path(f"{kernel.__name__}.cutelite")
    bundle = kernel.export(
        out,
        arch=given.arch.split(",") if given.arch else None,
        ptx=given.ptx,
        grid=None if given.grid is None else _grid(given.grid),
        block=given.block,
        cluster=given.cluster,
        wide_dims=given.wide_dims,
        cpus=given.cpus.split(",") if given.cpus else (),
        **dict(map(_setting, given.set)),
    )
    for variant in bundle.variants:
        code = ", ".join(a.arch if a.cubin else f"PTX of {a.arch}" for a in variant.artifacts)
        print(f"{bundle.name}({variant.signature['text']}): {code}", file=sys.stderr)
    paths = [str(out), *(c_stub(bundle).save(given.c) if given.c else ())]
    for path in paths:
        print(f"wrote {path}", file=sys.stderr)
    return 0


def _grid(text: str) -> tuple[Any, ...]:
    """One to three extents, separated by commas, over dims by their names."""
    from cutelite.layout.text import parse_int_tuple

    grid = parse_int_tuple(f"({text},)")
    assert isinstance(grid, tuple)
    return grid


def _check(given: argparse.Namespace) -> int:
    """0 where nothing was found."""
    from cutelite.sim import TooLarge

    try:
        reports = _reports(given)
    except TooLarge as error:
        raise UsageError(str(error)) from None
    except KeyboardInterrupt as stop:
        print("\n".join(["cutelite: stopped", *getattr(stop, "__notes__", ())]), file=sys.stderr)
        return 130
    if not reports:
        raise UsageError(f"{given.kernel}: no launch was made")
    color = config.read().use_color(sys.stdout.isatty())
    print("\n\n".join(report.render(color=color) for report in reports))
    return 0 if all(reports) else 1


def _reports(given: argparse.Namespace) -> list[CheckReport]:
    """Of the launches that the command line asks for."""
    from cutelite.dispatch import checking

    asked = checking.Asked(given.seeds if given.seed is None else [given.seed], given.blocks, not given.no_notes)
    if given.grid is not None:
        arguments = dict(map(_argument, given.arg))
        kernel = find_kernel(given.kernel)
        shapes = given.grid, given.block, given.cluster, given.smem
        reports = [checking.check_alone(kernel, *shapes, arguments, asked)]
        if given.trace and all(reports):
            _save_traces(given.trace, [checking.trace_alone(kernel, *shapes, arguments)])
        return reports
    if given.arg or given.block or given.cluster or given.smem:
        raise UsageError("--arg, --block, --cluster and --smem are for a launch of their own: give --grid as well")
    path, name = _parted(given.kernel)
    module = _load(Path(path))
    kernel_asked = _kernel_in(module, name, path) if name else None
    try:
        reports = checking.check_program(module, kernel_asked, asked)
    except checking.NoEntry as error:
        raise UsageError(f"{error}; or give --grid, and --arg for each parameter") from None
    if given.trace and all(reports):
        _save_traces(given.trace, checking.trace_program(module, kernel_asked))
    return reports


def _save_traces(path: Path, timelines: Sequence[Timeline]) -> None:
    """A file for each launch: out.json, out.1.json, ..."""
    for i, timeline in enumerate(timelines):
        to = path.with_suffix(f".{i}{path.suffix}") if i else path
        timeline.save(to)
        print(f"wrote {to}: {timeline.name}, {timeline.cycles:.0f} cycles", file=sys.stderr)


def _argument(text: str) -> tuple[str, Any]:
    """NAME=256x128 as a shape, others as `--set` has them."""
    name, _, value = text.partition("=")
    if value and all(part.isdigit() for part in value.split("x")) and "x" in value:
        return name, tuple(map(int, value.split("x")))
    return _setting(text)


def find_kernel(where: str) -> Kernel | BoundKernel:
    """The kernel that ``FILE:KERNEL`` or ``FILE`` names. Errors: `UsageError`.

    KERNEL may be a path: ``FILE:Class.kernel``, or ``FILE:instance.kernel`` for a method.
    """
    from cutelite.dispatch import BoundKernel, Kernel

    path, name = _parted(where)
    module = _load(Path(path))
    if name:
        return _kernel_in(module, name, path)
    kernels = {k: v for k, v in vars(module).items() if isinstance(v, Kernel | BoundKernel)}
    own = {k: v for k, v in kernels.items() if v.__module__ == module.__name__} or kernels
    if len(own) != 1:
        what = f"{len(own)} kernels: say which, {path}:KERNEL; they are {', '.join(own)}" if own else "no kernel"
        raise UsageError(f"{path} holds {what}")
    return next(iter(own.values()))


def _parted(where: str) -> tuple[str, str]:
    """FILE and KERNEL, '' if there is none. Errors: `UsageError` where there is no such file."""
    path, name = where, ""
    if not Path(where).exists() and ":" in where:
        path, _, name = where.rpartition(":")
    if not Path(path).is_file():
        raise UsageError(f"there is no file {path}")
    return path, name


def _kernel_in(module: ModuleType, name: str, path: str) -> Kernel | BoundKernel:
    from cutelite.dispatch import BoundKernel, Kernel

    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, Kernel | BoundKernel):
        return found
    kernels = [k for k, v in vars(module).items() if isinstance(v, Kernel | BoundKernel)]
    raise UsageError(f"{path} has no kernel {name}; it has {', '.join(kernels) or 'none'}")


def _load(path: Path) -> ModuleType:
    """The file as a module, as if it had been imported from its folder."""
    name = path.stem if path.stem not in sys.stdlib_module_names | sys.modules.keys() else f"cutelite file {path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (CompileError, InternalError):
        raise
    except Exception as error:  # whatever the user's file may raise
        frames = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in frames if frame.filename == spec.origin]
        said = "".join([*traceback.format_list(inside[-1:]), *traceback.format_exception_only(error)]).rstrip()
        raise UsageError(f"{path} cannot be imported:\n{said}") from error
    return module


def _setting(text: str) -> tuple[str, Any]:
    from cutelite.ir.types import SCALARS

    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set takes NAME=VALUE, not {text!r}")
    if value in SCALARS:
        return name, SCALARS[value]
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        raise UsageError(f"--set {name}: {value!r} is neither a Python literal nor a dtype") from None


def _emit(compiled: Compiled, stage: str, out: Path | None) -> bool:
    """Write a stage to files in `out`, or its text to the terminal, of the IR as the frontend made it.

    False where there is nothing to make it with.
    """
    if out is None and stage == "cir":
        print(compiled.ir)
        return True
    files = compiled.stage(stage)
    for ending, content in files.items():
        if out is None and isinstance(content, str):
            print(content)
            continue
        folder = out or Path()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{compiled.name}.{compiled.arch}.{ending}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        print(f"wrote {path}", file=sys.stderr)
    return bool(files)


# demo


def _demo(given: argparse.Namespace) -> int:
    from cutelite.kernels import demo

    return demo.main()


# doctor


def _doctor(given: argparse.Namespace) -> int:
    """1 where a kernel can neither be compiled nor simulated."""
    from cutelite.toolchain.tools import tools

    found = tools()
    rows = [*_general(), *((t.name, t.purpose, _state(t)) for t in found), *_places()]
    width = max(len(name) for name, _, _ in rows)
    for name, purpose, state in rows:
        print(f"{name:{width}}  {purpose:16}  {state}")
    return 0 if any(tool.name == "llvmlite" and tool.usable for tool in found) else 1


Row = tuple[str, str, str]


def _general() -> Iterator[Row]:
    yield "cutelite", "", f"{cutelite.__version__} at {Path(__file__).parent}"
    yield "Python", "", f"{'.'.join(map(str, sys.version_info[:3]))} on {sys.platform}"
    for name, purpose in (("numpy", "simulator"), ("ml_dtypes", "bf16, fp8 arrays")):
        version = _version(name)
        yield name, purpose, version or f"not installed: `pip install {name.replace('_', '-')}`"


def _version(package: str) -> str | None:
    try:
        return str(importlib.import_module(package).__version__)
    except ImportError:
        return None


def _state(tool: Any) -> str:
    return f"{tool.version} at {tool.path}" if tool.usable else f"not usable: {tool.why}"


def _places() -> Iterator[Row]:
    """Where kernels run, and where they are kept."""
    from cutelite.dispatch.specialise import cache_directory

    yield "GPU", "", _gpus()
    environment = config.read()
    yield "cache", "", cache_directory(environment) or "off (CUTELITE_CACHE=0)"


def _gpus() -> str:
    import cutelite_rt as rt

    try:
        devices = [rt.device(n) for n in range(rt.count())]
    except rt.CudaError as error:
        return f"none usable: {error}; kernels run on NumPy arrays, in the simulator"
    if not devices:
        return "none; kernels run on NumPy arrays, in the simulator"
    return "; ".join(f"{device.name} ({device.arch})" for device in devices)


# layout


def _layout(given: argparse.Namespace) -> int:
    from cutelite.layout.viz import operands, picture, render

    extents = dict(map(_setting, given.set))
    color = config.read().use_color(sys.stdout.isatty())
    if "Op(" in given.layout:
        print(render(operands(find_atom(given.layout)), given.form, color))
        return 0
    print(picture(given.layout, tiler=given.tiler, bits=given.bits, dims=extents, form=given.form, color=color))
    return 0


def find_atom(text: str) -> MmaOp:
    """The MMA operation that `text` makes: its class, called with dtypes by name and literals. Errors: `UsageError`."""
    from cutelite.ir.types import SCALARS
    from cutelite.lang.mma_ops import MmaOp

    def value(node: ast.expr) -> Any:
        return SCALARS[node.id] if isinstance(node, ast.Name) and node.id in SCALARS else ast.literal_eval(node)

    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            kind = getattr(cutelite, call.func.id, None)
            if isinstance(kind, type) and issubclass(kind, MmaOp):
                named = {keyword.arg or "": value(keyword.value) for keyword in call.keywords}
                return kind(*map(value, call.args), **named)
    except (SyntaxError, TypeError, ValueError) as error:
        raise UsageError(f"{text} is no MMA operation: {error}") from None
    raise UsageError(f"{text} is no MMA operation, such as 'WarpMmaOp(f16, f32)' or 'WarpgroupMmaOp(bf16, f32, 64)'")


# cache


def _cache(given: argparse.Namespace) -> int:
    from cutelite.dispatch.specialise import open_cache

    cache = open_cache(config.read())
    if cache is None:
        print("the disk cache is off (CUTELITE_CACHE=0)")
        return 0
    if given.action == "info":
        for name, value in cache.info()._asdict().items():
            print(f"{name:10} {value}")
    elif given.action == "verify":
        good, dropped = cache.verify()
        print(f"{good} entries are whole, {len(dropped)} were not and are gone")
    else:
        print(f"{cache.clear()} entries removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
