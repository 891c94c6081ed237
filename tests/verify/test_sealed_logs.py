"""What nodes log of sealed searches, and how logs and ledger are compared."""

from __future__ import annotations

import msgspec
import pytest

from tacit.engine.agreement.terms import agreement_hash
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.records.ledger import LedgerEntry
from tacit.engine.wire.request import REVEAL_NUMBER
from tacit.errors import LogError
from tacit.verify.sealed_answers import check_sealed_answers
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
            (e["event"], e.get("first"), e.get("count"))
            for e in agreed.log(node)
            if e["event"] in ("secret start", "generations", "open plan", "opened", "sent")
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

    async def search() -> list[LedgerEntry]:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            first = await on_nodes.advance(2, 9, until=None)
            told = await on_nodes.advance(4, 6, until=None)
            opened = await on_nodes.open(until=None)
            return [
                *(
                    LedgerEntry(
                        0,
                        each.batch.first + 1,
                        each.request.hex(),
                        [int(bit) for bit in each.improved],
                        None,
                        each.parts,
                    )
                    for each in (first, told)
                ),
                LedgerEntry(0, REVEAL_NUMBER, "", opened.plan, None, opened.parts),
            ]

    before, bits, opening = run(search())
    logs = [agreed.log(node) for node in range(3)]
    report = check_sealed_answers(agreed.agreement, logs, [before, bits, opening])
    assert (report.generations, report.plans, report.improvements) == (6, 1, 6)
    assert report.senders == 3
    assert report.horizons == (9, 6)
    swapped = [opening.disclosed[1], opening.disclosed[0], *opening.disclosed[2:]]
    other = [[(0, [p[::-1] for p in frames]) for _, frames in s] for s in opening.parts]
    cut = [[(0, [p[:-1] for p in frames]) for _, frames in s] for s in opening.parts]
    forged = [[(k, [bytes(len(f)) for f in frames]) for k, frames in s] for s in bits.parts]
    for changed, words in (
        ([msgspec.structs.replace(opening, disclosed=swapped)], "another plan than the ledger"),
        ([msgspec.structs.replace(opening, parts=other)], "another plan than the ledger"),
        ([msgspec.structs.replace(opening, parts=cut)], "no part of a plan"),
        ([opening, msgspec.structs.replace(opening, disclosed=swapped)], "two plans of one search"),
        ([bits], "opened the plan of search 0, which the ledger leaves out"),
        ([opening], "improvements after generation 0, which the ledger leaves out"),
        ([msgspec.structs.replace(bits, parts=forged), opening], "other improvements"),
    ):
        with pytest.raises(LogError, match=words):
            check_sealed_answers(agreed.agreement, logs, changed)
    again = check_sealed_answers(agreed.agreement, logs, [before, bits, opening, opening])
    assert again == report  # heard twice by a coordinator that was interrupted
    fewer = [line for line in logs[1] if line["event"] != "generations"]
    with pytest.raises(LogError, match="different generations"):
        check_sealed_answers(agreed.agreement, [logs[0], fewer], [opening])
    # Two nodes send all components: what the third sent need not be kept, and is still compared.
    fewer_parts = msgspec.structs.replace(opening, parts=[*opening.parts[:2], []])
    assert check_sealed_answers(agreed.agreement, logs, [before, bits, fewer_parts]).senders == 3
    (other_basis,) = [
        {**line, "basis": "0:1:1"} for line in logs[0] if line["event"] == "open plan"
    ]
    with pytest.raises(LogError, match="two plans of search 0"):
        check_sealed_answers(
            agreed.agreement, [*logs[:2], [*logs[2], other_basis]], [before, bits, opening]
        )
    (other_part,) = [{**line, "salt": "00"} for line in logs[2] if line["event"] == "opened"]
    for entry in (opening, fewer_parts):
        with pytest.raises(LogError, match="another part of the plan"):
            check_sealed_answers(
                agreed.agreement, [*logs[:2], [*logs[2], other_part]], [bits, entry]
            )
