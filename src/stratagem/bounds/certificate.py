"""A dual certificate (G, lambda) made safe: whatever it came from, the number is a lower bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratagem.bounds.branch import Worst, worst
from stratagem.bounds.slack import Slack
from stratagem.linalg import factor

SAFETY = 1e-10
"""Relative amount taken off, far above the rounding of a nuclear norm of an n x n product."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """G = B B^T with lambda, V = F F^T.

    If f(T) = (lambda^T s)(1^T s) - s^T G s >= 0 for all patterns, then for every strategy M the constraint
    M 1 = 1 gives tr(G M) <= 1^T lambda, and tr(M^-1 V) tr(G M) >= ||F^T B||_*^2 by Cauchy-Schwarz, so
    L(Q) >= ||F^T B||_*^2 / 1^T lambda. If f(T) >= -delta (1^T s)^2, lambda + delta 1 satisfies it.
    """

    nuclear: float
    """||F^T B||_*."""
    total: float
    """1^T lambda."""
    slack: Slack

    @classmethod
    def of(cls, V: np.ndarray, information: np.ndarray, multiplier: np.ndarray, E: float) -> Certificate:
        """Return the certificate with B = M^-1 F, for any positive definite M and any lambda."""
        F = factor(V)
        B = np.linalg.solve(information, F)
        nuclear = float(np.linalg.svd(F.T @ B, compute_uv=False).sum())
        return cls(nuclear, float(multiplier.sum()), Slack.of(B @ B.T, multiplier, E))

    def value(self, lower: float) -> float:
        """Return the bound if f(T)/(1^T s)^2 >= lower for all patterns: lambda is shifted by -lower."""
        total = self.total - len(self.slack.linear) * min(lower, 0.0)
        return self.nuclear**2 / total * (1 - SAFETY) if total > 0 else 0.0

    def price(self, seeds: np.ndarray, gap: float, seconds: float) -> Worst:
        """Search the worst pattern until what is unknown about it moves the bound by less than gap."""
        return worst(self.slack, seeds, gap * self.total / len(self.slack.linear), seconds)
