"""One optimization: search, evaluator, deadline, checkpoint and result. `solve` lives here."""

from tacit.runs.agreed import LEDGER, Agreed, agreed_driver
from tacit.runs.agreed_ledger import run_from_ledger
from tacit.runs.driver import Observer, Progress, SearchDriver, drive
from tacit.runs.engine_choice import EngineChoice
from tacit.runs.evaluating import EvaluatingDriver
from tacit.runs.evaluating_local import simulated_driver, simulated_evaluator
from tacit.runs.history import BestKnown, GenerationView, update_best_known
from tacit.runs.limits import Limits, StopReason, parse_duration, show_duration
from tacit.runs.linear_sum_assignment import linear_sum_assignment
from tacit.runs.own_optimizer import Asking, open_evaluations
from tacit.runs.plots import check_plot_name, plot_result
from tacit.runs.result import (
    FrontSummary,
    Result,
    disclosed_to_user,
    evaluated_values,
    load_result,
    opened_values,
)
from tacit.runs.sealed import SealedDriver
from tacit.runs.sealed_local import SimulatedSearch
from tacit.runs.settings import (
    Checkpointing,
    Settings,
    SolveSettings,
    changed,
    default_weightings,
    even_weightings,
    parse_changes,
    parse_weighting,
    sealed_settings,
    setting_names,
)
from tacit.runs.solve import DEFAULT_GENERATIONS, solve, with_disclosures
