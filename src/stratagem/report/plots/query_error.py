"""The error of every query of a strategy, beside the lower bound on unbiased mechanisms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from stratagem.accuracy import UnsupportedWorkloadError, evaluate, query_variances
from stratagem.report.plots.figure import GREY, VERMILION
from stratagem.report.plots.query_axis import QueryAxis
from stratagem.workloads.total import Total

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from stratagem.strategies import Randomiser, TranslationStrategy
    from stratagem.workloads import Workload
    from stratagem.workloads.naming import Naming

ORDERED = 256
"""Largest number of queries of one kind that each have their own position; of more, the errors are sorted."""
SINGLE = 64
"""Largest number of queries that each have a dot."""
KINDS = 10
"""Largest number of kinds of tables that each have their own position."""
ROUNDING = 1e-14
"""Variance per user below which an answer counts as exact."""
LABELS = 30
"""Number of characters that fit below the axis of a panel."""
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw_errors(
    figure: FigureBase,
    naming: Naming,
    strategy: Randomiser | TranslationStrategy,
    prior: np.ndarray | None,
    bound: float | None,
) -> None:
    """Draw the standard deviation that one user of random type adds to every answer.

    A place for each query up to 256; a column for each kind of table, from the least error to the largest; the
    errors in order for other large workloads. Where they cannot be told query by query, the root mean square
    over queries is drawn for every user type. `bound` is a lower bound on the root mean square of them all.
    """
    axes, workload = figure.subplots(), naming.workload
    try:
        variances = query_variances(workload, strategy, prior)
        errors = np.sqrt(np.where(variances > ROUNDING, variances, 0.0))
    except UnsupportedWorkloadError:
        raise
    except ValueError:  # too many numbers
        errors = _draw_types(axes, workload, strategy, prior)
    else:
        kinds = _kinds(workload)
        _draw_queries(axes, errors, naming) if kinds is None else _draw_kinds(axes, errors, kinds)
    axes.set_ylim(0, 1.08 * max(float(errors.max()), bound or 0.0) or 1.0)
    axes.set_ylabel("standard deviation per user")
    if bound is not None:
        line = axes.axhline(bound, color=GREY, linestyle="--")
        figure.legend([line], ["bound on the root mean square"], loc="outside lower center")


def upright(naming: Naming) -> bool:
    """Return whether names stand upright below the errors of the queries."""
    many = naming.workload.queries
    return many <= ORDERED and _kinds(naming.workload) is None and QueryAxis.of(naming, range(many)).upright


def _draw_queries(axes: Axes, errors: np.ndarray, naming: Naming) -> None:
    many = len(errors)
    if many <= ORDERED:
        marks = {"marker": "o", "markersize": 2.5} if many <= SINGLE else {}
        along = QueryAxis.of(naming, range(many))
        axes.plot(along.places, errors, color=VERMILION, linewidth=0.8, **marks)
        along.write_below(axes)
    else:
        axes.plot((np.arange(many) + 0.5) / many * 100, np.sort(errors), color=VERMILION)
        axes.set_xlabel(f"share of {many:,} queries, %")
    axes.set_title("error of every query")


def _kinds(workload: Workload) -> dict[str, np.ndarray] | None:
    """Return the queries grouped by the sizes of their tables; None where such groups are not useful."""
    if len(workload.domain.sizes) == 1:
        return None
    every, kinds = np.arange(workload.queries), dict[tuple[int, ...], list[np.ndarray]]()
    for margin in workload.margins():
        sizes = () if isinstance(margin.workload, Total) else tuple(sorted(margin.workload.domain.sizes))
        kinds.setdefault(sizes, []).append(every[margin.places])
    if not 1 < len(kinds) <= KINDS:
        return None
    order = sorted(kinds, key=lambda sizes: (math.prod(sizes), sizes))
    return {_product(sizes): np.concatenate(kinds[sizes]) for sizes in order}


def _product(sizes: tuple[int, ...]) -> str:
    """Return sizes as a product of powers: 2² × 5."""
    powers = {size: sizes.count(size) for size in sizes}
    return " × ".join(f"{size}{str(k).translate(RAISED) * (k > 1)}" for size, k in powers.items()) or "all"


def _draw_kinds(axes: Axes, errors: np.ndarray, kinds: dict[str, np.ndarray]) -> None:
    for place, chosen in enumerate(kinds.values()):
        own = errors[chosen]
        axes.vlines(place, own.min(), own.max(), color=VERMILION, linewidth=4, alpha=0.4)
        axes.plot(place, math.sqrt(np.square(own).mean()), "D", color=VERMILION)
    crowded = sum(len(name) + 2 for name in kinds) > LABELS
    axes.set_xticks(range(len(kinds)), list(kinds), rotation=90 if crowded else 0)
    axes.set_xlim(-0.6, len(kinds) - 0.4)
    axes.set_xlabel("cells of the table")
    axes.set_title("error of every query, by table")


def _draw_types(
    axes: Axes, workload: Workload, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None
) -> np.ndarray:
    """Draw and return the root mean square over queries for users of each type."""
    errors = np.sqrt(evaluate(workload, strategy, prior).per_type / workload.queries)
    if len(errors) > 1:
        axes.plot(errors, color=VERMILION)
    else:
        axes.axhline(errors[0], color=VERMILION)
        axes.set_xticks([])
    axes.set_xlabel("user type")
    axes.set_title("error by user type")
    return errors
