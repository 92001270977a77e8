"""Rounding: from a strategy in double precision to a table of whole numbers that never exceeds epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import cast

import numpy as np

from stratagem.estimators import Estimator, estimator
from stratagem.estimators.dense import Dense
from stratagem.estimators.survey import Surveyed
from stratagem.mechanism.client import HIGH, LIMIT, MOST, MOST_BITS, PARTS, SCALE, WEIGHT_BITS, exp_below
from stratagem.mechanism.parts_table import PartsTable, TablePart, whole_shares
from stratagem.mechanism.table import ColumnTable, Exact, Table, TranslationTable, TwoLevelTable, coverage
from stratagem.strategies import (
    MatrixStrategy,
    Strategy,
    SurveyStrategy,
    TranslationStrategy,
    TwoLevelStrategy,
)
from stratagem.strategies.two_level import pack, two_levels
from stratagem.workloads import Workload

LARGEST = 1 << 25
"""Largest number of entries of a matrix that is written in whole numbers."""

LOSS = 1e-6
"""Share of the variance of an answer that rounding to 32 bits may cost before more bits are taken."""
WRITTEN, DEARER = 1 << 18, 1e-4
"""Most entries of a two-level strategy that is written as a matrix of more bits, and the loss from which it is."""
NEGLIGIBLE = 1e-9
"""Variance, as a share of the squared range of a query, that need not be kept: 1 user among 10^9 is as much."""
EACH = 1 << 22
"""Entries of all queries up to which the variance of each answer is looked at, elsewhere, and of translates, their
total."""


def budget(epsilon: float) -> Fraction:
    """Return epsilon as the fraction that its shortest decimal text names: 0.1 is 1/10."""
    return Fraction(repr(float(epsilon)))


def decimal_text(epsilon: float) -> str:
    """Return the shortest decimal text of epsilon, without an exponent."""
    return f"{Decimal(repr(float(epsilon))):f}"


def nearest_table(
    strategy: Exact, epsilon: Fraction, workload: Workload, through: Callable[[Exact], Estimator]
) -> tuple[Table, dict[str, str]]:
    """Return a table of whole numbers for the strategy, and its utility `through` the estimators of both.

    The first form that adds at most 1e-6 to an answer's variance is taken, otherwise the one that adds least. Of
    two-level rows, which are a shorter text than a matrix, 1e-4 is accepted.

    Of a survey every part is rounded so, for the queries that it answers.

    Raises:
        ValueError: as `rounded`, if nothing holds the strategy.
    """
    if strategy.parted:
        return _nearest_parts(cast("SurveyStrategy", strategy), epsilon, workload)
    before, found, refusal = through(strategy), list[tuple[float, Table, Estimator]](), ValueError()
    for form, bits, enough in _forms(strategy):
        try:
            table = rounded(form, epsilon, bits)
            after = through(table.strategy)
            found.append((risen(workload, before, after), table, after))
        except ValueError as error:  # too coarse to hold the strategy
            refusal = error
            continue
        if found[-1][0] <= enough:
            found = found[-1:]
            break
    if not found:
        raise refusal
    rise, table, after = min(found, key=lambda one: one[0])
    return table, stated_utility(workload, before, after, rise)


def _nearest_parts(
    strategy: SurveyStrategy, epsilon: Fraction, workload: Workload
) -> tuple[PartsTable, dict[str, str]]:
    """Return the table of a survey, and its utility.

    The largest share that rounding adds to the variance of an answer through its part is an upper bound of that of
    the answer, whose other variance stays.
    """
    if not strategy.runnable:
        raise ValueError(
            "a part of the survey has reports of a published protocol, which no table holds: give it a strategy of few "
            "reports, or of translates"
        )
    before = Surveyed(strategy)
    asked = {part: queries for part, queries, _ in before.by_part(workload)}
    tables, rises = [], [0.0]
    for i, one in enumerate(strategy.parts):
        own = cast("Strategy | TranslationStrategy", one.strategy)
        if i not in asked:
            tables.append(rounded(own, epsilon))
            continue
        table, _ = nearest_table(own, epsilon, asked[i], estimator)
        tables.append(table)
        rises.append(risen(asked[i], estimator(own), estimator(table.strategy)))
    shares = whole_shares(np.array([one.share for one in strategy.parts]))
    parts = (
        TablePart(one.attributes, share, table)
        for one, share, table in zip(strategy.parts, shares, tables, strict=True)
    )
    found = PartsTable(strategy.sizes, tuple(parts))
    if found.strategy.outputs > MOST:
        raise ValueError(
            "the survey has 2^53 possible reports, but a mechanism file holds fewer: ask fewer questions at once"
        )
    after = estimator(found.strategy)
    return found, stated_utility(workload, before, after, max(*rises, risen(workload, before, after)))


def _forms(strategy: Exact) -> Iterator[tuple[Exact, int, float]]:
    """Yield the forms to round, each with its bits and the loss that is accepted.

    A matrix comes first, the same with more bits, then its two-level rows; two-level rows come before their matrix.
    """
    if isinstance(strategy, MatrixStrategy):
        yield strategy, WEIGHT_BITS, LOSS
        yield strategy, MOST_BITS, LOSS
        yield two_levels(strategy), MOST_BITS, LOSS
        return
    yield strategy, WEIGHT_BITS, DEARER
    if strategy.two_level is not None and strategy.outputs * strategy.domain_size <= WRITTEN:
        yield strategy.dense(), MOST_BITS, LOSS


def stated_utility(workload: Workload, before: Estimator, after: Estimator, rise: float) -> dict[str, str]:
    """Return L(Q) after rounding, the same before, and the relative loss, as decimal texts.

    The loss is `rise`, the largest share that rounding added to an answer's variance, where that is above 1e-4.
    """
    new, old = after.objective(workload), before.objective(workload)
    loss = rise if rise > DEARER else new / old - 1 if old else 0.0
    return {"objective": repr(new), "unrounded": repr(old), "loss": f"{loss:.3e}"}


def risen(workload: Workload, before: Estimator, after: Estimator) -> float:
    """Return the largest share by which another strategy raises what a user adds to the variance of an answer.

    The user is drawn from the prior of the estimators. Of very many queries, and of translates, it is the share of
    their total. L(Q) also holds the squared means of the queries, beside which a rise may be nothing. Variances count
    as at least `NEGLIGIBLE`; 0 where all answers are exact.

    Example:
        >>> import stratagem as st
        >>> strategies = (st.published.randomised_response(3, epsilon) for epsilon in (1.0, 0.9))
        >>> round(risen(st.histogram(3), *map(estimator, strategies)), 3)
        0.274
    """
    if isinstance(before, Dense) and workload.queries * workload.domain_size <= EACH:
        old, new = before.variances(workload), after.variances(workload)
        spans = np.ptp(workload.matrix(), axis=1)
        old = np.maximum(old, NEGLIGIBLE * np.square(spans)) * (spans > 0)  # multiples of the total are known
    else:
        old, new = (np.array([one.accuracy(workload).average_variance]) for one in (before, after))
    known = old > 0
    return float((new[known] / old[known] - 1).max()) if known.any() else 0.0


def rounded(strategy: Exact, epsilon: Fraction, bits: int = WEIGHT_BITS) -> Table:
    """Return a table of whole numbers next to `strategy` that holds epsilon exactly.

    Two-level rows and patterns keep their sets, whatever `bits`; a matrix gets columns that sum to 2^bits.

    Guarantee:
        max <= min * x for every row, with a fraction x <= exp(epsilon), and equal column sums.
    """
    if strategy.epsilon > float(epsilon) * (1 + 1e-12):
        raise ValueError(
            f"the strategy measures epsilon {strategy.epsilon:.10g}, above the {float(epsilon):g} promised: "
            "promise what it measures, or optimise again"
        )
    bound = exp_below(epsilon.numerator, epsilon.denominator)
    if strategy.translated is not None:
        return _whole_patterns(strategy.translated, bound)
    if strategy.two_level is not None:
        return _whole_rows(strategy.two_level, bound)
    if strategy.outputs * strategy.domain_size > LARGEST:
        raise ValueError(
            f"a matrix of {strategy.outputs} outputs x {strategy.domain_size} user types is too large for a "
            f"bundle ({LARGEST} entries at most): optimise with fewer outputs"
        )
    return _columns(strategy.dense().matrix, bound, bits)


def _whole_rows(strategy: TwoLevelStrategy, bound: int) -> TwoLevelTable:
    """Round the weights, then cover the user types equally again by nested sets of tiny weight.

    Rounding leaves user type u short by some units. The sets {u: short by at least k}, each weighted by
    the step to the next k, make up for it, and rows without a set fill the weights up to 2^32.
    Given rows without a set become rows of the full set, which need a weight E times smaller.
    """
    n, kept = strategy.size, strategy.theta > 0
    constant = strategy.sizes[kept] == 0
    patterns = np.where(constant[:, None], pack(np.ones((1, n), dtype=bool)), strategy.patterns[kept])
    theta = np.where(constant, strategy.theta[kept] / strategy.ratio, strategy.theta[kept])
    shares = theta / theta.sum()
    reserve = 1
    while True:
        weights = np.rint(shares * ((1 << WEIGHT_BITS) - reserve)).astype(np.int64)
        covered = coverage(patterns, weights, n)
        short = covered.max() - covered
        blank = (1 << WEIGHT_BITS) - int(weights.sum()) - int(short.max())
        if blank > 0:
            break
        reserve += 1 - blank + len(weights) // 64
    steps = np.unique(short)
    layers = short >= steps[1:, None]
    patterns = np.concatenate([patterns, pack(layers), np.zeros_like(patterns[:1])])
    weights = np.concatenate([weights, np.diff(steps), [blank]])
    return TwoLevelTable(patterns, weights, n, _lower_level(strategy.ratio, bound))


def lower_level(bound: int) -> int:
    """Return the least whole number of which 2^52 is at most bound/2^`SCALE` times as much."""
    return -(-(HIGH << SCALE) // bound)


def _lower_level(ratio: float, bound: int) -> int:
    """Return the least whole number that is 2^52/E or more and no less than 2^52/exp(epsilon)."""
    return max(lower_level(bound), math.ceil(Fraction(HIGH) / Fraction(ratio)))


def _whole_patterns(strategy: TranslationStrategy, bound: int) -> TranslationTable:
    """Round the chances p of drawing each pattern, w_b ~ p_b (1 + (E - 1) |T_b|/cells_b) being those of a report.

    Patterns that are drawn less than once in 2^32 times are left out. What whole numbers leave of 2^32 goes to
    those that lost most.
    """
    low = _lower_level(strategy.ratio, bound)
    share = np.array([pattern.size / pattern.cells for pattern in strategy.patterns])
    drawn = strategy.weights / (low + (HIGH - low) * share)
    units = drawn / drawn.sum() * float(1 << WEIGHT_BITS)
    weights = np.floor(units).astype(np.int64)
    lost = np.argsort(weights - units, kind="stable")
    weights[lost[: (1 << WEIGHT_BITS) - int(weights.sum())]] += 1
    kept = np.flatnonzero(weights)
    table = TranslationTable(
        sizes=strategy.sizes,
        cycles=strategy.cycles,
        groups=tuple(tuple(sorted(group)) for group in strategy.groups),
        patterns=tuple(strategy.patterns[b] for b in kept),
        weights=tuple(weights[kept].tolist()),
        low=low,
    )
    _check_room(table)
    return table


def _check_room(table: TranslationTable) -> None:
    """Refuse a table that exceeds the limits of the bundle format, which clients would not read."""
    if max(table.cycles) > PARTS:
        raise ValueError(
            f"an attribute lies on a cycle of {max(table.cycles)} points, but a mechanism file holds {PARTS} at most: "
            "merge neighbouring values"
        )
    if table.strategy.outputs > MOST:
        raise ValueError(
            "the strategy has 2^53 outputs, but a mechanism file holds fewer: use fewer axes or patterns"
        )
    size = sum(pattern.packed.size for pattern in table.patterns)
    if size > LIMIT // 2:
        raise ValueError(
            f"the patterns take {size} bytes, but a mechanism file holds {LIMIT // 2} of them: use fewer patterns"
        )


def _columns(Q: np.ndarray, bound: int, bits: int) -> ColumnTable:
    """Round every entry into the range that its row's smallest one allows, then correct each column sum.

    Outputs whose probability is below 2^-(bits + 1) for every user type are left out.
    """
    S = Q[Q.max(axis=1) * 2.0**bits >= 0.5] * 2.0**bits
    if len(S) == 1:  # certain, and 2^32 itself takes 33 bits
        return ColumnTable(np.full((1, S.shape[1]), 1 << MOST_BITS), MOST_BITS)
    low = np.maximum(np.floor(S.min(axis=1)), 1).astype(np.int64)
    high = np.array([min(least * bound >> SCALE, 1 << bits) for least in low.tolist()])[:, None]
    entries = np.clip(np.rint(S).astype(np.int64), low[:, None], high)
    for column in entries.T:
        lacking = (1 << bits) - int(column.sum())
        room = (high[:, 0] - column) if lacking > 0 else (column - low)
        if abs(lacking) > room.sum():
            raise ValueError(
                f"the strategy does not fit into columns of 2^{bits} units: its probabilities are too small or "
                "too close, use fewer outputs or a larger epsilon"
            )
        column += np.sign(lacking) * _shared(abs(lacking), room)
    return ColumnTable(entries, bits)


def stepped(Q: np.ndarray, bounds: Sequence[int]) -> ColumnTable:
    """Return columns of 2^52 units whose neighbouring entries keep to the ratios bounds_u/2^`SCALE`, (n - 1,) of them.

    Every entry gets a unit more for each of `room`, so that the ratios of a row shrink by more than rounding may add;
    `room` doubles until they hold. What is left of a column goes to the entries that lost most.
    """
    m, n = Q.shape
    for room in (1 << k for k in range(4, 40)):
        share = (Q * (1 - m * room / HIGH) / Q.sum(axis=0)) * HIGH + room
        entries = np.floor(share).astype(np.int64)
        lacking = HIGH - entries.sum(axis=0)
        order = np.argsort(entries - share, axis=0, kind="stable")
        for u in range(n):
            few = min(max(int(lacking[u]), 0), m)
            entries[order[:few, u], u] += 1
            entries[int(np.argmax(entries[:, u])), u] += lacking[u] - few
        rows = [column.tolist() for column in entries.T]
        if all(
            max(one, two) << SCALE <= min(one, two) * bound
            for bound, first, second in zip(bounds, rows, rows[1:], strict=False)
            for one, two in zip(first, second, strict=True)
        ):
            return ColumnTable(entries, MOST_BITS)
    raise ValueError("the strategy does not fit into whole numbers that keep to its steps: use larger steps")


def _shared(amount: int, room: np.ndarray) -> np.ndarray:
    """Return whole numbers that sum to `amount`, in proportion to the limits `room` (m,) and at most these."""
    if amount == 0:
        return np.zeros_like(room)
    before = np.cumsum(room) * (amount / room.sum())
    before[-1] = amount
    return np.diff(np.minimum(np.rint(before), amount).astype(np.int64), prepend=0)
