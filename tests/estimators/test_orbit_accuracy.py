"""The variance of translates by transforms, against matrices written out and against simulation."""

import numpy as np
import pytest

import stratagem as st
from stratagem.estimators import estimator, evaluate
from stratagem.estimators.best_linear import BestLinear
from stratagem.estimators.translation import orbit as orbit_accuracy_module
from stratagem.estimators.translation.line import Window
from stratagem.estimators.translation.transformed import answer_energies
from stratagem.solvers.orbit.sets import CycleTarget
from stratagem.strategies import OrbitStrategy, Pattern

RNG = np.random.default_rng(0)


def orbit(sizes, cycles=None, patterns=4, ratio=np.e, seed=0):
    """Random patterns with random weights."""
    rng, cycles = np.random.default_rng(seed), cycles or sizes
    drawn = []
    for _ in range(patterns):
        inside = rng.random(cycles) < 0.3
        inside.ravel()[:2] = True, False
        drawn.append(Pattern.of(tuple(range(len(cycles))), inside))
    return OrbitStrategy(sizes, cycles, tuple(drawn), rng.dirichlet(np.ones(patterns)), ratio)


ONE = {
    "prefix": lambda n: st.prefix(n),
    "all-range": lambda n: st.all_range(n),
    "short ranges": lambda n: st.all_range(n, n // 3),
    "long ranges": lambda n: st.all_range(n, n - 2),
    "points": lambda n: st.all_range(n, 1),
    "histogram": lambda n: st.histogram(n),
    "total": lambda n: st.total(n),
    "explicit": lambda n: st.explicit(np.random.default_rng(n).normal(size=(5, n))),
    "weighted": lambda n: st.weighted(st.prefix(n), 3.0),
    "stack": lambda n: st.stack([st.prefix(n), st.weighted(st.histogram(n), 2.0)]),
}
MANY = {
    "marginals": st.marginals("a=3,b=4,c=2", 2),
    "histogram": st.histogram("a=3,b=5"),
    "kron": st.kron([st.prefix(4), st.all_range(5)]),
    "parity": st.parity("2^5", 2),
}


@pytest.mark.parametrize("n", [7, 12])
@pytest.mark.parametrize("name", ONE)
def test_energies_of_answers_are_squared_lengths(name, n):
    workload = ONE[name](n)
    for cycle in (n, n + 1, n + 6):
        r = RNG.normal(size=cycle)
        moved = np.stack([np.roll(r, g)[:n] for g in range(cycle)], axis=1)
        assert answer_energies(workload, r) == pytest.approx(np.square(workload.answer(moved)).sum(axis=0))


@pytest.mark.parametrize(
    ("name", "extra"),
    [(name, extra) for name in ONE for extra in (0, 5) if (name, extra) != ("histogram", 5)],
)
def test_as_the_matrix_says(name, extra):
    workload, strategy = ONE[name](16), orbit((16,), (16 + extra,))
    expected, found = evaluate(workload, strategy.dense()), evaluate(workload, strategy)
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    assert found.per_type + np.zeros(16) == pytest.approx(expected.per_type, rel=1e-7, abs=1e-9)
    assert estimator(strategy).objective(workload) == pytest.approx(expected.objective, rel=1e-8)


@pytest.mark.parametrize("name", MANY)
def test_as_the_matrix_says_on_several_attributes(name):
    workload = MANY[name]
    strategy = orbit(workload.domain.sizes)
    expected, found = evaluate(workload, strategy.dense()), evaluate(workload, strategy)
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    assert found.per_type + 0 * expected.per_type == pytest.approx(expected.per_type, rel=1e-7)


@pytest.mark.parametrize("name", ONE)
def test_transforms_agree_with_the_matrix_on_whole_cycles(name, monkeypatch):
    workload, strategy = ONE[name](17), orbit((17,))
    expected = evaluate(workload, strategy.dense())
    monkeypatch.setattr(orbit_accuracy_module, "SMALL", 0)
    found = evaluate(workload, strategy)
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    assert found.per_type + np.zeros(17) == pytest.approx(expected.per_type, rel=1e-7, abs=1e-9)


def estimates(workload, strategy):
    """Every report's answers (m, p), by linearity from counts of one report each."""
    (n,), (cycle,) = strategy.sizes, strategy.cycles
    m = strategy.eigenvalues[: cycle // 2 + 1]
    window = Window(n, cycle, m)
    answers = []
    for pattern in strategy.patterns:
        r = np.fft.irfft(np.fft.rfft(pattern.levels(strategy.ratio)) / m, cycle)
        for g in range(cycle):
            y = np.roll(r, g)
            answers.append(
                window.answers(y) if isinstance(workload, type(st.prefix(2))) else workload.answer(y[:n])
            )
    return np.array(answers)


@pytest.mark.parametrize("cycle", [17, 20, 27, 40])
@pytest.mark.parametrize("name", ["prefix", "histogram", "short ranges"])
def test_windows_are_unbiased_and_their_variance_exact(name, cycle, monkeypatch):
    workload, strategy = ONE[name](16), orbit((16,), (cycle,))
    Q, answers, W = strategy.dense().matrix, estimates(workload, strategy), workload.matrix()
    assert answers.T @ Q == pytest.approx(W, abs=1e-9)
    monkeypatch.setattr(orbit_accuracy_module, "SMALL", 0)
    found = evaluate(workload, strategy)
    expected = np.square(answers).sum(axis=1) @ Q - np.square(W).sum(axis=0)
    assert found.per_type == pytest.approx(expected, rel=1e-8)
    assert found.objective >= evaluate(workload, strategy.dense()).objective * (1 - 1e-9)


def test_a_biased_estimator_is_seen():
    """Negative control: without the constants the prefixes are biased."""
    strategy = orbit((16,), (20,))
    window = Window(16, 20, strategy.eigenvalues[:11])
    answers = estimates(st.prefix(16), strategy) - window.constants
    assert np.abs(answers.T @ strategy.dense().matrix - st.prefix(16).matrix()).max() > 1e-3


def test_kriging_weights_are_optimal():
    """No other weights of sum one have less variance when all reports are equally likely."""
    window = Window(16, 24, orbit((16,), (24,)).eigenvalues[:13])
    assert window.weights.sum(axis=0) == pytest.approx(np.ones(16))
    assert (window.variances >= -1e-9).all()
    cost = window.spectrum[1:12].sum() * 2 + window.spectrum[12]
    per_frequency = window.spectrum / window.eigenvalues * np.r_[0, np.full(11, 2.0), 1]
    assert cost > 0
    assert per_frequency.sum() / 24 * 16 / 24 == pytest.approx(window.variances.sum())


@pytest.mark.parametrize("users", [20_000])
def test_simulated_variance(users):
    """1,000 runs; the total squared error is within 5 standard errors of the exact one: false alarm < 1e-5."""
    n, rng = 12, np.random.default_rng(1)
    workload, strategy = st.prefix(n), orbit((n,), (16,))
    answers = estimates(workload, strategy)
    x = rng.multinomial(users, np.full(n, 1 / n))
    Q = strategy.dense().matrix
    counts = sum(rng.multinomial(x[u], Q[:, u] / Q[:, u].sum(), size=1000) for u in range(n))
    errors = np.square(counts @ answers - workload.answer(x.astype(float))).sum(axis=1)
    variance = (np.square(answers).sum(axis=1) @ Q - np.square(workload.matrix()).sum(axis=0)) @ x
    sampling = errors.std() / np.sqrt(len(errors))
    assert abs(errors.mean() - variance) < 5 * sampling
    assert abs(errors.mean() - 1.2 * variance) > 5 * sampling  # negative control


def test_an_unseen_character_is_refused():
    """A pattern of period 2 on 4 points tells no point from its opposite."""
    strategy = OrbitStrategy(
        (4,), (4,), (Pattern.of((0,), np.array([True, False, True, False])),), np.ones(1), 3.0
    )
    with pytest.raises(st.UnsupportedWorkloadError, match="no pattern sees"):
        estimator(strategy).objective(st.histogram(4))


def test_domains_must_agree():
    with pytest.raises(ValueError, match="same domain"):
        evaluate(st.prefix(5), orbit((6,)))


def test_queries_without_transforms_are_refused_on_large_domains():
    strategy = orbit((64, 32))
    with pytest.raises(ValueError, match="not known for queries that translations change"):
        evaluate(st.kron([st.prefix(64), st.prefix(32)]), strategy)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_shorter_blocks_of_a_long_window_gain_next_to_nothing(monkeypatch, epsilon):
    target = CycleTarget(st.prefix(8192), np.exp(epsilon))
    wanted = np.maximum(target._stationary(), 1e-12)

    def variance():
        return Window(8192, target.cycles[0], wanted / wanted[1]).variances.sum()

    coarse = variance()
    monkeypatch.setattr("stratagem.estimators.translation.line.FINEST", 60)
    assert 1 <= coarse / variance() <= 1 + 1e-4


@pytest.mark.parametrize("values", [4, 5, 6])
def test_histograms_of_a_window_have_the_variance_of_the_estimator_in_use(values):
    """Estimates of a window are those of least variance, for histograms as for other queries."""
    pattern = Pattern.of((0,), np.array([1, 1, 0, 1, 0, 0, 0]))
    strategy = OrbitStrategy((values,), (7,), (pattern,), np.ones(1), np.e)
    workload, listed = st.histogram(values), BestLinear(strategy.dense())
    own, right = estimator(strategy).accuracy(workload), listed.accuracy(workload)
    assert own.objective == pytest.approx(right.objective, rel=1e-10)
    assert np.allclose(own.per_type, right.per_type, rtol=1e-9)
    assert np.allclose(estimator(strategy).largest(workload), listed.largest(workload), rtol=1e-9)
    exact = estimator(strategy).variances(workload, np.arange(values))
    assert exact.sum() == pytest.approx(own.per_type @ np.arange(values), rel=1e-9)
