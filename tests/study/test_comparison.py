"""Comparisons: every baseline at its best, the optimised strategy among them, every bound below."""

import math
from dataclasses import replace

import pytest

import stratagem as st
from stratagem.io.screen import ROWS
from stratagem.published import BASELINES, Baseline
from stratagem.report.content import rated
from stratagem.report.verdict import gain_sentence
from stratagem.solvers.problem import problem_of
from stratagem.study.ranking import Ranking, rank_baselines, ten_digits
from tables import setting
from tools import take_away

WORKLOADS = {
    "prefix": st.prefix(16),
    "histogram": st.histogram(8),
    "marginals": st.marginals("2^4", 2),
    "total": st.total(8),
}
QUICK = st.Auto(outputs=32, gap=0.1)


@pytest.fixture(scope="module")
def comparison():
    return st.compare(WORKLOADS["prefix"], 1.0, QUICK)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("name", WORKLOADS)
def test_each_baseline_appears_at_its_best(name, epsilon):
    workload = WORKLOADS[name]
    ranked = rank_baselines(problem_of(workload, epsilon))
    objectives = [ten_digits(one.objective) for one in ranked]
    assert objectives == sorted(objectives)
    for baseline in BASELINES:
        candidates = list(baseline.candidates(setting(workload), epsilon))
        mine = next((one for one in ranked if one.mechanism == baseline.name), None)
        if mine is None:
            assert not candidates
            continue
        best = min(st.evaluate(workload, strategy).objective for _, strategy in candidates)
        assert mine.objective == pytest.approx(best, rel=1e-12)
        assert mine.accuracy.objective == pytest.approx(best, rel=1e-12)


def test_rows_are_sorted_and_lie_between_bounds_and_baselines(comparison):
    objectives = [ten_digits(row.objective) for row in comparison.rows]
    assert objectives == sorted(objectives)
    assert comparison.rows[0].mechanism == "optimised"
    assert all(
        row.objective >= bound for row in comparison.rows for bound in comparison.bounds.known().values()
    )
    assert all(row.epsilon <= 1.0 for row in comparison.rows)
    applicable = {one.name for one in BASELINES if any(one.candidates(setting(comparison.workload), 1.0))}
    assert {row.mechanism for row in comparison.rows} == {"optimised", *applicable}


@pytest.mark.exhaustive
def test_a_survey_is_compared_with_mechanisms_whose_reports_are_not_counted():
    """The best of a mean at epsilon 1 reports real numbers."""
    asked = st.Survey("age=9,hours=20,sex=2").prefix("age").mean("hours").table("sex")
    found = st.compare(asked, 1.0, seconds=20.0)
    (row,) = (row for row in found.rows if row.mechanism == "one question each")
    assert (row.outputs, row.report) == (None, "1 of 3 parts, and its report")
    assert found.rows[0].mechanism == "optimised"
    assert "one question each" in str(found)


@pytest.mark.parametrize("sizes", [(2, 2), (2, 2, 3), (8, 9, 10)])
def test_all_ways_to_ask_several_questions_are_compared(sizes):
    """Whichever solver takes them: of few combinations of answers or many."""
    asked = st.Survey(sizes)
    for name in asked.domain.names:
        asked = asked.prefix(name)
    found = st.compare(asked, 2.0, seconds=20.0)
    named = {row.mechanism: row.objective for row in found.rows}
    assert {"optimised", "one question each", "split budget"} <= named.keys()
    assert named["optimised"] <= min(named.values()) * (1 + 1e-9)


@pytest.mark.exhaustive
def test_the_page_of_a_small_survey_holds_it_against_all_ways_and_says_which_had_no_time():
    """A saved survey is compared with what optimise compared it with: one question each among them."""
    found = st.optimise(st.Survey((2, 3, 20)).prefix("a3").table("a1").table("a2"), 1.0, seconds=3)
    rated_again = rated(found.mechanism(), "average")
    best = rated_again.baselines[0]
    assert best.mechanism == "one question each"
    assert best.objective <= found.baselines[0].objective * (1 + 1e-9)
    assert "the best published mechanism, one question each" in gain_sentence(rated_again, None)
    known = rated_again.baselines
    cut = replace(rated_again, baselines=Ranking(known, (), ("haar",)))
    assert "the best published mechanism that there was time for, one question each" in gain_sentence(
        cut, None
    )
    assert gain_sentence(cut, None).endswith("Not evaluated within the time: haar.")


def test_rows_agree_with_an_evaluation(comparison):
    row = next(row for row in comparison.rows if row.mechanism == "randomised-response")
    accuracy = st.evaluate(WORKLOADS["prefix"], st.published.randomised_response(16, 1.0))
    assert row.worst_case_variance == pytest.approx(accuracy.worst_case_variance)
    assert row.sample_complexity == pytest.approx(accuracy.samples_for(0.01))
    assert row.outputs == 16
    users = comparison.users_for("randomised-response")
    told = 16 / 15  # the published measure averages the last prefix in, which is known exactly
    assert users.root_mean_square == math.ceil(told * accuracy.samples_for(0.01**2))
    assert comparison.users_for("randomised-response", 0.1).root_mean_square == math.ceil(
        told * accuracy.samples_for(0.01)
    )
    record = next(one for one in comparison.records() if one["mechanism"] == "randomised-response")
    assert record["users_for_one_percent"] == users._asdict()
    assert record["sample_complexity"] == row.sample_complexity
    with pytest.raises(ValueError, match="'randomized' is not in the comparison"):
        comparison.users_for("randomized")


def test_it_prints_as_an_aligned_table_with_every_bound(comparison):
    mechanisms, bounds, aside = comparison.details()
    assert comparison.table().headings == (
        *(
            "mechanism",
            "parameters",
            "objective",
            "above minimum",
            "typical answer",
            "every answer",
            "report",
        ),
    )
    heading, rule, *lines = comparison.objectives().without("parameters").text().splitlines()
    assert heading.split() == ["mechanism", "objective", "above", "minimum"]
    assert set(rule) == {"-"}
    assert lines.pop() == f"... {len(comparison.rows) - ROWS} more rows"
    assert len(lines) == ROWS
    assert len({len(line) for line in (heading, *lines)}) == 1
    assert [row[0] for row in mechanisms.rows] == [row.mechanism for row in comparison.rows]
    assert {row[0] for row in bounds.rows} == set(comparison.bounds.known())
    assert bounds.rows[bounds.bold][0] == comparison.bounds.name
    assert aside == ""


@pytest.mark.parametrize(("suffix", "magic"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_it_plots(comparison, tmp_path, suffix, magic):
    path = tmp_path / f"plot{suffix}"
    comparison.plot(path)
    assert path.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [path]


def test_a_plot_without_a_path_is_a_figure(comparison):
    (axes,) = comparison.plot().axes
    assert [label.get_text().split("\n(")[0].replace("\n", "") for label in axes.get_yticklabels()] == [
        "Stratagem" if row.optimised else row.mechanism
        for row in sorted(comparison.rows, key=lambda row: comparison.users_for(row.mechanism)[0])
    ]
    assert "people needed for ±1 %" in axes.get_xlabel()
    assert axes.get_xscale() == "log"


def test_a_plot_of_another_kind_is_refused(comparison, tmp_path):
    with pytest.raises(ValueError, match=r"\.svg, \.png, \.pdf"):
        comparison.plot(tmp_path / "plot.docx")
    with pytest.raises(ValueError, match="does not exist"):
        comparison.plot(tmp_path / "absent" / "plot.svg")


def test_without_matplotlib_one_sentence_says_what_to_install(comparison, monkeypatch):
    take_away(monkeypatch, "matplotlib")
    with pytest.raises(ValueError, match=r"pip install stratagem\[plots\]"):
        comparison.plot()


def alike(setting, epsilon):
    """Report a value with odds that need half the budget."""
    yield "half", st.published.randomised_response(setting.domain_size, epsilon / 2)


MINE = Baseline("mine", "randomised response with half of epsilon", "made here", alike)


def test_a_mechanism_from_elsewhere_is_compared():
    comparison = st.compare(st.histogram(4), 1.0, QUICK, also=[MINE])
    row = next(row for row in comparison.rows if row.mechanism == "mine")
    expected = st.evaluate(st.histogram(4), st.published.randomised_response(4, 0.5)).objective
    assert (row.parameters, row.objective) == ("half", pytest.approx(expected))
    objectives = [ten_digits(row.objective) for row in comparison.rows]
    assert objectives == sorted(objectives)
    assert {row.mechanism for row in comparison.on([4, 3, 2, 1]).rows} == {
        row.mechanism for row in comparison.rows
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("also", "words"),
    [
        ([MINE, MINE], "another name"),
        ([replace(MINE, name="hierarchical")], "another name"),
        ([replace(MINE, name="optimised")], "another name"),
        (
            [replace(MINE, candidates=lambda setting, epsilon: alike(setting, 4 * epsilon))],
            "measures epsilon 2",
        ),
        ([alike], "give a Baseline"),
    ],
)
def test_what_is_no_mechanism_or_not_private_enough_is_refused(also, words):
    with pytest.raises(ValueError, match=words):
        st.compare(st.prefix(4), 1.0, QUICK, also=also)
