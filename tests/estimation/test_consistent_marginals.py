"""Marginal tables that agree: least squares, the lemma of PriView, ripple."""

from itertools import combinations, permutations

import numpy as np
import pytest

import stratagem as st

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2}
VIEWS = {
    "book": ["ab", "ac"],
    "chain": ["ab", "bc", "cd"],
    "cycle": ["ab", "bc", "ac"],
    "nested": ["abc", "bc", "c"],
    "apart": ["ab", "cd"],
    "crowd": ["abc", "bcd", "acd", "ab", "ad", "cb", "d"],
    "twice": ["ab", "ba", "ab"],
    "total": ["ab", ""],
    "one": ["abd"],
}


def tables_of(views, rng, alike=False) -> list[st.estimation.MarginalTable]:
    """Random tables, of random variances unless alike."""
    return [
        st.estimation.MarginalTable(
            tuple(view),
            rng.standard_normal([SIZES[name] for name in view]) + 3,
            1.0 if alike else rng.exponential() + 0.1,
        )
        for view in views
    ]


def sums(kept, names="abcd") -> np.ndarray:
    """The matrix of the sums over all attributes but those kept, in their order."""
    cells = np.eye(int(np.prod([SIZES[name] for name in names])))
    cells = cells.reshape(-1, *(SIZES[name] for name in names))
    axes = "z" + names
    return np.einsum(f"{axes}->{''.join(kept)}z", cells).reshape(-1, len(cells))


def least_squares(tables, total=None) -> list[np.ndarray]:
    """The consistent tables of least weighted squares: those of some signed data vector, by dense algebra."""
    n = int(np.prod(list(SIZES.values())))
    A = [sums(table.attributes) for table in tables]
    roots = np.concatenate([np.full(t.counts.size, t.variance**-0.5) for t in tables])
    y, stacked = np.concatenate([t.counts.ravel() for t in tables]), np.vstack(A)
    start, free = np.zeros(n), np.eye(n)
    if total is not None:
        start[0], free = total, np.eye(n)[:, 1:] - np.eye(n)[:, :1]
    move = np.linalg.lstsq(roots[:, None] * (stacked @ free), roots * (y - stacked @ start), rcond=None)[0]
    return [part @ (start + free @ move) for part in A]


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("total", [None, 50.0])
def test_consistent_marginals_are_least_squares(name, total, rng):
    tables = tables_of(VIEWS[name], rng)
    found = st.estimation.consistent_marginals(tables, total)
    for table, expected in zip(found, least_squares(tables, total), strict=True):
        assert table.counts.ravel() == pytest.approx(expected, abs=1e-12 * 50)
    for one, other in combinations(found, 2):
        shared = [name for name in one.attributes if name in other.attributes]
        assert one.onto(shared) == pytest.approx(other.onto(shared), abs=1e-12 * 50)
    again = st.estimation.consistent_marginals(found, total)
    for table, before in zip(again, found, strict=True):
        assert table.counts == pytest.approx(before.counts, abs=1e-12 * 50)


def test_the_example_of_the_book():
    """Li, Lyu, Su, Yang, Differential Privacy: From Theory to Practice, section 6.3.1."""
    first = st.estimation.MarginalTable(("a1", "a2"), np.array([[0.3, 0.3], [0.3, 0.1]]))
    second = st.estimation.MarginalTable(("a1", "a3"), np.array([[0.2, 0.3], [0.1, 0.4]]))
    one, other = st.estimation.consistent_marginals([first, second])
    assert one.counts.ravel() == pytest.approx([0.275, 0.275, 0.325, 0.125])
    assert other.counts.ravel() == pytest.approx([0.225, 0.325, 0.075, 0.375])
    assert one.onto(["a2"]) == pytest.approx([0.6, 0.4])
    assert other.onto(["a3"]) == pytest.approx([0.3, 0.7])


def test_agreement_on_more_leaves_other_marginals_alone(rng):
    """Lemma 6.2: after agreement on A within the overlap, the rest of V1 with A does not move."""
    tables = st.estimation.consistent_marginals([*tables_of(["abc", "bcd"], rng)], total=20.0)
    moved = tables[0].with_marginal(["b", "c"], tables[0].onto(["b", "c"]) + [[1, -1, 0, 0]] * 3)
    for kept in ("a", "b", "ab"):
        assert moved.onto(list(kept)) == pytest.approx(tables[0].onto(list(kept)))
    assert abs(moved.onto(["a", "c"]) - tables[0].onto(["a", "c"])).max() > 0.1, "the control: c did move"


def test_neither_the_order_of_tables_nor_of_axes_matters(rng):
    tables = tables_of(["ab", "bc", "ca"], rng)
    expected = st.estimation.consistent_marginals(tables)
    turned = st.estimation.MarginalTable(("b", "a"), tables[0].counts.T, tables[0].variance)
    for order in permutations(range(3)):
        given = [turned if i == 0 else tables[i] for i in order]
        for i, table in zip(order, st.estimation.consistent_marginals(given), strict=True):
            assert table.onto(tables[i].attributes) == pytest.approx(expected[i].counts)


@pytest.mark.parametrize("shape", [(2, 2, 2), (7,), (3, 4, 2), (1, 5), (2,) * 8])
@pytest.mark.parametrize("threshold", [1e-6, 0.3])
def test_ripple_keeps_the_total_and_pays_every_debt(shape, threshold, rng):
    table = rng.standard_normal(shape)
    table += (1 - table.sum()) / table.size
    found = st.estimation.ripple(table, threshold)
    assert found.sum() == pytest.approx(1)
    assert found.min() >= -threshold
    assert st.estimation.ripple(np.abs(table), threshold) == pytest.approx(np.abs(table))


def test_the_first_round_of_ripple_by_hand():
    """Binary cells have as many neighbours as attributes, others one for every other value of each."""
    table = np.full((2, 2, 2), 10.0)
    table[0, 0, 0] = -6
    expected = np.full((2, 2, 2), 10.0)
    expected[0, 0, 0] = 0
    expected[1, 0, 0] = expected[0, 1, 0] = expected[0, 0, 1] = 8
    assert st.estimation.ripple(table, 1.0) == pytest.approx(expected)
    assert st.estimation.ripple([[-6.0, 10, 10], [10, 10, 10]], 1.0) == pytest.approx(
        np.array([[0.0, 8, 8], [8, 10, 10]])
    )


PAIR = st.estimation.MarginalTable(("a", "b"), np.ones((2, 3)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: st.estimation.MarginalTable(("a", "a"), np.ones((2, 2))), "different attributes"),
        (lambda: st.estimation.MarginalTable(("a",), np.ones((2, 2))), "one axis"),
        (lambda: st.estimation.MarginalTable(("a",), [1.0, np.inf]), "finite"),
        (lambda: st.estimation.MarginalTable(("a",), ["x"]), "finite"),
        (lambda: st.estimation.MarginalTable(("a",), []), "one axis"),
        (lambda: st.estimation.MarginalTable(("a",), [1.0], 0.0), "positive"),
        (lambda: st.estimation.MarginalTable(("a",), [1.0], float("nan")), "finite"),
        (lambda: st.estimation.MarginalTable(("a",), [1.0], "1"), "one finite number"),
        (lambda: PAIR.onto("c"), "some of its attributes"),
        (lambda: PAIR.onto(["a", "a"]), "each once"),
        (lambda: st.estimation.consistent_marginals([]), "no tables"),
        (
            lambda: st.estimation.consistent_marginals(
                [PAIR, st.estimation.MarginalTable(("b",), np.ones(2))]
            ),
            "2 values in one",
        ),
        (lambda: st.estimation.consistent_marginals([PAIR], total=float("nan")), "finite"),
        (lambda: st.estimation.ripple([1.0, np.nan], 1.0), "finite"),
        (lambda: st.estimation.ripple([1.0, -2.0], 0.0), "positive"),
        (lambda: st.estimation.ripple([1.0, -2.0], 0.5), "positive total"),
    ],
)
def test_wrong_tables_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
