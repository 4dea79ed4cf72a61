"""`cutelite explore`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from cutelite.cli.errors import UsageError
from cutelite.cli.kernels import first_launch, kernel_in, load, parted, setting, the_kernel
from cutelite.cli.parser import options_of
from cutelite.dispatch import BoundKernel, Kernel, checking
from cutelite.explore import Exploration


def explore(given: argparse.Namespace) -> int:
    """Run `cutelite explore`: write a page about one kernel, or two."""
    page = _explored(given, given.kernel)
    if given.against:
        page = page.against(_explored(given, given.against))
    out = given.out or Path(f"{page.data['kernels'][0]['title']}.html")
    print(f"wrote {page.save(out)}: {out.stat().st_size} bytes", file=sys.stderr)
    return 0


def _explored(given: argparse.Namespace, where: str) -> Exploration:
    """Return the page of one kernel: as FILE launches it, or if it does not, compiled without arguments."""
    path, name = parted(where)
    module = load(Path(path))
    kernel = kernel_in(module, name, path) if name else None
    options = {option: value for option, value in options_of(given).items() if value is not None}
    options["line_info"] = True  # which a page needs: it would compile the kernel once more
    shaped = given.block or given.cluster or given.set or given.arch
    try:
        if not shaped:
            return _launched(module, kernel, options, given.trace, given.check)
    except checking.NoEntry as error:
        if given.trace or given.check:
            raise UsageError(f"{error}; --trace and --check need a launch") from None
    if given.trace or given.check:
        raise UsageError("--trace and --check show a launch by FILE's check() or main(), which sets the shapes itself")
    found = kernel or the_kernel(module, name, path)
    values = dict(map(setting, given.set))
    compiled = found.options(**options).compile(block=given.block, cluster=given.cluster, arch=given.arch, **values)
    return compiled.explore()


def _launched(
    module: Any, kernel: Kernel | BoundKernel | None, options: dict[str, Any], trace: bool, check: bool
) -> Exploration:
    """Return the page of the file's first launch of `kernel`, or of any kernel if that is None."""
    call = first_launch(module, kernel)
    timeline = call.trace() if trace else None
    report = call.check() if check else None
    return call.compile(options).explore(timeline, report)
