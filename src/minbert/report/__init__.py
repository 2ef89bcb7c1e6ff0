"""Comparison results and error analyses -> reports: a self-contained HTML page, Markdown, CSV tables, figures."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from minbert.comparison.results import ComparisonResults
from minbert.files import write_text
from minbert.report import csv_tables
from minbert.report.blocks import DESKTOP_WIDTH, Page
from minbert.report.comparison_page import comparison_page
from minbert.report.html import html_of
from minbert.report.markdown import markdown_of
from minbert.report.markers import with_legend
from minbert.report.svg import file_name, write_svg

if TYPE_CHECKING:
    # scipy, which it needs, takes a second
    from minbert.analysis import RunAnalysis


def write_comparison(results: ComparisonResults, folder: Path, figures: Mapping[str, Path] | None = None) -> list[Path]:
    """Write report.html, report.md, results.csv and tables/; return the paths.

    `figures`: what write_figures returned. The Markdown page links to these files.
    """
    shown = {name: quote(os.path.relpath(path, folder)) for name, path in (figures or {}).items()}
    return write_page(comparison_page(results), csv_tables.comparison_tables(results), folder, shown)


def write_significance(results: ComparisonResults, folder: Path) -> list[Path]:
    """The page of given predictions: report.html, report.md, results.csv and tables/."""
    from minbert.report.significance_page import significance_page

    return write_page(significance_page(results), csv_tables.comparison_tables(results), folder)


def write_run(analysis: "RunAnalysis", folder: Path) -> list[Path]:
    from minbert.report.run_csv_tables import run_tables
    from minbert.report.run_page import run_page

    return write_page(run_page(analysis), run_tables(analysis), folder)


def write_figures(results: ComparisonResults, folder: Path) -> dict[str, Path]:
    """Write every chart of a comparison as an SVG file; return figure name: path."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: dict[str, Path] = {}
    for figure in comparison_page(results).figures():
        name = path_name = file_name(figure.name)
        while (path := folder / f"{path_name}.svg") in paths.values():
            # two labels can become the same file name
            path_name = f"{name}-{len(paths)}"
        write_svg(path, with_legend(figure.draw(DESKTOP_WIDTH), figure.legend))
        paths[figure.name] = path
    return paths


def write_page(
    page: Page, tables: Mapping[str, csv_tables.CsvRows], folder: Path, figures: Mapping[str, str] | None = None
) -> list[Path]:
    texts = {name: csv_tables.csv_text(rows) for name, rows in tables.items()}
    texts |= {"report.md": markdown_of(page, figures or {}), "report.html": html_of(page)}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    return [folder / name for name in texts]
