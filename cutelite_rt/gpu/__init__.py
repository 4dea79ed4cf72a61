"""A GPU through its driver: contexts, memory maps for TMA, launches, clocks."""
