"""A tiny real backbone on disk: the parts are the real ones, only small."""

import string
from pathlib import Path

import torch
from torch import Tensor

from minbert.data.packed import Packed
from minbert.data.tokenizer import Tokenizer, wordpiece_tokenizer
from minbert.encoder.bert import Bert, BertConfig
from minbert.encoder.dropout import DropoutGenerator
from minbert.encoder.pretrained import save_backbone

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = """
    the a an and or but if of to in on at by for with from as is are was were be been it its this that these those
    he she they we you i me my his her their our your not no yes do does did can could will would should may might
    have has had what which who how why when where there here all any some more most very too so than then
    good bad great awful fine poor best worst better worse love hate like likes liked enjoy boring dull fun funny sad
    happy film movie story plot actor acting director scene music song book question answer word sentence text
    man woman men women child children boy girl dog dogs cat cats horse bird people person city country house car
    water food day year time world life work money computer internet phone india america play plays playing
    played run runs running walk walking eat eating read reading write writing learn learning see look make get go
    one two three four five ten first second new old big small long short high low red blue green white black
"""
ENDINGS = ["ing", "ed", "er", "est", "ly", "s", "es", "ness", "tion", "ment", "able", "al", "ful", "less", "y"]


def tiny_vocabulary() -> list[str]:
    """Special tokens, some words, and every ASCII character alone and inside a word: English has no [UNK]."""
    characters = string.ascii_lowercase + string.digits
    pieces = [*string.punctuation, *characters, *(f"##{character}" for character in characters)]
    return list(dict.fromkeys([*SPECIAL, *pieces, *(f"##{ending}" for ending in ENDINGS), *WORDS.split()]))


def tiny_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of that vocabulary; leaves vocab.txt in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "vocab.txt"
    path.write_text("\n".join(tiny_vocabulary()) + "\n", encoding="utf-8")
    return Tokenizer(wordpiece_tokenizer(path, lowercase=True))


def tiny_config(vocabulary: int = len(tiny_vocabulary())) -> BertConfig:
    return BertConfig(
        num_hidden_layers=2,
        hidden_size=32,
        num_attention_heads=4,
        intermediate_size=64,
        vocab_size=vocabulary,
        max_position_embeddings=128,
    )


def tiny_bert(seed: int = 0, config: BertConfig | None = None) -> Bert:
    """An encoder whose every weight matters: no norm is 1, no bias 0, and words lie well apart."""
    bert = Bert(config or tiny_config(), DropoutGenerator(seed))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in bert.named_parameters():
            # larger than BERT's 0.02: at this width, 0.02 would make all sentences look alike
            noise = torch.randn(parameter.shape, generator=generator) * (0.2 if parameter.dim() == 2 else 0.1)
            parameter.copy_(1 + noise if name.endswith("norm.weight") else noise)
    return bert


def encoder_of(width: int) -> Bert:
    """The smallest encoder of a width, for parts that only stand beside it."""
    return Bert(
        BertConfig(
            num_hidden_layers=1,
            hidden_size=width,
            num_attention_heads=1,
            intermediate_size=4,
            vocab_size=9,
            max_position_embeddings=64,
        )
    )


def pack_padded(ids_SL: Tensor, mask_SL: Tensor, segments_SL: Tensor) -> Packed:
    """The padded tensors of other libraries, packed."""
    keep = mask_SL.bool()
    return Packed(ids_SL[keep], segments_SL[keep], keep.sum(1))


def tiny_backbone(folder: Path, seed: int = 0) -> Path:
    """Write a whole model folder (config.json, model.safetensors, tokenizer.json, vocab.txt); returns it."""
    save_backbone(folder, tiny_bert(seed), tiny_tokenizer(folder))
    return folder


def one_head_bert(layers: int = 1) -> Bert:
    """Of width 2, for formulas that are worked by hand."""
    return Bert(
        BertConfig(
            num_hidden_layers=layers,
            hidden_size=2,
            num_attention_heads=1,
            intermediate_size=4,
            vocab_size=60,
            max_position_embeddings=16,
        )
    ).eval()
