"""Any technique with any other: a set of models in which every two techniques that can meet do meet.

Each trains two steps, is saved, loaded, and answers the same.
"""

import itertools
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from minbert.config.recipe import TaskPlan
from minbert.config.task import Task
from minbert.data.batch import collate
from minbert.encoder.bert import Bert, BertConfig
from minbert.encoder.dropout import DropoutGenerator
from minbert.errors import UserError
from minbert.inference.loop import encode_for_task
from minbert.inference.saved_model import load_model, save_model
from minbert.model.adapters import ADAPTERS
from minbert.model.heads import HEADS
from minbert.model.losses import LOSSES
from minbert.model.multitask import Model, TaskModule
from minbert.model.pairings import PAIRINGS
from minbert.model.poolings import POOLINGS
from tests.tiny import tiny_tokenizer, tiny_vocabulary

TEXTS = ["a good film", "what is the best song ?", "the dog runs", "no", "two men play in the water", "it is awful"]
TASKS = {
    "five": Task("five", Path(), kind="classify", text=("a",), label="c", labels=tuple(range(5))),
    "two": Task("two", Path(), kind="classify", text=("a", "b"), label="c", labels=(0, 1)),
    "score": Task("score", Path(), kind="score", text=("a", "b"), label="c", range=(0.0, 5.0)),
}
SETTINGS: dict[str, Any] = {
    "houlsby": {"size": 4},
    "low_rank": {"size": 4},
    "pal": {"size": 4, "heads": 2},
    "lora": {"rank": 2},
    "simcse": {"rates": [0.1, 0.3]},
}
CHOICES = {
    "pooling": list(POOLINGS),
    "pairing": list(PAIRINGS),
    "head": list(HEADS),
    "loss": list(LOSSES),
    "adapters": ["none", *ADAPTERS, "low_rank+top_layer"],
}
Choice = tuple[str, dict[str, str]]


def bert() -> Bert:
    config = BertConfig(
        num_hidden_layers=2,
        hidden_size=12,
        num_attention_heads=2,
        intermediate_size=16,
        vocab_size=len(tiny_vocabulary()),
        max_position_embeddings=64,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Bert(config, DropoutGenerator(0))


ENCODER = bert()


def plan_of(chosen: dict[str, str]) -> TaskPlan:
    def spec(name: str) -> Any:
        return {"name": name, **SETTINGS[name]} if name in SETTINGS else name

    adapters = () if chosen["adapters"] == "none" else tuple(spec(name) for name in chosen["adapters"].split("+"))
    parts = {part: spec(chosen[part]) for part in ("pooling", "pairing", "head", "loss")}
    return TaskPlan(**parts, adapters=adapters, symmetric=False)


def readable(head: str, loss: str) -> bool:
    """Whether the loss can read what the head gives, where that depends on no setting."""
    kind = getattr(HEADS[head], "output_kind", None)
    return kind is None or kind in LOSSES[loss].accepts  # type: ignore[attr-defined]


@cache
def accepted(task: str, gives_tokens: bool, pairing: str, head: str, loss: str) -> bool:
    """Whether these are not refused; of a pooling it only matters whether it gives tokens."""
    pooling = "masked_tokens" if gives_tokens else "mean"
    chosen = {"pooling": pooling, "pairing": pairing, "head": head, "loss": loss, "adapters": "none"}
    try:
        TaskModule(ENCODER, TASKS[task], plan_of(chosen), "test")
    except UserError:
        return False
    return True


def possible() -> list[Choice]:
    """Every combination that is not refused, for each kind of task. Adapters fit everywhere."""
    return [
        (name, {"pooling": pooling, "pairing": pairing, "head": head, "loss": loss, "adapters": "none"})
        for name in TASKS
        for pooling, pairing, head, loss in itertools.product(*list(CHOICES.values())[:4])
        # most combinations end here, before anything is built
        if readable(head, loss) and accepted(name, POOLINGS[pooling].per_token, pairing, head, loss)  # type: ignore[attr-defined]
    ]


@pytest.mark.parametrize(("head", "loss"), [("linear", "ordinal"), ("vectors", "mse"), ("mlm", "mse")])
def test_a_loss_that_cannot_read_the_head_is_refused(head: str, loss: str) -> None:
    assert not readable(head, loss)
    chosen = {"pooling": "mean", "pairing": "bi_encoder", "head": head, "loss": loss, "adapters": "none"}
    with pytest.raises(UserError):
        TaskModule(bert(), TASKS["score"], plan_of(chosen), "test")


def meetings(choice: Choice) -> set[tuple[tuple[str, str], ...]]:
    return set(itertools.combinations(sorted(choice[1].items()), 2))


def covering() -> list[Choice]:
    """Few of them, in which every two techniques meet that meet in any."""
    every = [(name, chosen | {"adapters": a}) for name, chosen in possible() for a in CHOICES["adapters"]]
    np.random.default_rng(0).shuffle(every)  # type: ignore[arg-type]
    missing = set().union(*(meetings(choice) for choice in every))
    chosen = []
    for wanted in (4, 3, 2, 1):
        for choice in every:
            new = meetings(choice) & missing
            if len(new) >= wanted:
                chosen.append(choice)
                missing -= new
    assert not missing
    return chosen


COVERING = covering()


def test_every_technique_is_in_some_combination() -> None:
    for part, names in CHOICES.items():
        assert {chosen[part] for _, chosen in COVERING} == set(names)


@pytest.mark.parametrize("choice", COVERING, ids=lambda choice: "-".join([choice[0], *choice[1].values()]))
def test_two_steps_saved_loaded_and_the_same_answers(choice: Choice, tmp_path: Path) -> None:
    name, chosen = choice
    task, plan = TASKS[name], plan_of(chosen)
    text = tiny_tokenizer(tmp_path / "text")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = Model(bert(), {name: task}, {name: plan}, "test")
    model.bert.special_tokens = replace(model.bert.special_tokens, cls=text.cls, sep=text.sep, mask=text.mask)
    columns = (TEXTS, TEXTS[::-1])[: len(task.text)]
    sequences = encode_for_task(model, name, text, columns, 32)
    labels = np.array([0, 1, 1, 0, 1, 0]) if task.kind == "classify" else np.array([0.0, 5.0, 3.5, 1.0, 4.5, 2.0])
    batch = collate(name, sequences, labels, np.arange(6))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for _ in range(2):
        loss = model.loss(batch)
        assert loss.isfinite()
        loss.backward()
        own = dict(model.task(name).named_parameters())
        still = [key for key, parameter in own.items() if parameter.grad is None]
        assert not still, "every part of the task takes part"
        optimizer.step()
        optimizer.zero_grad()
    save_model(tmp_path / "model", model, text)
    again, _ = load_model(tmp_path, "fp32")
    if model.task(name).loss.predicts:
        with torch.inference_mode():
            expected, found = model.eval().predict(batch), again.predict(batch)
        assert torch.equal(expected, found)
        alone = collate(name, sequences, labels, np.array([3]))
        with torch.inference_mode():
            torch.testing.assert_close(again.predict(alone), found[3:4], atol=1e-5, rtol=1e-4)
        # the losses that compare examples stretch small outputs to the labels' spread, so outputs are compared
        with torch.inference_mode():
            exact_BO = model(batch)
            model.bert.dtype = torch.bfloat16
            rough_BO = model(batch)
        torch.testing.assert_close(rough_BO, exact_BO, atol=0.03, rtol=0.03)
    for key, value in model.state_dict().items():
        assert torch.equal(value, again.state_dict()[key]), key
