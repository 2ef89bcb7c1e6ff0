"""A tiny model of several tasks, saved like a run, and files for it to predict."""

import json
import random
from pathlib import Path

import torch

from minbert.config.recipe import TaskPlan
from minbert.config.task import Task
from minbert.encoder.bert import BertConfig
from minbert.inference.predictor import Predictor, load_predictor
from minbert.inference.saved_model import save_model
from minbert.model.multitask import Model
from tests.tiny import WORDS, tiny_bert, tiny_tokenizer, tiny_vocabulary

TASKS = {
    "mood": Task("mood", Path(), kind="classify", text=("review",), label="m", labels=("bad", "good")),
    "stars": Task("stars", Path(), kind="score", text=("review",), label="s", range=(-9.0, 9.0)),
    "topic": Task("topic", Path(), kind="classify", text=("review",), label="t", labels=("a", "b", "c")),
    "alike": Task("alike", Path(), kind="score", text=("review", "other"), label="l", range=(-9.0, 9.0)),
}
PLANS = {
    "mood": TaskPlan(pooling="cls", max_length=16),
    "stars": TaskPlan(pooling="mean", max_length=16),
    "topic": TaskPlan(adapters=("lora",), max_length=16),
    "alike": TaskPlan(pairing="bi_encoder", max_length=24),
}


def critic(run: Path, layers: int = 2, seed: int = 0) -> Path:
    """mood and stars share the encoder's work, topic has an adapter, alike reads pairs."""
    tokenizer = tiny_tokenizer(run / "vocabulary")
    config = BertConfig(
        num_hidden_layers=layers,
        hidden_size=16,
        num_attention_heads=2,
        intermediate_size=32,
        vocab_size=len(tiny_vocabulary()),
        max_position_embeddings=64,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Model(tiny_bert(seed, config), TASKS, PLANS, "test")
        for parameter in model.parts.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
    save_model(run / "model", model, tokenizer)
    return run


def critic_of(run: Path) -> Predictor:
    return load_predictor(run, "fp32")


def reviews(count: int, seed: int = 0) -> list[str]:
    """Sentences of 1 to 20 words, always the same ones for a seed."""
    draw = random.Random(seed)
    words = WORDS.split()
    return [" ".join(draw.choices(words, k=draw.randint(1, 20))) for _ in range(count)]


def write_reviews(path: Path, texts: list[str]) -> Path:
    """As jsonl if the name ends so, else as csv without quotes."""
    if path.suffix == ".jsonl":
        lines = [json.dumps({"id": f"r{i}", "review": text}) for i, text in enumerate(texts)]
    else:
        lines = ["id,review", *(f"r{i},{text}" for i, text in enumerate(texts))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
