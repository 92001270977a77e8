"""The screened_trees for trees: its estimates, its weights and what it leaves out."""

import math

import numpy as np
import pytest

import stratagem as st
from stratagem.estimators import estimator
from stratagem.published.hierarchical import level_energies, level_widths, screened_trees
from stratagem.published.partition import ORACLES, partition_strategy
from tables import WORKLOADS

THESIS = {
    (64, 2): (7.2628, 4.4021),
    (64, 4): (6.5842, 4.2377),
    (64, 8): (6.7857, 4.7031),
    (256, 2): (12.3998, 7.2108),
    (256, 4): (11.7998, 7.1563),
    (256, 16): (14.7278, 10.0195),
    (1024, 2): (18.8559, 10.6826),
    (1024, 4): (18.5131, 10.8222),
}
"""Average variance of ranges and prefixes, root known, in units of an oracle's variance of one node."""


def built(n: int, epsilon: float, tree) -> st.strategies.Strategy:
    views = [np.arange(n) // width for width in level_widths(n, tree.branching)]
    return partition_strategy(views, tree.shares, epsilon, tree.oracle)


@pytest.mark.parametrize(("n", "branching"), THESIS)
def test_energies_give_the_variances_of_constrained_inference(n, branching):
    """Independent node noise of variance h makes M = sum_l A_l^T A_l / h, B^l / h on the nodes of level l."""
    widths = level_widths(n, branching)
    eigenvalues = np.cumsum(widths) / len(widths)
    for workload, expected in zip((st.all_range(n), st.prefix(n)), THESIS[n, branching], strict=True):
        c = level_energies(workload.gram(), [branching])[0]
        assert (c / eigenvalues).sum() / workload.queries == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("n", "branching"), [(8, 2), (13, 3), (10, 9)])
def test_energies_are_traces_on_the_levels(n, branching):
    F = np.random.default_rng(1).normal(size=(n, 4))
    V, widths = F @ F.T, [*level_widths(n, branching), n]
    members = [np.arange(n)[:, None] // width == np.arange(n) // width for width in widths]
    traces = [np.trace(same / same.sum(axis=0) @ V) for same in members]
    assert np.allclose(level_energies(V, [branching])[0], -np.diff(traces))


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.5), (7, 1.0), (16, 4.0), (16, 300.0)])
def test_strength_is_the_mean_eigenvalue(oracle, k, epsilon):
    strategy = ORACLES[oracle](k, epsilon)
    M = strategy.centred_information()
    assert strategy.strength == pytest.approx(np.trace(M) / (k - 1), rel=1e-9)


@pytest.mark.parametrize("name", ["prefix", "all-range", "histogram"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_estimates_are_exact_for_full_nodes_and_symmetric_oracles(name, epsilon):
    n, workload = 16, WORKLOADS[name](16)
    V = workload.gram()
    exact = [
        tree
        for trees in screened_trees(V, epsilon, 99, ORACLES)
        for tree in trees
        if tree.branching in (2, 4)
    ]
    exact = [tree for tree in exact if tree.oracle != "hadamard"]
    assert len(exact) >= 8
    for tree in exact:
        assert tree.estimate + V.sum() / n == pytest.approx(
            estimator(built(n, epsilon, tree)).objective(workload), rel=1e-9
        )


@pytest.mark.parametrize("name", ["prefix", "all-range", "histogram"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("n", [16, 23])
def test_the_screen_loses_little(name, epsilon, n):
    """The best of two candidates is within 1 % of the best of all trees, equal and optimised weights alike."""
    workload = {"prefix": st.prefix, "all-range": st.all_range, "histogram": st.histogram}[name](n)
    for kept, every in zip(
        screened_trees(workload.gram(), epsilon, 2, ORACLES),
        screened_trees(workload.gram(), epsilon, 999, ORACLES),
        strict=True,
    ):
        best = min(estimator(built(n, epsilon, tree)).objective(workload) for tree in every)
        assert min(estimator(built(n, epsilon, tree)).objective(workload) for tree in kept) <= 1.01 * best


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("n", [16, 27])
def test_optimised_weights_cannot_be_moved(n, epsilon):
    workload = st.prefix(n)
    tree = screened_trees(workload.gram(), epsilon, 1, ORACLES)[1][0]
    value, rng = estimator(built(n, epsilon, tree)).objective(workload), np.random.default_rng(0)
    for _ in range(10):
        moved = tree.shares * np.exp(0.3 * rng.normal(size=len(tree.shares)))
        other = type(tree)(tree.branching, tree.oracle, moved / moved.sum(), math.nan)
        assert estimator(built(n, epsilon, other)).objective(workload) >= value * (1 - 2e-3)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_small_domains_and_a_total_have_trees(n):
    for workload in (st.histogram(n), st.total(n)):
        for trees in screened_trees(workload.gram(), 1.0, 2, ORACLES):
            assert all(np.isclose(tree.shares.sum(), 1) for tree in trees)
