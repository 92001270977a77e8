"""Marginal tables that agree: least squares, the lemma of PriView, ripple, and tables that nobody collected."""

from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

import stratagem as st
from stratagem.estimation.consistency.completion import MAX_CELLS

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


def tables_of(views, rng, alike=False) -> list[st.MarginalTable]:
    """Random tables, of random variances unless alike."""
    return [
        st.MarginalTable(
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
    found = st.consistent_marginals(tables, total)
    for table, expected in zip(found, least_squares(tables, total), strict=True):
        assert table.counts.ravel() == pytest.approx(expected, abs=1e-12 * 50)
    for one, other in combinations(found, 2):
        shared = [name for name in one.attributes if name in other.attributes]
        assert one.onto(shared) == pytest.approx(other.onto(shared), abs=1e-12 * 50)
    again = st.consistent_marginals(found, total)
    for table, before in zip(again, found, strict=True):
        assert table.counts == pytest.approx(before.counts, abs=1e-12 * 50)


def test_the_example_of_the_book():
    """Li, Lyu, Su, Yang, Differential Privacy: From Theory to Practice, section 6.3.1."""
    first = st.MarginalTable(("a1", "a2"), np.array([[0.3, 0.3], [0.3, 0.1]]))
    second = st.MarginalTable(("a1", "a3"), np.array([[0.2, 0.3], [0.1, 0.4]]))
    one, other = st.consistent_marginals([first, second])
    assert one.counts.ravel() == pytest.approx([0.275, 0.275, 0.325, 0.125])
    assert other.counts.ravel() == pytest.approx([0.225, 0.325, 0.075, 0.375])
    assert one.onto(["a2"]) == pytest.approx([0.6, 0.4])
    assert other.onto(["a3"]) == pytest.approx([0.3, 0.7])


def test_agreement_on_more_leaves_other_marginals_alone(rng):
    """Lemma 6.2: after agreement on A within the overlap, the rest of V1 with A does not move."""
    tables = st.consistent_marginals([*tables_of(["abc", "bcd"], rng)], total=20.0)
    moved = tables[0].with_marginal(["b", "c"], tables[0].onto(["b", "c"]) + [[1, -1, 0, 0]] * 3)
    for kept in ("a", "b", "ab"):
        assert moved.onto(list(kept)) == pytest.approx(tables[0].onto(list(kept)))
    assert abs(moved.onto(["a", "c"]) - tables[0].onto(["a", "c"])).max() > 0.1, "the control: c did move"


def test_neither_the_order_of_tables_nor_of_axes_matters(rng):
    tables = tables_of(["ab", "bc", "ca"], rng)
    expected = st.consistent_marginals(tables)
    turned = st.MarginalTable(("b", "a"), tables[0].counts.T, tables[0].variance)
    for order in permutations(range(3)):
        given = [turned if i == 0 else tables[i] for i in order]
        for i, table in zip(order, st.consistent_marginals(given), strict=True):
            assert table.onto(tables[i].attributes) == pytest.approx(expected[i].counts)


@pytest.mark.parametrize("shape", [(2, 2, 2), (7,), (3, 4, 2), (1, 5), (2,) * 8])
@pytest.mark.parametrize("threshold", [1e-6, 0.3])
def test_ripple_keeps_the_total_and_pays_every_debt(shape, threshold, rng):
    table = rng.standard_normal(shape)
    table += (1 - table.sum()) / table.size
    found = st.ripple(table, threshold)
    assert found.sum() == pytest.approx(1)
    assert found.min() >= -threshold
    assert st.ripple(np.abs(table), threshold) == pytest.approx(np.abs(table))


def test_the_first_round_of_ripple_by_hand():
    """Binary cells have as many neighbours as attributes, others one for every other value of each."""
    table = np.full((2, 2, 2), 10.0)
    table[0, 0, 0] = -6
    expected = np.full((2, 2, 2), 10.0)
    expected[0, 0, 0] = 0
    expected[1, 0, 0] = expected[0, 1, 0] = expected[0, 0, 1] = 8
    assert st.ripple(table, 1.0) == pytest.approx(expected)
    assert st.ripple([[-6.0, 10, 10], [10, 10, 10]], 1.0) == pytest.approx(
        np.array([[0.0, 8, 8], [8, 10, 10]])
    )


def evidence(views, rng, names="abcd"):
    """Consistent positive tables of a random joint distribution of 100 users."""
    x = rng.dirichlet(np.ones(int(np.prod([SIZES[name] for name in names])))) * 100
    return [
        st.MarginalTable(tuple(view), (sums(view, names) @ x).reshape([SIZES[n] for n in view]))
        for view in views
    ]


def scaled(tables, attributes, rounds=3000) -> np.ndarray:
    """Iterative proportional fitting (Deming and Stephan 1940)."""
    found = np.ones([SIZES[name] for name in attributes])
    for _, table in product(range(rounds), tables):
        shared = [name for name in attributes if name in table.attributes]
        now = st.MarginalTable(tuple(attributes), found)
        shape = [SIZES[name] if name in shared else 1 for name in attributes]
        found = found * (table.onto(shared) / now.onto(shared)).reshape(shape)
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("views", ["cycle", "chain", "crowd", "apart"])
def test_largest_entropy_is_the_limit_of_iterative_scaling(views, rng):
    tables = evidence(VIEWS[views], rng)
    for wanted in ("abc", "ca") if views == "cycle" else ("abc", "acd", "db"):
        found = st.marginal_from(tables, tuple(wanted))
        expected = scaled([t for t in tables if set(t.attributes) & set(wanted)], wanted)
        assert found == pytest.approx(expected, abs=1e-4)


def distances(tables, found, attributes) -> np.ndarray:
    """How far a table is from what others say, in standard errors."""
    own = st.MarginalTable(tuple(attributes), found)
    parts = []
    for table in tables:
        shared = [name for name in attributes if name in table.attributes]
        error = np.sqrt(table.variance * table.merged(shared))
        parts.append((own.onto(shared) - table.onto(shared)).ravel() / error)
    return np.concatenate(parts)


def test_every_method_is_best_at_what_it_promises(rng):
    """Entropy and sums of squares where the tables agree; the largest distance where they do not."""
    tables = evidence(VIEWS["cycle"], rng)
    methods = ("maximum-entropy", "least-squares", "linear-program")
    found = {method: st.marginal_from(tables, tuple("abc"), method) for method in methods}
    for method, table in found.items():
        assert np.abs(distances(tables, table, "abc")).max() < 1e-4, method
        assert (table >= 0).all()
    squares = {method: np.square(table).sum() for method, table in found.items()}
    assert squares["least-squares"] == pytest.approx(min(squares.values()))
    assert squares["least-squares"] < squares["maximum-entropy"] - 1e-3

    noisy = tables_of(["ab", "bc", "ac"], rng)
    far = {
        m: np.abs(distances(noisy, st.marginal_from(noisy, tuple("abc"), m), "abc")).max() for m in methods
    }
    assert far["linear-program"] < far["maximum-entropy"] - 1e-3
    assert far["least-squares"] == pytest.approx(far["maximum-entropy"], abs=1e-3)


def test_least_squares_and_linear_program_against_other_solvers(rng):
    tables = evidence(VIEWS["cycle"], rng, "abc")
    A = np.vstack([sums(t.attributes, "abc") for t in tables])
    y = np.concatenate([t.counts.ravel() for t in tables])
    peer, _ = nnls(np.vstack([1e4 * A, np.eye(24)]), np.concatenate([1e4 * y, np.zeros(24)]))
    found = st.marginal_from(tables, tuple("abc"), "least-squares")
    assert found.ravel() == pytest.approx(peer, abs=1e-3)

    noisy = tables_of(["ab", "bc", "ac"], rng)
    total = np.average(
        [t.counts.sum() for t in noisy], weights=[1 / (t.variance * t.counts.size) for t in noisy]
    )
    errors = np.concatenate([np.full(t.counts.size, np.sqrt(t.variance)) for t in noisy])
    y = np.concatenate([t.counts.ravel() for t in noisy])
    lp = linprog(
        np.append(np.zeros(24), 1.0),
        A_ub=np.block([[A, -errors[:, None]], [-A, -errors[:, None]]]),
        b_ub=np.concatenate([y, -y]),
        A_eq=[[*np.ones(24), 0.0]],
        b_eq=[total],
    )
    found = st.marginal_from(noisy, tuple("abc"), "linear-program")
    assert np.abs(distances(noisy, found, "abc")).max() == pytest.approx(lp.fun, rel=1e-6)


@pytest.mark.parametrize("method", ["maximum-entropy", "least-squares", "linear-program"])
def test_a_table_that_holds_them_all_is_summed(method, rng):
    (table,) = evidence(["cab"], rng, "abc")
    for wanted in ("abc", "bc", "a"):
        found = st.marginal_from([table], tuple(wanted), method)
        assert found == pytest.approx(table.onto(tuple(wanted)), abs=1e-4)


def test_what_no_table_sees_is_even():
    """a = b xor c: every pair is independent, so the largest entropy misses it; that is its bias."""
    pair = np.full((2, 2), 25.0)
    tables = [st.MarginalTable(tuple(view), pair) for view in ("ab", "bc", "ac")]
    assert st.marginal_from(tables, tuple("abc")) == pytest.approx(np.full((2, 2, 2), 12.5))


def test_large_tables_are_never_formed():
    """Thirty attributes of ten values: 10^30 cells together, 1000 in the table asked for."""
    names, rng = [f"x{i}" for i in range(30)], np.random.default_rng(1)
    tables = [st.MarginalTable(pair, rng.random((10, 10)) + 1) for pair in pairwise(names)]
    agreed = st.consistent_marginals(tables, total=1000.0)
    found = st.MarginalTable(("x3", "x4", "x5"), st.marginal_from(agreed, ("x3", "x4", "x5")))
    assert found.onto(["x3", "x4"]) == pytest.approx(agreed[3].counts, abs=1e-4)
    with pytest.raises(ValueError, match=f"at most {MAX_CELLS}"):
        st.marginal_from(agreed, names[:4])


PAIR = st.MarginalTable(("a", "b"), np.ones((2, 3)))
SQUARE = st.MarginalTable(("a", "b"), np.ones((64, 64)))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: st.MarginalTable(("a", "a"), np.ones((2, 2))), "different attributes"),
        (lambda: st.MarginalTable(("a",), np.ones((2, 2))), "one axis"),
        (lambda: st.MarginalTable(("a",), [1.0, np.inf]), "finite"),
        (lambda: st.MarginalTable(("a",), ["x"]), "finite"),
        (lambda: st.MarginalTable(("a",), []), "one axis"),
        (lambda: st.MarginalTable(("a",), [1.0], 0.0), "positive"),
        (lambda: st.MarginalTable(("a",), [1.0], float("nan")), "finite"),
        (lambda: st.MarginalTable(("a",), [1.0], "1"), "one finite number"),
        (lambda: PAIR.onto("c"), "some of its attributes"),
        (lambda: PAIR.onto(["a", "a"]), "each once"),
        (lambda: st.consistent_marginals([]), "no tables"),
        (lambda: st.consistent_marginals([PAIR, st.MarginalTable(("b",), np.ones(2))]), "2 values in one"),
        (lambda: st.consistent_marginals([PAIR], total=float("nan")), "finite"),
        (lambda: st.marginal_from([SQUARE] * 5, ("a", "b")), "overlaps"),
        (lambda: st.ripple([1.0, np.nan], 1.0), "finite"),
        (lambda: st.ripple([1.0, -2.0], 0.0), "positive"),
        (lambda: st.ripple([1.0, -2.0], 0.5), "positive total"),
        (lambda: st.marginal_from([PAIR], ("a", "z")), "'z' is in none"),
        (lambda: st.marginal_from([PAIR], "ab"), "'ab' is in none"),
        (lambda: st.marginal_from([PAIR], ("a", "a")), "named twice"),
        (lambda: st.marginal_from([PAIR], ("a",), "magic"), "maximum-entropy"),
        (lambda: st.marginal_from([st.MarginalTable(("a",), [1.0, -2.0])], ("a",)), "positive total"),
        (lambda: st.marginal_from([], ("a",)), "no tables"),
    ],
)
def test_wrong_tables_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
