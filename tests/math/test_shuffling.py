"""The accountant of shuffled reports against exact laws of small collections, and against what is published."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, permutations

import numpy as np
import pytest
from scipy.special import gammaln

import stratagem as st
from shuffled_laws import divergence, law
from stratagem.math.shuffling import PrivacyBlanket
from stratagem.strategies import LocalHashing, MatrixStrategy, SubsetSelection, UnaryEncoding


def response(n, epsilon):
    """Return randomised response as a matrix."""
    Q = 1 + (math.exp(epsilon) - 1) * np.eye(n)
    return Q / Q.sum(axis=0)


def drawn(reports, n, epsilon, seed):
    """Return a random matrix whose rows have many values."""
    Q = np.random.default_rng(seed).uniform(1, math.exp(epsilon), (reports, n))
    return Q / Q.sum(axis=0)


def exact(Q, users, epsilon):
    """Return the least delta: the largest divergence over all types of one user and of all others."""
    types = range(Q.shape[1])
    found = 0.0
    for others in combinations_with_replacement(types, users - 1):
        laws = [law(Q, (*others, u)) for u in types]
        found = max(found, *(divergence(laws[u], laws[v], epsilon) for u, v in permutations(types, 2)))
    return found


SMALL = {
    "binary": response(2, 1.0),
    "response of 3": response(3, 2.0),
    "4 reports of 2": drawn(4, 2, 1.0, 1),
    "3 reports of 3": drawn(3, 3, 3.0, 2),
    "5 reports of 2": drawn(5, 2, 0.2, 3),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("users", [1, 2, 5, 8])
@pytest.mark.parametrize("name", SMALL)
def test_it_is_never_below_the_exact_divergence(name, users):
    Q = SMALL[name]
    if len(Q) ** users > 5e4 and Q.shape[1] > 2:
        users = 6
    blanket = MatrixStrategy(Q).blanket
    for epsilon in (0.0, 0.05, 0.2, 0.6, 1.5):
        least = exact(Q, users, epsilon)
        assert blanket.delta(epsilon, users) >= least * (1 - 1e-12)
        if users == 1 and epsilon == 0:
            assert blanket.delta(epsilon, 1) == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("part", [{"distance": 0.5}, {"mass": 2.0}])
def test_the_control_a_blanket_that_says_too_little_is_found(part):
    """Half the distance, or twice the mass, is below what eight users' reports really tell."""
    Q = SMALL["response of 3"]
    blanket = MatrixStrategy(Q).blanket
    told = replace(
        blanket, **{name: min(1, factor * getattr(blanket, name)) for name, factor in part.items()}
    )
    assert told.delta(0.2, 6) < exact(Q, 6, 0.2) <= blanket.delta(0.2, 6)


def mean_excess(E, e, a, b, gamma, users):
    """Return E[S_+]/users by listing every sum of so many draws, in whole fractions."""
    chances = [
        (E - e, a),
        (1 - e * E, a),
        (E - e * E, b - a),
        (1 - e, gamma - a - b),
        (Fraction(0), 1 - gamma),
    ]
    found = {Fraction(0): Fraction(1)}
    for _ in range(users):
        more = Counter()
        for total, chance in found.items():
            for value, share in chances:
                more[total + value] += chance * share
        found = more
    return sum(max(total, 0) * chance for total, chance in found.items()) / users


@pytest.mark.parametrize("users", [1, 3, 7])
@pytest.mark.parametrize(
    ("E", "e"), [(3, Fraction(11, 10)), (2, Fraction(3, 2)), (9, Fraction(5, 4)), (3, 1)]
)
def test_the_formula_is_computed_from_above_and_closely(E, e, users):
    a, gamma = Fraction(1, 12 * E), Fraction(1, 2)
    b = (1 - gamma) / (E - 1)
    if gamma < a + b:
        gamma, b = Fraction(E + 3, 4 * E), Fraction(3, 4 * E)
    least = float(mean_excess(Fraction(E), e, a, b, gamma, users))
    blanket = PrivacyBlanket(float(E), float(a * (E - 1)), float(gamma))
    assert least <= blanket.delta(math.log(e), users) <= least * (1 + 1e-3)


def clones(ratio, distance, epsilon, users):
    """Return delta by the variation-ratio reduction (Wang et al., 2024), summed over all counts that matter.

    One user's report is told apart from two kinds of clones, of which each other user makes one with probability
    alpha = beta/(E - 1): hockey-stick divergence of two mixtures of trinomials.
    """
    alpha, n = distance / (ratio - 1), users - 1
    mean, spread = n * alpha, 12 * math.sqrt(n * alpha) + 12
    counts = np.arange(max(0, int(mean - spread)), min(n, int(mean + spread)) + 1)
    a, b = counts[:, None], counts[None, :]
    rest = np.maximum(n - a - b, 0)
    logs = gammaln(n + 1) - gammaln(a + 1) - gammaln(b + 1) - gammaln(rest + 1)
    B = np.where(n >= a + b, np.exp(logs + (a + b) * math.log(alpha) + rest * math.log1p(-2 * alpha)), 0.0)
    one, two = np.zeros_like(B), np.zeros_like(B)
    one[1:], two[:, 1:] = B[:-1], B[:, :-1]
    same = (1 - alpha - ratio * alpha) * B
    P, R = ratio * alpha * one + alpha * two + same, alpha * one + ratio * alpha * two + same
    return float(np.maximum(P - math.exp(epsilon) * R, 0).sum())


PUBLISHED = [(0.5, 10**3), (1.0, 10**4), (2.0, 10**4), (4.0, 10**5)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("epsilon", "users"), PUBLISHED)
def test_it_is_within_two_per_cent_of_the_best_published_numbers(epsilon, users):
    """Central epsilons at delta 10^-6 of binary randomised response, the least private strategy."""
    blanket = PrivacyBlanket.worst(epsilon)
    central = blanket.epsilon(1e-6, users)
    low, high = 0.0, epsilon
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if clones(blanket.ratio, blanket.distance, middle, users) > 1e-6 else (low, middle)
        )
    assert central == pytest.approx(high, rel=0.02)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("workload", "central"),
    [(st.histogram(64), 0.0299), (st.prefix(64), 0.0337)],
    ids=["histogram", "prefix"],
)
def test_a_strategys_own_pairs_beat_what_its_epsilon_says(workload, central):
    found = st.optimise(workload, 1.0, st.Auto(gap=0.01)).shuffled(10_000)
    assert found.epsilon == pytest.approx(central, abs=2e-4)
    assert found.generic == pytest.approx(0.0432, abs=1e-4)
    assert (found.local, found.users, found.delta) == (pytest.approx(1.0), 10_000, 1e-6)


def distances(Q):
    """Return the largest total variation distance of two columns, and the sum of the rows' least entries."""
    pairs = permutations(range(Q.shape[1]), 2)
    return max(np.abs(Q[:, u] - Q[:, v]).sum() / 2 for u, v in pairs), Q.min(axis=1).sum()


KINDS = {
    "matrix": lambda: MatrixStrategy(drawn(7, 5, 1.5, 4)),
    "two-level": lambda: st.optimise(st.prefix(8), 1.0).strategy,
    "orbit": lambda: st.optimise(st.all_range(24), 1.0, st.solvers.Orbit()).strategy,
    "window": lambda: st.optimise(st.prefix(24), 1.0, st.solvers.Orbit()).strategy,
    "several cycles": lambda: st.optimise(st.marginals("a=4,b=3", 1), 2.0, st.solvers.Orbit()).strategy,
    "unary": lambda: UnaryEncoding(6, 0.5, 0.2),
    "subset": lambda: SubsetSelection(7, 3, 0.6),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", KINDS)
def test_a_blanket_is_that_of_the_matrix(kind):
    strategy = KINDS[kind]()
    distance, mass = distances(strategy.dense().matrix)
    blanket = strategy.blanket
    assert blanket.distance == pytest.approx(distance, rel=1e-9)
    assert mass * (1 - 1e-2) <= blanket.mass <= mass * (1 + 1e-9)
    assert math.log(blanket.ratio) == pytest.approx(strategy.epsilon, rel=1e-9)


def test_a_blanket_of_juntas_is_on_the_safe_side():
    strategy = st.optimise(st.marginals("2^6", 2), 1.0, st.solvers.Junta()).strategy
    distance, mass = distances(strategy.dense().matrix)
    assert distance * (1 - 1e-9) <= strategy.blanket.distance <= 1.5 * distance
    assert strategy.blanket.mass == pytest.approx(mass, rel=1e-9)


def test_hashing_is_as_private_as_its_pairs():
    """Two values have different hashes in 3 of 4 functions; their reports differ by p - (1 - p)/3 then."""
    blanket = LocalHashing(1000, 4, 0.5).blanket
    assert blanket.distance == pytest.approx(0.75 * (0.5 - 0.5 / 3))
    assert blanket.mass == pytest.approx(4 * 0.5 / 3)


def test_a_mechanism_without_a_finite_epsilon_is_refused():
    with pytest.raises(ValueError, match="no finite epsilon"):
        _ = MatrixStrategy(np.eye(3)).blanket
    normal = st.published.local_gaussian(np.eye(3), 1.0, 1e-6)
    for learned in (lambda: normal.blanket, lambda: st.study.attack(normal)):
        with pytest.raises(ValueError, match="pure epsilon-LDP"):
            learned()


@pytest.mark.parametrize(
    ("users", "delta", "words"), [(0, 1e-6, "whole number"), (2.5, 1e-6, "whole"), (9, 0, "delta")]
)
def test_bad_numbers_are_refused(users, delta, words):
    with pytest.raises(ValueError, match=words):
        PrivacyBlanket.worst(1.0).shuffled(users, delta)


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf])
def test_a_bad_central_epsilon_is_refused(epsilon):
    with pytest.raises(ValueError, match="central epsilon"):
        PrivacyBlanket.worst(1.0).delta(epsilon, 10)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("local", [1e-6, 0.01, 8.0, 50.0, 300.0, 1.0])
def test_more_users_and_a_larger_delta_never_cost_privacy(local):
    blanket = PrivacyBlanket.worst(local)
    by_users = [blanket.epsilon(1e-6, users) for users in (1, 10, 10**3, 10**6, 10**9)]
    assert all(later <= earlier * (1 + 1e-3) for earlier, later in pairwise(by_users))
    assert blanket.epsilon(1e-6, 10**15) <= by_users[-1]
    assert by_users[0] <= local * (1 + 1e-9)
    by_delta = [blanket.epsilon(delta, 10**4) for delta in (1e-12, 1e-9, 1e-6, 1e-3, 0.1)]
    assert all(later <= earlier * (1 + 1e-3) for earlier, later in pairwise(by_delta))


@pytest.mark.parametrize("delta", [1e-6, 1e-15, 1e-300])
def test_what_one_report_keeps_needs_no_others(delta):
    blanket = MatrixStrategy(response(3, 1.0)).blanket
    assert blanket.delta(1.0 + 1e-12, 10) == 0
    assert blanket.epsilon(delta, 1) <= 1.0 + 1e-9


def test_what_is_seen_in_simulated_collections_is_within_it():
    """Share of collections whose loss is above epsilon, from 40,000 that are drawn.

    The event is exactly as likely as the law says but for sampling: six standard errors are exceeded with
    probability 2e-9. A law of other probabilities is noticed.
    """
    Q, users, epsilon = SMALL["response of 3"], 5, 0.5
    strategy, rng = MatrixStrategy(Q), np.random.default_rng(5)
    P, R = law(Q, (0, 1, 1, 2, 2)), law(Q, (1, 1, 1, 2, 2))
    reports = strategy.randomise(np.tile([0, 1, 1, 2, 2], 40_000), rng).reshape(-1, users)
    counts = Counter(map(tuple, np.stack([(reports == y).sum(axis=1) for y in range(3)], axis=1).tolist()))
    bad = [place for place, chance in P.items() if chance > math.exp(epsilon) * R[place]]

    def far(law):
        chance = sum(law[place] for place in bad)
        return abs(sum(counts[place] for place in bad) / 40_000 - chance) / math.sqrt(
            chance * (1 - chance) / 40_000
        )

    assert far(P) < 6
    assert far(R) > 6
    assert divergence(P, R, epsilon) <= strategy.blanket.delta(epsilon, users)
