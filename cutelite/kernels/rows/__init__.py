"""Kernels that work on the rows of a matrix, at the speed of a copy: softmax, norms, losses, and their derivatives.

plan.py            how threads work on a row     plans.py           plans by lengths of rows
plans_sums.py      likewise of derivatives of norms
arrays.py          arguments as matrices of rows, and new arrays of the same library
softmax.py         softmax, log_softmax          norm.py            rms_norm, layer_norm
norm_forward.py    kernels of norms              norm_backward.py   and of their derivatives
moved.py           weights for rows that begin anywhere
cross_entropy.py   cross_entropy                 loss.py            its sums and gradients
elementwise.py     functions of elements
gates.py           activations, SwiGLU, GeGLU    rope.py           rotary embedding
quantise.py        8 bits, a scale for a row    quantise_blocks.py for each 128 elements
narrow.py          scales                       transpose.py      transposes, cast or quantised
select.py          argmax, top_k                 sample.py          sampling
ranked.py          the k greatest of a row       keys.py            floats as integers in order
sort.py            sort, also by key
scan.py            cumsum                        reduce.py         sums and extremes of arrays and modes
histogram.py       counts                        embedding.py      rows of a table
adamw.py           AdamW over lists              exchange.py        sums over two GPUs
linear_cross_entropy.py   cross entropy of a linear layer, a part of its logits at a time
powers_loss.py     the same, with powers in the place of logits
operators.py       what is here as torch's operators; operators_elements.py, operators_losses.py
rope_append.py     the same on the way into a cache       rope_tables.py   cosines and sines of positions
on_jax.py          what calls with JAX's arrays go to, under the names of torch's operators
on_jax_elements.py        functions of elements, transposes, caches, losses of a linear layer, AdamW likewise

Each function takes arrays of torch, CuPy, JAX or NumPy (in the simulator); the last mode is a row, of any length, of
bf16, f16 or f32. Computations are in f32. Rows of up to 1 MB are read once, longer ones once for each pass.
"""
