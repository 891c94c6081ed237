"""What is optimized: assignments and tours, their objectives and owners, files in and out."""

from tacit.problems.files.library import (
    shipped_names as shipped_names,
    shipped_problem as shipped_problem,
)
from tacit.problems.files.load import load_problem as load_problem
from tacit.problems.files.save import save_problem as save_problem
from tacit.problems.files.tsplib import load_tour as load_tour
from tacit.problems.generate.delays import generate_delays as generate_delays
from tacit.problems.generate.generators import (
    generate_assignment as generate_assignment,
    generate_tour as generate_tour,
)
from tacit.problems.model.assignment import Assignment as Assignment
from tacit.problems.model.evaluation import Evaluation as Evaluation, Evaluator as Evaluator
from tacit.problems.model.objective import Objective as Objective, Sense as Sense
from tacit.problems.model.optima import (
    GroundTruth as GroundTruth,
    Optimum as Optimum,
    ground_truth as ground_truth,
    optimum as optimum,
)
from tacit.problems.model.problem import Participant as Participant, Problem as Problem
from tacit.problems.model.tour import Tour as Tour
