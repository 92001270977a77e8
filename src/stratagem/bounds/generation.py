"""The nonnegative bound where all patterns are listed: column generation that adds the worst patterns."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from stratagem.bounds.bound import Case
from stratagem.bounds.duals import weighted_dual
from stratagem.bounds.exact import Centre, Start, solve
from stratagem.bounds.proof import AllPatterns, Proof
from stratagem.math.deadline import deadline, within
from stratagem.math.linalg import squared_distances
from stratagem.math.privacy import uniform

FIRST, ADDED, KEPT = 300, 250, 800
"""Patterns to begin with, those that join for each of two proofs, and the most that are kept."""
SHOWN = 4096
"""Patterns with the largest excess from which those that join are taken."""
STEP, SHORTER, LEAST_STEP = 0.5, 0.7, 0.1
"""How far a trial goes from the best proof towards the newest, and what becomes of it by a failure."""
ROUGH, FINE = 0.1, 0.2
"""Relative gap of the first weights, and gap of later ones, relative to what is left."""
ATTAINED, PATIENCE = 1e-6, 6
"""Relative gap at which a search ends, and rounds after which it does if they gained less than a tenth of that."""
SHARES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
"""Shares of distances in N that are tried for the start."""
YOUNG = 0.03
"""Share of the weight that new patterns begin with."""


@dataclass(eq=False)
class Generation:
    """The search for a proof over up to 20 user types; `best` is a valid one at any moment, also after Ctrl-C.

    The design problem over some patterns has a strategy and prices; with G = M^-1 V M^-1 these are a proof once all
    2^n patterns have been tried, of which the worst join. Proofs are tried half-way between the best one so far
    and the newest, less far when that fails: the newest alone swings.

    Reference:
        Wentges, Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming, ITOR 1997.
    """

    case: Case
    best: Proof
    patterns: np.ndarray
    """Patterns with weights, shape (N, n), zeros and ones."""
    objective: float = math.inf
    """Least L(Q) of the strategies found so far."""

    @classmethod
    def of(cls, case: Case, patterns: np.ndarray | None = None) -> Generation:
        """Return a new search over single types, all types but one, and given or worst patterns (N, n)."""
        start = first_proof(case)
        single = np.eye(len(start.gamma))
        first = _looked_at(start, FIRST)[1] if patterns is None else np.asarray(patterns, dtype=float)
        return cls(case, start, np.unique(_proper(np.vstack([single, 1 - single, first])), axis=0))

    def run(
        self, seconds: float = math.inf, enough: float = math.inf, stop: Callable[[float], bool] | None = None
    ) -> Proof:
        """Return the best proof once the bound reaches `enough`, time is up or the best strategy found is optimal.

        `stop` receives the bound after each round; a true answer ends the search.
        """
        with within(seconds):
            self._run(enough, stop)
        return self.best

    def _run(self, enough: float, stop: Callable[[float], bool] | None) -> None:
        step, idle = STEP, 0
        held: Proof | None = None
        begin: Start | None = None
        while self.best.factor.any():
            left = min(max(FINE * (self.objective / self.best.value - 1), ATTAINED / 2), ROUGH)
            try:
                with np.errstate(over="raise", invalid="raise"):
                    centre = self._solved(left, begin)
                    fresh = self._proof(centre)
                    tried = [fresh] if held is None else [between(held, fresh, step), fresh]
                    found = [covered(proof) for proof in tried]
            except (np.linalg.LinAlgError, FloatingPointError):  # too few patterns, or an extreme epsilon
                return
            trial = found[0][0]
            gained = held is None or trial.value > held.value * (1 + ATTAINED / 10)
            idle = 0 if gained else idle + 1
            if held is None or trial.value > held.value:
                held = trial
            else:
                step = max(SHORTER * step, LEAST_STEP)
            self.best = max(self.best, held, key=lambda proof: proof.value)
            wanted = min(enough, self.objective / (1 + ATTAINED))
            if self.best.value >= wanted or idle == PATIENCE or deadline().over:
                return
            if stop is not None and stop(self.best.value):
                return
            begin = self._extended(centre, np.vstack([worst for _, worst in found]))

    def _solved(self, gap: float, begin: Start | None) -> Centre:
        """Return the best weights of the patterns, and record their objective L."""
        V = self.case.seen.gram
        size = float(np.trace(V))
        centre = solve(1 + self.case.c * self.patterns, V / size, gap, begin, h=self.case.h)
        L = self.best.total + size * float(np.trace(np.linalg.solve(centre.information, V / size)))
        self.objective = min(self.objective, L)
        return centre

    def _proof(self, centre: Centre) -> Proof:
        """Return G = M^-1 V M^-1 and the prices of some weights; with patterns listed, N may have any sign."""
        size = float(np.square(self.best.factor).sum())
        B = np.linalg.solve(centre.information, self.best.factor / math.sqrt(size))
        return of_matrix(replace(self.best, prices=centre.multiplier), B @ B.T)

    def _extended(self, centre: Centre, new: np.ndarray) -> Start:
        """Add patterns, drop those of least weight above the most that are kept; return where to begin with them."""
        theta = centre.theta
        most = np.argsort(-theta)[: max(KEPT - len(new), len(self.best.gamma))]
        known = {row.tobytes() for row in self.patterns[most]}
        new = np.unique(_proper(new), axis=0)
        new = new[[row.tobytes() not in known for row in new]]
        weights = (1 - YOUNG) * theta.sum() / theta[most].sum() * theta[most]
        young = np.full(len(new), YOUNG * theta.sum() / max(len(new), 1))
        self.patterns = np.vstack([self.patterns[most], new])
        return np.concatenate([weights, young]), centre.multiplier


def covered(proof: Proof) -> tuple[Proof, np.ndarray]:
    """Return the proof with prices raised until no pattern violates them, and patterns (N, n) that did.

    Raised prices pay 1^T s, delta would pay h^T s: under a prior the types of a pattern may be unlikely, h^T s small.
    """
    lacking, worst = _looked_at(proof, SHOWN)
    if len(worst) > ADDED:
        spread = np.linspace(ADDED // 2, len(worst) - 1, ADDED // 2).astype(int)
        worst = worst[np.append(np.arange(ADDED // 2), spread)]
    return replace(proof, prices=proof.prices + max(0.0, lacking)), worst


def _looked_at(proof: Proof, most: int) -> tuple[float, np.ndarray]:
    """Return the largest violation of the prices by a pattern, and the worst patterns (N, n) in order."""
    n, c, everything = len(proof.gamma), math.expm1(proof.epsilon), AllPatterns(len(proof.gamma))
    a = n + c * everything.linear(n * (uniform(n) if proof.prior is None else proof.prior))
    excess = proof.excess_of_all(proof.definite) * a
    lacking = float((excess / (n + c * everything.linear(np.ones(n)))).max())
    worst = np.argpartition(-excess, most - 1)[:most] if most < len(excess) else np.arange(len(excess))
    worst = worst[np.argsort(-excess[worst], kind="stable")]
    return lacking, everything.chosen(worst)


def between(held: Proof, fresh: Proof, step: float) -> Proof:
    """Return a mixture of two proofs, in units in which the prices of each have the sum one."""
    shares = (1 - step) / held.prices.sum(), step / fresh.prices.sum()
    G = shares[0] * held.matrix(held.gamma) + shares[1] * fresh.matrix(fresh.gamma)
    return of_matrix(replace(held, prices=shares[0] * held.prices + shares[1] * fresh.prices), G)


def of_matrix(proof: Proof, G: np.ndarray) -> Proof:
    """Return the proof with the same prices, the matrix G (n x n) and w = 0."""
    gamma = np.diag(G).copy()
    return replace(
        proof, gamma=gamma, avoided=np.diag(gamma) - G, spread=np.zeros_like(gamma), level=(0.0, 0.0)
    )


def _proper(patterns: np.ndarray) -> np.ndarray:
    """Return the patterns that are neither empty nor everything: those two are constant rows."""
    size = patterns.sum(axis=1)
    return patterns[(size > 0) & (size < patterns.shape[1])]


def first_proof(case: Case) -> Proof:
    """Return the best of the weighted bound and mixtures of it with squared distances of columns.

    The prices of distances make all types alike to patterns of n/(1 + E) types, at least one.
    """
    start = case.proof(np.ones(case.n), np.zeros((case.n, case.n)), np.ones(case.n))
    n, c, kappa, p, F = case.n, case.c, case.kappa, case.shares, start.factor
    f = max(1 / (2 + c), 1 / n)
    unit = F / (np.linalg.norm(F) or 1.0)
    distances = squared_distances(unit, unit) * np.outer(p, p)
    distances = np.maximum(distances + distances.T, 0) * (1 - np.eye(n))
    weights = weighted_dual(case).gamma
    gamma = n * weights / weights.sum()
    spread, total = math.sqrt(kappa / n) * gamma, math.sqrt(n * math.exp(case.epsilon))
    level = (total - float(spread.sum())) / c
    prices = 2 / n * (kappa - 1) * gamma
    proofs = []
    for share in SHARES if distances.any() else SHARES[:1]:
        apart = share * n / (distances.sum() or 1.0) * distances
        root = math.sqrt(1 - share)
        proofs.append(
            replace(
                start,
                gamma=(1 - share) * gamma,
                avoided=apart,
                spread=root * spread,
                level=(root * level, 0.0),
                prices=(1 - share) * prices + 2 * f * c / (n * (1 + c * f)) * apart.sum(axis=1),
            )
        )
    return max(proofs, key=lambda proof: proof.value)


def single_proof(proof: Proof) -> Proof:
    """Return the proof from randomised response: G = M^-1 V M^-1 of its M, and prices that its rows attain.

    Its row s_y = 1 + (E - 1) e_y pays lambda^T s_y = s_y^T A^T G A s_y/h^T s_y (see `Proof`). At large epsilon, on many
    user types of about the same weight, randomised response is optimal, and this bound is its L.
    """
    n, c = len(proof.factor), math.expm1(proof.epsilon)
    p = uniform(n) if proof.prior is None else proof.prior
    S, a = 1 + c * np.eye(n), n * (1 + c * p)
    inverse = np.linalg.inv(S)
    B = inverse @ (a[:, None] * (inverse @ (proof.factor / (np.linalg.norm(proof.factor) or 1.0))))
    own = np.square(B - p[:, None] * B.sum(axis=0)).sum(axis=1)
    return of_matrix(replace(proof, prices=inverse @ (c**2 * own / a)), B @ B.T)
