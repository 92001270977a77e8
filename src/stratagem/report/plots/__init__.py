"""Figures in one style: comparisons, bounds, strategies with their errors, estimates, count mechanisms."""

from stratagem.report.plots.figure import (  # before the drawings: it says what to install
    STYLE,
    SUFFIXES,
    check_matplotlib,
)

# isort: split
from stratagem.report.plots.comparison import (
    plot_bounds,
    plot_comparison,
    plot_frontier,
    plot_sweep,
    plot_trade_off,
)
from stratagem.report.plots.count_matrix import plot_counts
from stratagem.report.plots.estimate import plot_estimate, plot_simulation
from stratagem.report.plots.strategy import plot_strategy

__all__ = [
    "STYLE",
    "SUFFIXES",
    "check_matplotlib",
    "plot_bounds",
    "plot_comparison",
    "plot_counts",
    "plot_estimate",
    "plot_frontier",
    "plot_simulation",
    "plot_strategy",
    "plot_sweep",
    "plot_trade_off",
]
