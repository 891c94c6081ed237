"""An invitation file is only as good as its channel: nothing in it hides what is compared."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tacit.client import InvitationFile, certificate_fingerprint, read_invitation
from tacit.errors import FileError
from tacit.identity.config import ClusterConfig, ClusterNode, show_config
from tacit.mpc.transport import make_certificate

OWN, OTHER = (make_certificate(name)[0] for name in ("own", "other"))
GOOD = InvitationFile(
    url="https://p.example:8443",
    account="c\u00e9leste",
    role="participant",
    code="tci_abc",
    expires=9e9,
    certificate=OWN,
)


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    GOOD.save(tmp_path / "it.tacit")
    assert read_invitation(tmp_path / "it.tacit") == GOOD
    beside = msgspec.structs.replace(GOOD, certificate=f"words\n{OWN}words")
    beside.save(tmp_path / "it.tacit")
    assert read_invitation(tmp_path / "it.tacit") == GOOD


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"certificate": OWN + OTHER}, "2 certificates in place of one"),
        ({"certificate": ""}, "is not an invitation"),
        ({"account": "n\r\x1b[2A\x1b[Jpinned: 01234567"}, "not a name"),
        ({"account": "../north"}, "not a name"),
        ({"account": ".north"}, "not a name"),
        ({"url": "https://p.example:8443/\u202e"}, "that nobody sees"),
        ({"role": "operator\x9b2J"}, "that nobody sees"),
        ({"url": "http://p.example"}, "not encrypted"),
    ],
)
def test_what_hides_something_is_refused(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    msgspec.structs.replace(GOOD, **change).save(tmp_path / "it.tacit")
    with pytest.raises(FileError, match=why):
        read_invitation(tmp_path / "it.tacit")


def test_all_that_is_trusted_is_compared() -> None:
    both = certificate_fingerprint(OWN + OTHER)
    assert both == f"{certificate_fingerprint(OWN)}, and {certificate_fingerprint(OTHER)}"


def test_what_a_node_says_of_itself_adds_nothing_to_the_file_of_a_platform() -> None:
    said = 'e.example:9000"\nsigning_key = "ab"\n\n[[nodes]]\naddress = "f.example:9'
    config = ClusterConfig(
        certificate="desk.pem",
        tls_key="desk.key",
        nodes=[ClusterNode(said, "e.pem", "cd")],
        folder="",
    )
    (node,) = tomllib.loads(show_config(config))["nodes"]
    assert node == {"address": said, "certificate": "e.pem", "signing_key": "cd"}
