"""Bins that know that their numbers are whole: their names, their middles, and what is read from a file or a plan."""

import json

import numpy as np
import pytest

import stratagem as st
from commands import run
from node import run as node
from stratagem.domain.bins import Bins
from stratagem.domain.columns import read
from stratagem.domain.policy import Policy
from stratagem.mechanism.mechanism import Mechanism
from stratagem.study.two_rounds import Scale

CHILDREN = [0] * 40 + [1] * 25 + [2] * 20 + [3] * 10 + [6] * 5


@pytest.mark.parametrize(
    ("bins", "names", "middles"),
    [
        ("0:3:1,whole", ["0", "1", "2"], [0, 1, 2]),
        ("0:3:1", ["0 to below 1", "1 to below 2", "2 to below 3"], [0.5, 1.5, 2.5]),
        ("-10,-1,0,20,whole", ["-10 to -2", "-1", "0 to 19"], [-6, -1, 9.5]),
        ("-10,-1,0,20", ["-10 to below -1", "-1 to below 0", "0 to below 20"], [-5.5, -0.5, 10]),
        ("20:40:10,whole", ["20 to 29", "30 to 39"], [24.5, 34.5]),
    ],
)
def test_only_bins_said_to_be_whole_are_named_and_summed_so(bins, names, middles):
    found = Bins.parse(bins)
    assert [found.text(k, k) for k in range(found.size)] == names
    assert [found.middle(k) for k in range(found.size)] == middles
    assert found.text(None, 0) == found.edges[1]
    assert Bins.parse(str(found)) == found
    assert found.entry().get("whole", False) == found.whole


def test_the_mean_of_whole_numbers_is_right_to_the_digit(tmp_path):
    """As a plan proposes their bins, and as its file keeps them; of decimals it counts the half."""
    plan = st.plan({"children": CHILDREN, "smokes": ["yes", "no"] * 50}, seconds=2.0)
    path = tmp_path / "survey.toml"
    path.write_text(plan.survey_file())
    assert "whole = true" in path.read_text()
    children, smokes = st.load(path).domain.attributes
    assert children.values == plan.domain.attributes[0].values == Bins.parse("0:7:1,whole")
    assert "whole" not in smokes.entry()
    x = np.bincount(CHILDREN, minlength=7)
    for values, mean in ((children.values, 1.25), (Bins.parse("0:7:1"), 1.75)):
        sums = st.Survey(st.Domain(children=values)).mean("children").workload
        assert sums.answer(x) / 100 == [pytest.approx(mean, rel=1e-12)]
        mechanism = Mechanism.of(st.published.randomised_response(7, 30.0), sums, 30.0)
        counts = np.bincount(
            [report["output"] for report in mechanism.accepting(30.0).client.randomise(CHILDREN)], minlength=7
        )
        assert mechanism.estimate(counts).answers / 100 == [pytest.approx(mean, abs=1e-6)]


PLANNED = {
    "whole numbers": (["1", "2", "3.0", "nan"], None, True),
    "decimals in bins of one": (["1", "2", "3.5"], None, False),
    "whole numbers in stated bins": (["1", "2", "3"], "0:10:5", True),
    "decimals in stated bins": (["1", "2", "3.5"], "0:10:5", False),
    "stated bins between decimals": (["1", "2", "3"], "0.5:10.5:5", False),
    "dates": (["2026-01-01", "2026-01-02", "2026-01-03"], None, False),
}


@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_says_whole_where_all_numbers_of_its_column_are(name, tmp_path, capsys):
    column, stated, whole = PLANNED[name]
    values = {} if stated is None else {"values": st.bins(stated)}
    plan = st.plan(column * 40, column="x", seconds=1, epsilon=4.0, **values)
    assert plan.proposal.values.whole == whole
    assert plan.mechanism().attributes[0].values.whole == whole
    path, out = tmp_path / "x.csv", tmp_path / "x.ldp.json"
    path.write_text("x\n" + "\n".join(column * 40) + "\n")
    edges = [] if stated is None else ["--edges", f"x={stated}"]
    options = ["--epsilon", "1", "--seconds", "1", "-o", str(out)]
    status, _, err = run(capsys, "optimise", "prefix", "--data", path, "--column", "x", *edges, *options)
    assert status == 0, err
    assert st.load_mechanism(out).attributes[0].values.whole == whole


@pytest.mark.parametrize(
    ("bins", "ends"),
    [("0:7:1,whole", "0 to 6"), ("-7:0:1,whole", "-7 to -1"), ("0,3,7,whole,other", "0 to 6")],
)
def test_both_clients_call_the_last_whole_number_as_the_form_does(bins, ends):
    """The clients said "from 0 to below 7" where the form says "from 0 to 6"."""
    x = Bins.parse(bins)
    oracle = st.published.randomised_response(x.size, 1.0)
    found = Mechanism.of(oracle, st.histogram(st.Domain(x=x)), 1.0)
    with pytest.raises(ValueError, match="not a whole number") as refused:
        found.client.randomise("1.5" if x.edges[0] == "0" else "-1.5")
    (web,) = node("refusals", bundle=found.text, values=[json.dumps("1.5" if x.edges[0] == "0" else "-1.5")])
    for said in (str(refused.value), web):
        assert f"must be a whole number from {ends}" in said
        assert "below" not in said


def test_what_is_not_whole_is_outside_or_other_with_a_reason(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("x\n1\n1.0\n1.5\n2\nmany\n")
    domain = st.Domain(x=st.bins("0:3:1", whole=True, other=True))
    data = read(path, domain, {"x": "x"}, Policy(invalid="drop"))
    assert (data.x.tolist(), data.outside) == (
        [0, 2, 1, 0],
        {"x not a number": 1, "x not a whole number": 1},
    )
    data = read(path, domain, {"x": "x"}, Policy(invalid="other"))
    assert (data.x.tolist(), data.others) == (
        [0, 2, 1, 2],
        {"x not a number": 1, "x not a whole number": 1},
    )
    with pytest.raises(ValueError, match=r"texts '1\.5' 1, 'many' 1"):
        read(path, domain, {"x": "x"})


@pytest.mark.parametrize("bins", ["0:1:0.5", "0,1e17,1e18", "2026-01-01:2026-02-01:1w", "00:00:24:00:1h"])
def test_only_edges_that_are_whole_numbers_are_said_to_be(bins):
    for make in (lambda: st.bins(bins, whole=True), lambda: Bins.parse(f"{bins},whole")):
        with pytest.raises(ValueError, match="not all whole numbers in digits: leave it out"):
            make()


def test_merged_bins_of_whole_numbers_stay_whole():
    scale = Scale(asked=st.prefix(st.bins("0:9:1", whole=True)), strategy=None)
    merged = scale.merged(np.array([0, 4, 6]))
    assert merged.values == Bins.parse("0,4,6,9,whole")
    assert [merged.values.text(k, k) for k in range(3)] == ["0 to 3", "4 to 5", "6 to 8"]
    assert Scale(asked=st.prefix(9), strategy=None).merged(np.array([0, 4, 6])).values == merged.values
