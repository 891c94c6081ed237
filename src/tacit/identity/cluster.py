"""Set up a cluster: join one from public halves, or write all its files at once on one machine.

To join, everybody puts the same public halves together, each on its own machine. Nobody makes keys
or files for somebody else. Nodes are numbered by their names, so all get the same numbers. One
fingerprint of everything is compared by phone.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from tacit.errors import FileError, InputError, TrustError
from tacit.files import read_text, replace_file, writing
from tacit.identity.certificates import expires, new_certificate, read_certificate
from tacit.identity.config import (
    JOINED,
    MOST_WORKING_MEGABYTES,
    ClusterConfig,
    ClusterNode,
    NodeConfig,
    PeerConfig,
    joined_text,
    load_cluster_config,
    load_node_config,
    parse_address,
    show_config,
)
from tacit.identity.keys import Keys, save_keys
from tacit.identity.public_half import (
    CLUSTER_FILE,
    NODE_FILE,
    PublicHalf,
    joint_fingerprint,
    load_half,
    own_half,
)
from tacit.mpc import CLUSTER_SIZES
from tacit.mpc.transport import PROTOCOL, split_certificates

CLUSTER_HEAD = """\
# What the platform shows its nodes, and the nodes in the order of their numbers; written by tacit
# cluster join. Paths are relative to this file's folder.
"""


@dataclass(frozen=True)
class Joined:
    """Who is in a cluster, and what was written."""

    own: PublicHalf
    nodes: list[PublicHalf]
    """In the order of their numbers."""
    platforms: list[PublicHalf]
    config: Path

    @property
    def fingerprint(self) -> str:
        """Return one fingerprint of all: whoever has the same one has the same keys."""
        return joint_fingerprint([*self.nodes, *self.platforms])


def join_cluster(folder: Path, files: Sequence[Path], /, *, replace: bool = False) -> Joined:
    """Check the public halves of all, pin their certificates, and write one's own config file.

    A party that is pinned with another certificate already, or another cluster, is replaced only
    where `replace` says so.
    """
    # Everything is checked before anything is written: a folder that trusts some and not others
    # would be hard to see.
    own = own_half(folder)
    halves = _distinct([own, *(load_half(path) for path in files)], own)
    _check_alike(halves)
    # Numbers follow from names, so that all who join get the same without asking each other.
    nodes = sorted((each for each in halves if each.kind == "node"), key=lambda each: each.name)
    platforms = sorted(
        (each for each in halves if each.kind == "platform"), key=lambda each: each.name
    )
    _check_numbers(nodes, platforms)
    others = [each for each in halves if each is not own]
    if not replace:
        _check_known(folder, others)
    with writing(folder):
        if own.kind == "node":
            text = _node_text(folder / NODE_FILE, own, nodes, platforms)
        else:
            text = _cluster_text(folder / CLUSTER_FILE, own, nodes, replace=replace)
        for each in others:
            pem = "".join(split_certificates(each.certificate))
            replace_file(folder / f"{each.name}.pem", pem.encode(), durable=True)
        config = folder / (NODE_FILE if own.kind == "node" else CLUSTER_FILE)
        # Last, since it names files that have to be there.
        replace_file(config, text.encode(), durable=True)
    # What was written is what will be read.
    (load_node_config if own.kind == "node" else load_cluster_config)(config)
    return Joined(own, nodes, platforms, config)


def _distinct(halves: list[PublicHalf], own: PublicHalf) -> list[PublicHalf]:
    """Drop repeated files, and refuse two parties that share anything."""
    found: list[PublicHalf] = []
    for half in halves:
        if half in found:
            continue
        for what in ("name", "address", "signing_key", "certificate_fingerprints"):
            values = _values(half, what)
            twin = next((each for each in found if values & _values(each, what)), None)
            if twin is None:
                continue
            if what == "name" and half.name == own.name:
                raise TrustError(
                    f"the public half of {half.name!r} that was given is not the one in this "
                    "folder; if yours was renewed send it to the others, else somebody uses your "
                    "name"
                )
            raise TrustError(
                f"{twin.name!r} and {half.name!r} have the same {what.split('_')[0]}: two files "
                "of one party, or two parties with one key; ask both, and give one file of each"
            )
        found.append(half)
    return found


def _values(half: PublicHalf, what: str) -> set[str]:
    """What nobody else may have: one of several certificates in force is enough to be taken."""
    value = getattr(half, what)
    return set(value) if isinstance(value, list) else {value} - {""}


def _check_alike(halves: list[PublicHalf]) -> None:
    for each in halves:
        if each.protocol != PROTOCOL:
            raise InputError(
                f"{each.name!r} speaks version {each.protocol} of the nodes' protocol and this "
                f"machine version {PROTOCOL}; install the same release of tacit everywhere, then "
                "have the public halves made again"
            )
        at = expires(each.certificate)
        if at <= time.time():
            day = time.strftime("%Y-%m-%d", time.gmtime(at))
            raise InputError(
                f"the certificate of {each.name!r} has expired on {day}; have its owner renew it "
                "with tacit keys rotate and send its public half again"
            )
        if each.kind == "node":
            parse_address(each.address)


def _check_numbers(nodes: list[PublicHalf], platforms: list[PublicHalf]) -> None:
    names = ", ".join(each.name for each in nodes) or "none"
    if len(nodes) not in CLUSTER_SIZES:
        raise InputError(
            f"a cluster has three or four nodes; here are the public halves of {len(nodes)} "
            f"({names}): give those of all, and no others"
        )
    if not platforms:
        raise InputError(
            "no public half of a platform is among them; its operator makes one with tacit "
            "cluster init"
        )


def _check_known(folder: Path, others: list[PublicHalf]) -> None:
    for each in others:
        path = folder / f"{each.name}.pem"
        # A pinned certificate is one that somebody compared by phone. Another one takes that again.
        if path.exists() and read_certificate(path) != "".join(
            split_certificates(each.certificate)
        ):
            raise TrustError(
                f"{path} is pinned already, and the public half of {each.name!r} has another "
                "certificate; compare fingerprints by phone, then add --replace"
            )


def _node_text(
    path: Path, own: PublicHalf, nodes: list[PublicHalf], platforms: list[PublicHalf]
) -> str:
    peers = [
        PeerConfig(number, each.address, f"{each.name}.pem")
        for number, each in enumerate(nodes)
        if each is not own
    ]
    shown = [f"{each.name}.pem" for each in platforms]
    text = joined_text(read_text(path), nodes.index(own), peers, shown)
    if text is None:
        raise FileError(path, None, f"has no line {JOINED!r}", "put it back, above node and peers")
    return text


def _cluster_text(path: Path, own: PublicHalf, nodes: list[PublicHalf], *, replace: bool) -> str:
    text = CLUSTER_HEAD + show_config(
        ClusterConfig(
            certificate=f"{own.name}.pem",
            tls_key=f"{own.name}.tls.key",
            nodes=[ClusterNode(n.address, f"{n.name}.pem", n.signing_key) for n in nodes],
        )
    )
    if path.exists() and read_text(path) != text and not replace:
        what = "is that of another cluster, or of other keys"
        raise FileError(path, None, what, "compare fingerprints by phone, then add --replace")
    return text


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
    """Write node-0.toml and so on and cluster.toml with all they name; return the paths.

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
        files[-1].write_text(show_config(config))
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
    files[-1].write_text(show_config(cluster))
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
