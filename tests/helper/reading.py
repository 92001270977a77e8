"""What tests of HTML pages share: pages read as a browser's parser reads them, and their contrast in a browser."""

import re
from html.parser import HTMLParser

LOADING = ("src", "href", "action", "data", "srcset", "poster", "background", "xlink:href")
"""Attributes whose values a browser may fetch."""


class Page(HTMLParser):
    """The elements of a page with their attributes, its texts, and the contents of its scripts and styles."""

    def __init__(self, source: str):
        super().__init__()
        self.elements, self.texts, self.raw = [], [], {"script": [], "style": []}
        self._open = None
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open in self.raw:
            self.raw[self._open].append(data)
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        """All that is read, with single spaces."""
        return " ".join(" ".join(self.texts).split())

    def all(self, tag):
        """Return the attributes of every element of that name."""
        return [attributes for name, attributes in self.elements if name == tag]


LOW_CONTRAST = """(least) => {
  const channels = (color) => color.match(/[0-9.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = channels(color).map((x) => x / 255)
      .map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return channels(color)[3] === 0 ? ground(element.parentElement) : color;
  };
  const low = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let seen = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, style = getComputedStyle(element);
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    seen += 1;
    const pair = [light(element instanceof SVGElement ? style.fill : style.color), light(ground(element))];
    const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (contrast < least) low.push(`${contrast.toFixed(2)}: ${walker.currentNode.data.trim().slice(0, 60)}`);
  }
  return [seen, low];
}"""
"""Texts of a page whose contrast is below a limit, and how many texts were looked at (WCAG 2.2, 1.4.3)."""


def low_contrast(page, least=4.5):
    """Return the visible texts of a page that stand out too little from what is behind them."""
    seen, low = page.evaluate(LOW_CONTRAST, least)
    assert seen > 5, "a page has texts"
    return low


def sheets(page, paper):
    """Return how many sheets of paper a page takes, with margins of 1.5 cm."""
    printed = page.pdf(format=paper, margin=dict.fromkeys(("top", "bottom", "left", "right"), "1.5cm"))
    return len(re.findall(rb"/Type\s*/Page\b", printed))
