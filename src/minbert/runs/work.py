"""What a run consists of: steps of stages, evaluations and final scores, in tokens that pass through the encoder."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StageWork:
    """The steps of a stage. An evaluation follows each epoch."""

    epochs: int
    steps_per_epoch: int
    # of a step, on average
    tokens: float


@dataclass(frozen=True)
class PlannedWork:
    """What a run consists of after the controls and the start of the heads."""

    stages: tuple[StageWork, ...]
    # of one evaluation during training
    evaluation: float
    # of calibration and the scores on all dev and test rows
    final: float
    # the run's time limit from here on, in seconds
    limit: float | None = None

    def evaluations_after(self, done: int) -> int:
        """How many epochs end after so many steps."""
        left = 0
        for stage in self.stages:
            left += stage.epochs - min(max(done, 0) // stage.steps_per_epoch, stage.epochs)
            done -= stage.epochs * stage.steps_per_epoch
        return left

    def steps_after(self, done: int) -> list[int]:
        """How many steps of each stage are left after so many."""
        left = []
        for stage in self.stages:
            steps = stage.epochs * stage.steps_per_epoch
            left.append(steps - min(max(done, 0), steps))
            done -= steps
        return left
