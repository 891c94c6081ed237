"""One of four nodes lies about inputs: nothing is lost, and nobody else is blamed."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from numpy.typing import NDArray

from tacit.agreement.sealing import SealedRows, manifests_digest
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluations
from tacit.errors import MpcError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.records.ballots import Phase, Subject, SubjectKind
from tacit.records.events import InputDropped, InputsFrozen, Voted
from tacit.records.log import frozen_inputs
from tacit.records.messages import RefusalKind
from tacit.verify.logs import check_evidence
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, expected, populations, run
from tests.on_nodes.altered_nodes import restart_telling
from tests.on_nodes.ballots import cast
from tests.on_nodes.test_input_check import SET_UP, submit_all
from tests.support.mending import mend

pytestmark = pytest.mark.processes
LIAR, HONEST = 3, range(3)
SOON = 2.0


@pytest.fixture(autouse=True)
def honest_again(four: LocalCluster) -> Iterator[None]:
    """The node that lied is started anew for other tests."""
    yield
    four.kill(LIAR)


async def ready(agreed: AgreedCluster, coordinator: Coordinator) -> None:
    await submit_all(agreed)
    await coordinator.start_agreement(agreed.signatures, within=SET_UP)


def untouched(agreed: AgreedCluster) -> bool:
    """Whether no honest node has frozen, dropped or voted for anything."""
    kinds = InputsFrozen, InputDropped, Voted
    return not any(agreed.events(node, kind) for node in HONEST for kind in kinds)


def check_all_frozen_alike(four: LocalCluster, agreed: AgreedCluster) -> None:
    """With a node that tells the truth all have the inputs that were there all the time."""
    four.kill(LIAR)
    mend(four)

    async def prepare() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            await coordinator.prepare(0, until=time.monotonic() + SET_UP)

    run(prepare())
    frozen = [frozen_inputs(agreed.agreement, agreed.log(node))[0] for node in range(4)]
    assert all(each == frozen[0] for each in frozen)
    assert frozen[0].seed_contribution


@pytest.mark.parametrize("what", ["commitments", "manifests"])
def test_a_node_that_tells_two_things_is_named_and_nothing_is_lost(
    four: LocalCluster, what: str
) -> None:
    agreed = AgreedCluster.draft(four, seed=None)
    restart_telling(four, LIAR, what)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await ready(agreed, coordinator)
            with pytest.raises(RefusedError, match="node 3 departed from the protocol"):
                await coordinator.prepare(0, until=time.monotonic() + SET_UP)
            assert coordinator.naming.named == LIAR

    run(attack())
    assert untouched(agreed)
    logs = [agreed.log(node) for node in range(4)]
    assert "node 3 departed from the protocol" in check_evidence(agreed.agreement, logs)
    check_all_frozen_alike(four, agreed)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("invents", "has not signed"),
        ("passes on", "did not sign"),
        ("says outside", "refuses, as the only one: a weight"),
    ],
)
def test_a_node_that_makes_things_up_is_blamed_alone(
    four: LocalCluster, how: str, words: str
) -> None:
    agreed = AgreedCluster.draft(four, seed=None)
    restart_telling(four, LIAR, how)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await ready(agreed, coordinator)
            with pytest.raises(MpcError, match=f"node 3.*{words}"):
                await coordinator.prepare(0, until=time.monotonic() + SOON)
            # It proves nothing about anybody.
            assert coordinator.naming.named is None

    run(attack())
    assert untouched(agreed)
    check_all_frozen_alike(four, agreed)


def test_a_node_that_lacks_rows_gets_them_again_and_nobody_seals_anew(four: LocalCluster) -> None:
    agreed = AgreedCluster.draft(four, seed=None)
    restart_telling(four, LIAR, "lacks")

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await ready(agreed, coordinator)
            with pytest.raises(RefusedError, match="to node 3") as refused:
                await coordinator.prepare(0, until=time.monotonic() + SET_UP)
            assert refused.value.kind == RefusalKind.MISSING

    run(attack())
    assert untouched(agreed)
    check_all_frozen_alike(four, agreed)


def test_rows_are_dropped_though_nodes_were_asked_for_statuses(four: LocalCluster) -> None:
    """A node that says of inputs that they are frozen makes the platform ask for them."""
    agreed = AgreedCluster.draft(four, seed=None)
    inputs = Subject(SubjectKind.INPUTS, 0)
    who, other = agreed.keys
    one, two, rest = agreed.seal(who), agreed.seal(who), agreed.seal(other)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            for client in coordinator.clients:
                for rows in (two if client.number == 0 else one, rest):
                    await ask(client, coordinator.submission(rows, client))
            for node in range(4):
                await cast(coordinator, node, Phase.STATUS, ballot=1, subject=inputs)
            with pytest.raises(RefusedError) as refused:
                await coordinator.prepare(0, until=time.monotonic() + SET_UP)
            assert refused.value.kind == RefusalKind.DIFFERS
            for client in coordinator.clients:
                await ask(client, coordinator.submission(one, client))
            await coordinator.prepare(0, until=time.monotonic() + SET_UP)

    run(attack())
    dropped = [each.participant for node in range(4) for each in agreed.events(node, InputDropped)]
    assert dropped == [who] * 4


def out_of_range(agreed: AgreedCluster, who: str) -> NDArray[Any]:
    weights = agreed.problem.objectives[0].weights
    assert weights is not None
    bad = weights.copy()
    bad[agreed.agreement.rows_of(who, 0)[0], 0] = 1001
    return bad


async def hand_in(coordinator: Coordinator, rows: SealedRows, nodes: Iterable[int]) -> None:
    for node in nodes:
        client = coordinator.clients[node]
        await ask(client, coordinator.submission(rows, client))


def test_rows_that_were_sealed_again_count_whatever_one_node_shows(four: LocalCluster) -> None:
    """The first rows were refused; one node goes on showing them, signed by their participant."""
    agreed = AgreedCluster.draft(four, seed=None)
    who, other = agreed.keys
    first = agreed.seal(who, weights=out_of_range(agreed, who))
    again, rest = agreed.seal(who, version=2), agreed.seal(other)
    restart_telling(four, LIAR, "replays")

    async def attack() -> list[int]:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            await hand_in(coordinator, first, range(4))
            await hand_in(coordinator, rest, range(4))
            with pytest.raises(RefusedError, match="outside"):
                await coordinator.prepare(0, until=time.monotonic() + SET_UP)
            await hand_in(coordinator, again, range(4))
            await coordinator.prepare(0, until=time.monotonic() + SET_UP)
            assert coordinator.naming.named is None
            (plans,) = populations(1)
            told = await Evaluations(coordinator, 0).evaluate(plans, until=None)
            return told.payload.labels

    assert run(attack()) == expected(agreed, populations(1)[0])
    inputs = {who: again, other: rest}
    digest = manifests_digest(inputs[name].manifest for name in agreed.keys)
    for node in HONEST:
        (dropped,) = agreed.events(node, InputDropped)
        assert dropped.manifest == hashlib.sha256(first.manifest).hexdigest()
        assert dropped.why == "out of range"
        assert frozen_inputs(agreed.agreement, agreed.log(node))[0].manifests == digest


def test_a_node_that_missed_a_drop_gets_the_latest_rows_and_nothing_is_lost(
    four: LocalCluster,
) -> None:
    agreed = AgreedCluster.draft(four, seed=None)
    who, other = agreed.keys
    first, again, rest = agreed.seal(who), agreed.seal(who, version=2), agreed.seal(other)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            await hand_in(coordinator, rest, range(4))
            await hand_in(coordinator, first, [3])
            await hand_in(coordinator, again, range(3))
            with pytest.raises(RefusedError, match=r"latest rows .* to node 3") as refused:
                await coordinator.prepare(0, until=time.monotonic() + SET_UP)
            assert refused.value.kind == RefusalKind.MISSING
            assert not any(agreed.events(node, InputDropped) for node in range(4))
            # It takes them at once, in place of those that are void now, and never these again.
            await hand_in(coordinator, again, [3])
            for client in coordinator.clients:
                with pytest.raises(RefusedError, match=r"version 2 .* is here already"):
                    await ask(client, coordinator.submission(first, client))
            await coordinator.prepare(0, until=time.monotonic() + SET_UP)

    run(attack())
    assert not any(agreed.events(node, InputDropped) for node in range(4))


def test_rows_that_a_participant_sealed_twice_as_one_version_are_dropped_everywhere(
    four: LocalCluster,
) -> None:
    agreed = AgreedCluster.draft(four, seed=None)
    who, other = agreed.keys
    one, two, rest = agreed.seal(who), agreed.seal(who), agreed.seal(other)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            await hand_in(coordinator, rest, range(4))
            await hand_in(coordinator, one, [0, 1, 2])
            await hand_in(coordinator, two, [3])
            with pytest.raises(RefusedError, match="manifests here and at") as refused:
                await coordinator.prepare(0, until=time.monotonic() + SET_UP)
            assert refused.value.kind == RefusalKind.DIFFERS
            assert refused.value.participants == (who,)
            for node, rows in enumerate([one, one, one, two]):
                (dropped,) = agreed.events(node, InputDropped)
                assert dropped.manifest == hashlib.sha256(rows.manifest).hexdigest()
            await hand_in(coordinator, agreed.seal(who, version=2), range(4))
            await coordinator.prepare(0, until=time.monotonic() + SET_UP)

    run(attack())
