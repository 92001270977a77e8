"""What one report tells an attacker, and all of a device that keeps its memo; what reports reveal at most, in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy.special import gammaln

from stratagem.io.table import Table
from stratagem.math.number import integer, upper, users_text
from stratagem.math.privacy import limit, posterior, surest, told
from stratagem.math.shuffling import CentralPrivacy
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.memo import Memo
from stratagem.strategies import Randomiser, SurveyStrategy
from stratagem.study.repeated import promised


@dataclass(frozen=True)
class Attack:
    """What the best attacks on one report reach, or on all of a device with a memo (theory.md, section 11)."""

    values: int
    """Number n of user types."""
    guess: float
    """Probability that the best guess of the user's type is right, all types equally likely before the report."""
    advantage: float
    """Largest detection rate less false alarm rate when two known types are told apart from one report."""
    epsilon: float
    """The odds of two types change by a factor e^epsilon at most."""
    repeated: bool = False
    """Whether it is on all reports of a device with a memo about one value, however many, instead of one."""
    part: Attack | None = None
    """That on a report about the part of a survey that is guessed best; None for what is no survey."""
    about: str = ""
    """The attributes that a part asks about; empty for what is no part."""

    @property
    def blind(self) -> float:
        """Probability 1/n that a guess without the report is right."""
        return 1 / self.values

    @property
    def believed(self) -> float:
        """The most that a fact of probability 1/2 before the report can have after it."""
        return posterior(0.5, self.epsilon)

    @property
    def roc(self) -> tuple[tuple[float, float], ...]:
        """False alarm and detection rates of the best tests between the two types that are farthest apart.

        Corners of the curve. Two-level strategies reach it; any other of this epsilon and advantage is on it or below.
        """
        E = math.exp(self.epsilon)
        a = self.advantage / (E - 1) if E > 1 else 0.0
        return (0.0, 0.0), (a, E * a), (1 - E * a, 1 - a), (1.0, 1.0)

    def record(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return {
            "best_guess": self.guess,
            "guess_without_report": self.blind,
            "advantage": self.advantage,
            "belief_after_one_half": self.believed,
            "epsilon": self.epsilon,
            "roc": [list(point) for point in self.roc],
        } | ({"part": {"about": self.part.about} | self.part.record()} if self.part else {})

    @property
    def _known(self) -> str:
        return "all reports about one value" if self.repeated else "the report"

    @property
    def guesses(self) -> str:
        """How often the best guess is right, with the report and without, in a sentence."""
        one = self.part or self
        answers = f"answers to {one.about}" if one.about else "answers"
        return (
            f"Whoever guesses one of {users_text(one.values)} equally likely {answers} is right with probability "
            f"{limit(one.guess)} with {self._known} and the best attack on "
            f"{'them' if self.repeated else 'it'}, {percent(one.blind)} without."
        )

    @property
    def guessed(self) -> str:
        """How often the best guess is right, with the report and without, in brief."""
        one = self.part or self
        asked = one.about and f"asked about {one.about}: "
        return f"{asked}{limit(one.guess)} with the report, {percent(one.blind)} without"

    def __str__(self) -> str:
        """Return what it means for one person in three sentences."""
        by, held = self._known if self.repeated else "one report", told(self.epsilon, seen=self._known)
        return (
            f"{self.guesses}\n"
            f"A test of one given answer against another, by {by}, raises a true alarm at most "
            f"{upper(100 * self.advantage)} percentage points more often than a false one.\n"
            f"{held[0].upper()}{held[1:]}"
        )


def attack(strategy: Randomiser, names: Sequence[str] = ()) -> Attack:
    """Return what an attacker learns from one report of a strategy.

    Exact for two-level strategies of up to 8,192 types and matrices that are not too large; upper limits otherwise.
    Of a survey, whose attributes have these names, it is on all answers of a person together, and `part` on those that
    a report is about.

    Raises:
        ValueError: without a finite epsilon.

    Example:
        >>> import stratagem as st
        >>> found = st.study.attack(st.published.randomised_response(4, 1.0))
        >>> round(found.guess, 4), round(found.advantage, 4)
        (0.4754, 0.3005)
    """
    blanket, part = strategy.blanket, None
    match strategy:
        case SurveyStrategy(parts=parts):
            most = max(parts, key=lambda one: one.strategy.guess)
            about = " x ".join(names[i] if names else f"attribute {i + 1}" for i in most.attributes)
            part = replace(attack(most.strategy), about=about)
    guess = min(1.0, strategy.guess)
    return Attack(strategy.domain_size, guess, blanket.distance, math.log(blanket.ratio), part=part)


def attack_repeated(memo: Memo, names: Sequence[str] = ()) -> Attack:
    """Return what an attacker learns from all reports of a device about one value, however many, if it keeps its memo.

    Many enough of them tell the permanent report, and no number tells more (theory.md, section 12). A device with a
    memo keeps the part of a survey that it asks about; `names` are as in `attack`.

    Example:
        >>> import stratagem as st
        >>> memo = st.optimise(st.histogram(4), epsilon=0.5).mechanism().memoised(2.0).memo
        >>> round(attack_repeated(memo).guess, 3)
        0.44
    """
    return replace(attack(memo.permanent_table.strategy, names), repeated=True)


MOST = 1 << 22
"""Entries of the table of all ways in which several reports may come, times the values, that are gone through."""


def guess_of_several(strategy: Randomiser, reports: int) -> float:
    """Return with what probability the best guess from so many reports of one value, each drawn anew, is right at most.

    Exact where outputs and values are few: the sum over all counts of the outputs of the largest probability of a
    value, over n. Else the largest probability that e^(reports epsilon) allows a value. All values are equally likely
    before.

    Example:
        >>> import stratagem as st
        >>> round(guess_of_several(st.published.randomised_response(4, 1.0), 10), 4)
        0.773
    """
    m, n = strategy.outputs, strategy.domain_size
    if m is None or math.comb(m + reports - 1, reports) * max(m, n, reports) > MOST:
        return posterior(1 / n, reports * math.log(strategy.blanket.ratio))
    drawn = np.array([*combinations_with_replacement(range(m), reports)])
    counts = np.stack([(drawn == y).sum(axis=1) for y in range(m)], axis=1)
    ways = math.lgamma(reports + 1) - gammaln(counts + 1).sum(axis=1)
    likely = np.exp(
        ways[:, None] + counts @ np.log(np.maximum(strategy.dense().matrix, np.finfo(float).tiny))
    )
    return min(1.0, float(likely.max(axis=1).sum() / n))


def roc(strategy: Randomiser, one: int, other: int) -> np.ndarray:
    """Return the false alarm and detection rates of the best tests for user type `one` against `other`, (m + 1, 2).

    The corners of the curve, by Neyman and Pearson: reports in the order of Q[y, one]/Q[y, other], falling.

    Raises:
        ValueError: for user types outside 0..n-1, or a strategy that is too large for a matrix.

    Example:
        >>> import stratagem as st
        >>> roc(st.published.randomised_response(2, 1.0), 0, 1).round(4).tolist()
        [[0.0, 0.0], [0.2689, 0.7311], [1.0, 1.0]]
    """
    n = strategy.domain_size
    for value in (one, other):
        integer(value, "a user type", 0, n - 1, "give the number of a value")
    Q = strategy.dense().matrix
    detected, alarmed = Q[:, one], Q[:, other]
    order = np.argsort(np.arctan2(-detected, alarmed), kind="stable")
    corners = np.cumsum(np.stack([alarmed[order], detected[order]], axis=1), axis=0)
    return np.concatenate([np.zeros((1, 2)), corners])


def percent(share: float) -> str:
    """Return a share in percent, to three digits."""
    return f"{100 * share:.3g} %"


SEVERAL = 10
"""Reports of one person."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Revealed:
    """What the reports of a strategy reveal at most."""

    one: Attack
    every: Attack | None
    """What all reports of a person reveal where a device keeps its first draw; None where it does not."""
    memo: Memo | None
    told: Mapping[str, Any]
    """What numbers of reports of one person tell, under the name `promised`; empty without a memo."""
    shuffled: CentralPrivacy
    guess: float | None
    """Probability at most that the best guess from ten reports of one person is right; None with a memo."""

    @staticmethod
    def of(strategy: Randomiser, made: Mechanism | None, users: int, delta: float) -> Revealed:
        """Return what a strategy reveals; the mechanism made of it may have a memo."""
        memo, names = (None, ()) if made is None else (made.memo, made.domain.names)
        return Revealed(
            one=attack(strategy, names),
            every=None if memo is None else attack_repeated(memo, names),
            memo=memo,
            told={} if made is None or memo is None else promised(made),
            shuffled=strategy.blanket.shuffled(users, delta),
            guess=guess_of_several(strategy, SEVERAL) if memo is None else None,
        )

    @property
    def several(self) -> float:
        """The epsilon of ten reports of one person."""
        return SEVERAL * self.one.epsilon if self.memo is None else self.memo.epsilon(SEVERAL)

    def record(self) -> dict[str, Any]:
        """Return the limits as named values."""
        ten = {"epsilon": self.several, "belief_after_one_half": posterior(0.5, self.several)}
        ten |= {} if self.guess is None else {"best_guess": self.guess}
        others = {"all_reports": None if self.every is None else self.every.record(), "ten_reports": ten}
        return self.one.record() | others | {**self.told} | {"shuffled": asdict(self.shuffled)}

    def sentences(self) -> Iterator[str | Table]:
        """Yield the limits of one report, of several and of shuffled ones."""
        yield from (str(self.one), "")
        if self.guess is not None:
            yield (
                "Ten reports of one person about one value, each drawn anew, together tell at most what epsilon "
                f"{self.several:.4g} allows: a guess that was 50 % likely before is {surest(self.several)} likely "
                f"after them. The best guess of one of {users_text(self.one.values)} equally likely answers from them "
                f"is right with probability {limit(self.guess)}."
            )
        else:
            yield from (str(self.every), "", str(self.memo), "", *promised_parts(self.told["promised"]))
        yield from ("", str(self.shuffled))
        if self.memo is not None:
            yield "It holds for one report of each person: repeated reports of one person add up and are not covered."


def promised_parts(told: Sequence[Mapping[str, Any]]) -> Iterator[str | Table]:
    """Yield what several numbers of reports of one person tell, and the error of their mean."""
    rows = [
        (f"{reports:,}", upper(epsilon), "-" if error is None else f"{100 * error:.3g} %")
        for reports, epsilon, error in (row.values() for row in told)
    ]
    yield Table(("reports per person", "total epsilon", "standard error"), rows)
    yield from ("", "The standard error is that of their mean, as a share of that of one report.")
    if told[0]["error"] is None:
        yield "It is not computed here: the reports are too many to list."
