"""Atomic updates, and loads and stores that other threads see in order."""

from cutelite.ir.types import SCALARS, Ptr, Vec, bf16, e4m3, f16, f32, f64, i8, i32, i64, u16, u32, u64
from cutelite.ops import atomics, sync
from tests.vocabulary.row import Row, of

GMEM, SMEM, REMOTE = POINTERS = tuple(Ptr(space, 16) for space in ("gmem", "smem", "cluster"))
ORDERS = [(semantic, scope) for semantic in atomics.SEMANTICS for scope in sync.SCOPES]
LOADED = [order for order in ORDERS if order[0] in ("relaxed", "acquire")]
STORED = [order for order in ORDERS if order[0] in ("relaxed", "release")]
WIDE = (Vec(i64, 2), Vec(u64, 2))
TOGETHER = "tests/ops/test_ops_together.py"

UPDATES = [of(p, o, SCALARS[t]) for o, names in atomics.OPERATIONS.items() for t in names for p in POINTERS]
PAIRS = [
    of(p, "add", Vec(SCALARS[name], n))
    for name, counts in atomics.VECTORS.items()
    for n in counts
    for p in (POINTERS if n == 2 and name != "f32" else (GMEM,))
]

ROWS = [
    Row(
        atomics.Atom,
        "cl.atomic_{operation}",
        [
            *UPDATES,
            *PAIRS,
            *(of(GMEM, "add", u32, *order) for order in ORDERS),
            *(of(p, "exch", t) for p in POINTERS for t in WIDE),
            *(of(GMEM, "exch", WIDE[1], *order) for order in ORDERS),
        ],
        tested=TOGETHER,
        shown="ptr<gmem,16> operation='add' i32; ptr<smem,16> operation='add' f32; "
        "ptr<gmem,16> operation='add' i32 semantic='acq_rel'; ptr<gmem,16> operation='max' i32 scope_of_order='sys'; "
        "ptr<gmem,16> operation='and' i32 semantic='release'; "
        "ptr<gmem,16> operation='or' i32 semantic='acq_rel' scope_of_order='sys'; "
        "ptr<gmem,16> operation='exch' i32 semantic='acquire'; "
        "ptr<gmem,16> operation='inc' u32 semantic='release' scope_of_order='sys'",
        refuses=[
            (of(GMEM, "mul", i32), "`operation` of .* is 'mul', but must"),
            (of(GMEM, "add", i8), "atom add takes i32, .* not i8"),
            (of(Ptr("gmem", 8), "exch", WIDE[0]), "a multiple of 16 bytes"),
            (
                of(GMEM, "exch", Vec(f64, 2)),
                "of vectors, atom can add .* and exchange 2 i64 or u64; not exch vec<f64,2>",
            ),
            (of(GMEM, "inc", i32), "atom inc takes u32, not i32"),
            (of(Ptr("gmem", 4), "add", f64), "a multiple of 8 bytes"),
            (of(Ptr("rmem", 4), "add", f32), "`p` of atom is in registers"),
            (of(SMEM, "add", Vec(f32, 4)), "works in global memory only"),
            (of(GMEM, "max", Vec(f16, 2)), "atom max takes .* not vec<f16,2>"),
            (of(GMEM, "add", Vec(f32, 8)), "of vectors, atom can add .* not add vec<f32,8>"),
            (of(GMEM, "add", i32, "acquire", "grid"), "`scope` of .* is 'grid', but must"),
            (of(GMEM, "add", i32, "seq_cst"), "`semantic` of .* is 'seq_cst', but must"),
        ],
    ),
    Row(
        atomics.Red,
        "cl.red",
        [
            *(form for form in UPDATES if form.args[1] != "exch"),
            *PAIRS,
            *(of(GMEM, "add", f32, *order) for order in STORED),
        ],
        tested=TOGETHER,
        shown="ptr<gmem,16> operation='add' i32; ptr<smem,16> operation='add' i64; "
        "ptr<cluster,16> operation='add' f32; ptr<gmem,16> operation='add' i32 semantic='release'; "
        "ptr<gmem,16> operation='max' i32; ptr<gmem,16> operation='and' i32 semantic='release'; "
        "ptr<gmem,16> operation='xor' i32; ptr<gmem,16> operation='inc' u32 semantic='release'",
        refuses=[
            (of(GMEM, "exch", i32), "red has no exch"),
            (of(GMEM, "add", i32, "acquire"), "`semantic` of .* is 'acquire', but must"),
        ],
    ),
    Row(
        atomics.AtomCas,
        "cl.atomic_cas",
        [
            *(of(SMEM, f32, f32, *order) for order in ORDERS),
            *(of(GMEM, t, t) for t in (u16, f16, i32, f32, u64, f64)),
            *(of(p, t, t) for p in POINTERS for t in WIDE),
            *(of(GMEM, WIDE[0], WIDE[0], *order) for order in ORDERS),
        ],
        tested=TOGETHER,
        shown="ptr<gmem,16> i16 i16; ptr<smem,16> i16 i16; ptr<cluster,16> i32 i32; ptr<cluster,16> i64 i64; "
        "ptr<gmem,16> i16 i16 scope_of_order='sys'; ptr<gmem,16> i16 i16 semantic='acquire' scope_of_order='cta'; "
        "ptr<gmem,16> i16 i16 semantic='release' scope_of_order='cta'; ptr<gmem,16> i16 i16 semantic='acq_rel'",
        refuses=[
            (of(GMEM, i8, i8), "a number of 16, 32 or 64 bits, or 2 i64 or u64, not i8"),
            (of(Ptr("gmem", 8), WIDE[0], WIDE[0]), "a multiple of 16 bytes"),
            (of(GMEM, i32, u32), "atom.cas takes two of one type"),
        ],
    ),
    Row(
        atomics.LoadStrong,
        "cl.load_acquire, cl.load_relaxed, cl.load_volatile",
        [
            *(of(p, t) for t in (i8, e4m3, bf16, f32, i64) for p in POINTERS),
            *(of(GMEM, t, "volatile") for t in (i8, e4m3, bf16, f32, i64)),
            *(of(GMEM, u64, *order) for order in LOADED),
            *(of(p, t) for p in POINTERS for t in WIDE),
            *(of(GMEM, WIDE[1], *order) for order in LOADED),
            of(GMEM, WIDE[0], "volatile"),
        ],
        tested=TOGETHER,
        shown="ptr<gmem,16> type=i8; ptr<gmem,16> type=i8 scope_of_order='cta'; "
        "ptr<gmem,16> type=i8 semantic='relaxed' scope_of_order='cta'; ptr<gmem,16> type=i16 scope_of_order='sys'; "
        "ptr<gmem,16> type=i16 semantic='relaxed' scope_of_order='sys'; ptr<gmem,16> type=i32 scope_of_order='sys'; "
        "ptr<gmem,16> type=i32 semantic='relaxed' scope_of_order='cluster'; "
        "ptr<gmem,16> type=i64 scope_of_order='cluster'",
        refuses=[
            (of(GMEM, Vec(f32, 2)), "ld.strong takes one number, or 2 i64 or u64"),
            (of(Ptr("gmem", 8), WIDE[0]), "a multiple of 16 bytes"),
            (of(GMEM, f32, "release"), "`semantic` of .* is 'release', but must"),
        ],
    ),
    Row(
        atomics.StoreStrong,
        "cl.store_release, cl.store_relaxed, cl.store_volatile",
        [
            *(of(p, t) for t in (i8, e4m3, bf16, f32, i64) for p in POINTERS),
            *(of(GMEM, t, "volatile") for t in (i8, e4m3, bf16, f32, i64)),
            *(of(GMEM, f32, *order) for order in STORED),
            *(of(p, t) for p in POINTERS for t in WIDE),
            *(of(GMEM, WIDE[1], *order) for order in STORED),
            of(GMEM, WIDE[0], "volatile"),
        ],
        tested=TOGETHER,
        shown="ptr<gmem,16> i8; ptr<cluster,16> i8; ptr<smem,16> i16; ptr<gmem,16> i32; ptr<smem,16> i32; "
        "ptr<cluster,16> i64; ptr<gmem,16> i8 scope_of_order='sys'; "
        "ptr<gmem,16> i8 semantic='relaxed' scope_of_order='cta'",
        refuses=[(of(GMEM, f32, "acquire"), "`semantic` of .* is 'acquire', but must")],
    ),
    Row(
        atomics.Prefetch,
        "cl.prefetch",
        [of(GMEM, level) for level in ("L1", "L2", "L2::evict_last")],
        tested=TOGETHER,
        shown="ptr<gmem,16>; ptr<gmem,16> level='L1'",
        refuses=[
            (of(GMEM, "L3"), "`level` of .* is 'L3', but must"),
            (of(SMEM), "`p` of prefetch is in this block's shared memory"),
        ],
    ),
]
