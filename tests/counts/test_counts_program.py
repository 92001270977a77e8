"""Programs of count mechanisms: exactness, bounds that hold, and the theorems about their optima."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from stratagem import counts
from stratagem.counts.criteria import (
    Loss,
    column_ratio,
    holding,
    inequalities,
    least_majorant,
    privacy,
    property_set,
    weights_of,
)
from stratagem.counts.exact import Whole, fixed_point, repaired, strict_matrix
from stratagem.counts.optimum import solve
from stratagem.counts.program import CountRequest, Program

NAMES = list(counts.Property.__members__)
SUBSETS = [",".join(chosen) for k in range(8) for chosen in itertools.combinations(NAMES, k)]
PAIRS = [
    *((n, "0.4") for n in (2, 5, 7)),
    *((n, "0.62") for n in (2, 3, 4, 7)),
    *((n, "2/3") for n in (3, 5)),
    *((n, "0.76") for n in (4, 7)),
    *((n, "0.9") for n in (2, 5)),
]


def request(n, alpha, loss="L0", properties="", prior=None, aggregate="sum", reach=1):
    weights = weights_of(prior, n)
    return CountRequest(
        n, Fraction(alpha), Loss.of(loss, n), weights, aggregate, property_set(properties), reach
    )


def least_cost(asked):
    return Program(asked, 1.0, 1.0).bound("HIGHS")


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("n", "alpha"), PAIRS)
def test_all_property_sets_collapse_to_the_flowchart(n, alpha):
    """P19: under L0 each of the 128 programs costs what its route costs; at most four costs differ."""
    by_route, costs = {}, []
    for subset in SUBSETS:
        kind, properties, _ = counts.route(n, alpha, subset)
        if (kind, properties) not in by_route:
            by_route[kind, properties] = counts.design(n, alpha, "L0", subset).cost
        costs.append(least_cost(request(n, alpha, "L0", subset)))
        assert costs[-1] == pytest.approx(by_route[kind, properties], abs=1e-7), subset
    assert len(SUBSETS) == 128
    assert len(set(np.round(costs, 6))) <= 4


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("loss", "alpha", "fewest"), [("L1", "0.9", 9), ("L1", "2/3", 9), ("L2", "0.9", 9)])
def test_other_losses_collapse_less(loss, alpha, fewest):
    costs = {round(least_cost(request(4, alpha, loss, subset)), 6) for subset in SUBSETS}
    assert len(costs) == fewest


@pytest.mark.parametrize("alpha", ["0.3", "0.62", "0.9"])
def test_the_geometric_mechanism_is_the_only_optimum_of_nothing(alpha):
    """P16: LP{} under L0 costs 2a/(1 + a) and returns the geometric mechanism."""
    for n in (2, 5, 8):
        geometric = counts.geometric(n, alpha)
        found = solve(request(n, alpha))
        np.testing.assert_allclose((found.cells / 2**80).astype(float), geometric.matrix, atol=1e-9)
        a = geometric.alpha
        assert geometric.cost("L0") == pytest.approx(float(2 * a / (1 + a)), rel=1e-13)
        assert found.bound == pytest.approx(float(2 * a / (1 + a)), rel=1e-8)


@pytest.mark.parametrize("alpha", ["0.1", "0.4", "0.5", "0.501", "0.75", "0.9", "0.99"])
def test_closed_forms_have_their_properties(alpha):
    """P17, P18: what the lemmas say is what the whole numbers say, for many n around the thresholds."""
    for n in (*range(1, 13), 17, 24, 25):
        for make in (counts.geometric, counts.explicit_fair, counts.uniform):
            found = make(n, alpha)
            whole = found.whole()
            assert (whole.cells.sum(axis=0) == whole.total).all()
            assert holding(whole.cells.ravel(), whole.total, n) == found.properties
            assert counts.CountTable(n, found.alpha, whole).ratio() == found.ratio()
            np.testing.assert_allclose((whole.cells / whole.total).astype(float), found.matrix, rtol=1e-12)


@pytest.mark.parametrize("loss", ["L0", "L1", "L2", "L0,1", "L1,2", "L2,3"])
@pytest.mark.parametrize("make", [counts.geometric, counts.explicit_fair, counts.uniform])
def test_closed_costs_are_those_of_the_matrix(make, loss):
    for n, alpha in ((4, "0.9"), (7, "2/3"), (12, "0.3")):
        found = make(n, alpha)
        expected = (Loss.of(loss, n).cost * found.matrix).sum(axis=0)
        np.testing.assert_allclose(found.by_count(loss), expected, rtol=1e-12)


def test_closed_forms_for_a_million_people():
    for n in (10**6, 10**6 + 1):
        geometric, fair = counts.geometric(n, "0.999"), counts.explicit_fair(n, "0.999")
        assert geometric.cost("L0") == pytest.approx(2 * 0.999 / 1.999, rel=1e-9)
        y = 0.001 / 1.999
        assert fair.cost("L0") == pytest.approx((n + 1) / n * (1 - y), rel=1e-9)
        assert fair.column(17).sum() == pytest.approx(1, abs=1e-12)
        with pytest.raises(ValueError, match="column"):
            geometric.matrix  # noqa: B018
        with pytest.raises(ValueError, match="draw"):
            geometric.whole()


@pytest.mark.parametrize("weights", [None, [5, 1, 1, 1, 1, 1, 1], [0, 0, 1, 0, 0, 0, 0]])
def test_fair_mechanisms_cost_the_same_under_every_prior(weights):
    """Lemma 11: under F and L0 the cost is (n + 1)/n (1 - y) for all weights."""
    fair = counts.explicit_fair(6, "0.8")
    assert counts.design(6, "0.8", "L0", "F", prior=weights).cost == pytest.approx(fair.cost("L0"), rel=1e-7)


@pytest.mark.parametrize("loss", ["L0", "L1", "L2"])
def test_costs_grow_with_properties_and_with_privacy(loss):
    """P20, over all pairs of nested sets of a chain and over alpha."""
    chain = ["", "WH", "WH,CH", "WH,CH,CM", "WH,CH,CM,RM", "all"]
    costs = np.array([[least_cost(request(5, a, loss, p)) for p in chain] for a in ("0.3", "0.6", "0.9")])
    assert (np.diff(costs, axis=0) >= -1e-9).all()
    assert (np.diff(costs, axis=1) >= -1e-9).all()
    assert costs.max() <= counts.uniform(5, "0.9").cost(loss) + 1e-9


def test_symmetrising_and_averaging_keep_every_property():
    """P14: (P + P^S)/2 keeps all that holds and, under symmetric weights, the cost; it is private as P is."""
    uneven = 0
    for properties in [subset for subset in SUBSETS if "S" not in subset][::7]:
        lopsided = counts.design(6, "0.8", "L1", properties, prior=0.5 ** np.arange(7)).mechanism
        cells, total = lopsided.whole()
        uneven += (cells != cells[::-1, ::-1]).any()
        mean = counts.CountTable(6, lopsided.alpha, Whole(cells + cells[::-1, ::-1], 2 * total))
        assert mean.properties >= lopsided.properties | {counts.Property.S}
        assert mean.ratio() <= 1 / mean.alpha
        for loss in ("L0", "L1", "L2", "L0,1"):
            assert mean.cost(loss) == pytest.approx(lopsided.cost(loss), rel=1e-12)
    assert uneven >= 5


@pytest.mark.parametrize("subset", SUBSETS[::9], ids=lambda text: text or "none")
def test_every_property_set_is_feasible(subset):
    """P15: the uniform mechanism has them all, at any alpha."""
    uniform = counts.uniform(5, "0.999")
    assert uniform.properties >= property_set(subset)
    assert counts.design(5, "0.999", "L1", subset).cost <= uniform.cost("L1") * (1 + 1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 20])
def test_the_inner_matrix_is_strict_everywhere(n):
    inner = strict_matrix(n, Fraction(9, 10))
    assert (inner.sum(axis=0) == inner[:, 0].sum()).all()
    flat = inner.ravel()
    for kind in counts.Property:
        for family in inequalities(kind, n):
            equal = kind in (counts.Property.F, counts.Property.S)
            assert (family.shortfall(flat) == 0).all() if equal else (family.shortfall(flat) < 0).all()
    for family in privacy(Fraction(9, 10), n, n) + column_ratio(Fraction(9, 10), n):
        assert (family.shortfall(flat) < 0).all()
    assert (n + 1) * inner[0, 0] > inner[:, 0].sum()


def test_the_least_majorant_is_least():
    """Lowering any raised cell by one breaks an inequality."""
    rng = np.random.default_rng(0)
    families = privacy(Fraction(2, 3), 4) + inequalities(counts.Property.RM, 4)
    cells = np.array([int(value) for value in rng.integers(0, 1000, 25)], dtype=object)
    found = least_majorant(cells, families)
    assert all(family.holds(found) for family in families)
    for cell in np.flatnonzero(found > cells):
        lower = found.copy()
        lower[cell] -= 1
        assert not all(family.holds(lower) for family in families)


def test_a_matrix_that_is_not_private_is_repaired():
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.ones(7), size=7).T
    whole = repaired(fixed_point(P), privacy(Fraction(1, 2), 6), weakly_honest=False)
    assert counts.CountTable(6, Fraction(1, 2), whole).ratio() <= 2


@pytest.mark.exhaustive
def test_no_mechanism_beats_the_bound():
    """Random feasible mechanisms, mixed from optimal ones of other losses, cost at least the bound."""
    rng = np.random.default_rng(2)
    for properties in ("", "WH", "F", "CM,RM"):
        pool = [counts.design(5, "0.8", loss, properties).mechanism.matrix for loss in ("L0", "L1", "L2")]
        for loss in ("L0", "L1", "L2", rng.random((6, 6))):
            for aggregate in ("sum", "max"):
                found = counts.design(5, "0.8", loss, properties, aggregate=aggregate)
                assert 0 <= found.gap <= 1e-7
                matrix = Loss.of(loss, 5).cost
                for P in pool:
                    by_count = (matrix * P).sum(axis=0)
                    cost = by_count.max() if aggregate == "max" else by_count.mean()
                    assert cost >= found.bound * (1 - 1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loss", ["L0", "L1", "L2", "L0,1"])
@pytest.mark.parametrize("properties", ["", "WH", "RM,CM", "all"])
@pytest.mark.parametrize("aggregate", ["sum", "max"])
def test_both_solvers_return_the_same_matrix(loss, properties, aggregate):
    """The optimum is often not unique; the tie-break is."""
    first, second = (
        counts.design(6, "0.8", loss, properties, aggregate=aggregate, solver=solver)
        for solver in ("HIGHS", "CLARABEL")
    )
    assert first.cost == pytest.approx(second.cost, rel=1e-6)
    np.testing.assert_allclose(first.mechanism.matrix, second.mechanism.matrix, atol=5e-5)


SETS = some.sets(some.sampled_from(NAMES)).map(",".join)
LOSSES = some.sampled_from(["L0", "L1", "L2", "L0,1", "L1,1", "L2,1", "matrix"])


@pytest.mark.exhaustive
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    n=some.sampled_from([2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 25, 40, 64]),
    epsilon=some.floats(0.1, 5.0),
    loss=LOSSES,
    properties=SETS,
    aggregate=some.sampled_from(["sum", "max"]),
    skewed=some.booleans(),
)
def test_privacy_is_exact(n, epsilon, loss, properties, aggregate, skewed):
    """No zero faces a positive neighbour, the exact ratio is at most exp(epsilon), and all that was asked holds."""
    rng = np.random.default_rng(n)
    chosen = rng.random((n + 1, n + 1)) if loss == "matrix" else loss
    prior = rng.random(n + 1) if skewed else None
    found = counts.design(
        n, loss=chosen, properties=properties, epsilon=epsilon, prior=prior, aggregate=aggregate
    )
    cells, total = found.mechanism.whole()
    assert (cells.sum(axis=0) == total).all()
    assert ((cells > 0).all(axis=1) | (cells == 0).all(axis=1)).all()
    rows = cells[(cells > 0).all(axis=1)]
    ratio = max(Fraction(int(max(a, b)), int(min(a, b))) for row in rows for a, b in itertools.pairwise(row))
    assert ratio == found.mechanism.ratio()
    assert ratio <= 1 / found.mechanism.alpha
    assert float(ratio) <= np.exp(epsilon) * (1 + 1e-15)
    assert property_set(properties) <= holding(cells.ravel(), total, n)
    assert -1e-15 <= found.gap <= 1e-6
    for rival in (counts.uniform(n, epsilon=epsilon), counts.explicit_fair(n, epsilon=epsilon)):
        assert found.cost <= rival.cost(chosen, prior, aggregate) * (1 + 1e-7)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 0], [1, 2]], "zero faces"),
        ([[3, 1], [1, 3]], "breaks its alpha"),
        ([[2, 1], [1, 3]], "does not sum"),
    ],
)
def test_a_table_that_does_not_hold_its_alpha_draws_nothing(rows, message):
    """Made by hand, with alpha = 1/2 declared; a good one draws."""
    cells = np.array(rows, dtype=object)
    table = counts.CountTable(1, Fraction(1, 2), Whole(cells, int(cells[:, 1].sum())))
    with pytest.raises(ValueError, match=message):
        table.release([0, 1])
    with pytest.raises(ValueError, match=message):
        table.draw(0)
    good = np.array([[2, 1], [1, 2]], dtype=object)
    assert counts.CountTable(1, Fraction(1, 2), Whole(good, 3)).draw(0) in (0, 1)


def test_column_ratios_hold():
    found = counts.design(6, "0.8", "L1", "RM", column_ratio="0.7").mechanism
    cells = found.whole().cells.ravel()
    assert all(family.holds(cells) for family in column_ratio(Fraction(7, 10), 6))
    assert counts.design(6, "0.8", "L1", "RM").cost < found.cost("L1")


def test_a_program_ends_where_the_interior_point_method_does_not():
    found = counts.design(4, 1e-10, "L1")
    assert 1.59e-10 < found.bound <= found.cost < 1.601e-10


def test_a_further_proof_that_fails_costs_nothing_but_the_proof():
    distance = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    found = counts.design(4, 0.7, np.where(distance > 3, 1e12, distance))
    assert found.bound <= found.cost < 1.05
    assert (found.status is counts.CountStatus.OPTIMAL) == (found.gap <= 1e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("properties", ["", "F", "WH", "all"])
def test_rounding_never_lifts_a_bound_over_the_optimum(properties):
    """Against the exact optimum in fractions, where a closed form knows it; alpha up to 1 - 1e-12."""
    for n in (2, 5, 9):
        for alpha in ("0.3", "0.45", "0.9", "0.999999", "0.999999999999"):
            kind = counts.route(n, alpha, properties).kind
            if kind is counts.Kind.PROGRAM:
                continue
            form = (counts.geometric if kind is counts.Kind.GEOMETRIC else counts.explicit_fair)(n, alpha)
            cells, total = form.whole()
            optimum = Fraction(n + 1) / n * (1 - Fraction(int(np.trace(cells)), total * (n + 1)))
            bound = solve(request(n, alpha, "L0", properties)).bound
            assert Fraction(bound) <= optimum
            assert bound >= float(optimum) * (1 - 1e-7)


def test_costs_of_very_different_sizes_get_an_honest_status():
    far = np.abs(np.subtract.outer(range(5), range(5))) > 3
    for loss in (np.where(far, 1e12, 1.0), np.where(far, 1e60, 1e-3)):
        found = counts.design(4, 0.7, loss, aggregate="max")
        assert 0 <= found.bound <= found.cost
        assert (found.status is counts.CountStatus.OPTIMAL) == (found.gap <= 1e-6)
    nothing = counts.design(4, 0.7, "L1", prior=[1e-300, 1, 1, 1, 1e300])
    assert nothing.cost <= 1e-200
    assert nothing.status is counts.CountStatus.OPTIMAL
