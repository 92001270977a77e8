"""The privacy of shuffled reports: whoever sees them knows how often each report came, but not from whom."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stratagem.math.number import integer, root, upper, users_text
from stratagem.math.privacy import check_delta

USERS = 10**15
"""Largest number of users; the bound for fewer users holds for more."""
SAFE = 1e-12
"""Relative rounding of E, beta, gamma and exp(epsilon) that the bound makes good."""
UNIT = 2.0**-53
CELLS, MOST_CELLS = 1 << 17, 1 << 20
"""Points of the lattice on which sums are computed, and their largest number."""
CLOSE = 1e-4
"""Relative distance from the largest number that a target allows."""
WIDTH = 9.0
"""Half-width of the lattice in standard deviations of the tilted sum."""


@dataclass(frozen=True)
class CentralPrivacy:
    """What shuffled reports tell about one user: (epsilon, delta)-differential privacy in the central model."""

    epsilon: float
    """Central epsilon, for data that differ in the type of one user."""
    delta: float
    """Extra probability of an event that epsilon does not cover."""
    users: int
    """Number of users whose reports are shuffled together."""
    local: float
    """Epsilon of a single report, which holds without a shuffler."""
    generic: float
    """Central epsilon if no more than `local` were known of the strategy."""

    def __str__(self) -> str:
        """Return what holds, and when, in three sentences."""
        people = "1 person" if self.users == 1 else f"{users_text(self.users)} people"
        central, generic, local = map(upper, (self.epsilon, self.generic, self.local))
        return (
            f"All shuffled reports of {people} together tell about one of them at most what epsilon {central} allows, "
            f"but for an extra probability of {self.delta:g} (delta). Shuffled means without names, order or times. "
            f"For an unknown mechanism of epsilon {local} it would be {generic}. This holds if all of them run the "
            f"mechanism and nobody can tell who sent which report; one report by itself keeps epsilon {local}."
        )


@dataclass(frozen=True)
class PrivacyBlanket:
    """What the central privacy of shuffled reports depends on: three numbers of an epsilon-LDP strategy.

    Every row of Q lies between w_y = min_u Q[y, u] and E w_y, E = exp(epsilon). A user sends a report of the
    distribution w/gamma, whatever the user's type, with probability gamma = sum_y w_y: the privacy blanket, in which
    the report of the one user who is attacked hides. (theory.md, section 10)

    Assumes that all users run the strategy, that reports carry no sender, order or time, and that nobody who
    sees them controls other users; users who do so do not count.

    Reference:
        Balle, Bell, Gascon, Nissim, "The privacy blanket of the shuffle model", CRYPTO 2019.
    """

    ratio: float
    """E, the largest ratio of two probabilities of one report."""
    distance: float
    """beta, the largest total variation distance between the reports of two user types."""
    mass: float
    """gamma = sum_y min_u Q[y, u], the probability of a report that does not depend on the user type."""

    @staticmethod
    def worst(epsilon: float) -> PrivacyBlanket:
        """Return the blanket of the least private epsilon-LDP strategy, which is binary randomised response."""
        E = math.exp(epsilon)
        return PrivacyBlanket(E, (E - 1) / (E + 1), 2 / (E + 1))

    def shuffled(self, users: int, delta: float) -> CentralPrivacy:
        """Return the central privacy of so many shuffled reports at a delta.

        Raises:
            ValueError: as `epsilon`.
        """
        local = math.log(self.ratio)
        generic = PrivacyBlanket.worst(local).epsilon(delta, users)
        return CentralPrivacy(min(self.epsilon(delta, users), generic), delta, users, local, generic)

    def delta(self, epsilon: float, users: int) -> float:
        """Return delta such that the shuffled reports of so many users are (epsilon, delta)-differentially private.

        delta = E[S_+]/users, S a sum of `users` independent draws of E - e, 1 - e E, E - e E, 1 - e and 0 with
        probabilities a, a, b - a, gamma - a - b and 1 - gamma, e = exp(epsilon), a = beta/(E - 1) and
        b = (1 - gamma)/(E - 1). An upper limit: all rounding is added. Neighbours replace the type of one user.

        Raises:
            ValueError: unless epsilon >= 0 is finite and users is a whole number from 1 to 10^15.

        >>> round(PrivacyBlanket.worst(1.0).delta(0.05, 10_000), 9)
        1.07e-07
        """
        if not 0 <= epsilon < math.inf:
            raise ValueError(
                f"the central epsilon is {epsilon!r}: give a number of at least 0, for example 0.1"
            )
        users = _checked(users)
        whole = math.exp(min(epsilon, 700.0))
        if whole * (1 - 8 * UNIT) >= self.ratio * (1 + 8 * UNIT):  # a single report is that private
            return 0.0
        E, e = self.ratio * (1 + SAFE), whole * (1 - SAFE)
        if e >= E or self.distance <= 0:  # the second if all reports are drawn alike
            return 0.0
        a, b = self.distance / (E - 1), (1 - self.mass) / (E - 1)
        values = np.array([E - e, 1 - e * E, E - e * E, 1 - e, 0.0])
        # what rounding may have taken from the greatest value is given to it, what others may have too much goes to 0
        exact = np.array([a, a, b - a, self.mass - a - b])
        error = SAFE * np.array([-a, a, a + b, self.mass + a + b])
        chances = np.append(np.maximum(exact - error, 0.0), 0.0)
        chances[-1] = max(0.0, 1 - chances.sum())
        alone = a * (E - e) * (1 + SAFE)  # of one user, which more users only lower
        return min(1.0, alone, _mean_excess(values, chances, users))

    def epsilon(self, delta: float, users: int) -> float:
        """Return epsilon, within 0.01 % of the least for which `delta(epsilon, users)` is at most delta.

        Raises:
            ValueError: unless 0 < delta < 1 and users is a whole number from 1 to 10^15.

        >>> round(PrivacyBlanket.worst(1.0).epsilon(1e-6, 10_000), 4)
        0.0432
        """
        check_delta(delta)
        users = _checked(users)
        if self.delta(0.0, users) <= delta:
            return 0.0
        most = math.log(self.ratio)
        goal = math.sqrt(-math.log(delta))

        def above(epsilon: float) -> float:
            """Return sqrt(-log delta) above its goal: nearly linear in epsilon."""
            found = max(self.delta(epsilon, users), 1e-300)
            return math.sqrt(max(-math.log(found), 0.0)) - goal

        high = 2.4 * math.sqrt((self.ratio - 1) * self.distance / users) * goal
        while high < most and above(high) < 0:
            high *= 1.5
        high = min(high, most)
        if above(high) < 0:  # only as far as rounding goes, for no user needs others for this epsilon
            return most
        found = root(above, 0.0, high, rtol=1e-5, xtol=1e-6 * high)
        while found < most and self.delta(found, users) > delta:
            found *= 1 + 2e-5
        return min(found, most)


def _checked(users: int) -> int:
    return integer(users, "the number of users", 1, USERS, "give the number of reports that are shuffled")


def _mean_excess(values: np.ndarray, chances: np.ndarray, users: int) -> float:
    """Return an upper limit of E[S_+]/users, S the sum of `users` independent draws; only values[0] is positive.

    Values between two points of a lattice go to these points with the same mean, which only raises the mean of a
    convex function. Under the tilt exp(t x)/M(t) that gives S the mean zero, E[S_+] = M(t)^users E_t[S_+ exp(-t S)],
    and the probabilities of S are Fourier coefficients of a power. Sums that wrap around the lattice only add;
    those beyond it obey Chernoff's inequality. E[S_+]/users falls with the number of users, so that fewer may stand
    for more.
    """
    while (found := _on_lattice(values, chances, users)) is None:
        users //= 2
    return found


def _on_lattice(values: np.ndarray, chances: np.ndarray, users: int) -> float | None:
    """Return `_mean_excess`; None if the lattice is too coarse for so many users."""
    top = float(values[0])
    values = np.maximum(values, -users * top)  # such a draw makes S negative whatever the others are
    tilt = _tilt(values, chances, 0.0)
    p = chances * np.exp(tilt * values)
    p /= p.sum()
    mean = float(p @ values)
    deviation = math.sqrt(users * float(p @ (values - mean) ** 2))
    right = max(top, min(users * top, WIDTH * deviation, 40 / tilt if tilt > 0 else math.inf))
    period = right + 2 * top + min(WIDTH * deviation, -users * float(values.min()))
    cells = CELLS
    while cells * top < period:
        cells *= 2
    if cells > MOST_CELLS:
        return None
    step = top / int(cells * top // period)

    low = np.maximum(np.floor(values / step + 1e-9), -(2.0**50))
    share = np.clip(values / step - low, 0, 1)
    places = np.concatenate([low, low + 1]).astype(np.int64)
    chances = np.concatenate([chances * (1 - share), chances * share])
    points = places * step
    log_scale, scale_error = _log_moment(points, chances, tilt, users)
    p = chances * np.exp(tilt * points)
    probability, error = _distribution(places, p / p.sum(), users, cells)

    last = min(int(right // step) + 1, cells - 1)
    s = step * np.arange(1, last + 1)
    excess = s * np.exp(-tilt * s)
    inside = float(np.maximum(probability[1 : last + 1], 0) @ excess + error * excess.sum())
    logarithm = math.log(inside) + log_scale + scale_error
    edge = last * step
    if edge < users * top:  # s <= edge exp(u (s - edge)) beyond the edge, for u of at least 1/edge
        u = max(_tilt(points, chances, edge / users), 1 / edge)
        beyond, rounding = _log_moment(points, chances, u, users)
        logarithm = float(np.logaddexp(logarithm, math.log(edge) - u * edge + beyond + rounding))
    return math.exp(logarithm - math.log(users)) * (1 + 1e-9)


def _tilt(values: np.ndarray, chances: np.ndarray, mean: float) -> float:
    """Return t >= 0 such that chances proportional to chances * exp(t values) have nearly this mean; 0 if they do."""
    moved, chances = (values - mean)[chances > 0], chances[chances > 0]

    def slope(t: float) -> float:
        return float((chances * moved) @ np.exp(t * (moved - moved.max())))

    if slope(0.0) >= 0 or moved.max() <= 0:
        return 0.0
    low, high = 0.0, 1 / float(moved.max())
    while slope(high) < 0:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return high


def _log_moment(points: np.ndarray, chances: np.ndarray, t: float, users: int) -> tuple[float, float]:
    """Return users * log E[exp(t X)] and the largest error that it has from rounding."""
    terms = chances * np.expm1(t * points)
    excess = float(terms.sum())
    error = 32 * UNIT * users * float(np.abs(terms).sum()) / (1 + excess)
    return users * math.log1p(excess), error + 32 * UNIT


def _distribution(places: np.ndarray, p: np.ndarray, users: int, cells: int) -> tuple[np.ndarray, float]:
    """Return the probabilities of a sum of draws on a circle of cells, and the largest error of one of them."""
    frequency = np.arange(cells // 2 + 1)
    real, imaginary, size = np.zeros((3, len(frequency)))  # less 1, which keeps the digits of what is small
    for place, chance in zip(places.tolist(), p.tolist(), strict=True):
        if chance:
            angle = (frequency * (place % cells) + cells // 2) % cells - cells // 2
            angle = angle * (2 * math.pi / cells)
            real -= chance * 2 * np.sin(angle / 2) ** 2
            imaginary -= chance * np.sin(angle)
            size += chance * np.minimum(np.abs(angle), 2)
    rounding = 32 * UNIT * size
    with np.errstate(divide="ignore"):
        modulus = np.log1p(np.maximum(2 * real + real**2 + imaginary**2, -1)) / 2
    modulus = np.maximum(modulus, -1e3)
    turn = np.arctan2(imaginary, 1 + real)
    power = np.exp(users * modulus) * np.exp(1j * (users * turn))
    lost = np.abs(power) * UNIT * (64 + 4 * users * (np.abs(modulus) + np.abs(turn)))
    lost += users * rounding * np.exp((users - 1) * np.log(np.exp(modulus) + rounding))
    transform = 16 * UNIT * math.log2(cells) * math.sqrt(2 * float(np.square(np.abs(power)).sum()) / cells)
    return np.fft.irfft(power, cells), 2 * float(lost.sum()) / cells + transform


@dataclass(frozen=True)
class Target:
    """Central privacy that shuffled reports of so many users are to have."""

    epsilon: float
    delta: float
    users: int

    def reached(self, blanket: PrivacyBlanket) -> bool:
        """Return whether a strategy of this blanket has it."""
        return blanket.delta(self.epsilon, self.users) <= self.delta

    def apart(self, epsilon: float, mass: float = 1.0) -> float:
        """Return a limit of a = sum_y theta_y [u in T_y, v not] above which no strategy reaches the target.

        For strategies of exactly this epsilon; `mass` limits gamma too. The limit is at most 10^-4 above the largest a
        with which one may reach it.
        """
        E = math.exp(epsilon)
        if epsilon <= self.epsilon:
            return 1 / (E + 1)

        def allowed(a: float) -> bool:
            return self.reached(PrivacyBlanket(E, (E - 1) * a, min(mass, 1 - (E - 1) * a)))

        return min((1 + CLOSE) * largest_allowed(allowed, 1 / (E + 1)), 1 / (E + 1))


def largest_allowed(allowed: Callable[[float], bool], high: float) -> float:
    """Return a number up to `high` that is allowed, at most 10^-4 below the largest; 0 if none is."""
    if allowed(high):
        return high
    low = high
    while not allowed(low):
        low, high = low / 2, low
        if low < 1e-300:
            return 0.0
    while high > low * (1 + CLOSE):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low
