"""Random problems, the same from a seed on every machine: the paper's (section 4.1) and families.

Drawn from the raw words of the bit generator, not through NumPy's distributions, whose streams
may change from one version to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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
    or one for each. Pass the same Generator and count `number` up to draw a series; the name has
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
    # Little-endian words in two halves, on machines of any byte order.
    raw = np.asarray(rng.bit_generator.random_raw((count + 1) // 2), dtype="<u8")
    words = raw.view("<u4")[:count].astype(np.uint64)
    # Multiply and shift (Lemire 2019) without its rejection step: one word per number, whatever is
    # drawn, for a bias below (up_to + 1) / 2^32.
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
    """Name a problem by kind, weights and size, and from the second on by its number.

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


# Families of assignment costs with a structure, beside the independent weights of the paper.
#
# What holds on independent uniform weights may fail on costs as they occur: searches, exact methods
# and attacks are tried on all of these. Whole numbers all the way.


Weights = NDArray[np.int64]
RANK = 3
"""Of the low-rank family."""
LARGEST_TIED = 10
POSSIBLE = 5
"""How many columns a row draws in the family `sparse`, besides the one that makes a plan."""
LARGEST_RATE = 100
"""What a slot of delay costs at most, in the family `slots`."""


@dataclass(frozen=True)
class Drawn:
    """A matrix, its public bound, and the pairs that are forbidden."""

    weights: Weights
    bound: int
    forbidden: NDArray[np.bool_] | None = None


def _effects(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """Most of a weight belongs to its row and its column: two fifths each."""
    share = 2 * up_to // 5
    by_row = uniform_integers(rng, rows, up_to=share)
    by_column = uniform_integers(rng, columns, up_to=share)
    own = uniform_integers(rng, rows * columns, up_to=up_to - 2 * share).reshape(rows, columns)
    return Drawn(by_row[:, None] + by_column + own, up_to)


def _low_rank(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """What a row needs times what a column offers, summed over a few properties."""
    needs = uniform_integers(rng, rows * RANK, up_to=up_to).reshape(rows, RANK)
    offers = uniform_integers(rng, RANK * columns, up_to=up_to).reshape(RANK, columns)
    return Drawn(needs @ offers // max(RANK * up_to, 1), up_to)


def _rank_one(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """What a row weighs times what a column costs: the best plan pairs large with small."""
    weighs = uniform_integers(rng, rows, up_to=up_to)
    costs = uniform_integers(rng, columns, up_to=up_to)
    return Drawn(weighs[:, None] * costs // max(up_to, 1), up_to)


def _euclidean(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """The distances of points in a square, such as of vehicles and calls."""
    points = uniform_integers(rng, 2 * (rows + columns), up_to=up_to).reshape(-1, 2)
    distances = METRICS["EUC_2D"](points.astype(np.float64))
    return Drawn(distances[:rows, rows:].astype(np.int64), int(np.ceil(np.hypot(up_to, up_to))))


def _slots(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:  # noqa: ARG001
    """A rate of its own per row times the delay; nothing is possible before its time."""
    busy = max(3 * columns // 5 - 1, 0)
    first = np.sort(uniform_integers(rng, rows, up_to=busy))
    # The last rows still need a possible slot each.
    first = np.minimum(first, columns - rows + np.arange(rows))
    rates = 1 + uniform_integers(rng, rows, up_to=LARGEST_RATE - 1)
    delays = np.arange(columns) - first[:, None]
    bound = LARGEST_RATE * max(columns - 1, 1)
    return Drawn(np.where(delays < 0, bound, rates[:, None] * delays), bound, delays < 0)


def _sparse(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """A few columns are possible for each row, and a hidden plan is among them."""
    weights = uniform_integers(rng, rows * columns, up_to=up_to).reshape(rows, columns)
    # The last line of marks draws the hidden plan, the others which columns a row may take.
    marks = uniform_integers(rng, (rows + 1) * columns, up_to=LARGEST_WEIGHT)
    ranks = np.argsort(marks.reshape(rows + 1, columns), axis=1, kind="stable")
    possible = np.zeros((rows, columns), dtype=np.bool_)
    possible[np.arange(rows)[:, None], ranks[:rows, :POSSIBLE]] = True
    possible[np.arange(rows), ranks[rows, :rows]] = True
    return Drawn(np.where(possible, weights, up_to), up_to, ~possible)


def _ties(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """Few different weights, so that many plans are equally good."""
    most = min(up_to, LARGEST_TIED)
    return Drawn(uniform_integers(rng, rows * columns, up_to=most).reshape(rows, columns), most)


FAMILIES: dict[str, tuple[Callable[[np.random.Generator, int, int, int], Drawn], Sense]] = {
    "effects": (_effects, "maximize"),
    "low-rank": (_low_rank, "maximize"),
    "rank-one": (_rank_one, "minimize"),
    "euclidean": (_euclidean, "minimize"),
    "slots": (_slots, "minimize"),
    "sparse": (_sparse, "minimize"),
    "ties": (_ties, "maximize"),
}


def generate_family(
    name: str,
    seed: Seed,
    /,
    *,
    rows: int = 40,
    columns: int | None = None,
    up_to: int = 1000,
    participants: int = 1,
    disclosure: Disclosure = Unsaid(),  # noqa: B008 - immutable
    number: int = 1,
) -> Assignment:
    """Draw an assignment whose costs are of a family; `columns` defaults to `rows`.

    >>> problem = generate_family("slots", 1, rows=2, columns=4)
    >>> problem.name, problem.objectives[0].weights.tolist()
    ('slots2x4', [[0, 76, 152, 228], [300, 0, 96, 192]])
    """
    if name not in FAMILIES:
        raise ParameterError(f"{name!r} is no family of costs; use {', '.join(FAMILIES)}")
    draw, sense = FAMILIES[name]
    columns = rows if columns is None else columns
    if not 1 <= rows <= columns:
        raise ParameterError(f"{rows} rows cannot each get one of {columns} columns; draw more")
    drawn = draw(seeded_generator(seed), rows, columns, up_to)
    objective = Objective(
        "cost" if sense == "minimize" else "value",
        drawn.weights,
        sense=sense,
        disclosure=disclosure,
        weight_bound=drawn.bound,
    )
    more: dict[str, Any] = {} if drawn.forbidden is None else {"forbidden": drawn.forbidden}
    return Assignment(
        name=f"{name}{rows}x{columns}" + (f"-{number:02d}" if number > 1 else ""),
        rows=rows,
        columns=columns,
        objectives=(objective,),
        participants=dealt_rows(rows, participants),
        **more,
    )
