"""Messages of a training run -> those of an estimator, which has parameters instead of settings, and no named task."""

import re

from minbert.python.fit_input import ONLY_TASK
from minbert.python.wording import in_python
from minbert.runs.events import Finished, Started

PHRASES = {
    rf"^{ONLY_TASK}: ": "",
    r"--set tasks\.\w+\.max_length=": "max_length=",
    r"--set tasks\.\w+\.batch_size=\.\.\., ": "batch_size=..., --set ",
    r"--set optimizer\.learning_rate=": "learning_rate=",
    r"--set backbone=([\w-]+)": r'backbone="\1"',
    r"\btasks\.TASK\.": f"tasks.{ONLY_TASK}.",
    r", or skip them with --skip-bad-rows": "",
}


def estimator_words(message: str) -> str:
    for phrase, ours in PHRASES.items():
        message = re.sub(phrase, ours, message)
    return in_python(message)


def fit_warnings(event: Started) -> list[str]:
    """What an estimator does not learn from. How far the scores of the run can be trusted is not its user's concern."""
    found = [finding.message for finding in event.findings if finding.about == "texts"]
    if count := event.skipped[ONLY_TASK]:
        rows = sum(event.rows[ONLY_TASK]) + count
        have = "has an empty text and is" if count == 1 else "have empty texts and are"
        found.append(f"{count:,} of {rows:,} rows of X {have} not learned from")
    return found


def result_warnings(event: Finished, estimator: str) -> list[str]:
    """In the same words for each fit, so that a search shows it once."""
    return [
        f"This {estimator} does not beat {' and '.join(each.not_beaten)} on the rows that were held out: more labeled "
        "rows help most."
        for each in event.outcomes.values()
        if each.is_worse
    ]
