"""A second platform on the same files or the same database is refused before it does anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from tacit.errors import InputError
from tacit.service.server.settings import FILE_NAME, Settings
from tacit.service.server.single_instance import the_single_instance
from tests.service.postgres import postgres


@pytest.mark.processes
def test_a_second_process_is_refused_and_leaves_the_database_alone(settings: Settings) -> None:
    command = [sys.executable, "-m", "tacit", "service", "run", "--config"]
    with the_single_instance(settings):
        second = subprocess.run(
            [*command, str(Path(settings.folder) / FILE_NAME)],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert second.returncode == 2
    assert "a platform runs already" in second.stderr
    assert "Traceback" not in second.stderr
    assert not Path(settings.database_url.removeprefix("sqlite:///")).exists()


def refused(settings: Settings) -> bool:
    try:
        with the_single_instance(settings):
            return False
    except InputError as error:
        return "a platform runs already" in str(error)


@pytest.mark.parametrize("other", [{"data": "other"}, {"database": "sqlite:///other.db"}])
def test_sharing_half_is_refused_too(settings: Settings, other: dict[str, str]) -> None:
    with the_single_instance(settings):
        assert refused(replace(settings, **other))
    assert not refused(replace(settings, **other))


def test_two_platforms_with_one_postgresql(settings: Settings) -> None:
    with postgres() as url:
        here = replace(settings, database=url)
        with the_single_instance(here):
            assert refused(replace(here, data="other"))
        assert not refused(here)
