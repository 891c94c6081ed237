"""One optimization: search, evaluator, deadline, checkpoint and result. `solve` lives here."""

from tacit.runs.duration import parse_duration, show_duration
from tacit.runs.evaluators import EngineChoice, simulated_evaluator
from tacit.runs.limits import Limits, StopReason
from tacit.runs.result import Result, load_result
from tacit.runs.run import GenerationView, Observer, Run
from tacit.runs.solve import Checkpointing, solve, with_disclosures

__all__ = [
    "Checkpointing",
    "EngineChoice",
    "GenerationView",
    "Limits",
    "Observer",
    "Result",
    "Run",
    "StopReason",
    "load_result",
    "parse_duration",
    "show_duration",
    "simulated_evaluator",
    "solve",
    "with_disclosures",
]
