"""The units and the container file start commands that exist, with settings that are known."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tacit.cli.main import make_app

DEPLOY = Path(__file__).parent.parent / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))


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


def test_containers_start_what_there_is() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    commands = [json.loads(found) for found in re.findall(r"^ENTRYPOINT (\[.*\])$", text, re.M)]
    assert len(commands) == 2
    for words in commands:
        check_command(words)
