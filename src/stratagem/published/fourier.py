"""The Fourier mechanism: one character of the domain a user."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import array, numbers
from stratagem.math.privacy import ratio
from stratagem.published.baseline import LARGE, NEEDED, Baseline, Candidates, Setting
from stratagem.published.table import attribute_sizes, energies, positive, touching, widths
from stratagem.strategies.two_level import TwoLevelStrategy, pack


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
    drawn, bits = array(frequencies), sum(widths(sizes))
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
    drawn = drawn.astype(np.int64)
    p = np.full(len(drawn), 1 / len(drawn)) if shares is None else numbers(shares)
    if p.shape != drawn.shape or not (p > 0).all() or abs(p.sum() - 1) > 1e-9:
        raise ValueError(
            f"the shares have shape {p.shape} and sum {p.sum():.6g}: give {len(drawn)} positive probabilities "
            "with sum 1"
        )
    return report_sign(positive(drawn, sizes), p / p.sum(), epsilon)


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


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    drawn, v = needed(setting)
    useful = v > NEEDED * np.trace(setting.gram)
    if not useful.any():
        return
    if setting.domain_size <= LARGE:
        yield "equal shares", fourier(setting.sizes, epsilon, drawn)
    optimal = np.sqrt(v[useful])
    yield "optimal shares", fourier(setting.sizes, epsilon, drawn[useful], optimal / optimal.sum())


FOURIER = Baseline(
    "fourier",
    "the sign of a random character",
    "@cormode2018marginal (InpHT)",
    _candidates,
)
