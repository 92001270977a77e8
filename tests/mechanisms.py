"""Mechanisms that several tests share: every kind of table, budgets from small to large."""

from functools import cache

import numpy as np

import stratagem as st
from stratagem.mechanism.mechanism import Mechanism

CASES = [
    "two-level",
    "two-level-small-epsilon",
    "two-level-large-epsilon",
    "projected",
    "randomised",
    "hadamard",
]
CASES += ["hierarchical", "one-output", "labels", "edges", "several-attributes", "prior", "fine"]


@cache
def mechanism(case: str) -> Mechanism:
    """Return the mechanism of that name, always the same."""
    two_level = st.Certified(max_steps=2)
    match case:
        case "two-level":
            return _optimised(st.prefix(12), 1.0, two_level)
        case "two-level-small-epsilon":
            return Mechanism.of(shifted(9, 0.01), st.prefix(9), 0.01)
        case "two-level-large-epsilon":
            return Mechanism.of(shifted(10, 5.0), st.all_range(10), 5.0)
        case "projected":
            return _optimised(st.prefix(8), 1.0, st.ProjectedGradient(outputs=32, max_steps=50))
        case "randomised":
            return Mechanism.of(st.randomised_response(6, 0.1), st.histogram(6), 0.1)
        case "hadamard":
            return Mechanism.of(st.hadamard_response(9, 2.0), st.histogram(9), 2.0)
        case "hierarchical":
            return Mechanism.of(st.hierarchical(16, 1.0), st.prefix(16), 1.0)
        case "one-output":
            return Mechanism.of(st.MatrixStrategy(np.ones((1, 4))), st.total(4), 1.0)
        case "labels":
            return Mechanism.of(
                st.randomised_response(3, 1.5), st.histogram(3), 1.5, labels=["ja", "nein", "weiß nicht ☂"]
            )
        case "edges":
            return Mechanism.of(
                st.randomised_response(4, 1.0), st.prefix(4), 1.0, edges=[-30, 0, 0.5, 60, 1e6], name="delays"
            )
        case "several-attributes":
            W = st.all_marginals({"age": 3, "sex": 2})
            return Mechanism.of(
                st.optimise(W, 1.0, two_level).strategy,
                W,
                1.0,
                labels={"sex": ["f", "m"]},
                edges={"age": [0, 18, 65, 130]},
            )
        case "prior":
            W, prior = st.histogram(5), np.array([8.0, 4, 2, 1, 1]) / 16
            return Mechanism.of(shifted(5, 1.0), W, 1.0, prior=prior)
        case "fine":  # entries so small that 32 bits are too few
            return Mechanism.of(st.randomised_response(40, 1e-4), st.histogram(40), 1e-4)
    raise ValueError(case)


def shifted(n: int, epsilon: float, bases: int = 6, seed: int = 0) -> st.TwoLevelStrategy:
    """Return random patterns over n user types, each with all its cyclic shifts, so that columns sum to one."""
    rng, E = np.random.default_rng(seed), np.exp(epsilon) * (1 - 1e-14)
    first = rng.random((bases, n)) < rng.uniform(0.2, 0.6, (bases, 1))
    shifts = np.concatenate([np.eye(n, dtype=bool)] + [np.roll(first, k, axis=1) for k in range(n)])
    weights = np.concatenate([np.full(n, 1.0), np.tile(rng.random(bases), n)])
    theta = weights / (weights @ (1 + (E - 1) * shifts[:, 0]))
    return st.TwoLevelStrategy(np.packbits(shifts, axis=1), theta, n, E)


def _optimised(workload, epsilon, solver):
    return Mechanism.of(st.optimise(workload, epsilon, solver).strategy, workload, epsilon)
