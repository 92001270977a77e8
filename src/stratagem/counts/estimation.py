"""What outputs say: of one group the posterior of its count and what a consumer loses, of many groups unbiased sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Literal, get_args

import numpy as np

from stratagem.counts.closed import Geometric
from stratagem.counts.criteria import Aggregate, weights_of
from stratagem.counts.mechanism import MATRIX, CountMechanism, whole_counts
from stratagem.counts.optimum import CountDesign, design
from stratagem.counts.program import Engine
from stratagem.counts.remap import Remap, best_remap
from stratagem.estimation.answer import check_confidence, standard_errors_each_side


@dataclass(frozen=True, eq=False)
class Consumer:
    """Two ways to serve one consumer: a mechanism made for it, and the geometric one that serves everybody."""

    tailored: CountDesign
    """The private mechanism of least cost."""
    remapped: Remap
    """The geometric mechanism, post-processed as this consumer would."""

    @property
    def excess(self) -> float:
        """Relative excess of the remapped cost over the least possible cost, computed as the gap of a design is."""
        return self.tailored.excess(self.remapped.cost)

    def __str__(self) -> str:
        """Return two lines with the costs of both mechanisms."""
        return (
            f"made for this consumer: {self.tailored.loss} {self.tailored.cost:.6f}, "
            f"bound {self.tailored.bound:.6f}\n"
            f"geometric, remapped:    {self.tailored.loss} {self.remapped.cost:.6f}"
        )


def serve(
    size: int,
    alpha: float | str | Fraction | None = None,
    loss: str | Sequence | np.ndarray = "L0",
    prior: Sequence[float] | np.ndarray | None = None,
    *,
    epsilon: float | None = None,
    aggregate: Aggregate = "sum",
    solver: Engine = "HIGHS",
) -> Consumer:
    """Return the optimum for one consumer beside the geometric mechanism with the best post-processing.

    Universal optimality: for every prior over the counts and every loss that never falls as |i - j| grows,
    both cost the same, so one release of the geometric mechanism serves all consumers at their own optimum
    (losses that rise at different rates on both sides of the count showed no exception either).
    A minimax consumer (aggregate "max"), who knows only which counts are possible, needs random answers.

    The parameters are those of `design`; aggregate "sum" is the Bayesian consumer, "max" the minimax one.

    Raises:
        ValueError: for parameters out of range, or n > 512.
        RuntimeError: if the solver fails.

    Reference:
        Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", STOC 2009;
        Gupte, Sundararajan, "Universally optimal privacy mechanisms for minimax agents", PODS 2010.

    Example:
        >>> from stratagem import counts
        >>> consumer = counts.serve(4, "10/11", "L1", prior=[1, 4, 6, 4, 1])
        >>> consumer.excess < 1e-8
        True
    """
    found = design(size, alpha, loss, epsilon=epsilon, prior=prior, aggregate=aggregate, solver=solver)
    remapped = best_remap(
        Geometric(found.mechanism.size, found.mechanism.alpha), loss, prior, aggregate=aggregate
    )
    return Consumer(found, remapped)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The distribution of a group's count after its output is known."""

    probabilities: np.ndarray
    """Posterior probabilities of the counts 0..n, of shape (n+1,), with sum 1."""

    @property
    def mean(self) -> float:
        """The expected count, which has the least expected squared error."""
        return float(self.probabilities @ np.arange(len(self.probabilities)))

    @property
    def mode(self) -> int:
        """The likeliest count, the smallest of several."""
        return int(np.argmax(self.probabilities))


def posterior(
    mechanism: CountMechanism, output: int, prior: Sequence[float] | np.ndarray | None = None
) -> Posterior:
    """Return Pr[count j | output i] = w_j P[i, j] / sum_j' w_j' P[i, j'], by Bayes' rule; no matrix is made.

    Args:
        mechanism: What made the output.
        output: A whole number from 0 to n.
        prior: Weights w of the counts (n+1,) before the output is known; uniform by default.

    Raises:
        ValueError: for an output outside 0..n, a prior that is not n + 1 weights, or an output that no count
            of positive weight can have.

    Example:
        >>> from stratagem import counts
        >>> posterior(counts.geometric(8, 0.5), 3, [0, 0, 0, 0, 0, 1, 1, 0, 0]).mode
        5
    """
    weights = weights_of(prior, mechanism.size)
    with np.errstate(divide="ignore"):
        joint = np.log(weights) + mechanism.log_likelihood(output)
    if not np.isfinite(joint.max()):
        raise ValueError(
            f"output {output} cannot come from any count that the prior allows: give weight to other counts"
        )
    joint = np.exp(joint - joint.max())
    return Posterior(joint / joint.sum())


About = Literal["groups", "population"]
SINGULAR = 1e-10
"""Threshold below which a singular value (relative to the largest) or the mass of an output counts as zero."""
BIAS = 1e-9
"""Largest bias of an estimate, as a share of the largest value of its statistic."""


@dataclass(frozen=True, eq=False)
class CountEstimate:
    """Estimates of sums over groups: scalars for one statistic, arrays (q,) for q statistics."""

    values: np.ndarray
    standard_errors: np.ndarray
    """Standard errors estimated from the outputs. Their squares are unbiased, except that negative ones become 0."""
    groups: int
    """Number k of groups, which is the number of outputs."""
    confidence: float

    @property
    def low(self) -> np.ndarray:
        """Lower ends of the confidence intervals, (k,): normal approximations, each valid alone."""
        return self.values - self._margins

    @property
    def high(self) -> np.ndarray:
        """Upper ends of the intervals, (k,)."""
        return self.values + self._margins

    @property
    def _margins(self) -> np.ndarray:
        return standard_errors_each_side(self.confidence) * self.standard_errors


def estimate(
    mechanism: CountMechanism,
    outputs: Sequence[int] | np.ndarray,
    statistic: str | Sequence | np.ndarray = "total",
    *,
    confidence: float = 0.95,
    about: About = "groups",
) -> CountEstimate:
    """Return an unbiased estimate of sum_t f(c_t) over the counts c_t of k groups, from their outputs (k,).

    With g of `unbiased_weights`, it is sum_t g(o_t). Its variance about these groups, sum_t v(c_t) with
    v(j) = sum_i g_i^2 P[i, j] - f_j^2, is estimated without bias by sum_t (g^2 - s)(o_t), s the weights of
    f^2; about the population that the groups were drawn from, by k times the sample variance of g(o_t).

    Args:
        mechanism: What made the outputs, one a group, each independent.
        outputs: Whole numbers from 0 to n (k,).
        statistic: "total" (f_j = j), "mean" (the same divided by k), "histogram" (how many groups have each
            count), or the values f (n+1,) or (q, n+1).
        confidence: Of each interval.
        about: `groups` for these groups; `population` for the one that they are a random sample of, scaled
            to k groups. The latter is on the safe side for these groups too.

    Raises:
        ValueError: for outputs outside 0..n, none at all, an unknown statistic, or one that the outputs do
            not determine (the uniform mechanism's say nothing), or whose error they do not.

    Example:
        >>> from stratagem import counts
        >>> found = counts.estimate(counts.geometric(8, 0.5), [3, 5, 8, 0])
        >>> float(found.values), round(float(found.standard_errors), 3)
        (16.0, 3.464)
    """
    tally = _tally(outputs, mechanism.size)
    check_confidence(confidence)
    if about not in get_args(About):
        raise ValueError(f"about is {about!r}: choose groups or population")
    f, groups = _statistic(statistic, mechanism.size), int(tally.sum())
    g = _weights(mechanism, f)
    values = g @ tally
    variances = _variances(mechanism, f, g, tally, about)
    errors = np.sqrt(np.maximum(variances, 0))
    scale = groups if str(statistic) == "mean" else 1
    return CountEstimate(values / scale, errors / scale, groups, confidence)


def _variances(
    mechanism: CountMechanism, f: np.ndarray, g: np.ndarray, tally: np.ndarray, about: About
) -> np.ndarray:
    """Return the variances about these groups, or about the population: k times the sample variance of g."""
    if about == "groups":
        return (g**2 - _square_weights(mechanism, f)) @ tally
    if (groups := int(tally.sum())) == 1:
        raise ValueError('one group says nothing about the spread of a population: choose about="groups"')
    return (g - (g @ tally)[..., None] / groups) ** 2 @ tally * (groups / (groups - 1))


def unbiased_weights(mechanism: CountMechanism, statistic: str | Sequence | np.ndarray) -> np.ndarray:
    """Return g with sum_i g_i P[i, j] = f_j for all counts j; f, as for `estimate`, and g are (n+1,) or (q, n+1).

    For the geometric mechanism g_i = f_i - a/(1 - a)^2 (f_(i-1) - 2 f_i + f_(i+1)), at the edges
    g_0 = f_0 - a/(1 - a) (f_1 - f_0) and g_n alike: no matrix is made. Else of all g, where there are several,
    the one whose variance is least on average over the counts.

    Raises:
        ValueError: if there is no such g up to rounding, that is, f is no combination of the rows of P; if that
            takes a matrix and n > 4096; or for an unknown statistic.
    """
    return _weights(mechanism, _statistic(statistic, mechanism.size))


@singledispatch
def _weights(mechanism: CountMechanism, f: np.ndarray) -> np.ndarray:
    """Return the weights of values f by least squares."""
    P = mechanism.matrix
    mass = P.sum(axis=1)
    scale = np.where(mass > SINGULAR, np.maximum(mass, SINGULAR) ** -0.5, 0.0)
    g = np.linalg.lstsq(scale * P.T, f.T, rcond=SINGULAR)[0].T * scale
    if np.abs(g @ P - f).max() > BIAS * np.abs(f).max():
        raise ValueError(
            f"no unbiased estimate of this exists for the {mechanism.name} mechanism, whose outputs do not "
            "determine it: take the posterior under a prior instead"
        )
    return g


@_weights.register
def _(mechanism: Geometric, f: np.ndarray) -> np.ndarray:
    a, still = float(mechanism.alpha), float(1 - mechanism.alpha)
    slope = np.diff(f, axis=-1)
    inner = -np.diff(slope, axis=-1) / still
    return f + a / still * np.concatenate([-slope[..., :1], inner, slope[..., -1:]], axis=-1)


def _square_weights(mechanism: CountMechanism, f: np.ndarray) -> np.ndarray:
    """Return the unbiased weights of f^2."""
    try:
        return _weights(mechanism, f**2)
    except ValueError:
        raise ValueError(
            f"the outputs of the {mechanism.name} mechanism determine the estimate, but not its error about these "
            'groups: choose about="population", which is on the safe side'
        ) from None


def _statistic(statistic: str | Sequence | np.ndarray, n: int) -> np.ndarray:
    """Return the values f of a statistic (n+1,) or (q, n+1)."""
    if isinstance(statistic, str):
        if statistic in ("total", "mean"):
            return np.arange(n + 1, dtype=float)
        if statistic != "histogram":
            raise ValueError(f"statistic is {statistic!r}: choose total, mean, histogram, or give values")
        if n > MATRIX:
            raise ValueError(
                f"the histogram of counts 0 to {n} would need a huge matrix: give values instead"
            )
        return np.eye(n + 1)
    try:
        f = np.array(statistic, dtype=float)
    except (TypeError, ValueError):
        f = np.empty(0)
    if f.ndim not in (1, 2) or f.shape[-1] != n + 1 or not f.size or not np.isfinite(f).all():
        raise ValueError(f"the statistic must have a finite value for each of the counts 0 to {n}")
    return f


def _tally(outputs: Sequence[int] | np.ndarray, n: int) -> np.ndarray:
    """Return how often each output occurs (n+1,)."""
    found = whole_counts(outputs, n, "outputs")
    if not len(found):
        raise ValueError("no outputs were given: give the output of at least one group")
    return np.bincount(found, minlength=n + 1)
