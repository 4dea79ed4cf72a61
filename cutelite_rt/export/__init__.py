"""Kernels in files: bundles, launching from them, and C that does so.

bundle    the file                                     format         checks of what a file says
exported  launches from it, by Python or by machine code from it
cstub     C for a kernel                               cprogram       C for a program
"""
