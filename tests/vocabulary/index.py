"""Special registers, and extents of the launch."""

from cutelite.ops import index
from tests.vocabulary.row import Row

ROWS = [
    Row(
        index.Special,
        "cl.thread_idx, cl.block_idx, cl.block_dim, cl.grid_dim, cl.cluster_idx, cl.cluster_dim, cl.block_in_cluster, "
        "cl.block_rank_in_cluster, cl.lane_idx, cl.warp_idx, cl.smid, cl.nsmid, cl.warpid, cl.nwarpid, cl.gridid, "
        "cl.lanemask, cl.cluster_count, cl.blocks_in_cluster, cl.clock, cl.clock64, cl.globaltimer",
        case="special",
        tested="tests/ops/test_ops_debug.py",
    ),
    Row(index.Dim, "an expression over dims", case="tensor", tested="tests/front/test_arguments.py"),
    Row(index.DimBind, "cl.dim", case="tensor", tested="tests/run/test_made_dims.py"),
]
