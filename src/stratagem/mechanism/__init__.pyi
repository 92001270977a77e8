"""The public names of this folder and their homes, as `__init__.pyi` of the package."""

from .matrix_import import MatrixImport as MatrixImport
from .matrix_import import import_matrix as import_matrix
