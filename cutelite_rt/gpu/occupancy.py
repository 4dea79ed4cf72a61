"""The part of a device that a persistent kernel can fill."""

from __future__ import annotations

from functools import lru_cache

from cutelite_rt.artifact import Artifact
from cutelite_rt.gpu.device import Device
from cutelite_rt.gpu.device import device as device_of
from cutelite_rt.gpu.launch import LaunchConfig, load

_EMPTY = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry occupancy() { ret; }\n"


def max_active_clusters(cluster: int, ordinal: int | None = None) -> int:
    """Return the number of clusters of that size that run at once, where each block has a multiprocessor to itself.

    The grid of a persistent kernel: one more cluster would begin only after another has ended, with all its tiles.
    Clusters do not reach over groups of multiprocessors, so that not all of these can be filled by large ones.

    cluster  blocks; 1 gives the number of multiprocessors
    ordinal  of the device; default: the current one
    Errors   `CudaError` without a driver or a device, and for more blocks than a cluster can have
    """
    device = device_of(ordinal)
    return int(device.limits.sm_count) if cluster == 1 else _clusters(cluster, device)


@lru_cache
def _clusters(cluster: int, device: Device) -> int:
    function = load(Artifact("occupancy", "sm_90", ptx=_EMPTY), device)
    shape = (cluster, 1, 1)
    config = LaunchConfig(shape, (128, 1, 1), cluster=shape, smem=device.limits.smem_per_block_optin)
    with device.active():
        raw = function.prepared(config)
        doing = f"asking how many clusters of {cluster} blocks run at once"
        return int(device.driver.call("cuOccupancyMaxActiveClusters", function.handle, raw, doing=doing))
