"""Trees made to add up: least squares, the published weights and figures, and what no tree may be."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

import stratagem as st

SHAPES = [(8, 2), (27, 3), (10, 3), (1, 2), (37, 4), (13, 2), (16, 16), (5, 7)]


def sizes(n: int, branching: int, root: bool) -> list[int]:
    """Nodes of every level, leaves first."""
    found = [n]
    while found[-1] > (1 if root else branching):
        found.append(-(-found[-1] // branching))
    return found


def members(n: int, branching: int, root: bool) -> list[np.ndarray]:
    """Every level as a matrix (n_l x n): which leaves are under a node."""
    widths = [branching**k for k in range(len(sizes(n, branching, root)))]
    return [(np.arange(n) // width == np.arange(-(-n // width))[:, None]) * 1.0 for width in widths]


def variances(kind: str, levels: list[int], rng) -> list:
    if kind == "equal":
        return [1.0] * len(levels)
    if kind == "a level":
        return [10.0**k for k in range(len(levels))]
    some = [rng.exponential(size=k) + 0.01 for k in levels]
    if kind == "unmeasured":
        some[1:] = [np.where(rng.random(len(one)) < 0.5, np.inf, one) for one in some[1:]]
    return some


def least_squares(A, y, weights, total):
    """The leaves of least weighted squares, by dense linear algebra, with the total as a constraint."""
    n = A.shape[1]
    start, free = np.zeros(n), np.eye(n)
    if total is not None:
        start[0] = total
        free = np.eye(n)[:, 1:] - np.eye(n)[:, :1]
    root = np.sqrt(weights)
    moves = np.linalg.lstsq(root[:, None] * (A @ free), root * (y - A @ start), rcond=None)[0]
    return start + free @ moves


@pytest.mark.parametrize(("n", "branching"), SHAPES)
@pytest.mark.parametrize("kind", ["equal", "a level", "a node", "unmeasured"])
def test_two_passes_are_least_squares(n, branching, kind, rng):
    for root, total in product((False, True), (None, 3.0)):
        parts = members(n, branching, root)
        levels = [rng.standard_normal(len(part)) for part in parts]
        given = variances(kind, [len(part) for part in parts], rng)
        found = st.consistent_tree(levels, branching, given, total)
        weights = np.concatenate([np.ones(len(p)) / v for v, p in zip(given, parts, strict=True)])
        expected = least_squares(np.vstack(parts), np.concatenate(levels), weights, total)
        for part, level in zip(parts, found, strict=True):
            assert level == pytest.approx(part @ expected, abs=1e-12 * n)
        assert total is None or found[0].sum() == pytest.approx(total, abs=1e-12 * n)


@pytest.mark.parametrize(("B", "height"), [(2, 4), (3, 3), (8, 2)])
def test_equal_variances_give_the_published_weights(B, height, rng):
    levels = [rng.standard_normal(B ** (height - 1 - k)) for k in range(height)]
    up = [levels[0]]
    for i in range(2, height + 1):
        below = up[-1].reshape(-1, B).sum(axis=1)
        up.append(((B**i - B ** (i - 1)) * levels[i - 1] + (B ** (i - 1) - 1) * below) / (B**i - 1))
    down = [up[-1]]
    for z in up[-2::-1]:
        missing = (down[0] - z.reshape(-1, B).sum(axis=1)) / B
        down.insert(0, z + np.repeat(missing, B))
    for found, expected in zip(st.consistent_tree(levels, B), down, strict=True):
        assert found == pytest.approx(expected, abs=1e-13)


def linear_map(n: int, B: int, root: bool = False, total: float | None = None) -> np.ndarray:
    """Leaves (n x nodes) as a linear function of the estimates, leaves first."""
    counts = sizes(n, B, root)
    unit = np.eye(sum(counts))
    levels = np.split(unit, np.cumsum(counts)[:-1])
    return st.consistent_tree(levels, B, total=total)[0]


def test_figure_4_1_of_the_book():
    """n1, n2 | n3 .. n6 | n7 .. n14, no root; Li, Lyu, Su, Yang, Differential Privacy, Figure 4.1."""
    leaves = linear_map(8, 2)
    order = np.r_[12:14, 8:12, 0:8]  # as the figure numbers them, from the top
    first, third = np.zeros(14), np.zeros(14)
    first[[6, 7, 8, 9, 2, 3, 0]] = 13, -8, -1, -1, 5, -2, 3
    third[[6, 7, 8, 9, 2, 3, 0]] = 4, 4, 11, -10, 8, 1, 9
    assert leaves[0, order] == pytest.approx(first / 21, abs=1e-15)
    prefix = leaves[:3].sum(axis=0)
    assert prefix[order] == pytest.approx(third / 21, abs=1e-15)
    assert prefix @ prefix == pytest.approx(float(Fraction(399, 441)))


@pytest.mark.parametrize("B", [2, 5, 8])
def test_one_level_with_its_root(B):
    """Variances of ranges of r leaves are r (B + 1 - r) / (B + 1)."""
    leaves = linear_map(B, B, root=True)
    for r in range(1, B + 1):
        some = leaves[:r].sum(axis=0)
        assert some @ some == pytest.approx(r * (B + 1 - r) / (B + 1))


def worst(n: int, B: int, total: float | None) -> float:
    """The largest variance of a range of two or more, over the bound (B + 1)/2 ceil(log_B r) a level's variance."""
    leaves = linear_map(n, B, total=total)
    below = np.vstack([np.zeros(leaves.shape[1]), np.cumsum(leaves, axis=0)])
    ratios = []
    for a, b in combinations(range(n + 1), 2):
        if b - a < 2:
            continue
        steps = next(k for k in range(1, 64) if B**k >= b - a)
        ratios.append(np.square(below[b] - below[a]).sum() / ((B + 1) / 2 * steps))
    return max(ratios)


@pytest.mark.parametrize(("n", "B"), [(64, 2), (64, 4), (64, 8), (81, 3), (256, 16)])
def test_ranges_keep_below_the_published_bound_if_the_total_is_known(n, B):
    """Cormode, Kulkarni, Srivastava, PVLDB 2019; their bound counts the root as known."""
    assert worst(n, B, 0.0) <= 1
    if B >= 8:
        assert worst(n, B, None) > 1, "the control: without the total the bound fails"


@pytest.mark.parametrize(("n", "B"), [(8, 2), (27, 3), (37, 4)])
def test_no_node_gets_worse_and_truth_stays_truth(n, B, rng):
    leaves = linear_map(n, B)
    for part in members(n, B, root=False):
        assert (np.square(part @ leaves).sum(axis=1) < 1).all()
    x = rng.random(n)
    truth = [part @ x for part in members(n, B, root=True)]
    for found, expected in zip(st.consistent_tree(truth, B, total=x.sum()), truth, strict=True):
        assert found == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(
    ("levels", "options", "words"),
    [
        ([], {}, "0 levels"),
        ([[1.0, 2.0], []], {}, "none empty"),
        ([[1.0, 2.0, 3.0], [1.0]], {}, "has 2 nodes"),
        ([[1.0, np.nan]], {}, "finite"),
        ([["a", "b"]], {}, "finite"),
        ([[1.0, 2.0], [[1.0]]], {}, "has 1 nodes"),
        ([[1.0, 2.0]], {"branching": 1}, "at least 2"),
        ([[1.0, 2.0]], {"branching": 2.5}, "whole number"),
        ([[1.0, 2.0]], {"variances": [1.0, 1.0]}, "2 variances"),
        ([[1.0, 2.0]], {"variances": [0.0]}, "positive"),
        ([[1.0, 2.0]], {"variances": [np.inf]}, "finite for the leaves"),
        ([[1.0, 2.0]], {"variances": [[1.0, 2.0, 3.0]]}, "one a node"),
        ([[1.0, 2.0]], {"variances": [np.nan]}, "positive"),
        ([[1.0, 2.0]], {"variances": ["one"]}, "positive"),
        ([[1.0, 2.0]], {"total": np.inf}, "finite"),
        ([[1.0, 2.0]], {"total": [1.0, 2.0]}, "one finite number"),
    ],
)
def test_what_is_no_tree_is_refused(levels, options, words):
    with pytest.raises(ValueError, match=words):
        st.consistent_tree(levels, **{"branching": 2, **options})
