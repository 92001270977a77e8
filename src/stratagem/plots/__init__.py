"""Figures: a comparison at a glance, many along an axis, the matrix of a count mechanism."""

from stratagem.plots.comparison import plot_comparison
from stratagem.plots.count_matrix import plot_counts
from stratagem.plots.figure import SUFFIXES, check_matplotlib
from stratagem.plots.sweep import plot_sweep

__all__ = ["SUFFIXES", "check_matplotlib", "plot_comparison", "plot_counts", "plot_sweep"]
