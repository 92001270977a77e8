"""Every call that searches takes seconds: checked alike, kept to, and what did not fit is named."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest
import typer.main

import stratagem as st
from commands import plain, run
from stratagem import cli
from stratagem.math.deadline import granted, within
from stratagem.published import BASELINES
from stratagem.solvers.problem import problem_of
from stratagem.study.ranking import Ranking, rank_baselines

ON_TOP = (1.2, 3.0)
"""A call may take 1.2 times its limit, and 3 seconds: of processor time here, so that others' work does not count."""
W = st.prefix(13)
AGES = [20, 25, 31, 33, 47, 64] * 30


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return st.optimise(st.prefix(st.bins("0:6:1")), 1.0, "quick").mechanism()


CALLS = {
    "optimise": lambda s: st.optimise(W, 1.0, seconds=s),
    "lower_bounds": lambda s: st.lower_bounds(W, 1.0, seconds=s),
    "compare": lambda s: st.compare(W, 1.0, seconds=s),
    "sweep": lambda s: st.sweep(W, [0.5, 1.0, 2.0], seconds=s),
    "bound_sweep": lambda s: st.bound_sweep(W, [0.5, 1.0, 2.0], seconds=s),
    "path": lambda s: st.study.path(W, [0.5, 1.0], seconds=s),
    "tune": lambda s: st.tune(W, 1.0, "hierarchical", seconds=s),
    "tune, large": lambda s: st.tune(st.prefix(300), 1.0, "hierarchical", seconds=s),
    "plan": lambda s: st.plan(AGES, seconds=s),
    "plan, an error": lambda s: st.plan(AGES, users=5000, error=0.03, seconds=s),
    "optimise, a cap": lambda s: st.optimise(W, 1.0, constraints=[st.GuessCap(0.12)], seconds=s),
    "guess_frontier": lambda s: st.study.guess_frontier(W, 1.0, seconds=s),
    "optimise, shuffled": lambda s: st.optimise(W, 0.1, constraints=[st.Shuffled(1000)], seconds=s),
    "optimise, a memo": lambda s: st.optimise(W, 0.5, constraints=[st.Permanent(2.0, 20)], seconds=s),
    "optimise, steps": lambda s: st.optimise(st.prefix(32), constraints=[st.Steps(0.1)], seconds=s),
}


@pytest.mark.parametrize("seconds", [0, -1, "10", float("nan"), float("inf"), True, [3], np.array([2.0])])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_time_is_refused_alike(name, seconds):
    with pytest.raises(
        ValueError, match=r"^seconds is .*: give a (number of seconds above 0|finite .*)$"
    ) as refused:
        CALLS[name](seconds)
    assert repr(seconds) in str(refused.value)


@pytest.mark.parametrize("seconds", [2, 2.5, np.float32(2), np.int64(2), np.array(2.0)])
def test_numbers_of_numpy_are_seconds(seconds):
    assert granted(seconds) == float(seconds)
    assert st.optimise(st.prefix(4), 1.0, "quick", seconds=seconds).objective > 0


def test_infinity_is_refused_for_what_it_is():
    with pytest.raises(ValueError, match=r"^seconds is inf: give a finite number, or none for no limit$"):
        granted(float("inf"))


@pytest.mark.parametrize("seconds", [0, "10"])
def test_reports_and_rounds_refuse_it_too(saved, seconds, tmp_path):
    calls = (
        lambda: saved.report(tmp_path / "a.html", seconds=seconds),
        lambda: st.optimise(st.prefix(4), 1.0, "quick").report(tmp_path / "a.html", seconds=seconds),
        lambda: st.study.second_round(saved, np.full(saved.outputs, 50), cells=3, seconds=seconds),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"^seconds is "):
            call()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.sampled(15, 2)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_keeps_to_its_seconds(monkeypatch, name):
    monkeypatch.setattr(time, "monotonic", time.process_time)
    began = time.process_time()
    assert CALLS[name](2) is not None
    assert time.process_time() - began <= ON_TOP[0] * 2 + ON_TOP[1]


SEARCHING = [
    "plan",
    "optimise",
    "tune",
    "bound",
    "compare",
    "summary",
    "rounds",
]


def test_commands_that_search_have_one_option_and_one_text(capsys):
    helps = {
        name: next((one for one in command.params if one.name == "seconds"), None)
        for name, command in typer.main.get_command(cli.app).commands.items()
    }
    found = {name: option for name, option in helps.items() if option is not None}
    assert {*found} >= {*SEARCHING}
    assert len({(option.help, option.default, tuple(option.opts)) for option in found.values()}) == 1


@pytest.mark.parametrize("seconds", ["0", "-1", "inf", "nan"])
@pytest.mark.parametrize(
    "command",
    [
        ("optimise", "prefix", "--domain=4", "--epsilon=1"),
        ("compare", "prefix", "--domain=4", "--epsilon=1", "--over=epsilon=1,2"),
        ("bound", "prefix", "--domain=4", "--epsilon=1", "--tight"),
        ("tune", "prefix", "hierarchical", "--domain=4", "--epsilon=1"),
        ("optimise", "prefix", "--domain=4", "--epsilon=1", "--guess-cap=several"),
        ("optimise", "prefix", "--domain=4", "--epsilon=1", "--shuffled-by=10"),
        ("optimise", "prefix", "--domain=4", "--epsilon=1", "--memo=2"),
        ("optimise", "prefix", "--domain=4", "--step=0.1"),
        ("report", "prefix", "--domain=4", "--epsilon=1", "-o", "a.html"),
    ],
    ids=" ".join,
)
def test_commands_refuse_what_is_no_time(capsys, command, seconds):
    status, out, err = run(capsys, *command, f"--seconds={seconds}")
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "seconds" in err


def test_mechanisms_for_which_time_ran_out_are_named_and_one_is_there():
    problem = problem_of(W, 1.0)
    whole = rank_baselines(problem)
    assert (whole.late, whole.late_sentence) == ((), "")
    with within(1e-9):
        late = rank_baselines(problem)
    assert len(late) == 1
    applied = {one.mechanism for one in whole}
    assert {one.mechanism for one in late} <= applied
    assert applied <= {*late.late, late[0].mechanism} <= {one.name for one in BASELINES} | applied
    assert late.late_sentence.startswith("Not evaluated within the time: ")
    assert late.late_sentence.endswith("; ask with more seconds.")
    assert all(name in late.late_sentence for name in late.late)


def test_a_comparison_names_them_in_text_and_in_json(capsys):
    comparison = st.compare(W, 1.0, seconds=1e-3)
    assert comparison.late
    assert comparison.rows[0].objective >= comparison.bounds.best
    assert comparison.late_sentence in plain(str(comparison))
    assert comparison.late_sentence in comparison._repr_html_()
    command = ("compare", "prefix", "--domain=13", "--epsilon=1", "--seconds=0.001")
    said = plain(run(capsys, *command)[1])
    assert "Not evaluated within the time: " in said
    assert "; ask with more --seconds." in said
    data = json.loads(run(capsys, *command, "--json")[1])
    assert data["not_evaluated"]
    assert "optimised" in {row["mechanism"] for row in data["mechanisms"]}


def test_a_comparison_with_no_published_mechanism_is_an_answer():
    solution = st.optimise(W, 1.0, "quick")
    empty = st.Comparison.of(replace(solution, baselines=Ranking((), late=["rappor"])))
    assert [row.mechanism for row in empty.rows] == ["optimised"]
    assert "Not evaluated within the time: rappor; ask with more seconds." in str(empty)


@pytest.mark.parametrize("function", [st.sweep, st.bound_sweep])
def test_a_sweep_whose_time_ran_out_is_never_called_complete(function):
    budgets = [0.5, 1.0, 2.0]
    short = function(W, budgets, seconds=1e-6)
    assert (short.complete, short.places) == (False, (0.5,))
    long = function(st.histogram(4), budgets, seconds=60)
    assert (long.complete, long.places) == (True, (0.5, 1.0, 2.0))


def test_a_tuned_mechanism_says_whether_all_parameters_were_tried():
    whole = st.tune(st.prefix(16), 1.0, "hierarchical", seconds=60)
    assert whole.status is st.solvers.Status.TUNED
    first = st.tune(st.prefix(16), 1.0, "hierarchical", seconds=1e-6)
    assert first.status is st.solvers.Status.TUNED_IN_TIME
    assert first.objective >= whole.objective >= whole.lower_bound
    assert first.strategy.epsilon <= 1.0
    (contender,) = first.baselines
    assert not contender.complete
    assert first.baselines.late_sentence == (
        "Not tuned to the end within the time: hierarchical; ask with more seconds."
    )


def test_a_plan_whose_time_ran_out_reaches_the_error_and_says_so():
    asked = {"users": 50_000, "error": 0.03}
    whole, short = (st.plan(AGES, seconds=seconds, **asked) for seconds in (60, 1e-3))
    assert whole.complete
    assert not short.complete
    for found in (whole, short):
        assert found.users_needed <= 50_000
        first = str(found).split("\n\n")[0]
        assert f"at epsilon {found.epsilon:g}" in " ".join(first.split())
        assert ("Time ran out before the smallest epsilon was found" in first) is not found.complete
    assert short.epsilon >= whole.epsilon / 1.02


PLACEHOLDERS = {
    "nines above all": ([20, 31, 64] * 9 + [999] * 3, {"999": 3}),
    "one below zero": ([20, 31, 64] * 9 + [-1, -1], {"-1": 2}),
    "several": ([20, 31, 64] * 9 + ["999", "-1", "inf", "-1"], {"-1": 2, "999": 1, "inf": 1}),
    "infinity": ([20.5, 31.25, 64.0] * 9 + [float("inf")], {"inf": 1}),
    "nines among the others": ([20, 31, 64, 99] * 9, {}),
    "negative numbers": ([-20, -1, 15] * 9, {}),
    "no answers": ([20, 31, 64, None] * 9, {}),
    "texts": (["Rome", "Oslo", "999"] * 9, {}),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_a_plan_names_numbers_that_look_like_placeholders(name):
    values, found = PLACEHOLDERS[name]
    plan = st.plan(values, users=1000, seconds=5)
    assert plan.placeholders == found
    said = [note for note in plan.notes() if "placeholders" in note]
    assert len(said) == bool(found)
    assert all(f"say so with missing={list(found)}." in note for note in said)
    assert not st.plan(values, users=1000, missing=list(found), seconds=5).placeholders


@pytest.mark.exhaustive
def test_the_command_line_names_the_option(capsys, tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("\n".join(["age", *map(str, AGES), "999", "-1"]) + "\n")
    command = (
        "plan",
        path,
        "--column=age",
        "--force",
        "-o",
        tmp_path / "a.ldp.json",
        f"--report={tmp_path}/a.html",
    )
    assert "say so with --missing -1 --missing 999." in plain(run(capsys, *command)[1])
    status, out, _ = run(capsys, *command, "--missing", "999", "--missing", "-1", "--seconds=5", "--json")
    assert status == 0
    assert not any("placeholder" in note for note in json.loads(out)["notes"])


def test_a_bound_for_which_time_ran_out_before_it_began_is_the_quick_one(capsys):
    status, out, _ = run(capsys, "bound", "prefix", "--domain=8", "--epsilon=1", "--seconds=0.001")
    assert status == 0
    assert "people are needed" in out


def test_domains_along_an_axis_need_no_other(capsys):
    status, out, err = run(
        capsys, "compare", "prefix", "--over=domain=4,6", "--epsilon=1", "--solver=quick", "--json"
    )
    assert status == 0, err
    assert [one["domain"] for one in json.loads(out)["comparisons"]] == ["4", "6"]
    assert run(capsys, "compare", "prefix", "--over=epsilon=1,2", "--epsilon=1")[0] == 2
