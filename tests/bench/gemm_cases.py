"""What GEMMs are timed: shapes, dtypes, majors; their inputs, and the result they should have.

Inputs are normal random numbers (zeros draw less power, and run faster) in enough rotating sets that L2 is cold.
"""

from dataclasses import dataclass, field

import torch

from tests.bench.timing import cold

LARGE = [
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (4096, 4096, 7168),
    (4096, 24576, 1536),
    (4096, 7168, 16384),
    (8192, 28672, 8192),
]
SKINNY = [(16, 8192, 8192), (64, 7168, 2048), (128, 24576, 1536), (128, 7168, 16384), (512, 4096, 4096)]
SQUARES = [(4096, 4096, 4096), (8192, 8192, 8192)]
MAJORS = ["KN", "MK", "MN"]
FP8 = ["fp8", "fp8-rows", "fp8-blocks"]

POISON = 0x55555555


@dataclass(frozen=True)
class Kind:
    """dtypes of operands, results and products; how operands are scaled."""

    operand: torch.dtype
    result: torch.dtype
    words: str


KINDS = {
    "bf16": Kind(torch.bfloat16, torch.bfloat16, "bf16"),
    "fp16": Kind(torch.float16, torch.float16, "fp16"),
    "tf32": Kind(torch.float32, torch.float32, "tf32"),
    "int8": Kind(torch.int8, torch.int32, "int8"),
    "fp8": Kind(torch.float8_e4m3fn, torch.bfloat16, "fp8 e4m3, a scale for each tensor, fast accumulation"),
    "fp8-rows": Kind(torch.float8_e4m3fn, torch.bfloat16, "fp8 e4m3, a scale for each row of A and column of B"),
    "fp8-blocks": Kind(torch.float8_e4m3fn, torch.bfloat16, "fp8 e4m3, scales for 1x128 of A and 128x128 of B"),
}


@dataclass(frozen=True)
class Case:
    """C = A @ B. majors: along which mode A and B are contiguous in memory, K or M, K or N."""

    kind: str
    m: int
    n: int
    k: int
    majors: str = "KK"
    group: str = ""

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    @property
    def seconds(self) -> float:
        """About how long it takes: by 600 TFLOP/s, 4 TB/s, and what a launch takes."""
        kind = KINDS[self.kind]
        size = kind.operand.itemsize * (self.m + self.n) * self.k + kind.result.itemsize * self.m * self.n
        return float(max(self.flops / 600e12, size / 4e12, 4e-6))

    def __str__(self) -> str:
        majors = "" if self.majors == "KK" else f" {self.majors}"
        return f"{self.kind} {self.m} x {self.n} x {self.k}{majors}"


def sets() -> dict[str, list[Case]]:
    """The cases by the name of their set."""
    of_types = [Case(kind, *shape, group="types") for kind in ("fp16", "tf32", "int8") for shape in SQUARES]
    shapes_of_fp8 = [*SQUARES, (4096, 7168, 16384)]
    return {
        "large": [Case("bf16", *shape, group="large") for shape in LARGE],
        "skinny": [Case("bf16", *shape, group="skinny") for shape in SKINNY],
        "majors": [Case("bf16", *shape, major, group="majors") for shape in SQUARES for major in ("KK", *MAJORS)],
        "types": of_types,
        "fp8": [Case(kind, *shape, group=kind) for kind in FP8 for shape in shapes_of_fp8],
    }


@dataclass
class Inputs:
    """Rotating sets of operands.

    a, b, out       (M, K), (K, N) and (M, N), each set's own
    scale_a/b       None, or f32: of shape (), (M, 1) and (1, N), or (M, K/128) and (K/128, N/128), M-major and K-major
    """

    case: Case
    a: list[torch.Tensor] = field(default_factory=list)
    b: list[torch.Tensor] = field(default_factory=list)
    out: list[torch.Tensor] = field(default_factory=list)
    scale_a: torch.Tensor | None = None
    scale_b: torch.Tensor | None = None

    @property
    def count(self) -> int:
        return len(self.a)


def inputs(case: Case, seed: int = 0) -> Inputs:
    """Sets of operands, larger than L2 three times over, and poisoned results."""
    kind = KINDS[case.kind]
    source = torch.Generator("cuda").manual_seed(seed)
    size = kind.operand.itemsize * (case.m * case.k + case.k * case.n) + kind.result.itemsize * case.m * case.n
    made = Inputs(case)
    for _ in range(cold(size)):
        made.a.append(_operand(source, kind.operand, case.m, case.k, case.majors[0] == "K"))
        made.b.append(_operand(source, kind.operand, case.n, case.k, case.majors[1] == "K").T)
        made.out.append(poisoned(case))
    m, n, k = case.m, case.n, case.k

    def scales(*shape: int) -> torch.Tensor:
        return torch.rand(shape, device="cuda", generator=source) + 0.5

    if case.kind == "fp8":
        made.scale_a, made.scale_b = scales(), scales()
    elif case.kind == "fp8-rows":
        made.scale_a, made.scale_b = scales(m, 1), scales(1, n)
    elif case.kind == "fp8-blocks":
        made.scale_a, made.scale_b = scales(k // 128, m).T, scales(n // 128, k // 128).T
    return made


def _operand(source: torch.Generator, dtype: torch.dtype, rows: int, k: int, k_major: bool) -> torch.Tensor:
    """(rows, K), contiguous along K, or along the rows."""
    shape = (rows, k) if k_major else (k, rows)
    if dtype is torch.int8:
        made = torch.randint(-127, 128, shape, device="cuda", dtype=dtype, generator=source)
    else:
        wide = torch.float16 if dtype.itemsize == 1 else dtype
        made = torch.randn(shape, device="cuda", dtype=wide, generator=source).to(dtype)
    return made if k_major else made.T


def poisoned(case: Case) -> torch.Tensor:
    """A result in which every element that is not written shows."""
    dtype = KINDS[case.kind].result
    value = float("nan") if dtype.is_floating_point else POISON
    return torch.full((case.m, case.n), value, device="cuda", dtype=dtype)


def expected(of: Inputs) -> torch.Tensor:
    """The first set's result in float64."""
    a, b = _wide(of.a[0]), _wide(of.b[0])
    if of.scale_a is None or of.scale_b is None:
        return a @ b
    scale_a, scale_b = of.scale_a.double(), of.scale_b.double()
    if of.case.kind == "fp8-blocks":
        a *= scale_a.repeat_interleave(128, 1)
        b *= scale_b.repeat_interleave(128, 0).repeat_interleave(128, 1)
        return a @ b
    return (a @ b) * scale_a * scale_b


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.float().double() if x.dtype.itemsize == 1 and x.is_floating_point() else x.double()
