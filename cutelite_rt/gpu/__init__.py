"""A GPU through its driver: contexts, memory maps for TMA, launches, clocks.

driver    every call of the driver                     device       devices and contexts
launch    kernels, loaded and launched                 params       parameters as bytes
attributes  what a launch may say beside its shape     tensormap    descriptors for TMA
occupancy what a persistent kernel can fill            clock        times of work
"""
