"""The vocabulary: a module per hardware family, a class per instruction, declared once (see `ir.op`).

Importing this package registers every op.
"""

from cutelite.ops import arith, control, index, memory, tensor

__all__ = ["arith", "control", "index", "memory", "tensor"]
