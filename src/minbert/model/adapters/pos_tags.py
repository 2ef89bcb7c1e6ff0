"""What part of speech a token's word is, as one more embedding: x + P[tag], after the norm of the others.

Report C tried tags as an input; where they enter it does not say.
"""

from torch import Tensor, nn

from minbert.data.packed import Packed
from minbert.data.pos_tags import POS_TAGS, check_tagger
from minbert.encoder.bert import Bert
from minbert.model.adapters.base import Adapter


class PosTags(Adapter):
    wants_tags = True

    def __init__(self, bert: Bert) -> None:
        super().__init__(bert)
        check_tagger()
        self.tag = nn.Embedding(len(POS_TAGS), bert.config.hidden_size)
        nn.init.zeros_(self.tag.weight)

    def embedded(self, x_TD: Tensor, packed: Packed) -> Tensor:
        assert packed.tags_T is not None, "the batch was laid out without tags"
        return x_TD + self.tag(packed.tags_T)  # type: ignore[no-any-return]
