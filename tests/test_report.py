"""Comparison results and error analyses -> HTML, Markdown, CSV and figures, whatever the texts contain."""

import csv
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from minbert.cli.comparison_summary import show_comparison
from minbert.comparison.results import BETTER, NO_EVIDENCE, OVERALL, WORSE, ComparisonResults, TrialCost
from minbert.report import write_comparison, write_figures, write_run
from minbert.report.charts.cost_scatter import CostPoint, pareto_front, staircase
from minbert.report.cost_section import differing_axes
from minbert.report.number_format import byte_size, decimals_for, duration_text, fixed, p_value, short_count, signed
from minbert.report.scales import Scale, linear_ticks, log_ticks, padded_range, tick_labels
from minbert.report.sentences import comparison_headline, join_names, measures_in_order
from minbert.report.series_styles import SeriesStyle
from minbert.report.svg import Drawing, file_name, set_tooltip, wrap_label, write_svg
from tests.browser.samples import HOSTILE, analysis, broken, difference, many, one_seed, whole

SVG = "{http://www.w3.org/2000/svg}"


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def with_results(results: ComparisonResults, **outcomes: str) -> ComparisonResults:
    """The same comparison with other results on the overall score, by the first word of the label."""
    systems = tuple(
        replace(each, differences={OVERALL: difference(0.01, outcomes[each.label.split()[0]])})
        if each.label.split()[0] in outcomes
        else each
        for each in results.systems
    )
    return replace(results, systems=systems)


# ---- sentences --------------------------------------------------------------------------------------------


def test_the_headline_follows_the_results() -> None:
    assert comparison_headline(whole()) == (
        "“gradient surgery” is ahead of baseline by 0.015 in overall score.",
        "baseline is ahead of “frozen encoder” by 0.066 in overall score.",
        "There is no evidence of a difference between baseline and “low rank” or smart in overall score.",
    )


def test_without_evidence_no_recipe_is_called_better() -> None:
    results = with_results(whole(), gradient=NO_EVIDENCE, low=NO_EVIDENCE, smart=NO_EVIDENCE, frozen=NO_EVIDENCE)
    assert comparison_headline(results) == (
        "There is no evidence that any recipe differs from baseline in overall score.",
    )


def test_several_ahead_are_named_with_the_range_of_their_differences() -> None:
    results = with_results(whole(), gradient=BETTER, low=BETTER, smart=WORSE, frozen=WORSE)
    ahead, behind = comparison_headline(results)
    assert ahead.startswith("“gradient surgery” and “low rank” are ahead of baseline by 0.010 to 0.010")
    assert behind.startswith("baseline is ahead of smart and “frozen encoder”")


def test_a_long_list_names_the_first_few() -> None:
    assert join_names(["a", "b", "c", "d", "e"]) == "a, b, c, d and e"
    assert join_names(["a", "b", "c", "d", "e", "f"]) == "a, b, c, d and 2 others"


def test_the_overall_score_of_a_single_task_is_not_shown_twice() -> None:
    assert measures_in_order(one_seed()) == ["sst.accuracy"]
    assert measures_in_order(whole())[0] == OVERALL


def test_numbers_are_formatted_for_people() -> None:
    assert fixed(-0.5, 2) == "−0.50" and signed(0.5, 1) == "+0.5" and fixed(None, 2) == fixed(float("nan"), 2) == "–"
    assert p_value(0.0004) == "< 0.001" and p_value(0.0312) == "0.031"
    assert [short_count(x) for x in (950, 1200, 12_345, 999_600, 22_720_000)] == [
        "950",
        "1,200",
        "12.3 k",
        "1.00 M",
        "22.7 M",
    ]
    assert byte_size(91.4e6) == "91.4 MB" and duration_text(42) == "42 s" and duration_text(741) == "12.3 min"


@pytest.mark.parametrize(
    ("standard_errors", "decimals"),
    [([0.0041], 3), ([0.012], 2), ([0.0004], 4), ([1.7], 0), ([None], 3), ([0.002, 0.03, 0.04], 2), ([1e-9], 4)],
)
def test_the_last_decimal_is_the_first_digit_of_the_standard_error(
    standard_errors: list[float | None], decimals: int
) -> None:
    assert decimals_for(standard_errors) == decimals


def test_page_markdown_and_terminal_show_the_same_decimals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_comparison(whole(), tmp_path)
    show_comparison(whole())
    # the standard error of the mean of five seeds is about 0.0017
    for text in (read(tmp_path / "report.html"), read(tmp_path / "report.md"), capsys.readouterr().out):
        assert "0.778 ± 0.004" in text and "+0.015" in text and "0.7780" not in text


# ---- charts -------------------------------------------------------------------------------------------


def test_ticks_are_round_and_inside() -> None:
    assert linear_ticks(0.03, 1.02, 5) == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert linear_ticks(-0.011, 0.021, 3) == [-0.01, 0.0, 0.01, 0.02]
    assert log_ticks(9e3, 3e7) == [1e4, 1e5, 1e6, 1e7]
    assert tick_labels([-0.05, 0.0, 0.05], sign=True) == ["−0.05", "0", "+0.05"]
    assert Scale(0, 10, 100, 200)(2.5) == 125 and Scale(1, 100, 0, 10, log=True)(10) == 5


@pytest.mark.parametrize("values", [[], [0.5], [0.0, 0.0], [float("nan"), 0.7]])
def test_a_range_is_never_empty(values: list[float]) -> None:
    low, high = padded_range(values)
    assert low < high and linear_ticks(low, high)


def test_no_point_on_the_pareto_front_is_beaten_at_the_same_cost() -> None:
    points = [
        CostPoint(label, SeriesStyle(1), cost, score, None, None, "")
        for label, cost, score in [
            ("dear", 4, 0.8),
            ("cheap", 1, 0.5),
            ("beaten", 3, 0.6),
            ("good", 2, 0.7),
            ("twin", 2, 0.6),
        ]
    ]
    assert [point.label for point in pareto_front(points, rising=True)] == ["cheap", "good", "dear"]
    # of errors the lowest is best: no point beats the cheapest at any cost
    assert [point.label for point in pareto_front(points, rising=False)] == ["cheap"]
    assert staircase([(1, 9), (2, 5)]) == [(1, 9), (2, 9), (2, 5)]


def test_a_figure_is_self_contained_and_well_formed(tmp_path: Path) -> None:
    drawing = Drawing(100, 50, f"about {HOSTILE}\x00")
    set_tooltip(drawing.dot(1.26, -0.04, 3, "point"), "a < b & c")
    write_svg(tmp_path / "a.svg", drawing)
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert root.get("aria-label") == f"about {HOSTILE}�"
    assert "prefers-color-scheme: dark" in (root.findtext(f"{SVG}style") or "")
    dot = root.find(f"{SVG}circle")
    assert (
        dot is not None
        and (dot.get("cx"), dot.get("cy")) == ("1.3", "0")
        and dot.findtext(f"{SVG}title") == "a < b & c"
    )
    assert root.get("viewBox") == "-20 -20 140 90"


def test_figures_of_a_comparison_have_distinct_names(tmp_path: Path) -> None:
    paths = write_figures(broken(), tmp_path).values()
    assert len({path.name for path in paths}) == len(paths)
    for path in paths:
        root = ElementTree.parse(path).getroot()
        assert not [element for element in root.iter() if element.tag.endswith("script")]
    names = {path.stem for path in paths}
    assert {"differences-overall", "cost-memory", "curves-sst.accuracy", "seeds-overall", "transfer-then"} <= names
    assert file_name("../a b") == "a-b" and file_name("<>") == "figure"


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("a label of words", ["a label of", "words"]),
        ("one-two_three-four", ["one-two_", "three-four"]),
        ("x" * 25, ["x" * 10, "x" * 10, "x" * 5]),
    ],
)
def test_a_long_label_is_wrapped_and_never_cut(words: str, lines: list[str]) -> None:
    assert wrap_label(words, 10.0, letter=1.0) == lines


def test_charts_show_the_whole_labels_of_recipes(tmp_path: Path) -> None:
    for path in write_figures(many(), tmp_path).values():
        text = "".join(ElementTree.parse(path).getroot().itertext())
        assert "…" not in text and ".toml" not in text
        if path.stem.startswith(("differences", "seeds")):
            assert "cross-encoder-with-cosine-similarity-head" in text


@pytest.mark.parametrize(
    ("budget", "costs"),
    [
        ("10 minutes of training each", ["training steps", "training tokens", "memory"]),
        ("whole recipes", ["training time", "training steps", "training tokens", "memory"]),
    ],
)
def test_the_cost_chart_shows_costs_that_differ_under_the_budget(budget: str, costs: list[str]) -> None:
    results = replace(many(), budget=budget)
    assert [axis.name for axis in differing_axes([each.cost for each in results.systems if each.cost], budget)] == costs
    same = [TrialCost(600, 1200, 1e6, 1, 1, 1e9, 1e8)] * 3
    assert differing_axes(same, budget) == []


# ---- files of a comparison -----------------------------------------------------------------------------


def test_a_page_needs_nothing_from_outside(tmp_path: Path) -> None:
    write_comparison(whole(), tmp_path)
    page = read(tmp_path / "report.html").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|@import|url\(|<link rel=\"stylesheet|<img|src=", page)
    assert "default-src 'none'" in page


def test_texts_of_users_are_escaped(tmp_path: Path) -> None:
    write_comparison(broken(), tmp_path)
    write_run(analysis(), tmp_path / "run")
    for path in (tmp_path / "report.html", tmp_path / "run/report.html"):
        page = read(path)
        assert HOSTILE not in page and "alert(" in page
        # only our own script, and data blocks that do not end early
        blocks = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
        assert [kind for kind, _ in blocks if not kind] == [""]
        rows = [row for kind, text in blocks if kind for row in json.loads(text)]
        assert path.parent == tmp_path or any("</script><b> &" in text for row in rows for text in row["texts"])
    assert "<script" not in read(tmp_path / "report.md") and "<b>" not in read(tmp_path / "report.md")


def test_an_incomplete_comparison_says_so_with_the_reasons(tmp_path: Path) -> None:
    write_comparison(broken(), tmp_path)
    for name in ("report.html", "report.md"):
        text = read(tmp_path / name)
        assert "Incomplete: 7 of 30 training runs have no result" in text
        assert "the loss is not a number from step 40 on" in text and "seeds 11, 12, 13, 14, 15 not trained yet" in text
        assert (
            "Incomplete: some training runs that show whether sharing helps have no result" in text
            and "out of memory" in text
        )
        assert "The training runs used different devices: cpu (3)" in text
    write_comparison(whole(), tmp_path)
    assert "Caveats" not in read(tmp_path / "report.html")
    assert "Incomplete" not in read(tmp_path / "report.html")


def test_sections_without_data_are_left_out(tmp_path: Path) -> None:
    write_comparison(whole(), tmp_path / "all")
    write_comparison(one_seed(), tmp_path / "few")
    sections = {
        name: re.findall(r'<section id="([a-z]+)"', read(tmp_path / name / "report.html")) for name in ("all", "few")
    }
    assert sections["all"] == [
        "differences", "results", "cost", "curves", "seeds", "recipes", "sharing", "method", "reproduce"
    ]  # fmt: skip
    assert sections["few"] == ["differences", "results", "cost", "seeds", "recipes", "method", "reproduce"]
    assert "another seed may change the order" in read(tmp_path / "few/report.html")


def test_the_method_names_the_correction_and_the_minimum_detectable_effect(tmp_path: Path) -> None:
    write_comparison(whole(), tmp_path)
    text = read(tmp_path / "report.md")
    # 1.4 times half of the interval, 0.0062
    assert "16 differences were tested together" in text and "Holm" in text and "0.009 in overall score" in text


def test_results_csv_has_one_row_per_recipe_and_measure(tmp_path: Path) -> None:
    write_comparison(broken(), tmp_path)
    rows = read_csv(tmp_path / "results.csv")
    assert len(rows) == 6 * 4
    found = {(row["recipe"], row["measure"]): row for row in rows}
    smart = found["smart", "overall"]
    assert float(smart["difference"]) == -0.0018 and smart["difference_result"] == NO_EVIDENCE
    assert smart["trainable_parameters"] == smart["parameters"] == "22720000"
    assert float(smart["mean"]) == pytest.approx(0.7615) and smart["seeds"] == "5" and float(smart["memory"]) == 2.31e9
    assert found["baseline", "overall"]["difference"] == "" and found[HOSTILE, "overall"]["seeds"] == "5"
    assert found["never trained", "overall"]["mean"] == "" and found["never trained", "overall"]["seeds"] == "0"
    seeds = read_csv(tmp_path / "tables/seeds.csv")
    assert {row["state"] for row in seeds} == {"finished", "failed", "missing"}


def test_markdown_shows_the_figures_that_were_written(tmp_path: Path) -> None:
    figures = write_figures(whole(), tmp_path / "some pictures")
    write_comparison(whole(), tmp_path / "page", figures)
    text = read(tmp_path / "page/report.md")
    shown = re.findall(r"!\[(.+)\]\((.+)\)", text)
    assert len(shown) == len(figures) and "some%20pictures" in shown[0][1]
    assert {(tmp_path / "page" / unquote(path)).resolve() for _, path in shown} == set(figures.values())
    assert "## Learning curves" in text and "Above 0 is better" in text


def test_markdown_without_figures_has_no_empty_headings_and_does_not_mention_clicks(tmp_path: Path) -> None:
    write_comparison(whole(), tmp_path)
    text = read(tmp_path / "report.md")
    assert "## Learning curves" not in text and "gradients conflict" not in text and "## Every seed" in text
    lines = [line for line in text.splitlines() if line]
    for line, following in pairwise(lines):
        if line.startswith("#"):
            # a section may begin with a subsection
            assert not following.startswith("#") or following.startswith(line.split()[0] + "#"), line
    assert "lick" not in text and "legend" not in text
    # the names of tasks and metrics are not capitalized
    assert "Details: sts Pearson's r:" in text
    page = read(tmp_path / "report.html")
    assert "Click a column to sort" in page and "Click the legend to show or hide a recipe" in page


def test_markdown_tables_have_the_same_columns_in_every_row(tmp_path: Path) -> None:
    results = whole()
    first = replace(results.systems[0], label="a | b\nc", changes=(("x", "a|b", "`c`"),))
    write_comparison(replace(results, systems=(first, *results.systems[1:])), tmp_path)
    width = None
    for line in read(tmp_path / "report.md").splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        assert cells is None or width is None or cells == width, line
        width = cells


# ---- files of a run ------------------------------------------------------------------------------------


def test_the_page_of_a_run_shows_its_errors(tmp_path: Path) -> None:
    found = analysis()
    write_run(found, tmp_path)
    page = read(tmp_path / "report.html")
    for words in (
        "Hardest rows",
        "Where the two runs disagree",
        "Dev rows in the training data",
        "Errors by gold score",
    ):
        assert words in page
    films = found.tasks["films"].classification
    assert films is not None
    confusion = read_csv(tmp_path / "tables/confusion.csv")
    assert [int(row["rows"]) for row in confusion] == [number for row in films.confusion for number in row]
    assert sum(int(row["rows"]) for row in confusion) == 120
    hardest = read_csv(tmp_path / "tables/hardest.csv")
    assert [row["id"] for row in hardest if row["task"] == "films"] == [e.id for e in found.tasks["films"].hardest_rows]


def test_a_run_alone_has_no_disagreements(tmp_path: Path) -> None:
    write_run(analysis(other=False), tmp_path)
    assert "disagree" not in read(tmp_path / "report.html").split("<main")[1].split("<footer")[0]
    assert not (tmp_path / "tables/disagreements.csv").exists()


def test_the_headline_of_two_runs_has_the_scores_of_both(tmp_path: Path) -> None:
    found = analysis()
    write_run(found, tmp_path)
    films = found.tasks["films"]
    own, other = films.scores["accuracy"], (films.other_scores or {})["accuracy"]
    assert own != other
    header = read(tmp_path / "report.html").split("<main")[0]
    assert f"films: accuracy {own:.3f} for runs/mine and {other:.3f} for runs/&lt;other&gt;" in header
    write_run(analysis(other=False), tmp_path)
    assert f"films: accuracy {own:.3f} (constant" in read(tmp_path / "report.html")
