"""What nodes log of sealed searches, and how logs and ledger are compared."""

from __future__ import annotations

import msgspec
import pytest

from tacit.engine.agreement import PlanHeads
from tacit.engine.agreement.terms import agreement_hash
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.records.events import GenerationsBegun, PlanBound, PlanSent
from tacit.engine.records.ledger import ImprovementBits, LedgerEntry, OpenedPlan, OwnersPlan
from tacit.engine.wire.attempt import Attempt
from tacit.errors import LogError
from tacit.verify.sealed.generations import check_asked
from tacit.verify.sealed.opened import check_opened
from tacit.verify.sealed.owners import check_own_parts
from tests.engine.agreed_cluster import run
from tests.engine.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed


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
            if e.name in ("secret start", "generations", "open plan", "opened", "sent")
        ]
        assert told == [
            ("secret start", None, None),
            ("generations", 0, 4),
            ("generations", 4, 5),
            ("open plan", None, None),
            ("opened", None, None),
        ]
        name = agreement_hash(agreed.agreement).hex()[:32]
        folder = agreed.cluster.folder / f"node-{node}.data" / name
        assert sorted(p.name for p in folder.glob("sealed-*")) == ["sealed-0-4", "sealed-0-9"]


def test_logs_and_ledger_are_compared(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["balanced"](), "improvement"))

    async def search() -> tuple[ImprovementBits, ImprovementBits, OpenedPlan]:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            first = await on_nodes.advance(2, 9, until=None)
            told = await on_nodes.advance(4, 6, until=None)
            opened = await on_nodes.open(until=None)
            before, bits = (
                ImprovementBits(
                    0,
                    each.batch.first + 1,
                    each.request.hex(),
                    [int(bit) for bit in each.improved],
                    each.parts,
                )
                for each in (first, told)
            )
            return before, bits, OpenedPlan(0, opened.plan, None, opened.parts)

    before, bits, opening = run(search())
    logs = [agreed.log(node) for node in range(3)]
    report = check_opened(agreed.agreement, logs, [before, bits, opening])
    assert "only the plan was opened, as 3 parts" in report
    assert "6 times whether the best had improved" in report
    assert "the same 6 generations" in check_asked(logs)
    assert "expected: 9, 6" in check_asked(logs)
    swapped = [opening.plan[1], opening.plan[0], *opening.plan[2:]]
    other = [[(0, [p[::-1] for p in frames]) for _, frames in s] for s in opening.parts]
    cut = [[(0, [p[:-1] for p in frames]) for _, frames in s] for s in opening.parts]
    forged = [[(k, [bytes(len(f)) for f in frames]) for k, frames in s] for s in bits.parts]
    lies: tuple[tuple[list[LedgerEntry], str], ...] = (
        ([msgspec.structs.replace(opening, plan=swapped)], "another plan than the ledger"),
        ([msgspec.structs.replace(opening, outcome="optimum")], "another plan than the ledger"),
        ([msgspec.structs.replace(opening, parts=other)], "something that is not a plan"),
        ([msgspec.structs.replace(opening, parts=cut)], "not part of a plan"),
        ([opening, msgspec.structs.replace(opening, plan=swapped)], "two plans of one search"),
        ([bits], "opened the plan of search 0, which the ledger leaves out"),
        ([opening], "improvements after generation 0, which the ledger leaves out"),
        ([msgspec.structs.replace(bits, parts=forged), opening], "other improvements"),
    )
    for changed, words in lies:
        with pytest.raises(LogError, match=words):
            check_opened(agreed.agreement, logs, changed)
    again = check_opened(agreed.agreement, logs, [before, bits, opening, opening])
    assert again == report  # heard twice by a coordinator that was interrupted
    fewer = [event for event in logs[1] if not isinstance(event, GenerationsBegun)]
    with pytest.raises(LogError, match="different generations"):
        check_opened(agreed.agreement, [logs[0], fewer], [opening])
    # Two nodes send all components: what the third sent need not be kept, and is still compared.
    fewer_parts = msgspec.structs.replace(opening, parts=[*opening.parts[:2], []])
    assert check_opened(agreed.agreement, logs, [before, bits, fewer_parts]) == report
    with pytest.raises(LogError, match="two plans of search 0"):
        check_opened(
            agreed.agreement,
            [*logs[:2], [*logs[2], PlanBound(0, Attempt("0:1:1"))]],
            [before, bits, opening],
        )
    (sent,) = agreed.events(2, PlanSent)
    other_part = msgspec.structs.replace(sent, salt="00")
    for entry in (opening, fewer_parts):
        with pytest.raises(LogError, match="another part of the plan"):
            check_opened(agreed.agreement, [*logs[:2], [*logs[2], other_part]], [bits, entry])


def test_a_finish_begins_once_where_the_search_ended() -> None:
    def asked(*runs: tuple[int, int, int | None]) -> str:
        events = [GenerationsBegun(0, first, count, 9, turn=turn) for first, count, turn in runs]
        return check_asked([events] * 3)

    told = asked((0, 4, None), (4, 2, 4), (6, 1, 4))
    assert "the same 7 generations, the last 3 of them phases of the finish" in told
    for runs in (
        [(0, 4, None), (4, 2, 3)],
        [(0, 4, None), (4, 2, 4), (6, 1, 6)],
        [(0, 4, None), (4, 2, 4), (6, 1, None)],
    ):
        with pytest.raises(LogError, match="do not follow the earlier ones"):
            asked(*runs)
    other = [GenerationsBegun(0, 0, 4, 9), GenerationsBegun(0, 4, 2, 9)]
    turned = [GenerationsBegun(0, 0, 4, 9), GenerationsBegun(0, 4, 2, 9, turn=4)]
    with pytest.raises(LogError, match="different generations"):
        check_asked([turned, turned, other])


def test_an_owner_to_whom_nothing_is_brought_notices() -> None:
    heads = [PlanHeads(["ab", "cd"], "ef"), None, None]
    entry = OwnersPlan(0, "9:1:1", None, [[], [], []], heads)
    check_own_parts([entry], {0: {0: PlanHeads(["ab", "cd"], "ef")}})
    with pytest.raises(LogError, match="brings no box"):
        check_own_parts([entry], {})
