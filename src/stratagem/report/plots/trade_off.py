"""The figure of a trade-off: how much accuracy few outputs cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.io.presentation import presents
from stratagem.report.plots.figure import VERMILION, page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stratagem.study.report_size import TradeOff


@presents
def plot_trade_off(table: TradeOff, path: str | Path | None = None, width: float | None = None) -> Figure:
    """Draw the gap to the bound against the size of a report, in bits, each point with its number of outputs.

    Raises:
        ValueError: as `page`.
    """
    gaps = [100 * point.gap for point in table.points]
    with page(path, 2.6, width) as figure:
        axes = figure.subplots()
        axes.plot([point.bits for point in table.points], gaps, "D-", color=VERMILION)
        for point, gap in zip(table.points, gaps, strict=True):
            axes.annotate(
                f"{point.outputs:,}",
                (point.bits, gap),
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=7,
            )
        axes.margins(x=0.12)
        axes.set_ylim(0, 1.15 * max(*gaps, 0.01))
        axes.set_xlabel("size of a report, bits (beside each point: outputs)")
        axes.set_ylabel("above the lower bound, %")
    return figure
