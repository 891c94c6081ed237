"""Decide what a node allows: pure checks, each with the reason of its refusal.

They raise a `RefusedError` of "the node"; the coordinator puts the node's name in its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.agreement.terms import Agreement
from tacit.errors import RefusedError
from tacit.problems import Problem
from tacit.records.messages import MOST_GENERATIONS, RefusalKind
from tacit.records.requests import candidate_hashes

BLOCK_ENTRIES = 1 << 18
"""Entries of plans that are checked together."""


def refuse(
    reason: str, /, *, kind: RefusalKind | None = None, participants: Collection[str] = ()
) -> RefusedError:
    """Return a refusal, before the node's name is known; `PlatformConnection` logs it."""
    return RefusedError("the node", reason, kind=kind or "", participants=tuple(participants))


@dataclass(frozen=True, slots=True)
class Asked:
    """A request for an evaluation or a reveal, as the node has read it."""

    objective: int
    number: int
    disclosure: str
    best: str
    request: bytes
    """The request's hash."""
    plans: NDArray[np.integer[Any]]
    due: bool = True
    """Whether a new number may be used for it; an earlier population is computed again at most."""
    examined: bool = False
    """Whether `check_plans` was called already."""


def check_still_valid(agreement: Agreement, now: float, /) -> None:
    if now >= agreement.limits.expires:
        raise refuse("the agreement has expired; make a new one")


def check_number(
    number: int, request: bytes, used: Mapping[int, bytes | None], highest: int, most: int, /
) -> bool:
    """Whether the request uses a new number; False for a repeat under the same number.

    `used` has the hashes of used numbers, None where the node itself has lost it.
    """
    if number < 1:
        raise refuse(f"evaluations are counted from 1, this one is {number}")
    if number <= highest:
        # Under a used number only the same request: another one would be an evaluation more than
        # was agreed, and the log would not show it.
        if used.get(number) != request:
            raise refuse(f"number {number} was used for another request; use {highest + 1}")
        return False
    if number > most:
        raise refuse(f"the agreement allows {most} evaluations, this would be number {number}")
    if number != highest + 1:
        raise refuse(f"evaluation {number} would leave a gap; the next one is {highest + 1}")
    return True


def check_not_revealed(revealed: bool, /) -> None:
    if revealed:
        raise refuse("the truly best plan is revealed, which was the end; nothing new is evaluated")


def check_repeat(number: int, latest: int, /) -> None:
    if number != latest:
        raise refuse(
            f"only the last evaluation, {latest}, is repeated where the best so far is kept, "
            f"not {number}"
        )


def check_epoch(number: int, last: int, /) -> None:
    if number <= last:
        raise refuse(f"epoch {number} comes after epoch {last}; numbers of epochs only grow")


def check_disclosure(agreement: Agreement, asked: Asked, /) -> None:
    terms = agreement.objectives[asked.objective]
    if asked.objective not in agreement.evaluated():
        why = (
            "is evaluated together with all objectives: ask for the first of them"
            if terms.together
            else "is sealed: nothing of it is evaluated for anybody"
        )
        raise refuse(f"{terms.name!r} {why}")
    if (asked.disclosure, asked.best) != (terms.disclosure, terms.best):
        raise refuse(
            f"{terms.name!r} may disclose {terms.disclosure} with the best as {terms.best}, "
            f"not {asked.disclosure} with {asked.best}"
        )


def check_due(asked: Asked, /) -> None:
    if not asked.due:
        raise refuse("this population was answered before; the search goes on with the next")


def check_population(agreement: Agreement, asked: Asked, /) -> None:
    check_sizes(agreement, asked)
    if not asked.examined:
        check_plans(agreement, asked.plans)


def check_sizes(agreement: Agreement, asked: Asked, /) -> None:
    limits = agreement.limits
    n = len(asked.plans)
    if not limits.population_min <= n <= limits.population_max:
        raise refuse(
            f"a population of {n} candidates; the agreement allows {limits.population_min} to "
            f"{limits.population_max}"
        )


def check_plans(agreement: Agreement, plans: NDArray[np.integer[Any]], /) -> None:
    check_feasible(agreement.known_problem, plans)
    distinct = count_distinct(agreement.known_problem, plans)
    if distinct < agreement.limits.distinct_min:
        raise refuse(
            f"only {distinct} of {len(plans)} candidates differ; the agreement asks for "
            f"{agreement.limits.distinct_min} distinct ones"
        )


def blocks_of(plans: NDArray[np.integer[Any]]) -> Iterator[tuple[int, NDArray[np.integer[Any]]]]:
    """Plans in blocks, each with the number of its first plan.

    What is computed from them takes many times the memory that they take.
    """
    size = max(1, BLOCK_ENTRIES // max(1, plans.shape[1]))
    return ((first, plans[first : first + size]) for first in range(0, len(plans), size))


def count_distinct(problem: Problem, plans: NDArray[np.integer[Any]], /) -> int:
    seen: set[bytes] = set()
    for _, block in blocks_of(plans):
        lines = np.ascontiguousarray(problem.canonical(block))
        size = lines.shape[1] * lines.itemsize
        different = set(lines.view(f"V{size}").reshape(-1).tolist())
        seen.update(hashlib.blake2b(line, digest_size=16).digest() for line in different)
    return len(seen)


def check_feasible(problem: Problem, plans: NDArray[np.integer[Any]], /) -> None:
    for first, block in blocks_of(plans):
        fault = problem.fault(block)
        if fault is not None:
            raise refuse(f"candidate {first + fault[0]} {fault[1]}")


def check_evaluated(
    plans: NDArray[np.integer[Any]], were_evaluated: Callable[[AbstractSet[bytes]], bool], /
) -> None:
    if not were_evaluated(candidate_hashes(plans)):
        raise refuse("a candidate was never evaluated, so nothing is revealed of it")


def check_reveal(
    agreement: Agreement, plans: NDArray[np.integer[Any]], earlier: bytes | None, request: bytes, /
) -> None:
    if agreement.final_reveal is None:
        raise refuse("the agreement does not allow to reveal which plan is truly best")
    if earlier is not None and earlier != request:
        raise refuse("what is told at the end was revealed already, which happens once")
    if not 1 <= len(plans) <= agreement.limits.population_max:
        raise refuse(f"{len(plans)} candidates to choose from; give 1 to the largest population")
    check_feasible(agreement.known_problem, plans)


def check_generations(
    first: int, count: int, horizon: int, /, *, most: int, ends: Mapping[int, int]
) -> None:
    """Refuse steps of a sealed run beyond those agreed, or that do not follow those before.

    `ends` has the batches that were begun: where each starts, and where it ends.
    """
    if not 1 <= count <= MOST_GENERATIONS or horizon < 1:
        raise refuse(f"{count} steps of {horizon} at a time; ask for 1 to {MOST_GENERATIONS}")
    if first + count > most:
        raise refuse(f"the agreement allows {most} steps, these would be up to {first + count}")
    last = max(ends.values(), default=0)
    if first != last and ends.get(first) != first + count:
        raise refuse(
            f"steps {first} to {first + count} do not follow those done before, which end at {last}"
        )


def check_checkpoints(
    first: int, count: int, /, *, checkpoints: Collection[int], finished: int | None
) -> None:
    """Refuse steps beyond a checkpoint, and any after the one at which all was proved.

    `finished` is the step of that checkpoint, if there was one.
    """
    between = [step for step in checkpoints if first < step < first + count]
    if between:
        raise refuse(f"it is opened after step {min(between)} whether all is proved; end there")
    if finished is not None and first >= finished:
        raise refuse(f"all was proved after step {finished}; open the plans, nothing follows")
