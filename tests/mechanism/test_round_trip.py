"""From a workload to answers about real people, through a file and a process that knows nothing else."""

import json
import subprocess
import sys

import numpy as np
import pytest

import stratagem as st
from flights import delays
from stratagem.estimators import estimator
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.rounding import risen, stated_utility

SEEDS = 100
COVERED = (0.93, 0.97)
"""Of 100 x 64 intervals of 95 %. Those of one seed hang together like some six independent ones, so the share
has a standard error of 0.9 %; the seeds are fixed, and the halved intervals below leave the range by 25 %."""

AWAY = """
import json, sys
import numpy as np
from stratagem.mechanism.mechanism import load_mechanism
mechanism = load_mechanism(sys.argv[1])
cells = np.load(sys.argv[2])
x = np.bincount(cells, minlength=mechanism.workload.domain_size)
truth = mechanism.workload.answer(x)
inside, halved, errors, predicted = [], [], [], 0.0
for seed in range(int(sys.argv[3])):
    outputs = mechanism.randomise(cells, np.random.default_rng(seed))
    found = mechanism.estimate(np.bincount(outputs, minlength=mechanism.outputs))
    off = np.abs(found.answers - truth)
    inside.append(float(np.mean(off <= found.high - found.answers)))
    halved.append(float(np.mean(off <= (found.high - found.answers) / 2)))
    errors.append(float(np.square(off).sum()))
    predicted += float(np.square(found.standard_errors).sum())
print(json.dumps({"inside": inside, "halved": halved, "errors": errors, "predicted": predicted / len(errors)}))
"""


@pytest.fixture(scope="module")
def returned(tmp_path_factory):
    """Optimise, save, load in a fresh process, randomise 10^6 real delays a hundred times, estimate."""
    folder = tmp_path_factory.mktemp("trip")
    solution = st.optimise(st.prefix(64), 1.0, st.Certified(max_steps=3))
    bundle = Mechanism.of(solution.strategy, solution.workload, 1.0).save(folder / "delays.ldp.json")
    x = delays()
    cells = np.repeat(np.arange(64), x)
    np.save(folder / "cells.npy", np.resize(np.random.default_rng(0).permutation(cells), 1_000_000))
    command = [sys.executable, "-c", AWAY, str(bundle), str(folder / "cells.npy"), str(SEEDS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), solution


@pytest.mark.exhaustive
def test_intervals_cover_the_truth_as_often_as_they_say(returned):
    data, _ = returned
    assert COVERED[0] <= np.mean(data["inside"]) <= COVERED[1]
    assert np.mean(data["halved"]) < COVERED[0]  # the control: halved intervals are caught


@pytest.mark.exhaustive
def test_the_observed_error_is_the_predicted_one(returned):
    data, solution = returned
    errors = np.array(data["errors"])
    spread = errors.std(ddof=1) / np.sqrt(SEEDS)
    # five standard errors: a false alarm once in 10^6, were the seeds not fixed
    assert abs(errors.mean() - data["predicted"]) <= 5 * spread
    x = np.bincount(np.resize(np.repeat(np.arange(64), delays()), 1_000_000), minlength=64)
    assert solution.accuracy.total_variance(x) == pytest.approx(data["predicted"], rel=0.02)


SCALES = [
    (np.eye(4) + 1e7, 12.0),
    (60.0 * np.arange(6)[None] + 1.7e9, 12.0),
    (np.array([[1000, 5000, 10000, 1e12], [0, 1, 0, 0], [0, 0, 1, 0]]), 0.1),
    (np.diag([1e-6, 1, 1e6, 1e3]), 1.0),
    (np.diag([1e-6, 1, 1e6, 1]), 6.0),
    (np.tri(8), 1.0),
]
"""Queries that others outweigh, or that have large means, and epsilon."""


@pytest.mark.parametrize(("queries", "epsilon"), SCALES)
def test_rounding_costs_no_answer_more_than_is_stated(queries, epsilon):
    """Whole numbers of 32 bits added up to 145 % to the variance of some answers here, and nothing to L(Q)."""
    W = st.explicit(queries)
    solution, even = st.optimise(W, epsilon), np.full(queries.shape[1], 1 / queries.shape[1])
    found = solution.mechanism()
    before, after = (st.per_query_variance(W, one, even) for one in (solution.strategy, found.strategy))
    apart = np.ptp(queries, axis=1) > 0
    risen = float((after[apart] / before[apart] - 1).max())
    assert abs(risen) <= 1e-5
    assert found.epsilon >= found.strategy.epsilon


def test_a_loss_of_one_answer_is_stated_where_it_is_large():
    W, strategy = st.explicit(np.eye(4) + 1e7), st.published.randomised_response(4, 2.0)
    table = Mechanism.of(st.published.randomised_response(4, 1.0), W, 1.0).table
    through = estimator(strategy), estimator(table.strategy)
    rise = risen(W, *through)
    assert rise > 1
    stated = {one: stated_utility(W, *through, one)["loss"] for one in (rise, 1e-5)}
    assert stated[rise] == f"{rise:.3e}"
    assert float(stated[1e-5]) < 1e-9, "beside the squared means of the queries it is nothing"
