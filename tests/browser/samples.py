"""Comparison results and predictions with plausible numbers, made by hand, so that nothing has to be trained."""

from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

import numpy as np

from minbert.analysis.leaks import TrainingRows
from minbert.analysis.run_analysis import RunAnalysis, analyze_task
from minbert.comparison.results import (
    BETTER,
    NO_EVIDENCE,
    OVERALL,
    WORSE,
    ComparisonResults,
    Curve,
    Gain,
    ScoreDifference,
    Summary,
    System,
    Transfer,
    TrialCost,
)
from minbert.config.task import Task
from minbert.data.leaks import index_training_rows
from minbert.data.text_keys import example_keys
from minbert.runs.predictions import DevPredictions

HOSTILE = "<script>alert('label')</script>"
TASKS = {
    "sst": Task("sst", Path(), kind="classify", text=("sentence",), label="sentiment", labels=(0, 1, 2, 3, 4)),
    "quora": Task("quora", Path(), kind="classify", text=("a", "b"), label="is_duplicate", labels=(0, 1)),
    "sts": Task("sts", Path(), kind="score", text=("a", "b"), label="similarity", range=(0, 5)),
}
MEASURES = ("sst.accuracy", "quora.accuracy", "sts.pearson", OVERALL)
SEEDS = (11, 12, 13, 14, 15)
BASE = {"sst.accuracy": 0.512, "quora.accuracy": 0.846, "sts.pearson": 0.864, OVERALL: 0.7633}
# the seeds of a recipe around its mean
SPREAD = (-0.0031, 0.0012, 0.0043, -0.0049, 0.0025)


def summary(center: float, spread: tuple[float, ...] = SPREAD) -> Summary:
    values = {seed: center + offset for seed, offset in zip(SEEDS, spread, strict=False)}
    found = list(values.values())
    if len(found) < 2:
        return Summary(found[0], None, None, None, values)
    # Student's t for five seeds
    half = 2.776 * stdev(found) / len(found) ** 0.5
    return Summary(mean(found), stdev(found), mean(found) - half, mean(found) + half, values)


def difference(value: float, result: str, half: float = 0.0062, p: float | None = None) -> ScoreDifference:
    p = p if p is not None else (0.31 if result == NO_EVIDENCE else 0.0004)
    return ScoreDifference(
        value=value,
        low=value - half,
        high=value + half,
        corrected_low=value - (half if result != NO_EVIDENCE else max(1.5 * half, 1.2 * abs(value))),
        corrected_high=value + (half if result != NO_EVIDENCE else max(1.5 * half, 1.2 * abs(value))),
        p=p,
        corrected=min(1.0, p * 9),
        p_rows=p / 2,
        minimum_detectable_effect=half * 1.4,
        effect=value / 0.004,
        errors_removed=value / (1 - BASE[OVERALL]),
        result=result,
        seeds=5,
    )


def curve(end: float, band: float = 0.008) -> Curve:
    steps = tuple(float(step) for step in range(100, 1300, 100))
    line = tuple(end - 0.22 * 0.72 ** (step / 100) for step in steps)
    return Curve(steps, line, tuple(y - band for y in line), tuple(y + band for y in line))


def system(
    label: str, about: str, gain: float, result: str, cost: TrialCost, changes: tuple[tuple[str, str, str], ...] = ()
) -> System:
    is_base = not changes
    weights = {"sst.accuracy": 1.6, "quora.accuracy": 0.5, "sts.pearson": 1.1, OVERALL: 1.0}
    outcomes = {"sst.accuracy": result, "quora.accuracy": NO_EVIDENCE, "sts.pearson": NO_EVIDENCE, OVERALL: result}
    wobble = SPREAD[len(label) % 5 :] + SPREAD[: len(label) % 5]
    return System(
        label=label,
        about=about,
        changes=changes,
        seeds=SEEDS,
        failed={},
        missing=(),
        summaries={m: summary(BASE[m] + gain * weights[m], wobble) for m in MEASURES},
        differences={} if is_base else {m: difference(gain * weights[m], outcomes[m]) for m in MEASURES},
        cost=cost,
        curves={m: curve(BASE[m] + gain * weights[m]) for m in MEASURES},
        cosines={
            ("sst", "quora"): curve(0.08 + gain, 0.03),
            ("sst", "sts"): curve(-0.02 + gain, 0.03),
            ("quora", "sts"): curve(0.31 + gain, 0.04),
        },
        runs={seed: f"trials/{label}-{seed}" for seed in SEEDS},
    )


def whole() -> ComparisonResults:
    """Five recipes, every kind of result, and the effect of sharing."""
    systems = (
        system(
            "gradient surgery",
            "PCGrad: conflicting gradients are projected",
            0.0147,
            BETTER,
            TrialCost(741, 1200, 9.1e6, 23_400_000, 22_800_000, 1.92e9, 91.4e6),
            (("balancer.kind", "sum", "pcgrad"), ("stages.0.sampler.kind", "round_robin", "all_at_once")),
        ),
        system(
            "low rank",
            "a rank-8 update in every layer, the rest frozen",
            0.0021,
            NO_EVIDENCE,
            TrialCost(402, 1200, 5.2e6, 23_100_000, 420_000, 1.18e9, 88.1e6),
            (("tasks.sst.adapters.0.kind", "left out", "lora"), ("stages.0.trainable", "all", "heads and adapters")),
        ),
        system(
            "baseline",
            "three heads on one encoder",
            0.0,
            "",
            TrialCost(600, 1200, 7.6e6, 22_720_000, 22_720_000, 1.6e9, 90.9e6),
        ),
        system(
            "smart",
            "adversarial smoothness",
            -0.0018,
            NO_EVIDENCE,
            TrialCost(1390, 1200, 7.6e6, 22_720_000, 22_720_000, 2.31e9, 90.9e6),
            (
                ("tasks.sst.regularizers.0.kind", "left out", "smart"),
                ("tasks.sst.regularizers.0.weight", "left out", "1.0"),
            ),
        ),
        system(
            "frozen encoder",
            "heads only",
            -0.0662,
            WORSE,
            TrialCost(188, 1200, 7.6e6, 22_720_000, 9_200, 0.74e9, 90.9e6),
            (("stages.0.trainable", "all", "heads"),),
        ),
    )
    return ComparisonResults(
        title="Five ways to share one encoder",
        baseline="baseline",
        tasks=TASKS,
        measures=MEASURES,
        seeds=SEEDS,
        systems=systems,
        complete=True,
        budget="1,200 steps per training run",
        backbone="all-MiniLM-L6-v2",
        tested=16,
        commands=(
            "minbert compare baseline surgery low-rank smart frozen --seeds 5 --budget 10m --sharing --out out",
            "minbert report compared",
        ),
        provenance={
            "minbert": "0.1.0",
            "torch": "2.8.0",
            "machine": "2 cores, 8 GB",
            "sst train sha256": "9f2c41d07c0aa31e5d3c8b7a1c5d60f2e3b4a5968778695a4b3c2d1e0f9a8b7c",
        },
        gains=(
            Gain("sst", summary(0.523), summary(0.512), difference(-0.011, WORSE, 0.006)),
            Gain("quora", summary(0.848), summary(0.846), difference(-0.002, NO_EVIDENCE, 0.004)),
            Gain("sts", summary(0.731), summary(0.864), difference(0.133, BETTER, 0.021)),
        ),
        transfers=tuple(
            Transfer(source, target, how, difference(value + (0.01 if how == "then" else 0), result, 0.012))
            for how in ("with", "then")
            for source, target, value, result in (
                ("sst", "quora", -0.004, NO_EVIDENCE),
                ("sst", "sts", 0.012, NO_EVIDENCE),
                ("quora", "sst", -0.019, WORSE),
                ("quora", "sts", 0.121, BETTER),
                ("sts", "sst", 0.002, NO_EVIDENCE),
                ("sts", "quora", 0.006, NO_EVIDENCE),
            )
        ),
    )


def broken() -> ComparisonResults:
    """The same with a hostile label, a failed and a missing training run, and a recipe without any result."""
    results = whole()
    first, second, *rest = results.systems
    first = replace(first, label=HOSTILE, failed={15: "the loss is not a number from step 40 on <b>"}, missing=(14,))
    nothing = replace(
        second,
        label="never trained",
        summaries={},
        differences={},
        cost=None,
        curves={},
        cosines={},
        runs={},
        missing=SEEDS,
    )
    return replace(
        results,
        systems=(first, second, *rest, nothing),
        complete=False,
        beside={f"alone: {HOSTILE}": {11: "out of memory <b>"}},
        caveats=("The training runs used different devices: cpu (3), <b>cuda:0</b> (2).",),
    )


MANY = (
    ("recipes/papers/c-pals/pals-annealed.toml", "projected attention layers, annealed sampling", 0.0124, BETTER),
    ("recipes/papers/a-surgery/gradient-surgery.toml", "conflicting gradients are projected", 0.0108, BETTER),
    ("recipes/cross-encoder-with-cosine-similarity-head.toml", "both texts in one pass", 0.0041, NO_EVIDENCE),
    ("recipes/lora.toml", "a rank-8 update in every layer", 0.0012, NO_EVIDENCE),
    ("baseline", "three heads on one encoder", 0.0, ""),
    ("recipes/papers/b-smart/smart.toml", "adversarial smoothness", -0.0018, NO_EVIDENCE),
    ("recipes/papers/b-smart/r-drop.toml", "two passes with different dropout", -0.0035, NO_EVIDENCE),
    ("recipes/uncertainty.toml", "losses weighted by their uncertainty", -0.0052, NO_EVIDENCE),
    ("recipes/papers/d-simcse/simcse-then-heads.toml", "contrastive training first", -0.0149, WORSE),
    ("recipes/frozen.toml", "heads only", -0.0662, WORSE),
)


def many() -> ComparisonResults:
    """Ten recipes, three tasks and a budget of time, with names as users write them."""
    changed = (("stages.0.sampler.name", "round_robin", "annealed"), ("optimizer.learning_rate", "5e-05", "0.00015"))
    systems = tuple(
        system(
            label,
            about,
            gain,
            result,
            TrialCost(595 + 3 * i, 1400 - 90 * i, 9.1e6 - 4e5 * i, 22_800_000, 22_800_000, 1.9e9 - 1e8 * i, 9.1e7),
            changed if result else (),
        )
        for i, (label, about, gain, result) in enumerate(MANY)
    )
    return replace(
        whole(),
        title="baseline and 9 others",
        systems=systems,
        budget="10 minutes of training each",
        tested=36,
        gains=(),
        transfers=(),
    )


def one_seed() -> ComparisonResults:
    """One seed, one task, two recipes; no sharing."""
    results = whole()
    names = ("sst.accuracy", OVERALL)

    def with_one_seed(each: System) -> System:
        return replace(
            each,
            seeds=SEEDS[:1],
            summaries={name: summary(each.summaries[name].mean, (0.0,)) for name in names},
            differences={
                name: replace(d, effect=None, seeds=1) for name, d in each.differences.items() if name in names
            },
            curves={},
            cosines={},
        )

    chosen = tuple(with_one_seed(each) for each in results.systems[1:3])
    tasks = {"sst": TASKS["sst"]}
    return replace(
        results, tasks=tasks, measures=names, seeds=SEEDS[:1], systems=chosen, tested=2, gains=(), transfers=()
    )


# ---- a run --------------------------------------------------------------------------------------------


def predictions(shift: int = 0) -> tuple[DevPredictions, DevPredictions]:
    """A classification and a regression task of 120 rows; `shift` makes the predictions of another run."""
    generator = np.random.default_rng(7)
    words = ["a", "good", "film", "with", "no", "plot", "but", "great", "story", "three", "dull", "actors", "nobody"]
    texts = [" ".join(generator.choice(words, 5 + i % 9)) for i in range(120)]
    texts[3] = f"a film {HOSTILE} </script><b> & nothing else"
    labels_N = generator.integers(0, 3, 120)
    near_NC = np.eye(3)[(labels_N + (generator.random(120) < 0.25) + shift * (np.arange(120) % 11 == 0)) % 3]
    noise_NC = generator.random((120, 3))
    probabilities_NC = (near_NC * 3 + noise_NC) / (3 + noise_NC.sum(1, keepdims=True))
    films = Task(
        "films",
        Path(),
        kind="classify",
        text=("review",),
        label="stars",
        labels=(0, 1, 2),
        label_names=("bad", "fair", "good"),
    )
    pairs = Task("pairs", Path(), kind="score", text=("one", "two"), label="likeness", range=(0, 5))
    ids = [f"row{i}" for i in range(120)]
    gold_N = generator.random(120) * 5
    scores_N = 0.8 * gold_N + 0.6 + generator.normal(0, 0.4 + shift * 0.1, 120)
    return (
        DevPredictions(films, ids, (texts,), labels_N, probabilities_NC),
        DevPredictions(pairs, ids, (texts, texts[::-1]), gold_N, scores_N),
    )


def analysis(other: bool = True) -> RunAnalysis:
    """The real analysis of those predictions, compared with another run."""
    # one of the rows is in the training data
    training = TrainingRows({"films": index_training_rows(example_keys(([predictions()[0].texts[0][5]],)))})
    found = {}
    for first, second in zip(predictions(), predictions(1), strict=True):
        found[first.task.name] = analyze_task(first, training, second if other else None)
    second_run = "runs/<other>" if other else None
    return RunAnalysis("runs/mine", second_run, 0.734, found, (), 0.701 if other else None)
