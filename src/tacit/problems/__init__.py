"""Kinds of problems, their objectives and owners, files in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.problems.assignment import Assignment, CapacitatedAssignment
    from tacit.problems.delays import generate_delays, sampled_delay_costs
    from tacit.problems.files.decimals import CellFileError, Fault, unscaled_text
    from tacit.problems.files.json_format import MatrixFile, decode_problem_file
    from tacit.problems.files.load_and_save import (
        load_problem,
        save_participants,
        save_problem,
        shipped_names,
        shipped_problem,
    )
    from tacit.problems.files.matrices import WeightTable, read_csv_weights
    from tacit.problems.files.tsplib import load_tour
    from tacit.problems.generate import Drawn, StudyKind, generate_named
    from tacit.problems.generators import (
        generate_assignment,
        generate_capacitated,
        generate_family,
        generate_routing,
        generate_tour,
    )
    from tacit.problems.kinds import (
        PublicProblem,
        kind_named,
        problem_without_weights,
        public_problem,
        with_usual_disclosures,
    )
    from tacit.problems.matching import feasible_assignment, first_served
    from tacit.problems.objective import FITNESS_BITS, Objective, Participant, Sense
    from tacit.problems.optima import (
        GroundTruth,
        Optimum,
        ground_truth,
        optimal_value,
        optimum,
        simplex_points,
    )
    from tacit.problems.problem import MOST_PAIRS, Cells, Evaluation, Problem
    from tacit.problems.tour import Routing, Tour
else:
    __getattr__ = lazily(__name__)
