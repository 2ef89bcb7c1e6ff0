"""The newest weights count most: m <- decay m + (1 - decay) theta, from the weights after the first step on.

Reaches back about 1 / (1 - decay) steps. Polyak and Juditsky 1992 have the plain mean.
"""

from minbert.model.multitask import Model
from minbert.training.averages.base import Average


class ExponentialMovingAverage(Average):
    def __init__(self, model: Model, *, decay: float = 0.999) -> None:
        super().__init__(model)
        if not 0 < decay < 1:
            raise ValueError(f"decay {decay} is not between 0 and 1")
        self.decay = decay

    def stepped(self, step: int, total: int) -> None:
        self.take(1 - self.decay)
