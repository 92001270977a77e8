"""The values that commands find where nobody states any."""

from pathlib import Path

from stratagem.domain.columns import distinct
from stratagem.domain.file import stated_order
from stratagem.domain.policy import STRICT
from stratagem.domain.proposal import found_values as found_in


def found_values(path, column, policy=STRICT):
    """Return the values found for a column of a file."""
    counts = distinct(path, column, policy)
    return found_in(counts, column, policy, stated_order(Path(path), column)).values
