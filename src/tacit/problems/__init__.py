"""What is optimized: assignments and tours, their objectives and owners, files in and out."""

from tacit.problems.assignment import Assignment
from tacit.problems.evaluation import Evaluation, Evaluator
from tacit.problems.objective import Objective, Sense
from tacit.problems.problem import Participant, Problem
from tacit.problems.tour import Tour

__all__ = [
    "Assignment",
    "Evaluation",
    "Evaluator",
    "Objective",
    "Participant",
    "Problem",
    "Sense",
    "Tour",
]
