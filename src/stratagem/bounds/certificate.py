"""A dual certificate (G, lambda) made safe: whatever it came from, the number is a lower bound."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from stratagem.bounds.allowance import root_trace
from stratagem.bounds.branch import Worst, worst
from stratagem.bounds.slack import Slack
from stratagem.numeric.linalg import factor


@dataclass(frozen=True, eq=False)
class Certificate:
    """G = B B^T with lambda, V = F F^T.

    If f(T) = (lambda^T s)(h^T s) - s^T G s >= 0 for all patterns, h = n p, then for every strategy
    M = sum_y theta_y s_y s_y^T/(h^T s_y) the constraint M h = 1 gives tr(G M) <= 1^T lambda, and
    tr(M^-1 V) tr(G M) >= ||F^T B||_*^2 by Cauchy-Schwarz, so L(Q) >= ||F^T B||_*^2 / 1^T lambda.
    If f(T) >= -delta (1^T s)(h^T s), lambda + delta 1 satisfies it.
    """

    F: np.ndarray
    """Factor of the workload's Gram matrix (n x r)."""
    B: np.ndarray
    """(n x k)"""
    multiplier: np.ndarray
    """lambda (n,)"""
    E: float
    prior: np.ndarray | None = None
    """p (n,), None for 1/n."""
    ulps: float = 0.0
    """Relative error of V = F F^T before it was factored (see `allowance.ulps`)."""

    @classmethod
    def of(
        cls,
        V: np.ndarray,
        information: np.ndarray,
        multiplier: np.ndarray,
        E: float,
        prior: np.ndarray | None = None,
        ulps: float = 0.0,
    ) -> Certificate:
        """Return the certificate with B = M^-1 F, for any positive definite M and any lambda."""
        F = factor(V)
        return cls(F, np.linalg.solve(information, F), multiplier, E, prior, ulps)

    @cached_property
    def nuclear(self) -> float:
        """||F^T B||_* from below: B^T V B, whose eigenvalues are the squares, is off by ||V|| ||B||^2 ulps."""
        ulps = self.ulps + 8 * len(self.F) * float(np.finfo(float).eps)
        error = ulps * float(np.square(self.F).sum() * np.square(self.B).sum())
        return root_trace(np.square(np.linalg.svd(self.F.T @ self.B, compute_uv=False)), error)

    @cached_property
    def total(self) -> float:
        """1^T lambda."""
        return float(self.multiplier.sum())

    @cached_property
    def slack(self) -> Slack:
        """The slack f."""
        return Slack.of(self.B @ self.B.T, self.multiplier, self.E, self.prior)

    def shifted(self, lower: float) -> Certificate:
        """Return the certificate with lambda - lower 1, valid if the slack's scores are at least lower.

        It is scaled to ||F^T B||_* = 1^T lambda, as at an optimum, which leaves the bound as it is.
        """
        multiplier = self.multiplier - min(lower, 0.0)
        total = float(multiplier.sum())
        scale = self.nuclear / total if total > 0 else 1.0
        return replace(self, B=self.B * scale, multiplier=multiplier * scale**2)

    def blend(self, other: Certificate, share: float) -> Certificate:
        """Return (1 - share) (G, lambda) + share (G', lambda'); f is linear in the pair."""
        B = np.concatenate([math.sqrt(1 - share) * self.B, math.sqrt(share) * other.B], axis=1)
        multiplier = (1 - share) * self.multiplier + share * other.multiplier
        return replace(self, B=factor(B @ B.T), multiplier=multiplier)

    def value(self, lower: float) -> float:
        """Return the bound if all scores of the slack are at least lower: lambda is shifted by -lower."""
        total = self.total - len(self.slack.linear) * min(lower, 0.0)
        return self.nuclear**2 / total if total > 0 else 0.0

    def price(self, seeds: np.ndarray, gap: float, seconds: float) -> Worst:
        """Search the worst pattern until what is unknown about it moves the bound by less than gap."""
        return worst(self.slack, seeds, gap * self.total / len(self.slack.linear), seconds)
