"""The examples, at shapes odd and even: on the simulator here, on a GPU (larger shapes too) where there is one."""

import importlib
import runpy
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

SMALL: dict[str, list[dict[str, Any]]] = {
    "vector_add": [{"n": n} for n in (1, 255, 256, 10_007)],
    "elementwise_2d": [{"m": 1, "n": 1}, {"m": 8, "n": 32}, {"m": 65, "n": 129}],
    "reduction": [{"n": n} for n in (1, 31, 2048, 30_011)],
    "softmax": [{"m": 1, "n": 1}, {"m": 3, "n": 128}, {"m": 7, "n": 1000}],
    "transpose": [{"m": 1, "n": 1}, {"m": 32, "n": 32}, {"m": 100, "n": 75, "dtype": "float16"}],
    "matmul_simt": [{"m": 1, "n": 1, "k": 1}, {"m": 128, "n": 128, "k": 8}, {"m": 150, "n": 130, "k": 17}],
    "histogram": [{"n": 1}, {"n": 20_011, "blocks": 3}],
    "elementwise_add": [{"m": 1, "n": 8}, {"m": 16, "n": 256}, {"m": 100, "n": 1000}],
    "tma_transpose": [{"m": 1, "n": 4}, {"m": 64, "n": 128}, {"m": 100, "n": 300}],
    "tiled_copy": [{"m": 1, "n": 8}, {"m": 64, "n": 64}, {"m": 100, "n": 200}],
    "tensorop_gemm": [
        {"m": 1, "n": 1, "k": 16},
        {"m": 128, "n": 128, "k": 32, "dtype": "bfloat16"},
        {"m": 130, "n": 72, "k": 144, "dtype": "float32"},
        {"m": 129, "n": 130, "k": 208, "dtype": "int8"},
    ],
    "hopper_gemm_tiled": [
        {"m": 1, "n": 8, "k": 8},
        {"m": 256, "n": 256, "k": 128},
        {"m": 200, "n": 520, "k": 264, "blocks": 3},
    ],
    "blackwell_gemm": [{"m": 1, "n": 8, "k": 8}, {"m": 200, "n": 1032, "k": 136, "blocks": 2}],
    "blackwell_gemm_pair": [{"m": 1, "n": 8, "k": 8}, {"m": 300, "n": 520, "k": 136, "blocks": 2}],
    "gemm_both": [{"m": 1, "n": 8, "k": 8}, {"m": 130, "n": 264, "k": 136, "blocks": 2}],
    "gemm_fp8_block": [
        {"m": 1, "n": 8, "k": 16},
        {"m": 128, "n": 128, "k": 128},
        {"m": 129, "n": 392, "k": 272},
        {"m": 600, "n": 264, "k": 400},
    ],
    "gemm": [{"m": 1, "n": 8, "k": 8}, {"m": 200, "n": 520, "k": 136}],
    "gemm_finish": [{"m": 1, "n": 16, "k": 8}, {"m": 200, "n": 272, "k": 136}],
    "sparse_gemm": [{"m": 128, "n": 8, "k": 128}, {"m": 256, "n": 264, "k": 640}],
    "gemm_grouped": [
        {"counts": (1,), "n": 8, "k": 8, "spare": 0},
        {"counts": (70, 0, 129, 64, 1), "n": 264, "k": 136},
        {"counts": (0, 0, 200, 200, 0, 7, 133, 0), "n": 520, "k": 72, "spare": 70},
        {"counts": (128, 3, 256), "n": 256, "k": 400, "dtype": "float8_e4m3fn"},
    ],
    "gemm_mixed": [
        {"t": 1, "n": 8, "k": 8},
        {"t": 17, "n": 264, "k": 136, "kind": "i8"},
        {"t": 300, "n": 72, "k": 272, "kind": "e4m3"},
        {"t": 5, "n": 128, "k": 2000},
    ],
    "hopper_gemm": [{"m": 1, "n": 8, "k": 8}, {"m": 128, "n": 256, "k": 64}, {"m": 200, "n": 264, "k": 328}],
}
LARGE: dict[str, list[dict[str, Any]]] = {
    "vector_add": [{"n": 100_000_007}],
    "elementwise_2d": [{"m": 4099, "n": 8191}],
    "reduction": [{"n": 50_000_017}],
    "softmax": [{"m": 4096, "n": 4096}, {"m": 8191, "n": 1025}],
    "transpose": [{"m": 8191, "n": 4097}, {"m": 4096, "n": 8192, "dtype": "bfloat16"}],
    "matmul_simt": [{"m": 1000, "n": 1001, "k": 1002}, {"m": 2048, "n": 2048, "k": 2048}],
    "histogram": [{"n": 50_000_017, "blocks": 528}],
    "elementwise_add": [{"m": 4097, "n": 8200}],
    "tma_transpose": [{"m": 8191, "n": 4100}],
    "tiled_copy": [{"m": 4097, "n": 8200}],
    "tensorop_gemm": [
        {"m": 1000, "n": 1001, "k": 1008, "dtype": d} for d in ("float16", "bfloat16", "float32", "int8")
    ],
    "hopper_gemm_tiled": [
        {"m": m, "n": n, "k": k} for m, n, k in ((129, 4104, 72), (4095, 1000, 1000), (4096, 4096, 4096))
    ],
    "gemm_fp8_block": [
        {"m": m, "n": n, "k": k} for m, n, k in ((7, 4104, 144), (4095, 1000, 1040), (4096, 4096, 4096))
    ],
    "gemm_finish": [{"m": m, "n": n, "k": k} for m, n, k in ((7, 4112, 72), (4095, 1008, 1000))],
    "gemm": [{"m": m, "n": n, "k": k} for m, n, k in ((7, 4104, 72), (4095, 1000, 1000), (4096, 4096, 4096))],
    "sparse_gemm": [{"m": 1024, "n": 4104, "k": 2048}],
    "gemm_grouped": [
        {"counts": (1000, 1, 0, 3000, 129), "n": 4104, "k": 520, "spare": 70},
        {"counts": tuple(range(256)), "n": 1024, "k": 512, "dtype": "float16"},
    ],
    "gemm_mixed": [
        {"t": t, "n": 1032, "k": 4104, "kind": kind} for t in (1, 16, 64, 1001) for kind in ("i4", "i8", "e4m3")
    ],
    "blackwell_gemm": [
        {"m": m, "n": n, "k": k} for m, n, k in ((129, 4104, 72), (4095, 1000, 1000), (4096, 4096, 4096))
    ],
    "blackwell_gemm_pair": [
        {"m": m, "n": n, "k": k} for m, n, k in ((257, 4104, 72), (4095, 1000, 1000), (4096, 4096, 4096))
    ],
    "gemm_both": [{"m": m, "n": n, "k": k} for m, n, k in ((65, 4104, 72), (4095, 1000, 1000))],
    "hopper_gemm": [{"m": m, "n": n, "k": k} for m, n, k in ((129, 4104, 72), (4095, 1000, 1000), (4096, 4096, 4096))],
}


BLACKWELL = {"blackwell_gemm", "blackwell_gemm_pair"}
"""Those for GPUs of compute capability 10.0 and above; on others they stay in the simulator."""


EMPTY = tuple(np.zeros(shape, ml_dtypes.bfloat16) for shape in ((64, 64), (128, 64), (64, 128)))


def cases(table: dict[str, list[dict[str, Any]]]) -> list[Any]:
    return [
        pytest.param(
            name, args, id=f"{name}-{i}", marks=pytest.mark.sm(100) if name in BLACKWELL and table is LARGE else ()
        )
        for name, all_args in table.items()
        for i, args in enumerate(all_args)
    ]


def test_every_example_is_listed() -> None:
    files = {path.stem for path in EXAMPLES.glob("*.py")} - {"common"}
    assert files == set(SMALL) == set(LARGE)
    ladder = (EXAMPLES / "README.md").read_text()
    assert all(ladder.count(f"[{name}.py]({name}.py)") == 1 for name in files)


@pytest.mark.parametrize(("name", "arguments"), cases(SMALL))
def test_example(name: str, arguments: dict[str, Any]) -> None:
    importlib.import_module(name).main(**arguments)


def test_one_source_is_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    import common

    monkeypatch.setenv("CUTELITE_ARCH", "sm_100a")
    monkeypatch.setattr(common, "torch_on_gpu", lambda sm=0: None)
    example = runpy.run_path(str(EXAMPLES / "gemm_both.py"))  # a kernel of its own, which reads the environment anew
    example["main"](m=130, n=136, k=136, blocks=2)
    code = {arch: example["gemm"].compile(*EMPTY, arch=arch).ptx for arch in ("sm_90a", "sm_100a")}
    assert ["tcgen05.mma" in code[arch] for arch in code] == [False, True]
    assert ["wgmma.mma_async" in code[arch] for arch in code] == [True, False]


@pytest.mark.parametrize("name", ["hopper_gemm", "hopper_gemm_tiled", "sparse_gemm", "gemm_mixed"])
def test_rows_that_tma_would_write_beyond_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of 12 columns in an array of 16: a TMA store would write all of these."""
    import common
    from cutelite import ArgumentError

    example = importlib.import_module(name)
    monkeypatch.setattr(example, "poisoned", lambda m, n, dtype: common.poisoned(m, n + -n % 8, dtype=dtype)[:, :n])
    with pytest.raises(ArgumentError, match=r"12.* (but N is declared divisible by|both are multiples of) 8"):
        example.main(n=12)


@pytest.mark.sm(90)
@pytest.mark.parametrize(("name", "arguments"), cases(LARGE))
def test_example_at_size(name: str, arguments: dict[str, Any]) -> None:
    importlib.import_module(name).main(**arguments)
