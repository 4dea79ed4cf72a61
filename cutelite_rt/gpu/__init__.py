"""A GPU through its driver: contexts, tensor maps for TMA, launches, clocks.

driver    every call of the driver                     device       devices and contexts
launch    kernels, loaded and launched                 params       parameters as bytes
attributes  launch attributes besides the shape        tensormap    descriptors for TMA
occupancy how many blocks run at once                  clock        times of work
"""
