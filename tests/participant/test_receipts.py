"""Heads of the nodes' logs on a participant's machine: even three restored nodes are noticed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.agreement.terms import agreement_hash
from tacit.coordinator import SecureEngine
from tacit.errors import LogError
from tacit.local.cluster import LocalCluster
from tacit.participant import check_logs, result, sign, submit
from tacit.participant.receipts import receipts
from tests.participant.conftest import World, join_all
from tests.participant.platform import RUN, Platform, served
from tests.support.command_line import Tacit


@pytest.fixture
def interrupted(own_cluster: LocalCluster, tmp_path: Path) -> Iterator[World]:
    """A run that was interrupted, on nodes that may be killed."""
    with served(Platform(own_cluster, tmp_path)) as platform:
        profiles = join_all(platform, tmp_path)
        for profile in profiles.values():
            sign(profile, RUN, unpinned=True)
        for name, profile in profiles.items():
            submit(profile, RUN, tmp_path / f"{name}.csv")
        platform.execute(stop_after=2)
        yield World(platform, profiles, tmp_path)


def heads(world: World) -> set[tuple[int, str]]:
    return {(each.node, each.head) for each in receipts(world.north, RUN)}


def another_head(answer: Any) -> Any:
    return {**answer, "logs": [{**each, "head": "ab" * 32} for each in answer["logs"]]}


def set_back(world: World, places: list[Path]) -> None:
    nodes, platform = world.platform.cluster, world.platform
    platform.execution.close()
    for node, place in enumerate(places):
        nodes.kill(node)
        shutil.rmtree(place)
        (nodes.folder / f"old-{node}").rename(place)
        nodes.restart(node)
    engine = platform.execution.engine = SecureEngine(platform.agreement, nodes.config)
    engine.__enter__()
    engine.enter(platform.stored.signatures, within=20.0)


def test_three_nodes_that_were_set_back_are_noticed(interrupted: World, tacit: Tacit) -> None:
    """Among themselves they agree: each has lost what it remembered of the others."""
    world, platform = interrupted, interrupted.platform
    folder = agreement_hash(platform.agreement).hex()[:32]
    places = [platform.cluster.folder / f"node-{node}.data" / folder for node in range(3)]
    for node, place in enumerate(places):
        shutil.copytree(place, platform.cluster.folder / f"old-{node}")
    platform.execute()
    # What no node has signed is no receipt.
    platform.tamper["logs"] = another_head
    assert result(world.north, RUN).receipts == 0
    assert not heads(world)
    platform.tamper.clear()
    said = tacit("result", RUN, "--profile", world.north.folder)
    assert "kept receipts of all 3 nodes" in said.err
    kept = heads(world)
    assert {node for node, _ in kept} == {0, 1, 2}
    honest = check_logs(world.north, RUN)
    assert honest.ok, honest.lines()
    assert "with all 1 receipts that were kept here" in honest.findings[0].detail
    assert heads(world) >= kept
    set_back(world, places)
    verdict = check_logs(world.north, RUN)
    assert not verdict.ok
    for node in range(3):
        (found,) = (each for each in verdict.findings if each.about == f"log of node {node}")
        assert "its disk was set back" in found.detail
    world.north.keep(RUN, "receipts.jsonl", b"x\n")
    with pytest.raises(LogError, match="were changed"):
        receipts(world.north, RUN)
