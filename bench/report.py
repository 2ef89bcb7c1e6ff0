"""bench.json -> a Markdown table, a chart, and a documentation page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.row import Results, Row

GOOD, BAD, FAINT = "#2a7f62", "#c2512f", "#8a8a8a"
INTRO = """# Benchmarks

minbert and its peers on one machine. Ratios of speed come from interleaved rounds in one process, ours and the peer's,
on the same examples with the same weights and the same number of threads. Each is the median over the rounds, with the
middle half of them in parentheses. Memory, the cost of a row and startup times are measured in separate processes. A
higher ratio is always better. `make bench` repeats all measurements, `make bench QUICK=1` takes about three minutes and
is less precise; `.venv/bin/python -m bench --docs` then writes this page from build/bench.json.
"""
CAVEATS = """## What to know about these numbers

- Training: a round is one step of each task; we compare the time per real token, not counting padding. The rows are
  batches of all lengths, taken from 50 that transformers grouped by length; every side trains on all of them.
- Embedding and whole runs include everything from reading the files to writing the results, but not the import of the
  libraries. With fewer sentences, loading the model weighs more than with 50,000
  (`python -m bench --only embed --sentences 50000`).
- An engine whose vectors rank the STS pairs worse than fp32 by more than .001 is mentioned in the notes but not
  counted.
- Matrix work counts the products of the encoder's layers and of attention within sequences, three times in training.
- The cost of a row is measured with a random encoder of one layer, so that the work around the encoder is visible.
- A row marked *busy* was measured while the machine was also doing something else: repeat the measurement.
- These figures are for this machine. On processors with bf16 units the ratios differ, because both sides then compute
  in bf16.
"""


def write_reports(results: Results) -> None:
    """Write the table and the chart next to bench.json."""
    text = f"{machine_text(results.machine)}\n\n{table(list(results.rows.values()))}\n{notes(results)}"
    results.path.with_suffix(".md").write_text(text, encoding="utf-8")
    draw(list(results.rows.values()), results.path.with_suffix(".png"))


def write_docs(results: Results, folder: Path) -> Path:
    rows = list(results.rows.values())
    draw(rows, folder / "benchmarks.png")
    page = folder / "benchmarks.md"
    parts = [
        INTRO,
        "## The machine\n",
        machine_text(results.machine) + "\n",
        "## Results\n",
        table(rows),
        "![ratios against goals](benchmarks.png)\n",
        notes(results),
        CAVEATS,
    ]
    page.write_text("\n".join(parts), encoding="utf-8")
    return page


def machine_text(machine: dict[str, Any]) -> str:
    bf16 = machine["bf16_gflops"]
    rates = f"{machine['fp32_gflops']:.0f} GFLOP/s in fp32" + (f", {bf16:.0f} in bf16" if bf16 else ", no bf16 units")
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['threads']} threads used, "
        f"{machine['memory_gb']:.0f} GB; {', '.join(machine['capabilities'])}; square matrix products at {rates}. "
        f"Python {machine['python']}, {', '.join(machine['versions'])}, minbert {machine['minbert']}."
    )


# ---- the table ----------------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    lines = ["| work | peer | minbert | peer's value | ratio | goal | result |", "|---|---|--:|--:|--:|--:|---|"]
    for row in rows:
        cells = [row.name, f"{row.peer_name}", number(row.ours, row.unit), number(row.peer, row.unit)]
        cells += [ratio_with_spread(row), f"{ratio(row.goal, row)}", goal_result(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def notes(results: Results) -> str:
    lines = ["Notes:\n"]
    for row in results.rows.values():
        details = ", ".join(filter(None, [row.peer_version, f"{row.size} sizes", row.measured[:10]]))
        lines.append(f"- {row.key} ({details}): {row.note or 'no remarks'}.")
    return "\n".join(lines) + "\n"


def goal_result(row: Row) -> str:
    if row.reached is None:
        return "not measured"
    return ("reached" if row.reached else "missed") + (", *busy*" if row.busy else "")


def number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def ratio(value: float, row: Row) -> str:
    """Goals below 1 are written as percentages."""
    return f"{value:.0%}" if row.goal < 1 else f"{value:.2g}x" if value < 10 else f"{value:.0f}x"


def ratio_with_spread(row: Row) -> str:
    if row.ratio is None:
        return ""
    if row.spread is None:
        return ratio(row.ratio, row)
    low, high = (ratio(value, row) for value in row.spread)
    return f"{ratio(row.ratio, row)} ({low} to {high})"


# ---- the chart ----------------------------------------------------------------------------------------


def draw(rows: Sequence[Row], path: Path) -> None:
    """One bar per row: the ratio divided by its goal, so that different kinds of rows are comparable."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(10, 0.55 * len(rows) + 1.4))
    shares = [0.0 if row.ratio is None else row.ratio / row.goal for row in rows]
    most = max([1.0, *shares])
    for place, (row, share) in enumerate(zip(rows, shares, strict=True)):
        if row.ratio is None:
            axes.text(0.01 * most, place, "not measured", va="center", color=FAINT, fontsize=8)
            continue
        axes.barh(place, share, height=0.6, color=GOOD if row.reached else BAD, alpha=0.45 if row.busy else 1)
        if row.spread is not None:
            low, high = (value / row.goal for value in row.spread)
            axes.plot([low, high], [place, place], color="black", linewidth=1)
        words = f"{ratio(row.ratio, row)}, goal {ratio(row.goal, row)}" + (", busy" if row.busy else "")
        right = max(share, row.spread[1] / row.goal if row.spread else 0)
        # a white background, so that the goal line does not cross the text
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.text(right + 0.01 * most, place, words, va="center", fontsize=8, bbox=box)
    axes.axvline(1, color="black", linewidth=1, linestyle=(0, (4, 3)))
    axes.set_yticks(range(len(rows)), [f"{row.name}\n{row.peer_name}" for row in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)  # the first row at the top
    axes.set_xlim(0, most * 1.25)
    axes.set_xlabel("ratio to the peer, divided by its goal (dashed: the goal)", fontsize=8)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=150, bbox_inches="tight", facecolor="white")
    pyplot.close(figure)
