"""(runs, training texts) -> teachers, whose predictions a student learns besides the labels. Hinton et al. 2015.

B examples, C labels.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from minbert.config.recipe import Distillation
from minbert.config.task import Task
from minbert.data.batch import Batch, EncodedTexts
from minbert.errors import UserError
from minbert.inference.loop import encode_for_task, predict_batch
from minbert.inference.saved_model import load_model
from minbert.inference.task_predictions import mean_over_models
from minbert.model.losses import Loss
from minbert.model.multitask import Model

# the logarithm of 0 is infinite
MIN_PROBABILITY = 1e-9


class Teachers:
    def __init__(
        self, settings: Distillation, tasks: Mapping[str, Task], texts: Mapping[str, tuple[list[str], ...]], where: str
    ) -> None:
        """`texts`: the training texts of each task that is taught, in the order of its rows."""
        self.settings = settings
        # task: the models that have it, each with the texts as it encodes them: layouts and vocabularies differ
        self.lessons: dict[str, list[tuple[Model, EncodedTexts]]] = {name: [] for name in texts}
        for path in settings.teachers:
            model, tokenizer = load_model(Path(path))
            for name in set(texts) & set(model.tasks):
                check_same_labels(tasks[name], model.task(name).task, path, where)
                self.lessons[name].append((model, encode_for_task(model, name, tokenizer, texts[name])))
        for name, lessons in self.lessons.items():
            if not lessons:
                raise UserError(
                    f"{where}: no teacher has the task '{name}'.",
                    "Remove it from the stage's tasks, or name a run that was trained on it.",
                )

    def predict(self, batch: Batch) -> Tensor:
        """The mean of the teachers' predictions for a batch: probabilities B x C, or scores B."""
        predictions = [
            predict_batch(model, [batch.task], encoded, batch.rows_B)[batch.task]
            for model, encoded in self.lessons[batch.task]
        ]
        with torch.inference_mode():
            return mean_over_models(predictions)

    def blend(self, batch: Batch, loss: Loss, output_BO: Tensor, by_labels: Tensor, done: float) -> Tensor:
        """The student's loss by its labels and by its teachers; `done`: the fraction of the stage that is done."""
        weight = self.settings.start + (self.settings.end - self.settings.start) * done
        if weight == 0:
            return by_labels
        # a copy: tensors made in inference mode cannot take part in a backward pass
        theirs = self.predict(batch).clone().to(output_BO.device)
        own = loss.predict(output_BO.float())
        by_teachers = distance(own, theirs, self.settings.temperature)
        return weight * by_teachers + (1 - weight) * by_labels


def distance(own: Tensor, theirs: Tensor, temperature: float) -> Tensor:
    """T^2 KL(teacher, student) of the probabilities at temperature T; of scores, the mean squared difference."""
    if own.ndim == 1:
        return functional.mse_loss(own, theirs)
    # softmax(logits / T): the logarithm of a probability is its logit up to a constant
    soft_BC, target_BC = (
        functional.log_softmax(each.clamp_min(MIN_PROBABILITY).log() / temperature, dim=1) for each in (own, theirs)
    )
    divergence = functional.kl_div(soft_BC, target_BC, reduction="batchmean", log_target=True)
    return temperature**2 * divergence


def check_same_labels(own: Task, theirs: Task, path: str, where: str) -> None:
    if own.choices != theirs.choices:
        raise UserError(
            f"{where}: the teacher {path} learned task '{own.name}' with other labels or another range.",
            "A teacher and its student need the same labels or range.",
        )
