"""Every figure at two widths: readable, inside the page, sound, reproducible, refused in one sentence."""

import math
import re
from collections.abc import Callable
from functools import cache, partial

import matplotlib as mpl
import numpy as np
import pytest

import stratagem as st
from figures import COLOURS, assert_explained, assert_readable, assert_sound, contrast, drawn_texts
from stratagem import counts
from stratagem.counts import Property
from stratagem.mechanism.mechanism import Mechanism
from stratagem.report.plots import STYLE, plot_counts, plot_strategy
from stratagem.report.plots.comparison import times
from stratagem.report.plots.estimate import plot_estimate
from stratagem.report.plots.figure import BLUE, GREY, PALE, PALETTE, page, thousands
from tools import take_away

QUICK = st.Auto(outputs=64, max_seconds=0.3)
MIXED = st.marginals({"age": 12, "sex": 2, "region": 5}, 2)


def users(n: int) -> np.ndarray:
    return np.arange(1, n + 1) * 100


def estimated(workload, strategy, **options) -> Callable:
    x = users(workload.domain_size)
    found = st.estimate(strategy, strategy.histogram(x, np.random.default_rng(7)), workload, **options)
    return partial(found.plot, truth=workload.answer(x))


def simulated(workload, strategy) -> Callable:
    return st.simulate(workload, strategy, users(workload.domain_size), repetitions=20).plot


def solved(workload, solver=QUICK, **options) -> Callable:
    return st.optimise(workload, 1.0, solver, **options).plot


def drawn(workload, strategy) -> Callable:
    return partial(plot_strategy, workload, strategy)


SCHOOLS = ["none", "primary school", "secondary school", "bachelor", "doctorate, or what is equivalent to it"]
WORDED = {
    "minutes below": st.prefix({"delay": st.bins("-30:290:5", unit="minutes")}),
    "bins of hours": st.histogram({"delay": st.bins("0:1200:100", unit="hours")}),
    "labels": st.histogram({"school": st.labels(*SCHOOLS)}),
    "ranges": st.all_range({"age": st.bins("0:120:10", unit="years")}),
    "tables": st.marginals(
        {"age": st.bins("0:100:20", unit="years"), "sex": st.labels("F", "M"), "married": 2}, 2
    ),
    "many cells": st.histogram({"age": st.bins("0:90:3"), "sex": st.labels("F", "M")}),
}
"""Attributes in their owner's words."""


@cache
def mechanism(kind: str) -> Mechanism:
    workload = WORDED[kind]
    return Mechanism.of(st.published.randomised_response(workload.domain_size, 3.0), workload, 3.0)


def answered(kind: str) -> Callable:
    found, x = mechanism(kind), users(mechanism(kind).domain.size)
    counts = found.strategy.histogram(x, np.random.default_rng(7))
    return partial(found.estimate(counts).plot, truth=found.workload.answer(x))


def tried(kind: str) -> Callable:
    found = mechanism(kind)
    return st.simulate(found.workload, found.strategy, users(found.domain.size), repetitions=20).plot


def worded(kind: str) -> Callable:
    return mechanism(kind).plot


@cache
def line() -> st.study.Sweep:
    return st.sweep(st.prefix(6), [0.5, 2.0], QUICK)


@cache
def survey() -> st.Solution:
    domain = {"age": st.bins("18:68:10", unit="years"), "region": 3, "smokes": st.labels("no", "yes")}
    asked = st.Survey(domain).prefix("age").mean("age").table("region", "smokes").table("smokes")
    return st.optimise(asked, 1.0, seconds=3)


def parted(many: int) -> tuple[st.Workload, st.strategies.SurveyStrategy]:
    """Return yes/no questions with long names, and a strategy that asks each of them alike."""
    sizes = {f"question number {k + 1}": 2 for k in range(many)}
    one = st.published.randomised_response(2, 1.0)
    parts = tuple(st.strategies.SurveyPart((k,), one, 1 / many) for k in range(many))
    return st.Survey(sizes).ticked(*sizes).workload, st.strategies.SurveyStrategy((2,) * many, parts)


KINDS = {
    "solution of prefixes": lambda: solved(st.prefix(16)),
    "solution of a histogram": lambda: solved(st.histogram(16)),
    "solution of the total": lambda: solved(st.total(5)),
    "solution of many tables": lambda: solved(st.all_marginals("2^4")),
    "solution on 2^100": lambda: solved(st.marginals("2^100", 2), None),
    "solution of a worst case": lambda: solved(st.prefix(8), objective="worst-case"),
    "solution of many values": lambda: solved(st.prefix(1500), st.solvers.Orbit(max_seconds=1)),
    "patterns of mixed sizes": lambda: solved(MIXED, st.solvers.Junta(max_seconds=1)),
    "a survey": lambda: survey().plot,
    "a survey of many parts": lambda: drawn(*parted(12)),
    "a protocol": lambda: drawn(st.histogram(16), st.published.optimised_unary_encoding(16, 1.0)),
    "more reports than pixels": lambda: drawn(st.prefix(500), st.published.randomised_response(500, 2.0)),
    "no privacy": lambda: drawn(st.prefix(4), st.strategies.MatrixStrategy(np.eye(4))),
    **{f"answers by {kind}": partial(answered, kind) for kind in WORDED},
    **{f"a mechanism by {kind}": partial(worded, kind) for kind in WORDED},
    **{f"a simulation by {kind}": partial(tried, kind) for kind in WORDED},
    "a mechanism": lambda: st.optimise(st.histogram(4), 1.0).mechanism().plot,
    "a comparison": lambda: line().comparisons[0].plot,
    "a sweep": lambda: line().plot,
    "a sweep over the bound": lambda: partial(line().plot, measure="over bound"),
    "bounds": lambda: st.bound_sweep([st.prefix(n) for n in (8, 16, 32)], 1.0).plot,
    "bounds and strategies": lambda: st.bound_sweep(st.histogram(6), [0.5, 1.0, 2.0], QUICK).plot,
    "bounds at one place": lambda: st.bound_sweep(st.prefix(6), [0.5], objective="worst-query").plot,
    "bounds on 2^100": lambda: st.bound_sweep(st.marginals("2^100", 2), [0.5, 2.0]).plot,
    "few answers": lambda: estimated(st.histogram(8), st.published.randomised_response(8, 1.0)),
    "one answer": lambda: estimated(st.total(8), st.published.randomised_response(8, 1.0)),
    "prefixes": lambda: estimated(st.prefix(64), st.published.hierarchical(64, 1.0), simultaneous=True),
    "many answers": lambda: estimated(
        st.all_range(64), st.published.hierarchical(64, 1.0), method="recommended"
    ),
    "a simulation": lambda: simulated(st.prefix(8), st.published.randomised_response(8, 1.0)),
    "a simulation of a mean": lambda: simulated(st.mean(range(8)), st.published.randomised_response(8, 1.0)),
    "a simulation of many queries": lambda: simulated(st.all_range(24), st.published.hierarchical(24, 1.0)),
    "a frontier": lambda: st.study.guess_frontier(st.prefix(4), 1.0, [0.4, 0.5], seed=0).plot,
    "a trade-off": lambda: st.study.trade_off(st.prefix(6), 1.0, [12, 24], max_seconds=0.2).plot,
}


@cache
def plot(name: str) -> Callable:
    return KINDS[name]()


@pytest.mark.sampled(168, 3)
@pytest.mark.parametrize("width", [None, 3.4])
@pytest.mark.parametrize("name", KINDS)
def test_a_figure_is_readable_and_sound(name, width, monkeypatch):
    figure = plot(name)(width=width)
    assert figure.get_figwidth() == (width or 4.6)
    assert_readable(figure, monkeypatch)
    assert_sound(figure)


@pytest.mark.sampled(42, 3)
@pytest.mark.parametrize("name", KINDS)
def test_a_figure_says_what_it_shows(name):
    assert_explained(plot(name)())


@pytest.mark.parametrize("size", [4, 40])
def test_a_count_mechanism_says_what_it_shows(size, tmp_path):
    figure = counts.geometric(size, 0.9).plot(path := tmp_path / "matrix.png")
    assert_explained(figure)
    for kind in Property:
        name = f"{kind.name} {kind.value.partition(':')[0]}".replace(" ", "\N{NO-BREAK SPACE}")
        assert name in figure.get_supxlabel().replace("\n", " ")
    assert int.from_bytes(path.read_bytes()[16:20], "big") >= 1280, "sharp across a page"


def test_lines_go_along_the_axis_whatever_order_their_places_are_given_in():
    (axes,) = st.sweep(st.prefix(4), [2.0, 0.5, 1.0], QUICK).plot().axes
    for drawn_line in axes.lines:
        assert (np.diff(drawn_line.get_xdata()) > 0).all()
    assert not axes.texts, "no leaders: a legend names the lines"


def test_pale_lines_and_coloured_ones_are_told_apart():
    figure = line().plot()
    (axes,), (legend,) = figure.axes, figure.legends
    pale = sum(drawn_line.get_color() == PALE for drawn_line in axes.lines)
    assert legend.get_texts()[-1].get_text() == f"{pale} others"
    assert legend.get_lines()[-1].get_color() == PALE
    assert "coloured: the 6 closest to Stratagem; grey: the others" in figure.get_suptitle()


@pytest.mark.parametrize(
    ("over", "words"),
    [
        (1.0, "1 ×"),
        (1 + 1e-12, "1 ×"),
        (1.002, "1.002 ×"),
        (1.00004, "1.00004 ×"),
        (1.0312, "1.03 ×"),
        (17.83, "17.8 ×"),
    ],
)
def test_what_is_above_the_minimum_is_never_rounded_away(over, words):
    assert times(over) == words


def test_a_single_hash_function_is_one_hash():
    parameters = {row.mechanism: row.parameters for row in st.compare(st.histogram(16), 1.0, QUICK).rows}
    assert parameters["rappor"].endswith("1 hash")


def test_bounds_at_one_place_are_bars():
    (axes,) = plot("bounds at one place")().axes
    sweep = plot("bounds at one place").__self__
    assert [bar.get_width() for bar in axes.patches] == [values[0] for values in sweep.ratios().values()]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(sweep.ratios())


def test_ticks_of_people_are_written_out(monkeypatch):
    for name in ("few answers", "prefixes", "answers by tables"):
        words = {text.get_text() for text in drawn_texts(plot(name)(), monkeypatch)[0]}
        assert not [word for word in words if re.fullmatch(r"[\d.]+k", word)]
    words = {text.get_text() for text in drawn_texts(plot("prefixes")(), monkeypatch)[0]}
    assert "100,000" in words
    assert [thousands(value) for value in (600, 1200, 0.5, 1.5e6)] == ["600", "1,200", "0.5", "1.5M"]


def test_a_line_stands_at_all_people_where_answers_are_near():
    for name, near in (("prefixes", True), ("few answers", False)):
        labels = [text.get_text() for text in plot(name)().legends[0].get_texts()]
        assert ("everybody" in labels) == near
    *_, total = plot("prefixes")().axes[0].collections
    assert total.get_segments()[0][:, 1].tolist() == [plot("prefixes").func.__self__.users] * 2


@pytest.mark.parametrize("count", [3, 60])
def test_the_axis_of_people_ends_behind_them_and_says_that_estimates_may_be_below_zero(count):
    """Nearly all of 300 people are below the last values: intervals go beyond them and below zero."""
    made, rng = st.optimise(st.prefix(count), 1.0, "quick"), np.random.default_rng(1)
    beyond = set()
    for people in (300, 10**8):
        users = np.full(count, people / 20 / (count - 1)).astype(int)
        users[0] += people - users.sum()
        found = st.estimate(made.strategy, made.strategy.histogram(users, rng), made.workload)
        for shares in (False, True):
            (axes,) = found.plot().axes if not shares else plot_estimate(found, shares=True).axes
            least, most = axes.get_ylim()
            everybody = 100 if shares else people
            assert everybody <= most <= everybody * found.answers.max() / people + 0.05 * (most - least)
            labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
            assert ("nobody" in labels) == (found.low.min() < 0)
            assert "people" in axes.get_ylabel()
        narrow = plot_estimate(found, width=3.4)
        narrow.draw_without_rendering()
        assert narrow.legends[0].get_window_extent().x0 >= 0
        beyond.add(bool(found.high.max() > 1.1 * people))
    assert beyond == {True, False}


def test_a_simulation_leaves_out_what_is_exact():
    figure = plot("a simulation")()
    predicted, observed = figure.axes[0].lines
    assert len(predicted.get_ydata()) == len(observed.get_ydata()) == 7, "the last prefix counts everybody"
    assert (predicted.get_ydata() > 0).all()
    assert "exact answers left out" in figure.axes[0].get_title(loc="left")


def test_patterns_are_few_and_name_their_attributes():
    *tables, _ = plot("patterns of mixed sizes")().axes
    assert len(tables) == 2
    words = {
        word for axes in tables for side in (axes.get_xlabel(), axes.get_ylabel()) for word in side.split()
    }
    assert words - {"×"} <= {"age", "sex", "region"}


@pytest.mark.parametrize(("size", "alpha"), [(4, 0.9), (40, 0.9)])
def test_a_count_mechanism_is_readable(size, alpha, monkeypatch):
    assert_readable(counts.geometric(size, alpha).plot(), monkeypatch, on_white=False)
    two = plot_counts([counts.geometric(size, alpha), counts.uniform(size, alpha)])
    assert_readable(two, monkeypatch, on_white=False)


@pytest.mark.parametrize(
    ("kind", "across", "up"),
    [
        ("minutes below", "delay below (minutes)", "people"),
        ("bins of hours", "delay (hours)", "people"),
        ("labels", "people", "school"),
        ("ranges", "age (years)", "people"),
    ],
)
def test_answers_stand_along_the_users_own_axis(kind, across, up):
    axes = plot(f"answers by {kind}")().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (across, up)


def test_places_and_names_are_the_users_own():
    line = plot("answers by minutes below")().axes[0].lines[0]
    assert line.get_xdata().tolist() == list(range(-25, 291, 5)), (
        "a prefix stands at the edge that it counts up to"
    )
    dots = plot("answers by bins of hours")().axes[0].lines[0]
    assert dots.get_xdata().tolist() == list(range(50, 1200, 100)), "a bin stands at its middle"
    tables = {
        axes.get_title(loc="left"): [text.get_text() for text in axes.get_yticklabels()]
        for axes in plot("answers by tables")().axes
    }
    assert list(tables) == ["age (years) × sex", "age (years) × married", "sex × married"]
    assert tables["age (years) × sex"][0] == "0 to below 20, F"
    assert tables["sex × married"] == ["F, 0", "F, 1", "M, 0", "M, 1"]
    reports, errors = plot("a mechanism by labels")().axes
    assert (reports.get_xlabel().splitlines()[0], errors.get_xlabel()) == ("school", "school")
    assert [text.get_text() for text in errors.get_xticklabels()][1] == "primary school"
    edges = plot("a mechanism by minutes below")().axes[0]
    assert next(text.get_text() for text in edges.get_xticklabels()) == "-30"


@pytest.mark.parametrize(
    ("kind", "across"),
    [("minutes below", "delay below (minutes)"), ("bins of hours", "delay (hours)"), ("labels", "school")],
)
def test_simulated_errors_stand_along_the_users_own_axis(kind, across):
    axes = plot(f"a simulation by {kind}")().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (across, "root mean square error, people")
    expected = plot(f"a mechanism by {kind}")().axes[1]
    assert [text.get_text() for text in axes.get_xticklabels()] == [
        text.get_text() for text in expected.get_xticklabels()
    ]


@pytest.mark.parametrize(("simultaneous", "words"), [(True, "all together"), (False, "each on its own")])
@pytest.mark.parametrize("workload", [st.prefix(4), st.total(4)])
def test_a_figure_says_what_its_intervals_promise(workload, simultaneous, words):
    strategy = st.published.randomised_response(4, 1.0)
    figure = st.estimate(strategy, [9, 8, 7, 6], workload, simultaneous=simultaneous).plot()
    title = figure.axes[0].get_title(loc="left") or figure.get_suptitle()
    assert title == f"30 reports\n95 % intervals, {words}"


def test_the_checks_of_a_figure_find_what_is_wrong(monkeypatch):
    """Words outside, on top of each other, too small or too pale, and lines beside the palette or the axes."""
    for wrong in (
        {"x": 0.99, "s": "far too long"},
        {"x": 0.1, "s": "below", "fontsize": 6.5},
        {"x": 0.1, "s": "pale", "color": PALETTE[2]},
        {"x": 0.42, "s": "on top"},
    ):
        with page(None, 2.0) as figure:
            figure.text(0.4, 0.5, "first")
            figure.text(y=0.5, **wrong)
        with pytest.raises(AssertionError):
            assert_readable(figure, monkeypatch)
    for colour, height in (("red", 1), (GREY, 3), (GREY, np.nan)):
        with page(None, 2.0) as figure:
            axes = figure.subplots()
            axes.plot([0, 1], [0, height], color=colour)
            axes.set_ylim(0, 2)
        with pytest.raises(AssertionError):
            assert_sound(figure)


@pytest.mark.parametrize("missing", ["nothing", "title", "xlabel", "ylabel", "legend", "bar"])
def test_a_figure_that_leaves_something_unsaid_is_found(missing):
    with page(None, 2.0) as figure:
        axes = figure.subplots()
        words = {"title": "title", "xlabel": "across", "ylabel": "up"}
        axes.set(**{name: word for name, word in words.items() if name != missing})
        axes.plot([0, 1], [0, 1], color=GREY, label="grey")
        axes.plot([0, 1], [1, 0], color=BLUE, label="_" if missing == "legend" else "blue")
        axes.legend()
        if missing == "bar":
            axes.clear()
            axes.set(**words)
            axes.imshow(np.eye(2))
    if missing == "nothing":
        assert_explained(figure)
        return
    with pytest.raises(AssertionError):
        assert_explained(figure)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "name", ["solution of prefixes", "a sweep", "prefixes", "a simulation", "a trade-off"]
)
def test_files_are_written_and_the_same_again(name, tmp_path):
    for suffix, magic in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        one, two = tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"
        plot(name)(one)
        plot(name)(two)
        assert one.read_bytes().startswith(magic)
        assert one.read_bytes() == two.read_bytes()
    words = (tmp_path / "one.svg").read_text()
    assert "<text" in words


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", KINDS)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(name, tmp_path, monkeypatch):
    draw = plot(name)
    for given, words in (
        ({"path": tmp_path / "plot.docx"}, r"\.svg, \.png, \.pdf"),
        ({"path": tmp_path / "absent" / "plot.svg"}, "does not exist"),
        ({"width": 1}, "between 2.6 and 20 inches"),
        ({"width": "wide"}, "between 2.6 and 20 inches"),
    ):
        with pytest.raises(ValueError, match=words) as caught:
            draw(**given)
        assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    take_away(monkeypatch, "matplotlib")
    with pytest.raises(ValueError, match=r"pip install stratagem\[plots\]"):
        draw()


@pytest.mark.exhaustive
def test_figures_do_not_depend_on_the_settings_of_others(tmp_path):
    plot("a trade-off")(tmp_path / "one.svg")
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "svg.fonttype": "path", "axes.grid": True}):
        plot("a trade-off")(tmp_path / "two.svg")
        assert mpl.rcParams["font.size"] == 30
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_the_style_is_a_sheet_that_anybody_can_use():
    with mpl.style.context(STYLE):
        cycle = [entry["color"] for entry in mpl.rcParams["axes.prop_cycle"]]
        assert {f"#{colour}".upper().replace("##", "#") for colour in cycle} <= COLOURS
        sizes = [
            key for key in mpl.rcParams if key.endswith(("labelsize", "titlesize", "fontsize", "font.size"))
        ]
        assert all(mpl.rcParams[key] >= 7 for key in sizes if isinstance(mpl.rcParams[key], float))


@pytest.mark.exhaustive
def test_a_solution_shows_every_report_and_the_bound(monkeypatch):
    solution = st.optimise(st.prefix(16), 1.0, QUICK)
    table, errors = solution.plot().axes
    assert f"{solution.strategy.outputs:,} reports" in table.get_title()
    curve, bound = errors.lines
    variances = st.per_query_variance(st.prefix(16), solution.strategy, np.full(16, 1 / 16))
    assert variances[-1] == pytest.approx(0, abs=1e-12), "the last prefix counts everybody and is left out"
    np.testing.assert_allclose(curve.get_ydata(), np.sqrt(variances[:-1]), atol=1e-12)
    assert errors.get_title() == "error of every query\n(exact ones left out)"
    (total,) = st.optimise(st.total(5), 1.0, QUICK).plot().axes[1].lines[:1]
    assert total.get_ydata().tolist() == [0.0], "what is exact throughout is drawn"
    assert bound.get_ydata()[0] == pytest.approx(np.sqrt(solution.least_variance / 15))
    assert bound.get_ydata()[0] <= np.sqrt(variances.mean()) * (1 + 1e-9)


def test_a_survey_shows_its_parts_and_its_questions_by_name():
    """The bound, which is about all queries, stands beside them alone."""
    solution = survey()
    parts, errors = solution.plot().axes
    shares = {
        " × ".join(solution.workload.domain.names[i] for i in one.attributes): f"{100 * one.share:.3g} %"
        for one in sorted(solution.strategy.parts, key=lambda one: -one.share)
    }
    assert [one.get_text() for one in parts.get_yticklabels()] == [*shares]
    assert [one.get_text() for one in parts.texts] == [*shares.values()]
    names = [one.get_text() for one in errors.get_xticklabels()]
    assert names == ["prefix of age", "mean of age", "region × smokes", "smokes", "all queries"]
    *marks, bound = errors.lines
    assert (bound.get_xdata() > len(names) - 1.5).all(), "beside all queries alone"
    queries = solution.workload.queries - 1  # the last prefix is known exactly
    assert bound.get_ydata()[0] == pytest.approx(math.sqrt(solution.least_variance / queries))
    typical = math.sqrt(solution.accuracy.average_variance / queries)
    assert marks[-1].get_ydata()[0] == pytest.approx(typical)
    assert bound.get_ydata()[0] <= typical
    ends = [one.get_paths()[0].vertices[:, 1] for one in errors.collections]
    for one, mark in zip(ends, marks, strict=False):
        assert one.min() * (1 - 1e-9) <= mark.get_ydata()[0] <= one.max() * (1 + 1e-9)
    assert min(map(np.min, ends)) > 0, "how many there are is exact, and left out"
    assert "exact ones left out" in errors.get_title()


def test_tables_keep_the_bound_beside_all_queries():
    solution = st.optimise(MIXED, 1.0, QUICK)
    errors = solution.plot().axes[-1]
    names = [one.get_text() for one in errors.get_xticklabels()]
    assert names[-1] == "all queries"
    assert (errors.lines[-1].get_xdata() > len(names) - 1.5).all()


def test_an_estimate_shows_answers_intervals_and_truth():
    found = plot("prefixes").func.__self__
    (axes,) = plot("prefixes")().axes
    answers, truth = axes.lines
    np.testing.assert_array_equal(answers.get_ydata(), found.answers)
    np.testing.assert_array_equal(truth.get_ydata(), np.cumsum(users(64)))
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((found.low.min(), found.high.max()))
    assert [line.get_label() for line in found.plot().axes[0].lines] == ["estimate"]
    with pytest.raises(ValueError, match="64 answers"):
        found.plot(truth=[1.0, 2.0])


def test_bounds_are_drawn_over_the_best(monkeypatch):
    sweep = st.bound_sweep(st.histogram(6), [0.5, 1.0, 2.0], QUICK)
    (axes,) = sweep.plot().axes
    _, *lines = axes.lines
    for drawn_line, values in zip(lines, sweep.ratios().values(), strict=True):
        np.testing.assert_array_equal(drawn_line.get_ydata(), [value for value in values if value])
    words = {text.get_text() for text in drawn_texts(axes.figure, monkeypatch)[0]}
    assert set(sweep.ratios()) <= words


def test_the_palette_has_colours_too_light_for_text():
    """Names are black because of them."""
    assert sum(contrast(colour) < 4.5 for colour in PALETTE) == 4
