"""Keys from another channel: whoever pins them need not believe the platform who takes part.

Everybody writes its own entry (`participant_entry`, `node_entry`); a file may have any number of
them. It names nodes by their address and participants by their name::

    [[node]]
    address = "n0.example:9000"
    signing_key = "..."

    [[participant]]
    name = "north"
    signing_key = "..."
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec

from tacit.agreement import Agreement, NodeTerms
from tacit.errors import FileError, TrustError
from tacit.files import read_toml
from tacit.identity import Keys, is_half, key_fingerprint, load_half, load_keys
from tacit.participant.profile import load_profile, replace_private
from tacit.plain_text import decoders_words

PublicKey = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class TrustedNode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node whose keys came from its operator."""

    address: str
    signing_key: PublicKey
    certificate: str | None = None


class TrustedParticipant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A participant whose key came from itself."""

    name: str
    signing_key: PublicKey


class Trust(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys that an agreement may name, and no others."""

    node: list[TrustedNode] = []
    participant: list[TrustedParticipant] = []


def node_address(node: NodeTerms, /) -> str:
    """The address of a node, as files write it.

    >>> node_address(NodeTerms("::1", 9000, "", "", "", ""))
    '[::1]:9000'
    """
    host = f"[{node.host}]" if ":" in node.host else node.host
    return f"{host}:{node.port}"


def load_trust(path: Path, /) -> Trust:
    """Read a trust file, or the public half of a node."""
    remedy = (
        "have the owners write theirs with tacit participant keys show --toml, "
        "and give a node's NAME.public.toml"
    )
    table = read_toml(path)
    if is_half(table):
        half = load_half(path)
        if half.kind != "node":
            what = "is the public half of the platform, which signs no agreement"
            raise FileError(path, None, what, "leave it out")
        return Trust([TrustedNode(half.address, half.signing_key)])
    try:
        return msgspec.convert(table, type=Trust)
    except msgspec.ValidationError as error:
        raise FileError(
            path, None, f"is not a list of keys ({decoders_words(error)})", remedy
        ) from None


def seen_trust(agreement: Agreement, /) -> Trust:
    """The keys that an agreement names: the platform's word until they are compared."""
    return Trust(
        [TrustedNode(node_address(n), n.signing_key, n.certificate) for n in agreement.nodes],
        [TrustedParticipant(each.name, each.signing_key) for each in agreement.participants],
    )


def participant_entry(name: str, keys: Keys, /) -> Trust:
    """The entry that others pin under the name of a participant's account."""
    return Trust(participant=[TrustedParticipant(name, keys.signing_public)])


def own_entry(folder: Path, key: Path, /) -> Trust:
    """One's own entry, under the name of the account where there is one.

    The operator may have chosen another name for it than the key has.
    """
    keys, name = load_keys(key), ""
    if (folder / "profile.json").exists():
        name = load_profile(folder).account
    return participant_entry(name or keys.name, keys)


def pin(pinned: Path, files: Iterable[Path], /, *, replace: bool = False) -> Trust:
    """Add the keys in files to those that are pinned; returns all of them."""
    added = [load_trust(path) for path in files]
    known = [load_trust(pinned)] if pinned.exists() else []
    joined = joined_trust([*known, *added], replace=replace)
    if added:
        save_trust(joined, pinned)
    return joined


def node_entry(keys: Keys, address: str, /) -> Trust:
    return Trust([TrustedNode(address, keys.signing_public)])


def joined_trust(parts: Iterable[Trust], /, *, replace: bool = False) -> Trust:
    """All entries together; two keys for one name contradict each other, unless later ones replace.

    >>> old, new = (Trust(participant=[TrustedParticipant("north", key)]) for key in ("00", "01"))
    >>> joined_trust([old, new])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tacit.errors.TrustError: there are two different keys for participant 'north'; ask its owner ...
    >>> joined_trust([old, new], replace=True).participant[0].signing_key
    '01'
    """
    nodes: dict[str, TrustedNode] = {}
    participants: dict[str, TrustedParticipant] = {}
    for part in parts:
        for node in part.node:
            # A later file must not replace, unasked, a key that was compared by phone.
            if not replace and nodes.get(node.address, node) != node:
                raise _two_keys(f"the node at {node.address}")
            nodes[node.address] = node
        for each in part.participant:
            if not replace and participants.get(each.name, each) != each:
                raise _two_keys(f"participant {each.name!r}")
            participants[each.name] = each
    return Trust(list(nodes.values()), list(participants.values()))


def _two_keys(whose: str) -> TrustError:
    return TrustError(
        f"there are two different keys for {whose}; ask its owner by phone which one is right, "
        "and if it is the new one, pin it with --replace"
    )


def trust_lines(trust: Trust, /) -> list[str]:
    """Each entry with its fingerprints, to compare by phone."""
    lines = []
    for node in trust.node:
        lines.append(f"node at {node.address}")
        lines.append(f"  signs  {key_fingerprint(node.signing_key)}")
    for each in trust.participant:
        lines += [f"participant {each.name}", f"  signs  {key_fingerprint(each.signing_key)}"]
    return lines


def save_trust(trust: Trust, path: Path, /, *, note: str = "") -> None:
    replace_private(path, trust_text(trust, note=note).encode())


def trust_text(trust: Trust, /, *, note: str = "") -> str:
    lines = [f"# {note}"] if note else []
    for kind, entries in (("node", trust.node), ("participant", trust.participant)):
        for entry in entries:
            lines += ["", f"[[{kind}]]"] if lines else [f"[[{kind}]]"]
            for name, value in msgspec.structs.asdict(entry).items():
                if value is not None:
                    # A JSON string is a TOML string, except for one character.
                    text = msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
                    lines.append(f"{name} = {text}")
    return "\n".join(lines) + "\n"


def trust_refusals(agreement: Agreement, trust: Trust, /, *, own: str | None = None) -> list[str]:
    """Every key of an agreement that is not the pinned one, or not pinned at all.

    `own` is the name whose key needs no pin, since its secret half is on this machine.
    """
    found = []
    nodes = {each.address: each for each in trust.node}
    for number, node in enumerate(agreement.nodes):
        who = f"node {number} at {node_address(node)}"
        pinned = nodes.get(node_address(node))
        if pinned is None:
            found.append(f"{who} is not among the trusted keys")
            continue
        for what in ("signing_key", "certificate"):
            expected = getattr(pinned, what)
            # Whoever pinned no certificate leaves it open: nodes renew theirs more often than keys.
            if expected is not None and expected != getattr(node, what):
                found.append(f"{who} has another {what.replace('_', ' ')} than the trusted one")
    participants = {each.name: each.signing_key for each in trust.participant}
    for each in agreement.participants:
        if each.name not in participants:
            if each.name == own:
                continue  # compared with the secret key on this machine instead
            found.append(f"participant {each.name!r} is not among the trusted keys")
        elif participants[each.name] != each.signing_key:
            found.append(f"participant {each.name!r} has another key than the trusted one")
    return found
