"""Cosines between the tasks' gradients: what they are, and that looking at them changes no training."""

import hashlib
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from minbert.data.batch import Batch
from minbert.errors import UserError
from minbert.model.multitask import Model
from minbert.runs.events import Stopped
from minbert.runs.run import resume_run, start_run
from minbert.training.gradient_conflict import gradient_cosines, gradient_of, in_batches
from minbert.training.prepare import Prepared, prepare
from tests.faults.hashes import run_hash
from tests.workbench import demo_recipe, run_all

# every way that a task can reach the encoder, with whatever remembers something or draws at random beside it
EVERYTHING = (
    'tasks.sentiment.adapters=[{name = "lora"}, {name = "houlsby", size = 4}]',
    'tasks.sentiment.regularizers=["mixout"]',
    "tasks.paraphrase.pairing=cross_attention",
    'tasks.words={task = "demo/sentiment", pooling = "masked_tokens", head = "mlm", loss = "mlm"}',
    'tasks.questions={task = "demo/paraphrase", pairing = "bi_encoder", head = "vectors", loss = "contrastive"}',
    "stages.0.sampler=prioritized",
    'weight_averaging={name = "ema", decay = 0.5}',
    "balancer=pcgrad",
    "selection.eval_rows=12",
)
TASKS = ["sentiment", "paraphrase", "similarity", "words", "questions"]
PAIRS = [f"{one} {other}" for i, one in enumerate(TASKS) for other in TASKS[i + 1 :]]


def batches_of(ready: Prepared, task: str, rows: int, size: int) -> list[Batch]:
    """The first training rows of a task."""
    part, first = ready.train[task], np.arange(rows)
    return in_batches(task, part.encoded.take(first), part.dataset.take(first).labels, size)


def by_hand(model: Model, batch: Batch) -> Tensor:
    """The gradient by autograd's own `backward`, end to end."""
    model.eval()
    model.zero_grad(set_to_none=True)
    model.loss(batch).backward()  # type: ignore[no-untyped-call]
    flat = [torch.zeros_like(each) if each.grad is None else each.grad for each in model.bert.parameters()]
    model.zero_grad(set_to_none=True)
    return torch.cat([each.flatten() for each in flat])


def lines_of(run: Path, has: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if has in row]


def test_the_cosine_of_3_4_and_4_3_is_24_25ths() -> None:
    # (3, 4) . (4, 3) = 24, both of length 5; the second weight belongs to the first task only, and is 12 there
    found = gradient_cosines(
        {
            "a": [torch.tensor([3.0, 4.0]), torch.tensor([[12.0]])],
            "b": [torch.tensor([4.0, 3.0]), None],
            "c": [torch.tensor([-4.0, -3.0]), None],
            "still": [torch.tensor([0.0, 0.0]), None],
        }
    )
    assert found.norms == pytest.approx({"a": 13.0, "b": 5.0, "c": 5.0, "still": 0.0})
    # of what has no length there is no cosine
    assert found.cosines == pytest.approx({"a b": 24 / 65, "a c": -24 / 65, "b c": -1.0})


def test_on_a_real_model_it_is_what_autograd_says(tiny: Path) -> None:
    ready = prepare(demo_recipe(tiny, "precision=fp32"))
    batches = {task: batches_of(ready, task, 8, 8) for task in ("sentiment", "paraphrase", "similarity")}
    found = gradient_cosines({task: gradient_of(ready.model, each) for task, each in batches.items()})
    flat = {task: by_hand(ready.model, each[0]).double() for task, each in batches.items()}
    assert found.norms == pytest.approx({task: each.norm().item() for task, each in flat.items()}, rel=1e-4)
    for pair, cosine in found.cosines.items():
        one, other = (flat[task] for task in pair.split())
        assert cosine == pytest.approx((one @ other / (one.norm() * other.norm())).item(), abs=1e-5)
        assert -1 < cosine < 1
    assert list(found.cosines) == ["sentiment paraphrase", "sentiment similarity", "paraphrase similarity"]


def test_tasks_that_are_the_same_agree_wholly(tiny: Path) -> None:
    recipe = demo_recipe(tiny, 'tasks.again={task = "demo/sentiment"}', 'tasks=["sentiment", "again"]')
    ready = prepare(recipe)
    ready.model.task("again").load_state_dict(ready.model.task("sentiment").state_dict())
    found = gradient_cosines({task: gradient_of(ready.model, batches_of(ready, task, 8, 4)) for task in recipe.tasks})
    assert found.cosines["sentiment again"] == pytest.approx(1.0, abs=1e-6)
    assert found.norms["sentiment"] == found.norms["again"] > 0


def test_the_rows_of_several_batches_count_alike(tiny: Path) -> None:
    ready = prepare(demo_recipe(tiny, "precision=fp32"))
    several = batches_of(ready, "sentiment", 10, 4)
    assert [batch.examples for batch in several] == [4, 3, 3]
    (whole,) = batches_of(ready, "sentiment", 10, 10)
    together = gradient_of(ready.model, several)
    flat = torch.cat([each.flatten() for each in together if each is not None])
    torch.testing.assert_close(flat.norm(), by_hand(ready.model, whole).norm(), rtol=1e-4, atol=0)
    assert gradient_cosines({"a": together, "b": gradient_of(ready.model, [whole])}).cosines["a b"] == pytest.approx(
        1, abs=1e-5
    )


def test_a_frozen_encoder_is_looked_at_too_and_left_as_it_was(tiny: Path) -> None:
    ready = prepare(demo_recipe(tiny, *EVERYTHING))
    model = ready.model
    model.set_trainable("top 1")
    model.train()
    modes = [module.training for module in model.modules()]
    trainable = [parameter.requires_grad for parameter in model.parameters()]
    model.bert.pooler.weight.grad = torch.ones_like(model.bert.pooler.weight)
    generator, everywhere = model.bert.dropout_generator.state(), torch.get_rng_state()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    for task in TASKS:
        first, again = (gradient_of(model, batches_of(ready, task, 8, 8)) for _ in range(2))
        # hidden words are the same ones each time
        assert gradient_cosines({"first": first, "again": again}).cosines["first again"] == pytest.approx(1, abs=1e-6)
        assert first[0] is not None and first[0].any()
    assert [parameter.requires_grad for parameter in model.parameters()] == trainable
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(model.bert.dropout_generator.state(), generator)
    assert torch.equal(torch.get_rng_state(), everywhere)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    # what the optimizer would use is untouched: one gradient as it was, the others not there
    assert [name for name, parameter in model.named_parameters() if parameter.grad is not None] == [
        "bert.pooler.weight"
    ]
    assert (model.bert.pooler.weight.grad == 1).all()


def test_a_training_that_is_looked_at_is_the_same_training(tiny: Path, tmp_path: Path) -> None:
    plain, looked_at = tmp_path / "plain", tmp_path / "looked-at"
    run_all(demo_recipe(tiny, *EVERYTHING, epochs=2, steps=4), plain)
    run_all(demo_recipe(tiny, *EVERYTHING, "selection.gradient_cosine_rows=6", epochs=2, steps=4), looked_at)
    found = lines_of(looked_at, "cosines")
    assert [line["step"] for line in found] == [line["step"] for line in lines_of(looked_at, "scores")] == [4, 8]
    assert [list(line["cosines"]) for line in found] == [PAIRS, PAIRS]
    assert [list(line["norms"]) for line in found] == [TASKS, TASKS]
    assert found[0]["cosines"] != found[1]["cosines"]
    # the same weights, answers and losses, bit for bit
    metrics = (looked_at / "metrics.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    without = "".join(line for line in metrics if '"cosines"' not in line)
    as_if = run_hash(looked_at) | {"metrics.jsonl": hashlib.sha256(without.encode()).hexdigest()}
    assert as_if == run_hash(plain)
    assert lines_of(plain, "cosines") == []


def asked_after(looks: int) -> Callable[[], int | None]:
    left = iter(range(looks))
    return lambda: None if next(left, None) is not None else signal.SIGTERM


def test_a_resumed_run_writes_what_an_uninterrupted_one_writes(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, "selection.gradient_cosine_rows=6", "selection.eval_rows=6", epochs=2, steps=2)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run_all(recipe, whole)
    # two looks after steps, then one after each task's gradient: stopped at the second
    with pytest.raises(Stopped):
        list(start_run(recipe, parts, controls=False, stop_requested=asked_after(3)))
    # all three of these, then one after each task's rows: stopped at the second
    with pytest.raises(Stopped):
        list(resume_run(parts, stop_requested=asked_after(4)))
    # what a process writes that is killed between the two lines of an evaluation
    with (parts / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"step": 2, "cosines": {"sentiment paraphrase": 0.5}, "norms": {}}) + "\n")
    list(resume_run(parts))
    assert run_hash(parts) == run_hash(whole)
    assert [line["step"] for line in lines_of(parts, "cosines")] == [2, 4]


def test_a_number_of_rows_is_not_below_0_and_0_is_none(tiny: Path) -> None:
    with pytest.raises(UserError, match="'gradient_cosine_rows' is a number of rows, at least 0"):
        demo_recipe(tiny, "selection.gradient_cosine_rows=-1")
    assert demo_recipe(tiny, "selection.gradient_cosine_rows=0").selection.gradient_cosine_rows == 0
