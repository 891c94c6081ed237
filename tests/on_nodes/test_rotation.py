"""Certificates and keys of a node and of the platform are replaced while a run is under way."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluations
from tacit.coordinator.node_client import NodeClient, clients_of
from tacit.errors import FileError, PeerLostError
from tacit.identity.config import load_node_config
from tacit.identity.keys import load_keys
from tacit.identity.rotation import Rotated, rotated_by_node, rotated_by_platform
from tacit.local.cluster import LocalCluster
from tacit.mpc.transport import Identity, fingerprint
from tacit.node.store import agreements_naming
from tacit.records.log import check_log
from tests.on_nodes.agreed_cluster import AgreedCluster, populations, run

pytestmark = pytest.mark.processes


async def is_shown(cluster: LocalCluster, pem: str) -> bool:
    """Whether node 1 shows this certificate to a new link."""
    config, folder = cluster.config, cluster.folder
    identity = Identity(folder / config.certificate, folder / config.tls_key, {"node 1": pem})
    client = NodeClient(1, config.nodes[1].address, identity, 0.0)
    try:
        await client.connect()
    except PeerLostError:
        return False
    finally:
        await client.disconnect()
    return True


async def new_links(coordinator: Coordinator) -> None:
    for client in coordinator.clients:
        await client.disconnect()


def test_a_run_goes_on_while_everything_is_rotated(fresh_cluster: LocalCluster) -> None:
    folder = fresh_cluster.folder
    node = load_node_config(folder / "node-1.toml")
    both = [rotated_by_node(node), rotated_by_platform(fresh_cluster.config)]
    old_pem, old_key = both[0].certificate.read_text(), load_keys(folder / "node-1.key")
    agreed = AgreedCluster.draft(fresh_cluster)
    plans = iter(populations(8))

    async def work() -> None:
        coordinator = Coordinator(agreed.agreement, clients_of(fresh_cluster.config))
        async with AsyncExitStack() as stack:
            stack.push_async_callback(coordinator.close)
            await coordinator.start(agreed.signatures, agreed.sealed(), within=60)
            evaluations = Evaluations(coordinator, 0)

            async def evaluate() -> None:
                """On new links, so that everybody shows what it has."""
                await new_links(coordinator)
                await evaluations.evaluate(next(plans), until=None)

            await evaluate()
            for step in (Rotated.prepare, Rotated.switch):
                for rotated in both:
                    step(rotated)
                    step(rotated)  # as after an interruption
                await evaluate()
            assert not await is_shown(fresh_cluster, old_pem)
            assert await is_shown(fresh_cluster, both[0].certificate.read_text())
            # Its peers take the new certificate as well.
            fresh_cluster.kill(2)
            fresh_cluster.restart(2)
            await evaluate()
            await check_new_agreement()
            await evaluate()
            page = (await coordinator.fetch_logs(b"n" * 16))[1]
            check_log(
                agreed.agreement,
                1,
                page.log,
                nonce=b"n" * 16,
                seconds=page.seconds,
                signature=page.signature,
            )
            with pytest.raises(FileError, match="1 agreements that are kept here"):
                both[0].finish(agreements=agreements_naming(node, old_key.signing_public))
            for rotated in both:
                rotated.finish()
            assert len(both[0].certificate.read_text()) < 1.5 * len(old_pem)
            assert not both[0].previous_keys.exists()

    async def check_new_agreement() -> None:
        """With the new keys and certificates, once the platform's file names them."""
        text = (folder / "cluster.toml").read_text()
        new_key = load_keys(folder / "node-1.key").signing_public
        assert new_key != old_key.signing_public
        (folder / "cluster.toml").write_text(text.replace(old_key.signing_public, new_key))
        new = AgreedCluster.draft(fresh_cluster)
        shown, own = (fingerprint(each.certificate.read_text()) for each in both)
        node = new.agreement.nodes[1]
        assert (node.signing_key, node.certificate) == (new_key, shown)
        assert new.agreement.platform == own != agreed.agreement.platform
        async with new.ready() as (_, evaluations):
            await evaluations.evaluate(next(plans), until=None)

    run(work())


def test_steps_are_taken_in_order(tmp_path: Path) -> None:
    from tacit.identity.certificates import new_certificate

    files = new_certificate("node-9", tmp_path)
    rotated = Rotated(files.certificate, files.key)
    with pytest.raises(FileError, match="take the steps in order"):
        rotated.switch()
    rotated.prepare()
    with pytest.raises(FileError, match="is not switched to the new one yet"):
        rotated.finish()
    rotated.switch()
    with pytest.raises(FileError, match="finish it first"):
        rotated.prepare()
    rotated.finish()
    rotated.prepare()
