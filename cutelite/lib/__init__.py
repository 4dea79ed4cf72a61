"""Library code in the language of kernels itself: its functions are inlined into kernels as a user's are.

Ordinary Python over `cutelite.lang`: what they do, a user's own function could do as well.
"""
