"""Multimem: memory of several GPUs at one address."""

from cutelite.ir.types import SCALARS, Ptr, Scalar, Vec, bf16, e4m3, e5m2, elem_of, f16, f32, f64, i8, i32, i64, u64
from cutelite.ops import multimem
from tests.vocabulary.row import Row, of

GMEM = Ptr("gmem", 16)
TESTED = "tests/lib/test_tensors.py"
VECTORS = [Vec(SCALARS[name], n) for name, counts in multimem.VECTORS.items() for n in counts]
NUMBERS = [(SCALARS[t], how) for how, names in multimem.OPERATIONS.items() for t in names if SCALARS[t].bits > 16]
EVERY = [
    *NUMBERS,
    *((t, "add") for t in VECTORS),
    (Vec(f16, 2), "min"),
    (Vec(bf16, 8), "max"),
    (Vec(e4m3, 16), "min"),
    (Vec(e5m2, 4), "max"),
]

ROWS = [
    Row(
        multimem.MultimemLoadReduce,
        "cl.multimem_ld_reduce",
        [
            *(of(GMEM, t, how) for t, how in EVERY),
            of(GMEM, f32, "add", "acquire", "gpu"),
            of(GMEM, Vec(f16, 2), "add", exact=False),
            of(GMEM, Vec(e5m2, 8), "add", exact=False),
        ],
        tested=TESTED,
        alone=True,
        refuses=[
            (of(GMEM, i8, "add"), "multimem.ld_reduce add takes i32, u32, u64, .* not i8"),
            (of(GMEM, f16, "add"), "takes f16 in vectors of 2, 4 or 8"),
            (of(GMEM, e4m3, "max"), "takes e4m3 in vectors of 4, 8 or 16"),
            (of(GMEM, Vec(e4m3, 2), "max"), "takes no vec<e4m3,2>"),
            (of(GMEM, Vec(f32, 2), "min"), "min takes i32, .* not vec<f32,2>"),
            (of(Ptr("smem", 16), f32, "add"), "must be in global memory"),
            (of(GMEM, i32, "add", "release"), "`semantic` of .* is 'release', but must"),
            (of(GMEM, i64, "mul"), "does add, min, max, and, or, xor, not 'mul'"),
        ],
    ),
    Row(
        multimem.MultimemStore,
        "cl.multimem_st",
        [*(of(GMEM, t) for t in (i32, i64, u64, f32, f64, *VECTORS)), of(GMEM, f32, "release", "gpu")],
        tested=TESTED,
        alone=True,
    ),
    Row(
        multimem.MultimemRed,
        "cl.multimem_red",
        [
            *(of(GMEM, t, how) for t, how in EVERY if (how == "add" and elem_of(t).bits > 8) or isinstance(t, Scalar)),
            of(GMEM, f32, "add", "release", "gpu"),
        ],
        tested=TESTED,
        alone=True,
        refuses=[
            (of(GMEM, Vec(f16, 2), "min"), "only adds vec<f16,2>"),
            (of(GMEM, Vec(e4m3, 4), "add"), "multimem.red takes no vec<e4m3,4>"),
        ],
    ),
]
