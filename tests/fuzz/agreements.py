"""Agreements with changes, signed as they are by everybody: read, checked, and used if accepted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace

from tacit.agreement import AssignmentGroup, TourGroup, pin_sealed
from tacit.agreement.draft import check_agreement
from tacit.agreement.signatures import check_signatures, sign
from tacit.agreement.terms import Agreement, PinnedSearch, canonical, read_agreement
from tacit.problems import (
    Problem,
    generate_assignment,
    generate_capacitated,
    generate_routing,
    generate_tour,
    public_problem,
)
from tacit.records.requests import unpack_candidates
from tacit.search.moves import AssignmentParameters, TourParameters
from tests.fuzz.harness import Target, Trial
from tests.fuzz.mutations import as_json, mutated, sometimes_mangled
from tests.on_nodes.fixtures import Cast, example_cast

FEW_MOVES = TourParameters(children=3)
FEW_STEPS = AssignmentParameters(
    generations=1, iterations=9, checkpoints="4:8", least=3, seconds=60
)


def agreements(cast: Cast) -> list[Agreement]:
    """One of each kind of problem, in the clear and sealed."""
    honest = cast.agreement
    owner = honest.participants[0].name
    problems: list[Problem] = [
        generate_assignment(1, rows=3, columns=4),
        generate_capacitated(1, rows=4, columns=2),
        generate_tour(1, cities=4),
        generate_routing(1, places=5, vehicles=2),
    ]
    made = [honest]
    for problem in problems:
        (terms,) = honest.objectives
        rows = msgspec.structs.replace(terms.owners[0], rows=list(range(problem.rows)))
        assert rows.participant == owner
        about = replace(honest, problem=public_problem(problem))
        made.append(replace(about, objectives=[replace(terms, owners=[rows])]))
        sealed = replace(terms, owners=[rows], disclosure="sealed", best="nothing")
        if problem.sealed_moves is None:  # nobody searches for routes sealed
            continue
        pinned = pin_sealed(FEW_MOVES if problem.sealed_moves == "tour" else FEW_STEPS)
        about = replace(about, objectives=[sealed], search=pinned, reveal_best=False)
        made.append(replace(about, limits=replace(honest.limits, evaluations=FEW_STEPS.steps)))
    two = [replace(made[2].objectives[0], name=name) for name in ("one", "other")]
    search = PinnedSearch("sealed", {**pin_sealed(FEW_STEPS, [(3, 1), (1, 3)]).parameters}, None)
    made.append(replace(made[2], objectives=two, search=search))
    for agreement in made:
        check_agreement(agreement)
    return made


def use(agreement: Agreement) -> None:
    """What a node does with an agreement that it has taken."""
    problem = agreement.known_problem
    for objective in agreement.evaluated():
        agreement.fitness_bound(objective)
    plans = unpack_candidates(problem, bytes(problem.plan_length * 4))
    if plans is not None:
        problem.fault(np.array(plans))
    for search in range(agreement.sealed_plans):
        group = agreement.sealed_run.group_of(search).seeded(1)
        group.check_sizes()
        if isinstance(group, TourGroup):
            group.schedule.generation(0, horizon=3)
        elif isinstance(group, AssignmentGroup):
            group.generations(0, 1)


@contextmanager
def signed_agreements() -> Iterator[Trial]:
    """From the bytes of an agreement to its first use."""
    cast = example_cast()
    trees = [msgspec.json.decode(canonical(each)) for each in agreements(cast)]

    def run(data: bytes) -> int:
        digest = hashlib.sha256(data).digest()
        signatures = {
            name: sign(key, "agreement", digest) for name, key in cast.participants.items()
        }
        agreement = read_agreement(data)
        check_agreement(agreement)
        check_signatures(agreement, signatures)
        use(agreement)
        return 1

    yield Trial(changed(trees), run)


@st.composite
def changed(draw: st.DrawFn, trees: list[Any]) -> bytes:
    """One of the trees with changes, as JSON."""
    tree = draw(mutated(draw(st.sampled_from(trees))))
    return draw(sometimes_mangled(as_json(tree)))


TARGETS = [Target("agreements", 100_000, signed_agreements)]
