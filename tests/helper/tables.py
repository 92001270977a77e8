"""The tables that tests cross: workloads by name and size, and golden values."""

import contextlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import stratagem as st
from stratagem.estimators import estimator
from stratagem.published import BASELINES, Baseline, Setting


def binary(n: int) -> str:
    """The domain of log2 n binary attributes."""
    return f"2^{int(np.log2(n))}"


WORKLOADS = {
    "histogram": st.histogram,
    "prefix": st.prefix,
    "all-range": st.all_range,
    "all-marginals": lambda n: st.all_marginals(binary(n)),
    "2-way marginals": lambda n: st.marginals(binary(n), 2),
    "3-way marginals": lambda n: st.marginals(binary(n), 3),
    "parity": lambda n: st.parity(binary(n)),
    "parity of weight <= 3": lambda n: st.parity(binary(n), 3),
}

EPSILONS = (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0)
"""Budgets from little information to much."""

GOLDEN_NAMES = {
    "histogram": "histogram",
    "prefix": "prefix",
    "allrange": "all-range",
    "allmarginals": "all-marginals",
    "kway2": "2-way marginals",
    "parity": "parity",
}


def finite(baseline: Baseline, workload: st.Workload, epsilon: float) -> Iterator[st.strategies.Strategy]:
    """The candidates of a baseline that have finitely many outputs."""
    candidates = baseline.candidates(setting(workload), epsilon)
    return (one for _, one in candidates if isinstance(one, st.strategies.Strategy))


def setting(workload: st.Workload) -> Setting:
    """What baselines may look at before they are tuned for a workload."""
    return Setting(workload.domain.sizes, workload.gram())


FINITE = [one for one in BASELINES if any(finite(one, st.histogram(16), 1.0))]
"""Baselines with a matrix for the histogram; protocols and mechanisms for marginals have tests of their own."""


class Golden(NamedTuple):
    """One line of golden_small.json: bounds and the exact optimum over all epsilon-LDP strategies."""

    name: str
    n: int
    epsilon: float
    values: dict[str, float]

    def workload(self) -> st.Workload:
        return WORKLOADS[self.name](self.n)


def golden() -> Iterator[Golden]:
    """Values computed independently of this package: a semidefinite program over all 2^n patterns."""
    table = json.loads((Path(__file__).parents[1] / "golden_small.json").read_text())
    for key, values in table.items():
        name, n, epsilon = key.split()
        yield Golden(GOLDEN_NAMES[name], int(n[2:]), float(epsilon[4:]), values)


def random_ldp_matrix(rng: np.random.Generator, m: int, n: int, epsilon: float) -> np.ndarray:
    """A random epsilon-LDP strategy: m rows between z and E z, scaled so that one more row balances the columns."""
    E = np.exp(epsilon) * (1 - 1e-12)
    shape = rng.integers(0, 2, (m, n)) if rng.random() < 0.5 else rng.random((m, n))
    rows = rng.exponential(size=(m, 1)) ** 2 * (1 + (E - 1) * shape)
    columns = rows.sum(axis=0)
    # the last row 1 - s c stays within a factor E as long as s (E max c - min c) <= E - 1
    rows *= (E - 1) / (E * columns.max() - columns.min()) * rng.uniform(0.3, 1 - 1e-9)
    return np.vstack([rows, 1 - rows.sum(axis=0)])


def assert_private(strategy: st.strategies.Strategy, epsilon: float) -> None:
    """The certificate of every strategy: columns sum to one within 1e-12, measured epsilon within the budget."""
    columns = strategy.backward(np.ones(strategy.outputs))
    assert np.abs(columns - 1).max() <= 1e-12
    assert strategy.epsilon <= epsilon


def assert_unbeaten(solution: st.Solution) -> None:
    """Private, between the bound and every published mechanism, all of them within the budget."""
    comparison, floor = st.Comparison.of(solution), solution.lower_bound * (1 - 1e-9)
    ours = next(row for row in comparison.rows if row.mechanism == "optimised")
    assert_private(solution.strategy, solution.epsilon)
    assert ours.objective >= floor
    for row in comparison.rows:
        assert ours.objective <= row.objective * (1 + 1e-9), row.mechanism
        assert row.objective >= floor, row.mechanism
        assert row.epsilon <= solution.epsilon


def least_published(workload: st.Workload, epsilon: float) -> float:
    """The least objective of all candidates of all published mechanisms."""
    found = [math.inf]
    for baseline in BASELINES:
        for _, candidate in baseline.candidates(setting(workload), epsilon):
            with contextlib.suppress(st.UnsupportedWorkloadError):
                found.append(estimator(candidate).objective(workload))
    return min(found)


def assert_between(solution: st.Solution, epsilon: float, published: float) -> None:
    """Private, above every bound, no worse than the best published mechanism."""
    assert solution.strategy.epsilon <= epsilon
    for name, bound in solution.bounds.known().items():
        assert solution.objective >= bound * (1 - 1e-9), name
    assert solution.objective <= published * (1 + 1e-9)


def assert_certified(solution: st.Solution, epsilon: float, published: float | None = None) -> None:
    """As `assert_between`, with columns that sum to one, and unbiased on the workload."""
    workload, strategy = solution.workload, solution.strategy
    assert_private(strategy, epsilon)
    assert_between(solution, epsilon, least_published(workload, epsilon) if published is None else published)
    n = workload.domain_size
    counts = strategy.forward(np.eye(n))
    some = np.unique(np.linspace(0, n - 1, 5).astype(int))
    estimates = np.column_stack([strategy.reconstruct(counts[:, u]) for u in some])
    W = workload.matrix() if workload.queries * n < 1e7 else workload.gram()
    scale = np.abs(W).max() * (1 + np.abs(estimates).max())
    assert np.allclose(W @ estimates, W[:, some], atol=1e-7 * scale)
