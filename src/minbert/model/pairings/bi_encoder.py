"""Each text in a pass of its own: two vectors a pair, so vectors can be kept and compared later.

Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084
"""

from minbert.model.pairings.base import Pairing


class BiEncoder(Pairing):
    layout = "bi_encoder"
