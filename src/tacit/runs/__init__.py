"""One optimization: search, evaluator, deadline, checkpoint and result. `solve` lives here."""

from tacit.runs.driver import Observer, Progress, SearchDriver, drive
from tacit.runs.duration import parse_duration, show_duration
from tacit.runs.engine_choice import EngineChoice
from tacit.runs.evaluating.driver import EvaluatingDriver
from tacit.runs.evaluating.evaluators import simulated_evaluator
from tacit.runs.history import GenerationView
from tacit.runs.limits import Limits, StopReason
from tacit.runs.result import Result, load_result
from tacit.runs.settings import Checkpointing, SolveSettings
from tacit.runs.solve import solve, with_disclosures

__all__ = [
    "Checkpointing",
    "EngineChoice",
    "EvaluatingDriver",
    "GenerationView",
    "Limits",
    "Observer",
    "Progress",
    "Result",
    "SearchDriver",
    "SolveSettings",
    "StopReason",
    "drive",
    "load_result",
    "parse_duration",
    "show_duration",
    "simulated_evaluator",
    "solve",
    "with_disclosures",
]
