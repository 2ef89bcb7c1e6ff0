"""What part of speech a token's word is, as one more embedding: x + P[tag], after the norm of the others.

Report C tried tags as an input; where they enter it does not say.
"""

from torch import Tensor, nn

from minbert.adapters.base import Adapter
from minbert.bert import Bert
from minbert.packed import Packed
from minbert.tags import TAGS, check_tagger


class PosTags(Adapter):
    wants_tags = True

    def __init__(self, bert: Bert) -> None:
        super().__init__(bert)
        check_tagger()
        self.tag = nn.Embedding(len(TAGS), bert.shape.width)
        nn.init.zeros_(self.tag.weight)

    def embedded(self, x_TD: Tensor, packed: Packed) -> Tensor:
        assert packed.tags_T is not None, "the batch was laid out without tags"
        return x_TD + self.tag(packed.tags_T)  # type: ignore[no-any-return]
