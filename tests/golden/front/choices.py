"""`match`, conditional expressions, short circuits and chained comparisons are branches that meet again."""

import cutelite as cl
from cutelite import Tensor, i32


@cl.kernel
def choices(x: Tensor[i32, (8,)], a: i32, b: i32) -> None:
    match a:
        case 0:
            r = 10
        case 1 | 2:
            r = b
        case n if n > b:
            r = n * 2
        case _:
            r = -1
    x[0] = r if a and b else 7
    x[1] = a or b
    if not 0 <= a < b:
        x[2] = 1
