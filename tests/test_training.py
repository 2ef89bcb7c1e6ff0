"""Recipes become runs: same seed, same result; the best is kept; the directory tells the whole story."""

import csv
import hashlib
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import minbert
from minbert.config.loading import read_recipe
from minbert.encoder.hub import find_backbone
from minbert.encoder.pretrained import save_backbone
from minbert.errors import UserError
from minbert.inference.saved_model import load_model
from minbert.runs.directory import declared_overall, read_run
from minbert.runs.events import Evaluated, Started
from minbert.runs.run import start_run
from minbert.training.loop import Loop, Step, read_losses
from minbert.training.prepare import prepare
from tests.workbench import DEMO, demo_recipe, run_all, write_csv


def weights_hash(run: Path) -> str:
    digest = hashlib.sha256()
    for name in ("model.safetensors", "tasks.safetensors"):
        digest.update((run / "model" / name).read_bytes())
    return digest.hexdigest()


def test_same_seed_same_weights_other_seed_other_weights(tiny: Path, tmp_path: Path) -> None:
    hashes = []
    for i, seed in enumerate((1, 1, 2)):
        run_all(demo_recipe(tiny, f"seed={seed}", steps=6), tmp_path / str(i))
        hashes.append(weights_hash(tmp_path / str(i)))
    assert hashes[0] == hashes[1] != hashes[2]


def test_training_draws_nothing_from_the_global_generator(tiny: Path, tmp_path: Path) -> None:
    before = torch.get_rng_state()
    run_all(demo_recipe(tiny), tmp_path / "run")
    assert torch.equal(before, torch.get_rng_state())


def test_heads_only_leaves_the_encoder_as_it_was(tiny: Path, tmp_path: Path) -> None:
    linear = ("tasks.similarity.head=linear", "tasks.similarity.pairing=cross_encoder")
    ready = prepare(demo_recipe(tiny, "stages.0.trainable=heads", *linear))
    before = {name: tensor.clone() for name, tensor in ready.model.state_dict().items()}
    for _ in Loop(ready.model, ready.setup):
        pass
    for name, tensor in ready.model.state_dict().items():
        assert torch.equal(before[name], tensor) == name.startswith("bert."), name


def test_a_stage_in_which_a_task_has_nothing_to_learn_is_refused(tiny: Path) -> None:
    with pytest.raises(UserError, match="stage 0 trains only heads, but task 'similarity' has none"):
        prepare(demo_recipe(tiny, "stages.0.trainable=heads"))


def test_a_stage_trains_only_its_tasks(tiny: Path) -> None:
    ready = prepare(demo_recipe(tiny, 'stages.0.tasks=["similarity"]'))
    head = ready.model.task("sentiment").head.output.weight.clone()  # type: ignore[union-attr,operator]
    steps = list(Loop(ready.model, ready.setup))
    assert {name for step in steps for name in step.losses} == {"similarity"}
    assert torch.equal(head, ready.model.task("sentiment").head.output.weight)  # type: ignore[union-attr,arg-type]


def test_two_half_batches_accumulated_equal_one_whole(tiny: Path) -> None:
    def trained(batch_size: int, accumulate: int) -> torch.Tensor:
        recipe = demo_recipe(
            tiny, 'tasks=["sentiment"]', f"tasks.sentiment.batch_size={batch_size}",
            f"optimizer.gradient_accumulation_steps={accumulate}", "tasks.sentiment.head.dropout=0",
            "optimizer.warmup_ratio=0",
        )  # fmt: skip
        ready = prepare(recipe)
        for module in ready.model.modules():
            if hasattr(module, "rate"):
                module.rate = 0.0
        list(Loop(ready.model, ready.setup))
        return torch.cat([p.detach().flatten() for p in ready.model.parameters()])

    whole, halves = trained(32, 1), trained(16, 2)
    torch.testing.assert_close(halves, whole, rtol=0, atol=2e-5)


def test_the_loop_and_the_model_compute_the_same_loss(tiny: Path) -> None:
    ready = prepare(demo_recipe(tiny))
    loop = Loop(ready.model, ready.setup)
    plan, _ = loop.position()
    loop.enter_stage(plan)
    ready.model.train()
    for batch in (ready.setup.loaders[name].draw(8, 128) for name in ready.tasks):
        drawn = ready.model.bert.dropout_generator.state()
        expected = ready.model.loss(batch)
        ready.model.bert.dropout_generator.restore(drawn)
        assert torch.equal(loop.loss(batch, 0.0), expected)


def test_losses_are_read_from_the_device_at_once_and_exactly() -> None:
    losses = [{"a": torch.tensor(0.1), "b": torch.tensor(2.0)}, {"b": torch.tensor(1e-30)}]
    expected = [{task: loss.item() for task, loss in each.items()} for each in losses]
    assert read_losses(losses) == expected


@pytest.mark.parametrize("balancer", ["sum", "squared", "pcgrad"])
def test_a_loss_that_is_not_finite_stops_training_before_the_weights_change(balancer: str, tiny: Path) -> None:
    ready = prepare(demo_recipe(tiny, 'tasks=["sentiment"]', f"balancer={balancer}"))
    with torch.no_grad():
        ready.model.task("sentiment").head.output.bias.fill_(float("nan"))  # type: ignore[union-attr,operator]
    before = {name: value.clone() for name, value in ready.model.bert.state_dict().items()}
    with pytest.raises(UserError, match="The loss of task 'sentiment' became nan at step 1; training stopped"):
        Loop(ready.model, ready.setup).step()
    assert all(torch.equal(before[name], value) for name, value in ready.model.bert.state_dict().items())


PAIRS = [
    (pairing, pooling, head)
    for pairing, pooling, head in itertools.product(
        ("cross_encoder", "bi_encoder"), ("cls", "mean"), ("linear", "cosine")
    )
    if (pairing, head) != ("cross_encoder", "cosine")
]


@pytest.mark.parametrize(("pairing", "pooling", "head"), PAIRS)
def test_combinations_train_save_load_and_answer_the_same(
    pairing: str, pooling: str, head: str, tiny: Path, tmp_path: Path
) -> None:
    overrides = [f"defaults.pairing={pairing}", f"defaults.pooling={pooling}", "tasks.paraphrase.loss=bce"]
    own = [f"tasks.similarity.pairing={pairing}", f"tasks.similarity.head={head}"]
    events, _ = run_all(demo_recipe(tiny, *overrides, *own), tmp_path / "run")
    assert all(np.isfinite(loss) for event in events if isinstance(event, Step) for loss in event.losses.values())
    saved = {}
    with (tmp_path / "run/predictions/similarity-dev.csv").open(encoding="utf-8") as file:
        saved = {row["id"]: float(row["prediction"]) for row in csv.DictReader(file)}
    rows = [json.loads(line) for line in (DEMO / "similarity-dev.jsonl").read_text(encoding="utf-8").splitlines()]
    model = minbert.load(tmp_path / "run")
    answers = model.predict("similarity", [(row["sentence1"], row["sentence2"]) for row in rows])
    assert [answer.score for answer in answers] == pytest.approx([saved[row["id"]] for row in rows], abs=1e-3)


def test_the_best_model_is_kept_and_training_stops_when_patience_ends(tiny: Path, tmp_path: Path) -> None:
    # a learning rate that changes nothing: no evaluation after the first is better
    recipe = demo_recipe(tiny, "optimizer.learning_rate=1e-30", "selection.patience=2", epochs=9, steps=1)
    events, finished = run_all(recipe, tmp_path / "run")
    evaluations = [event for event in events if isinstance(event, Evaluated)]
    assert [event.best for event in evaluations] == [True, False, False]
    assert finished.stopped_early
    assert finished.overall == pytest.approx(evaluations[0].overall)


def test_the_last_model_is_kept_where_the_recipe_says_so(tiny: Path, tmp_path: Path) -> None:
    settings = ["optimizer.learning_rate=0.01", "optimizer.schedule=constant", 'tasks=["similarity"]']
    overall = {}
    for keep in ("best", "last"):
        recipe = demo_recipe(tiny, *settings, f"selection.keep={keep}", epochs=4, steps=3)
        events, finished = run_all(recipe, tmp_path / keep)
        scores = [event.overall for event in events if isinstance(event, Evaluated)]
        overall[keep] = finished.overall
        assert finished.overall == pytest.approx(max(scores) if keep == "best" else scores[-1])
    assert overall["last"] < overall["best"]


def test_the_declared_overall_score_decides_which_model_is_best(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(
        tiny, 'overall={"similarity.mse" = 1}', "optimizer.learning_rate=0.01", "optimizer.schedule=constant",
        epochs=4, steps=3,
    )  # fmt: skip
    events, finished = run_all(recipe, tmp_path / "run")
    evaluations = [event for event in events if isinstance(event, Evaluated)]
    errors = [event.scores["similarity"]["mse"] for event in evaluations]
    assert len(set(errors)) > 1
    assert [event.overall for event in evaluations] == [-error for error in errors]
    assert [event.best for event in evaluations] == [
        error < min(errors[:i], default=9) for i, error in enumerate(errors)
    ]
    assert finished.scores["similarity"]["mse"] == pytest.approx(min(errors))
    assert finished.overall == -finished.scores["similarity"]["mse"]
    assert declared_overall(tmp_path / "run") == {"similarity.mse": 1.0}


def test_the_run_directory_tells_the_whole_story(tiny: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = tmp_path / "run"
    events, finished = run_all(demo_recipe(tiny, epochs=2, steps=3), run)
    assert isinstance(events[0], Started)
    about = read_run(run)
    assert about["state"] == "finished"
    assert about["overall"] == pytest.approx(finished.overall)
    assert (
        about["sha256"]["data"]["sentiment train"]
        == hashlib.sha256((DEMO / "sentiment-train.csv").read_bytes()).hexdigest()
    )
    assert (run / "curves.png").read_bytes().startswith(b"\x89PNG")
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sum("losses" in row for row in rows) == 6
    assert sum("scores" in row for row in rows) == 2
    board = EventAccumulator(str(run / "events"))
    board.Reload()
    assert len(board.Scalars("dev/overall")) == 2
    assert len(board.Scalars("loss/sentiment")) == 2
    with (run / "predictions/sentiment-dev.csv").open(encoding="utf-8") as file:
        predictions = list(csv.DictReader(file))
    right = sum(row["sentiment"] == row["prediction"] for row in predictions)
    assert right / len(predictions) == pytest.approx(finished.scores["sentiment"]["accuracy"])


def test_the_recipe_of_a_run_makes_the_same_run_again(tiny: Path, tmp_path: Path) -> None:
    run_all(demo_recipe(tiny), tmp_path / "first")
    again = read_recipe(str(tmp_path / "first/recipe.toml"))
    run_all(again, tmp_path / "second")
    assert weights_hash(tmp_path / "first") == weights_hash(tmp_path / "second")


def test_a_loss_that_is_no_number_stops_and_marks_the_run_failed(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, "optimizer.learning_rate=1e30", "optimizer.warmup_ratio=0", steps=20)
    with pytest.raises(UserError, match=r"loss of task '\w+' became (nan|inf) at step"):
        list(start_run(recipe, tmp_path / "run"))
    about = read_run(tmp_path / "run")
    assert about["state"] == "failed"
    assert "became" in about["reason"]


def test_stopping_the_loop_marks_the_run_interrupted(tiny: Path, tmp_path: Path) -> None:
    events = start_run(demo_recipe(tiny), tmp_path / "run")
    assert isinstance(next(events), Started)
    next(events)
    events.close()  # type: ignore[attr-defined]
    assert read_run(tmp_path / "run")["state"] == "interrupted"


def test_a_mistake_leaves_no_directory_and_an_old_run_untouched(tiny: Path, tmp_path: Path) -> None:
    run_all(demo_recipe(tiny), tmp_path / "run")
    before = weights_hash(tmp_path / "run")
    broken = demo_recipe(tiny, "tasks.sentiment.head=lineer")
    for force in (True, False):
        with pytest.raises(UserError):
            list(start_run(broken, tmp_path / "run", force=force))
        with pytest.raises(UserError, match="lineer"):
            list(start_run(broken, tmp_path / "other", force=force))
    assert weights_hash(tmp_path / "run") == before
    assert not (tmp_path / "other").exists()


def test_force_replaces_a_run_but_nothing_else(tiny: Path, tmp_path: Path) -> None:
    mine = write_csv(tmp_path / "mine/notes.csv", "a", ["1"])
    with pytest.raises(UserError, match="not a run"):
        list(start_run(demo_recipe(tiny), mine.parent, force=True))
    assert mine.is_file()
    run_all(demo_recipe(tiny), tmp_path / "run")
    run_all(demo_recipe(tiny), tmp_path / "run", force=True)


def test_a_users_own_task_with_string_labels_and_balanced_weights(tiny: Path, tmp_path: Path) -> None:
    rows = [
        f"this film number {i} is {'great' if i % 4 == 0 else 'awful'},{'yes' if i % 4 == 0 else 'no'}"
        for i in range(80)
    ]
    write_csv(tmp_path / "films.csv", "review,liked", rows)
    (tmp_path / "films.toml").write_text(
        'kind = "classify"\ntext = ["review"]\nlabel = "liked"\nclass_weights = "balanced"\ndev_split = 0.25\n'
        '[files]\ntrain = "films.csv"\n'
    )
    (tmp_path / "recipe.toml").write_text(
        f'backbone = "{tiny}"\n[tasks.films]\ntask = "films.toml"\n'
        "[optimizer]\nlearning_rate = 3e-3\n[[stages]]\nepochs = 12\n"
    )
    list(start_run(read_recipe(str(tmp_path / "recipe.toml")), tmp_path / "run"))
    model, _ = load_model(tmp_path / "run")
    task = model.task("films").task
    assert task.labels == ("no", "yes")
    weights = task.class_weights
    assert isinstance(weights, tuple) and weights[1] > 2 * weights[0]
    answers = minbert.load(tmp_path / "run").predict("films", ["a great film", "an awful film"])
    assert [answer.label for answer in answers] == ["yes", "no"]


def test_an_epoch_is_one_pass_over_as_many_examples_as_there_are(tiny: Path) -> None:
    # 400 + 320 + 320 examples in batches of 32: 13 + 10 + 10 batches, four to a step
    ready = prepare(
        read_recipe("demo", [f"backbone={tiny}", "optimizer.gradient_accumulation_steps=4", "stages.0.epochs=2"])
    )
    assert [plan.steps for plan in ready.setup.plans] == [2 * 9]


def test_tasks_of_one_size_are_not_read_in_the_same_order(tiny: Path) -> None:
    ready = prepare(demo_recipe(tiny, "tasks.other.task=demo/similarity"))
    first, second = (ready.setup.loaders[name].draw(32, 128).labels_B for name in ("similarity", "other"))
    assert first is not None and second is not None and not torch.equal(first, second)


def test_a_backbone_with_one_segment_reads_pairs_only_apart(tiny: Path, tmp_path: Path) -> None:
    from tests.tiny import tiny_bert, tiny_config, tiny_tokenizer

    folder = tmp_path / "single"
    save_backbone(folder, tiny_bert(0, replace(tiny_config(), type_vocab_size=1)), tiny_tokenizer(folder))
    with pytest.raises(UserError, match="only one segment"):
        prepare(demo_recipe(folder))
    run_all(demo_recipe(folder, "defaults.pairing=bi_encoder"), tmp_path / "run")


def test_tasks_may_be_called_whatever_python_calls_its_own(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, "tasks.type.task=demo/sentiment", "tasks.keys.task=demo/similarity", steps=5)
    _, finished = run_all(recipe, tmp_path / "run")
    assert {"type", "keys"} < finished.scores.keys()
    assert minbert.load(tmp_path / "run").predict("type", ["A fine day."])[0].label


@pytest.mark.slow
def test_the_demo_learns_all_three_tasks_on_real_weights(tmp_path: Path) -> None:
    find_backbone("minilm")
    events, finished = run_all(read_recipe("demo"), tmp_path / "run")
    # it beats the constant answers; chance is .2, .5 and 0
    assert all("constant" not in " ".join(each.not_beaten) for each in finished.outcomes.values())
    assert finished.outcomes["sentiment"].constant == pytest.approx(0.2, abs=0.1)
    assert finished.scores["sentiment"]["accuracy"] > 0.75
    assert finished.scores["paraphrase"]["accuracy"] > 0.65
    assert finished.scores["similarity"]["pearson"] > 0.6
    losses = [event.losses["sentiment"] for event in events if isinstance(event, Step) and "sentiment" in event.losses]
    assert losses[-1] < losses[0] / 2
    folder = tmp_path / "run/model"
    from transformers import AutoModel, AutoTokenizer

    theirs, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    texts = ["A sentence.", "Another, rather longer sentence; unremarkable."]
    encoded = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = theirs(**encoded).last_hidden_state
    mask = encoded["attention_mask"][..., None]
    expected = ((hidden * mask).sum(1) / mask.sum(1)).numpy()
    np.testing.assert_allclose(minbert.load(tmp_path / "run").embed(texts), expected, atol=1e-5)
    assert re.match(r"^\d{4}-\d\d-\d\dT", read_run(tmp_path / "run")["started"])


def test_one_file_may_have_the_labels_of_several_tasks_some_of_them_missing(tiny: Path, tmp_path: Path) -> None:
    """Each task learns from the rows that have its label."""
    rows = [f"text number {i},{i % 2 if i % 3 else ''},{i % 5 if i % 4 else ''}" for i in range(120)]
    data = write_csv(tmp_path / "both.csv", "text,spam,stars", rows)
    common = f'text = ["text"]\nmissing = "skip"\n[files]\ntrain = "{data.name}"\n'
    (tmp_path / "spam.toml").write_text(f'kind = "classify"\nlabel = "spam"\n{common}', "utf-8")
    (tmp_path / "stars.toml").write_text(f'kind = "score"\nrange = [0, 4]\nlabel = "stars"\n{common}', "utf-8")
    tasks = ["tasks.spam.task=" + str(tmp_path / "spam.toml"), "tasks.stars.task=" + str(tmp_path / "stars.toml")]
    recipe = read_recipe("demo", [f"backbone={tiny}", 'tasks=["spam", "stars"]', *tasks, "stages.0.epochs=1"])
    ready = prepare(recipe)
    train, dev = ({name: each.dataset for name, each in splits.items()} for splits in (ready.train, ready.dev))
    # every row is somewhere: trained on, a dev row, without this label, or a dev row of the other task
    assert {name: len(train[name]) + len(dev[name]) + len(train[name].skipped) for name in train} == {
        "spam": 120,
        "stars": 120,
    }
    held_out = {text for dataset in dev.values() for text in dataset.texts[0]}
    assert not held_out & {text for dataset in train.values() for text in dataset.texts[0]}
    assert len(train["spam"]) >= 60 and len(train["stars"]) >= 70
    _, finished = run_all(recipe, tmp_path / "run")
    assert set(finished.scores) == {"spam", "stars"}


def test_moments_are_kept_over_stages_and_frozen_parts_stay(tiny: Path) -> None:
    stages = ", ".join(f'{{epochs = 1, steps_per_epoch = 2, trainable = "{which}"}}' for which in ("all", "heads"))
    ready = prepare(demo_recipe(tiny, 'tasks=["sentiment"]', f"stages=[{stages}]"))
    loop = Loop(ready.model, ready.setup)
    for _ in range(2):
        loop.step()
    encoder = {name: tensor.clone() for name, tensor in ready.model.bert.state_dict().items()}
    head = ready.model.task("sentiment").head.output.weight  # type: ignore[union-attr]
    steps = loop.optimizer.state[head]["step"].item()
    for _ in loop:
        pass
    assert all(torch.equal(tensor, encoder[name]) for name, tensor in ready.model.bert.state_dict().items())
    assert loop.optimizer.state[head]["step"].item() == steps + 2 == 4
