"""Page -> one self-contained HTML file: no network, no fonts, no image files."""

import base64
import hashlib
import json

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from minbert.report.blocks import DESKTOP_WIDTH, PHONE_WIDTH, Figure, Page, RowExplorer
from minbert.report.markers import swatch
from minbert.report.series_styles import SeriesStyle
from minbert.report.svg import PAGES


def html_of(page: Page) -> str:
    script = asset("page.js")
    return (
        template_environment()
        .get_template("page.html")
        .render(
            page=page,
            style=Markup(asset("colors.css") + asset("chart.css") + asset("page.css")),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def template_environment() -> Environment:
    # everything that is not Markup is escaped; an undefined name is a bug of ours
    made = Environment(
        loader=FileSystemLoader(PAGES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.globals.update(
        desktop_chart=desktop_chart, phone_chart=phone_chart, explorer_json=explorer_json, marker=marker
    )
    return made


def asset(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def desktop_chart(figure: Figure) -> Markup:
    return Markup(figure.draw(DESKTOP_WIDTH).markup())  # ElementTree has escaped it


def phone_chart(figure: Figure) -> Markup:
    return Markup(figure.draw(PHONE_WIDTH).markup())


def marker(style: SeriesStyle) -> Markup:
    return Markup(swatch(style).markup())


def explorer_json(explorer: RowExplorer) -> Markup:
    """JSON inside a script element: without `<`, so that no text can end the element."""
    text = json.dumps(list(explorer.rows), ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
