"""Post-processing by name: data vectors that can exist, at the price of a bias."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from stratagem.estimation.marginal_table import ripple
from stratagem.estimation.working_set import (
    CELLS,
    EVERY,
    UNORDERED,
    Fit,
    most_likely,
    most_plausible,
    nearest_on_simplex,
    sparse_minimum,
)
from stratagem.estimators.estimator import ROUNDING, Evidence
from stratagem.io.toml import nearest
from stratagem.math.linalg import factor, pseudo_inverse
from stratagem.workloads import Workload, histogram

MAX_STEPS = 200
"""Newton steps at most; some tens suffice."""
SUFFICIENT = 1e-4
"""Share of the predicted decrease that a step must reach."""
RIDGE = 1e-14
"""Added to the Hessian, as a share of its trace: answers may repeat each other."""


def largest_entropy(A: np.ndarray, z: np.ndarray, tolerance: float) -> np.ndarray:
    """Return argmax -sum_u t_u log t_u subject to A t = A z, t >= 0, sum t = 1.

    A (p x n) holds the queries, z (n,) a point of the simplex that answers them; rows may be dependent. The dual
    is unconstrained and convex: t_u = exp(lambda^T a_u) / Z with lambda = argmin log Z - lambda^T A z, found by
    Newton's method with the Hessian A (diag t - t t^T) A^T. A t of this form has the largest entropy of all data
    vectors with its own answers, exactly; they are within ||A t - A z||_2 <= `tolerance` of those asked for.
    """
    wanted, multiplier = A @ z, np.zeros(len(A))
    t, value = _primal(A, multiplier, wanted)
    for _ in range(MAX_STEPS):
        missing = A @ t - wanted
        if np.linalg.norm(missing) <= tolerance:
            break
        step = _newton(A, t, missing)
        length, slope = 1.0, float(missing @ step)
        while length > 1e-10:
            after, lower = _primal(A, multiplier + length * step, wanted)
            if lower <= value + SUFFICIENT * length * slope:
                break
            length /= 2
        else:
            break
        multiplier, t, value = multiplier + length * step, after, lower
    return t


def _primal(A: np.ndarray, multiplier: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, float]:
    """Return t (n,) of a multiplier (p,), and the dual value log Z - lambda^T A z."""
    exponent = multiplier @ A
    largest = exponent.max()
    t = np.exp(exponent - largest)
    total = t.sum()
    return t / total, float(largest + np.log(total) - multiplier @ wanted)


def _newton(A: np.ndarray, t: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return -(A (diag t - t t^T) A^T + ridge)^-1 missing (p,)."""
    seen = A - (A @ t)[:, None]
    hessian = (seen * t) @ seen.T
    hessian[np.diag_indices_from(hessian)] += RIDGE * np.trace(hessian) + np.finfo(float).tiny
    return -cho_solve(cho_factor(hessian, lower=True, check_finite=False), missing, check_finite=False)


SURVIVORS = 2.0
"""Empty cells that base-cut keeps by mistake, on average."""
CLOSE = 1e-4
"""Distance of workload non-negative least squares from its exact answer, in total standard errors."""

UNKNOWN = 1e-8
"""Share of queries outside the span of others up to which they are determined by these."""

PAID = 1e-6
"""Largest negative amount that ripple leaves in a cell, as a share of an average cell."""

RECOMMENDED = "recommended"
"""Name by which the method that `recommended` chooses is asked for."""

Process = Callable[[Evidence, Workload], np.ndarray | None]


@dataclass(frozen=True)
class Method:
    """A post-processing method: a function from a evidence to a data vector (n,), and its bias.

    A function that returns None leaves the unbiased answers as they are.
    """

    name: str
    unbiased: bool
    """Whether the expectation of every answer is the true one."""
    bias: str
    """Sentence on whether and how the answers are biased; begins with `unbiased` or `biased`."""
    reference: str
    process: Process
    fits: Fit = EVERY
    """Queries that the method was made for; for others, answers can be tens of times farther from the truth than
    the unbiased ones."""

    @property
    def listed(self) -> bool:
        """Whether the method needs the probabilities of every report, as ibu."""
        return self.process is _ibu

    @property
    def agrees(self) -> bool:
        """Whether tables with attributes in common are post-processed together, so that they agree (see `agreeing`)."""
        return self.process is _wnnls

    def processed(self, evidence: Evidence, workload: Workload) -> np.ndarray | None:
        """Return the data vector (n,) for these queries."""
        if not self.fits.holds(workload):
            raise ValueError(
                f"{self.name} was asked for, but fits {self.fits.queries}, and makes other answers worse: "
                f"use {recommended(evidence).name}, which is recommended here"
            )
        return self.process(evidence, workload)


def answered_by(base: Workload, asked: Workload) -> bool:
    """Return whether a data vector that was made for some queries is that for others too, so that all fit together.

    They must be determined by the first and the number of users. Prefixes and ranges add up many cells: where these
    were processed as cells that know no order, sums of them are off by more than the unbiased ones.
    """
    if base.domain.sizes != asked.domain.sizes:
        return False
    inner = (margin.workload.unweighted[1].unpadded for margin in asked.margins())
    if UNORDERED.holds(base) and any(one.in_order and one.range_lengths is not None for one in inner):
        return False
    known = np.column_stack([factor(base.gram()), np.ones(base.domain_size)])
    z = np.random.default_rng(0).standard_normal(base.domain_size)
    unknown = z - known @ np.linalg.lstsq(known, z)[0]
    missed = float(np.linalg.norm(asked.answer(unknown)))
    return missed <= UNKNOWN * math.sqrt(asked.frobenius_squared) * float(np.linalg.norm(z))


def named(name: str) -> Method:
    """Return the post-processing method of that name; `recommended` stands for wnnls here.

    The choice of the function `recommended` depends on the evidence, which a name alone does not give.
    """
    known = METHODS | {RECOMMENDED: METHODS["wnnls"]}
    if name not in known:
        raise ValueError(f"{name!r} was given as post-processing, but is not known: {nearest(name, known)}")
    return known[name]


def recommended(evidence: Evidence) -> Method:
    """Return the post-processing whose answers are never farther from the truth than the unbiased ones.

    That is wnnls: it projects the answers onto those of data vectors, a convex set that holds the true ones. On
    domains with too many cells for it answers stay unbiased.
    """
    return METHODS["wnnls" if evidence.by_cell else "unbiased"]


def _unbiased(evidence: Evidence, workload: Workload) -> None:
    """Return None: the unbiased answers stay as they are."""


def _base_pos(evidence: Evidence, workload: Workload) -> np.ndarray:
    """Return max(x_hat, 0)."""
    return np.maximum(evidence.data, 0.0)


def _base_cut(evidence: Evidence, workload: Workload) -> np.ndarray:
    """Return the cells of x_hat that are at least Phi^-1(1 - 2/n) standard errors, and zero for the others."""
    from scipy.special import ndtri

    x = evidence.data
    errors = np.sqrt(evidence.variances(histogram(workload.domain)))
    threshold = ndtri(max(0.5, 1 - SURVIVORS / len(x))) * errors
    return np.where(x >= np.maximum(threshold, 0.0), x, 0.0)


def _norm_cut(evidence: Evidence, workload: Workload) -> np.ndarray:
    """Return the largest cells of x_hat up to a sum of N, the last one cut to fit, and zero for the others."""
    x = np.maximum(evidence.data, 0.0)
    order = np.argsort(-x, kind="stable")
    before = np.cumsum(x[order]) - x[order]
    kept = np.zeros_like(x)
    kept[order] = np.clip(evidence.users - before, 0.0, x[order])
    return kept


def _norm_sub(evidence: Evidence, workload: Workload) -> np.ndarray:
    """Return max(x_hat + delta, 0) with delta such that its sum is N: the nearest point of the simplex."""
    return nearest_on_simplex(evidence.data, evidence.users)


def _wnnls(evidence: Evidence, workload: Workload) -> np.ndarray:
    """Return argmin ||W (x - x_hat)||_2 subject to x >= 0, sum x = N.

    The answers are within 1e-4 of the root of their total variance of the exact minimiser's:
    ||W (x - x*)||^2 <= 2 (f(x) - f(x*)) for f = ||W (x - x_hat)||^2 / 2, and the duality gap bounds that;
    from some 10^11 users double precision allows 1e-2.
    """
    _check_cells(evidence, "wnnls")
    N, V = evidence.users, workload.gram()
    gap = 0.5 * tolerance(evidence, workload) ** 2
    return N * sparse_minimum(V, evidence.data / N, np.zeros(len(V)), gap)


def tolerance(evidence: Evidence, workload: Workload) -> float:
    """Return 1e-4 of the root of the answers' total variance, at least what rounding takes, as a share of N."""
    N = evidence.users
    least = ROUNDING * N * workload.frobenius_squared
    return CLOSE * math.sqrt(max(evidence.total_variance(workload), least)) / N


def _maximum_entropy(evidence: Evidence, workload: Workload) -> np.ndarray:
    """Return the x of largest entropy among those with the answers of wnnls, W x = W x_wnnls.

    It is as even as the answers allow: cells with the same weight in every query are equal, and attributes that
    no query combines are independent. Its answers are within 1e-4 of the root of their total variance of those of
    wnnls. Where the answers determine every cell it is wnnls.
    """
    _check_cells(evidence, "maximum-entropy")
    nearest, N, A = _wnnls(evidence, workload), evidence.users, _independent(workload)
    if len(A) == len(nearest):
        return nearest
    return N * largest_entropy(A, nearest / N, tolerance(evidence, workload))


def _independent(workload: Workload) -> np.ndarray:
    """Return queries A (r x n) with A^T A = V, r the rank of the workload."""
    if workload.queries >= workload.domain_size:
        return factor(workload.gram()).T
    W = workload.matrix()
    return pseudo_inverse(W @ W.T).vectors.T @ W


def _ripple(evidence: Evidence, workload: Workload) -> np.ndarray:
    """Return x_hat without negative cells: each takes its debt from the cells that differ in one attribute.

    That is repeated until no debt is left. Before, every cell gets an equal part of N - sum x_hat.
    """
    x, N = evidence.data, evidence.users
    paid = ripple((x + (N - x.sum()) / len(x)).reshape(workload.domain.sizes), PAID * N / len(x))
    return nearest_on_simplex(paid.ravel(), N)


def _ibu(evidence: Evidence, workload: Workload) -> np.ndarray:
    """Return the most likely data vector, the limit of iterative Bayesian updates."""
    if evidence.listed is None:
        raise ValueError(
            "ibu was asked for, but needs counts of every output, and this protocol has too many: use wnnls"
        )
    return evidence.users * most_likely(*evidence.listed)


def _shrinkage(evidence: Evidence, workload: Workload) -> np.ndarray:
    """Return the most plausible data vector beside a prior around even shares (see `most_plausible`)."""
    _check_cells(evidence, "shrinkage")
    N, ordered = evidence.users, workload.in_order and len(workload.domain.sizes) == 1
    return N * most_plausible(evidence.data / N, N, evidence.noise, evidence.shares, ordered=ordered)


def _check_cells(evidence: Evidence, name: str) -> None:
    if not evidence.by_cell:
        raise ValueError(
            f"{name} was asked for, but needs the covariance of all cells, and this domain has too many: use norm-sub, "
            "or consistent tables of a few attributes"
        )


CONSISTENCY = "@wang2020locally"
NEAREST = "biased: small cells upwards, large ones downwards; never farther from a data vector than the unbiased one"
METHODS = {
    each.name: each
    for each in (
        Method(
            "unbiased",
            True,
            "unbiased: the expectation of every answer is the true one",
            "@mckenna2020workload, Theorem 3.10",
            _unbiased,
        ),
        Method(
            "base-pos",
            False,
            "biased upwards: no cell is expected below its truth, and the cells sum to more than all people",
            CONSISTENCY,
            _base_pos,
            CELLS,
        ),
        Method(
            "base-cut",
            False,
            "biased: cells within the noise become zero, so rare ones are lost; the sum is free",
            CONSISTENCY,
            _base_cut,
            CELLS,
        ),
        Method(
            "norm-cut",
            False,
            "biased: small cells downwards to zero, so that the largest hold all people",
            f"{CONSISTENCY} (called Base-Cut elsewhere)",
            _norm_cut,
            CELLS,
        ),
        Method("norm-sub", False, NEAREST, CONSISTENCY, _norm_sub, CELLS),
        Method(
            "simplex",
            False,
            NEAREST,
            "@held1974validation; the same data vector as norm-sub",
            _norm_sub,
            CELLS,
        ),
        Method(
            "wnnls",
            False,
            "biased: adjusted so that they are possible together (no negative counts, parts add up to the whole); all "
            "in all never farther from the truth than the unbiased ones, but single answers lean a little to one side",
            "@mckenna2020workload, section 6.6 and appendix A",
            _wnnls,
        ),
        Method(
            "maximum-entropy",
            False,
            "biased: the answers are those of wnnls; what no query asked is as even as they allow",
            "@qardaji2014priview",
            _maximum_entropy,
        ),
        Method(
            "ripple",
            False,
            "biased: rare cells upwards, at the cost of cells that differ from them in one attribute",
            "@qardaji2014priview",
            _ripple,
            CELLS,
        ),
        Method(
            "ibu",
            False,
            "biased for few people, consistent for many: maximum likelihood",
            "@agrawal2001design",
            _ibu,
            UNORDERED,
        ),
        Method(
            "shrinkage",
            False,
            "biased: towards even shares, and of ordered values towards their neighbours', as far as few reports tell "
            "little; without effect for many",
            "@efron1973stein",
            _shrinkage,
        ),
    )
}
"""Post-processing methods by name. Hierarchical and marginal consistency need no method: the answers of every
data vector are consistent."""
