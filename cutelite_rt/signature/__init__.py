"""Signatures of kernels: data, the binder with its error texts, and the tables that the launcher reads.

data     dims, expressions, layouts; JSON for files       kinds    the kinds of parameters, one class each; `Signature`
bind     a call while it is bound                         settled  binding by a settled signature
table    a signature as memory that the compiled launcher reads at each launch
"""
