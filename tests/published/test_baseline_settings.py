"""Every baseline for marginals and ranges on every kind of setting: private, unbiased, or not there at all."""

import numpy as np
import pytest

import stratagem as st
from stratagem.estimators import estimator
from stratagem.published import BASELINES
from stratagem.strategies import LinearProtocol
from tables import assert_private, setting

WORKLOADS = {
    "binary pairs": st.marginals("2^5", 2),
    "mixed pairs": st.marginals("a=3,b=2,c=4", 2),
    "mixed singles": st.marginals("a=3,b=5,c=1,d=2", 1),
    "all tables": st.all_marginals("2^4"),
    "parities": st.parity("2^4", 2),
    "ranges": st.all_range(21),
    "prefixes by group": st.kron([st.prefix({"age": 9}), st.histogram({"sex": 2})]),
    "pairs of neighbours": st.explicit(np.kron(np.eye(6), [[1, 1]])),
    "total": st.total(12),
    "one value": st.histogram(1),
}
MARGINAL = {"marginal-response", "marginal-hadamard", "marginal-encoding", "marginal-selection", "covering"}
RANGE = {"hierarchical", "tree-encoding"}
APPLICABLE = {
    "binary pairs": MARGINAL | RANGE | {"fourier", "haar", "independent-response"},
    "mixed pairs": MARGINAL | RANGE | {"fourier", "haar", "independent-response"},
    "mixed singles": MARGINAL | RANGE | {"fourier", "haar", "independent-response"},
    "all tables": RANGE | {"fourier", "haar", "independent-response"},
    "parities": MARGINAL | RANGE | {"fourier", "haar", "independent-response"},
    "ranges": RANGE | {"fourier", "haar"},
    "prefixes by group": RANGE | {"fourier", "haar", "independent-response"},
    "pairs of neighbours": RANGE | {"fourier", "haar"},
    "total": RANGE,
    "one value": RANGE,
}
"""Which of them have candidates; "pairs of neighbours" is a table of one attribute that nobody named."""
MINE = MARGINAL | RANGE | {"fourier", "haar", "independent-response"}
CHOSEN = [baseline for baseline in BASELINES if baseline.name in MINE]


@pytest.mark.sampled(24, 2)
@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_candidates_are_private_and_unbiased(name, epsilon):
    workload = WORKLOADS[name]
    n, seen = workload.domain_size, set()
    x = np.random.default_rng(0).integers(0, 100, n)
    for baseline in CHOSEN:
        for parameters, mechanism in baseline.candidates(setting(workload), epsilon):
            seen.add(baseline.name)
            assert mechanism.domain_size == n, parameters
            assert mechanism.epsilon <= epsilon, parameters
            assert estimator(mechanism).objective(workload) >= st.lower_bounds(workload, epsilon).best * (
                1 - 1e-9
            )
            if isinstance(mechanism, LinearProtocol):
                continue
            assert_private(mechanism, epsilon)
            answers = workload.answer(mechanism.reconstruct(mechanism.forward(x)))
            assert np.allclose(answers, workload.answer(x), atol=1e-6 * x.sum()), (baseline.name, parameters)
    assert seen == APPLICABLE[name]


@pytest.mark.parametrize("name", ["binary pairs", "mixed pairs"])
def test_tuned_candidates_beat_the_plain_ones(name):
    """Optimal shares of characters beat equal ones, for marginals also those of Haar levels and of tables."""
    workload = WORKLOADS[name]
    best = {
        baseline.name: min(
            estimator(one).objective(workload) for _, one in baseline.candidates(setting(workload), 1.0)
        )
        for baseline in CHOSEN
    }
    assert best["fourier"] <= best["marginal-hadamard"]
    assert best["fourier"] <= best["haar"]
    assert best["covering"] <= best["marginal-response"] * (1 + 1e-9)
