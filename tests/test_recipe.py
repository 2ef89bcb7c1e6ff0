"""recipes/x.toml -> Recipe: reading, extending, overriding, and every mistake named."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from minbert.config.loading import read_recipe, recipe_from, shipped_recipes
from minbert.config.overall_terms import OverallTerm
from minbert.config.recipe import Optimizer, Recipe, Selection, Stage, TaskPlan
from minbert.errors import UserError

SST = "[tasks.sst]\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, so that errors name files as a user typed them."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str) -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return name


def read(text: str, *overrides: str) -> Recipe:
    return read_recipe(write("x.toml", text), overrides)


def refusal(text: str, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        read(text, *overrides)
    return str(caught.value)


# ---- shipped recipes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", shipped_recipes())
def test_every_shipped_recipe_resolves_to_tasks_that_exist(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.about and set(recipe.read_tasks()) == set(recipe.tasks)


@pytest.mark.parametrize("name", shipped_recipes())
def test_every_shipped_recipe_survives_being_written_down(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe_from(tomllib.loads(recipe.as_toml()), "run") == recipe


def test_the_demo_and_the_baseline_are_shipped() -> None:
    assert {"baseline", "demo"} <= set(shipped_recipes())


# ---- one file -----------------------------------------------------------------------------------------


def test_a_recipe_of_one_line_takes_every_default(here: Path) -> None:
    assert read('tasks = ["sst", "sts"]') == Recipe("", tasks={"sst": TaskPlan(), "sts": TaskPlan()})


def test_defaults_hold_for_every_task_that_says_nothing_else(here: Path) -> None:
    recipe = read(
        """
        [defaults]
        pooling = "cls"
        batch_size = 16
        head = { name = "linear", dropout = 0.3 }
        [tasks.sst]
        batch_size = 8
        [tasks.sts]
        head = { features = ["u"] }
        [tasks.quora]
        head = "linear"
        """
    )
    assert {name: plan.pooling for name, plan in recipe.tasks.items()} == dict.fromkeys(recipe.tasks, "cls")
    assert [plan.batch_size for plan in recipe.tasks.values()] == [8, 16, 16]
    assert recipe.tasks["sst"].head == {"name": "linear", "dropout": 0.3}
    assert recipe.tasks["sts"].head == {"name": "linear", "dropout": 0.3, "features": ["u"]}
    assert recipe.tasks["quora"].head == "linear"


def test_a_technique_may_be_set_up_without_naming_the_usual_one(here: Path) -> None:
    recipe = read(
        """
        tasks = { sst = { head = { dropout = 0.5 } } }
        [[stages]]
        sampler = { exponent = 0.5 }
        """
    )
    assert recipe.tasks["sst"].head == {"name": "linear", "dropout": 0.5}
    assert recipe.stages[0].sampler == {"name": "proportional", "exponent": 0.5}


@pytest.mark.parametrize(
    ("text", "overrides"),
    [
        ('[defaults]\nhead = "cosine"\n[tasks.sts]\nhead = { scaling = "relu" }', []),
        ('[defaults]\nhead = { name = "cosine" }\n[tasks.sts]\nhead = { scaling = "relu" }', []),
        ('[defaults]\nhead = "cosine"\n[tasks.sts]', ["tasks.sts.head.scaling=relu"]),
        ('[defaults]\nhead = "cosine"\n[tasks.sts]', ["defaults.head.scaling=relu"]),
        ('extends = "cosine.toml"\n[tasks.sts]\nhead = { scaling = "relu" }', []),
        ('extends = "cosine.toml"', ["tasks.sts.head.scaling=relu"]),
    ],
)
def test_settings_without_a_name_are_those_of_the_technique_below(here: Path, text: str, overrides: list[str]) -> None:
    write("cosine.toml", '[tasks.sts]\nhead = "cosine"\n')
    assert read(text, *overrides).tasks["sts"].head == {"name": "cosine", "scaling": "relu"}


def test_a_recipe_written_down_with_every_default_is_the_same_recipe(here: Path) -> None:
    recipe = read(
        """
        about = "all of it"
        backbone = "bert-base"
        seed = 7
        balancer = "sum"
        [tasks.sst]
        loss = { name = "cross_entropy", label_smoothing = 0.1 }
        max_length = 64
        [tasks.sts]
        pairing = "bi_encoder"
        head = { name = "cosine", scaling = "relu" }
        [[stages]]
        tasks = ["sst"]
        trainable = "heads"
        epochs = 2
        learning_rate = 1e-3
        [[stages]]
        steps_per_epoch = 10
        sampler = "round_robin"
        [optimizer]
        head_learning_rate = 1
        algorithm = { name = "adamw", betas = [0.9, 0.98], implementation = "minbert" }
        schedule = "cosine"
        [selection]
        patience = 3
        eval_rows = 100
        [overall]
        "sst.accuracy" = 1
        "sts.pearson" = { weight = 0.5, transform = "zero_to_one" }
        """
    )
    assert recipe.stages[0] == Stage(tasks=("sst",), trainable="heads", epochs=2, learning_rate=0.001)
    assert recipe.optimizer == Optimizer(
        algorithm={"name": "adamw", "betas": [0.9, 0.98], "implementation": "minbert"},
        head_learning_rate=1.0,
        schedule="cosine",
    )
    assert recipe.selection == Selection(patience=3, eval_rows=100)
    assert recipe.overall == {"sst.accuracy": 1.0, "sts.pearson": OverallTerm(weight=0.5, transform="zero_to_one")}
    again = recipe_from(tomllib.loads(recipe.as_toml()), "run/recipe.toml")
    assert again == recipe and again.where == "run/recipe.toml"


def test_a_task_file_is_relative_to_the_recipe_that_names_it(here: Path) -> None:
    write("lab/tasks/mine.toml", 'kind = "classify"\ntext = ["review"]\nlabel = "stars"\n')
    write("lab/base.toml", '[tasks.mine]\ntask = "tasks/mine.toml"\n')
    write("elsewhere/child.toml", 'extends = "../lab/base.toml"\nseed = 1\n')
    for spec in ("lab/base.toml", "elsewhere/child.toml"):
        task = read_recipe(spec).read_tasks()["mine"]
        assert (task.name, task.label, task.folder) == ("mine", "stars", here / "lab" / "tasks")


def test_a_task_may_have_another_name_than_the_standard_task_it_is(here: Path) -> None:
    tasks = read('[tasks.films]\ntask = "sst"\n[tasks.sts]\n').read_tasks()
    assert tasks["films"].name == "films" and tasks["films"].label == "sentiment"


def test_a_recipe_may_begin_with_a_byte_order_mark(here: Path) -> None:
    Path("x.toml").write_text('tasks = ["sst"]', encoding="utf-8-sig")
    assert list(read_recipe("x.toml").tasks) == ["sst"]


# ---- extending ----------------------------------------------------------------------------------------

BASE = """
about = "base"
seed = 1
[tasks.sst]
head = { name = "linear", dropout = 0.3 }
batch_size = 8
[tasks.sts]
pairing = "bi_encoder"
[tasks.quora]
[optimizer]
learning_rate = 1e-4
warmup_ratio = 0.2
algorithm = { betas = [0.8, 0.9], eps = 1e-6 }
[[stages]]
epochs = 1
[[stages]]
epochs = 2
"""


def child(text: str, *overrides: str) -> Recipe:
    write("base.toml", BASE)
    return read('extends = "base.toml"\n' + text, *overrides)


def test_tables_are_merged_and_lists_replaced(here: Path) -> None:
    recipe = child(
        "seed = 2\n[optimizer]\nwarmup_ratio = 0\nalgorithm = { betas = [0.5, 0.6] }\n[[stages]]\nepochs = 5\n"
    )
    assert (recipe.about, recipe.seed) == ("base", 2)
    algorithm = {"name": "adamw", "betas": [0.5, 0.6], "eps": 1e-6}
    assert recipe.optimizer == Optimizer(algorithm=algorithm, learning_rate=1e-4, warmup_ratio=0.0)
    assert recipe.stages == (Stage(epochs=5),)
    assert list(recipe.tasks) == ["sst", "sts", "quora"]


def test_a_task_is_changed_or_added_without_repeating_the_others(here: Path) -> None:
    recipe = child("[tasks.sst]\nbatch_size = 64\n[tasks.cfimdb]\n")
    assert list(recipe.tasks) == ["sst", "sts", "quora", "cfimdb"]
    assert recipe.tasks["sst"] == TaskPlan(head={"name": "linear", "dropout": 0.3}, batch_size=64)


def test_a_task_is_changed_also_where_the_base_lists_bare_names(here: Path) -> None:
    write("names.toml", 'tasks = ["sst", "sts"]')
    recipe = read('extends = "names.toml"\n[tasks.sst]\nbatch_size = 64\n')
    assert recipe.tasks == {"sst": TaskPlan(batch_size=64), "sts": TaskPlan()}


def test_a_list_of_tasks_picks_from_the_base_in_the_new_order(here: Path) -> None:
    recipe = child('tasks = ["sts", "sst"]\n')
    assert list(recipe.tasks) == ["sts", "sst"]
    assert recipe.tasks["sts"].pairing == "bi_encoder" and recipe.tasks["sst"].batch_size == 8


def test_false_leaves_a_task_or_a_table_out(here: Path) -> None:
    recipe = child("optimizer = false\n[tasks]\nquora = false\n")
    assert list(recipe.tasks) == ["sst", "sts"] and recipe.optimizer == Optimizer()


def test_leaving_out_a_task_that_is_not_there_is_a_mistake(here: Path) -> None:
    write("base.toml", BASE)
    assert refusal('extends = "base.toml"\n[tasks]\nquorra = false\n') == (
        "x.toml: there is no task 'quorra' to leave out. Did you mean 'quora'?"
    )


@pytest.mark.parametrize(
    ("written", "head"),
    [
        ('head = { name = "linear", features = ["u"] }', {"name": "linear", "dropout": 0.3, "features": ["u"]}),
        ("head = { dropout = 0.1 }", {"name": "linear", "dropout": 0.1}),
        ('head = { name = "cosine", scaling = "relu" }', {"name": "cosine", "scaling": "relu"}),
        ('head = "cosine"', "cosine"),
    ],
)
def test_settings_of_a_technique_are_kept_only_under_the_same_name(here: Path, written: str, head: Any) -> None:
    assert child(f"[tasks.sst]\n{written}\n").tasks["sst"].head == head


def test_recipes_extend_in_a_chain_the_last_one_winning(here: Path) -> None:
    write("a.toml", 'seed = 1\nabout = "a"\nbackbone = "a"\ntasks = ["sst"]')
    write("sub/b.toml", 'extends = "../a.toml"\nseed = 2\nabout = "b"')
    recipe = read('extends = "sub/b.toml"\nseed = 3')
    assert (recipe.seed, recipe.about, recipe.backbone) == (3, "b", "a")


def test_a_shipped_recipe_is_extended_by_its_name(here: Path) -> None:
    recipe = read_recipe(write("baseline.toml", 'extends = "baseline"\nseed = 9'))
    assert recipe.seed == 9 and recipe.tasks == read_recipe("baseline").tasks


def test_recipes_that_extend_each_other_are_refused(here: Path) -> None:
    write("y.toml", 'extends = "x.toml"')
    assert refusal('extends = "y.toml"') == "x.toml: extends itself through x.toml and y.toml."
    assert refusal('extends = "x.toml"') == "x.toml: extends itself through x.toml."


# ---- --set --------------------------------------------------------------------------------------------


def test_an_override_reaches_any_depth(here: Path) -> None:
    recipe = child(
        "",
        "seed=5",
        "stages.1.epochs=7",
        "stages.0.sampler=round_robin",
        "tasks.sts.batch_size = 4",
        "optimizer.learning_rate=3e-5",
        "selection.eval_rows=50",
        'overall={"sst.accuracy" = 1}',
    )
    assert recipe.seed == 5 and recipe.tasks["sts"].batch_size == 4
    assert recipe.stages == (Stage(sampler="round_robin"), Stage(epochs=7))
    assert recipe.optimizer.learning_rate == 3e-5 and recipe.optimizer.warmup_ratio == 0.2
    assert recipe.selection == Selection(eval_rows=50) and recipe.overall == {"sst.accuracy": 1.0}


def test_the_last_override_of_a_setting_wins(here: Path) -> None:
    assert read(SST, "seed=1", "seed=2").seed == 2


def test_what_is_no_toml_is_taken_as_a_string(here: Path) -> None:
    recipe = read(SST, "backbone=models/my bert", 'about="quoted"', "tasks.sst.pooling=cls")
    assert (recipe.backbone, recipe.about, recipe.tasks["sst"].pooling) == ("models/my bert", "quoted", "cls")


def test_an_override_may_hold_equals_signs(here: Path) -> None:
    assert read(SST, "about=a=b").about == "a=b"


def test_stages_that_are_chosen_for_the_data_cannot_be_overridden_in_part(here: Path) -> None:
    with pytest.raises(UserError, match=r"this recipe has no stages.*\n.*--set epochs=3"):
        read(SST, "stages.0.epochs=4")
    assert read(SST, "stages=[{epochs = 4}]").stages == (Stage(epochs=4),)
    assert read(SST, "epochs=4").epochs == 4
    with pytest.raises(UserError, match=r"The setting is 'stages\.0\.epochs'"):
        read(SST, "stages=[{epochs = 4}]", "epochs=2")


@pytest.mark.parametrize(
    "text",
    [
        '[tasks.sst]\nhead = "linear"',
        '[tasks.sst]\nhead = { name = "linear" }',
        '[defaults]\nhead = "linear"\n[tasks.sst]',
        "[tasks.sst]",
        'tasks = ["sst"]',
    ],
)
def test_a_setting_of_a_technique_can_be_overridden_however_it_was_named(here: Path, text: str) -> None:
    assert read(text, "tasks.sst.head.dropout=0.2").tasks["sst"].head == {"name": "linear", "dropout": 0.2}


def test_overriding_a_whole_technique_forgets_the_settings_of_the_old_one(here: Path) -> None:
    assert child("", "tasks.sst.head=cosine").tasks["sst"].head == "cosine"


def test_tasks_can_be_picked_added_and_left_out_by_overrides(here: Path) -> None:
    assert list(child("", "tasks=['sts', 'sst']").tasks) == ["sts", "sst"]
    assert child("", "tasks=['sst']").tasks["sst"].batch_size == 8
    assert list(child("", "tasks.sts=false").tasks) == ["sst", "quora"]
    assert list(child("", "tasks.cfimdb.batch_size=2").tasks) == ["sst", "sts", "quora", "cfimdb"]


def test_a_stage_can_be_left_out_by_an_override(here: Path) -> None:
    assert child("", "stages.0=false").stages == (Stage(epochs=2),)


def test_the_tasks_of_a_stage_are_a_list(here: Path) -> None:
    assert child("", "stages.0.tasks=['sst']").stages[0].tasks == ("sst",)


@pytest.mark.parametrize(
    ("override", "reason"),
    [
        ("epochs", "--set epochs: not of the form key=value.\nFor example: --set seed=1"),
        ("=3", "--set =3: not of the form key=value.\nFor example: --set seed=1"),
        (
            "stages..epochs=3",
            "--set stages..epochs=3: not of the form key=value.\nFor example: --set seed=1",
        ),
        ("stages.2.epochs=3", "--set stages.2.epochs=3: 'stages' has the places 0 to 1, not '2'."),
        ("stages.-1.epochs=3", "--set stages.-1.epochs=3: 'stages' has the places 0 to 1, not '-1'."),
        ("stages.first.epochs=3", "--set stages.first.epochs=3: 'stages' has the places 0 to 1, not 'first'."),
        ("seed.value=3", "--set seed.value=3: 'seed' is a value, not a table."),
        ("stages.0.epochs.x=3", "--set stages.0.epochs.x=3: 'stages.0.epochs' is a value, not a table."),
        ("sed=3", "x.toml: unknown setting 'sed' of the recipe. Did you mean 'seed'?"),
        (
            "optimizer.learnig_rate=1",
            "x.toml: unknown setting 'learnig_rate' of 'optimizer'. Did you mean 'learning_rate'?",
        ),
        ("stages.0.epochs=many", "x.toml: setting 'epochs' of stage 0 should be a whole number, not 'many'."),
        ("tasks.stss=false", "x.toml: there is no task 'stss' to leave out. Did you mean 'sts'?"),
    ],
)
def test_a_bad_override_says_what_is_wrong(here: Path, override: str, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        child("", override)
    assert str(caught.value) == reason


# ---- mistakes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SST + "[optimzer]", "unknown setting 'optimzer' of the recipe. Did you mean 'optimizer'?"),
        (SST + "[default]", "unknown setting 'default' of the recipe. Did you mean 'defaults'?"),
        ('extend = "baseline"', "unknown setting 'extend' of the recipe. Did you mean 'extends'?"),
        (SST + 'poolling = "cls"', "unknown setting 'poolling' of task 'sst'. Did you mean 'pooling'?"),
        (SST + '[defaults]\npoolling = "cls"', "unknown setting 'poolling' of 'defaults'. Did you mean 'pooling'?"),
        (SST + "[[stages]]\nepoch = 1", "unknown setting 'epoch' of stage 0. Did you mean 'epochs'?"),
        (SST + "[optimizer]\nalgoritm = 'sgd'", "unknown setting 'algoritm' of 'optimizer'. Did you mean 'algorithm'?"),
        (SST + "[selection]\neval_row = 1", "unknown setting 'eval_row' of 'selection'. Did you mean 'eval_rows'?"),
        ("seed = 'one'\n" + SST, "setting 'seed' of the recipe should be a whole number, not 'one'."),
        ("seed = -1\n" + SST, "the recipe: 'seed' is at least 0"),
        ("", "the recipe: names no tasks"),
        ("tasks = []", "the recipe: names no tasks"),
        ('["tasks"."a/b"]', "the recipe: 'a/b' cannot be the name of a task: use only letters, digits, - and _"),
        ("[tasks.name]", "the recipe: a task cannot be called 'name': in recipes, it is a setting. Call it 'name_'"),
        ("[tasks.all]", "the recipe: a task cannot be called 'all': `predict RUN all` means all tasks. Call it 'all_'"),
        ("tasks = { sst = 3 }", "'tasks.sst' should be a table."),
        (SST + "batch_size = 0", "task 'sst': 'batch_size' is at least 1"),
        (SST + "max_length = 2", "task 'sst': 'max_length' is at least 8 tokens"),
        (SST + "head = 3", "setting 'head' of task 'sst' should be a string or a table, not 3."),
        (SST + "[[stages]]\nepochs = 0", "stage 0: 'epochs' and 'steps_per_epoch' are at least 1"),
        (SST + "[[stages]]\nlearning_rate = 0", "stage 0: 'learning_rate' is above 0"),
        (
            SST + "[[stages]]\n[[stages]]\ntasks = ['sts']",
            "the recipe: stage 1 names the task 'sts'. Did you mean 'sst'?",
        ),
        (
            SST + "[[stages]]\ntrainable = 'head'",
            'stage 0: \'trainable\' is "all", "heads and adapters", "heads" or "top 2" (layers), not \'head\'',
        ),
        (SST + "[selection]\neval_rows = 0", "'selection': 'patience' and 'eval_rows' are at least 1"),
        (
            SST + "[overall]\n'sst.accuracy' = 'much'",
            "setting 'overall' of the recipe should be a table of numbers or tables, not {'sst.accuracy': 'much'}.",
        ),
        (
            SST + "[optimizer]\nlearning_rate = nan",
            "setting 'learning_rate' of 'optimizer' should be a number, not nan.",
        ),
        ("extends = 3", "'extends' names one recipe."),
    ],
)
def test_a_mistake_in_a_recipe_names_the_file_and_the_reason(here: Path, text: str, reason: str) -> None:
    assert refusal(text) == f"x.toml: {reason}"


def test_an_optimizer_that_cannot_learn_is_refused(here: Path) -> None:
    for line, rule in {
        "learning_rate = 0": "learning_rate > 0",
        "head_learning_rate = -1": "head_learning_rate > 0",
        "weight_decay = -1": "weight_decay >= 0",
        "layer_decay = 0": "0 < layer_decay <= 1",
        "warmup_ratio = 1": "0 <= warmup_ratio < 1",
        "max_grad_norm = -1": "max_grad_norm >= 0",
        "gradient_accumulation_steps = 0": "gradient_accumulation_steps >= 1",
    }.items():
        assert refusal(f"{SST}[optimizer]\n{line}") == f"x.toml: 'optimizer': needs {rule}"


@pytest.mark.parametrize(
    "text", ["tasks = 3", "tasks = [3]", "tasks = [{name = 'sst'}]", "tasks = ['sst']\ndefaults = 1"]
)
def test_tasks_of_a_wrong_form_are_answered_with_the_right_one(here: Path, text: str) -> None:
    assert refusal(text) == (
        "x.toml: 'tasks' and 'defaults' are tables.\n" + 'Write for example [tasks.sst] or tasks = ["sst"].'
    )


def test_stages_of_a_wrong_form_are_answered_with_the_right_one(here: Path) -> None:
    assert refusal(SST + "[stages]\nepochs = 1") == (
        "x.toml: 'stages' should be a list of tables.\nWrite [[stages]] before each."
    )


def test_a_recipe_that_is_no_toml_is_named_with_the_line(here: Path) -> None:
    assert refusal("seed = 1\ntasks = [\n").startswith("x.toml: not TOML: ")
    Path("x.toml").write_bytes(b"seed = \xff")
    with pytest.raises(UserError, match=r"^x\.toml: not TOML: "):
        read_recipe("x.toml")


def test_a_recipe_that_is_not_there_suggests_a_shipped_one(here: Path) -> None:
    with pytest.raises(UserError) as caught:
        read_recipe("baselin")
    assert caught.value.problem == "There is no recipe 'baselin'. Did you mean 'baseline'?"
    assert "minbert recipes" in caught.value.next_step
    assert refusal('extends = "nowhere.toml"').startswith("There is no recipe 'nowhere.toml'.")


def test_a_mistake_in_a_shipped_recipe_names_the_recipe() -> None:
    with pytest.raises(UserError, match=r"^recipe baseline: unknown setting 'sed' of the recipe"):
        read_recipe("baseline", ["sed=1"])


def test_a_task_that_does_not_exist_is_named_when_the_tasks_are_read(here: Path) -> None:
    with pytest.raises(UserError, match=r"There is no task 'qoura'\. Did you mean 'quora'\?"):
        read('tasks = ["qoura"]').read_tasks()
