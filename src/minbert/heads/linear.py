"""vectors -> output: dropout, then one linear layer over chosen features of the vectors."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from minbert.bert import initialise
from minbert.dropout import Dropout
from minbert.errors import did_you_mean
from minbert.heads.base import Head, Place

# B x D, B x D -> B x D
FEATURES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "u": lambda u, v: u,
    "v": lambda u, v: v,
    "u-v": lambda u, v: u - v,
    "|u-v|": lambda u, v: (u - v).abs(),
    "u*v": lambda u, v: u * v,
}


class Linear(Head):
    emits = "free"

    def __init__(self, place: Place, *, dropout: float = 0.1, features: tuple[str, ...] = ("u", "v", "|u-v|")) -> None:
        """`features` says what is made of two vectors u and v; a single vector is taken as it is."""
        super().__init__()
        if not features:
            raise ValueError("needs at least one of the features " + ", ".join(FEATURES))
        for feature in features:
            if feature not in FEATURES:
                raise ValueError(f"unknown feature '{feature}'. {did_you_mean(feature, FEATURES)}")
        self.features = features
        count = len(features) if place.vectors == 2 else 1
        self.dropout = Dropout(dropout, place.noise)
        self.output = nn.Linear(count * place.width, place.outputs)
        initialise(self.output)

    def forward(self, *vectors_BD: Tensor) -> Tensor:
        x_BW = vectors_BD[0]
        if len(vectors_BD) == 2:
            u_BD, v_BD = vectors_BD
            x_BW = torch.cat([FEATURES[feature](u_BD, v_BD) for feature in self.features], dim=1)
        return self.output(self.dropout(x_BW))  # type: ignore[no-any-return]
