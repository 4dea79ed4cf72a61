"""The number of parts that the model picks, beside the fastest of those that were timed on an H200."""

import json
from pathlib import Path

from cutelite.kernels.attention.splitting import Work, fastest

TIMES = Path(__file__).with_name("attention_parts.jsonl")


def test_picks_for_latents_are_near_the_fastest() -> None:
    ratios = []
    for line in TIMES.read_text().splitlines():
        cell = json.loads(line)
        batch, keys, rows = cell["batch"], cell["keys"], cell["queries"] * cell["heads"]
        work = Work(batch * -(-rows // 64), -(-keys // 64), 576 + 512, batch * rows, 512, batch * keys * 576 * 2)
        if (taken := cell["us"].get(str(fastest(work, 132)))) is not None:
            ratios.append(taken / min(cell["us"].values()))
    assert len(ratios) > 300
    assert sum(ratios) / len(ratios) < 1.005
    assert max(ratios) < 1.1
