"""recipe -> everything that training needs: data read, model built, settings checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minbert.config.overall_terms import check_overall
from minbert.config.recipe import Recipe
from minbert.config.schema import build_technique
from minbert.config.task import Task
from minbert.data.batch import EncodedTexts
from minbert.data.dataset import Dataset
from minbert.data.dev_split import without_held_out
from minbert.data.labels import balanced_weights
from minbert.data.rejects import read_all
from minbert.data.source import DEFAULT_SOURCE, DataSource
from minbert.data.tokenizer import Tokenizer
from minbert.data.validation_split import split_off_validation
from minbert.encoder.bert import Bert, BertConfig
from minbert.encoder.dropout import DropoutGenerator
from minbert.encoder.hub import find_backbone
from minbert.encoder.init import empty_weights, seeded_init
from minbert.encoder.pretrained import load_backbone, load_tokenizer, read_config
from minbert.errors import UserError
from minbert.inference.loop import encode_for_task
from minbert.model.multitask import Model, count_parameters
from minbert.model.resolve import is_scored
from minbert.training.auto import choose_settings
from minbert.training.auto_length import with_chosen_lengths
from minbert.training.balancers import BALANCERS
from minbert.training.balancers.base import Balancer
from minbert.training.distillation import Teachers
from minbert.training.loop import TrainingSetup
from minbert.training.optim import make_optimizer
from minbert.training.regularizers import REGULARIZERS, Regularizer
from minbert.training.schedules import SCHEDULES, Schedule
from minbert.training.stages import DataLoader, plan_stages
from minbert.training.weight_averages import AVERAGES, Average


@dataclass(frozen=True)
class Split:
    """The training rows of one task, or its validation, dev or test rows."""

    dataset: Dataset
    encoded: EncodedTexts


@dataclass(frozen=True)
class Prepared:
    recipe: Recipe
    backbone: Path
    tasks: dict[str, Task]
    model: Model
    tokenizer: Tokenizer
    train: dict[str, Split]
    dev: dict[str, Split]
    setup: TrainingSetup
    # of the tasks that make predictions and have a labeled test file
    test: dict[str, Split] = field(default_factory=dict)
    # training rows that are held out to choose the model; empty: dev rows choose
    validation: dict[str, Split] = field(default_factory=dict)

    @property
    def choosing(self) -> dict[str, Split]:
        """The rows that choose the model."""
        return self.dev | self.validation


@dataclass(frozen=True)
class LabeledRows:
    """The tasks of a recipe, with labels and class weights from the data, and their rows."""

    tasks: dict[str, Task]
    train: dict[str, Dataset]
    dev: dict[str, Dataset]
    # of the tasks that are scored, if the recipe holds any out
    validation: dict[str, Dataset]


def prepare(recipe: Recipe, source: DataSource = DEFAULT_SOURCE) -> Prepared:
    """All errors of the user are found here, before the first step."""
    backbone = find_backbone(recipe.backbone)
    outline(recipe, recipe.read_tasks(), read_config(backbone)[0])
    data = read_data(recipe, source)
    tasks, test_rows = data.tasks, read_test_files(data.tasks, source)
    sizes = {name: len(rows) for name, rows in data.train.items()}
    given, config = recipe, read_config(backbone)[0]
    recipe = choose_settings(given, tasks, config, sizes)
    if not given.stages:
        most = config.max_position_embeddings
        tasks = with_chosen_lengths(recipe, tasks, data.train, load_tokenizer(backbone), most)
    model, tokenizer = build_model(recipe, tasks, backbone)
    model.to_device(recipe.precision)

    def encode(rows: dict[str, Dataset]) -> dict[str, Split]:
        return {name: Split(each, encode_for_task(model, name, tokenizer, each.texts)) for name, each in rows.items()}

    train, dev, validation = encode(data.train), encode(data.dev), encode(data.validation)
    test = encode({name: rows for name, rows in test_rows.items() if model.task(name).loss.predicts})
    setup = make_setup(recipe, model, tokenizer, train)
    return Prepared(recipe, backbone, tasks, model, tokenizer, train, dev, setup, test, validation)


def make_setup(recipe: Recipe, model: Model, tokenizer: Tokenizer, train: Mapping[str, Split]) -> TrainingSetup:
    """The stages, and everything that takes part in them."""
    lengths = {name: model.task(name).max_length for name in train}
    plans = plan_stages(recipe, {name: len(split.dataset) for name, split in train.items()}, lengths)
    loaders = {}
    for name, split in train.items():
        shorter = {plan.max_lengths[name] for plan in plans if name in plan.max_lengths} - {lengths[name]}
        encoded = {length: encode_for_task(model, name, tokenizer, split.dataset.texts, length) for length in shorter}
        encoded[lengths[name]] = split.encoded
        assert split.dataset.labels is not None
        loaders[name] = DataLoader(name, encoded, split.dataset.labels, recipe.seed)
    tasks = {name: model.task(name).task for name in train}
    return TrainingSetup(
        plans,
        loaders,
        make_balancer(recipe, tasks),
        make_schedule(recipe),
        make_regularizers(recipe, model),
        make_average(recipe, model),
        make_teachers(recipe, model, train),
        recipe.optimizer,
    )


def make_teachers(recipe: Recipe, model: Model, train: Mapping[str, Split]) -> dict[int, Teachers]:
    tasks = {name: module.task for name, module in model.tasks.items() if module.loss.predicts}
    return {
        number: Teachers(
            stage.distillation,
            tasks,
            {name: train[name].dataset.texts for name in stage.tasks or recipe.tasks if name in tasks},
            f"{recipe.where}: stage {number}",
        )
        for number, stage in enumerate(recipe.stages)
        if stage.distillation is not None
    }


def make_balancer(recipe: Recipe, tasks: Mapping[str, Task]) -> Balancer:
    kinds = {name: task.kind for name, task in tasks.items()}
    return build_technique("balancer", BALANCERS, recipe.balancer, recipe.where, kinds, recipe.seed)


def make_schedule(recipe: Recipe) -> Schedule:
    settings = recipe.optimizer
    return build_technique(
        "schedule", SCHEDULES, settings.schedule, recipe.where, settings.warmup_ratio, settings.learning_rate
    )


def make_regularizers(recipe: Recipe, model: Model) -> dict[str, list[Regularizer]]:
    return {
        name: [
            build_technique(
                "regularizer", REGULARIZERS, spec, f"{recipe.where}: task '{name}'", model, name, recipe.seed
            )
            for spec in plan.regularizers
        ]
        for name, plan in recipe.tasks.items()
        if plan.regularizers
    }


def make_average(recipe: Recipe, model: Model) -> Average | None:
    if recipe.weight_averaging is None:
        return None
    return build_technique("average", AVERAGES, recipe.weight_averaging, recipe.where, model)


def outline(recipe: Recipe, tasks: Mapping[str, Task], config: BertConfig) -> Model:
    """The model without weights or data: finds within a second which settings of a recipe do not fit."""
    recipe = choose_settings(recipe, tasks, config)
    measured = [name for name in tasks if is_scored(recipe, name)]
    check_overall(recipe.overall, tasks, measured, recipe.where)
    make_balancer(recipe, tasks)
    make_schedule(recipe)
    plan_stages(recipe, dict.fromkeys(tasks, 1), {name: task.most_tokens for name, task in tasks.items()})
    # labels that are only known from the data: two of them, the minimum
    known = {
        name: task.with_labels(("0", "1")) if task.kind == "classify" and not task.labels else task
        for name, task in tasks.items()
    }
    with empty_weights():
        model = Model(Bert(config), known, recipe.tasks, recipe.where)
    check_trainable(recipe, model)
    make_optimizer(model, recipe.optimizer, recipe.where)
    make_regularizers(recipe, model)
    make_average(recipe, model)
    return model


def check_trainable(recipe: Recipe, model: Model) -> None:
    """Reject a stage in which a task has nothing to train, such as a cosine head with a frozen encoder."""
    layers = model.bert.config.num_hidden_layers
    for number, stage in enumerate(recipe.stages):
        if stage.trainable.startswith("top ") and int(stage.trainable.removeprefix("top ")) > layers:
            raise UserError(
                f"{recipe.where}: stage {number} trains the {stage.trainable} layers of an encoder with {layers}."
            )
        model.set_trainable(stage.trainable)
        for name in stage.tasks or recipe.tasks:
            shared = (parameter for layer in model.task(name).shared_modules for parameter in layer.parameters())
            used = (*model.bert.parameters(), *model.task(name).parameters(), *shared)
            if not any(parameter.requires_grad for parameter in used):
                raise UserError(
                    f"{recipe.where}: stage {number} trains only {stage.trainable}, but task '{name}' has none.",
                    'Set trainable = "all", leave the task out of this stage, or give it another head.',
                )
    model.set_trainable("all")


def read_data(recipe: Recipe, source: DataSource) -> LabeledRows:
    """Training, validation and dev rows; no task trains on what another one holds out."""
    tasks, train, dev = {}, {}, {}
    validation: dict[str, Dataset] = {}
    for task, train_rows, dev_rows in read_all(source.read_splits, recipe.read_tasks().values()):
        name = task.name
        tasks[name], train[name], dev[name] = task, train_rows, dev_rows
    train = without_held_out(tasks, train, dev)
    if fraction := recipe.selection.validation_fraction:
        scored = [name for name in tasks if is_scored(recipe, name)]
        train, validation = split_off_validation(tasks, train, fraction, scored)
    for name, task in tasks.items():
        labels = train[name].labels
        if task.class_weights == "balanced" and labels is not None:
            tasks[name] = task.with_class_weights(balanced_weights(labels, len(task.labels)))
    return LabeledRows(tasks, train, dev, validation)


def read_test_files(tasks: Mapping[str, Task], source: DataSource) -> dict[str, Dataset]:
    """The labeled rows of the test files; before training, because their bad rows are errors too."""
    found = dict(zip(tasks, read_all(source.read_test, tasks.values()), strict=True))
    return {name: rows for name, rows in found.items() if rows is not None}


def build_model(recipe: Recipe, tasks: Mapping[str, Task], folder: Path) -> tuple[Model, Tokenizer]:
    """The pretrained encoder with new heads, which depend on the seed."""
    with seeded_init(recipe.seed):
        bert, tokenizer = load_backbone(folder, DropoutGenerator(recipe.seed))
        return Model(bert, tasks, recipe.tasks, recipe.where), tokenizer


def parameter_counts(recipe: Recipe, config: BertConfig) -> dict[str, Any]:
    """How many parameters a recipe's model has, and how many are trainable.

    total; trainable (in at least one stage); encoder; of each task its own (which no other task uses), and of these the
    adapters; layers that tasks share; trainable in each stage. A head whose labels are only known from the data counts
    as one of two labels.
    """
    tasks = recipe.read_tasks()
    recipe = choose_settings(recipe, tasks, config)
    model = outline(recipe, tasks, config)
    stages, ever = [], set()
    for stage in recipe.stages:
        model.set_trainable(stage.trainable)
        trainable = {name: p.numel() for name, p in model.named_parameters() if p.requires_grad}
        stages.append(sum(trainable.values()))
        ever |= set(trainable)
    return {
        "total": count_parameters(model.parameters()),
        "trainable": sum(p.numel() for name, p in model.named_parameters() if name in ever),
        "encoder": count_parameters(model.bert.parameters()),
        "tasks": {
            name: {
                "own": count_parameters(model.task(name).parameters()),
                "adapters": count_parameters(model.task(name).adapters.parameters()),
                "labels_known": task.kind == "score" or bool(task.labels),
            }
            for name, task in tasks.items()
        },
        "shared": {
            name.removeprefix("shared_"): count_parameters(part.parameters()) for name, part in model.shared.items()
        },
        "stages": stages,
    }
