"""Keys, pinned certificates and config files for a cluster, in one go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from tacit.errors import InputError
from tacit.identity.certificates import new_certificate
from tacit.identity.config import (
    MOST_WORKING_MEGABYTES,
    ClusterConfig,
    ClusterNode,
    NodeConfig,
    PeerConfig,
    parse_address,
    show_cluster_config,
    show_node_config,
)
from tacit.identity.keys import Keys, save_keys
from tacit.mpc import CLUSTER_SIZES

LOCAL_PREFIX = "tacit-"
"""What the folder of a cluster that is thrown away is called, to begin with."""


def write_cluster(
    folder: Path,
    addresses: Sequence[str],
    /,
    *,
    listen: Sequence[str] | None = None,
    timeout_seconds: float = 10.0,
    delay_ms: float = 0.0,
    any_search: bool = False,
    chosen_populations: bool = False,
    most_working_megabytes: int = MOST_WORKING_MEGABYTES,
) -> tuple[Path, ...]:
    """Write node-0.toml and so on and cluster.toml with all they name; the paths come back.

    `addresses` are where the platform and the other nodes find each node, `listen` where it
    listens, if that is something else.
    """
    nodes = len(addresses)
    if nodes not in CLUSTER_SIZES or len(set(addresses)) < nodes:
        raise InputError(
            "a cluster has three or four nodes, each at its address; give host:port for each"
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    names = [f"node-{i}" for i in range(nodes)]
    keys = [Keys.new(name) for name in names]
    for name, pair, address in zip(names, keys, addresses, strict=True):
        save_keys(pair, folder / f"{name}.key")
        new_certificate(name, folder, hosts=[parse_address(address)[0]])
    new_certificate("platform", folder)
    files = []
    for i in range(nodes):
        config = _node_config(i, names, addresses, (listen or addresses)[i])
        config = replace(
            config,
            timeout_seconds=timeout_seconds,
            delay_ms=delay_ms,
            any_search=any_search,
            chosen_populations=chosen_populations,
            most_working_megabytes=most_working_megabytes,
        )
        files.append(folder / f"{names[i]}.toml")
        files[-1].write_text(show_node_config(config))
    cluster = ClusterConfig(
        certificate="platform.pem",
        tls_key="platform.tls.key",
        nodes=[
            ClusterNode(address, f"{name}.pem", pair.signing_public)
            for address, name, pair in zip(addresses, names, keys, strict=True)
        ],
        delay_ms=delay_ms,
    )
    files.append(folder / "cluster.toml")
    files[-1].write_text(show_cluster_config(cluster))
    return tuple(files)


def _node_config(i: int, names: Sequence[str], addresses: Sequence[str], listen: str) -> NodeConfig:
    return NodeConfig(
        node=i,
        listen=listen,
        keys=f"{names[i]}.key",
        certificate=f"{names[i]}.pem",
        tls_key=f"{names[i]}.tls.key",
        data=f"{names[i]}.data",
        peers=[PeerConfig(j, addresses[j], f"{names[j]}.pem") for j in range(len(names)) if j != i],
        platforms=["platform.pem"],
    )
