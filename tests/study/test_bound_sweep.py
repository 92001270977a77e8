"""Bounds along budgets and domains: the same as one by one, as table, records and command."""

import pytest

import stratagem as st
from commands import assert_refused, run, run_json

COMMAND = ["bound", "prefix", "--domain", "8", "--epsilon", "1"]


@pytest.mark.parametrize(
    ("workload", "epsilon", "axis", "places"),
    [
        (st.prefix(8), [0.5, 2.0], "epsilon", (0.5, 2.0)),
        ([st.histogram(4), st.histogram(32)], 1.0, "domain size", (4, 32)),
        (st.marginals("2^100", 2), [1.0], "epsilon", (1.0,)),
    ],
)
def test_each_place_has_the_bounds_that_stand_there_alone(workload, epsilon, axis, places):
    line = st.bound_sweep(workload, epsilon)
    assert (line.axis, line.places, line.complete, line.solved) == (axis, places, True, False)
    for point, record in zip(line.points, line.records(), strict=True):
        alone = st.lower_bounds(point.problem.workload, point.problem.epsilon)
        assert point.bounds == alone
        assert {name: record[name] for name in alone.known()} == alone.known()
        assert record[record["best_name"]] == record["best"] == alone.best


@pytest.mark.sampled(2)
@pytest.mark.parametrize("objective", ["average", "worst-case", "worst-query"])
def test_no_bound_is_above_the_best_and_no_strategy_below(objective):
    line = st.bound_sweep(st.prefix(6), [0.5, 2.0], st.Auto(outputs=32, max_seconds=0.3), objective=objective)
    ratios = line.ratios()
    found = ratios.pop("strategy found")
    assert line.solved
    assert min(found) >= 1 - 1e-9
    for place in range(2):
        known = [values[place] for values in ratios.values() if values[place] is not None]
        assert max(known) == 1
        assert min(known) >= 0


@pytest.mark.exhaustive
def test_time_makes_bounds_tighter_under_a_prior():
    prior, budgets = [1, 2, 3, 4] * 6, [3.0]
    (quick,) = st.bound_sweep(st.prefix(24), budgets, prior=prior).points
    (tight,) = st.bound_sweep(st.prefix(24), budgets, prior=prior, seconds=30).points
    assert "svd" not in quick.bounds
    assert tight.bounds.best > quick.bounds.best


def test_it_prints_as_an_aligned_table():
    line = st.bound_sweep([st.prefix(8), st.prefix(12)], 1.0)
    heading, rule, *rows, best = str(line).splitlines()
    assert set(rule) == {"-"}
    assert heading.split()[-2:] == ["8", "12"]
    assert [row.split()[0] for row in rows] == list(line.ratios())
    assert best.startswith("best bound")
    assert next(row for row in rows if row.startswith("exact")).split() == ["exact", "1.0000"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 1.0}, "several of one"),
        ({"epsilon": []}, "at least one"),
        ({"epsilon": [0.5, -1.0]}, "epsilon"),
        ({"epsilon": [1.0], "seconds": -1}, "seconds is -1"),
        ({"epsilon": [1.0], "objective": "best"}, "worst-case"),
        ({"epsilon": [1.0], "prior": [1, 2]}, "prior"),
    ],
)
def test_bad_input_is_one_sentence(options, words):
    with pytest.raises(ValueError, match=words) as caught:
        st.bound_sweep(st.prefix(8), **options)
    assert "\n" not in str(caught.value)


def test_the_command_goes_over_an_axis(tmp_path, capsys):
    path = tmp_path / "bounds.svg"
    data = run_json(capsys, *COMMAND, "--over", "epsilon=0.5,2", "--plot", path)
    assert data["axis"] == "epsilon"
    assert [place["epsilon"] for place in data["places"]] == [0.5, 2.0]
    for place in data["places"]:
        assert place["bounds"]["best"] == st.lower_bounds(st.prefix(8), place["epsilon"]).best
    assert path.read_bytes().startswith(b"<?xml")
    status, out, _ = run(capsys, *COMMAND, "--over", "domain=8,12")
    assert status == 0
    assert "best bound" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--over", "epsilon"], "epsilon=0.5,1,2"),
        (["--over", "epsilon=1,x"], "no number"),
        (["--over", "epsilon=1,-2"], "epsilon is -2"),
        (["--over", "domain=8,x"], "2\\^6"),
        (["--plot", "out.gif"], r"\.svg"),
    ],
)
def test_a_wrong_command_is_one_sentence(options, words, capsys):
    assert_refused(capsys, [*COMMAND, *options], words)
