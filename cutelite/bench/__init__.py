"""Measurements of any work on a GPU: `cl.do_bench`, `cl.compare`.

measure   seconds of work, rivals in turns        roofline  the least time that a kernel can take
machine   clocks and power while it works         compare   results side by side
chart     the same as bars

In    functions that put work on the GPU: kernels of ours, of torch or of anyone
Out   `Timing`: a median with its spread, clocks and power; `Comparison`: a table, CSV, SVG
"""
