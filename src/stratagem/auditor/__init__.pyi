"""The public names of this folder and their homes, as `__init__.pyi` of the package."""

from .known import audit_reports as audit_reports
from .outcome import Audit as Audit
