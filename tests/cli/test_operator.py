"""`tacit run`, `tacit series` and invitation files, as operators and participants type them."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tacit.client import read_invitation
from tacit.errors import FileError
from tacit.identity.cluster import write_cluster
from tacit.participant import load_profile
from tacit.problems import generate_assignment, save_problem
from tacit.service import invitation_file
from tacit.service.storage import create_account
from tests.service.api.test_series import with_equity
from tests.service.example_terms import plain_terms
from tests.service.world import World, served
from tests.support.command_line import Tacit, commands_here
from tests.support.platform import generous

OWNERS = {"alice": [0, 1], "bob": [2, 3]}


@pytest.fixture
def tacit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tacit:
    """The command line of an operator."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return commands_here(capsys, monkeypatch)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    addresses = [f"127.0.0.1:{9100 + i}" for i in range(3)]
    cluster = write_cluster(tmp_path_factory.mktemp("cluster"), addresses)[-1]
    settings = generous(tmp_path_factory.mktemp("served") / "platform", cluster)
    with served(settings) as made:
        yield made


@pytest.fixture
def operator(world: World, tacit: Tacit, tmp_path: Path) -> str:
    """The name of an operator who is signed in."""
    name, database = f"op-{tmp_path.name[-12:]}", world.platform.database
    with database.writing() as session:
        create_account(session, name, "operator")
        file = invitation_file(session, world.platform.settings, name)
    file.save(tmp_path / "ops.tacit")
    said = tacit("run", "sign-in", tmp_path / "ops.tacit")
    assert (said.code, f"you are '{name}' (operator)" in said.out) == (0, True), said
    assert str(file.fingerprint) in said.err
    again = tacit("run", "sign-in", tmp_path / "ops.tacit")
    assert (again.code, "does not take this invitation" in again.err) == (4, True)
    world.tokens["op"] = json.loads((tmp_path / "config/tacit/operator/account.json").read_text())[
        "token"
    ]
    return name


def drafted(tacit: Tacit, tmp_path: Path, *more: str) -> str:
    terms = tmp_path / "terms.json"
    written = {**plain_terms(), "participants": OWNERS}
    terms.write_text(json.dumps(written))
    made = tacit("run", "new", terms, "--json", *more)
    assert made.code == 0, made
    run_id: str = json.loads(made.out)["id"]
    return run_id


def test_a_run_by_commands_alone(world: World, operator: str, tacit: Tacit, tmp_path: Path) -> None:
    run = drafted(tacit, tmp_path, "--name", "by commands", "--deadline", "7s")
    assert f"{run}  draft        by commands" in tacit("run", "list").out
    assert tacit("run", "list", "--state", "running").out == ""
    said = tacit("run", "invite", run, "--folder", tmp_path / "in")
    assert said.code == 0, said
    for name in ("alice", "bob"):
        path = tmp_path / "in" / f"{name}.tacit"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        file = read_invitation(path)
        assert (file.account, file.run, file.url) == (name, run, world.url)
        assert str(file.fingerprint) in said.err
    # The file alone is enough: no key, no address, no certificate.
    joined = tacit("participant", "join", tmp_path / "in/alice.tacit", "--profile", tmp_path / "n")
    assert joined.code == 0, joined
    assert str(file.fingerprint) in joined.err
    profile = load_profile(tmp_path / "n")
    assert (profile.account, profile.ca is not None) == ("alice", True)
    used = tacit("participant", "join", tmp_path / "in/alice.tacit", "--profile", tmp_path / "n2")
    assert (used.code, "does not take this invitation" in used.err) == (4, True)
    shown = tacit("run", "show", "by commands").out
    assert "waits for the signatures of alice, bob" in shown
    assert "  alice  joined, inputs missing" in shown
    # Only bob is left; another file for it ends the first.
    again = tacit("run", "invite", run, "--folder", tmp_path / "again", "--json")
    assert list(json.loads(again.out)["files"]) == ["bob"]
    old = tacit("participant", "join", tmp_path / "in/bob.tacit", "--profile", tmp_path / "s")
    assert old.code == 4
    other = tacit("run", "invite", run, "west", "--out", tmp_path / "west.tacit")
    assert (other.code, "'west' takes no part in" in other.err) == (2, True)
    copied = tacit("run", "new", "--like", run, "--name", "a copy", "--json")
    assert json.loads(copied.out)["terms"]["deadline_seconds"] == 7
    assert "is discarded" in tacit("run", "cancel", "a copy").out
    late = tacit("run", "result", run)
    assert (late.code, "to have a result it must be" in late.err) == (4, True)
    slow = tacit("run", "result", run, "--wait", "--timeout", "0.2s")
    assert (slow.code, "did not happen in time" in slow.err) == (7, True)
    assert tacit("run", "cancel", run, "--reason", "enough").code == 0
    ended = tacit("run", "watch", run)
    assert (ended.code, "is cancelled: cancelled by" in ended.err) == (6, True)
    assert tacit("run", "resume", run).code == 4
    gone = tacit("run", "show", "nothing like it")
    assert (gone.code, "no run has the name" in gone.err) == (2, True)


def test_a_draft_is_changed_and_a_copy_has_everything(
    world: World, operator: str, tacit: Tacit, tmp_path: Path
) -> None:
    run = drafted(tacit, tmp_path)
    before = world.ok("GET", f"/runs/{run}", "op")["terms"]
    assert tacit("run", "change", run).code == 2
    assert "no run has the name 'x'" in tacit("run", "invite", "x").err
    (tmp_path / "differ.json").write_text(json.dumps({"participants": {"alice": [0, 1, 2, 3]}}))
    said = tacit("run", "change", run, tmp_path / "differ.json", "--deadline", "9s", "--name", "b")
    assert said.code == 0, said
    after = world.ok("GET", f"/runs/{run}", "op")["terms"]
    assert (after["name"], after["deadline_seconds"], list(after["participants"])) == (
        "b",
        9.0,
        ["alice"],
    )
    assert after["limits"]["evaluations"] != before["limits"]["evaluations"], "what fits anew"
    # Public weights are not among the terms that are shown, and a copy has them all the same.
    public = {"name": "known", "sense": "minimize", "weight_bound": 9, "confidential": False}
    public |= {"disclosure": "none", "best": "value", "weights": [[1, 2, 3, 4]] * 4}
    both = [{**before["objectives"][0], "disclosure": "top:15"}, public]
    known = world.draft(objectives=both, participants=OWNERS)
    made = tacit("run", "new", "--like", known, "--name", "copy", "--json")
    assert made.code == 0, made
    weights = world.ok("GET", f"/runs/{json.loads(made.out)['id']}/public-weights", "op")
    assert weights["objectives"] == {"1": [[1, 2, 3, 4]] * 4}
    world.ok("POST", f"/runs/{run}/invite", "op")
    assert tacit("run", "change", run, "--name", "c").code == 4


def test_watching_and_the_result(world: World, operator: str, tacit: Tacit, tmp_path: Path) -> None:
    run = world.ended(name="watched")
    said = tacit("run", "watch", run)
    assert (said.code, said.out.count("finished")) == (0, 1), said
    assert json.loads(tacit("run", "result", run, "--wait", "--json").out)["state"] == "finished"
    assert tacit("run", "result", run, "--csv").out.startswith("row,column\n0,1\n")
    shown = tacit("run", "result", run).out
    assert "row (from 0)  column (from 0)\n0             1\n" in shown, shown
    for state in ("failed", "interrupted"):
        bad = world.ended(state, name=f"ends {state}")
        assert tacit("run", "result", bad).code == 6
        assert tacit("run", "watch", bad, "--json").code == 6
    bundled = tacit("run", "bundle", run, "--out", tmp_path / "run.zip")
    assert bundled.out == f"{tmp_path / 'run.zip'}\n", bundled
    # These logs are of a stand-in, which no node has signed.
    checked = tacit("log", "check", tmp_path / "run.zip")
    assert checked.code == 3, checked
    assert tacit("log", "check", tmp_path / "terms.json").code == 2


def test_a_plan_of_several_is_shown_with_its_own_values(
    world: World, operator: str, tacit: Tacit
) -> None:
    objectives = [
        {"name": name, "sense": "maximize", "weight_bound": 9000, "disclosure": "none"}
        for name in ("punctuality", "revenue")
    ]
    run = world.submitted(name="front", objectives=objectives, preset="paper-moap")
    front, values = [[1, 0, 3, 2], [0, 1, 2, 3]], [[12287.0, 18745.0], [18680.0, 9000.0]]
    world.run_to(run, "finished", disclosed=[18680.0, 18745.0], front=front, values=values)
    said = tacit("run", "result", run)
    assert said.out.startswith("plan 1 of 2: punctuality 12,287, revenue 18,745\nrow"), said
    assert said.out.endswith("\nplan 2 of 2: punctuality 18,680, revenue 9,000\n")
    assert tacit("run", "result", run, "--plan", "2").out.startswith("plan 2 of 2: punctuality 18")
    assert tacit("run", "result", run, "--plan", "3").code == 2
    assert tacit("run", "result", run, "--plan", "2", "--csv").code == 2


def test_a_run_that_misses_a_node_says_so(world: World, operator: str, tacit: Tacit) -> None:
    run = world.ended("running", name="stalls")
    said = tacit("run", "show", run)
    assert (said.code, "node 0 (n:1) cannot be reached" in said.err) == (0, True), said


@pytest.mark.processes  # a library of the dashboard looks for others when it is imported
def test_a_problem_file_keeps_its_word(operator: str, tacit: Tacit, tmp_path: Path) -> None:
    problem = generate_assignment(1, rows=4, columns=5, participants=2)
    save_problem(problem, tmp_path / "ap.json")
    made = tacit("run", "new", tmp_path / "ap.json", "--disclose", "top:3", "--json")
    assert made.code == 0, made
    (objective,) = json.loads(made.out)["terms"]["objectives"]
    assert objective["disclosure"] == "top:3"
    assert objective["weights"] is None


def test_notifications(world: World, operator: str, tacit: Tacit) -> None:
    said = tacit("run", "notify", "--webhook", "https://hooks.example.org/x", "--json")
    added = json.loads(said.out)["added"]
    assert added["secret"].startswith("tcw_")
    assert added["id"] in tacit("run", "notify").out
    assert added["id"] not in tacit("run", "notify", "--remove", added["id"]).out
    refused = tacit("run", "notify", "--webhook", "http://hooks.example.org/x")
    assert (refused.code, "https://" in refused.err) == (4, True)
    assert "sends no mail" in tacit("run", "notify", "--mail", "a@example.org").err
    assert tacit("run", "notify", "--test").code == 4, "there is no way to test"
    tested = tacit("run", "notify", "--webhook", "https://127.0.0.1:1/x", "--test")
    assert (tested.code, "test of webhook" in tested.out) == (1, True), tested
    assert tacit("run", "notify", "--test").code == 4, "not twice a minute"


def test_without_an_account(tacit: Tacit, tmp_path: Path) -> None:
    said = tacit("run", "list")
    assert (said.code, "run tacit run sign-in" in said.err) == (2, True)
    said = tacit("run", "sign-in", "https://platform.example")
    assert (said.code, "give the code after the address" in said.err) == (2, True)


@pytest.mark.parametrize(
    "change",
    [{"format": "other"}, {"url": "http://platform.example"}, {"certificate": "x"}, {"code": 7}],
)
def test_a_file_that_is_no_invitation(
    world: World, tmp_path: Path, change: dict[str, object]
) -> None:
    with world.platform.database.writing() as session:
        name = f"v-{tmp_path.name[-9:]}"
        create_account(session, name, "viewer")
        file = invitation_file(session, world.platform.settings, name)
    path = tmp_path / "v.tacit"
    file.save(path)
    assert read_invitation(path) == file
    path.write_bytes(msgspec.json.encode({**msgspec.to_builtins(file), **change}))
    with pytest.raises(FileError, match="ask the operator for a new one"):
        read_invitation(path)


def test_a_series_is_copied_with_what_differs(tacit: Tacit, operator: str, tmp_path: Path) -> None:
    assert operator
    rule = {"levels": 6, "told": "balance", "every": 3}
    schedule = {"every_minutes": 240}
    written = with_equity(equity=rule, schedule=schedule, varying={"least_rows": 3}, days=7.0)
    file = tmp_path / "terms.json"
    file.write_text(json.dumps(written))
    made = tacit("series", "new", file, "--json")
    assert made.code == 0, made
    first = json.loads(made.out)
    said = tacit("series", "new", "--like", first["id"], "--name", "evening", "--at", "18:00",
                 "--runs-per-day", "2", "--json")  # fmt: skip
    assert said.code == 0, said
    copy = json.loads(said.out)["terms"]
    assert (copy["name"], copy["runs_per_day"], copy["schedule"]["at"]) == ("evening", 2, ["18:00"])
    for same in ("run", "varying", "equity", "days"):
        assert copy[same] == first["terms"][same]
    said = tacit("series", "new", "--like", first["id"], "--no-equity", "--json")
    assert json.loads(said.out)["terms"]["equity"] is None
    assert json.loads(said.out)["terms"]["schedule"] == first["terms"]["schedule"]
    said = tacit("series", "new", "--like", first["id"], "--every", "60", "--at", "18:00")
    assert (said.code, "give one of them" in said.err) == (2, True)


def test_a_series_with_equity_is_made_of_a_run(tacit: Tacit, operator: str, tmp_path: Path) -> None:
    assert operator
    file = tmp_path / "terms.json"
    file.write_text(json.dumps(with_equity()["run"]))
    run = json.loads(tacit("run", "new", file, "--json").out)["id"]
    made = tacit("series", "new", "--like", run, "--equity", "--days", "5", "--json")
    assert made.code == 0, made
    terms = json.loads(made.out)["terms"]
    assert (terms["equity"]["levels"], terms["days"], terms["runs_per_day"]) == (4, 5.0, 1)
    file.write_text(json.dumps(plain_terms()))
    run = json.loads(tacit("run", "new", file, "--json").out)["id"]
    said = tacit("series", "new", "--like", run, "--equity")
    assert (said.code != 0, "at least 3" in said.err) == (True, True), said
