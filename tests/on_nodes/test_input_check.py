"""Inputs are checked together, frozen as checked; then the seed is drawn, once."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tacit.agreement.sealing import (
    SealedRows,
    box_hash,
    commitment_to,
    joint_contribution,
    seal_rows,
    search_seed,
)
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluations
from tacit.errors import EngineError, LogError, MpcError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.mpc import COORDINATOR, Context, Session, agree_epoch, open_session
from tacit.mpc.local import run_linked
from tacit.mpc.transport import Mux
from tacit.node.agreement_state import AgreementState
from tacit.node.preparing import draw_seed
from tacit.node.store import Store, StoredInput
from tacit.records.ballots import Phase, Subject, SubjectKind
from tacit.records.events import InputDropped, InputsFrozen, SeedDrawn
from tacit.records.log import frozen_inputs, read_log
from tacit.records.messages import Freeze, Prepare, Submit
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, outcomes, populations, run
from tests.on_nodes.altered_nodes import ClockedCluster, restart_dying, restart_full
from tests.on_nodes.ballots import cast
from tests.on_nodes.fixtures import Cast, example_cast

SET_UP = 60.0
OTHERS_SECONDS = 3.0


def seal(cast: Cast) -> SealedRows:
    weights = np.array([[1, 9], [8, 3]])
    return seal_rows(cast.agreement, "owner", 0, weights, key=cast.participants["owner"])


def submit(agreement_state: AgreementState, rows: SealedRows) -> None:
    message = Submit(
        id=1,
        agreement=agreement_state.hash,
        manifest=rows.manifest,
        signature=rows.signature,
        box=rows.boxes[0],
    )
    manifest = agreement_state.inputs.examine(message)
    if manifest is not None:
        agreement_state.inputs.keep(message, manifest)


def test_only_what_was_checked_is_frozen(tmp_path: Path) -> None:
    cast = example_cast()
    store = Store.create(tmp_path, cast.agreement, cast.signatures)
    agreement_state = AgreementState(store, node=0, key=cast.sealing[0])
    good, bad = seal(cast), seal(cast)
    commitments = [agreement_state.inputs.commit(0).hex(), "01" * 32, "02" * 32]
    submit(agreement_state, good)
    checked = store.inputs(0)
    # A check that ran beside drops the rows, and others are submitted in their place.
    agreement_state.inputs.forget(0, "owner", box_hash(good.boxes[0]))
    submit(agreement_state, bad)
    with pytest.raises(RefusedError, match="changed while they were checked"):
        agreement_state.inputs.freeze(0, checked, commitments=commitments)
    assert not agreement_state.inputs.frozen
    # A verdict on rows that are gone does not touch those that are here.
    agreement_state.inputs.forget(0, "owner", box_hash(good.boxes[0]))
    agreement_state.inputs.freeze(0, store.inputs(0), commitments=commitments)
    again = AgreementState(Store(store.folder), node=0, key=cast.sealing[0])
    assert again.inputs.frozen == agreement_state.inputs.frozen
    assert list(again.inputs.frozen) == [0]
    # Frozen is not drawn: nothing is evaluated, and nothing is submitted in place of it either.
    assert again.inputs.ready == []
    with pytest.raises(RefusedError, match="not prepared yet"):
        again.inputs.check_frozen(0)
    with pytest.raises(RefusedError, match="are frozen"):
        submit(again, good)


def test_checks_side_by_side_end_alike(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            for rows in agreed.sealed():
                await outcomes(coordinator.clients, partial(coordinator.submission, rows))
            until = time.monotonic() + SET_UP
            await asyncio.gather(*(coordinator.prepare(0, until=until) for _ in range(3)))
            await Evaluations(coordinator, 0).evaluate(populations(1)[0], until=until)

    run(attack())
    frozen = [frozen_inputs(agreed.agreement, agreed.log(node))[0] for node in range(3)]
    # Together they drew one contribution, which nobody knew when the rows were sealed.
    assert frozen[0] == frozen[1] == frozen[2]
    assert len(bytes.fromhex(frozen[0].seed_contribution)) == 32


def test_the_seed_depends_on_what_the_nodes_drew() -> None:
    agreement = example_cast().agreement
    seeds = {search_seed(agreement, {0: "aa"}, {0: word}) for word in ("01", "02")}
    assert len(seeds) == 2


def test_a_node_that_missed_the_end_of_the_check_catches_up(own_cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(own_cluster)

    async def set_up() -> None:
        async with agreed.ready():
            pass

    run(set_up())
    own_cluster.kill(2)
    path = agreed.folder_at(2) / "log.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    (at,) = (i for i, line in enumerate(lines) if b'"frozen inputs"' in line)
    path.write_bytes(b"".join(lines[:at]))
    own_cluster.restart(2)

    async def go_on() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(populations(1)[0], until=time.monotonic() + SET_UP)

    # Its rows are those of the first run, and the others are frozen: nothing new is needed.
    agreed.sealed = list  # type: ignore[method-assign]
    run(go_on())
    frozen = [frozen_inputs(agreed.agreement, agreed.log(node))[0] for node in range(3)]
    assert frozen[0] == frozen[1] == frozen[2]


@pytest.mark.parametrize("partly", ["missing", "other"])
def test_rows_that_differ_between_nodes_can_be_sealed_again(
    cluster: LocalCluster, partly: str
) -> None:
    """Missing: nothing is lost. Other ones of the same version: dropped, and sealed again."""
    agreed = AgreedCluster.draft(cluster)
    who, other = agreed.keys
    words = "manifests here and at" if partly == "other" else "latest rows .* to node 2"

    async def submit_to(coordinator: Coordinator, rows: SealedRows, node: int) -> None:
        client = coordinator.clients[node]
        await ask(client, coordinator.submission(rows, client))

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            first, second, rest = agreed.seal(who), agreed.seal(who), agreed.seal(other)
            for node in range(3):
                await submit_to(coordinator, rest, node)
            for node in range(2):
                await submit_to(coordinator, first, node)
            if partly == "other":
                await submit_to(coordinator, second, 2)
            with pytest.raises(RefusedError, match=words):
                await coordinator.prepare(0, until=time.monotonic() + SET_UP)
            again = agreed.seal(who, version=2)
            await coordinator.start(agreed.signatures, [again], within=SET_UP)
            await Evaluations(coordinator, 0).evaluate(
                populations(1)[0], until=time.monotonic() + SET_UP
            )

    run(attack())
    for node in range(3):
        dropped = [event.participant for event in agreed.events(node, InputDropped)]
        assert dropped == ([who] if partly == "other" else [])


def test_nothing_is_prepared_after_the_expiry(clocked: ClockedCluster) -> None:
    agreed = AgreedCluster.draft(clocked)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            for rows in agreed.sealed():
                await outcomes(coordinator.clients, partial(coordinator.submission, rows))
            clocked.set_ahead(agreed.agreement.limits.expires - time.time())
            with pytest.raises(RefusedError, match="expired"):
                await coordinator.prepare(0, until=time.monotonic() + SET_UP)

    run(attack())


def contributions(agreed: AgreedCluster) -> list[bytes]:
    return [(agreed.folder_at(node) / "contribution-0").read_bytes() for node in range(3)]


async def submit_all(agreed: AgreedCluster) -> None:
    async with agreed.coordinator() as coordinator:
        await coordinator.start_agreement(agreed.signatures, within=SET_UP)
        for rows in agreed.sealed():
            await outcomes(coordinator.clients, partial(coordinator.submission, rows))


async def prepare(agreed: AgreedCluster) -> None:
    async with agreed.coordinator() as coordinator:
        await coordinator.start_agreement(agreed.signatures, within=SET_UP)
        await coordinator.prepare(0, until=time.monotonic() + SET_UP)


async def those_that_died(cluster: LocalCluster) -> list[int]:
    """The nodes that came to their point, at least one; its death may keep the others from theirs.

    What a node needs of the others may still be in the buffer of one that is dead.
    """
    deaths = [
        asyncio.ensure_future(asyncio.to_thread(process.wait, SET_UP))
        for process in cluster.processes
    ]
    await asyncio.wait(deaths, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait(deaths, timeout=OTHERS_SECONDS)
    died = [node for node, death in enumerate(deaths) if death.done()]
    for node, process in enumerate(cluster.processes):
        if node not in died:
            process.kill()
    assert [await death for death in deaths] == [-signal.SIGKILL] * len(deaths)
    return died


@pytest.mark.parametrize("point", ["freeze", "draw"])
def test_nodes_that_are_killed_draw_nothing_else(own_cluster: LocalCluster, point: str) -> None:
    """At `draw` each has seen all contributions: whoever does not like them gets no others."""
    agreed = AgreedCluster.draft(own_cluster, seed=None)

    async def attack() -> None:
        await submit_all(agreed)
        for node in range(3):
            restart_dying(own_cluster, node, point)
        checking = asyncio.ensure_future(prepare(agreed))
        died = await those_that_died(own_cluster)
        checking.cancel()
        await asyncio.gather(checking, return_exceptions=True)
        drawn = contributions(agreed)
        for node in range(3):
            frozen = agreed.events(node, InputsFrozen)
            if point == "freeze" or node in died:
                assert len(frozen) == (1 if point == "draw" else 0)
            assert not agreed.events(node, SeedDrawn)
            own_cluster.kill(node)
            own_cluster.restart(node)
        await prepare(agreed)
        for node in range(3):
            (event,) = agreed.events(node, SeedDrawn)
            assert [bytes.fromhex(each) for each in event.contributions] == drawn
            frozen_now = frozen_inputs(agreed.agreement, agreed.log(node))[0]
            assert frozen_now.seed_contribution == joint_contribution(drawn)

    run(attack())


@pytest.mark.parametrize("line", ["willing", "bound", "frozen inputs", "seed drawn"])
def test_a_disk_that_was_full_for_a_moment_does_not_stop_the_freezing(
    own_cluster: LocalCluster, line: str
) -> None:
    agreed = AgreedCluster.draft(own_cluster, seed=None)
    restart_full(own_cluster, 0, line)

    async def check() -> None:
        await submit_all(agreed)
        await prepare(agreed)

    run(check())
    for node in range(3):
        assert len(agreed.events(node, InputsFrozen)) == 1
        assert len(agreed.events(node, SeedDrawn)) == 1


def test_cancelling_the_check_gives_no_other_draw(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster, seed=None)

    async def attack() -> None:
        await submit_all(agreed)
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            seen: list[bytes] = []
            for attempt in range(1, 4):
                epoch = await coordinator.epoch()
                request = Prepare(
                    agreement=coordinator.hash, objective=0, epoch=epoch, attempt=attempt
                )
                # Two of three begin, and go no further without the third.
                asked = [await client.ask(request) for client in coordinator.clients[:2]]
                paths = [agreed.folder_at(node) / "contribution-0" for node in (0, 1)]
                async with asyncio.timeout(SET_UP):
                    while not all(path.exists() for path in paths):
                        await asyncio.sleep(0.01)
                for client, reply in zip(coordinator.clients, asked, strict=False):
                    await client.cancel(reply)
                coordinator.end_epoch()
                now = [path.read_bytes() for path in paths]
                assert seen in ([], now)
                seen = now
            await coordinator.prepare(0, until=time.monotonic() + SET_UP)
        (event,) = agreed.events(0, SeedDrawn)
        assert [bytes.fromhex(each) for each in event.contributions[:2]] == seen

    run(attack())


def test_a_node_that_draws_again_is_refused(own_cluster: LocalCluster) -> None:
    """As where a disk lost what was written last, and the others have frozen."""
    agreed = AgreedCluster.draft(own_cluster, seed=None)

    async def attack() -> None:
        await submit_all(agreed)
        await prepare(agreed)
        (before,) = agreed.events(0, SeedDrawn)
        own_cluster.kill(2)
        path = agreed.folder_at(2) / "log.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        (at,) = (i for i, line in enumerate(lines) if b'"frozen inputs"' in line)
        path.write_bytes(b"".join(lines[:at]))
        (agreed.folder_at(2) / "contribution-0").unlink()
        own_cluster.restart(2)
        with pytest.raises(RefusedError, match="node 2 is bound to another contribution"):
            await prepare(agreed)
        assert agreed.events(0, SeedDrawn) == [before]
        assert not agreed.events(2, SeedDrawn)

    run(attack())


# In memory, and on files.

DRAWN = [bytes([65 + node]) * 32 for node in range(3)]


def frozen_state(
    folder: Path, cast: Cast, *, node: int = 0, rows: SealedRows | None = None
) -> AgreementState:
    """A node that has frozen its inputs; the three have drawn `DRAWN`."""
    store = Store.create(folder, cast.agreement, cast.signatures)
    state = AgreementState(store, node=node, key=cast.sealing[node])
    rows = rows or seal(cast)
    stored = StoredInput(rows.manifest, rows.signature, rows.boxes[node])
    store.save_input(0, "owner", stored)
    (store.folder / "contribution-0").write_bytes(DRAWN[node])
    commitments = [
        commitment_to(each, agreement=store.hash, objective=0, node=number).hex()
        for number, each in enumerate(DRAWN)
    ]
    assert state.inputs.commit(0).hex() == commitments[node]
    state.inputs.freeze(0, store.inputs(0), commitments=commitments)
    return state


async def received(session: Session, peer: int) -> bytes:
    return bytes((await session._wire(peer).receive(timeout=SET_UP)).payload)


def test_nothing_is_opened_without_the_votes_of_a_quorum(cluster: LocalCluster) -> None:
    """Two nodes and a platform that leak what they hear see no contribution before all is fixed."""
    agreed = AgreedCluster.draft(cluster, seed=None)
    subject = Subject(SubjectKind.INPUTS, 0)

    async def attack() -> None:
        await submit_all(agreed)
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=SET_UP)
            value = await coordinator._check_inputs(0, await coordinator.epoch(everybody=True))
            votes = [
                await cast(coordinator, node, Phase.WILLING, value, subject=subject)
                for node in range(3)
            ]
            bound = await cast(coordinator, 0, Phase.BOUND, value, votes, subject=subject)
            request = Freeze(
                agreement=coordinator.hash,
                objective=0,
                votes=[*votes, bound],
                epoch=await coordinator.epoch(everybody=True),
                attempt=900,
            )
            for answer in await outcomes(coordinator.clients, lambda _: request):
                assert isinstance(answer, RefusedError)
                assert "no quorum is bound" in str(answer)
            assert not any(agreed.events(node, InputsFrozen) for node in range(3))
            coordinator.end_epoch()
            await coordinator.prepare(0, until=time.monotonic() + SET_UP)

    run(attack())
    for node in range(3):
        (event,) = agreed.events(node, SeedDrawn)
        assert [bytes.fromhex(each) for each in event.contributions] == contributions(agreed)


@pytest.mark.parametrize("liar", [1, 2])
@pytest.mark.parametrize("withheld", [True, False])
def test_what_one_node_withholds_from_another_is_had_from_the_others(
    tmp_path: Path, withheld: bool, liar: int
) -> None:
    """A node opens its contribution to another alone; on the next try node 0 has it from that."""
    helper = 3 - liar
    cast_of_three = example_cast()
    rows = seal(cast_of_three)
    states = [
        frozen_state(tmp_path / f"{node}", cast_of_three, node=node, rows=rows) for node in range(3)
    ]

    async def lie(session: Session) -> None:
        greeting, zeros = session._shared.greeting, bytes(32)
        for peer in (0, helper):
            own = DRAWN[liar] if peer == helper or not withheld else b"x" * 32
            parts = [own if node == liar else zeros for node in range(3)]
            await session._send(peer, [greeting, *parts])
        for peer in (0, helper):
            await received(session, peer)

    async def party(me: int, muxes: dict[int, Mux]) -> None:
        if me == COORDINATOR:
            return
        epoch = await agree_epoch(me, muxes)
        context = Context(bytes(32), 0, 0, 1, b"freeze")
        with suppress(MpcError, RefusedError):
            async with open_session(
                context, me=me, muxes=muxes, epoch=epoch, timeout=SET_UP
            ) as session:
                await (lie(session) if me == liar else draw_seed(session, states[me].inputs, 0))

    run_linked(party)
    ready = [not withheld, liar != 1, liar != 2]
    assert [bool(state.inputs.ready) for state in states] == ready
    run_linked(party)
    assert [bool(state.inputs.ready) for state in states] == [True, *ready[1:]]


def test_nothing_is_opened_before_it_is_frozen_and_nothing_drawn_after(tmp_path: Path) -> None:
    cast = example_cast()
    store = Store.create(tmp_path / "early", cast.agreement, cast.signatures)
    early = AgreementState(store, node=0, key=cast.sealing[0])
    assert early.inputs.commit(0) == early.inputs.commit(0)
    with pytest.raises(RefusedError, match="nothing is opened"):
        early.inputs.contribution(0)
    late = frozen_state(tmp_path / "late", cast)
    (late.store.folder / "contribution-0").unlink()
    for read in (late.inputs.commit, late.inputs.contribution):
        with pytest.raises(EngineError, match="not what was frozen"):
            read(0)
    assert late.store.contribution(0) is None


def test_only_what_nodes_were_bound_to_is_drawn(tmp_path: Path) -> None:
    state, drawn = frozen_state(tmp_path, example_cast()), DRAWN
    with pytest.raises(LogError, match="had committed itself to"):
        state.inputs.draw(0, [drawn[0], b"x" * 32, drawn[2]])
    assert state.inputs.ready == []
    state.inputs.draw(0, drawn)
    assert state.inputs.seed_contributions == {0: joint_contribution(drawn)}
    state.inputs.draw(0, drawn[::-1])  # it is drawn, and stays as it is
    assert state.inputs.seed_contributions == {0: joint_contribution(drawn)}


def test_a_log_that_draws_twice_is_refused(tmp_path: Path) -> None:
    state, drawn = frozen_state(tmp_path, example_cast()), DRAWN
    state.inputs.draw(0, drawn)
    log, agreement = [line.event for line in read_log(state.store.log.path)], state.agreement
    assert frozen_inputs(agreement, log)[0].seed_contribution == joint_contribution(drawn)
    last = log[-1]
    with pytest.raises(LogError, match="drawn twice"):
        frozen_inputs(agreement, [*log, last])
    with pytest.raises(LogError, match="before the inputs were frozen"):
        frozen_inputs(agreement, [last])
    (frozen,) = (each for each in log if isinstance(each, InputsFrozen))
    with pytest.raises(LogError, match="frozen twice"):
        frozen_inputs(agreement, [*log, frozen])


@pytest.mark.parametrize("what", ["rows", "box", "contribution", "gone"])
def test_files_that_were_exchanged_after_freezing_are_refused(tmp_path: Path, what: str) -> None:
    cast = example_cast()
    state = frozen_state(tmp_path, cast)
    folder = state.store.folder
    AgreementState(Store(folder), node=0, key=cast.sealing[0])
    rows = folder / "inputs" / "0-0"
    if what == "contribution":
        (folder / "contribution-0").write_bytes(b"y" * 32)
    elif what == "gone":
        rows.unlink()
    elif what == "box":
        data = bytearray(rows.read_bytes())
        data[-1] ^= 1
        rows.write_bytes(data)
    else:  # other rows, with all signatures, for the same agreement
        sealed = seal(cast)
        stored = StoredInput(sealed.manifest, sealed.signature, sealed.boxes[0])
        state.store.save_input(0, "owner", stored)
        with pytest.raises(EngineError, match="not what was frozen"):
            state.inputs.weights(0)  # nor are they used where the node runs on
    with pytest.raises(EngineError, match="not what was frozen"):
        AgreementState(Store(folder), node=0, key=cast.sealing[0])
