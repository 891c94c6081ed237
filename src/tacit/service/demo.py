"""Demonstrate tacit: a cluster, a platform, three airlines, one run to its plan.

Airlines and costs are made up. Everything else is as it would be on machines of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.agreement import COUNTS
from tacit.client import PlatformClient, RunResult
from tacit.disclosure import SEALED
from tacit.errors import EngineError
from tacit.identity import load_keys
from tacit.participant import (
    Profile,
    check_logs,
    join,
    joined_trust,
    new_key_file,
    node_entry,
    participant_entry,
    review,
    save_trust,
    sign,
    submit,
)
from tacit.problems import Assignment, generate_delays, optimum, save_participants
from tacit.service.dashboard.drafts import ObjectiveRule, usual_terms
from tacit.service.local_platform import LocalPlatform

OPERATOR = "operator"
WAIT_SECONDS = 120.0
Say = Callable[[str], None]


@dataclass(frozen=True)
class DemoResult:
    """The plan of the demo, with what it cost and how long it took."""

    run: str
    landings: list[tuple[str, str, str]]
    """Flight, scheduled slot and the slot it gets."""
    cost: float
    best_possible: float
    """Known here only because the costs were made up here."""
    seconds: float
    """From the start of the search to its plan."""
    late_by_seconds: float
    proved: bool
    """Whether the nodes proved that no plan is better."""


def demo_problem(seed: int = 1, /) -> Assignment:
    return generate_delays(seed, flights=24, slots=28, airlines=3)


def run_demo(
    platform: LocalPlatform, /, *, deadline_seconds: float, say: Say, seed: int = 1
) -> DemoResult:
    """Take one run from its draft to its end, with all logs checked."""
    problem = demo_problem(seed)
    count = COUNTS[len(platform.cluster.config.nodes)]
    files = platform.folder / "airlines"
    save_participants(problem, files)
    with PlatformClient(platform.url, ca=platform.certificate) as operator:
        operator.join(platform.invitation(OPERATOR, role="operator"))
        terms = usual_terms(
            problem,
            [ObjectiveRule(SEALED, "nothing")],
            name="Morning slots",
            deadline_seconds=deadline_seconds,
        )
        run = operator.runs.new(terms).id
        say(f"run {run} drafted: {problem.rows} flights, {problem.columns} slots, sealed")
        codes = operator.runs.invite(run).invitations
        profiles = [join_as(platform, name, code) for name, code in codes.items()]
        say(f"{', '.join(codes)} joined, each with a key of its own")
        pin_keys(platform, profiles)
        say("all pinned the keys that they got from each other and from the nodes' operators")
        for profile in profiles:
            sign(profile, run, seen=review(profile, run))
        say("all reviewed and signed what may be disclosed, under these keys and no others")
        for profile in profiles:
            submit(profile, run, files / f"{profile.account}.csv")
        say(f"all sealed their costs to the {count} nodes; the platform holds boxes it cannot open")
        say(
            "the nodes look for the best plan, on shares, and open it when they are done, after "
            f"{deadline_seconds:g} s at the latest"
        )
        ended = operator.runs.wait_for_end(run, timeout=WAIT_SECONDS)
        if ended.state != "finished":
            raise EngineError(f"the run ended as {ended.state}: {ended.reason}")
        result = operator.runs.result(run)
        check_logs(profiles[0], run).check()
        say(f"{profiles[0].account} fetched the nodes' signed logs: all did what was signed")
        return _summed_up(problem, run, result)


def join_as(platform: LocalPlatform, name: str, code: str, /) -> Profile:
    """Join as a participant, with a new key in a folder of its own."""
    folder: Path = platform.folder / "participants" / name
    new_key_file(name, folder)
    return join(platform.url, code, profile=folder, ca=platform.certificate)


def pin_keys(platform: LocalPlatform, profiles: Sequence[Profile], /) -> None:
    """Everybody gets everybody's keys past the platform, as by phone: from those who have them."""
    cluster = platform.cluster
    entries = [
        node_entry(load_keys(cluster.folder / f"node-{number}.key"), node.address)
        for number, node in enumerate(cluster.config.nodes)
    ]
    entries += [participant_entry(each.account, each.keys()) for each in profiles]
    for profile in profiles:
        save_trust(joined_trust(entries), profile.trust_file)


def _summed_up(problem: Assignment, run: str, result: RunResult) -> DemoResult:
    assert result.plan is not None
    items = result.plan.items
    flights, slots = problem.row_names or (), problem.column_names or ()
    assert problem.allowed is not None
    scheduled = problem.allowed.argmax(axis=1)
    best = optimum(problem)
    weights = problem.objectives[0].weights
    assert best is not None
    assert weights is not None
    return DemoResult(
        run=run,
        landings=[
            (flights[row], slots[scheduled[row]], slots[item]) for row, item in enumerate(items)
        ],
        cost=float(sum(int(weights[row, item]) for row, item in enumerate(items))),
        best_possible=float(best.value),
        seconds=result.seconds or 0.0,
        late_by_seconds=result.late_by_seconds or 0.0,
        proved=bool(result.proved),
    )
