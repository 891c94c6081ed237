"""The seed of a search is drawn once: after everything is frozen, and with no way back."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from tacit.agreement.sealing import SealedRows, commitment_to, joint_contribution
from tacit.agreement.terms import agreement_hash
from tacit.errors import AbortError, EngineError, LogError, MpcError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.mpc import COORDINATOR, Context, Session, agree_epoch, open_session
from tacit.mpc.local import run_linked
from tacit.mpc.transport import Mux
from tacit.node.agreement_state import AgreementState
from tacit.node.preparing import draw_seed
from tacit.node.store import Store, StoredInput, folder_name
from tacit.records.events import InputsFrozen, SeedDrawn
from tacit.records.log import frozen_inputs, read_log
from tacit.records.messages import Prepare
from tests.on_nodes.agreed_cluster import AgreedCluster, outcomes, run
from tests.on_nodes.dying_node import restart_dying
from tests.on_nodes.fixtures import Cast, example_cast
from tests.on_nodes.test_input_check import seal

SET_UP = 60.0


def folder_of(agreed: AgreedCluster, node: int) -> Path:
    name = folder_name(agreement_hash(agreed.agreement))
    return agreed.cluster.folder / f"node-{node}.data" / name


def contributions(agreed: AgreedCluster) -> list[bytes]:
    return [(folder_of(agreed, node) / "contribution-0").read_bytes() for node in range(3)]


async def submit_all(agreed: AgreedCluster) -> None:
    async with agreed.coordinator() as coordinator:
        await coordinator.start_agreement(agreed.signatures, within=SET_UP)
        for rows in agreed.sealed():
            await outcomes(coordinator.clients, partial(coordinator.submission, rows))


async def prepare(agreed: AgreedCluster) -> None:
    async with agreed.coordinator() as coordinator:
        await coordinator.start_agreement(agreed.signatures, within=SET_UP)
        await coordinator.prepare(0, until=time.monotonic() + SET_UP)


@pytest.mark.parametrize("point", ["freeze", "draw"])
def test_nodes_that_are_killed_draw_nothing_else(own_cluster: LocalCluster, point: str) -> None:
    """At `draw` each has seen all contributions: whoever does not like them gets no others."""
    agreed = AgreedCluster.draft(own_cluster, seed=None)

    async def attack() -> None:
        await submit_all(agreed)
        for node in range(3):
            restart_dying(own_cluster, node, point)
        checking = asyncio.ensure_future(prepare(agreed))
        for process in own_cluster.processes:
            assert await asyncio.to_thread(process.wait, SET_UP) == -signal.SIGKILL
        checking.cancel()
        await asyncio.gather(checking, return_exceptions=True)
        drawn = contributions(agreed)
        for node in range(3):
            frozen = agreed.events(node, InputsFrozen)
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
                paths = [folder_of(agreed, node) / "contribution-0" for node in (0, 1)]
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
        path = folder_of(agreed, 2) / "log.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        (at,) = (i for i, line in enumerate(lines) if b'"frozen inputs"' in line)
        path.write_bytes(b"".join(lines[:at]))
        (folder_of(agreed, 2) / "contribution-0").unlink()
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


@pytest.mark.parametrize("says_so", [True, False])
def test_who_has_not_frozen_sees_no_contribution(tmp_path: Path, says_so: bool) -> None:
    """Node 2 leaks what it hears: the others' contributions only if it has frozen as well."""
    cast = example_cast()
    rows = seal(cast)
    states = [frozen_state(tmp_path / f"{node}", cast, node=node, rows=rows) for node in range(3)]
    heard: list[bytes] = []

    async def leak(session: Session) -> None:
        # It hears what the others tell before it has to say anything itself.
        greeting = session._shared.greeting
        frozen = [(await received(session, peer))[len(greeting) :] for peer in (0, 1)]
        heard.extend(frozen)
        for peer in (0, 1):
            await session._send(peer, [greeting, frozen[0] if says_so else bytes(32)])
        for peer in (0, 1):
            heard.append(await received(session, peer))
        raise AbortError("node 2", "leaves")  # so that nobody waits for what it does not open

    async def party(me: int, muxes: dict[int, Mux]) -> None:
        if me == COORDINATOR:
            return
        epoch = await agree_epoch(me, muxes)
        context = Context(bytes(32), 0, 0, 1, b"prepare")
        with suppress(MpcError, RefusedError):
            async with open_session(
                context, me=me, muxes=muxes, epoch=epoch, timeout=SET_UP
            ) as session:
                await (leak(session) if me == 2 else draw_seed(session, states[me].inputs, 0))

    run_linked(party)
    assert len(set(heard[:2])) == 1
    assert heard[2:] == (DRAWN[:2] if says_so else [])
    assert not any(state.inputs.ready for state in states)  # node 2 opened nothing


def test_nothing_is_opened_before_it_is_frozen_and_nothing_drawn_after(tmp_path: Path) -> None:
    cast = example_cast()
    store = Store.create(tmp_path / "early", cast.agreement, cast.signatures)
    early = AgreementState(store, node=0, key=cast.sealing[0])
    assert early.inputs.commit(0) == early.inputs.commit(0)
    with pytest.raises(RefusedError, match="nothing is opened"):
        early.inputs.contribution(0)
    late = frozen_state(tmp_path / "late", cast)
    (late.store.folder / "contribution-0").unlink()
    for ask in (late.inputs.commit, late.inputs.contribution):
        with pytest.raises(EngineError, match="not what was frozen"):
            ask(0)
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
