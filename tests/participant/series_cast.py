"""A platform that may lie, an operator, and two machines that follow a series; no nodes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import InternalError, LogError
from tacit.identity.cluster import write_cluster
from tacit.participant import (
    FileCosts,
    Follower,
    Profile,
    join,
    new_key_file,
    review_series,
    sign_reviewed_series,
)
from tacit.participant.series_records import FollowedRun, followed_runs
from tacit.service.server.app import make_app
from tests.service.example_terms import plain_terms
from tests.service.stand_in import StandIn
from tests.service.world import World
from tests.support.platform import Lies, Tamper, generous, listening


@dataclass
class Cast:
    """A platform that may lie, its operator, and a machine that follows a series."""

    world: World
    tamper: dict[str, Tamper]
    north: Profile
    south: Profile
    folder: Path
    series_id: str = ""
    said: list[str] = field(default_factory=list)

    def sign(self) -> None:
        for profile in (self.north, self.south):
            sign_reviewed_series(profile, review_series(profile, self.series_id, unpinned=True))

    def run(self, **changes: Any) -> str:
        made = self.world.ok("POST", f"/series/{self.series_id}/runs", "op", json=changes)
        return str(made["id"])

    def cancel(self, run: str) -> None:
        self.world.ok("POST", f"/runs/{run}/cancel", "op")

    def signed(self, run: str) -> list[str]:
        members = self.world.ok("GET", f"/runs/{run}", "op")["members"]
        return [each["name"] for each in members if each["signed"]]

    def follower(self, profile: Profile | None = None, **options: Any) -> Follower:
        return Follower(
            profile or self.north,
            self.series_id,
            options.pop("costs", None),
            self.said.append,
            check=False,
            **options,
        )


@pytest.fixture(scope="module")
def series_platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    """Served once, with two participants who have joined."""
    folder = tmp_path_factory.mktemp("series")
    (folder / "cluster").mkdir()
    file = write_cluster(folder / "cluster", [f"127.0.0.1:{9100 + i}" for i in range(3)])[-1]
    settings = generous(folder / "platform", file)
    tamper: dict[str, Tamper] = {}
    app = make_app(settings, execution=StandIn)
    app.add_middleware(Lies, tamper=tamper, received=[])
    with listening(settings, app):
        world = World(None, app, url=settings.url)
        world.add("op", "operator")
        profiles = {}
        for name in ("north", "south"):
            new_key_file(name, folder / name)
            ca = settings.place(settings.tls_certificate or "")
            code = world.first_code(name, "participant")
            profiles[name] = join(settings.url, code, profile=folder / name, ca=ca)
        yield Cast(world, tamper, profiles["north"], profiles["south"], folder)


@pytest.fixture
def cast(series_platform: Cast, tmp_path: Path) -> Iterator[Cast]:
    """A new series that both have signed; whatever a test tampers with is honest afterwards."""
    terms = {"name": tmp_path.name, "run": plain_terms()}
    made = series_platform.world.ok("POST", "/series", "op", json={**terms, "runs_per_day": 3})
    cast = replace(series_platform, folder=tmp_path, series_id=str(made["id"]), said=[])
    cast.sign()
    yield cast
    cast.tamper.clear()


def costs_of(cast: Cast) -> FileCosts:
    file = cast.folder / "costs.csv"
    file.write_text("1,2,3,4\n5,6,7,8\n")
    os.utime(file, (1, 1))
    return FileCosts(file)


def followers(cast: Cast, *, check: bool = False) -> list[Follower]:
    made = [cast.follower(each, costs=costs_of(cast)) for each in (cast.north, cast.south)]
    for each in made:
        each.check, each.again = check, True
    return made


class Fine:
    def check(self) -> None:
        """Everything is in order."""


def withhold(*_: object) -> None:
    raise InternalError("the platform failed (500)")


def finished_run(cast: Cast) -> str:
    run = cast.run()
    both = followers(cast)
    for each in [*both, *both]:
        each.poll()
    cast.world.run_to(run, "finished")
    return run


def record_of(cast: Cast, run: str) -> FollowedRun:
    (found,) = (each for each in followed_runs(cast.north, cast.series_id) if each.run == run)
    return found


def forged(*_: object) -> None:
    raise LogError("the logs contradict each other")


def fine(*_: object) -> Fine:
    return Fine()


def agreed_run(cast: Cast) -> str:
    run = cast.run()
    for profile in (cast.north, cast.south):
        cast.follower(profile).poll()
    return run


def settled(path: Path) -> Path:
    """A file that nobody has written for long."""
    os.utime(path, (1, 1))
    return path
