"""Findings -> docs/quality.md."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from bench.quality.cells import Cell
from bench.quality.estimates import Findings, Sample
from bench.quality.schedule import FACTOR, LEAST, SYSTEMS
from bench.quality.scores import ROUNDS
from bench.quality.sets import SETS
from bench.quality.verdicts import METRIC_TITLES, OURS, goals, verdicts, with_interval

INTRO = """# Quality by default

How good is the model that each tool makes from a file with its default settings? Every system gets the same training
rows, the same backbone (all-MiniLM-L6-v2) and the same number of threads, and none of them sees the dev rows before it
predicts them. `make bench-quality` measures what is missing and writes this page; it can be
interrupted and started again. `make bench-quality QUICK=1` tries two sets with 300 rows.
"""
HOW = f"""## How it was measured

- **Rows.** At most 1,000 training rows per set, drawn once with a fixed seed so that each label keeps its share
  (scores: each decile). Dev rows as published, at most 2,000. The data is not part of this repository.
- **constant answer**: the most frequent label, or the mean score.
- **untrained cosine** (similarity only): the cosine of the two sentence vectors, nothing trained.
- **probe**: sentence-transformers vectors of the untouched backbone, then scikit-learn's `LogisticRegression` (default
  C) or, for scores, `RidgeCV`. Pairs get the features [u, v, |u - v|, u * v].
- **minbert**: `minbert train FILE --out RUN`, no option but the seed. It takes its dev rows from the training file.
- **minbert, one model for all sets**: `minbert train FILE FILE ... --out RUN` with all sets at once.
- **Hugging Face Trainer**: `AutoModelForSequenceClassification`, three epochs, learning rate 5e-5, batches of 16, pairs
  as text pairs, one output with the squared error for scores, the last model is kept; fp32.
- **SetFit**: its `Trainer` with defaults. It has no mode for pairs, so it is left out there. By default it passes over
  all pairs of training rows, which would take days here, so `max_steps` always bounds it.
- **Budget.** Each tool takes as long as its defaults do, with the same number of threads; the CPU seconds are below.
  Only SetFit is bounded: its steps may take {FACTOR:g} times the CPU seconds of minbert on the same set, and at least
  {LEAST:.0f} seconds. A few steps are timed first (included in its seconds), and `max_steps` is set to what fits,
  so its learning rate schedule still ends at zero. Each case is listed under CPU seconds.
- **Intervals** (95 %) cover the choice of dev rows and of seeds: each of {ROUNDS:,} rounds draws dev rows and,
  independently, seeds with replacement and takes the mean score; the interval holds the middle 95 % of the rounds.
  Differences use the same rows for both systems. An average over sets draws each set by itself. Three seeds
  underestimate the part that comes from seeds. Constant, cosine and probe do not depend on a seed and run once.
- minbert's defaults were tuned on these sets: mostly on training rows, but some choices were made in sight of the dev
  rows. So this page flatters minbert a little; sets that took no part in it are the fair test.
- The backbone was trained on sentence pairs by its makers (SNLI, MNLI, Quora and captions among them), which helps all
  systems alike.
"""
COMMANDS = """## Commands

    make bench-quality                                          # everything that is missing, then this page
    .venv/bin/python -m bench.quality --systems minbert --sets sst,sts --seeds 0
    .venv/bin/python -m bench.quality --only-page
"""


def write_page(findings: Findings, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(findings), encoding="utf-8")
    return path


def page(findings: Findings) -> str:
    if not findings.cells:
        return f"{INTRO}\nNothing was measured yet.\n"
    parts = [
        INTRO,
        "## Verdict\n",
        bullets(goals(findings)),
        "minbert, set by set, against the best of constant answer, probe and untrained cosine:\n",
        bullets(verdicts(findings)),
        *joint_part(findings),
        f"## Scores\n\nThe mean over seeds and its 95 % interval. Number of seeds: {seed_counts(findings)}.\n",
        table(findings, lambda sample, _: with_interval(sample.estimate)),
        "## Difference to the probe\n",
        table(findings, difference, leave_out=("probe",)),
        "## CPU seconds\n",
        seconds_table(findings),
        HOW,
        COMMANDS,
        "## Machine and versions\n",
        machine(findings),
    ]
    return "\n".join(parts)


def seed_counts(findings: Findings) -> str:
    """How many seeds each system has; "2 to 3" if not all sets have as many."""
    said = []
    for system in findings.systems:
        if SYSTEMS[system].seeded:
            known = (len(findings.of(system, name)) for name in findings.cuts)
            counts = sorted({count for count in known if count})
            said.append(f"{SYSTEMS[system].title}: {' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))}")
    return "; ".join(said) or "none of these systems depends on one"


def bullets(lines: Any) -> str:
    return "".join(f"- {line}\n" for line in lines)


def joint_part(findings: Findings) -> list[str]:
    if "joint" not in findings.systems:
        return []
    return ["One model for all sets:\n", bullets(verdicts(findings, "joint"))]


# ---- tables -------------------------------------------------------------------------------------------


def table(findings: Findings, cell: Callable[[Sample, Sample | None], str], leave_out: Sequence[str] = ()) -> str:
    """One row per set and metric, then the averages; one column per system. A cell gets its sample and the probe's."""
    systems = [name for name in findings.systems if name not in leave_out]
    rows = []
    for name, cut in findings.cuts.items():
        for metric in cut.set.metrics:
            samples = [findings.sample(system, name, metric) for system in systems]
            probe = findings.sample("probe", name, metric)
            rows.append([f"{cut.set.title}, {METRIC_TITLES[metric]}", *cells(samples, probe, cell)])
    for title, names in findings.groups().items():
        samples = [findings.average(system, names) for system in systems]
        rows.append([f"**average, {title}**", *cells(samples, findings.average("probe", names), cell)])
    return markdown(["set", *(SYSTEMS[system].title for system in systems)], rows)


def cells(samples: Sequence[Sample | None], probe: Sample | None, cell: Callable[..., str]) -> list[str]:
    return ["" if sample is None else cell(sample, probe) for sample in samples]


def difference(sample: Sample, probe: Sample | None) -> str:
    return "" if probe is None else with_interval((sample - probe).estimate, sign=True)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


# ---- costs --------------------------------------------------------------------------------------------


def seconds_table(findings: Findings) -> str:
    rows = []
    for name in findings.cuts:
        found = [findings.of(system, name) for system in findings.systems]
        rows.append([SETS[name].title, *(seconds(each) for each in found)])
    header = ["set", *(SYSTEMS[system].title for system in findings.systems)]
    return f"Mean CPU seconds from start to predictions.\n\n{markdown(header, rows)}\n{limits(findings)}"


def seconds(found: Sequence[Cell]) -> str:
    if not found:
        return ""
    return f"{mean(each.cpu_seconds for each in found):,.0f}" + (" for all" if len(found[0].group) > 1 else "")


def limits(findings: Findings) -> str:
    """Where a peer was cut by the budget, where it exceeded it, and other remarks."""
    lines = []
    for system in findings.systems:
        for name in findings.cuts:
            found = findings.of(system, name)
            where = f"{SYSTEMS[system].title}, {SETS[name].title}"
            steps = [f"{each.answer.steps:,} of {each.answer.full_steps:,}" for each in found if each.answer.cut]
            if steps:
                lines.append(f"{where}: cut by the budget to {', '.join(dict.fromkeys(steps))} steps.")
            elif SYSTEMS[system].limited and over_budget(findings, found, name):
                lines.append(
                    f"{where}: **not cut**, although it took more than {FACTOR:g} times the CPU seconds of minbert."
                )
        lines += [f"{SYSTEMS[system].title}: {note}." for note in notes_of(findings, system)]
    return bullets(lines)


def notes_of(findings: Findings, system: str) -> list[str]:
    found = [cell.answer.note for cell in findings.cells if cell.system == system]
    return [note for note in dict.fromkeys(found) if note]


def over_budget(findings: Findings, found: Sequence[Cell], name: str) -> bool:
    ours = findings.of(OURS, name)
    if not ours or not found:
        return False
    allowed = max(LEAST * found[0].threads, FACTOR * mean(each.cpu_seconds for each in ours))
    # the budget is for training steps; the rest of the process is small
    return mean(each.cpu_seconds for each in found) > 1.2 * allowed


def machine(findings: Findings) -> str:
    lines: dict[str, list[str]] = {}
    for cell in findings.cells:
        lines.setdefault(machine_line(cell), []).append(SYSTEMS[cell.system].title)
    machines = [f"{line} ({', '.join(dict.fromkeys(systems))})" for line, systems in lines.items()]
    versions: dict[str, set[str]] = {}
    for cell in findings.cells:
        for package, number in cell.versions.items():
            versions.setdefault(package, set()).add(number)
    named = ", ".join(f"{package} {' and '.join(sorted(found))}" for package, found in sorted(versions.items()))
    days = sorted({cell.measured[:10] for cell in findings.cells})
    dates = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    differ = "\nCPU seconds that were measured on different machines do not compare.\n" if len(lines) > 1 else ""
    return bullets(machines) + f"{differ}\nMeasured {dates}. {named}.\n"


def machine_line(cell: Cell) -> str:
    found = cell.machine
    return (
        f"{found['cpu']}, {found['cores']} cores, threads used: {cell.threads}, {found['memory_gb']:.0f} GB, "
        f"{', '.join(found['capabilities'])}; Python {found['python']}"
    )
