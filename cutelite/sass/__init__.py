"""Machine code as a structure: instructions, control words, blocks, loops, and the source lines they come from.

program   a cubin's machine code, to read and to ask    instruction  opcode, operands, control word, places
graph     blocks and loops                              kinds        classes of opcodes

In    what `nvdisasm` prints of a cubin, and the cubin (control words are read from its bytes)
Out   `Sass`, a text that also answers questions: ``compiled.sass.loops[0].mix["tensor"]``

A leaf room. Control words are those of sm_70 and later.
"""

from cutelite.sass.graph import Block, Loop
from cutelite.sass.instruction import Control, Instruction, Place
from cutelite.sass.kinds import KINDS, kind_of
from cutelite.sass.program import Sass

__all__ = ["KINDS", "Block", "Control", "Instruction", "Loop", "Place", "Sass", "kind_of"]
