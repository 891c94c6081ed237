"""What is optimized: assignments and tours, their objectives and owners, files in and out."""

from tacit.problems.files.library import shipped_names, shipped_problem
from tacit.problems.files.load import load_problem
from tacit.problems.files.save import save_problem
from tacit.problems.files.tsplib import load_tour
from tacit.problems.generate.delays import generate_delays
from tacit.problems.generate.generators import generate_assignment, generate_tour
from tacit.problems.model.assignment import Assignment
from tacit.problems.model.evaluation import Evaluation, Evaluator
from tacit.problems.model.objective import Objective, Sense
from tacit.problems.model.optima import GroundTruth, Optimum, ground_truth, optimum
from tacit.problems.model.problem import Participant, Problem
from tacit.problems.model.tour import Tour

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
