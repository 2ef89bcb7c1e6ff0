"""(runs, training texts) -> teachers, whose answers a student learns beside the labels. Hinton et al. 2015.

B examples, C labels.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from minbert.config.recipe import Distillation
from minbert.config.task import Task
from minbert.data.batch import Batch, EncodedTexts, collate
from minbert.errors import UserError
from minbert.inference.loop import encode_for_task
from minbert.inference.saved_model import load_model
from minbert.model.losses import Loss
from minbert.model.multitask import Model

# no logarithm of nothing
MIN_PROBABILITY = 1e-9


class Teachers:
    def __init__(
        self, settings: Distillation, tasks: Mapping[str, Task], texts: Mapping[str, tuple[list[str], ...]], where: str
    ) -> None:
        """`texts`: the training texts of each task that is taught, in the order of its rows."""
        self.settings = settings
        # of each task the models that know it, and its texts as they read them: models differ in layout and words
        self.lessons: dict[str, list[tuple[Model, EncodedTexts]]] = {name: [] for name in texts}
        for path in settings.teachers:
            model, text = load_model(Path(path))
            for name in set(texts) & set(model.tasks):
                check_same_labels(tasks[name], model.task(name).task, path, where)
                self.lessons[name].append((model, encode_for_task(model, name, text, texts[name])))
        for name, lessons in self.lessons.items():
            if not lessons:
                raise UserError(
                    f"{where}: no teacher has the task '{name}'.",
                    "Leave it out of the stage's tasks, or name a run that was trained on it.",
                )

    @torch.inference_mode()
    def predict(self, batch: Batch) -> Tensor:
        """The mean of the teachers' answers to a batch: probabilities B x C, or scores B."""
        found = []
        for model, sequences in self.lessons[batch.task]:
            own = collate(batch.task, sequences, None, batch.rows_B).to(model.device)
            found.append(model.predict(own).float())
        return torch.stack(found).mean(0)

    def blend(self, batch: Batch, loss: Loss, output_BO: Tensor, by_labels: Tensor, done: float) -> Tensor:
        """The student's loss by its labels and by its teachers; `done`: the share of the stage that lies behind."""
        weight = self.settings.start + (self.settings.end - self.settings.start) * done
        if weight == 0:
            return by_labels
        # a copy: what was made in inference mode cannot take part in a backward pass
        theirs = self.predict(batch).clone().to(output_BO.device)
        own = loss.predict(output_BO.float())
        by_teachers = distance(own, theirs, self.settings.temperature)
        return weight * by_teachers + (1 - weight) * by_labels


def distance(own: Tensor, theirs: Tensor, temperature: float) -> Tensor:
    """T^2 KL(teacher, student) of the probabilities at temperature T; of scores, the mean squared difference."""
    if own.ndim == 1:
        return functional.mse_loss(own, theirs)
    # softmax(logits / T), whatever the logits were: the logarithm of a probability is one up to a constant
    soft_BC, target_BC = (
        functional.log_softmax(each.clamp_min(MIN_PROBABILITY).log() / temperature, dim=1) for each in (own, theirs)
    )
    divergence = functional.kl_div(soft_BC, target_BC, reduction="batchmean", log_target=True)
    return temperature**2 * divergence


def check_same_labels(own: Task, theirs: Task, path: str, where: str) -> None:
    if own.choices != theirs.choices:
        raise UserError(
            f"{where}: the teacher {path} learned task '{own.name}' with other labels or another range.",
            "A teacher and its student need the same answers to choose from.",
        )
