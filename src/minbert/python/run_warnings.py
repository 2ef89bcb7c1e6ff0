"""Events of a training run -> what is warned about when no progress is shown: by `minbert.train`, and by estimators."""

from minbert.cli.outcome_table import outcome_advice
from minbert.data.rejects import describe_reasons
from minbert.python.fit_input import ONLY_TASK
from minbert.python.wording import in_python
from minbert.runs.events import Finished, Started


def data_warnings(event: Started) -> list[str]:
    """What is wrong with the data; rows that are skipped are said once, however many they are."""
    found = [finding.message for finding in event.findings if finding.about != "skipped rows"]
    return [*found, *(skip_warning(event, name) for name, count in event.skipped.items() if count)]


def skip_warning(event: Started, name: str) -> str:
    count = event.skipped[name]
    given, reasons = sum(event.rows[name]) + count, describe_reasons(event.skip_reasons.get(name, {}))
    return f"{name}: {count:,} of {given:,} rows {'is' if count == 1 else 'are'} skipped: {reasons}"


def outcome_warnings(event: Finished) -> list[str]:
    """The tasks whose model is not better than what costs nothing."""
    return [
        f"{name} does not beat {' and '.join(each.not_beaten)} ({each.metric} {each.value:.3f}). "
        f"{in_python(outcome_advice(each))}"
        for name, each in event.outcomes.items()
        if each.is_worse
    ]


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
