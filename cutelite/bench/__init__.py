"""Measurements of any work on a GPU: `cl.do_bench`, `cl.compare`.

In    functions that put work on the GPU: kernels of ours, of torch or of anyone
Out   `Timing`: a median with its spread, clocks and power; `Comparison`: a table, CSV, SVG
"""
