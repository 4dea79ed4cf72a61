"""Blocks of a cluster, and grids one after the other."""

from functools import partial

from cutelite.ir.types import SCALARS, Vec, f16, f32, f64, i32, i64, u32, u64
from cutelite.ops import cluster
from tests.vocabulary import row
from tests.vocabulary.places import BAR, REMOTE, SMEM, TILE
from tests.vocabulary.row import of

Row = partial(row.Row, alone=True, tested="tests/hopper/test_cluster.py")
CONTROL = "tests/blackwell/test_launch_control.py"

ROWS = [
    Row(cluster.ClusterArrive, "cl.cluster_arrive, cl.cluster_sync", [of(False), of(True)]),
    Row(cluster.ClusterWait, "cl.cluster_wait, cl.cluster_sync", [of()]),
    Row(
        cluster.Mapa,
        "cl.mapa",
        [of(SMEM, i32), of(TILE, i32)],
        refuses=[(of(REMOTE, i32), "must be in this block's shared memory")],
    ),
    Row(cluster.Getctarank, "cl.getctarank", [of(SMEM)]),
    Row(
        cluster.StAsync,
        "cl.st_async",
        [of(REMOTE, t, REMOTE) for t in (u32, f32, i64, f64, Vec(f32, 2), Vec(u32, 4), Vec(f64, 2))],
        refuses=[
            (of(REMOTE, f16, REMOTE), "takes 32 or 64 bits, .* not f16"),
            (of(REMOTE, Vec(u64, 4), REMOTE), "16 bytes at most, and vec<u64,4> has 32"),
            (of(SMEM, f32, REMOTE), "must be in the cluster's shared memory"),
        ],
    ),
    Row(
        cluster.RedAsync,
        "cl.red_async",
        [of(kind, REMOTE, SCALARS[name], REMOTE) for kind, names in cluster.RED_ASYNC.items() for name in names],
        refuses=[(of("min", REMOTE, u64, REMOTE), "red.async min takes u32, i32, not u64")],
    ),
    Row(
        cluster.TryCancel,
        "cl.clusterlaunchcontrol_try_cancel",
        [of(SMEM, BAR), of(SMEM, BAR, True)],
        refuses=[(of(REMOTE, BAR), "must be in this block's shared memory")],
        tested=CONTROL,
    ),
    Row(
        cluster.IsCanceled,
        "cl.clusterlaunchcontrol_is_canceled",
        [of(Vec(u64, 2))],
        refuses=[(of(Vec(u32, 4)), "is a vec<u64,2>, not vec<u32,4>")],
        tested=CONTROL,
    ),
    Row(
        cluster.GetFirstCtaid,
        "cl.clusterlaunchcontrol_get_first_ctaid",
        [of(Vec(u64, 2), axis) for axis in "xyz"],
        refuses=[(of(Vec(u64, 2), "w"), "`axis` of .* is 'w', but must")],
        tested=CONTROL,
    ),
    Row(cluster.LaunchDependents, "cl.griddepcontrol_launch_dependents", [of()]),
    Row(cluster.GridWait, "cl.griddepcontrol_wait", [of()]),
]
