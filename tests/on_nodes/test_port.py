"""A node's port survives strangers, and platforms that send nonsense."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from pathlib import Path

import pytest

from tacit.errors import PeerError
from tacit.identity.certificates import new_certificate, read_certificate
from tacit.identity.config import parse_address
from tacit.local.cluster import LocalCluster
from tacit.mpc.transport import FRAME_LIMIT, Header, Identity, Mux, connect, encode, listener
from tacit.records.log import verify_log
from tacit.records.messages import TALK, Ping
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, make_clients, populations, run
from tests.on_nodes.altered_nodes import restart_changed
from tests.on_nodes.deadlines import AMPLE


def address(cluster: LocalCluster, node: int = 0) -> tuple[str, int]:
    return parse_address(cluster.config.nodes[node].address)


def wait_for_line(cluster: LocalCluster, event: str, what: str, *, node: int = 0) -> None:
    agreed = AgreedCluster.draft(cluster)
    deadline = time.monotonic() + AMPLE
    while time.monotonic() < deadline:
        if any(e.name == event and what in getattr(e, "what", "") for e in agreed.node_log(node)):
            return
        time.sleep(0.05)
    pytest.fail(f"no line {event!r} with {what!r} in the log of node {node}")


def still_works(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    async def honest() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(populations(1)[0], until=time.monotonic() + 60)

    run(honest())


def test_garbage_is_closed(cluster: LocalCluster) -> None:
    with socket.create_connection(address(cluster)) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" * 50)
        stranger.settimeout(AMPLE)
        # The node answers with a TLS alert at most, then closes.
        try:
            while stranger.recv(4096):
                pass
        except ConnectionResetError:
            pass
    wait_for_line(cluster, "turned away", "handshake")
    still_works(cluster)


def test_a_stranger_who_says_nothing_is_closed(own_cluster: LocalCluster) -> None:
    """It has five seconds for its handshake; here that is three tenths of one."""
    before = turned_away(own_cluster, 1)
    restart_changed(own_cluster, 1, {"tacit.mpc.transport.listener.HANDSHAKE_SECONDS": 0.3})
    try:
        with stranger_at(own_cluster, 1) as stranger:
            stranger.settimeout(AMPLE)
            assert stranger.recv(1) == b""
        deadline = time.monotonic() + AMPLE
        while turned_away(own_cluster, 1) == before:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        own_cluster.kill(1)


def turned_away(cluster: LocalCluster, node: int) -> int:
    """How many handshakes failed at a node."""
    log = cluster.folder / f"node-{node}.data" / "log.jsonl"
    events = verify_log(log.read_bytes())
    return sum(e.name == "turned away" and "handshake" in getattr(e, "what", "") for e in events)


def stranger_at(cluster: LocalCluster, node: int) -> socket.socket:
    """A connection to a node, once it listens."""
    deadline = time.monotonic() + AMPLE
    while True:
        try:
            return socket.create_connection(address(cluster, node))
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_peer_with_the_wrong_certificate_is_turned_away(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    own = new_certificate("node-1", tmp_path)
    pinned = {"node 0": read_certificate(cluster.folder / "node-0.pem")}
    identity = Identity(own.certificate, own.key, pinned)

    async def attack() -> None:
        # TLS 1.3 tells the client only when it reads.
        client = make_clients(cluster, identity)[0]
        await client.connect()
        try:
            await ask(client, Ping())
        finally:
            await client.disconnect()

    with pytest.raises(PeerError):
        run(attack())
    wait_for_line(cluster, "turned away", "handshake")
    still_works(cluster)


def test_a_node_with_the_wrong_certificate_is_not_trusted(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    """The platform meets somebody else at a node's address."""
    folder, config = cluster.folder, cluster.config
    other = new_certificate("other", tmp_path)
    identity = Identity(folder / config.certificate, folder / config.tls_key, {"node 0": other.pem})

    async def meet() -> None:
        with pytest.raises(PeerError, match="node 0"):
            await make_clients(cluster, identity)[0].connect()
        await asyncio.sleep(0.05)  # the connection closes in the background

    run(meet())


def test_old_tls_is_turned_away(cluster: LocalCluster) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        socket.create_connection(address(cluster)) as raw,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        context.wrap_socket(raw)


def platform_link(cluster: LocalCluster, raw: list[bytes]) -> str:
    """Send bytes as the platform, and see how the node ends the link."""
    folder, config = cluster.folder, cluster.config
    identity = Identity(
        folder / config.certificate,
        folder / config.tls_key,
        {"node 0": read_certificate(folder / "node-0.pem")},
    )

    async def attack() -> str:
        host, port = address(cluster)
        link = await connect(host, port, peer="node 0", identity=identity)
        assert link._transport is not None
        for data in raw:
            link._transport.write(data)
        with pytest.raises(PeerError) as closed:
            await link.receive(timeout=AMPLE)
        await link.close()
        return closed.value.what

    return run(attack())


def test_garbage_after_the_handshake_is_closed(cluster: LocalCluster) -> None:
    assert "closed the link" in platform_link(cluster, [b"x" * 500])
    wait_for_line(cluster, "link lost", "not a frame")


def test_an_oversized_frame_is_closed_before_it_is_read(cluster: LocalCluster) -> None:
    header = Header(TALK, bytes(8), 1, 0, FRAME_LIMIT + 1)
    assert "closed the link" in platform_link(cluster, [encode(header)])
    wait_for_line(cluster, "link lost", "the limit is")


def test_what_is_no_request_ends_the_link(cluster: LocalCluster) -> None:
    payload = b"\xc1 no MessagePack"
    header = Header(TALK, bytes(8), 1, 0, len(payload))
    assert "closed the link" in platform_link(cluster, [encode(header), payload])
    wait_for_line(cluster, "link lost", "not a request")
    still_works(cluster)


def test_a_slow_frame_is_closed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A frame that never ends is cut off after its time; here that is a tenth of a second."""
    monkeypatch.setattr(listener, "FRAME_SECONDS", 0.1)
    server, client = new_certificate("node-0", tmp_path), new_certificate("platform", tmp_path)
    turned_away: list[str] = []

    async def attack() -> str:
        arrived: asyncio.Future[Mux] = asyncio.get_running_loop().create_future()
        door = listener.Listener(
            Identity(server.certificate, server.key, {"platform": client.pem}),
            lambda link: arrived.set_result(Mux(link)),
            lambda where, why: turned_away.append(why),
            limit=1 << 20,
        )
        await door.start("127.0.0.1", 0)
        assert door._server is not None
        port = door._server.sockets[0].getsockname()[1]
        link = await connect(
            "127.0.0.1",
            port,
            peer="node 0",
            identity=Identity(client.certificate, client.key, {"node 0": server.pem}),
        )
        assert link._transport is not None
        link._transport.write(encode(Header(TALK, bytes(8), 1, 0, 1000))[:20])
        mux = await arrived
        with pytest.raises(PeerError) as slow:
            await mux.open(TALK).receive(timeout=AMPLE)
        await link.close()
        await mux.close()
        await door.close()
        return slow.value.what

    assert "took more than 0.1 s for one frame" in run(attack())
