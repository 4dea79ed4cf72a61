"""The command line: every command, with its flags. Importing this loads none of the commands."""

from __future__ import annotations

import argparse
import functools
from pathlib import Path
from typing import Any

import cutelite
from cutelite import config
from cutelite.options import OPTIONS, Option, OptionError, parse
from cutelite.parsers import FLAG


def parser() -> argparse.ArgumentParser:
    """Return the parser. Its result has an attribute `run`: the command, as `module:function` of this package."""
    parser = argparse.ArgumentParser(prog="cutelite", description="A compiler for GPU kernels written in Python.")
    parser.add_argument("--version", action="version", version=f"cutelite {cutelite.__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    demo = commands.add_parser("demo", help="compile and run a Hopper GEMM, on the GPU if there is one")
    demo.set_defaults(run="demo:demo")
    _add_compile(commands.add_parser("compile", help="write the stages of a kernel; needs no GPU"))
    _add_export(commands.add_parser("export", help="write a kernel to a file that Python or C launches from"))
    _add_check(commands.add_parser("check", help="find races, missing fences and deadlocks, in the simulator"))
    _add_explore(commands.add_parser("explore", help="write a page that shows a kernel, from source to machine code"))
    _add_layout(commands.add_parser("layout", help="draw a layout, '(8,(4,2)):(4,(1,32))', or an MMA's operands"))
    doctor = commands.add_parser("doctor", help="list the tools to compile with, and the GPUs to run on")
    doctor.set_defaults(run="doctor:doctor")
    cache = commands.add_parser("cache", help="look after the disk cache of compiled kernels")
    cache.add_argument("action", choices=("info", "list", "show", "verify", "clear"))
    cache.add_argument("key", nargs="?", default="", help="of `show`: the entry's key, or enough of its first digits")
    cache.set_defaults(run="doctor:cache")
    return parser


def _add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="FILE[:KERNEL]", help="KERNEL may be left out if FILE has only one")
    parser.add_argument("--block", type=_extents, help="threads in a block: 256 or 32,8; default: the decorator's")
    parser.add_argument("--cluster", type=_extents, help="blocks in a cluster; default: the decorator's")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a Constexpr parameter, a dtype for a dtype variable, or an extent of a dim",
    )
    _add_options(parser)


def _add_compile(parser: argparse.ArgumentParser) -> None:
    _add_kernel(parser)
    parser.add_argument("--arch", help="such as sm_80, sm_90a, sm_100a; default: CUTELITE_ARCH, else sm_90a")
    stages = ", ".join(config.STAGES)
    parser.add_argument("--emit", type=_stages, default=("ptx",), metavar="STAGE,...", help=f"{stages}, or all")
    parser.add_argument("--out", type=Path, help="directory to write to; default: the terminal, and . for a cubin")
    parser.set_defaults(run="compile:compile_kernel")


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_kernel(parser)
    parser.add_argument("-o", "--out", type=Path, help="file to write; default: the kernel's name and .cutelite")
    parser.add_argument("--arch", default="", help="such as sm_80,sm_90a; default: CUTELITE_ARCH, else sm_90a")
    parser.add_argument("--ptx", help="keep PTX of this architecture; default: the highest plain one of --arch")
    parser.add_argument("--grid", help="blocks, by dims: 'ceil_div(N, 256)'; launches then need not give them")
    parser.add_argument("--wide-dims", action="store_true", help="allow extents of 2**31 and more")
    parser.add_argument("--cpus", help="keep a launcher as machine code for these: x86_64,aarch64")
    parser.add_argument("--c", type=Path, metavar="FOLDER", help="also write a C header and source to FOLDER")
    parser.set_defaults(run="compile:export")


def _add_explore(parser: argparse.ArgumentParser) -> None:
    _add_kernel(parser)
    parser.add_argument("--against", metavar="FILE[:KERNEL]", help="another kernel or version to compare with")
    parser.add_argument("--trace", action="store_true", help="simulate the launch of FILE's main(): cycles by line")
    parser.add_argument("--check", action="store_true", help="check that launch: findings and notes by line")
    parser.add_argument("--arch", help="such as sm_80, sm_90a, sm_100a; default: CUTELITE_ARCH, else sm_90a")
    parser.add_argument("-o", "--out", type=Path, help="file to write; default: the kernel's name and .html")
    parser.set_defaults(run="explore:explore")


def _add_layout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "layout",
        help="a layout as it prints, also a swizzled one: 'S<3,3,3> o 0 o (8,64):(64,1)'; or 'WarpMmaOp(f16, f32)'",
    )
    parser.add_argument("--tiler", help="shape of the tile; the layout is its (thread, value) layout")
    parser.add_argument("--bits", type=_count, help="bits of an element: show the banks of shared memory")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an extent of a dim")
    parser.add_argument("--form", choices=("text", "svg", "html", "latex"), default="text")
    parser.set_defaults(run="layout:show")


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="FILE[:KERNEL]", help="without KERNEL: every kernel that FILE launches")
    schedules = parser.add_mutually_exclusive_group()
    schedules.add_argument("--seeds", type=_count, default=4, help="number of schedules; default: 4")
    schedules.add_argument("--seed", type=int, help="only this schedule")
    parser.add_argument("--blocks", type=_count, help="check this many blocks of a grid, not all")
    parser.add_argument("--no-notes", action="store_true", help="leave out notes on the cost of accesses")
    parser.add_argument(
        "--grid", type=_extents, help="launch KERNEL directly, with --arg, instead of calling FILE's main()"
    )
    parser.add_argument("--block", type=_extents, help="with --grid: threads in a block; default: the decorator's")
    parser.add_argument("--cluster", type=_extents, help="with --grid: blocks in a cluster; default: the decorator's")
    parser.add_argument("--smem", type=int, default=0, help="with --grid: bytes of dynamic shared memory")
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="with --grid: an array of random numbers by its shape, 1000 or 256x128; a number; a Constexpr; a dtype",
    )
    parser.add_argument("--trace", type=Path, metavar="OUT.json", help="also write a timeline, for ui.perfetto.dev")
    parser.set_defaults(run="check:check")


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


def options_of(given: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the compile that the command line sets; None for the others."""
    return {row.name: getattr(given, row.name) for row in OPTIONS}


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _extents(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if len(parts) > 3 or not all(part.strip().isdecimal() and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not one to three whole numbers from 1, such as 256 or 32,8")
    return tuple(map(int, parts))


def _stages(text: str) -> tuple[str, ...]:
    names = config.STAGES if text == "all" else tuple(text.split(","))
    for name in names:
        if name not in config.STAGES:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(config.STAGES)}, all")
    return names
