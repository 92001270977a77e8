"""A memo: what the reports that one person makes again and again tell together, if the first draw is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from stratagem.io.screen import brief
from stratagem.math.number import integer, upper
from stratagem.math.privacy import check
from stratagem.mechanism.client import PROMISED, SCALE, exp_below, kept, repeated, samplers
from stratagem.mechanism.parts_table import PartsTable
from stratagem.mechanism.rounding import budget, decimal_text, lower_level
from stratagem.mechanism.table import Levels, Table

LARGEST = 36.0
"""Largest permanent epsilon: two levels of a table differ by a factor of 2^52 at most."""
LEAST = 1e-9
"""Smallest relative distance of the permanent epsilon from that of one report."""
MOST = 10_000
"""Largest number of reports whose epsilon is computed; any number of them has the permanent one."""


@dataclass(frozen=True, eq=False)
class Memo:
    """A permanent report of each value, which every report repeats with probability alpha.

    Otherwise a report is drawn by the weights of the rows, whatever the value. Every report then has exactly the
    probabilities of `table`, and any number of them about one value tells no more than the permanent report, which is
    drawn from the same rows at a larger epsilon (theory.md, section 12).

    Of a survey a device draws its part once, whatever the answers are, and keeps it. All its reports are about that
    part, and together tell no more than the permanent report of the part's table, and nothing of other answers: their
    epsilon is the largest of the parts'.

    Example:
        >>> import stratagem as st
        >>> memo = st.optimise(st.histogram(4), epsilon=0.5).mechanism().memoised(2.0).memo
        >>> [round(memo.epsilon(reports), 2) for reports in (1, 2, 1000)]
        [0.5, 1.18, 2.0]
    """

    __repr__ = brief

    table: Levels | PartsTable
    """The probabilities of a single report."""
    permanent: str
    """Epsilon of the permanent report, as a decimal text."""
    low: int
    """The lower level of the permanent table, in units of which the higher one has 2^52."""

    @staticmethod
    def of(table: Table, epsilon: float) -> Memo:
        """Return the memo whose permanent reports have this epsilon."""
        if not all(one.levelled for _, one in table.drawn()):
            raise ValueError(
                "the mechanism states every probability by itself, rounded, but repeated reports need rows of exactly "
                "two: find another from its queries and both epsilons"
            )
        if check(epsilon) > LARGEST:
            raise ValueError(
                f"the permanent epsilon is {epsilon:g}, but at most {LARGEST:g} can be kept: give a smaller one"
            )
        low, single = lower_level_of(epsilon), table.strategy.epsilon
        if not (all(low < one.low for _, one in table.drawn()) and float(epsilon) > single * (1 + LEAST)):
            raise ValueError(
                f"the permanent epsilon is {epsilon:g}, but one report alone has {single:g}: give a larger one"
            )
        return Memo(cast("Levels | PartsTable", table), decimal_text(epsilon), low)

    @property
    def permanent_table(self) -> Levels | PartsTable:
        """The probabilities of the permanent report."""
        return self.table.lowered(self.low)

    @cached_property
    def _samplers(self) -> list[tuple[Any, Any]]:
        return [samplers(one.data(), self.low) for _, one in self.table.drawn()]

    @cached_property
    def repeats(self) -> tuple[float, ...]:
        """Probability alpha with which a report repeats the permanent one, for each part of a survey, else one."""
        return tuple(float(kept(*pair)) for pair in self._samplers)

    @cached_property
    def kept(self) -> float:
        """Probability with which a report repeats the permanent one: alpha, of a survey its mean over parts."""
        shares = (share for share, _ in self.table.drawn())
        return math.fsum(share * alpha for share, alpha in zip(shares, self.repeats, strict=True))

    def epsilon(self, reports: int) -> float:
        """Return the exact epsilon of so many reports of one person about one value, rounded up by 10^-9 at most.

        Raises:
            ValueError: unless reports is a whole number from 1 to 10,000.
        """
        advice = "beyond, take the permanent epsilon"
        number = integer(reports, "the number of reports", 1, MOST, advice)
        ratios = (repeated(*pair, number) for pair in self._samplers)
        return math.log(max((high << SCALE) // low + 1 for high, low in ratios)) - SCALE * math.log(2)

    @cached_property
    def data(self) -> dict[str, Any]:
        """The content as a bundle stores it."""
        most = float(self.permanent)
        stated = {str(reports): self.epsilon(reports) for reports in PROMISED}
        texts = {key: f"{math.ceil(value * 1e6 + 1e-3) / 1e6:.6f}" for key, value in stated.items()}
        texts = {key: text if float(text) < most else self.permanent for key, text in texts.items()}
        return {"low": self.low, "epsilon": texts | {"any": self.permanent}}

    def __str__(self) -> str:
        """Return what is promised about one person, and what is not."""
        part = (
            "A device always asks the questions that chance gave it, and reports nothing about others: a value is all "
            "answers to these.\n"
        )
        return (
            f"{part if len(self.repeats) > 1 else ''}"
            f"One report reveals at most epsilon {upper(self.epsilon(1))}.\n"
            f"All reports about one unchanged value together reveal at most {upper(float(self.permanent))}.\n"
            f"Each repeats a permanent report (kept on the device) with probability {100 * self.kept:.3g} %.\n"
            "Another value has a permanent report of its own: m values over time reveal at most m times as much. When "
            "a value changed, and whether it came back, may be seen."
        )


def lower_level_of(epsilon: float) -> int:
    """Return the lower level of a table of two levels that has this epsilon."""
    return lower_level(exp_below(*budget(check(epsilon)).as_integer_ratio()))
