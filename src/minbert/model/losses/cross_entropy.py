"""Cross-entropy over the labels, with class weights and label smoothing. Labels may be soft (probabilities)."""

from torch import Tensor
from torch.nn import functional

from minbert.config.task import Task
from minbert.model.losses.base import Loss, per_weight


class CrossEntropyLoss(Loss):
    """Cross-entropy over the labels, with class weights and label smoothing."""

    accepts = ("logits",)

    def __init__(self, task: Task, *, label_smoothing: float = 0.0) -> None:
        super().__init__(task)
        if task.kind != "classify":
            raise ValueError("is for tasks of kind \"classify\"; use the loss 'mse'")
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing {label_smoothing} is not between 0 and 1")
        self.num_outputs = len(task.labels)
        self.label_smoothing = label_smoothing

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        """`labels_B`: the index of each label, or the probability of every label, B x C."""
        hard = labels_B.ndim == 1
        if hard and self.weight_C is None:
            return functional.cross_entropy(output_BO, labels_B, label_smoothing=self.label_smoothing)
        target = labels_B if hard else labels_B.to(output_BO.dtype)
        total = functional.cross_entropy(
            output_BO, target, self.weight_C, label_smoothing=self.label_smoothing, reduction="sum"
        )
        # of soft labels, torch divides by the number of examples; by their weights, one-hot labels are like indices
        if self.weight_C is None:
            return per_weight(total, target)
        return per_weight(total, self.weight_C[target] if hard else target @ self.weight_C)

    def predict(self, output_BO: Tensor) -> Tensor:
        return output_BO.softmax(1)
