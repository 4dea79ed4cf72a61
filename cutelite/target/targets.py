"""GPU architectures as data: a `Target` for each `sm_*` name, and the rules for which GPU runs which code.

Numbers are from the CUDA C++ Programming Guide, "Compute Capabilities" (technical specifications per
compute capability); features from the "Target ISA Notes" of each instruction in the PTX ISA.
"""

from __future__ import annotations

from dataclasses import replace

from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

KB = 1024
WARP, WARPGROUP = 32, 128  # threads
MOST_THREADS = 1024  # in a block
REGISTERS = 65536  # 32-bit registers of an SM
MOST_REGISTERS = 255  # of one thread
RESERVED_SMEM = 1 * KB  # bytes of shared memory of each block that the system keeps for itself


class UnknownTarget(ValueError):
    """An architecture name that is not in the table; the message lists those that are."""


class UnknownFeature(ValueError):
    """A name of a feature that is not in the table; the message lists those that are."""


class Occupancy(NamedTuple):
    """Blocks and warps that one SM holds at a time.

    limiter   the resource that is used up, so that no further block fits: 'registers', 'shared memory', 'threads',
              'blocks'
    fraction  the part of the warps that the SM can hold
    """

    blocks: int
    warps: int
    limiter: str
    fraction: float


def registers_at_launch(threads: int, min_blocks: int | None) -> int:
    """Return the registers that each thread of a block could have at launch, where `min_blocks` share an SM.

    They are the pool that setmaxnreg redistributes, and may be more than `MOST_REGISTERS`.
    """
    return REGISTERS // max(1, min_blocks or 1) // threads // 8 * 8  # allocated in eights


@dataclass(frozen=True, slots=True)
class Target:
    """One GPU architecture to compile for.

    >>> hopper = Target.parse("sm_90a")
    >>> hopper.has("wgmma"), hopper.smem_per_block
    (True, 232448)
    >>> Target.parse("sm_90").has("wgmma")
    False
    """

    arch: str
    """The name that ptxas and LLVM use, such as `sm_90a`."""
    capability: tuple[int, int]
    """Compute capability, (major, minor)."""
    ptx_isa: int
    """The PTX ISA version that LLVM is told to write, major * 10 + minor."""
    features: frozenset[str]
    """The features that it has, of `FEATURES`; use `has` to ask for one."""

    smem_per_sm: int
    """Shared memory of one SM, in bytes."""
    threads_per_sm: int
    blocks_per_sm: int
    max_cluster: int = 1
    """The most blocks in a cluster if non-portable sizes are allowed; 1 without clusters."""
    portable_cluster: int = 1
    """The most blocks in a cluster that every GPU of the generation can schedule."""

    smem_static: int = 48 * KB
    """Shared memory that a block may declare statically, in bytes; more must be dynamic, with an opt-in at launch."""
    smem_reserved: int = RESERVED_SMEM
    """Shared memory that the system reserves for each block, in bytes, in addition to the block's own."""
    written_for: str = ""
    """The target that its PTX names, if LLVM does not know this one; '' if it does."""
    max_threads: int = MOST_THREADS
    """The most threads in a block."""
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    registers_per_sm: int = REGISTERS
    """32-bit registers of one SM; a block may use all of them."""
    max_registers: int = MOST_REGISTERS
    """The most 32-bit registers of one thread."""

    @property
    def ptx_arch(self) -> str:
        """The target that LLVM writes PTX for and the PTX names. ptxas makes cubins for both."""
        return self.written_for or self.arch

    @property
    def smem_per_block(self) -> int:
        """All shared memory that one block may use, static and dynamic, with the opt-in at launch, in bytes."""
        return self.smem_per_sm - self.smem_reserved

    @property
    def specific(self) -> bool:
        """Tell whether this is an `a` target: more features than the plain one, for one compute capability only."""
        return self.arch.endswith("a")

    @property
    def of_family(self) -> bool:
        """Tell whether this is an `f` target, with the features of a family, and for its later members too."""
        return self.arch.endswith("f")

    def has(self, feature: str) -> bool:
        """Tell whether the target has `feature`, a name of `FEATURES`. Errors: `UnknownFeature`, for any other name."""
        if feature not in FEATURES:
            raise UnknownFeature(f"no feature is called {feature!r}; known are {', '.join(sorted(FEATURES))}")
        return feature in self.features

    def occupancy(self, threads: int, registers: int, smem: int) -> Occupancy:
        """Return how many blocks of a kernel fit on one SM at a time.

        threads    in a block
        registers  registers of one thread, as the assembler reports them
        smem       bytes of shared memory of one block, static and dynamic
        Source     cuda_occupancy.h of the CUDA toolkit: warps get registers in units of 256, from a quarter of
                   the SM's each; shared memory in units of 128 bytes, with `smem_reserved` on top
        """
        warps = -(-threads // WARP)
        per_warp = max(1, -(-registers * WARP // 256) * 256)
        per_block = -(-(smem + self.smem_reserved) // 128) * 128
        limits = {
            "registers": self.registers_per_sm // 4 // per_warp * 4 // warps,
            "shared memory": self.smem_per_sm // per_block if per_block else self.blocks_per_sm,
            "threads": self.threads_per_sm // WARP // warps,
            "blocks": self.blocks_per_sm,
        }
        limiter = min(limits, key=lambda name: limits[name])
        blocks = limits[limiter]
        return Occupancy(blocks, blocks * warps, limiter, blocks * warps * WARP / self.threads_per_sm)

    def runs_on(self, capability: tuple[int, int]) -> bool:
        """Tell whether a cubin for this target runs on a GPU of that compute capability.

        Machine code runs on GPUs of the same major version with the same or a higher minor one; code for an `a` target
        only on its own compute capability (PTX ISA, `.target`).
        """
        if self.specific:
            return capability == self.capability
        return capability[0] == self.capability[0] and capability[1] >= self.capability[1]

    @classmethod
    def parse(cls, name: str) -> Target:
        """Return the target called `name`: `sm_90a`, or an alias such as `90a`, `compute_90a`, `9.0a`, `hopper`.

        `sm_101` is what NVIDIA called `sm_110` before CUDA 13. Errors: `UnknownTarget`.
        """
        said = name if isinstance(name, str) else ""  # users may pass anything
        plain = said.strip().lower().removeprefix("compute_").removeprefix("sm_").replace(".", "")
        target = TARGETS.get("sm_" + ALIASES.get(plain, plain))
        if target is None:
            raise UnknownTarget(f"unknown GPU architecture {name!r}; known are {', '.join(TARGETS)}")
        return target

    @classmethod
    def for_capability(cls, capability: tuple[int, int]) -> Target:
        """Return the target with the most features for a GPU of that compute capability. Errors: `UnknownTarget`."""
        fitting = [target for target in TARGETS.values() if target.runs_on(capability)]
        if not fitting:
            raise UnknownTarget(
                f"no known architecture runs on a GPU of compute capability {capability[0]}.{capability[1]}; "
                f"known are {', '.join(TARGETS)}"
            )
        return max(fitting, key=lambda target: (target.capability, target.specific, target.of_family))

    def __str__(self) -> str:
        return self.arch


# The features that each generation adds. The names are those of PTX instructions or of groups of them, each followed
# by a description.
_AMPERE = {
    "cp.async": "cp.async, its groups and waits",
    "mbarrier": "mbarrier.init, arrive, test_wait",
    "redux": "redux.sync on 32-bit integers",
    "ldmatrix": "ldmatrix m8n8 b16",
    "bf16": "bf16 and bf16x2 arithmetic and conversion",
    "cvt.x2": "two f32 to a pair of f16 or bf16 at once",
    "tf32": "cvt.rna.tf32.f32 and mma on tf32",
    "mma": "mma.sync on f16, bf16, tf32, f64 and integers",
    "cache_hint": "createpolicy and .L2::cache_hint",
}
_ADA = {"fp8": "e4m3 and e5m2 conversion"}
_HOPPER = {
    "cluster": "barrier.cluster, mapa, shared::cluster addresses, st.async",
    "mbarrier.try_wait": "mbarrier.try_wait, expect_tx and arrive in other blocks of the cluster",
    "tma": "cp.async.bulk and cp.async.bulk.tensor, with fence.proxy.async",
    "stmatrix": "stmatrix m8n8 b16",
    "elect": "elect.sync",
    "pdl": "griddepcontrol: programmatic dependent launch",
    "atom.vector": "atom and red on vectors of f32, f16 and bf16, atom on b128",
    "atom.bf16": "atom.add on bf16 alone",
    "tf32.rounding": "cvt.rn.tf32.f32 and cvt.rz.tf32.f32",
    "mma.f64": "mma.sync m16n8k4, k8 and k16 on f64",
    "multimem": "multimem.ld_reduce, st and red",
}
_HOPPER_ONLY = {
    "wgmma": "wgmma.mma_async, fence, commit_group, wait_group",
}
_SPECIFIC = {  # in every `a` target from sm_90a on
    "setmaxnreg": "setmaxnreg.inc and dec",
    "tensormap.replace": "tensormap.replace",
}
_BLACKWELL = {
    "f32x2": "add, mul and fma on packed pairs of f32",
    "ld.256": "ld.global and st.global of 256 bits",
    "cp_mask": "cp.async.bulk with a mask of bytes",
    "clusterlaunchcontrol": "clusterlaunchcontrol.try_cancel",
    "tma.gather4": "cp.async.bulk.tensor of four rows, tile::gather4",
    "tma.atom_32": "tensor maps with the swizzle 128B_ATOM_32B, which Hopper's driver refuses",
    "tma.im2col_w": "cp.async.bulk.tensor along one row of images, im2col::w",
}
_BLACKWELL_SPECIFIC = {  # in the `f` targets too
    "fp4": "conversion to and from e2m1, e2m3, e3m2 and ue8m0",
    "clusterlaunchcontrol.multicast": "clusterlaunchcontrol.try_cancel that tells all blocks of the cluster",
}
_MULTIMEM_FP8 = {"multimem.fp8": "multimem.ld_reduce and st of e4m3 and e5m2"}  # not in sm_120f and sm_121f
_BLACKWELL_TENSOR = {
    "tcgen05": "tcgen05.mma, ld, st, cp, alloc: tensor memory",
    "tma.scatter4": "cp.async.bulk.tensor to four rows, tile::scatter4",
    "tma.im2col_w128": "im2col::w::128, and im2col::w to several blocks or to L2",
    **_MULTIMEM_FP8,
}
_BLACKWELL_SERVER = {
    "redux.f32": "redux.sync on f32",
    "tcgen05.scale_d": "tcgen05.mma that scales the accumulator down before it adds to it",
}
_BLACKWELL_LATER = {"tcgen05.ld_red": "tcgen05.ld with a reduction"}  # sm_103 and sm_110
_BLACKWELL_ALONE = {"tcgen05.specific": "tcgen05.shift, and sparse tcgen05.mma on mxf4"}  # in `a` targets only
_BLACKWELL_I8 = {"tcgen05.i8": "tcgen05.mma on 8-bit integers"}  # only sm_100a and sm_110a
_BLACKWELL_ULTRA = {"tcgen05.k96": "tcgen05.mma of 96 numbers of 4 bits along K"}  # sm_103a
_BLACKWELL_CLIENT = {"mma.block_scale": "mma.sync with block scaling"}

FEATURES: dict[str, str] = {
    **_AMPERE,
    **_ADA,
    **_HOPPER,
    **_HOPPER_ONLY,
    **_SPECIFIC,
    **_BLACKWELL,
    **_BLACKWELL_SPECIFIC,
    **_BLACKWELL_TENSOR,
    **_BLACKWELL_SERVER,
    **_BLACKWELL_LATER,
    **_BLACKWELL_ALONE,
    **_BLACKWELL_I8,
    **_BLACKWELL_ULTRA,
    **_BLACKWELL_CLIENT,
}
"""Every feature, with a description."""


def _table() -> dict[str, Target]:
    ampere = frozenset(_AMPERE)
    ada = ampere | frozenset(_ADA)
    hopper = ada | frozenset(_HOPPER)
    blackwell = hopper | frozenset(_BLACKWELL)

    # PTX ISA: LLVM 22 writes up to 9.0, ptxas 12.9 reads up to 8.8 and 13.0 up to 9.0. LLVM refuses sm_100 below
    # 8.6, sm_120 below 8.7, and sm_103 and sm_121 below 8.8. So 8.6 serves Hopper and earlier GPUs, with the oldest
    # tools that have all of Hopper's instructions, and 8.8 serves all of Blackwell.
    # LLVM writes sm_88 and sm_110 from 9.0 on. LLVM 22 does not know sm_107, which ptxas 13.5 does: its PTX is written
    # for sm_100f, of whose family it is. It has 328 KB of shared memory (CuTe DSL 4.8.1); everything else is as in
    # sm_100.
    sm_75 = Target(
        "sm_75", (7, 5), 86, frozenset({"ldmatrix"}), smem_per_sm=64 * KB, threads_per_sm=1024, blocks_per_sm=16,
        smem_reserved=0,
    )  # fmt: skip
    sm_80 = Target("sm_80", (8, 0), 86, ampere, smem_per_sm=164 * KB, threads_per_sm=2048, blocks_per_sm=32)
    sm_86 = Target("sm_86", (8, 6), 86, ampere, smem_per_sm=100 * KB, threads_per_sm=1536, blocks_per_sm=16)
    sm_87 = Target("sm_87", (8, 7), 86, ampere, smem_per_sm=164 * KB, threads_per_sm=1536, blocks_per_sm=16)
    sm_88 = replace(sm_87, arch="sm_88", capability=(8, 8), ptx_isa=90)
    sm_89 = Target("sm_89", (8, 9), 86, ada, smem_per_sm=100 * KB, threads_per_sm=1536, blocks_per_sm=24)
    sm_90 = Target(
        "sm_90", (9, 0), 86, hopper, smem_per_sm=228 * KB, threads_per_sm=2048, blocks_per_sm=32,
        max_cluster=16, portable_cluster=8,
    )  # fmt: skip
    sm_100 = replace(sm_90, arch="sm_100", capability=(10, 0), ptx_isa=88, features=blackwell)
    sm_103 = replace(sm_100, arch="sm_103", capability=(10, 3))
    sm_107 = replace(sm_100, arch="sm_107", capability=(10, 7), smem_per_sm=328 * KB, written_for="sm_100")
    sm_110 = replace(sm_100, arch="sm_110", capability=(11, 0), ptx_isa=90, threads_per_sm=1536, blocks_per_sm=24)
    sm_120 = replace(
        sm_100, arch="sm_120", capability=(12, 0), smem_per_sm=100 * KB, threads_per_sm=1536, blocks_per_sm=24,
        max_cluster=8,
    )  # fmt: skip
    sm_121 = replace(sm_120, arch="sm_121", capability=(12, 1))

    def ending(letter: str, plain: Target, *more: dict[str, str]) -> Target:
        written = plain.written_for and plain.written_for + "f"  # sm_107a is written for sm_100f, a family
        features = plain.features.union(*more)
        return replace(plain, arch=plain.arch + letter, features=features, written_for=written)

    rows = [sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, ending("a", sm_90, _HOPPER_ONLY, _SPECIFIC)]
    for plain, more in (
        (sm_100, {**_BLACKWELL_TENSOR, **_BLACKWELL_SERVER}),
        (sm_103, {**_BLACKWELL_TENSOR, **_BLACKWELL_SERVER, **_BLACKWELL_LATER}),
        (sm_107, {**_BLACKWELL_TENSOR, **_BLACKWELL_SERVER}),
        (sm_110, {**_BLACKWELL_TENSOR, **_BLACKWELL_LATER}),
        (sm_120, _BLACKWELL_CLIENT),
        (sm_121, _BLACKWELL_CLIENT),
    ):
        rows.append(plain)
        rows += [ending(letter, plain, _SPECIFIC, _BLACKWELL_SPECIFIC, more) for letter in "fa"]
    table = {target.arch: target for target in rows}
    for arch, added in (
        ("sm_100a", {**_BLACKWELL_ALONE, **_BLACKWELL_I8}),
        ("sm_103a", {**_BLACKWELL_ALONE, **_BLACKWELL_ULTRA}),
        ("sm_110a", {**_BLACKWELL_ALONE, **_BLACKWELL_I8}),
        ("sm_120a", _MULTIMEM_FP8),
        ("sm_121a", _MULTIMEM_FP8),
    ):
        table[arch] = replace(table[arch], features=table[arch].features.union(added))
    return table


ALIASES = {
    "turing": "75", "ampere": "80", "ada": "89", "hopper": "90a", "blackwell": "100a", "thor": "110a", "rubin": "107a",
    "101": "110", "101a": "110a", "101f": "110f",
}  # fmt: skip
"""Other names of targets, without `sm_`."""

TARGETS: dict[str, Target] = _table()
"""Every target by name, oldest first."""


def first_with(feature: str) -> str:
    """Return the name of the first target that has `feature`."""
    return next(name for name, target in TARGETS.items() if target.has(feature))
