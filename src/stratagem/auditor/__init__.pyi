"""The public names of this folder and their homes, as `__init__.pyi` of the package."""

from .audit import Audit as Audit
from .known import audit_reports as audit_reports
