"""What is said first of a result is the solution's own numbers."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import RULES
from stratagem.estimators import users_needed
from stratagem.io.screen import WIDTH
from stratagem.math.number import above_minimum, percent, percent_apart
from stratagem.solvers import Status
from stratagem.solvers.problem import problem_of
from stratagem.study.comparison import Comparison
from stratagem.study.comparison_sweep import Sweep
from stratagem.study.ranking import Ranking
from stratagem.study.solution import ENDED, PROVEN
from stratagem.study.summary import (
    CUT,
    HARDEST,
    UNMOVED,
    bound_sentences,
    bound_table,
    expect,
    fewest_users,
    summary,
)

X = np.array([40, 30, 10, 10, 5, 3, 1, 1])


@pytest.fixture(scope="module")
def solution():
    return st.optimise(st.prefix(8), 1.0, "quick")


def whole(sentence):
    """Return the whole numbers with separators in a sentence."""
    return [
        int(number.replace(",", ""))
        for number in re.findall(r"(?<![.\w])\d[\d,]*(?![\d,.]*[.]\d| %)", sentence)
    ]


def shares(sentence):
    return [float(number.replace(",", "")) for number in re.findall(r"([\d,.]+) %", sentence)]


def said_of(solution, **options):
    return summary(solution.problem, solution.bounds, solution, solution.baselines.named, **options)


def test_people_to_ask_lead_and_stand_in_the_table(solution):
    lead, table, below = said_of(solution)
    ours = solution.users_for()
    assert whole(lead) == [ours.root_mean_square, ours.least_accurate, 8]
    theirs = {one.mechanism: one.users_for() for one in solution.baselines}
    best = min(theirs, key=lambda name: theirs[name].root_mean_square)
    least = users_needed(solution.least_variance / 7)  # of the last prefix everybody is known
    assert table.rows == [
        ("Stratagem", *(f"{number:,}" for number in ours)),
        (f"{best} (published)", *(f"{number:,}" for number in theirs[best])),
        ("proven minimum", f"{least:,}", ""),
    ]
    fewer, hardest, people, near = below.splitlines()
    assert shares(fewer) == [round(100 * (1 - ours.root_mean_square / theirs[best].root_mean_square), 1)]
    assert fewer.endswith("% fewer people than the best published.")
    assert hardest == HARDEST
    assert (
        people == f"People needed {above_minimum(ours.root_mean_square / least - 1)}, for the hardest value."
    )
    assert near == f"Variance {above_minimum(solution.variance_gap)}, on average over the values."


def test_where_time_ran_out_the_best_published_is_that_there_was_time_for(solution):
    cut = said_of(solution, cut=True)[2].splitlines()[0]
    assert cut.endswith("% fewer people than the best published that there was time for.")
    late = replace(solution, baselines=Ranking(solution.baselines, (), ("haar",)))
    assert cut in str(late).replace("\n", " ")
    assert cut not in str(solution).replace("\n", " ")


def test_a_solution_and_a_comparison_print_it(solution):
    lead, table, below = said_of(solution)
    assert str(solution) == f"{lead}\n\n{table}\n\n{below}"
    first, rows, rest = str(Comparison.of(solution)).split("\n\n")
    assert (first, rest) == (lead, below)
    assert [line.split()[0] for line in rows.splitlines()[2:4]] == ["Stratagem", "hierarchical"]
    assert len(rows.splitlines()) == 2 + 1 + 5 + 1
    assert max(map(len, f"{solution}\n{rows}".splitlines())) <= WIDTH


def test_with_so_many_people_errors_stand_in_their_place(solution):
    lead, table, below = said_of(solution, users=5000)
    mean, single = (math.sqrt(v / 5000) for v in (solution.mean_variance, solution.largest_comparable))
    assert shares(lead) == [float(f"{100 * mean:.3g}"), float(f"{100 * single:.3g}")]
    assert f"or {round(5000 * mean):,} people (standard error)" in lead
    assert table.headings[0] == "error with 5,000 people"
    assert table.rows[0] == ("Stratagem", f"{100 * mean:.3g} %", f"{100 * single:.3g} %")
    least = math.sqrt(solution.least_variance / 7 / 5000)
    assert table.rows[-1] == ("proven minimum", f"{100 * least:.3g} %", "")
    assert below == said_of(solution)[2].replace(f"\n{HARDEST}", "")
    assert lead.endswith(f"\n{HARDEST}")
    assert " ".join(expect(solution, 5000)) in lead.replace("\n", " ")


def test_users_of_the_bound_bound_every_mechanism(solution):
    least = fewest_users(solution.problem, solution.bounds)
    assert all(one.users_for().root_mean_square >= least for one in (solution, *solution.baselines))


def test_the_least_accurate_answer_counts_where_it_is_the_objective():
    solution = st.optimise(st.prefix(6), 1.0, "quick", objective="worst-query")
    _, table, below = said_of(solution)
    theirs = {one.mechanism: one.users_for().least_accurate for one in solution.baselines}
    best = min(theirs, key=theirs.__getitem__)
    assert table.rows[1][0] == f"{best} (published)"
    least = users_needed(solution.lower_bound)
    assert table.rows[2] == ("proven minimum", "", f"{least:,}")
    assert "for the hardest answer" in below
    said = bound_sentences(solution.problem, solution.bounds)
    assert f"{least:,} people are needed so that every single answer is typically off by 1 %" in said
    assert solution.users_for().least_accurate >= least


@pytest.mark.parametrize("objective", ["average", "worst-query"])
def test_weights_and_units_leave_the_proven_minimum_of_the_answers_that_people_are_needed_for(objective):
    """People for 2 of 3 answers stood beside an optimum over all 3, and the minimum was missing."""
    counts = st.explicit([[1, 1, 0, 0], [0, 1, 1, 0]])
    plain = problem_of(counts, 1.0, objective)
    for asked, over in {
        st.weighted(counts, 3.0): "over all 2 queries with their units and weights.",
        st.stack(
            [counts, st.mean([1.0, 5.0, 9.0, 20.0])]
        ): "over all 3 queries with their units and weights.",
        counts: "over the values.",
    }.items():
        found = st.optimise(asked, 1.0, "quick", objective=objective)
        _, table, below = said_of(found)
        least = fewest_users(found.problem, found.bounds)
        assert f"{least:,}" in table.rows[-1][1:]
        assert table.rows[-1][0] == "proven minimum"
        assert least == pytest.approx(
            fewest_users(plain, plain.bounds), rel=1e-6 if asked is not counts else 0.1
        )
        assert below.endswith(over)
        assert "People needed" in below


def test_a_minimum_of_some_answers_that_takes_long_is_not_stated(monkeypatch):
    asked = st.weighted(st.prefix(6), 3.0)
    found = st.optimise(asked, 1.0, "quick", objective="worst-query")
    monkeypatch.setattr("stratagem.study.summary.LOOKED_AT", 5)
    _, table, below = said_of(found)
    assert table.rows[-1][0] != "proven minimum"
    assert "People needed" not in below


def test_as_many_more_and_none(solution):
    rival = min(solution.baselines, key=lambda one: one.users_for().root_mean_square)
    same = replace(solution, strategy=rival.strategy, accuracy=rival.accuracy, objective=rival.objective)
    assert said_of(same)[2].startswith("For a typical answer as many people as the best published.")
    worst = replace(solution, accuracy=solution.baselines[-1].accuracy)
    assert re.match(r"For a typical answer [\d,.]+ % more people than the best published", said_of(worst)[2])
    assert "not set up" in said_of(replace(solution, baselines=Ranking(())))[2]


def test_a_bound_of_nothing_is_not_in_the_table():
    solution = st.optimise(st.total(4), 1.0)
    assert "proven minimum" not in str(said_of(solution)[1])
    said = bound_sentences(solution.problem, solution.bounds)
    assert said == "At epsilon 1 the lower bound is too small to say how many people are needed."


def test_answers_in_other_units_are_no_share_of_people():
    problem = problem_of(st.mean([0.5, 3.0, 7.0]), 1.0)
    said = bound_sentences(problem, problem.bounds)
    assert "off by 0.01 a person in the units of the queries" in said
    solution = st.optimise(st.mean([0.5, 3.0, 7.0]), 1.0)
    lead, table, _ = said_of(solution, users=5000)
    assert "%" not in said + lead + str(table)
    assert table.headings == ("error with 5,000 people", "typical answer")


def test_every_bound_is_named_with_its_whole_meaning(solution):
    known = solution.bounds.known()
    table = bound_table(solution.bounds)
    assert table.rows == [(name, RULES[name].meaning, f"{value:,.6f}") for name, value in known.items()]
    assert table.rows[table.bold][0] == solution.bounds.name


@pytest.mark.exhaustive
def test_a_published_mechanism_that_needs_fewer_people_for_every_answer_is_named():
    solution = st.optimise(st.prefix(24), 3.28, "quick")
    best = min(solution.baselines, key=lambda one: one.largest_comparable)
    needed = best.users_for().least_accurate
    assert needed < solution.users_for().least_accurate
    said = said_of(solution)[2]
    assert f"\nFor every answer {best} needs {needed:,} people." in said
    assert "worst-query" not in said  # which is for an average over the values, and may need more
    off = 100 * math.sqrt(best.largest_comparable / 5000)
    with_users = said_of(solution, users=5000)[2]
    assert f"\nWith {best} every single answer is typically off by {off:.3g} % or less." in with_users
    assert "worst-query" not in with_users  # a plan has no other objective
    assert "For every answer" not in said_of(st.optimise(st.prefix(8), 1.0, "quick"))[2]


def test_a_survey_names_what_needs_fewer_people_for_every_answer():
    """Ours with nearly all devices in one part; of 144 combinations of answers not all mechanisms are looked at."""
    solution = st.optimise(st.Survey({"a": 24, "b": 3, "c": 2}).prefix("a").table("b"), 1.0, seconds=3)
    best = next(one for one in solution.baselines if one.mechanism == "one question each")
    asked, *others = best.strategy.parts
    parts = (replace(asked, share=0.98), *(replace(one, share=0.02 / len(others)) for one in others))
    strategy = replace(best.strategy, parts=parts)
    uneven = replace(solution, strategy=strategy, accuracy=st.evaluate(solution.workload, strategy))
    needed = best.users_for().least_accurate
    assert needed < uneven.users_for().least_accurate
    assert f"\nFor every answer {best} needs {needed:,} people." in said_of(uneven)[2]
    assert "For every answer" not in said_of(solution)[2]


def test_people_needed_with_a_prior_are_said_to_hold_without_it(solution):
    favoured = st.optimise(st.prefix(8), 1.0, "quick", prior=[0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    assert f"\n{HARDEST} {UNMOVED}\n" in said_of(favoured)[2]
    assert UNMOVED not in said_of(solution)[2]


def test_a_bound_of_an_average_beside_people_for_every_answer_names_its_kind(solution):
    every = st.optimise(st.prefix(6), 1.0, "quick", objective="worst-query")
    kind = "above the proven minimum, which is proven for the average over the values."
    assert kind in said_of(every)[2]
    assert kind not in said_of(solution)[2]


@pytest.mark.parametrize("status", ENDED)
def test_a_search_that_ended_at_the_proven_minimum_is_optimal(solution, status):
    found = replace(solution, status=status)
    exact = replace(found, objective=found.lower_bound * (1 + 1e-6))
    assert exact.outcome == PROVEN
    assert exact.verdict.startswith(PROVEN)
    assert found.gap > 1e-4
    assert found.outcome == str(status)


@pytest.mark.parametrize(("gap", "words"), [(1e-6, "< 0.01 %"), (9.9e-5, "< 0.01 %"), (1e-4, "0.01 %")])
def test_what_is_below_the_printed_digits_is_said_to_be(gap, words):
    assert above_minimum(gap).startswith(words)
    assert percent(gap) == words.replace(" ", "\u00a0")
    assert percent_apart(1 - 1.01 * gap) == words


def test_a_plan_says_that_its_search_stopped_early():
    early = "The search ended before what it aims at: the variance is "
    assert any(early in one for one in _planned(Status.GAP_MISSED).about_epsilon())
    assert not any(early in one for one in _planned(Status.OPTIMAL).about_epsilon())


def _planned(status):
    found = st.plan([20, 30, 30, 40], users=10_000)
    return replace(found, solution=replace(found.solution, status=status))


def test_a_bound_that_time_cut_short_says_so_and_how_to_go_on(solution):
    assert not solution.bounds.cut, "the optimum"
    assert CUT not in said_of(solution)[2]
    cut = replace(solution, bounds=replace(solution.bounds, cut=True))
    assert said_of(cut)[2].endswith(CUT)
    quick = st.lower_bounds(st.prefix(32), 4.0)
    assert st.bounds.tighten(quick, st.prefix(32), 4.0, seconds=1.0).cut
    assert not st.bounds.tighten(quick, st.prefix(32), 4.0, gap=1e6, objective=quick.best, seconds=1.0).cut
    assert st.bounds.tighten(quick, st.prefix(32), 4.0, seconds=1.0).above(1.0, far=False).cut


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (0.0, "0 % above the proven minimum"),
        (0.00061, "0.07 % above the proven minimum"),
        (math.inf, "above a proven minimum of zero"),
    ],
)
def test_a_gap_has_one_wording(gap, words):
    assert above_minimum(gap) == words


def test_an_error_on_data_of_which_nothing_is_proven_is_said_plainly(solution):
    said = replace(Comparison.of(solution).on(X), least_error=0.0).parts()[0]
    assert said.endswith("\nThe lower bounds prove no error on these data that every mechanism must make.")
    assert "zero" not in said


def test_errors_on_data_are_those_of_the_comparison(solution):
    comparison = Comparison.of(solution).on(X)
    first, second, third = comparison.parts()[0].splitlines()
    ours = next(row for row in comparison.rows if row.optimised)
    best = min((row for row in comparison.rows if not row.optimised), key=lambda row: row.value)
    assert f"off by {ours.error:.4g} of 100 people, {ours.error:.3g} % of them" in first
    assert second.endswith(f"with the best published, {best.mechanism}.")
    assert shares(second) == [round(100 * (1 - ours.error / best.error), 1)]
    gap = above_minimum(ours.error / comparison.least_error - 1)
    assert third == f"Error {gap}, which is {comparison.least_error:.4g} on these data."


def test_a_sweep_says_the_least_and_most_gain(solution):
    line = Sweep("epsilon", (Comparison.of(solution), Comparison.of(st.optimise(st.prefix(8), 2.0, "quick"))))
    needed = line.users_needed()
    ours, least = needed.pop("optimised"), needed.pop("lower bound")
    best = [min(users[k] for users in needed.values() if users[k] is not None) for k in (0, 1)]
    gains = sorted(round(100 * (1 - a / b), 1) for a, b in zip(ours, best, strict=True))
    far = max(a / b for a, b in zip(ours, least, strict=True))
    said = line.headline()
    assert shares(said)[:2] == gains
    assert said.endswith(f"People needed: {above_minimum(far - 1)}.")
    alone = replace(line, comparisons=line.comparisons[:1]).headline()
    assert len(shares(alone)) == 2
