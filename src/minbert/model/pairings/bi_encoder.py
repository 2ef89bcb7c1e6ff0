"""Each text is encoded on its own: two vectors per pair, which can be stored and compared later.

Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084
"""

from minbert.model.pairings.base import Pairing


class BiEncoder(Pairing):
    """Encodes each text on its own: two vectors per pair."""

    layout = "bi_encoder"
