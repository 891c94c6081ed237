"""`node.toml` as `tacit node init` writes it: every key with what it is for.

Above a line that must stay is what the operator decides; below it is what `tacit cluster join`
writes, and writes anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.identity.config import PeerConfig, quoted

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
most_agreements = 1000  # agreements kept for one platform
most_megabytes = 10000  # kept for one platform on the disk, logs included
most_agreed_megabytes = 16  # the text of all agreements of one platform; they are in memory
most_working_megabytes = 384  # memory that one agreement may need, and a platform's runs at once
keep_days = 30.0  # how long an expired agreement is kept with its log
any_search = false  # true: also settings that nobody measured, or over 2 objectives
chosen_populations = false  # true: platforms choose what is evaluated; never in production
relay = true  # false: others that do not reach each other may not speak through it
metrics = ""  # Prometheus, such as "127.0.0.1:9100"; empty: off
"""


def node_file_text(name: str, /, *, listen: str, data: str) -> str:
    """The file of a node that has joined no cluster yet."""
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
    """The file with what a cluster consists of; nothing if the line is gone."""
    settings, line, _ = text.partition(JOINED)
    if not line:
        return None
    lines = [
        f"{settings}{JOINED}",
        f"node = {number}",
        f"platforms = [{', '.join(map(quoted, platforms))}]  # those that may connect",
    ]
    for peer in peers:
        lines += ["", "[[peers]]", f"node = {peer.node}", f"address = {quoted(peer.address)}"]
        lines.append(f"certificate = {quoted(peer.certificate)}")
    return "\n".join(lines) + "\n"
