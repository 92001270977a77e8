"""Every user answers one of several coarser questions, and least squares puts the answers together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from stratagem.numeric.linalg import PseudoInverse, centre, pseudo_inverse
from stratagem.screen import brief
from stratagem.strategies.matrix import MatrixStrategy, check_counts, check_values, written_out
from stratagem.strategies.protocol import Protocol
from stratagem.strategies.two_level import DENSE

NUMBER = np.dtype("<u4")
"""How a report names its view."""


@dataclass(frozen=True, eq=False)
class View:
    """A coarser question: which group a user's type falls into, asked through an oracle."""

    __repr__ = brief

    groups: np.ndarray
    """Group of every user type, (n,), integers below the oracle's domain size."""
    oracle: Protocol
    """What the group is reported through."""
    probability: float
    """Share of users that answer this view."""
    weight: float | None = None
    """Weight in the least squares; None for the inverse variance of a group's estimate."""


@final
@dataclass(frozen=True, eq=False)
class Views(Protocol):
    """A user draws view l with probability p_l and reports the group of the own type through its oracle.

    With A_l (k_l x n) the groups of view l and y_l = (1/p_l) sum of its oracle's scores, the estimate is

        argmin_x sum_l w_l ||y_l - A_l x||^2, of least norm where views leave directions unseen,

    over all x, or with `total_known` over those that sum to the number N of reports; deviations are then
    measured from uniform users, so that how many happened to draw a view adds no noise there. As a sum over
    reports: x_hat = sum o_l + R_l s_l with R_l = H^+ w_l A_l^T/p_l, H = sum_l w_l A_l^T A_l.
    The default weight of a view is p_l over the mean square of its oracle's scores.

    Guarantee:
        The view is drawn without looking at the type, so epsilon is at most the largest of the oracles'.

    Raises:
        ValueError: if there is no view, groups are no integers below their oracle's domain size or their
            number differs between views, probabilities are not positive or do not sum to one within 1e-12,
            weights are not positive, or an oracle cannot tell its values apart.

    Reference:
        Cormode, Kulkarni, Srivastava, SIGMOD 2018 and PVLDB 2019; Hay et al., PVLDB 2010 (consistency).

    Example:
        >>> import numpy as np
        >>> from stratagem.strategies import UnaryEncoding
        >>> leaves, halves = np.arange(4), np.arange(4) // 2
        >>> tree = Views((View(leaves, UnaryEncoding(4, 0.5, 0.2), 0.5),
        ...               View(halves, UnaryEncoding(2, 0.5, 0.2), 0.5)))
        >>> tree.report
        '1 of 2 views, then at most 4 bits'
    """

    __repr__ = brief

    views: tuple[View, ...]
    total_known: bool = True
    """Whether the estimate sums to the number of reports."""

    def __post_init__(self) -> None:
        """Check and freeze the views."""
        if not self.views:
            raise ValueError("Views needs at least one view.")
        frozen = tuple(_check(view, np.size(self.views[0].groups)) for view in self.views)
        total = sum(view.probability for view in frozen)
        if abs(total - 1) > 1e-12:
            raise ValueError(f"The probabilities of the views sum to {total!r}; they must sum to one.")
        object.__setattr__(self, "views", frozen)

    @property
    def domain_size(self) -> int:
        """Number n of user types."""
        return len(self.views[0].groups)

    @property
    def epsilon(self) -> float:
        """An upper bound: the largest of the oracles', of which some groups may have no types."""
        return max(view.oracle.epsilon for view in self.views)

    @property
    def delta(self) -> float:
        """The largest delta of an oracle."""
        return max(view.oracle.delta for view in self.views)

    @property
    def report(self) -> str:
        """What one user sends."""
        largest = max(self.views, key=lambda view: view.oracle.domain_size)
        if len(self.views) == 1:
            return largest.oracle.report
        return f"1 of {len(self.views)} views, then at most {largest.oracle.report}"

    @property
    def unseen(self) -> np.ndarray:
        """Directions that no view tells apart (n x r)."""
        return self._inverse.null

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights w_l of the least squares, (L,)."""
        return np.array([_inverse_noise(view) if view.weight is None else view.weight for view in self.views])

    @cached_property
    def _inverse(self) -> PseudoInverse:
        """H^+, with `total_known` of H between vectors that sum to zero, 1 an eigenvector of its own."""
        n = self.domain_size
        H = np.zeros((n, n))
        for view, weight in zip(self.views, self.weights, strict=True):
            H += weight * (view.groups[:, None] == view.groups)
        if self.total_known:
            H = centre(H) + np.trace(H) / n**2
        return pseudo_inverse(H)

    @cached_property
    def _scores(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """Offset o_l (n,) and matrix R_l (n x k_l) of every view: a report in it scores o_l + R_l s_l."""
        n, scores = self.domain_size, []
        for view, weight in zip(self.views, self.weights, strict=True):
            k = view.oracle.domain_size
            members = (view.groups[:, None] == np.arange(k)).astype(float)
            sums = members - members.mean(axis=0) if self.total_known else members
            R = self._inverse @ (weight / view.probability * sums)
            offset = (1 - R @ members.sum(axis=0)) / n if self.total_known else np.zeros(n)
            scores.append((offset, R))
        return tuple(scores)

    def second_moments(self, B: np.ndarray) -> np.ndarray:
        """Return sum_l p_l E[(o_l + R_l s_l)^T B (o_l + R_l s_l) | group of u], (n,)."""
        moments = np.zeros(self.domain_size)
        for view, (offset, R) in zip(self.views, self._scores, strict=True):
            BR = B @ R
            groups = view.oracle.second_moments(R.T @ BR) + 2 * (offset @ BR) + offset @ B @ offset
            moments += view.probability * groups[view.groups]
        return moments

    def spread(self, x: np.ndarray) -> np.ndarray:
        """Return sum_l p_l (N o_l o_l^T + o_l (R_l A_l x)^T + (R_l A_l x) o_l^T + R_l S_l R_l^T), (n x n)."""
        x = np.asarray(x, dtype=float)
        spread = np.zeros((self.domain_size, self.domain_size))
        for view, (offset, R) in zip(self.views, self._scores, strict=True):
            members = np.bincount(view.groups, x, view.oracle.domain_size)
            half = np.outer(offset, R @ members + x.sum() / 2 * offset)
            spread += view.probability * (half + half.T + R @ view.oracle.spread(members) @ R.T)
        return spread

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw reports as bytes: the number of the view in four, then its oracle's report, then zeros."""
        values = check_values(values, self.domain_size)
        drawn = rng.choice(len(self.views), len(values), p=self._probabilities)
        reports = np.zeros((len(values), NUMBER.itemsize + max(map(_width, self.views))), dtype=np.uint8)
        reports[:, : NUMBER.itemsize] = drawn.astype(NUMBER)[:, None].view(np.uint8)
        for number, view in enumerate(self.views):
            users = np.flatnonzero(drawn == number)
            inner = np.ascontiguousarray(view.oracle.randomise(view.groups[values[users]], rng))
            stop = NUMBER.itemsize + _width(view)
            reports[users, NUMBER.itemsize : stop] = inner.view(np.uint8).reshape(len(users), _width(view))
        return reports

    def collect(self, reports: np.ndarray) -> np.ndarray:
        """Return the number of reports, then the totals of every view's oracle."""
        reports = np.ascontiguousarray(reports)
        width = NUMBER.itemsize + max(map(_width, self.views))
        if reports.dtype != np.uint8 or reports.ndim != 2 or reports.shape[1] != width:
            raise ValueError(
                f"Reports on these views are rows of {width} bytes; these have shape {reports.shape} "
                f"and type {reports.dtype}."
            )
        drawn = np.ascontiguousarray(reports[:, : NUMBER.itemsize]).view(NUMBER)[:, 0]
        if (drawn >= len(self.views)).any():
            raise ValueError(f"A report names view {drawn.max()}, but there are {len(self.views)}.")
        totals = [np.array([len(reports)])]
        for number, view in enumerate(self.views):
            totals.append(view.oracle.collect(_decode(view, reports[drawn == number, NUMBER.itemsize :])))
        return np.concatenate(totals)

    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the totals: a multinomial of every type over the views, then every oracle's own."""
        x = check_counts(x, self.domain_size)
        users = rng.multinomial(x, self._probabilities)
        totals = [np.array([x.sum()])]
        for view, chosen in zip(self.views, users.T, strict=True):
            members = np.zeros(view.oracle.domain_size, dtype=np.int64)
            np.add.at(members, view.groups, chosen)
            totals.append(view.oracle.histogram(members, rng))
        return np.concatenate(totals)

    def reconstruct(self, totals: np.ndarray) -> np.ndarray:
        """Return sum_l N_l o_l + R_l sum s_l, the weighted least-squares estimate (n,)."""
        estimate, first = np.zeros(self.domain_size), 1
        for view, length, (offset, R) in zip(self.views, self._lengths, self._scores, strict=True):
            own = totals[first : first + length]
            estimate += own[0] * offset + R @ view.oracle.reconstruct(own)
            first += length
        return estimate

    def dense(self) -> MatrixStrategy:
        """Return the oracles' matrices, each with the probability of its view, one below the other.

        Raises:
            ValueError: if an oracle has too many reports for a matrix, or all together have, or a probability
                underflows.
        """
        rows = [view.probability * view.oracle.dense().matrix[:, view.groups] for view in self.views]
        count = sum(map(len, rows))
        if count * self.domain_size > DENSE:
            raise ValueError(f"These views have {count} reports, too many for a matrix.")
        return written_out(np.vstack(rows))

    @cached_property
    def _lengths(self) -> list[int]:
        """How many totals every view's oracle has."""
        return [len(view.oracle.collect(_example(view))) for view in self.views]

    @property
    def _probabilities(self) -> np.ndarray:
        """Probabilities of the views, summing to one as exactly as samplers ask for."""
        shares = np.array([view.probability for view in self.views])
        return shares / shares.sum()


def _check(view: View, n: int) -> View:
    """Return a view with its groups as frozen integers."""
    groups, k = np.array(view.groups), view.oracle.domain_size
    if groups.shape != (n,) or groups.dtype.kind not in "iu" or (groups < 0).any() or (groups >= k).any():
        raise ValueError(
            f"The groups of a view need {n} integers from 0 to {k - 1}, one for every user type; "
            f"these have shape {groups.shape} and type {groups.dtype}."
        )
    if not 0 < view.probability <= 1:
        raise ValueError(f"A view has probability {view.probability!r}; give a positive number up to 1.")
    if view.weight is not None and not 0 < view.weight < np.inf:
        raise ValueError(f"A view has weight {view.weight!r}; give a positive number, or none.")
    if view.oracle.unseen.shape[1]:
        raise ValueError("A view's oracle cannot tell its values apart; use one that sees every direction.")
    groups = groups.astype(np.int64)
    groups.flags.writeable = False
    return replace(view, groups=groups)


def _inverse_noise(view: View) -> float:
    """Return p over the mean square of the oracle's scores: one over the variance of a group's estimate."""
    k = view.oracle.domain_size
    return view.probability * k / float(view.oracle.second_moments(np.eye(k)).mean())


def _example(view: View) -> np.ndarray:
    """Return no reports of a view's oracle, whose type and shape are those of any number."""
    return view.oracle.randomise(np.zeros(0, dtype=np.int64), np.random.default_rng(0))


def _width(view: View) -> int:
    """Return the bytes of one report of a view's oracle."""
    example = _example(view)
    return example.dtype.itemsize * math.prod(example.shape[1:])


def _decode(view: View, rows: np.ndarray) -> np.ndarray:
    """Return the oracle's reports behind rows of bytes.

    Raises:
        ValueError: if a report is longer than the oracle's.
    """
    example, width = _example(view), _width(view)
    if rows[:, width:].any():
        raise ValueError("A report is longer than those of the view that it names.")
    inner = np.ascontiguousarray(rows[:, :width]).reshape(-1).view(example.dtype)
    return inner.reshape(len(rows), *example.shape[1:])
