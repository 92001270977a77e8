"""Bounds that fail numerically: they are left out, and no run ends with them."""

import math

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import Bounds, Case, lower_bounds, tighten
from stratagem.bounds.exact import ExactDual
from stratagem.bounds.generation import Generation

FAILURES = {
    "singular": np.linalg.LinAlgError("Singular matrix"),
    "no convergence": np.linalg.LinAlgError("Eigenvalues did not converge"),
    "overflow": FloatingPointError("overflow encountered"),
}
QUICK = {
    "exact": (st.prefix(4), 1.0, "stratagem.bounds.duals.exact_dual"),
    "nonnegative": (st.prefix(16), 3.0, "stratagem.bounds.Generation.of"),
    "weighted": (st.prefix(16), 1.0, "stratagem.bounds.duals.weighted_dual"),
    "linear": (st.explicit([np.linspace(0, 1, 16)]), 1.0, "stratagem.bounds.duals.linear_dual"),
    "delsarte": (st.marginals("2^4", 2), 1.0, "stratagem.bounds.delsarte"),
}
TIGHT = {
    "exact": (st.prefix(4), 1.0),
    "Generation.of": (st.prefix(16), 3.0),
    "sdp": (st.prefix(30), 0.5),
}


def failing(error):
    """Return what raises an error, whatever it is given."""

    def fail(*given, **more):
        raise error

    return fail


@pytest.mark.sampled(6)
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("name", QUICK)
def test_a_quick_bound_that_fails_is_left_out(monkeypatch, name, failure):
    workload, epsilon, place = QUICK[name]
    whole = lower_bounds(workload, epsilon).known()
    assert name in whole
    monkeypatch.setattr(place, failing(FAILURES[failure]))
    left = lower_bounds(workload, epsilon).known()
    assert name not in left
    assert left.keys() <= whole.keys() | {"nonnegative"}
    if failure == "singular":
        assert st.optimise(workload, epsilon, st.Auto(max_seconds=0.5)).gap >= 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TIGHT)
def test_a_tight_bound_that_fails_is_left_out(monkeypatch, name):
    workload, epsilon = TIGHT[name]
    quick = lower_bounds(workload, epsilon, duals=None)
    loose = Bounds(tuple(one for one in quick if one.name not in ("exact", "nonnegative")))
    monkeypatch.setattr(f"stratagem.bounds.{name}", failing(FAILURES["singular"]))
    found = tighten(loose, workload, epsilon, objective=2 * quick.best, gap=1e-3, seconds=2.0)
    assert found.best >= loose.best


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_bound_that_is_no_number_is_left_out(monkeypatch, value):
    monkeypatch.setattr("stratagem.bounds.duals.exact_dual", lambda *given, **more: ExactDual(value, None))
    bounds = lower_bounds(st.prefix(4), 1.0)
    assert "exact" not in bounds
    assert math.isfinite(bounds.best)


def test_rounds_before_a_singular_matrix_count(monkeypatch):
    """A busy machine once ended a run with numpy's Singular matrix here: the search was too slow to be needed."""
    solved, calls = Generation._solved, []

    def singular_later(*given):
        calls.append(given)
        if len(calls) == 3:
            raise np.linalg.LinAlgError("Singular matrix")
        return solved(*given)

    monkeypatch.setattr(Generation, "_solved", singular_later)
    search = Generation.of(Case(st.prefix(18), 3.0))
    start = search.best.value
    search.run()
    assert len(calls) == 3
    assert start < search.best.value <= search.objective


@pytest.mark.exhaustive
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_one_query_seen_through_patterns_that_cannot_tell_types_apart(epsilon):
    """The failure as it was met: patterns generated from the rows of a strategy for one query."""
    W = st.explicit(np.eye(20)[:1])
    rows = np.zeros((2, 20), dtype=bool)
    rows[0, 0], rows[1, 1:] = True, True
    bounds = lower_bounds(W, epsilon)
    loose = Bounds(tuple(one for one in bounds if one.name in ("svd", "closed", "integer", "weighted")))
    for seconds in (0.6, 1.5):
        assert tighten(loose, W, epsilon, math.inf, 1e-9, seconds, rows).best >= loose.best


@pytest.mark.parametrize("objective", ["worst-case", "worst-query"])
def test_a_least_favourable_mixture_that_fails_leaves_the_even_one(monkeypatch, objective):
    W = st.explicit(np.tril(np.ones((6, 6))))
    for name in ("minimax.least_favourable_prior", "minimax.least_favourable_queries"):
        monkeypatch.setattr(f"stratagem.solvers.problem.{name}", failing(FAILURES["no convergence"]))
    solution = st.optimise(W, 1.0, st.Auto(max_seconds=1.0), objective=objective)
    assert 0 < solution.lower_bound <= solution.objective * (1 + 1e-9)
