"""What a plan's values need beside their own: a value for no answer, and one for other answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stratagem.domain.bins import Bins
from stratagem.domain.policy import DROP, STRICT, Policy
from stratagem.domain.proposal import STATED, Proposal, propose
from stratagem.domain.values import ABSENT, OTHER, Labels

REFUSED = (
    "Whoever answers anything else later is refused; ,other at the end of the values counts such people."
)
LONG = 60
"""Letters of edges or labels that stand on one line; longer ones are broken between values."""


def found_values(
    counts: Mapping[str | None, int], column: str, policy: Policy = STRICT, order: Sequence[str] = ()
) -> Proposal:
    """Return the values that nobody stated for a column: those of `propose` with those that its rows need.

    Where the policy drops rows they are the bins or labels alone. A domain is public: where a mechanism is to be run,
    it must not be read from the data of those who are to be protected, so state bins or labels there.
    """
    found = propose(counts, column, as_is=policy.as_is, order=order)
    if policy.invalid != DROP:
        return completed(found, counts)
    values = _without_other(found.values)
    return replace(found, values=values)


def completed(proposal: Proposal, counts: Mapping[str | None, int]) -> Proposal:
    """Return the values with those that the rows of a column need, from how often each of its texts occurs.

    "No answer" is added where answers are missing, "other" where some are in none of the values; an "other" that no
    row needs is left out, unless it was stated.
    """
    values, (x, rest) = proposal.values, proposal.count(counts)
    silent, unlisted = ABSENT in rest, bool(set(rest) - {ABSENT})
    rows = 0 if values.other is None else x[values.other] - rest.get(ABSENT, 0)
    needed = unlisted if values.other is None else proposal.rule == STATED or rows > 0
    if needed != (values.other is not None):
        values = _with_other(values) if needed else _without_other(values)
    values = replace(values, no_answer=values.no_answer or silent)
    return replace(proposal, values=values)


def _with_other(values: Bins | Labels) -> Bins | Labels:
    if isinstance(values, Bins):
        return replace(values, edges=(*values.edges, OTHER))
    return replace(values, texts=(*values.texts, OTHER))


def _without_other(values: Bins | Labels) -> Bins | Labels:
    if isinstance(values, Bins):
        return replace(values, edges=values.edges[:-1])
    return replace(values, texts=values.texts[:-1])


def cautions(column: str, proposal: Proposal, coded: Mapping[str, int]) -> tuple[str, ...]:
    """Return what is to be done about values that were read from the data, and about placeholders among them."""
    option = "edges" if proposal.ordered else "labels"
    read = (
        f"These {option} were read from the data and tell something about them: if these are the people to protect, "
        f"state {option} that you know without the data."
    )
    listed = ", ".join(f"{text!r} {rows:,}" for text, rows in coded.items())
    placeholder = (
        f"{column} holds numbers that look like placeholders for no answer (rows with {listed}): if they are, say so "
        f"with missing={list(coded)}."
    )
    return (*([] if proposal.rule == STATED else [read]), *([placeholder] if coded else []))


def sentences(column: str, proposal: Proposal, x: np.ndarray, rest: Mapping[str, int]) -> tuple[str, ...]:
    """Return what the values are, and the rows x (n,) of those beside the bins or labels; `rest` is in none of them."""
    values, kind = proposal.values, "bins" if proposal.ordered else "labels"
    why = f" ({', '.join(f'{reason} {count:,}' for reason, count in rest.items())})" if rest else ""
    left = sum(rest.values()) if values.other is None else 0
    rows = f"of {int(x.sum()) + left:,} rows"
    names = "".join(f" and {values.value(cell)!r}" for cell in values.outside)
    option = proposal.option
    if len(option) > LONG and '"' not in option:
        option = ", ".join(option.split(","))
    counted = [
        f"{int(x[cell]):,} {rows} count as {values.value(cell)!r}{why if cell == values.other else ''}."
        for cell in values.outside
    ]
    return (
        f"{column}: {values.size - len(values.outside)} {kind}{names} ({proposal.rule}): {option}",
        *counted,
        *([f"{left:,} {rows} are left out{why}."] if left else []),
        *([REFUSED] if proposal.rule != STATED and values.other is None else []),
    )
