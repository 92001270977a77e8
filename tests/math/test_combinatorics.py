"""Fields, geometries, difference families and block designs against their definitions."""

import math

import numpy as np
import pytest

from stratagem.math.block_design import block_design, difference_family, groups, random_subsets, subtraction
from stratagem.math.galois import (
    affine_hyperplanes,
    divisors,
    factorise,
    field,
    is_prime_power,
    projective_hyperplanes,
    projective_points,
)

ORDERS = (2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 49, 64, 81, 121)
BITS = 1 << 24


def tables(q):
    """Addition and multiplication tables of GF(q) by the codes of its elements."""
    one = field(q)
    digits = np.vstack([np.zeros((1, one.degree), dtype=int), one.powers])
    codes = one.codes(digits)
    plus, times = np.zeros((q, q), dtype=int), np.zeros((q, q), dtype=int)
    plus[np.ix_(codes, codes)] = one.codes((digits[:, None] + digits) % one.characteristic)
    logs = np.arange(q - 1)
    times[np.ix_(codes[1:], codes[1:])] = codes[1:][(logs[:, None] + logs) % (q - 1)]
    return plus, times


def pair_weights(blocks, weights):
    """Weight of the blocks that hold each pair of points."""
    return (blocks * weights[:, None]).T.astype(float) @ blocks


def assert_balanced(blocks, weights, size):
    n = blocks.shape[1]
    assert (blocks.sum(axis=1) == size).all()
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    together = pair_weights(blocks, weights)
    np.testing.assert_allclose(np.diag(together), size / n, rtol=1e-12)
    apart = together[~np.eye(n, dtype=bool)]
    np.testing.assert_allclose(apart, size * (size - 1) / n / (n - 1), rtol=1e-11, atol=1e-14)


def test_numbers_are_factorised():
    for number in range(1, 700):
        factors = factorise(number)
        assert math.prod(p**e for p, e in factors) == number
        assert all(p % d for p, _ in factors for d in range(2, p))
        assert is_prime_power(number) == (len({p for p, _ in factors}) == 1)
        assert divisors(number) == [d for d in range(1, number + 1) if number % d == 0]


@pytest.mark.parametrize("q", [q for q in ORDERS if q <= 27])
def test_a_field_has_inverses_and_is_distributive(q):
    plus, times = tables(q)
    assert (np.sort(times[1:, 1:], axis=1) == np.arange(1, q)).all()
    left = times[:, plus]
    assert (left == plus[times[:, :, None], times[:, None, :]]).all()


@pytest.mark.parametrize("q", ORDERS)
def test_the_powers_are_all_units(q):
    one = field(q)
    assert one.order == q
    assert sorted(one.codes(one.powers)) == list(range(1, q))


@pytest.mark.parametrize(("q", "base"), [(8, 2), (9, 3), (64, 2), (64, 4), (64, 8), (81, 9), (25, 5)])
def test_the_trace_is_additive_and_balanced(q, base):
    one, (plus, _) = field(q), tables(q)
    trace = np.zeros(q, dtype=int)
    trace[one.codes(one.powers)] = one.traces(base)
    assert (trace[plus] == plus[trace[:, None], trace]).all()
    assert (np.unique(trace, return_counts=True)[1] == q // base).all()


@pytest.mark.parametrize(("q", "t"), [(2, 2), (2, 5), (3, 3), (4, 3), (5, 2), (7, 3), (8, 2), (9, 3), (4, 4)])
def test_hyperplanes_are_designs(q, t):
    for blocks, size in (
        (projective_hyperplanes(q, t), projective_points(q, t - 1)),
        (affine_hyperplanes(q, t), q ** (t - 1)),
    ):
        assert len(np.unique(blocks, axis=0)) == len(blocks)
        assert_balanced(blocks, np.full(len(blocks), 1 / len(blocks)), size)


def test_the_fano_plane_has_seven_lines():
    lines = projective_hyperplanes(2, 3)
    assert lines.shape == (7, 7)
    assert (lines.astype(int) @ lines.T == 1 + 2 * np.eye(7)).all()
    assert (projective_hyperplanes(2, 3, 4) == lines[:, :4]).all()


@pytest.mark.parametrize("n", [2, 12, 13, 16, 27, 36, 60])
def test_multipliers_are_automorphisms(n):
    """Blocks that are orbits have the same differences all along each orbit."""
    some = groups(n, n)
    assert [len(g.representatives) for g in some] == sorted(len(g.representatives) for g in some)
    assert len(some[-1].representatives) == n // 2
    for group in some:
        assert (np.sort(group.minus, axis=1) == np.arange(n)).all()
        for label in range(group.orbit.max() + 1):
            block = group.orbit == label
            counts = (block & block[group.minus]).sum(axis=1)
            for other in range(group.orbit.max() + 1):
                assert len(np.unique(counts[group.orbit == other])) == 1


def test_the_limit_of_orbits_holds():
    assert max(len(group.representatives) for group in groups(37, 6)) <= 6
    assert difference_family(22, 7, most=1) is None


@pytest.mark.parametrize("radices", [[7], [2, 2, 2], [2, 2, 3], [5, 3]])
def test_subtraction_is_that_of_an_abelian_group(radices):
    minus = subtraction(radices)
    assert (minus[0] == np.arange(len(minus))).all()
    assert (minus.diagonal() == 0).all()
    twice = minus[:, minus]
    assert (twice == twice.swapaxes(0, 1)).all()


@pytest.mark.parametrize("sizes", [[1] * 9, [1, 2, 2, 3, 6, 6], [4, 6, 10]])
def test_random_subsets_have_the_total(sizes):
    rng = np.random.default_rng(0)
    for total in range(sum(sizes) + 1):
        subsets = random_subsets(np.array(sizes), total, 50, rng)
        possible = {sum(s for i, s in enumerate(sizes) if code >> i & 1) for code in range(2 ** len(sizes))}
        assert (len(subsets) > 0) == (total in possible)
        assert (subsets @ sizes == total).all()
        assert len(np.unique(subsets, axis=0)) == len(subsets)


def test_random_subsets_of_equal_sizes_are_uniform():
    """Of 2000 draws of 2 of 4, all six pairs and both kinds of choice occur; a biased walk would miss some."""
    rng = np.random.default_rng(1)
    draws = np.array([random_subsets(np.ones(4, dtype=int), 2, 1, rng)[0] for _ in range(1200)])
    counts = np.unique(draws, axis=0, return_counts=True)[1]
    # 5 degrees of freedom: 25.7 is the 99.99 % quantile
    assert len(counts) == 6
    assert (np.square(counts - 200) / 200).sum() < 25.7


@pytest.mark.parametrize(
    ("n", "k"), [(7, 2), (13, 6), (15, 7), (16, 6), (21, 5), (22, 7), (36, 11), (37, 10), (64, 17), (100, 2)]
)
def test_translates_of_a_difference_family_balance(n, k):
    group, bases, weights = difference_family(n, k)  # type: ignore[misc]
    assert len(bases) <= n // 2
    parts = [group.translates(base) for base in bases]
    assert all(n % len(part) == 0 for part in parts)
    shares = np.concatenate([np.full(len(p), w / len(p)) for p, w in zip(parts, weights, strict=True)])
    assert_balanced(np.vstack(parts), shares, k)


@pytest.mark.parametrize(
    ("n", "k", "kind", "blocks"),
    [
        (5, 1, "single points", 5),
        (13, 4, "hyperplanes of PG(2, 3)", 13),
        (31, 15, "hyperplanes of PG(4, 2)", 31),
        (64, 8, "hyperplanes of AG(2, 8)", 72),
        (16, 8, "hyperplanes of AG(4, 2)", 30),
        (11, 5, "difference set", 11),
        (15, 7, "hyperplanes of PG(3, 2)", 15),
        (35, 17, "difference set", 35),
        (16, 6, "difference set", 16),
        (37, 9, "difference set", 37),
    ],
)
def test_the_known_small_designs_are_found(n, k, kind, blocks):
    """Paley, twin primes, Singer, a bent function, fourth powers modulo 37."""
    design = block_design(n, k, BITS)
    assert design is not None
    assert (design.kind, len(design.weights)) == (kind, blocks)


@pytest.mark.parametrize("n", [2, 3, 6, 12, 13, 20])
def test_every_block_size_has_a_design(n):
    for k in range(1, n):
        design = block_design(n, k, BITS)
        assert design is not None
        blocks = np.unpackbits(design.patterns, axis=1, count=n).astype(bool)
        assert_balanced(blocks, design.weights, k)
        assert len(blocks) >= n  # Fisher's inequality


def test_the_limit_of_bits_holds():
    assert block_design(64, 17, 64**2) is None
    assert block_design(22, 7, 22**2 * 11) is not None
    assert block_design(64, 1, 63) is None
