"""The public names of this folder and their homes, as `__init__.pyi` of the package."""

from .attacks import Attack as Attack
from .attacks import attack as attack
from .attacks import roc as roc
from .bound_table import BoundSweep as BoundSweep
from .comparison_sweep import Sweep as Sweep
from .comparison_sweep import path as path
from .frontier import Frontier as Frontier
from .frontier import guess_frontier as guess_frontier
from .literature import bibtex as bibtex
from .plan import Plan as Plan
from .preset import load_solver as load_solver
from .report_size import LocalComparison as LocalComparison
from .report_size import TradeOff as TradeOff
from .report_size import rectangular as rectangular
from .report_size import trade_off as trade_off
from .survey_plan import SurveyPlan as SurveyPlan
from .two_rounds import combine as combine
from .two_rounds import second_round as second_round
