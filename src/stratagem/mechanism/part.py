"""Parsers for three parts of a bundle: its workload, its prior and its utility."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from stratagem.math.prior import check_prior
from stratagem.mechanism.client import exact_bytes
from stratagem.workloads import Workload
from stratagem.workloads.serial import from_data

SEARCH = {"search": "interrupted"}
"""Further entry of the utility if Ctrl-C ended the search; clients ignore it."""


def workload_of(data: Any) -> tuple[Workload, str]:
    """Return the workload that this part of a bundle describes, and its name."""
    if not isinstance(data, dict) or set(data) != {"name", "specification"}:
        raise ValueError("the workload needs a name and a specification: use the file that stratagem wrote")
    if not all(isinstance(text, str) for text in data.values()):
        raise ValueError(
            "the workload's name and specification are no texts: use the file that stratagem wrote"
        )
    try:
        specification = json.loads(data["specification"])
    except (ValueError, RecursionError):
        raise ValueError("the workload is not plain JSON: use the file that stratagem wrote") from None
    return from_data(specification), data["name"]


def prior_of(text: Any, n: int) -> np.ndarray | None:
    """Return the prior that a bundle states, of shape (n,); None for the uniform one."""
    if text is None:
        return None
    return check_prior(np.frombuffer(exact_bytes(text, "prior", 8 * n), dtype="<f8").astype(float), n)


def utility_of(data: Any) -> dict[str, str]:
    """Return the utility of a bundle, three numbers as text."""
    try:
        numbers = [float(data[key]) for key in ("objective", "unrounded", "loss")]
    except (TypeError, KeyError, ValueError, OverflowError):
        numbers = [math.nan]
    if not all(map(math.isfinite, numbers)) or len(data) != 3 + (SEARCH.items() <= data.items()):
        raise ValueError("the utility must hold three numbers: use the file that stratagem wrote")
    return data
