"""Schedules: the factor of the learning rates at each step."""

import math
from collections.abc import Callable
from typing import Any


class Schedule:
    """Keeps the learning rate constant after the warmup."""

    def __init__(self, warmup_ratio: float, learning_rate: float) -> None:
        """`warmup_ratio`: the fraction of all steps in which the learning rate rises."""
        self.warmup_ratio = warmup_ratio
        self.learning_rate = learning_rate

    def factor(self, step: int, total: int) -> float:
        """At step 1, 2, ... total."""
        warmup_steps = round(self.warmup_ratio * total)
        if step <= warmup_steps:
            return step / warmup_steps
        return self.after_warmup((step - 1 - warmup_steps) / max(1, total - warmup_steps))

    def after_warmup(self, progress: float) -> float:
        """`progress`: the fraction of the steps after the warmup that are done."""
        return 1.0

    def after_epoch(self, loss: float) -> None:
        """Called after each epoch. `loss`: the mean over the tasks of their mean losses in the epoch."""

    def state(self) -> dict[str, Any]:
        """What it remembers between steps: numbers, strings, tensors, and lists and dicts of these."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


class LinearSchedule(Schedule):
    """Decreases the learning rate linearly to 0 after the warmup."""

    def after_warmup(self, progress: float) -> float:
        return 1 - progress


class CosineSchedule(Schedule):
    """Decreases the learning rate to 0 along a cosine after the warmup."""

    def after_warmup(self, progress: float) -> float:
        return along_cosine(1.0, 0.0, progress)


class RisingSchedule(Schedule):
    """The base of schedules that rise from the learning rate to a maximum by themselves, without a warmup."""

    def __init__(self, warmup_ratio: float, learning_rate: float, maximum: float) -> None:
        super().__init__(warmup_ratio, learning_rate)
        if maximum < learning_rate:
            raise ValueError(f"the maximum {maximum:g} is below the learning rate {learning_rate:g}")
        self.highest = maximum / learning_rate


class OneCycleSchedule(RisingSchedule):
    """Raises the learning rate to a maximum and lowers it to almost 0, along two cosines (one cycle).

    The numbers of torch's OneCycleLR, which starts at maximum / div_factor; here it starts at the learning rate.
    Smith and Topin 2018, https://arxiv.org/abs/1708.07120
    """

    def __init__(
        self,
        warmup_ratio: float,
        learning_rate: float,
        *,
        maximum: float = 1e-3,
        pct_start: float = 0.3,
        final_div_factor: float = 1e4,
    ) -> None:
        """`pct_start`: the fraction of all steps in which it rises. It ends at the learning rate / final_div_factor."""
        super().__init__(warmup_ratio, learning_rate, maximum)
        if not 0 < pct_start < 1 or final_div_factor < 1:
            raise ValueError("needs 0 < pct_start < 1 and final_div_factor >= 1")
        self.pct_start, self.lowest = pct_start, 1 / final_div_factor

    def factor(self, step: int, total: int) -> float:
        peak = self.pct_start * total - 1
        if step - 1 <= peak:
            return along_cosine(1.0, self.highest, (step - 1) / peak if peak else 1.0)
        return along_cosine(self.highest, self.lowest, (step - 1 - peak) / (total - 1 - peak))


class CyclicSchedule(RisingSchedule):
    """Raises and lowers the learning rate between its start and a maximum, in straight lines, several times.

    The numbers of torch's CyclicLR in mode "triangular". Smith 2017, https://arxiv.org/abs/1506.01186
    """

    def __init__(self, warmup_ratio: float, learning_rate: float, *, maximum: float = 1e-3, cycles: int = 5) -> None:
        """`cycles`: how many times it rises and falls in the whole training."""
        super().__init__(warmup_ratio, learning_rate, maximum)
        if cycles < 1:
            raise ValueError(f"cycles {cycles} is not at least 1")
        self.cycles = cycles

    def factor(self, step: int, total: int) -> float:
        place = (step - 1) * self.cycles / total % 1
        return 1 + (self.highest - 1) * (1 - abs(2 * place - 1))


def along_cosine(start: float, end: float, progress: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * progress)) / 2


class AdjustingSchedule(Schedule):
    """Raises the learning rate, up to a maximum, after an epoch with a lower loss, and lowers it after a higher one.

    Report A says only that its rate is dynamically adjusted, starts at the given one and has a maximum; the rule is the
    bold driver of Vogl et al. 1988.
    """

    def __init__(
        self,
        warmup_ratio: float,
        learning_rate: float,
        *,
        maximum: float = 1e-3,
        up: float = 1.5,
        down: float = 0.5,
        floor: float = 0.1,
    ) -> None:
        """`floor`: the lowest learning rate, as a fraction of the initial one."""
        super().__init__(warmup_ratio, learning_rate)
        if maximum < learning_rate:
            raise ValueError(f"the maximum {maximum:g} is below the learning rate {learning_rate:g}")
        if up < 1 or not 0 < down <= 1 or not 0 < floor <= 1:
            raise ValueError("needs up >= 1, 0 < down <= 1, 0 < floor <= 1")
        self.highest, self.lowest = maximum / learning_rate, floor
        self.up, self.down = up, down
        self.factor_now, self.last = 1.0, math.inf

    def after_warmup(self, progress: float) -> float:
        return self.factor_now

    def after_epoch(self, loss: float) -> None:
        if math.isfinite(self.last):
            changed = self.factor_now * (self.up if loss < self.last else self.down)
            self.factor_now = min(self.highest, max(self.lowest, changed))
        self.last = loss

    def state(self) -> dict[str, Any]:
        return {"factor": self.factor_now, "last": self.last if math.isfinite(self.last) else None}

    def restore(self, state: dict[str, Any]) -> None:
        self.factor_now = state["factor"]
        self.last = math.inf if state["last"] is None else state["last"]


SCHEDULES: dict[str, Callable[..., Schedule]] = {
    "linear": LinearSchedule,
    "cosine": CosineSchedule,
    "constant": Schedule,
    "one_cycle": OneCycleSchedule,
    "cyclic": CyclicSchedule,
    "adjusting": AdjustingSchedule,
}
