"""Table sampling with subset selection: its formula, and that no search for marginals ends above it."""

from itertools import combinations
from math import exp, inf, prod

import numpy as np
import pytest

import stratagem as st
from stratagem.bounds import spectral_bounds
from stratagem.published.marginal import marginal_selection
from stratagem.solvers.junta.junta import Junta
from stratagem.solvers.junta.junta_pattern import sampled_tables
from stratagem.solvers.problem import Average, problem_of
from stratagem.solvers.solver import search
from stratagem.study.ranking import rank_baselines, rank_invariant

UNEQUAL = [
    ((16, 41, 2), 2),
    ((7, 16, 2, 41), 2),
    ((41, 41, 41), 2),
    ((2, 2, 2, 41, 41), 2),
    ((100, 2, 51, 7, 12), 2),
    ((7, 16, 2, 41), 1),
    ((16, 41, 2, 5), 3),
    ((1000, 3, 2), 1),
]


def drawn(seed):
    """Attribute sizes, an order and a budget at random."""
    rng = np.random.default_rng(seed)
    sizes = tuple(int(a) for a in np.exp(rng.uniform(np.log(2), np.log(30), rng.integers(2, 5))))
    return sizes, int(rng.integers(1, min(3, len(sizes)))), float(rng.choice([0.2, 0.5, 1.0, 2.0, 3.0]))


def drawn_widely(seed):
    """Attribute sizes up to 60, an order up to 3 and a budget up to 8 at random, also of one table."""
    rng = np.random.default_rng([1, seed])
    sizes = tuple(int(a) for a in np.exp(rng.uniform(np.log(2), np.log(60), rng.integers(2, 5))))
    order = int(rng.integers(1, min(3, len(sizes)) + 1))
    return sizes, order, float(np.exp(rng.uniform(np.log(0.25), np.log(8.0))))


def domain(sizes):
    return {f"a{i}": size for i, size in enumerate(sizes)}


def separate(sizes, order, epsilon):
    """L/n of tables drawn in proportion to the square root of their cost, each estimated from its own reports."""
    c, level, roots = exp(epsilon) - 1, 0.0, 0.0
    for table in combinations(sizes, order):
        N = prod(table)
        strength = max(c**2 * k * (N - k) / ((N + c * k) ** 2 * (N - 1)) for k in range(1, N))
        level, roots = level + 1 / N, roots + np.sqrt((N - 1) / N / strength)
    return level + roots**2


def test_adult_costs_what_the_closed_form_says():
    sizes = (7, 16, 7, 14, 6, 5, 2, 41, 2)
    assert separate(sizes, 2, 1.0) == pytest.approx(347_738, abs=1)
    assert separate(sizes, 2, 0.5) == pytest.approx(1_480_060, abs=1)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(
    "workload",
    [
        st.marginals("a=3,b=4,c=2", 2),
        st.marginals("a=3,b=3,c=3,d=2", 1),
        st.stack([st.marginals("a=3,b=4,c=2", 1), st.weighted(st.marginals("a=3,b=4,c=2", 2), 2.0)]),
    ],
    ids=["pairs", "ones", "stack"],
)
def test_eigenvalues_say_what_views_do(workload, epsilon):
    """The formula by types of characters against the protocol over all cells, which users could run."""
    known = {one.mechanism: one for one in rank_baselines(problem_of(workload, epsilon))}[
        "marginal-selection"
    ]
    found = sampled_tables(workload.structure.spectrum, epsilon)
    values = {name: st.evaluate(workload, one).objective for name, one in found.items()}
    assert known.objective == pytest.approx(min(values.values()), rel=1e-9)
    assert all(one.epsilon <= epsilon * (1 + 1e-12) for one in found.values())


def test_each_user_reports_cells_of_one_table():
    views = marginal_selection((2, 3, 4), 1.0, [(0, 1), (2,)], [0.25, 0.75])
    assert views.epsilon <= 1.0
    x = np.arange(24) * 50
    totals = views.histogram(x, np.random.default_rng(3))
    assert totals[0] == x.sum()


@pytest.mark.parametrize(
    ("tables", "shares", "words"),
    [([], None, "at least one"), ([(0, 0)], None, "at least one"), ([(0,), (1,)], [1.0], "each table one")],
)
def test_bad_tables_and_shares_are_refused(tables, shares, words):
    with pytest.raises(ValueError, match=words):
        marginal_selection((2, 3), 1.0, tables, shares)


def test_large_domains_are_held_against_it():
    workload = st.marginals(domain((7, 16, 7, 14, 6, 5, 2, 41, 2)), 2)
    ranked = rank_invariant(problem_of(workload, 1.0))
    assert ranked[0].mechanism == "marginal-selection"
    assert ranked[0].parameters == "shares by cost"
    assert ranked[0].objective / workload.scale <= separate(workload.domain.sizes, 2, 1.0)
    assert "tables, at most" in ranked[0].strategy.report


ONE_TABLE = [((12, 12, 30), 3, 8.0), ((100, 51), 2, 1.0), ((23, 3, 3, 19), 4, 7.5)]
"""The only table is the whole domain: subset selection on its cells is optimal, so nothing may be lost to it."""
CASES = [*((sizes, order, 1.0) for sizes, order in UNEQUAL), *map(drawn, range(30)), *ONE_TABLE]
CASES += [case for case in map(drawn_widely, range(30)) if prod(case[0]) < 20_000]


@pytest.mark.sampled(24, 4)
@pytest.mark.parametrize(("sizes", "order", "epsilon"), CASES)
def test_no_search_for_marginals_ends_above_it(sizes, order, epsilon):
    workload = st.marginals(domain(sizes), order)
    solver = Junta(max_steps=1, max_seconds=inf if prod(sizes) < 100 else 1.0)
    problem = Average(workload=workload, epsilon=epsilon)
    strategy = solver.finish(problem, search(solver, problem).best)
    assert strategy.epsilon <= epsilon
    share = st.evaluate(workload, strategy).objective / workload.scale
    assert share >= spectral_bounds(workload.structure.spectrum, epsilon).best * (1 - 1e-9)
    assert share <= separate(sizes, order, epsilon) * (1 + 1e-9)
    for one in sampled_tables(workload.structure.spectrum, epsilon).values():
        assert share <= st.evaluate(workload, one).objective / workload.scale * (1 + 1e-9)


WHOLE = [
    ((41, 41, 41), 1.0),
    ((41, 41, 41), 0.5),
    ((300, 100), 1.0),
    ((151, 139), 4.0),
    ((300, 200), 4.0),
    ((20, 2, 51, 3, 4), 1.0),
]
"""One table of more than 20,000 cells: equations for equal energies at all characters are too many to solve."""
MADE_UP = 1e-8
"""Relative loss allowed there: patterns that make up for each other miss equal energies by a little."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(("sizes", "epsilon"), WHOLE)
def test_large_tables_of_the_whole_domain_end_at_subset_selection(sizes, epsilon):
    workload = st.marginals(domain(sizes), len(sizes))
    problem = Average(workload=workload, epsilon=epsilon)
    solver = Junta(max_seconds=6.0)
    strategy = solver.finish(problem, search(solver, problem).best)
    share = st.evaluate(workload, strategy).objective / workload.scale
    assert share <= separate(sizes, len(sizes), epsilon) * (1 + MADE_UP)
