"""Logs of sealed searches, compared with each other and with the ledger."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tacit.agreement import PlanHeads
from tacit.errors import LogError
from tacit.local.cluster import LocalCluster
from tacit.records import (
    BatchBegun,
    Disclosed,
    DisclosedPlan,
    DisclosedProof,
    DisclosedToOwners,
    DisclosureKind,
    LogEvent,
    PlanDecided,
    Sent,
)
from tacit.records.requests import NO_ATTEMPT, Attempt
from tacit.search.moves import AssignmentParameters
from tacit.verify.disclosed import check_disclosed
from tacit.verify.sealed import check_asked, check_own_parts, early_words
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.entries import about_search, lying
from tests.on_nodes.owners_cast import owners_cast
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed, symmetric_tour


def batch_begun(first: int, count: int, attempt: Attempt = NO_ATTEMPT) -> BatchBegun:
    """A batch of the first search, of 9 steps in all."""
    return BatchBegun(0, first, count, 9, "ab", attempt, NO_ATTEMPT)


def test_logs_tell_generations_and_one_opening(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            await on_nodes.advance(4, 9, until=None)
            await on_nodes.advance(5, 9, until=None)
            await on_nodes.open(until=None)

    run(search())
    for node in range(3):
        told = [
            (e.name, getattr(e, "first", None), getattr(e, "count", None))
            for e in agreed.log(node)
            if e.name in ("secret start", "batch begun", "voted", "open plan", "sent")
        ]
        assert told == [
            ("voted", None, None),
            ("voted", None, None),
            ("secret start", None, None),
            ("batch begun", 0, 4),
            ("batch begun", 4, 5),
            ("voted", None, None),
            ("voted", None, None),
            ("open plan", None, None),
            ("sent", None, None),
        ]
        states = agreed.folder_at(node).glob("sealed-*")
        assert sorted(p.name for p in states) == ["sealed-0-4", "sealed-0-9"]


def test_logs_and_ledger_are_compared(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> Disclosed:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            await on_nodes.advance(2, 9, until=None)
            await on_nodes.advance(4, 6, until=None)
            opened = await on_nodes.open(until=None)
            assert opened.outcome == "feasible"
            return opened.entry

    opening = run(search())
    assert isinstance(opening.payload, DisclosedPlan)
    logs = [agreed.log(node) for node in range(3)]
    report = check_disclosed(agreed.agreement, logs, [opening])
    assert "only the plan was opened, as 3 parts" in report
    assert "the same 6 steps" in check_asked(logs)
    assert "expected: 9, 6" in check_asked(logs)
    plan = opening.payload.plan
    swapped = lying(opening, plan=[plan[1], plan[0], *plan[2:]])
    other = [[(0, [p[::-1] for p in frames]) for _, frames in s] for s in opening.parts]
    cut = [[(0, [p[:-1] for p in frames]) for _, frames in s] for s in opening.parts]
    bit = about_search(0, opening.attempt, DisclosedProof(True))
    lies: tuple[tuple[list[Disclosed], str], ...] = (
        ([swapped], "disclosed something else"),
        ([lying(opening, outcome="optimum")], "disclosed something else"),
        ([lying(opening, outcome=None)], "disclosed something else"),
        ([lying(opening, gap=0)], "disclosed something else"),
        ([lying(opening, value=1)], "disclosed something else"),
        ([msgspec.structs.replace(opening, parts=other)], "do not fit"),
        ([msgspec.structs.replace(opening, parts=cut)], "not part of a plan"),
        ([opening, swapped], "disclosed something else"),
        ([], "the plan of search 0, which the ledger leaves out"),
        ([bit, opening], "which was not agreed on"),
    )
    for changed, words in lies:
        with pytest.raises(LogError, match=words):
            check_disclosed(agreed.agreement, logs, changed)
    again = check_disclosed(agreed.agreement, logs, [opening, opening])
    assert again == report  # heard twice by a coordinator that was interrupted
    fewer = [event for event in logs[1] if not isinstance(event, BatchBegun)]
    with pytest.raises(LogError, match="different steps"):
        check_disclosed(agreed.agreement, [logs[0], fewer], [opening])
    # Two nodes send all components: what the third sent need not be kept, and is still compared.
    fewer_parts = msgspec.structs.replace(opening, parts=[*opening.parts[:2], []])
    assert check_disclosed(agreed.agreement, logs, [fewer_parts]) == report
    with pytest.raises(LogError, match="two plans of search 0"):
        check_disclosed(
            agreed.agreement,
            [*logs[:2], [*logs[2], PlanDecided(0, [0], Attempt("0:1:1"), [])]],
            [opening],
        )
    (sent,) = agreed.events(2, Sent)
    other_part = msgspec.structs.replace(sent, salt="00")
    for entry in (opening, fewer_parts):
        with pytest.raises(LogError, match="logged another answer to the plan"):
            check_disclosed(agreed.agreement, [*logs[:2], [*logs[2], other_part]], [entry])


def test_steps_follow_each_other_and_are_the_same_at_all_nodes() -> None:
    def asked(*batches: tuple[int, int], others: list[tuple[int, int]] | None = None) -> str:
        logs = [
            [batch_begun(first, count) for first, count in each]
            for each in (batches, batches, others or batches)
        ]
        return check_asked(logs)

    assert "the same 7 steps" in asked((0, 4), (4, 2), (6, 1))
    for batches in ([(0, 4), (5, 1)], [(1, 4)], [(0, 4), (4, 2), (5, 1)]):
        with pytest.raises(LogError, match="do not follow the earlier ones"):
            asked(*batches)
    with pytest.raises(LogError, match="different steps"):
        asked((0, 4), (4, 2), others=[(0, 4), (4, 3)])


def test_a_plan_that_was_opened_early_is_named() -> None:
    settings = AssignmentParameters(generations=2, iterations=12, least=4, checkpoints="2:3")
    agreement = owners_cast(parameters=settings, plan_for="everybody").agreement

    def words(number: int, *events: LogEvent) -> str:
        bound = PlanDecided(0, [0], Attempt.of(number, 1, 1), [])
        return early_words(agreement, [[*events, bound], [bound], []])

    assert "one was opened after 5, and no fewer than 6 were agreed on" in words(5)
    assert words(6) == ""
    proved = Sent(DisclosureKind.PROVED, 0, Attempt("5:1:1"), "", "", "", DisclosedProof(True))
    assert words(5, proved) == ""
    assert words(4, proved) != ""
    assert words(5, replace(proved, known=DisclosedProof(False))) != ""
    tour = owners_cast(problem=symmetric_tour(), plan_for="everybody").agreement
    assert early_words(tour, [[PlanDecided(0, [0], Attempt("1:1:1"), [])]]) == ""


def test_an_owner_to_whom_nothing_is_brought_notices() -> None:
    heads = [PlanHeads(["ab", "cd"], "ef"), None, None]
    entry = about_search(0, Attempt("9:1:1"), DisclosedToOwners(heads))
    check_own_parts([entry], {0: {0: PlanHeads(["ab", "cd"], "ef")}})
    with pytest.raises(LogError, match="brings no box"):
        check_own_parts([entry], {})
