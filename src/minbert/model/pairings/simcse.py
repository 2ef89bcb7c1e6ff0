"""Each text is encoded twice with different dropout masks: two vectors of one text. Of a pair, only the first text.

SimCSE, Gao et al. 2021. With `rates`, each pass uses a dropout rate drawn from them: S-SimCSE, Zhang et al. 2021,
https://arxiv.org/abs/2111.11750
"""

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

    def __init__(self, bert: Bert, task: Task, *, rates: tuple[float, ...] = ()) -> None:
        super().__init__(bert, task)
        if not all(0 < rate < 1 for rate in rates):
            raise ValueError("rates must be between 0 and 1")
        self.rates = rates

    def encode(self, bert: Bert, packed: Packed, reads: Reads, hooks: EncoderHooks) -> Tensor:
        if not self.rates or not self.training:
            return super().encode(bert, packed, reads, hooks)
        passes = []
        for half in packed.halves():
            generator = bert.dropout_generator.generator
            drawn = torch.randint(len(self.rates), (), generator=generator, device=generator.device)
            with dropout_rate(bert, self.rates[int(drawn)]):
                passes.append(super().encode(bert, half, reads, hooks))
        return torch.cat(passes)
