"""Source lines of a kernel, and the machine code that is theirs."""
