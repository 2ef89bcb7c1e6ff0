"""Each batch in two passes with different dropout masks, whose predictions should agree.

(L_1 + L_2) / 2 + weight / 2 (KL(P_1 || P_2) + KL(P_2 || P_1)); for scores weight (p_1 - p_2)^2 in place of the KLs.
Liang et al. 2021, https://arxiv.org/abs/2106.14448
"""

from torch import Tensor

from minbert.data.batch import Batch
from minbert.model.multitask import Model
from minbert.training.regularizers.base import Regularizer
from minbert.training.regularizers.divergence import Divergence


class RDrop(Regularizer):
    """Runs each batch twice with different dropout masks, and penalizes different predictions (R-Drop)."""

    def __init__(self, model: Model, task: str, seed: int, *, weight: float = 1.0) -> None:
        super().__init__(model, task, seed)
        if weight <= 0:
            raise ValueError(f"weight {weight} is not above 0")
        self.module = model.task(task)
        self.divergence = Divergence(self.module.loss)
        # two KL terms, but one square
        self.factor = weight / 2 if self.module.task.kind == "classify" else weight

    def penalty(self, batch: Batch, output_BO: Tensor, loss: Tensor) -> Tensor:
        assert batch.labels_B is not None
        again_BO = self.model(batch).float()
        # the first loss plus half the difference is the mean of both
        half = (self.module.loss(again_BO, batch.labels_B) - loss) / 2
        return half + self.factor * self.divergence(output_BO, again_BO)  # type: ignore[no-any-return]
