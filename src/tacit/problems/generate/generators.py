"""Random problems as in the paper (section 4.1), the same from a seed on every machine.

Drawn from the raw words of the bit generator, not through NumPy's distributions, whose streams
may change from one version to the next.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Disclosure, Unsaid
from tacit.errors import ParameterError
from tacit.problems.assignment import Assignment, CapacitatedAssignment
from tacit.problems.files.tsplib import METRICS
from tacit.problems.objective import Objective, Sense
from tacit.problems.problem import Participant
from tacit.problems.tour import Routing, Tour

Seed = int | np.random.Generator

LARGEST_WEIGHT = 10**9
"""Words of 32 bits reach no further with an even spread."""


def generate_assignment(
    seed: Seed,
    /,
    *,
    rows: int = 100,
    columns: int | None = None,
    objectives: int = 1,
    weights_up_to: int = 1000,
    participants: int = 1,
    sense: Sense = "maximize",
    disclosures: Sequence[Disclosure] = (Unsaid(),),
    number: int = 1,
) -> Assignment:
    """Draw an assignment problem, with one objective (AP) or several (MOAP).

    Weights are uniform on 0..weights_up_to. `columns` defaults to `rows`. Rows are dealt to the
    participants in blocks, as evenly as possible. `disclosures` has one entry for all objectives,
    or one for each. Pass the same Generator and count `number` up to draw a series; the name tells
    objectives, weights and size, and from the second on the number.

    >>> problem = generate_assignment(1, rows=2, columns=3)
    >>> problem.name, problem.objectives[0].weights.tolist()
    ('ap1K2x3', [[473, 512, 755], [951, 34, 144]])
    """
    columns = rows if columns is None else columns
    for name, value in (("rows", rows), ("columns", columns), ("objectives", objectives)):
        if value < 1:
            raise ParameterError(f"{name} is {value}; give at least 1")
    if len(disclosures) not in (1, objectives):
        raise ParameterError(
            f"{len(disclosures)} disclosures do not fit {objectives} objectives; "
            "give one for all or one for each"
        )
    rng = seeded_generator(seed)
    each = tuple(disclosures) * (objectives if len(disclosures) == 1 else 1)
    drawn = tuple(
        Objective(
            f"weight {i + 1}" if objectives > 1 else "weight",
            uniform_integers(rng, rows * columns, up_to=weights_up_to).reshape(rows, columns),
            sense=sense,
            disclosure=disclosure,
            weight_bound=weights_up_to,
        )
        for i, disclosure in enumerate(each)
    )
    size = f"{rows}x{columns}"
    return Assignment(
        name=series_name(f"ap{objectives}", weights_up_to, size, number),
        rows=rows,
        columns=columns,
        objectives=drawn,
        participants=dealt_rows(rows, participants),
    )


def generate_tour(
    seed: Seed,
    /,
    *,
    cities: int = 100,
    side: int = 1000,
    participants: int = 1,
    disclosure: Disclosure = Unsaid(),  # noqa: B008 - immutable
    number: int = 1,
) -> Tour:
    """Draw cities with whole coordinates in a square and measure them as EUC_2D does.

    >>> problem = generate_tour(1, cities=3)
    >>> problem.name, problem.coordinates.tolist()
    ('tour1K3', [[473.0, 512.0], [755.0, 951.0], [34.0, 144.0]])
    """
    if cities < 2:
        raise ParameterError(f"a tour through {cities} cities is none; give at least 2")
    drawn = uniform_integers(seeded_generator(seed), 2 * cities, up_to=side)
    coordinates = drawn.reshape(cities, 2).astype(np.float64)
    length = Objective(
        "length", METRICS["EUC_2D"](coordinates), sense="minimize", disclosure=disclosure
    )
    return Tour(
        name=series_name("tour", side, str(cities), number),
        rows=cities,
        columns=cities,
        objectives=(length,),
        participants=dealt_rows(cities, participants),
        coordinates=coordinates,
    )


def uniform_integers(rng: np.random.Generator, count: int, /, *, up_to: int) -> NDArray[np.int64]:
    """Draw whole numbers in 0..up_to: each 32-bit word times the range, upper half kept.

    >>> uniform_integers(np.random.Generator(np.random.PCG64(1)), 3, up_to=9).tolist()
    [4, 5, 7]
    """
    if not 0 <= up_to <= LARGEST_WEIGHT:
        raise ParameterError(f"weights up to {up_to} cannot be drawn; use 0 to {LARGEST_WEIGHT}")
    if isinstance(rng.bit_generator, np.random.MT19937):
        raise ParameterError("MT19937 draws 32-bit words; use a Generator on PCG64")
    raw = np.asarray(rng.bit_generator.random_raw((count + 1) // 2), dtype="<u8")
    words = raw.view("<u4")[:count].astype(np.uint64)
    return ((words * np.uint64(up_to + 1)) >> np.uint64(32)).astype(np.int64)


def dealt_rows(rows: int, participants: int, /) -> tuple[Participant, ...]:
    """Deal rows to participants in blocks, as evenly as possible.

    >>> [participant.rows for participant in dealt_rows(5, 2)]
    [(0, 1, 2), (3, 4)]
    """
    if not 1 <= participants <= rows:
        raise ParameterError(
            f"{participants} participants cannot share {rows} rows; use 1 to {rows}"
        )
    blocks = np.array_split(np.arange(rows), participants)
    return tuple(
        Participant(f"participant {i + 1}", tuple(block.tolist())) for i, block in enumerate(blocks)
    )


def seeded_generator(seed: Seed, /) -> np.random.Generator:
    """A generator whose stream is the same everywhere; one that is given is taken as it is.

    >>> seeded_generator(1).bit_generator.random_raw() % 1000
    127
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if seed < 0:
        raise ParameterError(f"seed is {seed}; give 0 or more")
    # Named outright, since NumPy may one day change which one default_rng takes.
    return np.random.Generator(np.random.PCG64(seed))


def series_name(prefix: str, up_to: int, size: str, number: int, /) -> str:
    """A name that tells kind, weights and size, and from the second on the number.

    >>> series_name("ap1", 1000, "2x3", 4), series_name("tour", 50, "9", 1)
    ('ap1K2x3-04', 'tourW50_9')
    """
    spread = "K" if up_to == 1000 else f"W{up_to}_"
    if prefix == "tour" and up_to == 1000:
        spread = "1K"
    suffix = f"-{number:02d}" if number > 1 else ""
    return f"{prefix}{spread}{size}{suffix}"


# Random problems with public capacities: columns that take several rows, vehicles of customers.


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
