"""Each text is encoded on its own, and both in one sequence: three vectors per pair, u, v and x.

The vectors of the single texts are what a sentence encoder was trained for, so their cosine works before any training;
the joined sequence lets the words of both texts meet. It costs about as much as a bi-encoder and a cross-encoder.
"""

from minbert.model.pairings.base import Pairing


class Combined(Pairing):
    """Encodes each text on its own and both in one sequence: three vectors per pair."""

    layout = "combined"
