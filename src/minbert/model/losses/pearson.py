"""1 - Pearson's r of outputs and labels over the batch. Report D, sections 3.1 and 5.5.

D's loss is -r, which has the same gradient; 1 - r is never negative, as balancers that compare or square losses need.
"""

from torch import Tensor
from torch.nn import functional

from minbert.model.losses.relative import RelativeLoss


class PearsonLoss(RelativeLoss):
    """1 - Pearson's r of outputs and labels over the batch."""

    def compare(self, output_B: Tensor, labels_B: Tensor) -> Tensor:
        return 1 - pearson_r(output_B, labels_B)


def pearson_r(x_B: Tensor, y_B: Tensor) -> Tensor:
    """The cosine of the deviations from the means; 0 if one side is constant, as in a batch of one."""
    # eps limits the gradient of constant outputs to 1e4
    return functional.cosine_similarity(x_B - x_B.mean(), y_B - y_B.mean(), dim=0, eps=1e-4)
