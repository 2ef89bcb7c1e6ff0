"""Does sharing help? The recipes that answer it: what is left of a recipe when some of its tasks are gone."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minbert.comparison.results import TrialResult
from minbert.comparison.transfer import (
    LabeledRecipe,
    measure_transfer,
    pair_recipe,
    sequential_recipe,
    single_task_recipe,
    transfer_labels,
    transfer_recipes,
)
from minbert.config.loading import read_recipe, recipe_from, shipped_recipes
from minbert.config.recipe import Recipe, Stage
from minbert.errors import UserError
from minbert.training.loop import Loop, Step
from minbert.training.prepare import outline, prepare
from tests.tiny import tiny_config
from tests.workbench import demo_recipe, run_all

SEVERAL = [name for name in shipped_recipes() if len(read_recipe(name).tasks) > 1]

# everything that a recipe may say of single tasks
RICH: dict[str, Any] = {
    "about": "All at once.",
    "tasks": {
        "sst": {"regularizers": ["r_drop"]},
        "quora": {"shared_layer": "pairs"},
        "sts": {"shared_layer": "pairs", "adapters": [{"name": "low_rank", "size": 4}]},
        "words": {"task": "sst", "pooling": "masked_tokens", "head": "mlm", "loss": "mlm"},
    },
    "stages": [
        {"tasks": ["words"]},
        {
            "tasks": ["sts", "sst", "quora"],
            "sampler": {"name": "in_turn", "order": ["quora", "sts", "sst"]},
            "batch_sizes": {"sst": 8, "quora": 4},
            "max_lengths": {"sts": 32},
            "epochs": 2,
        },
        {
            "tasks": ["sst", "quora"],
            "sampler": {"name": "fixed", "weights": {"sst": 3, "quora": 0}},
            "trainable": "top 1",
        },
    ],
    "balancer": {"name": "weighted", "weights": {"sst": 1, "quora": 0.5, "sts": 2, "words": 1}},
    "selection": {
        "mix": {"sst.accuracy": 1.0, "quora.f1": 0.5, "sts.pearson": 0.0},
        "patience": 2,
        "gradient_cosine_rows": 4,
    },
}


def rich(**changes: Any) -> Recipe:
    return recipe_from(RICH | changes, "rich.toml")


def variants(recipe: Recipe) -> list[LabeledRecipe]:
    return transfer_recipes(LabeledRecipe("all", recipe), matrix=True)


def resolved(recipe: Recipe) -> Recipe:
    """As a run would check it, and read it back from the file that it writes."""
    outline(recipe, recipe.read_tasks(), tiny_config())
    assert recipe_from(tomllib.loads(recipe.as_toml()), "again") == recipe
    return recipe


# ---- variants -----------------------------------------------------------------------------------------


def test_three_tasks_make_twelve_trainings_beside_the_recipe_itself() -> None:
    found = variants(read_recipe("baseline"))
    assert [variant.label for variant in found] == [
        "alone: sst", "alone: quora", "alone: sts",
        "sst with quora", "sst with sts", "quora with sts",
        "quora then sst", "sts then sst", "sst then quora", "sts then quora", "sst then sts", "quora then sts",
    ]  # fmt: skip
    # each task has as much of the budget as in the recipe itself
    assert [variant.budget_fraction for variant in found] == [1 / 3] * 3 + [2 / 3] * 9
    some = transfer_recipes(LabeledRecipe("all", read_recipe("baseline")), matrix=False)
    assert some == found[:3]


@pytest.mark.parametrize("name", SEVERAL)
def test_every_variant_of_every_shipped_recipe_resolves(name: str) -> None:
    if name.endswith("/pos-tags"):
        pytest.importorskip("HanTa", reason="part-of-speech tags need the extra minbert[tags]")
    recipe = read_recipe(name)
    found = variants(recipe)
    labels = [variant.label for variant in found]
    assert len(set(labels)) == len(labels)
    assert {f"alone: {task}" for task in recipe.tasks if task in ("sst", "quora", "sts")} <= {*labels}
    # each is another training, not one that was made before
    assert all(one.recipe != other.recipe for i, one in enumerate(found) for other in found[:i])
    for variant in found:
        outline(variant.recipe, variant.recipe.read_tasks(), tiny_config())
    resolved(found[-1].recipe)


def test_what_is_said_of_other_tasks_is_gone_and_all_else_stays() -> None:
    recipe = rich()
    variant = single_task_recipe(recipe, "quora")
    assert variant.label == "alone: quora"
    expected = replace(
        recipe,
        about="Only quora. All at once.",
        tasks={"quora": recipe.tasks["quora"]},
        # hidden words are not its own, and in the last stage it is never drawn
        stages=(
            Stage(
                tasks=("quora",), epochs=2, sampler={"name": "in_turn", "order": ["quora"]}, batch_sizes={"quora": 4}
            ),
        ),
        balancer={"name": "weighted", "weights": {"quora": 0.5}},
        # one task has nothing to compare its gradient with
        selection=replace(recipe.selection, mix={"quora.f1": 0.5}, gradient_cosine_rows=None),
    )
    assert resolved(variant.recipe) == expected
    assert variant.recipe.where == "rich.toml (alone: quora)"


def test_where_nothing_of_the_mix_counts_the_overall_score_does() -> None:
    # a model chosen by 0 times its score would be the first one
    assert resolved(single_task_recipe(rich(), "sts").recipe).selection.mix == {}


def test_two_tasks_keep_the_stages_of_either() -> None:
    recipe = resolved(pair_recipe(rich(), "sst", "quora").recipe)
    assert [stage.tasks for stage in recipe.stages] == [("sst", "quora"), ("sst", "quora")]
    assert [stage.sampler for stage in recipe.stages] == [
        {"name": "in_turn", "order": ["quora", "sst"]},
        {"name": "fixed", "weights": {"sst": 3, "quora": 0}},
    ]
    assert recipe.selection == replace(rich().selection, mix={"sst.accuracy": 1.0, "quora.f1": 0.5})


def test_one_after_the_other_is_chosen_by_the_last_and_not_stopped_before_it() -> None:
    recipe = resolved(sequential_recipe(rich(), "sst", "sts").recipe)
    assert [(stage.tasks, stage.epochs, stage.trainable) for stage in recipe.stages] == [
        (("sst",), 2, "all"),
        (("sst",), 1, "top 1"),
        (("sts",), 2, "all"),
    ]
    assert list(recipe.tasks) == ["sst", "sts"]
    assert recipe.selection.mix == {"sts.pearson": 1.0}
    assert recipe.selection.patience is None
    assert resolved(sequential_recipe(rich(), "sts", "quora").recipe).selection.mix == {"quora.f1": 0.5}


def test_what_only_trains_can_be_a_source_and_no_target() -> None:
    found = {variant.label: variant.recipe for variant in variants(rich())}
    assert [stage.tasks for stage in resolved(found["words then sst"]).stages][:2] == [("words",), ("sst",)]
    # no stage has both, so that one with the other would be one after the other
    assert not {label for label in found if "words" in label} - {"words then sst", "words then quora", "words then sts"}
    with pytest.raises(UserError, match="task 'words' only trains the encoder"):
        single_task_recipe(rich(), "words")
    with pytest.raises(UserError, match="only trains the encoder"):
        sequential_recipe(rich(), "sst", "words")
    with pytest.raises(UserError, match="no stage trains both 'sst' and 'words'"):
        pair_recipe(rich(), "sst", "words")
    # where they are in one stage
    mixed = recipe_from(RICH | {"stages": [{}], "balancer": "pcgrad"}, "mixed.toml")
    assert "sst with words" in [variant.label for variant in variants(mixed)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: single_task_recipe(rich(), "quara"), r"rich.toml: has no task 'quara'. Did you mean 'quora'\?"),
        (lambda: pair_recipe(rich(), "sst", "sst"), "'sst' cannot be shared with itself"),
        (lambda: variants(read_recipe("papers/b-cross-encoding/single-sst")), "has only one task"),
        (lambda: single_task_recipe(rich(stages=[{"tasks": ["quora"]}]), "sst"), "no stage trains sst"),
        (
            lambda: single_task_recipe(rich(balancer={"name": "weighted", "weights": {"sst": 0, "quora": 1}}), "sst"),
            r"\(alone: sst\): the balancer gives no weight to sst",
        ),
        (
            lambda: variants(recipe_from({"tasks": dict.fromkeys("ab", RICH["tasks"]["words"])}, "w.toml")),
            "w.toml: none of its tasks is both trained and scored",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(make: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make()


def test_a_task_that_no_stage_trains_is_no_part_of_it() -> None:
    labels = [variant.label for variant in variants(rich(stages=[{"tasks": ["quora", "sts"]}]))]
    assert labels == [
        "alone: quora", "alone: sts", "quora with sts", "sts then quora", "quora then sts",
    ]  # fmt: skip


# ---- real trainings -----------------------------------------------------------------------------------


def trained(recipe: Recipe) -> list[Step]:
    ready = prepare(recipe, None)
    return list(Loop(ready.model, ready.setup))


def test_the_source_is_trained_first_and_the_target_after_it(tiny: Path) -> None:
    recipe = demo_recipe(tiny, "tasks.paraphrase.shared_layer=pairs", "tasks.sentiment.shared_layer=pairs", steps=2)
    steps = trained(sequential_recipe(recipe, "paraphrase", "sentiment").recipe)
    assert [list(step.losses) for step in steps] == [["paraphrase"]] * 2 + [["sentiment"]] * 2
    assert [list(step.losses) for step in trained(single_task_recipe(recipe, "sentiment").recipe)] == [
        ["sentiment"]
    ] * 2
    both = trained(pair_recipe(recipe, "paraphrase", "sentiment").recipe)
    assert [list(step.losses) for step in both] == [["sentiment"], ["paraphrase"]]


def test_a_teacher_of_all_tasks_teaches_one_alone(tiny: Path, tmp_path: Path) -> None:
    run_all(demo_recipe(tiny, "selection.eval_rows=6", steps=1), tmp_path / "teacher")
    recipe = demo_recipe(tiny, f'stages.0.distillation={{teachers = ["{tmp_path / "teacher"}"]}}', steps=1)
    assert [list(step.losses) for step in trained(single_task_recipe(recipe, "paraphrase").recipe)] == [["paraphrase"]]


# ---- what came of it ----------------------------------------------------------------------------------


def test_each_question_has_the_one_training_that_answers_it() -> None:
    recipe = read_recipe("baseline")
    labels = [variant.label for variant in variants(recipe)]
    found = transfer_labels(labels, "baseline", list(recipe.tasks))
    # six ordered pairs, with each other and one after the other
    assert len(found) == 12
    # a pair answers for both of its tasks
    assert found["sst", "quora", "with"] == found["quora", "sst", "with"] == "sst with quora"
    assert found["quora", "sst", "then"] == "quora then sst"
    # nothing was trained that answers nothing
    assert {*found.values()} == {label for label in labels if not label.startswith("alone: ")}


def test_of_two_tasks_the_recipe_is_the_pair() -> None:
    recipe = read_recipe("baseline", ['tasks=["sst", "sts"]'])
    labels = [variant.label for variant in variants(recipe)]
    assert labels == ["alone: sst", "alone: sts", "sts then sst", "sst then sts"]
    found = transfer_labels([*labels, "mine"], "mine", ["sst", "sts"])
    assert found["sst", "sts", "with"] == found["sts", "sst", "with"] == "mine"


def test_what_was_not_trained_answers_nothing() -> None:
    found = transfer_labels(["alone: sst", "sst with quora", "sts then quora"], "all", ["sst", "quora", "sts"])
    assert found == {("quora", "sst", "with"): "sst with quora"}


def test_results_become_gains_and_transfers(tiny: Path, tmp_path: Path) -> None:
    recipe = demo_recipe(tiny, "tasks.similarity=false", "selection.eval_rows=6", steps=1)
    everything = [LabeledRecipe("both", recipe), *transfer_recipes(LabeledRecipe("both", recipe), matrix=True)]
    results = []
    for number, variant in enumerate(everything):
        run = str(number)
        _, finished = run_all(variant.recipe, tmp_path / run)
        results.append(TrialResult(run, variant.label, 0, "finished", "", finished.scores, run=run))
    tasks = recipe.read_tasks()
    won, moved = measure_transfer(results, "both", list(recipe.tasks), tasks, tmp_path)
    scores = {(each.label, task): each.scores[task][tasks[task].metric] for each in results for task in each.scores}
    assert [gain.task for gain in won] == ["sentiment", "paraphrase"]
    for gain in won:
        expected = scores["both", gain.task] - scores[f"alone: {gain.task}", gain.task]
        assert gain.difference.value == pytest.approx(expected, abs=1e-5)
    assert {(each.source, each.target, each.how) for each in moved} == {
        (source, target, how)
        for source, target in (("sentiment", "paraphrase"), ("paraphrase", "sentiment"))
        for how in ("with", "then")
    }
    for each in moved:
        label = f"{each.source} then {each.target}" if each.how == "then" else "both"
        expected = scores[label, each.target] - scores[f"alone: {each.target}", each.target]
        assert each.difference.value == pytest.approx(expected, abs=1e-5)
