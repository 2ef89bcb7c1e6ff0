"""CoSENT: of any two examples of a batch, the one with the higher label should have the higher output.

log(1 + sum of exp(scale (s_j - s_i)) over all i with a higher label than j). Su 2022, https://kexue.fm/archives/8847
"""

from torch import Tensor
from torch.nn import functional

from minbert.config.task import Task
from minbert.model.losses.relative import RelativeLoss


class CoSentLoss(RelativeLoss):
    """Ranks the examples of a batch: a higher label should get a higher output (CoSENT)."""

    def __init__(self, task: Task, *, scale: float = 20.0) -> None:
        """The default `scale` is meant for outputs between -1 and 1."""
        super().__init__(task)
        if scale <= 0:
            raise ValueError(f"scale {scale} is not above 0")
        self.scale = scale

    def compare(self, output_B: Tensor, labels_B: Tensor) -> Tensor:
        above_BB = labels_B[:, None] > labels_B
        behind_BB = self.scale * (output_B - output_B[:, None])
        # the zero in front is the 1 of log(1 + ...)
        return functional.pad(behind_BB[above_BB], (1, 0)).logsumexp(0)
