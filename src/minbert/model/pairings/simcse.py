"""Each text is encoded twice with different dropout masks: two vectors of one text. Of a pair, only the first text.

SimCSE, Gao et al. 2021. With `rates`, dropout rates are drawn from them, one for each pass over a batch or one for each
sentence of each pass: S-SimCSE, Zhang and Lan 2021, https://arxiv.org/abs/2111.11750. Masks are drawn for every
sentence separately in any case.

T tokens, S sequences, D width.
"""

from typing import Literal

import torch
from torch import Tensor

from minbert.config.task import Task
from minbert.data.packed import Packed
from minbert.encoder.bert import Bert, EncoderHooks, Reads
from minbert.encoder.dropout import dropout_rate
from minbert.model.pairings.base import Pairing


class SimCse(Pairing):
    """Encodes each text twice with different dropout masks, for contrastive training."""

    layout = "simcse"

    def __init__(
        self,
        bert: Bert,
        task: Task,
        *,
        rates: tuple[float, ...] = (),
        rate_per: Literal["pass", "sentence"] = "pass",
    ) -> None:
        """`rate_per`: what a dropout rate is drawn for: each pass over a batch, or each sentence of it."""
        super().__init__(bert, task)
        if not all(0 < rate < 1 for rate in rates):
            raise ValueError("rates must be between 0 and 1")
        self.rates = rates
        self.rate_per = rate_per

    def encode(self, bert: Bert, packed: Packed, reads: Reads, hooks: EncoderHooks) -> Tensor:
        if not self.rates or not self.training:
            return super().encode(bert, packed, reads, hooks)
        drawn_S = self.draw_rates(bert, len(packed.lengths_S))
        order, vectors = [], []
        # sentences with the same rate are encoded together
        for number in sorted(set(drawn_S.tolist())):
            chosen_S = drawn_S == number
            with dropout_rate(bert, self.rates[number]):
                vectors.append(super().encode(bert, packed.sequences(chosen_S), reads, hooks))
            kept = chosen_S if reads == "first" else chosen_S[packed.sequence_T]
            order.append(kept.nonzero()[:, 0])
        return torch.cat(vectors)[torch.cat(order).argsort()]

    def draw_rates(self, bert: Bert, sequences: int) -> Tensor:
        """The number of the rate of each sequence; those of the first pass are the first half."""
        generator = bert.dropout_generator.generator
        count = 2 if self.rate_per == "pass" else sequences
        drawn = torch.randint(len(self.rates), (count,), generator=generator, device=generator.device)
        return drawn.repeat_interleave(sequences // count)
