"""The scheduler: lets the strands of some CTAs take turns until all their threads have exited.

Threads that part at a branch go on as two strands and meet again at the branch's post-dominator. They do not wait there
for ever: when nothing else can go on, or the others take very long (a spinning thread may wait for one that has
arrived), the threads at a meeting point go on alone. So every thread makes progress, as on the hardware since Volta.

A turn ends when the strand blocks, parts, meets others, exits, or has used up its ops. If no thread can go on, no
asynchronous work is left, and no thread waits at a meeting point, there is a deadlock; its report says what each thread
waits for.
"""

from __future__ import annotations

from collections import deque
from random import Random

import numpy as np

from cutelite.diag import InternalError
from cutelite.ir.op import Op
from cutelite.sim import collective
from cutelite.sim.blocked import Blocked
from cutelite.sim.error import SimError, TooLarge
from cutelite.sim.events import Exit, Resume, Retire
from cutelite.sim.launch import SimLaunch
from cutelite.sim.machine import Cluster, Machine
from cutelite.sim.program import BlockCode, Step
from cutelite.sim.report import check_convergence, deadlock, endless, spinning
from cutelite.sim.spins import CALM, CYCLE, LONG, PAUSE, Spins, looks
from cutelite.sim.strand import AT_JOIN, BLOCKED, EXITED, IN_TASK, PARTING, REPLACED, RUNNABLE, Join, Strand, merge
from cutelite.sim.task import Task
from cutelite.sim.values import Values
from cutelite.target.targets import WARP, WARPGROUP

PATIENCE = (1 << 4, 1 << 13)
"""Least and most ops to wait for threads that may be spinning. Threads at a meeting point wait so long for the others.
If no strand blocks, meets others or exits for so long, ready threads are resumed, asynchronous work executed or a
cluster started. After a wait in vain, or for threads that spin, the next one is shorter; at a meeting point it is
longer after a successful one."""


class Scheduler:
    """Runs the clusters of one launch.

    runnable, blocked, tasks   the strands of the resident clusters, by their state
    parked                     strands at a collective op whose other threads have not arrived yet
    joins                      meeting points at which threads have arrived
    """

    def __init__(self, launch: SimLaunch) -> None:
        self.launch = launch
        self.policy = launch.policy
        self.max_ops = launch.max_ops
        self.clusters: list[Cluster] = []
        self.runnable: list[Strand] = []
        self.resting: list[Strand] = []  # strands that ran for long without blocking: the others go first
        self.blocked: list[Strand] = []
        self.tasks: list[Task] = []
        self.parked: dict[Machine, dict[Step, list[Strand]]] = {}
        self.joins: list[Join] = []
        self._op: Op | None = None  # the op being executed, for reports of the simulator's mistakes
        self._polled = -1  # `launch.wakes` when the blocked strands were last polled
        self._ready = False  # threads that blocked since then, or some threads of a strand, can go on
        self._patience: dict[BlockCode, int] = {}
        self._quiet_since = 0  # ops at the last time that a strand blocked, met others or exited
        self._quiet_for = PATIENCE[1]
        self._exits = False  # threads have exited since the last check for finished clusters
        self._spins = Spins()
        self._watched = 0  # ops when a strand was last checked for spinning
        self._calm = CALM  # ops without a change before they are; fewer once some were found to spin

    def run(self) -> None:
        """Execute every block of the grid."""
        try:
            self._run()
        except (SimError, InternalError):
            raise
        except Exception as error:  # from an op's `simulate`, or the simulator itself
            text, function, op = f"{type(error).__name__}: {error}", self.launch.program.function, self._op
            span = op.span if op else None
            raise InternalError(text, stage="sim", op=repr(op), ir=str(function), span=span) from error

    def _run(self) -> None:
        self.launch.waiting = self._order()
        self._admit()
        while self.clusters:
            self._poll()
            if self.runnable or self.resting:
                self._turn()
                if self.policy.strike():
                    self._strike()
                self._look_after()
            elif not self._unstick():
                raise deadlock(self)
            self._retire()

    # Clusters come and go

    def _order(self) -> deque[int]:
        (x, y, z), (i, j, k) = self.launch.grid, self.launch.cluster
        count, blocks = x // i * (y // j) * (z // k), self.launch.blocks
        if blocks > self.max_ops:
            title = f"the {blocks} blocks of the grid would take more operations than the limit of {self.max_ops}"
            raise TooLarge(self.launch.kernel, title, "simulate a smaller problem, or raise `max_ops`")
        numbers = list(range(count) if self.launch.sample is None else self._sample(count))
        if self.policy.blocks == "any":
            self.policy.random.shuffle(numbers)
        elif self.policy.blocks == "last":
            numbers.reverse()
        return deque(numbers)

    def _sample(self, count: int) -> list[int]:
        """Return about as many of the `count` clusters as have the blocks to be simulated."""
        i, j, k = self.launch.cluster
        wanted = min(count, -(-self.launch.blocks // (i * j * k)))
        return sorted(Random(self.launch.seed).sample(range(count), wanted))

    def _admit(self, more: int = 0) -> None:
        """Start clusters until as many are resident as the policy says, or `more` in addition to those now resident."""
        wanted = max(self.policy.resident, len(self.clusters) + more)
        waiting = self.launch.waiting
        while waiting and len(self.clusters) < wanted:
            cluster = Cluster(self.launch, self.launch.next_cluster())
            self.clusters.append(cluster)
            self._quiet_since = self.launch.ops
            for machine in cluster.machines:
                self.parked[machine] = {}
                self.runnable += self._beginners(machine)

    def _beginners(self, machine: Machine) -> list[Strand]:
        strand = Strand(
            machine, np.arange(machine.threads), Values(self.launch.values, machine.threads), machine.program.entry
        )
        if self.policy.gang:
            return [strand]
        if not machine.program.in_warpgroups:
            return strand.by(WARP)
        return [one for group in strand.by(WARPGROUP) for one in self._regrouped([group])]

    def _retire(self) -> None:
        if not self._exits:
            return
        self._exits = False
        for cluster in [c for c in self.clusters if not np.count_nonzero(c.live)]:
            for machine in cluster.machines:
                machine.engine.drain()
                if machine.tell is not None:
                    machine.tell(Retire())
                del self.parked[machine]
            self.clusters.remove(cluster)
            self._admit()

    def _look_after(self) -> None:
        """Release threads that have waited at a meeting point for long; raise an error at the limit of ops."""
        ops = self.launch.ops
        for join in [j for j in self.joins if ops - j.since > self._patience.get(j.code, PATIENCE[1])]:
            self._patience[join.code] = max(PATIENCE[0], self._patience.get(join.code, PATIENCE[1]) // 4)
            self._release(join)
        if ops - self._quiet_since > self._quiet_for:
            self._quiet_for = max(PATIENCE[0], self._quiet_for // 2)
            self._quiet_since = ops
            if not self._let_some_go() and not self._strike() and len(self.clusters) < self.launch.sm_count:
                self._admit(more=1)
        if ops > self.max_ops:
            raise endless(self)

    # Turns

    def _turn(self) -> None:
        if not self.runnable:
            self.runnable, self.resting = self.resting, []
        strand = self.runnable.pop(self.policy.choose(len(self.runnable), self._warp))
        if self.runnable:
            strand = self._gather(strand)
        budget = self.policy.turn()
        if strand.spent >= self.policy.patience:  # it may be spinning, for asynchronous work that is executed next
            budget = min(budget, max(2 * PATIENCE[0], self._quiet_for))
        before = self.launch.ops
        calm = self._spins.calm(self.launch.changes + self.launch.writes.count, before)
        if calm > self._calm:
            budget = min(budget, PAUSE)
            if before - self._watched >= PAUSE or self._spins.lacks(strand):
                self._watched = before
                self._watch(strand, calm)
                if strand.state != RUNNABLE:
                    self._file(strand)
                    return
        self._advance(strand, budget)
        if strand.state == RUNNABLE:
            strand.spent += self.launch.ops - before
            if strand.spent >= self.policy.patience:
                self.resting.append(strand)
            else:
                self.runnable.insert(0 if self.policy.pick == "first" else len(self.runnable), strand)
        else:
            self._file(strand)

    def _warp(self, position: int) -> tuple[int, int]:
        """Return the warp of a runnable strand."""
        strand = self.runnable[position]
        return strand.machine.index, int(strand.tid[0]) // WARP

    def _watch(self, strand: Strand, calm: int) -> None:
        """After a long time without a change: if all threads that can go on spin, let others go on, or report it."""
        if self._spins.state(strand):
            strand.spent = max(strand.spent, self.policy.patience)  # so the others go first
            self._calm = max(4 * PAUSE, self._calm // 2)
        if calm > LONG and self._look(strand):
            self._spins.look(strand)
        going = [strand, *self.runnable, *self.resting]
        at_joins = [other for join in self.joins for other in join.arrived]
        if not self._spins.all([*going, *at_joins]):
            return
        self._quiet_for = max(PATIENCE[0], self._quiet_for // 2)
        helped = self._let_some_go() or self._strike()
        if not helped and self.joins:
            self._release(self.joins[-1])
            helped = True
        if not helped and len(self.clusters) < self.launch.sm_count:
            clusters = len(self.clusters)
            self._admit(more=1)
            helped = len(self.clusters) > clusters
        if not helped:
            look = [other for other in going if self._look(other)]
            self.runnable = [*self.runnable, strand]
            raise spinning(self, look) if look else endless(self)
        self.launch.changed()

    def _look(self, strand: Strand) -> bool:
        """Run a strand until it has read something that others may change, and that decides whether it goes on.

        Return False if it does not do so soon.
        """
        for _ in range(CYCLE):
            self._advance(strand, 1)
            if strand.state != RUNNABLE:
                return False
            if looks(strand.op) and strand.op in self.launch.program.deciders:
                return True
        return False

    def _gather(self, strand: Strand) -> Strand:
        """Merge `strand` with those that stand at the same place: all of the CTA in a gang, else of the same warp."""
        pc, code = strand.pc, strand.code
        here = [other for other in self.runnable if other.pc == pc and other.code is code]
        mates = [other for other in here if self._mates(strand, other)]
        if not mates:
            return strand
        self.runnable = [other for other in self.runnable if other not in mates]
        return merge([strand, *mates])

    def _mates(self, a: Strand, b: Strand) -> bool:
        """Tell whether strands at the same step may go on as one."""
        if a.join is not b.join or a.machine is not b.machine:
            return False
        return self.policy.gang or a.tid[0] // WARP == a.tid[-1] // WARP == b.tid[0] // WARP == b.tid[-1] // WARP

    def _advance(self, strand: Strand, budget: int) -> None:
        """Execute steps of `strand` until it cannot go on, or has executed `budget` of them."""
        launch = self.launch
        while budget > 0 and strand.state == RUNNABLE:
            steps = strand.code.steps
            pc = begin = strand.pc
            stop = min(len(steps), pc + budget)
            yields = False
            regs, fixed = strand.regs, strand.fixed
            for op, simulate, alone, strong, same, reach in strand.code.rows[pc:stop]:
                if not alone:
                    break
                pc += 1
                strand.op = self._op = op
                if same is not None:
                    held = fixed[reach]
                    found = held.get(same)
                    if found is not None:
                        regs[same] = found
                    else:
                        simulate(strand)
                        held[same] = regs[same]
                    continue
                wait = simulate(strand)
                if wait is not None:
                    strand.blocked = Blocked.whole(op, wait, len(strand.tid))
                    strand.state = BLOCKED
                    break
                if strong and self.policy.yields:
                    stop, yields = pc, True
                    break
            launch.ops += pc - begin
            budget -= pc - begin
            if pc < len(steps):  # otherwise the last step was a terminator
                strand.pc = pc
                if strand.state == RUNNABLE and pc < stop:
                    launch.ops += 1
                    budget -= 1
                    self._collective(strand, steps[pc])
            if yields:
                strand.spent = max(strand.spent, self.policy.patience)
                return
            if strand.state == BLOCKED and strand.blocked is not None and strand.blocked.poll() is True:
                self._resume(strand)

    def _collective(self, strand: Strand, step: Step) -> None:
        strand.op = self._op = step.op
        outcome = collective.arrive(strand, step, self.parked[strand.machine])
        if outcome.strands and step.unit == WARPGROUP and not self.policy.gang:
            outcome.strands = self._regrouped(outcome.strands)
        self._take_up(outcome, strand)

    def _regrouped(self, strands: list[Strand]) -> list[Strand]:
        """Let the warps of a warpgroup, which are at the same place, go on as one strand, or each by itself."""
        together = self.policy.together()
        if len(strands) == 1 and together:
            return strands
        if any(strand.state != RUNNABLE or strand.join is not strands[0].join for strand in strands):
            return strands
        regrouped = [merge(strands)] if together else [warp for strand in strands for warp in strand.by(WARP)]
        for strand in strands:
            strand.state = RUNNABLE if strand in regrouped else REPLACED
        return regrouped

    def _take_up(self, outcome: collective.StepOutcome, current: Strand | None = None) -> None:
        """Put the strands that executed a collective step into their lists, except the one whose turn it is."""
        for task in outcome.tasks:
            self._continue(task)
        for strand in outcome.strands:
            if strand is not current and strand.state != IN_TASK and strand not in self.runnable:
                self._file(strand)

    def _continue(self, task: Task) -> bool:
        """Let a step that had blocked go on; return True if it is done."""
        self._op = task.op
        done = task.advance()
        if task in self.tasks:
            self.tasks.remove(task)
        if not done:
            self.tasks.append(task)
            return False
        for strand in task.strands:
            strand.pc += 1
            strand.state = RUNNABLE
        return True

    # Where strands go when their turn ends

    def _file(self, strand: Strand) -> None:
        if strand.state == RUNNABLE:
            self.runnable.append(strand)
            return
        self._quiet_since = self.launch.ops
        if strand.state == BLOCKED:
            assert strand.blocked is not None
            self.blocked.append(strand)
            self._ready = self._ready or strand.blocked.poll() is not False
        elif strand.state == AT_JOIN:
            self._meet(strand)
        elif strand.state == PARTING:
            assert strand.parting is not None
            for part in strand.part(*strand.parting):
                self._file(part)
        elif strand.state == EXITED:
            self._exit(strand)

    def _meet(self, strand: Strand) -> None:
        join = strand.join
        assert join is not None
        join.arrived.append(strand)
        join.awaited -= len(strand.tid)
        join.since = self.launch.ops
        if join not in self.joins:
            self.joins.append(join)
        if join.awaited == 0:
            self._patience[join.code] = min(PATIENCE[1], self._patience.get(join.code, PATIENCE[1]) * 2)
            self._release(join)

    def _release(self, join: Join) -> None:
        """Let the threads that have arrived at a meeting point go on, as one strand."""
        if join in self.joins:
            self.joins.remove(join)
        if not join.arrived:
            return
        strand = merge(join.arrived)
        join.arrived = []
        strand.join = join.parent
        strand.state = RUNNABLE
        if strand.join is not None and strand.join.code is strand.code:
            strand.state = AT_JOIN
        self._file(strand)

    def _exit(self, strand: Strand) -> None:
        join = strand.join
        while join is not None:
            join.awaited -= len(strand.tid)
            if join.awaited == 0:
                self._release(join)
            join = join.parent
        machine = strand.machine
        if machine.tell is not None:
            machine.tell(Exit(strand.tid))
        machine.exit(strand.tid)
        self._exits = True
        parked = self.parked[machine]
        for step in list(parked):
            if parked.get(step):
                self._take_up(collective.assemble(step, parked))

    # Waiting

    def _poll(self) -> None:
        """Resume blocked threads that can go on. Polls only after a wake, or if some can and no other thread runs."""
        if self._polled == self.launch.wakes and (not self._ready or self.runnable or self.resting):
            return
        self._polled, self._ready = self.launch.wakes, False
        still: list[Strand] = []
        for strand in self.blocked:
            assert strand.blocked is not None
            answer = strand.blocked.poll()
            if answer is True:
                self._resume(strand)
                self.runnable.append(strand)
            elif answer is False or self.policy.gang:
                still.append(strand)
                self._ready = self._ready or answer is not False
            else:
                still.append(self._resume_some(strand, answer))
        self.blocked = still
        for task in list(self.tasks):
            if self._continue(task):
                for strand in task.strands:
                    self._file(strand)

    def _resume(self, strand: Strand) -> None:
        blocked = strand.blocked
        strand.state, strand.blocked, strand.spent = RUNNABLE, None, 0
        tell = strand.machine.tell
        if blocked is not None and tell is not None:
            for i, wait in enumerate(blocked.waits):
                mine: slice | np.ndarray = slice(None) if blocked.alone else blocked.which == i
                tell(Resume(blocked.op, wait, strand.tid[mine], blocked.position[mine]))

    def _resume_some(self, strand: Strand, ready: np.ndarray) -> Strand:
        """Let those threads go on that are ready; return the strand of the others."""
        go = strand.take(ready.nonzero()[0])
        self._resume(go)
        self.runnable.append(go)
        return strand.take((~ready).nonzero()[0])

    def _strike(self) -> bool:
        """Execute some asynchronous work of some CTA; return False if there is none."""
        machines = [machine for cluster in self.clusters for machine in cluster.machines if machine.engine.pending]
        if not machines:
            return False
        return machines[self.policy.one_of(len(machines))].engine.progress(self.policy.one_of)

    def _unstick(self) -> bool:
        """Make progress when no strand can run; return False if that is not possible.

        First try threads that are ready though others of their strand are not; then asynchronous work; then threads at
        a meeting point, the latest first.
        """
        if self._let_some_go() or self._strike():
            return True
        if self.joins:
            check_convergence(self, self.joins[-1])
            self._release(self.joins[-1])
            return True
        return False

    def _let_some_go(self) -> bool:
        """Let the ready threads of a strand go on whose other threads are not ready; return False if there is none."""
        if self._polled == self.launch.wakes and not self._ready:
            return False
        for i, strand in enumerate(self.blocked):
            assert strand.blocked is not None
            answer = strand.blocked.poll()
            if not isinstance(answer, bool):
                self.blocked[i] = self._resume_some(strand, answer)
                return True
        return False
