"""What is optimized: assignments and tours, their objectives and owners, files in and out."""

from tacit.problems.assignment import Assignment
from tacit.problems.delays import generate_delays
from tacit.problems.evaluation import Evaluation, Evaluator
from tacit.problems.generators import generate_assignment, generate_tour
from tacit.problems.library import shipped_names, shipped_problem
from tacit.problems.load import load_problem
from tacit.problems.objective import Objective, Sense
from tacit.problems.optima import GroundTruth, Optimum, ground_truth, optimum
from tacit.problems.problem import Participant, Problem
from tacit.problems.save import save_problem
from tacit.problems.tour import Tour
from tacit.problems.tsplib import load_tour

__all__ = [
    "Assignment",
    "Evaluation",
    "Evaluator",
    "GroundTruth",
    "Objective",
    "Optimum",
    "Participant",
    "Problem",
    "Sense",
    "Tour",
    "generate_assignment",
    "generate_delays",
    "generate_tour",
    "ground_truth",
    "load_problem",
    "load_tour",
    "optimum",
    "save_problem",
    "shipped_names",
    "shipped_problem",
]
