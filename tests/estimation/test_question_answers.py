"""Tables by the names of attributes, and all answers as one frame: labels, one answer a cell, no weights."""

import re
import sys
from itertools import product

import numpy as np
import pytest

import stratagem as st
from asked import PEOPLE, SURVEY, estimate, mechanism, people
from stratagem.domain.bins import Bins
from stratagem.estimation.question import UNTOLD, crossed
from stratagem.estimators import UnsupportedWorkloadError
from stratagem.mechanism.mechanism import Mechanism
from stratagem.report.question import by_question
from stratagem.workloads import Attribute

METHODS = ["unbiased", "recommended"]


def of_kind(found, kind, attributes):
    """Return the estimate of the one question of a kind about some attributes."""
    names = found.workload.domain.names
    (own,) = [
        own
        for question, own in found.by_question()
        if question.kind == kind and tuple(names[place] for place in question.attributes) == attributes
    ]
    return own


@pytest.mark.parametrize("method", METHODS)
def test_a_table_has_the_labels_of_its_attributes_and_every_cell(method):
    found = estimate(method)
    records = found.table("région", "income").records()
    incomes = ["0 to below 1000", "1000 to below 2000", "2000 to below 3000", "no answer"]
    pairs = [(one["région"], one["income"]) for one in records]
    assert pairs == list(product(["Nord", "Süd", "other", "no answer"], incomes))
    assert list(records[0]) == ["région", "income", "people", "standard_error", "low", "high"]
    users = people()
    for one, (region, income) in zip(records, product(range(4), range(4)), strict=True):
        true = int(((users[:, 1] == region) & (users[:, 2] == income)).sum())
        assert abs(one["people"] - true) <= 5 * one["standard_error"]
        assert one["low"] <= one["people"] <= one["high"]


@pytest.mark.parametrize("method", METHODS)
def test_a_cell_has_one_answer_wherever_it_is_asked(method):
    """The table, its other orientation, the question, its sums and the question about one attribute alone."""
    found = estimate(method)
    cells = np.array([one["people"] for one in found.table("région", "income").records()]).reshape(4, 4)
    turned = np.array([one["people"] for one in found.table("income", "région").records()]).reshape(4, 4)
    alone = [one["people"] for one in found.table("région").records()]
    assert np.allclose(turned.T, cells, atol=1e-6)
    assert np.allclose(of_kind(found, "identity", ("région", "income")).answers, cells.ravel(), atol=1e-6)
    assert np.allclose(of_kind(found, "identity", ("région",)).answers, alone, atol=1e-6)
    assert np.allclose(alone, cells.sum(axis=1), atol=1e-3)
    assert np.allclose(
        [one["people"] for one in found.table("income").records()], cells.sum(axis=0), atol=1e-3
    )
    assert not np.allclose(estimate("unbiased").table("région").answers[0].answer, estimate().answers[4]), (
        "a control"
    )


def test_weights_say_how_important_a_question_is_and_nothing_about_people():
    found = estimate()
    own = of_kind(found, "prefix", ("age",))
    assert own.answers[-1] == pytest.approx(PEOPLE)
    assert found.answers[3] == pytest.approx(PEOPLE)
    assert not any(one.label.startswith("0.5 ×") for one in found.table())
    weighted = found.ask(SURVEY)
    assert weighted.answers[3] == pytest.approx(PEOPLE / 2), "weights that are asked for multiply"
    assert own.naming.label(0) == "age below 26 years"
    labels = {one["label"] for one in estimate().frame().to_dict("records")}
    assert not any("×" in label for label in labels)
    assert any(one.label.startswith("0.5 ×") for one in weighted.table()), "a control"


def test_intervals_of_questions_hold_together_with_those_of_the_others():
    found = estimate("unbiased").together()
    assert all(own.among == SURVEY.workload.queries for _, own in found.by_question())
    (wide,) = of_kind(found, "prefix", ("age",)).table([0])
    (narrow,) = of_kind(estimate("unbiased"), "prefix", ("age",)).table([0])
    assert wide.high - wide.low > 1.3 * (narrow.high - narrow.low)


def test_raw_answers_are_raw():
    assert np.allclose(estimate().raw().answers, estimate("unbiased").answers)
    assert not np.allclose(estimate(epsilon=0.5).answers, estimate("unbiased", 0.5).answers)


def test_the_frame_holds_every_answer():
    frame = estimate().frame()
    columns = ["question", "kind", "label", "answer", "standard_error", "low", "high"]
    assert list(frame.columns) == columns
    assert len(frame) == SURVEY.workload.queries
    assert frame["question"].unique().tolist() == ["age", "région x income", "région", "income", "../a b"]
    table = estimate().table("région", "income").to_frame()
    cells = frame[frame["question"] == "région x income"]
    assert np.allclose(cells["answer"], table["people"])


def test_frames_need_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match="pandas is not installed"):
        estimate().frame()


@pytest.mark.parametrize(
    ("names", "error", "words"),
    [
        (("age", "income"), UnsupportedWorkloadError, "no part of the survey asks age, income together"),
        (("age", "age"), ValueError, "was given 2 times"),
        (("age", "weight"), ValueError, "the domain has age, région"),
    ],
)
def test_what_cannot_be_told_is_refused_in_a_sentence(names, error, words):
    with pytest.raises(error, match=words):
        estimate().table(*names)


def test_one_question_alone_has_a_table_as_well():
    mechanism = st.optimise(st.histogram({"region": st.labels("North", "South")}), 1.0).mechanism()
    found = mechanism.estimate(np.bincount([0] * 30 + [1] * 20, minlength=mechanism.outputs))
    assert [one["region"] for one in found.table("region").records()] == ["North", "South"]
    assert found.frame()["label"].tolist() == ["region = North", "region = South"]
    assert [one.label for one in found.table([1])] == ["region = South"]


def test_the_sums_of_rows_and_columns_agree_with_the_cells():
    table = estimate().table("région", "income").crossed()
    *rows, total = [[float(cell) for cell in line[1:]] for line in table.rows]
    for row in rows:
        assert row[-1] == pytest.approx(sum(row[:-1]), abs=0.05 * len(row) + 1e-9)
    for column, value in zip(zip(*rows, strict=True), total, strict=True):
        assert value == pytest.approx(sum(column), abs=0.05 * (1 + len(column)) + 1e-9)
    assert total[-1] == 100
    assert "Süd" in str(estimate().table("région", "income"))


def numbered(name, size, letters):
    return Attribute(name, st.labels(*(f"{k:0{letters}}" for k in range(size))).values)


@pytest.mark.parametrize(
    ("sizes", "letters", "rows"),
    [
        ((4, 6), (1, 5), 4),
        ((6, 40), (5, 1), 40),
        ((40, 6), (1, 5), 40),
        ((40, 40), (1, 1), None),
        ((2, 60), (1, 1), None),
    ],
)
def test_a_table_lies_the_way_it_fits(sizes, letters, rows):
    first, second = (numbered(*one) for one in zip("ab", sizes, letters, strict=True))
    cells = {(i, j): 1 / (first.size * second.size) for i in range(first.size) for j in range(second.size)}
    found = crossed((first, second), cells)
    assert (None if found is None else len(found.rows) - 1) == rows
    if found is not None:
        assert max(map(len, found.lines())) <= 80
        assert len(found.lines()) >= rows


@pytest.mark.parametrize("attributes", [(), ("a",), ("a", "b", "c")])
def test_other_than_two_attributes_are_no_rows_and_columns(attributes):
    assert crossed([numbered(name, 2, 1) for name in attributes], {(0,): 1.0}) is None


@pytest.mark.parametrize("many", [40, 1500, 6000, PEOPLE])
def test_shares_of_rows_are_told_where_their_intervals_reach_ten_points(many):
    """The standard errors of the totals are those that the covariance of the cells gives."""
    made = mechanism()
    reports = made.strategy.randomise(people()[:many], np.random.default_rng(1))
    found = made.estimate(np.bincount(reports, minlength=made.outputs), method="recommended")
    one = by_question(found, 3.0)[1]
    cells = found.marginal("région", "income")
    asked, C = (
        cells.answers.reshape(4, 4)[:3, :3],
        cells.raw().covariance().reshape(4, 4, 4, 4)[:3, :3, :3, :3],
    )
    totals, own = asked.sum(axis=1), np.sqrt(np.einsum("abab->ab", C))
    rows = np.sqrt(np.einsum("abac->a", C))
    shares = asked / totals[:, None]
    reach = 1.96 * np.hypot((1 - shares) * own, shares * rows[:, None]) / totals[:, None]
    tables = {table.caption.split(",")[0]: table for table in one.crossed()}
    table = tables.get("Per cent of each row")
    assert (table is None) == (reach > 0.1).all()
    if table is None:
        return
    *lines, _ = ([*line[1:]] for line in table.rows)
    assert [[cell != "–" for cell in line[:-1]] for line in lines] == (reach <= 0.1).tolist()
    assert all((line[-1] == "100.0") == (line != ["–"] * 4) for line in lines)
    assert ("–" in "".join(map("".join, lines))) <= table.caption.endswith(f"in columns; {UNTOLD}")


def test_the_error_of_a_row_and_of_a_cell_decide_what_is_told():
    two = numbered("a", 2, 1), numbered("b", 2, 1)
    cells = {(0, 0): 0.4, (0, 1): 0.2, (1, 0): 0.4, (1, 1): 0.0}
    even = {(0, 0): 0.02, (0, 1): 0.02, (1, 0): 0.021, (1, 1): 0.021, (0, -1): 0.02, (1, -1): 0.021}
    wide = dict.fromkeys([*even, (-1, 0), (-1, 1)], 0.5)
    shown = [line[1:] for line in crossed(two, cells, "of rows", even).rows]
    assert shown == [("66.7", "33.3", "100.0"), ("–", "–", "–"), ("80.0", "20.0", "100.0")]
    turned = crossed(
        two[::-1],
        {(j, i): x for (i, j), x in cells.items()},
        "of rows",
        {(j, i): e for (i, j), e in even.items()},
    )
    assert "–" in str(turned.rows)
    assert crossed(two, cells, "of rows", wide) is None


def test_how_many_answered_is_told_with_an_interval_that_post_processing_does_not_narrow():
    """Cells that cannot be negative raise the gaps, mostly empty, and lower the number of those who answered."""
    made, rng = mechanism(0.5), np.random.default_rng(4)
    users = people()[:2000]
    users[:, 1:3] = np.minimum(users[:, 1:3], (1, 2))  # everybody answers
    lower = []
    for _ in range(10):
        counts = np.bincount(made.strategy.randomise(users, rng), minlength=made.outputs)
        one = by_question(made.estimate(counts, method="recommended"), 0.5)[1]
        (caption,) = {
            re.sub(".* the (.*) who .*", r"\1", table.caption)
            for table in one.crossed()
            if " who " in table.caption
        }
        number, low, high = (float(word.replace(",", "")) for word in re.findall(r"[\d,]+", caption))
        assert low <= number <= high
        lower.append(number < len(users))
        assert high == len(users)
    assert all(lower), "a control: the number itself is too low in every sample"


@pytest.mark.parametrize(
    ("values", "of_all"),
    [
        ("1:6:1", False),
        ("0:50:10", False),
        ("2024-01-01:2024-06-01:1mo", False),
        ("0:4:1,other,no answer", True),
    ],
)
def test_the_file_of_all_questions_names_the_limits_of_a_median_as_the_page_does(values, of_all):
    domain = {"size": Bins.parse(values)}
    workload = st.prefix(domain)
    made = Mechanism.of(st.published.randomised_response(workload.domain_size, 0.5), workload, 0.5)
    users = np.full(workload.domain_size, 60)
    found = made.estimate(made.strategy.histogram(users, np.random.default_rng(2)), method="recommended")
    (one,) = by_question(found, 0.5, of_all=of_all)
    sure, told = str(one.median).split("sure: ")[1].split(";")[0].removeprefix("from "), one.overview()
    low, high = told["median_low"], told["median_high"]
    assert low != high
    assert sure.startswith(f"{low} ")
    assert sure.endswith(f" {high}")
