"""A node alone: what it refuses, what goes into its logs, and how it starts and ends."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tacit.agreement.terms import agreement_hash
from tacit.coordinator.node_client import NodeClient
from tacit.errors import FileError, PeerError, PeerTimeoutError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.mpc import Epoch
from tacit.mpc.transport import make_certificate
from tacit.node.own_log import LOGGER, OperatorLines, shorten
from tacit.records.events import (
    AgreementBroken,
    CertificateExpires,
    Connected,
    LinkLost,
    RequestRefused,
)
from tacit.records.log import verify_log
from tacit.records.messages import Ping
from tacit.records.node_log import LineLimit, NodeLog
from tests.node.one_node import agree, lines, node
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, make_clients, run
from tests.on_nodes.deadlines import AMPLE

MOST_LINKS = 64


@pytest.mark.parametrize("file", ["agreement.json", "log.jsonl", "lease"])
def test_a_broken_agreement_is_refused_and_the_others_go_on(folder: Path, file: str) -> None:
    first = node(folder)
    broken, signatures, platform = agree(first, folder)
    healthy, _, _ = agree(first, folder)
    place = first.agreement_states[agreement_hash(broken)].store.folder
    (place / file).write_bytes(b"\xffnonsense\n")
    before = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}

    again = node(folder)
    assert agreement_hash(healthy) in again.agreement_states
    assert [e.agreement for e in lines(folder) if isinstance(e, AgreementBroken)] == [place.name]
    with pytest.raises(RefusedError, match="damaged"):
        again.agreement_state(agreement_hash(broken), platform)
    # Nor is it begun afresh, which would forget the numbers that it has used.
    with pytest.raises(RefusedError, match="damaged"):
        run(again.take_agreement(broken, signatures, platform))
    assert {p.name: p.read_bytes() for p in place.iterdir() if p.is_file()} == before


def test_a_lost_node_ends_nothing_by_coming_and_going(folder: Path) -> None:
    """Its link may break as often as it likes; epochs that it takes part in end with it."""
    made = node(folder)
    keys = {0: bytes(32), 1: bytes(32)}
    without, with_it = Epoch(keys, members=(0, 1, 3)), Epoch({**keys, 2: bytes(32)})
    made.epochs = {(b"of three", 1): without, (b"of four", 1): with_it}
    made.end_epochs(2)
    assert (without.closed, with_it.closed) == (False, True)
    assert list(made.epochs.values()) == [without]


def test_a_tls_key_that_others_can_read_is_refused(folder: Path) -> None:
    (folder / "node-0.tls.key").chmod(0o640)
    with pytest.raises(FileError, match="can be read by others"):
        node(folder)


def test_strangers_and_platforms_cause_only_so_many_lines(folder: Path) -> None:
    made = node(folder)
    for port in range(3000):
        made._rejected(f"('192.0.2.1', {port})", "the TLS handshake failed")
    assert len(lines(folder)) < 150
    platform = made.parties.platforms[0]
    for _ in range(3000):
        made.note(LinkLost(platform))
    assert len(lines(folder)) < 1300
    made.note(Connected("node 1"))
    last = lines(folder)[-1]
    assert isinstance(last, Connected)
    assert last.peer == "node 1"


def test_a_full_disk_does_not_stop_the_node_over_a_line_about_links(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = node(folder)
    with monkeypatch.context() as patch:
        patch.setattr("os.write", lambda file, data: 0)
        made.note(Connected("node 1"))
    assert "cannot be written" in capsys.readouterr().err


def test_a_platform_has_only_so_many_links(cluster: LocalCluster) -> None:
    async def attack() -> None:
        clients = [make_clients(cluster)[2] for _ in range(MOST_LINKS + 4)]
        alive = []
        for client in clients:
            await shake_hands(client)
            try:
                await ask(client, Ping())
            except PeerError:
                continue
            alive.append(client)
        assert 0 < len(alive) <= MOST_LINKS
        await clients[-1].disconnect()
        await alive.pop().disconnect()
        await answers(make_clients(cluster)[2])
        for client in clients:
            await client.disconnect()

    async def shake_hands(client: NodeClient) -> None:
        """However long that takes: a client gives up after 2 s, which a busy machine may need."""
        async with asyncio.timeout(AMPLE):
            while not client.connected:
                with suppress(PeerTimeoutError):
                    await client.connect()

    async def answers(client: NodeClient) -> None:
        """Whoever leaves makes room."""
        for _ in range(50):
            try:
                await client.connect()
                await ask(client, Ping())
            except PeerError:
                continue
            await client.disconnect()
            return
        pytest.fail("no room was made")

    run(attack())


def test_a_log_of_several_pages_is_fetched_whole(fresh_cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(fresh_cluster)

    async def fetch() -> list[bytes]:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=60)
            return [done.log for done in await coordinator.fetch_logs()]

    run(fetch())
    fresh_cluster.kill(0)
    log = NodeLog(next((fresh_cluster.folder / "node-0.data").glob("*/log.jsonl")))
    for _ in range(70):  # longer than a page, and longer than a frame
        log.append(RequestRefused("evaluate", "x" * (1 << 20)))
    fresh_cluster.restart(0)
    data, *_ = run(fetch())
    assert len(data) > 64 << 20
    assert data == log.path.read_bytes()
    assert len(verify_log(data)) > 70


def test_a_certificate_that_expires_soon_is_noted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pem, secret = make_certificate("platform", days=20)
    (folder / "platform.pem").write_text(pem)
    (folder / "platform.tls.key").write_text(secret)
    made, now = node(folder), time.time()
    for hours in (0, 24):
        made.warn_of_expiry(now + 3600 * hours)
    noted = [line for line in lines(folder) if isinstance(line, CertificateExpires)]
    assert [(line.peer, "expires in" in line.what) for line in noted] == [
        (made.parties.platforms[0], True)
    ] * 2
    assert capsys.readouterr().err.count("renew it with tacit keys rotate") == 2
    made.warn_of_expiry(now + 30 * 86400)
    assert "has expired on" in capsys.readouterr().err
    # A new one beside it is enough, and the node need not start again.
    new, _ = make_certificate("platform")
    (folder / "platform.pem").write_text(pem + new)
    made.warn_of_expiry(now + 40 * 86400)
    assert capsys.readouterr().err == ""
    made.warn_of_expiry(now + 340 * 86400)
    assert {party.split()[0] for party in made.parties.certificates_expire()} == {
        *("node", "platform")
    }
    assert capsys.readouterr().err.count("renew it") == 4


def test_a_record_is_one_line_of_json() -> None:
    record = logging.LogRecord(LOGGER, 20, "", 0, "started", None, None)
    record.fields = {"node": 1}
    record.created = 1.5
    line = OperatorLines().format(record)
    assert line.startswith('{"at":"1970-01-01T00:00:01.500+00:00"')
    assert line.endswith('"event":"started","node":1}')


def test_lines_beyond_the_burst_are_left_out_and_counted() -> None:
    now = [0.0]
    limit = LineLimit(burst=2, per_minute=60, clock=lambda: now[0])
    assert [limit.admit() for _ in range(4)] == [0, 0, None, None]
    now[0] = 1.0
    assert limit.admit() == 2


def test_a_long_text_is_cut_and_its_length_noted() -> None:
    assert shorten("fine") == "fine"
    assert shorten("x" * 10_000).endswith("xxx... (10000 characters)")
    assert len(shorten("x" * 10_000)) < 600
