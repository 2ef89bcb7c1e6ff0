"""The two texts are joined as [CLS] a [SEP] b [SEP] and attend to each other in every layer: one vector per pair.

`encode_texts` in data/batch.py joins them. The most accurate for pairs. Devlin et al. 2019.
"""

from minbert.model.pairings.base import Pairing


class CrossEncoder(Pairing):
    """Encodes both texts as one sequence, [CLS] a [SEP] b [SEP]: one vector per pair."""

    layout = "cross_encoder"
