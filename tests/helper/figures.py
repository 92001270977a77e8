"""What every figure must hold: readable words inside the page, nothing on top of each other, the one palette."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.text import Text

from stratagem.report.plots.figure import BLUE, GREY, PALE, PALETTE, VERMILION

COLOURS = {colour.upper() for colour in (BLUE, GREY, PALE, VERMILION, *PALETTE)}
SMALLEST = 7
"""Points of the smallest text."""
CONTRAST = 4.5
"""Least contrast of text to its ground (WCAG 2, AA)."""
TOUCH = 0.5
"""Pixels that two boxes may share: rounding."""


def drawn_texts(figure, monkeypatch) -> tuple[list[Text], list]:
    """Return the texts that appear when the figure is drawn, and their boxes in pixels."""
    seen: dict[Text, None] = {}
    draw = Text.draw

    def watched(self, renderer, *rest, **options):
        if self.get_visible() and self.get_text().strip():
            seen[self] = None
        return draw(self, renderer, *rest, **options)

    canvas = FigureCanvasAgg(figure)
    with monkeypatch.context() as patched:
        patched.setattr(Text, "draw", watched)
        canvas.draw()
    texts = list(seen)
    return texts, [Text.get_window_extent(text, canvas.get_renderer()) for text in texts]


def assert_readable(figure, monkeypatch, *, on_white: bool = True) -> None:
    """Words lie inside the page, apart from each other, are large enough and dark enough."""
    texts, boxes = drawn_texts(figure, monkeypatch)
    assert texts
    width, height = figure.bbox.size
    for text, box in zip(texts, boxes, strict=True):
        words = text.get_text()
        assert box.x0 >= -TOUCH, words
        assert box.y0 >= -TOUCH, words
        assert box.x1 <= width + TOUCH, words
        assert box.y1 <= height + TOUCH, words
        assert text.get_fontsize() >= SMALLEST, words
        assert not on_white or contrast(text.get_color()) >= CONTRAST, words
    for k, one in enumerate(boxes):
        for other, text in zip(boxes[:k], texts, strict=False):
            assert not overlap(one, other), (texts[k].get_text(), text.get_text())


def assert_sound(figure) -> None:
    """Lines are finite, lie within their axes and have colours of the palette."""
    for axes in figure.axes:
        low, high = sorted(axes.get_ylim())
        assert np.isfinite([low, high, *axes.get_xlim()]).all()
        for line in axes.findobj(Line2D):
            if line in axes.lines:
                assert to_hex(line.get_color()).upper() in COLOURS
                assert np.isfinite(line.get_xydata()).all()
                assert (line.get_ydata() >= low).all()
                assert (line.get_ydata() <= high).all()
        for lines in axes.findobj(LineCollection):
            assert {to_hex(colour).upper() for colour in lines.get_color()} <= COLOURS


def overlap(one, other) -> bool:
    """Return whether two boxes share more than rounding."""
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    down = min(one.y1, other.y1) - max(one.y0, other.y0)
    return across > TOUCH and down > TOUCH


def contrast(colour) -> float:
    """Return the contrast of a colour to white, 1 to 21."""
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 1.05 / (0.05 + float(np.dot((0.2126, 0.7152, 0.0722), channels)))
