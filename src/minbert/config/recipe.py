"""Recipe: how a model is trained. Each field is a setting of a recipe file, with its default."""

import re
from collections.abc import Iterable
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from typing import Any, Literal

import tomli_w

from minbert.config.overall_terms import OverallTerm
from minbert.config.renamed import renamed_technique
from minbert.config.schema import Spec, check_rules
from minbert.config.task import Task, read_task
from minbert.errors import did_you_mean

Precision = Literal["auto", "fp32", "bf16"]
# what no task may be called, and why
RESERVED_NAMES = {
    # the key that distinguishes techniques from other tables: see merge
    "name": "in recipes, it is a setting",
    "all": "`predict RUN all` means all tasks",
    "overall": "it is the score of all tasks together",
}


@dataclass(frozen=True, kw_only=True)
class SharedLayerPlan:
    """A linear layer with a ReLU, between the poolings and the heads of the tasks that write its name."""

    name: str
    dropout: float = 0.1
    # before or after the linear layer
    dropout_place: Literal["before", "after"] = "before"
    # "each": each vector of a pair goes through the layer; "concatenated": it makes one vector of the two
    vectors: Literal["each", "concatenated"] = "each"

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("'name' is not empty")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"'dropout' is at least 0 and below 1, not {self.dropout:g}")


@dataclass(frozen=True, kw_only=True)
class TaskPlan:
    """How one task is trained."""

    # a standard task, the path of a task file, or the settings of a task as a table; left out, the standard task of the
    # table's name
    task: str | dict[str, Any] = ""
    pairing: Spec = "cross_encoder"
    pooling: Spec = "mean"
    head: Spec = "linear"
    # how a linear head starts. prior: from the label frequencies or the mean score; cosine: fitted on the cosine of a
    # pair's vectors, if it is one of the features; linear_probe: fitted on all features of the frozen encoder's
    # vectors; scaled_probe: the same with smaller outputs
    head_init: Literal["random", "prior", "cosine", "linear_probe", "scaled_probe"] = "random"
    # left out: cross_entropy for classify, mse for score
    loss: Spec | None = None
    # small modules of this task inside the shared encoder
    adapters: tuple[Spec, ...] = ()
    # terms added to its loss, or changes to its weights, in training
    regularizers: tuple[Spec, ...] = ()
    # pairs are read in both orders, and the outputs averaged
    symmetric: bool = False
    # a layer before the head, or only its name; tasks that write the same name share it
    shared_layer: str | SharedLayerPlan | None = None
    batch_size: int = 32
    # left out: the task's own
    max_length: int | None = None

    def __post_init__(self) -> None:
        check_sizes([self.batch_size], [] if self.max_length is None else [self.max_length])

    @property
    def shared(self) -> SharedLayerPlan | None:
        """The shared layer with its settings, if there is one."""
        given = self.shared_layer
        return SharedLayerPlan(name=given) if given and isinstance(given, str) else given or None


def check_sizes(batch_sizes: Iterable[int], max_lengths: Iterable[int]) -> None:
    if any(size < 1 for size in batch_sizes):
        raise ValueError("'batch_size' is at least 1")
    if any(length < 8 for length in max_lengths):
        raise ValueError("'max_length' is at least 8 tokens")


@dataclass(frozen=True, kw_only=True)
class Distillation:
    """Learning from the predictions of trained models."""

    # runs; each task is taught by those that have it
    teachers: tuple[str, ...]
    # above 1: the teachers' less probable labels count more
    temperature: float = 2.0
    # the weight of the teachers' predictions against the labels, at the first and the last step of the stage
    start: float = 1.0
    end: float = 0.0

    def __post_init__(self) -> None:
        if not self.teachers or self.temperature <= 0 or not all(0 <= w <= 1 for w in (self.start, self.end)):
            raise ValueError("needs a teacher, a temperature above 0, and 'start' and 'end' from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of the training: which parameters are trained, on which tasks, and how."""

    # left out: all tasks
    tasks: tuple[str, ...] = ()
    # "all"; "heads and adapters": the tasks' own parameters, with the encoder frozen; "heads": the same without the
    # adapters; "top 2": the tasks' own parameters and the two highest layers of the encoder
    trainable: str = "all"
    # whether an encoder that is frozen as a whole keeps its dropout; without it, its vectors are always the same
    frozen_dropout: bool = False
    epochs: int = 1
    # left out: as many as it takes to see as many examples as all its tasks have
    steps_per_epoch: int | None = None
    # which tasks a step trains: by size, in turn, all at once, ...
    sampler: Spec = "proportional"
    # at most this many rows of a task per epoch, sampled again in each; "smallest": as many as the smallest task has;
    # "second_largest": as many as the second largest has, so that only the largest is cut
    max_rows_per_task: int | Literal["smallest", "second_largest"] | None = None
    # by task; left out: the task's own
    batch_sizes: dict[str, int] = field(default_factory=dict)
    max_lengths: dict[str, int] = field(default_factory=dict)
    # left out: only the labels are learned
    distillation: Distillation | None = None
    # left out: the optimizer's
    learning_rate: float | None = None
    # left out: the stage's learning rate if it has one, else the optimizer's
    head_learning_rate: float | None = None

    def rates(self, optimizer: "Optimizer") -> tuple[float, float]:
        """The learning rates of the encoder and of the tasks' own parameters."""
        rate = self.learning_rate or optimizer.learning_rate
        return rate, self.head_learning_rate or self.learning_rate or optimizer.head_learning_rate or rate

    def __post_init__(self) -> None:
        if self.epochs < 1 or (self.steps_per_epoch is not None and self.steps_per_epoch < 1):
            raise ValueError("'epochs' and 'steps_per_epoch' are at least 1")
        if isinstance(self.max_rows_per_task, int) and self.max_rows_per_task < 1:
            raise ValueError("'max_rows_per_task' is at least 1")
        check_sizes(self.batch_sizes.values(), self.max_lengths.values())
        if self.learning_rate is not None and self.learning_rate <= 0:
            raise ValueError("'learning_rate' is above 0")
        if not re.fullmatch(r"all|heads|heads and adapters|top [1-9]\d*", self.trainable):
            known = '\'trainable\' is "all", "heads and adapters", "heads" or "top 2" (layers)'
            raise ValueError(renamed_technique("trainable", self.trainable) or f"{known}, not {self.trainable!r}")


@dataclass(frozen=True, kw_only=True)
class Optimizer:
    algorithm: Spec = "adamw"
    learning_rate: float = 5e-5
    # of the tasks' own parameters; left out: the same
    head_learning_rate: float | None = None
    weight_decay: float = 0.01
    # the learning rate of a layer is that of the layer above times this
    layer_decay: float = 1.0
    schedule: Spec = "linear"
    # the fraction of all steps in which the learning rate rises
    warmup_ratio: float = 0.1
    # the largest norm of a gradient; 0: any
    max_grad_norm: float = 1.0
    gradient_accumulation_steps: int = 1

    def __post_init__(self) -> None:
        check_rules(
            {
                "learning_rate > 0": self.learning_rate > 0,
                "head_learning_rate > 0": self.head_learning_rate is None or self.head_learning_rate > 0,
                "weight_decay >= 0": self.weight_decay >= 0,
                "0 < layer_decay <= 1": 0 < self.layer_decay <= 1,
                "0 <= warmup_ratio < 1": 0 <= self.warmup_ratio < 1,
                "max_grad_norm >= 0": self.max_grad_norm >= 0,
                "gradient_accumulation_steps >= 1": self.gradient_accumulation_steps >= 1,
            }
        )


@dataclass(frozen=True, kw_only=True)
class Selection:
    """When models are measured in training, and which one is kept."""

    # "best": the model with the best overall score on the rows that choose; "last": that of the last epoch
    keep: Literal["best", "last"] = "best"
    # end the run after this many evaluations in a row without a better one
    patience: int | None = None
    # this fraction of the training rows of each task is held out: it chooses the model instead of the dev rows, which
    # only measure it at the end; left out, or 0: dev rows choose
    validation_fraction: float | None = None
    # how many of the rows that choose are measured in training, per task; left out: all
    eval_rows: int | None = None
    # whether the untrained backbone with fitted linear heads competes with the trained models
    untrained: bool = False
    # training rows of each task for the cosines between the tasks' gradients, at each evaluation; left out, or 0: none
    gradient_cosine_rows: int | None = None

    def __post_init__(self) -> None:
        if self.gradient_cosine_rows is not None and self.gradient_cosine_rows < 0:
            raise ValueError("'gradient_cosine_rows' is a number of rows, at least 0")
        if not 0 <= (self.validation_fraction or 0.0) < 1:
            raise ValueError("'validation_fraction' is a fraction of the training rows, at least 0 and below 1")
        if (self.patience is not None and self.patience < 1) or (self.eval_rows is not None and self.eval_rows < 1):
            raise ValueError("'patience' and 'eval_rows' are at least 1")

    @property
    def chosen_on(self) -> str:
        """The rows that choose the model: "dev" or "validation"."""
        return "validation" if self.validation_fraction else "dev"


@dataclass(frozen=True)
class Recipe:
    # its file, for error messages
    where: str = field(compare=False)
    _: KW_ONLY
    about: str = ""
    # where it departs from the source that it follows, or fills in what the source leaves open: topic -> sentence
    deviations: dict[str, str] = field(default_factory=dict)
    backbone: str = "minilm"
    seed: int = 0
    tasks: dict[str, TaskPlan]
    # left out: settings that fit the data are chosen when it is read (training/auto.py)
    stages: tuple[Stage, ...] = ()
    # without stages: passes over the rows of each task; left out: the fewer rows, the more passes
    epochs: float | None = None
    # how much of each epoch is trained: 0.1 is a tenth of its steps, and of the steps of each task in it; 2 is twice as
    # much
    epoch_fraction: float = 1.0
    balancer: Spec = "sum"
    # the mean of the weights over steps, which is measured and saved; left out: the weights as they are
    weight_averaging: Spec | None = None
    # of the encoder's computations; weights stay fp32. auto: bf16 where this machine multiplies it fast
    precision: Precision = "auto"
    optimizer: Optimizer = field(default_factory=Optimizer)
    selection: Selection = field(default_factory=Selection)
    # "task.metric" = weight: the score that ranks models; left out: the mean of the main metrics of all tasks measured
    overall: dict[str, float | OverallTerm] = field(default_factory=dict)
    # as it was written, with everything that it extends
    table: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ValueError("'seed' is at least 0")
        if self.epoch_fraction <= 0:
            raise ValueError("'epoch_fraction' is above 0")
        if self.epochs is not None and self.epochs <= 0:
            raise ValueError("'epochs' is above 0")
        if not self.tasks:
            raise ValueError("names no tasks")
        for measure, term in self.overall.items():
            if not isinstance(term, OverallTerm) and term <= 0:
                raise ValueError(f"the weight of '{measure}' in [overall] should be above 0, not {term:g}")
        for name in self.tasks:
            if name in RESERVED_NAMES:
                raise ValueError(f"a task cannot be called '{name}': {RESERVED_NAMES[name]}. Call it '{name}_'")
            if not name.replace("_", "").replace("-", "").isalnum():
                raise ValueError(f"'{name}' cannot be the name of a task: use only letters, digits, - and _")
        for i, stage in enumerate(self.stages):
            for name in (*stage.tasks, *stage.batch_sizes, *stage.max_lengths):
                if name not in self.tasks:
                    raise ValueError(f"stage {i} names the task '{name}'. {did_you_mean(name, self.tasks)}")

    def read_tasks(self) -> dict[str, Task]:
        return {name: read_task(name, plan.task, where=self.where) for name, plan in self.tasks.items()}

    def as_table(self) -> dict[str, Any]:
        """The recipe as a table for TOML, with every default."""
        table: dict[str, Any] = _plain(asdict(replace(self, table={})))
        del table["where"]
        return table

    def as_toml(self) -> str:
        return tomli_w.dumps(self.as_table())


def _plain(value: Any) -> Any:
    """Without None and tuples, which TOML does not have, and without empty values."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if v not in (None, "", (), {})}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
