"""Labels -> their order: by number, by a known scale such as negative, neutral, positive, else by the alphabet."""

import math
import re
from collections.abc import Iterable

from minbert.config.task import Label, label_key

SCALES = [
    "very negative, negative, somewhat negative, slightly negative, neutral, mixed, slightly positive, "
    "somewhat positive, positive, very positive",
    "neg, neu, neutral, pos",
    "terrible, very bad, bad, poor, fair, ok, okay, average, good, very good, great, excellent",
    "none, very low, low, mild, minor, medium, moderate, normal, high, major, severe, very high, critical",
    "strongly disagree, disagree, neutral, undecided, agree, strongly agree",
    "never, rarely, seldom, sometimes, often, usually, always",
    "very easy, easy, medium, hard, difficult, very hard",
    "tiny, small, medium, large, huge",
    "irrelevant, not relevant, partially relevant, relevant, highly relevant",
    "contradiction, neutral, entailment",
    "one, two, three, four, five, six, seven, eight, nine, ten",
    "no, maybe, yes",
    "n, y",
    "false, true",
    "ham, spam",
]
WORDS = [[step.strip() for step in scale.split(",")] for scale in SCALES]
NEGATED = re.compile(r"(?:not|non|no|un|in)[ _-]?(.+)")
NUMBERED = re.compile(r"(\d+)\s*[-_ ]?\s*\D*")
# ends of scales that ratings and similarities usually have
USUAL_RANGES = [(0.0, 1.0), (-1.0, 1.0), (1.0, 5.0), (0.0, 5.0), (1.0, 7.0), (1.0, 10.0), (0.0, 10.0), (0.0, 100.0)]


def order_labels(keys: Iterable[str]) -> tuple[list[str], str]:
    """The labels in order, and the reason for it; empty if it is only the alphabet."""
    labels = sorted(keys)
    plain = {key: re.sub(r"[ _-]+", " ", key).strip().lower() for key in labels}
    for scale in WORDS:
        if all(word in scale for word in plain.values()):
            return sorted(labels, key=lambda key: scale.index(plain[key])), "in the order of a known scale"
    numbered = {key: NUMBERED.fullmatch(word) for key, word in plain.items()}
    numbers = {key: int(found[1]) for key, found in numbered.items() if found}
    if len(numbers) == len(labels):
        return sorted(labels, key=lambda key: numbers[key]), "in the order of their numbers"
    if len(labels) == 2:
        for other, negated in ((0, 1), (1, 0)):
            found = NEGATED.fullmatch(plain[labels[negated]])
            if found and found[1] == plain[labels[other]]:
                return [labels[negated], labels[other]], "the negated one first"
    return labels, ""


def label_value(text: str) -> Label:
    """A label as TOML should write it: a number or a truth value if that says the same as the text."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"0|-?[1-9]\d*", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d+\.\d+", text) and label_key(float(text)) == text else text


def score_range(low: float, high: float) -> tuple[float, float]:
    """The ends of the scale that scores from `low` to `high` are probably on: those, rounded outwards."""
    fitting = [ends for ends in USUAL_RANGES if ends[0] <= low and high <= ends[1]]
    fitting = [ends for ends in fitting if high - low >= (ends[1] - ends[0]) / 2]
    if fitting:
        return min(fitting, key=lambda ends: ends[1] - ends[0])
    step = 10.0 ** math.floor(math.log10(high - low)) if high > low else 1.0
    if high - low < 2 * step:
        # -3 to 100 become -5 to 100
        step /= 20
    digits = max(0, -math.floor(math.log10(step)))
    return round(math.floor(low / step) * step, digits), round(math.ceil(high / step) * step, digits)
