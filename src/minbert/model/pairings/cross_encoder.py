"""[CLS] a [SEP] b [SEP] in one pass: the texts attend to each other in every layer. One vector a pair.

The most accurate for pairs. Devlin et al. 2019.
"""

from minbert.model.pairings.base import Pairing


class CrossEncoder(Pairing):
    layout = "cross_encoder"
