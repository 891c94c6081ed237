"""What is optimized: kinds of problems, their objectives and owners, files in and out."""

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.problems.files.library import (
        shipped_names as shipped_names,
        shipped_problem as shipped_problem,
    )
    from tacit.problems.files.load import load_problem as load_problem
    from tacit.problems.files.save import save_problem as save_problem
    from tacit.problems.files.tsplib import load_tour as load_tour
    from tacit.problems.generate.by_name import generate_named as generate_named
    from tacit.problems.generate.capacities import (
        generate_capacitated as generate_capacitated,
        generate_routing as generate_routing,
    )
    from tacit.problems.generate.delays import generate_delays as generate_delays
    from tacit.problems.generate.generators import (
        generate_assignment as generate_assignment,
        generate_tour as generate_tour,
    )
    from tacit.problems.model.assignment import Assignment as Assignment
    from tacit.problems.model.capacitated import CapacitatedAssignment as CapacitatedAssignment
    from tacit.problems.model.evaluation import Evaluation as Evaluation
    from tacit.problems.model.kinds import kind_named as kind_named
    from tacit.problems.model.objective import Objective as Objective, Sense as Sense
    from tacit.problems.model.optima import (
        GroundTruth as GroundTruth,
        Optimum as Optimum,
        ground_truth as ground_truth,
        optimum as optimum,
    )
    from tacit.problems.model.problem import Cells as Cells, Problem as Problem
    from tacit.problems.model.problem_checks import (
        Participant as Participant,
        whole_numbers as whole_numbers,
    )
    from tacit.problems.model.public import (
        PublicProblem as PublicProblem,
        problem_without_weights as problem_without_weights,
        public_problem as public_problem,
    )
    from tacit.problems.model.routing import Routing as Routing
    from tacit.problems.model.tour import Tour as Tour
else:
    __getattr__ = lazily(__name__)
