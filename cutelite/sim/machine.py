"""The machine of one CTA, as the ops' `simulate` finds it in ``lanes.machine``, and how ops are written with it.

The protocols are in `cutelite.ir.simulation`. One example of each kind of op:

A thread op gets any number of lanes, works on whole arrays and defines its results::

    def simulate(self, lanes):                                        # ex2.approx
        lanes.define(np.exp2(lanes.get(self.a)))

A warp op (``scope="warp"``) gets 32 lanes, of which `lanes.mask` says who takes part. With ``wide = True`` it gets
32 lanes for each of several warps, which makes shuffles and votes much faster::

    def simulate(self, lanes):                                        # shfl.sync.bfly, wide, operand `members`
        a = lanes.warps(lanes.get(self.a))                            # (warps, 32)
        source = np.arange(32) ^ lanes.warps(lanes.get(self.lane))    # (warps, 32)
        lanes.define(np.take_along_axis(a, source, axis=1).reshape(-1))

A blocking op returns a `Wait`; what the other threads need from these is done before::

    def simulate(self, lanes):                                        # barrier.sync
        return lanes.machine.barriers.sync(lanes, lanes.get(self.id), lanes.get(self.count))

    def simulate(self, lanes):                                        # mbarrier.try_wait.parity in a loop
        return lanes.machine.mbarriers.wait(lanes, lanes.get(self.address), lanes.get(self.parity))

An asynchronous op says what it will read and, apart from that, what it will write. The engine does the first at some
moment from now on and the second at some later one. Operands are taken from `lanes` now: registers are read at
issue. Whoever may be issued by several threads at once starts work for each of them::

    def simulate(self, lanes):                                        # cp.async.bulk.tensor, global to shared
        tiles, barriers = lanes.get(self.dst), lanes.get(self.barrier)
        tile_map, coords = lanes.get(self.source), [lanes.get(c) for c in self.coord]
        for lane in lanes.each():
            self.copy(lanes, lane, tile_map, [int(c[lane]) for c in coords], int(tiles[lane]), int(barriers[lane]))

    def copy(self, lanes, lane, tile_map, coord, dst, barrier):
        def write(agent, tile):
            tile_map.put_smem(agent, dst, tile)                       # multicast: for each map_to_rank(dst, rank)
            agent.complete_tx(barrier, tile_map.box_bytes)

        lanes.machine.engine.start(lanes, "none", lambda agent: tile_map.read(agent, coord), write, lane=lane)

Groups are the engine's: ``engine.commit(lanes, "bulk")``, ``engine.wait(lanes, "bulk", 1, reads_only=True)``.

A register value in flight is its work's ticket, one int64 for each lane; the wait exchanges it for the result::

    def simulate(self, lanes):                                        # wgmma.mma_async, scope warpgroup
        a, b = int(lanes.get(self.a)[0]), int(lanes.get(self.b)[0])   # descriptors
        chained = lanes.get(self.d)                                   # a vector, or the ticket of the mma before

        def read(agent):
            return product(agent, a, b) + accumulator(agent, chained)     # agent.result(ticket) if it is one

        ticket = lanes.machine.engine.start(lanes, "wgmma", read, in_order=True)
        lanes.define(np.full(len(lanes.tid), ticket, np.int64))

    def simulate(self, lanes):                                        # wgmma.wait_group, scope warpgroup
        lanes.machine.engine.wait(lanes, "wgmma", self.pending)
        lanes.define(lanes.machine.engine.result(int(lanes.get(self.d)[0])))    # (128, n)

Shared memory is read and written by address, in units of as many neighbouring elements as are known to be aligned:
``agent.load("smem", rows, bf16, 8)`` with `rows` an int64 array of any shape gives ``rows.shape + (8,)``, and is
about as fast as one NumPy gather.
"""
