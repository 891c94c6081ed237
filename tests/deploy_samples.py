"""The samples in deploy/: what the commands write; `python -m tests.deploy_samples` does."""

from __future__ import annotations

from pathlib import Path

from tacit.identity.cluster import CLUSTER_HEAD
from tacit.identity.config import (
    ClusterConfig,
    ClusterNode,
    PeerConfig,
    joined_text,
    node_file_text,
    show_config,
)
from tacit.service.server.settings import settings_text
from tests.support.repository import ROOT

NAMES = ("alpha", "beta", "gamma")


def samples() -> dict[str, str]:
    """Each file by its name."""
    peers = [
        PeerConfig(number, f"{name}.example:9000", f"{name}.pem")
        for number, name in enumerate(NAMES)
    ]
    node = node_file_text("alpha", listen="0.0.0.0:9000", data="/var/lib/tacit/node")
    joined = joined_text(node, 0, peers[1:], ["desk.pem"])
    assert joined is not None
    nodes = [ClusterNode(peer.address, peer.certificate, str(peer.node) * 64) for peer in peers]
    cluster = ClusterConfig("desk.pem", "desk.tls.key", nodes)
    service = settings_text(
        "0.0.0.0:8443",
        "https://platform.example:8443",
        ["cluster/cluster.toml"],
        data=Path("/var/lib/tacit/platform"),
    )
    return {
        "node.toml": joined,
        "cluster.toml": CLUSTER_HEAD + show_config(cluster),
        "service.toml": service,
    }


if __name__ == "__main__":
    for name, text in samples().items():
        (ROOT / "deploy" / name).write_text(text)
