"""The one clock: seconds within seconds, Ctrl-C, and long calls that keep to their limit in processor time."""

import subprocess
import sys
import time

import numpy as np
import pytest

import stratagem as st
from stratagem.math.deadline import deadline, within
from stratagem.solvers.problem import problem_of
from stratagem.solvers.solver import Series, Status, search, valued
from stratagem.study.optimisation import choose

ON_TOP = (1.2, 3.0)
"""A call may take 1.2 times its limit, and 3 seconds: of processor time here, so that others' work does not count."""


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_a_call_has_no_more_time_than_its_caller(clock):
    assert deadline().left == np.inf
    with within(10) as outer:
        clock[0] = 4.0
        with within(100) as inner:
            assert (inner.seconds, inner.left, inner.elapsed, outer.elapsed) == (6.0, 6.0, 0.0, 4.0)
            assert (inner.until(0.5), outer.until(0.5), outer.until(0.3)) == (3.0, 1.0, 0.0)
            part = outer.part(0.5)
            clock[0] = 7.0
            assert part.over
            assert not inner.over
        with within(1) as short:
            clock[0] = 8.5
            assert short.over
            assert deadline() is short
        assert outer.left == 1.5
    assert deadline().left == np.inf


def test_ctrl_c_ends_all_calls_around_it_and_no_other():
    with within() as outer:
        with within() as inner, inner.ended_by_hand():
            raise KeyboardInterrupt
        assert inner.stopped
        assert outer.over
    assert not deadline().over


def test_a_call_knows_that_a_part_of_it_had_no_time(clock):
    """The calls around it know it too, and nobody else."""
    with within(10) as outer:
        with within(5) as inner:
            assert not inner.cut
            inner.cut_short()
        with within(5) as other:
            assert not other.cut
        assert inner.cut
        assert outer.cut
    deadline().cut_short()
    assert not deadline().cut, "that of everybody has no end"


def test_a_search_whose_part_had_no_time_never_ended_by_itself():
    problem = problem_of(st.prefix(4), 1.0)

    def found(*, cut):
        state = valued(problem, st.published.randomised_response(4, 1.0), 1.0)

        def candidates():
            if cut:
                deadline().cut_short()
            yield state

        return search(Series(candidates), problem)

    assert found(cut=False).status is Status.CONVERGED
    assert found(cut=True).status is Status.TIME_EXHAUSTED


def test_a_stopped_call_is_never_called_complete(monkeypatch):
    """The control: the same calls without Ctrl-C."""

    def pressed(step):
        if step.step == 1:
            raise KeyboardInterrupt

    asked = (st.prefix(13), [0.5, 1.0])
    assert st.bound_sweep(*asked).complete
    for function in (st.bound_sweep, st.sweep):
        found = function(*asked, st.Certified(max_steps=3), pressed)
        assert not found.complete
        found = function(st.prefix(13), [0.5], st.Certified(max_steps=3), pressed)
        assert not found.complete
    with pytest.raises(KeyboardInterrupt):
        st.study.path(*asked, st.Certified(max_steps=3), pressed)


def test_a_search_that_is_stopped_at_once_leaves_the_best_published_mechanism(monkeypatch):
    """Ctrl-C comes while the first state is made: it is not made again where there is a mechanism to return."""
    calls = []

    def pressed(self, *arguments):
        calls.append(deadline().over)
        raise KeyboardInterrupt

    monkeypatch.setattr(st.Certified, "begin", pressed)
    solution = st.optimise(st.prefix(40), 1.0, "certified")
    assert calls == [False]
    assert solution.interrupted
    assert solution.objective == solution.baselines[0].objective


@pytest.mark.exhaustive
def test_a_comparison_says_that_its_search_was_ended_by_hand():
    """The control: the same comparison without Ctrl-C."""

    def pressed(step):
        if step.step == 1:
            raise KeyboardInterrupt

    for on_step, stopped in ((pressed, True), (lambda step: step.step == 1, True), (None, False)):
        comparison = st.compare(st.prefix(13), 1.0, st.Certified(max_steps=3), on_step)
        assert comparison.interrupted is stopped
        said = str(comparison)
        assert (
            "Interrupted; this is the best" in said or "Stopped by the callback; this is" in said
        ) is stopped


@pytest.mark.exhaustive
def test_all_places_have_bounds_before_one_is_tightened():
    budgets = [0.5, 1.0, 2.0]
    found = st.bound_sweep(st.prefix(1 << 18), budgets, seconds=1)
    assert found.complete
    assert found.axis == "epsilon"
    assert [point.epsilon for point in found.points] == budgets


def test_large_domains_have_a_solver_for_the_worst_query():
    problem = problem_of(st.histogram(1100), 1.0, "worst-query")
    assert type(choose(None, problem).solver).__name__ == "Saddle"


RNG = np.random.default_rng(0)
LONG = {
    "three moments": lambda: st.moments(range(64), 3),
    "five polynomials": lambda: st.explicit(np.vander(np.linspace(-1, 1, 128), 5).T),
    "a product": lambda: st.kron([st.prefix(40), st.all_range(25)]),
    "random, sparse": lambda: st.explicit((RNG.random((300, 256)) < 0.05) * RNG.random((300, 256))),
    "random, dense": lambda: st.explicit(RNG.standard_normal((256, 256))),
    "five of 200": lambda: st.explicit(RNG.standard_normal((5, 200))),
    "tables": lambda: st.marginals({"age": 9, "income": 7, "region": 7, "smoker": 3}, 2),
    "large": lambda: st.all_range(1 << 16),
}


@pytest.mark.sampled(18, 3)
@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("seconds", [2, 10])
def test_a_search_keeps_to_its_limit(monkeypatch, name, seconds):
    workload = LONG[name]()
    monkeypatch.setattr(time, "monotonic", time.process_time)
    began = time.process_time()
    solution = st.optimise(workload, 1.0, seconds=seconds)
    assert time.process_time() - began <= ON_TOP[0] * seconds + ON_TOP[1]
    assert 0 < solution.lower_bound <= solution.objective


BUSY = """
import os, signal, threading, sys, time
from stratagem.cli.interruption import interruptions
def press():
    for _ in range(2):
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)
with interruptions():
    threading.Thread(target=press, daemon=True).start()
    began = time.monotonic()
    while time.monotonic() - began < 60:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            print("first", flush=True)
"""
"""A command that heeds no Ctrl-C, as compiled code does not."""


def test_a_second_ctrl_c_ends_what_heeds_none():
    done = subprocess.run([sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=50)
    assert done.returncode == 130
    assert done.stdout.startswith("first")
