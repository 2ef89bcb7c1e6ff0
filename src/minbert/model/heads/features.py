"""The one or two vectors of an example -> one vector: chosen features of them, concatenated.

B examples, D width of a vector, W width of all features together.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from minbert.errors import did_you_mean
from minbert.model.heads.base import HeadContext

# B x D, B x D -> B x D
FEATURES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "u": lambda u, v: u,
    "v": lambda u, v: v,
    "u-v": lambda u, v: u - v,
    "|u-v|": lambda u, v: (u - v).abs(),
    "u*v": lambda u, v: u * v,
}


class Features:
    def __init__(self, context: HeadContext, names: tuple[str, ...]) -> None:
        """`names`: the features of two vectors u and v; a single vector is used unchanged."""
        if not names:
            raise ValueError("needs at least one of the features " + ", ".join(FEATURES))
        for name in names:
            if name not in FEATURES:
                raise ValueError(f"unknown feature '{name}'. {did_you_mean(name, FEATURES)}")
        self.names = names
        self.width = context.width * (len(names) if context.num_vectors == 2 else 1)

    def __call__(self, *vectors_BD: Tensor) -> Tensor:
        """One or two of B x D -> B x W."""
        if len(vectors_BD) == 1:
            return vectors_BD[0]
        u_BD, v_BD = vectors_BD
        return torch.cat([FEATURES[name](u_BD, v_BD) for name in self.names], dim=1)
