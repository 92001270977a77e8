"""What one report, several reports of one person and all shuffled reports of a strategy reveal, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stratagem.io.table import Table
from stratagem.math.number import upper
from stratagem.math.privacy import posterior, surest
from stratagem.math.shuffling import CentralPrivacy
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.memo import Memo
from stratagem.strategies import Randomiser
from stratagem.study.attacks import Attack, attack, attack_repeated
from stratagem.study.repeated import promised

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
        )

    @property
    def several(self) -> float:
        """The epsilon of ten reports of one person."""
        return SEVERAL * self.one.epsilon if self.memo is None else self.memo.epsilon(SEVERAL)

    def record(self) -> dict[str, Any]:
        """Return the limits as named values."""
        ten = {"epsilon": self.several, "belief_after_one_half": posterior(0.5, self.several)}
        others = {"all_reports": None if self.every is None else self.every.record(), "ten_reports": ten}
        return self.one.record() | others | {**self.told} | {"shuffled": asdict(self.shuffled)}

    def sentences(self) -> Iterator[str | Table]:
        """Yield the limits of one report, of several and of shuffled ones."""
        yield from (str(self.one), "")
        if self.memo is None:
            yield (
                "Ten reports of one person about one value, each drawn anew, together tell at most what epsilon "
                f"{self.several:.4g} allows: an answer as likely as not before is {surest(self.several)} likely "
                "after them."
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
