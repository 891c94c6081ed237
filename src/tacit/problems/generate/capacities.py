"""Random problems with public capacities: columns that take several rows, vehicles of customers."""

from __future__ import annotations

import numpy as np

from tacit.disclosure import Disclosure, Unsaid
from tacit.errors import ParameterError
from tacit.problems.files.tsplib_distances import METRICS
from tacit.problems.generate.generators import (
    Seed,
    dealt_rows,
    seeded_generator,
    series_name,
    uniform_integers,
)
from tacit.problems.model.capacitated import CapacitatedAssignment
from tacit.problems.model.objective import Objective, Sense
from tacit.problems.model.routing import Routing

LARGEST_DEMAND = 20


def generate_capacitated(
    seed: Seed,
    /,
    *,
    rows: int = 100,
    columns: int = 20,
    weights_up_to: int = 1000,
    participants: int = 1,
    sense: Sense = "maximize",
    disclosure: Disclosure = Unsaid(),  # noqa: B008 - immutable
    number: int = 1,
) -> CapacitatedAssignment:
    """Draw an assignment to columns that are even and take at least a quarter more rows in all.

    >>> problem = generate_capacitated(1, rows=6, columns=3)
    >>> problem.name, problem.capacities
    ('cap1K6x3', (3, 3, 3))
    """
    if rows < 1 or columns < 1:
        raise ParameterError(f"{rows} rows and {columns} columns; give at least one of each")
    rng = seeded_generator(seed)
    weights = uniform_integers(rng, rows * columns, up_to=weights_up_to).reshape(rows, columns)
    objective = Objective(
        "weight", weights, sense=sense, disclosure=disclosure, weight_bound=weights_up_to
    )
    return CapacitatedAssignment(
        name=series_name("cap1", weights_up_to, f"{rows}x{columns}", number),
        rows=rows,
        columns=columns,
        objectives=(objective,),
        participants=dealt_rows(rows, participants),
        capacities=(-(-5 * rows // (4 * columns)),) * columns,
    )


def generate_routing(
    seed: Seed,
    /,
    *,
    places: int = 50,
    vehicles: int = 5,
    side: int = 1000,
    participants: int = 1,
    disclosure: Disclosure = Unsaid(),  # noqa: B008 - immutable
    number: int = 1,
) -> Routing:
    """Draw a depot and customers in a square as `generate_tour` does, with demands of 1 to 20.

    Vehicles are alike. Each takes its even part of all demands and the largest one besides, so
    that they can always be loaded.

    >>> problem = generate_routing(1, places=4, vehicles=2)
    >>> problem.name, problem.demands, problem.capacities
    ('routing1K4v2', (0, 5, 7, 18), (33, 33))
    """
    if places < 2 or vehicles < 1:
        raise ParameterError(
            f"{places} places and {vehicles} vehicles; give a depot, a customer and a vehicle"
        )
    rng = seeded_generator(seed)
    drawn = uniform_integers(rng, 2 * places, up_to=side)
    coordinates = drawn.reshape(places, 2).astype(np.float64)
    demands = 1 + uniform_integers(rng, places - 1, up_to=LARGEST_DEMAND - 1)
    capacity = -(-int(demands.sum()) // vehicles) + int(demands.max())
    length = Objective(
        "length", METRICS["EUC_2D"](coordinates), sense="minimize", disclosure=disclosure
    )
    return Routing(
        name=series_name("routing1", side, f"{places}v{vehicles}", number),
        rows=places,
        columns=places,
        objectives=(length,),
        participants=dealt_rows(places, participants),
        coordinates=coordinates,
        demands=(0, *demands.tolist()),
        capacities=(capacity,) * vehicles,
    )
