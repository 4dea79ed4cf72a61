"""What a process pays for kernels that another has compiled: milliseconds a kernel, the first one and those after it.

    python tests/bench/warm_start.py [--kernels 100]

A process of its own fills a fresh cache; three more then find every kernel there. `found` is from the call to the
artefact in hand: fingerprints, the file, its checksum. Where there is a GPU, `loaded` is that and the module in the
context, the context's own creation aside. Kernels are functions of their own, that share a helper.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.given import ROOT, parser

HEAD = """
import json, time
start = time.perf_counter()
import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32
imported = time.perf_counter() - start
N = cl.dims("N")
def helper(x, n):
    return cl.math.exp2(x * n)
"""
KERNEL = """
@cl.kernel(block=128)
def kernel{n}(x: Tensor[f32, (N,)], y: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * 128 + cl.thread_idx.x
    if i < N:
        y[i] = helper(x[i], {n}) + {n}
"""
TAIL = """
device = rt.device(0) if rt.count() else None
if device is not None:
    device.primary_context
found, loaded, cached = [], [], 0
for kernel in [value for name, value in list(globals().items()) if name.startswith("kernel")]:
    start = time.perf_counter()
    compiled = kernel.compile()
    found.append(time.perf_counter() - start)
    if device is not None:
        rt.load(compiled.artifact, device)
        loaded.append(time.perf_counter() - start)
    cached += compiled.cached
print(json.dumps({"imported": imported, "found": found, "loaded": loaded, "cached": cached}))
"""


def main() -> None:
    asked = parser(__doc__)
    asked.add_argument("--kernels", type=int, default=100)
    count = asked.parse_args().kernels
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "program.py")
        script.write_text(HEAD + "".join(KERNEL.format(n=n) for n in range(count)) + TAIL)
        environment = os.environ | {"PYTHONPATH": str(ROOT), "CUTELITE_CACHE_DIR": str(Path(folder, "cache"))}
        for turn in ("cold", "warm", "warm", "warm"):
            done = subprocess.run([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE, check=True)
            said = json.loads(done.stdout)
            assert said["cached"] == (0 if turn == "cold" else count)
            parts = [f"import {said['imported'] * 1e3:5.1f}"]
            for name in ("found", "loaded"):
                if said[name]:
                    first, *others = (1e3 * seconds for seconds in said[name])
                    mean, most = statistics.mean(others), max(others)
                    parts.append(f"{name}: first {first:6.1f}, others mean {mean:5.2f}, most {most:5.2f}")
            print(f"{turn}  {'; '.join(parts)}  (ms)", flush=True)


if __name__ == "__main__":
    main()
