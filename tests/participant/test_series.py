"""A machine follows a series by itself, whatever the platform shows it; no nodes are needed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from dataclasses import replace as replace_in
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.agreement import Agreement, RunOfSeries, read_agreement, read_series
from tacit.errors import TacitError, TrustError
from tacit.identity.cluster import write_cluster
from tacit.participant import (
    CommandCosts,
    FileCosts,
    Follower,
    Profile,
    follow,
    join,
    new_key_file,
    review,
    review_series,
    series_lines,
    sign_reviewed_series,
)
from tacit.participant.follower import following
from tacit.service.server.app import make_app
from tests.service.example_terms import plain_terms
from tests.service.stand_in import StandIn
from tests.service.world import World
from tests.support.command_line import Tacit
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
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
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
def cast(platform: Cast, tmp_path: Path) -> Iterator[Cast]:
    """A new series that both have signed; whatever a test tampers with is honest afterwards."""
    terms = {"name": tmp_path.name, "run": plain_terms()}
    made = platform.world.ok("POST", "/series", "op", json={**terms, "runs_per_day": 3})
    cast = replace_in(platform, folder=tmp_path, series_id=str(made["id"]), said=[])
    cast.sign()
    yield cast
    cast.tamper.clear()


def test_from_the_second_run_on_nobody_types_anything(cast: Cast) -> None:
    costs = cast.folder / "costs"
    costs.mkdir()
    for number in (1, 2):
        lines = [",".join(str(10 * number + row + k) for k in range(4)) for row in range(2)]
        (costs / f"{number}.csv").write_text("\n".join(lines))
        os.utime(costs / f"{number}.csv", (1, 1))
    everybody = [
        cast.follower(each, costs=FileCosts(costs), results=cast.folder / "plans")
        for each in (cast.north, cast.south)
    ]
    for number in (1, 2):
        run = cast.run()
        for follower in [*everybody, *everybody]:  # all sign, then all seal
            follower.look()
        assert cast.world.ok("GET", f"/runs/{run}", "op")["state"] == "submitted"
        cast.world.run_to(run, "finished")
        for follower in everybody:
            follower.look()
        assert (cast.folder / "plans" / f"{number}.csv").read_text().startswith("row,column")
    done = [line for line in cast.said if line.startswith("sealed and handed in")]
    assert len(done) == 4


def with_disclosure(run: Agreement) -> Agreement:
    return replace(run, objectives=[replace(run.objectives[0], disclosure="order")])


def with_evaluations(run: Agreement) -> Agreement:
    return replace(run, limits=replace(run.limits, evaluations=501))


def with_another_series(run: Agreement) -> Agreement:
    return replace(run, series=RunOfSeries("ab" * 32, 1))


def with_no_series(run: Agreement) -> Agreement:
    return replace(run, series=None)


def with_node_moved(run: Agreement) -> Agreement:
    return replace(run, nodes=[replace(run.nodes[0], port=1), *run.nodes[1:]])


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (with_disclosure, "its objectives are not those that were signed"),
        (with_evaluations, "it allows 501 evaluations, and 500 were agreed on"),
        (with_another_series, "which this machine has not signed"),
        (with_no_series, "it names none"),
        (with_node_moved, "its nodes, their addresses or keys are not those"),
    ],
)
def test_a_run_outside_the_series_is_refused(
    cast: Cast, lie: Callable[[Agreement], Agreement], said: str
) -> None:
    run = cast.run()
    cast.tamper["agreement"] = lie
    follower = cast.follower()
    follower.look()
    assert said in follower.refused[run]
    assert cast.signed(run) == []
    assert cast.north.signed_agreement(run) is None
    with pytest.raises(TrustError, match="is not signed"):
        follow(follower, every=1, once=True)
    cast.tamper.clear()
    cast.follower().look()
    assert cast.signed(run) == ["north"]


def test_by_hand_it_is_refused_just_the_same(cast: Cast) -> None:
    run = cast.run()
    cast.tamper["agreement"] = with_evaluations
    with pytest.raises(TrustError, match="501 evaluations"):
        review(cast.north, run, unpinned=True).check()


def test_a_run_is_not_replayed_and_no_number_used_twice(cast: Cast) -> None:
    first = cast.run()
    follower = cast.follower()
    follower.look()
    assert cast.signed(first) == ["north"]
    old = cast.world.call("GET", f"/runs/{first}/agreement", "op").content
    cast.cancel(first)
    second = cast.run()
    cast.tamper["agreement"] = lambda _: old
    follower.look()
    assert "the same run was taken under another name before" in follower.refused[second]

    number = read_agreement(old).series
    cast.tamper["agreement"] = lambda run: replace(run, series=number)
    again = cast.follower()
    again.look()
    assert "number 1 of the series was used for another run" in again.refused[second]
    assert cast.signed(second) == []


def test_no_more_runs_a_day_than_were_signed_whatever_is_forgotten(cast: Cast) -> None:
    for _ in range(3):
        run = cast.run()
        cast.follower().look()  # a new process each time
        assert cast.signed(run) == ["north"]
        cast.cancel(run)
    run = cast.run()
    follower = cast.follower()
    follower.look()
    assert "3 runs of the series were taken in the last 23.5 hours" in follower.refused[run]
    assert cast.signed(run) == []


def test_more_time_than_was_signed_is_refused(cast: Cast) -> None:
    run = cast.run()
    cast.tamper[run] = lambda view: {**view, "terms": {**view["terms"], "deadline_seconds": 6}}
    follower = cast.follower()
    follower.look()
    assert "the platform gives it 6 s, and 5 s were agreed on" in follower.refused[run]


def test_another_series_under_the_same_name_is_not_signed(cast: Cast) -> None:
    def wider(document: Any) -> Any:
        return {**document, "limits": {**document["limits"], "runs_per_day": 99}}

    cast.tamper["document"] = wider
    made = review_series(cast.north, cast.series_id, unpinned=True)
    with pytest.raises(TrustError, match="the platform has changed it since"):
        made.check()
    # What counts for runs is what was signed here.
    run = cast.run()
    cast.follower().look()
    assert cast.signed(run) == ["north"]


def test_without_pinned_keys_a_series_is_not_signed(cast: Cast) -> None:
    with pytest.raises(TrustError, match="nobody but the platform says whose keys"):
        review_series(cast.north, cast.series_id).check()


def test_a_series_in_words(cast: Cast) -> None:
    lines = "\n".join(series_lines(review_series(cast.north, cast.series_id, unpinned=True)))
    assert "at most 3 runs a day, in any 23.5 hours" in lines
    assert "2 to 8 rows, 2 to 8 columns" in lines
    assert "at least 2 of 2 participants" in lines
    assert "DO NOT SIGN" not in lines


@pytest.mark.processes
def test_a_command_fills_in_the_costs_that_are_asked_for(cast: Cast) -> None:
    program = "import sys, os\n"
    program += "lines = sys.stdin.read().splitlines()\n"
    program += "print(lines[0])\n"
    program += "for k, line in enumerate(lines[1:]):\n"
    program += "    print(line.split(',')[0], *[7 + k] * 4, sep=',')\n"
    script = cast.folder / "costs.py"
    script.write_text(program)
    run = cast.run()
    followers = [
        cast.follower(each, costs=CommandCosts([sys.executable, str(script)]))
        for each in (cast.north, cast.south)
    ]
    for follower in [*followers, *followers]:
        follower.look()
    assert cast.world.ok("GET", f"/runs/{run}", "op")["state"] == "submitted", cast.said


def test_costs_that_do_not_fit_are_said_once_and_taken_when_corrected(cast: Cast) -> None:
    file = cast.folder / "costs.csv"
    file.write_text("1,2,3\n")
    os.utime(file, (1, 1))
    run = cast.run()
    for profile in (cast.north, cast.south):
        cast.follower(profile).look()
    follower = cast.follower(costs=FileCosts(file))
    follower.look()
    follower.look()
    assert len([line for line in cast.said if "nothing was sealed" in line]) == 1
    file.write_text("1,2,3,4\n5,6,7,8\n")
    follower.look()  # it may still be being written
    assert cast.world.ok("GET", f"/runs/{run}", "op")["members"][0]["submission_state"] == "missing"
    os.utime(file, (2, 2))
    follower.look()
    assert (
        cast.world.ok("GET", f"/runs/{run}", "op")["members"][0]["submission_state"] == "accepted"
    )


def test_one_process_follows_at_a_time(cast: Cast) -> None:
    with (
        following(cast.north, cast.series_id),
        pytest.raises(TacitError, match="another process follows"),
    ):
        follow(cast.follower(), every=1, once=True)


def test_the_command_signs_what_was_shown_and_follows(cast: Cast, tacit: Tacit) -> None:
    shutil.rmtree(cast.north.folder / "series")
    words = ("follow", cast.folder.name, "--unpinned", "--once", "--profile", cast.north.folder)
    said = tacit(*words, "--yes")
    assert (said.code, "nobody has read series" in said.err) == (3, True)
    shown = tacit(*words, "--review")
    assert (shown.code, "What may vary from run to run" in shown.out) == (0, True)
    cast.tamper["document"] = lambda each: {**each, "name": "other"}
    said = tacit(*words, "--yes")
    assert (said.code, "which is the one to sign; nothing was signed" in said.err) == (3, True)
    cast.tamper.clear()
    run = cast.run()
    said = tacit(*words, "--yes")
    assert (said.code, f"signed run 1 ({run})" in said.out) == (0, True)
    listed = tacit("series", "--profile", cast.north.folder)
    assert f"{cast.series_id}  agreed    signed here" in listed.out


def test_a_series_as_it_is_kept_is_what_was_signed(cast: Cast) -> None:
    path = cast.north.folder / "series" / cast.series_id / "series.json"
    assert oct(path.stat().st_mode)[-3:] == "600"
    assert read_series(path.read_bytes()).limits.runs_per_day == 3
