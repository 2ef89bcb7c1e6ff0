"""Tuning: folds, what is tried, searches that resume, and the recipe that comes out."""

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minbert.comparison.best_recipe import extending_toml, with_overrides
from minbert.comparison.budget import Budget
from minbert.comparison.engines import Engine, TrialProgress
from minbert.comparison.results import TrialResult
from minbert.comparison.search_rounds import Round, Search, known_rounds
from minbert.comparison.search_space import Candidate, grid_candidates, parse_dimension, parse_dimensions
from minbert.comparison.trial import Trial, train_trial
from minbert.comparison.tuning import Tuning, TuningPlan
from minbert.comparison.tuning_edges import edge_warnings
from minbert.comparison.tuning_results import SettingResult, TuningResults, clear_difference
from minbert.config.loading import read_recipe
from minbert.config.task import read_task
from minbert.data.dataset import Dataset
from minbert.data.fold_split import assign_folds
from minbert.data.text_keys import example_keys
from minbert.errors import UserError
from minbert.report.tuning_report import tuning_json, tuning_markdown
from tests.workbench import DEMO, Minbert

RATES = "optimizer.learning_rate=1e-3,1e-2"


class InProcess(Engine):
    """Trains in this process, which saves the start of an interpreter for each trial; remembers what it trained."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, 1)
        self.trained: list[str] = []

    def run(self, trials: Sequence[Trial]) -> Generator[TrialProgress | TrialResult, None, None]:
        for trial in trials:
            self.trained.append(trial.label)
            yield train_trial(trial, self.comparison, lambda done, total, remaining: None, lambda: None)

    def call(self, function: Callable[..., Any], arguments: Mapping[str, tuple[Any, ...]]) -> Iterator[tuple[str, Any]]:
        yield from ((name, function(*each)) for name, each in arguments.items())


def tuning(folder: Path, tiny: Path, *over: str, **more: Any) -> Tuning:
    recipe = read_recipe("demo", ['tasks=["sentiment"]'])
    plan = TuningPlan(recipe, "demo", parse_dimensions(over), [f"backbone={tiny}"], folds=2, budget=Budget(steps=4))
    return Tuning(folder, replace(plan, **more))


def train(work: Tuning) -> tuple[TuningResults, list[str]]:
    """The results, and what had to be trained."""
    engine = InProcess(work.folder)
    work.check()
    list(work.train(engine))
    return work.results(), engine.trained


# ---- folds --------------------------------------------------------------------------------------------


def labeled(texts: Sequence[str], labels: Sequence[int]) -> Dataset:
    numbers = list(range(len(texts)))
    return Dataset((list(texts),), np.array(labels), [str(i) for i in numbers], numbers, Path("rows.csv"))


def test_each_fold_has_its_share_of_every_label_and_copies_stay_together() -> None:
    task = read_task("sentiment", "demo/sentiment")
    texts = [f"text {i % 80}" for i in range(90)] + [f"rare {i}" for i in range(6)]
    labels = [i % 80 % 2 for i in range(90)] + [2] * 6
    rows = labeled(texts, labels)
    fold_N = assign_folds(rows, task, 3)
    for label, count in Counter(labels).items():
        held = Counter(fold_N[np.array(labels) == label].tolist())
        assert set(held) == {0, 1, 2} and max(held.values()) - min(held.values()) <= 2, (label, count, held)
    by_key: dict[Any, set[int]] = {}
    for key, fold in zip(example_keys(rows.texts), fold_N.tolist(), strict=True):
        by_key.setdefault(key, set()).add(fold)
    assert all(len(folds) == 1 for folds in by_key.values())


def test_folds_do_not_depend_on_the_order_of_the_file() -> None:
    task = read_task("sentiment", "demo/sentiment")
    texts, labels = [f"text {i}" for i in range(40)], [i % 3 for i in range(40)]
    forth = assign_folds(labeled(texts, labels), task, 4)
    back = assign_folds(labeled(texts[::-1], labels[::-1]), task, 4)
    assert forth.tolist() == back[::-1].tolist()


def test_too_few_rows_for_the_folds_are_an_error() -> None:
    with pytest.raises(UserError, match="too few different examples for 3 folds"):
        assign_folds(labeled(["a", "b", "b"], [0, 1, 1]), read_task("sentiment", "demo/sentiment"), 3)


# ---- what is tried ------------------------------------------------------------------------------------


def test_values_are_split_at_commas_outside_of_lists_and_tables() -> None:
    found = parse_dimension('defaults.head={ name = "linear", dropout = 0.2 },"a,b",[1, 2]')
    assert found.values == ('{ name = "linear", dropout = 0.2 }', '"a,b"', "[1, 2]")
    assert parse_dimension("optimizer.learning_rate=1e-4,0.0001,3e-4").values == ("1e-4", "3e-4")


def test_ranges_of_a_factor_of_ten_are_on_a_log_scale_and_integers_stay_integers() -> None:
    rate, decay = parse_dimension("optimizer.learning_rate=1e-5..1e-3"), parse_dimension("optimizer.layer_decay=0.5..1")
    batch = parse_dimension("defaults.batch_size=8..64")
    assert (rate.log, decay.log, batch.log) == (True, False, False)
    assert (rate.whole, batch.whole) == (False, True)
    assert batch.written(16.4) == "16" and rate.written(0.000123456) == "0.0001235"


@pytest.mark.parametrize(
    ("over", "problem"),
    [
        ("optimizer.learning_rate", "not of the form"),
        ("optimizer.learning_rate=1e-3..1e-5", "from a smaller to a larger"),
        ("optimizer.learning_rate=1,,2", "a value is missing"),
        ("seed=1,2", "a seed is not tuned"),
        ("tasks.sst.task.metric=f1,accuracy", "changes what is learned"),
        ("overall.x=1,2", "changes what is learned"),
    ],
)
def test_what_cannot_be_tuned_is_refused(over: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        parse_dimension(over)


def test_a_setting_is_given_once_and_a_grid_has_no_ranges() -> None:
    with pytest.raises(UserError, match="given twice"):
        parse_dimensions(["epochs=1", "epochs=2"])
    with pytest.raises(UserError, match="no single values"):
        grid_candidates(parse_dimensions(["optimizer.learning_rate=1e-5..1e-3"]))


# ---- searches -----------------------------------------------------------------------------------------


def play(search: Search, over: Sequence[str], score: Callable[[Candidate], float | None]) -> list[Round]:
    """The rounds of a search where settings have known scores."""
    rounds, found = search.rounds(parse_dimensions(over)), []
    with suppress(StopIteration):
        each = next(rounds)
        while True:
            found.append(each)
            each = rounds.send({candidate: score(candidate) for candidate in each.candidates})
    return found


def rate_score(candidate: Candidate) -> float:
    return -abs(math.log10(candidate.value_of("optimizer.learning_rate")) + 3)


def test_halving_trains_the_best_third_three_times_as_long() -> None:
    over = ["optimizer.learning_rate=1e-7,1e-6,1e-5,1e-4,1e-3,1e-2,1e-1"]
    first, last = play(Search(halving=True), over, rate_score)
    assert len(first.candidates) == 7 and first.fraction == pytest.approx(1 / 3)
    assert [each.value_of("optimizer.learning_rate") for each in last.candidates] == [1e-3, 1e-4, 1e-2]
    assert last.fraction == 1
    assert Search(halving=True).most_settings(parse_dimensions(over)) == [1 / 3] * 7 + [1] * 3


def test_halving_leaves_out_what_failed() -> None:
    candidates = grid_candidates(parse_dimensions(["epochs=1,2,3,4"]))
    rounds = known_rounds(candidates, halving=True)
    next(rounds)
    again = rounds.send({candidates[0]: None, candidates[1]: 0.2, candidates[2]: None, candidates[3]: None})
    assert again.candidates == (candidates[1],)


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_samples_depend_only_on_the_seed_and_more_of_them_begin_with_the_same(sampler: Any) -> None:
    over = ["optimizer.learning_rate=1e-6..1", "defaults.batch_size=8..32", "defaults.pooling=mean,cls"]
    few, more = (play(Search(trials, sampler, seed=3), over, rate_score) for trials in (5, 12))
    drawn = [each for one in more for each in one.candidates]
    assert drawn[:5] == [each for one in few for each in one.candidates] and len(set(drawn)) == 12
    assert drawn != [each for one in play(Search(12, sampler, seed=4), over, rate_score) for each in one.candidates]
    rates = [each.value_of("optimizer.learning_rate") for each in drawn]
    # on a linear scale, nearly all would be above 0.01
    assert sum(rate < 1e-3 for rate in rates) >= 3
    assert all(isinstance(each.value_of("defaults.batch_size"), int) for each in drawn)


def test_tpe_with_halving_stops_bad_settings_early() -> None:
    rounds = play(Search(12, "tpe", halving=True), ["optimizer.learning_rate=1e-6..1"], rate_score)
    whole = [each for each in rounds if each.fraction == 1]
    assert 1 <= len(whole) < 12 and sum(each.fraction < 1 for each in rounds) >= 12


def test_without_optuna_the_install_command_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UserError, match=r"pip install 'minbert\[tune\]'"):
        Search(trials=3).check([])
    Search().check(parse_dimensions(["epochs=1,2"]))


# ---- the result ---------------------------------------------------------------------------------------


def given_results(**means: Sequence[float]) -> TuningResults:
    """Scores by hand: rate name -> one score for each fold."""
    settings = tuple(
        SettingResult(
            Candidate((("rate", name),)),
            1.0,
            {i + 1: TrialResult(f"{name}{i}", name, 0, "finished", overall=score) for i, score in enumerate(scores)},
        )
        for name, scores in means.items()
    )
    return TuningResults("demo", "grid", 3, 0, "whole recipes", "", settings, ("rate",))


def test_a_difference_that_is_the_same_on_every_fold_is_clear() -> None:
    found = given_results(a=(0.70, 0.80, 0.90), b=(0.6, 0.701, 0.80))
    assert found.best is not None and found.best.label == "rate=a"
    # folds differ, but settings differ by the same on each of them
    assert not found.within_noise and "Clearly better" in found.decision()[1]
    assert found.best.standard_error == pytest.approx(0.1 / math.sqrt(3))


def test_a_difference_that_changes_its_sign_is_not_clear() -> None:
    found = given_results(a=(0.70, 0.80, 0.90), b=(0.72, 0.70, 0.95))
    assert [each.label for each in found.within_noise] == ["rate=b"]
    assert found.decision()[1] == "Not clearly better than rate=b (0.790)."


def test_the_clear_difference_is_that_of_the_corrected_t_test() -> None:
    """Of two settings: t of Nadeau and Bengio on the differences (0.1, 0.2, 0.3), with their own variance."""
    scores = [(0.5, 0.6, 0.7), (0.4, 0.4, 0.4)]
    # t(0.975, 2 degrees of freedom) = 4.302653; the variance of the differences is 0.01
    assert clear_difference(scores) == pytest.approx(4.302653 * math.sqrt(0.01 * (1 / 3 + 1 / 2)), rel=1e-6)


def test_the_best_recipe_reads_back_as_what_was_scored(tmp_path: Path) -> None:
    base = read_recipe("demo").table
    overrides = ["optimizer.learning_rate=3e-4", "stages.0.epochs=2", "tasks.sentiment.head.dropout=0.3"]
    overrides += ["tasks.paraphrase=false", "weight_averaging=ema", 'tasks.similarity.head="linear"']
    text = extending_toml("demo", base, with_overrides(base, overrides), ["Best: x"])
    (tmp_path / "best.toml").write_text(text, encoding="utf-8")
    assert read_recipe(str(tmp_path / "best.toml")) == read_recipe("demo", overrides)
    assert text.startswith('# Best: x\nextends = "demo"\n')


# ---- real searches ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tuned(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TuningResults]:
    """Two learning rates on two folds."""
    folder = tmp_path_factory.mktemp("tuned")
    results, trained = train(tuning(folder, tiny, RATES))
    assert len(trained) == 4
    return folder, results


def test_every_setting_is_scored_on_every_fold_of_train_and_never_on_dev(tuned: tuple[Path, TuningResults]) -> None:
    folder, results = tuned
    train_ids = {row["id"] for row in csv.DictReader((DEMO / "sentiment-train.csv").open(encoding="utf-8"))}
    held = [
        {json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines()}
        for path in sorted((folder / "folds").rglob("sentiment-dev.jsonl"))
    ]
    assert len(held) == 2 and not held[0] & held[1] and held[0] | held[1] == train_ids
    for each in results.settings:
        runs = [json.loads((folder / trial.run / "run.json").read_text()) for trial in each.trials.values()]
        assert each.scores == {1: runs[0]["overall"], 2: runs[1]["overall"]}
    assert results.cost.steps == sum(t.cost.steps for s in results.settings for t in s.trials.values() if t.cost)


def test_the_same_search_trains_nothing_and_a_new_value_only_itself(
    tuned: tuple[Path, TuningResults], tiny: Path
) -> None:
    folder, before = tuned
    again, trained = train(tuning(folder, tiny, RATES))
    assert not trained and again.settings == before.settings
    _, trained = train(tuning(folder, tiny, f"{RATES},3e-3"))
    assert trained == ["learning_rate=3e-3, fold 1", "learning_rate=3e-3, fold 2"]


def test_a_search_that_is_stopped_goes_on_where_it_was(
    tuned: tuple[Path, TuningResults], tiny: Path, tmp_path: Path
) -> None:
    work = tuning(tmp_path, tiny, RATES)
    engine = InProcess(tmp_path)
    with closing(work.train(engine)) as events:
        next(event for event in events if isinstance(event, TrialResult))
    assert engine.trained == ["learning_rate=1e-3, fold 1"]
    results, trained = train(tuning(tmp_path, tiny, RATES))
    assert len(trained) == 3
    assert tuning_json(results)["settings"][0]["folds"] == tuning_json(tuned[1])["settings"][0]["folds"]


def test_a_search_warns_at_the_edge_but_not_at_a_limit(tuned: tuple[Path, TuningResults]) -> None:
    results = tuned[1]
    assert results.best is not None
    end = {1e-3: "smallest", 1e-2: "largest"}[results.best.candidate.value_of("optimizer.learning_rate")]
    assert len(results.warnings) == 1 and f"is the {end} tried; try" in results.warnings[0]
    # no recipe can have the next value
    assert not list(edge_warnings(results, parse_dimensions([RATES]), lambda candidate: False))


def test_a_setting_that_diverges_has_no_score_and_is_not_tried_again(tiny: Path, tmp_path: Path) -> None:
    over = "optimizer.learning_rate=1e-3,1e30"
    fast = [f"backbone={tiny}", "optimizer.max_grad_norm=0", "optimizer.warmup_ratio=0"]
    results, trained = train(tuning(tmp_path, tiny, over, overrides=fast))
    assert len(trained) == 4 and results.best is not None and results.best.label == "learning_rate=1e-3"
    (failed,) = results.failed
    assert failed.label == "learning_rate=1e30" and failed.all_diverged and results.cost.failed == 2
    assert "diverged: the loss of task 'sentiment' was not a number" in " ".join(failed.failures)
    assert "| diverged |" in tuning_markdown(results)
    assert train(tuning(tmp_path, tiny, over, overrides=fast))[1] == []


def test_the_command_writes_a_recipe_that_can_be_trained(tiny: Path, minbert: Minbert, tmp_path: Path) -> None:
    words = ("--over", "optimizer.learning_rate=3e-3", "--folds", 2, "--steps", 2, "--set", f"backbone={tiny}")
    out = tmp_path / "tuned"
    said = minbert("tune", DEMO / "sentiment-train.csv", *words, "--jobs", 2, "--out", out)
    assert said.code == 0, said.err
    assert "Best: learning_rate=3e-3" in said.out and "Cost of tuning: 2 trials" in said.out
    assert read_recipe(str(out / "best.toml")).optimizer.learning_rate == 3e-3
    with (out / "trials.csv").open(encoding="utf-8") as file:
        assert [row["fold"] for row in csv.DictReader(file)] == ["1", "2"]
    again = minbert("tune", DEMO / "sentiment-train.csv", *words, "--out", out, "--json")
    assert json.loads(again.out)["best"]["settings"] == {"optimizer.learning_rate": 3e-3}
    assert minbert("check", out / "best.toml").code == 0
    assert minbert("tune", "demo", "--over", "optimizer.learning_rate=1e-5..1e-3", "--out", tmp_path / "x").code == 2
    assert not (tmp_path / "x").exists()
