"""Figures in one style: comparisons, bounds, strategies with their errors, estimates, count mechanisms."""

from stratagem.plots.bound import plot_bounds
from stratagem.plots.comparison import plot_comparison
from stratagem.plots.count_matrix import plot_counts
from stratagem.plots.estimate import plot_estimate
from stratagem.plots.figure import STYLE, SUFFIXES, check_matplotlib
from stratagem.plots.simulation import plot_simulation
from stratagem.plots.strategy import plot_strategy
from stratagem.plots.sweep import plot_sweep
from stratagem.plots.trade_off import plot_trade_off

__all__ = [
    "STYLE",
    "SUFFIXES",
    "check_matplotlib",
    "plot_bounds",
    "plot_comparison",
    "plot_counts",
    "plot_estimate",
    "plot_simulation",
    "plot_strategy",
    "plot_sweep",
    "plot_trade_off",
]
