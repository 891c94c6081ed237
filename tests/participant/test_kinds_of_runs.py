"""The check of the logs on all that a run can be: disclosures, bests, objectives, kinds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit.disclosure import parse_best_mode, parse_disclosure
from tacit.local.cluster import LocalCluster
from tacit.participant import Profile, check_logs, join, new_key_file, result, sign, submit
from tacit.problems import (
    Participant,
    Problem,
    generate_assignment,
    generate_capacitated,
    generate_routing,
    generate_tour,
)
from tacit.records import DisclosureKind
from tacit.search import SearchParameters
from tests.on_nodes.entries import turned
from tests.participant.conftest import pin_all
from tests.participant.platform import EVALUATIONS, NAMES, PARAMETERS, RUN, Platform, served
from tests.support.command_line import Tacit


def owned(problem: Problem, disclosure: str, best: str) -> Problem:
    """Three owners, and the same disclosure for all objectives."""
    rows = range(problem.rows)
    return replace(
        problem,
        participants=tuple(Participant(name, tuple(rows[i::3])) for i, name in enumerate(NAMES)),
        objectives=tuple(
            replace(each, disclosure=parse_disclosure(disclosure), best_mode=parse_best_mode(best))
            for each in problem.objectives
        ),
    )


NSGA2 = SearchParameters(
    algorithm="nsga2", population=20, elites=0, tournament=2, reevaluate_parents=True
)
KINDS = {
    "improvement": (owned(generate_assignment(1, rows=7), "order", "improvement"), PARAMETERS),
    "nothing": (owned(generate_assignment(1, rows=7), "quantiles:4", "nothing"), PARAMETERS),
    "exact": (owned(generate_assignment(1, rows=7), "none", "value"), PARAMETERS),
    "tour": (owned(generate_tour(1, cities=8), "buckets:4", "value"), PARAMETERS),
    "capacitated": (
        owned(generate_capacitated(1, rows=7, columns=3), "top:5", "value"),
        PARAMETERS,
    ),
    "routing": (owned(generate_routing(1, places=8, vehicles=3), "order", "value"), PARAMETERS),
    "two": (owned(generate_assignment(1, rows=7, objectives=2), "above:70", "value"), NSGA2),
}


def submitted(platform: Platform) -> dict[str, Profile]:
    """All have joined, signed and handed in."""
    profiles = {}
    for name in NAMES:
        folder = platform.folder / name
        new_key_file(name, folder)
        profiles[name] = join(platform.url, platform.codes[name], profile=folder, ca=platform.ca)
    pin_all(platform.cluster, profiles.values())
    for profile in profiles.values():
        sign(profile, RUN)
    for each in platform.problem.participants:
        for objective in platform.problem.objectives:
            assert objective.weights is not None
            weights = objective.weights[list(each.rows)]
            submit(profiles[each.name], RUN, weights, objective=objective.name)
    return profiles


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_run_of_any_kind_is_confirmed(
    nodes: LocalCluster, tmp_path: Path, kind: str
) -> None:
    problem, parameters = KINDS[kind]
    reveal = len(problem.objectives) == 1
    made = Platform(nodes, tmp_path, problem=problem, parameters=parameters, reveal_best=reveal)
    with served(made) as platform:
        profiles = submitted(platform)
        platform.execute()
        assert any(entry.kind is DisclosureKind.BEST for entry in platform.ledger) == reveal
        verdict = check_logs(profiles["south"], RUN)
        assert verdict.ok, verdict.lines()
        # Not a single answer can be told otherwise.
        platform.tamper["ledger"] = lambda entries: [entries[0], turned(entries[1]), *entries[2:]]
        assert not check_logs(profiles["south"], RUN).ok


def test_all_plans_of_several_objectives_are_listed_and_checked(
    nodes: LocalCluster, tmp_path: Path, tacit: Tacit
) -> None:
    problem = owned(generate_assignment(1, rows=7, objectives=2), "none", "value")
    with served(Platform(nodes, tmp_path, problem=problem, parameters=NSGA2)) as platform:
        south = submitted(platform)["south"]
        platform.execute()
        at = ("--profile", south.folder)
        front = json.loads(tacit("result", RUN, "--json", *at).out)["front"]
        plans = [tuple(each["items"]) for each in front]
        assert len(set(plans)) == len(plans) > 1
        for k, objective in enumerate(problem.objectives):
            fitness = problem.fitness(k, np.array(plans, dtype=np.int32))
            own = [objective.to_user(int(each)) for each in fitness]
            assert [each["values"][k] for each in front] == own
        said = tacit("result", RUN, "--plan", "2", *at).out
        assert said.startswith(f"plan 2 of {len(plans)}: ")
        for number, each in enumerate(front, start=1):
            assert f"plan {number} of {len(plans)}" in said
            assert f"{each['values'][1]:,.0f}" in said
        assert check_logs(south, RUN).ok
        better = {**front[1], "values": [value + 1 for value in front[1]["values"]]}
        platform.tamper["result"] = lambda told: {**told, "front": [front[0], better]}
        lied = check_logs(south, RUN)
        assert any("and the nodes disclosed another" in line for line in lied.lines())
        made_up = {"items": plans[0][::-1]}
        platform.tamper["result"] = lambda told: {**told, "front": [*told["front"], made_up]}
        assert not check_logs(south, RUN).ok
        assert "no plan 99" in tacit("result", RUN, "--plan", "99", *at).err


def test_a_run_that_was_interrupted_is_confirmed_all_the_same(
    own_cluster: LocalCluster, tmp_path: Path
) -> None:
    """The platform stops, a node dies and comes back, and the run goes on."""
    problem, parameters = KINDS["improvement"]
    made = Platform(own_cluster, tmp_path, problem=problem, parameters=parameters)
    with served(made) as platform:
        profiles = submitted(platform)
        platform.execute(stop_after=2)
        assert len(platform.ledger) == 3
        result(profiles["north"], RUN)  # its best so far, which is not the plan in the end
        assert check_logs(profiles["north"], RUN).ok
        own_cluster.kill(1)
        own_cluster.restart(1)
        platform.execute()
        assert len(platform.ledger) == EVALUATIONS
        verdict = check_logs(profiles["north"], RUN)
        assert verdict.ok, verdict.lines()
