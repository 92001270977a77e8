"""The linear programming bound: against every pattern of small domains, optima, and hand calculations."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import delsarte, spectral_bounds
from stratagem.bounds.delsarte import Dual
from stratagem.math.transform import krawtchouk
from stratagem.workloads.structure import Spectrum
from tables import EPSILONS, golden

SMALL = {
    "2-way marginals": st.marginals("2^4", 2),
    "3-way marginals": st.marginals("2^4", 3),
    "all marginals": st.all_marginals("2^4"),
    "parity of weight <= 3": st.parity("2^4", 3),
    "parity of weight 1": st.parity("2^4", 1),
    "ternary": st.marginals("3^2", 1),
    "mixed": st.marginals("a=2,b=3,c=2", 2),
}
"""Workloads over domains so small that all patterns are listed: at most 2^16."""

GOLDEN = [line for line in golden() if line.workload().structure.spectrum is not None]

LARGE = {
    "marginals": st.marginals("2^100", 3),
    "categorical": st.all_marginals("a=100,b=2,c=51,d=7,e=12"),
    "all marginals": st.all_marginals("2^12"),
    "three kinds": st.marginals(
        {f"{name}{i}": a for name, a in zip("abc", (2, 3, 5), strict=True) for i in range(9)}, 3
    ),
    "twelve sizes": st.marginals({f"a{a}": a for a in range(2, 14)}, 2),
    "many": st.parity("2^20000", 2),
}


@cache
def profiles(sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Shares f (t,) of all patterns but the empty and the full one, and |1_T^/n|^2 (t x n) at all characters."""
    n = math.prod(sizes)
    patterns = (np.arange(1, 2**n - 1)[:, None] >> np.arange(n) & 1).astype(float)
    transform = np.fft.fftn(patterns.reshape(-1, *sizes), axes=range(1, len(sizes) + 1)).reshape(-1, n)
    return patterns.mean(axis=1), np.abs(transform / n) ** 2


def by_type(spectrum) -> np.ndarray:
    """Which character has which of all types but the trivial one (n x t), in C order of the groups."""
    shape = tuple(len(group) + 1 for group in spectrum.groups)
    rows = np.zeros((math.prod(spectrum.sizes), math.prod(shape)))
    for number, frequencies in enumerate(np.ndindex(*spectrum.sizes)):
        kind = [sum(frequencies[i] > 0 for i in group) for group in spectrum.groups]
        rows[number, np.ravel_multi_index(kind, shape)] = 1
    return rows[:, 1:]


def found(spectrum, epsilon, steps=300) -> float:
    """L/n of a good invariant strategy: weights of all patterns by multiplicative updates."""
    f, energies = profiles(spectrum.sizes)
    rows, c = by_type(spectrum), math.expm1(epsilon)
    x = np.unique((c**2 * energies / (1 + c * f[:, None]) ** 2 @ rows).round(14), axis=0)
    gains = Dual.of(spectrum, epsilon).gains
    x, gains = x[:, gains > 0], gains[gains > 0]
    w = np.full(len(x), 1 / len(x))
    for _ in range(steps):
        w *= np.sqrt(x @ (gains / (w @ x)) ** 2)
        w /= w.sum()
    return spectrum.value((0,) * len(spectrum.groups)) + float((gains**2 / (w @ x)).sum())


@pytest.mark.parametrize("workload", SMALL.values(), ids=SMALL)
def test_every_pattern_meets_the_inequalities(workload):
    spectrum = workload.structure.spectrum
    dual, (f, energies) = Dual.of(spectrum, 1.0), profiles(spectrum.sizes)
    for share, energy in zip(f[::7], (energies @ by_type(spectrum))[::7], strict=True):
        assert energy.sum() == pytest.approx(share - share**2)
        assert dual.correlations(energy).min() >= -(min(share, 1 - share) ** 2) - 1e-12


@pytest.mark.sampled(3)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("workload", SMALL.values(), ids=SMALL)
def test_it_lies_between_the_integer_bound_and_the_best_of_all_patterns(workload, epsilon):
    bounds, best = (
        spectral_bounds(workload.structure.spectrum, epsilon),
        found(workload.structure.spectrum, epsilon),
    )
    assert bounds["integer"].value * (1 - 1e-12) <= bounds["delsarte"].value <= best * (1 + 1e-9)


@pytest.mark.parametrize("line", GOLDEN, ids=lambda g: f"{g.name}-{g.n}-{g.epsilon}")
def test_it_is_never_above_the_optimum(line):
    value = line.n * delsarte(line.workload().structure.spectrum, line.epsilon)
    assert line.values["closed"] * (1 - 1e-4) <= value <= line.values["optimum"] * (1 + 1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("name", ["parity of weight 1", "3-way marginals", "mixed"])
def test_any_multipliers_give_a_bound(name, epsilon):
    spectrum = SMALL[name].structure.spectrum
    dual, best = Dual.of(spectrum, epsilon), found(spectrum, epsilon)
    level, rng = spectrum.value((0,) * len(spectrum.groups)), np.random.default_rng(5)
    columns, k = dual.columns(np.arange(1, math.prod(dual.classes))), math.prod(dual.classes) - 1
    (_, *w), _ = dual.search(columns)
    for _ in range(100):
        noise = rng.standard_cauchy(k)
        for weights in (noise, np.array(w) * (1 + noise), np.where(rng.random(k) < 0.5, np.nan, noise)):
            assert level + dual.value(columns, float(rng.standard_cauchy()), weights) <= best * (1 + 1e-9)
    assert level + dual.value(columns, math.nan, np.full(k, np.inf)) <= best
    assert level + dual.value(columns, 0.0, np.zeros(k)) == level


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_a_wrong_sign_exceeds_the_optimum(epsilon):
    """All characters of weight 2: patterns may give them more than f/2, which the wrong sign forbids."""
    pairs = Spectrum((2,) * 4, ((0, 1, 2, 3),), 2, lambda kind: float(kind[0] in (0, 2)))
    dual, best = Dual.of(pairs, epsilon), found(pairs, epsilon)
    columns = dual.columns(np.array([4]))
    for sign in (1, -1):
        (p, *w), _ = dual.search(sign * columns)
        value = 1 + dual.value(sign * columns, p, np.array(w))
        assert value <= best * (1 + 1e-9) if sign == 1 else value > 1.01 * best


def odd_orders(gains: np.ndarray, epsilon: float) -> float:
    """By hand: the even orders share f (1 - f) of the energy, the odd ones get f/2 of it at most."""
    c = math.expm1(epsilon)
    even, odd = gains[1::2].sum(), gains[::2].sum()
    best = math.inf
    for f in np.linspace(1 / (2 + c), 0.5, 20001):
        room = c**2 * f / (1 + c * f) ** 2
        odd_share = min(odd / (even + odd) * (1 - f), 0.5)
        best = min(best, (odd**2 / odd_share + even**2 / (1 - f - odd_share)) / room)
    return best


@pytest.mark.parametrize(
    ("workload", "ratio"),
    [
        (st.marginals("2^100", 3), 1.022774),
        (st.marginals("2^1000", 3), 1.141565),
        (st.parity("2^20", 3), 1.082964),
    ],
)
def test_the_gain_of_the_antipodal_translation(workload, ratio):
    spectrum = workload.structure.spectrum
    bounds, level = spectral_bounds(spectrum, 1.0), spectrum.values[0]
    by_hand = level + odd_orders(Dual.of(spectrum, 1.0).gains, 1.0)
    assert bounds.best / bounds["closed"].value == pytest.approx(ratio, abs=2e-6)
    assert bounds["delsarte"].value == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", LARGE)
def test_it_grows_with_privacy_and_is_never_below_the_closed_bound(name):
    values = []
    for epsilon in (0.25, 1.0, 8.0, 40.0, 300.0):
        bounds = spectral_bounds(LARGE[name].structure.spectrum, epsilon)
        assert math.isfinite(bounds.best)
        assert bounds["delsarte"].value >= bounds["closed"].value * (1 - 1e-9)
        values.append(bounds["delsarte"].value)
    assert values == sorted(values, reverse=True)


def test_more_queries_never_lower_it():
    values = [delsarte(st.parity("2^30", order).structure.spectrum, 2.0) for order in range(1, 7)]
    assert values == sorted(values)


def test_one_attribute_gives_the_integer_bound():
    for epsilon in EPSILONS:
        bounds = spectral_bounds(st.histogram(50).structure.spectrum, epsilon)
        assert bounds["delsarte"].value == pytest.approx(bounds["integer"].value, rel=1e-9)


def test_too_many_types_have_none_and_nothing_to_ask_costs_the_total():
    assert delsarte(st.marginals({f"a{a}": a for a in range(2, 22)}, 1).structure.spectrum, 1.0) is None
    assert delsarte(st.total("2^6").structure.spectrum, 1.0) == 1.0
    assert delsarte(st.histogram("a=1,b=1").structure.spectrum, 1.0) == 1.0


@pytest.mark.parametrize(("many", "size"), [(1, 2), (1, 9), (7, 3), (300, 2), (300, 3), (120, 40)])
def test_mean_characters_are_exact(many, size):
    def exact(touched, moved):
        low, high = max(0, touched + moved - many), min(touched, moved)
        terms = (
            math.comb(touched, i)
            * math.comb(many - touched, moved - i)
            * (-1) ** i
            * (size - 1) ** (high - i)
            for i in range(low, high + 1)
        )
        return float(Fraction(sum(terms), math.comb(many, moved) * (size - 1) ** high))

    some = np.unique(np.linspace(0, many, 13).astype(int))
    table = krawtchouk(many, size, some)
    assert np.abs(table).max() <= 1 + 1e-12
    for k, moved in enumerate(map(int, some)):
        for touched in map(int, some):
            assert table[touched, k] == pytest.approx(exact(touched, moved), abs=1e-14)
