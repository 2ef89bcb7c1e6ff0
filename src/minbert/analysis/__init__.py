"""Error analysis: the answers of a run to its dev rows -> plain data about where and how it errs.

`analyse_run` gives a RunAnalysis: for each task a TaskAnalysis with scores beside a baseline's, confusion and
calibration (or score against gold), the hardest rows with their texts and tags, slices, leaks from training, and
where another run disagrees. Nothing here prints or draws.
"""

from minbert.analysis.run_analysis import RunAnalysis, TaskAnalysis, analyze_run, analyze_task

__all__ = ["RunAnalysis", "TaskAnalysis", "analyze_run", "analyze_task"]
