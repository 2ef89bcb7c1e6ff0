"""texts -> one vector per text, from the encoder of a run or of a backbone.

N texts, D width, S sequences.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from torch import Tensor
from torch.nn import functional

from minbert.config.recipe import Precision
from minbert.config.schema import Spec, build_technique
from minbert.data.batch import encode_texts
from minbert.data.packed import Packed
from minbert.data.tokenizer import Tokenizer
from minbert.encoder.bert import Bert
from minbert.encoder.device import to_device
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import load_backbone
from minbert.errors import UserError
from minbert.inference.loop import fill_batches
from minbert.inference.saved_model import load_model, model_folder
from minbert.model.poolings import POOLINGS, Pooling


class Embedder:
    def __init__(
        self,
        bert: Bert,
        tokenizer: Tokenizer,
        pooling: Spec = "mean",
        *,
        normalize: bool = False,
        max_length: int = 128,
    ) -> None:
        self.bert, self.tokenizer, self.pooling = bert, tokenizer, pooling
        self.normalize, self.max_length = normalize, max_length
        self.pool: Pooling = build_technique("pooling", POOLINGS, pooling, "embed", bert)
        if self.pool.per_token or list(self.pool.parameters()):
            wrong = "reads tokens that a task masks" if self.pool.per_token else "learns its weights with a task"
            raise UserError(f"embed: this pooling {wrong}.", "Take mean, max, cls or pooler.")

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """The vectors, N x D."""
        vectors = np.empty((len(texts), self.bert.config.hidden_size), np.float32)
        for _ in self.fill(texts, vectors):
            pass
        return vectors

    def fill(self, texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> Iterator[float]:
        """Fill in the vectors, N x D; yields the fraction done after each batch."""
        longest = min(self.max_length, self.bert.config.max_position_embeddings)
        encoded = encode_texts(self.tokenizer, (list(texts),), "cross_encoder", longest)
        return fill_batches(self.bert, encoded, self.compute, {"vectors": vectors})

    def compute(self, packed: Packed) -> Mapping[str, Tensor]:
        reads = self.pool.reads
        vectors_SD = self.pool(self.bert(packed, reads).float(), packed.firsts if reads == "first" else packed)
        return {"vectors": functional.normalize(vectors_SD, dim=1) if self.normalize else vectors_SD}


def load_encoder(name: str, precision: Precision = "auto") -> tuple[Bert, Tokenizer]:
    """The encoder of a run or of a backbone."""
    if model_folder(Path(name)) is not None:
        model, tokenizer = load_model(Path(name), precision)
        return model.bert, tokenizer
    bert, tokenizer = load_backbone(find_backbone(name))
    to_device(bert, precision, inference=True)
    return bert.eval(), tokenizer
