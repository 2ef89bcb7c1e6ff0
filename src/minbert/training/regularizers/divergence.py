"""How far apart the answers of two passes are: KL(P || Q) + KL(Q || P) of probabilities, (p - q)^2 of scores.

B examples, O outputs, C labels.
"""

from torch import Tensor

from minbert.model.losses import Loss

# Probabilities below it count as it: no answer is told apart from another by them.
LEAST = 1e-12


class Divergence:
    def __init__(self, loss: Loss) -> None:
        if not loss.predicts:
            raise ValueError("compares answers, and this task's loss gives none: take it off this task")
        self.loss = loss

    def __call__(self, one_BO: Tensor, other_BO: Tensor) -> Tensor:
        """The mean over the examples, in both directions alike."""
        # in double, where 1 - p keeps its digits: answers this close differ in the last ones of fp32
        p, q = (self.loss.predict(output_BO.double()) for output_BO in (one_BO, other_BO))
        if p.ndim == 1:
            return (p - q).square().mean().float()
        # both KLs in one sum, of which no term is below 0, so that nothing cancels
        each_BC = (p - q) * (p.clamp(min=LEAST).log() - q.clamp(min=LEAST).log())
        return each_BC.sum(1).mean().float()
