"""Cross-entropy over the labels, with class weights and label smoothing."""

from torch import Tensor
from torch.nn import functional

from minbert.losses.base import Loss
from minbert.task import Task


class CrossEntropy(Loss):
    reads = ("free",)

    def __init__(self, task: Task, *, label_smoothing: float = 0.0) -> None:
        super().__init__(task)
        if task.kind != "classify":
            raise ValueError("is for tasks of kind \"classify\"; take the loss 'mse'")
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing {label_smoothing} is not between 0 and 1")
        self.outputs = len(task.labels)
        self.label_smoothing = label_smoothing

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        return functional.cross_entropy(output_BO, labels_B, self.weight_C, label_smoothing=self.label_smoothing)

    def answers(self, output_BO: Tensor) -> Tensor:
        return output_BO.softmax(1)
