"""PTX of the kernels of many calls of attention's backward pass: a refactoring shows by it that it changed nothing.

python tests/bench/attention_ptx.py before.json            # needs no GPU; two minutes
python tests/bench/attention_ptx.py after.json --against before.json
python tests/bench/attention_ptx.py some.json --only '^128.*causal'

The file has a hash for each kernel of each call, of PTX without comments and lines of source. Kernels with split heads
are compiled whatever the host would choose.
"""

import argparse
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np

import cutelite as cl
from cutelite import toolchain
from cutelite.dispatch.kernel import Kernel
from cutelite.kernels.attention import attention_backward, attention_varlen_backward, backward_call, create_block_mask

BF16 = ml_dtypes.bfloat16
DIMS = (64, 64), (96, 96), (128, 128), (192, 128), (192, 192), (256, 64), (256, 256)
TABLE, SLOPES = np.zeros((4, 2048), np.float32), np.zeros(4, np.float32)
DOCUMENTS = np.zeros(1024, np.int32)
Mod = Callable[..., Any]


class Written(BaseException):
    """Ends a compile where PTX is there: its only argument. Nothing of the compiler's catches it."""


def near(score: Any, b: Any, h: Any, q: Any, k: Any) -> Any:
    return score + 4.0 / (1 + abs(q - k))


def slope(score: Any, b: Any, h: Any, q: Any, k: Any) -> Any:
    return score + (k - q) * 0.01


def square(score: Any, b: Any, h: Any, q: Any, k: Any) -> Any:
    return score * score * 0.1


def table(score: Any, b: Any, h: Any, q: Any, k: Any) -> Any:
    return score + TABLE[h, k - q + 1000]


def alibi(score: Any, b: Any, h: Any, q: Any, k: Any) -> Any:
    return score + SLOPES[h] * (k - q)


def close(b: Any, h: Any, q: Any, k: Any) -> Any:
    return abs(q - k) < 100


def documents(b: Any, h: Any, q: Any, k: Any) -> Any:
    return DOCUMENTS[q] == DOCUMENTS[k]


FORMS: dict[str, dict[str, Any]] = {
    "full": {},
    "causal": {"causal": True},
    "window": {"window": (100, 20)},
    "left": {"window": (100, None)},
    "cap": {"softcap": 20.0},
    "causal cap": {"softcap": 20.0, "causal": True},
    "near": {"score_mod": near},
    "causal slope": {"score_mod": slope, "causal": True},
    "square": {"score_mod": square},
    "table": {"score_mod": table},
    "causal table": {"score_mod": table, "causal": True},
    "alibi": {"score_mod": alibi},
    "close": {"mask_mod": close},
    "documents": {"mask_mod": documents},
    "same bits": {"deterministic": True},
    "causal same bits": {"deterministic": True, "causal": True},
    "cap, square, close": {"softcap": 20.0, "score_mod": square, "mask_mod": close},
    "learned alibi": {"score_mod": alibi, "captured": (SLOPES,)},
    "learned causal table": {"score_mod": table, "captured": (TABLE,), "causal": True},
}
RAGGED = "full", "causal", "cap", "near", "table", "close", "same bits", "learned alibi"
SPLIT = "full", "causal", "near", "square", "same bits"


def dense(d: int, e: int, dtype: Any, how: dict[str, Any], parts: int = 1) -> None:
    """Call `attention_backward` with four heads for two, which are in so many parts."""
    q, do, k, v = (np.zeros((1, 512, heads, dim), dtype) for heads, dim in ((4, d), (4, e), (2, d), (2, e)))
    with mock.patch.object(backward_call, "parted", return_value=parts):
        attention_backward(do, q, k, v, do.copy(), np.zeros((1, 4, 512), np.float32), **how)


def ragged(d: int, e: int, how: dict[str, Any]) -> None:
    q, do, k, v = (np.zeros((700, heads, dim), BF16) for heads, dim in ((4, d), (4, e), (2, d), (2, e)))
    starts = np.array([0, 300, 700], np.int32)
    attention_varlen_backward(do, q, k, v, do.copy(), np.zeros((4, 700), np.float32), starts, **how)


def calls() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield all calls, with their names."""
    for d, e in DIMS:
        for form, how in FORMS.items():
            name = f"{d} {e} {form}"
            yield name, partial(dense, d, e, BF16, how)
            if form in SPLIT:
                yield f"{name}, split", partial(dense, d, e, BF16, how, 2)
                yield f"{name}, f16", partial(dense, d, e, np.float16, how)
            if form in RAGGED:
                yield f"{name}, sequences", partial(ragged, d, e, how)
        blocks = create_block_mask(close, None, None, 512, 512)
        yield f"{d} {e} blocks", partial(dense, d, e, BF16, {"block_mask": blocks})


def compiled(call: Callable[[], None]) -> Iterator[tuple[str, str]]:
    """Yield the name and the hash of each kernel that a call would launch."""
    found: list[tuple[str, str]] = []

    def written(ptx: Any, assembler: str) -> None:
        raise Written(str(ptx))

    def launching(kernel: Any, key: Any) -> Callable[..., None]:
        def launch(*args: Any, **given: Any) -> None:
            try:
                kernel.compile(*args, block=key.block if isinstance(key, cl.Launch) else key[1], arch="sm_90a", **given)
            except Written as text:
                lines = (re.sub(r"\s*//.*", "", line) for line in str(text).splitlines())
                code = "\n".join(line for line in lines if line.strip() and not re.match(r"\s*\.(loc|file)\b", line))
                found.append((kernel.__name__, hashlib.sha256(code.encode()).hexdigest()[:16]))

        return launch

    with (
        mock.patch.object(toolchain, "for_ptxas", written),
        mock.patch.object(Kernel, "__getitem__", launching),
    ):
        call()
    yield from found


def main() -> int:
    parser = argparse.ArgumentParser(description="Hash the PTX of the kernels of attention's backward pass.")
    parser.add_argument("file", type=Path, help="where hashes go")
    parser.add_argument("--against", type=Path, help="a file of before: print which kernels differ")
    parser.add_argument("--only", default="", help="a regular expression that names of calls match")
    given = parser.parse_args()
    os.environ["CUTELITE_CACHE"] = "0"  # what is on disk has no PTX to be seen
    named = [(name, call) for name, call in calls() if re.search(given.only, name)]
    found = {f"{name}: {i} {kernel}": code for name, call in named for i, (kernel, code) in enumerate(compiled(call))}
    given.file.write_text(json.dumps(found, indent=1))
    print(f"{len(found)} kernels of {len(named)} calls, {len(set(found.values()))} of them different")
    before = json.loads(given.against.read_text()) if given.against else found
    gone = [kernel for kernel in before if re.search(given.only, kernel.partition(":")[0])]
    differ = [kernel for kernel in dict.fromkeys([*gone, *found]) if before.get(kernel) != found.get(kernel)]
    print(*(f"differs: {kernel}" for kernel in differ), sep="\n", end="\n" if differ else "")
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
