"""Counts in the local model: the square program and limited precision."""

import math
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import stratagem as st
from stratagem import counts
from tables import random_ldp_matrix

ALPHAS = ["0.2", "1/3", "0.62", "0.9"]


@pytest.mark.parametrize("items", [2, 3, 4, 5, 6, 8, 9])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_square_local_program_finds_randomised_response(items, alpha):
    a = float(Fraction(alpha))
    found = counts.design(items - 1, alpha, "L0", reach=items - 1)
    response = st.published.randomised_response(items, -math.log(a)).dense().matrix
    assert response[0, 0] == pytest.approx(1 / (1 + (items - 1) * a))
    assert np.allclose(found.mechanism.matrix, response, atol=1e-6)
    # L0 carries (n + 1)/n: items (1 - p)/(items - 1) = items a/(1 + (items - 1) a)
    assert found.cost == pytest.approx(items * a / (1 + (items - 1) * a), rel=1e-8)
    assert found.status is counts.CountStatus.OPTIMAL
    assert found.cost >= counts.design(items - 1, alpha, "L0").cost * (1 - 1e-9)
    assert counts.reach_ratio(found.mechanism, items - 1) <= 1 / found.mechanism.alpha


@pytest.mark.sampled(3)
@pytest.mark.parametrize("loss", ["L0", "L1", "L2"])
@pytest.mark.parametrize(("n", "alpha"), [(3, "0.5"), (4, "0.62"), (6, "0.62")])
def test_limited_precision_costs_more_the_further_it_reaches(loss, n, alpha):
    """(k, eps)-LLDP for k = 1 to n: exact within reach, and no dearer than central DP with eps/k."""
    designs = [counts.design(n, alpha, loss, reach=k) for k in range(1, n + 1)]
    for less, more in pairwise(designs):
        assert less.bound <= more.cost * (1 + 1e-12)
        assert less.cost <= more.cost * (1 + 1e-8)
    assert designs[-1].cost > 1.1 * designs[0].cost
    for k, found in enumerate(designs, 1):
        assert counts.reach_ratio(found.mechanism, k) <= 1 / found.mechanism.alpha
        by_groups = counts.design(n, epsilon=-math.log(float(Fraction(alpha))) / k, loss=loss)
        assert found.bound <= by_groups.cost * (1 + 1e-9)


def test_central_privacy_does_not_reach_further():
    """Negative control: neighbours within 1/a, counts k apart within a^-k and no less."""
    mechanism = counts.geometric(5, "0.9")
    for k in range(1, 6):
        assert counts.reach_ratio(mechanism, k) == Fraction(10, 9) ** k


@pytest.mark.parametrize("wrong", [0, 6, 1.5, True])
def test_a_wrong_reach_is_refused(wrong):
    with pytest.raises(ValueError, match="from 1 to 5"):
        counts.reach_ratio(counts.geometric(5, 0.5), wrong)


@pytest.mark.parametrize("loss", ["L0", "L1", "random"])
@pytest.mark.parametrize(("items", "epsilon"), [(3, 0.5), (5, 1.0), (6, 3.0)])
def test_more_outputs_cannot_help_the_loss_of_one_answer(loss, items, epsilon):
    """Random eps-LDP channels of up to 40 outputs, best decoder: no better than the square program's bound."""
    rng = np.random.default_rng(items)
    n = items - 1
    cost = _loss_matrix(loss, items, rng)
    loss = cost if loss == "random" else loss
    for prior in (None, rng.dirichlet(np.ones(items))):
        weights = np.full(items, 1 / items) if prior is None else prior
        square = counts.design(n, epsilon=epsilon, loss=loss, prior=prior, reach=n)
        channels = [random_ldp_matrix(rng, int(m), items, epsilon) for m in rng.integers(1, 40, 30)]
        channels.append(st.published.hadamard_response(items, epsilon).dense().matrix)
        for Q in channels:
            P = counts.merged(Q, loss, prior)
            decoded = ((cost * weights) @ Q.T).min(axis=0).sum()
            assert (cost * P).sum(axis=0) @ weights == pytest.approx(decoded, rel=1e-12)
            assert st.strategies.MatrixStrategy(P).epsilon <= st.strategies.MatrixStrategy(Q).epsilon + 1e-12
            assert decoded >= square.bound * (1 - 1e-12)


def _loss_matrix(loss: str, items: int, rng: np.random.Generator) -> np.ndarray:
    i, j = np.indices((items, items))
    return {"L0": (i != j) * items / (items - 1), "L1": abs(i - j), "random": rng.random((items, items))}[
        loss
    ]


def test_merging_the_square_optimum_changes_nothing():
    found = counts.design(4, 0.62, "L0", reach=4)
    assert np.allclose(counts.merged(found.mechanism.matrix, "L0"), found.mechanism.matrix, atol=1e-15)


@pytest.mark.parametrize(
    ("channel", "said"),
    [
        (np.ones((3, 1)) / 3, "at least two user types"),
        (np.ones((3, 2)), "sum to one"),
        (np.ones(3), "reports x user types"),
    ],
)
def test_what_is_no_channel_is_refused(channel, said):
    with pytest.raises(ValueError, match=said):
        counts.merged(channel)


def test_the_room_of_counts_does_not_load_the_local_wing():
    code = (
        "import sys, stratagem.counts; "
        "wing = {'stratagem.solvers', 'stratagem.strategies', 'stratagem.estimators', 'jax'} & set(sys.modules); "
        "assert not wing, wing"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
