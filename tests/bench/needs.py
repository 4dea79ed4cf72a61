"""Tell what a program needs that is not here, and where it comes from: a GPU, and the modules that are named.

python -m tests.bench.needs [torch ...]
"""

import sys
from importlib.util import find_spec

import cutelite_rt as rt
from tests.bench.given import words


def lacks(modules: list[str]) -> list[str]:
    """Return what is not here, a sentence each."""
    found = [
        f"{module} is not installed in {sys.executable}: install it there, or say PY=python3 for a Python that has it"
        for module in modules
        if find_spec(module) is None
    ]
    try:
        rt.device()
    except rt.CudaError as error:
        found.append(f"there is no GPU to run on: {error}; `cutelite doctor` tells what is found")
    return found


if __name__ == "__main__":
    if missing := lacks(words(__doc__, "module", str)):
        sys.exit("\n".join(missing))
