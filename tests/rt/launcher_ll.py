"""The launcher's C -> its LLVM IR, by the clang that is pinned: `make update-launcher` writes it beside the C.

The compiler is ziglang's, a wheel that brings the same clang to every machine; IR of another version would differ in
every line. Newer ones than llvmlite's LLVM are of no use: their IR is not read by it.
"""

import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cutelite_rt
from cutelite_rt.launcher import image

SOURCE = Path(cutelite_rt.__file__).parent / "launcher" / "launcher.c"
IR = SOURCE.with_suffix(".ll")
VERSION = "0.17.1"

FLAGS = (
    *("-target", "x86_64-linux-gnu", "-O2", "-g0", "-fPIC", "-w"),
    *("-ffreestanding", "-fno-builtin", "-fno-strict-aliasing", "-fno-sanitize=all"),
    # Each of these would add a section of data, or relocations.
    *("-fno-jump-tables", "-fno-stack-protector", "-fno-vectorize", "-fno-slp-vectorize", "-fomit-frame-pointer"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
)


def compiler() -> list[str] | None:
    """The pinned compiler's command, None where it is not installed."""
    if importlib.util.find_spec("ziglang") is None:
        return None
    zig = [sys.executable, "-m", "ziglang"]
    found = subprocess.run([*zig, "version"], capture_output=True, text=True, check=True).stdout.strip()
    return [*zig, "cc"] if found == VERSION else None


def generated(command: list[str]) -> str:
    """The IR of the source, without what names a machine: both architectures' code is made of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "launcher.ll")
        subprocess.run([*command, *FLAGS, "-S", "-emit-llvm", SOURCE, "-o", path], check=True, capture_output=True)
        text = path.read_text()
    text = re.sub(r"^(target |; ModuleID|source_filename).*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r'^!llvm\.ident.*\n|^!\d+ = !\{!"(clang|zig) version.*\n', "", text, flags=re.MULTILINE)
    # The constants of the interpreter are defined by `image.launcher_ir`.
    text = re.sub(rf"^declare .*@({'|'.join(image.CONSTANTS)})\(.*\n\n?", "", text, flags=re.MULTILINE)
    return re.sub(r' "(target-cpu|target-features|tune-cpu)"="[^"]*"| uwtable(\([a-z]+\))?', "", text)


if __name__ == "__main__":
    found = compiler()
    if found is None:
        sys.exit(f"pip install ziglang=={VERSION}")
    IR.write_text(generated(found))
