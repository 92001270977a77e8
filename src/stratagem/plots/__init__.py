"""Figures: a comparison at a glance, the matrix of a count mechanism."""

from stratagem.plots.comparison import plot_comparison
from stratagem.plots.count_matrix import plot_counts
from stratagem.plots.figure import SUFFIXES, check_matplotlib

__all__ = ["SUFFIXES", "check_matplotlib", "plot_comparison", "plot_counts"]
