"""What every figure must hold: readable words inside the page, nothing on top of each other, the one palette."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex, to_rgb, to_rgba_array
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


def assert_explained(figure) -> None:
    """A title stands above, both axes have words, and a legend or a bar has the colours of the marks."""
    for panel in figure.subfigs or [figure]:
        plots = [axes for axes in panel.axes if axes.axison and axes.get_label() != "<colorbar>"]
        assert panel.get_suptitle() or all(map(_title, plots))
        for axes in plots:
            assert axes.get_xlabel() or not axes.get_subplotspec().is_last_row()
            assert axes.get_ylabel() or (len(plots) > 1 and _title(axes))
        legends = [one for one in (*panel.legends, *(axes.get_legend() for axes in plots)) if one]
        explained = {
            colour for legend in legends for mark in legend.legend_handles for colour in _colours(mark)
        }
        assert {colour for axes in plots for line in axes.lines for colour in _colours(line)} <= explained
        shaded = [
            axes
            for axes in plots
            if axes.images or any(one.get_array() is not None for one in axes.collections)
        ]
        numbered = [axes for axes in shaded if any(one.get_text()[-1].isdigit() for one in axes.texts)]
        bars = [one for axes in plots for one in axes.child_axes] + [
            axes for axes in panel.axes if axes not in plots
        ]
        assert all(bar.get_ylabel() for bar in bars if bar.axison)
        assert not shaded or bars or legends or numbered


def _title(axes) -> str:
    return next(filter(None, map(axes.get_title, ("left", "center", "right"))), "")


def _colours(mark) -> set[str]:
    found = mark.get_color() if isinstance(mark, Line2D | LineCollection) else mark.get_facecolor()
    return {to_hex(colour).upper() for colour in to_rgba_array(found)}


def overlap(one, other) -> bool:
    """Return whether two boxes share more than rounding."""
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    down = min(one.y1, other.y1) - max(one.y0, other.y0)
    return across > TOUCH and down > TOUCH


def contrast(colour) -> float:
    """Return the contrast of a colour to white, 1 to 21."""
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 1.05 / (0.05 + float(np.dot((0.2126, 0.7152, 0.0722), channels)))
