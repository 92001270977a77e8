"""Trials of an invariant strategy on users from a domain that is too large to write out."""

from __future__ import annotations

import numpy as np

from stratagem.accuracy import evaluate
from stratagem.collection.tally import counted
from stratagem.estimation.invariant.reconstruction import InvariantReconstruction
from stratagem.estimation.simulation import Simulation, check_runs
from stratagem.strategies import TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.domain import Attribute
from stratagem.workloads.naming import Naming

ROUNDING = 1e-12
"""Share of N tr V/n below which a predicted variance is rounding."""


def try_out(
    workload: Workload,
    strategy: TranslationStrategy,
    coordinates: np.ndarray,
    users: np.ndarray,
    *,
    repetitions: int = 100,
    seed: int = 0,
    attributes: tuple[Attribute, ...] = (),
) -> Simulation:
    """Return the errors of estimates from `repetitions` simulated collections of reports, as `simulate`.

    Args:
        workload: The queries.
        strategy: The strategy with which users randomise their types.
        coordinates: User types (k, d), one value an attribute.
        users: Number of users of each of these types (k,), whole numbers.
        repetitions: Number of times that all users report; repetition r depends on (seed, r) alone.
        seed: Makes the run repeatable.
        attributes: The attributes with the names of their values.

    Raises:
        ValueError: for fewer than 2 repetitions, no users, or a strategy that cannot answer the workload.
    """
    check_runs(repetitions, seed)
    if not len(users) or users.sum() <= 0:
        raise ValueError("no users were given to report, but at least one is needed: give data")
    values = np.repeat(strategy.coordinates(coordinates), users, axis=0)
    truth = workload.answer_users(values)
    predicted = _predicted(workload, strategy, values)
    estimates, observed, squares = np.empty(0), np.empty(repetitions), np.zeros(workload.queries)
    for r in range(repetitions):
        outputs = strategy.randomise(values, np.random.default_rng([seed, r]))
        reconstruction = InvariantReconstruction.of(strategy, counted(outputs, strategy.outputs))
        reconstruction.check(workload)
        found = reconstruction.answers(workload)
        estimates = estimates if r else found
        errors = np.square(found - truth)
        observed[r] = errors.sum()
        squares += errors
    return Simulation(
        naming=Naming.of(workload, attributes),
        users=len(values),
        truth=truth,
        estimates=estimates,
        standard_errors=None,
        predicted=predicted,
        observed=observed,
        errors=np.sqrt(squares / repetitions),
    )


def _predicted(workload: Workload, strategy: TranslationStrategy, values: np.ndarray) -> float:
    """Return the exact total variance of the answers, sum_u x_u t_u."""
    accuracy = evaluate(workload, strategy)
    per_type, chosen = accuracy.per_type, list(accuracy.attributes or range(len(strategy.sizes)))
    if len(per_type) == 1:
        total = len(values) * float(per_type[0])
    else:
        cells = np.ravel_multi_index(tuple(values.T[chosen]), [strategy.sizes[i] for i in chosen])
        total = float(per_type[cells].sum())
    return total if total > ROUNDING * len(values) * workload.mean_square else 0.0
