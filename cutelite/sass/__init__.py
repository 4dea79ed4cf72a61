"""Machine code as a structure: instructions, control words, blocks, loops, and the source lines that they come from.

program   a cubin's machine code, as text and as structure    instruction  opcode, operands, control word, places
graph     blocks and loops                              kinds        classes of opcodes

In    the text that `nvdisasm` prints for a cubin, and the cubin (control words are read from its bytes)
Out   `Sass`, this text with the structure as attributes: ``compiled.sass.loops[0].mix["tensor"]``

A leaf room. Control words are read as sm_70 and later have them.
"""

from cutelite.sass.graph import Block, Loop, Mix
from cutelite.sass.instruction import Control, Instruction, Place
from cutelite.sass.kinds import KINDS, kind_of
from cutelite.sass.program import Sass

__all__ = ["KINDS", "Block", "Control", "Instruction", "Loop", "Mix", "Place", "Sass", "kind_of"]
