"""Pictures of the documentation: as .png for readers of files, as .svg for light and for dark pages of the site."""

import io
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

INK = "#e6e8f2"
"""Colour of words in the dark."""
DARK = {"#000000": INK, "#ffffff": "#1e2129", "#595959": "#a6a6a6"}
"""Colours of a dark page in place of black, white and grey."""
DPI = 200


def forms(figure: Figure, dpi: int = DPI, **options: Any) -> dict[str, bytes]:
    """Return a picture by the end of its file's name: .png, .svg, and -dark.svg in the colours of a dark page."""
    png, svg = io.BytesIO(), io.StringIO()
    figure.savefig(png, format="png", dpi=dpi, **options)
    figure.savefig(svg, format="svg", metadata={"Date": None}, **options)
    light = svg.getvalue()
    dark = light.replace("<svg ", f'<svg fill="{INK}" ', 1)
    for colour, other in DARK.items():
        dark = dark.replace(colour, other)
    return {".png": png.getvalue(), ".svg": light.encode(), "-dark.svg": dark.encode()}


def write(figure: Figure, path: str | Path, **options: Any) -> None:
    """Write a picture in all its forms beside each other; the path is that of one of them."""
    path = Path(path)
    for end, content in forms(figure, **options).items():
        if end != ".png" or path.suffix == ".png":
            path.with_name(path.stem + end).write_bytes(content)
