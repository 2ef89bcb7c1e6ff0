"""A page -> one HTML file that needs nothing else: no network, no fonts, no images."""

import base64
import hashlib
import json

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from minbert.report.blocks import SLIM, WIDE, Explorer, Figure, Page
from minbert.report.svg import PAGES


def html_of(page: Page) -> str:
    script = asset("page.js")
    return (
        environment()
        .get_template("page.html")
        .render(
            page=page,
            style=Markup(asset("colors.css") + asset("chart.css") + asset("page.css")),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def environment() -> Environment:
    # everything that is not made here is escaped; a name that is not there is a mistake of ours
    made = Environment(
        loader=FileSystemLoader(PAGES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.globals.update(wide=wide, slim=slim, rows_of=rows_of)
    return made


def asset(name: str) -> str:
    return (PAGES / name).read_text(encoding="utf-8")


def wide(figure: Figure) -> Markup:
    return Markup(figure.draw(WIDE).markup())  # made by ElementTree, which escapes


def slim(figure: Figure) -> Markup:
    return Markup(figure.draw(SLIM).markup())


def rows_of(explorer: Explorer) -> Markup:
    """JSON inside a script: no `<` may stand there, lest a text ends it."""
    text = json.dumps(list(explorer.rows), ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)
