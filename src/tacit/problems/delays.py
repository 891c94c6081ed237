"""Synthetic airline delay costs: which flight lands in which slot of a congested morning.

Shapes as the literature on delay costs has them: nothing within a flight's own margin, then a sum
that grows faster than the delay, with jumps where passengers miss a connection and where the
aircraft meets a night curfew at its last airport. Airlines and flights are invented. Whole numbers
all the way, so that a seed gives the same costs on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Disclosure, Unsaid
from tacit.errors import ParameterError
from tacit.problems.assignment import Assignment
from tacit.problems.generators import Seed, dealt_rows, seeded_generator, uniform_integers
from tacit.problems.objective import Objective
from tacit.problems.problem import Participant

LARGEST_COST = 100_000
"""Public: no slot costs more. A flight that would is cancelled for that price instead."""
FIRST_SLOT = 6 * 60
"""In minutes after midnight."""
AIRLINES = (
    "amber", "birch", "cobalt", "dune", "ember", "fjord",
    "grove", "heron", "indigo", "juniper", "kelp", "lumen",
)  # fmt: skip


@dataclass(frozen=True)
class Flight:
    """What a delay means to one flight, in minutes, heads and euro.

    >>> flight = Flight(
    ...     scheduled=360, margin=10, passengers=100, connections=((30, 900),), curfew=(90, 20_000)
    ... )
    >>> [flight.cost(delay) for delay in (0, 10, 20, 30, 31, 91)]
    [0, 0, 400, 1000, 1971, 29891]
    """

    scheduled: int
    """When it would land, in minutes after midnight."""
    margin: int
    """A delay up to here costs nothing."""
    passengers: int
    connections: tuple[tuple[int, int], ...] = ()
    """Delays from which on a group misses its next flight, and what that costs."""
    curfew: tuple[int, int] | None = None
    """The delay beyond which the aircraft's last flight of the day is off, and what that costs."""

    def cost(self, delay: int, /) -> int:
        """Return the cost of a delay of so many minutes."""
        steps = (*self.connections, *((self.curfew,) if self.curfew else ()))
        jumps: int = sum(cost for after, cost in steps if delay > after)
        # The bound on weights is public and agreed beforehand, so that no cost may exceed it.
        return min(self.time_cost(delay) + jumps, LARGEST_COST)

    def time_cost(self, delay: int, /) -> int:
        """The part that grows with every minute: 0.30 euro a head at first, and ever more."""
        beyond = max(delay - self.margin, 0)
        return self.passengers * (30 * beyond + beyond * beyond) // 100


def generate_delays(
    seed: Seed,
    /,
    *,
    flights: int = 20,
    slots: int | None = None,
    airlines: int = 3,
    slot_minutes: int = 4,
    disclosure: Disclosure = Unsaid(),  # noqa: B008 - immutable
    number: int = 1,
) -> Assignment:
    """Draw flights of several airlines that compete for landing slots.

    More flights are scheduled for the first three fifths of the slots than fit there. No flight can
    land before its time (those slots are forbidden), and every flight can get some slot. `slots`
    defaults to half as many again as `flights`.

    >>> problem = generate_delays(1, flights=4, slots=6, airlines=2)
    >>> problem.row_names
    ('amber 100', 'amber 101', 'birch 100', 'birch 101')
    >>> problem.column_names
    ('06:00', '06:04', '06:08', '06:12', '06:16', '06:20')
    """
    slots = flights + flights // 2 if slots is None else slots
    if not 1 <= slot_minutes <= 60:
        raise ParameterError(f"slots of {slot_minutes} minutes are not known; use 1 to 60")
    if not 1 <= flights <= slots:
        raise ParameterError(
            f"{flights} flights cannot each get one of {slots} slots; use at least one flight "
            "and as many slots"
        )
    participants = _airlines(flights, airlines)
    rng = seeded_generator(seed)
    times = [FIRST_SLOT + slot_minutes * i for i in range(slots)]
    drawn = draw_flights(rng, flights, times)
    rows = _rows_by_airline(drawn, participants)
    delays = np.array([[time - flight.scheduled for time in times] for flight in rows])
    # A forbidden pair needs a weight within the bound as well, though no plan may pick it.
    costs = [
        [flight.cost(int(delay)) if delay >= 0 else LARGEST_COST for delay in line]
        for flight, line in zip(rows, delays, strict=True)
    ]
    objective = Objective(
        "delay cost",
        np.array(costs),
        sense="minimize",
        disclosure=disclosure,
        weight_bound=LARGEST_COST,
    )
    return Assignment(
        name=f"delays{flights}x{slots}" + (f"-{number:02d}" if number > 1 else ""),
        rows=flights,
        columns=slots,
        objectives=(objective,),
        participants=participants,
        row_names=tuple(f"{p.name} {100 + i}" for p in participants for i in range(len(p.rows))),
        column_names=tuple(clock_time(time) for time in times),
        forbidden=delays < 0,
    )


def sampled_delay_costs(seed: Seed, flights: int, delays: list[int], /) -> NDArray[np.int64]:
    """The costs of delays, in minutes, of flights drawn as in `generate_delays`, one row each.

    Prior knowledge of delay costs suffices to draw them; no airline's costs are needed.

    >>> sampled_delay_costs(1, 2, [0, 30, 60]).tolist()
    [[0, 942, 5654], [0, 1280, 6083]]
    """
    rng = seeded_generator(seed)
    drawn = [_draw_flight(rng, FIRST_SLOT) for _ in range(flights)]
    return np.array([[flight.cost(delay) for delay in delays] for flight in drawn])


def draw_flights(rng: np.random.Generator, count: int, times: list[int], /) -> list[Flight]:
    """Draw flights in the order of their schedule, so that each finds a slot at or after its time.

    >>> from tacit.problems.generators import seeded_generator
    >>> [flight.scheduled for flight in draw_flights(seeded_generator(1), 3, [360, 363, 366])]
    [360, 360, 360]
    """
    busy = max(3 * len(times) // 5 - 1, 0)
    first = np.sort(uniform_integers(rng, count, up_to=busy))
    # The last flights of the day still need a slot each.
    latest = len(times) - count + np.arange(count)
    return [_draw_flight(rng, times[slot]) for slot in np.minimum(first, latest)]


def clock_time(minutes: int, /) -> str:
    """A time of day; beyond midnight with the day.

    >>> clock_time(365), clock_time(24 * 60 + 5)
    ('06:05', '+1 00:05')
    """
    days, rest = divmod(minutes, 24 * 60)
    return (f"+{days} " if days else "") + f"{rest // 60:02d}:{rest % 60:02d}"


def _draw_flight(rng: np.random.Generator, scheduled: int) -> Flight:
    margin, passengers, groups, has_curfew, off, price = (
        int(word) for word in uniform_integers(rng, 6, up_to=9999)
    )
    # Four groups are drawn even if fewer count: every flight takes as many words from the stream.
    drawn = uniform_integers(rng, 12, up_to=9999).reshape(4, 3)
    connections = tuple(
        (20 + int(after) % 61, (2 + int(heads) % 13) * (150 + int(fare) % 251))
        for after, heads, fare in drawn[: groups % 5]
    )
    return Flight(
        scheduled=scheduled,
        margin=3 + margin % 18,
        passengers=60 + passengers % 161,
        connections=connections,
        curfew=(45 + off % 76, 20_000 + price % 20_001) if has_curfew % 6 == 0 else None,
    )


def _airlines(flights: int, airlines: int) -> tuple[Participant, ...]:
    dealt = dealt_rows(flights, airlines)
    names = [*AIRLINES, *(f"airline-{i + 1}" for i in range(len(AIRLINES), airlines))]
    return tuple(Participant(name, p.rows) for name, p in zip(names, dealt, strict=False))


def _rows_by_airline(flights: list[Flight], airlines: tuple[Participant, ...]) -> list[Flight]:
    """Deal flights in turn, so that every airline flies all morning.

    The first airlines have at most one row more than the last, as `dealt_rows` deals.
    """
    return [flight for i in range(len(airlines)) for flight in flights[i :: len(airlines)]]
