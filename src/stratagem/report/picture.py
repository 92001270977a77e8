"""Figures inside a page: without inline styles, with colours that follow its light or dark scheme."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from stratagem.io.markup import Markup, element
from stratagem.report.plots.figure import DATES, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
INK = {
    "#000000": "ink",
    "#595959": "quiet",
    "#c8c8c8": "pale",
    "#d55e00": "ours",
    "#0072b2": "best",
    "#ffffff": "card",
}
"""Custom properties of the page that replace the colours of the figures, by colour."""
WIDTH = 3.3
"""Width in inches that a telephone shows at full letter size."""


def figure(drawn: Figure, label: str, caption: str, *more: str) -> Markup:
    """Return a figure with its text alternative, its caption and further parts."""
    return element(
        "figure",
        element("div", inlined(drawn), class_="picture", role="img", aria_label=label),
        element("figcaption", caption),
        *more,
    )


def inlined(drawn: Figure) -> Markup:
    """Return a matplotlib figure as SVG for a page that forbids style attributes and loads nothing.

    Styles become presentation attributes, the palette becomes custom properties, and names are this figure's
    own. Colours outside the palette stay as they are, the pixels of a heat map among them.
    """
    from matplotlib import style

    page = io.StringIO()
    with style.context(STYLE, after_reset=True):
        drawn.savefig(page, format="svg", transparent=True, metadata=DATES[".svg"])
    source = page.getvalue()
    root = ElementTree.fromstring(source)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{SVG}style", f"{SVG}metadata"):
                parent.remove(child)
    mark = f"f{zlib.crc32(source.encode()):08x}-"
    for node in root.iter():
        node.tag = node.tag.removeprefix(SVG)
        _restyle(node)
        _rename(node, mark)
    for name in ("width", "height", "version"):
        root.attrib.pop(name)
    root.attrib |= {"aria-hidden": "true", "stroke-linejoin": "round"}
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _restyle(node: ElementTree.Element) -> None:
    """Replace the style of an SVG node by attributes and its colours by custom properties; drop its fonts."""
    rules = [rule.partition(":") for rule in node.attrib.pop("style", "").split(";") if rule.strip()]
    node.attrib |= {key.strip(): value.strip() for key, _, value in rules if key.strip() != "font-family"}
    if node.tag == "text":
        node.attrib.setdefault("fill", "#000000")
    for key in ("fill", "stroke"):
        if (colour := node.get(key, "").lower()) in INK:
            node.set(key, f"var(--{INK[colour]}{'-text' if node.tag == 'text' else ''})")


def _rename(node: ElementTree.Element, mark: str) -> None:
    """Prefix every identifier in the SVG and every reference to one; identifiers of groups are removed."""
    if node.tag == "g":
        node.attrib.pop("id", None)
    elif "id" in node.attrib:
        node.set("id", mark + node.attrib["id"])
    if (target := node.attrib.pop(LINK, None)) is not None:
        node.set("href", target if target.startswith("data:") else f"#{mark}{target[1:]}")
    for key, value in node.attrib.items():
        if value.startswith("url(#"):
            node.set(key, f"url(#{mark}{value[5:]}")
