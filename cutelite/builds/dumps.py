"""Stages shown to the user: as files and on the terminal, and their times."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType

from cutelite import passes, toolchain
from cutelite.builds.build import Build
from cutelite.config import Config, writing
from cutelite.diag import log
from cutelite.front import bytecode, cfg
from cutelite.ir.function import Function

Keep = Callable[[str, Function], None]


def files(build: Build, name: str) -> dict[str, str | bytes]:
    """Return the artefact of the stage `name` as files: contents by the end of the file's name.

    name  a name of `config.STAGES`; 'cir' has a file for each pass, the others have one
    """
    function: FunctionType = build.source[0]
    match name:
        case "bytecode":
            return {"bytecode": str(bytecode.read(function))}
        case "cfg":
            return {"cfg": str(cfg.build(bytecode.read(function)))}
        case "cir":
            if not build.passes:
                keep = _kept(build.passes)
                keep("front", build.front)
                passes.run(passes.pipeline(build.options.passes), build.front, passes.Context(build.target), dump=keep)
            return {f"{number_and_name}.cir": text for number_and_name, text in build.passes.items()}
        case "ll":
            return {"ll": build.llvm}
        case "ptx":
            return {"ptx": build.ptx}
    image = build.artifact.cubin if build.artifact else b""
    if name == "cubin":
        return {"cubin": image}
    text = toolchain.disassemble(image)
    return {} if text is None else {"sass": text}


def _kept(texts: dict[str, str]) -> Keep:
    def keep(name: str, function: Function) -> None:
        texts[f"{len(texts):02}-{name}"] = str(function)

    return keep


def keeper(build: Build, environment: Config) -> Keep | None:
    """Return the function that keeps the IR after each pass as text; None if it is not to be shown."""
    if "cir" not in (*environment.dump, *environment.print):
        return None
    keep = _kept(build.passes)
    keep("front", build.front)
    return keep


def show(build: Build, environment: Config) -> None:
    """Write, print and log the stages and times that the environment asks for. Kernels from the cache show none."""
    if environment.dump:
        _dump(build, environment)
    for name in environment.print:
        _print(build, name)
    for warning in build.warnings:
        log.tell(warning, log.WARNING, wanted=True)
    if log.heard(log.INFO, environment.times):
        parts = ", ".join(f"{stage} {seconds * 1e3:.1f} ms" for stage, seconds in build.times.items())
        log.tell(f"{build.front.name} for {build.target}: {parts}", log.INFO, wanted=True)


def _dump(build: Build, environment: Config) -> None:
    """Write the stages that CUTELITE_DUMP names to CUTELITE_DUMP_DIR, as `kernel.architecture.stage`."""
    contents = {ending: content for name in environment.dump for ending, content in files(build, name).items()}
    with writing("CUTELITE_DUMP_DIR", environment.dump_dir):
        for ending, content in contents.items():
            with open(f"{environment.dump_dir}/{build.front.name}.{build.target}.{ending}", "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())


def _print(build: Build, name: str) -> None:
    """Print a stage to stderr, each of its files under its name; for a cubin, which is not text, its size."""
    for ending, content in files(build, name).items():
        text = content if isinstance(content, str) else f"{len(content)} bytes"
        sys.stderr.write(f"// {build.front.name}.{build.target}.{ending}\n{text.rstrip()}\n\n")
