"""`cutelite compile` and `cutelite export`."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from cutelite import config
from cutelite.cli import report
from cutelite.cli.errors import UsageError
from cutelite.cli.kernels import find_kernel, first_launch, kernel_in, load, parted, setting, the_kernel
from cutelite.cli.parser import options_of
from cutelite.dispatch import ArgumentError, BoundKernel, Compiled, Kernel, LaunchError, checking
from cutelite.layout.text import parse_int_tuple
from cutelite_rt.export.cstub import c_stub


def compile_kernel(given: argparse.Namespace) -> int:
    """Run `cutelite compile`: write the stages that --emit names."""
    kernel, compiled = _compiled(given)
    written: list[Path] = []
    for stage in given.emit:
        if not _emit(compiled, stage, given.out, written):
            missing = "no disassembler is found: `pip install nvidia-cuda-nvdisasm`, or see `cutelite doctor`"
            if given.emit != config.STAGES:
                raise UsageError(missing)
            print(f"without SASS: {missing}", file=sys.stderr)
    if given.out is not None:
        print(f"wrote {report.write(kernel, compiled, given.out, written)}", file=sys.stderr)
    print(compiled, file=sys.stderr)
    for warning in compiled.warnings if compiled.cached else ():  # otherwise they were printed by the compile
        print(warning, file=sys.stderr)
    return 0


def _compiled(given: argparse.Namespace) -> tuple[Kernel | BoundKernel, Compiled]:
    """Compile the kernel by itself; if the command line says nothing of how, and that fails, as FILE launches it."""
    path, name = parted(given.kernel)
    module, options, values = load(Path(path)), options_of(given), dict(map(setting, given.set))
    try:
        kernel = the_kernel(module, name, path).options(**options)
        return kernel, kernel.compile(block=given.block, cluster=given.cluster, arch=given.arch, **values)
    except (ArgumentError, LaunchError, UsageError):
        if given.block or given.cluster or given.arch or values:
            raise
        with suppress(checking.NoEntry):
            call = first_launch(module, kernel_in(module, name, path) if name else None)
            return call.kernel, call.compile(options)
        raise


def export(given: argparse.Namespace) -> int:
    """Run `cutelite export`: write the kernel to a file, and C beside it."""
    kernel = find_kernel(given.kernel).options(**options_of(given))
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
        **dict(map(setting, given.set)),
    )
    for variant in bundle.variants:
        code = ", ".join(a.arch if a.cubin else f"PTX of {a.arch}" for a in variant.artifacts)
        print(f"{bundle.name}({variant.signature.text}): {code}", file=sys.stderr)
    paths = [str(out), *(c_stub(bundle).save(given.c) if given.c else ())]
    for path in paths:
        print(f"wrote {path}", file=sys.stderr)
    return 0


def _grid(text: str) -> tuple[Any, ...]:
    """Return the grid: one to three extents, separated by commas, which may name dims."""
    grid = parse_int_tuple(f"({text},)")
    assert isinstance(grid, tuple)
    return grid


def _emit(compiled: Compiled, stage: str, out: Path | None, written: list[Path]) -> bool:
    """Write a stage to files in `out`, or to the terminal, where 'cir' is the IR as the frontend made it.

    The paths of files are added to `written`.

    Return False if there is no tool to make the stage with.
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
        written.append(path)
        print(f"wrote {path}", file=sys.stderr)
    return bool(files)
