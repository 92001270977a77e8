"""The junta solver: private, no worse than published mechanisms, above the bounds and close to them."""

import itertools

import numpy as np
import pytest
from test_published_junta import closed

import stratagem as st
from stratagem.bounds import lower_bounds
from stratagem.solvers.junta.junta import Junta
from stratagem.solvers.junta.junta_pattern import published_juntas
from stratagem.solvers.problem import Average
from stratagem.solvers.solver import Status, search
from tables import EPSILONS, assert_private


def table(d, wanted):
    """The table of some of d binary attributes."""
    return st.kron([(st.histogram if i in wanted else st.total)({f"a{i + 1}": 2}) for i in range(d)])


def solved(workload, epsilon, **parameters):
    """Return the strategy that is found and what the search says about it."""
    solver = Junta(**{"max_steps": 2, "max_seconds": np.inf} | parameters)
    problem, n = Average(workload=workload, epsilon=epsilon), workload.domain_size
    found = search(solver, problem, lower_bound=closed(workload, epsilon) * (n if n <= 1 << 53 else 1))
    return solver.finish(problem, found.best), found


def ratio(workload, epsilon, strategy):
    """L over the closed bound."""
    return st.evaluate(workload, strategy).objective / workload.scale / closed(workload, epsilon)


SMALL = {
    "2-way": st.marginals("2^6", 2),
    "categorical": st.marginals("a=3,b=3,c=4,d=2", 2),
    "all": st.all_marginals("2^5"),
    "histogram": st.histogram("2^4"),
    "parity": st.parity("2^5", 2),
    "one value": st.marginals("a=1,b=3,c=2", 1),
    "one table more": st.stack([st.marginals("2^6", 1), st.weighted(table(6, (0, 3, 4)), 2.0)]),
    "one pair": table(6, (2, 5)),
    "two types": st.histogram(2),
}


@pytest.mark.sampled(8, 2)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("workload", SMALL.values(), ids=SMALL)
def test_strategies_are_private_and_between_the_bound_and_the_classics(workload, epsilon):
    strategy, found = solved(workload, epsilon, max_steps=1)
    accuracy = st.evaluate(workload, strategy)
    assert strategy.epsilon <= epsilon
    assert accuracy.objective >= lower_bounds(workload, epsilon).best * (1 - 1e-9)
    assert accuracy.objective == pytest.approx(found.best.objective, rel=2e-5)
    for name, one in published_juntas(workload.structure.spectrum, epsilon).items():
        assert accuracy.objective <= st.evaluate(workload, one).objective * (1 + 2e-6), name
    if strategy.outputs * strategy.domain_size <= 1 << 21:
        assert_private(strategy.dense(), epsilon)
        exact = st.evaluate(workload, strategy.dense())
        assert accuracy.objective == pytest.approx(exact.objective, rel=1e-8)


CLOSE = [
    ("2^20", 2, 1.0, 1.003),
    ("2^100", 2, 1.0, 1.003),
    ("2^100", 3, 1.0, 1.042),
    ("2^1000", 3, 1.0, 1.166),
    ("3^6", 2, 1.0, 1.017),
    ("a=12,b=3,c=7,d=2", 2, 1.0, 1.01),
]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("domain", "order", "epsilon", "most"), CLOSE)
def test_marginals_of_large_domains_come_close_to_the_bound(domain, order, epsilon, most):
    workload = st.marginals(domain, order)
    strategy, _ = solved(workload, epsilon)
    assert 1 - 1e-9 <= ratio(workload, epsilon, strategy) <= most
    assert strategy.outputs <= 1 << 53
    values = np.random.default_rng(0).integers(0, np.array(strategy.sizes), (5, len(strategy.sizes)))
    assert len(strategy.randomise(values, np.random.default_rng(1))) == 5


ADULT = {f"a{i}": size for i, size in enumerate((7, 16, 7, 14, 6, 5, 2, 41, 2))}
"""The nine categorical attributes of the table Adult."""
UNEQUAL = [  # order, epsilon, objective per user type at most: far below those of sampled tables
    (1, 0.5, 8_600),
    (1, 1.0, 2_040),
    (1, 2.0, 417),
    (1, 4.0, 83.5),
    (2, 0.5, 1_049_500),
    (2, 1.0, 246_600),
    (3, 1.0, 9_000_000),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("order", "epsilon", "most"), UNEQUAL)
def test_marginals_of_unequal_attributes_come_close_to_the_bound(order, epsilon, most):
    workload = st.marginals(ADULT, order)
    strategy, _ = solved(workload, epsilon, max_steps=1, max_seconds=1.5)
    assert strategy.epsilon <= epsilon
    share = st.evaluate(workload, strategy).objective / workload.scale
    assert lower_bounds(workload, epsilon).best / workload.scale <= share <= most


@pytest.mark.parametrize(
    ("sizes", "order"), [((16, 41), 2), ((7, 6, 2), 2), ((9, 4, 5), 1), ((41, 16, 2), 2), ((4, 4, 4, 4), 3)]
)
def test_energies_of_a_type_are_made_equal(sizes, order):
    workload = st.marginals({f"a{i}": size for i, size in enumerate(sizes)}, order)
    strategy, _ = solved(workload, 1.0, max_steps=1, max_seconds=0.5)
    for kind in workload.structure.spectrum.types[1:]:
        m = strategy.eigenvalues(kind)
        assert m.max() <= m.min() * (1 + 1e-6), kind


@pytest.mark.exhaustive
def test_tables_with_many_equations_share_the_weight_among_variants(monkeypatch):
    workload = st.marginals("a=12,b=9,c=4", 2)
    even, _ = solved(workload, 1.0, max_steps=1)
    monkeypatch.setattr("stratagem.solvers.junta.equalisation.WORK", 0)
    drawn, found = solved(workload, 1.0, max_steps=1)
    assert (
        1.0001 * ratio(workload, 1.0, even) < ratio(workload, 1.0, drawn) <= 1.02 * ratio(workload, 1.0, even)
    )
    assert found.best.objective <= st.evaluate(workload, drawn).objective


def test_the_total_alone_needs_no_search():
    strategy, found = solved(st.total("2^40"), 1.0)
    assert found.status is Status.OPTIMAL
    assert st.evaluate(st.total("2^40"), strategy).worst_case_variance == 0


@pytest.mark.exhaustive
def test_a_seed_decides_and_patterns_without_weight_are_dropped():
    workload = st.marginals("2^7", 3)
    one, two, other = (solved(workload, 0.7, seed=seed)[0] for seed in (1, 1, 2))
    assert one.weights.tobytes() == two.weights.tobytes()
    assert all((a.packed == b.packed).all() for a, b in zip(one.patterns, two.patterns, strict=True))
    assert ratio(workload, 0.7, other) == pytest.approx(ratio(workload, 0.7, one), rel=0.01)
    assert one.weights.min() > 0


def test_rounds_never_get_worse_and_ctrl_c_keeps_the_best():
    workload, seen = st.marginals("a=3,b=3,c=2,d=5", 2), []

    def interrupt(step):
        seen.append(step.objective)
        if len(seen) == 3:
            raise KeyboardInterrupt

    solver, problem = Junta(tolerance=0.0), Average(workload=workload, epsilon=1.0)
    found = search(solver, problem, interrupt)
    assert found.status is Status.INTERRUPTED
    assert all(b <= a * (1 + 2e-5) for a, b in itertools.pairwise(seen))
    assert st.evaluate(workload, solver.finish(problem, found.best)).objective <= min(seen) * (1 + 2e-6)


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        (st.kron([st.prefix({"a": 64}), st.prefix({"b": 64})]), "know an order of more than 2048 cells"),
        (
            st.stack([st.explicit(np.eye(1, 4096), "2^12"), st.total("2^12")]),
            "know an order of more than 2048",
        ),
        (st.all_marginals("2^40"), "fewer attributes"),
        (st.marginals("a=4000,b=4000", 2), "fewer attributes"),
        (st.histogram(1), "only one user type"),
    ],
)
def test_queries_without_juntas_are_refused(workload, words):
    with pytest.raises(ValueError, match=words):
        Junta().begin(Average(workload=workload, epsilon=1.0), 0, None)


@pytest.mark.parametrize(
    "bad",
    [{"seed": -1}, {"max_steps": 0}, {"max_seconds": 0}, {"gap": -1}, {"patience": 0.5}, {"tolerance": "x"}],
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Junta(**bad)
