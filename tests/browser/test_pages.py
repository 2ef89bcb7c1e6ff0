"""The pages in a real browser: no errors, no network, mouse and keyboard, at desktop and phone width."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minbert.report import write_comparison, write_run
from tests.browser.samples import HOSTILE, analysis, broken, many, whole

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs chromium, chromium-browser or google-chrome on the path")

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP, PHONE, SMALL = (1440, 900), (390, 844), (360, 740)
# made by `make browser`
AXE = Path(__file__).parents[2] / "build/axe/node_modules/axe-core/axe.min.js"
# WCAG 2: the contrast between the relative luminance of a text and of its background
CONTRASTS = """(selectors) => {
  const parse = (c) => { const n = c.match(/[\\d.]+/g).map(Number); return { rgb: n.slice(0, 3), a: n[3] ?? 1 }; };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const { rgb, a } = parse(getComputedStyle(e).backgroundColor);
      if (a > 0.99) return rgb;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const selector of selectors) for (const element of document.querySelectorAll(selector)) {
    if (!element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const color = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
    const [high, low] = [light(parse(color).rgb), light(background(element))].sort((a, b) => b - a);
    found.push([selector, element.textContent.trim().slice(0, 40), (high + 0.05) / (low + 0.05)]);
  }
  return found;
}"""
TEXTS = [
    "h1", ".headline", ".more", ".kicker", "dt", "dd", "nav a", "h2", "h3", ".lead", ".words", "figcaption", "caption",
    "thead th", "tbody th", "tbody td", ".note", ".chip", "summary", ".switch span", ".legend button", ".copy", "pre",
    "footer div", "td a", ".notice p", ".found", ".examples p", ".meta", ".tag", ".tools label",
    ".chart .tick", ".chart .name", ".chart .label", ".chart .value",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    write_comparison(whole(), folder / "whole")
    write_comparison(broken(), folder / "broken")
    write_comparison(many(), folder / "many")
    write_run(analysis(), folder / "run")
    return {name: folder / name / "report.html" for name in ("whole", "broken", "many", "run")}


@pytest.fixture
def visit(browser: Any, pages: dict[str, Path]) -> Iterator[Any]:
    """Opens a page; at the end, no script must have failed and no network request must have been made."""
    wrong: list[str] = []
    contexts = []

    def opened(name: str, size: tuple[int, int] = DESKTOP, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        allowed = ("file:", "data:")
        page.on("request", lambda request: request.url.startswith(allowed) or wrong.append(f"request: {request.url}"))
        page.goto(pages[name].as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def column(table: Any, index: int) -> list[str]:
    return [row.locator("th, td").nth(index).inner_text().split("\n")[0] for row in table.locator("tbody tr").all()]


@pytest.mark.parametrize("name", ["whole", "broken", "run"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE, SMALL], ids=["desktop", "phone", "small"])
def test_the_body_does_not_scroll_sideways(visit: Any, name: str, size: tuple[int, int]) -> None:
    page = visit(name, size)
    for detail in page.locator("details summary").all():
        detail.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    # no chart is wider than its canvas
    assert page.evaluate("[...document.querySelectorAll('.canvas')].every(c => c.scrollWidth <= c.clientWidth + 1)")


@pytest.mark.parametrize("name", ["whole", "broken", "run"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_enough_contrast(visit: Any, name: str, scheme: str) -> None:
    page = visit(name, scheme=scheme)
    found = page.evaluate(CONTRASTS, TEXTS)
    assert len(found) > 100
    assert [each for each in found if each[2] < 4.5] == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["whole", "broken", "run"])
def test_nothing_overlaps_in_the_header(visit: Any, name: str, size: tuple[int, int]) -> None:
    page = visit(name, size)
    parts = page.locator("nav, h1, .headline, .opening .canvas:visible, .more, .warned li, .facts:not(.rows) > div")
    boxes = [part.bounding_box() for part in parts.all()]
    assert len(boxes) >= 6
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            across = min(a["x"] + a["width"], b["x"] + b["width"]) - max(a["x"], b["x"])
            down = min(a["y"] + a["height"], b["y"] + b["height"]) - max(a["y"], b["y"])
            assert across <= 0 or down <= 0


def test_a_table_sorts_by_click_and_by_keyboard(visit: Any) -> None:
    page = visit("broken")
    table = page.locator("#results table").first
    assert column(table, 0) == [HOSTILE, "low rank", "baseline", "smart", "frozen encoder", "never trained"]
    score = table.locator("thead th").nth(1)
    assert score.get_attribute("aria-sort") == "descending"
    score.locator("button").click()
    # rows without a result come last in both directions
    assert column(table, 0) == ["frozen encoder", "smart", "baseline", "low rank", HOSTILE, "never trained"]
    assert score.get_attribute("aria-sort") == "ascending"
    table.locator("thead button").first.focus()
    page.keyboard.press("Enter")
    assert column(table, 0)[1:] == ["baseline", "frozen encoder", "low rank", "never trained", "smart"]
    assert score.get_attribute("aria-sort") == "none"


def test_choosing_a_measure_switches_all_figures(visit: Any) -> None:
    page = visit("whole")
    assert page.locator("#differences figure:visible").count() == 1
    page.locator("#differences .switch label", has_text="sst accuracy").click()
    for section in ("results", "differences", "curves", "seeds"):
        shown = page.locator(f"#{section} .panel:visible")
        assert shown.count() == 1 and shown.get_attribute("data-panel") == "sst.accuracy"
    page.keyboard.press("ArrowRight")
    assert page.locator("#curves .panel:visible").get_attribute("data-panel") == "quora.accuracy"
    # a choice with another name does not switch
    assert page.locator("#cost .panel:visible").get_attribute("data-panel") == "training time"


def test_the_legend_hides_and_shows_a_recipe(visit: Any) -> None:
    page = visit("broken")
    button = page.locator("#curves .legend button", has_text="alert")
    curves = page.locator("#curves .panel:visible .wide g[data-series]")
    assert curves.count() == 5 and all(curve.is_visible() for curve in curves.all())
    button.click()
    hidden = [curve.get_attribute("data-series") for curve in curves.all() if not curve.is_visible()]
    assert hidden == [HOSTILE] and button.get_attribute("aria-pressed") == "false"
    button.focus()
    page.keyboard.press("Space")
    assert all(curve.is_visible() for curve in curves.all()) and button.get_attribute("aria-pressed") == "true"


def test_pointing_at_a_mark_shows_its_numbers(visit: Any) -> None:
    page = visit("whole")
    page.locator("#differences .wide g.row .point").first.hover()
    assert page.locator(".tip").inner_text().startswith("gradient surgery: +0.015 [+0.009, +0.021]\nbetter")


def test_rows_can_be_searched_and_filtered(visit: Any) -> None:
    page = visit("run")
    explorer = page.locator(".explorer").first
    total = int(explorer.locator(".found").inner_text().split()[0])
    assert total > 20 and explorer.locator("li").count() == 20
    explorer.locator("select[data-filter=Prediction]").select_option("correct")
    chips = explorer.locator("li .chip").all_inner_texts()
    assert chips and set(chips) == {"correct"}
    explorer.locator("select[data-filter=Prediction]").select_option("")
    explorer.locator("select[data-filter=Label]").select_option("good")
    assert 0 < int(explorer.locator(".found").inner_text().split()[0]) < total
    explorer.locator("select[data-filter=Label]").select_option("")
    explorer.locator("input").fill("ALERT nothing")
    assert explorer.locator("li p").all_inner_texts() == [f"a film {HOSTILE} </script><b> & nothing else"]
    explorer.locator("input").fill("no such words")
    assert explorer.locator("li").count() == 0 and explorer.locator(".found").inner_text().startswith("0 of")


def test_a_wide_table_scrolls_in_its_box_and_keeps_the_names_visible(visit: Any) -> None:
    page = visit("whole", PHONE)
    box = page.locator("#results .panel:visible .box")
    name = box.locator("tbody th").first
    before = name.bounding_box()["x"]
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    box.evaluate("box => { box.scrollLeft = 200; }")
    assert abs(name.bounding_box()["x"] - before) < 2
    assert page.locator(".slim:visible").count() > 0 and page.locator(".wide:visible").count() == 0


@pytest.mark.parametrize("name", ["whole", "broken", "run"])
def test_print_shows_every_panel_and_fits_the_page(visit: Any, name: str) -> None:
    # A4 without its margins
    page = visit(name, (718, 1000))
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert all(panel.is_visible() for panel in page.locator(".panel").all())
    assert not page.locator("nav").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 718


def test_a_command_is_copied(visit: Any) -> None:
    page = visit("whole")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".command .copy").first.click()
    page.wait_for_function("document.querySelector('.command .copy').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()").startswith("minbert compare baseline surgery")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["whole", "many"])
def test_the_forest_plot_is_on_the_first_screen(visit: Any, name: str, size: tuple[int, int]) -> None:
    page = visit(name, size)
    chart = page.locator("#differences svg.chart:visible").first
    box = chart.bounding_box()
    assert box["y"] + box["height"] <= size[1]
    # the tables come after it
    assert page.locator("table").first.bounding_box()["y"] > box["y"] + box["height"]


def test_the_detail_table_shows_all_columns(visit: Any) -> None:
    box = visit("many").locator("#results .panel:visible .box")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")


@pytest.mark.parametrize("name", ["whole", "many"])
def test_a_phone_shows_results_without_scrolling_sideways(visit: Any, name: str) -> None:
    chips = visit(name, PHONE).locator("#results .panel:visible .chip").all()
    assert len(chips) >= 4
    for chip in chips:
        box = chip.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0]


@pytest.mark.parametrize("page_name", ["whole", "run"])
def test_every_mark_with_a_tooltip_is_reached_by_keyboard(visit: Any, page_name: str) -> None:
    page = visit(page_name)
    for chart in page.locator("svg.chart:visible").all():
        names = chart.locator("[data-mark]").evaluate_all("marks => marks.map(mark => mark.ariaLabel)")
        assert all(names)
        # Tab enters a chart once
        assert chart.locator("[data-mark][tabindex='0']").count() == (1 if names else 0)
        if not names:
            continue
        chart.locator("[tabindex='0']").focus()
        for name in names[:12]:
            focused, words = page.evaluate(
                "[document.activeElement.ariaLabel, document.querySelector('.tip').innerText]"
            )
            assert focused == name == words.replace("\n", ", ")
            page.keyboard.press("ArrowRight")
        page.keyboard.press("End")
        assert page.evaluate("document.activeElement.ariaLabel") == names[-1]
        page.keyboard.press("Home")
        assert page.evaluate("document.activeElement.ariaLabel") == names[0]
        page.keyboard.press("Escape")
        assert not page.locator(".tip").is_visible()


def test_a_hidden_series_is_not_reached_by_keyboard(visit: Any) -> None:
    page = visit("whole")
    page.locator("#cost .legend button").first.click()
    chart = page.locator("#cost svg.chart:visible")
    assert chart.locator("[tabindex='0']").count() == 1 and chart.locator(".hidden[tabindex='0']").count() == 0
    chart.locator("[tabindex='0']").focus()
    page.keyboard.press("ArrowLeft")
    assert not page.locator(":focus").get_attribute("aria-label").startswith("gradient surgery")


@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core: make browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("name", ["broken", "run"])
def test_axe_finds_no_violations(visit: Any, name: str, size: tuple[int, int], scheme: str) -> None:
    page = visit(name, size, scheme)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then(result => result.violations)")
    assert [(each["id"], [node["html"][:200] for node in each["nodes"]][:3]) for each in found] == []


def printed(page: Any) -> bytes:
    return bytes(page.pdf(prefer_css_page_size=True))


def test_ten_recipes_and_three_tasks_print_on_less_than_eight_pages(visit: Any) -> None:
    assert 1 < len(re.findall(rb"/Type\s*/Page\b", printed(visit("many")))) < 8


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext, of poppler-utils")
@pytest.mark.parametrize("name", ["broken", "many"])
def test_no_printed_page_ends_with_a_heading(visit: Any, name: str, tmp_path: Path) -> None:
    page = visit(name)
    headings = {words.strip() for words in page.locator("h2, h3, .lead, .legend button").all_text_contents()}
    (tmp_path / "page.pdf").write_bytes(printed(page))
    subprocess.run(["pdftotext", "-layout", tmp_path / "page.pdf", tmp_path / "page.txt"], check=True)
    pages = (tmp_path / "page.txt").read_text(encoding="utf-8").split("\f")[:-1]
    lasts = [[line.strip() for line in text.splitlines() if line.strip()][-1] for text in pages]
    # several entries of a legend may be on one line
    assert len(lasts) > 1 and not [line for line in lasts if set(re.split(r"\s{2,}", line)) <= headings]
