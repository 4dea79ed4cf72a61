"""What a kernel takes: its signature as data, and the tables that its launcher reads.

data     parameters, dims and grid: frozen, compared by value, JSON for files
table    a signature as the memory that the compiled launcher goes through at each launch
"""
