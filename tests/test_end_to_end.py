"""The whole way of a run: three participants, three nodes, a platform, real processes, real TLS.

Everybody types commands. Those who run servers do so in processes of their own, and so does north
where it matters most, since each takes seconds; otherwise the same `main` is called here.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tacit.agreement.terms import read_agreement
from tacit.cli.main import main
from tacit.client import PlatformClient
from tacit.errors import UnreachableError
from tacit.local.cluster import free_addresses
from tests.participant.platform import NAMES, csv_of, slots
from tests.support.cpu_waits import CpuWaits

pytestmark = pytest.mark.processes

DEADLINE_SECONDS = 2.0
IN_A_PROCESS = {("north", "join"), ("north", "submit"), ("north", "log")}
"""Whose commands are typed to a shell."""


@dataclass
class Parties:
    """Where everybody's files are, and how to have them type a command."""

    folder: Path
    script: str
    here: Callable[..., str]
    url: str = ""

    def type(self, who: str, *words: str | Path) -> str:
        """A command on somebody's own machine, with a home of their own."""
        home = self.folder / who
        home.mkdir(exist_ok=True)
        environment = {"XDG_CONFIG_HOME": str(home / "config"), "COLUMNS": "300"}
        if (who, str(words[1])) not in IN_A_PROCESS:
            return self.here(words, home, environment)
        done = subprocess.run(
            [self.script, *map(str, words)],
            cwd=home,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, (who, words, done.stdout, done.stderr)
        return done.stdout


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The command in this process, which ends well."""

    def run(words: Sequence[str | Path], home: Path, environment: dict[str, str]) -> str:
        capsys.readouterr()
        monkeypatch.chdir(home)
        monkeypatch.setattr(sys, "argv", ["tacit", *map(str, words)])
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert not ended.value.code, (words, said)
        return said.out

    return run


@contextlib.contextmanager
def running(script: str, *words: str | Path, errors: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server for as long as the block lasts; it must end well when asked to."""
    with errors.open("wb") as file:
        process = subprocess.Popen([script, *map(str, words)], stderr=file, stdout=file)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


def terms() -> dict[str, Any]:
    problem = slots()
    return {
        "name": "morning",
        "problem": {
            "name": "slots",
            "kind": "assignment",
            "rows": 9,
            "columns": 9,
            "row_names": problem.row_names,
            "column_names": problem.column_names,
        },
        "objectives": [
            {
                "name": "delay",
                "sense": "minimize",
                "scale": 10,
                "weight_bound": 3000,
                "disclosure": "top:4",
            }
        ],
        "participants": {each.name: list(each.rows) for each in problem.participants},
        "parameters": {"population": 100, "elites": 15},
        "deadline_seconds": DEADLINE_SECONDS,
    }


@pytest.fixture
def parties(tmp_path: Path, tacit_script: str, here: Callable[..., str]) -> Iterator[Parties]:
    """Three nodes and a platform, started by their commands."""
    everybody = Parties(tmp_path, tacit_script, here)
    *hosts, listen = free_addresses(4)
    cluster = [word for host in hosts for word in ("--host", host)]
    everybody.type("ops", "cluster", "new", tmp_path / "cluster", *cluster)
    words = (
        "service",
        "init",
        tmp_path / "web",
        "--cluster",
        tmp_path / "cluster" / "cluster.toml",
    )
    everybody.type("ops", *words, "--listen", listen)
    everybody.url = f"https://{listen}"
    with contextlib.ExitStack() as stack:
        for i in range(3):
            config, errors = tmp_path / "cluster" / f"node-{i}.toml", tmp_path / f"node-{i}.err"
            node = ("node", "run", "--config", config)
            stack.enter_context(running(tacit_script, *node, errors=errors))
        service = ("service", "run", "--config", tmp_path / "web" / "service.toml")
        stack.enter_context(running(tacit_script, *service, errors=tmp_path / "web.err"))
        yield everybody


def sign_in(parties: Parties) -> None:
    """The first operator, with its own invitation, once the platform answers."""
    config, file = parties.folder / "web" / "service.toml", parties.folder / "ops.tacit"
    parties.type("ops", "service", "invite", "ops", "--config", config, "--out", file)
    until = time.monotonic() + 120
    with PlatformClient(parties.url, ca=parties.folder / "web" / "ca.pem") as client:
        while True:
            with contextlib.suppress(UnreachableError):
                client.health()
                break
            assert time.monotonic() < until, "it took too long"
            time.sleep(0.05)
    parties.type("ops", "run", "sign-in", file)


@pytest.fixture
def waits() -> Iterator[CpuWaits]:
    """By the clock of the platform's records, which is not that of its deadlines."""
    with CpuWaits(time.time) as measured:
        yield measured


def test_sign_submit_run_result_and_logs(waits: CpuWaits, parties: Parties) -> None:
    sign_in(parties)
    drafted = parties.folder / "terms.json"
    drafted.write_text(json.dumps(terms()))
    run = json.loads(parties.type("ops", "run", "new", drafted, "--json"))["id"]
    words = ("run", "invite", run, "--folder", parties.folder, "--json")
    assert set(json.loads(parties.type("ops", *words))["files"]) == set(NAMES)

    def each(work: Callable[[str], Any]) -> list[Any]:
        return [work(name) for name in NAMES]

    def enter(name: str) -> str:
        # The file is all that a participant has, and needs.
        parties.type(name, "participant", "join", parties.folder / f"{name}.tacit")
        (parties.folder / name / "costs.csv").write_text(csv_of(slots(), name))
        return parties.type(name, "participant", "keys", "show", "--toml")

    entries = each(enter)
    # Keys come over another channel: from each participant, and from the nodes' operators.
    keys = parties.folder / "keys.toml"
    keys.write_text("\n".join([*entries, *entries_of_nodes(parties)]))

    def sign(name: str) -> str:
        parties.type(name, "participant", "trust", keys)
        words = ("review", run, "--costs", "costs.csv", "--json")
        assert json.loads(parties.type(name, "participant", *words))["pinned"]
        return parties.type(name, "participant", "sign", run, "--yes")

    assert all("signed" in said for said in each(sign))
    assert "agreed" in parties.type("ops", "run", "show", run)
    each(lambda name: parties.type(name, "participant", "submit", run, "costs.csv"))
    again = ("submit", run, "costs.csv", "--wait", "--timeout", "5m", "--json")
    assert json.loads(parties.type(NAMES[-1], "participant", *again))["state"] == "accepted"
    assert "finished" in parties.type("ops", "run", "watch", run, "--timeout", "5m")

    plans = each(lambda name: parties.type(name, "participant", "result", run, "--wait", "--csv"))
    assert {len(plan.splitlines()) for plan in plans} == {10}
    for name, plan in zip(NAMES, plans, strict=True):
        own = next(each.rows for each in slots().participants if each.name == name)
        marked = [line.startswith(f"F{row},") for row in own for line in plan.splitlines()]
        assert sum(marked) == 3
        assert plan.count("yours") == 3
    for said in each(lambda name: parties.type(name, "participant", "log", run)):
        assert "and the plan is one of its best after generation" in said
        assert "yours are as this machine sealed them" in said
        assert said.endswith("everything is as it was signed\n")
    outcome = json.loads(parties.type("ops", "run", "result", run, "--json"))
    shown = json.loads(parties.type("ops", "run", "show", run, "--json"))
    waited = waits.between(shown["deadline_at"], shown["ended"])
    assert outcome["late_by_seconds"] - waited <= 0.5
    check_bundle(parties, run)
    check_nothing_stored_in_the_clear(parties)


def check_bundle(parties: Parties, run: str) -> None:
    """What the operator hands on is enough for an auditor, and for an offline participant."""
    bundle = parties.folder / "run.zip"
    parties.type("ops", "run", "bundle", run, "--out", bundle)
    said = parties.type("auditor", "log", "check", bundle)
    assert "the agreement is signed by north, south, west" in said
    assert "and the plan is one of its best after generation" in said
    assert "BAD" not in said
    said = parties.type("south", "participant", "log", bundle)
    assert "yours are as this machine sealed them" in said
    assert said.endswith("everything is as it was signed\n")
    with zipfile.ZipFile(bundle) as packed:
        assert read_agreement(packed.read("agreement.json")).search.seed is None


def entries_of_nodes(parties: Parties) -> list[str]:
    """What each node's operator gives to participants."""
    import tomllib

    cluster = parties.folder / "cluster"
    nodes = tomllib.loads((cluster / "cluster.toml").read_text())["nodes"]
    return [
        parties.type("ops", "keys", "show", cluster / f"node-{i}.key", "--address", node["address"])
        for i, node in enumerate(nodes)
    ]


def check_nothing_stored_in_the_clear(parties: Parties) -> None:
    """Neither the platform nor a node has a line of anybody's costs on its disk."""
    secrets = [line[3:30].encode() for n in NAMES for line in csv_of(slots(), n).splitlines()[1:]]
    weights = slots().objectives[0].weights
    assert weights is not None
    secrets += [row.astype("<u8").tobytes()[:24] for row in weights]
    kept = [path for place in ("web", "cluster") for path in (parties.folder / place).rglob("*")]
    assert len(kept) > 20
    for path in kept:
        if path.is_file():
            data = path.read_bytes()
            assert not [secret for secret in secrets if secret in data], path
