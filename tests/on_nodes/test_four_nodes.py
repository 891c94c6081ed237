"""Four real nodes: the same bytes as three, and one that lies is noticed."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tacit.agreement.sealing import SealedRows
from tacit.errors import AbortError, MpcError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.problems import generate_assignment, generate_tour
from tacit.records.events import InputDropped, RequestFailed
from tacit.records.ledger import Parts
from tacit.records.payload_parts import join_parts
from tacit.runs import EngineChoice, Limits, solve
from tests.conftest import RunTacit
from tests.on_nodes.agreed_cluster import (
    AgreedCluster,
    ask,
    expected,
    outcomes,
    populations,
    problem,
    run,
)
from tests.on_nodes.altered_nodes import restart_lying
from tests.on_nodes.deadlines import AMPLE
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed, twin
from tests.on_nodes.test_derived import asked, drafted, generation, honest_search, refused
from tests.on_nodes.test_identical import BESTS, DISCLOSURES, same_bytes, small
from tests.on_nodes.test_seals import box_with, part_of, set_up, with_boxes
from tests.support.mending import mend

pytestmark = pytest.mark.processes
FOUR = 4


@pytest.mark.parametrize("best", BESTS)
@pytest.mark.parametrize("disclose", DISCLOSURES)
def test_answers_are_those_of_the_simulation(four: LocalCluster, disclose: str, best: str) -> None:
    made = generate_assignment(3, rows=9, participants=3)
    same_bytes(
        four, made, parameters=small("paper-ap"), disclose=disclose, best=best, generations=3
    )


def test_tours_and_reveals_are_those_of_the_simulation(four: LocalCluster) -> None:
    made = generate_tour(2, cities=10)
    same_bytes(
        four, made, parameters=small("paper-tsp"), disclose="top:5", reveal_best=True, generations=3
    )


def test_a_recorded_run_is_confirmed_by_the_logs_of_all_four(
    four: LocalCluster, tmp_path: Path, run_tacit: RunTacit
) -> None:
    data = four.folder / "node-0.data"
    before, ledger = set(data.iterdir()), tmp_path / "ledger.jsonl"
    solve(
        generate_assignment(3, rows=8),
        disclose="top:4",
        settings=small("paper-ap"),
        limits=Limits(generations=3),
        engine=EngineChoice(cluster=four.folder / "cluster.toml", ledger=ledger),
    )
    (kept,) = set(data.iterdir()) - before
    logs = [four.folder / f"node-{i}.data" / kept.name / "log.jsonl" for i in range(FOUR)]
    words = ("log", "replay", logs[0], "--agreement", kept / "agreement.json", "--ledger", ledger)
    others = [word for log in logs[1:] for word in ("--other", log)]
    done = run_tacit(*words, *others)
    assert done.returncode == 0, done.stderr
    assert "4 answers in the ledger are what all four nodes sent" in done.stdout
    assert "all 4 populations are those of the agreed search" in done.stdout
    fewer = run_tacit(*words, *others[:4])
    assert "are what 3 of 4 nodes sent; only the logs of all prove them" in fewer.stdout
    lines = ledger.read_text().splitlines()
    changed = tmp_path / "changed.jsonl"
    first = lines[0].replace('"labels":[0', '"labels":[1', 1)
    first = first if first != lines[0] else lines[0].replace('"labels":[1', '"labels":[0', 1)
    assert first != lines[0]
    changed.write_text("\n".join([first, *lines[1:]]) + "\n")
    assert run_tacit(*words[:-1], changed, *others).returncode != 0


def test_nodes_derive_every_population_themselves(four: LocalCluster) -> None:
    agreed = drafted(four)

    async def search() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            agreed_search = honest_search(agreed)
            for number in (1, 2, 3):
                assert (await generation(agreed_search, evaluations)).number == number
            await evaluations.settle(until=time.monotonic() + 60)
            other = asked(agreed, await coordinator.epoch(), 4, populations(1)[0])
            await refused(coordinator, other, "not the population")

    run(search())


@pytest.mark.parametrize(
    ("name", "best"), [("balanced", "nothing"), ("tour", "value"), ("imbalanced", "value")]
)
def test_a_sealed_search_finds_the_plan_of_the_clear_one(
    four: LocalCluster, name: str, best: str
) -> None:
    agreed = draft(four, sealed(PROBLEMS[name](), best))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(12, 12, until=None)
            clear.advance(12, horizon=12)
            opened = await on_nodes.open(until=None)
            assert opened.plan == clear.plan()
            assert opened.value == (clear.value if best == "value" else None)
            assert (await on_nodes.open(until=None)).plan == opened.plan
            with pytest.raises((RefusedError, MpcError)):
                await on_nodes.advance(1, 13, until=None)  # it is opened once, at its end
            _one_lie_changes_nothing(agreed, opened.entry.parts)

    run(search())


def _one_lie_changes_nothing(agreed: AgreedCluster, parts: Parts) -> None:
    """A component has three holders, of whom two are believed; two liars are noticed."""
    whole = join_parts(agreed.agreement, 0, parts)
    present = [node for node in range(FOUR) if parts[node]]
    for liar in present:
        components = parts[liar][0][1]
        lies = [[(0, [bytes([each[0] ^ 1]) + each[1:] for each in components])]]
        said = [*parts[:liar], *lies, *parts[liar + 1 :]]
        if len(present) == FOUR:
            assert join_parts(agreed.agreement, 0, said) == whole
        else:
            with pytest.raises(AbortError):
                join_parts(agreed.agreement, 0, said)


def test_a_component_that_does_not_fit_is_refused_by_its_node_alone(four: LocalCluster) -> None:
    agreed = AgreedCluster.draft(four)
    who = next(iter(agreed.keys))
    for node in (0, 3):
        boxes, parts = box_with(agreed, who), [part_of(agreed, who)] * 3
        parts[2] = b"1" + parts[2][1:]
        boxes[node] = box_with(agreed, who, components=parts)[node]
        rows = with_boxes(agreed, who, boxes)

        async def submit(agreed: AgreedCluster = agreed, rows: SealedRows = rows) -> list[bool]:
            async with agreed.coordinator() as coordinator:
                await coordinator.loss.connect(everybody=True)
                agree = agreed.agree_request()
                for client in coordinator.clients:
                    await ask(client, agree)
                replies = await outcomes(
                    coordinator.clients, lambda client: coordinator.submission(rows, client)
                )
                return [isinstance(reply, RefusedError) for reply in replies]

        assert run(submit()) == [each == node for each in range(FOUR)]
        assert any("other shares than its manifest" in each for each in agreed.refusals(node))
        agreed = AgreedCluster.draft(four)


def test_inputs_that_differ_or_lie_outside_are_found(four: LocalCluster) -> None:
    agreed = AgreedCluster.draft(four)
    who, other = agreed.keys
    one, two, rest = agreed.seal(who), agreed.seal(who), agreed.seal(other)
    with pytest.raises(RefusedError, match="manifests here and at"):
        run(set_up(agreed, [[one, one, one, two], [rest] * FOUR]))
    dropped = [e for i in range(FOUR) for e in agreed.events(i, InputDropped)]
    assert {(e.participant, e.why) for e in dropped} == {(who, "differs")}
    agreed = AgreedCluster.draft(four)
    weights = agreed.problem.objectives[0].weights
    assert weights is not None
    bad = weights.copy()
    bad[agreed.agreement.rows_of(who, 0)[0], 2] = 1001
    with pytest.raises(RefusedError, match=f"a weight of '{who}' for .* is outside 0..1000"):
        run(set_up(agreed, [[agreed.seal(who, weights=bad)] * FOUR, [agreed.seal(other)] * FOUR]))
    for node in range(FOUR):
        dropped = agreed.events(node, InputDropped)
        assert [(e.participant, e.why) for e in dropped] == [(who, "out of range")]


def suspects(agreed: AgreedCluster) -> list[set[str]]:
    """Whom those name who noticed that something does not fit, themselves included."""
    return [
        {event.peer, event.voucher, f"node {node}"}
        for node in range(4)
        for event in agreed.events(node, RequestFailed)
        if event.voucher
    ]


async def noticed(agreed: AgreedCluster, liar: int, asked: asyncio.Task[Any]) -> None:
    """Wait until somebody notices; whoever does suspects the liar, and nothing is answered."""
    while not suspects(agreed):
        assert not asked.done()
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.5)  # the next attempt is falsified too
    assert not asked.done()
    assert all(f"node {liar}" in names for names in suspects(agreed))


def end_the_lies(cluster: LocalCluster, node: int) -> None:
    cluster.kill(node)
    mend(cluster)


@pytest.mark.parametrize(
    ("liar", "about", "to", "disclose"),
    [(0, "piece", 2, "order"), (1, "hash", 3, "top:3"), (3, "piece", 0, "above:50")],
)
def test_a_lie_in_an_evaluation_is_noticed_and_answered_by_nobody(
    four: LocalCluster, liar: int, about: str, to: int, disclose: str
) -> None:
    agreed = AgreedCluster.draft(four, problem(disclose, "nothing"))
    first, second = populations(2)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(first, until=None)
            restart_lying(four, liar, about, to)
            asked = asyncio.create_task(
                evaluations.evaluate(second, until=time.monotonic() + AMPLE)
            )
            await noticed(agreed, liar, asked)
            end_the_lies(four, liar)
            told = await asked
            assert told.payload.labels == expected(agreed, second)

    run(evaluate())


def test_a_lie_in_a_sealed_search_is_noticed_and_changes_no_plan(four: LocalCluster) -> None:
    agreed = draft(four, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(4, 8, until=None)
            restart_lying(four, 2, "piece", 1)
            asked = asyncio.create_task(on_nodes.advance(4, 8, until=time.monotonic() + AMPLE))
            await noticed(agreed, 2, asked)
            end_the_lies(four, 2)
            await asked
            clear.advance(8, horizon=8)
            assert (await on_nodes.open(until=None)).plan == clear.plan()

    run(search())
