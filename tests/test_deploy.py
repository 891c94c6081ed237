"""The units and the container file start commands that exist, with settings that are known."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]
from typer.testing import CliRunner

from tacit.cli.main import make_app
from tacit.identity import (
    ClusterConfig,
    NodeConfig,
    load_cluster_config,
    load_node_config,
)
from tacit.service.server.settings import Settings, load_settings
from tests.deploy_samples import samples

DEPLOY = Path(__file__).parent.parent / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))


@pytest.mark.parametrize("name", ["node.toml", "cluster.toml", "service.toml"])
def test_samples_are_what_the_commands_write_and_complete(name: str) -> None:
    path = DEPLOY / name
    assert path.read_text() == samples()[name], "python -m tests.deploy_samples writes them anew"
    kinds: dict[str, tuple[Callable[[Path], object], type[msgspec.Struct]]] = {
        "node.toml": (load_node_config, NodeConfig),
        "cluster.toml": (load_cluster_config, ClusterConfig),
        "service.toml": (load_settings, Settings),
    }
    load, struct = kinds[name]
    load(path)
    # What is nothing unless somebody gives it cannot be written down as nothing.
    keys = {each.name for each in msgspec.structs.fields(struct) if each.default is not None}
    missing = keys - {"folder", "delay_ms"} - tomllib.loads(path.read_text()).keys()
    assert not missing, "the text that the command writes lacks a key"
    unit = {"node.toml": "tacit-node", "service.toml": "tacit-platform"}.get(name)
    if unit is not None:
        (state,) = re.findall(
            r"^WorkingDirectory=(.+)$", (DEPLOY / f"{unit}.service").read_text(), re.M
        )
        assert f'"{state}' in path.read_text() or f"sqlite:///{state}" in path.read_text()


def check_command(words: list[str]) -> None:
    """`tacit GROUP COMMAND --config FILE`: its help knows the option."""
    assert words[-2] == "--config"
    done = CliRunner().invoke(make_app(words[1]), [*words[1:-2], "--help"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "--config" in done.output


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_units_start_what_there_is(unit: Path) -> None:
    # A directive may stand twice, which is why they are read into lists.
    lines = re.findall(r"^(\w+)=(.*)$", unit.read_text(), flags=re.MULTILINE)
    settings = dict(lines)
    check_command(settings["ExecStart"].split())
    assert settings["User"] == "tacit"
    assert settings["NoNewPrivileges"] == "yes"
    assert settings["CapabilityBoundingSet"] == ""


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
@pytest.mark.processes
def test_systemd_takes_the_units(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        reader = configparser.ConfigParser(strict=False, interpolation=None)
        reader.read(unit)
        assert reader.sections() == ["Unit", "Service", "Install"]
        return
    here = tmp_path / unit.name
    text = unit.read_text().replace("/opt/tacit/bin/tacit", "/bin/true")
    here.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", str(here)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert unit.name not in done.stderr


def parts() -> Iterator[tuple[str, list[str], str]]:
    """The part of the platform, its command and its memory, in each file that starts some."""
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for name, service in composed.items():
        if "entrypoint" in service:
            yield name.partition("-")[0], service["entrypoint"], service["mem_limit"].upper()
    for each in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()):
        if each["kind"] == "Deployment":
            assert (
                each["spec"]["selector"]["matchLabels"]
                == each["spec"]["template"]["metadata"]["labels"]
            )
            (container,) = each["spec"]["template"]["spec"]["containers"]
            if "tacit-platform" in container["image"]:
                words = container["command"][-1].rpartition("exec ")[2].split()
                memory = container["resources"]["limits"]["memory"].removesuffix("i")
                yield from [(container["name"], words, memory)] * each["spec"]["replicas"]


def test_compose_and_manifests_start_two_of_each_part_with_the_memory_of_its_unit() -> None:
    found = list(parts())
    assert Counter(part for part, _, _ in found) == {"api": 4, "worker": 4}
    for part, words, memory in found:
        check_command(words)
        unit = (DEPLOY / f"tacit-{part}.service").read_text()
        assert f"ExecStart=/opt/tacit/bin/{' '.join(words)}\n" in unit
        assert f"MemoryMax={memory}\n" in unit


def test_containers_start_what_there_is() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    commands = [json.loads(found) for found in re.findall(r"^ENTRYPOINT (\[.*\])$", text, re.M)]
    assert len(commands) == 2
    for words in commands:
        check_command(words)


def test_containers_install_what_is_locked_on_a_base_that_cannot_move() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    stages = re.findall(r"^FROM \S+ AS (\S+)$", text, re.M)
    assert set(re.findall(r"^FROM (\S+)", text, re.M)) <= {"${BASE}", *stages}
    installs = re.findall(r"pip install (.*)", text)
    assert len(installs) == 5
    for words in installs:
        assert "--require-hashes -r deploy/lock/" in words or "--no-index --no-deps" in words
    for name in re.findall(r"-r (deploy/lock/\S+)", text):
        assert (DEPLOY.parent / name).exists()


@pytest.mark.parametrize(
    ("base", "taken"),
    [
        (f"registry.example/python@sha256:{'0f' * 32}", True),
        (f"python:3.13-slim@sha256:{'0f' * 32}", True),
        ("python:3.13-slim", False),
        ("", False),
        ("python@sha256:0f0f", False),
        (f"python@sha256:{'0F' * 32}", False),
        (f"python:{'0f' * 32}", False),
        (f"python@sha256:{'0f' * 31}; id", False),
    ],
)
@pytest.mark.processes
def test_a_base_image_is_named_by_its_digest(base: str, taken: bool) -> None:
    text = (DEPLOY / "Containerfile").read_text()
    found = re.search(r"^RUN (digest=.*?[^\\])\n(?=WORKDIR)", text, re.M | re.S)
    assert found
    done = subprocess.run(
        ["sh", "-c", found[1]],
        env={"BASE": base},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == taken, done.stderr
    assert taken or "give the image by its digest" in done.stderr


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_memory_is_limited_in_units_and_containers(unit: Path) -> None:
    settings = dict(re.findall(r"^(\w+)=(.*)$", unit.read_text(), flags=re.MULTILINE))
    most = settings["MemoryMax"]
    assert (settings["MemorySwapMax"], settings["LimitCORE"]) == ("0", "0")
    if unit.stem in ("tacit-api", "tacit-worker"):
        return  # see the test of compose and manifests
    document = (DEPLOY.parent / "docs" / "deploy.md").read_text()
    (command,) = re.findall(rf"podman run -d --name {unit.stem} (?:.*\\\n)*.*", document)
    assert f"--memory {most.lower()} --memory-swap {most.lower()}" in command
