"""Shapes -> SVG, inline in a page or as a file. Colors are CSS classes, so that the page's style sheet sets them."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from minbert.files import write_text

PAGES = Path(__file__).parent / "pages"
# characters that XML does not allow, but a user's label may contain
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# the approximate width of a letter at 12 px, and the height of a line
LETTER_WIDTH, LINE_HEIGHT = 6.4, 16.0
# a label may be broken after these
WORD_ENDS = re.compile(r"(?<=[\s_/.:-])")


class Drawing:
    """An SVG picture, drawn one mark at a time; y increases downwards."""

    def __init__(self, width: float, height: float, label: str) -> None:
        self.width, self.height = width, height
        size = {
            "viewBox": f"0 0 {svg_number(width)} {svg_number(height)}",
            "width": svg_number(width),
            "height": svg_number(height),
        }
        self.root = Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": "chart", "role": "img", **size})
        self.root.set("aria-label", xml_text(label))

    def group(self, style: str = "", inside: Element | None = None, series: str = "") -> Element:
        """`series`: the name by which the legend shows or hides the group."""
        group = self.mark("g", {}, style, inside)
        if series:
            group.set("data-series", xml_text(series))
        return group

    def mark(self, name: str, places: Mapping[str, float | str], style: str, inside: Element | None = None) -> Element:
        attributes = {key: xml_text(x) if isinstance(x, str) else svg_number(x) for key, x in places.items()}
        if style:
            attributes["class"] = style
        return SubElement(self.root if inside is None else inside, name, attributes)

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str, inside: Element | None = None) -> Element:
        return self.mark("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2}, style, inside)

    def rect(
        self, x: float, y: float, width: float, height: float, style: str, inside: Element | None = None, rx: float = 0
    ) -> Element:
        places = {"x": x, "y": y, "width": max(0, width), "height": max(0, height), "rx": rx}
        return self.mark("rect", places, style, inside)

    def dot(self, x: float, y: float, radius: float, style: str, inside: Element | None = None) -> Element:
        return self.mark("circle", {"cx": x, "cy": y, "r": radius}, style, inside)

    def path(
        self, points: list[tuple[float, float]], style: str, inside: Element | None = None, closed: bool = False
    ) -> Element:
        steps = " L".join(f"{svg_number(x)} {svg_number(y)}" for x, y in points)
        return self.mark("path", {"d": f"M{steps}{'Z' if closed else ''}"}, style, inside)

    def text(self, x: float, y: float, words: str, style: str = "", inside: Element | None = None) -> Element:
        """The style also sets the anchor: "end" or "middle"."""
        element = self.mark("text", {"x": x, "y": y}, style, inside)
        element.text = xml_text(words)
        return element

    def lines(self, x: float, y: float, words: Sequence[str], style: str = "", inside: Element | None = None) -> None:
        """Lines of text, around y if there are several."""
        first = y - (len(words) - 1) * LINE_HEIGHT / 2
        for i, line in enumerate(words):
            self.text(x, first + i * LINE_HEIGHT, line, style, inside)

    def markup(self) -> str:
        return ElementTree.tostring(self.root, encoding="unicode")


def set_tooltip(mark: Element, words: str) -> None:
    """What a reader sees when pointing at a mark."""
    title = Element("title")
    title.text = xml_text(words)
    mark.insert(0, title)


def svg_number(x: float) -> str:
    """Rounded to a tenth of a pixel."""
    text = f"{x:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def xml_text(words: str) -> str:
    return UNPRINTABLE.sub("�", words)


def wrap_label(words: str, room: float, letter: float = LETTER_WIDTH) -> list[str]:
    """A text in lines of `room` pixels, broken after spaces and hyphens, inside a word only if it is too long."""
    most = max(4, int(room / letter))
    lines = [""]
    for piece in WORD_ENDS.split(words):
        while len((lines[-1] + piece).rstrip()) > most:
            if lines[-1]:
                lines.append("")
            else:
                lines[-1], piece = piece[:most], piece[most:]
                lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines if line.strip()] or [""]


def file_name(words: str) -> str:
    """A file name that is valid on every system."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", words).strip("-.")[:120] or "figure"


def write_svg(path: Path, drawing: Drawing, margin: int = 20) -> None:
    """Write a self-contained file, with its own style sheet and background."""
    root = deepcopy(drawing.root)
    width, height = drawing.width + 2 * margin, drawing.height + 2 * margin
    root.set("viewBox", f"{-margin} {-margin} {svg_number(width)} {svg_number(height)}")
    root.set("width", svg_number(width))
    root.set("height", svg_number(height))
    corner = {"x": str(-margin), "y": str(-margin)}
    root.insert(0, Element("rect", {**corner, "width": "100%", "height": "100%", "class": "paper", "rx": "8"}))
    style = Element("style")
    style.text = "".join((PAGES / name).read_text(encoding="utf-8") for name in ("colors.css", "chart.css"))
    root.insert(0, style)
    write_text(path, ElementTree.tostring(root, encoding="unicode") + "\n")
