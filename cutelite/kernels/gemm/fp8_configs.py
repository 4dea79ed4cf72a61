"""Configurations of block-scaled fp8 GEMMs, and a model of their time, by which one is picked without measuring.

In    the sizes, and how many blocks run at once
Out   configurations, the fastest first
"""

from dataclasses import replace

from cutelite.kernels.arguments import Misfit
from cutelite.kernels.gemm import rates
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

BLOCK = 128  # elements that share a scale, along K and along N; also the bytes of a swizzled row of shared memory
ROWS = 64  # of a strip, as a wgmma has


@dataclass(frozen=True)
class Config:
    """A configuration: how the work is divided.

    groups   warpgroups that multiply: 1, for up to 64 rows, to 3
    strips   of a tile that each has, 64 rows, which it multiplies in turn: 1 or 2
    columns  of a tile: 128 or 64
    stages   how many tiles of A and B, 128 along K, are held, with scales of A; an even number
    piece    columns of results that are stored at once, 64 rows of them, and `buffers` how many such are held
    swizzle  tiles are visited in bands of this width, in tiles
    splits   into how many parts the K of each tile of the last, part round is cut, as far as K has pairs of blocks
    regs     registers of a thread that loads, and of one that multiplies
    """

    groups: int = 3
    strips: int = 1
    columns: int = 128
    stages: int = 4
    piece: int = 64
    buffers: int = 2
    swizzle: int = 8
    splits: int = 1
    regs: tuple[int, int] = (40, 152)

    def __post_init__(self) -> None:
        columns, piece, buffers = self.columns, self.piece, self.buffers
        if BLOCK % columns or columns % piece or self.strips * columns // piece % buffers or self.stages % 2:
            raise Misfit(f"{self}: not whole pieces for all buffers, columns of more than one scale, or odd stages")

    @property
    def rows(self) -> int:
        """Rows of a tile."""
        return ROWS * self.strips * self.groups

    def divided(self, m: int, n: int, k: int, blocks: int) -> tuple[int, int, int]:
        """Return how many tiles are whole, how many are cut along K, and into how many parts each.

        blocks  that run at once: the tiles of the last, part round of these are cut
        """
        tiles, pairs = -(-m // self.rows) * -(-n // self.columns), -(-k // (2 * BLOCK))
        left, splits = tiles % blocks, min(self.splits, pairs)
        return (tiles - left, left, splits) if left and splits > 1 else (tiles, 0, 1)


TILES = (
    Config(),
    Config(columns=64, stages=6, buffers=1),
    Config(2, strips=2, piece=32, regs=(40, 232)),
    Config(2, stages=6, piece=32, regs=(40, 232)),
    Config(2, columns=64, stages=8, piece=32, regs=(40, 232)),
    Config(1, stages=8, piece=32, regs=(40, 232)),
    Config(1, columns=64, stages=12, piece=32, regs=(40, 232)),
)
CONFIGS = [replace(tile, splits=splits) for tile in TILES for splits in (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)]


class Numbers(NamedTuple):
    """The numbers of the model besides `RATES`, in microseconds.

    start   of every GEMM
    row     of a step: a row of A or of B that a block brings
    second  a second kernel that adds up parts, `second_byte` a byte of these
    hidden  the part of a tile's own time that remains where another tile follows
    """

    start: float = 0.9712
    row: float = 5.94e-4
    second: float = 2.102
    second_byte: float = 6.15e-7
    hidden: float = 0.315


NUMBERS = Numbers()
Rates = dict[tuple[int, int], tuple[float, float]]
RATES: Rates = {
    (192, 128): (0.5486, 1.968),
    (192, 64): (0.4634, 0.8575),
    (256, 128): (0.7918, 1.852),
    (128, 128): (0.4119, 1.684),
    (128, 64): (0.3383, 1.55),
    (64, 128): (0.3249, 1.514),
    (64, 64): (0.2166, 1.102),
}
"""Rows and columns of a tile -> microseconds of a step, 128 along K, and of a tile besides its steps.

These and `Numbers` are fitted to times on an H200 (tests/bench/fp8_model.py, docs/lab/gemm-special.md); what a byte
takes is the GPU's, and is with the other GEMMs' numbers.
"""
NEAR = 1.2
"""Times the shortest time that is expected: what takes longer is not measured."""


def microseconds(
    config: Config, m: int, n: int, k: int, blocks: int, known: Rates = RATES, numbers: Numbers = NUMBERS
) -> float:  # fmt: skip
    """Return the predicted time of an (m, n, k) GEMM in bursts. blocks: that run at once."""
    step, tile = known[config.rows, config.columns]
    whole, cut, splits = config.divided(m, n, k, blocks)
    pairs, brought = -(-k // (2 * BLOCK)), min(config.rows, m) + min(config.columns, n)
    rounds, of_parts = -(-whole // blocks), -(-cut * splits // blocks)
    steps = 2 * (rounds * pairs + of_parts * -(-pairs // splits))
    loaded, moved = 2 * pairs * (whole + cut) * BLOCK * brought, m * k + n * k + 2 * m * n
    each = rates.beside(step, numbers.row * brought)
    found: float = rates.beside(steps * each, loaded * rates.NUMBERS.l2, moved * rates.DRAM)
    found += numbers.start + tile * (1.0 + numbers.hidden * (rounds + of_parts - 1))
    if cut:
        found += numbers.second + cut * splits * 4 * config.rows * config.columns * numbers.second_byte
    return found


def fitting(configs: list[Config], m: int, n: int, k: int, blocks: int) -> list[Config]:
    """Return the configurations worth measuring, the fastest by `microseconds` first.

    Those are left out that cut tiles into fewer parts than they say: others are the same.
    """
    able = [config for config in configs if config.divided(m, n, k, blocks)[2] == config.splits]
    times = {config: microseconds(config, m, n, k, blocks) for config in able}
    able.sort(key=times.__getitem__)
    return [config for config in able if times[config] <= NEAR * times[able[0]]]
