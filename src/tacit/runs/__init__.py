"""One optimization: search, evaluator, deadline, checkpoint and result. `solve` lives here."""

from tacit.runs.agreed.agreed import LEDGER, Agreed
from tacit.runs.agreed.driver import agreed_driver
from tacit.runs.agreed.ledger import run_from_ledger
from tacit.runs.best_known import BestKnown, update_best_known
from tacit.runs.driver import Observer, Progress, SearchDriver, drive
from tacit.runs.duration import parse_duration, show_duration
from tacit.runs.engine_choice import EngineChoice
from tacit.runs.evaluating.driver import EvaluatingDriver
from tacit.runs.evaluating.evaluators import simulated_evaluator
from tacit.runs.evaluating.local import simulated_driver
from tacit.runs.evaluating.own_optimizer import Asking, open_evaluations
from tacit.runs.history import GenerationView
from tacit.runs.limits import Limits, StopReason
from tacit.runs.linear_sum_assignment import linear_sum_assignment
from tacit.runs.plan_values import evaluated_values, opened_values
from tacit.runs.plots import check_plot_name, plot_result
from tacit.runs.result import FrontSummary, Result, load_result
from tacit.runs.sealed.driver import SealedDriver
from tacit.runs.sealed.searching import SimulatedSearch
from tacit.runs.settings import (
    Checkpointing,
    Settings,
    SolveSettings,
    changed,
    parse_changes,
    sealed_settings,
    setting_names,
)
from tacit.runs.solve import DEFAULT_GENERATIONS, solve, with_disclosures
from tacit.runs.summarize import disclosed_to_user
from tacit.runs.weightings import default_weightings, even_weightings, parse_weighting
