"""The audit of reports that a foreign client made of known values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from stratagem.auditor.audit import FALSE_ALARM, TYPES, check_options
from stratagem.auditor.check import Asked
from stratagem.auditor.outcome import Audit, outcome
from stratagem.auditor.plan import Chosen
from stratagem.auditor.planning import plan
from stratagem.auditor.reports import Reports
from stratagem.mechanism.mechanism import Mechanism


def audit_reports(
    mechanism: Mechanism,
    user_types: Sequence[int] | np.ndarray,
    outputs: Sequence[int] | np.ndarray,
    *,
    ids: np.ndarray | None = None,
    types: int = TYPES,
    false_alarm: float = FALSE_ALARM,
) -> Audit:
    """Test outputs (k,) of a foreign client, each about a user type (k,) that is known, against the table.

    The `types` user types with most reports are tested, and the bytes of ids (k x 16) where they are given. What
    new clients do, and what a report says of the value before it, cannot be told from a list of reports.

    Guarantee:
        A client that draws from the table, independently and with random ids, fails with probability at
        most `false_alarm` (up to the chi-squared approximation of most kinds of checks). A client whose
        epsilon is at most the budget is found to exceed it with probability at most false_alarm/2.

    Raises:
        ValueError: for other numbers of user types than of outputs, numbers that are not whole, user types
            outside the domain, fewer than 100 reports of those tested, or a false-alarm rate outside (0, 0.5).

    Example:
        >>> import numpy as np, stratagem as st
        >>> mechanism = st.optimise(st.histogram(4), epsilon=1.0).mechanism()
        >>> user_types = np.repeat(np.arange(4), 500)
        >>> outputs = mechanism.randomise(user_types, np.random.default_rng(0))
        >>> audit_reports(mechanism, user_types, outputs).passed
        True
    """
    cells, found = _whole(user_types, "user types"), np.array(_whole(outputs, "outputs"), dtype=object)
    if len(cells) != len(found) or (ids is not None and np.shape(ids) != (len(cells), 16)):
        raise ValueError(
            f"{len(cells)} user types were given for {len(found)} outputs: give as many, and 16 bytes an id"
        )
    size = mechanism.domain.size
    wrong = next((u for u in cells if not 0 <= u < size), None)
    if wrong is not None:
        raise ValueError(
            f"the user type {wrong} was given, but they are numbered 0 to {size - 1}: give one of them"
        )
    counted = Counter(cells)
    most = tuple(sorted(counted, key=lambda u: (-counted[u], u))[:types])
    check_options(sum(counted[u] for u in most), types, false_alarm, 0)
    place = {u: k for k, u in enumerate(most)}
    kept = np.array([k for k, u in enumerate(cells) if u in place])
    valid = np.array([y if 0 <= y < mechanism.outputs else -1 for y in found[kept]], dtype=np.int64)
    places = np.array([place[cells[k]] for k in kept.tolist()])
    asked = Asked(places, Reports(valid, None if ids is None else np.asarray(ids, np.uint8)[kept]))
    drawn = None if len(most) == size else 0
    planned = plan(mechanism.strategy, most, min(counted[u] for u in most), false_alarm / 4)
    return outcome(mechanism, Chosen(most, drawn), planned, asked, {}, false_alarm, seed=None)


def _whole(values: Sequence[int] | np.ndarray, what: str) -> list[int]:
    """Return whole numbers of any size as a list."""
    found = np.asarray(values).tolist() if isinstance(values, np.ndarray) else list(values)
    if any(type(one) is not int for one in found):
        raise ValueError(f"the {what} are not all whole numbers: give a list of whole numbers")
    return found
