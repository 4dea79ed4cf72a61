"""Arrays of any library: their addresses and layouts, their current streams, and device arrays of our own.

memory    address and layout of an array; device arrays     stream        streams of any library
dlpack    capsules, read and made                           exchange      functions by which C reads arrays
views     shapes and strides of views
torch_layout  offsets of address, shape and strides in a torch tensor
"""
