"""`tacit node status`: what an operator sees of a node, and of one that is down."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from tacit import files
from tacit.identity.config import load_node_config
from tacit.local.cluster import LocalCluster, free_addresses
from tacit.node.status import is_listening, node_status
from tests.node.one_node import agree, node
from tests.support.command_line import commands_here

DAY = 86_400.0


def test_an_open_agreement_is_shown_and_one_that_cannot_be_read_is_critical(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "DISK_PART", 1.0)  # this machine's disk is another matter
    agreement, _, _ = agree(node(folder), folder)
    config, now = load_node_config(folder / "node-0.toml"), time.time()
    config = replace(config, listen=free_addresses(1)[0])
    seen = node_status(config, now=now)
    (shown,) = seen.agreements
    assert (shown.agreement, shown.expires) == (
        agreement.digest.hex(),
        agreement.limits.expires,
    )
    assert (shown.platform, shown.last) == (next(iter(seen.platforms)), "agreed")
    assert (seen.runs, len(seen.critical), seen.warnings, seen.rotation) == (False, 1, [], None)
    (found,) = Path(folder / "node-0.data").glob("*/agreement.json")
    found.write_bytes(found.read_bytes()[:-1])
    broken = node_status(config, now=now)
    assert (broken.agreements, len(broken.critical)) == ([], 2)
    year = node_status(config, now=now + 350 * DAY)
    assert sum("certificate" in each for each in year.warnings) == len(year.expire) == 4
    gone = node_status(config, now=now + 366 * DAY)
    assert (sum("certificate" in each for each in gone.critical), gone.warnings) == (4, [])


@pytest.mark.processes
def test_a_node_that_listens_is_well(
    cluster: LocalCluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tacit = commands_here(capsys, monkeypatch)
    said = tacit("node", "status", "--config", cluster.folder / "node-1.toml", "--json")
    seen = json.loads(said.out)
    assert (seen["runs"], seen["critical"]) == (True, [])
    assert said.code == (1 if seen["warnings"] else 0)


def test_an_address_that_is_no_address_of_this_machine_says_nothing() -> None:
    assert is_listening("192.0.2.1:9000") is None
