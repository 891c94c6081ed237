"""A plan for its owners on real nodes: the same plan, one in all logs, in the same boxes."""

from __future__ import annotations

import time

import msgspec
import numpy as np
import pytest

from tacit.agreement.plan_parts import SealedParts, whole_plan
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.sealed_search import OpenedByNodes
from tacit.coordinator.secure import SecureEngine
from tacit.errors import LogError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.records import (
    Disclosed,
    DisclosedToOwners,
    HeardBoxes,
    Ledger,
    PlanSealed,
    Sent,
    decode_entry,
    encode_entry,
    plan_hash,
)
from tacit.records.messages import End, OpenPlan, PlanOpened
from tacit.records.requests import Attempt
from tacit.verify import Claim, check_run
from tests.on_nodes.agreed_cluster import SOON_THREE, AgreedCluster, ask, run
from tests.on_nodes.entries import lying
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed, twin
from tests.support.mending import mend


def findings(
    agreed: AgreedCluster, ledger: list[Disclosed], claim: Claim | None = None
) -> dict[str, str]:
    """What the logs say to this ledger; what they do not bear out is an error."""
    logs = [agreed.log(node) for node in range(len(agreed.agreement.nodes))]
    found = check_run(agreed.agreement, logs, ledger, claim or Claim())
    for finding in found:
        finding.check()
    return {finding.about: finding.detail for finding in found}


async def open_again(coordinator: Coordinator, node: int, attempt: Attempt) -> PlanOpened:
    client = coordinator.clients[node]
    if not client.connected:
        await client.connect()
    return await ask(client, OpenPlan(agreement=coordinator.hash, search=0, attempt=attempt))


@pytest.mark.parametrize("best", ["nothing", "value"])
def test_owners_together_have_the_plan_that_the_clear_search_finds(
    own_cluster: LocalCluster, best: str
) -> None:
    agreed = draft(own_cluster, sealed(PROBLEMS["balanced"](), best), plan="owners")
    boxes: list[SealedParts | None] = []

    async def search() -> tuple[OpenedByNodes, list[int]]:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(20, 20, until=None)
            opened = await on_nodes.open(until=None)
            clear.advance(20, horizon=20)
            assert opened.value == (clear.value if best == "value" else None)
            # The same bytes: at once, from a node that has crashed, and after the end.
            own_cluster.kill(1)
            mend(own_cluster)
            await coordinator.clients[1].disconnect()
            for node in (0, 1):
                boxes.append((await open_again(coordinator, node, opened.entry.attempt)).sealed)
            over = End(agreement=coordinator.hash, nonce=agreed.agreement.nonce)
            await ask(coordinator.clients[2], over)
            boxes.append((await open_again(coordinator, 2, opened.entry.attempt)).sealed)
            with pytest.raises(RefusedError, match="has ended"):
                await open_again(coordinator, 2, Attempt("1:1:1"))
            return opened, clear.plan()

    opened, plan = run(search())
    assert opened.plan == []
    assert whole_plan(agreed.agreement, 0, boxes, agreed.keys) == plan
    for now, before in zip(boxes, opened.sealed, strict=True):
        assert before in (None, now)  # who came last was not waited for
    entry = opened.entry
    assert "to its owners alone, as" in findings(agreed, [entry])["answers"]
    # Nothing of the plan is in the ledger, and each node has released after others were bound.
    word, heads = 4, 2 if best == "value" else 1
    assert [len(part) for part in entry.parts[0][0][1]] == [heads * word] * 2
    for node in range(3):
        (mine,) = agreed.events(node, PlanSealed)
        for released in agreed.events(node, Sent):
            assert isinstance(released.known, HeardBoxes)
            assert released.known.boxes[node] == mine.boxes
            assert sum(map(bool, released.known.boxes)) >= 2


def test_three_of_four_open_it_to_the_owners(four: LocalCluster) -> None:
    agreed = draft(
        four,
        sealed(PROBLEMS["balanced"](), "value"),
        plan="owners",
        **SOON_THREE,
    )

    async def search() -> OpenedByNodes:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            await on_nodes.advance(3, 9, until=None)
            four.kill(1)
            await on_nodes.advance(3, 9, until=time.monotonic() + 60)
            return await on_nodes.open(until=time.monotonic() + 60)

    opened = run(search())
    assert opened.sealed[1] is None
    plan = whole_plan(agreed.agreement, 0, opened.sealed, agreed.keys)
    agreed.problem.check_plan(plan)
    assert agreed.problem.fitness(0, np.array([plan], dtype=np.int32))[0] == opened.value
    assert "3 lists of boxes" in findings(agreed, [opened.entry])["answers"]


def test_a_changed_ledger_is_noticed(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["balanced"](), "value"), plan="owners")
    ledger = Ledger()
    with SecureEngine(agreed.agreement, cluster.config, ledger=ledger) as engine:
        engine.start(agreed.signatures, agreed.sealed())
        search = engine.sealed(0)
        search.start()
        search.advance(5, 5, until=None)
        opened = search.open(0, until=None)
    assert opened.plan == []
    (entry,) = ledger.entries
    payload = entry.payload
    assert isinstance(payload, DisclosedToOwners)
    assert decode_entry(encode_entry(entry)) == entry
    assert payload.value is not None
    findings(agreed, [entry])
    known = {node: heads for node, heads in enumerate(payload.heads) if heads is not None}
    findings(agreed, [entry], Claim(own_parts={0: known}))
    change, first = msgspec.structs.replace, next(iter(known))
    heads = change(known[first], boxes="00" * 32)
    others = [heads if node == first else each for node, each in enumerate(payload.heads)]
    swapped = change(known[first], commitments=known[first].commitments[::-1])
    attempt = Attempt("4:1:1")
    elsewhere = change(entry, attempt=attempt, request=plan_hash(0, attempt).hex())
    lies: list[tuple[list[Disclosed], Claim, str]] = [
        ([lying(entry, value=payload.value + 1)], Claim(), "disclosed something else"),
        ([lying(entry, heads=others)], Claim(), "other boxes"),
        ([elsewhere], Claim(), "logged another answer"),
        ([change(entry, attempt=attempt)], Claim(), "not agreed on"),
        ([], Claim(), "which the ledger leaves out"),
        ([entry], Claim(own_parts={0: {**known, first: swapped}}), "than your box was"),
    ]
    for changed, claim, why in lies:
        with pytest.raises(LogError, match=why):
            findings(agreed, changed, claim)
    everybody = change(agreed.agreement, plan="everybody")
    found = check_run(everybody, [agreed.log(node) for node in range(3)], [entry], Claim())
    assert any("was not agreed on" in each.detail for each in found)
