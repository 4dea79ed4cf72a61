"""`cutelite check`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cutelite import config
from cutelite.cli.errors import UsageError
from cutelite.cli.kernels import find_kernel, kernel_in, load, parted, running, setting
from cutelite.dispatch import Launch, checking
from cutelite.sim import CheckReport, Timeline, TooLarge


def check(given: argparse.Namespace) -> int:
    """Run `cutelite check`. Return 0 if nothing was found."""
    reports: list[CheckReport] = []
    try:
        _check(given, reports)
    except Exception as error:  # of the program too, which often fails for what was found
        if reports:
            _show(reports)
        if isinstance(error, TooLarge):
            raise UsageError(str(error)) from None
        raise
    except KeyboardInterrupt as stop:
        print("\n".join(["cutelite: stopped", *getattr(stop, "__notes__", ())]), file=sys.stderr)
        return 130
    if not reports:
        raise UsageError(f"{given.kernel}: it launched no kernel")
    _show(reports)
    return 0 if all(reports) else 1


def _show(reports: Sequence[CheckReport]) -> None:
    color = config.read().use_color(sys.stdout.isatty())
    print("\n\n".join(report.render(color=color) for report in reports), flush=True)


def _check(given: argparse.Namespace, reports: list[CheckReport]) -> None:
    """Check the launches that the command line asks for; `reports` gets theirs, one after the other."""
    seeds = given.seeds if given.seed is None else [given.seed]
    asked = {"seeds": seeds, "blocks": given.blocks, "notes": not given.no_notes}
    if given.grid is not None:
        arguments = dict(map(_argument, given.arg))
        kernel = find_kernel(given.kernel)
        launch = Launch(given.grid, given.block, given.cluster, given.smem)
        reports.append(checking.made_up(kernel, launch, arguments).check(**asked))
        if given.trace and all(reports):
            _save_traces(given.trace, [checking.made_up(kernel, launch, arguments).trace()])
        return
    if given.arg or given.block or given.cluster or given.smem:
        raise UsageError("--arg, --block, --cluster and --smem describe a launch: give --grid as well")
    path, name = parted(given.kernel)
    module = load(Path(path))
    kernel_asked = kernel_in(module, name, path) if name else None
    try:
        with running(f"{path} stopped", module.__file__):
            checking.each_launch(
                checking.entry_of(module), kernel_asked, lambda call: reports.append(call.check(**asked))
            )
    except checking.NoEntry as error:
        raise UsageError(f"{error}; or give --grid, and --arg for each parameter") from None
    if given.trace and all(reports):
        with running(f"{path} stopped", module.__file__):
            traces = checking.each_launch(checking.entry_of(module), kernel_asked, checking.Call.trace)
        _save_traces(given.trace, traces)


def _save_traces(path: Path, timelines: Sequence[Timeline]) -> None:
    """Write a file for each launch: out.json, out.1.json, ..."""
    for i, timeline in enumerate(timelines):
        to = path.with_suffix(f".{i}{path.suffix}") if i else path
        timeline.save(to)
        print(f"wrote {to}: {timeline.name}, {timeline.cycles:.0f} cycles", file=sys.stderr)


def _argument(text: str) -> tuple[str, Any]:
    """Return NAME=256x128 with a shape as its value, anything else as `setting` does."""
    name, _, value = text.partition("=")
    if value and all(part.isdigit() for part in value.split("x")) and "x" in value:
        return name, tuple(map(int, value.split("x")))
    try:
        return setting(text, "--arg")
    except UsageError as error:
        raise UsageError(f"{error}; an array is given by its shape, as 1000 or 256x128") from None
