"""Arrays of any library: what a launch needs of them, the streams they are on, and device arrays of our own.

memory    what a launch needs of an array; device arrays    stream        streams of any library
dlpack    capsules, read and made                           exchange      functions by which C reads arrays
torch_layout  where torch keeps a tensor's facts
"""
