"""Partitions of the domain: one is drawn, and the user's group is reported through an oracle or an encoding."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from stratagem.math.privacy import ratio
from stratagem.published.fourier import fourier
from stratagem.published.hadamard_response import hadamard_response
from stratagem.published.local_hashing import local_hashing
from stratagem.published.projective_geometry import LARGEST, projective_geometry_response
from stratagem.published.randomised_response import randomised_response
from stratagem.published.subset_design import subset_design
from stratagem.published.unary_encoding import optimised_unary_encoding, symmetric_unary_encoding
from stratagem.strategies.linear_protocol import LinearProtocol
from stratagem.strategies.strategy import Strategy
from stratagem.strategies.stratified_protocol import Partition, StratifiedProtocol
from stratagem.strategies.two_level import TwoLevelStrategy, pack

Oracle = Callable[[int, float], Strategy]
"""(number k of cells, epsilon) -> a strategy over the cells whose rows hold two probabilities of ratio E."""


DESIGNED = 64
"""Largest number of groups that are reported through a balanced design."""


def one_bit(cells: int, epsilon: float) -> Strategy:
    """Report one Hadamard coefficient of the cell: the Fourier mechanism with all frequencies alike."""
    if cells == 1:
        return randomised_response(1, epsilon)
    return fourier((cells,), epsilon, np.arange(1, 1 << (cells - 1).bit_length()))


@lru_cache(maxsize=256)
def designed(cells: int, epsilon: float) -> Strategy:
    """Report a block of a balanced design up to 64 cells, a point of a projective geometry above.

    That far a design of the best size is found at once and has at most 2,000 blocks or so; geometries lose
    about 1 % to them and are small. Hadamard response takes over where geometries are not tabulated.
    """
    if cells <= DESIGNED:
        return subset_design(cells, epsilon)
    return (projective_geometry_response if cells <= LARGEST else hadamard_response)(cells, epsilon)


ORACLES: Mapping[str, Oracle] = {
    "hadamard": hadamard_response,
    "randomised": randomised_response,
    "one-bit": one_bit,
    "design": designed,
}
"""Oracles by name: Hadamard response, randomised response, a Hadamard coefficient, a block of a design."""

TUNED: Mapping[str, Oracle] = {name: ORACLES[name] for name in ("randomised", "design")}
"""The oracles that comparisons try; with each number of cells one of the two is better than the others."""


def named_oracle(name: str) -> Oracle:
    """Return the oracle of that name."""
    if name not in ORACLES:
        raise ValueError(f"oracle is {name!r}: choose one of {', '.join(ORACLES)}")
    return ORACLES[name]


def partition_strategy(
    partitions: Sequence[np.ndarray], shares: np.ndarray, epsilon: float, oracle: str
) -> TwoLevelStrategy:
    """Draw a partition, report the user's group through an oracle over the groups.

    Args:
        partitions: partitions of the user types, each an array (n,) of groups 0..k-1.
        shares: probabilities of the partitions, summing to one.
        epsilon: the budget.
        oracle: a name from ORACLES.

    Guarantee:
        epsilon-LDP: the partition is drawn without a look at the value, and each row is one of an epsilon-LDP
        oracle, repeated over the members of a group.

    Raises:
        ValueError: for an unknown oracle or shares that do not sum to one.
    """
    patterns, theta = [], []
    for groups, share in zip(partitions, shares, strict=True):
        rows, lower = named_oracle(oracle)(int(groups.max()) + 1, epsilon).two_valued()
        patterns.append(pack(rows[:, groups]))
        theta.append(share * lower)
    return TwoLevelStrategy(
        np.concatenate(patterns), np.concatenate(theta), len(partitions[0]), ratio(epsilon)
    )


def strength(oracle: Strategy | LinearProtocol) -> float:
    """Return the mean eigenvalue of an oracle's information matrix over k cells, on vectors of sum zero.

    Of a strategy it is tr(M - 11^T/k)/(k - 1), where a row of lower value theta that is high on a share f
    of the cells adds c^2 theta f (1 - f)/(1 + c f), c = E - 1, to the trace. Of a protocol it is what gives
    its scores their mean variance: (k - 1) over the sum of E[s^T (I - 11^T/k) s] over the cells.
    """
    k = oracle.domain_size
    if k == 1:
        return 0.0
    if isinstance(oracle, LinearProtocol):
        return (k - 1) / float(oracle.second_moments(np.eye(k) - 1 / k).sum())
    rows, lower = oracle.two_valued()
    f = rows.mean(axis=1)
    c = math.exp(oracle.epsilon) - 1
    return c * float((lower * f * (1 - f) / (1 / c + f)).sum()) / (k - 1)


ENCODINGS: Mapping[str, Callable[[int, float], LinearProtocol]] = {
    "optimised": optimised_unary_encoding,
    "symmetric": symmetric_unary_encoding,
    "hashing": local_hashing,
}
"""Oracles by name: one bit for every cell, of least variance (OUE) or flipped alike (SUE), or a hash (OLH)."""


def partition_protocol(
    partitions: Sequence[np.ndarray], shares: np.ndarray, epsilon: float, encoding: str
) -> StratifiedProtocol:
    """Draw a partition, report the user's group through an encoding; least squares combines the groups.

    Args:
        partitions: partitions of the user types, each an array (n,) of groups 0..k-1.
        shares: probabilities of the partitions, summing to one.
        epsilon: the budget.
        encoding: a name from ENCODINGS.

    Guarantee:
        epsilon-LDP: the partition is drawn without a look at the value, and the encoding is epsilon-LDP.
    """
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding is {encoding!r}: choose one of {', '.join(ENCODINGS)}")
    oracle = ENCODINGS[encoding]
    drawn = (
        Partition(groups, oracle(int(groups.max()) + 1, epsilon), float(share))
        for groups, share in zip(partitions, shares, strict=True)
    )
    return StratifiedProtocol(tuple(drawn))
