"""The number of clusters or blocks that a device runs at once: the grid of a persistent kernel."""

from __future__ import annotations

from functools import lru_cache

from cutelite_rt.artifact import Artifact
from cutelite_rt.gpu.device import Device
from cutelite_rt.gpu.device import device as device_of
from cutelite_rt.gpu.driver import CudaError
from cutelite_rt.gpu.launch import Function, LaunchConfig, load

# CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: bytes that each block takes besides those it asks for
_RESERVED_SMEM = 111
_INVALID_CLUSTER_SIZE = 912  # CUDA_ERROR_INVALID_CLUSTER_SIZE
_EMPTY = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry occupancy() { ret; }\n"


def max_active_clusters(cluster: int, ordinal: int | None = None, resident: int = 1) -> int:
    """Return the number of clusters of that size that run at once.

    It is the grid of a persistent kernel: one more cluster would begin only after another one has ended.
    A cluster lies within one GPC, so large clusters may leave multiprocessors idle.

    cluster   blocks in a cluster; for 1 the result is the number of multiprocessors times `resident`
    ordinal   the device; default: the current one
    resident  blocks that share a multiprocessor; default: each block has one to itself
    Result    0 where the device runs no cluster of that size
    Errors    `CudaError` without a driver or a device
    """
    device = device_of(ordinal)
    return int(device.limits.sm_count) * resident if cluster == 1 else _clusters(cluster, device, resident)


def resident_clusters(function: Function, config: LaunchConfig) -> int:
    """Return the number of clusters of a kernel that run at once on its device; without clusters, of blocks.

    config  the block, cluster and dynamic shared memory of its launches
    Errors  `CudaError`
    """
    driver, limits = function.driver, function.device.limits
    threads = config.block[0] * config.block[1] * config.block[2]
    with function.device.active():
        raw = function.prepared(config)
        if config.cluster and config.cluster != (1, 1, 1):
            doing = f"asking how many clusters of {function!r} run at once"
            return int(driver.call("cuOccupancyMaxActiveClusters", function.handle, raw, doing=doing))
        asked = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        return int(driver.call(asked, function.handle, threads, config.smem)) * int(limits.sm_count)


@lru_cache
def _clusters(cluster: int, device: Device, resident: int) -> int:
    function = load(Artifact("occupancy", "sm_90", ptx=_EMPTY), device)
    shape = (cluster, 1, 1)
    reserved = device.attribute(_RESERVED_SMEM)
    smem = (device.limits.smem_per_block_optin + reserved) // resident // 128 * 128 - reserved
    try:
        return resident_clusters(function, LaunchConfig(shape, (32, 1, 1), cluster=shape, smem=smem))
    except CudaError as problem:
        if problem.number == _INVALID_CLUSTER_SIZE:
            return 0
        raise
