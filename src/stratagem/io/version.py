"""The version of the installed distribution, which pyproject.toml alone states."""

from importlib.metadata import version

__version__ = version("stratagem")
