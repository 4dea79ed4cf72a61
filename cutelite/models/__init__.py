"""Models of `transformers` on the kernels of `cutelite.kernels`: one call changes an existing model.

    from cutelite.models import accelerate

    print(accelerate(model))     # the layers that were changed, and those that were left and why

accelerate.py   which layers are changed, recognised by their code
layers.py       decoder layers, embeddings, tables of rotary embedding
dense.py        dense layers                       norms.py        norms, each a kernel
mlps.py         gated MLPs                         summed.py       norms of few rows, within the GEMMs beside them
attention.py    the attention that `transformers` calls            masks.py   its masks: lengths, where these suffice
experts.py      experts of a mixture               routers.py      which experts a token has
loss.py         the loss of a language model in training
calls.py        calls for `cutelite.warm`
parallel.py     `shard`: a part of a model for each process           sums.py        sums over processes
parted_loss.py  the loss of a head that is shared out      pairs.py        sums over two GPUs
operators.py    products of one input with several weights, as an operator of torch      scaled.py      those in fp8
"""

from cutelite.models.accelerate import Report, accelerate, restore
from cutelite.models.parallel import shard

__all__ = ["Report", "accelerate", "restore", "shard"]
