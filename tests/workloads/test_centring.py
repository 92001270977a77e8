"""Workloads less their totals: the same variances, every scale with its digits, and what a direction leaves unseen."""

import itertools

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import Case
from stratagem.estimators import estimator, mean_variance
from stratagem.math.privacy import uniform
from stratagem.workloads.centring import (
    SHORTEST,
    differences,
    estimated,
    first_dependent,
    levelled,
    root,
    total_term,
)
from stratagem.workloads.merged import merged
from stratagem.workloads.selection import SomeQueries

CASES = {
    "prefix": st.prefix(7),
    "all ranges": st.all_range(6),
    "marginals": st.marginals("2^4", 2),
    "parity": st.parity("a=3,b=2", 2),
    "total": st.total(4),
    "one value": st.histogram(1),
    "rows": st.explicit(np.diag([1e6, 1.0, 1e-6])),
    "few rows of twelve values": st.explicit(np.arange(24.0).reshape(2, 12) ** 2),
    "many rows": st.explicit(np.random.default_rng(0).standard_normal((40, 5))),
    "many rows of many sizes": st.explicit(
        np.random.default_rng(1).standard_normal((40, 5)) * 10.0 ** np.linspace(-6, 6, 40)[:, None]
    ),
    "rows and ranges": st.stack([st.all_range(4), st.weighted(st.explicit([[1.0, 5.0, 2.0, 2.0]]), -1e5)]),
    "weights": st.stack([st.weighted(st.prefix(4), 1e7), st.histogram(4)]),
    "product with rows": st.kron([st.prefix(3), st.explicit([[1e5, 0.0, 0.0], [0.0, 1.0, 2.0]])]),
    "merged": merged(st.kron([st.prefix(3), st.explicit([[1.0, 4.0]])])),
    "offset": st.explicit(np.eye(4) + 1e3),
}
PRIORS = {"even": None, "uneven": 1.0, "zero": 0.0}


def prior_of(kind: float | None, n: int) -> np.ndarray | None:
    if kind is None:
        return None
    p = np.random.default_rng(n).random(n) + 0.1
    p[0] *= kind if n > 1 else 1.0
    return p / p.sum()


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", CASES)
def test_the_factor_is_one_of_the_centred_gram_matrix(name, prior):
    workload = CASES[name]
    n, p = workload.domain_size, prior_of(PRIORS[prior], workload.domain_size)
    A = np.eye(n) - np.outer(np.ones(n), np.full(n, 1 / n) if p is None else p)
    V, F = workload.gram(), root(workload, p)
    assert F @ F.T == pytest.approx(A @ V @ A.T, abs=1e-12 * np.trace(V))
    assert np.abs((np.full(n, 1 / n) if p is None else p) @ F).max(initial=0) <= 1e-13 * np.sqrt(np.trace(V))
    expected = n * float(
        (np.full(n, 1 / n) if p is None else p) @ V @ (np.full(n, 1 / n) if p is None else p)
    )
    assert total_term(workload, p) == pytest.approx(expected, rel=1e-12)


def test_every_scale_of_the_factor_keeps_its_digits():
    """The squares of these rows are 24 decades apart, more than a matrix V holds; the last column is a control."""
    sizes = np.array([1e-6, 1.0, 1e6])
    rows = sizes[:, None] * np.array([[0.0, 1, 2, 3], [3, 1, 0, 0], [1, 1, 5, 0]])
    for workload in (
        st.explicit(rows),
        st.stack([st.weighted(st.explicit(rows[i : i + 1] / s), s) for i, s in enumerate(sizes)]),
    ):
        F = root(workload)
        unit = F / np.linalg.norm(F, axis=0)
        for row in rows - rows.mean(axis=1, keepdims=True):
            assert np.linalg.norm(unit @ np.linalg.pinv(unit) @ row - row) <= 1e-12 * np.linalg.norm(row)
    V = rows.T @ rows
    _, vectors = np.linalg.eigh(V - V.mean(axis=0) - V.mean(axis=1)[:, None] + V.mean())
    lost = rows[0] - rows[0].mean() - vectors[:, -2:] @ (vectors[:, -2:].T @ (rows[0] - rows[0].mean()))
    assert np.linalg.norm(lost) > 0.1 * np.linalg.norm(rows[0])  # what one decomposition of V would leave out


@pytest.mark.parametrize("name", CASES)
def test_levelled_queries_have_the_same_variances(name):
    workload = CASES[name]
    if workload.domain_size == 1:
        return
    strategy = st.published.randomised_response(workload.domain_size, 1.0)
    one, two = st.evaluate(workload, strategy), st.evaluate(levelled(workload), strategy)
    assert one.per_type == pytest.approx(two.per_type, rel=1e-12)
    assert levelled(workload).queries == workload.queries


def test_queries_without_rows_stay_as_they_are():
    for workload in CASES.values():
        assert workload.by_rows or levelled(workload) is workload
        assert workload.by_rows or Case(workload, 1.0).apart is None


@pytest.mark.parametrize(
    ("rows", "far"),
    [
        (np.eye(4) + 1e7, True),
        (np.eye(4) + 0.1, False),
        ([1.7e9 + 60.0 * np.arange(6)], True),
        ([np.arange(6.0) - 2], False),
        (np.eye(4), False),
        (np.ones((2, 3)), False),
    ],
)
def test_only_means_that_outweigh_all_else_are_taken_apart(rows, far):
    workload = st.explicit(rows)
    found = Case(workload, 1.0).apart
    assert (found is not None) == far
    if found is not None:
        assert found.known + total_term(found.rest) == pytest.approx(total_term(workload), rel=1e-12)
        rest = differences(workload)
        assert rest is not None
        assert found.rest.gram() == pytest.approx(rest.gram())


def test_rows_that_are_equal_but_for_rounding_are_totals():
    assert differences(st.explicit([[0.1 + 0.2, 0.3, 0.3]])) is None
    assert differences(st.explicit([[1.0, 1.0 + 1e-12, 1.0]])) is not None


SCALES = [1e-12, 1e-6, 1.0, 1e6, 1e12]


@pytest.mark.parametrize(("small", "large"), list(itertools.combinations(SCALES, 2)))
def test_a_query_is_unseen_whatever_others_outweigh_it(small, large):
    """Types 2 and 3 look alike: rows that treat them so do not depend on it, others do at any ratio."""
    alike = np.array([[0.0, 0.0, 1.0, -1.0]]).T / np.sqrt(2)
    seen = [[large, 0, 0, 0], [0, large, small, small]]
    unseen = [[large, 0, 0, 0], [0, 0, small, 2 * small]]
    assert first_dependent(st.explicit(seen), alike, uniform(4)) is None
    assert first_dependent(st.explicit(unseen), alike, uniform(4)) == 1
    assert (
        first_dependent(st.explicit(np.add(unseen, 1e3 * large)), alike, uniform(4)) == 1
        or small / large < 1e-9
    )
    stacked = st.stack([st.weighted(st.total(4), large), st.weighted(st.histogram(4), small)])
    assert first_dependent(stacked, alike, uniform(4)) == 3


def test_a_share_of_a_query_counts_from_a_thousand_millionth_of_it():
    for share, found in ((1e-8, 0), (1e-10, None)):
        tilted = np.array([[1.0, -1.0, 0.0, 0.0]]).T / np.sqrt(2) * np.sqrt(1 - share**2)
        tilted[2:, 0] = [share / np.sqrt(2), -share / np.sqrt(2)]
        assert first_dependent(st.explicit([[0.0, 0.0, 1.0, -1.0]]), tilted, uniform(4)) == found


@pytest.mark.parametrize("n", [2, 3, 7, 16])
def test_queries_of_zeros_and_ones_are_not_shorter_than_the_least(n):
    """The lengths of many queries are not computed one by one: this is the limit that stands for them."""
    for workload in (
        st.prefix(n),
        st.all_range(n),
        st.histogram(n),
        st.marginals(f"a={n},b=2", 1),
        st.parity(f"a={n}", 1),
    ):
        W = workload.matrix()
        lengths = np.linalg.norm(W - W.mean(axis=1, keepdims=True), axis=1)
        assert (lengths[lengths > 1e-12] >= SHORTEST).all()


@pytest.mark.parametrize("name", CASES)
def test_answers_that_the_number_of_people_gives_are_not_among_the_estimated(name):
    """Their rows are constant; also where queries are chosen one by one."""
    spread = (np.ptp(CASES[name].matrix(), axis=1) > 0).sum()
    inner = CASES[name].unmerged
    chosen = SomeQueries(inner, np.arange(inner.queries))
    assert estimated(CASES[name]) == estimated(chosen) == max(1, spread)


def test_the_typical_error_is_that_of_the_estimated_answers():
    """A total besides changes nothing: neither the people needed, nor the bound on them, nor the verdict."""
    asked = st.prefix(4), st.prefix(4) + st.total(4)
    strategy = st.published.randomised_response(4, 1.0)
    per_type = [st.per_query_variance(asked[0], strategy, np.eye(4)[u])[:3].mean() for u in range(4)]
    for one in asked:
        through = estimator(strategy)
        assert mean_variance(one, through, through.accuracy(one)) == pytest.approx(max(per_type))
    few, more = (st.bounds.any_estimator(one, 1.0, 1000) for one in asked)
    assert few.typical_error == pytest.approx(more.typical_error)
