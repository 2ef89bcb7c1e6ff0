"""Averages of the weights: by hand, put into the model and taken out again, and remembered."""

import copy
from pathlib import Path

import pytest
import torch

from minbert.config.recipe import TaskPlan
from minbert.config.schema import Spec, build_technique
from minbert.config.task import Task
from minbert.encoder.init import empty_weights
from minbert.errors import UserError
from minbert.model.multitask import Model
from minbert.training.weight_averages import AVERAGES, Average
from tests.tiny import encoder_of

TASK = Task("mood", Path(), kind="classify", text=("a",), label="c", labels=(0, 1, 2))


def model_of() -> Model:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Model(encoder_of(8), {"mood": TASK}, {"mood": TaskPlan()}, "test")


def make(spec: Spec, model: Model) -> Average:
    return build_technique("average", AVERAGES, spec, "test", model)


def fill(model: Model, value: float) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(value)


def found(model: Model) -> float:
    """The one number that all weights are."""
    every = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    assert (every == every[0]).all()
    return every[0].item()


def through(average: Average, *values: float, after: int = 0, total: int | None = None) -> list[float]:
    """The mean after each step, where the weights become these values."""
    means = []
    for step, value in enumerate(values, after + 1):
        fill(average.model, value)
        average.after_step(step, total or len(values))
        with average.applied():
            means.append(found(average.model))
        assert found(average.model) == value, "its own weights again"
    return means


def test_ema_over_a_fraction_of_all_steps() -> None:
    """The plain mean of 2 steps of 4, then a decay of 1/2: 1, 1.5, (1.5 + 3) / 2, (2.25 + 4) / 2."""
    average = make({"name": "ema", "window": 0.5}, model_of())
    assert through(average, 1, 2, 3, 4) == pytest.approx([1, 1.5, 2.25, 3.125])


def test_ema_forgets_by_its_decay() -> None:
    """From 1: .9 * 1 + .1 * 2 = 1.1, .9 * 1.1 + .1 * 3 = 1.29. What came before the first step does not count."""
    model = model_of()
    fill(model, -100)
    assert through(make({"name": "ema", "decay": 0.9}, model), 1, 2, 3) == pytest.approx([1, 1.1, 1.29])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # the last quarter of eight steps: 7 and 8
        ({}, [1, 2, 3, 4, 5, 6, 7, 7.5]),
        ({"start": 0.5}, [1, 2, 3, 4, 5, 5.5, 6, 6.5]),
        ({"start": 0.0}, [1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5]),
        # every third, back from the last: 2, 5, 8
        ({"start": 0.0, "every": 3}, [1, 2, 2, 2, 3.5, 3.5, 3.5, 5]),
        # a part without a step: the last weights as they are
        ({"start": 0.999}, [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
    ids=str,
)
def test_swa_is_the_plain_mean_of_the_last_part(settings: dict[str, float], expected: list[float]) -> None:
    found = through(make({"name": "swa", **settings}, model_of()), *range(1, 9))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("spec", ["ema", {"name": "swa", "start": 0.25}], ids=str)
def test_a_mean_goes_on_from_its_memory(spec: Spec) -> None:
    whole = through(make(spec, model_of()), 1, 4, 2, 8, 5, 7)
    first = make(spec, model_of())
    through(first, 1, 4, 2, total=6)
    saved = first.state()
    kept = copy.deepcopy(saved)
    second = make(spec, model_of())
    second.restore(saved)
    assert through(second, 8, 5, 7, after=3, total=6) == whole[3:]
    assert all(torch.equal(mean, kept["mean"][name]) for name, mean in saved["mean"].items()), (
        "the saved one is as it was"
    )


def test_every_weight_of_the_model_is_in_the_mean_also_what_is_frozen_now() -> None:
    model = model_of()
    model.set_trainable("heads")
    average = make("ema", model)
    average.after_step(1, 2)
    assert set(average.mean) == {name for name, _ in model.named_parameters()}


@pytest.mark.parametrize("name", AVERAGES)
def test_a_model_without_steps_or_numbers_is_as_it_is(name: str) -> None:
    model = model_of()
    fill(model, 3)
    with make(name, model).applied():
        assert found(model) == 3
    with empty_weights():
        blanked = Model(encoder_of(8), {"mood": TASK}, {"mood": TaskPlan()}, "test")
    assert not make(name, blanked).mean


def test_the_own_weights_return_also_when_measuring_fails() -> None:
    model = model_of()
    average = make("ema", model)
    through(average, 1, 2)
    with pytest.raises(RuntimeError), average.applied():
        raise RuntimeError("no room")
    assert found(model) == 2


def test_a_mean_carries_no_gradients_and_learning_goes_on_after_it() -> None:
    model = model_of()
    average = make("ema", model)
    average.after_step(1, 1)
    with average.applied():
        pass
    weight = model.bert.pooler.weight
    weight.square().sum().backward()  # type: ignore[no-untyped-call]
    assert weight.grad is not None and weight.requires_grad
    assert not any(mean.requires_grad for mean in average.mean.values())


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"name": "ema", "decay": 1.0}, "decay 1.0 is not between 0 and 1"),
        ({"name": "ema", "window": 0.0}, "window 0.0 is not a fraction of all steps"),
        ({"name": "swa", "start": 1.0}, "start must be a fraction of all steps"),
        ({"name": "swa", "every": 0}, "every 0 is not at least 1"),
    ],
)
def test_impossible_settings_are_refused(spec: Spec, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make(spec, model_of())
