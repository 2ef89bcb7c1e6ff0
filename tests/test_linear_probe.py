"""Linear fits on frozen vectors: against scipy-free closed forms and scikit-learn's conventions, worked by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from minbert.config.loading import recipe_from
from minbert.config.recipe import TaskPlan
from minbert.data.batch import encode_texts
from minbert.data.metrics import log_loss, pearson
from minbert.encoder.bert import BertConfig
from minbert.inference.calibration import fit_temperature, fit_threshold, with_temperature
from minbert.model.heads.linear import LinearHead
from minbert.runs.controls import probe_predictions
from minbert.runs.untrained import CONTROL_PLAN
from minbert.training.auto import FEW_ROWS_PER_LABEL, choose_settings, passes, task_settings
from minbert.training.linear_probe import PROBE_SCALE, batch_features, fit_head, set_head, set_prior
from minbert.training.prepare import outline, prepare
from minbert.training.probe_fit import LinearFit, fit_logistic, fit_ridge
from tests.test_model import TEXTS, answers, model_of
from tests.tiny import tiny_tokenizer
from tests.workbench import demo_recipe


def features(rows: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)


def test_ridge_finds_a_linear_map_and_ignores_noise() -> None:
    x_NF = features(400, 20)
    weight_F = np.zeros(20)
    weight_F[:3] = [1.0, -2.0, 0.5]
    y_N = x_NF @ weight_F + 3 + 0.01 * np.random.default_rng(1).normal(size=400)
    fit = fit_ridge(x_NF, y_N, [20])
    assert fit.weight_OF[0] == pytest.approx(weight_F, abs=0.01) and fit.bias_O[0] == pytest.approx(3, abs=0.01)
    # nothing to learn: the mean, almost
    noise_N = np.random.default_rng(2).normal(size=400)
    assert np.ptp(fit_ridge(x_NF, noise_N, [20]).predict(features(200, 20, 5))) < 0.5


def test_ridge_with_few_rows_falls_back_to_a_line_over_the_cosine() -> None:
    """Twelve rows and 200 random features: only the last feature, which has no penalty, says anything."""
    x_NF = features(12, 201)
    y_N = 2 * x_NF[:, -1].astype(float) + 1
    fit = fit_ridge(x_NF, y_N, [200, 1])
    fresh_NF = features(500, 201, 9)
    assert pearson(fit.predict(fresh_NF)[:, 0], fresh_NF[:, -1]) > 0.99
    assert fit.weight_OF[0, -1] == pytest.approx(2, abs=0.1)


def test_ridge_equals_the_closed_form_at_its_penalty() -> None:
    x_NF, y_N = features(60, 5), np.random.default_rng(3).normal(size=60)
    fit = fit_ridge(x_NF, y_N, [5])
    centered_NF = (x_NF - x_NF.mean(0)).astype(float)
    scale = np.sqrt(x_NF.var(0, dtype=float).mean())
    gram_FF = centered_NF.T @ centered_NF / scale**2 / 60 + fit.penalty * np.eye(5)
    expected_F = np.linalg.solve(gram_FF, centered_NF.T @ (y_N - y_N.mean()) / scale / 60) / scale
    assert fit.weight_OF[0] == pytest.approx(expected_F, abs=1e-6)


def test_logistic_regression_separates_what_can_be_separated() -> None:
    x_NF = features(600, 10)
    labels_N = (x_NF[:, 0] > 0).astype(np.int64) + (x_NF[:, 1] > 1)
    fit = fit_logistic(x_NF, labels_N, 3, [10])
    fresh_NF = features(600, 10, 4)
    truth_N = (fresh_NF[:, 0] > 0).astype(np.int64) + (fresh_NF[:, 1] > 1)
    assert (fit.predict(fresh_NF).argmax(1) == truth_N).mean() > 0.78


def test_logistic_regression_without_a_signal_gives_the_class_frequencies() -> None:
    labels_N = np.repeat([0, 1, 2], [200, 60, 40])
    fit = fit_logistic(features(300, 30), labels_N, 3, [30])
    logits_NC = fit.predict(features(300, 30, 8))
    probabilities_NC = np.exp(logits_NC) / np.exp(logits_NC).sum(1, keepdims=True)
    assert probabilities_NC.mean(0) == pytest.approx([2 / 3, 0.2, 2 / 15], abs=0.05)


def test_a_class_with_one_row_or_none_does_not_break_the_fit() -> None:
    labels_N = np.array([0] * 20 + [1])
    assert np.isfinite(fit_logistic(features(21, 4), labels_N, 3, [4]).weight_OF).all()


@pytest.mark.parametrize("name", ["mood", "same", "alike"])
def test_a_head_predicts_what_the_fit_says(name: str, tmp_path: Path) -> None:
    model = model_of(**{name: CONTROL_PLAN})
    part = model.task(name)
    head: Any = part.head
    texts = TEXTS[: len(part.task.text)]
    packed = encode_texts(tiny_tokenizer(tmp_path), texts, part.layout, 32).pack(np.arange(3))
    with torch.no_grad():
        found_NF = batch_features(model.eval(), name, packed)[name].numpy()
    outputs = part.loss.num_outputs
    fit = LinearFit(features(outputs, head.features.width, 3).astype(float), np.arange(outputs, dtype=float), 0.0)
    set_head(head, fit)
    assert answers(model, name, tmp_path).numpy() == pytest.approx(fit.predict(found_NF), abs=1e-4)
    # |u-v|, u*v and their cosine; the vector itself of single texts
    assert head.features.width == (2 * 32 + 1 if part.task.paired else 32)


@pytest.mark.parametrize("name", ["same", "alike"])
def test_a_head_can_start_at_the_cosine(name: str, tmp_path: Path) -> None:
    """Only the weight of the cosine and the bias are fitted; those of the joined texts' vector stay random."""
    head: dict[str, Any] = {"name": "linear", "features": ["cos", "x"]}
    model = model_of(**{name: TaskPlan(pairing="combined", head=head, head_init="cosine")}).eval()
    part = model.task(name)
    assert isinstance(part.head, LinearHead)
    before_OF = part.head.output.weight.detach().clone()
    encoded = encode_texts(tiny_tokenizer(tmp_path), TEXTS, part.layout, 32)
    labels_N = np.array([0.0, 1.0, 3.0]) if part.task.kind == "score" else np.array([0, 1, 0])
    assert [*fit_head(model, name, encoded, labels_N)][-1] == 1
    assert torch.equal(part.head.output.weight[:, 1:], before_OF[:, 1:])
    cosine_NF = batch_features(model, name, encoded.pack(np.arange(3)))[name].detach().numpy()[:, :1]
    fit = (
        fit_ridge(cosine_NF, labels_N, [1]) if part.task.kind == "score" else fit_logistic(cosine_NF, labels_N, 2, [1])
    )
    expected_O = fit.weight_OF[:, 0] if len(fit.weight_OF) == len(before_OF) else np.diff(fit.weight_OF[:, 0])
    assert part.head.output.weight[:, 0].detach().numpy() == pytest.approx(expected_O, rel=1e-4)


@pytest.mark.parametrize("name", ["mood", "same", "alike"])
def test_a_scaled_probe_predicts_the_same_labels_less_surely(name: str, tmp_path: Path) -> None:
    outputs = {}
    for start in ("linear_probe", "scaled_probe"):
        model = model_of(**{name: replace(CONTROL_PLAN, head_init=start)}).eval()
        task = model.task(name).task
        encoded = encode_texts(tiny_tokenizer(tmp_path), TEXTS[: len(task.text)], model.task(name).layout, 32)
        labels_N = np.array([0.0, 1.0, 3.0]) if task.kind == "score" else np.array([0, 1, 0])
        assert [*fit_head(model, name, encoded, labels_N)]
        outputs[start] = answers(model, name, tmp_path).numpy()
    factor = 1.0 if task.kind == "score" else PROBE_SCALE
    assert outputs["scaled_probe"] == pytest.approx(factor * outputs["linear_probe"], abs=1e-5)


def test_a_head_without_the_cosine_starts_at_the_prior(tmp_path: Path) -> None:
    model = model_of(mood=TaskPlan(head_init="cosine")).eval()
    encoded = encode_texts(tiny_tokenizer(tmp_path), TEXTS[:1], model.task("mood").layout, 32)
    assert [*fit_head(model, "mood", encoded, np.array([0, 1, 1]))]
    other = model_of(mood=TaskPlan())
    set_prior(other.task("mood"), np.array([0, 1, 1]))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


def test_probe_predictions_are_probabilities_or_scores_within_the_range() -> None:
    model = model_of(mood=CONTROL_PLAN, alike=CONTROL_PLAN)
    probabilities_NC = probe_predictions(model.task("mood").task, np.array([[0.0, np.log(2), 0.0]]))
    assert probabilities_NC[0] == pytest.approx([0.25, 0.5, 0.25])
    assert probe_predictions(model.task("alike").task, np.array([[-3.0], [2.0], [9.0]])).tolist() == [0, 2, 5]


# ---- settings chosen for the data ----------------------------------------------------------------------


def test_small_tasks_are_seen_more_often_and_get_their_share() -> None:
    task = model_of(mood=TaskPlan()).task("mood").task
    assert passes(100, task) > passes(1000, task) > passes(10_000, task) > 0
    # a task of 100 rows next to 50,000: at least one step in a hundred
    seen = {rows: passes(rows, task) * rows for rows in (100, 50_000)}
    assert seen[100] / sum(seen.values()) > 0.01


def test_many_labels_with_few_rows_start_at_the_probe() -> None:
    task = model_of(mood=TaskPlan()).task("mood").task
    few = FEW_ROWS_PER_LABEL * len(task.labels) - 1
    starts = [task_settings(task, rows, "bi_encoder")["head_init"] for rows in (few, few + 1)]
    assert starts == ["scaled_probe", "prior"]


def test_what_the_user_writes_wins(tiny: Path) -> None:
    from minbert.encoder.pretrained import read_config

    table = {
        "backbone": str(tiny),
        "defaults": {"batch_size": 7},
        "tasks": {"sentiment": {"task": "demo/sentiment"}, "paraphrase": {"task": "demo/paraphrase", "pooling": "cls"}},
        "optimizer": {"learning_rate": 0.5},
    }
    recipe = recipe_from(table, "x.toml")
    config = read_config(tiny)[0]
    chosen = choose_settings(recipe, recipe.read_tasks(), config, {"sentiment": 100, "paraphrase": 1000})
    assert chosen.optimizer.learning_rate == 0.5 and chosen.tasks["sentiment"].head_init == "scaled_probe"
    assert {plan.batch_size for plan in chosen.tasks.values()} == {7}
    assert (chosen.tasks["paraphrase"].pairing, chosen.tasks["paraphrase"].pooling) == ("combined", "cls")
    assert chosen.tasks["sentiment"].pooling == "mean"
    assert chosen.stages and choose_settings(chosen, {}, config) is chosen
    assert outline(recipe, recipe.read_tasks(), config).counts()["paraphrase"] == 2 * (1 + 32) + 2


@pytest.mark.parametrize(
    ("pairing", "features"),
    [
        ("combined", ["cos", "x"]),
        ("bi_encoder", ["|u-v|", "u*v", "cos"]),
        ({"name": "cross_attention", "dropout": 0.1}, ["|u-v|", "u*v", "cos"]),
        ("cross_encoder", None),
    ],
)
def test_the_head_fits_the_pairing_that_the_user_writes(tiny: Path, pairing: Any, features: list[str] | None) -> None:
    tasks = {"paraphrase": {"task": "demo/paraphrase", "pairing": pairing}}
    ready = prepare(recipe_from({"backbone": str(tiny), "tasks": tasks}, "x.toml"))
    head = ready.recipe.tasks["paraphrase"].head
    assert isinstance(head, dict) and head.get("features") == features


def test_a_backbone_that_cannot_tell_two_texts_apart_reads_them_separately(tiny: Path) -> None:
    recipe = recipe_from({"backbone": str(tiny), "tasks": {"paraphrase": {"task": "demo/paraphrase"}}}, "x.toml")
    chosen = choose_settings(recipe, recipe.read_tasks(), BertConfig(type_vocab_size=1))
    assert chosen.tasks["paraphrase"].pairing == "bi_encoder"


def test_a_recipe_with_stages_stays_as_it_is(tiny: Path) -> None:
    recipe = demo_recipe(tiny)
    assert choose_settings(recipe, {}, None) is recipe  # type: ignore[arg-type]


# ---- calibration ----------------------------------------------------------------------------------------


def test_a_temperature_undoes_overconfidence() -> None:
    generator = np.random.default_rng(0)
    logits_NC = generator.normal(size=(4000, 3))
    true_NC = np.exp(logits_NC) / np.exp(logits_NC).sum(1, keepdims=True)
    labels_N = np.array([generator.choice(3, p=p_C) for p_C in true_NC])
    sharp_NC = with_temperature(true_NC, 1 / 2.5)
    assert fit_temperature(sharp_NC, labels_N) == pytest.approx(2.5, rel=0.1)
    assert log_loss(with_temperature(sharp_NC, 2.5), labels_N) < log_loss(sharp_NC, labels_N)
    # too few rows, or nothing to gain
    assert fit_temperature(sharp_NC[:20], labels_N[:20]) == 1.0
    assert fit_temperature(true_NC, true_NC.argmax(1)) == 1.0


def test_the_threshold_of_f1_is_half_of_the_best_expected_f1() -> None:
    """Lipton et al. 2014: the optimal threshold is half of the F1 that it reaches."""
    second_N = np.random.default_rng(0).beta(1, 3, size=5000)
    probabilities_NC = np.column_stack([1 - second_N, second_N])
    threshold = fit_threshold(probabilities_NC, "f1")
    assert threshold is not None
    chosen_N = second_N >= threshold
    expected = 2 * second_N[chosen_N].sum() / (chosen_N.sum() + second_N.sum())
    assert threshold == pytest.approx(expected / 2, abs=0.005)
    assert fit_threshold(probabilities_NC, "accuracy") is None


def test_heads_start_at_the_label_frequencies_or_the_mean_score() -> None:
    """Three labels seen 1, 3 and 0 times: odds of (3 + .5) / (1 + .5) for the second against the first."""
    model = model_of(mood=TaskPlan(), alike=TaskPlan())
    set_prior(model.task("mood"), np.array([0, 1, 1, 1]))
    set_prior(model.task("alike"), np.array([1.0, 2.0, 6.0]))
    mood, alike = (model.task(name).head for name in ("mood", "alike"))
    assert isinstance(mood, LinearHead) and isinstance(alike, LinearHead)
    bias_C = mood.output.bias.tolist()
    assert np.exp(bias_C[1] - bias_C[0]) == pytest.approx(3.5 / 1.5)
    assert np.exp(bias_C[2] - bias_C[0]) == pytest.approx(0.5 / 1.5)
    assert alike.output.bias.tolist() == [3.0]
