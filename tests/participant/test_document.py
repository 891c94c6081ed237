"""Every command of docs/participants.md runs, in its order, as somebody at a desk types them."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest

from tacit.client import InvitationFile
from tacit.identity import load_keys, read_certificate
from tacit.identity.public_half import node_half, show_half
from tacit.local.cluster import LocalCluster
from tacit.participant import (
    join,
    load_profile,
    new_key_file,
    participant_entry,
    save_trust,
    sign,
    submit,
)
from tacit.service.storage import read_run
from tests.participant.conftest import World, pin_all
from tests.participant.platform import NAMES, RUN, Platform, csv_of, served
from tests.support.command_line import Tacit

DOCUMENT = (Path(__file__).parents[2] / "docs" / "participants.md").read_text()


def commands() -> list[list[str]]:
    blocks = re.findall(r"```console\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    typed = [line[2:] for line in lines if line.startswith("$ ")]
    return [shlex.split(line)[2:] for line in typed if line.startswith("tacit ")]


def write_keys(platform: Platform, folder: Path) -> None:
    """What the others and the nodes' operators gave."""
    everybody = [load_profile(), *(load_profile(folder / name) for name in NAMES[1:])]
    pin_all(platform.cluster, everybody)
    pinned = everybody[0].trust_file
    pinned.unlink()
    config = platform.cluster.config
    for number, (name, node) in enumerate(
        zip(("alpha", "beta", "gamma"), config.nodes, strict=True)
    ):
        keys = load_keys(platform.cluster.folder / f"node-{number}.key")
        pem = read_certificate(platform.cluster.folder / node.certificate)
        half = node_half(keys, pem, name=name, address=node.address)
        Path(f"{name}.public.toml").write_text(show_half(half))
    for each in everybody[1:]:
        save_trust(participant_entry(each.account, each.keys()), Path(f"{each.account}.toml"))


def others(platform: Platform, folder: Path) -> None:
    for name in NAMES[1:]:
        new_key_file(name, folder / name)
        join(
            platform.url,
            platform.codes[name],
            profile=folder / name,
            ca=platform.ca,
        )


def test_every_command_runs_in_its_order(
    nodes: LocalCluster, tmp_path: Path, tacit: Tacit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    said: dict[str, str] = {}
    with served(Platform(nodes, tmp_path)) as platform:
        InvitationFile(
            url=platform.url,
            account="north",
            role="participant",
            code=platform.codes["north"],
            expires=0.0,
            certificate=platform.ca.read_text(),
        ).save(Path("north.tacit"))
        Path("costs.csv").write_text(csv_of(platform.problem, "north"))
        for words in commands():
            name = words[0]
            if name == "result":
                finish(platform, tmp_path)
            monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
            done = tacit(*words)
            assert done.code == 0, (words, done.err)
            said[name] = done.out
            if name == "join":
                others(platform, tmp_path)
                write_keys(platform, tmp_path)
            if name == "withdraw":  # the page goes on as if nobody had
                with platform.database.writing() as session:
                    read_run(session, RUN).state = "agreed"
            if name == "sign":
                for other in NAMES[1:]:
                    sign(load_profile(tmp_path / other), RUN)
    assert said.keys() == {
        *("keys", "join", "trust", "runs", "review", "sign", "submit", "budget", "withdraw"),
        *("result", "log"),
    }
    assert "everything is as it was signed" in said["log"]


def finish(platform: Platform, folder: Path) -> None:
    if platform.state == "agreed":
        for other in NAMES[1:]:
            path = folder / f"{other}.csv"
            path.write_text(csv_of(platform.problem, other))
            submit(load_profile(folder / other), RUN, path)
        platform.execute()


def test_the_file_that_is_shown_fits(world: World, tmp_path: Path) -> None:
    from tacit.participant.costs import read_costs

    (shown,) = re.findall(r"```\n(flight,.*?)```", DOCUMENT, flags=re.DOTALL)
    (tmp_path / "costs.csv").write_text(shown)
    found = read_costs(tmp_path / "costs.csv", world.platform.agreement, "north", 0)
    assert found[0].tolist() == [0, 0, 125, 400, 805, 1200, 1600, 2000, 2400]


def test_the_names_that_are_imported_are_there() -> None:
    for program in re.findall(r"```python\n(.*?)```", DOCUMENT, flags=re.DOTALL):
        exec(program, {})


@pytest.mark.parametrize(
    "command",
    [
        "keys new",
        "join",
        "trust",
        "runs",
        "review",
        "sign",
        "submit",
        "budget",
        "withdraw",
        "result",
        "log",
        "watch",
        "notify",
    ],
)
def test_help_shows_an_example(command: str, tacit: Tacit) -> None:
    shown = tacit(*command.split(), "--help")
    assert shown.code == 0
    assert f"Example: tacit participant {command}" in shown.out
