"""Kernels in files: bundles, launching from them, and C that launches them.

bundle    the file                                     format         checks of a file's content
exported  launches from it, by Python or by machine code in it
cstub     C for a kernel                               cprogram       C for a program
"""
