"""Keys from another channel: whoever pins them need not believe the platform who takes part.

A trust file names nodes by their address and participants by their name::

    [[node]]
    address = "n0.example:9000"
    signing_key = "..."
    sealing_key = "..."

    [[participant]]
    name = "north"
    signing_key = "..."
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from tacit.engine.agreement import Agreement, NodeTerms
from tacit.errors import FileError
from tacit.files import read_toml
from tacit.participant.account.profile import replace_private


class TrustedNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node whose keys came from its operator."""

    address: str
    signing_key: str
    sealing_key: str
    certificate: str | None = None


class TrustedParticipant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A participant whose key came from itself."""

    name: str
    signing_key: str


class Trust(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys that an agreement may name, and no others."""

    node: list[TrustedNode] = []
    participant: list[TrustedParticipant] = []


def node_address(node: NodeTerms, /) -> str:
    """Where a node is, as files write it.

    >>> node_address(NodeTerms("::1", 9000, "", "", ""))
    '[::1]:9000'
    """
    host = f"[{node.host}]" if ":" in node.host else node.host
    return f"{host}:{node.port}"


def load_trust(path: Path, /) -> Trust:
    """Read a trust file."""
    remedy = "write one with tacit participant review RUN --write-trust FILE to see its form"
    table = read_toml(path)
    try:
        return msgspec.convert(table, type=Trust)
    except msgspec.ValidationError as error:
        raise FileError(path, None, f"is not a list of keys ({error})", remedy) from None


def seen_trust(agreement: Agreement, /) -> Trust:
    """What an agreement says of everybody's keys; the platform's word until it is compared."""
    return Trust(
        [
            TrustedNode(node_address(n), n.signing_key, n.sealing_key, n.certificate)
            for n in agreement.nodes
        ],
        [TrustedParticipant(each.name, each.signing_key) for each in agreement.participants],
    )


def save_trust(trust: Trust, path: Path, /, *, note: str = "") -> None:
    """Write a trust file."""
    lines = [f"# {note}"] if note else []
    for kind, entries in (("node", trust.node), ("participant", trust.participant)):
        for entry in entries:
            lines += ["", f"[[{kind}]]"] if lines else [f"[[{kind}]]"]
            for name, value in msgspec.structs.asdict(entry).items():
                if value is not None:
                    # A JSON string is a TOML string, except for one character.
                    text = msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
                    lines.append(f"{name} = {text}")
    replace_private(path, ("\n".join(lines) + "\n").encode())


def trust_refusals(agreement: Agreement, trust: Trust, /) -> list[str]:
    """Every key of an agreement that is not the pinned one, or not pinned at all."""
    found = []
    nodes = {each.address: each for each in trust.node}
    for number, node in enumerate(agreement.nodes):
        who = f"node {number} at {node_address(node)}"
        pinned = nodes.get(node_address(node))
        if pinned is None:
            found.append(f"{who} is not among the trusted keys")
            continue
        for what in ("signing_key", "sealing_key", "certificate"):
            expected = getattr(pinned, what)
            if expected is not None and expected != getattr(node, what):
                found.append(f"{who} has another {what.replace('_', ' ')} than the trusted one")
    participants = {each.name: each.signing_key for each in trust.participant}
    for each in agreement.participants:
        if each.name not in participants:
            found.append(f"participant {each.name!r} is not among the trusted keys")
        elif participants[each.name] != each.signing_key:
            found.append(f"participant {each.name!r} has another key than the trusted one")
    return found
