"""The published optimiser: targets, certificates, determinism, starts and bad parameters."""

from dataclasses import replace

import numpy as np
import pytest

import stratagem as st
from stratagem.estimators import estimator
from stratagem.solvers import search
from stratagem.solvers.gradient.loss import merged
from stratagem.solvers.problem import Average
from tables import FINITE, WORKLOADS, assert_private, finite, golden

PUBLISHED = st.ProjectedGradient()

# at n = 64, epsilon = 1: single start; the published code reaches 46,574; 16,510; 2.17e6; 651,235; 196,084
TARGETS = [
    ("prefix", 4, 42_400),
    ("histogram", 4, 15_300),
    ("all-range", 4, 1.98e6),
    ("all-marginals", 4, 585_000),
    ("3-way marginals", 4, 163_000),
    ("prefix", 16, 41_900),
]


def run(solver, workload, epsilon):
    """The bare search, without the baselines that `optimise` adds."""
    problem = Average(workload=workload, epsilon=epsilon)
    found = search(solver, problem)
    return problem, found, solver.finish(problem, found.best)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "multiple", "target"), TARGETS)
def test_a_single_start_reaches_its_target(name, multiple, target):
    workload = WORKLOADS[name](64)
    _, found, strategy = run(replace(PUBLISHED, outputs=multiple * 64), workload, 1.0)
    assert_private(strategy, 1.0)
    assert strategy.outputs <= multiple * 64
    value = estimator(strategy).objective(workload)
    assert value <= target
    assert value == pytest.approx(found.best.objective, rel=1e-4)
    assert value >= st.lower_bounds(workload, 1.0).best


@pytest.mark.exhaustive
@pytest.mark.parametrize("line", [g for g in golden() if g.n == 8], ids=lambda g: f"{g.name}-{g.epsilon}")
def test_small_optima_within_five_percent(line):
    workload = line.workload()
    solution = st.optimise(workload, line.epsilon, solver=st.ProjectedGradient(outputs=64, restarts=8))
    assert_private(solution.strategy, line.epsilon)
    assert solution.strategy.outputs <= 64
    assert line.values["optimum"] * (1 - 1e-5) <= solution.objective <= 1.05 * line.values["optimum"]


@pytest.mark.exhaustive
def test_the_objective_never_increases_and_the_record_is_complete():
    records = []
    st.optimise(st.prefix(16), 1.0, solver=PUBLISHED, on_step=records.append)
    objectives = [record.objective for record in records]
    assert objectives == sorted(objectives, reverse=True)
    assert [record.step for record in records] == list(range(len(records)))
    assert records[-1].best == objectives[-1]


@pytest.mark.exhaustive
@pytest.mark.parametrize("projection", ["bracketed", "sorted"])
@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_the_same_seed_gives_the_same_strategy(projection, momentum):
    solver = replace(PUBLISHED, projection=projection, momentum=momentum, max_steps=30)
    first, second = (run(solver, st.prefix(12), 1.0)[2].matrix for _ in range(2))
    assert np.array_equal(first, second)
    other = run(replace(solver, seed=1), st.prefix(12), 1.0)[2].matrix
    assert first.shape != other.shape or not np.array_equal(first, other)


@pytest.mark.exhaustive
@pytest.mark.parametrize("baseline", FINITE, ids=lambda b: b.name)
def test_warm_starts_improve_on_every_baseline(baseline):
    workload = st.all_range(24)
    for start in finite(baseline, st.histogram(24), 1.0):
        _, _, strategy = run(replace(PUBLISHED, start=start.dense(), outputs=96), workload, 1.0)
        assert_private(strategy, 1.0)
        assert estimator(strategy).objective(workload) < estimator(start).objective(workload)


@pytest.mark.exhaustive
def test_more_restarts_are_never_worse():
    workload = st.prefix(10)
    one, four = (run(replace(PUBLISHED, restarts=k), workload, 1.0)[1] for k in (1, 4))
    assert four.best.objective <= one.best.objective
    assert {record.start for record in four.history} == {0, 1, 2, 3}


@pytest.mark.exhaustive
def test_float32_descends_too_and_is_certified_in_float64():
    workload = st.prefix(32)
    _, _, strategy = run(replace(PUBLISHED, precision="float32"), workload, 1.0)
    assert_private(strategy, 1.0)
    assert estimator(strategy).objective(workload) <= 1.1 * st.lower_bounds(workload, 1.0).best


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"max_steps": 3}, st.solvers.Status.STEPS_EXHAUSTED),
        ({"max_seconds": 1e-9}, st.solvers.Status.TIME_EXHAUSTED),
        ({"gap": 0.5}, st.solvers.Status.OPTIMAL),
        ({}, st.solvers.Status.CONVERGED),
    ],
)
def test_every_ending_has_its_sentence(change, status):
    _, found, _ = run(replace(PUBLISHED, **change), st.prefix(8), 1.0)
    assert found.status is status


def test_a_callback_may_stop_the_search():
    solution = st.optimise(st.prefix(8), 1.0, solver=PUBLISHED, on_step=lambda record: record.step == 5)
    assert solution.status == st.solvers.Status.STOPPED
    assert len(solution.history) == 6


def test_ctrl_c_keeps_the_best_so_far():
    def interrupt(record):
        if record.step == 20:
            raise KeyboardInterrupt

    solution = st.optimise(st.prefix(16), 1.0, solver=PUBLISHED, on_step=interrupt)
    assert solution.status == st.solvers.Status.INTERRUPTED
    assert solution.objective <= solution.history[-1].best * (1 + 1e-6)
    assert_private(solution.strategy, 1.0)


def test_merging_proportional_rows_changes_nothing_but_their_number(rng):
    Q = st.published.hierarchical(8, 1.0, 2).dense().matrix
    split = np.vstack([0.3 * Q, 0.7 * Q, np.zeros((2, 8))])
    assert merged(split).shape == merged(Q).shape
    together = st.strategies.MatrixStrategy(merged(split))
    assert np.allclose(together.information(), st.strategies.MatrixStrategy(Q).information(), atol=1e-14)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"outputs": 0}, "outputs"),
        ({"outputs": 2.5}, "outputs"),
        ({"restarts": 0}, "restarts"),
        ({"max_steps": -1}, "max_steps"),
        ({"momentum": 1.0}, "momentum"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"max_seconds": 0.0}, "max_seconds"),
        ({"projection": "magic"}, "bracketed or sorted"),
        ({"precision": "float16"}, "float64 or float32"),
    ],
)
def test_bad_parameters_are_one_sentence(change, word):
    with pytest.raises(ValueError, match=word) as caught:
        replace(PUBLISHED, **change)
    assert "\n" not in str(caught.value)
