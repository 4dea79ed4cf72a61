"""Measurements of any work on a GPU: `cl.do_bench`, `cl.compare`.

measure   seconds that work takes, competitors in turns     roofline  the least time that a kernel can take
machine   clocks and power while it works                   compare   results side by side
chart     the same as a bar chart

In    functions that put work on the GPU: kernels of cutelite, torch or anything else
Out   `Timing`: a median with its spread, clocks and power; `Comparison`: a table, CSV, SVG
"""
