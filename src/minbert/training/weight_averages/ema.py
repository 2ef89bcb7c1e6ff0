"""Exponential moving average of the weights: m <- decay m + (1 - decay) theta, starting after the first step.

It covers about the last 1 / (1 - decay) steps. Polyak and Juditsky 1992 use the plain mean.
"""

from minbert.model.multitask import Model
from minbert.training.weight_averages.base import Average


class ExponentialMovingAverage(Average):
    """Keeps an exponential moving average of the weights."""

    def __init__(self, model: Model, *, decay: float = 0.999, window: float | None = None) -> None:
        """`window`: the fraction of all steps to average over, instead of a decay; it fits runs of any length."""
        super().__init__(model)
        if not 0 < decay < 1:
            raise ValueError(f"decay {decay} is not between 0 and 1")
        if window is not None and not 0 < window <= 1:
            raise ValueError(f"window {window} is not a fraction of all steps: above 0 and at most 1")
        self.decay, self.window = decay, window

    def after_step(self, step: int, total: int) -> None:
        if self.window is None:
            self.add_weights(1 - self.decay)
        else:
            # the plain mean until the window is full, so that it does not lag behind at first
            self.add_weights(1 / max(1.0, min(step, self.window * total)))
