"""A platform that signs agreements with participants of its own invention fills no disk."""

from __future__ import annotations

import asyncio
import time
import urllib.request
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from tacit.agreement.terms import agreement_hash
from tacit.errors import RefusedError
from tacit.identity.config import NodeConfig, load_node_config
from tacit.local.cluster import LocalCluster, free_addresses
from tacit.node.limits import REMOVED, Quota
from tacit.node.server import Node
from tacit.records.events import AgreementRemoved, RequestRefused
from tests.node.one_node import agree, lines
from tests.on_nodes.agreed_cluster import AgreedCluster, run


def config(folder: Path) -> NodeConfig:
    return load_node_config(folder / "node-0.toml")


def test_a_node_keeps_so_many_agreements_of_a_platform(folder: Path) -> None:
    node = Node(replace(config(folder), most_agreements=2))
    first, _, platform = agree(node, folder)
    agree(node, folder)
    with pytest.raises(RefusedError, match="2 agreements are kept for this platform already"):
        agree(node, folder)
    # What is here stays of use, also after a restart, and the count with it.
    again = Node(replace(config(folder), most_agreements=2))
    assert again.agreement_state(agreement_hash(first), platform).agreement == first
    with pytest.raises(RefusedError, match="2 agreements"):
        agree(again, folder)


def test_a_node_keeps_so_many_bytes_of_a_platform(folder: Path) -> None:
    node = Node(replace(config(folder), most_megabytes=1))
    _, _, platform = agree(node, folder)
    node.quota.check_room(platform, 900_000)
    with pytest.raises(RefusedError, match="1 MB are kept for this platform already"):
        node.quota.check_room(platform, 900_000)
    node.quota.check_room("another platform", 900_000)


def test_an_agreement_that_needs_more_memory_than_allowed_is_refused(folder: Path) -> None:
    with pytest.raises(RefusedError, match="needs 0 MB of memory; this node allows 0"):
        agree(Node(replace(config(folder), most_working_megabytes=0)), folder)
    with pytest.raises(RefusedError, match="agreements of 0 MB are kept for this platform"):
        agree(Node(replace(config(folder), most_agreed_megabytes=0)), folder)


def test_what_a_log_takes_counts(folder: Path) -> None:
    node = Node(replace(config(folder), most_megabytes=1))
    agreement, _, platform = agree(node, folder)
    log = node.agreement_states[agreement_hash(agreement)].store.log
    for _ in range(20):
        log.append(RequestRefused("evaluate", "x" * 60_000))
    quota = Quota(node.config, node.agreement_states.values)
    assert quota.used(platform) > 1_000_000
    with pytest.raises(RefusedError, match="1 MB"):
        quota.check_room(platform)


def test_what_has_long_expired_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(replace(config(folder), keep_days=2.0))
    agreement, _, platform = agree(node, folder)
    place = node.agreement_states[agreement_hash(agreement)].store.folder
    now = time.time()
    for later, kept in ((0.0, True), (3600 + 1.9 * 86400, True), (3600 + 2.1 * 86400, False)):
        monkeypatch.setattr("time.time", lambda later=later: now + later)
        node.tidy()
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
        node.tidy()
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
                with pytest.raises(RefusedError, match="0 MB are kept"):
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
