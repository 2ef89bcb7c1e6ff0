"""The one to three vectors of an example -> one vector: chosen features of them, concatenated.

B examples, D width of a vector, W width of all features together.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from minbert.errors import did_you_mean
from minbert.model.heads.base import HeadContext

# features of the vectors u and v of a pair: B x D, B x D -> B x D
FEATURES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "u": lambda u, v: u,
    "v": lambda u, v: v,
    "u-v": lambda u, v: u - v,
    "|u-v|": lambda u, v: (u - v).abs(),
    "u*v": lambda u, v: u * v,
}
# the vector of the joined texts, which the pairing "combined" has; one number, B x 1
JOINED, COSINE = "x", "cos"


class Features:
    def __init__(self, context: HeadContext, names: tuple[str, ...]) -> None:
        """`names`: the features of a pair; a single vector is used unchanged."""
        known = [*FEATURES, JOINED, COSINE]
        if not names:
            raise ValueError("needs at least one of the features " + ", ".join(known))
        for name in names:
            if name not in known:
                raise ValueError(f"unknown feature '{name}'. {did_you_mean(name, known)}")
        if JOINED in names and context.num_vectors == 2:
            raise ValueError('the feature "x", the vector of the joined texts, needs the pairing "combined"')
        # whoever joins the texts wants to read the result
        self.names = (*names, JOINED) if context.num_vectors == 3 and JOINED not in names else names
        self.blocks = [1 if name == COSINE else context.width for name in self.names]
        if context.num_vectors == 1:
            self.names, self.blocks = (JOINED,), [context.width]
        self.width = sum(self.blocks)

    def __call__(self, *vectors_BD: Tensor) -> Tensor:
        """One to three of B x D -> B x W."""
        if len(vectors_BD) == 1:
            return vectors_BD[0]
        u_BD, v_BD, *joined = vectors_BD
        return torch.cat([feature(name, u_BD, v_BD, *joined) for name in self.names], dim=1)


def feature(name: str, u_BD: Tensor, v_BD: Tensor, *joined: Tensor) -> Tensor:
    if name == JOINED:
        return joined[0]
    if name == COSINE:
        return functional.cosine_similarity(u_BD, v_BD, dim=1)[:, None]
    return FEATURES[name](u_BD, v_BD)
