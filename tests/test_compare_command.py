"""The commands `compare` and `report`, from recipes to pages."""

import csv
import json
import re
import shutil
from pathlib import Path

import pytest

from minbert.comparison.budget import Budget
from minbert.comparison.caveats import budget_caveats
from minbert.comparison.conclude import conclude
from minbert.comparison.results import NO_EVIDENCE, TrialCost, TrialResult
from tests.workbench import Minbert, demo_recipe, run_all


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe that differs from the demo in one setting."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "fast.toml").write_text('extends = "demo"\n\n[optimizer]\nlearning_rate = 1e-3\n', encoding="utf-8")
    return folder


@pytest.fixture
def compared(home: Path, tiny: Path, minbert: Minbert) -> Path:
    """A comparison of the two, each task of the first also alone."""
    out = home / "cmp"
    if not (out / "report.html").is_file():
        words = ("--seeds", 2, "--steps", 20, "--backbone", tiny, "--jobs", 2, "--sharing", "alone", "--out", out)
        said = minbert("compare", "demo", home / "fast.toml", *words)
        assert said.code == 0, said.err
        assert "no evidence of a difference" in said.out
        assert re.search("^untrained backbone ( +[01][.][0-9]{2,3}){4}$", said.out, re.MULTILINE), said.out
        assert f"{out / 'report.html'}" in said.out.replace("\n", "")
    return out


def test_a_comparison_finds_what_its_runs_say(compared: Path, home: Path) -> None:
    found = conclude(compared)
    assert found.complete
    assert found.baseline == "demo"
    assert found.measures == ("sentiment.accuracy", "paraphrase.accuracy", "similarity.pearson", "overall")
    other = str(home / "fast.toml")
    by = {each.label: each for each in found.systems}
    assert set(by) == {"demo", other}
    assert by[other].changes == (("optimizer.learning_rate", "0.0001", "0.001"),)
    for label, system in by.items():
        for seed, run in system.runs.items():
            said = json.loads((compared / run / "run.json").read_text(encoding="utf-8"))
            assert said["seed"] == seed, label
            assert system.summaries["overall"].values[seed] == pytest.approx(said["overall"])
    cost = by["demo"].cost
    assert cost is not None
    # four in each of five epochs
    assert cost.steps == 20
    assert cost.memory > 1e8 and cost.size > 1e4 and cost.seconds > 0
    # each task alone has a third of the steps
    assert [gain.task for gain in found.gains] == ["sentiment", "paraphrase", "similarity"]
    assert {gain.difference.result for gain in found.gains} == {NO_EVIDENCE}
    # cosines of the three pairs of tasks
    assert len(by["demo"].cosines) == 3


def test_the_numbers_are_also_plain(compared: Path) -> None:
    with (compared / "results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # two recipes and two controls
    assert len(rows) == 4 * 4
    text = (compared / "report.md").read_text(encoding="utf-8")
    assert "no evidence of a difference" in text
    assert "minbert compare demo" in text


def test_the_pages_can_be_made_again_with_figures(compared: Path, minbert: Minbert, tmp_path: Path) -> None:
    page = compared / "report.html"
    before = page.read_bytes()
    page.unlink()
    said = minbert("report", compared, "--figures", tmp_path)
    assert said.code == 0
    assert page.read_bytes() == before
    assert all(path.read_text().startswith("<svg") for path in tmp_path.glob("*.svg"))
    assert len(list(tmp_path.glob("*.svg"))) > 4


def test_what_makes_trainings_less_comparable_is_said(compared: Path, minbert: Minbert, tmp_path: Path) -> None:
    """A damaged training beside costs its own answer only, and trainings that are not alike are pointed out."""
    copy = tmp_path / "cmp"
    shutil.copytree(compared, copy)
    trials = json.loads((copy / "compare.json").read_text(encoding="utf-8"))["trials"]
    run = {(trial["label"], trial["seed"]): copy / "trials" / trial["key"] for trial in trials}
    damaged = run["alone: sentiment", 1] / "predictions" / "sentiment-dev.npz"
    damaged.write_bytes(damaged.read_bytes()[:-40])
    about = run["demo", 0] / "run.json"
    said = json.loads(about.read_text(encoding="utf-8"))
    about.write_text(json.dumps(said | {"computes_in": "bfloat16"}), encoding="utf-8")
    assert minbert("report", copy).code == 0
    found = conclude(copy)
    assert not found.complete and set(found.beside) == {"alone: sentiment"}
    assert "sentiment-dev.npz: damaged" in found.beside["alone: sentiment"][1]
    # the other seed still shows it
    assert [len(gain.alone.values) for gain in found.gains] == [1, 2, 2]
    assert "The training runs differ in precision: float32 (8), bfloat16 (1)." in found.caveats
    # seven steps are no five epochs of one each
    assert any(said.startswith("alone: sentiment trained for 5 steps of a budget of 7") for said in found.caveats)


def test_of_one_seed_nothing_is_said_about_the_luck_of_seeds(compared: Path, minbert: Minbert, tmp_path: Path) -> None:
    copy = tmp_path / "cmp"
    shutil.copytree(compared, copy)
    trials = json.loads((copy / "compare.json").read_text(encoding="utf-8"))["trials"]
    gone = next(trial["key"] for trial in trials if trial["label"] == "demo" and trial["seed"] == 1)
    shutil.rmtree(copy / "trials" / gone)
    # also elsewhere, with ways to the runs
    assert minbert("report", copy, "--out", tmp_path / "page").code == 0
    text = (tmp_path / "page" / "report.md").read_text(encoding="utf-8")
    assert "There is only one seed: intervals cover the dev rows only" in text
    assert "only the choice of dev rows" in text and "the variation between seeds and" not in text
    page = (tmp_path / "page" / "report.html").read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]*trials/[^"]*)"', page)
    assert links and all((tmp_path / "page" / link).is_dir() for link in links)


def test_a_recipe_whose_data_are_bad_fails_alone(tiny: Path, minbert: Minbert, tmp_path: Path) -> None:
    task = 'kind = "classify"\ntext = ["text"]\nlabel = "label"\nlabels = ["good", "bad"]\n'
    for name, last in {"sound": "24\tthe last\tgood", "broken": "24\tthe last\tugly"}.items():
        rows = [f"{i}\tsentence number {i}\t{'good' if i % 2 else 'bad'}" for i in range(24)]
        (tmp_path / f"{name}.tsv").write_text("\n".join(["id\ttext\tlabel", *rows, last]) + "\n")
        files = f'files = {{ train = "{name}.tsv", dev = "sound.tsv" }}\n'
        (tmp_path / f"{name}-mood.toml").write_text(task + files)
        recipe = f'backbone = "{tiny}"\n\n[tasks.mood]\ntask = "{name}-mood.toml"\n'
        (tmp_path / f"{name}.toml").write_text(recipe)
    recipes = [tmp_path / f"{name}.toml" for name in ("sound", "broken")]
    words = ("--seeds", 1, "--steps", 2, "--data-root", tmp_path, "--out", tmp_path / "cmp")
    said = minbert("compare", *recipes, *words)
    assert said.code == 1, said.err
    assert "broken.tsv" in said.out and "--skip-bad-rows" in said.out.replace("\n", " ")
    assert conclude(tmp_path / "cmp").systems[0].label == str(recipes[0])


def test_a_training_that_did_not_get_its_time_is_pointed_out() -> None:
    cost = TrialCost(100.0, 10, 100, 5, 5, 1e6, 1e6)
    done = [TrialResult(name, name, 0, "finished", cost=cost) for name in ("long", "right", "short")]
    said = list(budget_caveats(done, {"long": Budget(80.0), "right": Budget(90.0), "short": Budget(120.0)}))
    assert [sentence.partition(":")[0] for sentence in said] == [
        "long trained for 100 s of a budget of 80 s",
        "short trained for 100 s of a budget of 120 s",
    ]
    # whole recipes have no time to keep to
    assert not list(budget_caveats(done, {"long": Budget()}))
    said = list(budget_caveats(done, {"long": Budget(steps=5), "right": Budget(steps=10), "short": Budget(steps=20)}))
    assert [sentence.partition(":")[0] for sentence in said] == [
        "long trained for 10 steps of a budget of 5",
        "short trained for 10 steps of a budget of 20",
    ]


def test_bad_rows_fail_a_comparison_or_are_left_out(tiny: Path, minbert: Minbert, tmp_path: Path) -> None:
    rows = [f"{i}\tsentence number {i}\t{'good' if i % 2 else 'bad'}" for i in range(24)]
    for part in ("train", "dev"):
        (tmp_path / f"{part}.tsv").write_text("\n".join(["id\ttext\tlabel", *rows, "24\t\tgood"]) + "\n")
    (tmp_path / "mood.toml").write_text(
        'kind = "classify"\ntext = ["text"]\nlabel = "label"\nlabels = ["good", "bad"]\n'
        'files = { train = "train.tsv", dev = "dev.tsv" }\n'
    )
    recipe = tmp_path / "mood-recipe.toml"
    recipe.write_text(f'backbone = "{tiny}"\n\n[tasks.mood]\ntask = "mood.toml"\n')
    words = ("compare", recipe, "--seeds", 1, "--steps", 2, "--data-root", tmp_path, "--out", tmp_path / "cmp")
    said = minbert(*words)
    assert said.code != 0 and "dev.tsv" in said.err.replace("\n", "") + said.out.replace("\n", "")
    said = minbert(*words, "--skip-bad-rows")
    assert said.code == 0, said.err


def test_a_runs_errors_become_a_page(tiny: Path, minbert: Minbert, tmp_path: Path) -> None:
    run_all(demo_recipe(tiny), tmp_path / "one")
    run_all(demo_recipe(tiny, "seed=1"), tmp_path / "two")
    said = minbert("report", tmp_path / "one", tmp_path / "two")
    assert said.code == 0, said.err
    page = (tmp_path / "one" / "report" / "report.html").read_text(encoding="utf-8")
    for word in ("sentiment", "paraphrase", "similarity", "alibration", "ardest", "isagree"):
        assert word in page
    assert (tmp_path / "one" / "report" / "report.md").is_file()


def test_mistakes_are_told_before_anything_is_trained(tiny: Path, minbert: Minbert, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text('extends = "demo"\n\n[tasks.sentiment]\nhead = "liner"\n', encoding="utf-8")
    for words, message in (
        (("compare", "demo", broken, "--backbone", tiny), "Did you mean 'linear'"),
        (("compare", "demo", "--backbone", tiny, "--baseline", "baseline"), "is not among the recipes"),
        (("compare", "demo", "demo", "--backbone", tiny), "'demo' is named twice"),
        (("compare", "demo", "--backbone", tiny, "--budget", "1m", "--steps", "3"), "one limit"),
        (("compare", "demo", "--backbone", tiny, "--seeds", "none"), "--seeds none"),
    ):
        said = minbert(*words, "--out", tmp_path / "out")
        assert said.code == 2
        assert message in said.err
    assert not (tmp_path / "out").exists()
    said = minbert("report", tmp_path)
    assert said.code == 2
    assert "neither a run nor a comparison" in said.err
