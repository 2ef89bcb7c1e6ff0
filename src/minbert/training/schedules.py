"""Schedules: what the learning rates are multiplied by at each step."""

import math
from collections.abc import Callable
from typing import Any


class Schedule:
    def __init__(self, warmup: float, rate: float) -> None:
        """`warmup`: the share of all steps in which the rate rises; `rate`: the recipe's learning rate."""
        self.warmup = warmup
        self.rate = rate

    def factor(self, step: int, total: int) -> float:
        """At step 1, 2, ... total."""
        rising = round(self.warmup * total)
        if step <= rising:
            return step / rising
        return self.after_warmup((step - 1 - rising) / max(1, total - rising))

    def after_warmup(self, done: float) -> float:
        """`done`: the share of the steps after the warm-up that lie behind."""
        return 1.0

    def epoch_ended(self, loss: float) -> None:
        """`loss`: the mean over the tasks of their mean losses in the epoch."""

    def state(self) -> dict[str, Any]:
        """What it remembers between steps."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


class LinearSchedule(Schedule):
    def after_warmup(self, done: float) -> float:
        return 1 - done


class CosineSchedule(Schedule):
    def after_warmup(self, done: float) -> float:
        return (1 + math.cos(math.pi * done)) / 2


class AdjustingSchedule(Schedule):
    """The rate rises while the loss of the epochs falls, up to a maximum, and falls where the loss rises.

    Report A says only that it starts at the given rate and has a maximum; the rule is the bold driver of
    Vogl et al. 1988.
    """

    def __init__(
        self,
        warmup: float,
        rate: float,
        *,
        maximum: float = 1e-3,
        up: float = 1.5,
        down: float = 0.5,
        floor: float = 0.1,
    ) -> None:
        """`floor`: the lowest rate, as a share of the one it started from."""
        super().__init__(warmup, rate)
        if maximum < rate:
            raise ValueError(f"the maximum {maximum:g} lies below the learning rate {rate:g}")
        if up < 1 or not 0 < down <= 1 or not 0 < floor <= 1:
            raise ValueError("needs up >= 1, 0 < down <= 1, 0 < floor <= 1")
        self.highest, self.lowest = maximum / rate, floor
        self.up, self.down = up, down
        self.now, self.last = 1.0, math.inf

    def after_warmup(self, done: float) -> float:
        return self.now

    def epoch_ended(self, loss: float) -> None:
        if math.isfinite(self.last):
            changed = self.now * (self.up if loss < self.last else self.down)
            self.now = min(self.highest, max(self.lowest, changed))
        self.last = loss

    def state(self) -> dict[str, Any]:
        return {"now": self.now, "last": self.last if math.isfinite(self.last) else None}

    def restore(self, state: dict[str, Any]) -> None:
        self.now = state["now"]
        self.last = math.inf if state["last"] is None else state["last"]


SCHEDULES: dict[str, Callable[..., Schedule]] = {
    "linear": LinearSchedule,
    "cosine": CosineSchedule,
    "constant": Schedule,
    "adjusting": AdjustingSchedule,
}
