"""Findings -> plain sentences: is minbert better than the untouched backbone, and are the goals reached?"""

from collections.abc import Iterator

from bench.quality.estimates import UNTRAINED, Estimate, Findings, Sample
from bench.quality.schedule import SYSTEMS
from bench.quality.sets import SETS

# how far one model for all sets may be below one model per set, on average
MOST_LOSS = 0.01
OURS, JOINT = "minbert", "joint"
METRIC_TITLES = {"accuracy": "accuracy", "f1": "F1", "matthews": "Matthews", "pearson": "Pearson"}


def number(value: float) -> str:
    """.523, -.070 and 1.000."""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(round(value, 3)) < 1 else f"{value:.3f}"


def signed(value: float) -> str:
    return ("" if round(value, 3) < 0 else "+") + number(abs(value) if round(value, 3) == 0 else value)


def with_interval(found: Estimate, sign: bool = False) -> str:
    write = signed if sign else number
    return f"{write(found.value)} ({write(found.low)} to {write(found.high)})"


def verdicts(findings: Findings, system: str = OURS) -> Iterator[str]:
    for name, cut in findings.cuts.items():
        for metric in cut.set.metrics:
            yield verdict(findings, name, metric, system)


def verdict(findings: Findings, name: str, metric: str, system: str) -> str:
    """One line about one set; a score below its control is said loudly."""
    title = f"{SETS[name].title}, {METRIC_TITLES[metric]}"
    ours, control = findings.sample(system, name, metric), findings.control(name, metric)
    if ours is None or control is None:
        return f"{title}: not measured yet ({SYSTEMS[system].title if ours is None else 'the probe'} is missing)."
    other, theirs = control
    apart = (ours - theirs).estimate
    scores = f"{number(ours.value)} against {number(theirs.value)}, difference {with_interval(apart, sign=True)}"
    return f"{title}: {judgement(apart, SYSTEMS[other].title)}: {scores}.{rank(findings, name, metric, system)}"


def judgement(apart: Estimate, words: str) -> str:
    if apart.value < 0:
        certain = "certain" if apart.high < 0 else "within chance"
        return f"**BELOW THE {words.upper()}** ({certain})"
    return f"above the {words}" if apart.low > 0 else f"level with the {words}"


def rank(findings: Findings, name: str, metric: str, system: str) -> str:
    """Who is best among the systems that train one model per set."""
    known = {each: findings.sample(each, name, metric) for each in findings.systems if each != JOINT or each == system}
    scores = {each: sample.value for each, sample in known.items() if sample is not None}
    best = max(scores, key=lambda each: scores[each])
    if best == system:
        return " Best of all systems."
    return f" Best: {SYSTEMS[best].title}, {number(scores[best])}."


def goals(findings: Findings) -> Iterator[str]:
    yield never_below(findings, "never below the probe", ("probe",))
    yield never_below(findings, "never below anything without fine-tuning: constant, cosine or probe", UNTRAINED)
    for title, names in findings.groups().items():
        yield first_on_average(findings, title, names)
    yield joint_close(findings)


def never_below(findings: Findings, goal: str, systems: tuple[str, ...]) -> str:
    below, missing = [], []
    for name in findings.cuts:
        ours, control = findings.sample(OURS, name), findings.control(name, systems=systems)
        if ours is None or control is None:
            missing.append(SETS[name].title)
        elif ours.value < control[1].value:
            below.append(SETS[name].title)
    rest = f" Not measured yet on {', '.join(missing)}." if missing else ""
    if below:
        return f"{goal}: **MISSED** on {', '.join(below)}.{rest}"
    return f"{goal}: {'not measured yet' if missing else 'reached'}.{rest}"


def first_on_average(findings: Findings, title: str, names: list[str]) -> str:
    goal = f"first on average over {title}"
    able = [
        each for each in SYSTEMS if each != JOINT and all(SYSTEMS[each].fits(findings.cuts[name]) for name in names)
    ]
    averages = {each: findings.average(each, names) for each in able}
    known: dict[str, Sample] = {each: sample for each, sample in averages.items() if sample is not None}
    if missing := [SYSTEMS[each].title for each in able if each not in known]:
        return f"{goal}: not measured yet ({', '.join(missing)} is missing or incomplete)."
    ours = known.pop(OURS)
    best = max(known, key=lambda each: known[each].value)
    apart = (ours - known[best]).estimate
    state = "reached" if apart.value > 0 else "**MISSED**"
    return f"{goal}: {state}; {with_interval(apart, sign=True)} to the best other system, {SYSTEMS[best].title}."


def joint_close(findings: Findings) -> str:
    goal = "one model for all sets within one point of one model per set, on average"
    single, joint = (findings.average(system, list(findings.cuts)) for system in (OURS, JOINT))
    if single is None or joint is None:
        return f"{goal}: not measured on all sets."
    apart = (joint - single).estimate
    state = "reached" if apart.value >= -MOST_LOSS else "**MISSED**"
    return f"{goal}: {state}; {with_interval(apart, sign=True)}."
