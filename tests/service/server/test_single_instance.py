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
from tests.conftest import RunTacit


@pytest.mark.processes
def test_a_second_process_is_refused_and_leaves_the_database_alone(settings: Settings) -> None:
    command = [sys.executable, "-m", "tacit", "service", "run", "--config"]
    database = Path(settings.database_url.removeprefix("sqlite:///"))
    database.unlink()
    with the_single_instance(settings):
        second = subprocess.run(
            [*command, str(Path(settings.folder) / FILE_NAME)],
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert second.returncode == 2
    assert "a platform runs already" in second.stderr
    assert "Traceback" not in second.stderr
    assert not database.exists()


def refused(settings: Settings) -> bool:
    try:
        with the_single_instance(settings):
            return False
    except InputError as error:
        return "a platform runs already" in str(error)


def test_another_folder_is_no_way_around_it_and_another_database_is(settings: Settings) -> None:
    with the_single_instance(settings):
        assert refused(replace(settings, data="other"))
        assert not refused(replace(settings, database="sqlite:///other.db"))
    assert not refused(settings)


def test_any_number_may_have_one_postgresql(settings: Settings) -> None:
    here = replace(settings, database="postgresql+psycopg://tacit@db.example/tacit")
    with the_single_instance(here):
        assert not refused(here)


@pytest.mark.parametrize("part", ["api", "worker"])
def test_a_part_of_a_platform_needs_a_database_that_others_share(
    settings: Settings, run_here: RunTacit, part: str
) -> None:
    done = run_here("service", part, "--config", Path(settings.folder) / FILE_NAME)
    assert (done.returncode, "tacit service run" in done.stderr) == (2, True), done.stderr
