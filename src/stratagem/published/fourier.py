"""One character of the domain a user: the Fourier mechanism, and HaarHRR for ranges."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import array, integer, numbers
from stratagem.math.privacy import ratio
from stratagem.published.baseline import LARGE, NEEDED, Baseline, Candidates, Setting
from stratagem.strategies.two_level import TwoLevelStrategy, pack


def attribute_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of values of the attributes."""
    try:
        given = tuple(sizes)
    except TypeError:
        given = ()
    if not given:
        raise ValueError(
            f"the sizes of the attributes are {sizes!r}: give at least one, for example (2, 2, 3)"
        )
    return tuple(
        integer(a, "The size of an attribute", 1, 1 << 24, "merge some of its values") for a in given
    )


def table_cells(sizes: Sequence[int], attributes: Sequence[int]) -> np.ndarray:
    """Return the cell of every user type (n,) in the table of these attributes, row-major."""
    coordinates = np.indices(sizes).reshape(len(sizes), -1)
    chosen = sorted(attributes)
    if not chosen:
        return np.zeros(prod(sizes), dtype=np.int64)
    cells = np.ravel_multi_index(tuple(coordinates[i] for i in chosen), [sizes[i] for i in chosen])
    return np.asarray(cells)


def widths(sizes: Sequence[int]) -> list[int]:
    """Return the bits that each attribute takes, ceil(log2 a)."""
    return [(a - 1).bit_length() for a in sizes]


def codes(sizes: Sequence[int]) -> np.ndarray:
    """Return every cell as one binary number (n,): its coordinates in bits side by side, first one lowest."""
    code, start = np.zeros(prod(sizes), dtype=np.int64), 0
    for coordinate, width in zip(np.indices(sizes).reshape(len(sizes), -1), widths(sizes), strict=True):
        code, start = code | coordinate << start, start + width
    return code


def touching(sizes: Sequence[int], attributes: Sequence[int]) -> np.ndarray:
    """Return the frequencies that touch no other attributes than these, 0 first (2^bits of them,)."""
    bits, starts = widths(sizes), np.cumsum([0, *widths(sizes)])
    found = np.zeros(1, dtype=np.int64)
    for i in sorted(attributes):
        found = (found[None, :] | (np.arange(1 << bits[i]) << starts[i])[:, None]).ravel()
    return found


def positive(frequencies: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Return where the characters chi_f(u) = (-1)^popcount(f & code(u)) are +1 (K x n), boolean."""
    return np.bitwise_count(frequencies[:, None] & codes(sizes)) & 1 == 0


def energies(sizes: Sequence[int], V: np.ndarray) -> np.ndarray:
    """Return chi^T V chi / n for the characters of all 2^bits frequencies.

    It is the Walsh-Hadamard transform of the sums of V over the pairs of cells of equal code(u) xor code(w).
    """
    code, size = codes(sizes), 1 << sum(widths(sizes))
    sums = np.bincount((code[:, None] ^ code).ravel(), V.ravel(), size)
    half = 1
    while half < size:
        low, high = np.moveaxis(sums.reshape(-1, 2, half), 1, 0)
        sums, half = np.stack([low + high, low - high], axis=1).ravel(), 2 * half
    return sums / len(code)


def report_sign(plus: np.ndarray, shares: np.ndarray, epsilon: float) -> TwoLevelStrategy:
    """Draw row k of a table of signs, report (k, the user's sign there), the sign flipped at odds 1 : E.

    With s_k[u] = +-1 and q = (E - 1)/(E + 1): Q[(k, +-), u] = shares_k (1 +- q s_k[u])/2, and every function
    sum_k c_k s_k of the value has the unbiased estimate sum of +-c_k/(shares_k q) over the reports (k, +-).

    Args:
        plus: where the sign is +1 (K x n), boolean.
        shares: probabilities of the rows (K,), summing to one.
        epsilon: the budget.

    Guarantee:
        epsilon-LDP: reports (k, +) and (k, -) take the two probabilities shares_k E/(E + 1) and
        shares_k/(E + 1).

    Reference:
        Warner 1965, on a random binary feature.
    """
    E = ratio(epsilon)
    patterns = np.concatenate([pack(plus), pack(~plus)])
    return TwoLevelStrategy(patterns, np.tile(shares, 2) / (E + 1), plus.shape[1], E)


def fourier(
    sizes: Sequence[int], epsilon: float, frequencies: ArrayLike, shares: ArrayLike | None = None
) -> TwoLevelStrategy:
    """Draw a frequency f, report the user's sign (-1)^popcount(f & code(u)) by randomised response.

    code(u) writes the coordinates of cell u in bits side by side, ceil(log2 a) bits for an attribute of a
    values. On binary attributes f is the set of attributes whose parity is asked for, and L(Q) is
    v_0 + ((E + 1)/(E - 1))^2 sum_f v_f / shares_f, v_f = chi_f^T V chi_f / n, over the frequencies with
    v_f > 0: least for shares proportional to sqrt(v_f).

    Args:
        sizes: numbers of values of the attributes.
        epsilon: the budget.
        frequencies: different numbers from 1 to 2^bits - 1 (K,), those that may be drawn.
        shares: their probabilities (K,), positive with sum 1; all equal by default.

    Guarantee:
        epsilon-LDP: a report is a frequency drawn without a look at the value, and one bit through binary
        randomised response.

    Raises:
        ValueError: for no frequencies, frequencies out of range, or shares that do not fit them.

    Reference:
        InpHT of Cormode, Kulkarni, Srivastava, "Marginal release under local differential privacy", SIGMOD
        2018, has equal shares; "Fourier" of McKenna et al., VLDB 2020, section 6.

    Example:
        >>> fourier((2, 2, 2), 1.0, frequencies=[0b001, 0b010, 0b111]).outputs
        6
    """
    sizes = attribute_sizes(sizes)
    drawn = _checked(frequencies, sum(widths(sizes)))
    p = np.full(len(drawn), 1 / len(drawn)) if shares is None else numbers(shares)
    if p.shape != drawn.shape or not (p > 0).all() or abs(p.sum() - 1) > 1e-9:
        raise ValueError(
            f"the shares have shape {p.shape} and sum {p.sum():.6g}: give {len(drawn)} positive probabilities "
            "with sum 1"
        )
    return report_sign(positive(drawn, sizes), p / p.sum(), epsilon)


def _checked(frequencies: ArrayLike, bits: int) -> np.ndarray:
    """Return different frequencies (K,) of a domain that takes so many bits."""
    drawn = array(frequencies)
    if drawn.ndim != 1 or drawn.dtype.kind not in "iu" or not len(drawn):
        raise ValueError(
            f"the frequencies have shape {drawn.shape} and type {drawn.dtype}: give a list of whole numbers, "
            "at least one of them"
        )
    if drawn.min() < 1 or drawn.max() >= 1 << bits or len(np.unique(drawn)) < len(drawn):
        raise ValueError(
            f"the frequencies must be different numbers from 1 to {(1 << bits) - 1}, because the domain takes "
            f"{bits} bits; the given ones lie between {drawn.min()} and {drawn.max()}"
        )
    return drawn.astype(np.int64)


def needed(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Return the frequencies that the queries need (K,) and their energies v_f (K,).

    Where the bits of an attribute have more values than it, those of every table of `setting.margins`:
    the characters are no longer orthogonal then, and all of them may be needed for one function.
    """
    v = energies(setting.sizes, setting.gram)
    if len(v) > setting.domain_size:
        tables = [touching(setting.sizes, table) for table in setting.margins]
        drawn = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *tables]))
    else:
        drawn = np.flatnonzero(v > NEEDED * np.trace(setting.gram))
    drawn = drawn[drawn > 0]
    return drawn, v[drawn]


def _characters(setting: Setting, epsilon: float) -> Candidates:
    drawn, v = needed(setting)
    useful = v > NEEDED * np.trace(setting.gram)
    if not useful.any():
        return
    if setting.domain_size <= LARGE:
        yield "equal shares", fourier(setting.sizes, epsilon, drawn)
    optimal = np.sqrt(v[useful])
    yield "optimal shares", fourier(setting.sizes, epsilon, drawn[useful], optimal / optimal.sum())


def haar(domain_size: int, epsilon: float, levels: ArrayLike | None = None) -> TwoLevelStrategy:
    """Draw a level of the binary tree, report a Hadamard coefficient of the user's Haar vector there.

    On level l = 1, ..., h = ceil(log2 n) a user has one entry, at node u >> l, +1 in its left half and -1 in
    its right half; its Hadamard coefficient i is the character of frequency (2 i + 1) 2^(l - 1), so the
    mechanism is the Fourier mechanism in which all 2^(h - l) frequencies of level l share levels_l equally.
    Domains other than powers of two are padded.

    Args:
        domain_size: number n of user types, at least 2.
        epsilon: the budget.
        levels: probabilities of the levels 1..h with sum 1; all equal by default.

    Guarantee:
        epsilon-LDP: that of `fourier`.

    Raises:
        ValueError: for n < 2, which has no level, or probabilities that do not fit the levels.

    Reference:
        Cormode, Kulkarni, Srivastava, "Answering range queries under local differential privacy", PVLDB
        2019, section 4.6: a range's variance is at most h^2/2 ((E + 1)/(E - 1))^2 a user.

    Example:
        >>> haar(8, 1.0).outputs
        14
    """
    domain_size = integer(domain_size, "the domain size", 2, 1 << 53, "a single value needs no mechanism")
    height = (domain_size - 1).bit_length()
    p = np.full(height, 1 / height) if levels is None else numbers(levels)
    if p.shape != (height,) or not (p >= 0).all() or abs(p.sum() - 1) > 1e-9:
        raise ValueError(
            f"the levels have probabilities of shape {p.shape} and sum {p.sum():.6g}; {domain_size} values have "
            f"{height} levels: give one probability for each, with sum 1"
        )
    frequencies = np.arange(1, 1 << height)
    level = level_of(frequencies)
    shares = p[level - 1] / 2.0 ** (height - level)
    return fourier((domain_size,), epsilon, frequencies[shares > 0], shares[shares > 0])


def level_of(frequencies: np.ndarray) -> np.ndarray:
    """Return the level 1, 2, ... of frequencies (K,): one more than the number of trailing zeros."""
    return np.bitwise_count(frequencies ^ (frequencies - 1)).astype(np.int64)


def optimal_levels(V: np.ndarray) -> np.ndarray:
    """Return the probabilities of the levels (h,) that minimise tr(M^-1 V), exactly so if n = 2^h.

    M has the eigenvalue p_l / 2^(h - l) on the characters of level l, up to a factor that they share; so p_l
    is proportional to the root of 2^(h - l) times the sum of V's energies on them.
    """
    v = energies((len(V),), V)[1:]
    v = np.where(v > NEEDED * np.trace(V), v, 0)
    level = level_of(np.arange(1, len(v) + 1))
    weights = np.sqrt(np.bincount(level, v)[1:] * 2.0 ** (level.max() - np.arange(1, level.max() + 1)))
    return weights / weights.sum()


def _levels(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    if not any(setting.margins):
        return
    if n <= LARGE:
        yield "equal levels", haar(n, epsilon)
    yield "optimal levels", haar(n, epsilon, optimal_levels(setting.gram))


BASELINES = (
    Baseline(
        "haar",
        "a bit of a random level of the Haar wavelet",
        "@cormode2019answering (HaarHRR)",
        _levels,
    ),
    Baseline(
        "fourier",
        "the sign of a random character",
        "@cormode2018marginal (InpHT)",
        _characters,
    ),
)
"""Its baselines, in the order in which lists show them."""
