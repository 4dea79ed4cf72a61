"""The command line of random tests that take a seed each, one after the other in one process."""

import argparse
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.fuzz.cases import kernel_of
from tests.places import Staged


def failure(source: str, name: str, grid: Any, arrays: Sequence[Any], numbers: Sequence[int], gpu: bool) -> list[str]:
    """Run the kernel of a source on a GPU, or check it in the simulator; return its source and error if it fails.

    name  with a seed at its end, by which the schedule of the check is chosen
    """
    try:
        kernel, staged = kernel_of(source, name), Staged()
        if gpu:
            kernel[grid, None](*map(staged.array, arrays), *numbers)
            staged.bring()
        else:
            schedule = int(name.split()[-1]) % 6
            kernel.check(grid, None, *arrays, *numbers, seeds=[schedule], notes=False).raise_if_wrong()
    except Exception:
        return [source, traceback.format_exc(limit=-4)]
    return []


def main(noun: str, mistakes: Callable[[int, bool], list[str]], shown: Callable[[int], Iterable[str]]) -> int:
    """Run seeds as the command line says, and print what is wrong.

    mistakes  what is wrong at a seed, in the simulator or on a GPU
    shown     what is drawn from a seed, as lines
    """
    given = asked(noun)
    started, run, failed = time.monotonic(), 0, 0
    for seed in range(given.seed, given.seed + given.count):
        if time.monotonic() > started + given.seconds:
            break
        if given.show:
            print(*shown(seed), sep="\n")
        found, run = mistakes(seed, given.gpu), run + 1
        if found:
            failed += 1
            print(f"--- seed {seed}", *found, sep="\n", flush=True)
    print(f"{run} {noun} from seed {given.seed} on, {failed} are wrong, {time.monotonic() - started:.0f} s")
    return bool(failed)


def asked(noun: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=f"Random {noun}.")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no more after so long")
    parser.add_argument("--gpu", action="store_true", help="run on a GPU and not in the simulator")
    parser.add_argument("--show", action="store_true", help=f"print the {noun}")
    return parser.parse_args()
