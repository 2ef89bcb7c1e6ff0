"""recipes/x.toml -> Recipe. A recipe may extend another, and settings may be overridden."""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from minbert.config.other_names import first_stage_path, setting_path
from minbert.config.overall_terms import flatten_overall
from minbert.config.overrides import apply_override, extend_recipe, merge, tasks_as_table
from minbert.config.recipe import Recipe, Stage, TaskPlan
from minbert.config.schema import check_known, fill_settings, settings_of
from minbert.config.task import Task, is_task_table
from minbert.errors import UserError, closest, did_you_mean, short_path

SHIPPED = Path(__file__).parent / "recipes"
DATA_SUFFIXES = {".csv", ".tsv", ".txt", ".jsonl", ".json", ".ndjson", ".parquet", ".pq", ".xlsx", ".gz"}
# files that hold rows, but not in a way that can be read
UNREADABLE_SUFFIXES = {
    *(".docx", ".doc", ".pdf", ".xls", ".ods", ".odt", ".rtf", ".pkl", ".pickle", ".arrow", ".feather", ".db"),
    *(".sqlite", ".html", ".xml", ".yaml", ".yml", ".md", ".zip", ".h5", ".npy"),
}
# of a directory, in a message
MOST_FILES = 5


def read_recipe(spec: str, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe in a file, or a shipped one by its name, with `key.path=value` overrides."""
    table, path = read_recipe_table(spec)
    for override in overrides:
        apply_override(table, override)
    return recipe_from(table, recipe_name(path))


def recipe_from_files(
    tasks: Mapping[str, Any], where: str, recipe: str | None = None, overrides: Sequence[str] = ()
) -> Recipe:
    """A recipe for tasks that were found in data files, with the settings of another one if it is named."""
    table: dict[str, Any] = {"tasks": tasks}
    if recipe is not None:
        base, path = read_recipe_table(recipe)
        table = {**extend_recipe(base, {"tasks": []}), "tasks": tasks}
        where = f"{where} with {recipe_name(path)}"
    for override in overrides:
        apply_override(table, override)
    return recipe_from(table, where)


def recipe_from(table: Mapping[str, Any], where: str) -> Recipe:
    """A recipe from a table as TOML gives it."""
    # with stages, each of them has its own epochs
    left_out = {"table", "epochs"} if table.get("stages") else {"table"}
    known = [*(name for name in settings_of(Recipe) if name not in left_out), "defaults", "extends"]
    check_settings_of_task(table, known, where)
    check_known(table, known, where, "the recipe", first_stage_path(table.get("stages")))
    settings = {name: value for name, value in table.items() if name != "defaults"}
    # a recipe that extends another removes a deviation by leaving its sentence empty
    if isinstance(table.get("deviations"), dict):
        settings["deviations"] = {topic: text for topic, text in table["deviations"].items() if text}
    settings["tasks"] = read_plans(table.get("tasks", {}), table.get("defaults", {}), where)
    settings["table"] = dict(table)
    stages = unroll_stages(table.get("stages", []), where)
    settings["stages"] = [fill_settings(Stage, stage, where, f"stage {i}") for i, stage in enumerate(stages)]
    return fill_settings(Recipe, settings, where, "the recipe", where)


def read_plans(tasks: Any, defaults: Any, where: str) -> dict[str, TaskPlan]:
    """How each task is learned: its own settings on top of the defaults."""
    tasks = tasks_as_table(tasks)
    if not isinstance(tasks, dict) or not isinstance(defaults, dict):
        raise UserError(
            f"{where}: 'tasks' and 'defaults' are tables.",
            'Write for example [tasks.sst] or tasks = ["sst"].',
        )
    fill_settings(TaskPlan, defaults, where, "'defaults'")
    plans = {}
    for name, plan in tasks.items():
        if plan is False:
            others = [other for other, kept in tasks.items() if kept is not False]
            raise UserError(f"{where}: there is no task '{name}' to leave out. {did_you_mean(name, others)}")
        if not isinstance(plan, dict):
            raise UserError(f"{where}: 'tasks.{name}' should be a table.")
        if is_task_table(plan):
            raise UserError(
                f"{where}: [tasks.{name}] says how a task is trained; what it learns is a table of its own.",
                f"Write 'kind', 'text', 'label' and 'files' below [tasks.{name}.task], or in a task file.",
            )
        check_settings_of_training(name, plan, where)
        plans[name] = fill_settings(TaskPlan, merge(defaults, plan), where, f"task '{name}'")
    return plans


def check_settings_of_task(table: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """A recipe has no settings of one task, such as dev_split."""
    tasks = tasks_as_table(table.get("tasks", {}))
    first = next(iter(tasks), "TASK") if isinstance(tasks, dict) else "TASK"
    for setting in table:
        if setting not in known and setting in settings_of(Task) and not setting_path(setting):
            raise UserError(
                f"{where}: '{setting}' is a setting of a task, not of the recipe.",
                f"Write it below [tasks.{first}.task] or in the task file, or --set tasks.{first}.task.{setting}=...",
            )


def check_settings_of_training(name: str, plan: Mapping[str, Any], where: str) -> None:
    """[tasks.x] has no settings of the task itself, such as its metric."""
    for setting in plan:
        if setting in settings_of(Task) and setting not in settings_of(TaskPlan):
            raise UserError(
                f"{where}: '{setting}' belongs to the task '{name}' itself, not to how it is trained.",
                f"Write it below [tasks.{name}.task] or in the task file, or use --set tasks.{name}.task.{setting}=...",
            )


def unroll_stages(stages: Any, where: str) -> list[dict[str, Any]]:
    """The stages one after another: {repeat = 10, each = [{...}, {...}]} is short for twenty of them."""
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise UserError(f"{where}: 'stages' should be a list of tables.", "Write [[stages]] before each.")
    flat = []
    for i, stage in enumerate(stages):
        if not {"repeat", "each"} & set(stage):
            flat.append(stage)
            continue
        times = stage.get("repeat")
        more = [name for name in stage if name not in ("repeat", "each")]
        if more:
            raise UserError(
                f"{where}: '{more[0]}' is not a setting of a group of stages, but of each stage in it.",
                f"Write it in [[stages.each]]; with --set, stages.{i}.each.0.{more[0]} for the first of them.",
            )
        if "each" not in stage or not isinstance(times, int) or isinstance(times, bool) or times < 1:
            raise UserError(
                f"{where}: a group of stages has 'repeat', a whole number of at least 1, and 'each', the stages.",
                "Write [[stages]] with repeat = 10, and below it [[stages.each]] before each of its stages.",
            )
        flat += times * unroll_stages(stage["each"], where)
    return flat


def read_recipe_table(spec: str, seen: tuple[Path, ...] = ()) -> tuple[dict[str, Any], Path]:
    """A recipe's table with everything it extends, and its file."""
    path = find_recipe(spec, seen[-1].parent if seen else None)
    if path.suffix.lower() in DATA_SUFFIXES:
        raise UserError(
            f"{recipe_name(path)}: a data file, not a recipe.",
            f"Train on it:  minbert train {spec} --out RUN\nWrite a recipe for it:  minbert init {spec} --out DIR",
        )
    if path in seen:
        raise UserError(f"{recipe_name(path)}: extends itself through {' and '.join(recipe_name(p) for p in seen)}.")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise UserError(f"{recipe_name(path)}: not TOML: {wrong}") from None
    check_is_recipe(table, path)
    anchor_tasks(table, path.parent)
    if "overall" in table:
        table["overall"] = flatten_overall(table["overall"])
    parent = table.pop("extends", None)
    if parent is not None:
        if not isinstance(parent, str):
            raise UserError(f"{recipe_name(path)}: 'extends' names one recipe.")
        base, _ = read_recipe_table(parent, (*seen, path))
        table = extend_recipe(base, table)
    return table, path


def find_recipe(spec: str, beside: Path | None = None) -> Path:
    for path in ([beside / spec] if beside else []) + [Path(spec), SHIPPED / f"{spec}.toml"]:
        if path.is_file():
            return path.resolve()
    # papers/e-adaptation/hybrid by its last part
    named = [name for name in shipped_recipes() if name.rpartition("/")[2] == spec]
    if len(named) == 1:
        return (SHIPPED / f"{named[0]}.toml").resolve()
    if named:
        raise UserError(f"There are several recipes '{spec}'.", f"Choose one of: {', '.join(named)}.")
    if Path(spec).is_dir():
        raise directory_error(Path(spec))
    close = closest(spec, shipped_recipes())
    if Path(spec).suffix.lower() in UNREADABLE_SUFFIXES:
        raise UserError(
            f"{spec}: neither a recipe nor a data file that can be read.",
            f"Save it as one of these: {', '.join(sorted(DATA_SUFFIXES))}.",
        )
    raise UserError(
        f"There is no recipe '{spec}'." + (f" Did you mean '{close}'?" if close else ""),
        "Name a file that ends in .toml, or one of the recipes that `minbert recipes` lists.",
    )


def directory_error(path: Path) -> UserError:
    """A directory where a file was expected: what in it may be meant."""
    inside = path / "recipe.toml"
    if inside.is_file():
        what = "a run" if (path / "run.json").is_file() else "a directory"
        return UserError(f"{path} is {what}, not a recipe or a data file.", f"Did you mean {inside}?")
    files = sorted(each.name for each in path.iterdir() if each.suffix.lower() in {*DATA_SUFFIXES, ".toml"})
    more = f" and {len(files) - MOST_FILES} more" if len(files) > MOST_FILES else ""
    found = f"It has {', '.join(files[:MOST_FILES])}{more}." if files else "It has no data file and no recipe."
    return UserError(f"{path} is a directory.", f"Name a file in it. {found}")


def shipped_recipes() -> list[str]:
    return sorted(p.relative_to(SHIPPED).with_suffix("").as_posix() for p in SHIPPED.rglob("*.toml"))


def recipe_name(path: Path) -> str:
    """A recipe as an error message should name it."""
    if path.is_relative_to(SHIPPED):
        return f"recipe {path.relative_to(SHIPPED).with_suffix('').as_posix()}"
    return short_path(path)


def check_is_recipe(table: Mapping[str, Any], path: Path) -> None:
    if is_task_table(table) and not {"tasks", "extends"} & set(table):
        raise UserError(
            f"{recipe_name(path)}: is a task file, not a recipe: it says what to learn, and a recipe names the tasks.",
            f'Write a recipe with [tasks.{path.stem}] and below it task = "{path.name}".',
        )


def anchor_tasks(table: dict[str, Any], folder: Path) -> None:
    """Make paths relative to the recipe that names them, not to one that extends it: task files, and data files of
    tasks that are written in the recipe."""
    tasks = table.get("tasks")
    for plan in tasks.values() if isinstance(tasks, dict) else ():
        task = plan.get("task") if isinstance(plan, dict) else None
        if isinstance(task, str):
            plan["task"] = anchored(task, folder) if task.endswith(".toml") else task
        elif isinstance(task, dict) and isinstance(task.get("files"), dict):
            task["files"] = {split: anchored(file, folder) for split, file in task["files"].items()}


def anchored(path: Any, folder: Path) -> Any:
    """The path of a file beside the recipe; others are looked for below the data root."""
    return str(folder / path) if isinstance(path, str) and (folder / path).is_file() else path
