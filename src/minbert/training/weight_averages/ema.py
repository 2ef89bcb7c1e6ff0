"""Exponential moving average of the weights: m <- decay m + (1 - decay) theta, starting after the first step.

It covers about the last 1 / (1 - decay) steps. Polyak and Juditsky 1992 use the plain mean.
"""

from minbert.model.multitask import Model
from minbert.training.weight_averages.base import Average


class ExponentialMovingAverage(Average):
    """Keeps an exponential moving average of the weights."""

    def __init__(self, model: Model, *, decay: float = 0.999) -> None:
        super().__init__(model)
        if not 0 < decay < 1:
            raise ValueError(f"decay {decay} is not between 0 and 1")
        self.decay = decay

    def after_step(self, step: int, total: int) -> None:
        self.add_weights(1 - self.decay)
