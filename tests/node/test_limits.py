"""A platform that signs agreements with participants of its own invention fills no disk."""

from __future__ import annotations

import asyncio
import secrets
import time
import tracemalloc
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tacit.agreement.terms import Agreement, agreement_hash
from tacit.errors import RefusedError
from tacit.identity.config import NodeConfig, load_node_config
from tacit.identity.keys import load_keys
from tacit.local.cluster import LocalCluster, free_addresses
from tacit.node.ended import RECORD, EndedRecord
from tacit.node.keys import SEALING_KEYS
from tacit.node.limits import REMOVED
from tacit.node.server import Node
from tacit.node.store import encode_stored
from tacit.records.events import AgreementRemoved, LittleRoom, RequestRefused
from tacit.records.log import verify_log
from tacit.records.messages import End, OfferSealingKey, RefusalKind
from tests.conftest import RunTacit
from tests.node.one_node import agree, drafted, lines, platform_of
from tests.on_nodes.agreed_cluster import AgreedCluster, run


def config(folder: Path) -> NodeConfig:
    return load_node_config(folder / "node-0.toml")


def offer(node: Node, folder: Path, *, text: int = 0, rows: int = 0) -> str:
    """Draw a sealing key for a new draft, and return its nonce."""
    nonce, platform = secrets.token_hex(16), platform_of(folder)
    signing_key = load_keys(folder / "node-0.key").signing_public
    asked = OfferSealingKey(
        nonce=nonce, platform=platform, signing_key=signing_key, text=text, rows=rows
    )
    node.offer_sealing_key(asked, platform)
    return nonce


def full(work: Callable[[], object]) -> bool:
    try:
        work()
    except RefusedError as error:
        return error.kind == RefusalKind.FULL
    return False


def test_a_node_keeps_so_many_agreements_of_a_platform(folder: Path) -> None:
    node = Node(replace(config(folder), most_agreements=2))
    first, _, platform = agree(node, folder)
    agree(node, folder)
    assert full(lambda: offer(node, folder))
    # What is here stays of use, also after a restart, and the count with it.
    again = Node(replace(config(folder), most_agreements=2))
    assert again.agreement_state(agreement_hash(first), platform).agreement == first
    assert full(lambda: offer(again, folder))


def test_room_is_refused_before_anybody_signs_and_kept_for_who_has_it(folder: Path) -> None:
    """A draft takes its place with its sealing key: whoever comes later is refused, not it."""
    limits = replace(config(folder), most_agreements=2)
    node = Node(limits)
    draft = drafted(node, folder)
    offer(node, folder)
    assert full(lambda: offer(node, folder))
    assert full(lambda: offer(Node(limits), folder))
    asyncio.run(node.take_agreement(*draft))


def test_room_for_text_and_rows_is_kept_with_the_sealing_key(folder: Path) -> None:
    node = Node(replace(config(folder), most_megabytes=10, most_agreed_megabytes=1))
    offer(node, folder, text=600_000, rows=4_000_000)
    assert full(lambda: offer(node, folder, text=600_000))
    assert full(lambda: offer(node, folder, rows=5_000_000))
    again = Node(replace(config(folder), most_megabytes=10, most_agreed_megabytes=1))
    assert full(lambda: offer(again, folder, text=600_000))
    nonce = offer(again, folder, text=300_000, rows=1_000_000)
    # Asked for again, as after a crash of the platform, it counts once.
    asked = OfferSealingKey(
        nonce=nonce,
        platform=platform_of(folder),
        signing_key=load_keys(folder / "node-0.key").signing_public,
        text=300_000,
        rows=1_000_000,
    )
    again.offer_sealing_key(asked, platform_of(folder))


def test_ended_agreements_take_no_place_and_no_memory(folder: Path) -> None:
    """What counts of them are the bytes on the disk, also after a restart."""
    limits = replace(config(folder), most_agreements=2, most_ended_megabytes=1)
    node = Node(limits)
    for count in range(1, 6):
        agreement, _, platform = agree(node, folder)
        end(node, agreement, platform)
        assert (len(node.agreement_states), node.ended.counts[platform]) == (0, count)
    again = Node(limits)
    for each in (node, again):
        room = each.quota.room(platform)
        assert (room.drafted, room.open, room.ended) == (0, 0, 5)
        taken, most = room.parts["most_ended_megabytes"]
        assert 5 * 4096 < taken < most
    assert again.agreement_states == {}
    # The last one is on the disk alone, and its log can be read.
    state = asyncio.run(again.ended_state(agreement_hash(agreement), platform))
    assert state is not None
    assert [event.name for event in verify_log(state.store.log.path.read_bytes())][-1] == "ended"
    assert asyncio.run(again.ended_state(agreement_hash(agreement), "another platform")) is None


def end(node: Node, agreement: Agreement, platform: str) -> None:
    node.end_run(End(agreement=agreement_hash(agreement), nonce=agreement.nonce), platform)


def test_ended_agreements_have_so_many_bytes_and_are_asked_for_room_with_the_next_draft(
    folder: Path,
) -> None:
    node = Node(replace(config(folder), most_ended_megabytes=1))
    agreement, _, platform = agree(node, folder)
    log = node.agreement_states[agreement_hash(agreement)].store.log
    for _ in range(20):
        log.append(RequestRefused("evaluate", "x" * 60_000))
    draft = drafted(node, folder)
    end(node, agreement, platform)
    assert full(lambda: offer(node, folder))
    # What was drafted before has its room, and nobody has signed in vain.
    asyncio.run(node.take_agreement(*draft))


def test_a_node_keeps_so_many_bytes_of_a_platform(folder: Path) -> None:
    node = Node(replace(config(folder), most_megabytes=1))
    _, _, platform = agree(node, folder)
    node.quota.check_room(platform, 900_000)
    assert full(lambda: node.quota.check_room(platform, 900_000))
    node.quota.check_room("another platform", 900_000)


def test_a_platform_that_has_little_room_left_is_warned_of_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Node(replace(config(folder), most_agreements=5))
    waiting = [offer(node, folder) for _ in range(3)]
    node.look_at_room()
    assert capsys.readouterr().err == ""
    waiting.append(offer(node, folder))
    for _ in range(2):
        node.look_at_room()
    assert capsys.readouterr().err.count("80% of most_agreements is taken") == 1
    # It is back below the limit, and comes to it once more.
    node.end_run(End(agreement=b"", nonce=waiting[0]), platform_of(folder))
    node.look_at_room()
    offer(node, folder)
    node.look_at_room()
    assert capsys.readouterr().err.count("80% of most_agreements is taken") == 1
    warned = [event for event in lines(folder) if isinstance(event, LittleRoom)]
    assert [event.peer for event in warned] == [node.parties.platforms[0]] * 2


def test_a_command_shows_the_room_of_each_platform(folder: Path, run_here: RunTacit) -> None:
    limits = "most_agreements = 4\n"
    path = folder / "node-0.toml"
    (address,) = free_addresses(1)
    path.write_text(limits + path.read_text().replace("127.0.0.1:1", address, 1))
    node = Node(config(folder))
    ended, _, platform = agree(node, folder)
    end(node, ended, platform)
    agree(node, folder)
    offer(node, folder)
    shown = run_here("node", "status", "--config", str(path), "--json")
    (room,) = msgspec.json.decode(shown.stdout)["platforms"].values()
    counted = node.quota.room(platform)
    assert (room["drafted"], room["open"], room["ended"]) == counted[:3] == (1, 1, 1)
    assert {name: tuple(part) for name, part in room["parts"].items()} == counted.parts
    assert "most_agreements" not in shown.stdout.partition("warnings")[2]
    offer(node, folder)
    offer(node, folder)
    used_up = run_here("node", "status", "--config", str(path))
    assert used_up.returncode == 2, "it does not run"
    assert "warning: " in used_up.stdout
    assert "most_agreements                 4 of 4" in used_up.stdout


def test_a_key_that_is_given_back_goes_and_only_its_own_platform_gives_it_back(
    folder: Path,
) -> None:
    node = Node(config(folder))
    nonce, platform = offer(node, folder), platform_of(folder)
    keys = folder / "node-0.data" / SEALING_KEYS
    node.end_run(End(agreement=b"", nonce=nonce), "another platform")
    assert len(list(keys.iterdir())) == 1
    for _ in range(2):
        node.end_run(End(agreement=b"", nonce=nonce), platform)
        assert list(keys.iterdir()) == []
    # The key of an agreement that is under way is not given back by its nonce alone.
    agreement, _, _ = agree(node, folder)
    node.end_run(End(agreement=b"", nonce=agreement.nonce), platform)
    assert len(list(keys.iterdir())) == 1
    node.agreement_state(agreement_hash(agreement), platform)


def test_ten_thousand_ended_agreements_are_counted_and_not_read(folder: Path) -> None:
    """Of each there is a record alone here: nothing else of them may be read at a start."""
    data, platform, now = folder / "node-0.data", platform_of(folder), int(time.time())
    data.mkdir()
    for number in range(10_000):
        name = number.to_bytes(32, "big")
        place = data / name[::-1].hex()[:32]
        place.mkdir()
        expires = now - 40 * 86400 if number < 10 else now
        record = EndedRecord(name[::-1], platform, expires, 1000)
        (place / RECORD).write_bytes(encode_stored(record))
    limits = replace(config(folder), most_agreements=2)
    tracemalloc.start()
    try:
        node = Node(limits)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Names of folders while they are listed; none of them stays.
    assert peak < 20_000_000
    assert node.agreement_states == {}
    room = node.quota.room(platform)
    assert (room.ended, room.parts["most_ended_megabytes"][0]) == (10_000, 10_000_000)
    # The first ten expired so long ago that they go.
    asyncio.run(node.remove_outlived())
    assert node.quota.room(platform).ended == Node(limits).quota.room(platform).ended == 9_990
    agree(node, folder)


def test_an_agreement_that_needs_more_memory_than_allowed_is_refused(folder: Path) -> None:
    with pytest.raises(RefusedError, match="needs 0 MB of memory; this node allows 0"):
        agree(Node(replace(config(folder), most_working_megabytes=0)), folder)
    assert full(lambda: agree(Node(replace(config(folder), most_agreed_megabytes=0)), folder))


def test_what_a_log_takes_counts(folder: Path) -> None:
    node = Node(replace(config(folder), most_megabytes=1))
    agreement, _, platform = agree(node, folder)
    log = node.agreement_states[agreement_hash(agreement)].store.log
    for _ in range(20):
        log.append(RequestRefused("evaluate", "x" * 60_000))
    assert node.quota.used(platform) > 1_000_000
    assert full(lambda: node.quota.check_room(platform))


def tidy(node: Node) -> None:
    """As every hour."""
    node.tidy()
    asyncio.run(node.remove_outlived())


def test_what_has_long_expired_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(replace(config(folder), keep_days=2.0))
    agreement, _, platform = agree(node, folder)
    place = node.agreement_states[agreement_hash(agreement)].store.folder
    now = time.time()
    for later, kept in ((0.0, True), (3600 + 1.9 * 86400, True), (3600 + 2.1 * 86400, False)):
        monkeypatch.setattr("time.time", lambda later=later: now + later)
        tidy(node)
        assert place.exists() is kept
    with pytest.raises(RefusedError, match="not known here"):
        node.agreement_state(agreement_hash(agreement), platform)
    assert [event.agreement for event in lines(folder) if isinstance(event, AgreementRemoved)] == [
        agreement_hash(agreement).hex()
    ]


def test_a_clock_that_is_set_back_brings_nothing_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = Node(config(folder))
    agreement, signatures, platform = agree(node, folder)
    now = time.time()
    with monkeypatch.context() as ahead:
        ahead.setattr("time.time", lambda: now + 400 * 86400)
        tidy(node)
    assert not node.agreement_states
    for each in (node, Node(config(folder))):
        with pytest.raises(RefusedError, match="was removed here"):
            asyncio.run(each.take_agreement(agreement, signatures, platform))
        agree(each, folder)


def test_what_a_crash_leaves_of_a_removal_goes_at_the_next_start(folder: Path) -> None:
    node = Node(config(folder))
    agreement, _, _ = agree(node, folder)
    place = node.agreement_states[agreement_hash(agreement)].store.folder
    place.rename(place.with_name(place.name + REMOVED))
    again = Node(config(folder))
    assert (again.agreement_states, again.broken) == ({}, set())
    assert not list(place.parent.glob(f"*{REMOVED}"))


@pytest.mark.processes
def test_a_full_node_refuses_but_still_shows_its_log_and_its_figures() -> None:
    metrics = free_addresses(1)[0]
    with LocalCluster(chosen_populations=True) as cluster:
        path = cluster.folder / "node-0.toml"
        extra = f'most_megabytes = 0\nmetrics = "{metrics}"\n'
        agreed = AgreedCluster.draft(cluster)

        async def agree_on_it() -> None:
            async with agreed.coordinator() as coordinator:
                await coordinator.start_agreement(agreed.signatures, within=60)

        async def fill() -> None:
            sealed = agreed.seal(next(iter(agreed.keys)))
            async with agreed.coordinator() as coordinator:
                connect = partial(coordinator.loss.connect, everybody=True)
                await coordinator.persist(connect, until=time.monotonic() + 60)
                with pytest.raises(RefusedError, match="as much as most_megabytes allows"):
                    await coordinator.ask_all(partial(coordinator.submission, sealed), within=60)
                assert all(done.log for done in await coordinator.fetch_logs())

        run(agree_on_it())
        cluster.kill(0)
        path.write_text(extra + path.read_text())
        cluster.restart(0)
        run(fill())
        with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=60) as answer:
            text = answer.read().decode()
        assert 'tacit_node_requests_total{kind="submit",outcome="refused"} 1.0' in text
        assert "tacit_node_agreements 1.0" in text
        assert agreed.refusals(0) == []
        refused = [event for event in agreed.node_log(0) if isinstance(event, RequestRefused)]
        assert len(refused) == 1


def test_nodes_tell_their_time(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def compare() -> list[float]:
        async with agreed.coordinator() as coordinator:
            return [await client.compare_clocks(within=60) for client in coordinator.clients]

    assert all(abs(offset) < 1 for offset in run(compare()))
