"""Ctrl-C before a search has a result: what is known by then is returned, marked, and with a valid bound."""

import os
import signal
import subprocess
import sys

import pytest

import stratagem as st
import stratagem.study.comparison as comparison
import stratagem.study.optimisation as optimisation
import stratagem.study.ranking as ranking
from stratagem.math.deadline import Deadline
from stratagem.solvers import Certified
from stratagem.solvers.problem import Average

W = st.prefix(24)


def interrupted(function, call):
    """Return a function to which Ctrl-C comes in that call of it, counted from 1."""
    calls = []

    def called(*arguments, **options):
        calls.append(1)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGINT)
        return function(*arguments, **options)

    return called


PLACES = {
    "choice of the solver": (optimisation, "choose", 1),
    "first published mechanism": (ranking, "tuned", 1),
    "fifth published mechanism": (ranking, "tuned", 5),
    "last candidate": (ranking, "_valued", 30),
    "bounds": (Average, "_bounds", 1),
    "first state of the search": (Certified, "begin", 1),
    "evaluation of the result": (optimisation, "_best", 1),
}


@pytest.mark.parametrize("place", PLACES)
def test_what_is_known_is_returned(monkeypatch, place):
    where, name, call = PLACES[place]
    monkeypatch.setattr(where, name, interrupted(getattr(where, name), call))
    found = st.optimise(W, 1.0)
    assert found.interrupted or place == "evaluation of the result"
    assert found.strategy.epsilon <= 1
    assert 0 < found.lower_bound <= found.objective <= found.baselines[0].objective
    if place == "fifth published mechanism":
        assert 1 < len(found.baselines) < 5
        assert len(found.baselines.late) > 5
        assert not {one.mechanism for one in found.baselines} & {*found.baselines.late}


def test_without_ctrl_c_nothing_is_late_or_marked():
    found = st.optimise(W, 1.0)
    assert not found.interrupted
    assert found.baselines.late == ()


@pytest.mark.parametrize("place", ["fifth published mechanism", "bounds", "rows"])
def test_a_comparison_leaves_out_the_variances_of_single_answers(monkeypatch, place):
    where, name, call = PLACES.get(place, (comparison, "row_of", 3))
    monkeypatch.setattr(where, name, interrupted(getattr(where, name), call))
    monkeypatch.setattr(ranking.Contender, "largest_comparable", property(pytest.fail))
    found = st.compare(W, 1.0, "quick")
    if place == "rows":  # the search had come to its end
        assert len(found.rows) > 10
        return
    assert found.interrupted
    published = [row for row in found.table().rows if row[0] != "optimised"]
    assert published
    assert all("not known" in row for row in published)
    records = [one for one in found.records() if one["mechanism"] != "optimised"]
    assert {one["users_for_one_percent"]["least_accurate"] for one in records} == {None}
    assert all(one["users_for_one_percent"]["root_mean_square"] > 0 for one in records)


def test_work_is_done_again_with_no_time_left():
    time, seen = Deadline(60.0, Deadline()), []

    def work():
        seen.append(time.over)
        if len(seen) == 1:
            raise KeyboardInterrupt
        return "done"

    assert time.done(work) == "done"
    assert seen == [False, True]
    assert time.done(lambda: "at once") == "at once"


LOADING = """
import os, signal, sys
sys.argv = [{name!r}]
import stratagem.cli.start
os.kill(os.getpid(), signal.SIGINT)
import time
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("name", "status"), [("-m", 130), ("/usr/bin/stratagem", 130), ("pytest", -signal.SIGINT)]
)
def test_ctrl_c_while_a_command_is_loaded_is_quiet_and_elsewhere_python_s_own(name, status):
    done = subprocess.run([sys.executable, "-c", LOADING.format(name=name)], capture_output=True, text=True)
    assert done.returncode == status
    assert ("Traceback" in done.stderr) == (status != 130)
