"""The mean of one number a user: the published unbiased reports of a bounded number."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.linalg import centre, rank_one_factor
from stratagem.math.number import finite
from stratagem.math.privacy import check, ratio
from stratagem.published.baseline import NEEDED, Baseline, Candidates, Setting, Tuning
from stratagem.published.matrix_mechanism import local_laplace
from stratagem.published.oracle import SAFE
from stratagem.strategies import LinearProtocol, Strategy
from stratagem.strategies.number_report import Hybrid, NumberReport, Piecewise, TwoEnds
from stratagem.strategies.strategy import MatrixStrategy, written_out

SWITCH = 0.61
"""Epsilon up to which the hybrid of Wang et al. is the mechanism of Duchi et al. alone, to two digits."""


def duchi(values: ArrayLike, epsilon: float) -> MatrixStrategy:
    """Report one of two ends, the upper one with probability 1/2 + t (E - 1)/(2 (E + 1)), t the value in [-1, 1].

    Values (n,), one for each user type, are moved and scaled from their range to [-1, 1]. The same mechanism is
    known as stochastic rounding: round to an end at random, then randomised response. The variance of one
    user's contribution is ((E + 1)^2/(E - 1)^2 - t^2) times the square of half the range.

    Guarantee:
        epsilon-LDP: the probabilities of an end are at most E/(E + 1) and at least 1/(E + 1).

    Raises:
        ValueError: unless the values are finite numbers that differ.

    Reference:
        Duchi, Jordan, Wainwright, JASA 2018; Nguyen et al., arXiv 1606.05053 (stochastic rounding).

    Example:
        >>> duchi([0, 5, 10], 1.0).matrix[0].round(3).tolist()
        [0.269, 0.5, 0.731]
    """
    t, E = _scaled(values), ratio(epsilon)
    return written_out(np.vstack([(1 + t) * E + (1 - t), (1 - t) * E + (1 + t)]) / (2 * (E + 1)))


def piecewise(values: ArrayLike, epsilon: float) -> NumberReport:
    """Report a number near the own value, moved and scaled to [-1, 1], with high density, elsewhere with low.

    The largest report is C = (e^(epsilon/2) + 1)/(e^(epsilon/2) - 1); see `Piecewise` for variances.
    `values` (n,) are the numbers of the user types.

    Guarantee:
        epsilon-LDP for real reports.

    Raises:
        ValueError: unless the values are finite numbers that differ.

    Reference:
        Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu, ICDE 2019.
    """
    return NumberReport(_scaled(values), _piecewise(epsilon))


def hybrid(values: ArrayLike, epsilon: float) -> NumberReport:
    """Report by the piecewise mechanism with probability 1 - e^(-epsilon/2), else by that of Duchi et al.

    Up to epsilon = 0.61 always by the latter. `values` (n,) are the numbers of the user types.

    Guarantee:
        epsilon-LDP for real reports.

    Raises:
        ValueError: unless the values are finite numbers that differ.

    Reference:
        Wang et al., ICDE 2019, section III-C.
    """
    epsilon = check(epsilon)
    share = -math.expm1(-epsilon / 2) if epsilon > SWITCH else 0.0
    ends = TwoEnds(SAFE / math.tanh(epsilon / 2))
    return NumberReport(_scaled(values), Hybrid(_piecewise(epsilon), ends, share))


def _piecewise(epsilon: float) -> Piecewise:
    return Piecewise(SAFE / math.tanh(check(epsilon) / 4))


def _scaled(values: ArrayLike) -> np.ndarray:
    """Return values (n,) moved and scaled from their range to [-1, 1]."""
    w = finite(values, "the values")
    if w.ndim != 1 or not np.ptp(w) > 0:
        raise ValueError(
            f"the values have shape {w.shape}, but must be a list of numbers that differ: give one for each user type"
        )
    half = np.ptp(w) / 2
    return np.clip((w - w.min()) / half - 1, -1, 1)


def _tuned(mechanism: Callable[[np.ndarray, float], Strategy | LinearProtocol]) -> Tuning:
    """Return the candidates of a mechanism for workloads that combine a single query and the total."""

    def candidates(setting: Setting, epsilon: float) -> Candidates:
        V = centre(setting.gram)
        if np.trace(V) > NEEDED * np.trace(setting.gram) and (f := rank_one_factor(V)) is not None:
            yield "", mechanism(f, epsilon)

    return candidates


LAPLACE = Baseline(
    "laplace",
    "one number with Laplace noise",
    "@dwork2006calibrating",
    _tuned(lambda f, epsilon: local_laplace(_scaled(f)[None], epsilon)),
)
DUCHI = Baseline(
    "duchi",
    "one number, rounded at random to an end of its range, then randomised response",
    "@duchi2018minimax; @nguyen2016collecting",
    _tuned(duchi),
)
PIECEWISE = Baseline(
    "piecewise",
    "one number, reported near itself with high density",
    "@wang2019collecting",
    _tuned(piecewise),
)
HYBRID = Baseline(
    "hybrid",
    "the piecewise mechanism or that of Duchi et al., at random",
    "@wang2019collecting",
    _tuned(hybrid),
)
MEANS = (LAPLACE, DUCHI, PIECEWISE, HYBRID)
"""The mechanisms for one number."""
