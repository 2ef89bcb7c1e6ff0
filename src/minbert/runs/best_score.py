"""Dev scores, one evaluation after the other -> which model is kept, and whether training still helps."""

import math
from typing import Any


class BestScore:
    """The overall score of the model that is kept.

    Of two equal scores, the one with the smaller log loss is better: few dev rows often give equal accuracies, and a
    model that only memorizes more of the training rows has a larger loss.
    """

    def __init__(self) -> None:
        self.value: float | None = None
        self.loss = math.inf
        # evaluations in a row without a higher score
        self.waited = 0

    def offer(self, value: float, loss: float, trained: bool) -> bool:
        """Whether this model is the one to keep. `trained`: patience starts with the first training step."""
        # the first is kept whatever it scores, even if that is not a number
        higher = bool(self.value is None or value > self.value)
        kept = higher or (value == self.value and loss <= self.loss)
        self.waited = self.waited + 1 if trained and not higher else 0
        if higher:
            self.value = -math.inf if math.isnan(value) else value
        if kept:
            self.loss = loss
        return kept

    def state(self) -> dict[str, Any]:
        # as text: JSON has no infinity
        value = None if self.value is None else repr(float(self.value))
        return {"value": value, "loss": repr(float(self.loss)), "waited": self.waited}

    def restore(self, state: dict[str, Any]) -> None:
        self.value = None if state["value"] is None else float(state["value"])
        self.loss, self.waited = float(state["loss"]), state["waited"]
