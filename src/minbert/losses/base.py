"""What every loss offers."""

from torch import Tensor, nn

from minbert.heads.base import Emits
from minbert.task import Task


class Loss(nn.Module):
    # what a head must emit for this loss to make sense of it
    reads: tuple[Emits, ...]
    # how many numbers the head must give for an example
    outputs: int

    def __init__(self, task: Task) -> None:
        super().__init__()

    def forward(self, output_BO: Tensor, labels_B: Tensor) -> Tensor:
        """The mean loss of the examples."""
        raise AssertionError("a loss defines forward")

    def answers(self, output_BO: Tensor) -> Tensor:
        """classify: the probability of each label, B x C. score: the score, B."""
        raise AssertionError("a loss defines answers")
