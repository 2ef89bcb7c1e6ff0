"""An embedding of each token's part of speech, added to the input embeddings after their norm: x + P[tag].

Report C tried tags as an input, but does not say where they enter.
"""

from torch import Tensor, nn

from minbert.data.packed import Packed
from minbert.data.pos_tags import POS_TAGS, check_tagger
from minbert.encoder.bert import Bert
from minbert.model.adapters.base import Adapter


class PosTags(Adapter):
    """Adds an embedding of each token's part of speech to the input embeddings."""

    wants_tags = True

    def __init__(self, bert: Bert) -> None:
        super().__init__(bert)
        check_tagger()
        self.tag = nn.Embedding(len(POS_TAGS), bert.config.hidden_size)
        nn.init.zeros_(self.tag.weight)

    def on_embeddings(self, x_TD: Tensor, packed: Packed) -> Tensor:
        assert packed.tags_T is not None, "the batch was encoded without tags"
        return x_TD + self.tag(packed.tags_T)  # type: ignore[no-any-return]
