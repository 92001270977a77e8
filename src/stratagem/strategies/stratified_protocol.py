"""Every user answers one of several coarser questions, and least squares puts the answers together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.linalg import PseudoInverse, centre, pseudo_inverse
from stratagem.strategies.linear_protocol import LinearProtocol, numbered, split_numbers
from stratagem.strategies.strategy import MatrixStrategy, check_counts, check_values, written_out
from stratagem.strategies.two_level import DENSE


@dataclass(frozen=True, eq=False)
class Partition:
    """A map of user types to groups, with the oracle through which a user reports the own group."""

    __repr__ = brief

    groups: np.ndarray
    """Group of every user type, (n,), integers below the oracle's domain size."""
    oracle: LinearProtocol
    """Oracle through which the group is reported."""
    probability: float
    """Share of users that answer this partition."""
    weight: float | None = None
    """Weight in the least squares; None for the inverse variance of a group's estimate."""


@final
@dataclass(frozen=True, eq=False)
class StratifiedProtocol(LinearProtocol):
    """A user draws partition l with probability p_l and reports the group of the own type through its oracle.

    With A_l (k_l x n) the groups of partition l and y_l = (1/p_l) sum of its oracle's scores, the estimate is

        argmin_x sum_l w_l ||y_l - A_l x||^2, of least norm where the partitions do not determine x,

    over all x, or with `total_known` over those that sum to the number N of reports; deviations are then
    measured from uniform users, so that how many happened to draw a partition adds no noise there. As a sum over
    reports: x_hat = sum o_l + R_l s_l with R_l = H^+ w_l A_l^T/p_l, H = sum_l w_l A_l^T A_l.
    The default weight of a partition is p_l over the mean square of its oracle's scores.

    Guarantee:
        The partition is drawn without looking at the type, so epsilon is at most the largest of the oracles'.

    Raises:
        ValueError: if there is no partition, groups are no integers below their oracle's domain size or their
            number differs between partitions, probabilities are not positive or do not sum to one within 1e-12,
            weights are not positive, or an oracle has `null_space` directions.

    Reference:
        Cormode, Kulkarni, Srivastava, SIGMOD 2018 and PVLDB 2019; Hay et al., PVLDB 2010 (consistency).

    Example:
        >>> import numpy as np
        >>> from stratagem.strategies import UnaryEncoding
        >>> leaves, halves = np.arange(4), np.arange(4) // 2
        >>> tree = StratifiedProtocol((Partition(leaves, UnaryEncoding(4, 0.5, 0.2), 0.5),
        ...               Partition(halves, UnaryEncoding(2, 0.5, 0.2), 0.5)))
        >>> tree.report
        '1 of 2 views, then at most 4 bits'
    """

    __repr__ = brief

    partitions: tuple[Partition, ...]
    total_known: bool = True
    """Whether the estimate sums to the number of reports."""

    def __post_init__(self) -> None:
        """Check and freeze the partitions."""
        if not self.partitions:
            raise ValueError("no partition was given to a stratified protocol: give at least one")
        frozen = tuple(_check(partition, np.size(self.partitions[0].groups)) for partition in self.partitions)
        total = sum(partition.probability for partition in frozen)
        if abs(total - 1) > 1e-12:
            raise ValueError(f"the probabilities of the partitions sum to {total!r}; they must sum to one")
        object.__setattr__(self, "partitions", frozen)

    @property
    def domain_size(self) -> int:
        return len(self.partitions[0].groups)

    @property
    def epsilon(self) -> float:
        """Upper bound on the privacy loss: the largest epsilon of an oracle.

        It need not be attained where a group of an oracle has no user types.
        """
        return max(partition.oracle.epsilon for partition in self.partitions)

    @property
    def delta(self) -> float:
        return max(partition.oracle.delta for partition in self.partitions)

    @property
    def report(self) -> str:
        largest = max(self.partitions, key=lambda partition: partition.oracle.domain_size)
        if len(self.partitions) == 1:
            return largest.oracle.report
        return f"1 of {len(self.partitions)} views, then at most {largest.oracle.report}"

    @property
    def null_space(self) -> np.ndarray:
        return self._inverse.null

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights w_l of the least squares, (L,)."""
        return np.array(
            [
                _inverse_noise(partition) if partition.weight is None else partition.weight
                for partition in self.partitions
            ]
        )

    @cached_property
    def _inverse(self) -> PseudoInverse:
        """Pseudo-inverse of H (n x n); with `total_known`, of C H C + a 11^T, a > 0, C = I - 11^T/n."""
        n = self.domain_size
        H = np.zeros((n, n))
        for partition, weight in zip(self.partitions, self.weights, strict=True):
            H += weight * (partition.groups[:, None] == partition.groups)
        if self.total_known:
            H = centre(H) + np.trace(H) / n**2
        return pseudo_inverse(H)

    @cached_property
    def _scores(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Offset o_l (n,) and matrix R_l (n x k_l) of every partition: a report in it scores o_l + R_l s_l."""
        n, scores = self.domain_size, []
        for partition, weight in zip(self.partitions, self.weights, strict=True):
            k = partition.oracle.domain_size
            members = (partition.groups[:, None] == np.arange(k)).astype(float)
            sums = members - members.mean(axis=0) if self.total_known else members
            R = self._inverse @ (weight / partition.probability * sums)
            offset = (1 - R @ members.sum(axis=0)) / n if self.total_known else np.zeros(n)
            scores.append((offset, R))
        return tuple(scores)

    def second_moments(self, B: np.ndarray) -> np.ndarray:
        """Return sum_l p_l E[(o_l + R_l s_l)^T B (o_l + R_l s_l) | group of u], (n,)."""
        moments = np.zeros(self.domain_size)
        for partition, (offset, R) in zip(self.partitions, self._scores, strict=True):
            BR = B @ R
            groups = partition.oracle.second_moments(R.T @ BR) + 2 * (offset @ BR) + offset @ B @ offset
            moments += partition.probability * groups[partition.groups]
        return moments

    def spread(self, x: np.ndarray) -> np.ndarray:
        """Return sum_l p_l (N o_l o_l^T + o_l (R_l A_l x)^T + (R_l A_l x) o_l^T + R_l S_l R_l^T), (n x n)."""
        x = np.asarray(x, dtype=float)
        spread = np.zeros((self.domain_size, self.domain_size))
        for partition, (offset, R) in zip(self.partitions, self._scores, strict=True):
            members = np.bincount(partition.groups, x, partition.oracle.domain_size)
            half = np.outer(offset, R @ members + x.sum() / 2 * offset)
            spread += partition.probability * (half + half.T + R @ partition.oracle.spread(members) @ R.T)
        return spread

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw reports as bytes (N, k): the number of the partition in four, its oracle's report, then zeros."""
        values = check_values(values, self.domain_size)
        drawn = rng.choice(len(self.partitions), len(values), p=self._probabilities)
        reports = np.zeros((len(values), max(map(_width, self.partitions))), dtype=np.uint8)
        for number, partition in enumerate(self.partitions):
            users = np.flatnonzero(drawn == number)
            inner = np.ascontiguousarray(partition.oracle.randomise(partition.groups[values[users]], rng))
            width = _width(partition)
            reports[users, :width] = inner.view(np.uint8).reshape(len(users), width)
        return numbered(drawn, reports)

    def collect(self, reports: np.ndarray) -> np.ndarray:
        width, many = max(map(_width, self.partitions)), len(self.partitions)
        drawn, inner = split_numbers(reports, width, many, "partition")
        totals = [np.array([len(drawn)])]
        for number, partition in enumerate(self.partitions):
            totals.append(partition.oracle.collect(_decode(partition, inner[drawn == number])))
        return np.concatenate(totals)

    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the totals (k,): a multinomial of every type over the partitions, then the oracles' totals."""
        x = check_counts(x, self.domain_size)
        users = rng.multinomial(x, self._probabilities)
        totals = [np.array([x.sum()])]
        for partition, chosen in zip(self.partitions, users.T, strict=True):
            members = np.zeros(partition.oracle.domain_size, dtype=np.int64)
            np.add.at(members, partition.groups, chosen)
            totals.append(partition.oracle.histogram(members, rng))
        return np.concatenate(totals)

    def reconstruct(self, totals: np.ndarray) -> np.ndarray:
        """Return sum_l N_l o_l + R_l sum s_l, the weighted least-squares estimate (n,)."""
        estimate, first = np.zeros(self.domain_size), 1
        for partition, length, (offset, R) in zip(self.partitions, self._lengths, self._scores, strict=True):
            own = totals[first : first + length]
            estimate += own[0] * offset + R @ partition.oracle.reconstruct(own)
            first += length
        return estimate

    def dense(self) -> MatrixStrategy:
        rows = [
            partition.probability * partition.oracle.dense().matrix[:, partition.groups]
            for partition in self.partitions
        ]
        count = sum(map(len, rows))
        if count * self.domain_size > DENSE:
            raise ValueError(f"these partitions have {count} reports, too many for a matrix")
        return written_out(np.vstack(rows))

    @cached_property
    def _lengths(self) -> list[int]:
        """Numbers of totals of the oracles, in the order of the partitions."""
        return [len(partition.oracle.collect(_example(partition))) for partition in self.partitions]

    @property
    def _probabilities(self) -> np.ndarray:
        """Probabilities of the partitions, summing to one as exactly as samplers ask for."""
        shares = np.array([partition.probability for partition in self.partitions])
        return shares / shares.sum()


def _check(partition: Partition, n: int) -> Partition:
    """Return a partition with its groups as frozen integers."""
    groups, k = np.array(partition.groups), partition.oracle.domain_size
    if groups.shape != (n,) or groups.dtype.kind not in "iu" or (groups < 0).any() or (groups >= k).any():
        raise ValueError(
            f"the groups of a partition need {n} integers from 0 to {k - 1}, one for every user type; "
            f"these have shape {groups.shape} and type {groups.dtype}"
        )
    if not 0 < partition.probability <= 1:
        raise ValueError(
            f"a partition has probability {partition.probability!r}: give a positive number up to 1"
        )
    if partition.weight is not None and not 0 < partition.weight < np.inf:
        raise ValueError(f"a partition has weight {partition.weight!r}: give a positive number, or none")
    if partition.oracle.null_space.shape[1]:
        raise ValueError(
            "a partition's oracle cannot tell its values apart: use one that sees every direction"
        )
    groups = groups.astype(np.int64)
    groups.flags.writeable = False
    return replace(partition, groups=groups)


def _inverse_noise(partition: Partition) -> float:
    """Return p over the mean square of the oracle's scores: one over the variance of a group's estimate."""
    k = partition.oracle.domain_size
    return partition.probability * k / float(partition.oracle.second_moments(np.eye(k)).mean())


def _example(partition: Partition) -> np.ndarray:
    """Return an empty array of reports of a partition's oracle, with the type and shape of real ones."""
    return partition.oracle.randomise(np.zeros(0, dtype=np.int64), np.random.default_rng(0))


def _width(partition: Partition) -> int:
    """Return the number of bytes of one report of a partition's oracle."""
    example = _example(partition)
    return example.dtype.itemsize * math.prod(example.shape[1:])


def _decode(partition: Partition, rows: np.ndarray) -> np.ndarray:
    """Return the oracle's reports that rows of bytes encode."""
    example, width = _example(partition), _width(partition)
    if rows[:, width:].any():
        raise ValueError("a report is longer than those of the partition that it names")
    inner = np.ascontiguousarray(rows[:, :width]).reshape(-1).view(example.dtype)
    return inner.reshape(len(rows), *example.shape[1:])
