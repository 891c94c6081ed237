"""What is optimized: kinds of problems, their objectives and owners, files in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.problems.files.csv_weights import WeightTable, read_csv_weights
    from tacit.problems.files.decimals import CellFileError, Fault, unscaled_text
    from tacit.problems.files.load import load_problem, shipped_names, shipped_problem
    from tacit.problems.files.participant_csv import save_participants
    from tacit.problems.files.problem_file import MatrixFile, decode_problem_file
    from tacit.problems.files.save import save_problem
    from tacit.problems.files.tsplib import load_tour
    from tacit.problems.generate.by_name import Drawn, StudyKind, generate_named
    from tacit.problems.generate.capacities import generate_capacitated, generate_routing
    from tacit.problems.generate.delays import generate_delays, sampled_delay_costs
    from tacit.problems.generate.families import generate_family
    from tacit.problems.generate.generators import generate_assignment, generate_tour
    from tacit.problems.model.assignment import Assignment
    from tacit.problems.model.capacitated import CapacitatedAssignment
    from tacit.problems.model.evaluation import Evaluation
    from tacit.problems.model.kinds import kind_named
    from tacit.problems.model.matching import feasible_assignment, first_served
    from tacit.problems.model.objective import FITNESS_BITS, Objective, Sense
    from tacit.problems.model.optima import (
        GroundTruth,
        Optimum,
        ground_truth,
        optimal_value,
        optimum,
        simplex_points,
    )
    from tacit.problems.model.problem import MOST_PAIRS, Cells, Problem
    from tacit.problems.model.problem_checks import Participant
    from tacit.problems.model.public import PublicProblem, problem_without_weights, public_problem
    from tacit.problems.model.routing import Routing
    from tacit.problems.model.tour import Tour
    from tacit.problems.model.usual import with_usual_disclosures
else:
    __getattr__ = lazily(__name__)
