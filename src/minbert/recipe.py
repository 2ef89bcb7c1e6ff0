"""recipes/x.toml -> Recipe: how to learn. A recipe may extend another, and settings may be overridden."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import tomli_w

from minbert.errors import UserError, did_you_mean, shown
from minbert.overlay import apply_override, by_name, lay_over, merge
from minbert.task import Task, read_task
from minbert.variants import Spec, fill, settings_of

SHIPPED = Path(__file__).parent / "recipes"


Precision = Literal["auto", "fp32", "bf16"]


@dataclass(frozen=True, kw_only=True)
class TaskPlan:
    """How one task is learned."""

    # a standard task or the path of a task file; left out, the standard task of the table's name
    task: str = ""
    pairing: Spec = "joined"
    pooling: Spec = "mean"
    head: Spec = "linear"
    # left out: cross_entropy for classify, mse for score
    loss: Spec | None = None
    # the task's own small parts inside the shared encoder
    adapters: tuple[Spec, ...] = ()
    # pairs in both orders, the outputs averaged
    symmetric: bool = False
    # the name of a layer before the head; tasks that write the same name share it
    shared: str | None = None
    batch_size: int = 32
    # left out: the task's own
    max_length: int | None = None

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError("'batch_size' is at least 1")
        if self.max_length is not None and self.max_length < 8:
            raise ValueError("'max_length' is at least 8 tokens")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of the training: what is trained, on what, in which way."""

    # left out: all tasks
    tasks: tuple[str, ...] = ()
    # "all"; "parts": what the tasks have of their own; "heads": the same without adapters; "top 2": parts and layers
    free: str = "all"
    epochs: int = 1
    # left out: as many steps as it takes to see as many examples as all its tasks have
    steps_per_epoch: int | None = None
    sampler: Spec = "proportional"
    # left out: the optimiser's
    learning_rate: float | None = None
    # left out: the stage's learning rate if it has one, else the optimiser's
    head_learning_rate: float | None = None

    def rates(self, optimiser: "Optimiser") -> tuple[float, float]:
        """The learning rates of the encoder and of the tasks' own parts."""
        rate = self.learning_rate or optimiser.learning_rate
        return rate, self.head_learning_rate or self.learning_rate or optimiser.head_learning_rate or rate

    def __post_init__(self) -> None:
        if self.epochs < 1 or (self.steps_per_epoch is not None and self.steps_per_epoch < 1):
            raise ValueError("'epochs' and 'steps_per_epoch' are at least 1")
        if self.learning_rate is not None and self.learning_rate <= 0:
            raise ValueError("'learning_rate' is above 0")
        if not re.fullmatch(r"all|parts|heads|top [1-9]\d*", self.free):
            raise ValueError(f'\'free\' is "all", "parts", "heads" or "top 2" (layers), not {self.free!r}')


@dataclass(frozen=True, kw_only=True)
class Optimiser:
    learning_rate: float = 5e-5
    # left out: the same for the tasks' own parts
    head_learning_rate: float | None = None
    weight_decay: float = 0.01
    # each layer below the top learns this much slower than the one above it
    layer_decay: float = 1.0
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    # the share of all steps in which the learning rate rises
    warmup: float = 0.1
    # the largest norm of a gradient; 0: any
    clip: float = 1.0
    accumulate: int = 1
    betas: tuple[float, ...] = (0.9, 0.999)
    epsilon: float = 1e-8
    # "torch": its fused AdamW, the faster one; "minbert": ours
    implementation: Literal["torch", "minbert"] = "torch"

    def __post_init__(self) -> None:
        wrong = [
            rule
            for rule, kept in {
                "learning_rate > 0": self.learning_rate > 0,
                "head_learning_rate > 0": self.head_learning_rate is None or self.head_learning_rate > 0,
                "weight_decay >= 0": self.weight_decay >= 0,
                "0 < layer_decay <= 1": 0 < self.layer_decay <= 1,
                "0 <= warmup < 1": 0 <= self.warmup < 1,
                "clip >= 0": self.clip >= 0,
                "accumulate >= 1": self.accumulate >= 1,
                "two betas, 0 <= beta < 1": len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas),
                "epsilon > 0": self.epsilon > 0,
            }.items()
            if not kept
        ]
        if wrong:
            raise ValueError(f"needs {'; '.join(wrong)}")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which of the models seen in training is kept."""

    # "task.metric" = weight; left out: the overall score
    mix: dict[str, float] = field(default_factory=dict)
    # end the run after this many evaluations in a row without a better one
    patience: int | None = None
    # how many dev rows of a task are scored while training; left out: all
    rows: int | None = None

    def __post_init__(self) -> None:
        if (self.patience is not None and self.patience < 1) or (self.rows is not None and self.rows < 1):
            raise ValueError("'patience' and 'rows' are at least 1")


@dataclass(frozen=True)
class Recipe:
    # where it was written, for error messages
    where: str = field(compare=False)
    _: KW_ONLY
    about: str = ""
    backbone: str = "minilm"
    seed: int = 0
    tasks: dict[str, TaskPlan]
    stages: tuple[Stage, ...] = (Stage(),)
    balancer: Spec = "sum"
    # what the encoder computes in; the weights stay fp32. auto: bf16 where the machine multiplies it fast
    precision: Precision = "auto"
    optimiser: Optimiser = field(default_factory=Optimiser)
    selection: Selection = field(default_factory=Selection)

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError("'seed' is at least 0")
        if not self.tasks:
            raise ValueError("names no tasks")
        if not self.stages:
            raise ValueError("has no stages")
        for name in self.tasks:
            # "name" is the key that tells techniques from other tables: see merge
            if name == "name" or not name.replace("_", "").replace("-", "").isalnum():
                raise ValueError(f"'{name}' is no task name: letters, digits, - and _ only, and not 'name'")
        for i, stage in enumerate(self.stages):
            for name in stage.tasks:
                if name not in self.tasks:
                    raise ValueError(f"stage {i} names the task '{name}'. {did_you_mean(name, self.tasks)}")

    def read_tasks(self) -> dict[str, Task]:
        return {name: read_task(name, plan.task) for name, plan in self.tasks.items()}

    def as_table(self) -> dict[str, Any]:
        """The recipe as TOML can hold it, every default written out."""
        table: dict[str, Any] = _plain(asdict(self))
        del table["where"]
        return table

    def as_toml(self) -> str:
        return tomli_w.dumps(self.as_table())


def _plain(value: Any) -> Any:
    """Without what TOML cannot say (None, tuples) and what says nothing (empty values)."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if v not in (None, "", (), {})}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


# ---- reading ------------------------------------------------------------------------------------------


def read_recipe(spec: str, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe in a file or of a shipped name, with `key.path=value` overrides."""
    table, path = read_table(spec)
    for override in overrides:
        apply_override(table, override)
    return recipe_from(table, named(path))


def recipe_from(table: Mapping[str, Any], where: str) -> Recipe:
    table = dict(table)
    for name in table:
        known = [*settings_of(Recipe), "defaults", "extends"]
        if name not in known:
            raise UserError(f"{where}: unknown setting '{name}' of the recipe. {did_you_mean(name, known)}")
    defaults = table.pop("defaults", {})
    tasks = by_name(table.get("tasks", {}))
    if not isinstance(tasks, dict) or not isinstance(defaults, dict):
        raise UserError(
            f"{where}: 'tasks' and 'defaults' are tables.",
            'Write for example [tasks.sst] or tasks = ["sst"].',
        )
    fill(TaskPlan, defaults, where, "'defaults'")
    plans = {}
    for name, plan in tasks.items():
        if plan is False:
            left = did_you_mean(name, [other for other, kept in tasks.items() if kept is not False])
            raise UserError(f"{where}: there is no task '{name}' to leave out. {left}")
        if not isinstance(plan, dict):
            raise UserError(f"{where}: 'tasks.{name}' should be a table.")
        plans[name] = fill(TaskPlan, merge(defaults, plan), where, f"task '{name}'")
    stages = table.get("stages", [{}])
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        raise UserError(f"{where}: 'stages' should be a list of tables.", "Write [[stages]] before each.")
    table["stages"] = [fill(Stage, stage, where, f"stage {i}") for i, stage in enumerate(stages)]
    table["tasks"] = plans
    return fill(Recipe, table, where, "the recipe", where)


def read_table(spec: str, seen: tuple[Path, ...] = ()) -> tuple[dict[str, Any], Path]:
    """A recipe's table with everything it extends, and the file it stands in."""
    path = find_recipe(spec, seen[-1].parent if seen else None)
    if path in seen:
        raise UserError(f"{named(path)}: extends itself by way of {' and '.join(named(p) for p in seen)}.")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise UserError(f"{named(path)}: not TOML: {wrong}") from None
    anchor_tasks(table, path.parent)
    parent = table.pop("extends", None)
    if parent is not None:
        if not isinstance(parent, str):
            raise UserError(f"{named(path)}: 'extends' names one recipe.")
        below, _ = read_table(parent, (*seen, path))
        table = lay_over(below, table)
    return table, path


def find_recipe(spec: str, beside: Path | None = None) -> Path:
    for path in ([beside / spec] if beside else []) + [Path(spec), SHIPPED / f"{spec}.toml"]:
        if path.is_file():
            return path.resolve()
    raise UserError(
        f"There is no recipe '{spec}'. {did_you_mean(spec, shipped_recipes())}",
        "Name a file that ends in .toml, or one of those that `minbert recipes` lists.",
    )


def shipped_recipes() -> list[str]:
    return sorted(p.relative_to(SHIPPED).with_suffix("").as_posix() for p in SHIPPED.rglob("*.toml"))


def named(path: Path) -> str:
    """A recipe as an error message should name it."""
    if path.is_relative_to(SHIPPED):
        return f"recipe {path.relative_to(SHIPPED).with_suffix('').as_posix()}"
    return shown(path)


def anchor_tasks(table: dict[str, Any], folder: Path) -> None:
    """Task files are named relative to the recipe that names them, whoever extends it."""
    tasks = table.get("tasks")
    for plan in tasks.values() if isinstance(tasks, dict) else ():
        if isinstance(plan, dict) and isinstance(plan.get("task"), str):
            path = folder / plan["task"]
            if path.suffix == ".toml" and path.is_file():
                plan["task"] = str(path)
