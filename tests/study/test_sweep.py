"""Sweeps: comparisons along budgets and domains, as table, data and figure."""

import csv
import json
import sys

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, plain, run, run_json
from stratagem.study.comparison_sweep import BOUND, Sweep

QUICK = st.Auto(outputs=32, max_seconds=0.5)


@pytest.fixture(scope="module")
def budgets():
    return st.sweep(st.prefix(16), [0.5, 2.0], QUICK)


@pytest.fixture(scope="module")
def domains():
    return st.sweep([st.histogram(n) for n in (3, 8, 20)], 1.0, QUICK)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "axis", "places"),
    [("budgets", "epsilon", (0.5, 2.0)), ("domains", "domain size", (3, 8, 20))],
)
def test_a_sweep_goes_along_one_axis(name, axis, places, request):
    line = request.getfixturevalue(name)
    assert (line.axis, line.places, line.complete) == (axis, places, True)
    needed, single = line.users_needed(), line.users_needed(least_accurate=True)
    assert next(iter(needed)) == next(iter(single)) == "optimised"
    assert list(needed)[-1] == list(single)[-1] == BOUND
    assert needed[BOUND] == single[BOUND]
    for mechanism, users in needed.items():
        for ours, every, least in zip(users, single[mechanism], needed[BOUND], strict=True):
            assert ours is None or every >= ours >= least
    every = 16 / 15 if name == "budgets" else 1  # the literature divides by the last prefix, too
    for mechanism, literature in line.sample_complexity().items():
        pairs = zip(literature, needed[mechanism], strict=True)
        assert all(one is None or abs(100 * every * one - users) <= 1 for one, users in pairs)


@pytest.mark.exhaustive
def test_each_place_is_the_comparison_made_there():
    """Each has a minute, so that no published mechanism comes late on a busy machine."""
    unhurried = st.Auto(outputs=32, max_seconds=60)
    alone, line = st.compare(st.prefix(8), 2.0, unhurried), st.sweep(st.prefix(8), [0.5, 2.0], unhurried)
    there = {row.mechanism: row for row in line.comparisons[1].rows}
    untried = {name for one in (alone, line.comparisons[1]) for name in (*one.partial, *one.late)}
    for row in alone.rows:
        if row.mechanism not in {"optimised", *untried}:
            assert row == there[row.mechanism]
    assert len(untried) < len(there) / 2


@pytest.mark.parametrize("objective", ["average", "worst-case", "worst-query"])
def test_no_strategy_needs_fewer_users_than_the_bound_leaves(objective):
    """At n = 4 the users that every random strategy needs, found or not, are above the bound of each objective."""
    line = st.sweep(st.prefix(4), [1.0], QUICK, objective=objective)
    (least,) = line.sample_complexity()[BOUND]
    rng = np.random.default_rng(5)
    for _ in range(50):
        rows = 1 + (np.e * (1 - 1e-12) - 1) * rng.integers(0, 2, (6, 4))
        columns = rows.sum(axis=0)
        Q = np.vstack([rows, columns.max() * 1.5 - columns]) / (columns.max() * 1.5)
        if st.strategies.MatrixStrategy(Q).epsilon <= 1 and np.linalg.matrix_rank(Q) == 4:
            assert st.evaluate(st.prefix(4), st.strategies.MatrixStrategy(Q)).samples_for(0.01) >= least
    assert least > 0


def test_data_holds_every_row_and_bound(budgets, tmp_path):
    budgets.save(tmp_path / "all.csv")
    budgets.save(tmp_path / "all.json")
    with (tmp_path / "all.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    records = json.loads((tmp_path / "all.json").read_text())["records"]
    assert len(lines) == len(records) == sum(len(one.rows) + 1 for one in budgets.comparisons)
    assert [float(line["objective"]) for line in lines] == [record["objective"] for record in records]
    tuned = [line["parameters"] for line in lines if line["mechanism"] == "hierarchical"]
    assert all("branching" in words for words in tuned)
    for line, record in zip(lines, records, strict=True):
        for which, users in record["users_for_one_percent"].items():
            assert line[f"users_for_one_percent_{which}"] == str(users)
    frame = budgets.to_frame()
    assert list(frame.columns) == list(lines[0])
    assert frame["objective"].tolist() == [record["objective"] for record in records]


def test_a_frame_needs_pandas(budgets, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match="pandas is not installed"):
        budgets.to_frame()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["budgets", "domains"])
def test_it_plots(name, request, tmp_path):
    line = request.getfixturevalue(name)
    figure = line.plot(tmp_path / "line.svg")
    (axes,) = figure.axes
    words = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"Stratagem", "proven minimum"} <= words
    assert axes.get_yscale() == "log"
    assert (tmp_path / "line.svg").read_bytes().startswith(b"<?xml")


def test_it_prints_as_an_aligned_table(domains):
    mean, single, note = str(domains).split("\n\n")
    for table, which in ((mean, "typical answer"), (single, "every answer")):
        heading, rule, *lines = table.splitlines()
        assert heading.startswith(f"people needed, {which}, domain size =")
        assert len(lines) == 7
        assert [line.split()[0] for line in lines[:2]] == ["Stratagem", "proven"]
        assert rule == "-" * len(heading)
        assert {len(line) for line in lines} == {len(heading)}
    assert plain(note).startswith("People needed: for a standard error of 1 % of all people.")
    assert plain(note).endswith(plain(domains.late_sentence))


def test_people_needed_are_for_an_error_in_the_units_of_the_queries():
    assert "for a standard error of 0.01 a person, in the units of the queries" in plain(
        st.sweep([[0, 1, 2], [0, 1, 4]], [1.0]).notes()
    )


@pytest.mark.parametrize(
    ("workload", "epsilon", "word"),
    [
        (st.prefix(4), 1.0, "several of one"),
        ([st.prefix(4)], [1.0], "several of one"),
        (st.prefix(4), [], "at least one"),
        ([], 1.0, "at least one"),
        (st.prefix(4), "0.5", "epsilon is '0.5'"),
        (st.prefix(4), [0.5, -1.0], "epsilon"),
    ],
)
def test_bad_input_is_one_sentence(workload, epsilon, word):
    with pytest.raises(ValueError, match=word) as caught:
        st.sweep(workload, epsilon, QUICK)
    assert "\n" not in str(caught.value)


def test_a_sweep_ended_by_hand_keeps_what_it_has():
    line = st.sweep([st.prefix(16), st.prefix(20)], 1.0, on_step=lambda step: True)
    assert isinstance(line, Sweep)
    assert (len(line.comparisons), line.complete) == (1, False)


COMMAND = ["compare", "histogram", "--domain", "8", "--epsilon", "1", "--seconds", "0.5"]


def test_the_command_goes_over_an_axis(tmp_path, capsys):
    written, drawn = tmp_path / "d.csv", tmp_path / "d.svg"
    data = run_json(capsys, *COMMAND, "--over", "domain=2^2,2^3", "-o", written, "--plot", drawn)
    assert data["axis"] == "domain size"
    assert [one["domain"] for one in data["comparisons"]] == ["2^2", "2^3"]
    assert all(one["bounds"]["best"] > 0 for one in data["comparisons"])
    assert written.exists()
    assert drawn.exists()


def test_one_comparison_can_be_written_too(tmp_path, capsys):
    assert run(capsys, *COMMAND, "-o", tmp_path / "one.json")[0] == 0
    records = json.loads((tmp_path / "one.json").read_text())["records"]
    assert {"optimised", BOUND} < {record["mechanism"] for record in records}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--over", "epsilon"], "epsilon=0.5,1,2"),
        (["--over", "n=1,2"], "epsilon=0.5,1,2"),
        (["--over", "domain=a=3,b=2"], "no names"),
        (["--over", "epsilon=1,x"], "no number"),
        (["--over", "epsilon=1,-2"], "epsilon is -2"),
        (["-o", "out.xlsx"], ".csv, .json"),
    ],
)
def test_a_wrong_command_is_one_sentence(options, words, capsys):
    assert_refused(capsys, [*COMMAND, *options], words)


@pytest.mark.parametrize("weight", [3.0, 1e-3])
def test_the_proven_minimum_of_weighted_queries_is_that_of_the_queries(weight):
    """It was one person, "which says nothing"."""
    (least,), (plain,) = (
        st.sweep(W, [1.0], "quick").users_needed()[BOUND]
        for W in (st.weighted(st.prefix(4), weight), st.prefix(4))
    )
    assert least == pytest.approx(plain, rel=1e-3)
    mixed = st.sweep(st.stack([st.prefix(4), st.mean([1.0, 2.0, 4.0, 9.0])]), [1.0], "quick")
    assert mixed.users_needed()[BOUND][0] == pytest.approx(plain, rel=1e-3)
    assert "People needed: " in mixed.headline()
    assert "says nothing" not in mixed.notes()
