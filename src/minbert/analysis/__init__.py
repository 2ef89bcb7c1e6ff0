"""Error analysis: a run's predictions on its dev rows -> plain data about where and how the model is wrong.

`analyze_run` returns a RunAnalysis. For each task it holds a TaskAnalysis: scores next to those of a constant
baseline, the confusion matrix and calibration (or predictions against gold scores), the hardest rows with their texts
and tags, slices, leaks from the training data, and disagreements with another run. Nothing here prints or draws.
"""

from minbert.analysis.run_analysis import RunAnalysis, TaskAnalysis, analyze_run, analyze_task

__all__ = ["RunAnalysis", "TaskAnalysis", "analyze_run", "analyze_task"]
