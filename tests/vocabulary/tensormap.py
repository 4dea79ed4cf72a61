"""TMA descriptors in memory."""

from dataclasses import replace
from functools import partial

from cutelite.ir.types import Tensor, f32, i32, i64, u32, u64
from cutelite.layout import Layout
from cutelite.ops import tensormap
from tests.vocabulary import row
from tests.vocabulary.places import GMEM, MAP, SMEM, tensor_map
from tests.vocabulary.row import of

Row = partial(row.Row, alone=True, tested="tests/hopper/test_tensormaps.py")
ROOM = Tensor(u64, "smem", Layout(16, 1), 128)
STORED = replace(MAP, stored=True)
WIDE = range(1, 6)

ROWS = [
    Row(
        tensormap.TensormapCopy,
        "cl.tensormap_copy",
        [of(MAP, ROOM), of(tensor_map(5), SMEM)],
        refuses=[
            (of(ROOM, ROOM), "takes a TMA descriptor, not tensor"),
            (of(STORED, ROOM), "the descriptor is one in memory"),
            (of(MAP, replace(ROOM, align=64)), "must be a multiple of 128 bytes"),
            (of(MAP, replace(ROOM, elem=f32)), "is a tensor of f32, but must be one of u64"),
            (of(MAP, GMEM), "must be in this block's shared memory"),
        ],
    ),
    Row(
        tensormap.TensormapReplace,
        "cl.tensormap_replace",
        [of("global_address", ROOM, value) for value in (u64, i64, GMEM)]
        + [of("global_dim", ROOM, i32, mode, modes) for modes in WIDE for mode in range(modes)]
        + [of("global_stride", SMEM, i64, mode, modes) for modes in WIDE for mode in range(modes - 1)]
        + [of("global_dim", ROOM, u32), of("global_stride", ROOM, u64, 0, 2)],
        refuses=[
            (of("swizzle_mode", ROOM, u32), "`swizzle_mode` is in the descriptor's type"),
            (of("colour", ROOM, u32), "`colour` is none of global_address, global_dim, global_stride"),
            (of("global_dim", ROOM, i64), "global_dim is i64, but must be u32 or i32"),
            (of("global_address", ROOM, SMEM), "must be in global memory"),
            (of("global_dim", ROOM, i32, 2, 2), "mode 2 of 2 is none of the tensor's"),
            (of("global_stride", ROOM, i64, 1, 2), "mode 1 of 2 has no stride to replace"),
            (of("global_dim", ROOM, i32, 0, 6), "1 to 5 modes, not 6"),
        ],
    ),
    Row(
        tensormap.TensormapPublish,
        "cl.tensormap_publish",
        [of(GMEM, ROOM, reach) for reach in ("cta", "cluster", "gpu", "sys")],
        refuses=[
            (of(SMEM, ROOM), "must be in global memory"),
            (of(GMEM, GMEM), "must be in this block's shared memory"),
            (of(GMEM, ROOM, "grid"), "`reach` of .* is 'grid', but must"),
        ],
    ),
    Row(
        tensormap.TensormapAt,
        "cl.tensormap_acquire",
        [of(GMEM, STORED)],
        refuses=[(of(GMEM, MAP), "is the type of a parameter"), (of(SMEM, STORED), "must be in global memory")],
    ),
]
