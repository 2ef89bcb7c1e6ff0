"""How far apart the predictions of two passes are: KL(P || Q) + KL(Q || P) of probabilities, (p - q)^2 of scores.

B examples, O outputs, C labels.
"""

from torch import Tensor

from minbert.model.losses import Loss

# smaller probabilities count as this: differences between them mean nothing
SMALLEST_PROBABILITY = 1e-12


class Divergence:
    def __init__(self, loss: Loss) -> None:
        if not loss.predicts:
            raise ValueError("compares predictions, but this task's loss makes none: remove it from this task")
        self.loss = loss

    def __call__(self, one_BO: Tensor, other_BO: Tensor) -> Tensor:
        """The mean over the examples; symmetric in both arguments."""
        # in double precision: predictions this close differ only in the last digits of fp32
        p, q = (self.loss.predict(output_BO.double()) for output_BO in (one_BO, other_BO))
        if p.ndim == 1:
            return (p - q).square().mean().float()
        # both KLs in one sum whose terms are never negative, so that nothing cancels out
        each_BC = (p - q) * (p.clamp(min=SMALLEST_PROBABILITY).log() - q.clamp(min=SMALLEST_PROBABILITY).log())
        return each_BC.sum(1).mean().float()
