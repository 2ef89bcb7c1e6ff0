"""Masked language modeling: E norm(GELU(W x + b)) + c, with E the encoder's word embeddings. Devlin et al. 2019.

15 % of the tokens are to be predicted: 80 % of these are replaced by [MASK], 10 % by a random token, 10 % are kept.
T tokens, M of them to be predicted, D width, V vocabulary size.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from minbert.data.batch import Batch
from minbert.encoder.bert import initialize
from minbert.model.heads.base import Head, HeadContext


class MaskedLanguageModelHead(Head):
    """Predicts masked tokens with the encoder's word embeddings (masked language modeling)."""

    output_kind = "token_logits"

    def __init__(self, context: HeadContext, *, share: float = 0.15) -> None:
        super().__init__()
        if not 0 < share < 1:
            raise ValueError(f"share {share} is not between 0 and 1")
        self.share = share
        # inside a tuple, so that the encoder's parameters are not registered as this head's own
        self.encoder = (context.bert,)
        self.dense = nn.Linear(context.width, context.width)
        self.norm = nn.LayerNorm(context.width, context.bert.config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(context.bert.config.vocab_size))
        initialize(self.dense)

    def prepare(self, batch: Batch) -> Batch:
        bert, ids_T = self.encoder[0], batch.packed.ids_T
        generator = bert.dropout_generator.generator

        def random_T() -> Tensor:
            return torch.rand(len(ids_T), generator=generator, device=generator.device)

        special_T = torch.isin(
            ids_T, torch.tensor([bert.special_tokens.cls, bert.special_tokens.sep], device=ids_T.device)
        )
        # the token with the smallest number is always predicted: a batch of short texts must predict something
        chance_T = random_T().masked_fill(special_T, 2.0)
        target_T = (chance_T < self.share) | (chance_T == chance_T.min())
        action_T = random_T()
        masked_T = target_T & (action_T < 0.8)
        replaced_T = target_T & (action_T >= 0.9)
        random_id_T = (random_T() * bert.config.vocab_size).long()
        input_T = torch.where(replaced_T, random_id_T, ids_T.masked_fill(masked_T, bert.special_tokens.mask))
        masked_M = target_T.nonzero()[:, 0]
        return replace(batch, packed=replace(batch.packed, ids_T=input_T, masked_M=masked_M), labels_B=ids_T[masked_M])

    def forward(self, *vectors_MD: Tensor) -> Tensor:
        x_MD = self.norm(functional.gelu(self.dense(vectors_MD[0])))
        return functional.linear(x_MD, self.encoder[0].embeddings.word.weight, self.bias)
