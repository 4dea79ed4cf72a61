"""The command line: `cutelite demo | compile FILE:KERNEL | doctor | cache info|verify|clear`."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cutelite import config
from cutelite.diag import CompileError, InternalError

if TYPE_CHECKING:
    from cutelite.dispatch import Compiled, Kernel

STAGES = ("bytecode", "cfg", "cir", "ll", "ptx", "cubin", "sass")


class UsageError(Exception):
    """The command line asks for something that is not there; its text says what is."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit status: 0, or 1 where it failed and said why, or 2 for a wrong command line."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        status: int = given.run(given)
    except (CompileError, InternalError) as error:
        color = config.read().use_color(sys.stderr.isatty())
        print(error.render(color=color) if isinstance(error, CompileError) else error, file=sys.stderr)
        return 1
    except (UsageError, config.ConfigError, ValueError, TypeError) as error:
        print(f"cutelite: {error}", file=sys.stderr)
        return 1
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="cutelite", description="A compiler for GPU kernels written in Python.")
    commands = parser.add_subparsers(required=True, metavar="command")
    demo = commands.add_parser("demo", help="a Hopper GEMM end to end, on the GPU if there is one")
    demo.set_defaults(run=_demo)
    compiling = commands.add_parser("compile", help="write the stages of a kernel, with no GPU needed")
    compiling.add_argument("kernel", metavar="FILE[:KERNEL]", help="KERNEL may be left out where FILE holds one")
    compiling.add_argument("--arch", help="such as sm_80, sm_90a, sm_100a; default: CUTELITE_ARCH, else sm_90a")
    compiling.add_argument("--block", type=_extents, help="threads in a block: 256 or 32,8; default: the decorator's")
    compiling.add_argument("--cluster", type=_extents, help="blocks in a cluster")
    compiling.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a Constexpr parameter, or a dtype for a TypeVar"
    )
    compiling.add_argument("--emit", type=_stages, default=("ptx",), metavar="STAGE,...", help=", ".join(STAGES) + ", all")
    compiling.add_argument("--out", type=Path, help="directory to write to; default: the terminal, and . for a cubin")
    compiling.set_defaults(run=_compile)
    doctor = commands.add_parser("doctor", help="what is there to compile with and to run on")
    doctor.set_defaults(run=_doctor)
    cache = commands.add_parser("cache", help="the disk cache of compiled kernels")
    cache.add_argument("action", choices=("info", "verify", "clear"))
    cache.set_defaults(run=_cache)
    return parser


def _extents(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _stages(text: str) -> tuple[str, ...]:
    names = STAGES if text == "all" else tuple(text.split(","))
    wrong = [name for name in names if name not in STAGES]
    if wrong:
        raise argparse.ArgumentTypeError(f"{wrong[0]!r} is none of {', '.join(STAGES)}, all")
    return names


# compile


def _compile(given: argparse.Namespace) -> int:
    kernel = find_kernel(given.kernel)
    values = dict(map(_setting, given.set))
    compiled = kernel.compile(block=given.block, cluster=given.cluster, arch=given.arch, **values)
    for stage in given.emit:
        _emit(kernel, compiled, stage, given.out)
    print(compiled, file=sys.stderr)
    for warning in compiled.warnings:
        print(warning, file=sys.stderr)
    return 0


def find_kernel(where: str) -> Kernel:
    """The kernel that ``FILE:KERNEL`` or ``FILE`` names. Errors: `UsageError`."""
    from cutelite.dispatch import Kernel

    path, _, name = where.rpartition(":") if ":" in where and not Path(where).exists() else (where, "", "")
    if not Path(path).is_file():
        raise UsageError(f"there is no file {path}")
    module = _load(Path(path))
    kernels = {k: v for k, v in vars(module).items() if isinstance(v, Kernel)}
    if name in kernels:
        return kernels[name]
    if name or len(kernels) != 1:
        known = ", ".join(kernels) or "none"
        what = f"{path} has no kernel {name}" if name else f"{path} holds {len(kernels)} kernels: say which, FILE:KERNEL"
        raise UsageError(f"{what}; it has {known}")
    return next(iter(kernels.values()))


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
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


def _emit(kernel: Kernel, compiled: Compiled, stage: str, out: Path | None) -> None:
    content = _content(kernel, compiled, stage)
    if out is None and isinstance(content, str):
        print(content)
        return
    folder = out or Path()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{compiled.name}.{compiled.arch}.{stage}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    print(f"wrote {path}", file=sys.stderr)


def _content(kernel: Kernel, compiled: Compiled, stage: str) -> str | bytes:
    from cutelite.front import bytecode, cfg

    match stage:
        case "bytecode":
            return str(bytecode.read(kernel.__cutelite_function__))
        case "cfg":
            return str(cfg.build(bytecode.read(kernel.__cutelite_function__)))
        case "cir":
            return compiled.ir
        case "ll":
            return compiled.llvm
        case "ptx":
            return compiled.ptx
        case "cubin":
            return compiled.cubin
    sass = compiled.sass
    if sass is None:
        raise UsageError("no disassembler is found: install nvidia-cuda-nvdisasm, or see `cutelite doctor`")
    return sass


# demo


def _demo(given: argparse.Namespace) -> int:
    folder = Path(__file__).resolve().parent.parent / "examples"
    if not (folder / "hopper_gemm.py").is_file():
        raise UsageError("the demo is examples/hopper_gemm.py of the repository, which is not beside this package")
    sys.path.insert(0, str(folder))
    example = _load(folder / "hopper_gemm.py")
    print("A bf16 GEMM for Hopper: TMA into a ring of shared memory, wgmma, in 100 lines of Python.")
    start = time.perf_counter()
    compiled = example.gemm.compile()
    print(f"compiled in {(time.perf_counter() - start) * 1e3:.0f} ms{' (from the disk cache)' if compiled.cached else ''}:")
    for stage, seconds in compiled.times.items():
        print(f"  {stage:10} {seconds * 1e3:7.1f} ms")
    print(f"  {compiled.registers} registers a thread, {compiled.shared_memory} bytes of shared memory, "
          f"{compiled.spills} bytes spilled")
    start = time.perf_counter()
    example.main()
    print(f"ran and checked in {time.perf_counter() - start:.2f} s")
    return 0


# doctor


def _doctor(given: argparse.Namespace) -> int:
    for name, state in _findings():
        print(f"{name:12} {state}")
    return 0


def _findings() -> Iterator[tuple[str, str]]:
    from cutelite import toolchain
    from cutelite.dispatch.kernel import cache_directory

    version = ".".join(map(str, sys.version_info[:3]))
    yield "python", f"{version} on {sys.platform}"
    for tool in toolchain.tools():
        yield tool.name, f"{tool.version} at {tool.path}" if tool.usable else f"not usable: {tool.why}"
    yield "gpu", _gpu()
    yield "cache", cache_directory(config.read()) or "off"


def _gpu() -> str:
    import cutelite_rt as rt

    try:
        devices = [rt.device(n) for n in range(rt.count())]
    except rt.CudaError as error:
        return f"none: {error}; kernels run on NumPy arrays, in the simulator"
    return "; ".join(f"{d.name} ({d.arch})" for d in devices) or "none; kernels run on NumPy arrays, in the simulator"


# cache


def _cache(given: argparse.Namespace) -> int:
    from cutelite.dispatch.kernel import open_cache

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
