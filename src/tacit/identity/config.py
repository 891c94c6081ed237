"""Config files: `node.toml` of a node and `cluster.toml` of the platform.

Paths in them are relative to the file's own folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from tacit.errors import FileError
from tacit.files import read_toml
from tacit.mpc import CLUSTER_SIZES
from tacit.plain_text import decoders_words

T = TypeVar("T")

MOST_WORKING_MEGABYTES = 384
"""With what a node takes anyway, that is less than half a gigabyte."""


class PeerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Another node: its number, its address, its pinned certificate."""

    node: int
    address: str
    certificate: str


class NodeConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything a node needs to know before it starts."""

    node: int
    listen: str
    keys: str
    certificate: str
    tls_key: str
    data: str
    peers: list[PeerConfig]
    platforms: list[str]
    """The certificates of the platforms that may connect."""
    timeout_seconds: float = 10.0
    """How long a node waits for another within an evaluation."""
    delay_ms: float = 0.0
    """Added to everything that is sent: for measuring, not for use."""
    most_links: int = 64
    """Links that one platform may have at the same time; each of its runs takes one."""
    most_agreements: int = 1000
    """Agreements of one platform that have not ended, or are being drafted, whoever signs them."""
    most_megabytes: int = 10_000
    """What is kept of these on the disk, logs included."""
    most_agreed_megabytes: int = 16
    """The text of all these: in memory it takes more."""
    most_ended_megabytes: int = 10_000
    """What is kept on the disk of one platform's agreements that have ended: mostly their logs."""
    most_working_megabytes: int = MOST_WORKING_MEGABYTES
    """What one agreement may need in memory, and what runs at once for one platform."""
    keep_days: float = 30.0
    """How long an agreement with its log is kept after it has expired."""
    any_search: bool = False
    """Whether searches are followed whose settings nobody measured the leakage of."""
    chosen_populations: bool = False
    """Whether agreements are taken under which the platform chooses what is evaluated."""
    relay: bool = True
    """Whether other nodes that do not reach each other may do so through this one."""
    metrics: str = ""
    """Where Prometheus finds the node's figures, such as "127.0.0.1:9100"; nowhere if empty."""
    folder: str = "."


class ClusterNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One node of a cluster as the platform sees it."""

    address: str
    certificate: str
    signing_key: str


class ClusterConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the nodes are, and what the platform shows them."""

    certificate: str
    tls_key: str
    nodes: list[ClusterNode]
    delay_ms: float = 0.0
    folder: str = "."


def _load(path: Path, kind: type[T]) -> T:
    table = read_toml(path)
    # What `tacit node init` writes lacks the cluster, and nothing else.
    if kind is NodeConfig and "keys" in table and "peers" not in table:
        remedy = "give the public halves of all to tacit cluster join"
        raise FileError(path, None, "has joined no cluster yet", remedy)
    try:
        # Not strict, since people write 10 where 10.0 is meant.
        return msgspec.convert({**table, "folder": str(path.parent)}, type=kind, strict=False)
    except msgspec.ValidationError as error:
        what = decoders_words(error)
        raise FileError(path, None, what, "compare it with docs/configuration.md") from None


def load_node_config(path: Path, /) -> NodeConfig:
    config = _load(path, NodeConfig)
    numbers = sorted([config.node, *(peer.node for peer in config.peers)])
    if len(numbers) not in CLUSTER_SIZES or numbers != [*range(len(numbers))]:
        raise FileError(
            path, "node and peers", "must be 0, 1 and 2, or 0 to 3", "number the cluster so"
        )
    return config


def load_cluster_config(path: Path, /) -> ClusterConfig:
    config = _load(path, ClusterConfig)
    if len(config.nodes) not in CLUSTER_SIZES:
        raise FileError(path, "nodes", f"there are {len(config.nodes)}", "give three or four")
    return config


def parse_address(text: str, /) -> tuple[str, int]:
    """Host and port.

    >>> parse_address("node.example:9000"), parse_address("[::1]:9001")
    (('node.example', 9000), ('::1', 9001))
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) >= 1 << 16:
        raise FileError(text, None, "is not an address", "write host:port")
    return host.strip("[]"), int(port)


def quoted(text: str, /) -> str:
    # A JSON string is a basic string in TOML.
    return msgspec.json.encode(text).decode()


def show_config(config: NodeConfig | ClusterConfig, /) -> str:
    """Return a config file with everything that is not as by default."""
    return "\n".join(_toml(config)) + "\n"


def _toml(table: msgspec.Struct) -> Iterator[str]:
    tables: list[tuple[str, msgspec.Struct]] = []
    for field in msgspec.structs.fields(table):
        value = getattr(table, field.name)
        if field.name == "folder" or value == field.default:
            continue
        if isinstance(value, list) and isinstance(value[0], msgspec.Struct):
            # In TOML, whatever follows a table belongs to it.
            tables += [(field.name, each) for each in value]
        else:
            # What JSON writes for texts, numbers, truth values and lists of these is TOML too.
            yield f"{field.name} = {msgspec.json.encode(value).decode()}"
    for name, each in tables:
        yield from ("", f"[[{name}]]", *_toml(each))


JOINED = "# ---- Below this line tacit cluster join writes; it keeps what stands above. ----"

_SETTINGS = """\
# The node {name}. Every key is here, with its default where there is one; docs/configuration.md
# has more on each. Paths are relative to this file's folder. A change counts from the next start.
listen = {listen}
keys = {keys}  # signs its log and the sealing keys that it draws; nobody else has it
certificate = {certificate}  # the others pin it
tls_key = {tls_key}  # nobody else has it
data = {data}  # agreements, their sealing keys and inputs, logs
timeout_seconds = 10.0  # how long it waits for another node within an evaluation
delay_ms = 0.0  # added to everything that is sent: for measuring only
most_links = 64  # links of one platform at a time; each of its runs takes one
most_agreements = 1000  # agreements of one platform that are drafted or have not ended
most_megabytes = 10000  # kept of these on the disk, logs included
most_agreed_megabytes = 16  # the text of all these, which is in memory
most_ended_megabytes = 10000  # kept on the disk of one platform's agreements that have ended
most_working_megabytes = 384  # memory that one agreement may need, and a platform's runs at once
keep_days = 30.0  # how long an expired agreement is kept with its log
any_search = false  # true: also settings that nobody measured, or over 2 objectives
chosen_populations = false  # true: platforms choose what is evaluated; never in production
relay = true  # false: others that do not reach each other may not speak through it
metrics = ""  # Prometheus, such as "127.0.0.1:9100"; empty: off
"""


def node_file_text(name: str, /, *, listen: str, data: str) -> str:
    """Return the file of a node that has joined no cluster yet."""
    settings = _SETTINGS.format(
        name=name,
        listen=quoted(listen),
        keys=quoted(f"{name}.key"),
        certificate=quoted(f"{name}.pem"),
        tls_key=quoted(f"{name}.tls.key"),
        data=quoted(data),
    )
    return f"{settings}\n{JOINED}\n"


def joined_text(
    text: str, number: int, peers: Sequence[PeerConfig], platforms: Sequence[str], /
) -> str | None:
    """Return the file with what a cluster consists of; None if the line is gone."""
    # What stands above the line is the operator's and stays as it is, comments included.
    settings, line, _ = text.partition(JOINED)
    if not line:
        return None
    lines = [
        f"{settings}{JOINED}",
        f"node = {number}",
        f"platforms = [{', '.join(map(quoted, platforms))}]  # those that may connect",
    ]
    for peer in peers:
        lines += ["", "[[peers]]", *_toml(peer)]
    return "\n".join(lines) + "\n"
