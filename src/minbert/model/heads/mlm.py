"""Guess hidden words: E norm(GELU(W x + b)) + c, with E the encoder's own word vectors. Devlin et al. 2019.

15 % of the tokens are asked for: of these 80 % are hidden behind [MASK], 10 % replaced by any token, 10 % left.
T tokens, M of them asked for, D width, V words.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from minbert.data.batch import Batch
from minbert.encoder.bert import initialize
from minbert.model.heads.base import Head, HeadContext


class MaskedLanguageModelHead(Head):
    emits = "tokens"

    def __init__(self, context: HeadContext, *, share: float = 0.15) -> None:
        super().__init__()
        if not 0 < share < 1:
            raise ValueError(f"share {share} is not between 0 and 1")
        self.share = share
        # inside a tuple, so that the encoder's weights are not taken for this head's own
        self.encoder = (context.bert,)
        self.dense = nn.Linear(context.width, context.width)
        self.norm = nn.LayerNorm(context.width, context.bert.config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(context.bert.config.vocab_size))
        initialize(self.dense)

    def prepare(self, batch: Batch) -> Batch:
        bert, ids_T = self.encoder[0], batch.packed.ids_T
        generator = bert.dropout_generator.generator

        def chances() -> Tensor:
            return torch.rand(len(ids_T), generator=generator, device=generator.device)

        special_T = torch.isin(
            ids_T, torch.tensor([bert.special_tokens.cls, bert.special_tokens.sep], device=ids_T.device)
        )
        # the likeliest to be asked for always is: a batch of short texts must ask for something
        chance_T = chances().masked_fill(special_T, 2.0)
        asked_T = (chance_T < self.share) | (chance_T == chance_T.min())
        how_T = chances()
        hidden_T = asked_T & (how_T < 0.8)
        swapped_T = asked_T & (how_T >= 0.9)
        any_T = (chances() * bert.config.vocab_size).long()
        seen_T = torch.where(swapped_T, any_T, ids_T.masked_fill(hidden_T, bert.special_tokens.mask))
        masked_M = asked_T.nonzero()[:, 0]
        return replace(batch, packed=replace(batch.packed, ids_T=seen_T, masked_M=masked_M), labels_B=ids_T[masked_M])

    def forward(self, *vectors_MD: Tensor) -> Tensor:
        x_MD = self.norm(functional.gelu(self.dense(vectors_MD[0])))
        return functional.linear(x_MD, self.encoder[0].embeddings.word.weight, self.bias)
