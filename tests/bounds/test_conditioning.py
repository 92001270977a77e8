"""The conditioning bound: against every pattern of small domains, optima, and the Adult table's attributes."""

import math
from functools import partial
from importlib import import_module

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import delsarte, exact
from stratagem.bounds.bound import Case, norms
from stratagem.bounds.delsarte import Dual
from stratagem.bounds.questions import (
    CellWeights,
    Halving,
    SlicedGroup,
    SlicedPrices,
    Slicing,
    conditioning,
    max_plus_power,
    questions,
)
from stratagem.workloads.table import by_attributes
from surveys import ASKED, OPTIMA

ADULT = (7, 16, 7, 14, 6, 5, 2, 41, 2)
"""Sizes of the nine categorical attributes of the Adult table."""

EPSILONS = (0.01, 1.0, 2.0, 6.0)


def tables(sizes, order=1):
    return st.marginals({f"a{i}": a for i, a in enumerate(sizes)}, order)


def energies(sizes) -> tuple[np.ndarray, np.ndarray]:
    """Shares f (t,) of all patterns but the empty and the full one, and E_i (t x d), from the definition."""
    n = math.prod(sizes)
    patterns = (np.arange(1, 2**n - 1)[:, None] >> np.arange(n) & 1).astype(float).reshape(-1, *sizes)
    axes = range(1, len(sizes) + 1)
    means = (patterns.mean(axis=tuple(k for k in axes if k != i)) for i in axes)
    return patterns.mean(axis=tuple(axes)), np.stack([mean.var(axis=1) for mean in means], axis=1)


def sliced(slicing, sizes, prices, start):
    ratios = np.full(slicing.cells, start)
    for size, price in zip(sizes, prices, strict=True):
        ratios = slicing.step(ratios, size, price)
    return ratios


@pytest.mark.parametrize("grid", [(20, 5), (100, 14)])
@pytest.mark.parametrize("sizes", [(2, 3), (3, 2, 2), (2, 2, 2, 2), (4, 3), (2, 7), (2, 2, 3), (8,)])
def test_no_pattern_has_more_energy(sizes, grid):
    (f, energy), rng = energies(sizes), np.random.default_rng(3)
    slicing = Slicing(*grid)
    for trial in range(6):
        prices = rng.exponential(size=len(sizes)) ** trial
        whole = trial % 2 if len(sizes) > 1 else 0  # how many attributes are not sliced
        ratios = sliced(slicing, sizes[whole:], prices[whole:].tolist(), prices[0] if whole else 0.0)
        used = energy @ prices
        for side in (-1e-12, 1e-12):  # a share between two cells belongs to both
            cells = np.clip(((f + side) * slicing.cells).astype(int), 0, slicing.cells - 1)
            assert (used <= ratios[cells] * f * (1 - f) * (1 + 1e-12)).all()


def test_the_energy_allowed_is_nearly_attained():
    """Less of it by 3 % would exclude a pattern: the inequality above can fail."""
    f, energy = energies((2, 2, 3))
    ratios = sliced(Slicing(400, 40), (3, 2, 2), (1.0, 1.0, 1.0), 0.0)
    share = energy.sum(axis=1) / (ratios[(f * 400).astype(int)] * f * (1 - f))
    assert 0.97 < share.max() <= 1


@pytest.mark.sampled(16)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sizes", [(2, 3), (2, 2, 2), (3, 3), (2, 4)])
def test_it_is_never_above_the_optimum(sizes, epsilon):
    workload = tables(sizes)
    spectrum, n = workload.structure.spectrum, workload.domain_size
    best = exact(workload, epsilon) * (1 + 2e-7) / n
    level = spectrum.value((0,) * len(spectrum.groups))
    assert level + conditioning(spectrum, epsilon) <= best
    groups = tuple(SlicedGroup(spectrum.sizes[g[0]], len(g), float(v)) for g, v in _queried(spectrum))
    rng, search = np.random.default_rng(7), SlicedPrices(groups, lambda _: 0.0, math.expm1(epsilon))
    for _ in range(5):
        assert level + search.value(rng.normal(size=len(groups)), 60, 10) <= best


def _queried(spectrum):
    for kind, value in zip(spectrum.types, spectrum.values, strict=True):
        yield from ((spectrum.groups[g], value) for g in np.flatnonzero(kind))


def weighed(sizes, weights, *others):
    """The tables of single attributes, each with a weight of its own, and other queries."""
    domain = {f"a{i}": a for i, a in enumerate(sizes)}
    tables = [
        st.kron([(st.histogram if i == k else st.total)({f"a{k}": a}) for k, a in enumerate(sizes)])
        for i in range(len(sizes))
    ]
    made = [st.weighted(table, weight) for table, weight in zip(tables, weights, strict=True)]
    return st.stack([*made, *(other(domain) for other in others)])


MIXED = {
    "one size, two weights": weighed((2, 2, 2), (1.0, 1.0, 3.0)),
    "small is heavy": weighed((2, 4), (5.0, 1.0)),
    "small is light": weighed((2, 4), (0.2, 1.0)),
    "with the total": weighed((3, 3), (1.0, 0.3), st.total),
    "with all singles again": weighed((2, 3), (2.0, 1.0), lambda domain: st.marginals(domain, 1), st.total),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("workload", MIXED.values(), ids=MIXED)
def test_weights_and_stacks_leave_it_below_the_optimum(workload, epsilon):
    spectrum, n = workload.structure.spectrum, workload.domain_size
    level = spectrum.value((0,) * len(spectrum.groups))
    found, best = conditioning(spectrum, epsilon), exact(workload, epsilon) / n - level
    assert (0.8 if epsilon <= 2 else 0) * best < found <= best * (1 + 2e-7) + 1e-9 * level


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
def test_queries_of_two_attributes_silence_it_however_light(weight):
    pairs = st.weighted(tables((2, 3), order=2), weight)
    assert conditioning(st.stack([tables((2, 3)), pairs]).structure.spectrum, 1.0) == 0.0


def attained(sizes, epsilon) -> float:
    """L/n of the best shares of patterns {x_i in S}, and of one cell of four for pairs of binary attributes."""
    c, spectrum = math.expm1(epsilon), tables(sizes).structure.spectrum

    def energy(a):
        alone = max(k / a * (1 - k / a) / (1 + c * k / a) ** 2 for k in range(1, a))
        return c**2 * max(alone, 0.125 / (1 + c / 4) ** 2 if a == 2 and sizes.count(2) > 1 else 0.0)

    level = spectrum.value((0,) * len(spectrum.groups))
    return level + sum((a - 1) / math.sqrt(a * energy(a)) for a in sizes) ** 2


@pytest.mark.exhaustive
@pytest.mark.parametrize(("epsilon", "gap", "gap_before"), [(1.0, 0.021, 0.0215), (2.0, 0.03, 0.053)])
def test_attributes_of_unequal_size_are_certified(epsilon, gap, gap_before):
    """Patterns of the best share f = 1/(1 + E) would hold no whole number of the values of small attributes."""
    spectrum, best = tables(ADULT).structure.spectrum, attained(ADULT, epsilon)
    level = spectrum.value((0,) * len(spectrum.groups))
    assert gap_before < best / (level + Dual.of(spectrum, epsilon).best()) - 1
    assert 0 <= best / delsarte(spectrum, epsilon) - 1 < gap


def test_it_is_silent_where_it_says_nothing():
    assert conditioning(tables((20, 30)).structure.spectrum, 1.0) == 0.0
    assert conditioning(tables((2, 3), order=2).structure.spectrum, 1.0) == 0.0
    assert conditioning(st.parity("2^30", 1).structure.spectrum, 1.0) == 0.0
    assert conditioning(st.total("2^6").structure.spectrum, 1.0) == 0.0
    assert conditioning(tables((1, 1)).structure.spectrum, 1.0) == 0.0
    assert conditioning(tables((7, 1)).structure.spectrum, 1.0) == 0.0


def test_a_search_without_hope_ends_early(monkeypatch):
    spectrum, calls = tables((3, 2)).structure.spectrum, []
    found = conditioning(spectrum, 1.0)
    monkeypatch.setattr(
        import_module("stratagem.bounds.questions"), "height", lambda *_: calls.append(1) or 1.0
    )
    conditioning(spectrum, 1.0, known=100 * found)
    assert len(calls) == 1


def test_a_price_that_moves_repeats_no_slicing_before_it(monkeypatch):
    """The last group is sliced first."""
    groups = (SlicedGroup(3, 1, 0.2), SlicedGroup(4, 1, 0.1), SlicedGroup(5, 2, 0.1))
    made = partial(SlicedPrices, groups, lambda _: 0.0, math.expm1(1.0))
    search, sizes, step = made(), [], Slicing.step

    def counted(self, ratios, size, price):
        sizes.append(size)
        return step(self, ratios, size, price)

    monkeypatch.setattr(Slicing, "step", counted)
    for move, repeated in ((0.0, [5, 5, 4, 3]), ([0.1, 0, 0], [3]), ([0, 0.1, 0], [4, 3])):
        sizes.clear()
        found = search.value(np.zeros(3) + move, 20, 5)
        assert sizes == repeated
        assert found == made().value(np.zeros(3) + move, 20, 5)


def test_max_plus_powers_are_those_of_all_tuples():
    row = np.random.default_rng(1).normal(size=(2, 6))
    for exponent in (1, 2, 3, 5):
        power = max_plus_power(row.T, exponent, 20).T
        wanted = np.full((2, min(20, 5 * exponent + 1)), -np.inf)
        for places in np.ndindex(*[6] * exponent):
            if sum(places) < wanted.shape[1]:
                wanted[:, sum(places)] = np.maximum(wanted[:, sum(places)], row[:, list(places)].sum(axis=1))
        assert power[..., : wanted.shape[1]] == pytest.approx(wanted)


@pytest.mark.parametrize("weights", [(), (1.0, 1.0), (0.2, 1.0, 1.8), (0.5, 1.5, 0.1, 1.9)], ids=len)
@pytest.mark.parametrize("bits", [1, 2])
@pytest.mark.parametrize("price", [0.7, 1.0, 1.27, 3.0])
@pytest.mark.parametrize("cells", [20, 200])
def test_no_pattern_has_more_energy_on_yes_no_questions(weights, bits, price, cells):
    """Under a measure with weights on what is not sliced; the energy beside the bits is of their mean over these."""
    gamma, halving = np.array(weights or (1.0,)), Halving(cells)
    n = 2**bits * len(gamma)
    patterns = (
        (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(float).reshape(-1, *[2] * bits, len(gamma))
    )
    axes = tuple(range(1, bits + 1))
    of_bits, rest = patterns @ gamma / gamma.sum(), patterns.mean(axis=axes)
    f = of_bits.mean(axis=axes)
    apart = [of_bits.mean(axis=tuple(k for k in axes if k != j)) for j in axes]
    used = (np.square(rest - f[:, None]) @ gamma) / gamma.sum() + price * sum(
        one.var(axis=1) for one in apart
    )
    ratios = halving.run(np.full(cells, float(len(gamma) > 1)), bits, price)
    for side in (-1e-12, 1e-12):
        places = np.clip(np.searchsorted(halving.edges, f + side, side="right") - 1, 0, cells - 1)
        allowed = ratios[places] * f * (1 - f)
        assert (used <= allowed * (1 + 1e-12) + 1e-12).all()
        if cells > 20:
            assert (used > 0.9 * allowed)[f * (1 - f) > 0].any(), "a bound a tenth smaller would be wrong"


def test_cells_of_halving_meet_those_of_even_length():
    halving, even = Halving(40), np.random.default_rng(2).random(25)
    spread = halving.spread(even)
    for f in np.linspace(0, 1, 1001)[1:-1]:
        at = np.searchsorted(halving.edges, f, side="right") - 1
        assert spread[at] >= even[min(24, int(f * 25))]


@pytest.mark.parametrize("epsilon", [1, 2, 3])
@pytest.mark.parametrize("name", OPTIMA)
def test_the_bound_on_a_survey_is_below_its_optimum_over_all_patterns(name, epsilon):
    workload, optima = OPTIMA[name]
    known = norms(Case(workload, float(epsilon)))
    found = known.total + questions(workload, known.centred, float(epsilon))
    assert 0.85 * optima[epsilon - 1] < found <= optima[epsilon - 1] * (1 + 1e-6)


def test_weights_that_no_proof_allows_do_not_count():
    """G has a negative eigenvalue with these; without weights the nuclear norm is left."""
    (table,) = by_attributes(st.prefix(6))
    found = CellWeights.of([table], 1.0)
    wrong = CellWeights(found.roots, (np.array([1e-9, 1e-9, 6.0, 1e-9, 1e-9, 1e-9]),))
    assert wrong.root(5.0) == pytest.approx(wrong.norm, rel=1e-6)
    assert found.root(0.27) > found.norm * 1.001


def test_a_survey_without_small_or_ordered_questions_has_no_such_bound():
    assert "questions" not in st.lower_bounds(st.marginals("a=20,b=30", 1), 1.0)
    assert "questions" not in st.lower_bounds(st.prefix(20), 1.0)


GAPS = (0.0018, 0.004, 0.0008, 0.0011, 0.0046, 0.006)
"""Gaps to the objectives of `ASKED` at epsilon 1; .38 to 6.3 % without the bound on several questions."""


@pytest.mark.parametrize(("name", "gap"), list(zip(ASKED, GAPS, strict=True)))
def test_surveys_are_certified_by_what_their_questions_cost(name, gap):
    workload, objective, _ = ASKED[name]
    assert 0 <= objective / st.lower_bounds(workload, 1.0).best - 1 <= gap
