"""Heat maps of count mechanisms: what stands in the cells, what is marked below, what is refused."""

import pytest
from matplotlib.colors import to_hex

from stratagem import counts
from stratagem.counts import Property
from stratagem.report.plots import plot_counts
from stratagem.report.plots.figure import BLUE
from tools import take_away

FOUND = {
    "closed form": counts.geometric(4, 0.9),
    "design": counts.design(4, 0.9, "L1", "WH"),
    "one person": counts.uniform(1, 0.5),
}


def labels(axes) -> list:
    return [text for text in axes.texts if text.get_text() not in Property.__members__]


@pytest.mark.parametrize("name", FOUND)
def test_the_cells_hold_their_numbers(name):
    found = FOUND[name]
    P = getattr(found, "mechanism", found).matrix
    (axes,) = found.plot().axes
    written = {text.get_position(): float(text.get_text()) for text in labels(axes)}
    assert written == {
        (j, i): pytest.approx(P[i, j], abs=0.005001) for i in range(len(P)) for j in range(len(P))
    }
    top, bottom = axes.get_ylim()[::-1]
    assert top < bottom  # output 0 stands above


@pytest.mark.parametrize("name", FOUND)
def test_exactly_the_properties_that_hold_are_filled(name):
    found = FOUND[name]
    (axes,) = found.plot().axes
    boxes = {text.get_text(): text.get_bbox_patch() for text in axes.texts if text.get_bbox_patch()}
    assert list(boxes) == list(Property.__members__)
    filled = {kind for kind, box in boxes.items() if to_hex(box.get_facecolor()).upper() == BLUE}
    assert filled == {kind.name for kind in getattr(found, "mechanism", found).properties}


def test_the_title_says_what_it_is():
    (axes,) = FOUND["design"].plot().axes
    assert axes.get_title().split("\n") == ["programmed, n = 4, α = 0.9", f"L1 = {FOUND['design'].cost:.4f}"]
    (axes,) = FOUND["closed form"].plot().axes
    assert axes.get_title() == "geometric, n = 4, α = 0.9"


def test_a_large_matrix_has_a_bar_in_place_of_numbers():
    axes, bar = counts.geometric(40, 0.9).plot().axes
    assert labels(axes) == []
    assert bar.get_ylabel() == "probability"


def test_several_share_one_scale_of_colours():
    panels = plot_counts([counts.geometric(4, 0.5), counts.uniform(4, 0.5)]).axes
    assert [axes.get_title().split(",")[0] for axes in panels] == ["geometric", "uniform"]
    assert len({axes.collections[0].norm.vmax for axes in panels}) == 1


@pytest.mark.parametrize(("suffix", "magic"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
@pytest.mark.parametrize("size", [1, 12])
def test_it_is_written(tmp_path, suffix, magic, size):
    path = tmp_path / f"plot{suffix}"
    counts.explicit_fair(size, 0.9).plot(path)
    assert path.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_drawn_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\.svg, \.png, \.pdf"):
        counts.geometric(4, 0.9).plot(tmp_path / "plot.docx")
    with pytest.raises(ValueError, match="does not exist"):
        counts.geometric(4, 0.9).plot(tmp_path / "absent" / "plot.svg")
    with pytest.raises(ValueError, match="huge"):
        counts.geometric(10**6, 0.9).plot(tmp_path / "plot.svg")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch):
    take_away(monkeypatch, "matplotlib")
    with pytest.raises(ValueError, match=r"pip install stratagem\[plots\]"):
        counts.geometric(4, 0.9).plot()
