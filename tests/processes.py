"""Programs that run in a fresh Python."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def printed(program: str, *args: object, **environment: str) -> str:
    """Return what a program prints, which must end well and say nothing on stderr."""
    found = os.environ | {"PYTHONPATH": str(ROOT)} | environment
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, env=found, timeout=240, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout
