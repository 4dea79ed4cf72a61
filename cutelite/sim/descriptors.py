"""TMA descriptors that a kernel writes to global memory, and checks of their use.

TMA reads descriptors through a proxy of its own, and caches them. So a complete descriptor is *published* by the
instruction that releases it to that proxy, and each thread that starts copies *acquires* it. It is an error here to
acquire a descriptor that was not published in this launch, to use one that the thread has not acquired since it was
last published, and to publish another one at an address while a copy still uses the old one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cutelite.ir.simulation import Lanes
from cutelite.ir.types import TensorMap, u64
from cutelite.ops.tensormap import MAP_BYTES
from cutelite.sim.actors import WorkAgent
from cutelite.sim.memory import Space
from cutelite.sim.tensormap import SimTensorMap

Array = Any

CODE = "tensormap"


class Descriptors:
    """The descriptors of a launch, by their addresses."""

    def __init__(self) -> None:
        self._published: dict[int, bytes] = {}
        self._acquired: dict[tuple[int, int, int], bytes] = {}  # (block, thread, address) -> the bytes acquired
        self._made: dict[tuple[int, bytes, TensorMap], StoredMap] = {}

    def publish(self, gmem: Space, address: int) -> None:
        """Record the descriptor at an address as published."""
        region = gmem.region_at(address)
        start = address - region.base
        self._published[address] = region.bytes[start : start + MAP_BYTES].tobytes()

    def acquire(self, lanes: Lanes, block: int, address: Array) -> None:
        """Record the descriptor that each thread acquires; this reads its bytes."""
        words = lanes.load("gmem", address, u64, MAP_BYTES // 8)
        found = [self._published.get(int(at)) for at in address]
        wrong = np.array([held != row.tobytes() for held, row in zip(found, words, strict=True)])
        lanes.fault(wrong, "no TMA descriptor was published at the address that is acquired", CODE,
                    "`tensormap_publish`, by a whole warp of this launch, before the threads meet")  # fmt: skip
        for lane in lanes.each():
            self._acquired[block, int(lanes.tid[lane]), int(address[lane])] = words[lane].tobytes()

    def find(self, lanes: Lanes, block: int, lane: int, address: int, type: TensorMap) -> StoredMap:
        """Return the descriptor at an address for a thread that uses it."""
        words = self._acquired.get((block, int(lanes.tid[lane]), address))
        here = np.arange(len(lanes.tid)) == lane
        lanes.fault(here & (words is None), "a TMA descriptor in memory is used by a thread that has not acquired it",
                    CODE, "`tensormap_acquire` in each thread that starts copies")  # fmt: skip
        assert words is not None
        lanes.fault(here & (words != self._published[address]), "a TMA descriptor in memory is used as it was before "
                    "it was published anew", CODE, "`tensormap_acquire` again, after threads met")  # fmt: skip
        key = (address, words, type)
        if key not in self._made:
            try:
                self._made[key] = StoredMap(self, *key)
            except ValueError as error:
                lanes.fault(here, str(error), CODE)
        return self._made[key]

    def is_still(self, address: int, words: bytes) -> bool:
        """Tell whether these are still the bytes of the descriptor published at an address."""
        return self._published[address] == words


class StoredMap(SimTensorMap):
    """A descriptor in memory, as one thread acquired it; implements `ir.simulation.TileMap`."""

    def __init__(self, all: Descriptors, at: int, words: bytes, type: TensorMap) -> None:
        self.__dict__.update(SimTensorMap.of_words(np.frombuffer(words, np.uint64), type).__dict__)
        self._all, self._at, self._words = all, at, words

    def _used(self, agent: WorkAgent) -> None:
        if not self._all.is_still(self._at, self._words):
            what = "another TMA descriptor was published in the place of one that this copy uses"
            agent.fail(CODE, what, place=agent.place("gmem", self._at),
                       help="wait for the copies under it first, or give each its own place")  # fmt: skip
        agent.uses_descriptor(self._at)
