"""The mechanism of a survey: one part of the questions, drawn at random, is answered by a strategy of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from stratagem.math.shuffling import PrivacyBlanket
from stratagem.strategies.linear_protocol import LinearProtocol
from stratagem.strategies.strategy import MatrixStrategy, Randomiser, Strategy, check_counts, check_values
from stratagem.strategies.translation import DENSE, TranslationStrategy
from stratagem.strategies.two_level import TwoLevelStrategy


@final
@dataclass(frozen=True, eq=False)
class SurveyPart:
    """Some attributes, the strategy that reports the cell of their table, and how often it is drawn."""

    attributes: tuple[int, ...]
    """Places of the attributes in the domain, rising."""
    strategy: Strategy | TranslationStrategy | LinearProtocol
    """The strategy over the cells of the table of these attributes; of published mechanisms also a protocol."""
    share: float
    """The probability s of drawing this part."""

    @property
    def outputs(self) -> int:
        """Number of reports about this part, where they can be counted."""
        assert self.strategy.outputs is not None, "a protocol's reports are not counted"
        return self.strategy.outputs

    def among_others(self) -> Strategy | None:
        """Return what reports say of this table: those of other parts are one more report, as likely for every cell.

        None where the strategy is too large to be listed.
        """
        own, rest = self.strategy, 1 - self.share
        if (two := own.two_level) is not None:
            patterns = np.vstack([two.patterns, np.zeros((1, two.patterns.shape[1]), np.uint8)])
            return TwoLevelStrategy(patterns, np.append(two.theta * self.share, rest), two.size, two.ratio)
        if not own.runnable or self.outputs * own.domain_size > DENSE:
            return None
        Q = own.dense().matrix
        return MatrixStrategy(np.vstack([Q * self.share, np.full((1, Q.shape[1]), rest)]))


@final
@dataclass(frozen=True, eq=False)
class SurveyStrategy(Randomiser):
    """Draws part i with probability s_i, whatever the answers are, and reports (i, y) with y from its strategy Q_i.

    Outputs count parts first: y of part i is the number offsets[i] + y. A report tells about the attributes of its
    part alone, so that its epsilon is the largest of the parts' (theory.md, section 15).

    Raises:
        ValueError: for no parts, attributes that do not fit their strategy, or shares that do not add up to one.
    """

    parted: ClassVar = True
    by_table: ClassVar = True
    even: ClassVar = "a survey, each part of which is estimated with all its user types alike"
    sizes: tuple[int, ...]
    """Attribute sizes of the domain."""
    parts: tuple[SurveyPart, ...]

    def __post_init__(self) -> None:
        """Check the parts."""
        for one in self.parts:
            fits = list(one.attributes) == sorted({*one.attributes} & {*range(len(self.sizes))})
            if not fits or one.strategy.domain_size != math.prod(self.sizes[i] for i in one.attributes):
                raise ValueError(
                    f"a part has the attributes {one.attributes} and {one.strategy.domain_size} cells, but the survey "
                    f"attributes of the sizes {self.sizes}: give rising places, and a strategy over their table"
                )
        total = math.fsum(one.share for one in self.parts)
        if not self.parts or abs(total - 1) > 1e-12 or min(one.share for one in self.parts) <= 0:
            raise ValueError(
                f"the parts are drawn with shares that add up to {total:g}: give positive ones of sum 1"
            )

    @classmethod
    def of(cls, sizes: tuple[int, ...], parts: Iterable[SurveyPart]) -> SurveyStrategy:
        """Return the survey with shares in proportion to those of parts, without the parts that have none."""
        drawn = [one for one in parts if one.share > 0]
        total = math.fsum(one.share for one in drawn)
        return cls(sizes, tuple(replace(one, share=one.share / total) for one in drawn))

    @property
    def domain_size(self) -> int:
        return math.prod(self.sizes)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """First output of each part, followed by the number of all outputs."""
        offsets = [0]
        for one in self.parts:
            offsets.append(offsets[-1] + one.outputs)
        return tuple(offsets)

    @property
    def outputs(self) -> int:
        return self.offsets[-1]

    @property
    def runnable(self) -> bool:
        """Whether every part has reports that can be counted, so that a client can draw them."""
        return all(one.strategy.runnable for one in self.parts)

    @property
    def epsilon(self) -> float:
        return max(one.strategy.epsilon for one in self.parts)

    @property
    def blanket(self) -> PrivacyBlanket:
        """That of the least private strategy of the same epsilon: which part came is known to everybody."""
        return PrivacyBlanket.worst(self.epsilon)

    @property
    def guess(self) -> float:
        """The probability that the best guess of all answers is right: of a part's cell, by chance beyond it."""
        n = self.domain_size
        chances = (one.share * one.strategy.guess * one.strategy.domain_size / n for one in self.parts)
        return math.fsum(chances)

    @property
    def report(self) -> str:
        reports = (
            f"1 of at most {max(one.outputs for one in self.parts)} reports"
            if self.runnable
            else "its report"
        )
        return f"1 of {len(self.parts)} parts, and {reports}"

    def dense(self) -> MatrixStrategy:
        if self.offsets[-1] * self.domain_size > DENSE:
            raise ValueError(
                f"a survey of {self.offsets[-1]} outputs and {self.domain_size} combinations of answers is too large "
                "for a matrix: save it as a mechanism file, *.ldp.json"
            )
        cells = np.arange(self.domain_size)
        blocks = [
            one.share * one.strategy.dense().matrix[:, self.cells(one.attributes, cells)]
            for one in self.parts
        ]
        return MatrixStrategy(np.concatenate(blocks))

    def coordinates(self, values: np.ndarray) -> np.ndarray:
        """Return user types, cells (N,) or coordinates (N, d), as coordinates (N, d).

        Raises:
            ValueError: for a user type outside the domain.
        """
        array = np.asarray(values)
        if array.ndim == 1:
            return np.stack(np.unravel_index(check_values(array, self.domain_size), self.sizes), axis=1)
        whole = array.dtype.kind in "iu" and array.shape[1:] == (len(self.sizes),)
        if not whole or not ((array >= 0) & (array < np.array(self.sizes))).all():
            raise ValueError(
                f"user types must be whole numbers, one for each attribute of sizes {self.sizes}"
            )
        return array

    def cells(self, attributes: Sequence[int], values: np.ndarray) -> np.ndarray:
        """Return the cells (N,) of the table of some attributes in which user types lie."""
        places = self.coordinates(values)
        found = np.zeros(len(places), dtype=np.int64)
        for i in attributes:
            found = found * self.sizes[i] + places[:, i]
        return found

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw one output (N,) for each user: cells (N,) or coordinates (N, d). For simulation only."""
        places = self.coordinates(values)
        drawn = rng.choice(len(self.parts), len(places), p=[one.share for one in self.parts])
        outputs = np.empty(len(places), dtype=np.int64)
        for i, one in enumerate(self.parts):
            users = drawn == i
            cells = self.cells(one.attributes, places[users])
            outputs[users] = self.offsets[i] + one.strategy.randomise(cells, rng)
        return outputs

    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the counts of reports (m,) when x[u] users have type u."""
        x = check_counts(x, self.domain_size)
        users = np.repeat(np.arange(len(x)), x)
        return np.bincount(self.randomise(users, rng), minlength=self.offsets[-1])


@final
@dataclass(frozen=True, eq=False)
class SplitStrategy(Randomiser):
    """Answers all parts at once, each by its own strategy: epsilon is the sum of theirs. For comparison alone."""

    by_table: ClassVar = True
    sizes: tuple[int, ...]
    """Attribute sizes of the domain."""
    parts: tuple[SurveyPart, ...]
    """The parts, each of share 1."""

    @property
    def domain_size(self) -> int:
        return math.prod(self.sizes)

    @property
    def outputs(self) -> None:
        return None

    @property
    def epsilon(self) -> float:
        return math.fsum(one.strategy.epsilon for one in self.parts)

    @property
    def report(self) -> str:
        return f"{len(self.parts)} reports, one of each part"

    def dense(self) -> MatrixStrategy:
        raise ValueError(
            "reports of all parts together are too many for a matrix: look at the parts one by one"
        )
