"""A platform on three real nodes, and three participants with folders of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tacit.identity import load_keys
from tacit.local.cluster import LocalCluster
from tacit.participant import (
    Profile,
    join,
    joined_trust,
    new_key_file,
    node_entry,
    participant_entry,
    save_trust,
    sign,
    submit,
)
from tests.participant.platform import NAMES, RUN, Platform, csv_of, served
from tests.participant.series_cast import cast, series_platform
from tests.support.command_line import Tacit, commands_here

__all__ = ["cast", "series_platform"]


@pytest.fixture
def tacit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tacit:
    """The command line of a participant."""
    return commands_here(capsys, monkeypatch, "participant")


@pytest.fixture(scope="session")
def nodes(cluster: LocalCluster) -> LocalCluster:
    return cluster


def pin_all(cluster: LocalCluster, profiles: Iterable[Profile]) -> None:
    """Keys from those who have them, not from the platform."""
    everybody = [*profiles]
    entries = [
        node_entry(load_keys(cluster.folder / f"node-{number}.key"), node.address)
        for number, node in enumerate(cluster.config.nodes)
    ]
    entries += [participant_entry(each.account, each.keys()) for each in everybody]
    for profile in everybody:
        save_trust(joined_trust(entries), profile.trust_file)


def join_all(platform: Platform, folder: Path, *, pinned: bool = True) -> dict[str, Profile]:
    """Every participant has joined and pinned the others; the agreement can be fetched."""
    profiles = {}
    for name in NAMES:
        new_key_file(name, folder / name)
        (folder / f"{name}.csv").write_text(csv_of(platform.problem, name))
        profiles[name] = join(
            platform.url,
            platform.codes[name],
            profile=folder / name,
            ca=platform.ca,
        )
    if pinned:
        pin_all(platform.cluster, profiles.values())
    return profiles


@dataclass(frozen=True)
class World:
    """Everybody who takes part, and the folder with their files."""

    platform: Platform
    profiles: dict[str, Profile]
    folder: Path

    @property
    def north(self) -> Profile:
        return self.profiles["north"]

    def csv(self, name: str = "north") -> Path:
        return self.folder / f"{name}.csv"


@pytest.fixture
def world(nodes: LocalCluster, tmp_path: Path) -> Iterator[World]:
    """All have joined, nobody has signed."""
    with served(Platform(nodes, tmp_path)) as platform:
        yield World(platform, join_all(platform, tmp_path), tmp_path)


@pytest.fixture
def unpinned(nodes: LocalCluster, tmp_path: Path) -> Iterator[World]:
    """All have joined, and nobody knows anybody's keys but from the platform."""
    with served(Platform(nodes, tmp_path)) as platform:
        yield World(platform, join_all(platform, tmp_path, pinned=False), tmp_path)


@pytest.fixture(scope="module")
def finished_world(
    nodes: LocalCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """A run that has come to its end, honestly."""
    folder = tmp_path_factory.mktemp("finished")
    with served(Platform(nodes, folder)) as platform:
        profiles = join_all(platform, folder)
        for profile in profiles.values():
            sign(profile, RUN)
        for name, profile in profiles.items():
            submit(profile, RUN, folder / f"{name}.csv")
        platform.execute()
        yield World(platform, profiles, folder)


@pytest.fixture
def finished(finished_world: World) -> Iterator[World]:
    """The same run again; whatever a test tampers with is honest afterwards."""
    yield finished_world
    finished_world.platform.tamper.clear()
